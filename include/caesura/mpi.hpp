// A Communicator over MPI. Header-only, so that the library itself needs no MPI and one binary
// serves every MPI.
//
//     auto writer = caesura::Writer::create("run.h5", caesura::mpi(MPI_COMM_WORLD));
//
// Invariants:
//  - MPI is called only from the thread that calls the Communicator: MPI_THREAD_FUNNELED is enough.
//  - Works on a duplicate of the given communicator, whose errors are returned, not fatal.
//  - Messages may exceed 2 GiB; they travel in parts.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <string>

#include "caesura/base.hpp"

namespace caesura {

class MpiCommunicator final : public Communicator {
  public:
    /// Takes over `communicator` and frees it, unless MPI has been finalized by then.
    explicit MpiCommunicator(MPI_Comm communicator) : comm_(communicator) {
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &size_);
    }
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;
    ~MpiCommunicator() override {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (!finalized) MPI_Comm_free(&comm_);
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }

    Status barrier() override { return check(MPI_Barrier(comm_), "MPI_Barrier"); }

    Status broadcast(std::span<std::byte> data, int root) override {
        for (std::size_t done = 0; done < data.size(); done += k_part_bytes) {
            const Status status = check(
                MPI_Bcast(data.data() + done, part(data.size() - done), MPI_BYTE, root, comm_),
                "MPI_Bcast");
            if (!status.ok()) return status;
        }
        return {};
    }

    Status allgather(std::span<const std::byte> send, std::span<std::byte> receive) override {
        if (send.size() > static_cast<std::size_t>(INT_MAX))
            return {StatusCode::invalid_argument, "allgather: more than 2 GiB a rank"};
        const int bytes = static_cast<int>(send.size());
        return check(
            MPI_Allgather(send.data(), bytes, MPI_BYTE, receive.data(), bytes, MPI_BYTE, comm_),
            "MPI_Allgather");
    }

    Result<std::vector<Bytes>> allgatherv(std::span<const std::byte> send) override {
        auto sizes = gather_sizes(send.size());
        if (!sizes.ok()) return sizes.status();
        Layout layout;
        if (!layout.set(*sizes)) return too_large("allgatherv", *sizes);
        Bytes all(layout.total);
        const Status status =
            check(MPI_Allgatherv(send.data(), static_cast<int>(send.size()), MPI_BYTE, all.data(),
                                 layout.counts.data(), layout.offsets.data(), MPI_BYTE, comm_),
                  "MPI_Allgatherv");
        if (!status.ok()) return status;
        return layout.split(all);
    }

    Result<std::vector<Bytes>> gatherv(std::span<const std::byte> send, int root) override {
        auto sizes = gather_sizes(send.size());
        if (!sizes.ok()) return sizes.status();
        Layout layout;
        if (!layout.set(*sizes)) return too_large("gatherv", *sizes);
        Bytes all(rank_ == root ? layout.total : 0);
        const Status status =
            check(MPI_Gatherv(send.data(), static_cast<int>(send.size()), MPI_BYTE, all.data(),
                              layout.counts.data(), layout.offsets.data(), MPI_BYTE, root, comm_),
                  "MPI_Gatherv");
        if (!status.ok()) return status;
        return rank_ == root ? layout.split(all) : std::vector<Bytes>{};
    }

    Result<std::vector<Bytes>> alltoallv(std::span<const Bytes> send) override {
        std::vector<std::uint64_t> out(send.size()), in(send.size());
        std::transform(send.begin(), send.end(), out.begin(),
                       [](const Bytes& bytes) { return bytes.size(); });
        Status status =
            check(MPI_Alltoall(out.data(), 1, MPI_UINT64_T, in.data(), 1, MPI_UINT64_T, comm_),
                  "MPI_Alltoall");
        if (!status.ok()) return status;
        std::vector<Bytes> received(send.size());
        for (std::size_t r = 0; r < in.size(); ++r) received[r].resize(in[r]);
        // Point to point, because few ranks have anything to say to each other, and in parts,
        // because MPI counts are ints.
        std::vector<MPI_Request> requests;
        for (int peer = 0; peer < size_ && status.ok(); ++peer) {
            Bytes& target = received[static_cast<std::size_t>(peer)];
            for (std::size_t done = 0; done < target.size() && status.ok(); done += k_part_bytes)
                status = check(MPI_Irecv(target.data() + done, part(target.size() - done), MPI_BYTE,
                                         peer, k_tag, comm_, &requests.emplace_back()),
                               "MPI_Irecv");
        }
        for (int peer = 0; peer < size_ && status.ok(); ++peer) {
            const Bytes& source = send[static_cast<std::size_t>(peer)];
            for (std::size_t done = 0; done < source.size() && status.ok(); done += k_part_bytes)
                status = check(MPI_Isend(source.data() + done, part(source.size() - done), MPI_BYTE,
                                         peer, k_tag, comm_, &requests.emplace_back()),
                               "MPI_Isend");
        }
        if (!status.ok()) return status;
        status = check(
            MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
        if (!status.ok()) return status;
        return received;
    }

    Result<std::unique_ptr<Communicator>> node_local() override {
        MPI_Comm node = MPI_COMM_NULL;
        const Status status =
            check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
                  "MPI_Comm_split_type");
        if (!status.ok()) return status;
        return std::unique_ptr<Communicator>(std::make_unique<MpiCommunicator>(node));
    }

  private:
    static constexpr std::size_t k_part_bytes = std::size_t{1} << 30;
    static constexpr int k_tag = 7713;

    static int part(std::size_t left) { return static_cast<int>(std::min(left, k_part_bytes)); }

    // Where each rank's bytes lie in a gathered buffer; MPI's counts are ints.
    struct Layout {
        std::vector<int> counts, offsets;
        std::size_t total = 0;

        bool set(const std::vector<std::uint64_t>& sizes) {
            for (const std::uint64_t size : sizes) {
                if (total + size > static_cast<std::uint64_t>(INT_MAX)) return false;
                counts.push_back(static_cast<int>(size));
                offsets.push_back(static_cast<int>(total));
                total += size;
            }
            return true;
        }
        std::vector<Bytes> split(const Bytes& all) const {
            std::vector<Bytes> parts;
            for (std::size_t r = 0; r < counts.size(); ++r)
                parts.emplace_back(all.begin() + offsets[r], all.begin() + offsets[r] + counts[r]);
            return parts;
        }
    };

    Result<std::vector<std::uint64_t>> gather_sizes(std::uint64_t mine) {
        std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size_));
        const Status status =
            check(MPI_Allgather(&mine, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, comm_),
                  "MPI_Allgather");
        if (!status.ok()) return status;
        return sizes;
    }

    Status too_large(const char* call, const std::vector<std::uint64_t>& sizes) const {
        std::uint64_t total = 0;
        for (const std::uint64_t size : sizes) total += size;
        return {StatusCode::unsupported, std::string(call) + ": " + std::to_string(total) +
                                             " bytes over all ranks exceed MPI's 2 GiB"};
    }

    Status check(int code, const char* call) const {
        if (code == MPI_SUCCESS) return {};
        char text[MPI_MAX_ERROR_STRING];
        int length = 0;
        MPI_Error_string(code, text, &length);
        return {StatusCode::io, "rank " + std::to_string(rank_) + ": " + call + ": " +
                                    std::string(text, static_cast<std::size_t>(length))};
    }

    MPI_Comm comm_;
    int rank_ = 0;
    int size_ = 1;
};

/// What mpi() gives when MPI refuses: every call fails, so that Writer::create returns the reason
/// on this rank instead of taking it for a run of its own.
class RefusedCommunicator final : public Communicator {
  public:
    explicit RefusedCommunicator(std::string reason) : status_(StatusCode::io, std::move(reason)) {}
    int rank() const override { return 0; }
    int size() const override { return 1; }
    Status barrier() override { return status_; }
    Status broadcast(std::span<std::byte>, int) override { return status_; }
    Status allgather(std::span<const std::byte>, std::span<std::byte>) override { return status_; }
    Result<std::vector<Bytes>> allgatherv(std::span<const std::byte>) override { return status_; }
    Result<std::vector<Bytes>> gatherv(std::span<const std::byte>, int) override { return status_; }
    Result<std::vector<Bytes>> alltoallv(std::span<const Bytes>) override { return status_; }
    Result<std::unique_ptr<Communicator>> node_local() override { return status_; }

  private:
    Status status_;
};

/// Collective over `communicator`, which stays the caller's. Never null.
inline std::unique_ptr<Communicator> mpi(MPI_Comm communicator) {
    MPI_Comm duplicate = MPI_COMM_NULL;
    const int code = MPI_Comm_dup(communicator, &duplicate);
    if (code != MPI_SUCCESS)
        return std::make_unique<RefusedCommunicator>("MPI_Comm_dup failed with code " +
                                                     std::to_string(code));
    return std::make_unique<MpiCommunicator>(duplicate);
}

}  // namespace caesura
