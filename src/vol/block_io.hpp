// The datasets of a captured file that become blocks: their writes and their reads.
//
// | call                       | collective | communicates |
// |----------------------------|------------|--------------|
// | start, unite               | yes        | yes          |
// | define, adopt, resize      | same order | no           |
// | make, find, keep           | no         | no           |
// | write, read                | no         | no           |
// | hand_over, flush           | yes        | yes          |
// | pause, close, close_completed | yes     | yes          |
// | go_on, finished            | no         | no           |
//
// Invariants:
//  - A write returns when the values have been copied. The copy is what this rank reads until its
//    dump is committed, and never after that: others may have written more. It lives until the
//    Writer does not read it any more either, which may be later.
//  - Datasets are told apart by where their header lies, which is equal on all ranks.
//  - A dataset that lies in the file already becomes one of these on the ranks that open it. The
//    Writer, which must know the same datasets everywhere, learns of those that were written to at
//    the next unite(); until then their values wait here.
//  - Every call that goes through HDF5 gets an open object of the file to go through.
#pragma once

#include <map>
#include <optional>

#include "base/buffer.hpp"
#include "vol/config.hpp"
#include "vol/coordinates.hpp"
#include "vol/decoded_chunks.hpp"
#include "vol/image_tree.hpp"
#include "vol/losses.hpp"
#include "vol/members.hpp"
#include "vol/memory_values.hpp"
#include "vol/selection.hpp"

namespace caesura::vol {

/// What a read or a write is about, with H5S_ALL and its kin resolved.
struct Selected {
    hid_t memory_space = H5I_INVALID_HID, file_space = H5I_INVALID_HID;
    store::Handle own_memory, own_file;  ///< of these, what is not the application's
    std::uint64_t count = 0;
    Selection memory;
    Picked picked;                ///< in the file
    bool together = false;        ///< by all ranks; a read after everything was committed
    bool transforms_all = false;  ///< a read's data transform, also where there is no block
};

class BlockIo {
  public:
    using Dataset = BlockDataset;
    using PutBox = BlockDataset::PutBox;
    static constexpr std::uint64_t k_not_put = BlockDataset::k_not_put;
    using DatasetPtr = std::shared_ptr<Dataset>;
    struct KeptPart {
        Box box;
        base::Buffer values;  ///< dense, C order
    };

    struct FileParts {
        std::shared_ptr<Communicator> communicator;
        ledger::Ledger& ledger;
        ImageTree& tree;  ///< the ledger's
        std::shared_ptr<const Config> config;
        std::shared_ptr<writer::Experience> experience;  ///< its pool holds the copies
        bool durable = false;                     ///< blocks are on disk before metadata names them
        bool alone = false;                       ///< one process has the file, through no MPI-IO
        const NamedCoordinates* named = nullptr;  ///< by attributes of the file
    };
    static std::unique_ptr<BlockIo> make(const FileParts& place);
    ~BlockIo();
    /// Before anything is defined, handed over or committed; further calls do nothing.
    Status start();
    bool started() const { return writer_ != nullptr; }

    /// Let the Writer know a dataset that is about to be made. `made` has path, dtype, dims, chunk.
    /// @param definition  codec, bound, fill value, and whether it can grow.
    /// Errors: those of OpenWriter::define.
    Status define(Dataset& made, writer::DatasetDefinition definition);
    std::span<const FilterSpec> pipeline(const Dataset& dataset) const;
    const std::vector<std::vector<unsigned>>& creation_values(const Dataset& dataset) const;
    /// OpenWriter::fitting_chunk.
    Shape fitting_chunk(const std::string& path, const Shape& dims) const {
        return writer_->fitting_chunk(path, dims);
    }
    /// The dataset has been made and is `object`.
    Status adopt(const DatasetPtr& made, const NativeObject& object);
    /// The dataset that `object` is; null if it does not become blocks.
    DatasetPtr find(const NativeObject& object) const;
    /// A dataset that lies in the file (see found_datasets.hpp) is one of ours from now on.
    void keep(const DatasetPtr& found);
    /// Tell the Writer of the found datasets that any rank has written to, and start it if there
    /// are some. Errors are this rank's own unless of the Communicator; the next hand-over is to
    /// be told of them.
    Status unite(const NativeObject& through);
    /// The dataset has other dims by now. What was put before has been handed over; if they are
    /// smaller, all is committed.
    Status resize(Dataset& dataset, const Shape& dims);
    /// Before the dims become smaller: what chunks keep through which the new dims cut, of a lossy
    /// dataset. The library stores such chunks once more, through the filter; see put_back(). Each
    /// chunk is read by one rank. All is committed. Errors: io.
    Result<std::vector<KeptPart>> read_cut_chunks(Dataset& dataset, const NativeObject& through,
                                                  const Shape& dims);
    /// Before an extent becomes 0: fill values for the only chunk of the dataset, on rank 0.
    /// Nothing if it has more chunks, or none that is stored.
    Result<std::vector<KeptPart>> fill_of_only_chunk(Dataset& dataset, const NativeObject& through);
    /// After resize(): as they were read, to be stored exactly at the next hand-over.
    Status put_back(Dataset& dataset, std::vector<KeptPart> kept);

    /// What selected says of dataspaces is used by these calls only.
    Status write(Dataset& dataset, const NativeObject& through, const Selected& selected,
                 const void* memory, hid_t memory_type, hid_t transfer);
    /// @param transfer  independent (image_transfer).
    Status read(Dataset& dataset, const NativeObject& through, const Selected& selected,
                void* memory, hid_t memory_type, hid_t transfer);
    /// Has any rank anything that is not committed, or an error? Collective.
    Result<bool> anything_pending(const Status& mine);
    bool anything_pending_here() const;
    /// May any rank have anything that is not committed, as far as this one knows? Local.
    bool may_wait() const;
    /// Raw bytes of this rank that are not committed.
    std::uint64_t held_bytes() const;
    /// Of these, what was not handed over.
    std::uint64_t waiting_bytes() const { return waiting_bytes_; }
    /// The first, and in how many hand-overs, the one that is to come included.
    losses::Uncommitted uncommitted() const;
    /// Does all that was handed over lie in the file? Any thread.
    bool has_written_all() const { return !started() || writer_->has_written_all(); }

    Status hand_over(const NativeObject& through, Status mine);
    Status flush(const NativeObject& through, Status mine);
    /// Hand the last blocks over; then finished(), go_on() and close() alone.
    Status pause(const NativeObject& through, Status mine);
    /// While it is paused: once all blocks lie in the file, the write lane calls it, one time.
    void when_written(std::function<void()> call) { writer_->when_written(std::move(call)); }
    /// Not any more. @return  has it been called?
    bool take_back_call() { return writer_->take_back_call(); }
    /// Once all of this rank's blocks lie in the file. @return  false: they never will by
    /// themselves.
    bool wait_for_call() { return writer_->wait_for_call(); }
    /// After a pause: the application has opened the file once more.
    Status go_on();
    bool finished() const { return writer_->finished(); }
    Status close(const NativeObject& through, const Status& mine);
    /// The same after a pause if the file has been completed meanwhile. On all ranks.
    Status close_completed(double since_s) { return writer_->close_completed(since_s); }
    WriterReport report() const { return started() ? writer_->report() : WriterReport{}; }
    std::uint64_t spill_end() const { return writer_->spill_end(); }
    /// Close our own handles of datasets, so that the file can be closed.
    void release();
    /// While the file is pending and the application has no dataset of it: close what
    /// H5Fget_obj_count would count as the application's.
    void forget_types();

  private:
    explicit BlockIo(const FileParts& place) : place_(place), pool_(place_.experience->pool) {}
    void note_field(const DatasetPtr& dataset);
    Status declare_missing();
    Status put(const Dataset& dataset, PutBox& piece);
    Status add(Dataset& dataset, PutBox piece);
    struct Source {
        const void* memory;
        MemoryValues values;
    };
    /// What of each element is written: as one type in the file, so many numbers, of which members.
    struct Written {
        hid_t type;
        std::size_t numbers;
        std::vector<MemberRun> runs;
    };
    Status write_numbers(Dataset& dataset, const Selected& selected, const Source& source,
                         const Written& written);
    static constexpr std::size_t k_small_bytes = 64u << 10;
    Result<std::byte*> make_room(Dataset& dataset, std::size_t bytes);
    Status add_boxes(Dataset& dataset, const SelectedBoxes& boxes, const MemberRun& run,
                     const Selected& selected);
    bool any_waits() const;
    Status put_all_waiting();
    static std::vector<std::uint32_t> pieces_near(Dataset& dataset, const Selected& selected);
    static bool take_from(const Dataset& dataset, const PutBox& piece, const Selected& selected,
                          std::byte* values);
    static bool knows_member(const Dataset& dataset, const Selected& selected,
                             std::span<const std::uint32_t> near, std::size_t member);
    Status check_settled(const Dataset& dataset, const Selected& selected,
                         std::span<const std::uint32_t> near) const;
    Status put_waiting(Dataset& dataset);
    Status find_composition(Dataset& found);
    Status define_found(const std::map<std::string, std::string>& paths);
    Result<DatasetPtr> find_again(const std::string& key, const std::string& path);
    Result<bool> read_stored(Dataset& dataset, const Box& part, std::span<std::byte> values);
    Status read_part(Dataset& dataset, const Box& part, std::span<std::byte> values);
    static bool is_part_of_chunks(const Dataset& dataset, const Selected& selected);
    Status read_chunks(Dataset& dataset, const Selected& selected, std::byte* values);
    Status read_file(Dataset& dataset, const Selected& selected, bool by_chunks, std::byte* values);
    void begin_turns();
    // Of datasets whose bound is for fields (kept_exact.cpp): before blocks are handed over, and
    // after that.
    void look_for_coordinates();
    void report_fields();
    void report_exact(Dataset& dataset);
    std::string coordinates_because(Dataset& dataset);
    void forget_committed();

    /// What was put, lent to the Writer.
    struct Copy {
        std::uint64_t dump = 0;
        base::Buffer buffer;
    };

    FileParts place_;
    base::BufferPool& pool_;
    std::vector<Copy> copies_;  ///< oldest first
    std::uint64_t waiting_bytes_ = 0;
    DecodedChunks decoded_;
    std::vector<DatasetPtr> by_field_;
    std::map<std::string, DatasetPtr> by_token_;
    bool closing_ = false;  ///< its last blocks, so far, have been handed over
    std::unique_ptr<writer::OpenWriter> writer_;
};

/// The error of a call that selects values and gives no memory.
Status no_memory(const BlockDataset& dataset);

/// Resolve what a call names. Errors: invalid_argument, unsupported (H5S_PLIST).
Result<Selected> select(const BlockIo::Dataset& dataset, hid_t memory_space, hid_t file_space);

}  // namespace caesura::vol
