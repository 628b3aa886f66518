// Where: real blocks on real devices under load, for bench/transit/where.py, which says what the
// figures mean. Prints JSON.
//
//     transit_where record REMOTE SEED ROUNDS     requests on every device, ROUNDS loads of 10
//     transit_where noise REMOTE SEED ROUNDS      one request under one load, again and again
//     transit_where bursts REMOTE SEED ROUNDS     many blocks at once, policy after policy
//     transit_where figures REMOTE SEED ROUNDS    what S4's Figures 10, 13 and 14 show
//     transit_where replay FILE                   policies and models on recordings (a JSON array)
//
// A fifth argument of record and bursts: no round begins after so many seconds.
// REMOTE is the address of a caesura-serve. Three devices: the host's cores (workers of the
// service, at normal priority, as on a staging node or S4's testbed), an emulated GPU that keeps
// its results, and another service whose device is emulated alike. So what an emulated device costs
// the host is gathering and hashing; that goes before everything else there (nice -15, as far as
// that is allowed), because load on the host does not slow a GPU.
#include <signal.h>

#include "where_figures.hpp"
#include "where_record.hpp"

namespace {

using namespace caesura;
using namespace caesura::transit;
using nlohmann::json;
using namespace caesura::transit::bench;

std::array<BlockDevice*, k_devices> pointers(BlockDevice* gpu, BlockDevice* remote) {
    return {nullptr, gpu, remote};
}

std::array<double, k_devices> utilisations(Bench& bench,
                                           const std::array<BlockDevice*, k_devices>& devices) {
    return {bench.utilisation.share(now_s()), devices[1]->utilisation(), devices[2]->utilisation()};
}

/// One request on each device, the devices taking turns.
Measured request_on_all(Bench& bench, const Sort& sort, int repeats,
                        const std::array<BlockDevice*, k_devices>& devices) {
    Measured measured;
    measured.field = k_fields[sort.field];
    measured.bytes = sort.bytes();
    measured.utilisation = utilisations(bench, devices);
    const LoadSampler::Seen seen = bench.sampler.seen();
    measured.runnable = seen.runnable;
    measured.waiting_share = seen.waiting_share;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        auto& runs = measured.repeats.emplace_back();
        for (std::size_t d = 0; d < k_devices; ++d) {
            const std::size_t turn = (d + static_cast<std::size_t>(repeat)) % k_devices;
            runs[turn] = measure(bench, sort, devices[turn]);
            if (turn == 0) measured.host_cpu_s.push_back(bench.last_cpu_s);
        }
    }
    return measured;
}

/// What a service that has just started learns from its samples.
json samples(Bench& bench, const std::array<BlockDevice*, k_devices>& devices) {
    const auto made = std::make_shared<ProbeSamples>();
    json all = json::array();
    for (BlockDevice* const device : devices) {
        Probe probe(made, device, [&bench, device] {
            return device == nullptr ? bench.utilisation.share(now_s()) : device->utilisation();
        });
        probe.compute();
        json runs = json::array();
        for (const where::Run& run : probe.runs()) runs.push_back(json_of(run));
        all.push_back(std::move(runs));
    }
    return all;
}

/// Each result once, so that the emulated devices have it.
void first_touches(Bench& bench, const std::array<BlockDevice*, k_devices>& devices) {
    for (BlockDevice* const device : devices)
        for (const auto& sort : bench.sorts) (void)measure(bench, *sort, device);
}

/// Requests of all kinds, under loads that stay for a while each.
std::vector<Measured> matrix(Bench& bench, std::mt19937& random, int rounds,
                             const std::array<BlockDevice*, k_devices>& devices) {
    constexpr int k_requests_of_a_load = 10;
    std::vector<Measured> requests;
    for (int round = 0; round < rounds && now_s() < bench.until_s; ++round) {
        const double share = k_shares[random() % k_shares.size()];
        bench.load.set(share);
        bench.speeds->busy = k_busy[random() % k_busy.size()];
        sleep_s(0.15);
        (void)bench.utilisation.share(now_s());
        sleep_s(0.15);
        for (int i = 0; i < k_requests_of_a_load; ++i) {
            const Sort& sort = *bench.sorts[random() % bench.sorts.size()];
            requests.push_back(request_on_all(bench, sort, k_repeats, devices));
            requests.back().load = {std::min(1.0, 2 * share), bench.speeds->busy.load()};
        }
    }
    bench.load.set(0.0);
    bench.speeds->busy = 0.0;
    return requests;
}

/// One kind of request; in the middle the GPU becomes four times slower.
std::vector<Measured> slow_down(Bench& bench, std::size_t& slower_from,
                                const std::array<BlockDevice*, k_devices>& devices) {
    constexpr int k_requests = 40;
    const Sort& sort = *bench.sorts[k_fields.size() + 1];
    bench.load.set(1.0);  // else the host would be the best before and after
    sleep_s(0.3);
    std::vector<Measured> requests;
    for (int i = 0; i < 2 * k_requests; ++i) {
        bench.speeds->slower = i < k_requests ? 1.0 : 4.0;
        requests.push_back(request_on_all(bench, sort, 1, devices));
    }
    bench.speeds->slower = 1.0;
    bench.load.set(0.0);
    slower_from = k_requests;
    return requests;
}

json record(Bench& bench, unsigned seed, int rounds) {
    const auto gpu = bench.gpu(), remote = bench.remote();
    const auto devices = pointers(gpu.get(), remote.get());
    std::mt19937 random(seed);
    json piece;
    piece["samples"] = samples(bench, devices);
    first_touches(bench, devices);
    piece["requests"] = json_of(matrix(bench, random, rounds, devices));
    std::size_t slower_from = 0;
    piece["slow_down"] = json_of(slow_down(bench, slower_from, devices));
    piece["slower_from"] = slower_from;
    return piece;
}

/// How far one request on the host's cores differs from itself under one load: what no model of the
/// load can explain.
json noise(Bench& bench, int rounds) {
    json all = json::array();
    for (const double share : {0.0, 0.15, 0.3, 1.0}) {
        bench.load.set(share);
        sleep_s(0.3);
        for (std::size_t size = 0; size < k_shapes.size(); ++size) {
            const Sort& sort = *bench.sorts[size * k_fields.size() + 1];
            json took = json::array(), cpu = json::array(), busy = json::array();
            for (int i = 0; i < rounds; ++i) {
                busy.push_back(bench.utilisation.share(now_s()));
                took.push_back(seconds(measure(bench, sort, nullptr)));
                cpu.push_back(bench.last_cpu_s);
            }
            all.push_back({{"load", std::min(1.0, 2 * share)},
                           {"bytes", sort.bytes()},
                           {"utilisation", std::move(busy)},
                           {"cpu_s", std::move(cpu)},
                           {"took_s", std::move(took)}});
        }
    }
    bench.load.set(0.0);
    return all;
}

// ---------------------------------------------------------------------------------- bursts

class BurstWork final : public Encoding {
  public:
    BurstWork(const Sort& sort, base::BufferPool& pool, std::atomic<int>& left, base::Event& event)
        : Encoding(pool), left_(left), event_(event) {
        sort.fill(job);
        recipe = &sort.recipe;
    }

  protected:
    bool is_wanted() const override { return true; }
    void ready() override {
        if (left_.fetch_sub(1) == 1) event_.raise();
    }

  private:
    std::atomic<int>& left_;
    base::Event& event_;
};

/// How the blocks of a burst are placed.
struct Policy {
    std::string name;
    std::shared_ptr<std::atomic<int>> moved;
    std::unique_ptr<Press> host;
    std::unique_ptr<Dispatch> dispatch;
};

std::vector<Policy> policies(Bench& bench) {
    std::vector<Policy> all;
    const auto add = [&](const char* name, bool gpu, bool remote, bool host_last,
                         where::Rule rule) {
        std::vector<std::unique_ptr<BlockDevice>> devices;
        if (gpu) devices.push_back(bench.gpu());
        if (remote) devices.push_back(bench.remote());
        Dispatch::Options options;
        options.host_threads = k_workers;
        options.host_last = host_last;
        options.placer.rule = rule;
        options.probe = rule == where::Rule::model;
        const auto moved = std::make_shared<std::atomic<int>>(0);
        options.trace = [moved](const Placed& placed) { *moved += placed.moved ? 1 : 0; };
        auto host = std::make_unique<Press>(Press::Options{k_workers, false});
        auto dispatch = std::make_unique<Dispatch>(*host, options, std::move(devices));
        while (!dispatch->is_probed()) sleep_s(0.001);
        all.push_back({name, moved, std::move(host), std::move(dispatch)});
    };
    add("model", true, true, false, where::Rule::model);
    add("average", true, true, false, where::Rule::average);
    add("cpu", false, false, false, where::Rule::model);
    add("gpu", true, false, true, where::Rule::model);
    add("remote", false, true, true, where::Rule::model);
    return all;
}

double burst(Bench& bench, Dispatch& dispatch, const std::vector<std::size_t>& sorts) {
    std::atomic<int> left{static_cast<int>(sorts.size())};
    base::Event event;
    std::vector<std::unique_ptr<BurstWork>> works;
    for (const std::size_t sort : sorts)
        works.push_back(std::make_unique<BurstWork>(*bench.sorts[sort], bench.pool, left, event));
    const double begin_s = now_s();
    for (const auto& work : works) dispatch.give(1, 1.0, 0.01, *work);
    while (left.load() > 0) {
        const std::uint32_t seen = event.count();
        if (left.load() > 0) event.wait(seen, 0.01);
    }
    const double took_s = now_s() - begin_s;
    for (const auto& work : works) dispatch.learn(*work);
    return took_s;
}

/// Many blocks at once, as a dump brings them: what waits counts.
json bursts(Bench& bench, unsigned seed, int rounds) {
    constexpr int k_blocks = 16;
    {
        const auto gpu = bench.gpu(), remote = bench.remote();
        first_touches(bench, pointers(gpu.get(), remote.get()));
    }
    auto all = policies(bench);
    std::mt19937 random(seed);
    json made = json::array();
    for (int round = 0; round < rounds && now_s() < bench.until_s; ++round) {
        const double share = k_shares[random() % k_shares.size()];
        bench.load.set(share);
        bench.speeds->busy = k_busy[random() % k_busy.size()];
        sleep_s(0.3);
        std::vector<std::size_t> sorts;
        for (int i = 0; i < k_blocks; ++i) sorts.push_back(random() % bench.sorts.size());
        json took = json::object();
        for (std::size_t i = 0; i < all.size(); ++i) {
            Policy& policy = all[(i + static_cast<std::size_t>(round)) % all.size()];
            took[policy.name] = burst(bench, *policy.dispatch, sorts);
        }
        made.push_back({{"load", std::min(1.0, 2 * share)},
                        {"gpu_busy", bench.speeds->busy.load()},
                        {"took_s", std::move(took)}});
    }
    json blocks = json::object(), moved = json::object();
    for (const Policy& policy : all) {
        moved[policy.name] = policy.moved->load();
        json of_devices = json::object();
        for (const DeviceStatus& one : policy.dispatch->status()) of_devices[one.name] = one.blocks;
        blocks[policy.name] = std::move(of_devices);
        policy.dispatch->stop();
    }
    bench.load.set(0.0);
    return {{"rounds", std::move(made)},
            {"blocks", std::move(blocks)},
            {"moved", std::move(moved)},
            {"blocks_at_once", k_blocks}};
}

// ---------------------------------------------------------------------------------- replay

json replayed(const json& pieces) {
    const Recording recording = recording_from(pieces);
    constexpr unsigned k_halves_seed = 20261124;
    json all;
    all["policies"] = {{"middle", bench::policies(recording.requests, false, recording.samples)},
                       {"single", bench::policies(recording.requests, true, recording.samples)}};
    for (std::size_t d = 0; d < k_devices; ++d)
        all["model"][k_names[d]] = {
            {"fields", model_quality(recording.requests, d, true, k_halves_seed)},
            {"sizes_alone", model_quality(recording.requests, d, false, k_halves_seed)},
            {"surface", surface(recording.requests, d)}};
    all["slow_down"] = recovery(recording.slow_down, recording.slower_from, recording.samples);
    return all;
}

int fail(const std::string& why) {
    std::fprintf(stderr, "transit_where: %s\n", why.c_str());
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (argc == 3 && what == "replay") {
        std::ifstream file(argv[2]);
        const json pieces = json::parse(file, nullptr, false);
        if (pieces.is_discarded()) return fail(std::string(argv[2]) + ": no recording");
        std::printf("%s\n", replayed(pieces).dump().c_str());
        return 0;
    }
    if (argc != 5 && argc != 6)
        return fail("record|noise|bursts|figures REMOTE SEED ROUNDS [MOST_S], or replay FILE");
    LoadProcesses load;  // before there is a thread
    Bench bench(argv[2], load);
    const auto seed = static_cast<unsigned>(std::atoi(argv[3]));
    const int rounds = std::max(1, std::atoi(argv[4]));
    if (argc == 6) bench.until_s = now_s() + std::atof(argv[5]);
    json all;
    if (what == "record")
        all = record(bench, seed, rounds);
    else if (what == "noise")
        all["noise"] = noise(bench, rounds);
    else if (what == "bursts")
        all = bursts(bench, seed, rounds);
    else if (what == "figures")
        all = figures(bench, rounds);
    else
        return fail("no part " + what);
    all["bound"] = k_bound;
    all["worst_error"] = bench.worst_error;
    all["stated"] = {{"gpu",
                      {{"link_bytes_per_s", bench.speeds->link_bytes_per_s},
                       {"compress_bytes_per_s", bench.speeds->compress_bytes_per_s},
                       {"per_block_s", bench.speeds->per_block_s},
                       {"load", bench.speeds->load}}}};
    std::printf("%s\n", all.dump().c_str());
    bench.host.stop();
    return 0;
}
