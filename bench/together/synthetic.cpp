// S2's synthetic benchmark (IV-C2) through the Checkpointer: checkpoints of one size at even
// intervals, of whose values (ratio - 1) / ratio are 0. An ensemble: the first run knows nothing,
// the others have its profile.
//
//   together_synthetic [--checkpoints N] [--bytes B] [--gb-per-s MADE] [--ratio R] [--cache-mb MB]
//                      [--link-share S] [--members M] --machine a100.json
//
// Prints JSON. The device is emulated: what it copies and compresses is real, its times are those
// of the machine's file. Every checkpoint is restored, last first, and compared; one that differs
// ends the program with 1.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "caesura/checkpointer.hpp"
#include "plan/together.hpp"

namespace {

using caesura::plan::CheckpointProfile;
using nlohmann::json;

struct Options {
    std::map<std::string, double> numbers = {
        {"--checkpoints", 100}, {"--bytes", 2e6},    {"--gb-per-s", 100}, {"--ratio", 16},
        {"--cache-mb", 128},    {"--link-share", 1}, {"--members", 3},
    };
    std::string machine;
    double operator[](const std::string& name) const { return numbers.at(name); }
};

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const auto found = options.numbers.find(name);
        if (name == "--machine") {
            options.machine = argv[i + 1];
        } else if (found == options.numbers.end()) {
            throw std::invalid_argument("unknown option '" + name + "'");
        } else {
            char* end = nullptr;
            found->second = std::strtod(argv[i + 1], &end);
            if (*end != '\0' || !(found->second > 0.0))
                throw std::invalid_argument(name + " must be a positive number");
        }
    }
    if (argc % 2 == 0) throw std::invalid_argument(std::string(argv[argc - 1]) + " needs a value");
    if (options.machine.empty()) throw std::invalid_argument("--machine FILE is needed");
    return options;
}

void require(const caesura::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.message());
}

template <class T>
T value_of(caesura::Result<T>&& result) {
    require(result.status());
    return *std::move(result);
}

CheckpointProfile machine_of(const Options& options, const json& machine) {
    CheckpointProfile profile;
    profile.checkpoint_bytes = static_cast<std::uint64_t>(options["--bytes"]);
    profile.cache_bytes = static_cast<std::uint64_t>(1e6 * options["--cache-mb"]);
    profile.link_bytes_per_s =
        machine.at("link_bytes_per_s").get<double>() * options["--link-share"];
    for (const double bytes : {1e5, 2e9})
        profile.compress_curve.push_back(
            {bytes, machine.at("launch_s").get<double>() +
                        bytes / machine.at("bytes_per_s").get<double>()});
    profile.copy_bytes_per_s = machine.at("copy_bytes_per_s").get<double>();
    return profile;
}

caesura::device::EmulatedDevice device_of(const CheckpointProfile& profile, const json& machine) {
    caesura::device::EmulatedMachine emulated;
    emulated.memory_bytes = profile.cache_bytes;
    emulated.link_bytes_per_s = profile.link_bytes_per_s;
    emulated.copy_bytes_per_s = machine.at("copy_bytes_per_s").get<double>();
    emulated.compress_s = [curve = profile.compress_curve](double bytes) {
        return caesura::plan::compress_s(curve, bytes);
    };
    return value_of(caesura::device::EmulatedDevice::create(std::move(emulated)));
}

/// The same for the same seed. What is not 0 is random bits, which nothing compresses.
std::vector<std::byte> synthetic(std::uint64_t seed, std::uint64_t bytes, double ratio) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> made(bytes);
    const auto full = static_cast<std::uint64_t>(static_cast<double>(bytes / 4) / ratio);
    for (std::uint64_t i = 0; i < full; ++i) {
        const auto bits = static_cast<std::uint32_t>(random());
        std::memcpy(made.data() + 4 * i, &bits, 4);
    }
    return made;
}

/// One run. `expected` becomes what it recorded, where it is the first.
json run(const Options& options, const json& machine, std::uint64_t member,
         CheckpointProfile& expected) {
    caesura::device::EmulatedDevice device = device_of(expected, machine);
    auto checkpointer = value_of(caesura::Checkpointer::create(device, expected));
    const auto count = static_cast<std::uint64_t>(options["--checkpoints"]);
    const std::uint64_t bytes = expected.checkpoint_bytes;
    const double interval_s = static_cast<double>(bytes) / (1e9 * options["--gb-per-s"]);
    const auto data = [&](std::uint64_t id) {
        return synthetic(1000 * member + id, bytes, options["--ratio"]);
    };
    for (std::uint64_t id = 0; id < count; ++id) {
        device.work(interval_s);
        require(checkpointer->checkpoint(id, data(id).data()));
    }
    require(checkpointer->flush());
    const double own_s = interval_s * static_cast<double>(count);
    const double later_s = device.now_s() - own_s;
    std::vector<std::byte> back(bytes);
    for (std::uint64_t id = count; id-- > 0;) {
        require(checkpointer->restore(id, back.data()));
        if (back != data(id)) throw std::runtime_error(fmt::format("checkpoint {} differs", id));
    }
    const auto report = checkpointer->report();
    json made = {{"word", report.word},
                 {"later_s", later_s},
                 {"bytes_per_s", static_cast<double>(report.raw_bytes) / later_s},
                 {"link_bytes", report.link_bytes},
                 {"peak_cache_bytes", report.peak_cache_bytes}};
    if (!expected.intervals_s.empty())
        made["planned_later_s"] = value_of(caesura::plan::together(expected)).flush_end_s - own_s;
    if (member == 0) expected = checkpointer->recorded();
    return made;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options options = parse(argc, argv);
        json machine;
        if (!(std::ifstream(options.machine) >> machine))
            throw std::runtime_error("cannot read " + options.machine);
        CheckpointProfile expected = machine_of(options, machine);
        auto device = device_of(expected, machine);
        expected.header_bytes =
            device.parcel_bytes(expected.cache_bytes / 2 / expected.checkpoint_bytes + 1, 0);
        json members = json::array();
        for (std::uint64_t member = 0; member < static_cast<std::uint64_t>(options["--members"]);
             ++member)
            members.push_back(run(options, machine, member, expected));
        fmt::print("{}\n", json({{"emulated_device", true}, {"members", members}}).dump(1));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "together_synthetic: {}\n", error.what());
        return 1;
    }
}
