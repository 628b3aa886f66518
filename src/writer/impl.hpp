// The inside of a Writer: what it remembers between calls, and the steps of its one collective.
//
// Invariants:
//  - Everything here belongs to the application's thread; the lanes see DumpTasks only.
//  - Decisions that all ranks must share are made from gathered data alone, so that every rank
//    makes the same; `Hello` is the only thing exchanged when nothing is dumped.
//  - Dumps are numbered from 0; they become durable, are gathered and are committed in that order.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/trace.hpp"
#include "caesura/predict.hpp"
#include "caesura/writer.hpp"
#include "run/executor.hpp"
#include "run/observation.hpp"
#include "writer/experience.hpp"
#include "writer/layout.hpp"
#include "writer/open_writer.hpp"
#include "writer/openpmd.hpp"
#include "writer/outcomes.hpp"
#include "writer/region_sink.hpp"
#include "writer/reservation.hpp"
#include "writer/tree.hpp"
#include "writer/wire.hpp"

namespace caesura::writer {

/// One put of this rank, waiting for end().
struct Put {
    std::uint32_t field = 0;
    Box box;
    const std::byte* data = nullptr;
    run::Snapshot* snapshot = nullptr;
    std::uint32_t turn = 0;                                ///< OpenWriter::put
    bool exactly = false;                                  ///< Loss::spent
    double min = std::numeric_limits<double>::infinity();  ///< of the finite values
    double max = -std::numeric_limits<double>::infinity();
};

/// The dump of the open iteration.
struct OpenDump {
    DumpTime time;
    std::vector<Put> puts;
    std::vector<std::vector<std::uint32_t>> of_field;  ///< by field: numbers of its puts
    std::deque<run::Snapshot> snapshots;
    Status error;  ///< the first put that failed

    void add(const Put& put) {
        if (of_field.size() <= put.field) of_field.resize(put.field + 1);
        of_field[put.field].push_back(static_cast<std::uint32_t>(puts.size()));
        puts.push_back(put);
    }
    std::span<const std::uint32_t> puts_of(std::uint32_t field) const {
        return field < of_field.size() ? std::span(of_field[field])
                                       : std::span<const std::uint32_t>();
    }
    /// The k-th put of a field.
    const Put& put_of(std::uint32_t field, std::uint32_t k) const {
        return puts[of_field[field][k]];
    }
    /// What other ranks are told of this one's puts.
    std::vector<RankBox> boxes_of(std::uint32_t field, int rank) const {
        std::vector<RankBox> boxes;
        for (const std::uint32_t i : puts_of(field))
            boxes.push_back(
                {rank, static_cast<std::uint32_t>(boxes.size()), puts[i].box, puts[i].turn});
        return boxes;
    }
};

struct FieldState {
    FieldState(std::string field_name, DType type, const Shape& extents, const ErrorBound& asked,
               CodecSpec codec_spec, FieldOptions field_options, FieldModels& models)
        : name(std::move(field_name)),
          dtype(type),
          shape(extents),
          bound(asked),
          codec(std::move(codec_spec)),
          options(std::move(field_options)),
          sizes(models.sizes),
          times(models.times),
          newest_tables(models.tables) {}

    std::string name;
    DType dtype = float32;
    Shape shape;
    ErrorBound bound;
    CodecSpec codec;
    FieldOptions options;
    predict::SizeModel& sizes;  ///< of the Experience, as the next two
    predict::CompressModel& times;
    std::optional<Layout> layout;  ///< of the last dump it was in
    bool in_last_dump = false;
    // Codec "caesura" only; see tables.cpp.
    TableSet& newest_tables;  ///< agreed: the same on all ranks
    TableSet tables;          ///< what blocks are coded with: these, or those of the dataset
    TableStatistics counted;  ///< of blocks finished here and not yet sent; on rank 0 of all ranks

    /// Of an application's file.
    struct Dataset {
        Shape chunk;
        bool extendable = false;
        std::array<std::byte, 8> fill{};
        std::vector<FilterSpec> pipeline = {};                    ///< as the dataset was created
        std::vector<std::vector<unsigned>> creation_values = {};  ///< BlockCodec's
        std::shared_ptr<const BlockCodec> codec = {};
        ErrorBound codec_bound = {};
        std::uint64_t chunk_bytes = 0;  ///< DatasetDefinition::chunk_bytes
        std::uint64_t dumps_end = 0;    ///< it is in no dump of this number or above
        /// Rank 0: stored bytes by chunk, for what is superseded.
        std::unordered_map<std::uint64_t, std::uint64_t> stored_bytes = {};
    };
    std::optional<Dataset> dataset;
};

/// A compressed block that found no room and waits for the next collective.
struct OverflowBlock {
    std::string label;
    std::uint32_t dataset = 0, filter_mask = 0;
    std::uint64_t chunk = 0;
    base::Buffer stored;
};

/// A dump between end() and its commit.
struct InFlight {
    std::uint64_t dump = 0, iteration = 0;
    store::DumpManifest manifest;             ///< on ranks that build
    std::vector<std::uint32_t> fields;        ///< by dataset
    run::DumpTask* task = nullptr;            ///< while a lane works on it
    std::vector<predict::Features> features;  ///< by job
    std::vector<std::uint32_t> job_fields;    ///< by job
    std::vector<OverflowBlock> overflow;
    std::vector<store::ChunkRecord> records;  ///< of this rank
    bool durable = false;                     ///< all blocks written and synced here
};

/// What a write lane may expect of a write, as a line through two typical sizes.
run::WriteCost cost_of(const predict::WriteModel& model);

/// Does the bound mean something only once the range of all values is known?
inline bool needs_range(const ErrorBound& bound) {
    return bound.kind == ErrorBound::Kind::relative || bound.kind == ErrorBound::Kind::psnr;
}

/// Does this rank count what its blocks are made of? So do at most 64, evenly spaced; rank 0
/// always.
constexpr bool counts_tables(int rank, int size) {
    constexpr std::int64_t k_ranks = 64;
    return rank == 0 || size <= k_ranks || rank * k_ranks / size != (rank - 1) * k_ranks / size;
}

/// What every rank tells every other at each end().
struct Hello {
    std::int32_t code = 0;    ///< StatusCode of this rank's first error
    std::uint32_t fatal = 0;  ///< the error ends the writer, not just this dump
    std::uint32_t has_dump = 0;
    std::uint32_t has_puts = 0;
    std::uint32_t boxes_changed = 0;  ///< since the last dump
    std::uint64_t iteration = 0;
    std::uint64_t definitions = 0;      ///< hash of all define_field calls
    std::uint64_t durable_dumps = 0;    ///< dumps before this number are durable on this rank
    std::uint64_t overflow_bytes = 0;   ///< region wanted for waiting blocks
    std::uint64_t used_end = 0;         ///< end of what this rank has used of the file
    std::uint64_t file_end = 0;         ///< rank 0: nothing is reserved beyond it
    std::uint64_t committed_dumps = 0;  ///< rank 0: dumps before this number are committed
    std::uint64_t image_pending = 0;    ///< rank 0: the last image is not flushed yet
    std::uint64_t tree_end = 0;         ///< Tree::end(), the same on all ranks
    std::uint64_t tree_changed = 0;     ///< Tree::changed()
    std::uint64_t spoiled = 0;          ///< nothing may be committed any more
};

}  // namespace caesura::writer

namespace caesura {

struct Writer::Impl {
    Impl(std::string file_path, std::shared_ptr<Communicator> group, WriterOptions opts,
         std::uint64_t budget_bytes, std::shared_ptr<writer::Experience> past);
    ~Impl();

    // ---- set-up (create.cpp, calibration.cpp)
    /// Collective. @param target  null: a file of the Writer's own, made here.
    static Result<std::unique_ptr<Impl>> make(const std::string& path,
                                              std::shared_ptr<Communicator> communicator,
                                              WriterOptions options,
                                              std::shared_ptr<writer::Experience> experience,
                                              const writer::TargetFile* target);
    Status open_file();
    Status take_file(const writer::TargetFile& target);
    void note_definition(const std::string& definition);
    Status load_calibration();
    Status share_node(std::unique_ptr<Communicator> ranks);

    // ---- what is seen of the application (observing.cpp)
    void read_binding(Communicator* node);
    void settle_observation(double now_s);

    // ---- iterations and puts (writer.cpp, put.cpp)
    void begin_iteration(std::uint64_t number, std::string_view label);
    void next_round();
    void enter(Lane lane);
    void leave(Lane lane, double begin_s);
    void begin_dump(const writer::DumpTime& time);
    Status put(Field field, const Box& box, const void* data, DType dtype, Ownership own,
               writer::Loss loss = writer::Loss::within_bound, std::uint32_t turn = 0);
    Status check_put(Field field, const Box& box, const void* data, DType dtype) const;
    Status reserve_memory(std::uint64_t bytes);
    void expect_snapshots();
    void expect_no_snapshots();

    // ---- the collective (collective.cpp)
    Status end_iteration();
    Status collective();
    writer::Hello hello() const;
    Result<std::vector<writer::Hello>> exchange_hello(const writer::Hello& mine);
    Status agree_on_errors(const std::vector<writer::Hello>& all, const Status& mine);
    Status check_trees(const std::vector<writer::Hello>& all) const;
    Status agree(const Status& mine);
    bool anything_to_do() const;
    std::uint64_t file_end_of(const std::vector<writer::Hello>& all) const;
    bool boxes_changed() const;

    // ---- a new dump (assemble.cpp, submit.cpp)
    struct Assembly;
    Status assemble(const std::vector<writer::Hello>& all, std::uint64_t& file_end);
    Status exchange_boxes(Assembly& assembly, bool boxes_changed);
    Status lay_out(Assembly& assembly, std::vector<std::vector<writer::RankBox>> boxes);
    Status make_codecs(Assembly& assembly);
    Result<std::shared_ptr<const BlockCodec>> codec_of(writer::FieldState& field,
                                                       const ErrorBound& bound) const;
    Status move_pieces(Assembly& assembly);
    Status keep_pieces(Assembly& assembly, const std::vector<Communicator::Bytes>& received);
    Status make_jobs(Assembly& assembly);
    bool must_be_exact(std::uint32_t field, const writer::LayoutPiece& piece) const;
    run::Piece locate(const Assembly& assembly, std::uint32_t field,
                      const writer::LayoutPiece& piece) const;
    void describe(Assembly& assembly);
    void predict_jobs(Assembly& assembly);
    void plan_jobs(Assembly& assembly);
    Status balance_writes(Assembly& assembly);
    void reserve(Assembly& assembly);
    void submit(Assembly& assembly, std::uint64_t address);
    std::uint64_t begin_of_stripe(std::uint64_t end);

    // ---- of an application's file alone (foreign.cpp)
    Status fix_pipeline(writer::FieldState& field) const;
    Status finish_what_is_needed(const Assembly& assembly);
    Status add_background(std::uint32_t field, const writer::OwnedChunk& chunk, run::Job& job);
    void count_superseded();

    // ---- finished work (harvest.cpp)
    void harvest();
    void harvest_task(writer::InFlight& dump);
    void harvest_plan(run::DumpTask& task);
    void learn_job(const writer::InFlight& dump, std::size_t index);
    void learn_writes();

    // ---- table sets from dump to dump (tables.cpp)
    void count_block(writer::FieldState& field, std::span<const std::byte> statistics) const;
    void send_counts(writer::Packer& packer);
    void take_counts(writer::Unpacker& unpacker);
    Status gather_counts();
    Status keep_counted(std::vector<writer::FieldState*>& sharing);
    Status agree_on_tables();

    // ---- overflow and commit (commit.cpp)
    void place_overflow(const std::vector<writer::Hello>& all, std::uint64_t& file_end);
    Status gather_records(std::uint64_t durable_dumps);
    void commit(std::uint64_t end, bool trim);
    void agree_on_tree_end();
    Status build(std::uint64_t end, bool trim);

    // ---- close.cpp
    Status close();
    Status finish_dumps();
    Status finishing_rounds(bool closing);
    void finish_traces();

    WriterReport make_report();
    double now_s() const { return clock.now_s(); }
    void say(const std::string& text) const;
    void trace_application(const char* kind, std::string name, double begin_s);
    std::uint64_t durable_dumps() const;
    /// Does this rank make dumps part of the tree? So does rank 0 at least.
    bool builds() const { return rank == 0 || tree->records_on_all_ranks(); }

    std::shared_ptr<writer::Experience> experience;  // used by all that follows
    std::string path;
    std::shared_ptr<Communicator> comm;
    WriterOptions options;
    const base::Clock& clock = base::Clock::steady();
    int rank = 0, size = 1;

    // Memory outlives the executor, whose jobs hold buffers.
    base::MemoryBudget budget;
    base::BufferPool& pool;                       // the Experience's
    std::unique_ptr<store::SharedFile> own_file;  // unless it is somebody else's
    store::SharedFile* file = nullptr;
    std::unique_ptr<writer::Tree> own_tree;  // likewise
    writer::Tree* tree = nullptr;            // what dumps become part of
    std::vector<writer::FieldState> fields;
    std::uint64_t definitions_hash = 0;
    writer::Background background;

    // The open iteration.
    bool in_iteration = false;
    std::uint64_t iteration = 0;
    double iteration_begin_s = 0.0;
    std::optional<writer::OpenDump> open_dump;
    Status misuse;  // first call out of order

    bool first_begun = false;          // an iteration, ever
    std::uint64_t expected_bytes = 0;  // of the budget, held for the first dump's snapshots

    // Everything on its way.
    std::deque<writer::InFlight> in_flight;
    std::uint64_t first_dump = 0;       // of this Writer
    std::uint64_t next_dump = 0;        // number of the next dump
    std::uint64_t gathered_dumps = 0;   // records of dumps before this are on rank 0
    std::uint64_t committed_dumps = 0;  // known to be committed, the same on all ranks
    std::map<std::uint64_t, std::uint64_t> iteration_of_dump;
    std::uint64_t file_end = 0;  // same on all ranks at each collective's begin
    std::uint64_t used_end = 0;
    writer::FreeSpace free_space;                            // unused ends of this rank's regions
    std::uint64_t stripe_bytes = store::k_region_alignment;  // rank 0's, the same on all ranks
    std::uint64_t last_region = 0;
    bool new_counts = false;  // gathered since the last agreement on table sets; same on all ranks

    // On ranks that build: gathered and not yet in an image.
    std::vector<store::DumpManifest> to_commit;
    std::vector<store::ChunkRecord> records_to_commit;
    std::optional<store::CommitImage> image;  // rank 0: being flushed by the write lane
    std::uint64_t image_dumps = 0;            // committed_dumps once it is flushed

    // Agreed at the last exchange, or the same on all ranks for another reason.
    std::uint64_t built_dumps = 0;  // dumps before this number have been given to the tree
    bool may_build = true;          // no image is being flushed
    bool flush_expected = false;    // the tree has not been told of its last image
    bool tree_changed = false;      // there is something to commit even without a dump
    bool spoiled = false;           // what the caller had to write itself is not in the file
    std::uint64_t agreed_end = 0;   // of the file: nothing in use lies at or beyond it

    Status failed;  // sticky; the same code on all ranks
    bool comm_failed = false;
    bool ending = false;  // no more dumps
    bool closed = false;

    WriterReport totals;
    writer::Outcomes outcomes;
    base::TraceLane application_trace{"application"}, plan_trace{"plan"};
    double trace_origin_s = 0.0;
    double cores = 1.0;  // this rank's share of those it may run on
    bool workers_have_a_core = true;
    std::unique_ptr<Communicator> node_ranks;    // of this node, if they write for each other
    std::unique_ptr<run::NodeShare> node_share;  // likewise
    std::unique_ptr<run::Executor> executor;     // its threads use everything above
};

}  // namespace caesura
