// Objects of any kind: copied, counted, visited, described; named types.
#include <algorithm>
#include <cstring>

#include "types.hpp"

namespace stand_in {
namespace {

Handle* a_place(Step& step) { return step.pick({Kind::file, Kind::group}); }

std::string any_name(Draw& draw) {
    if (draw.chance(60)) return std::string(1, "wxyz"[draw.below(4)]);
    return some_name(draw);
}

herr_t tell_of_dataset(hid_t at, const char* name, const H5O_info2_t* info, void* to) {
    if (info->type != H5O_TYPE_DATASET) return 0;
    Step& step = *static_cast<Step*>(to);
    const hid_t dataset = H5Dopen2(at, name, H5P_DEFAULT), space = step.own(H5Dget_space(dataset));
    hsize_t most[H5S_MAX_RANK] = {};
    const int axes = H5Sget_simple_extent_dims(space, nullptr, most);
    const auto without_limit = std::count(most, most + std::max(axes, 0), H5S_UNLIMITED);
    if (without_limit == 1 && most[0] != H5S_UNLIMITED) step.fact("grows later");
    H5Dclose(dataset);
    return 0;
}

herr_t tell_of_link(hid_t, const char*, const H5L_info2_t* link, void* to) {
    constexpr std::size_t k_short = 5;  // characters, with the zero
    if (link->type == H5L_TYPE_SOFT && link->u.val_size <= k_short)
        static_cast<Step*>(to)->fact("short soft link");
    return 0;
}

/// What HDF5 1.14.5 copies wrongly in the format of our files: a dataset whose only axis without
/// limit is not the first loses chunks, and an expanded soft link with a short path damages its
/// group. This names what holds one.
void tell_of_source(Step& step, hid_t at, const std::string& name, bool expands) {
    const char* const from = expands ? "/" : name.c_str();  // links may lead anywhere
    H5Ovisit_by_name3(at, from, H5_INDEX_NAME, H5_ITER_INC, tell_of_dataset, &step, H5O_INFO_BASIC,
                      H5P_DEFAULT);
    if (expands)
        H5Lvisit_by_name2(at, from, H5_INDEX_NAME, H5_ITER_INC, tell_of_link, &step, H5P_DEFAULT);
}

void copy(Step& step) {
    Handle *const from = a_place(step), *const to = a_place(step);
    // HDF5 1.14.5 cannot close a file for reading into which it has refused a copy.
    if (from == nullptr || step.is_read_only(*to)) {
        step.applies = false;
        return;
    }
    const std::string source = any_name(step.draw), name = any_name(step.draw);
    const std::uint64_t how = step.draw.below(6);
    tell_of_source(step, from->id[step.world.leader()], source, how == 2);
    step.world.has_aliases = true;
    step.world.has_copies[static_cast<std::size_t>(to->file)] = true;
    const hid_t list = step.own(H5Pcreate(H5P_OBJECT_COPY));
    if (how == 0) H5Pset_copy_object(list, H5O_COPY_SHALLOW_HIERARCHY_FLAG);
    if (how == 1) H5Pset_copy_object(list, H5O_COPY_WITHOUT_ATTR_FLAG);
    if (how == 2) H5Pset_copy_object(list, H5O_COPY_EXPAND_SOFT_LINK_FLAG);
    step.code("H5Ocopy({}, \"{}\", {}, \"{}\", H5P_DEFAULT, H5P_DEFAULT);", from->name, source,
              to->name, name);
    step.both([&](Side& side) {
        // HDF5 1.14.5 copies a contiguous dataset above 64 KiB without what was last written.
        if (side.which == native) H5Fflush(side.of(*from), H5F_SCOPE_LOCAL);
        side.out.result("H5Ocopy", H5Ocopy(side.of(*from), source.c_str(), side.of(*to),
                                           name.c_str(), list, H5P_DEFAULT));
    });
}

void open(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    const std::string name = any_name(step.draw);
    step.code("hid_t {} = H5Oopen({}, \"{}\", H5P_DEFAULT);", step.variable('o'), at->name, name);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        const hid_t id = H5Oopen(side.of(*at), name.c_str(), H5P_DEFAULT);
        made[side.which] = id;
        side.out.result("H5Oopen", id);
        side.out.number("kind", H5Iget_type(id));
    });
    const H5I_type_t type = H5Iget_type(made[step.world.leader()]);
    const Kind kind = type == H5I_DATASET    ? Kind::dataset
                      : type == H5I_DATATYPE ? Kind::type
                                             : Kind::group;
    step.keep(kind, made, 'o', at->file);
}

void ask(Step& step) {
    Handle* const object = step.pick({Kind::file, Kind::group, Kind::dataset, Kind::type});
    if (object == nullptr) return;
    step.code("/* H5Oget_info3, H5Iget_name, H5Oget_comment of {} */", object->name);
    const bool counts = step.world.setting.bound == 0;
    step.both([&](Side& side) {
        const hid_t id = side.of(*object);
        H5O_info2_t info;
        std::memset(&info, 0x55, sizeof info);
        side.out.result("H5Oget_info3",
                        H5Oget_info3(id, &info, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS));
        side.out.number("kind", info.type);
        if (info.type != H5O_TYPE_NAMED_DATATYPE) side.out.number("references", info.rc);
        if (counts) side.out.number("attributes", static_cast<long long>(info.num_attrs));
        char name[64];
        std::memset(name, 'U', sizeof name);
        side.out.number("H5Iget_name", H5Iget_name(id, name, sizeof name));
        side.out.bytes("name", name, sizeof name);
        std::memset(name, 'U', sizeof name);
        side.out.number("H5Oget_comment", H5Oget_comment(id, name, sizeof name));
        side.out.bytes("comment", name, sizeof name);
        side.out.number("H5Iget_type", H5Iget_type(id));
        const hid_t file = H5Iget_file_id(id);
        side.out.result("H5Iget_file_id", file);
        if (file >= 0) H5Fclose(file);
    });
}

void comment(Step& step) {
    Handle* const object = step.pick({Kind::group, Kind::dataset});
    if (object == nullptr) return;
    step.code("H5Oset_comment({}, \"words\");", object->name);
    step.both([&](Side& side) {
        side.out.result("H5Oset_comment", H5Oset_comment(side.of(*object), "words"));
    });
}

/// A committed type counts datasets that use it, of ours also those that are deleted and wait for
/// the end of the open.
herr_t note(hid_t, const char* name, const H5O_info2_t* info, void* to) {
    *static_cast<std::string*>(to) +=
        fmt::format("{}:{}:{} ", name, static_cast<int>(info->type),
                    info->type == H5O_TYPE_NAMED_DATATYPE ? 0 : info->rc);
    return 0;
}

void visit(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    step.code("H5Ovisit3({}, H5_INDEX_NAME, H5_ITER_INC, print, NULL, H5O_INFO_BASIC);", at->name);
    step.both([&](Side& side) {
        std::string said;
        side.out.number("H5Ovisit3", H5Ovisit3(side.of(*at), H5_INDEX_NAME, H5_ITER_INC, note,
                                               &said, H5O_INFO_BASIC));
        side.out.text("objects", said);
    });
}

void exists(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    const std::string name = any_name(step.draw);
    step.code("H5Oexists_by_name({}, \"{}\", H5P_DEFAULT);", at->name, name);
    step.both([&](Side& side) {
        side.out.truth("H5Oexists_by_name",
                       H5Oexists_by_name(side.of(*at), name.c_str(), H5P_DEFAULT));
    });
}

void flush_or_refresh(Step& step) {
    Handle* const object = step.pick({Kind::dataset, Kind::group});
    if (object == nullptr) return;
    const bool is_dataset = object->kind == Kind::dataset;
    const std::uint64_t how = step.draw.below(4);  // refreshing is seldom of use
    static const char* const names[] = {"H5Oflush", "H5Dflush", "H5Orefresh", "H5Drefresh"};
    if (step.world.setting.mpio) {  // parallel HDF5 has none of these
        step.applies = false;
        return;
    }
    // HDF5 1.14.5 then fails to close a dataset that has a second identifier, and leaves memory in
    // its list of identifiers that it has freed.
    int datasets = 0;
    for (const auto& held : step.world.handles)
        datasets += held->kind == Kind::dataset && held->file == object->file ? 1 : 0;
    if (is_dataset && how >= 2 && datasets > 1) {
        step.applies = false;
        return;
    }
    const char* const name = is_dataset ? names[how] : names[how & 2u];
    step.code("{}({});", name, object->name);
    step.both([&](Side& side) {
        const hid_t id = side.of(*object);
        side.out.result(name, !is_dataset ? (how < 2 ? H5Oflush(id) : H5Orefresh(id))
                              : how == 0  ? H5Oflush(id)
                              : how == 1  ? H5Dflush(id)
                              : how == 2  ? H5Orefresh(id)
                                          : H5Drefresh(id));
    });
}

void commit_type(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    const Type type = some_type(step, Use::dataset);
    const std::string name = any_name(step.draw);
    step.code(
        "hid_t {0} = H5Tcopy({1}); H5Tcommit2({2}, \"{3}\", {0}, H5P_DEFAULT, H5P_DEFAULT, "
        "H5P_DEFAULT);",
        step.variable('t'), type.code, at->name, name);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        const hid_t id = H5Tcopy(type.id);
        if (side.out.result("H5Tcommit2", H5Tcommit2(side.of(*at), name.c_str(), id, H5P_DEFAULT,
                                                     H5P_DEFAULT, H5P_DEFAULT)))
            made[side.which] = id;
        else
            H5Tclose(id);
    });
    step.keep(Kind::type, made, 't', at->file);
}

void open_type(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    const std::string name = any_name(step.draw);
    step.code("hid_t {} = H5Topen2({}, \"{}\", H5P_DEFAULT);", step.variable('t'), at->name, name);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        made[side.which] = H5Topen2(side.of(*at), name.c_str(), H5P_DEFAULT);
        if (side.out.result("H5Topen2", made[side.which]))
            side.out.text("type", description(made[side.which]));
    });
    step.keep(Kind::type, made, 't', at->file);
}

/// A dataset or an attribute of a type that has a name.
void use_type(Step& step) {
    Handle *const type = step.pick({Kind::type}), *const at = a_place(step);
    if (type == nullptr || at == nullptr) {
        step.applies = false;
        return;
    }
    const std::string name(1, "wxyz"[step.draw.below(4)]);
    const hsize_t length = 1 + step.draw.below(200);
    step.code(
        "hid_t {} = H5Dcreate2({}, \"{}\", {}, H5Screate_simple(1, (hsize_t[]){{{}}}, NULL), "
        "H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);",
        step.variable('d'), at->name, name, type->name, length);
    const hid_t space = step.own(H5Screate_simple(1, &length, nullptr));
    const hid_t list = step.own(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        made[side.which] = H5Dcreate2(side.of(*at), name.c_str(), side.of(*type), space,
                                      H5P_DEFAULT, list, H5P_DEFAULT);
        side.out.result("H5Dcreate2", made[side.which]);
    });
    step.keep(Kind::dataset, made, 'd', at->file);
    step.world.unflushed = true;  // others may not know of it yet
}

}  // namespace

void add_object_operations(std::vector<Operation>& all) {
    all.insert(all.end(), {{"H5Ocopy", 4, copy},
                           {"H5Oopen", 3, open},
                           {"H5Oget_info3", 3, ask},
                           {"H5Oset_comment", 1, comment},
                           {"H5Ovisit3", 2, visit},
                           {"H5Oexists_by_name", 1, exists},
                           {"H5Oflush", 3, flush_or_refresh},
                           {"H5Tcommit2", 2, commit_type},
                           {"H5Topen2", 1, open_type},
                           {"H5Dcreate2 named type", 1, use_type}});
}

}  // namespace stand_in
