// A Writer inside somebody else's HDF5 file: blocks of datasets that an application makes, placed
// in a tree that the application's calls change too. The HDF5 VOL connector stands on it; it is not
// part of the public interface.
//
// | call                        | collective | communicates | may wait                       |
// |-----------------------------|------------|--------------|--------------------------------|
// | make                        | yes        | yes          | for the other ranks            |
// | define, resize              | same order | no           | no                             |
// | put                         | no         | no           | at the memory budget only      |
// | end, pause                  | yes        | yes          | for the other ranks; see end() |
// | finished, released, report  | no         | no           | no                             |
// | flush, close                | yes        | yes          | until all is committed         |
//
// Invariants:
//  - Boxes need not tile a dataset. Where they overlap within one dump the later turn wins, of one
//    turn the lowest rank, of one rank's the later put; a later dump wins over an earlier one.
//  - A block that is written again gets a new place, and its old bytes stay unused
//    (WriterReport::superseded_bytes).
//  - One thread, the application's, for all calls. Destructors never communicate.
//  - `recover` drops and reports what is not committed: the application alone can complete it.
//
// Iterations: one lasts from a hand-over (end, pause) to the next of any OpenWriter that
// shares the Experience; the application need not mark them.
#pragma once

#include <functional>

#include "caesura/writer.hpp"
#include "ledger/ledger.hpp"
#include "writer/experience.hpp"
#include "writer/open_dump.hpp"
#include "writer/tree.hpp"
#include "writer/value_order.hpp"

namespace caesura::writer {

/// The file of the calling rank. What is referred to outlives the OpenWriter.
struct TargetFile {
    ledger::Ledger& ledger;
    Tree& tree;  ///< the ledger's
};

struct DatasetDefinition {
    /// Comes back as DatasetSpec::path: the caller tells its datasets apart by it.
    std::string path;
    DType dtype = float32;
    Shape dims;   ///< 1 to 4 axes; see fold_axes() for more
    Shape chunk;  ///< as many, each >= 1; may exceed the dims
    CodecSpec codec = {};
    ErrorBound bound = lossless();
    /// The dims may grow: blocks at the edges are stored whole, see SparseGrid.
    bool extendable = false;
    std::array<std::byte, 8> fill = {};  ///< one value, as it lies in memory
    bool fill_is_set = false;  ///< the application chose it: it is missing, unless it is 0
    /// Raw bytes of a chunk aimed at, for fitting_chunk() of datasets to come; 0: say nothing.
    std::uint64_t chunk_bytes = 0;
    /// Several quantities or arrays (codec "caesura" alone): its components have the bounds, and
    /// `bound` is what the pipeline says. Then the chunk has extent 1 along the components' axis,
    /// or all of it where they are interleaved.
    std::shared_ptr<const Composition> composition = {};
    /// As FieldOptions::missing.
    std::vector<FillValue> missing = {};
    /// As FieldOptions::bound_map; without a composition.
    BoundMap bound_map = {};
    /// The bound holds for fields alone: what turns out to be coordinates is stored exactly, which
    /// is what keep_exact() says of it, on any rank, or one axis along which all values that are
    /// handed over together rise, or all fall (value_order.hpp).
    bool for_fields = false;
    /// Of a dataset that exists: the loosest bound of its blocks, as FieldState::Dataset::loosest.
    std::vector<double> loosest = {};
    /// Of a dataset that exists: the set in its pipeline. Unset: the newest of its kind.
    std::optional<TableSet> tables = {};
};

class OpenWriter {
  public:
    /// Collective. @param options  what has to do with the file itself or with openPMD is passed
    /// over (path names, author, root attributes); codec and bound are those of definitions.
    /// @param experience  null: nothing is known.  @param background  may be empty: fill values.
    /// Errors: invalid_argument (options), io; on all ranks.
    static Result<std::unique_ptr<OpenWriter>> make(const TargetFile& target,
                                                    std::shared_ptr<Communicator> communicator,
                                                    WriterOptions options,
                                                    std::shared_ptr<Experience> experience,
                                                    Background background);
    ~OpenWriter();

    /// At any time. Errors: invalid_argument (dtype, shapes, bound, map; a path defined before),
    /// unsupported (plugin missing; another codec than "caesura" with a map; a bound that is
    /// relative to the range, which is not known yet, with a codec whose pipeline would depend on
    /// it).
    Result<Field> define(const DatasetDefinition& dataset);
    /// Has a dataset of that path been defined?
    bool has(const std::string& path) const;
    /// For a dataset to come: a chunk that fits the boxes in which one of that path, numbers apart,
    /// and of these dims was last written, in this file or another of the Experience. The same on
    /// all ranks. Rank 0: nothing is known.
    Shape fitting_chunk(const std::string& path, const Shape& dims) const;
    /// The filter pipeline that the dataset must have; valid until the next define().
    std::span<const FilterSpec> pipeline(Field field) const;
    /// What H5Dcreate is to be given for each of its filters: BlockCodec::creation_values.
    const std::vector<std::vector<unsigned>>& creation_values(Field field) const;
    /// New dims, for boxes put from now on. Where one is smaller nothing may be pending that was
    /// put before (end() it). Blocks that lie beyond smaller dims are the caller's to remove; none
    /// may be in a dump that is not committed. Blocks at the edges are stored whole from now on.
    /// Errors: invalid_argument.
    Status resize(Field field, const Shape& dims);

    /// As Dump::put_bytes. An error concerns this put alone: what others have put is written.
    /// Loss::spent: blocks that the box touches are stored exactly, if no other rank puts anything
    /// into them in the same dump.
    /// @param turn  within the dump, ascending on each rank: for values that several ranks put one
    ///              after the other. What has no order among the ranks has the same.
    Status put(Field field, const Box& box, const void* data, DType dtype,
               Ownership own = Ownership::copy, Loss loss = Loss::within_bound,
               std::uint32_t turn = 0);
    /// Of a dataset with for_fields: all of it is stored exactly from the next end() on, if a rank
    /// that puts something into it says so.
    void keep_exact(Field field);
    /// Has the last dump of a dataset with for_fields been stored exactly? The same on all ranks.
    KeptExact kept_exact(Field field) const;
    /// What has been said of a range that few values stretch, without the field's name; empty:
    /// nothing. The same on all ranks.
    const std::string& stretched(Field field) const;
    /// As Dump::declare_missing; also after the puts, for what has not been handed over.
    Status declare_missing(Field field, const FillValue& value);
    /// Would put() refuse whatever it is given, because of an earlier error?
    Status earlier_error() const;
    /// Is there anything that end() has not handed over yet?
    bool pending() const;
    /// Hand over what was put since the last call, on any rank; commit what has become durable.
    /// Where a block is to keep content of a dump that is not committed yet, all dumps before are
    /// finished first.
    /// @param mine  an error of the caller, after which nothing may be committed any more (its own
    ///              raw data are not in the file). It becomes everybody's.
    Status end(const Status& mine = {});
    /// end(), and until all dumps are committed.
    Status flush(const Status& mine = {});
    /// end(), and no more dumps until go_on(). The lanes go on by themselves. They write blocks
    /// alone: the file's metadata, superblock included, stay as they are until go_on() or close().
    Status pause(const Status& mine = {});
    /// While it is paused: once all blocks lie in the file, the write lane calls it, one time.
    void when_written(std::function<void()> call);
    /// The pause ends. @return  has it been called?
    bool take_back_call();
    /// As run::Executor.
    bool wait_for_call();
    /// After a pause, before anything else is done with the file.
    void go_on();
    /// Has this rank's work been done, so that close() need not wait for it?
    bool finished() const;
    /// Finishes everything and commits. Returns the first error; further calls return it again.
    Status close();
    /// The same after a pause, if the file has been completed meanwhile from what lies in it
    /// (store::complete_closed): there is nothing left to commit. On all ranks.
    /// @param since_s  so long ago.
    Status close_completed(double since_s);

    /// Dumps before this number are committed, as agreed at the last collective call.
    std::uint64_t committed_dumps() const;
    /// May data borrowed for this dump, which end() has handed over, be changed or freed? That it
    /// is committed does not say so: a worker that gets no CPU time may still be reading them.
    bool released(std::uint64_t dump) const;
    std::uint64_t next_dump() const;
    WriterReport report() const;
    /// Dumps and bytes of this rank that no commit has, what end() has not handed over included.
    PutSums uncommitted() const;
    /// Does all that was handed over lie in the file, for a commit to come? Any thread.
    bool has_written_all() const;

    /// Until the last dump is committed, blocks of it may lie in the file below this. After
    /// pause(); 0: it made no dump.
    std::uint64_t spill_end() const;
    /// The process is about to end: all that this process's Writers have in flight is due at once.
    /// Any thread.
    static void hurry_all();
    /// Is all of it written, or given up? Any thread.
    static bool all_have_written();

  private:
    explicit OpenWriter(std::unique_ptr<Writer::Impl> impl);
    Status place_spills();
    std::unique_ptr<Writer::Impl> impl_;
};

/// A dataset of more axes than four as one of four: neighbours become one axis. Axes of extent 1
/// join another first, then the slowest ones do. The order of values stays what it is.
/// @param dims, most_dims  of the same length; an axis may become as long as most_dims says.
/// @param most             axes that may be left, >= 1.
/// @return  of each axis that is left the first of those that it is made of, ascending; what comes
/// before the first belongs to it too. Errors: unsupported (more are left: an axis that may grow
/// joins no longer one before it).
Result<std::vector<int>> fold_axes(std::span<const std::uint64_t> dims,
                                   std::span<const std::uint64_t> most_dims,
                                   std::size_t most = k_max_rank);

}  // namespace caesura::writer
