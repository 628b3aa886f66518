// Datasets: made, opened, resized, asked.
#include <cstring>

#include "spaces.hpp"
#include "types.hpp"

namespace stand_in {
namespace {

struct Creation {
    hid_t list;
    std::string code;  ///< its name
};

void add_filters(Step& step, const Creation& creation, const Type& type) {
    Draw& draw = step.draw;
    const std::string& name = creation.code;
    if (draw.chance(12)) {
        H5Pset_shuffle(creation.list);
        step.code("H5Pset_shuffle({});", name);
    }
    if (draw.chance(22)) {
        H5Pset_deflate(creation.list, 4);
        step.code("H5Pset_deflate({}, 4);", name);
        step.fact("deflate");
    }
    if (draw.chance(8)) {
        H5Pset_fletcher32(creation.list);
        step.code("H5Pset_fletcher32({});", name);
    }
    // Behind another filter it spoils the values, and several processes cannot read them back. So
    // it is with scale-offset, also alone, where integers fill their range.
    // Of other types HDF5 1.14.5 ignores its parameters, and then crashes.
    const H5T_class_t kind = H5Tget_class(type.id);
    if (draw.chance(4) && !step.world.setting.mpio && H5Pget_nfilters(creation.list) == 0 &&
        (kind == H5T_INTEGER || kind == H5T_FLOAT)) {
        H5Pset_nbit(creation.list);
        step.code("H5Pset_nbit({});", name);
        step.fact("nbit");
    }
}

/// HDF5 1.14.5 loses collective writes with filters there, in formats from 1.10 on.
bool grows_to_an_end(const Extent& extent) {
    for (std::size_t axis = 0; axis < extent.now.size(); ++axis)
        if (extent.most[axis] != extent.now[axis] && extent.most[axis] != H5S_UNLIMITED)
            return true;
    return false;
}

void set_layout(Step& step, const Creation& creation, const Extent& extent, const Type& type) {
    Draw& draw = step.draw;
    const bool simple = !extent.is_scalar && !extent.is_null;
    const bool chunked = simple && (draw.chance(55) || extent.grows());
    if (chunked) {
        Dims chunk;
        for (const hsize_t length : extent.now)
            chunk.push_back(1 + draw.below(std::max<hsize_t>(length, 1)));
        H5Pset_chunk(creation.list, static_cast<int>(chunk.size()), chunk.data());
        step.code("H5Pset_chunk({}, {}, {});", creation.code, chunk.size(), text_of(chunk));
        if (!step.world.setting.mpio || !grows_to_an_end(extent)) add_filters(step, creation, type);
        step.fact("chunked");
    } else if (draw.chance(10)) {
        H5Pset_layout(creation.list, H5D_COMPACT);
        step.code("H5Pset_layout({}, H5D_COMPACT);", creation.code);
        step.fact("compact");
    } else {
        step.fact("contiguous");
    }
}

void set_fill(Step& step, const Creation& creation, const Type& type) {
    Draw& draw = step.draw;
    if (draw.chance(30) && !varies(type.id) && !has_references(type.id)) {
        Values fill(type.id, 1);
        fill.fill(Draw(step.draw.next()), false);
        H5Pset_fill_value(creation.list, type.id, fill.data());
        std::string bytes;
        for (std::size_t i = 0; i < H5Tget_size(type.id); ++i)
            bytes += fmt::format("{}{}", i > 0 ? ", " : "",
                                 static_cast<int>(static_cast<std::byte*>(fill.data())[i]));
        step.code("H5Pset_fill_value({}, {}, (unsigned char[]){{{}}});", creation.code, type.code,
                  bytes);
        step.fact("fill");
    }
    // Without that, or a fill value, what is allocated and not written holds anything.
    H5Pset_fill_time(creation.list, H5D_FILL_TIME_ALLOC);
    step.code("H5Pset_fill_time({}, H5D_FILL_TIME_ALLOC);", creation.code);
    // HDF5 1.14.5 crashes where n-bit is to compress fill values before anything is written.
    if (draw.chance(20) && step.facts.find("nbit") == std::string::npos) {
        const auto when =
            draw.any_of({H5D_ALLOC_TIME_EARLY, H5D_ALLOC_TIME_LATE, H5D_ALLOC_TIME_INCR});
        H5Pset_alloc_time(creation.list, when);
        step.code("H5Pset_alloc_time({}, {});", creation.code, static_cast<int>(when));
        step.fact("alloc time");
    }
}

hid_t link_list(Step& step) {
    const hid_t list = step.own(H5Pcreate(H5P_LINK_CREATE));
    if (step.draw.chance(60)) H5Pset_create_intermediate_group(list, 1);
    return list;
}

void create(Step& step) {
    Handle* const at = step.pick({Kind::file, Kind::group, Kind::group});
    if (at == nullptr) return;
    const bool lossy = step.world.setting.bound > 0 && step.draw.chance(70);
    const Type type = lossy ? (step.draw.chance(50) ? Type{H5T_NATIVE_FLOAT, "H5T_NATIVE_FLOAT"}
                                                    : Type{H5T_NATIVE_DOUBLE, "H5T_NATIVE_DOUBLE"})
                            : some_type(step, Use::dataset);
    const Extent extent = some_extent(step, 6);
    const std::string name = (lossy ? "lossy_" : "") + std::string(1, "wxyz"[step.draw.below(4)]);
    const Creation creation{step.own(H5Pcreate(H5P_DATASET_CREATE)),
                            fmt::format("c{}", step.seed() % 97)};
    step.code("hid_t {} = H5Pcreate(H5P_DATASET_CREATE);", creation.code);
    set_layout(step, creation, extent, type);
    set_fill(step, creation, type);
    if (step.draw.chance(8)) H5Pset_attr_phase_change(creation.list, 2, 1);
    if (step.draw.chance(10)) H5Pset_attr_creation_order(creation.list, H5P_CRT_ORDER_TRACKED);
    const hid_t links = link_list(step);
    const hid_t access = step.own(H5Pcreate(H5P_DATASET_ACCESS));
    if (step.draw.chance(20)) H5Pset_chunk_cache(access, 101, 1 + step.draw.below(20000), 0.75);
    step.code("hid_t {} = H5Dcreate2({}, \"{}\", {}, {}, H5P_DEFAULT, {}, H5P_DEFAULT);",
              step.variable('d'), at->name, name, type.code, extent.code, creation.code);
    const bool anonymous = step.draw.chance(4);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        made[side.which] =
            anonymous ? H5Dcreate_anon(side.of(*at), type.id, extent.id, creation.list, access)
                      : H5Dcreate2(side.of(*at), name.c_str(), type.id, extent.id, links,
                                   creation.list, access);
        side.out.result(anonymous ? "H5Dcreate_anon" : "H5Dcreate2", made[side.which]);
    });
    step.keep(Kind::dataset, made, 'd', at->file);
    step.world.unflushed = true;  // others may not know of it yet
}

void open(Step& step) {
    Handle* const at = step.pick({Kind::file, Kind::group});
    if (at == nullptr) return;
    const std::string name =
        (step.world.setting.bound > 0 && step.draw.chance(70) ? "lossy_" : "") +
        std::string(1, "wxyzabg"[step.draw.below(7)]);
    step.code("hid_t {} = H5Dopen2({}, \"{}\", H5P_DEFAULT);", step.variable('d'), at->name, name);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        made[side.which] = H5Dopen2(side.of(*at), name.c_str(), H5P_DEFAULT);
        side.out.result("H5Dopen2", made[side.which]);
    });
    step.keep(Kind::dataset, made, 'd', at->file);
    step.world.unflushed = true;  // others may not know of it yet
}

/// HDF5 1.14.5 takes minutes to write filtered chunks by the hundred thousand through MPI-IO.
void keep_small(Dims& now, const Dims& before) {
    constexpr hsize_t k_most_elements = 20000;
    for (std::size_t axis = now.size(); axis-- > 0;) {
        hsize_t elements = 1;
        for (const hsize_t extent : now) elements *= std::max<hsize_t>(extent, 1);
        if (elements > k_most_elements) now[axis] = std::min(now[axis], before[axis]);
    }
}

/// Blocks have at most four axes, of which the numbers of a compound take one; those that cannot
/// grow may be joined with others.
bool may_be_joined(const Dims& now, const Dims& before, const Dims& most) {
    for (std::size_t axis = 0; axis < now.size(); ++axis)
        if (now.size() > 3 && now[axis] != before[axis] && most[axis] == before[axis]) return true;
    return false;
}

void resize(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr) return;
    const hid_t space = step.own(H5Dget_space(dataset->id[step.world.leader()]));
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 1) {
        step.applies = false;
        return;
    }
    Dims now(static_cast<std::size_t>(rank)), most(now.size());
    H5Sget_simple_extent_dims(space, now.data(), most.data());
    const Dims before = now;
    for (std::size_t axis = 0; axis < now.size(); ++axis) {
        if (most[axis] == now[axis] && step.draw.chance(85)) continue;
        const hsize_t room = now.size() == 1 ? 300 : 20;
        // Through MPI-IO HDF5 1.14.5 writes the cut chunk's old values over what follows.
        const bool grows = step.world.setting.mpio || step.draw.chance(60);
        now[axis] = grows ? now[axis] + step.draw.below(room / 2) : step.draw.below(now[axis] + 2);
        if (grows && step.draw.chance(80)) now[axis] = std::min(now[axis], most[axis]);
    }
    keep_small(now, before);
    // HDF5 1.14.5 forgets fill values of such datasets in chunks that reach beyond the extent.
    const hid_t list = step.own(H5Dget_create_plist(dataset->id[step.world.leader()]));
    H5D_alloc_time_t when = H5D_ALLOC_TIME_DEFAULT;
    H5Pget_alloc_time(list, &when);
    if (H5Pget_layout(list) == H5D_CHUNKED && when == H5D_ALLOC_TIME_LATE) {
        step.applies = false;
        return;
    }
    if (may_be_joined(now, before, most)) step.fact("joined");
    step.code("H5Dset_extent({}, {});", dataset->name, text_of(now));
    step.both([&](Side& side) {
        side.out.result("H5Dset_extent", H5Dset_extent(side.of(*dataset), now.data()));
    });
    step.world.unflushed = true;
}

void tell_space(Side& side, hid_t space) {
    hsize_t now[H5S_MAX_RANK], most[H5S_MAX_RANK];
    std::memset(now, 0x55, sizeof now);
    std::memset(most, 0x55, sizeof most);
    side.out.number("class", H5Sget_simple_extent_type(space));
    const int rank = H5Sget_simple_extent_dims(space, now, most);
    side.out.number("axes", rank);
    for (int i = 0; i < rank; ++i) {
        side.out.number("extent", static_cast<long long>(now[i]));
        side.out.number("largest", static_cast<long long>(most[i]));
    }
}

void tell_type(Side& side, hid_t type) {
    side.out.truth("committed", H5Tcommitted(type));
    side.out.text("type", description(type));
}

void tell_creation(Side& side, hid_t list) {
    side.out.number("layout", H5Pget_layout(list));
    hsize_t chunk[H5S_MAX_RANK] = {};
    const int axes =
        H5Pget_layout(list) == H5D_CHUNKED ? H5Pget_chunk(list, H5S_MAX_RANK, chunk) : 0;
    for (int i = 0; i < axes; ++i) side.out.number("chunk", static_cast<long long>(chunk[i]));
    const int filters = H5Pget_nfilters(list);
    side.out.number("filters", filters);
    for (int i = 0; i < filters; ++i) {
        unsigned flags = 99, values[32] = {}, config = 99;
        std::size_t count = 32;
        char name[64] = "";
        const auto filter = H5Pget_filter2(list, static_cast<unsigned>(i), &flags, &count, values,
                                           sizeof name, name, &config);
        side.out.number("filter", filter);
        side.out.text("name of filter", name);
        side.out.number("values of filter", static_cast<long long>(count));
    }
    H5D_fill_value_t status = H5D_FILL_VALUE_ERROR;
    side.out.result("H5Pfill_value_defined", H5Pfill_value_defined(list, &status));
    side.out.number("fill", status);
    H5D_fill_time_t when = H5D_FILL_TIME_ERROR;
    H5Pget_fill_time(list, &when);
    side.out.number("fill time", when);
    H5D_alloc_time_t allocated = H5D_ALLOC_TIME_ERROR;
    H5Pget_alloc_time(list, &allocated);
    side.out.number("alloc time", allocated);
    unsigned most = 99, least = 99, order = 99;
    H5Pget_attr_phase_change(list, &most, &least);
    side.out.number("compact attributes", most);
    H5Pget_attr_creation_order(list, &order);
    side.out.number("order of attributes", order);
}

void ask(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr) return;
    step.code("/* H5Dget_space, _type, _create_plist, _access_plist of {} */", dataset->name);
    if (step.is_read_only(*dataset)) step.fact("read only");
    step.tell_of_file(*dataset);
    step.both([&](Side& side) {
        const hid_t id = side.of(*dataset);
        const hid_t space = H5Dget_space(id);
        side.out.result("H5Dget_space", space);
        tell_space(side, space);
        H5Sclose(space);
        const hid_t type = H5Dget_type(id);
        side.out.result("H5Dget_type", type);
        tell_type(side, type);
        const hid_t list = H5Dget_create_plist(id);
        side.out.result("H5Dget_create_plist", list);
        tell_creation(side, list);
        Values fill(type, 1);
        fill.mark(0xA5);
        if (!varies(type) &&
            side.out.result("H5Pget_fill_value", H5Pget_fill_value(list, type, fill.data())))
            side.out.values("fill value", type, fill.data(), 1);
        H5Pclose(list);
        H5Tclose(type);
        const hid_t access = H5Dget_access_plist(id);
        side.out.result("H5Dget_access_plist", access);
        std::size_t slots = 0, bytes = 0;
        double preempt = -1;
        H5Pget_chunk_cache(access, &slots, &bytes, &preempt);
        side.out.number("cache", static_cast<long long>(bytes));
        H5Pclose(access);
    });
}

/// Numbers of the file: equal where nothing becomes blocks.
void ask_storage(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr) return;
    step.code("/* H5Dget_storage_size, _space_status, _offset of {} */", dataset->name);
    // Of several ranks' file it tells what is committed. What says where values of variable length
    // lie shrinks to another size in another place.
    const hid_t type = step.own(H5Dget_type(dataset->id[step.world.leader()]));
    // Parallel HDF5 may make chunks with filters in a write of no elements.
    const hid_t list = step.own(H5Dget_create_plist(dataset->id[step.world.leader()]));
    const bool alike = !step.world.setting.blocks && step.world.ranks == 1 && !varies(type) &&
                       (!step.world.setting.mpio || H5Pget_nfilters(list) == 0);
    step.both([&](Side& side) {
        const hid_t id = side.of(*dataset);
        const hsize_t bytes = H5Dget_storage_size(id);
        if (alike) side.out.number("H5Dget_storage_size", static_cast<long long>(bytes));
        H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
        side.out.result("H5Dget_space_status", H5Dget_space_status(id, &status));
        side.out.truth("status is set", status != H5D_SPACE_STATUS_ERROR);
        (void)H5Dget_offset(id);
    });
}

}  // namespace

void add_dataset_operations(std::vector<Operation>& all) {
    all.insert(all.end(), {{"H5Dcreate2", 12, create},
                           {"H5Dopen2", 8, open},
                           {"H5Dset_extent", 6, resize},
                           {"H5Dget", 4, ask},
                           {"H5Dget_storage_size", 2, ask_storage}});
}

}  // namespace stand_in
