// Attributes of all objects.
#include <cstring>

#include "spaces.hpp"
#include "types.hpp"

namespace stand_in {
namespace {

/// One that has links: HDF5 1.14.5 deletes another one when it is closed, though an attribute of it
/// is open, and takes that for one of the next object that it makes there.
Handle* an_object(Step& step) {
    Handle* const object = step.pick({Kind::dataset, Kind::group, Kind::file, Kind::type});
    H5O_info2_t info{};
    if (object == nullptr) return nullptr;
    H5Oget_info3(object->id[step.world.leader()], &info, H5O_INFO_BASIC);
    if (info.rc == 0) step.applies = false;
    return info.rc == 0 ? nullptr : object;
}

std::string some_attribute(Draw& draw) {
    static const std::vector<std::string> names = {"p", "q", "r", "s", "_FillValue", "units"};
    return draw.any_of(names);
}

void keep_attribute(Step& step, const Pair& made, const Handle& object) {
    Handle* const kept = step.keep(Kind::attribute, made, 'a', object.file);
    H5O_info2_t info{};
    H5Oget_info3(object.id[step.world.leader()], &info, H5O_INFO_BASIC);
    if (kept != nullptr) kept->owner = info.token;
}

herr_t is_it(hid_t, const char*, const H5O_info2_t* info, void* token) {
    return std::memcmp(&info->token, token, sizeof info->token) == 0;
}

/// One to whose object a link leads. HDF5 1.14.5 reads the header of a deleted object from where it
/// was, if an attribute of it is used, and leaves its cache of metadata in disorder.
Handle* an_attribute(Step& step) {
    Handle* const attribute = step.pick({Kind::attribute});
    if (attribute == nullptr) return nullptr;
    const hid_t file = H5Iget_file_id(attribute->id[step.world.leader()]);
    step.applies = H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_NATIVE, is_it, &attribute->owner,
                             H5O_INFO_BASIC) > 0;
    H5Fclose(file);
    return step.applies ? attribute : nullptr;
}

void create(Step& step) {
    Handle* const object = an_object(step);
    if (object == nullptr) return;
    const Type type = some_type(step, Use::attribute);
    const Extent extent = some_extent(step, 2);
    const std::string name = some_attribute(step.draw);
    step.code("hid_t {} = H5Acreate2({}, \"{}\", {}, {}, H5P_DEFAULT, H5P_DEFAULT);",
              step.variable('a'), object->name, name, type.code, extent.code);
    Values values(type.id, extent.count());
    values.fill(Draw(step.draw.next()), true);
    const bool writes = step.draw.chance(80) && !extent.is_null;
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        const hid_t id = H5Acreate2(side.of(*object), name.c_str(), type.id, extent.id, H5P_DEFAULT,
                                    H5P_DEFAULT);
        made[side.which] = id;
        if (side.out.result("H5Acreate2", id) && writes)
            side.out.result("H5Awrite", H5Awrite(id, type.id, values.data()));
    });
    keep_attribute(step, made, *object);
}

void open(Step& step) {
    Handle* const object = an_object(step);
    if (object == nullptr) return;
    const std::string name = some_attribute(step.draw);
    // A bound has attributes of its own, so their numbers are others.
    const std::uint64_t how = step.world.setting.bound > 0 ? 2 : step.draw.below(3);
    step.code("hid_t {} = H5Aopen({}, \"{}\", H5P_DEFAULT);", step.variable('a'), object->name,
              name);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        const hid_t id = side.of(*object);
        made[side.which] =
            how == 0
                ? H5Aopen_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT, H5P_DEFAULT)
            : how == 1 ? H5Aopen_by_name(id, ".", name.c_str(), H5P_DEFAULT, H5P_DEFAULT)
                       : H5Aopen(id, name.c_str(), H5P_DEFAULT);
        side.out.result("H5Aopen", made[side.which]);
    });
    keep_attribute(step, made, *object);
}

void transfer(Step& step) {
    Handle* const attribute = an_attribute(step);
    if (attribute == nullptr) return;
    const hid_t leader = attribute->id[step.world.leader()];
    const hid_t type = step.own(H5Aget_type(leader)), space = step.own(H5Aget_space(leader));
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (type < 0 || count < 0) {
        step.applies = false;
        return;
    }
    const bool writes = step.draw.chance(45) && count > 0;
    Values values(type, static_cast<std::size_t>(count));
    values.fill(Draw(step.draw.next()), true);
    step.code("{}({}, H5Aget_type({}), buffer);", writes ? "H5Awrite" : "H5Aread", attribute->name,
              attribute->name);
    step.both([&](Side& side) {
        if (writes) {
            side.out.result("H5Awrite", H5Awrite(side.of(*attribute), type, values.data()));
            return;
        }
        Values read(type, static_cast<std::size_t>(count));
        read.mark(0xA5);
        if (side.out.result("H5Aread", H5Aread(side.of(*attribute), type, read.data())))
            side.out.values("values", type, read.data(), read.count());
    });
}

void ask(Step& step) {
    Handle* const attribute = an_attribute(step);
    if (attribute == nullptr) return;
    step.code("/* H5Aget_name, _space, _type, _info, _storage_size of {} */", attribute->name);
    step.both([&](Side& side) {
        const hid_t id = side.of(*attribute);
        char name[32];
        std::memset(name, 'U', sizeof name);
        side.out.number("H5Aget_name", H5Aget_name(id, sizeof name, name));
        side.out.bytes("name", name, sizeof name);
        side.out.number("H5Aget_storage_size", static_cast<long long>(H5Aget_storage_size(id)));
        H5A_info_t info;
        std::memset(&info, 0x55, sizeof info);
        side.out.result("H5Aget_info", H5Aget_info(id, &info));
        side.out.number("size", static_cast<long long>(info.data_size));
        side.out.number("set", info.cset);
        // Where objects do not track it, HDF5 1.14.5 says that the order is valid of attributes
        // that it has read, and not of those that it has just made.
        side.out.truth("order is set", info.corder_valid <= 1);
        const hid_t type = H5Aget_type(id), space = H5Aget_space(id);
        side.out.result("H5Aget_type", type);
        side.out.text("type", description(type));
        side.out.number("elements", H5Sget_simple_extent_npoints(space));
        H5Tclose(type);
        H5Sclose(space);
    });
}

void rename_or_delete(Step& step) {
    Handle* const object = an_object(step);
    if (object == nullptr) return;
    const std::string from = some_attribute(step.draw), to = some_attribute(step.draw);
    const bool deletes = step.draw.chance(50);
    step.code("{}({}, \"{}\"{});", deletes ? "H5Adelete" : "H5Arename", object->name, from,
              deletes ? "" : ", \"" + to + "\"");
    step.both([&](Side& side) {
        const hid_t id = side.of(*object);
        side.out.result(
            deletes ? "H5Adelete" : "H5Arename",
            deletes ? H5Adelete(id, from.c_str()) : H5Arename(id, from.c_str(), to.c_str()));
    });
}

herr_t note(hid_t, const char* name, const H5A_info_t* info, void* to) {
    *static_cast<std::string*>(to) +=
        fmt::format("{}:{} ", name, static_cast<long long>(info->data_size));
    return 0;
}

void iterate(Step& step) {
    Handle* const object = an_object(step);
    if (object == nullptr) return;
    const std::string name = some_attribute(step.draw);
    step.code("H5Aiterate2({}, H5_INDEX_NAME, H5_ITER_INC, &position, print, NULL);", object->name);
    // A bound leaves words of its own beside the values.
    const bool counts = step.world.setting.bound == 0;
    step.both([&](Side& side) {
        std::string said;
        hsize_t position = 0;
        const herr_t status =
            H5Aiterate2(side.of(*object), H5_INDEX_NAME, H5_ITER_INC, &position, note, &said);
        side.out.truth("H5Aexists", H5Aexists(side.of(*object), name.c_str()));
        side.out.number("H5Aiterate2", status);
        if (!counts) return;
        side.out.number("position", static_cast<long long>(position));
        side.out.text("attributes", said);
    });
}

}  // namespace

void add_attribute_operations(std::vector<Operation>& all) {
    all.insert(all.end(), {{"H5Acreate2", 7, create},
                           {"H5Aopen", 3, open},
                           {"H5Aread", 5, transfer},
                           {"H5Aget", 2, ask},
                           {"H5Adelete", 3, rename_or_delete},
                           {"H5Aiterate2", 2, iterate}});
}

}  // namespace stand_in
