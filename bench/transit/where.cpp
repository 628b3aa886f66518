// Where: real blocks on real devices under load, for bench/transit/where.py, which says what the
// figures mean. Prints JSON.
//
//     transit_where REMOTE_ADDRESS ROUNDS     ROUNDS of each part; REMOTE_ADDRESS of a
//     caesura-serve
//
// Three devices: the host's cores (workers of the service, at normal priority, as on a staging node
// or S4's testbed), an emulated GPU, and another service. What an emulated device computes on the
// host goes before everything else there (nice -15, as far as that is allowed), because load on the
// host does not slow a GPU. The load is a process of its own that
// computes digits of pi by the formula of Bailey, Borwein and Plouffe, as S4's kernel, for a stated
// share of the time on each core.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "transit/devices/gpu.hpp"
#include "transit/devices/remote.hpp"
#include "transit/service/dispatch.hpp"
#include "where_replay.hpp"

namespace {

using namespace caesura;
using namespace caesura::transit;
using nlohmann::json;
using namespace caesura::transit::bench;

constexpr unsigned k_seed = 20261124;
constexpr int k_workers = 2, k_repeats = 3;

double now_s() { return base::Clock::steady().now_s(); }
void sleep_s(double seconds) { ::usleep(static_cast<useconds_t>(std::max(0.0, seconds) * 1e6)); }

// ----------------------------------------------------------------------------------- load

/// 16^n modulo k, and so the n-th hexadecimal digit of pi (Bailey, Borwein and Plouffe 1997).
double power_modulo(long n, long k) {
    long result = 1, base = 16 % k;
    for (; n > 0; n /= 2) {
        if (n % 2 == 1) result = result * base % k;
        base = base * base % k;
    }
    return static_cast<double>(result % k);
}
double series(long m, long digit) {
    double sum = 0.0;
    for (long k = 0; k < digit; ++k) {
        const long divisor = 8 * k + m;
        sum += power_modulo(digit - k, divisor) / static_cast<double>(divisor);
        sum -= std::floor(sum);
    }
    return sum;
}
int digit_of_pi(long n) {
    double x = 4 * series(1, n) - 2 * series(4, n) - series(5, n) - series(6, n);
    x -= std::floor(x);
    return static_cast<int>(16 * x);
}

/// Shared with the processes that make the load.
struct Load {
    std::atomic<double> share{0.0};  ///< of the time, of each process
    std::atomic<bool> over{false};
};

/// Two processes on each of two cores.
class LoadProcesses {
  public:
    LoadProcesses() {
        void* const memory = ::mmap(nullptr, sizeof(Load), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        load_ = new (memory) Load();
        for (std::size_t i = 0; i < processes_.size(); ++i) {
            processes_[i] = ::fork();
            if (processes_[i] == 0) run(i % 2);
        }
    }
    ~LoadProcesses() {
        load_->over = true;
        for (const pid_t process : processes_) ::waitpid(process, nullptr, 0);
    }
    /// @param share  of the time, of each process.
    void set(double share) { load_->share = share; }

  private:
    [[noreturn]] void run(std::size_t core) {
        constexpr double k_turn_s = 0.004;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        (void)::sched_setaffinity(0, sizeof one, &one);
        const pid_t parent = ::getppid();
        while (!load_->over && ::getppid() == parent) {
            const double begin_s = now_s(), share = load_->share;
            while (now_s() - begin_s < share * k_turn_s) {
                volatile int digit = digit_of_pi(100);
                (void)digit;
            }
            if (share < 1.0) sleep_s(k_turn_s - (now_s() - begin_s));
        }
        ::_exit(0);
    }
    Load* load_ = nullptr;
    std::array<pid_t, 4> processes_{};
};

// -------------------------------------------------------------------------------- requests

const std::array<Shape, 4> k_shapes = {Shape{128, 128, 128}, Shape{256, 128, 128},
                                       Shape{256, 256, 128}, Shape{256, 256, 256}};
// Of each of the two processes of a core: it is 0, 0.3, 0.6 or all of the time busy.
const std::array<double, 4> k_shares = {0.0, 0.15, 0.3, 1.0};
const std::array<double, 3> k_busy = {0.0, 0.6, 0.95};
const std::array<const char*, 3> k_fields = {"smooth", "waves", "noise"};
constexpr double k_bound = 1e-3;

std::vector<float> field_values(std::size_t kind, const Shape& shape) {
    std::mt19937 random(k_seed + static_cast<unsigned>(kind));
    std::normal_distribution<float> normal(0.0f, 1.0f);
    std::vector<float> values(shape.count());
    const std::uint64_t plane = shape[1] * shape[2];
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float x = static_cast<float>(i % shape[2]),
                    y = static_cast<float>(i / shape[2] % shape[1]),
                    z = static_cast<float>(i / plane);
        const float wave = std::sin(0.05f * x) * std::cos(0.07f * y) + std::sin(0.03f * z);
        const float noise = kind == 0 ? 0.0f : kind == 1 ? 0.02f : 1.0f;
        values[i] = wave + noise * normal(random);
    }
    return values;
}

/// A kind of request: a field and a size.
struct Sort {
    std::size_t field, size;
    DatasetCodec recipe;
    std::unique_ptr<BlockCodec> codec;
    std::vector<float> values;
    Sort(std::size_t which, std::size_t shape) : field(which), size(shape) {
        recipe = {{"caesura:strong", {}, {}}, float32, k_shapes[shape],
                  absolute(k_bound),          {},      false};
        codec = std::move(*make_block_codec(recipe.spec, float32, recipe.chunk, recipe.bound));
        values = field_values(which, recipe.chunk);
    }
    void fill(run::Job& job) const {
        const Box box{Shape::filled(3, 0), recipe.chunk};
        job.label = k_fields[field];
        job.dtype = float32;
        job.chunk_box = box;
        job.valid = recipe.chunk;
        job.codec = codec.get();
        job.pieces = {{box, box, reinterpret_cast<const std::byte*>(values.data()), nullptr}};
    }
    double bytes() const { return static_cast<double>(values.size() * 4); }
};

/// The worst of the values that come back.
double error_of(const Sort& sort, std::span<const std::byte> stored) {
    std::vector<float> back(sort.values.size());
    if (!sort.codec->decode(stored, 0, std::as_writable_bytes(std::span(back))).ok()) return 1e9;
    double worst = 0.0;
    for (std::size_t i = 0; i < back.size(); ++i)
        worst = std::max(worst, std::fabs(double{back[i]} - double{sort.values[i]}));
    return worst;
}

// ------------------------------------------------------------------------------ the devices

class HostWork final : public Work {
  public:
    HostWork(const Sort& sort, base::BufferPool& pool) : pool_(pool) { sort.fill(job_); }
    void compute() override {
        begun_s = now_s();
        encoded = run::encode(job_, pool_);
        ended_s = now_s();
        done_.store(true);
        event_.raise();
    }
    void give_up() override {}
    void wait() {
        while (!done_.load()) event_.wait(event_.count(), 0.0005);
    }
    Result<run::Encoded> encoded = Status(StatusCode::internal, "not encoded");
    double begun_s = 0.0, ended_s = 0.0;

  private:
    base::BufferPool& pool_;
    run::Job job_;
    base::Event event_;
    std::atomic<bool> done_{false};
};

/// An emulated device, whose work on the host goes before all else there.
class Preferred final : public BlockDevice {
  public:
    explicit Preferred(std::unique_ptr<BlockDevice> device) : device_(std::move(device)) {}
    std::string label() const override { return device_->label(); }
    bool takes(const run::Job& job, const DatasetCodec& codec) const override {
        return device_->takes(job, codec);
    }
    bool wants_padding() const override { return device_->wants_padding(); }
    double utilisation() const override { return device_->utilisation(); }
    Result<EncodedBlock> encode(const DeviceBlock& block, DeviceParts& parts) override {
        const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
        (void)::setpriority(PRIO_PROCESS, thread, -15);
        auto encoded = device_->encode(block, parts);
        (void)::setpriority(PRIO_PROCESS, thread, 0);
        return encoded;
    }

  private:
    std::unique_ptr<BlockDevice> device_;
};

struct Bench {
    std::string remote_address;
    base::BufferPool pool;
    Press host{{k_workers, false}};
    std::shared_ptr<StatedSpeeds> speeds = std::make_shared<StatedSpeeds>();
    std::vector<std::unique_ptr<Sort>> sorts;
    LoadProcesses& load;
    where::HostUtilisation utilisation;
    double worst_error = 0.0;

    Bench(std::string address, LoadProcesses& processes)
        : remote_address(std::move(address)), load(processes) {
        speeds->link_bytes_per_s = 8e9;
        speeds->compress_bytes_per_s = 1.2e9;
        speeds->per_block_s = 300e-6;
        for (std::size_t size = 0; size < k_shapes.size(); ++size)
            for (std::size_t field = 0; field < k_fields.size(); ++field)
                sorts.push_back(std::make_unique<Sort>(field, size));
    }
    std::unique_ptr<BlockDevice> gpu() const {
        GpuDevice::Options options;
        options.coder = device::Coder::codec;  // quicker on the host than what is stated
        return std::make_unique<Preferred>(std::move(*GpuDevice::emulated(options, speeds)));
    }
    std::unique_ptr<BlockDevice> remote() const {
        // Its connection's thread has the priority of who makes it.
        return std::make_unique<Preferred>(
            RemoteDevice::over_port({}, remote_address, PortOptions{}));
    }
};

where::Run measure(Bench& bench, const Sort& sort, BlockDevice* device) {
    where::Run run;
    run.bytes = sort.bytes();
    Result<run::Encoded> encoded = Status(StatusCode::internal, "");
    const double begin_s = now_s();
    if (device == nullptr) {
        HostWork work(sort, bench.pool);
        bench.host.give(1, 1.0, 1.0, work);
        work.wait();
        encoded = std::move(work.encoded);
        run.compute_s = work.ended_s - begin_s;
    } else {
        run::Job job;
        sort.fill(job);
        DeviceParts parts;
        encoded = encode_on(*device, job, sort.recipe, bench.pool, parts);
        run.to_s = parts.to_s;
        run.from_s = parts.from_s;
        run.compute_s = std::max(1e-9, now_s() - begin_s - parts.to_s - parts.from_s);
    }
    if (!encoded.ok()) {
        std::fprintf(stderr, "transit_where: %s\n", encoded.status().message().c_str());
        std::exit(3);
    }
    run.result_bytes = static_cast<double>(encoded->stored.size());
    bench.worst_error = std::max(bench.worst_error, error_of(sort, encoded->stored.bytes()));
    run.utilisation = device == nullptr ? bench.utilisation.share(now_s()) : device->utilisation();
    return run;
}

// ------------------------------------------------------------------------------- part 1

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
    for (int repeat = 0; repeat < repeats; ++repeat) {
        auto& runs = measured.repeats.emplace_back();
        for (std::size_t d = 0; d < k_devices; ++d) {
            const std::size_t turn = (d + static_cast<std::size_t>(repeat)) % k_devices;
            runs[turn] = measure(bench, sort, devices[turn]);
        }
    }
    return measured;
}

/// Requests of all kinds, under loads that stay for a while each.
std::vector<Measured> matrix(Bench& bench, int rounds, json& loads) {
    constexpr int k_requests_of_a_load = 10;
    const auto gpu = bench.gpu(), remote = bench.remote();
    const auto devices = pointers(gpu.get(), remote.get());
    for (BlockDevice* const device : devices)  // connections, first touches
        for (const auto& sort : bench.sorts) (void)measure(bench, *sort, device);
    std::mt19937 random(k_seed);
    std::vector<Measured> requests;
    for (int round = 0; round < rounds; ++round) {
        const double share = k_shares[random() % 4];
        bench.load.set(share);
        bench.speeds->busy = k_busy[random() % 3];
        sleep_s(0.15);
        (void)bench.utilisation.share(now_s());
        sleep_s(0.15);
        for (int i = 0; i < k_requests_of_a_load; ++i) {
            const Sort& sort = *bench.sorts[random() % bench.sorts.size()];
            requests.push_back(request_on_all(bench, sort, k_repeats, devices));
            loads.push_back({std::min(1.0, 2 * share), bench.speeds->busy.load()});
        }
    }
    bench.load.set(0.0);
    bench.speeds->busy = 0.0;
    return requests;
}

/// One kind of request; in the middle the GPU becomes four times slower.
std::vector<Measured> slow_down(Bench& bench, std::size_t& slower_from) {
    constexpr int k_requests = 40;
    const auto gpu = bench.gpu(), remote = bench.remote();
    const auto devices = pointers(gpu.get(), remote.get());
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

json json_of(const std::vector<Measured>& requests) {
    json all = json::array();
    for (const Measured& one : requests) {
        json took = json::array(), results = json::array();
        for (std::size_t d = 0; d < k_devices; ++d) {
            const where::Run run = middle(one, d);
            took.push_back(seconds(run));
            results.push_back(run.result_bytes);
        }
        all.push_back({{"field", one.field},
                       {"bytes", one.bytes},
                       {"utilisation", one.utilisation},
                       {"took_s", std::move(took)},
                       {"result_bytes", std::move(results)}});
    }
    return all;
}

// ------------------------------------------------------------------------------- part 2

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
    std::unique_ptr<Dispatch> dispatch;
    std::array<std::uint64_t, k_devices> blocks{};
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
        all.push_back(
            {name, std::make_unique<Dispatch>(bench.host, options, std::move(devices)), {}});
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
json bursts(Bench& bench, int rounds) {
    constexpr int k_blocks = 16;
    auto all = policies(bench);
    std::mt19937 random(k_seed + 1);
    json made = json::array();
    for (int round = 0; round < rounds; ++round) {
        const double share = k_shares[random() % 4];
        bench.load.set(share);
        bench.speeds->busy = k_busy[random() % 3];
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
    json blocks = json::object();
    for (const Policy& policy : all) {
        json of_devices = json::object();
        for (const DeviceStatus& one : policy.dispatch->status()) of_devices[one.name] = one.blocks;
        blocks[policy.name] = std::move(of_devices);
        policy.dispatch->stop();
    }
    bench.load.set(0.0);
    return {
        {"rounds", std::move(made)}, {"blocks", std::move(blocks)}, {"blocks_at_once", k_blocks}};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: transit_where REMOTE_ADDRESS ROUNDS\n");
        return 2;
    }
    LoadProcesses load;  // before there is a thread
    Bench bench(argv[1], load);
    const int rounds = std::max(1, std::atoi(argv[2]));
    json all;
    json loads = json::array();
    const auto requests = matrix(bench, rounds, loads);
    all["requests"] = json_of(requests);
    all["loads"] = std::move(loads);
    all["policies"] = {{"middle", bench::policies(requests, false)},
                       {"single", bench::policies(requests, true)}};
    for (std::size_t d = 0; d < k_devices; ++d)
        all["model"][k_names[d]] = {{"fields", model_quality(requests, d, true, k_seed)},
                                    {"sizes_alone", model_quality(requests, d, false, k_seed)}};
    std::size_t slower_from = 0;
    const auto slower = slow_down(bench, slower_from);
    all["slow_down"] = recovery(slower, slower_from);
    all["slow_down"]["requests"] = json_of(slower);
    all["slow_down"]["slower_from"] = slower_from;
    all["bursts"] = bursts(bench, rounds);
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
