#include "device/cuda/link.hpp"

namespace caesura::device::cuda {
namespace {

constexpr std::size_t k_buffers = 4;

}  // namespace

// ------------------------------------------------------------------------------------------ Events

Events::~Events() {
    for (cudaEvent_t event : events_) (void)cudaEventDestroy(event);
}

Result<std::uint64_t> Events::record(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
        cudaEvent_t event = nullptr;
        const cudaError_t code = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        if (code != cudaSuccess) return status_of(code, "an event");
        free_.push_back(events_.size());
        events_.push_back(event);
    }
    const std::uint64_t number = free_.back();
    const cudaError_t code = cudaEventRecord(events_[number], stream);
    if (code != cudaSuccess) return status_of(code, "recording an event");
    free_.pop_back();
    return number;
}

cudaEvent_t Events::of(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return events_[number];
}

void Events::release(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    free_.push_back(number);
}

// -------------------------------------------------------------------------------------------- Link

Result<std::unique_ptr<Link>> Link::create(StagedLink::Direction direction, int ordinal,
                                           std::uint64_t staging_bytes) {
    std::unique_ptr<Link> link(new Link(ordinal));
    cudaError_t code = cudaStreamCreateWithFlags(&link->stream_, cudaStreamNonBlocking);
    if (code != cudaSuccess) return status_of(code, "a stream for the link");
    std::vector<std::span<std::byte>> spans;
    for (std::size_t i = 0; i < k_buffers; ++i) {
        Result<Pinned> buffer = Pinned::allocate(staging_bytes);
        if (!buffer.ok()) return buffer.status();
        spans.push_back(buffer->span());
        link->buffers_.push_back(*std::move(buffer));
        cudaEvent_t event = nullptr;  // whose wait sleeps
        code = cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming);
        if (code != cudaSuccess) return status_of(code, "an event for the link");
        link->moved_.push_back(event);
    }
    Mover& mover = *link;
    link->staged_ = std::make_unique<StagedLink>(direction, mover, std::move(spans));
    return link;
}

Link::~Link() {
    if (process_.is_forked()) {
        base::Process::leave(staged_);
        return;
    }
    const OnDevice on(ordinal_);
    staged_.reset();
    if (stream_ != nullptr) {
        (void)cudaStreamSynchronize(stream_);
        (void)cudaStreamDestroy(stream_);
    }
    for (cudaEvent_t event : moved_) (void)cudaEventDestroy(event);
}

Result<std::uint64_t> Link::give(cudaStream_t work, std::byte* device, std::byte* host,
                                 std::uint64_t bytes) {
    const Result<std::uint64_t> after = events_.record(work);
    if (!after.ok()) return after.status();
    const std::uint64_t number = staged_->give({device, host, bytes, *after});
    given_.push_back({number, device, bytes});
    return number;
}

Result<bool> Link::touches(const std::byte* memory, std::uint64_t bytes) {
    while (!given_.empty()) {
        const Result<bool> done = staged_->is_done(given_.front().number);
        if (!done.ok()) return done.status();
        if (!*done) break;
        given_.pop_front();
    }
    for (const Given& given : given_)
        if (given.device < memory + bytes && memory < given.device + given.bytes) return true;
    return false;
}

// -------------------------------------------------------------------- on the link's own thread

Status Link::enter() { return status_of(cudaSetDevice(ordinal_), "the link's thread"); }

Status Link::begin(std::uint64_t after) {
    Status status = status_of(cudaStreamWaitEvent(stream_, events_.of(after), 0),
                              "waiting for what a transfer follows");
    events_.release(after);
    return status;
}

Status Link::start(std::size_t number, std::byte* to, const std::byte* from, std::uint64_t bytes) {
    Status status =
        status_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "a transfer");
    if (!status.ok()) return status;
    return status_of(cudaEventRecord(moved_[number], stream_), "a transfer's event");
}

Status Link::wait(std::size_t number) {
    return status_of(cudaEventSynchronize(moved_[number]), "the end of a transfer");
}

bool Link::is_pinned(const std::byte* host) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, host) == cudaSuccess)
        return attributes.type == cudaMemoryTypeHost;
    (void)cudaGetLastError();  // it was only asked
    return false;
}

}  // namespace caesura::device::cuda
