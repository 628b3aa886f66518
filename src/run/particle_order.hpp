// The order in which the particles of a chunk are stored, where it is ours to choose: along a
// Hilbert curve through their positions. So values that follow each other differ by little, and
// compress better.
//
// It is found by whoever compresses the first of the chunk's records, and then holds for all of
// them. It is kept only if a sample of all records says that they will be smaller for it: where the
// given order says more about some record (weightings, identifiers) than places do, it stays.
//
// Invariants:
//  - A particle stays among those of its stretch (the particles of one rank).
//  - Everybody finds the same order, whatever NaN, infinities and equal places there are; several
//    threads may look for it at once, the first result is kept. Nothing is locked (decision D22).
//  - The values are only read.
//  - All memory but that of a few words a record is charged to the budget, also where that is full:
//    an order that depended on what is free would differ from run to run, and from thread to
//    thread. It is never waited for.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "hdf5/block_codec.hpp"
#include "run/snapshot.hpp"

namespace caesura::run {

class ParticleOrder {
  public:
    /// What the chunk has of one record.
    struct Record {
        DType dtype = float32;
        ErrorBound bound;  ///< resolved
        bool is_position = false;
        std::vector<PutPart> pieces = {};  ///< all of the chunk, apart
    };
    /// @param stretches  where the particles of each rank begin in the dataset, and the end of the
    /// last ones: the chunk is all of them.
    ParticleOrder(std::vector<Record> records, std::vector<std::uint64_t> stretches,
                  base::MemoryBudget& budget);
    ParticleOrder(const ParticleOrder&) = delete;
    ParticleOrder& operator=(const ParticleOrder&) = delete;
    ~ParticleOrder() { release(); }

    /// Memory that the budget knows of.
    struct Held {
        base::Buffer buffer;
        base::Charge charge;
    };
    /// Particle i of the stored chunk is particle result[i] of the given one, both from 0 on.
    /// Empty: as given. Valid until the caller leaves, or as long as `own` is, which may be where
    /// it lies. Any thread. Errors: no_space.
    Result<std::span<const std::uint32_t>> find(base::BufferPool& pool, Held& own);

    /// A job will ask for it. On the application's thread.
    void join();
    /// That job will ask no more. The last one gives back the memory, and what was joined for.
    void leave();

  private:
    enum class State : std::uint8_t { unknown, as_given, known };
    struct Values;
    std::uint64_t count() const { return stretches_.back() - stretches_.front(); }
    Status dense(const Record& record, base::BufferPool& pool, Values& values) const;
    void sort(std::span<const Values> positions, std::uint64_t begin, std::uint64_t end,
              std::span<std::uint64_t> scratch, std::uint32_t* order) const;
    void release();

    const std::vector<Record> records_;
    const std::vector<std::uint64_t> stretches_;
    Result<Held> take(base::BufferPool& pool, std::uint64_t bytes) const;
    base::MemoryBudget& budget_;
    std::atomic<std::uint32_t> users_{0};
    std::atomic<bool> publishing_{false};
    std::atomic<State> state_{State::unknown};
    Held order_;  ///< whoever sets publishing_ writes it, then state_
};

/// Into the order found. @param values  as many as the order has.
void put_in_order(std::span<const std::uint32_t> order, const std::byte* values,
                  std::size_t value_bytes, std::byte* out);

}  // namespace caesura::run
