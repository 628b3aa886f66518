// Packed frames on real fields: ratio, and speed on one core of the host, beside our codec's.
// Data: every float32 field of the files in $CAESURA_DATA; without it says so and measures nothing.
#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "codec/packed/packed.hpp"

namespace caesura::codec::packed {
namespace {

using Field = std::pair<std::string, std::vector<float>>;

/// Seconds of the best of five.
double best_s(const std::function<void()>& call) {
    double best = 1e30;
    for (int i = 0; i < 5; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        call();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        best = std::min(best, taken.count());
    }
    return best;
}

herr_t take_field(hid_t group, const char* name, const H5L_info_t*, void* fields) {
    const hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    if (dataset < 0) return 0;
    const hid_t space = H5Dget_space(dataset);
    std::vector<float> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    if (H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0)
        static_cast<std::vector<Field>*>(fields)->emplace_back(name, std::move(values));
    H5Sclose(space);
    H5Dclose(dataset);
    return 0;
}

std::vector<Field> fields_of(const std::string& path) {
    std::vector<Field> fields;
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) return fields;
    const bool nyx = H5Lexists(file, "native_fields", H5P_DEFAULT) > 0;
    const hid_t group = H5Gopen2(file, nyx ? "native_fields" : "/", H5P_DEFAULT);
    H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, take_field, &fields);
    H5Gclose(group);
    H5Fclose(file);
    return fields;
}

nlohmann::json measure(const std::vector<float>& values, const ErrorBound& bound) {
    const auto raw = std::as_bytes(std::span(values));
    std::vector<std::byte> frame(packed_bytes_at_most(raw.size())), back(raw.size());
    std::uint64_t bytes = 0;
    const double pack_s = best_s([&] { bytes = *pack_frame(raw, float32, bound, frame); });
    frame.resize(bytes);
    bool ok = true;
    const double unpack_s = best_s([&] { ok = ok && unpack_frame(frame, back).ok(); });
    const Shape shape{values.size()};
    std::size_t ours = 0;
    const double ours_s =
        best_s([&] { ours = compress(raw, float32, shape, bound, {Mode::planes})->size(); });
    const auto size = static_cast<double>(raw.size());
    return {{"ratio", size / static_cast<double>(bytes)},
            {"pack_gb_per_s", size / pack_s / 1e9},
            {"unpack_gb_per_s", size / unpack_s / 1e9},
            {"planes_ratio", size / static_cast<double>(ours)},
            {"planes_gb_per_s", size / ours_s / 1e9},
            {"read_back", ok}};
}

int run() {
    const char* const data = std::getenv("CAESURA_DATA");
    nlohmann::json rows = nlohmann::json::array();
    if (data != nullptr && std::filesystem::is_directory(data)) {
        std::vector<std::string> paths;
        for (const auto& entry : std::filesystem::directory_iterator(data))
            if (entry.path().extension() == ".h5") paths.push_back(entry.path().string());
        std::sort(paths.begin(), paths.end());
        for (const std::string& path : paths)
            for (const auto& [name, values] : fields_of(path)) {
                const auto [low, high] = std::minmax_element(values.begin(), values.end());
                const double range = static_cast<double>(*high) - static_cast<double>(*low);
                for (const double share : {0.0, 1e-4, 1e-3, 1e-2}) {
                    if (share > 0.0 && range == 0.0) continue;
                    nlohmann::json row =
                        measure(values, share > 0.0 ? absolute(share * range) : lossless());
                    row["field"] = std::filesystem::path(path).stem().string() + "/" + name;
                    row["bound_of_range"] = share;
                    rows.push_back(std::move(row));
                }
            }
    }
    if (rows.empty()) std::puts("skipped: $CAESURA_DATA names no directory with float32 fields");
    std::puts(nlohmann::json{{"packed", rows}}.dump(1).c_str());
    return 0;
}

}  // namespace
}  // namespace caesura::codec::packed

int main() { return caesura::codec::packed::run(); }
