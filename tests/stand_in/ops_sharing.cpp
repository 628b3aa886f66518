// One thing seen through another: virtual datasets, mounts, a second identifier of a dataset.
#include <algorithm>

#include "spaces.hpp"
#include "types.hpp"

namespace stand_in {
namespace {

/// Over one or two datasets of the same file, of one axis.
void make_virtual(Step& step) {
    Handle* const source = step.pick({Kind::dataset});
    Handle* const at = step.pick({Kind::file, Kind::group});
    // In another file the path may be the virtual dataset's own, which HDF5 follows without end.
    if (source == nullptr || at == nullptr || source->file != at->file || step.world.setting.mpio) {
        step.applies = false;
        return;
    }
    const hid_t leader = source->id[step.world.leader()];
    const hid_t space = step.own(H5Dget_space(leader)), type = step.own(H5Dget_type(leader));
    hsize_t length = 0;
    char path[128] = "";
    if (H5Sget_simple_extent_ndims(space) != 1 || varies(type) || has_references(type) ||
        H5Iget_name(leader, path, sizeof path) <= 0) {
        step.applies = false;
        return;
    }
    H5Sget_simple_extent_dims(space, &length, nullptr);
    const hsize_t whole = length + 5;
    const hid_t target = step.own(H5Screate_simple(1, &whole, nullptr));
    const hid_t of_source = step.own(H5Screate_simple(1, &length, nullptr));
    const hsize_t zero = 0, one = 1;
    if (length == 0) {
        step.applies = false;
        return;
    }
    H5Sselect_hyperslab(target, H5S_SELECT_SET, &zero, &one, &length, nullptr);
    const hid_t list = step.own(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_virtual(list, target, ".", path, of_source);
    const std::string name(1, "wxyz"[step.draw.below(4)]);
    step.code(
        "/* c: virtual over \".\" {} of {} elements, {} in all */ hid_t {} = H5Dcreate2({}, "
        "\"{}\", H5Dget_type({}), H5Screate_simple(1, (hsize_t[]){{{}}}, NULL), H5P_DEFAULT, c, "
        "H5P_DEFAULT);",
        path, length, whole, step.variable('d'), at->name, name, source->name, whole);
    const hid_t extent = step.own(H5Screate_simple(1, &whole, nullptr));
    Pair made = k_no_ids;
    step.fact("virtual");
    step.world.has_aliases = step.world.has_virtual = true;
    step.both([&](Side& side) {
        // A committed one is shared within its own file alone.
        const hid_t own = H5Dget_type(side.of(*source));
        made[side.which] =
            H5Dcreate2(side.of(*at), name.c_str(), own, extent, H5P_DEFAULT, list, H5P_DEFAULT);
        side.out.result("H5Dcreate2", made[side.which]);
        H5Tclose(own);
    });
    step.keep(Kind::dataset, made, 'd', at->file);
    step.world.unflushed = true;  // others may not know of it yet
}

/// The connector does not capture such a file.
bool is_left_to_hdf5(Step& step, hid_t file) {
    unsigned intent = H5F_ACC_RDWR;
    hsize_t user_block = 0;
    H5Fget_intent(file, &intent);
    H5Pget_userblock(step.own(H5Fget_create_plist(file)), &user_block);
    return intent == H5F_ACC_RDONLY || user_block > 0;
}

/// Another file at a group of this one; taken off again, with something looked up between.
void mount(Step& step) {
    Handle *const at = step.pick({Kind::file}), *const child = step.pick({Kind::file});
    if (at == nullptr || child == nullptr || at->file == child->file || step.world.setting.mpio) {
        step.applies = false;
        return;
    }
    const std::string group = some_name(step.draw), name = group + "/" + some_name(step.draw);
    if (is_left_to_hdf5(step, at->id[step.world.leader()])) step.fact("left to HDF5");
    step.code(
        "H5Fmount({0}, \"{1}\", {2}, H5P_DEFAULT); H5Lexists({0}, \"{3}\", H5P_DEFAULT); "
        "H5Funmount({0}, \"{1}\");",
        at->name, group, child->name, name);
    step.both([&](Side& side) {
        const hid_t id = side.of(*at);
        if (!side.out.result("H5Fmount", H5Fmount(id, group.c_str(), side.of(*child), H5P_DEFAULT)))
            return;
        side.out.truth("H5Lexists", H5Lexists(id, name.c_str(), H5P_DEFAULT));
        const hid_t made =
            H5Gcreate2(id, (group + "/mounted").c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        side.out.result("H5Gcreate2", made);
        if (made >= 0) H5Gclose(made);
        side.out.result("H5Funmount", H5Funmount(id, group.c_str()));
    });
}

/// The same dataset by a second identifier: written by the one, read by the other.
void two_identifiers(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr || !step.world.alone()) {
        step.applies = false;
        return;
    }
    const hid_t leader = dataset->id[step.world.leader()];
    const hid_t space = step.own(H5Dget_space(leader)), type = step.own(H5Dget_type(leader));
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const hid_t list = step.own(H5Dget_create_plist(leader));
    const bool filtered = H5Pget_nfilters(list) > 0 && step.world.setting.mpio;
    if (count <= 0 || varies(type) || has_references(type) || filtered) {
        step.applies = false;
        return;
    }
    step.code(
        "hid_t again = H5Oopen({0}, \".\", H5P_DEFAULT); H5Dwrite({0}, ...); H5Dread(again, ...); "
        "H5Dclose(again);",
        dataset->name);
    Values values(type, static_cast<std::size_t>(count));
    values.fill(Draw(step.draw.next()), step.world.setting.bound == 0);
    step.both([&](Side& side) {
        const hid_t id = side.of(*dataset), again = H5Oopen(id, ".", H5P_DEFAULT);
        if (!side.out.result("H5Oopen", again)) return;
        side.out.result("H5Dwrite",
                        H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
        Values read(type, values.count());
        read.mark(0xA5);
        if (side.out.result("H5Dread",
                            H5Dread(again, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data())))
            side.out.values("values", type, read.data(), read.count());
        side.out.result("H5Dclose", H5Dclose(again));
    });
    step.world.unflushed = true;
}

}  // namespace

void add_sharing_operations(std::vector<Operation>& all) {
    all.insert(all.end(), {{"virtual", 3, make_virtual},
                           {"H5Fmount", 1, mount},
                           {"two identifiers", 2, two_identifiers}});
}

}  // namespace stand_in
