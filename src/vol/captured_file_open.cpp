// How a captured file comes to be open: rank 0 makes or inspects it and tells the others, then
// every rank opens its image.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "store/closed_tree.hpp"
#include "store/in_flight.hpp"
#include "store/recover.hpp"
#include "store/region_format.hpp"
#include "store/region_writer.hpp"
#include "vol/agree.hpp"
#include "vol/block_io.hpp"
#include "vol/capture.hpp"
#include "vol/captured_file.hpp"
#include "vol/external_link.hpp"
#include "vol/library_state.hpp"
#include "vol/losses.hpp"
#include "vol/on_term.hpp"
#include "vol/other_process.hpp"
#include "vol/report.hpp"
#include "vol/shutdown.hpp"

namespace caesura::vol {
namespace {

namespace fs = std::filesystem;

/// The captured files that this process has open. The library's own lock guards it. Never
/// destroyed: HDF5 may close files after our statics.
std::map<FileIdentity, std::weak_ptr<CapturedFile>>& open_files() {
    static auto& files = *new std::map<FileIdentity, std::weak_ptr<CapturedFile>>;
    return files;
}

/// What rank 0 says of a file that exists.
struct Inspection {
    bool captured = false;
    store::RunId run{};
    std::array<char, 240> why{};  ///< if not
};

void refuse(Inspection& seen, const std::string& why) {
    seen.captured = false;
    seen.why[why.copy(seen.why.data(), seen.why.size() - 1)] = '\0';
}

/// Rank 0's answer for a file that is to be created. The native connector gets every file that the
/// system refuses: it fails as well, and its error is the one that applications know. A file that
/// the service may not write it makes as if there were no Caesura.
Inspection can_be_made(base::FileSystem& files, const std::string& name, unsigned flags) {
    Inspection seen;
    std::error_code error;
    if ((flags & H5F_ACC_EXCL) != 0 && fs::exists(name, error)) {
        refuse(seen, "exists, and H5F_ACC_EXCL is set");
        return seen;
    }
    if (auto file = files.open(name, base::FileSystem::Mode::create); !file.ok()) {
        refuse(seen, file.status().message());
        return seen;
    }
    seen.captured = true;
    seen.run = store::make_run_id();
    return seen;
}

/// As the ordinary driver does it: one writer at a time. Two would give the same addresses.
Status check_only_writer(base::File& file) {
    if (Status status = file.lock(true); !status.ok()) return status;
    return file.lock(false);
}

/// By another process, which is writing it or was killed; what cannot be read is not.
bool is_closed(base::File& file) {
    const auto closed = store::is_closed(file);
    return closed.ok() && *closed;
}

/// A file that a killed run left half-made, or closed and not complete, is first brought to its
/// last commit, as every opener of ours does (docs/how/file_format.md). One process alone does not
/// take from another what that one may be writing. What stands in its way the native connector
/// says.
/// @param kept, image  the file and what was read of it, if nothing had to be done.
Status inspect(base::FileSystem& files, const std::string& name, bool alone, Inspection& seen,
               std::optional<store::SharedFile>& kept, std::unique_ptr<store::LiveImage>& image) {
    // For one process alone the native connector says it.
    const auto failed = [&](const Status& status) {
        if (!alone) return status;
        refuse(seen, status.message());
        return Status{};
    };
    auto file = files.open(name, base::FileSystem::Mode::read_write);
    if (file.ok() && is_closed(**file)) {
        if (Status late = wait_for_other_process(files, name); !late.ok()) return late;
        file = files.open(name, base::FileSystem::Mode::read_write);
    }
    if (!file.ok()) {
        refuse(seen, file.status().message());  // the native connector says it in its own words
        return {};
    }
    auto run = store::read_file_header(**file, name);
    if (!run.ok()) {
        refuse(seen, "not made by Caesura");
        return {};
    }
    seen.captured = true;
    seen.run = *run;
    auto shared = store::SharedFile::take(std::move(*file), name, *run);
    if (!shared.ok()) return failed(shared.status());
    kept = std::move(*shared);
    // What another process commits after it was read would be overwritten.
    if (const Status other = alone ? check_only_writer(kept->file()) : Status{}; !other.ok()) {
        kept.reset();
        refuse(seen, other.message());
        return {};
    }
    auto made = store::LiveImage::make(*kept);
    const auto marked = store::is_marked_in_flight(kept->file());
    if (!marked.ok()) return marked.status();
    const auto left = store::is_open_or_closed(kept->file());
    if (!left.ok()) return left.status();
    if (made.ok() && !*marked && !*left) {
        image = std::move(*made);
        return {};
    }
    kept.reset();  // so that recover can have it alone
    if (made.status().code() == StatusCode::unsupported) {
        refuse(seen, made.status().message());
        return {};
    }
    if (alone && *marked) {
        refuse(seen, "another process is still writing it, or was when it was killed");
        return {};
    }
    const auto recovered = store::recover(files, name);
    return recovered.ok() ? Status{} : failed(recovered.status());
}

/// The library's default depends on the driver; ours is not the application's.
herr_t set_close_degree(hid_t image_access, hid_t access, bool shared, H5F_close_degree_t& degree) {
    if (H5Pget_fclose_degree(access, &degree) < 0) return -1;
    if (degree == H5F_CLOSE_DEFAULT)
        degree = H5Pget_driver(access) == H5FD_MPIO || shared ? H5F_CLOSE_SEMI : H5F_CLOSE_WEAK;
    return H5Pset_fclose_degree(image_access, degree);
}

Status native_error(const std::string& name, std::string_view doing) {
    return store::hdf5_error(StatusCode::internal, fmt::format("{}: {}", name, doing));
}

/// May the image of a file that exists live beside placed chunks? Its creation list says.
Status check_creation(void* under) {
    H5VL_file_get_args_t args{};
    args.op_type = H5VL_FILE_GET_FCPL;
    if (H5VLfile_get(under, native_connector(), &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
        return store::hdf5_error(StatusCode::internal, "creation list");
    const store::Handle creation(args.args.get_fcpl.fcpl_id, H5Pclose);
    return store::LiveImage::supports(creation.get(), true);
}

void close_native(void* under) {
    if (under != nullptr)
        H5VLfile_close(under, native_connector(), H5P_DATASET_XFER_DEFAULT, nullptr);
}

}  // namespace

std::shared_ptr<CapturedFile> CapturedFile::find(const FileIdentity& identity) {
    const auto found = open_files().find(identity);
    return found == open_files().end() ? nullptr : found->second.lock();
}

std::shared_ptr<CapturedFile> CapturedFile::find(unsigned long number) {
    for (const auto& [identity, file] : open_files())
        if (const auto open = file.lock(); open != nullptr && open->number_ == number) return open;
    return nullptr;
}

void CapturedFile::commit_all_open(bool with_others) {
    const KeepErrors keep;
    const LibraryState state;
    std::vector<std::shared_ptr<CapturedFile>> files;
    for (const auto& [identity, open] : open_files())
        if (auto file = open.lock(); file != nullptr && file->uses() > 0)
            files.push_back(std::move(file));
    // In one order on all ranks.
    std::sort(files.begin(), files.end(),
              [](const auto& a, const auto& b) { return a->run() < b->run(); });
    for (const auto& file : files) {
        if (!with_others && file->shared()) {
            file->leave_uncommitted();
            continue;
        }
        const NativeObject through{file->uses_.front(), H5I_FILE};
        const auto refused = [&] {
            return store::hdf5_error(StatusCode::internal, file->name() + ": flushing the image");
        };
        (void)file->commit(through, false, flush_native(through) < 0 ? refused() : Status{});
        file->let_go();
    }
}

Status CapturedFile::flush_own() {
    std::vector<std::shared_ptr<CapturedFile>> files;
    for (const auto& [key, open] : open_files())
        if (auto file = open.lock(); file != nullptr && file->uses() > 0 && !file->shared())
            files.push_back(std::move(file));
    Status first;
    for (const auto& file : files) {
        Status status = file->flush_from({file->uses_.front(), H5I_FILE});
        if (first.ok()) first = std::move(status);
    }
    return first;
}

/// HDF5 that is closing itself closes types before datasets that we hold, and all before the file.
void CapturedFile::let_go() {
    if (blocks_ == nullptr) return;
    blocks_->release();
    blocks_->forget_types();
}

void CapturedFile::leave_uncommitted() {
    let_go();
    uncommitted_ = {
        StatusCode::cancelled,
        fmt::format("{}: was open when the program ended without MPI_Finalize and without "
                    "H5close; it is as of its last H5Fflush",
                    name_)};
    given_up_ = true;
}

void CapturedFile::find_holder(Object& opened) {
    if (!files_are_crossed_) return;
    const KeepErrors keep;
    if (const auto number = file_number_of({opened.under, opened.kind}); number.ok())
        opened.file = find(*number);
}

CapturedFile::~CapturedFile() {
    if (!uncommitted_.ok()) give_up(uncommitted_);
    losses::forget(this);
    const auto found = open_files().find(identity_);
    if (found != open_files().end() && found->second.expired()) open_files().erase(found);
}

void CapturedFile::leave_open_files() { open_files().erase(identity_); }
void CapturedFile::join_open_files() { open_files()[identity_] = weak_from_this(); }

/// @return  false: the file is for the native connector, `why` says why. The same on all ranks.
Result<bool> CapturedFile::have_shared_file(const FileCall& call, std::string& why) {
    Inspection seen;
    auto connected = transport_of(*config_);
    if (connected.ok()) transport_ = std::move(*connected);
    Status mine = connected.status();
    base::FileSystem& files = files_of(transport_, locking_of(call.access));
    if (!mine.ok()) {
        // Told below: the other ranks are on their way there.
    } else if (communicator_->rank() == 0 && call.creates()) {
        seen = can_be_made(files, name_, call.flags);
        if (seen.captured) {
            auto made = store::SharedFile::create(files, name_, seen.run);
            mine = made.status();
            if (made.ok()) shared_file_ = std::move(*made);
        }
    } else if (communicator_->rank() == 0) {
        mine = inspect(files, name_, alone_, seen, shared_file_, image_);
    }
    // Nobody is to write natively what was to be compressed, because the service has died.
    if (mine.ok() && !seen.captured && communicator_->rank() == 0 && transport_ != nullptr &&
        transport_->is_lost())
        mine = {StatusCode::io, name_ + ": " + seen.why.data()};
    if (Status all = tell(*communicator_, std::as_writable_bytes(std::span(&seen, 1)), mine);
        !all.ok())
        return all;
    if (!seen.captured) {
        why = seen.why.data();
        return false;
    }
    if (!mine.ok()) return mine;
    if (!shared_file_) {
        auto opened = store::SharedFile::open(files, name_, seen.run);
        if (!opened.ok()) return opened.status();
        shared_file_ = std::move(*opened);
    }
    if (alone_ && was_there_ && image_ == nullptr)  // else it has been looked at
        if (const Status status = check_only_writer(shared_file_->file()); !status.ok()) {
            why = status.message();
            return false;
        }
    return true;
}

/// The application's access list for an opening of the image.
Result<store::Handle> CapturedFile::image_access(hid_t access, H5F_close_degree_t& degree) const {
    store::Handle list(H5Pcopy(access), H5Pclose);
    if (!list.ok()) return native_error(name_, "copying the access list");
    if (Status status = image_->set_driver(list.get()); !status.ok()) return status;
    if (set_close_degree(list.get(), access, shared(), degree) < 0)
        return native_error(name_, "close degree");
    return list;
}

void* CapturedFile::open_again(const FileCall& call) {
    // The library compares the lists of files of one driver; of another one it would be another
    // file.
    const bool alike = H5Pget_driver(call.access) == H5Pget_driver(access_.get());
    H5F_close_degree_t degree = H5F_CLOSE_DEFAULT;
    const auto access = image_access(alike ? call.access : access_.get(), degree);
    if (!access.ok()) return fail<void*>(access.status());
    void* const under =
        call.creates()
            ? H5VLfile_create(call.name.c_str(), call.flags, call.creation, access->get(),
                              call.transfer, nullptr)
            : H5VLfile_open(call.name.c_str(), call.flags, access->get(), call.transfer, nullptr);
    if (under != nullptr) begin_use(under);
    return under;
}

Result<void*> CapturedFile::open_image(const FileCall& call) {
    if (image_ == nullptr) {
        auto image = store::LiveImage::make(*shared_file_);
        if (!image.ok()) return image.status();
        image_ = std::move(*image);
    }
    const auto list = image_access(call.access, close_degree_);
    if (!list.ok()) return list.status();
    const store::Handle& access = *list;
    void* under = nullptr;
    if (call.creates()) {
        const store::Handle creation(H5Pcopy(call.creation), H5Pclose);
        if (Status status = store::LiveImage::prepare_creation(creation.get()); !status.ok())
            return status;
        // Whether the file may be replaced has been settled; to the driver it is new.
        under = H5VLfile_create(name_.c_str(), H5F_ACC_TRUNC, creation.get(), access.get(),
                                call.transfer, nullptr);
    } else {
        under = H5VLfile_open(name_.c_str(), call.flags & ~unsigned{H5F_ACC_SWMR_WRITE},
                              access.get(), call.transfer, nullptr);
    }
    if (under == nullptr)
        return store::hdf5_error(call.creates() ? StatusCode::internal : StatusCode::corrupt,
                                 fmt::format("{}: opening the image of the file", name_));
    may_hold_blocks_ = !call.creates();
    // Regions begin behind what lay in the file when it was opened.
    const std::uint64_t end = call.creates() ? store::first_region_address() : image_->end();
    const bool durable = durability_ == Durability::durable;
    tree_ = std::make_unique<ImageTree>(*image_, rank());
    ledger_ = std::make_unique<ledger::Ledger>(
        ledger::Ledger::Subject{*shared_file_, *tree_, *communicator_, durable},
        image_->next_dump(), end);
    return under;
}

Result<std::optional<CapturedFile::Opened>> CapturedFile::open(
    const FileCall& call, std::unique_ptr<Communicator> communicator, Ranks members,
    std::shared_ptr<const Config> config, std::string& why) {
    const std::shared_ptr<CapturedFile> file(
        new CapturedFile(std::move(communicator), std::move(config)));
    file->name_ = call.name;
    file->path_ = absolute_path(call.name);
    file->durability_ = durability_of(*file->config_, file->path_);
    file->alone_ = is_alone(call.access);
    file->was_there_ = !call.creates();
    file->members_ = std::move(members);
    const bool has_rank_0 = covers(file->members_, {0});
    losses::watch(file.get(),
                  {file->config_, file->name_, has_rank_0 ? world_rank() == 0 : file->rank() == 0});
    const auto have = file->have_shared_file(call, why);
    if (have.ok() && !*have) return std::optional<Opened>{};
    file->identity_ = identity_of(call.name);
    Status mine = have.status();
    void* under = nullptr;
    if (mine.ok()) {
        auto opened = file->open_image(call);
        mine = opened.ok() ? Status{} : opened.status();
        if (opened.ok()) under = *opened;
    }
    if (Status all = agree(*file->communicator_, mine); !all.ok()) {
        close_native(under);
        if (call.creates() || all.code() != StatusCode::corrupt) return all;
        why = all.message();  // HDF5 cannot read the file, and says so in its own words
        return std::optional<Opened>{};
    }
    if (!call.creates())
        if (Status status = check_creation(under); !status.ok()) {  // the same on all ranks
            close_native(under);
            why = status.message();
            return std::optional<Opened>{};
        }
    file->access_ = store::Handle(H5Pcopy(call.access), H5Pclose);
    if (const auto number = file_number_of({under, H5I_FILE}); number.ok()) file->number_ = *number;
    follow_external_links();
    watch_term(*file->config_);
    listen_for_ends();
    file->join_open_files();
    file->begin_use(under);
    return std::optional<Opened>(Opened{file, under});
}

}  // namespace caesura::vol
