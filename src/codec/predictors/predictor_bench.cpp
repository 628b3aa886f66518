// How fast the predictors are, without entropy coding: GB/s of raw values, per instruction set.
//
//     predictor_bench [values.f32 nz ny nx] [relative bound] [repeats]
//
// Thread CPU time, everything interleaved, the median of the repeats. Without a file: a synthetic
// field of 128^3 float32. Codes go to and come from a buffer that stays in the first-level cache.
#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "codec/bound/float_environment.hpp"
#include "codec/predictors/predictors.hpp"

namespace caesura::codec {
namespace {

double thread_time_s() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Collect : CodeSink {
    std::vector<std::uint32_t> codes;
    void put_chunk(const std::uint32_t* chunk, std::size_t n) override {
        codes.insert(codes.end(), chunk, chunk + n);
    }
};

struct Drop : CodeSink {
    std::uint32_t seen = 0;
    void put_chunk(const std::uint32_t* chunk, std::size_t) override { seen += chunk[0]; }
};

/// The same few thousand codes over and over: what a decoder's speed is measured with.
struct Repeat : CodeSource {
    static constexpr std::size_t k_codes = 8192;
    explicit Repeat(const std::vector<std::uint32_t>& c) : codes(c) {}
    const std::vector<std::uint32_t>& codes;
    std::size_t next = 0;
    void get_chunk(std::uint32_t* chunk) override {
        std::memcpy(chunk, codes.data() + next, k_chunk_values * sizeof(std::uint32_t));
        next = (next + k_chunk_values) % k_codes;
    }
};

struct Contender {
    std::string name;
    bool lorenzo = false;
    InterpolationSettings settings;
    std::vector<double> encode_s;
    std::vector<double> decode_s;
    std::vector<std::uint32_t> codes;
};

std::vector<Contender> contenders() {
    std::vector<Contender> list(1);
    list[0].name = "lorenzo";
    list[0].lorenzo = true;
    std::array<std::uint8_t, 3> order{0, 1, 2};
    do {
        Contender c;
        std::copy(order.begin(), order.end(), c.settings.order.begin());
        // Feedback as tuning mostly chooses it: on the passes that predict most.
        c.settings.feedback[order[1]] = 6;
        c.settings.feedback[order[2]] = 6;
        c.name = fmt::format("interpolation {}{}{}", order[0], order[1], order[2]);
        list.push_back(c);
    } while (std::next_permutation(order.begin(), order.end()));
    return list;
}

struct Bench {
    Shape shape;
    std::vector<float> values;
    Quantiser<float> quantiser;
    PredictorScratch scratch;
    std::vector<float> decoded;

    void encode(const Contender& c, CodeSink& sink, ExactValues<float>& exact) {
        const auto writer = std::make_unique<CodeWriter>(sink);
        if (c.lorenzo) {
            encode_lorenzo(values.data(), shape, quantiser, {}, scratch, *writer, exact);
        } else {
            encode_interpolation(values.data(), shape, quantiser, c.settings, scratch, *writer,
                                 exact);
        }
    }
    bool decode(const Contender& c) {
        Repeat source(c.codes);
        const auto reader = std::make_unique<CodeReader>(source);
        if (c.lorenzo) {
            return decode_lorenzo(decoded.data(), shape, quantiser, {}, scratch, *reader, {}).ok();
        }
        return decode_interpolation(decoded.data(), shape, quantiser, c.settings, scratch, *reader,
                                    {})
            .ok();
    }

    void measure(int repeats) {
        std::vector<Contender> list = contenders();
        for (Contender& c : list) {
            Collect sink;
            ExactValues<float> exact;
            encode(c, sink, exact);
            // Exact values are none of the decoder's usual work.
            for (auto& code : sink.codes) code = code == k_exact_code ? 0 : code;
            sink.codes.resize(std::max(sink.codes.size(), Repeat::k_codes));
            c.codes = std::move(sink.codes);
        }
        for (int repeat = 0; repeat < repeats; ++repeat) {
            for (Contender& c : list) {
                Drop sink;
                ExactValues<float> exact;
                const double begin = thread_time_s();
                encode(c, sink, exact);
                const double middle = thread_time_s();
                if (!decode(c)) fmt::print("{}: decoding failed\n", c.name);
                c.encode_s.push_back(middle - begin);
                c.decode_s.push_back(thread_time_s() - middle);
            }
        }
        const double gigabytes = 4e-9 * static_cast<double>(values.size());
        for (Contender& c : list) {
            std::sort(c.encode_s.begin(), c.encode_s.end());
            std::sort(c.decode_s.begin(), c.decode_s.end());
            const std::size_t middle = c.encode_s.size() / 2;
            fmt::print(
                "  {:<18} encode {:6.2f} (best {:6.2f})  decode {:6.2f} (best {:6.2f}) GB/s\n",
                c.name, gigabytes / c.encode_s[middle], gigabytes / c.encode_s[0],
                gigabytes / c.decode_s[middle], gigabytes / c.decode_s[0]);
        }
    }
};

bool load(const char* path, const Shape& shape, std::vector<float>& values) {
    values.resize(shape.count());
    std::ifstream file(path, std::ios::binary);
    const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(float));
    return file.read(reinterpret_cast<char*>(values.data()), bytes).gcount() == bytes;
}

void synthesise(const Shape& shape, std::vector<float>& values) {
    values.resize(shape.count());
    std::mt19937 random(1);
    std::normal_distribution<float> noise(0.0F, 2e-4F);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto x = static_cast<float>(i % shape[2]);
        const auto y = static_cast<float>(i / shape[2] % shape[1]);
        const auto z = static_cast<float>(i / shape[2] / shape[1]);
        values[i] =
            std::sin(0.11F * x + 0.03F * y) * std::cos(0.07F * z - 0.05F * y) + noise(random);
    }
}

int run(int argc, char** argv) {
    Bench bench;
    bench.shape = Shape{128, 128, 128};
    int next = 1;
    if (argc > 4) {
        for (int axis = 0; axis < 3; ++axis) {
            bench.shape[axis] = std::strtoull(argv[2 + axis], nullptr, 10);
        }
        if (!load(argv[1], bench.shape, bench.values)) {
            fmt::print("cannot read {} values from {}\n", bench.shape.count(), argv[1]);
            return 1;
        }
        next = 5;
    } else {
        synthesise(bench.shape, bench.values);
    }
    const double relative = argc > next ? std::strtod(argv[next], nullptr) : 1e-3;
    const int repeats = argc > next + 1 ? std::atoi(argv[next + 1]) : 15;
    const auto [low, high] = std::minmax_element(bench.values.begin(), bench.values.end());
    bench.quantiser = choose_quantiser<float>(
        bench.values, relative * (static_cast<double>(*high) - static_cast<double>(*low)));
    bench.decoded.resize(bench.values.size());
    const FloatEnvironment environment;
    for (std::int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
        const std::int64_t target = targets & -targets;
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        fmt::print("{} at {:g} of the range, {}\n", hwy::TargetName(target), relative,
                   to_string(bench.shape));
        bench.measure(repeats);
        hwy::SetSupportedTargetsForTest(0);
    }
    return 0;
}

}  // namespace
}  // namespace caesura::codec

int main(int argc, char** argv) { return caesura::codec::run(argc, argv); }
