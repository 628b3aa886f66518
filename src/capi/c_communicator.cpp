#include "capi/c_communicator.hpp"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

namespace caesura::capi {
namespace {

// How many ranks the node has, and no more: the table cannot split.
class NodeSize final : public Communicator {
  public:
    explicit NodeSize(int size) : size_(size) {}
    int rank() const override { return 0; }
    int size() const override { return size_; }
    Status barrier() override { return cannot(); }
    Status broadcast(std::span<std::byte>, int) override { return cannot(); }
    Status allgather(std::span<const std::byte>, std::span<std::byte>) override { return cannot(); }
    Result<std::vector<Bytes>> allgatherv(std::span<const std::byte>) override { return cannot(); }
    Result<std::vector<Bytes>> gatherv(std::span<const std::byte>, int) override {
        return cannot();
    }
    Result<std::vector<Bytes>> alltoallv(std::span<const Bytes>) override { return cannot(); }
    Result<std::unique_ptr<Communicator>> node_local() override { return cannot(); }

  private:
    static Status cannot() {
        return {StatusCode::unsupported,
                "the communicator says how many ranks a node has, "
                "but has no calls among them"};
    }
    int size_;
};

class CCommunicator final : public Communicator {
  public:
    explicit CCommunicator(const caesura_communicator& table) : table_(table) {}
    CCommunicator(const CCommunicator&) = delete;
    CCommunicator& operator=(const CCommunicator&) = delete;
    ~CCommunicator() override {
        if (table_.destroy) table_.destroy(table_.context);
    }

    int rank() const override { return table_.rank; }
    int size() const override { return table_.size; }
    Status barrier() override { return check(table_.barrier(table_.context), "barrier"); }
    Status broadcast(std::span<std::byte> data, int root) override {
        return check(table_.broadcast(table_.context, data.data(), data.size(), root), "broadcast");
    }
    Status allgather(std::span<const std::byte> send, std::span<std::byte> receive) override {
        return check(table_.allgather(table_.context, send.data(), send.size(), receive.data()),
                     "allgather");
    }

    Result<std::vector<Bytes>> allgatherv(std::span<const std::byte> send) override {
        const std::size_t mine = send.size();
        std::vector<std::size_t> counts(ranks());
        Status status = allgather(std::as_bytes(std::span(&mine, 1)),
                                  std::as_writable_bytes(std::span(counts)));
        if (!status.ok()) return status;
        const auto offsets = offsets_of(counts);
        Bytes all(offsets.back() + counts.back());
        status = check(table_.allgatherv(table_.context, send.data(), send.size(), all.data(),
                                         counts.data(), offsets.data()),
                       "allgatherv");
        if (!status.ok()) return status;
        return split(all, counts, offsets);
    }
    Result<std::vector<Bytes>> gatherv(std::span<const std::byte> send, int root) override {
        // The table has no gather, to stay short; root keeps what the others drop.
        auto all = allgatherv(send);
        if (all.ok() && root != rank()) return std::vector<Bytes>{};
        return all;
    }
    Result<std::vector<Bytes>> alltoallv(std::span<const Bytes> send) override {
        std::vector<std::size_t> out(ranks()), in(ranks()), ones(ranks(), sizeof(std::size_t));
        for (std::size_t r = 0; r < out.size(); ++r) out[r] = send[r].size();
        const auto steps = offsets_of(ones);
        Status status = check(table_.alltoallv(table_.context, out.data(), ones.data(),
                                               steps.data(), in.data(), ones.data(), steps.data()),
                              "alltoallv");
        if (!status.ok()) return status;
        const auto out_offsets = offsets_of(out), in_offsets = offsets_of(in);
        Bytes packed, received(in_offsets.back() + in.back());
        for (const Bytes& part : send) packed.insert(packed.end(), part.begin(), part.end());
        status =
            check(table_.alltoallv(table_.context, packed.data(), out.data(), out_offsets.data(),
                                   received.data(), in.data(), in_offsets.data()),
                  "alltoallv");
        if (!status.ok()) return status;
        return split(received, in, in_offsets);
    }
    Result<std::unique_ptr<Communicator>> node_local() override {
        if (table_.ranks_on_node <= 0)
            return Status{StatusCode::unsupported, "ranks_on_node is not given"};
        return std::unique_ptr<Communicator>(std::make_unique<NodeSize>(table_.ranks_on_node));
    }

  private:
    std::size_t ranks() const { return static_cast<std::size_t>(table_.size); }

    static std::vector<std::size_t> offsets_of(const std::vector<std::size_t>& counts) {
        std::vector<std::size_t> offsets(counts.size());
        std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), std::size_t{0});
        return offsets;
    }
    static std::vector<Bytes> split(const Bytes& all, const std::vector<std::size_t>& counts,
                                    const std::vector<std::size_t>& offsets) {
        std::vector<Bytes> parts;
        for (std::size_t r = 0; r < counts.size(); ++r)
            parts.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(offsets[r]),
                               all.begin() + static_cast<std::ptrdiff_t>(offsets[r] + counts[r]));
        return parts;
    }
    Status check(int code, const char* call) const {
        if (code == 0) return {};
        return {StatusCode::io,
                fmt::format("rank {}: the communicator's {} failed with {}", rank(), call, code)};
    }

    caesura_communicator table_;
};

}  // namespace

Result<std::unique_ptr<Communicator>> make_c_communicator(const caesura_communicator& table) {
    if (!table.barrier || !table.broadcast || !table.allgather || !table.allgatherv ||
        !table.alltoallv)
        return Status{StatusCode::invalid_argument, "a function of the communicator is NULL"};
    if (table.size < 1 || table.rank < 0 || table.rank >= table.size)
        return Status{StatusCode::invalid_argument,
                      fmt::format("communicator: rank {} of {}", table.rank, table.size)};
    return std::unique_ptr<Communicator>(std::make_unique<CCommunicator>(table));
}

}  // namespace caesura::capi
