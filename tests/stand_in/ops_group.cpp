// Groups and links of all kinds.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "step.hpp"

namespace stand_in {
namespace {

Handle* a_place(Step& step) { return step.pick({Kind::file, Kind::group}); }

std::string any_name(Draw& draw) {
    if (draw.chance(45)) return std::string(1, "wxyz"[draw.below(4)]);
    return some_name(draw);
}

void create(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    const std::string name = some_name(step.draw);
    const hid_t links = step.own(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(links, step.draw.chance(50));
    const hid_t list = step.own(H5Pcreate(H5P_GROUP_CREATE));
    if (step.draw.chance(25))
        H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    if (step.draw.chance(20)) H5Pset_link_phase_change(list, 2, 1);
    step.code("hid_t {} = H5Gcreate2({}, \"{}\", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);",
              step.variable('g'), at->name, name);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        made[side.which] = H5Gcreate2(side.of(*at), name.c_str(), links, list, H5P_DEFAULT);
        side.out.result("H5Gcreate2", made[side.which]);
    });
    step.keep(Kind::group, made, 'g', at->file);
}

void open(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    const std::string name = step.draw.chance(30) ? "/" : some_name(step.draw);
    step.code("hid_t {} = H5Gopen2({}, \"{}\", H5P_DEFAULT);", step.variable('g'), at->name, name);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        made[side.which] = H5Gopen2(side.of(*at), name.c_str(), H5P_DEFAULT);
        side.out.result("H5Gopen2", made[side.which]);
    });
    step.keep(Kind::group, made, 'g', at->file);
}

void ask(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    step.code("H5Gget_info({}, &info);", at->name);
    step.both([&](Side& side) {
        H5G_info_t info;
        std::memset(&info, 0x55, sizeof info);
        side.out.result("H5Gget_info", H5Gget_info(side.of(*at), &info));
        side.out.number("links", static_cast<long long>(info.nlinks));
        side.out.number("mounted", info.mounted);
        side.out.number("order", static_cast<long long>(info.max_corder));
    });
}

/// HDF5 1.14.5 cannot close a file that is open for reading after it has refused a link for which
/// the header of a group has no room, in formats from 1.8 on.
Handle* a_place_for_links(Step& step) {
    Handle* const at = a_place(step);
    step.applies = at != nullptr && !step.is_read_only(*at);
    return step.applies ? at : nullptr;
}

void link_hard(Step& step) {
    Handle *const at = a_place(step), *const to = a_place_for_links(step);
    if (at == nullptr || to == nullptr) {
        step.applies = false;
        return;
    }
    step.world.has_aliases = true;
    const std::string from = any_name(step.draw), name = any_name(step.draw);
    step.code("H5Lcreate_hard({}, \"{}\", {}, \"{}\", H5P_DEFAULT, H5P_DEFAULT);", at->name, from,
              to->name, name);
    step.both([&](Side& side) {
        side.out.result("H5Lcreate_hard", H5Lcreate_hard(side.of(*at), from.c_str(), side.of(*to),
                                                         name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
    });
}

void link_soft(Step& step) {
    Handle* const at = a_place_for_links(step);
    if (at == nullptr) return;
    step.world.has_aliases = true;
    const std::string target = (step.draw.chance(50) ? "/" : "") + any_name(step.draw);
    const std::string name = any_name(step.draw);
    step.code("H5Lcreate_soft(\"{}\", {}, \"{}\", H5P_DEFAULT, H5P_DEFAULT);", target, at->name,
              name);
    step.both([&](Side& side) {
        side.out.result("H5Lcreate_soft", H5Lcreate_soft(target.c_str(), side.of(*at), name.c_str(),
                                                         H5P_DEFAULT, H5P_DEFAULT));
    });
}

void link_external(Step& step) {
    Handle* const at = a_place_for_links(step);
    if (at == nullptr || step.world.setting.mpio) {  // two opens of a file are not noticed there
        step.applies = false;
        return;
    }
    step.world.has_aliases = true;
    const std::string file =
        std::filesystem::path(step.world.path(native, static_cast<int>(step.draw.below(3))))
            .filename();
    const std::string target = "/" + any_name(step.draw), name = any_name(step.draw);
    step.code("H5Lcreate_external(\"{}\", \"{}\", {}, \"{}\", H5P_DEFAULT, H5P_DEFAULT);", file,
              target, at->name, name);
    step.both([&](Side& side) {
        side.out.result("H5Lcreate_external",
                        H5Lcreate_external(file.c_str(), target.c_str(), side.of(*at), name.c_str(),
                                           H5P_DEFAULT, H5P_DEFAULT));
    });
}

void move_or_copy(Step& step) {
    Handle *const at = a_place(step), *const to = a_place(step);
    if (at == nullptr) return;
    step.world.has_aliases = true;
    const std::string from = any_name(step.draw), name = any_name(step.draw);
    const bool moves = step.draw.chance(65);
    step.code("{}({}, \"{}\", {}, \"{}\", H5P_DEFAULT, H5P_DEFAULT);",
              moves ? "H5Lmove" : "H5Lcopy", at->name, from, to->name, name);
    step.both([&](Side& side) {
        const auto call = moves ? H5Lmove : H5Lcopy;
        side.out.result(
            moves ? "H5Lmove" : "H5Lcopy",
            call(side.of(*at), from.c_str(), side.of(*to), name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
    });
}

void remove(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    // HDF5 1.14.5 gives an attribute that is open when its object is deleted to the next object
    // that lies there.
    const auto is_attribute_of_it = [&](const auto& handle) {
        return handle->kind == Kind::attribute && handle->file == at->file;
    };
    const auto& handles = step.world.handles;
    if (std::any_of(handles.begin(), handles.end(), is_attribute_of_it)) {
        step.applies = false;
        return;
    }
    const std::string name = any_name(step.draw);
    const bool by_index = step.draw.chance(15);
    if (by_index)
        step.code("H5Ldelete_by_idx({}, \".\", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT);",
                  at->name);
    else
        step.code("H5Ldelete({}, \"{}\", H5P_DEFAULT);", at->name, name);
    step.both([&](Side& side) {
        side.out.result("H5Ldelete", by_index ? H5Ldelete_by_idx(side.of(*at), ".", H5_INDEX_NAME,
                                                                 H5_ITER_INC, 0, H5P_DEFAULT)
                                              : H5Ldelete(side.of(*at), name.c_str(), H5P_DEFAULT));
    });
}

void ask_link(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    const std::string name = any_name(step.draw);
    step.code("H5Lexists, H5Lget_info2, H5Lget_val({}, \"{}\")", at->name, name);
    step.both([&](Side& side) {
        const hid_t id = side.of(*at);
        side.out.truth("H5Lexists", H5Lexists(id, name.c_str(), H5P_DEFAULT));
        H5L_info2_t info;
        std::memset(&info, 0x55, sizeof info);
        if (!side.out.result("H5Lget_info2", H5Lget_info2(id, name.c_str(), &info, H5P_DEFAULT)))
            return;
        side.out.number("type", info.type);
        side.out.number("order valid", info.corder_valid);
        if (info.corder_valid) side.out.number("order", info.corder);
        if (info.type == H5L_TYPE_HARD) return;
        side.out.number("size", static_cast<long long>(info.u.val_size));
        char value[256];
        std::memset(value, 'U', sizeof value);
        side.out.result("H5Lget_val",
                        H5Lget_val(id, name.c_str(), value, sizeof value, H5P_DEFAULT));
        side.out.bytes("value", value, sizeof value);
    });
}

herr_t note_link(hid_t, const char* name, const H5L_info2_t* info, void* to) {
    auto& said = *static_cast<std::string*>(to);
    said += fmt::format("{}:{} ", name, static_cast<int>(info->type));
    return said.size() > 3000 ? 1 : 0;
}

void iterate(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    const auto index = step.draw.chance(75) ? H5_INDEX_NAME : H5_INDEX_CRT_ORDER;
    const auto order = step.draw.any_of({H5_ITER_INC, H5_ITER_DEC, H5_ITER_INC});
    const bool visits = step.draw.chance(40);
    step.code("{}({}, {}, {}, print_link, NULL);", visits ? "H5Lvisit2" : "H5Literate2", at->name,
              static_cast<int>(index), static_cast<int>(order));
    step.both([&](Side& side) {
        std::string said;
        const hid_t id = side.of(*at);
        hsize_t position = 0;
        const herr_t status = visits ? H5Lvisit2(id, index, order, note_link, &said)
                                     : H5Literate2(id, index, order, &position, note_link, &said);
        side.out.number("returned", status);
        side.out.number("position", static_cast<long long>(position));
        side.out.text("links", said);
    });
}

void name_by_index(Step& step) {
    Handle* const at = a_place(step);
    if (at == nullptr) return;
    const hsize_t n = step.draw.below(3);
    step.code(
        "H5Lget_name_by_idx({}, \".\", H5_INDEX_NAME, H5_ITER_INC, {}, name, 64, H5P_DEFAULT);",
        at->name, n);
    step.both([&](Side& side) {
        char name[64];
        std::memset(name, 'U', sizeof name);
        const ssize_t length = H5Lget_name_by_idx(side.of(*at), ".", H5_INDEX_NAME, H5_ITER_INC, n,
                                                  name, sizeof name, H5P_DEFAULT);
        side.out.number("length", length);
        side.out.bytes("name", name, sizeof name);
    });
}

}  // namespace

void add_group_operations(std::vector<Operation>& all) {
    all.insert(all.end(), {{"H5Gcreate2", 5, create},
                           {"H5Gopen2", 3, open},
                           {"H5Gget_info", 2, ask},
                           {"H5Lcreate_hard", 2, link_hard},
                           {"H5Lcreate_soft", 2, link_soft},
                           {"H5Lcreate_external", 1, link_external},
                           {"H5Lmove", 3, move_or_copy},
                           {"H5Ldelete", 3, remove},
                           {"H5Lget_info2", 2, ask_link},
                           {"H5Literate2", 2, iterate},
                           {"H5Lget_name_by_idx", 1, name_by_index}});
}

}  // namespace stand_in
