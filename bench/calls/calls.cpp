// What a dump costs the application in our calls, beside the least that it can cost: a copy.
//
// One rank, six fields of four blocks of 8 MiB (24 blocks, 201 MB a dump, as a rank of the demo
// has), each of another kind: smooth, rough, uneven, mostly zero. They move a little between dumps.
// Beside each dump the same bytes are copied with memcpy into touched memory: the floor; and once
// more by as many threads as put() may use. A line of JSON on stdout says the seconds of all, dump
// by dump.
//
// usage: calls [--dumps N] [--pause-ms MS] [--bound B] [--borrow] [--file PATH]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>
#include <thread>

#include "caesura/writer.hpp"
#include "run/call_helpers.hpp"

namespace {

using namespace caesura;

constexpr std::size_t k_fields = 6;
const Shape k_shape{256, 256, 128};

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// A sum of waves with random directions, whose amplitudes fall with the wave number.
void add_waves(std::vector<float>& values, std::mt19937& random, double slope) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> phase(0.0, 6.283185307179586);
    for (int wave = 0; wave < 12; ++wave) {
        double k[3];
        for (double& one : k) one = 0.02 * std::exp(1.2 * std::fabs(normal(random))) * (wave + 1);
        const double length = std::sqrt(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
        const double amplitude = std::pow(length / 0.05, -slope), at = phase(random);
        std::size_t i = 0;
        for (std::uint64_t z = 0; z < k_shape[0]; ++z)
            for (std::uint64_t y = 0; y < k_shape[1]; ++y) {
                const auto row = static_cast<float>(at + k[0] * double(z) + k[1] * double(y));
                for (std::uint64_t x = 0; x < k_shape[2]; ++x)
                    values[i++] += static_cast<float>(amplitude) *
                                   std::sin(row + static_cast<float>(k[2]) * float(x));
            }
    }
}

/// A field that turns from one state into another as time goes on.
class Moving {
  public:
    explicit Moving(std::size_t kind) : kind_(kind) {
        std::mt19937 random(static_cast<unsigned>(kind + 1));
        for (auto* state : {&first_, &second_}) {
            state->assign(k_shape.count(), 0.0f);
            add_waves(*state, random, kind % 2 == 0 ? 2.0 : 0.7);
        }
        noise_.resize(1 << 16);
        std::normal_distribution<float> normal;
        for (float& one : noise_) one = normal(random);
    }
    void at(double time, std::vector<float>& values) const {
        const auto a = static_cast<float>(std::cos(time)), b = static_cast<float>(std::sin(time));
        values.resize(first_.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const float value = a * first_[i] + b * second_[i];
            switch (kind_) {
                case 2:
                case 3:  // a density
                    values[i] = std::exp(1.5f * value);
                    break;
                case 4:  // particles in a part of the domain
                    values[i] = value > 1.0f ? value + 0.1f * noise_[i & 0xffff] : 0.0f;
                    break;
                default:
                    values[i] = value;
            }
        }
    }

  private:
    std::size_t kind_;
    std::vector<float> first_, second_, noise_;
};

struct Options {
    std::uint64_t dumps = 6;
    double pause_s = 0.8, bound = 1e-3;
    Ownership own = Ownership::copy;
    std::string path = "calls.h5";
};

void fail(const Status& status) {
    if (status.ok()) return;
    fmt::print(stderr, "calls: {}\n", status.message());
    std::exit(1);
}

double copy_s(const std::vector<std::vector<float>>& fields, std::vector<float>& to) {
    const double begin_s = now_s();
    for (std::size_t f = 0; f < fields.size(); ++f)
        std::memcpy(to.data() + f * fields[f].size(), fields[f].data(),
                    fields[f].size() * sizeof(float));
    return now_s() - begin_s;
}

/// The same by several threads.
double shared_copy_s(const std::vector<std::vector<float>>& fields, run::CallHelpers& helpers,
                     std::vector<float>& to) {
    const double begin_s = now_s();
    for (std::size_t f = 0; f < fields.size(); ++f)
        helpers.copy(reinterpret_cast<std::byte*>(to.data() + f * fields[f].size()),
                     reinterpret_cast<const std::byte*>(fields[f].data()),
                     fields[f].size() * sizeof(float));
    return now_s() - begin_s;
}

int measure(const Options& options) {
    std::vector<Moving> moving;
    for (std::size_t kind = 0; kind < k_fields; ++kind) moving.emplace_back(kind);
    std::vector<std::vector<float>> values(k_fields);
    std::vector<float> touched(k_fields * k_shape.count(), 1.0f);
    WriterOptions writing;
    writing.durable = false;
    writing.memory_bytes = 1u << 30;
    auto writer = Writer::create(options.path, nullptr, writing);
    fail(writer.status());
    std::vector<Field> fields;
    for (std::size_t f = 0; f < k_fields; ++f) {
        moving[f].at(0.0, values[f]);
        const auto [least, most] = std::minmax_element(values[f].begin(), values[f].end());
        FieldOptions field;
        field.codec = CodecSpec{"caesura"};
        auto defined = (*writer)->define_field(fmt::format("field{}", f), float32, k_shape,
                                               absolute(options.bound * double(*most - *least)));
        fail(defined.status());
        fields.push_back(*defined);
    }
    const double spare = std::min<double>(writing.compress_threads, (*writer)->report().cores - 1);
    run::CallHelpers helpers(std::max(0, static_cast<int>(spare)));
    nlohmann::json dumps = nlohmann::json::array();
    double compressed_s = 0.0;
    for (std::uint64_t n = 0; n < options.dumps; ++n) {
        for (std::size_t f = 0; f < k_fields; ++f) moving[f].at(0.02 * double(n), values[f]);
        const double floor_s = std::min(copy_s(values, touched), copy_s(values, touched));
        const double shared_s = std::min(shared_copy_s(values, helpers, touched),
                                         shared_copy_s(values, helpers, touched));
        const WriterReport before = (*writer)->report();
        // What the dump before took, which is compressed by now.
        if (n > 0) dumps.back()["compress_s"] = before.compress_s - compressed_s;
        compressed_s = before.compress_s;
        auto iteration = (*writer)->begin_iteration(n);
        std::this_thread::sleep_for(std::chrono::duration<double>(options.pause_s / 2));
        auto dump = iteration.begin_dump(double(n));
        for (std::size_t f = 0; f < k_fields; ++f)
            fail(dump.put(fields[f], {{0, 0, 0}, k_shape}, values[f].data(), options.own));
        fail(iteration.end());
        const WriterReport after = (*writer)->report();
        dumps.push_back(
            {{"put_s", after.put_s - before.put_s},
             {"end_s", after.end_s - before.end_s},
             {"plan_s", after.plan_s - before.plan_s},
             {"predicted_compress_s", after.predicted_compress_s - before.predicted_compress_s},
             {"copy_s", floor_s},
             {"shared_copy_s", shared_s},
             {"recalled_blocks", after.recalled_blocks - before.recalled_blocks}});
        if (options.own == Ownership::borrow)
            fail((*writer)->finish_by(60.0));
        else
            std::this_thread::sleep_for(std::chrono::duration<double>(options.pause_s / 2));
    }
    fail((*writer)->close());
    const WriterReport all = (*writer)->report();
    dumps.back()["compress_s"] = all.compress_s - compressed_s;
    const nlohmann::json said = {{"dumps", dumps},
                                 {"bytes_per_dump", k_fields * k_shape.count() * sizeof(float)},
                                 {"copy_threads", helpers.threads()},
                                 {"blocks", all.blocks},
                                 {"overflow_blocks", all.overflow_blocks},
                                 {"reserved_bytes", all.reserved_bytes},
                                 {"spare_bytes", all.spare_bytes},
                                 {"stored_bytes", all.stored_bytes},
                                 {"compress_s", all.compress_s}};
    fmt::print("{}\n", said.dump());
    std::filesystem::remove(options.path);
    return 0;
}

}  // namespace

int main(int n, char** words) {
    Options options;
    for (int i = 1; i < n; ++i) {
        const std::string_view word = words[i];
        const auto value = [&] { return i + 1 < n ? words[++i] : ""; };
        if (word == "--dumps")
            options.dumps = std::strtoull(value(), nullptr, 10);
        else if (word == "--pause-ms")
            options.pause_s = 1e-3 * std::atof(value());
        else if (word == "--bound")
            options.bound = std::atof(value());
        else if (word == "--borrow")
            options.own = Ownership::borrow;
        else if (word == "--file")
            options.path = value();
        else {
            fmt::print(stderr, "calls: {} is no option; see the head of calls.cpp\n", word);
            return 2;
        }
    }
    return measure(options);
}
