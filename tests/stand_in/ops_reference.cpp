// References to objects, regions and attributes, old and new, made and followed.
#include <cstring>

#include "spaces.hpp"
#include "types.hpp"

namespace stand_in {
namespace {

std::string any_name(Draw& draw) {
    if (draw.chance(60)) return std::string(1, "wxyz"[draw.below(4)]);
    return some_name(draw);
}

/// What the reference leads to, where there is one.
void follow(Side& side, hid_t opened) {
    side.out.number("kind", H5Iget_type(opened));
    if (opened < 0) return;
    // Of several links to it the library names any.
    side.out.truth("has a name", H5Iget_name(opened, nullptr, 0));
    H5Oclose(opened);
}

/// The old kind: the address of an object.
void old_object(Step& step) {
    Handle* const at = step.pick({Kind::file, Kind::group});
    if (at == nullptr) return;
    const std::string name = any_name(step.draw);
    step.code(
        "hobj_ref_t r; H5Rcreate(&r, {0}, \"{1}\", H5R_OBJECT, -1); H5Rdereference2({0}, "
        "H5P_DEFAULT, H5R_OBJECT, &r);",
        at->name, name);
    step.both([&](Side& side) {
        const hid_t id = side.of(*at);
        hobj_ref_t reference = 0;
        if (!side.out.result("H5Rcreate", H5Rcreate(&reference, id, name.c_str(), H5R_OBJECT, -1)))
            return;
        // An address in another file means nothing in this one.
        H5O_info2_t here{}, there{};
        H5Oget_info3(id, &here, H5O_INFO_BASIC);
        H5Oget_info_by_name3(id, name.c_str(), &there, H5O_INFO_BASIC, H5P_DEFAULT);
        if (here.fileno != there.fileno) return;
        H5O_type_t type = H5O_TYPE_UNKNOWN;
        side.out.result("H5Rget_obj_type2", H5Rget_obj_type2(id, H5R_OBJECT, &reference, &type));
        side.out.number("type", type);
        follow(side, H5Rdereference2(id, H5P_DEFAULT, H5R_OBJECT, &reference));
    });
}

/// A region of a dataset, written into an attribute and read from it; its values are read.
void region(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr) return;
    const hid_t leader = dataset->id[step.world.leader()];
    const hid_t space = step.own(H5Dget_space(leader)), type = step.own(H5Dget_type(leader));
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 1 || varies(type) || has_references(type) || step.world.setting.mpio) {
        step.applies = false;
        return;
    }
    Dims dims(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space, dims.data(), nullptr);
    Draw mine = step.own_draw();
    const Region chosen = some_region(step, mine, dims, Part::all);
    const bool is_new = step.draw.chance(50);
    step.code(
        "H5R_ref_t r; H5Rcreate_region(H5Iget_file_id({0}), name_of({0}), {1}, H5P_DEFAULT, &r); "
        "/* or of the old kind */ H5Dread(H5Ropen_object(&r), ..., H5Ropen_region(&r), ...);",
        dataset->name, chosen.code);
    const auto count =
        static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_select_npoints(chosen.id)));
    const hsize_t line = std::max<hsize_t>(count, 1);
    const hid_t memory = step.own(H5Screate_simple(1, &line, nullptr));
    step.both([&](Side& side) {
        const hid_t id = side.of(*dataset);
        char name[128] = "";
        if (H5Iget_name(id, name, sizeof name) <= 0) return;
        const hid_t file = H5Iget_file_id(id);
        H5R_ref_t reference{};
        hdset_reg_ref_t old{};
        const herr_t made = is_new
                                ? H5Rcreate_region(file, name, chosen.id, H5P_DEFAULT, &reference)
                                : H5Rcreate(&old, file, name, H5R_DATASET_REGION, chosen.id);
        if (side.out.result("H5Rcreate_region", made)) {
            const hid_t region = is_new ? H5Ropen_region(&reference, H5P_DEFAULT, H5P_DEFAULT)
                                        : H5Rget_region(file, H5R_DATASET_REGION, &old);
            const hid_t target = is_new
                                     ? H5Ropen_object(&reference, H5P_DEFAULT, H5P_DEFAULT)
                                     : H5Rdereference2(file, H5P_DEFAULT, H5R_DATASET_REGION, &old);
            side.out.number("points", H5Sget_select_npoints(region));
            Values values(type, line);
            values.mark(0xA5);
            if (count > 0 && side.out.result("H5Dread", H5Dread(target, type, memory, region,
                                                                H5P_DEFAULT, values.data())))
                side.out.values("values", type, values.data(), count);
            if (region >= 0) H5Sclose(region);
            if (target >= 0) H5Dclose(target);
            if (is_new) H5Rdestroy(&reference);
        }
        if (file >= 0) H5Fclose(file);
    });
}

/// The new kind, of an object or an attribute; stored in an attribute and read back.
void new_kind(Step& step) {
    Handle* const at = step.pick({Kind::file, Kind::group});
    if (at == nullptr) return;
    const std::string name = any_name(step.draw);
    const bool of_attribute = step.draw.chance(30);
    step.code(
        "H5R_ref_t r; H5Rcreate_object({}, \"{}\", H5P_DEFAULT, &r); H5Awrite(..., &r); "
        "H5Aread; H5Ropen_object;",
        at->name, name);
    H5L_info2_t link{};
    if (H5Lget_info2(at->id[step.world.leader()], name.c_str(), &link, H5P_DEFAULT) >= 0 &&
        link.type == H5L_TYPE_EXTERNAL)
        step.fact("external link");
    const hid_t space = step.own(H5Screate(H5S_SCALAR));
    step.both([&](Side& side) {
        const hid_t id = side.of(*at);
        H5R_ref_t reference{}, read{};
        const herr_t made = of_attribute
                                ? H5Rcreate_attr(id, name.c_str(), "units", H5P_DEFAULT, &reference)
                                : H5Rcreate_object(id, name.c_str(), H5P_DEFAULT, &reference);
        if (!side.out.result("H5Rcreate_object", made)) return;
        side.out.number("type", H5Rget_type(&reference));
        const hid_t attribute =
            H5Acreate2(id, "reference", H5T_STD_REF, space, H5P_DEFAULT, H5P_DEFAULT);
        if (side.out.result("H5Acreate2", attribute)) {
            side.out.result("H5Awrite", H5Awrite(attribute, H5T_STD_REF, &reference));
            if (side.out.result("H5Aread", H5Aread(attribute, H5T_STD_REF, &read))) {
                side.out.truth("H5Requal", H5Requal(&reference, &read));
                H5Rdestroy(&read);
            }
            H5Aclose(attribute);
            H5Adelete(id, "reference");
        }
        if (!of_attribute) follow(side, H5Ropen_object(&reference, H5P_DEFAULT, H5P_DEFAULT));
        H5Rdestroy(&reference);
    });
}

}  // namespace

void add_reference_operations(std::vector<Operation>& all) {
    all.insert(all.end(), {{"H5Rcreate", 2, old_object},
                           {"H5Rcreate_region", 2, region},
                           {"H5Rcreate_object", 2, new_kind}});
}

}  // namespace stand_in
