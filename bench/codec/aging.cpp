// How much larger do a field's dumps get when they are coded with the tables of an earlier dump?
//
//     codec_aging DIRECTORY FIELD FIRST AGES MODE KIND BOUND
//
// Reads DIRECTORY/FIELD_<FIRST + age>.bin (raw float32 cubes) for age 0..AGES, trains a table set
// on the first, and prints one CSV line per age: the frame's size with tables trained on that very
// dump, with the first dump's tables and the drift check on, the same with the check off, with the
// built-in tables, and whether the checked frame carries tables of its own. Every frame is
// decompressed and its bound checked. MODE fast|strong, KIND absolute|relative.
#include <cmath>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/aging_series.hpp"

namespace {

using caesura::CompressOptions;
using caesura::TableSet;
using caesura::TableStatistics;
using caesura::bench::cube_shape, caesura::bench::fail, caesura::bench::read_cube;
using Series = caesura::bench::DumpSeries;

void check_bound(const std::vector<float>& values, const std::vector<std::byte>& frame,
                 const TableSet* tables) {
    const auto info = caesura::read_frame_info(frame);
    if (!info.ok()) fail(info.status().message());
    std::vector<float> decoded(values.size());
    const auto status =
        caesura::decompress(frame, std::as_writable_bytes(std::span(decoded)), tables);
    if (!status.ok()) fail(status.message());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double error = std::abs(static_cast<double>(values[i]) - decoded[i]);
        if (!(error <= info.value().absolute_bound)) fail("bound broken at " + std::to_string(i));
    }
}

/// Whether the codec can be told to keep tables that do not fit.
template <class Options>
constexpr bool k_can_skip_drift_check = requires(Options options) {
    options.drift_check = false;
};

template <class Options>
void set_drift_check([[maybe_unused]] Options& options, [[maybe_unused]] bool on) {
    if constexpr (k_can_skip_drift_check<Options>) options.drift_check = on;
}

/// A frame with these tables (null: the built-in ones).
std::vector<std::byte> code(const Series& series, const std::vector<float>& values,
                            const TableSet* tables, bool drift_check = true,
                            TableStatistics* statistics = nullptr) {
    CompressOptions options = series.options;
    options.tables = tables;
    options.statistics = statistics;
    set_drift_check(options, drift_check);
    auto frame = caesura::compress(std::as_bytes(std::span(values)), caesura::DType::float32,
                                   cube_shape(values.size()), series.bound, options);
    if (!frame.ok()) fail(frame.status().message());
    check_bound(values, frame.value(), tables);
    return std::move(frame).value();
}

TableSet train_on(const Series& series, const std::vector<float>& values) {
    TableStatistics statistics;
    code(series, values, nullptr, true, &statistics);
    return statistics.train();
}

/// -1: this codec always checks.
long long unchecked_bytes(const Series& series, const std::vector<float>& values,
                          const TableSet& old) {
    if (!k_can_skip_drift_check<CompressOptions>) return -1;
    return static_cast<long long>(code(series, values, &old, false).size());
}

void run(const Series& series) {
    const TableSet old = train_on(series, read_cube(series, series.first));
    std::cout << "age,raw,fresh,reused,unchecked,builtin,inlined\n";
    for (int age = 0; age <= series.ages; ++age) {
        const auto values = read_cube(series, series.first + age);
        const TableSet own = train_on(series, values);
        const auto reused = code(series, values, &old);
        const bool inlined = caesura::read_frame_info(reused).value().inline_tables;
        std::cout << age << ',' << values.size() * sizeof(float) << ','
                  << code(series, values, &own).size() << ',' << reused.size() << ','
                  << unchecked_bytes(series, values, old) << ','
                  << code(series, values, nullptr).size() << ',' << inlined << "\n";
    }
}

}  // namespace

int main(int argc, char** argv) {
    run(caesura::bench::series_of(argc, argv));
    return 0;
}
