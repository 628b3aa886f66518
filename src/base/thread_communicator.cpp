#include "base/thread_communicator.hpp"

#include <fmt/format.h>

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
    ThreadCommunicator(std::shared_ptr<Meeting> meeting, int rank)
        : meeting_(std::move(meeting)), rank_(rank) {}
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
    Result<std::uint64_t> exscan(std::uint64_t value) override {
        auto all = allgatherv(std::as_bytes(std::span(&value, 1)));
        if (!all.ok()) return all.status();
        std::uint64_t sum = 0;
        for (int r = 0; r < rank_; ++r) {
            std::uint64_t theirs = 0;
            std::memcpy(&theirs, (*all)[static_cast<std::size_t>(r)].data(), sizeof theirs);
            sum += theirs;
        }
        return sum;
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
        return Status{StatusCode::unsupported, "node_local of a ThreadCommunicator"};
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
    int rank_;
};

class FailingCommunicator final : public Communicator {
  public:
    FailingCommunicator(std::unique_ptr<Communicator> inner, int fail_at)
        : inner_(std::move(inner)), rank_(inner_->rank()), size_(inner_->size()), left_(fail_at) {}

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    Status barrier() override {
        if (!alive()) return failure();
        return inner_->barrier();
    }
    Status broadcast(std::span<std::byte> data, int root) override {
        if (!alive()) return failure();
        return inner_->broadcast(data, root);
    }
    Status allgather(std::span<const std::byte> send, std::span<std::byte> receive) override {
        if (!alive()) return failure();
        return inner_->allgather(send, receive);
    }
    Result<std::vector<Bytes>> allgatherv(std::span<const std::byte> send) override {
        if (!alive()) return failure();
        return inner_->allgatherv(send);
    }
    Result<std::vector<Bytes>> gatherv(std::span<const std::byte> send, int root) override {
        if (!alive()) return failure();
        return inner_->gatherv(send, root);
    }
    Result<std::uint64_t> exscan(std::uint64_t value) override {
        if (!alive()) return failure();
        return inner_->exscan(value);
    }
    Result<std::vector<Bytes>> alltoallv(std::span<const Bytes> send) override {
        if (!alive()) return failure();
        return inner_->alltoallv(send);
    }
    Result<std::unique_ptr<Communicator>> node_local() override {
        if (!alive()) return failure();
        return inner_->node_local();
    }

  private:
    // The failing rank leaves the group, so that the others are not left waiting.
    bool alive() {
        if (inner_ && left_-- > 0) return true;
        inner_.reset();
        return false;
    }
    Status failure() const { return {StatusCode::io, "injected communicator failure"}; }

    std::unique_ptr<Communicator> inner_;
    int rank_, size_;
    int left_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int size) {
    auto meeting = std::make_shared<Meeting>(size);
    std::vector<std::unique_ptr<Communicator>> ranks;
    for (int rank = 0; rank < size; ++rank)
        ranks.push_back(std::make_unique<ThreadCommunicator>(meeting, rank));
    return ranks;
}

void run_ranks(int size, const std::function<void(std::unique_ptr<Communicator>)>& body) {
    auto ranks = make_thread_communicators(size);
    std::vector<std::thread> threads;
    threads.reserve(ranks.size());
    for (auto& communicator : ranks)
        threads.emplace_back(
            [&body, mine = std::move(communicator)]() mutable { body(std::move(mine)); });
    for (auto& thread : threads) thread.join();
}

std::unique_ptr<Communicator> make_failing_communicator(std::unique_ptr<Communicator> inner,
                                                        int fail_at) {
    return std::make_unique<FailingCommunicator>(std::move(inner), fail_at);
}

}  // namespace caesura::base
