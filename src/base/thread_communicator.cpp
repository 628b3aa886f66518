#include "base/thread_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

namespace caesura::base {
namespace {

// A slot per rank; a call is: put mine, meet, read theirs, meet.
struct Meeting {
    explicit Meeting(int n) : size(n), slots(static_cast<std::size_t>(n)) {}

    // False when somebody has left: then nobody can meet any more.
    bool meet() {
        std::unique_lock lock(mutex);
        if (left) return false;
        const std::uint64_t mine = round;
        if (++arrived == size) {
            arrived = 0;
            ++round;
            changed.notify_all();
            return true;
        }
        changed.wait(lock, [&] { return round != mine || left; });
        return round != mine;
    }

    void leave() {
        const std::lock_guard lock(mutex);
        left = true;
        changed.notify_all();
    }

    const int size;
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0;
    std::uint64_t round = 0;
    bool left = false;
    std::vector<std::span<const Communicator::Bytes>> slots;
};

class ThreadCommunicator final : public Communicator {
  public:
    ThreadCommunicator(std::shared_ptr<Meeting> meeting, int rank, int ranks_per_node)
        : meeting_(std::move(meeting)), rank_(rank), ranks_per_node_(ranks_per_node) {}
    ~ThreadCommunicator() override { meeting_->leave(); }

    int rank() const override { return rank_; }
    int size() const override { return meeting_->size; }

    Status barrier() override {
        return exchange({}, [](const auto&) {});
    }
    Status broadcast(std::span<std::byte> data, int root) override {
        const Bytes mine(data.begin(), data.end());
        return exchange({&mine, 1}, [&](const auto& slots) {
            const Bytes& theirs = slots[static_cast<std::size_t>(root)][0];
            if (!data.empty()) std::memcpy(data.data(), theirs.data(), data.size());
        });
    }
    Status allgather(std::span<const std::byte> send, std::span<std::byte> receive) override {
        auto all = allgatherv(send);
        if (!all.ok()) return all.status();
        std::size_t at = 0;
        for (const Bytes& part : *all) {
            if (at + part.size() > receive.size())
                return {StatusCode::invalid_argument, "allgather: lengths differ between ranks"};
            if (!part.empty()) std::memcpy(receive.data() + at, part.data(), part.size());
            at += part.size();
        }
        return {};
    }
    Result<std::vector<Bytes>> allgatherv(std::span<const std::byte> send) override {
        const Bytes mine(send.begin(), send.end());
        std::vector<Bytes> all;
        const Status status = exchange({&mine, 1}, [&](const auto& slots) {
            for (const auto& slot : slots) all.push_back(slot[0]);
        });
        if (!status.ok()) return status;
        return all;
    }
    Result<std::vector<Bytes>> gatherv(std::span<const std::byte> send, int root) override {
        auto all = allgatherv(send);
        if (all.ok() && root != rank_) return std::vector<Bytes>{};
        return all;
    }
    Result<std::vector<Bytes>> alltoallv(std::span<const Bytes> send) override {
        std::vector<Bytes> mine;
        const Status status = exchange(send, [&](const auto& slots) {
            for (const auto& slot : slots) mine.push_back(slot[static_cast<std::size_t>(rank_)]);
        });
        if (!status.ok()) return status;
        return mine;
    }
    Result<std::unique_ptr<Communicator>> node_local() override {
        if (ranks_per_node_ == 0)
            return Status{StatusCode::unsupported, "these ranks do not know their nodes"};
        // A node's first rank makes its meeting; its address travels like any other bytes.
        const int first = rank_ / ranks_per_node_ * ranks_per_node_;
        const int ranks = std::min(ranks_per_node_, size() - first);
        std::shared_ptr<Meeting> node;
        if (rank_ == first) node = std::make_shared<Meeting>(ranks);
        const std::shared_ptr<Meeting>* address = &node;
        const auto raw = std::as_bytes(std::span(&address, 1));
        const Bytes mine(raw.begin(), raw.end());
        const Status status = exchange({&mine, 1}, [&](const auto& slots) {
            std::memcpy(&address, slots[static_cast<std::size_t>(first)][0].data(), sizeof address);
            if (rank_ != first) node = *address;
        });
        if (!status.ok()) return status;
        return std::unique_ptr<Communicator>(
            std::make_unique<ThreadCommunicator>(std::move(node), rank_ - first, ranks));
    }

  private:
    template <class Read>
    Status exchange(std::span<const Bytes> mine, Read read) {
        meeting_->slots[static_cast<std::size_t>(rank_)] = mine;
        if (!meeting_->meet()) return gone();
        read(meeting_->slots);
        if (!meeting_->meet()) return gone();
        return {};
    }
    Status gone() const {
        return {StatusCode::io, fmt::format("rank {}: another rank has left the group", rank_)};
    }

    std::shared_ptr<Meeting> meeting_;
    int rank_, ranks_per_node_;
};

// One rank and the groups it is in: it fails in all of them at once.
struct Failing {
    int left = 0;  // calls until then
    std::vector<std::unique_ptr<Communicator>> groups;
};

class FailingCommunicator final : public Communicator {
  public:
    FailingCommunicator(std::shared_ptr<Failing> state, std::size_t group)
        : state_(std::move(state)),
          group_(group),
          rank_(state_->groups[group]->rank()),
          size_(state_->groups[group]->size()) {}

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    Status barrier() override {
        if (!alive()) return failure();
        return inner().barrier();
    }
    Status broadcast(std::span<std::byte> data, int root) override {
        if (!alive()) return failure();
        return inner().broadcast(data, root);
    }
    Status allgather(std::span<const std::byte> send, std::span<std::byte> receive) override {
        if (!alive()) return failure();
        return inner().allgather(send, receive);
    }
    Result<std::vector<Bytes>> allgatherv(std::span<const std::byte> send) override {
        if (!alive()) return failure();
        return inner().allgatherv(send);
    }
    Result<std::vector<Bytes>> gatherv(std::span<const std::byte> send, int root) override {
        if (!alive()) return failure();
        return inner().gatherv(send, root);
    }
    Result<std::vector<Bytes>> alltoallv(std::span<const Bytes> send) override {
        if (!alive()) return failure();
        return inner().alltoallv(send);
    }
    Result<std::unique_ptr<Communicator>> node_local() override {
        if (!alive()) return failure();
        auto node = inner().node_local();
        if (!node.ok()) return node;
        state_->groups.push_back(std::move(*node));
        return std::unique_ptr<Communicator>(
            std::make_unique<FailingCommunicator>(state_, state_->groups.size() - 1));
    }

  private:
    Communicator& inner() { return *state_->groups[group_]; }
    // The failing rank leaves its groups, so that the others are not left waiting.
    bool alive() {
        if (!state_->groups.empty() && state_->left-- > 0) return true;
        state_->groups.clear();
        return false;
    }
    Status failure() const { return {StatusCode::io, "injected communicator failure"}; }

    std::shared_ptr<Failing> state_;
    std::size_t group_;
    int rank_, size_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int size, int ranks_per_node) {
    if (ranks_per_node == k_one_node) ranks_per_node = size;
    auto meeting = std::make_shared<Meeting>(size);
    std::vector<std::unique_ptr<Communicator>> ranks;
    for (int rank = 0; rank < size; ++rank)
        ranks.push_back(std::make_unique<ThreadCommunicator>(meeting, rank, ranks_per_node));
    return ranks;
}

void run_ranks(int size, const std::function<void(std::unique_ptr<Communicator>)>& body,
               int ranks_per_node) {
    auto ranks = make_thread_communicators(size, ranks_per_node);
    std::vector<std::thread> threads;
    threads.reserve(ranks.size());
    for (auto& communicator : ranks)
        threads.emplace_back(
            [&body, mine = std::move(communicator)]() mutable { body(std::move(mine)); });
    for (auto& thread : threads) thread.join();
}

std::unique_ptr<Communicator> make_failing_communicator(std::unique_ptr<Communicator> inner,
                                                        int fail_at) {
    auto state = std::make_shared<Failing>();
    state->left = fail_at;
    state->groups.push_back(std::move(inner));
    return std::make_unique<FailingCommunicator>(std::move(state), 0);
}

}  // namespace caesura::base
