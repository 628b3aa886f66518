#include <gtest/gtest.h>

#include <atomic>

#include "base/thread_communicator.hpp"

namespace caesura::base {
namespace {

std::span<const std::byte> as_bytes(const int& value) {
    return std::as_bytes(std::span(&value, 1));
}

// Goal: the thread group keeps the Communicator's contract for every call on 1 to 5 ranks.
TEST(ThreadCommunicator, carries_what_the_contract_says) {
    for (int size = 1; size <= 5; ++size) {
        std::atomic<int> good{0};
        run_ranks(size, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            bool fine = comm->barrier().ok();
            int word = rank == size - 1 ? 42 : 0;
            fine =
                fine && comm->broadcast(std::as_writable_bytes(std::span(&word, 1)), size - 1).ok();
            fine = fine && word == 42;
            std::vector<int> all(static_cast<std::size_t>(size), -1);
            fine = fine &&
                   comm->allgather(as_bytes(rank), std::as_writable_bytes(std::span(all))).ok();
            for (int r = 0; r < size; ++r) fine = fine && all[static_cast<std::size_t>(r)] == r;
            std::vector<Communicator::Bytes> send(static_cast<std::size_t>(size));
            for (int r = 0; r < size; ++r)
                send[static_cast<std::size_t>(r)].assign(static_cast<std::size_t>(rank + r),
                                                         static_cast<std::byte>(rank));
            auto got = comm->alltoallv(send);
            fine = fine && got.ok();
            for (int r = 0; fine && r < size; ++r)
                fine = (*got)[static_cast<std::size_t>(r)] ==
                       Communicator::Bytes(static_cast<std::size_t>(rank + r),
                                           static_cast<std::byte>(r));
            auto gathered = comm->gatherv(as_bytes(rank), 0);
            fine = fine && gathered.ok() &&
                   gathered->size() == static_cast<std::size_t>(rank == 0 ? size : 0);
            good += fine;
            (void)comm->barrier();  // nobody leaves while others still read
        });
        EXPECT_EQ(good.load(), size) << "on " << size << " ranks";
    }
}

TEST(ThreadCommunicator, a_rank_that_leaves_is_an_error_not_a_hang) {
    std::atomic<int> errors{0};
    run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
        if (comm->rank() == 1) return;
        if (!comm->barrier().ok()) ++errors;
    });
    EXPECT_EQ(errors.load(), 2);
}

}  // namespace
}  // namespace caesura::base
