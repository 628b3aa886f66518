// Collective reading: each chunk is read and decoded by one rank, and its parts go to whom they
// concern; by several ranks, each for some, if so many want it that its parts fill a round.
//
// Invariants:
//  - Every rank draws up the same list of chunks, owners and rounds from what all ranks want, so no
//    message says what it holds.
//  - A chunk that its owner alone wants is decoded to where it belongs, outside of the rounds.
//  - Before a round all ranks agree that each is ready for it, and has memory for what it will send
//    and receive: an error of one rank stops all, and nobody waits for a rank that has given up.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>

#include "read/chunk_layout.hpp"
#include "read/reader_impl.hpp"
#include "read/strided.hpp"

namespace caesura {
namespace {

using Bytes = Communicator::Bytes;

/// What a rank wants.
struct Wish {
    bool any = false;  ///< that is read by chunks
    bool by_chunks = false;
    std::size_t field = 0;
    Box box;
};

/// A chunk that one rank decodes, for itself and others.
struct Job {
    std::size_t field = 0;
    std::uint64_t chunk = 0;
    std::vector<int> wanted_by = {};  ///< ascending
    std::uint64_t part_bytes = 0;     ///< of all of them
    int owner = 0;
    std::uint64_t round = 0;
};

/// The least loaded of those that want it, unless it has its share of all chunks already; then of
/// all ranks.
void choose_owners(std::vector<Job>& jobs, int ranks) {
    std::vector<std::uint64_t> load(static_cast<std::size_t>(ranks), 0);
    const std::uint64_t share =
        (jobs.size() + static_cast<std::uint64_t>(ranks) - 1) / static_cast<std::uint64_t>(ranks);
    for (Job& job : jobs) {
        const auto of = [&](int rank) { return load[static_cast<std::size_t>(rank)]; };
        job.owner = *std::min_element(job.wanted_by.begin(), job.wanted_by.end(),
                                      [&](int a, int b) { return of(a) < of(b); });
        if (of(job.owner) >= share)
            job.owner = static_cast<int>(std::min_element(load.begin(), load.end()) - load.begin());
        ++load[static_cast<std::size_t>(job.owner)];
    }
}

/// One collective reading, on one rank.
class Together {
  public:
    Together(const Reader::Impl& impl, Communicator& comm, std::vector<Wish> wishes,
             const read::StridedArray& target, std::span<std::byte> values)
        : impl_(impl),
          comm_(comm),
          wishes_(std::move(wishes)),
          mine_(wishes_[static_cast<std::size_t>(comm.rank())]),
          target_(target),
          values_(values) {}

    /// Everything before the first round. Not collective, though all ranks do the same.
    Status prepare() {
        return within_memory(impl_.path, "no memory to read together", [&]() -> Status {
            list_jobs();
            choose_owners(jobs_, comm_.size());
            choose_rounds();
            at_.resize(static_cast<std::size_t>(comm_.size()));
            return mine_.by_chunks ? read_own()
                                   : impl_.read(mine_.field, mine_.box, target_, values_, nullptr);
        });
    }

    /// @param status  of what this rank has done so far. Collective.
    Status go_round(Status status) {
        for (std::uint64_t round = 0; round < rounds_; ++round) {
            std::vector<Bytes> send;
            if (status.ok()) status = ready(round, send);
            if (Status s = agree_on(comm_, status); !s.ok()) return s;
            const auto received = comm_.alltoallv(send);
            if (!received.ok()) return received.status();
            place(round, *received);
        }
        return {};
    }

  private:
    bool is_alone(const Job& job) const {
        return job.wanted_by.size() == 1 && job.wanted_by[0] == job.owner;
    }
    const read::ChunkLayout& layout(const Job& job) const {
        return impl_.state.file_of(job.field).source->layout(
            impl_.state.listing.ways[job.field].dataset);
    }
    std::size_t value_bytes(const Job& job) const {
        return impl_.state.listing.fields[job.field].type.value_bytes();
    }
    /// What of a chunk goes to a rank that wants it.
    Box part_of(const Job& job, int rank) const {
        return *intersect(layout(job).inside(job.chunk),
                          wishes_[static_cast<std::size_t>(rank)].box);
    }
    std::size_t part_bytes(const Job& job, int rank) const {
        return part_of(job, rank).extent.count() * value_bytes(job);
    }

    /// Chunks that this rank alone wants.
    Status read_own() const {
        std::vector<std::uint64_t> chunks;
        for (const Job& job : jobs_)
            if (job.owner == comm_.rank() && is_alone(job)) chunks.push_back(job.chunk);
        if (chunks.empty()) return {};
        return impl_.read(mine_.field, mine_.box, target_, values_, &chunks);
    }

    void list_jobs() {
        std::map<std::pair<std::size_t, std::uint64_t>, std::vector<int>> wanted;
        for (int rank = 0; rank < comm_.size(); ++rank) {
            const Wish& wish = wishes_[static_cast<std::size_t>(rank)];
            if (!wish.any) continue;
            const read::TouchedChunks chunks(layout({.field = wish.field}), wish.box);
            for (std::uint64_t i = 0; i < chunks.count(); ++i)
                wanted[{wish.field, chunks[i]}].push_back(rank);
        }
        for (const auto& [key, ranks] : wanted) add_jobs(key.first, key.second, ranks);
    }

    /// As many as keep the parts of each within a round.
    void add_jobs(std::size_t field, std::uint64_t chunk, const std::vector<int>& ranks) {
        Job job{.field = field, .chunk = chunk};
        for (const int rank : ranks) {
            const std::uint64_t bytes = part_bytes(job, rank);
            if (job.part_bytes > 0 && job.part_bytes + bytes > impl_.options.round_bytes) {
                jobs_.push_back(std::move(job));
                job = {.field = field, .chunk = chunk};
            }
            job.wanted_by.push_back(rank);
            job.part_bytes += bytes;
        }
        jobs_.push_back(std::move(job));
    }

    void choose_rounds() {
        std::vector<std::uint64_t> bytes(static_cast<std::size_t>(comm_.size()), 0);
        std::vector<std::uint64_t> round(bytes.size(), 0);
        for (Job& job : jobs_) {
            if (is_alone(job)) continue;
            const auto owner = static_cast<std::size_t>(job.owner);
            if (bytes[owner] > 0 && bytes[owner] + job.part_bytes > impl_.options.round_bytes) {
                bytes[owner] = 0;
                ++round[owner];
            }
            bytes[owner] += job.part_bytes;
            job.round = round[owner];
            rounds_ = std::max(rounds_, job.round + 1);
        }
    }

    bool is_in(const Job& job, std::uint64_t round, int owner) const {
        return job.owner == owner && job.round == round && !is_alone(job);
    }

    bool comes_here(const Job& job, std::uint64_t round) const {
        const int me = comm_.rank();
        return job.owner != me && job.round == round && !is_alone(job) &&
               std::find(job.wanted_by.begin(), job.wanted_by.end(), me) != job.wanted_by.end();
    }

    /// What a round sends, and that there is memory for what it brings: the communicator takes as
    /// much in a moment.
    Status ready(std::uint64_t round, std::vector<Bytes>& send) {
        return within_memory(
            impl_.path, "no memory for a round of reading together", [&]() -> Status {
                if (Status s = decode(round, send); !s.ok()) return s;
                std::vector<Bytes> room(send.size());
                std::fill(at_.begin(), at_.end(), 0);
                for (const Job& job : jobs_)
                    if (comes_here(job, round))
                        at_[static_cast<std::size_t>(job.owner)] += part_bytes(job, comm_.rank());
                for (std::size_t rank = 0; rank < room.size(); ++rank)
                    room[rank].reserve(at_[rank]);
                return {};
            });
    }

    /// Decodes what this rank has in this round: parts for itself go to their places, those for
    /// others to messages.
    Status decode(std::uint64_t round, std::vector<Bytes>& send) const {
        const int me = comm_.rank();
        struct Part {
            int rank;
            std::size_t at;  // in its message
        };
        std::vector<const Job*> jobs;
        std::vector<std::vector<Part>> parts;
        /// Of each file: its chunks, and which jobs they are.
        struct OfFile {
            std::vector<read::Source::ChunkOf> chunks;
            std::vector<std::size_t> jobs;
        };
        std::vector<OfFile> files(impl_.state.files.size());
        std::vector<std::size_t> message_bytes(static_cast<std::size_t>(comm_.size()), 0);
        for (const Job& job : jobs_) {
            if (!is_in(job, round, me)) continue;
            jobs.push_back(&job);
            const read::Way& way = impl_.state.listing.ways[job.field];
            files[way.file].chunks.push_back({way.dataset, job.chunk});
            files[way.file].jobs.push_back(parts.size());
            parts.emplace_back();
            for (const int rank : job.wanted_by) {
                std::size_t& end = message_bytes[static_cast<std::size_t>(rank)];
                parts.back().push_back({rank, end});
                if (rank != me) end += part_bytes(job, rank);
            }
        }
        for (const std::size_t bytes : message_bytes) send.emplace_back(bytes);
        const auto hand_over = [&](std::size_t i, const Box& box, const std::byte* values) {
            for (const Part& part : parts[i]) {
                const Box which = part_of(*jobs[i], part.rank);
                const std::size_t bytes = value_bytes(*jobs[i]);
                if (part.rank == me)
                    read::copy_strided(which, box, values, mine_.box, target_, bytes);
                else
                    copy_box(which, box, values, which,
                             send[static_cast<std::size_t>(part.rank)].data() + part.at, bytes);
            }
        };
        for (std::size_t f = 0; f < files.size(); ++f) {
            const OfFile& of = files[f];
            if (of.chunks.empty()) continue;
            const Status status = impl_.state.files[f].source->each_chunk(
                of.chunks, impl_.read_options(),
                [&](std::size_t i, const Box& box, const std::byte* values) {
                    hand_over(of.jobs[i], box, values);
                });
            if (!status.ok()) return status;
        }
        return {};
    }

    void place(std::uint64_t round, const std::vector<Bytes>& received) {
        std::fill(at_.begin(), at_.end(), 0);
        for (const Job& job : jobs_) {
            if (!comes_here(job, round)) continue;
            const auto owner = static_cast<std::size_t>(job.owner);
            const Box part = part_of(job, comm_.rank());
            read::copy_strided(part, part, received[owner].data() + at_[owner], mine_.box, target_,
                               value_bytes(job));
            at_[owner] += part.extent.count() * value_bytes(job);
        }
    }

    const Reader::Impl& impl_;
    Communicator& comm_;
    std::vector<Wish> wishes_;
    const Wish mine_;
    const read::StridedArray target_;
    std::span<std::byte> values_;
    std::vector<Job> jobs_;        // by field and chunk
    std::vector<std::size_t> at_;  // in the message from each rank
    std::uint64_t rounds_ = 1;
};

}  // namespace

Status Reader::read_all(std::size_t field, const Box& box, std::span<std::byte> values,
                        const std::optional<Shape>& stride_bytes) try {
    if (impl_->comm == nullptr) return read(field, box, values, stride_bytes);
    if (Status here = impl_->check_process(); !here.ok()) return here;
    Communicator& comm = *impl_->comm;
    read::StridedArray target;
    Wish mine;
    std::vector<Wish> wishes;
    const Status usable = within_memory(impl_->path, "no memory to read together", [&]() -> Status {
        const auto strides = impl_->check(field, box, values.size(), stride_bytes);
        if (!strides.ok()) return strides.status();
        target = {values.data(), *strides};
        const bool by_chunks = impl_->state.listing.ways[field].kind == read::Way::Kind::chunks;
        mine = {by_chunks && box.extent.count() > 0, by_chunks, field, box};
        wishes.resize(static_cast<std::size_t>(comm.size()));
        return {};
    });
    if (Status s = agree_on(comm, usable); !s.ok()) return s;
    if (Status s = comm.allgather(std::as_bytes(std::span(&mine, 1)),
                                  std::as_writable_bytes(std::span(wishes)));
        !s.ok())
        return s;
    Together together(*impl_, comm, std::move(wishes), target, values);
    return together.go_round(together.prepare());
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space, impl_->path + ": no memory to read together"};
}

}  // namespace caesura
