// What a message costs, between two processes: latency there and back, throughput one way; inside
// the node, over TCP on this machine with tags and, on a trusted network, without tags of payloads.
// Beside it what the machine can do at most: a copy in memory (shared memory takes two, one in each
// process), and what authentication costs alone.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "transit/port/port.hpp"
#include "transit/port/secret.hpp"

namespace caesura::transit {
namespace {

enum class Way : int { local, tcp, trusted };

class Handler final : public PortHandler {
  public:
    bool connected = false;
    std::uint64_t messages = 0;
    std::vector<std::byte> room;
    void on_connected(PeerId, const Who&) override { connected = true; }
    std::span<std::byte> room_for(PeerId, std::span<const std::byte>,
                                  std::uint64_t bytes) override {
        room.resize(bytes);
        return room;
    }
    void on_message(PeerId, std::span<const std::byte>, std::span<const std::byte>) override {
        ++messages;
    }
    void on_lost(PeerId, const Status&) override { connected = false; }
};

// A port here, and `transit_peer` at the other end.
class Far {
  public:
    Far(Way way, const char* what, double spin_s) {
        directory_ = fmt::format("/tmp/caesura_link_bench_{}", ::getpid());
        std::filesystem::create_directories(directory_);
        const std::string secret = directory_ + "/secret";
        std::ofstream(secret) << std::string(64, 's');
        (void)::chmod(secret.c_str(), 0600);
        PortOptions options;
        options.secret_path = secret;
        options.trusted_network = way == Way::trusted;
        options.spin_s = spin_s;
        auto made = Port::make(options, handler);
        if (!made.ok()) return;
        port = std::move(*made);
        const auto place = port->listen(*Address::parse(
            way == Way::local ? "unix:" + directory_ + "/socket" : "tcp:127.0.0.1:0"));
        if (!place.ok()) return;
        process_ = ::fork();
        if (process_ == 0) {
            (void)::dup2(::open("/dev/null", O_WRONLY), 1);
            ::execl(CAESURA_TRANSIT_PEER, CAESURA_TRANSIT_PEER, "connect", place->text().c_str(),
                    secret.c_str(), what, way == Way::trusted ? "trusted=1" : "trusted=0",
                    spin_s > 0.0 ? "spin_s=0.001" : "spin_s=0", nullptr);
            ::_exit(127);
        }
        while (!handler.connected && ::waitpid(process_, nullptr, WNOHANG) == 0)
            port->run_once(0.1);
    }
    ~Far() {
        port.reset();
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            (void)::waitpid(process_, nullptr, 0);
        }
        std::filesystem::remove_all(directory_);
    }
    Far(const Far&) = delete;
    Far& operator=(const Far&) = delete;

    Handler handler;
    std::unique_ptr<Port> port;

  private:
    std::string directory_;
    pid_t process_ = -1;
};

// One message there and back; time of half of it.
void latency(benchmark::State& state, Way way, double spin_s) {
    Far far(way, "echo", spin_s);
    if (!far.handler.connected) return state.SkipWithError("no connection");
    const std::vector<std::byte> data(static_cast<std::size_t>(state.range(0)));
    const std::span<const std::byte> piece = data;
    std::uint64_t sent = 0;
    for (auto _ : state) {
        (void)far.port->send(1, {}, {&piece, 1});
        for (++sent; far.handler.messages < sent && far.handler.connected;) far.port->run_once(1.0);
    }
    if (!far.handler.connected) state.SkipWithError("lost");
    state.counters["one_way_s"] =
        benchmark::Counter(2.0 * static_cast<double>(state.iterations()),
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// One after the other, so many at once that the way is never empty.
void throughput(benchmark::State& state, Way way) {
    Far far(way, "sink", 0.0);
    if (!far.handler.connected) return state.SkipWithError("no connection");
    const auto bytes = static_cast<std::size_t>(state.range(0));
    const std::vector<std::byte> data(bytes, std::byte{3});
    const std::span<const std::byte> piece = data;
    const std::uint64_t most = std::max<std::uint64_t>(4, (8u << 20) / bytes);
    std::uint64_t on_their_way = 0;
    const auto wait_for = [&](std::uint64_t n) {
        while (on_their_way > n && far.handler.connected) far.port->run_once(1.0);
    };
    for (auto _ : state) {
        wait_for(most - 1);
        ++on_their_way;
        (void)far.port->send(1, {}, {&piece, 1}, [&](const Status&) { --on_their_way; });
    }
    wait_for(0);
    if (!far.handler.connected) state.SkipWithError("lost");
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void copy(benchmark::State& state) {
    std::vector<std::byte> from(static_cast<std::size_t>(state.range(0)), std::byte{1});
    std::vector<std::byte> to(from.size());
    for (auto _ : state) {
        std::memcpy(to.data(), from.data(), from.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void tag(benchmark::State& state) {
    (void)prepare_cryptography();
    const Seal seal{Key()};
    const std::vector<std::byte> data(static_cast<std::size_t>(state.range(0)), std::byte{1});
    std::uint64_t number = 0;
    for (auto _ : state) benchmark::DoNotOptimize(seal.tag(Seal::Use::data, number++, data));
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void hmac(benchmark::State& state) {
    (void)prepare_cryptography();
    const std::vector<std::byte> data(static_cast<std::size_t>(state.range(0)), std::byte{1});
    for (auto _ : state) benchmark::DoNotOptimize(authenticate(Key(), "bench", data));
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

constexpr std::int64_t k_small[] = {0, 100, 1000, 8192};
constexpr std::int64_t k_sizes[] = {1000, 8192, 65536, 1 << 20, 8 << 20, 64 << 20};

void small(benchmark::internal::Benchmark* bench) {
    for (const std::int64_t bytes : k_small) bench->Arg(bytes);
    bench->UseRealTime()->Unit(benchmark::kMicrosecond);
}
void sizes(benchmark::internal::Benchmark* bench) {
    for (const std::int64_t bytes : k_sizes) bench->Arg(bytes);
    bench->UseRealTime()->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(latency, local, Way::local, 0.0)->Apply(small);
BENCHMARK_CAPTURE(latency, local_spinning, Way::local, 1e-3)->Apply(small);
BENCHMARK_CAPTURE(latency, tcp, Way::tcp, 0.0)->Apply(small);
BENCHMARK_CAPTURE(latency, tcp_trusted, Way::trusted, 0.0)->Apply(small);
BENCHMARK_CAPTURE(throughput, local, Way::local)->Apply(sizes);
BENCHMARK_CAPTURE(throughput, tcp, Way::tcp)->Apply(sizes);
BENCHMARK_CAPTURE(throughput, tcp_trusted, Way::trusted)->Apply(sizes);
BENCHMARK(copy)->Apply(sizes);
BENCHMARK(tag)->Apply(sizes);
BENCHMARK(hmac)->Apply(sizes);

}  // namespace
}  // namespace caesura::transit

BENCHMARK_MAIN();
