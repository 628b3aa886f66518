// H5F: files. Which of them are captured is decided when they are created or opened.
#include "base/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/all_ranks.hpp"
#include "vol/callbacks.hpp"
#include "vol/capture.hpp"
#include "vol/captured_file.hpp"
#include "vol/closing_line.hpp"
#include "vol/external_link.hpp"
#include "vol/file_optional.hpp"
#include "vol/forward.hpp"
#include "vol/info.hpp"
#include "vol/native_dataset.hpp"
#include "vol/native_files.hpp"
#include "vol/other_process.hpp"
#include "vol/pending_files.hpp"
#include "vol/report.hpp"
#include "vol/shutdown.hpp"

namespace caesura::vol {
namespace {

using store::Handle;

/// Of a captured file, while its last use is closed: the Object's, and file_close's own.
constexpr long k_own_references = 2;

/// H5Pclose clears the error stack. The native connector's reason must reach the application: h5py
/// makes FileNotFoundError of it.
herr_t close_list(hid_t list) {
    const KeepErrors keep;
    return H5Pclose(list);
}

/// The application's access list with the native connector on it. Copying an MPI-IO list
/// duplicates its communicator, collectively (trap 14): once a call, as the calls that need it are
/// collective themselves.
Handle native_access(hid_t access) {
    Handle native(H5Pcopy(access), close_list);
    if (native.ok() && H5Pset_vol(native.get(), native_connector(), nullptr) < 0) native.reset();
    return native;
}

/// A use of a file that the native connector has opened. `captured`: on that file's image.
std::unique_ptr<Object> use_of(std::shared_ptr<CapturedFile> captured) {
    auto use = std::make_unique<Object>(H5I_FILE, native_connector(), std::move(captured));
    use->is_use_of_file = true;
    return use;
}

void* open_natively(const FileCall& call, void** request_slot) {
    const Handle native = native_access(call.access);
    if (!native.ok()) return nullptr;
    auto made = use_of(nullptr);
    const Request request(*made, request_slot);
    void* const under = call.creates()
                            ? H5VLfile_create(call.name.c_str(), call.flags, call.creation,
                                              native.get(), call.transfer, request_slot)
                            : H5VLfile_open(call.name.c_str(), call.flags, native.get(),
                                            call.transfer, request_slot);
    if (under != nullptr) {  // calls that follow would clear the errors of one that failed
        native_files::note(under, call.name, native.get());
        listen_for_end_of_library();
    }
    return adopt(std::move(made), under);
}

/// For one process alone what another one has locked cannot be replaced. The native connector would
/// empty the file before it sees the lock; asked to open it, it gives the same reason and leaves it
/// as it is.
void say_natively_that_it_is_locked(const FileCall& call) {
    const auto file = base::FileSystem::posix(locking_of(call.access))
                          .open(call.name, base::FileSystem::Mode::read);
    if (!file.ok() || (*file)->lock(true).ok()) return;
    const Handle native = native_access(call.access);
    if (!native.ok()) return;
    void* const opened =
        H5VLfile_open(call.name.c_str(), H5F_ACC_RDWR, native.get(), call.transfer, nullptr);
    if (opened != nullptr) H5VLfile_close(opened, native_connector(), call.transfer, nullptr);
}

/// A file that these ranks have open already is used once more.
void* open_again(const FileCall& call, const std::shared_ptr<CapturedFile>& open) {
    auto again = use_of(open);
    return adopt(std::move(again), open->open_again(call));
}

/// A file that others than the callers have open together. To read it is to read what is committed,
/// as it is natively; to write it would be to write beside them.
Status may_open_beside(const FileCall& call, const CapturedFile& open) {
    if (!call.creates() && (call.flags & H5F_ACC_RDWR) == 0) return {};
    return {StatusCode::unsupported,
            fmt::format("{}: is open already, by {} ranks together ({}); open it for writing with "
                        "exactly these, or close it first",
                        call.name, open.ranks(), open.name())};
}

/// What HDF5 itself has open with the ordinary driver it opens again, or says why not.
void leave_to_native_use(const FileCall& call, Opener& opener) {
    if (opener.captured() && is_alone(call.access) && native_files::has_open(call.identity))
        opener.why_native = "this process has it open already, and it is not captured";
}

/// Of a file that another process has closed. Rank 0 waits; its error is one on all ranks with
/// before_open().
Status wait_for_others(const Opener& opener, const std::string& name, const FileIdentity& identity,
                       hid_t access) {
    const bool asks = opener.communicator == nullptr || opener.communicator->rank() == 0;
    return asks && !pending_files::holds(identity)
               ? wait_for_other_process(base::FileSystem::posix(locking_of(access)), name)
               : Status{};
}

/// One process makes anew what all its ranks have closed and are still writing: these go on in a
/// file that has lost its name. What stands in the way the next step says.
void take_name_of_pending(FileCall& call, const Opener& opener) {
    namespace fs = std::filesystem;
    if (!call.creates() || (call.flags & H5F_ACC_EXCL) != 0 || opener.ranks.size() != 1 ||
        !pending_files::holds_for_others(call.identity, opener.ranks))
        return;
    base::FileSystem& files = base::FileSystem::posix();
    std::error_code error;
    const fs::path path = fs::canonical(call.name, error);  // a symbolic link stays one
    if (error || !files.open(path, base::FileSystem::Mode::read_write).ok()) return;
    const fs::perms permissions = fs::status(path, error).permissions();
    if (error || !files.remove(path).ok()) return;
    if (files.open(path, base::FileSystem::Mode::create).ok())
        fs::permissions(path, permissions, error);
    call.identity = identity_of(call.name);
}

/// What is pending here goes first. An error of the caller is one on all ranks.
/// @param goes_on  the file itself is not to be completed.
Status before_open(const Opener& opener, const FileIdentity& identity, Status mine,
                   bool goes_on = false) {
    return pending_files::before_open({opener.communicator.get(), opener.ranks}, identity,
                                      std::move(mine), goes_on);
}

/// A file that this process has closed and is still writing goes on where it was.
bool may_go_on(const FileCall& call, const Opener& opener) {
    return !call.creates() && opener.captured() && is_alone(call.access) &&
           pending_files::may_go_on(call.identity, call.name, call.access);
}

/// Null without an error: its blocks have been written meanwhile.
void* go_on(const FileIdentity& identity, Status& error) {
    const auto file = pending_files::take_back(identity);
    if (file == nullptr) return nullptr;
    auto use = use_of(file);
    auto under = file->go_on();
    if (under.ok()) return adopt(std::move(use), *under);
    error = under.status();
    file->stay_pending();
    pending_files::add(file);
    return nullptr;
}

/// Of a driver that keeps the file in memory and throws it away.
bool is_scratch(hid_t access) {
    std::size_t increment = 0;
    hbool_t is_kept = 1;
    return H5Pget_driver(access) == H5FD_CORE &&
           H5Pget_fapl_core(access, &increment, &is_kept) >= 0 && is_kept == 0;
}

void* open_file(FileCall call, void** request_slot) {
    // What lies in files is all that a forked child has of them.
    if (is_forked()) return open_natively(call, request_slot);
    auto info = info_of(call.access);
    if (!info.ok()) return fail<void*>(info.status());
    const auto config = config_of(*info);
    const bool captures = !config.ok() || (*config)->capture;
    Opener opener = call.creates() ? opener_of_new_file(call.access, call.creation, captures)
                                   : opener_of_old_file(call.access, call.flags, captures);
    Status status = config.status();
    if (const auto open = CapturedFile::find(call.identity)) {
        if (opener.ranks == open->members()) return open_again(call, open);
        if (status.ok()) status = may_open_beside(call, *open);
    }
    leave_to_native_use(call, opener);
    const bool goes_on = may_go_on(call, opener);
    if (status.ok()) take_name_of_pending(call, opener);
    // What is there and is to be captured is inspected, which waits too: it is opened once.
    if (status.ok() && (call.creates() || !opener.captured()))
        status = wait_for_others(opener, call.name, call.identity, call.access);
    status = before_open(opener, call.identity, status, goes_on);
    if (status.ok() && goes_on) {
        if (void* const file = go_on(call.identity, status)) {
            report_file(*config, call.name, true, {});
            return file;
        }
        if (status.ok()) status = before_open(opener, call.identity, {});
    }
    if (!status.ok()) return fail<void*>(status);
    if (opener.captured()) {
        auto opened = CapturedFile::open(call, std::move(opener.communicator),
                                         std::move(opener.ranks), *config, opener.why_native);
        if (!opened.ok()) {
            if (call.creates() && is_alone(call.access)) say_natively_that_it_is_locked(call);
            return fail<void*>(opened.status());
        }
        if (opened->has_value()) {
            report_file(*config, call.name, true, {});
            return adopt(use_of((*opened)->file), (*opened)->under);
        }
    }
    report_file(*config, call.name, false, opener.why_native);
    void* const made = open_natively(call, request_slot);
    if (made != nullptr && call.creates() && captures && !is_scratch(call.access))
        note_native(*config, call.name + ": " + opener.why_native);
    return made;
}

void* file_create(const char* name, unsigned flags, hid_t creation, hid_t access, hid_t transfer,
                  void** request_slot) {
    return guarded([&] {
        return open_file({name, identity_of(name), flags, creation, access, transfer},
                         request_slot);
    });
}

void* file_open(const char* name, unsigned flags, hid_t access, hid_t transfer,
                void** request_slot) {
    return guarded([&] {
        return open_file({name, identity_of(name), flags, H5I_INVALID_HID, access, transfer},
                         request_slot);
    });
}

/// On a file that need not be open: there is no object, and the access list is the argument's.
herr_t by_name(H5VL_file_specific_args_t* below, hid_t& access, hid_t transfer,
               void** request_slot) {
    const Handle native = native_access(access);
    if (!native.ok()) return -1;
    access = native.get();
    const Object nowhere(H5I_FILE, native_connector(), nullptr);
    const Request request(nowhere, request_slot);
    return H5VLfile_specific(nullptr, native_connector(), below, transfer, request_slot);
}

herr_t reopen(void* object, H5VL_file_specific_args_t* args, hid_t transfer, void** request_slot) {
    const Object& file = object_of(object);
    auto again = object_near(file, H5I_FILE);
    again->is_use_of_file = true;
    const Request request(file, request_slot);
    const herr_t status =
        H5VLfile_specific(file.under, file.connector, args, transfer, request_slot);
    void*& opened = *args->args.reopen.file;
    if (status < 0) return status;
    if (file.file != nullptr)
        file.file->begin_use(opened);
    else
        native_files::note_again(opened, file.under);
    opened = adopt(std::move(again), opened);
    return status;
}

/// Of a file whose metadata may not be in the file system yet: it is open or pending. Where several
/// ask together, on any of them: the native connector's answer would be collective too.
Result<bool> is_ours(const FileIdentity& identity, const Opener& opener) {
    const bool mine = CapturedFile::find(identity) != nullptr || pending_files::holds(identity);
    if (opener.communicator == nullptr) return mine;
    const auto all = base::from_all(*opener.communicator, std::uint8_t{mine});
    if (!all.ok()) return all.status();
    return std::any_of(all->begin(), all->end(), [](std::uint8_t one) { return one != 0; });
}

herr_t is_accessible(H5VL_file_specific_args_t below, hid_t transfer, void** request_slot) {
    auto& args = below.args.is_accessible;
    if (!is_forked()) {
        const auto ours = is_ours(identity_of(args.filename), opener_of_no_file(args.fapl_id));
        if (!ours.ok()) return fail(ours.status());
        if (*ours) {
            *args.accessible = true;
            return 0;
        }
    }
    return by_name(&below, args.fapl_id, transfer, request_slot);
}

herr_t remove(H5VL_file_specific_args_t below, hid_t transfer, void** request_slot) {
    auto& args = below.args.del;
    if (is_forked()) return by_name(&below, args.fapl_id, transfer, request_slot);
    const FileIdentity identity = identity_of(args.filename);
    const Opener opener = opener_of_no_file(args.fapl_id);
    const auto open = CapturedFile::find(identity);
    // The name goes, and who has the file open keeps it. HDF5 would look for what is not committed.
    if (open != nullptr && !open->shared() && opener.ranks == open->members())
        return done(base::FileSystem::posix().remove(args.filename));
    const Status mine =
        open == nullptr
            ? wait_for_others(opener, args.filename, identity, args.fapl_id)
            : Status{StatusCode::unsupported,
                     fmt::format("{}: is open by {} ranks together; close it before it is deleted",
                                 args.filename, open->ranks())};
    if (const Status status = before_open(opener, identity, mine); !status.ok())
        return fail(status);
    return by_name(&below, args.fapl_id, transfer, request_slot);
}

/// Other files, while this one is flushed or closed.
Status advance_others(const CapturedFile& file, std::uint64_t bytes) {
    return pending_files::advance({&file.communicator(), file.members()}, bytes);
}

herr_t flush(void* object, H5VL_file_specific_args_t* args, hid_t transfer, void** request_slot) {
    const Object on(object_of(object).kind, native_connector(), object_of(object).file);
    void* const under = object_of(object).under;
    const herr_t status = OnObject<H5VLfile_specific>::call(object, args, transfer, request_slot);
    return status < 0 || on.file == nullptr ? status : done(on.file->flush_from({under, on.kind}));
}

herr_t file_specific(void* object, H5VL_file_specific_args_t* args, hid_t transfer,
                     void** request_slot) {
    return guarded([&] {
        switch (args->op_type) {
            case H5VL_FILE_IS_ACCESSIBLE:
                return is_accessible(*args, transfer, request_slot);
            case H5VL_FILE_DELETE:
                return remove(*args, transfer, request_slot);
            case H5VL_FILE_REOPEN:
                return reopen(object, args, transfer, request_slot);
            case H5VL_FILE_FLUSH:
                return flush(object, args, transfer, request_slot);
            case H5VL_FILE_IS_EQUAL:  // the second file comes as the native connector knows it
                break;
        }
        return OnObject<H5VLfile_specific>::call(object, args, transfer, request_slot);
    });
}

herr_t file_get(void* object, H5VL_file_get_args_t* args, hid_t transfer, void** request_slot) {
    const CapturedFile* const file = object_of(object).file.get();
    if (file == nullptr || args->op_type != H5VL_FILE_GET_FAPL)
        return OnObject<H5VLfile_get>::call(object, args, transfer, request_slot);
    hid_t& access = args->args.get_fapl.fapl_id;
    access = H5Pcopy(file->access());
    return access < 0 ? -1 : H5Pset_fclose_degree(access, file->close_degree());
}

herr_t file_optional(void* object, H5VL_optional_args_t* args, hid_t transfer,
                     void** request_slot) {
    return guarded([&] {
        const Object& on = object_of(object);
        std::optional<FileIsOpening> opening;
        if (args->op_type == H5VL_NATIVE_FILE_POST_OPEN) {
            if (on.file != nullptr && on.file->takes_up_again()) return 0;
            opening.emplace();
        } else if (on.file != nullptr) {
            const auto answer = answer_optional(on, *args);
            if (!answer.ok()) return fail(answer.status());
            if (*answer == Answered::here) return 0;
        }
        return OnObject<H5VLfile_optional>::call(object, args, transfer, request_slot);
    });
}

/// Nobody has it any more but its lanes: closed natively when they are done.
herr_t leave_pending(Object* closed, const std::shared_ptr<CapturedFile>& file) {
    file->end_use(closed->under);
    delete closed;
    pending_files::add(file);
    return 0;
}

herr_t close_natively(void* under, hid_t, hid_t transfer, void** request_slot) {
    return native_files::close(under, transfer, request_slot);
}

/// With the close degree STRONG, HDF5 closes what is open of a file when that is closed. It then
/// deletes what has no links, which the last commit is to hold: so that is closed before.
void close_deleted(void* under) {
    const KeepErrors keep;
    for (const hid_t id : native_files::open_objects(under)) {
        const auto links = links_of({H5VLobject(id), H5Iget_type(id)});
        while (links.ok() && *links == 0 && H5Iis_valid(id) > 0 && H5Idec_ref(id) > 0) continue;
    }
}

/// Committed before it is closed: what cannot be written is an error while the file is still open,
/// and a close that fails (objects are open, close degree SEMI) leaves a file that can be used.
herr_t file_close(void* object, hid_t transfer, void** request_slot) {
    return guarded([&] {
        Object& closed = object_of(object);
        const std::shared_ptr<CapturedFile> file = closed.file;
        if (file != nullptr && is_forked()) return 0;
        if (file == nullptr || !closed.is_use_of_file) {
            return closed.is_use_of_file
                       ? Closes<close_natively>::call(object, transfer, request_slot)
                       : Closes<H5VLfile_close>::call(object, transfer, request_slot);
        }
        if (file->uses() == 1 && file->is_mounted())
            return fail({StatusCode::unsupported,
                         file->name() + ": is mounted on another file; H5Funmount it first"});
        if (file->uses() == 1) {
            if (close_linked(*file) < 0) return -1;
            if (file->close_degree() == H5F_CLOSE_STRONG) close_deleted(closed.under);
            if (const Status others = advance_others(*file, file->held_bytes()); !others.ok())
                return fail(others);
            const auto ended = file->end(closed, k_own_references);
            if (!ended.ok()) return fail(ended.status());
            if (*ended == CapturedFile::Ended::pending) return leave_pending(&closed, file);
        } else if (const Status status = file->commit_from(closed, 0); !status.ok()) {
            // What we hold open of the file may be held through this use of it.
            return fail(status);
        }
        void* const under = closed.under;
        file->closes_use = true;
        const herr_t status = Closes<H5VLfile_close>::call(object, transfer, request_slot);
        file->closes_use = false;
        if (status >= 0) file->end_use(under);
        return status;
    });
}

}  // namespace

H5VL_file_class_t file_callbacks() {
    H5VL_file_class_t table{};
    table.create = file_create;
    table.open = file_open;
    table.get = file_get;
    table.specific = file_specific;
    table.optional = file_optional;
    table.close = file_close;
    return table;
}

}  // namespace caesura::vol
