// A file whose metadata every rank keeps in memory and one rank commits.
//
// The application's HDF5 calls run natively on this rank's image of the file (store::LiveImage), on
// every rank, without communication. Raw data go from the rank that was given them straight to
// their place in the file. At the next collective call rank 0 commits the metadata.
//
// | call            | collective | communicates          |
// |-----------------|------------|-----------------------|
// | create, open    | yes        | yes                   |
// | filling         | yes        | if fill values were written |
// | drain, commit   | yes        | yes                   |
// | end, complete   | yes        | yes                   |
// | write_through   | no         | no                    |
//
// A file is open (uses() > 0); then closed (by end() or, with the close degree WEAK, with its last
// object); or, between the two, pending: end() has handed the last blocks to the lanes, and
// complete() commits them (vol/pending_files.hpp). The native file stays open until then.
//
// Invariants:
//  - Application's thread only; MPI_THREAD_FUNNELED is enough.
//  - Ranks whose images have grown apart are an error of the next commit, not a broken file.
//  - A commit that failed is not tried again: the file stays as of the last one, and what was
//    handed over since is lost, which closing line and report are told at once (losses.hpp).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "ledger/ledger.hpp"
#include "store/hdf5_handle.hpp"
#include "store/live_image.hpp"
#include "store/shared_file.hpp"
#include "vol/closing_line.hpp"
#include "vol/completer.hpp"
#include "vol/config.hpp"
#include "vol/coordinates.hpp"
#include "vol/file_identity.hpp"
#include "vol/object.hpp"
#include "vol/ranks.hpp"
#include "vol/settings.hpp"
#include "vol/transport.hpp"

namespace caesura::vol {

/// The arguments of H5Fcreate or H5Fopen.
struct FileCall {
    std::string name;
    FileIdentity identity;
    unsigned flags = 0;
    hid_t creation = H5I_INVALID_HID;  ///< invalid: open
    hid_t access = H5I_INVALID_HID;
    hid_t transfer = H5P_DEFAULT;
    bool creates() const { return creation >= 0; }
};

class BlockIo;
class ImageTree;
struct OpenDataset;
struct NativeObject;

class CapturedFile : public std::enable_shared_from_this<CapturedFile> {
  public:
    struct Opened {
        std::shared_ptr<CapturedFile> file;
        void* under = nullptr;  ///< the native connector's file on the image
    };
    /// @return nothing if the file is for the native connector after all; `why` then says why.
    static Result<std::optional<Opened>> open(const FileCall& call,
                                              std::unique_ptr<Communicator> communicator,
                                              Ranks members, std::shared_ptr<const Config> config,
                                              std::string& why);
    /// The captured file that this process has open; null if it has not.
    static std::shared_ptr<CapturedFile> find(const FileIdentity& identity);
    /// The same by HDF5's number of an open file.
    static std::shared_ptr<CapturedFile> find(unsigned long number);
    /// From now on paths may lead from one file into another: by an external link or a mount.
    static void note_crossing() { files_are_crossed_ = true; }
    static bool files_are_crossed() { return files_are_crossed_; }
    /// Correct the file of an object that was just opened: it need not be that of the object
    /// through which it was reached.
    static void find_holder(Object& opened);
    ~CapturedFile();
    CapturedFile(const CapturedFile&) = delete;
    CapturedFile& operator=(const CapturedFile&) = delete;

    const std::shared_ptr<const Config>& config() const { return config_; }
    const std::string& name() const { return name_; }
    /// The absolute path by which it was opened: it may have been renamed since.
    const std::string& path() const { return path_; }
    const FileIdentity& identity() const { return identity_; }
    const store::RunId& run() const { return shared_file_->run(); }
    const Ranks& members() const { return members_; }
    Communicator& communicator() const { return *communicator_; }
    int rank() const { return communicator_->rank(); }
    int ranks() const { return communicator_->size(); }
    /// Rank 0's value becomes everybody's. Collective.
    Status tell_all(std::span<std::byte> value) { return communicator_->broadcast(value, 0); }
    bool shared() const { return ranks() > 1; }
    /// The application's own access list (trap 14: copied once); a borrowed identifier.
    hid_t access() const { return access_.get(); }

    /// Which one is in force.
    H5F_close_degree_t close_degree() const { return close_degree_; }
    /// Files that the application has open on it: H5Fopen, H5Fcreate, H5Freopen; each as the
    /// native connector has it.
    std::size_t uses() const { return uses_.size(); }
    void begin_use(void* under) { uses_.push_back(under); }
    void end_use(void* under) { std::erase(uses_, under); }
    /// Mounted on this file, until it is unmounted or that one is closed.
    std::weak_ptr<CapturedFile> mounted_on;
    bool is_mounted() const {
        const auto outer = mounted_on.lock();
        return outer != nullptr && outer->uses() > 0;
    }
    /// Its datasets that are open, by token (key_of_token).
    std::map<std::string, std::weak_ptr<OpenDataset>> open_datasets;
    /// HDF5 is closing one use of it, after a commit, and what is open of that use.
    bool closes_use = false;
    /// As the application gave them, of datasets whose filters were dropped, by token.
    std::map<std::string, store::Handle> with_dropped_filters;
    /// Files that external links of this one led to, open until it is closed.
    std::map<FileIdentity, hid_t> linked;

    /// What attributes that were written since it was opened say of coordinates, if a bound is
    /// said of no dataset by name.
    NamedCoordinates named_coordinates;
    bool asks_for_coordinates() const { return has_bound_for_all(*config_); }

    /// Around a native call that makes or extends datasets: fill values are the same on all ranks,
    /// so rank 0 writes them. `call` returns herr_t or a pointer.
    /// @param at_once  as of store::LiveImage::Filling.
    template <class Call>
    auto filling(Call&& call, bool at_once = false) -> decltype(call()) {
        const auto result = [&] {
            const store::LiveImage::Filling fills(*image_, at_once, !shared());
            return call();
        }();
        const Status status = write_fill();
        return status.ok() ? result : fail<decltype(call())>(status);
    }
    /// What becomes blocks; made when it is first asked for, collectively.
    Result<BlockIo*> blocks();
    BlockIo* blocks_or_null() const { return blocks_.get(); }
    /// The same, made without the other ranks: to read blocks that lie in the file, and to keep
    /// what is written to them until the others hear of it.
    BlockIo& local_blocks();
    /// Blocks may lie in it that this run has not made: it was opened, or H5Ocopy made them. The
    /// same on all ranks.
    bool may_hold_blocks() const { return may_hold_blocks_; }
    void note_blocks_stored() { may_hold_blocks_ = true; }
    /// All ranks' raw data are in the file when it returns, and every rank reads them.
    Status drain();
    /// All ranks are about to write to these datasets (token_of) together. If another collective
    /// write to one of them came since the last drain(), that one's data are in the file on all
    /// ranks when this returns: the later write wins, whichever ranks wrote. Communicates only
    /// then: most datasets are written once.
    Status before_writing_together(std::span<const H5O_token_t> datasets);
    /// drain(), and everything that became blocks is committed.
    /// @param through  any object of the file.
    Status settle(const NativeObject& through);
    /// The same before HDF5 itself reads what may wait, in a call that a rank makes by itself. Of a
    /// file of several ranks nothing can be settled then. @param call  its name.
    /// Errors: unsupported (something waits on a rank of several).
    Status settle_alone(const NativeObject& through, std::string_view call);
    /// H5Fflush, or the flush of any object of the file, of which commits know no part: all of it
    /// is committed, and other files go on. Collective.
    Status flush_from(const NativeObject& through);
    /// The same of all files that this process has open for itself. Local.
    static Status flush_own();
    /// After a collective write: hand blocks over before what waits takes too much memory on any
    /// rank. The same decision on all ranks; communicates only where that may be so.
    /// @param bytes  of all that a rank may have written; the same on all.
    Status relieve_together(const NativeObject& through, std::uint64_t bytes);
    /// Before a dataset grows: the lanes get what was written so far, if that is enough to be worth
    /// a dump. Else it waits, and what is written next joins it in the same blocks. Collective.
    /// @param full  no chunk is going to get more: less is enough.
    Status before_growing(const NativeObject& through, bool full);
    /// Collective: the lanes get all that was written so far, so that dims may change.
    Status hand_over(const NativeObject& through);
    /// drain(), and what H5Fflush left in the image is committed.
    /// @param last  nothing of the file is used after it.
    /// @param mine  an error of the caller: nothing is committed, on all ranks.
    Status commit(const NativeObject& through, bool last, Status mine = {});
    /// This rank's raw data are in the file when it returns: what another rank reads after a
    /// barrier, as programs for parallel HDF5 do.
    Status write_through() { return write_raw(); }
    /// Before HDF5 closes itself with files open, and while it still has types, which attributes
    /// need: what was written is committed. Collective over the ranks of each file. A failure is
    /// told when HDF5 closes the file.
    /// @param with_others  files that other ranks have open too; false: these are given up, and
    ///                     nobody is waited for.
    static void commit_all_open(bool with_others);
    /// To be called before an object of the file is closed: if it is the last thing that keeps a
    /// file open whose identifiers are all closed (close degree WEAK), what came since is
    /// committed.
    static Status before_close(const Object& object);
    /// To be called before that: HDF5 deletes a group without links, and lets go what it holds,
    /// when it is closed, or the last of its attributes, which such a commit must know of. Null if
    /// there is no such commit, or the group has links; else the root group, which keeps the file
    /// open: to be closed by close_last() after the object.
    static std::unique_ptr<Object> keep_for_deletion(const Object& object);
    static void close_last(std::unique_ptr<Object> root);
    /// Flush what HDF5 has of the file, through any object of it, and commit.
    /// @param references  to this file that are the caller's: if there are no others, nothing of
    ///                    the file is used after it.
    Status commit_from(const Object& object, long references);
    enum class Ended : std::uint8_t {
        complete,  ///< what there was is committed; the native file may be closed
        pending,   ///< the native file is kept open by us
    };
    /// Before the last use of the file is closed. After an error the file can still be used, and
    /// the next call gives up what could not be committed.
    /// @param references  as for commit_from().
    Result<Ended> end(const Object& file, long references);
    /// A pending file that one process has closed, and opens again for writing in the same way and
    /// by the same name, goes on where it was. Local.
    bool may_go_on(const std::string& name, hid_t access) const;
    /// From now on this process alone has it. @return  false: others may have completed it.
    bool take_back();
    /// @return  the native file, which was kept open.
    Result<void*> go_on();
    /// After a go_on() that failed, and before pending_files::add().
    void stay_pending();
    /// Once after go_on(): the native file is not a new one.
    bool takes_up_again() { return std::exchange(goes_on_, false); }
    /// Only this process has to do with it, through no MPI-IO. Local.
    bool alone() const { return alone_; }
    /// Has this rank's part of a pending file been written? Local.
    bool finished() const;
    /// Of a pending file: has it been completed without a call of its ranks? Any thread.
    bool is_complete() const;
    /// The same: until it has been completed without a call of its ranks. Local.
    /// Errors: unsupported (nobody does that, or it takes too long), and that of the commit where
    /// this rank makes it.
    Status wait_until_completed() const;
    /// Raw bytes of blocks that are not committed. Local.
    std::uint64_t held_bytes() const;
    /// The same of a pending file when it was closed. Local.
    std::uint64_t pending_bytes() const { return pending_bytes_; }
    /// Commit a pending file and close it natively. Errors: those of lanes and commit; the file
    /// stays as of the commit before, with the mark of a file that is being written.
    Status complete();
    /// No call will complete the pending file. If it is not complete that is told to closing line
    /// and report. Local. @return  `why`, or nothing if it is complete.
    Status abandon(const Status& why);
    /// The access list of chunked datasets that are made with the library's default, which is most
    /// of them: made once, as copying a list costs about as much as making a small dataset.
    store::Handle default_access;
    /// The library's own context of a call goes on using the list that the call below was given
    /// until the application's call ends: the list lives until the next one takes its place.
    void keep_transfer(store::Handle list) { transfer_ = std::move(list); }
    /// base::File::descriptor(). Local.
    const int* descriptor() const { return shared_file_->file().descriptor(); }
    /// Where the image ends. Local.
    std::uint64_t end_of_allocated() const { return image_->end(); }
    /// Another native file on the same image, with HDF5's own rules for files that are open; null
    /// with its errors on the stack.
    void* open_again(const FileCall& call);

  private:
    CapturedFile(std::unique_ptr<Communicator> communicator, std::shared_ptr<const Config> config);
    Result<bool> have_shared_file(const FileCall& call, std::string& why);
    Result<void*> open_image(const FileCall& call);
    Result<store::Handle> image_access(hid_t access, H5F_close_degree_t& degree) const;
    Status write_fill();
    Status write_raw();
    Status hand_over_above(std::uint64_t bytes, const NativeObject& through);
    Status check_alike(const Status& mine);
    Result<bool> have_blocks(const NativeObject& through, Status& mine);
    Status commit_with(bool blocks, const NativeObject& through, bool last, Status mine);
    Status commit_blocks(const NativeObject& through, bool last, const Status& mine);
    void leave_open_files();
    void join_open_files();
    void let_go();
    void leave_uncommitted();
    struct Closing {
        bool off = false;  ///< the last blocks are left to the lanes
        bool several_nodes = false;
    };
    Result<Closing> put_off(bool unused, bool& last);
    Result<bool> begin_close(const NativeObject& through, const Closing& closing, Status mine);
    Status write_closed_tree();
    Hearer begin_completion(bool several_nodes);
    Result<std::optional<double>> completed_since();
    Status can_communicate() const;
    enum class Completed : std::uint8_t { by_close, by_thread, by_later_call };
    void end_blocks(Completed completed);
    Status fail_for_good(const Status& why);
    void give_up(const Status& why, GivenUp how = GivenUp::lost, bool alone = false);
    Status cut_closed_tree();

    std::shared_ptr<Communicator> communicator_;  ///< shared with the Writer of its blocks
    std::shared_ptr<const Config> config_;
    inline static bool files_are_crossed_ = false;
    Ranks members_;
    bool alone_ = false;
    bool was_there_ = false;  ///< it was opened, not created
    bool goes_on_ = false;
    Hearer hearer_;                           ///< of a pending file; the same on all ranks
    std::shared_ptr<Completion> completion_;  ///< on the rank that commits, if there is a hearer
    std::string name_, path_;
    Durability durability_ = Durability::close;  ///< by path_
    FileIdentity identity_;
    unsigned long number_ = 0;                      ///< HDF5's, of the open file
    std::shared_ptr<writer::Transport> transport_;  ///< null: this process writes
    std::optional<store::SharedFile> shared_file_;
    std::unique_ptr<store::LiveImage> image_;
    std::unique_ptr<ImageTree> tree_;
    std::unique_ptr<ledger::Ledger> ledger_;  ///< of all commits, with blocks and without
    store::Handle access_, transfer_;
    H5F_close_degree_t close_degree_ = H5F_CLOSE_DEFAULT;
    std::vector<void*> uses_;
    void* kept_ = nullptr;  ///< the native file of a pending one
    std::unique_ptr<BlockIo> blocks_;
    bool may_hold_blocks_ = false;
    std::uint64_t pending_bytes_ = 0;
    std::uint64_t waiting_together_ = 0;  ///< bytes that may wait on a rank, not handed over
    /// Tokens of what was written collectively since the last drain(); the same on all ranks.
    std::set<std::string> written_together_;
    std::vector<std::shared_ptr<store::RawBatch>> unwritten_;  ///< oldest first
    Status failed_;                                            ///< of a commit
    Status uncommitted_;     ///< why the last try to commit failed, though the next may not
    bool given_up_ = false;  ///< a close has failed, and nothing was committed since
};

}  // namespace caesura::vol
