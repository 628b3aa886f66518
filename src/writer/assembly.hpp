// A dump on its way from puts to jobs, inside end(): what all ranks must know of it, its jobs, what
// they will take, where they go, and in which order.
//
// Invariant: an error before the last exchange is carried to it, so that nobody waits.
#pragma once

#include <algorithm>

#include "hdf5/block_codec.hpp"
#include "run/call_helpers.hpp"
#include "store/manifest.hpp"
#include "writer/flights.hpp"
#include "writer/node.hpp"
#include "writer/open_dump.hpp"
#include "writer/reservation.hpp"
#include "writer/tree.hpp"

namespace caesura::writer {

/// What a write lane may expect of a write, as a line through two typical sizes.
run::WriteCost cost_of(const predict::WriteModel& model);

class Assembly {
  public:
    /// The parts of the Writer that take part.
    struct Parts {
        Session& session;
        Fields& fields;
        const Metadata& metadata;
        Round& round;
        Tables& tables;
        Flights& flights;
        Node& node;
        ledger::Ledger& ledger;
        const Tree& tree;
        run::Executor& executor;
        run::CallHelpers& helpers;
        const Background& background;
        /// Of the file: Node::add_file().
        std::uint32_t file_number;
        std::uint64_t first_dump;  ///< of the Writer
        /// Makes the file, if it is not there yet. Collective. Errors: of any rank, on all of them.
        std::function<Status()> make_file;
        /// All dumps before are committed when it returns. Collective.
        std::function<Status()> finish_dumps;
    };
    /// @param dump  what was put on this rank.
    Assembly(const Parts& parts, OpenDump& dump);
    /// From puts to the lanes. Collective. Errors: of any rank, on all of them.
    Status run(bool boxes_changed);

  private:
    struct FieldDump {
        std::uint32_t field = 0;
        std::vector<Composition::Range> ranges;  ///< over all ranks; FieldState::ranges()
        Composition::Range bulk;                 ///< over all ranks, of one range
        ErrorBound bound;                        ///< resolved; of several components the pipeline's
        std::vector<ErrorBound> bounds;          ///< resolved, by component; empty: it has none
        std::shared_ptr<const BlockCodec> codec;
    };
    /// What is known of a dataset whose bound is for fields: is it coordinates?
    struct Coordinates {
        bool told = false, may_be_axis = false;
        ValueOrder order;
        KeptExact answer() const {
            if (told) return KeptExact::told;
            return may_be_axis && order.holds() ? KeptExact::by_values : KeptExact::no;
        }
    };
    struct PieceKey {
        std::uint32_t field = 0, box = 0;
        Shape offset;
        bool operator<(const PieceKey& other) const {
            if (field != other.field) return field < other.field;
            if (box != other.box) return box < other.box;
            return std::lexicographical_compare(offset.data(), offset.data() + offset.rank(),
                                                other.offset.data(),
                                                other.offset.data() + other.offset.rank());
        }
    };

    // ---- what all ranks know (assemble.cpp)
    Status exchange_boxes(bool boxes_changed);
    // ---- missing values (missing.cpp)
    Seen seen_of(std::uint32_t field) const;
    Status leave_out_suspects(std::span<const Seen> seen,
                              std::vector<std::vector<Composition::Range>>& ranges);
    void warn_of_stretched_range(const FieldDump& dumped);
    void unite_ranges();
    static bool is_for_fields(const FieldState& field) {
        return field.dataset && field.dataset->for_fields;
    }
    Coordinates coordinates_in(std::uint32_t field) const;
    static void unite(Coordinates& all, const Coordinates& one);
    Composition::Range places_of(std::uint32_t field) const;
    Status place_particles(std::vector<std::vector<RankBox>>& boxes);
    Status lay_out(std::vector<std::vector<RankBox>> boxes);
    Status make_codecs();
    static const Shape& chunk_of(const FieldState& field);
    Result<std::shared_ptr<const BlockCodec>> codec_of(FieldState& field,
                                                       const ErrorBound& bound) const;
    Status move_pieces();
    Status keep_pieces(const std::vector<Communicator::Bytes>& received);
    Status make_jobs();
    void divide(const FieldDump& dumped, run::Job& job) const;
    // ---- particles in any order (order_particles.cpp)
    bool is_ordered(const FieldState& field) const;
    void put_indices();
    void put_index(std::uint32_t field, std::uint64_t count);
    void number_particles(std::uint32_t field);
    void order_jobs();
    void hold_to_map(const FieldDump& dumped, run::Job& job) const;
    void leave_open(const FieldDump& dumped, bool covered, run::Job& job) const;
    /// What the codec of a dataset is made with.
    ErrorBound codec_bound(const FieldDump& dumped) const;
    static const std::byte* stretch_of(const run::Job& job, std::uint64_t at, std::uint64_t count);
    predict::Features estimate_layers(const run::Job& job, const run::PutPart& piece, Mode mode,
                                      const TableSet& tables) const;
    struct Looked {
        std::uint64_t looks = 0;
        double bits = 0.0, values = 0.0;
        bool exact = false;
    };
    /// Of one field in this dump: what looks at its blocks teach about the next ones.
    struct FieldLooks {
        predict::Looks looks;
        /// By dataset and component.
        std::map<std::pair<std::uint32_t, std::uint32_t>, Looked> looked = {};
    };
    predict::Features look_at(std::size_t index, FieldLooks& field_looks) const;
    static predict::Features estimate_parts(const run::Job& job, Mode mode, const TableSet& tables,
                                            FieldLooks& field_looks);
    static std::vector<std::byte> sample_member(const run::Job& job, std::uint32_t member,
                                                Box& where);
    bool must_be_exact(std::uint32_t field, const LayoutPiece& piece) const;
    run::PutPart locate(std::uint32_t field, const LayoutPiece& piece) const;
    // ---- content that blocks keep (foreign.cpp)
    Status finish_what_is_needed();
    Status add_background(std::uint32_t field, const OwnedChunk& chunk, run::Job& job);
    // ---- to the lanes (submit.cpp, balance.cpp)
    Status make_task();
    Status check_metadata() const;
    void describe();
    void look_at_jobs();
    void predict_jobs();
    void set_pace();
    void plan_jobs();
    Status balance_writes();
    void reserve();
    void submit(const ledger::Extent& fresh);
    /// What a rank tells the others at the last exchange.
    struct Request {
        std::uint64_t bytes = 0;       ///< fresh ones that it wants
        std::uint64_t most_bytes = 0;  ///< that its blocks can take at all
        std::uint64_t code = 0;
    };
    std::uint64_t most_bytes() const;

    Parts parts_;
    OpenDump& dump_;
    const int rank_, size_;
    std::vector<FieldDump> dumped_;  ///< in order of definition: the dataset's number
    std::map<std::uint32_t, std::vector<Composition::Range>> places_;  ///< by field and rank
    std::unique_ptr<run::DumpTask> task_;
    std::vector<predict::Features> features_;
    std::vector<std::uint32_t> job_fields_;
    std::vector<predict::Bytes> predicted_;
    std::vector<double> compress_s_;
    Reservation reservation_;
    store::RegionWriter::Place spill_;           ///< of 0 bytes: none
    std::map<PieceKey, run::PutPart> received_;  ///< pieces that came from other ranks
    store::DumpManifest manifest_;               ///< on ranks that build
    std::string manifest_text_;                  ///< rank 0
};

}  // namespace caesura::writer
