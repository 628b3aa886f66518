// What would be had if every region of a field were coded with the settings that suit it best?
//
//     codec_tuning FILE TYPE SHAPE BOUND [REGION ...]
//
// FILE holds raw values, C order; TYPE float32 or float64; SHAPE and REGION as 128x128x128; BOUND
// is absolute. Prints one JSON object:
//  - "auto", "fast", "strong", "planes": bytes of the whole field's frame in that mode;
//  - "settings": the name and bytes of the field as one part, for every setting;
//  - "regions": for each REGION, summed over the regions, bytes of the parts: "auto" (each region
//    chooses by its sample), "best" (each region has the best of all settings, tried one by one),
//    "best_mode" (the best of the four modes, each tuned by its sample), "single" (the setting
//    that is best for the whole).
// Every size is of bytes that a reader can decode: heads and tables of parts count.
#include <time.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/bound/float_environment.hpp"
#include "codec/frame/workspace.hpp"

namespace {

using namespace caesura;
using nlohmann::json;

[[noreturn]] void fail(const std::string& what) {
    std::cerr << "codec_tuning: " << what << "\n";
    std::exit(1);
}

struct Setting {
    std::string name;
    codec::Choice choice;
};

Shape parse_shape(std::string_view text) {
    std::vector<std::uint64_t> extents;
    while (!text.empty()) {
        std::uint64_t extent = 0;
        const auto end = std::from_chars(text.data(), text.data() + text.size(), extent).ptr;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (!text.empty()) text.remove_prefix(1);
        extents.push_back(extent);
    }
    if (extents.empty() || extents.size() > k_max_rank) fail("give a shape as 128x128x128");
    return Shape(extents);
}

std::vector<Setting> lorenzo_settings(int rank) {
    std::vector<Setting> all;
    for (unsigned axes = 1; axes < 1U << rank; ++axes) {
        Setting one{"lorenzo axes " + std::to_string(axes), {}};
        one.choice.kind = codec::PartKind::lorenzo;
        one.choice.lorenzo.axes = static_cast<std::uint8_t>(axes);
        all.push_back(one);
    }
    return all;
}

/// Every axis last, four weights of feedback, cubic or linear, the two lattices of coarse levels.
std::vector<Setting> interpolation_settings(int rank) {
    std::vector<Setting> all;
    for (int last = 0; last < rank; ++last) {
        for (const int feedback : {0, 4, 8, 12}) {
            for (const bool cubic : {false, true}) {
                for (const bool even : {false, true}) {
                    Setting one{"interpolation last " + std::to_string(last) + " feedback " +
                                    std::to_string(feedback) + (cubic ? " cubic" : " linear") +
                                    (even ? " even" : ""),
                                {}};
                    one.choice.kind = codec::PartKind::interpolation;
                    auto& settings = one.choice.interpolation;
                    std::uint8_t next = 0;
                    for (int i = 0; i + 1 < rank; ++i, ++next) {
                        if (next == last) ++next;
                        settings.order[static_cast<std::size_t>(i)] = next;
                    }
                    settings.order[static_cast<std::size_t>(rank - 1)] =
                        static_cast<std::uint8_t>(last);
                    settings.feedback.fill(static_cast<std::uint8_t>(feedback));
                    settings.cubic = cubic ? 0x0f : 0;
                    if (even) settings.alpha = settings.beta = 16;
                    all.push_back(one);
                }
            }
        }
    }
    return all;
}

class Field {
  public:
    Field(const std::string& path, DType dtype, const Shape& shape, double bound)
        : dtype_(dtype), box_{Shape::filled(shape.rank(), 0), shape}, bound_(absolute(bound)) {
        values_.resize(static_cast<std::size_t>(shape.count()) * size_of(dtype));
        std::ifstream file(path, std::ios::binary);
        file.read(reinterpret_cast<char*>(values_.data()),
                  static_cast<std::streamsize>(values_.size()));
        if (file.gcount() != static_cast<std::streamsize>(values_.size()))
            fail(path + " is shorter than its shape says");
    }

    const Box& box() const { return box_; }
    std::span<const std::byte> values() const { return values_; }

    std::vector<std::byte> frame(Mode mode) const {
        CompressOptions options;
        options.mode = mode;
        auto frame = compress(values_, dtype_, box_.extent, bound_, options);
        if (!frame.ok()) fail(frame.status().message());
        return std::move(*frame);
    }
    std::size_t frame_bytes(Mode mode) const { return frame(mode).size(); }
    std::vector<std::byte> cut(const Box& box) const {
        std::vector<std::byte> values(static_cast<std::size_t>(box.extent.count()) *
                                      size_of(dtype_));
        copy_box(box, box_, values_.data(), box, values.data(), size_of(dtype_));
        return values;
    }
    std::size_t part_bytes(std::span<const std::byte> values, const Shape& shape, Mode mode,
                           const codec::Choice* chosen) const {
        const TableSet built_in;
        codec::EncodeRequest request;
        request.header.dtype = dtype_;
        request.header.shape = shape;
        request.header.bound = bound_;
        request.mode = mode;
        request.tables = &built_in;
        request.chosen = chosen;
        const codec::FloatEnvironment environment;
        request.bound = codec::resolve(bound_, values, dtype_, 1);
        codec::Output out;
        const auto status = workspace_->encoder.encode(values, shape, request, nullptr, out);
        if (!status.ok()) fail(status.message());
        return out.size();
    }

  private:
    DType dtype_;
    Box box_;
    ErrorBound bound_;
    std::vector<std::byte> values_;
    codec::WorkspaceLease workspace_;
};

std::vector<Box> regions_of(const Box& whole, const Shape& region) {
    std::vector<Box> boxes{whole};
    for (int axis = 0; axis < region.rank(); ++axis) {
        std::vector<Box> cut;
        for (const Box& box : boxes) {
            for (std::uint64_t at = 0; at < box.extent[axis]; at += region[axis]) {
                Box one = box;
                one.offset[axis] = at;
                one.extent[axis] = std::min(region[axis], box.extent[axis] - at);
                cut.push_back(one);
            }
        }
        boxes = std::move(cut);
    }
    return boxes;
}

double cpu_s() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Medians of CPU seconds, the modes taking turns.
json times(const Field& field) {
    constexpr int k_repeats = 7;
    const std::vector<std::pair<std::string, Mode>> modes = {
        {"auto", Mode::automatic}, {"strong", Mode::strong}, {"regions", Mode::regions}};
    std::map<std::string, std::vector<double>> seconds;
    std::vector<std::byte> decoded(field.values().size());
    for (int repeat = 0; repeat < k_repeats; ++repeat) {
        for (const auto& [name, mode] : modes) {
            const double begin_s = cpu_s();
            const auto frame = field.frame(mode);
            const double end_s = cpu_s();
            if (!decompress(frame, decoded).ok()) fail("a frame does not decode");
            seconds[name + "_s"].push_back(end_s - begin_s);
            seconds["decode_" + name + "_s"].push_back(cpu_s() - end_s);
        }
    }
    json medians;
    for (auto& [name, all] : seconds) {
        std::nth_element(all.begin(), all.begin() + k_repeats / 2, all.end());
        medians[name] = all[k_repeats / 2];
    }
    return medians;
}

json by_region(const Field& field, const Shape& region, const std::vector<Setting>& settings,
               const codec::Choice& single) {
    std::size_t chosen = 0, best = 0, best_mode = 0, of_single = 0;
    const auto boxes = regions_of(field.box(), region);
    for (const Box& box : boxes) {
        const auto values = field.cut(box);
        const std::size_t own = field.part_bytes(values, box.extent, Mode::automatic, nullptr);
        std::size_t least = own, least_mode = own;
        for (const Mode mode : {Mode::fast, Mode::strong, Mode::planes})
            least_mode = std::min(least_mode, field.part_bytes(values, box.extent, mode, nullptr));
        for (const Setting& one : settings)
            least =
                std::min(least, field.part_bytes(values, box.extent, Mode::automatic, &one.choice));
        of_single += field.part_bytes(values, box.extent, Mode::automatic, &single);
        chosen += own;
        best_mode += least_mode;
        best += std::min(least, least_mode);
    }
    return {
        {"region", to_string(region)}, {"regions", boxes.size()}, {"auto", chosen}, {"best", best},
        {"best_mode", best_mode},      {"single", of_single}};
}

/// A part as it would be, split along axes as long as that pays.
struct Tree {
    const Field& field;
    int effort = 0;  ///< 0: auto, 1: the better of fast and strong
    std::uint64_t extra = 0;
    double gain = 0.99;
    int encodings = 0;
    int leaves = 0;

    std::size_t cost(const Box& box) {
        const auto values = field.cut(box);
        ++encodings;
        if (effort == 0) return field.part_bytes(values, box.extent, Mode::automatic, nullptr);
        ++encodings;
        return std::min(field.part_bytes(values, box.extent, Mode::fast, nullptr),
                        field.part_bytes(values, box.extent, Mode::strong, nullptr));
    }
    std::pair<Box, Box> split(const Box& box, int axis) const {
        Box low = box, high = box;
        low.extent[axis] = (box.extent[axis] + 1) / 2 + extra;
        high.extent[axis] = box.extent[axis] - low.extent[axis];
        high.offset[axis] += low.extent[axis];
        return {low, high};
    }
    std::size_t grow(const Box& box, std::size_t whole) {
        std::size_t best = SIZE_MAX, best_low = 0, best_high = 0;
        int best_axis = -1;
        for (int axis = 0; axis < box.extent.rank(); ++axis) {
            if (box.extent[axis] < 16 || box.extent.count() < 32768) continue;
            const auto [low, high] = split(box, axis);
            const std::size_t a = cost(low), b = cost(high);
            if (a + b >= best) continue;
            best = a + b + 18;
            best_low = a;
            best_high = b;
            best_axis = axis;
        }
        if (best_axis < 0 || static_cast<double>(best) > gain * static_cast<double>(whole)) {
            ++leaves;
            return whole;
        }
        const auto [low, high] = split(box, best_axis);
        return 18 + grow(low, best_low) + grow(high, best_high);
    }
};

json trees(const Field& field) {
    json result = json::array();
    for (const int effort : {0, 1}) {
        for (const std::uint64_t extra : {0, 1}) {
            Tree tree{field, effort, extra};
            const std::size_t whole = tree.cost(field.box());
            const std::size_t bytes = tree.grow(field.box(), whole);
            result.push_back({{"effort", effort},
                              {"extra", extra},
                              {"whole", whole},
                              {"bytes", bytes},
                              {"encodings", tree.encodings},
                              {"leaves", tree.leaves}});
        }
    }
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) fail("usage: codec_tuning FILE TYPE SHAPE BOUND [REGION ...]");
    const DType dtype = std::string_view(argv[2]) == "float64" ? float64 : float32;
    const Field field(argv[1], dtype, parse_shape(argv[3]), std::stod(argv[4]));
    const Shape& shape = field.box().extent;
    json result{{"raw", field.values().size()},
                {"auto", field.frame_bytes(Mode::automatic)},
                {"fast", field.frame_bytes(Mode::fast)},
                {"strong", field.frame_bytes(Mode::strong)},
                {"planes", field.frame_bytes(Mode::planes)},
                {"tuned", field.frame_bytes(Mode::regions)}};
    auto settings = lorenzo_settings(shape.rank());
    for (Setting& one : interpolation_settings(shape.rank())) settings.push_back(std::move(one));
    std::size_t least = SIZE_MAX;
    codec::Choice single;
    for (const Setting& one : settings) {
        const std::size_t bytes =
            field.part_bytes(field.values(), shape, Mode::automatic, &one.choice);
        result["settings"].push_back({{"name", one.name}, {"bytes", bytes}});
        if (bytes >= least) continue;
        least = bytes;
        single = one.choice;
    }
    result["regions"] = json::array();
    for (int i = 5; i < argc; ++i)
        result["regions"].push_back(by_region(field, parse_shape(argv[i]), settings, single));
    result["trees"] = trees(field);
    result["times"] = times(field);
    std::cout << result.dump() << "\n";
    return 0;
}
