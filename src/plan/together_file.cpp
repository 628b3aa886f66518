// The profile of a run as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "plan/together_model.hpp"

namespace caesura::plan {
namespace {

using nlohmann::json;

constexpr const char* k_format = "caesura-checkpoints";

Status corrupt(const std::string& why) {
    return {StatusCode::corrupt, "no usable profile of checkpoints: " + why};
}

/// nlohmann turns -1 into 2^64 - 1 and 2.5 into 2.
std::uint64_t whole(const json& from, const std::string& name) {
    if (!from.is_number_unsigned())
        throw std::invalid_argument(name + " is " + from.dump() +
                                    "; it must be a whole number of bytes");
    return from.get<std::uint64_t>();
}

CheckpointProfile read(const json& from) {
    CheckpointProfile profile;
    profile.checkpoint_bytes = whole(from.at("checkpoint_bytes"), "checkpoint_bytes");
    profile.cache_bytes = whole(from.at("cache_bytes"), "cache_bytes");
    profile.header_bytes =
        from.contains("header_bytes") ? whole(from.at("header_bytes"), "header_bytes") : 0;
    profile.copy_bytes_per_s = from.value("copy_bytes_per_s", 0.0);
    from.at("link_bytes_per_s").get_to(profile.link_bytes_per_s);
    from.at("intervals_s").get_to(profile.intervals_s);
    for (const json& size : from.at("compressed_bytes"))
        profile.compressed_bytes.push_back(
            whole(size, fmt::format("compressed_bytes[{}]", profile.compressed_bytes.size())));
    for (const json& point : from.at("compress_curve")) {
        if (!point.is_array() || point.size() != 2)
            throw std::invalid_argument("compress_curve must be a list of [bytes, seconds]");
        profile.compress_curve.push_back({point[0].get<double>(), point[1].get<double>()});
    }
    return profile;
}

}  // namespace

std::string to_json(const CheckpointProfile& profile) {
    json curve = json::array();
    for (const CompressPoint& point : profile.compress_curve)
        curve.push_back({point.bytes, point.seconds});
    const json document = {{"format", k_format},
                           {"version", k_checkpoint_profile_version},
                           {"checkpoint_bytes", profile.checkpoint_bytes},
                           {"intervals_s", profile.intervals_s},
                           {"compressed_bytes", profile.compressed_bytes},
                           {"compress_curve", std::move(curve)},
                           {"link_bytes_per_s", profile.link_bytes_per_s},
                           {"cache_bytes", profile.cache_bytes},
                           {"header_bytes", profile.header_bytes},
                           {"copy_bytes_per_s", profile.copy_bytes_per_s}};
    return document.dump() + "\n";
}

Result<CheckpointProfile> parse_checkpoint_profile(std::string_view text) {
    const json from = json::parse(text, nullptr, false);
    if (from.is_discarded()) return corrupt("it is not valid JSON (cut off?)");
    try {
        if (!from.is_object() || from.value("format", "") != k_format)
            return Status{
                StatusCode::unsupported,
                fmt::format("no profile of checkpoints: \"format\" is not \"{}\"", k_format)};
        const int version = from.at("version");
        if (version != k_checkpoint_profile_version)
            return Status{StatusCode::unsupported,
                          fmt::format("profile of checkpoints of version {}, this build reads "
                                      "version {}; record the run again",
                                      version, k_checkpoint_profile_version)};
        CheckpointProfile profile = read(from);
        if (Status status = validate(profile, {}); !status.ok()) return corrupt(status.message());
        return profile;
    } catch (const std::exception& error) {  // nlohmann's and ours: all of them say what is wrong
        return corrupt(error.what());
    }
}

}  // namespace caesura::plan
