// One direction of a GPU's link: a stream of its own, pinned buffers, and the thread of StagedLink.
#pragma once

#include <mutex>

#include "base/process.hpp"
#include "device/cuda/calls.hpp"
#include "device/staged_link.hpp"

namespace caesura::device::cuda {

/// Events that are used again and again, by two threads.
class Events {
  public:
    ~Events();
    /// One that was recorded in `stream`, as a number that release() knows.
    Result<std::uint64_t> record(cudaStream_t stream);
    cudaEvent_t of(std::uint64_t number);
    void release(std::uint64_t number);

  private:
    std::mutex mutex_;
    std::vector<cudaEvent_t> events_;
    std::vector<std::uint64_t> free_;
};

class Link : private Mover {
  public:
    static Result<std::unique_ptr<Link>> create(StagedLink::Direction direction, int ordinal,
                                                std::uint64_t staging_bytes);
    ~Link() override;

    /// Begins when what was given to `work` so far is done. @return its number, from 1.
    Result<std::uint64_t> give(cudaStream_t work, std::byte* device, std::byte* host,
                               std::uint64_t bytes);
    /// Does a transfer that is not done touch this memory? Errors: those of the link.
    Result<bool> touches(const std::byte* memory, std::uint64_t bytes);
    StagedLink& staged() { return *staged_; }

  private:
    struct Given {
        std::uint64_t number = 0;
        const std::byte* device = nullptr;
        std::uint64_t bytes = 0;
    };
    explicit Link(int ordinal) : ordinal_(ordinal) {}
    Status enter() override;
    Status begin(std::uint64_t after) override;
    Status start(std::size_t number, std::byte* to, const std::byte* from,
                 std::uint64_t bytes) override;
    Status wait(std::size_t number) override;
    bool is_pinned(const std::byte* host) override;

    const base::Process process_;
    int ordinal_;
    cudaStream_t stream_ = nullptr;
    Events events_;
    std::vector<Pinned> buffers_;
    std::vector<cudaEvent_t> moved_;      ///< [buffers_]
    std::deque<Given> given_;             ///< not known to be done
    std::unique_ptr<StagedLink> staged_;  // last: its thread uses all of the above
};

}  // namespace caesura::device::cuda
