// Collective reading: each chunk is read and decoded by one rank, and its parts go to whom they
// concern; by several ranks, each for some, if so many want it that its parts fill a round.
//
// Invariants:
//  - Every rank draws up the same list of chunks, owners and rounds from what all ranks want, so no
//    message says what it holds.
//  - A chunk that its owner alone wants is decoded to where it belongs, outside of the rounds.
//  - An error of one rank is in its messages of the next round, so that all ranks stop after it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>

#include "base/wire.hpp"
#include "read/chunk_layout.hpp"
#include "read/reader_impl.hpp"
#include "read/strided.hpp"

namespace caesura {
namespace {

using Bytes = Communicator::Bytes;

/// What a rank wants that is read by chunks.
struct Wish {
    bool any = false;
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

Result<std::vector<Wish>> exchange(Communicator& comm, const Wish& mine) {
    base::Packer packer;
    packer.put(mine.any);
    packer.put(static_cast<std::uint64_t>(mine.field));
    packer.put(mine.box.offset);
    packer.put(mine.box.extent);
    const auto all = comm.allgatherv(packer.bytes());
    if (!all.ok()) return all.status();
    std::vector<Wish> wishes;
    for (const Bytes& theirs : *all) {
        base::Unpacker unpacker(theirs);
        Wish wish;
        wish.any = unpacker.get<bool>();
        wish.field = static_cast<std::size_t>(unpacker.get<std::uint64_t>());
        wish.box.offset = unpacker.get<Shape>();
        wish.box.extent = unpacker.get<Shape>();
        wishes.push_back(wish);
    }
    return wishes;
}

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
          values_(values) {
        list_jobs();
        choose_owners(jobs_, comm.size());
        choose_rounds();
    }

    /// Chunks that this rank alone wants.
    Status read_own() const {
        std::vector<std::uint64_t> chunks;
        for (const Job& job : jobs_)
            if (job.owner == comm_.rank() && is_alone(job)) chunks.push_back(job.chunk);
        if (chunks.empty()) return {};
        return impl_.read(mine_.field, mine_.box, target_, values_, &chunks);
    }

    /// @param status  of what this rank has done so far. Collective.
    Status go_round(Status status) {
        for (std::uint64_t round = 0; round < rounds_; ++round) {
            std::vector<Bytes> send;
            if (status.ok()) status = decode(round, send);
            if (!status.ok()) send = all_the_same(status);
            auto received = comm_.alltoallv(send);
            if (!received.ok()) return received.status();
            if (Status s = error_in(*received); !s.ok()) return s;
            place(round, *received);
        }
        return {};
    }

  private:
    static constexpr std::size_t k_head_bytes = sizeof(StatusCode);

    bool is_alone(const Job& job) const {
        return job.wanted_by.size() == 1 && job.wanted_by[0] == job.owner;
    }
    const read::ChunkLayout& layout(const Job& job) const {
        return impl_.state.source->layout(impl_.state.listing.ways[job.field].dataset);
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

    /// Decodes what this rank has in this round: parts for itself go to their places, those for
    /// others to messages.
    Status decode(std::uint64_t round, std::vector<Bytes>& send) const try {
        const int me = comm_.rank();
        struct Part {
            int rank;
            std::size_t at;  // in its message
        };
        std::vector<const Job*> jobs;
        std::vector<read::Source::ChunkOf> chunks;
        std::vector<std::vector<Part>> parts;
        std::vector<std::size_t> message_bytes(static_cast<std::size_t>(comm_.size()),
                                               k_head_bytes);
        for (const Job& job : jobs_) {
            if (!is_in(job, round, me)) continue;
            jobs.push_back(&job);
            chunks.push_back({impl_.state.listing.ways[job.field].dataset, job.chunk});
            parts.emplace_back();
            for (const int rank : job.wanted_by) {
                std::size_t& end = message_bytes[static_cast<std::size_t>(rank)];
                parts.back().push_back({rank, end});
                if (rank != me) end += part_bytes(job, rank);
            }
        }
        for (const std::size_t bytes : message_bytes) send.emplace_back(bytes);  // head: ok
        return impl_.state.source->each_chunk(
            chunks, impl_.read_options(),
            [&](std::size_t i, const Box& box, const std::byte* values) {
                for (const Part& part : parts[i]) {
                    const Box which = part_of(*jobs[i], part.rank);
                    const std::size_t bytes = value_bytes(*jobs[i]);
                    if (part.rank == me)
                        read::copy_strided(which, box, values, mine_.box, target_, bytes);
                    else
                        copy_box(which, box, values, which,
                                 send[static_cast<std::size_t>(part.rank)].data() + part.at, bytes);
                }
            });
    } catch (const std::bad_alloc&) {
        return {StatusCode::no_space, impl_.path + ": no memory to decode for other ranks"};
    }

    std::vector<Bytes> all_the_same(const Status& status) const {
        base::Packer packer;
        packer.put(status.code());
        packer.put(status.message());
        return std::vector<Bytes>(static_cast<std::size_t>(comm_.size()), packer.bytes());
    }

    Status error_in(const std::vector<Bytes>& received) const {
        for (std::size_t rank = 0; rank < received.size(); ++rank) {
            base::Unpacker unpacker(received[rank]);
            const auto code = unpacker.get<StatusCode>();
            if (code != StatusCode::ok)
                return {code, fmt::format("rank {}: {}", rank, unpacker.get_string())};
        }
        return {};
    }

    void place(std::uint64_t round, const std::vector<Bytes>& received) const {
        const int me = comm_.rank();
        std::vector<std::size_t> at(received.size(), k_head_bytes);
        for (const Job& job : jobs_) {
            const auto owner = static_cast<std::size_t>(job.owner);
            const bool wanted =
                std::find(job.wanted_by.begin(), job.wanted_by.end(), me) != job.wanted_by.end();
            if (!wanted || job.owner == me || !is_in(job, round, job.owner)) continue;
            const Box part = part_of(job, me);
            read::copy_strided(part, part, received[owner].data() + at[owner], mine_.box, target_,
                               value_bytes(job));
            at[owner] += part.extent.count() * value_bytes(job);
        }
    }

    const Reader::Impl& impl_;
    Communicator& comm_;
    std::vector<Wish> wishes_;
    const Wish mine_;
    const read::StridedArray target_;
    std::span<std::byte> values_;
    std::vector<Job> jobs_;  // by field and chunk
    std::uint64_t rounds_ = 1;
};

}  // namespace

Status Reader::read_all(std::size_t field, const Box& box, std::span<std::byte> values,
                        const std::optional<Shape>& stride_bytes) try {
    if (impl_->comm == nullptr) return read(field, box, values, stride_bytes);
    Communicator& comm = *impl_->comm;
    const auto strides = impl_->check(field, box, values.size(), stride_bytes);
    if (Status s = agree_on(comm, strides.status()); !s.ok()) return s;
    const read::StridedArray target{values.data(), *strides};
    const bool by_chunks = impl_->state.listing.ways[field].kind == read::Way::Kind::chunks;
    const auto wishes = exchange(comm, {by_chunks && box.extent.count() > 0, field, box});
    if (!wishes.ok()) return wishes.status();
    Together together(*impl_, comm, *wishes, target, values);
    return together.go_round(by_chunks ? together.read_own()
                                       : impl_->read(field, box, target, values, nullptr));
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space, impl_->path + ": no memory to read together"};
}

}  // namespace caesura
