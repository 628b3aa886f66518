#include "spaces.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace stand_in {
namespace {

constexpr hsize_t k_most_elements = 3000;

hsize_t product(const Dims& dims) {
    return std::accumulate(dims.begin(), dims.end(), hsize_t{1}, std::multiplies<>());
}

struct Box {
    Dims start, stride, count, block;
};

/// Of the rows that are `mine` to write, where ranks must not meet.
std::pair<hsize_t, hsize_t> rows_of(const Step& step, hsize_t rows, Part part) {
    if (part != Part::own || step.world.alone()) return {0, rows};
    const auto rank = static_cast<hsize_t>(step.world.rank);
    const auto ranks = static_cast<hsize_t>(step.world.ranks);
    return {rows * rank / ranks, rows * (rank + 1) / ranks};
}

Box some_box(Step& step, Draw& mine, const Dims& dims, Part part) {
    Box box;
    const bool whole = mine.chance(30), strided = mine.chance(35);
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        auto [low, high] =
            axis == 0 ? rows_of(step, dims[0], part) : std::pair<hsize_t, hsize_t>{0, dims[axis]};
        const hsize_t length = high - low;
        const hsize_t begin = whole ? 0 : mine.below(length);
        const hsize_t room = length - begin;
        hsize_t stride = 1, count = whole ? room : 1 + mine.below(room), block = 1;
        if (strided && mine.chance(60) && room > 2) {
            stride = 2 + mine.below(3);
            block = 1 + mine.below(stride);
            count = room < block ? 0 : (room - block) / stride + 1;
        }
        if (room == 0 || count == 0) count = 0;
        box.start.push_back(low + begin);
        box.stride.push_back(stride);
        box.count.push_back(count);
        box.block.push_back(block);
    }
    return box;
}

bool is_empty(const Box& box) {
    return std::find(box.count.begin(), box.count.end(), hsize_t{0}) != box.count.end();
}

std::string select(hid_t space, const std::string& name, H5S_seloper_t how, const Box& box) {
    H5Sselect_hyperslab(space, how, box.start.data(), box.stride.data(), box.count.data(),
                        box.block.data());
    static const char* const names[] = {"H5S_SELECT_SET", "H5S_SELECT_OR", "H5S_SELECT_AND",
                                        "H5S_SELECT_XOR", "H5S_SELECT_NOTB"};
    return fmt::format("H5Sselect_hyperslab({}, {}, {}, {}, {}, {});", name, names[how],
                       text_of(box.start), text_of(box.stride), text_of(box.count),
                       text_of(box.block));
}

std::string select_points(Step& step, Draw& mine, hid_t space, const std::string& name,
                          const Dims& dims, Part part) {
    const auto [low, high] = rows_of(step, dims[0], part);
    const std::size_t points = 1 + mine.below(6);
    std::vector<Dims> chosen(points);
    for (Dims& point : chosen)
        for (std::size_t axis = 0; axis < dims.size(); ++axis)
            point.push_back(axis == 0 ? low + mine.below(high - low) : mine.below(dims[axis]));
    // Which of two values for one element stays is not said.
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    if (mine.chance(50)) std::reverse(chosen.begin(), chosen.end());
    Dims at;
    for (const Dims& point : chosen) at.insert(at.end(), point.begin(), point.end());
    H5Sselect_elements(space, H5S_SELECT_SET, chosen.size(), at.data());
    return fmt::format("H5Sselect_elements({}, H5S_SELECT_SET, {}, {});", name, chosen.size(),
                       text_of(at));
}

}  // namespace

std::size_t Extent::count() const {
    if (is_null) return 0;
    return static_cast<std::size_t>(product(now));
}

std::string text_of(const Dims& dims) {
    std::string text = "(hsize_t[]){";
    for (std::size_t i = 0; i < dims.size(); ++i)
        text += (i > 0 ? ", " : "") +
                (dims[i] == H5S_UNLIMITED ? "H5S_UNLIMITED" : std::to_string(dims[i]));
    return text + "}";
}

Extent some_extent(Step& step, int axes) {
    Extent extent;
    Draw& draw = step.draw;
    const std::uint64_t which = draw.below(100);
    extent.is_scalar = which < 6;
    extent.is_null = which >= 6 && which < 8;
    if (extent.is_scalar || extent.is_null) {
        extent.id = step.own(H5Screate(extent.is_scalar ? H5S_SCALAR : H5S_NULL));
        extent.code = extent.is_scalar ? "H5Screate(H5S_SCALAR)" : "H5Screate(H5S_NULL)";
        return extent;
    }
    int rank = draw.any_of({1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6});
    rank = std::min(rank, axes);
    hsize_t left = k_most_elements;
    const bool grows = draw.chance(45);
    for (int axis = 0; axis < rank; ++axis) {
        const hsize_t room = std::min<hsize_t>(left, rank == 1 ? 1200 : rank == 2 ? 50 : 12);
        const hsize_t length = draw.chance(3) ? 0 : 1 + draw.below(room);
        extent.now.push_back(length);
        left = std::max<hsize_t>(1, left / std::max<hsize_t>(1, length));
        const bool this_one = grows && draw.chance(60);
        extent.most.push_back(!this_one         ? length
                              : draw.chance(60) ? H5S_UNLIMITED
                                                : length + draw.below(20));
        // An axis of no length that cannot grow is refused unless it may.
        if (extent.most.back() == 0) extent.most.back() = H5S_UNLIMITED;
    }
    extent.id = step.own(H5Screate_simple(rank, extent.now.data(), extent.most.data()));
    extent.code = fmt::format("H5Screate_simple({}, {}, {})", rank, text_of(extent.now),
                              text_of(extent.most));
    return extent;
}

/// Some unions of HDF5 1.14.5 count more elements than they have, and lead beyond the extent.
bool is_miscounted(hid_t space) {
    std::array<hsize_t, H5S_MAX_RANK> start, stride, count, block;
    if (H5Sis_regular_hyperslab(space) <= 0 ||
        H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()) <
            0)
        return false;
    hsize_t elements = 1;
    for (int axis = 0; axis < H5Sget_simple_extent_ndims(space); ++axis)
        elements *= count[static_cast<std::size_t>(axis)] * block[static_cast<std::size_t>(axis)];
    return elements != static_cast<hsize_t>(H5Sget_select_npoints(space));
}

Region some_region(Step& step, Draw& mine, const Dims& dims, Part part) {
    Region region;
    region.id = step.own(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
    const std::string name = fmt::format("s{}_{}", step.seed() % 97, region.id % 9973);
    region.code = name;
    std::string code = fmt::format("hid_t {} = H5Screate_simple({}, {}, NULL); ", name, dims.size(),
                                   text_of(dims));
    const auto [low, high] = rows_of(step, dims[0], part);
    const bool impossible = part == Part::nothing || low == high || product(dims) == 0;
    const std::uint64_t which = impossible ? 0 : mine.below(100);
    if (which < 4) {
        H5Sselect_none(region.id);
        code += fmt::format("H5Sselect_none({});", name);
    } else if (which < 20 && !step.world.setting.mpio) {
        // Collective transfers of points touch wrong elements in HDF5 1.14.5.
        code += select_points(step, mine, region.id, name, dims, part);
    } else {
        Box box = some_box(step, mine, dims, part);
        if (is_empty(box))
            H5Sselect_none(region.id), code += fmt::format("H5Sselect_none({});", name);
        else
            code += select(region.id, name, H5S_SELECT_SET, box);
        for (int more = mine.chance(25) ? mine.between(1, 3) : 0; more > 0; --more) {
            box = some_box(step, mine, dims, part);
            const auto how = mine.any_of(
                {H5S_SELECT_OR, H5S_SELECT_OR, H5S_SELECT_XOR, H5S_SELECT_NOTB, H5S_SELECT_AND});
            if (!is_empty(box)) code += " " + select(region.id, name, how, box);
        }
        if (is_miscounted(region.id)) code += " " + select(region.id, name, H5S_SELECT_SET, box);
    }
    step.code("{}", code);
    return region;
}

Selection some_selection(Step& step, Draw& mine, const Dims& dims, Part part) {
    Selection made;
    const bool everything = dims.empty() || (part == Part::all && mine.chance(35));
    if (everything) {
        made.memory_count = static_cast<std::size_t>(product(dims));
        return made;
    }
    const Region region = some_region(step, mine, dims, part);
    made.file = region.id;
    made.file_code = region.code;
    const auto points =
        static_cast<hsize_t>(std::max<hssize_t>(0, H5Sget_select_npoints(region.id)));
    const std::uint64_t which = mine.below(100);
    if (which < 20) {  // the same selection of a buffer as large as the dataset
        made.memory = region.id;
        made.memory_code = region.code;
        made.memory_count = static_cast<std::size_t>(product(dims));
        return made;
    }
    // Some elements of a line, with a gap before them and behind.
    const hsize_t before = mine.below(4), stride = which < 50 ? 2 : 1;
    const hsize_t length = before + points * stride + mine.below(3) + 1;
    made.memory = step.own(H5Screate_simple(1, &length, nullptr));
    made.memory_count = static_cast<std::size_t>(length);
    made.memory_code = fmt::format("m{}_{}", step.seed() % 97, made.memory % 9973);
    std::string code = fmt::format("hid_t {} = H5Screate_simple(1, (hsize_t[]){{{}}}, NULL); ",
                                   made.memory_code, length);
    if (points == 0) {
        H5Sselect_none(made.memory);
        code += fmt::format("H5Sselect_none({});", made.memory_code);
    } else {
        code += select(made.memory, made.memory_code, H5S_SELECT_SET,
                       {{before}, {stride}, {points}, {1}});
    }
    step.code("{}", code);
    return made;
}

}  // namespace stand_in
