// Files: made, opened once and again, flushed, closed, asked, moved, deleted.
#include <H5Ppublic.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "spaces.hpp"

namespace stand_in {
namespace {

constexpr int k_files = 3;

void wait_for_all(const Step& step) {
    if (step.world.ranks > 1 && step.world.setting.mpio) MPI_Barrier(step.world.communicator);
}

/// Through MPI-IO HDF5 does not notice that a process has a file open already: what two opens see
/// then is undefined.
bool is_open_unnoticed(Step& step, int file) {
    if (!step.world.setting.mpio) return false;
    for (const auto& held : step.world.handles)
        if (held->file == file) step.applies = false;
    return !step.applies;
}

Access some_access(Step& step) {
    Access access;
    Draw& draw = step.draw;
    if (draw.chance(30))
        access.degree = draw.any_of({H5F_CLOSE_WEAK, H5F_CLOSE_SEMI, H5F_CLOSE_STRONG});
    if (draw.chance(20)) {
        access.has_bounds = true;
        access.low =
            draw.any_of({H5F_LIBVER_EARLIEST, H5F_LIBVER_V18, H5F_LIBVER_V110, H5F_LIBVER_LATEST});
        access.high = draw.any_of({H5F_LIBVER_LATEST, H5F_LIBVER_V112});
    }
    if (draw.chance(5)) access.evicts = !step.world.setting.mpio;
    if (draw.chance(8)) access.alignment = 512;
    if (draw.chance(8)) access.meta_block = 4096;
    step.code("hid_t p{0} = fapl(); /* close degree {1}, bounds {2} {3} */", step.seed() % 97,
              static_cast<int>(access.degree), static_cast<int>(access.low),
              static_cast<int>(access.high));
    if (access.degree != H5F_CLOSE_DEFAULT)
        step.code("H5Pset_fclose_degree(p{}, {});", step.seed() % 97,
                  static_cast<int>(access.degree));
    if (access.has_bounds)
        step.code("H5Pset_libver_bounds(p{}, {}, {});", step.seed() % 97,
                  static_cast<int>(access.low), static_cast<int>(access.high));
    return access;
}

hid_t creation_list(Step& step) {
    const hid_t list = step.own(H5Pcreate(H5P_FILE_CREATE));
    Draw& draw = step.draw;
    if (draw.chance(20))
        H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    if (draw.chance(10)) H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED);
    if (draw.chance(10)) H5Pset_attr_phase_change(list, 2, 1);
    if (draw.chance(5)) H5Pset_userblock(list, 512);
    if (draw.chance(5)) H5Pset_sizes(list, 8, 8);
    if (draw.chance(8)) H5Pset_istore_k(list, 16);
    if (draw.chance(6) && !step.world.setting.mpio) {
        H5Pset_file_space_strategy(list, H5F_FSPACE_STRATEGY_FSM_AGGR, false, 1);
        step.fact("strategy");
    }
    return list;
}

void create(Step& step) {
    const int file = static_cast<int>(step.draw.below(k_files));
    if (is_open_unnoticed(step, file)) return;
    const unsigned flags = step.draw.chance(75) ? H5F_ACC_TRUNC : H5F_ACC_EXCL;
    const Access access = some_access(step);
    const hid_t creation = creation_list(step);
    step.code("hid_t {} = H5Fcreate(\"{}.h5\", {}, H5P_DEFAULT, p{});", step.variable('f'),
              static_cast<char>('a' + file),
              flags == H5F_ACC_TRUNC ? "H5F_ACC_TRUNC" : "H5F_ACC_EXCL", step.seed() % 97);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        const hid_t list = access_list(step.world, side.which, access);
        made[side.which] = H5Fcreate(side.path(file).c_str(), flags, creation, list);
        side.out.result("H5Fcreate", made[side.which]);
        H5Pclose(list);
    });
    if (step.keep(Kind::file, made, 'f', file) != nullptr)
        step.world.opened_again[static_cast<std::size_t>(file)] = false;
}

void open(Step& step) {
    const int file = static_cast<int>(step.draw.below(k_files));
    if (is_open_unnoticed(step, file)) return;
    const unsigned flags = step.draw.chance(60) ? H5F_ACC_RDWR : H5F_ACC_RDONLY;
    const Access access = some_access(step);
    step.code("hid_t {} = H5Fopen(\"{}.h5\", {}, p{});", step.variable('f'),
              static_cast<char>('a' + file),
              flags == H5F_ACC_RDWR ? "H5F_ACC_RDWR" : "H5F_ACC_RDONLY", step.seed() % 97);
    step.fact(flags == H5F_ACC_RDWR ? "rdwr" : "rdonly");
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        const hid_t list = access_list(step.world, side.which, access);
        made[side.which] = H5Fopen(side.path(file).c_str(), flags, list);
        side.out.result("H5Fopen", made[side.which]);
        H5Pclose(list);
    });
    bool is_second = false;
    for (const auto& held : step.world.handles) is_second = is_second || held->file == file;
    if (step.keep(Kind::file, made, 'f', file) != nullptr && !is_second)
        step.world.opened_again[static_cast<std::size_t>(file)] = true;
}

void reopen(Step& step) {
    Handle* const file = step.pick({Kind::file});
    if (file == nullptr) return;
    step.code("hid_t {} = H5Freopen({});", step.variable('f'), file->name);
    Pair made = k_no_ids;
    step.both([&](Side& side) {
        made[side.which] = H5Freopen(side.of(*file));
        side.out.result("H5Freopen", made[side.which]);
    });
    step.keep(Kind::file, made, 'f', file->file);
}

void flush(Step& step) {
    Handle* const object = step.pick({Kind::file, Kind::file, Kind::group, Kind::dataset});
    if (object == nullptr) return;
    const H5F_scope_t scope = step.draw.chance(60) ? H5F_SCOPE_GLOBAL : H5F_SCOPE_LOCAL;
    step.code("H5Fflush({}, {});", object->name,
              scope == H5F_SCOPE_GLOBAL ? "H5F_SCOPE_GLOBAL" : "H5F_SCOPE_LOCAL");
    step.both([&](Side& side) { side.out.result("H5Fflush", H5Fflush(side.of(*object), scope)); });
    wait_for_all(step);
    // Of other files nothing is known.
    bool all = true;
    for (const auto& held : step.world.handles) all = all && held->file == object->file;
    if (all) step.world.unflushed = false;
}

herr_t close_one(Kind kind, hid_t id) {
    switch (kind) {
        case Kind::file:
            return H5Fclose(id);
        case Kind::group:
            return H5Gclose(id);
        case Kind::dataset:
            return H5Dclose(id);
        case Kind::type:
            return H5Tclose(id);
        case Kind::attribute:
            return H5Aclose(id);
    }
    return -1;
}

void close(Step& step, Handle* handle) {
    static const char* const names[] = {"H5Fclose", "H5Gclose", "H5Dclose", "H5Tclose", "H5Aclose"};
    const char* const name = names[static_cast<int>(handle->kind)];
    step.code("{}({});", name, handle->name);
    herr_t status = 0;
    step.both([&](Side& side) {
        const herr_t closed = close_one(handle->kind, side.of(*handle));
        side.out.result(name, closed);
        if (side.which == step.world.leader()) status = closed;
    });
    wait_for_all(step);
    if (status >= 0) step.world.forget(handle);
}

void close_object(Step& step) {
    if (Handle* const handle = step.pick({Kind::group, Kind::dataset, Kind::type, Kind::attribute}))
        close(step, handle);
}

void close_file(Step& step) {
    if (Handle* const handle = step.pick({Kind::file})) close(step, handle);
}

/// All that is open of everything, then the files; the usual end of a program.
void close_all(Step& step) {
    if (step.world.handles.empty()) {
        step.applies = false;
        return;
    }
    while (!step.world.handles.empty() && !step.differs) {
        Handle* last = nullptr;
        for (const auto& held : step.world.handles)
            if (last == nullptr || held->kind != Kind::file || last->kind == Kind::file)
                last = held.get();
        const std::size_t before = step.world.handles.size();
        close(step, last);
        if (step.world.handles.size() == before) step.world.forget(last);
    }
}

void ask(Step& step) {
    Handle* const file = step.pick({Kind::file});
    if (file == nullptr) return;
    step.code("/* H5Fget_intent, _name, _obj_count, _create_plist, _access_plist, _info of {} */",
              file->name);
    step.both([&](Side& side) {
        const hid_t id = side.of(*file);
        unsigned intent = 0x5555;
        side.out.result("H5Fget_intent", H5Fget_intent(id, &intent));
        side.out.number("intent", intent);
        char name[4096];
        std::memset(name, 'U', sizeof name);
        const ssize_t length = H5Fget_name(id, name, sizeof name);
        side.out.result("H5Fget_name", length);
        side.out.text("name", length < 0 ? ""
                                         : std::filesystem::path(
                                               std::string(name, static_cast<std::size_t>(length)))
                                               .filename()
                                               .string());
        side.out.number("H5Fget_obj_count", H5Fget_obj_count(id, H5F_OBJ_ALL | H5F_OBJ_LOCAL));
        side.out.number("datasets open", H5Fget_obj_count(id, H5F_OBJ_DATASET));
        hsize_t bytes = HSIZE_UNDEF;
        // Natively an error while a new file is open through MPI-IO.
        if (const herr_t status = H5Fget_filesize(id, &bytes); !step.world.setting.mpio) {
            side.out.result("H5Fget_filesize", status);
            side.out.truth("size is set", bytes != HSIZE_UNDEF);
        }
        H5F_info2_t info;
        std::memset(&info, 0x55, sizeof info);
        side.out.result("H5Fget_info2", H5Fget_info2(id, &info));
        const hid_t access = H5Fget_access_plist(id);
        side.out.result("H5Fget_access_plist", access);
        H5F_close_degree_t degree = H5F_CLOSE_DEFAULT;
        side.out.result("H5Pget_fclose_degree", H5Pget_fclose_degree(access, &degree));
        side.out.number("degree", degree);
        side.out.truth("driver", H5Pget_driver(access) == H5FD_MPIO);
        H5Pclose(access);
        const hid_t creation = H5Fget_create_plist(id);
        side.out.result("H5Fget_create_plist", creation);
        unsigned order = 99;
        H5Pget_link_creation_order(creation, &order);
        side.out.number("order of links", order);
        hsize_t block = 77;
        H5Pget_userblock(creation, &block);
        side.out.number("user block", static_cast<long long>(block));
        H5Pclose(creation);
        side.out.result("H5Fget_freespace", H5Fget_freespace(id));
    });
}

/// In the file system; open ones stay what they are.
void rename(Step& step) {
    const int from = static_cast<int>(step.draw.below(k_files));
    const int to = static_cast<int>(step.draw.below(k_files));
    // Over an open file the two sides would go on with what is gone.
    for (const auto& held : step.world.handles)
        if (held->kind == Kind::file || from == to) step.applies = false;
    if (!step.applies || !step.world.handles.empty()) {
        step.applies = false;
        return;
    }
    step.code("rename(\"{}.h5\", \"{}.h5\");", static_cast<char>('a' + from),
              static_cast<char>('a' + to));
    wait_for_all(step);
    step.both([&](Side& side) {
        if (step.world.setting.mpio && step.world.rank != 0) return;
        side.out.result("rename", std::rename(side.path(from).c_str(), side.path(to).c_str()));
    });
    wait_for_all(step);
}

void remove(Step& step) {
    const int file = static_cast<int>(step.draw.below(k_files));
    if (is_open_unnoticed(step, file)) return;
    step.code("H5Fdelete(\"{}.h5\", fapl());", static_cast<char>('a' + file));
    step.both([&](Side& side) {
        const hid_t list = access_list(step.world, side.which, {});
        side.out.result("H5Fdelete", H5Fdelete(side.path(file).c_str(), list));
        H5Pclose(list);
    });
}

void accessible(Step& step) {
    const int file = static_cast<int>(step.draw.below(k_files));
    if (is_open_unnoticed(step, file)) return;
    step.code("H5Fis_accessible(\"{}.h5\", fapl());", static_cast<char>('a' + file));
    step.both([&](Side& side) {
        const hid_t list = access_list(step.world, side.which, {});
        side.out.truth("H5Fis_accessible", H5Fis_accessible(side.path(file).c_str(), list));
        H5Pclose(list);
    });
}

}  // namespace

void add_file_operations(std::vector<Operation>& all) {
    all.insert(all.end(), {{"H5Fcreate", 6, create},
                           {"H5Fopen", 8, open},
                           {"H5Freopen", 2, reopen},
                           {"H5Fflush", 6, flush},
                           {"H5Xclose", 10, close_object},
                           {"H5Fclose", 5, close_file},
                           {"close_all", 2, close_all},
                           {"H5Fget", 4, ask},
                           {"rename", 3, rename},
                           {"H5Fdelete", 1, remove},
                           {"H5Fis_accessible", 2, accessible}});
}

}  // namespace stand_in
