// The writer: hand fields over, go on computing; they end up in one standard HDF5 file.
//
// intro      A Writer belongs to a group of ranks (a Communicator). Fields are defined once; each
//            iteration may dump some of them. Data of iteration n are compressed and written
//            while iteration n+1 computes.
// simple     create (or open), define_field, begin_iteration, begin_dump, put, end, close.
// advanced   busy marks (obstacles), borrowing, codecs per field, memory budget, trace.
//
// | call                     | collective | communicates | may wait                          |
// |--------------------------|------------|--------------|-----------------------------------|
// | Writer::create, open     | yes        | yes          | for the other ranks               |
// | define_field, reshape    | yes        | no           | no                                |
// | define_species, _record, | yes        | no           | no                                |
// |   _constant              |            |              |                                   |
// | set_attribute            | same values on all ranks | no | no                            |
// | begin_iteration, busy    | no         | no           | no                                |
// | compress_for, wait_until | no         | no           | as long as asked for              |
// | begin_dump               | no (same order on all ranks) | no | no                        |
// | put, put_particles       | no         | no           | at the memory budget only         |
// | Iteration::end           | yes        | once         | for the other ranks               |
// | finish_by                | yes        | yes          | about as long as asked for        |
// | close                    | yes        | yes          | until everything is committed     |
//
// Errors: a call that fails changes nothing but the error it reports. An error of a background
// task is sticky and returned by the next end() on all ranks; committed dumps stay. Destructors
// never communicate: a Writer destroyed without close() leaves a file that `recover` completes.
// Out of memory is no_space. In begin_iteration, begin_dump or put it is like any error: the next
// end() tells all ranks. Inside end() or close() other ranks may be waiting for what this one
// cannot say any more: its Writer is finished, and the run should be ended (MPI_Abort).
#pragma once

#include <functional>
#include <map>
#include <variant>

#include "caesura/bound_map.hpp"
#include "caesura/codec.hpp"
#include "caesura/particles.hpp"
#include "caesura/plan.hpp"
#include "caesura/store.hpp"

namespace caesura::base {
class FileSystem;
}  // namespace caesura::base

#pragma GCC visibility push(default)

namespace caesura {

enum class Lane : std::uint8_t { compress = 0, write = 1 };

/// How space in the file is kept for a dump before it is compressed.
enum class Reserve : std::uint8_t {
    regions,  ///< one stretch a rank and dump, blocks back to back, what is left used by later
              ///< dumps
    slots     ///< one place a block, R_space times its prediction (S1); what is left stays unused
};
std::string_view to_string(Reserve reserve);
/// Errors: invalid_argument, listing the names there are.
Result<Reserve> reserve_named(std::string_view name);

/// A WriterOptions::on_message that says nothing.
inline void quiet(std::string_view /*message*/) {}

struct WriterOptions {
    CodecSpec codec;                       ///< default of all fields
    ErrorBound bound = lossless();         ///< default of all fields
    std::uint64_t chunk_bytes = 8u << 20;  ///< raw size aimed at; 8 to 16 MB compress best
    /// Snapshots and compressed blocks held at once on this rank, in bytes; 0: half the memory
    /// available to this process, divided by the ranks of the node.
    std::uint64_t memory_bytes = 0;
    std::uint64_t write_buffer_bytes = 20u << 20;  ///< compressed bytes gathered into one write
    bool planning = true;  ///< false: first in, first out, no regard to obstacles ("async")
    plan::Algorithm algorithm = plan::k_default_algorithm;
    /// Ranks of a node write blocks for each other where one has far more to write (S0 §3.4). A
    /// node does so if all its ranks ask for it and can share memory; else a message says why not.
    bool balance_writes = true;
    Reserve reserve = Reserve::regions;
    /// Margin of a region: standard deviations of the error of its predicted size, [0, 100]. More
    /// of them cost space until a later dump uses it, fewer let more blocks overflow to the end of
    /// the file.
    double reserve_sigmas = 2.0;
    /// R_space of slots, [1, 10]; S1 found [1.1, 1.43] useful.
    double slot_space = 1.25;
    /// Instead of slot_space: how much speed is worth beside space, [0, 1]. S1 §III-D.
    std::optional<double> slot_speed_weight = {};
    /// Multiplies every predicted size before space is kept for it: for predictions known to be
    /// off. Below 1 more blocks overflow, above 1 fewer. [0, 1000].
    double reserve_factor = 1.0;
    /// Space begins at multiples of this: a stripe of the parallel file system (lfs getstripe -S;
    /// mmlsfs -B), so that no two ranks write into one stripe. A power of two from 4 KiB to 1 GiB;
    /// 0: 4 KiB. Rank 0's value counts.
    std::uint64_t stripe_bytes = 0;
    /// Threads that compress. Where the rank has cores beside the caller's, as many others, at
    /// normal priority, help in put() and end(): to copy, and to look at blocks.
    int compress_threads = 1;
    /// Compress threads run below everything else, which was measured to cost the application
    /// nothing on its own core (decision D5). false: at normal priority, for measurements and for
    /// cores of their own.
    bool idle_priority = true;
    /// No compress threads: blocks are compressed on the caller's thread, in Iteration's
    /// compress_for and wait_until and wherever it waits for us. For a rank with exactly one core
    /// whose owner will not share it.
    bool cooperative = false;
    bool durable = true;  ///< fsync data and metadata at every commit
    /// A dump is written so many seconds after the end() that handed it over at the latest,
    /// whatever the cores do: a standby thread at normal priority takes over what idle-priority
    /// threads get no time for, at once if the pauses since the last dump say so (decision D16). 0:
    /// 10 s or two intervals between dumps, whichever is longer (cooperative: never); infinity:
    /// never.
    double max_delay_s = 0.0;
    /// What `caesura calibrate` measured, from which predicted times start. Empty: where it puts it
    /// (host.hpp); "none": built-in curves. Never an error: what is wrong with it is a message.
    std::string calibration_path = {};
    /// Chrome trace, one file per rank ("%r" becomes the rank). It grows with every dump that is
    /// written or committed, and is a whole JSON document after close().
    std::string trace_path = {};
    /// Where things lie in the file. Empty: as openPMD has it. Else an absolute path with `{field}`
    /// and `%T`, the iteration's number (`%06T`: with zeros, 6 digits), each once, as
    /// "/step_%06T/{field}": plain groups and datasets, and no attributes of openPMD but those that
    /// are set. `{field}` of a record of particles is "<species>/<record>". The same on all ranks.
    std::string layout = {};
    std::string author = {};  ///< openPMD root attribute, optional
    std::string software = "caesura";
    /// Of the root group; see Writer::set_attribute.
    std::map<std::string, store::AttributeValue> root_attributes = {};
    /// Everything the library has to say to a person. Called on the caller's thread only. Default:
    /// what a user must know (compress threads without time, the budget exceeded, the service lost,
    /// ...) is one line on rank 0's stderr, each kind once in a process, other ranks' with the next
    /// end() or close(); nothing else is said. `quiet`, or CAESURA_MESSAGES=none in the
    /// environment: not that either.
    std::function<void(std::string_view)> on_message = {};
    base::FileSystem* file_system = nullptr;  ///< nullptr: the operating system's
    /// "service:ADDRESS", as `caesura serve` prints it: blocks are compressed and written by that
    /// service, which has the file; the application hands its values over. Empty: by this process.
    std::string transport = {};
    /// Of a path with openPMD's "%T": so many dumps go to a file before the next one begins. With
    /// more than one the file's name has the number of the first, and each file is openPMD's
    /// group-based encoding, else file-based (docs/reference/series.md). At least 1.
    std::uint64_t dumps_per_file = 1;
    /// Of a series: so many files that have all their dumps may wait for their commit. With more,
    /// end() finishes the oldest first, and a message says so. At least 1.
    std::uint64_t pending_files = 4;
    /// Analyses of every field of every dump, "stats" or "histogram(bins=64, low=0, high=1)": the
    /// service runs them on the values as they pass. Needs `transport`.
    std::vector<std::string> analyses = {};
};

/// How much of a field the boxes of a dump cover.
enum class Coverage : std::uint8_t {
    whole,   ///< all of it: over all ranks they tile it exactly
    partial  ///< any part, as boxes of a refined level do; only that takes space in the file
};

/// As an integer one of 64 bits is exact beyond 2^53.
using FillValue = std::variant<double, std::int64_t, std::uint64_t>;

struct FieldOptions {
    std::optional<CodecSpec> codec;
    Coverage coverage = Coverage::whole;
    /// What readers find where no box lay, exactly so with codec "caesura"; other lossy codecs keep
    /// it within the bound in a chunk that a box touches. Converted to the field's type, which must
    /// have it; NaN may be one of floats.
    FillValue fill_value = 0.0;
    double unit_si = 1.0;
    std::array<double, 7> unit_dimension{};  ///< L M T I theta N J powers (openPMD)
    /// One entry for each axis of the grid, in the order that data_order says. So have
    /// grid_spacing, grid_offset and position. With geometry "thetaMode" the first of three axes
    /// counts modes and has no entry.
    std::vector<std::string> axis_labels;  ///< default z y x as many as axes
    std::vector<double> grid_spacing;      ///< default 1
    std::vector<double> grid_offset;       ///< default 0
    double grid_unit_si = 1.0;
    std::string geometry;             ///< openPMD's; empty: "cartesian"
    std::string geometry_parameters;  ///< "m=2;imag=+"
    std::string data_order;           ///< "C" (empty): the slowest axis first; "F": the fastest
    std::vector<double> position;     ///< of a value in its cell, each in [0, 1); default 0
    std::optional<double> time_offset = {};    ///< of the values from the dump's time; default 0
    std::vector<store::Attribute> attributes;  ///< as by Writer::set_attribute
    /// Values that mark a place without data, as converted to the field's type, which must have
    /// them: bit for bit in the file, and in no range. At most 255.
    /// docs/reference/missing_values.md.
    std::vector<FillValue> missing = {};
    /// Bounds of some values; the field's own bound, absolute, relative or lossless, is that of all
    /// others. Codec "caesura" only. Rules that look at values cost end() a pass over them.
    BoundMap bound_map = {};
};

/// Handle of a field; valid for the life of its Writer.
struct Field {
    std::uint32_t index = 0;
};

/// What of the file an attribute belongs to.
struct AttributeOwner {
    enum class Kind : std::uint8_t {
        file,       ///< the root group
        iteration,  ///< /data/<n>
        meshes,     ///< /data/<n>/meshes
        record,     ///< the group of "velocity/x" and its other components; of a scalar the dataset
        field,      ///< the dataset; of a dump without particles the group
        species     ///< /data/<n>/particles/<species>
    };
    Kind kind = Kind::file;
    Field of = {};  ///< also a record of particles; of a record any component; a species' number
    static AttributeOwner file() { return {}; }
    static AttributeOwner iteration() { return {Kind::iteration}; }
    static AttributeOwner meshes() { return {Kind::meshes}; }
    static AttributeOwner record(Field component) { return {Kind::record, component}; }
    static AttributeOwner field(Field field) { return {Kind::field, field}; }
    static AttributeOwner species(Species species) { return {Kind::species, {species.index}}; }
};

enum class Ownership : std::uint8_t {
    copy,   ///< data may change as soon as put() returns
    borrow  ///< data stay valid and unchanged until Writer::released(iteration) or close()
};

/// Where Writer::open goes on in a file.
struct OpenOptions {
    /// The iteration of the last dump that is kept: what was dumped after it is dropped, all of it
    /// or, if the run dies meanwhile, nothing. Unset: after the last committed dump.
    std::optional<std::uint64_t> after = {};
};

/// Counters of one rank since create() or open(); all in bytes, seconds or counts.
struct WriterReport {
    std::uint64_t raw_bytes = 0, stored_bytes = 0;
    /// Over all regions, what was kept and used again once; on rank 0 also what stripes skip.
    std::uint64_t reserved_bytes = 0;
    std::uint64_t spare_bytes = 0;  ///< of these: in the file, unused, and kept for later dumps
    std::uint64_t overflow_bytes = 0, overflow_blocks = 0;
    /// On rank 0: of blocks of an application's own file (the VOL connector) that a later dump has
    /// written again, and of dumps that open() has dropped. They stay in the file, unused.
    std::uint64_t superseded_bytes = 0;
    std::uint64_t fallback_blocks = 0;  ///< plugin broke the bound, stored lossless
    std::uint64_t raw_blocks = 0;       ///< incompressible, stored raw
    std::uint64_t blocks = 0, writes = 0, dumps = 0;
    /// Of the blocks those whose size was predicted from the dump before, without a sample.
    std::uint64_t recalled_blocks = 0;
    /// Written here for other ranks of the node; and of this rank's blocks those that another one
    /// was to write and did not, so that they were written here.
    std::uint64_t helped_blocks = 0, helped_bytes = 0, taken_back_blocks = 0;
    double compress_s = 0, write_s = 0, plan_s = 0;
    double predicted_compress_s = 0;           ///< what compress_s was expected to be
    double put_s = 0, end_s = 0, close_s = 0;  ///< the application's time inside our calls
    double put_wait_s = 0;                     ///< of put_s, waiting for the memory budget
    std::uint64_t over_budget_bytes = 0;       ///< taken beyond the budget (no older dump to drain)
    std::uint64_t peak_memory_bytes = 0;
    double max_error_over_bound = 0;  ///< largest that CodecSpec::verify saw; 0: it saw none
    double write_interference_s = 0;  ///< write tasks inside write obstacles
    /// Seen without marks, by the MPI layer and by caesura::wait (docs/guide/planning.md).
    double seen_computing_s = 0, seen_communicating_s = 0, seen_waiting_s = 0;
    double seen_spinning_s = 0;        ///< of seen_communicating_s, with the core kept busy
    std::uint64_t seen_intervals = 0;  ///< what these add up
    /// This rank's share of the cores it may run on; below 2 compress threads have none of their
    /// own.
    double cores = 0;
    /// CPU time of compress threads inside marked compress obstacles; on cores of their own it
    /// costs the application nothing.
    double compress_interference_s = 0;
    std::uint64_t replans = 0;  ///< plans made again because reality departed from the first
    /// Blocks that were compressed at normal priority, because the application's pauses were too
    /// short for them or because they were due (WriterOptions::max_delay_s), and the
    /// CPU time of it.
    std::uint64_t taken_over_blocks = 0;
    double taken_over_s = 0;
    /// From the end() that handed a dump over, the longest time until this rank had written it, and
    /// until this rank knew that it was committed.
    double longest_to_written_s = 0, longest_to_committed_s = 0;
    /// What no commit will have, and the bytes that were put for it on this rank: dumps whose end()
    /// returned an error, and, once the Writer has failed, those that were handed over and are not
    /// committed. close() commits what lies whole on every rank's disk: until then fewer may be
    /// lost. 0 while all goes well, whatever is on its way.
    std::uint64_t lost_dumps = 0, lost_bytes = 0;
    /// How often the service that compressed and wrote for this rank was gone
    /// (WriterOptions::transport), and how often it was there again; one that is still gone makes
    /// the first the larger one. With on_loss=write the rank does it itself meanwhile.
    std::uint64_t lost_services = 0, regained_services = 0;
    /// Dumps whose plan can be held against what happened, and sums over them: seconds from the
    /// begin of the next iteration to the end of the last write, and to the end of iteration and
    /// writes, whichever is later; median of |actual / planned - 1| of the latter.
    std::uint64_t planned_dumps = 0;
    double planned_end_s = 0, actual_end_s = 0;
    double planned_iteration_s = 0, actual_iteration_s = 0, plan_deviation = 0;
    /// How many were made: of a series so many, else 1. And of end_s, waiting because
    /// WriterOptions::pending_files were pending.
    std::uint64_t files = 0;
    double file_wait_s = 0;
};

class Writer;

/// Marks the time until its destruction as an obstacle of one lane.
class Busy {
  public:
    Busy(Busy&& other) noexcept;
    Busy& operator=(Busy&&) = delete;
    ~Busy();

  private:
    friend class Iteration;
    Busy(Writer* writer, Lane lane);
    Writer* writer_;
    Lane lane_;
    double begin_s_;
};

/// One dump being handed over; lives inside its iteration.
class Dump {
  public:
    /// Hand over this rank's `box` of `field`. Several boxes per rank may be put; over all ranks
    /// they tile the field exactly, or with Coverage::partial share no value (checked at end()). A
    /// rank may have nothing to put.
    ///
    /// @param data  dense, C order, box.extent.count() values of the field's dtype. Memory of a
    ///              device (caesura/device.hpp: owns_memory) is copied into the snapshot at once,
    ///              also with borrow; what fills it must be done, or be in CUDA's default stream.
    /// Errors: invalid_argument (rank, extent, offset out of the field, null data, dtype), naming
    /// field, rank and value; cancelled (the writer failed before).
    /// Local; snapshots (copy) or remembers the pointer (borrow).
    template <class T>
    Status put(Field field, const Box& box, const T* data, Ownership own = Ownership::copy) {
        return put_bytes(field, box, data, dtype_of<T>(), own);
    }
    Status put_bytes(Field field, const Box& box, const void* data, DType dtype, Ownership own);
    /// The same of values that lie inside of a larger array, as those between ghost cells do: they
    /// are copied out of it, once. With borrow only what lies dense there is borrowed.
    /// @param array  dense, C order, of `extent` values; the box's first one is at `begin` in it.
    ///               Of a device's memory all of it goes to the host.
    /// Errors: also invalid_argument (the box leaves the array).
    template <class T>
    Status put_within(Field field, const Box& box, const T* array, const Shape& extent,
                      const Shape& begin, Ownership own = Ownership::copy) {
        return put_within_bytes(field, box, array, extent, begin, dtype_of<T>(), own);
    }
    Status put_within_bytes(Field field, const Box& box, const void* array, const Shape& extent,
                            const Shape& begin, DType dtype, Ownership own);
    /// Hand over what this rank's next `count` particles have in `record`. Several puts follow each
    /// other. Over the whole dump a rank puts as many values of every record of a species, or, of a
    /// record that is not to be in this dump, no rank puts any (checked at end()). A species is in
    /// the dump if some rank has put a record of it, 0 particles or more.
    /// @param data  `count` values, dense; null if there are none.
    /// Errors and ownership: as put's.
    template <class T>
    Status put_particles(Field record, std::uint64_t count, const T* data,
                         Ownership own = Ownership::copy) {
        return put_particle_bytes(record, count, data, dtype_of<T>(), own);
    }
    Status put_particle_bytes(Field record, std::uint64_t count, const void* data, DType dtype,
                              Ownership own);
    /// From now on values with these bits are missing in `field`, as FieldOptions::missing has it:
    /// on all ranks, of which any may say it, before its puts. Local. Errors: invalid_argument (the
    /// field's type has no such value; outside a dump).
    Status declare_missing(Field field, const FillValue& value);
    /// As Writer::set_attribute, in this dump alone, where it wins. An error is end()'s too, and
    /// costs the dump. Errors: also invalid_argument (of the file; outside a dump).
    Status set_attribute(const AttributeOwner& owner, const std::string& name,
                         store::AttributeValue value);

  private:
    friend class Iteration;
    explicit Dump(Writer* writer) : writer_(writer) {}
    Writer* writer_;
};

class Iteration {
  public:
    Iteration(Iteration&& other) noexcept;
    Iteration& operator=(Iteration&&) = delete;
    ~Iteration();

    /// An obstacle: while the returned mark lives, the application needs that lane's resource
    /// (compress: this rank's core; write: network, MPI, file system).
    [[nodiscard]] Busy busy(Lane lane);
    /// Compress on this thread, which would wait anyway, for at most so long. A block is begun only
    /// if it is expected to be done in time. Local; of use with WriterOptions::cooperative.
    /// @return seconds spent; less than asked for when nothing more fits or is left.
    double compress_for(double seconds);
    /// Wait until `done` says so or `at_most_s` have passed, compressing meanwhile. `done` is asked
    /// between blocks, then every few 10 us. Local. @return what `done` said last.
    bool wait_until(const std::function<bool()>& done, double at_most_s);

    /// At most one dump an iteration. @param time  physical time, in units of time_unit_si.
    /// Errors are reported by the puts and by end(): a Dump is always returned.
    Dump begin_dump(double time, double dt = 1.0, double time_unit_si = 1.0);
    /// The one collective. Returns the first error of any rank since the last end(), on all ranks.
    Status end();

  private:
    friend class Writer;
    explicit Iteration(Writer* writer) : writer_(writer) {}
    Writer* writer_;
};

class Writer {
  public:
    /// Collective. Creates (truncates) `path`. `communicator` null: this process alone.
    /// With "%T" or "%06T" in the name of the file each dump gets a file of its own, or each
    /// WriterOptions::dumps_per_file of them: "run_%06T.h5" is run_000000.h5, run_000100.h5, ... by
    /// number of iteration. A file is made in the end() of its first dump; whose error, if it
    /// cannot be, costs that dump alone. No end() waits for it: its dumps go on being written while
    /// the next file is filled, and are committed at later end()s. Fields, species, attributes and
    /// what was learned go on from file to file. Attributes of the file that are set meanwhile are
    /// those of the next.
    /// Errors: io / no_space (path cannot be written), invalid_argument (options), on all ranks.
    static Result<std::unique_ptr<Writer>> create(const std::string& path,
                                                  std::unique_ptr<Communicator> communicator,
                                                  WriterOptions options = {});
    /// Collective. Goes on with a file that create() made, also on another number of ranks, and
    /// also after its run was killed: it is recovered first. committed() then says after which
    /// iteration it goes on. Fields and species are defined as after create(), alike or not: each
    /// dump has types, shapes and codecs of its own. What is said of the whole file (author,
    /// software, root_attributes, set_attribute) takes the place of what the file says, with the
    /// first dump; the rest of it stays. A path with %T is a series: new dumps go to new files, and
    /// those behind `where.after` are removed. Messages say what was recovered and what was dropped
    /// (docs/reference/restart.md). Errors: io (no such file, no permission, another process has it
    /// open), corrupt (not of Caesura, or damaged), unsupported (a tree that an application makes,
    /// under the connector; a file of checkpoints; WriterOptions::transport), invalid_argument (an
    /// iteration that is not there; options), no_space, on all ranks: nothing is dropped then.
    static Result<std::unique_ptr<Writer>> open(const std::string& path,
                                                std::unique_ptr<Communicator> communicator,
                                                WriterOptions options = {},
                                                const OpenOptions& where = {});
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    /// Same calls in the same order on all ranks (checked at the next end()).
    /// @param name   openPMD mesh name; "velocity/x" is component x of the record "velocity".
    /// @param dtype  Integers are stored without loss, by codecs "caesura", "zstd", "blosc2" and
    ///               "none"; "sz3" and "zfp" become zstd.
    /// @param shape  global extents, 1 to 4 axes, each >= 1.
    /// @param bound  Not given: WriterOptions::bound, of integers lossless().
    /// Errors: invalid_argument (name, dtype, shape, bound NaN or <= 0, a bound of integers that is
    /// not lossless, a fill value that the type lacks), unsupported (plugin missing).
    Result<Field> define_field(const std::string& name, DType dtype, const Shape& shape,
                               const ErrorBound& bound, const FieldOptions& options = {});
    Result<Field> define_field(const std::string& name, DType dtype, const Shape& shape);
    /// The field has another shape from the next put on: after a regrid, or in a window that grows.
    /// What is known of its blocks stays. Same calls in the same order on all ranks (checked at the
    /// next end()).
    /// @param shape  as many axes as before, each extent >= 1.
    /// @param grid_offset  FieldOptions::grid_offset from now on; empty: as before.
    /// Errors: invalid_argument (field, axes, extents, a bound map that leaves the shape, a field
    /// that this rank has put into the open dump): nothing is changed.
    Status reshape(Field field, const Shape& shape, const std::vector<double>& grid_offset = {});

    /// A species of particles. Same calls in the same order on all ranks (checked at the next
    /// end()), as for its records, and before the first dump.
    /// @param name  openPMD species name, without '/'.
    /// Errors: invalid_argument (name, attributes, a dump has begun; of a series: one of this
    /// file).
    Result<Species> define_species(const std::string& name, const SpeciesOptions& options = {});
    /// What each particle of a species has. Identifiers and flags, as all integers, are lossless.
    /// @param name   openPMD record name; "position/x" is component x of the record "position".
    /// @return  what put_particles takes. Errors: as define_field's.
    Result<Field> define_record(Species species, const std::string& name, DType dtype,
                                const ErrorBound& bound, const RecordOptions& options = {});
    /// What all particles of a species have alike: a number, no data. @param name  as a record's.
    Status define_constant(Species species, const std::string& name, double value,
                           const RecordOptions& options = {});

    /// The attribute has this value in all dumps from the next end() on, in place of a default or
    /// of what was said before. It is committed with each dump. The same on all ranks (checked at
    /// end(), whose error names attribute and rank). What openPMD asks of a record ("geometry",
    /// "gridSpacing", ...) goes to the record, whichever component it is set on.
    /// Errors: invalid_argument (a name that the library needs; a type or number of values that
    /// openPMD does not allow for a name of its own; of the file after its first dump; too long),
    /// naming attribute and object: nothing is changed.
    Status set_attribute(const AttributeOwner& owner, const std::string& name,
                         store::AttributeValue value);

    /// Iterations do not nest. An error (call out of order) is reported by its end().
    /// @param label  what kind of iteration this is ("regrid"), if there are several: what is
    /// expected of the next is taken from those of its kind. Kinds that follow a dump are told
    /// apart without it.
    Iteration begin_iteration(std::uint64_t number, std::string_view label = {});

    /// Iteration number of the last dump known to be committed (in the HDF5 tree and, if durable,
    /// on disk) with all before it, of a series in whichever file; nullopt before the first. Agreed
    /// at end() and close(): same on all ranks. After open() the last one that was kept.
    std::optional<std::uint64_t> committed() const;
    /// May data borrowed for this iteration be changed?
    bool released(std::uint64_t iteration) const;
    WriterReport report() const;

    /// Collective, for a job that is told to end: work at normal priority and commit what can be
    /// committed in about so many seconds. Nothing is lost by what cannot: the Writer goes on.
    /// committed() says how far it came. Not to be called in a signal handler, which may only set a
    /// flag for the ranks to agree on.
    Status finish_by(double seconds);
    /// Collective. Finishes everything, commits, closes. Returns the first error; further calls
    /// return it again. Charged fully to the caller.
    Status close();

    struct __attribute__((visibility("hidden"))) Impl;

  private:
    friend class Iteration;
    friend class Dump;
    friend class Busy;
    explicit Writer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace caesura

#pragma GCC visibility pop
