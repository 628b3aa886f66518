// What the lanes work on: jobs (one block each), the data they read, and a dump's batch of them.
//
// Invariants:
//  - Everything above the line "results" is set before submit() and constant afterwards.
//  - Small objects are made and destroyed on the application's thread alone; workers only take and
//    give back large buffers, which needs no lock (base/buffer.hpp says why that matters).
//  - A job may be computed twice at the same time (a worker without CPU time is not waited for);
//    the first result is published, the other discarded. Encoding is pure, so both are equal.
#pragma once

#include <array>
#include <atomic>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hdf5/block_codec.hpp"
#include "plan/promptness.hpp"
#include "plan/write_policy.hpp"
#include "run/dump_plans.hpp"
#include "run/node_share.hpp"
#include "run/particle_order.hpp"
#include "run/snapshot.hpp"

namespace caesura::run {

/// sum += value, whoever else does.
inline void add(std::atomic<double>& sum, double value) {
    double old = sum.load(std::memory_order_relaxed);
    while (!sum.compare_exchange_weak(old, old + value, std::memory_order_relaxed)) {
    }
}

enum class JobState : int {
    waiting = 0,
    compressed = 1,
    written = 2,
    overflowed = 3,
    given = 4  ///< to somebody who compresses and writes it; his answer is to come
};

struct Job {
    std::string label;  ///< "temperature #12", for traces and errors
    std::uint32_t dataset = 0;
    std::uint64_t chunk = 0;
    DType dtype = float32;
    Box chunk_box;                ///< of the full chunk; may reach beyond the array
    Shape valid;                  ///< extent of its part inside the array
    std::vector<PutPart> pieces;  ///< what comes later covers what came before
    /// The value of what no piece covers; unset: the pieces leave nothing of `valid` open.
    std::optional<std::array<std::byte, 8>> fill;
    /// The values are stored in this order; null: as they are. The same one for all records.
    std::shared_ptr<ParticleOrder> order;
    const BlockCodec* codec = nullptr;
    /// The arrays that it consists of, with their bounds; empty: it is one, and the codec knows.
    std::vector<codec::BundlePart> parts;
    bool bundled = false;  ///< stored as a bundle, which says of each part what it is
    bool exactly =
        false;  ///< BlockCodec::encode_exactly, without parts: the bound has been spent before
    double absolute_bound = 0.0;  ///< of EncodedBlock::max_error; 0: lossless
    /// For the sink: the place that was kept for this block. It goes elsewhere if it does not fit.
    std::uint32_t region = 0, slot = 0;
    /// Who is to write it; without helper (again) if the block could not be put where he sees it.
    /// Until it is compressed it belongs to whoever does that, then to the write lane.
    Share share;
    /// It is not compressed here: the sink takes its values (DumpTask::compress_elsewhere).
    std::atomic<bool> elsewhere{false};
    double expected_compress_s = 0.0, expected_write_s = 0.0;  ///< what the planner goes by
    double write_spread_s = 0.0;  ///< of expected_write_s, because the size is not known yet
    double expected_bytes = 0.0;  ///< of stored_bytes

    // ---- progress
    std::atomic<bool> begun{false};    // somebody has taken it from the plan
    std::atomic<double> begun_s{0.0};  // when, by the clock

    // ---- results, published by `state`
    std::atomic<int> claims{0};      // threads computing it now
    std::atomic<bool> taken{false};  // somebody has published, or is about to
    std::atomic<bool> source_done{false};
    std::atomic<JobState> state{JobState::waiting};
    base::Buffer stored;  ///< empty again once written
    std::uint64_t stored_bytes = 0;
    std::uint32_t filter_mask = 0;
    double max_error = std::numeric_limits<double>::quiet_NaN();
    bool fell_back = false;
    bool stored_raw = false;
    base::Buffer statistics;  ///< EncodedBlock::statistics, for the application's thread
    double compress_s = 0.0;  ///< of CPU time: waiting at idle priority is not its cost

    std::uint64_t chunk_bytes() const { return chunk_box.extent.count() * size_of(dtype); }
    std::uint64_t valid_bytes() const { return valid.count() * size_of(dtype); }
    /// What the write lane carries: once it is compressed, or if it never is here.
    std::uint64_t carried_bytes() const {
        return elsewhere.load(std::memory_order_relaxed) ? valid_bytes() : stored_bytes;
    }
    /// Nobody reads the values any more. Any thread, any number of times.
    void release_sources() {
        if (source_done.exchange(true, std::memory_order_acq_rel)) return;
        for (const PutPart& piece : pieces)
            if (piece.snapshot) piece.snapshot->release_reader();
        if (order) order->leave();
    }
};

/// A block's place in the file, and what is written around it: its prefix record, its padding.
struct Placement {
    std::uint64_t address = 0;  ///< of the first byte, that of the prefix
    std::size_t front_bytes = 0, back_bytes = 0;
};

/// The blocks of a dump that have overflowed; it may outlive the dump. Used by the write lane.
class Overflow {
  public:
    virtual ~Overflow() = default;
    /// Try to write all of them where they are kept for the commit of a closed file, once or more
    /// often. @return  do they lie there?
    virtual bool make_whole() = 0;
};

/// Where compressed blocks go; the writer implements it over the store. Used by the write lane.
class Sink {
  public:
    virtual ~Sink() = default;
    /// Write these blocks as few, large writes. Sets each job's state to written or overflowed; of
    /// one that is compressed elsewhere to given, and later, on any thread, to one of these.
    virtual Status write(std::span<Job* const> jobs) = 0;
    /// Take the block's place and write nothing: another rank will, or this one later.
    /// @param front  the placement's front_bytes go to its end; k_share_front_bytes
    /// @param back   the placement's back_bytes go to its begin; k_share_back_bytes
    /// @return  nullopt if there is no room. Errors: as write().
    virtual Result<std::optional<Placement>> place(const Job& job, std::span<std::byte> front,
                                                   std::span<std::byte> back) = 0;
    /// After the last block (overflowed ones excepted): make what was written durable.
    virtual Status finish() = 0;
    /// After finish(): what has overflowed; null: all blocks have their place in the file.
    virtual std::shared_ptr<Overflow> overflow() { return nullptr; }
    /// Is whoever the blocks were given to gone, so that they are to be compressed here? From then
    /// on no job's state is changed but by write().
    virtual bool gives_back() const { return false; }
};

using plan::WriteCost;

enum class DumpPhase : int { running = 0, finished = 1 };

/// One rank's share of one dump.
struct DumpTask {
    explicit DumpTask(std::size_t count) : jobs(new Job[count]), n_jobs(count) {}

    std::uint64_t dump = 0;
    std::uint64_t iteration = 0;
    std::unique_ptr<Job[]> jobs;
    std::size_t n_jobs = 0;
    std::list<Snapshot> snapshots;
    std::vector<std::shared_ptr<const BlockCodec>> codecs;  ///< kept alive for the jobs
    std::vector<CodecRecipe> recipes;  ///< of the codecs, for whoever makes them elsewhere
    /// What the datasets are, for him too.
    struct Dataset {
        std::string path;
        DType dtype = float32;
        Shape shape;
    };
    std::vector<Dataset> datasets;
    double time = 0.0;                                       ///< of the data
    std::vector<std::uint32_t> compress_order, write_order;  ///< without planning
    Plans plans;  ///< with planning; the first is made before submit()
    WriteCost write_cost;
    std::unique_ptr<Sink> sink;
    double claim_patience_s = 0.0;  ///< of the write lane: how long a helper may take
    /// It is to be written so long after it was handed over.
    double max_delay_s = std::numeric_limits<double>::infinity();
    double handed_over_s = -1.0;  ///< by the clock; < 0: when it is submitted
    /// How soon it is compressed at normal priority; by itself: when max_delay_s comes near.
    plan::Promptness promptness;
    // The application's compress obstacles and the workers' CPU time until it was submitted.
    double computing_before_s = 0.0, workers_cpu_before_s = 0.0;

    // ---- progress
    std::atomic<std::uint32_t> next_compress{0};  // without planning
    std::atomic<std::uint32_t> n_begun{0}, n_compressed{0};
    // Of the jobs that are done, what they took and what was expected of them.
    std::atomic<double> compressed_s{0.0}, compressed_expected_s{0.0};
    std::atomic<double> written_s{0.0}, written_expected_s{0.0};
    std::atomic<double> last_write_end_s{0.0};  // by the clock; the write lane's
    std::atomic<bool> is_due{false};            // max_delay_s is near: written before all else
    std::atomic<double> finished_s{0.0};        // by the clock
    std::atomic<DumpPhase> phase{DumpPhase::running};

    /// Before submit(): the sink takes the blocks as they are.
    void compress_elsewhere() {
        for (std::size_t i = 0; i < n_jobs; ++i) {
            jobs[i].elsewhere = jobs[i].begun = jobs[i].taken = true;
            jobs[i].state = JobState::compressed;
        }
        n_begun = n_compressed = static_cast<std::uint32_t>(n_jobs);
    }
    bool all_begun() const { return n_begun.load(std::memory_order_acquire) == n_jobs; }
    bool all_compressed() const { return n_compressed.load(std::memory_order_acquire) == n_jobs; }
};

}  // namespace caesura::run
