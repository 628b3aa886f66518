// A profile as JSON: what `caesura calibrate` found on a class of machines.
//
// Invariants:
//  - parse_profile takes any bytes and never throws: a profile with a curve that check() refuses
//    does not exist.
//  - to_json writes every number so that it is read back exactly.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "predict/times.hpp"

namespace caesura::predict {
namespace {

using nlohmann::json;

constexpr const char* k_format = "caesura-calibration";
constexpr const char* k_again = "; run `caesura calibrate` to make a new one";

CompressCurve read_compress_curve(const json& from) {
    CompressCurve curve;
    const std::string form = from.at("form");
    if (form == "power") {
        from.at("low_bytes_per_s").get_to(curve.low_bytes_per_s);
        from.at("high_bytes_per_s").get_to(curve.high_bytes_per_s);
        from.at("exponent").get_to(curve.exponent);
    } else if (form == "points") {
        curve.form = CompressCurve::Form::points;
        from.at("bits").get_to(curve.bits);
        from.at("s_per_byte").get_to(curve.s_per_byte);
        from.at("per_block_s").get_to(curve.per_block_s);
    } else {
        throw std::invalid_argument("form is '" + form + "', not 'power' or 'points'");
    }
    if (Status status = check(curve); !status.ok()) throw std::invalid_argument(status.message());
    return curve;
}

json to_object(const CompressCurve& curve) {
    if (curve.form == CompressCurve::Form::power)
        return {{"form", "power"},
                {"low_bytes_per_s", curve.low_bytes_per_s},
                {"high_bytes_per_s", curve.high_bytes_per_s},
                {"exponent", curve.exponent}};
    return {{"form", "points"},
            {"bits", curve.bits},
            {"s_per_byte", curve.s_per_byte},
            {"per_block_s", curve.per_block_s}};
}

Profile::Compress read_compress(const json& from) {
    Profile::Compress entry;
    from.at("codec").get_to(entry.codec);
    from.at("mode").get_to(entry.mode);
    const std::string dtype = from.at("dtype");
    if (dtype != "float32" && dtype != "float64")
        throw std::invalid_argument("dtype is '" + dtype + "', not 'float32' or 'float64'");
    entry.dtype = dtype == "float32" ? float32 : float64;
    entry.curve = read_compress_curve(from.at("curve"));
    entry.median_error = from.value("median_error", 0.0);
    entry.samples = from.value("samples", std::uint64_t{0});
    return entry;
}

Profile::Write read_write(const json& from) {
    Profile::Write entry;
    from.at("file_system").get_to(entry.file_system);
    from.at("synced").get_to(entry.synced);
    const json& curve = from.at("curve");
    curve.at("latency_s").get_to(entry.curve.latency_s);
    curve.at("bytes").get_to(entry.curve.bytes);
    curve.at("s_per_byte").get_to(entry.curve.s_per_byte);
    if (Status status = check(entry.curve); !status.ok())
        throw std::invalid_argument(status.message());
    entry.median_error = from.value("median_error", 0.0);
    entry.samples = from.value("samples", std::uint64_t{0});
    return entry;
}

template <class T>
std::vector<T> read_list(const json& from, const char* name, T (*read)(const json&)) {
    std::vector<T> list;
    const json& entries = from.at(name);
    if (!entries.is_array()) throw std::invalid_argument(std::string(name) + " is no list");
    for (const json& entry : entries) try {
            list.push_back(read(entry));
        } catch (const std::exception& error) {
            throw std::invalid_argument(fmt::format("{}[{}]: {}", name, list.size(), error.what()));
        }
    return list;
}

Status corrupt(const std::string& why) {
    return {StatusCode::corrupt, "no usable calibration: " + why + k_again};
}

}  // namespace

const CompressCurve* Profile::find(std::string_view codec, std::string_view mode,
                                   DType dtype) const {
    const auto found = std::find_if(compress.begin(), compress.end(), [&](const Compress& entry) {
        return entry.codec == codec && entry.mode == mode && entry.dtype == dtype;
    });
    return found == compress.end() ? nullptr : &found->curve;
}

const WriteCurve* Profile::find_write(std::string_view file_system, bool synced) const {
    const auto found = std::find_if(write.begin(), write.end(), [&](const Write& entry) {
        return entry.file_system == file_system && entry.synced == synced;
    });
    return found == write.end() ? nullptr : &found->curve;
}

Result<Profile> parse_profile(std::string_view text) {
    const json from = json::parse(text, nullptr, false);
    if (from.is_discarded()) return corrupt("it is not valid JSON (cut off?)");
    try {
        if (!from.is_object() || from.value("format", "") != k_format)
            return Status{
                StatusCode::unsupported,
                fmt::format("no calibration: \"format\" is not \"{}\"{}", k_format, k_again)};
        const int version = from.at("version");
        if (version != Profile::k_version)
            return Status{StatusCode::unsupported,
                          fmt::format("calibration of version {}, this build reads version {}{}",
                                      version, Profile::k_version, k_again)};
        Profile profile;
        const json& host = from.at("host");
        host.at("class").get_to(profile.host_class);
        profile.processor = host.value("processor", "");
        profile.cores = host.value("cores", 0);
        profile.created = from.value("created", "");
        profile.compress = read_list(from, "compress", read_compress);
        profile.write = read_list(from, "write", read_write);
        return profile;
    } catch (const std::exception& error) {  // nlohmann's and ours: all of them say what is wrong
        return corrupt(error.what());
    }
}

std::string to_json(const Profile& profile) {
    json compress = json::array(), write = json::array();
    for (const Profile::Compress& entry : profile.compress)
        compress.push_back({{"codec", entry.codec},
                            {"mode", entry.mode},
                            {"dtype", std::string(to_string(entry.dtype))},
                            {"curve", to_object(entry.curve)},
                            {"median_error", entry.median_error},
                            {"samples", entry.samples}});
    for (const Profile::Write& entry : profile.write)
        write.push_back({{"file_system", entry.file_system},
                         {"synced", entry.synced},
                         {"curve",
                          {{"latency_s", entry.curve.latency_s},
                           {"bytes", entry.curve.bytes},
                           {"s_per_byte", entry.curve.s_per_byte}}},
                         {"median_error", entry.median_error},
                         {"samples", entry.samples}});
    const json document = {{"format", k_format},
                           {"version", Profile::k_version},
                           {"created", profile.created},
                           {"host",
                            {{"class", profile.host_class},
                             {"processor", profile.processor},
                             {"cores", profile.cores}}},
                           {"compress", std::move(compress)},
                           {"write", std::move(write)}};
    // Names come from the operating system: what is no UTF-8 is replaced, not thrown.
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace caesura::predict
