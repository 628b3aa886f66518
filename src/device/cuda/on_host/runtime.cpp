// The calls of CUDA's runtime that Caesura makes (on_host.hpp).
#include <chrono>
#include <cstring>
#include <utility>

#include "device/cuda/on_host/state.hpp"

namespace caesura::device::on_host {
namespace {

thread_local int t_device = 0;
thread_local cudaError_t t_last_error = cudaSuccess;

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// What is to be returned before anything is done.
cudaError_t code_of_call() {
    State& all = state();
    ++all.calls;
    const bool counts =
        all.failing_thread == std::thread::id() || all.failing_thread == std::this_thread::get_id();
    if (counts && all.calls_to_failure > 0 && --all.calls_to_failure == 0) return all.call_code;
    return all.lost;
}

enum class Effect { makes, destroys };

/// One call of CUDA: errors that are to come, and what every call does with its own.
template <class Body>
cudaError_t call(Body&& body, Effect effect = Effect::makes) {
    Lock lock(state().mutex);
    cudaError_t code = code_of_call();
    if (code == cudaSuccess || effect == Effect::destroys) {
        const cudaError_t own = body(lock);
        if (code == cudaSuccess) code = own;
        if (code == cudaSuccess) code = state().lost;
    }
    if (code != cudaSuccess && code != cudaErrorNotReady) t_last_error = code;
    return code;
}

template <class Handle>
Handle new_handle() {
    return reinterpret_cast<Handle>(std::uintptr_t{0x10000} + 16 * ++state().handles);
}

bool is_device(int ordinal) { return ordinal >= 0 && ordinal < state().options.devices; }

// ------------------------------------------------------------------------------------------ copies

/// One side of a copy.
struct Side {
    std::shared_ptr<Piece> piece;  ///< of the device, or null
    PinnedMap::iterator pinned;    ///< or the end
    bool is_pageable() const { return !piece && pinned == state().pinned.end(); }
};

Side side_of(const void* memory, std::uint64_t bytes) {
    return {piece_of(memory, bytes), pinned_of(memory, bytes)};
}

bool fits(const Side& side, const void* memory, bool of_device, cudaMemcpyKind kind,
          std::uint64_t bytes) {
    const bool wrong = kind != cudaMemcpyDefault && of_device != (side.piece != nullptr);
    if (!wrong && (side.piece || !in_device(memory))) return true;
    fault("a copy of " + std::to_string(bytes) + " bytes " +
          (wrong ? "of the wrong kind" : "beyond what is allocated in a device"));
    return false;
}

/// On the stream's thread.
void check_piece(const std::shared_ptr<Piece>& piece, std::uint64_t bytes) {
    if (!piece || (piece->is_here && !piece->is_gone)) return;
    fault("a copy of " + std::to_string(bytes) + " bytes touches memory of a device " +
          (piece->is_gone ? "after its stream freed it" : "before its stream has allocated it"));
}

cudaError_t copy(Lock& lock, void* to, const void* from, std::uint64_t bytes, cudaMemcpyKind kind,
                 Queue& queue) {
    if (bytes == 0) return cudaSuccess;
    const Side into = side_of(to, bytes), out = side_of(from, bytes);
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (!fits(into, to, to_device, kind, bytes) || !fits(out, from, from_device, kind, bytes))
        return cudaErrorInvalidValue;
    std::shared_ptr<std::vector<std::byte>> staged;
    if (out.is_pageable()) {  // CUDA stages it, and may wait for the stream before it does
        if (state().random() % 2 == 0) wait_for(lock, queue.last());
        const auto* const begin = static_cast<const std::byte*>(from);
        staged = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
    }
    Operation operation;
    operation.can_fail = true;
    operation.run = [=, here = into.piece, there = out.piece] {
        {
            const Lock checking(state().mutex);
            check_piece(here, bytes);
            check_piece(there, bytes);
        }
        std::memcpy(to, staged ? staged->data() : from, bytes);
    };
    const auto end = state().pinned.end();
    for (const auto& pinned : {into.pinned, out.pinned})
        if (pinned != end) ++pinned->second.users;
    operation.finish = [=, a = into.pinned, b = out.pinned] {
        for (const auto& pinned : {a, b})
            if (pinned != end) --pinned->second.users;
    };
    const Point done = give_to(queue, std::move(operation));
    if (into.is_pageable()) wait_for(lock, done);
    return cudaSuccess;
}

cudaError_t fill(void* to, int value, std::uint64_t bytes, Queue& queue) {
    const std::shared_ptr<Piece> piece = piece_of(to, bytes);
    if (!piece) return cudaErrorInvalidValue;
    (void)give_to(queue, {[=] { std::memset(to, value, bytes); }, {}, {}, true});
    return cudaSuccess;
}

void wait_for_all(Lock& lock, int device) {
    std::vector<Point> points = {state().defaults[static_cast<std::size_t>(device)]->last()};
    for (const auto& [handle, queue] : state().streams)
        if (queue->device() == device) points.push_back(queue->last());
    for (const Point& point : points) wait_for(lock, point);
}

}  // namespace

// ---------------------------------------------------------------------------------------- the
// state

State& state() {
    static State all;
    return all;
}

void fault(std::string what) { state().faults.push_back(std::move(what)); }

int current_device() { return t_device; }

Queue* queue_of(cudaStream_t stream) {
    State& all = state();
    if (stream == nullptr || stream == cudaStreamLegacy)
        return all.defaults[static_cast<std::size_t>(t_device)].get();
    const auto found = all.streams.find(stream);
    if (found != all.streams.end()) return found->second.get();
    fault("a stream that does not exist");
    return nullptr;
}

void begin(const Options& options) {
    State& all = state();
    decltype(all.streams) streams;
    decltype(all.defaults) defaults, destroyed;
    {
        const Lock lock(all.mutex);
        streams.swap(all.streams);
        defaults.swap(all.defaults);
        destroyed.swap(all.destroyed);
    }
    streams.clear();  // without the lock, which their threads need
    defaults.clear();
    destroyed.clear();
    t_device = 0;
    t_last_error = cudaSuccess;
    const Lock lock(all.mutex);
    all.options = options;
    all.random.seed(options.seed);
    all.faults.clear();
    all.calls = all.operations = all.calls_to_failure = all.operations_to_failure = 0;
    all.lost = cudaSuccess;
    all.events.clear();
    all.pools.clear();
    for (const auto& [memory, pinned] : all.pinned) ::operator delete(memory);
    all.pinned.clear();
    all.arenas.clear();
    for (int device = 0; device < options.devices; ++device) {
        all.arenas.push_back(std::make_unique<Arena>(options.memory_bytes));
        all.defaults.push_back(std::make_unique<Queue>(device, true, all.random()));
    }
}

std::vector<std::string> take_faults() {
    const Lock lock(state().mutex);
    return std::exchange(state().faults, {});
}

Left left() {
    State& all = state();
    const Lock lock(all.mutex);
    Left left;
    for (const auto& arena : all.arenas)
        for (const auto& [memory, piece] : arena->pieces) {
            ++left.device_pieces;
            left.device_bytes += piece->bytes;
        }
    left.pools = all.pools.size();
    left.pinned = all.pinned.size();
    left.streams = all.streams.size();
    left.events = all.events.size();
    return left;
}

void fail_call(std::uint64_t nth, cudaError_t code) {
    const Lock lock(state().mutex);
    state().calls_to_failure = nth;
    state().call_code = code;
    state().failing_thread = {};
}
void fail_call_of_this_thread(std::uint64_t nth, cudaError_t code) {
    fail_call(nth, code);
    const Lock lock(state().mutex);
    state().failing_thread = std::this_thread::get_id();
}
std::uint64_t calls() {
    const Lock lock(state().mutex);
    return state().calls;
}
void fail_operation(std::uint64_t nth, cudaError_t code) {
    const Lock lock(state().mutex);
    state().operations_to_failure = nth;
    state().operation_code = code;
}
std::uint64_t operations() {
    const Lock lock(state().mutex);
    return state().operations;
}

cudaError_t give(cudaStream_t stream, std::function<void()> work) {
    return call([&](Lock&) -> cudaError_t {
        Queue* const queue = queue_of(stream);
        // A kernel goes to a stream of the current device only.
        if (queue == nullptr || queue->device() != t_device) return cudaErrorInvalidResourceHandle;
        (void)give_to(*queue, {std::move(work), {}, {}, true});
        return cudaSuccess;
    });
}

}  // namespace caesura::device::on_host

using namespace caesura::device::on_host;

extern "C" {

// --------------------------------------------------------------------------------- errors, devices

cudaError_t cudaGetLastError() { return std::exchange(t_last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return t_last_error; }
const char* cudaGetErrorName(cudaError_t code) {
    switch (code) {
        case cudaSuccess:
            return "cudaSuccess";
        case cudaErrorInvalidValue:
            return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation:
            return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidResourceHandle:
            return "cudaErrorInvalidResourceHandle";
        case cudaErrorIllegalAddress:
            return "cudaErrorIllegalAddress";
        case cudaErrorNoDevice:
            return "cudaErrorNoDevice";
        case cudaErrorInvalidDevice:
            return "cudaErrorInvalidDevice";
        default:
            return "an error of CUDA";
    }
}
const char* cudaGetErrorString(cudaError_t) {
    return "from CUDA's runtime stood in for by the host";
}

cudaError_t cudaGetDeviceCount(int* count) {
    return call([&](Lock&) -> cudaError_t {
        *count = state().options.devices;
        return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
    });
}
cudaError_t cudaGetDevice(int* device) {
    return call([&](Lock&) {
        *device = t_device;
        return cudaSuccess;
    });
}
cudaError_t cudaSetDevice(int device) {
    return call([&](Lock&) -> cudaError_t {
        if (!is_device(device)) return cudaErrorInvalidDevice;
        t_device = device;
        return cudaSuccess;
    });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    return call([&](Lock&) -> cudaError_t {
        if (!is_device(device)) return cudaErrorInvalidDevice;
        if (attribute != cudaDevAttrMemoryPoolsSupported) return cudaErrorInvalidValue;
        *value = 1;
        return cudaSuccess;
    });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    return call([&](Lock&) -> cudaError_t {
        if (!is_device(device)) return cudaErrorInvalidDevice;
        *properties = {};
        std::strcpy(properties->name, "CUDA's runtime stood in for by the host; not a GPU");
        properties->totalGlobalMem = state().options.memory_bytes;
        return cudaSuccess;
    });
}
cudaError_t cudaDeviceSynchronize() {
    return call([&](Lock& lock) {
        wait_for_all(lock, t_device);
        return cudaSuccess;
    });
}

// ------------------------------------------------------------------------------------------ memory

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    return call([&](Lock&) -> cudaError_t {
        if (properties->allocType != cudaMemAllocationTypePinned ||
            properties->location.type != cudaMemLocationTypeDevice ||
            !is_device(properties->location.id))
            return cudaErrorInvalidValue;
        *pool = new_handle<cudaMemPool_t>();
        state().pools[*pool] = {properties->location.id, 0};
        return cudaSuccess;
    });
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return call(
        [&](Lock&) { return state().pools.erase(pool) == 1 ? cudaSuccess : cudaErrorInvalidValue; },
        Effect::destroys);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return call([&](Lock&) -> cudaError_t {
        const auto found = state().pools.find(pool);
        if (found == state().pools.end() || attribute != cudaMemPoolAttrReleaseThreshold)
            return cudaErrorInvalidValue;
        std::memcpy(&found->second.release_threshold, value, 8);
        return cudaSuccess;
    });
}
cudaError_t cudaMallocFromPoolAsync(void** memory, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
    return call([&](Lock& lock) -> cudaError_t {
        Queue* const queue = queue_of(stream);
        const auto found = state().pools.find(pool);
        if (queue == nullptr || found == state().pools.end() || bytes == 0 ||
            found->second.device != queue->device())
            return cudaErrorInvalidValue;
        *memory = allocate(lock, bytes, *queue);
        return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
    });
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
    return call([&](Lock&) -> cudaError_t {
        Queue* const queue = queue_of(stream);
        const std::shared_ptr<Piece> piece = piece_of(memory, 1);
        if (queue == nullptr || !piece || piece->memory != memory) {
            fault("memory is freed that was not allocated");
            return cudaErrorInvalidValue;
        }
        release(piece, *queue);
        return cudaSuccess;
    });
}
cudaError_t cudaMalloc(void** memory, size_t bytes) {
    return call([&](Lock& lock) -> cudaError_t {
        Queue& queue = *queue_of(nullptr);
        *memory = allocate(lock, bytes, queue);
        wait_for(lock, queue.last());
        return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
    });
}
cudaError_t cudaFree(void* memory) {
    return call(
        [&](Lock& lock) -> cudaError_t {
            if (memory == nullptr) return cudaSuccess;
            wait_for_all(lock, t_device);
            const std::shared_ptr<Piece> piece = piece_of(memory, 1);
            if (!piece || piece->memory != memory) {
                fault("memory is freed that was not allocated");
                return cudaErrorInvalidValue;
            }
            Queue& queue = *queue_of(nullptr);
            release(piece, queue);
            wait_for(lock, queue.last());
            return cudaSuccess;
        },
        Effect::destroys);
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
    return call([&](Lock&) -> cudaError_t {
        *memory = ::operator new(bytes, std::nothrow);
        if (*memory == nullptr) return cudaErrorMemoryAllocation;
        std::memset(*memory, 0xCD, bytes);
        state().pinned[static_cast<std::byte*>(*memory)] = {bytes, 0};
        return cudaSuccess;
    });
}
cudaError_t cudaFreeHost(void* memory) {
    return call(
        [&](Lock& lock) -> cudaError_t {
            const auto found = state().pinned.find(static_cast<std::byte*>(memory));
            if (found == state().pinned.end()) {
                fault("pinned memory is freed that was not allocated");
                return cudaErrorInvalidValue;
            }
            if (state().lost != cudaSuccess)  // nobody could wait for what goes on still
                state().changed.wait(lock, [&] { return found->second.users == 0; });
            if (found->second.users > 0) {
                fault("pinned memory is freed while a copy needs it");
                return cudaSuccess;  // and stays, so that the fault is told by a test and no crash
            }
            state().pinned.erase(found);
            ::operator delete(memory);
            return cudaSuccess;
        },
        Effect::destroys);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
    return call([&](Lock&) {
        *attributes = {};
        const bool pinned = pinned_of(memory, 1) != state().pinned.end();
        attributes->type = in_device(memory) ? cudaMemoryTypeDevice
                           : pinned          ? cudaMemoryTypeHost
                                             : cudaMemoryTypeUnregistered;
        for (std::size_t i = 0; i < state().arenas.size(); ++i)
            if (state().arenas[i]->has(memory)) attributes->device = static_cast<int>(i);
        return cudaSuccess;
    });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return call([&](Lock& lock) {
        Queue* const queue = queue_of(stream);
        if (queue == nullptr) return cudaErrorInvalidResourceHandle;
        return copy(lock, to, from, bytes, kind, *queue);
    });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return call([&](Lock& lock) {
        Queue& queue = *queue_of(nullptr);
        const cudaError_t code = copy(lock, to, from, bytes, kind, queue);
        wait_for(lock, queue.last());
        return code;
    });
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    return call([&](Lock&) { return fill(to, value, bytes, *queue_of(nullptr)); });
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
    return call([&](Lock&) {
        Queue* const queue = queue_of(stream);
        return queue == nullptr ? cudaErrorInvalidResourceHandle : fill(to, value, bytes, *queue);
    });
}

// ------------------------------------------------------------------------------- streams and
// events

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return call([&](Lock&) {
        *stream = new_handle<cudaStream_t>();
        State& all = state();
        all.streams[*stream] =
            std::make_unique<Queue>(t_device, (flags & cudaStreamNonBlocking) == 0, all.random());
        return cudaSuccess;
    });
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return call(
        [&](Lock&) -> cudaError_t {
            const auto found = state().streams.find(stream);
            if (found == state().streams.end()) return cudaErrorInvalidResourceHandle;
            state().destroyed.push_back(std::move(found->second));
            state().streams.erase(found);
            return cudaSuccess;
        },
        Effect::destroys);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return call([&](Lock& lock) -> cudaError_t {
        Queue* const queue = queue_of(stream);
        if (queue == nullptr) return cudaErrorInvalidResourceHandle;
        wait_for(lock, queue->last());
        return cudaSuccess;
    });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return call([&](Lock&) -> cudaError_t {
        Queue* const queue = queue_of(stream);
        if (queue == nullptr) return cudaErrorInvalidResourceHandle;
        return queue->last().is_past() ? cudaSuccess : cudaErrorNotReady;
    });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return call([&](Lock&) -> cudaError_t {
        Queue* const queue = queue_of(stream);
        const auto found = state().events.find(event);
        if (queue == nullptr || found == state().events.end())
            return cudaErrorInvalidResourceHandle;
        (void)give_to(*queue, {{}, {}, {found->second.recorded}, false});
        return cudaSuccess;
    });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return call([&](Lock&) {
        *event = new_handle<cudaEvent_t>();
        state().events[*event] = {(flags & cudaEventDisableTiming) == 0, t_device, {}, {}};
        return cudaSuccess;
    });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call(
        [&](Lock&) {
            return state().events.erase(event) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
        },
        Effect::destroys);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return call([&](Lock&) -> cudaError_t {
        Queue* const queue = queue_of(stream);
        const auto found = state().events.find(event);
        if (queue == nullptr || found == state().events.end() ||
            found->second.device != queue->device())
            return cudaErrorInvalidResourceHandle;
        const auto at_s = std::make_shared<double>(0.0);
        found->second.at_s = at_s;
        found->second.recorded = give_to(*queue, {[at_s] { *at_s = now_s(); }, {}, {}, false});
        return cudaSuccess;
    });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return call([&](Lock& lock) -> cudaError_t {
        const auto found = state().events.find(event);
        if (found == state().events.end()) return cudaErrorInvalidResourceHandle;
        const Point point = found->second.recorded;
        wait_for(lock, point);
        return cudaSuccess;
    });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return call([&](Lock&) -> cudaError_t {
        const auto found = state().events.find(event);
        if (found == state().events.end()) return cudaErrorInvalidResourceHandle;
        return found->second.recorded.is_past() ? cudaSuccess : cudaErrorNotReady;
    });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return call([&](Lock&) -> cudaError_t {
        const auto a = state().events.find(from), b = state().events.find(to);
        const auto end = state().events.end();
        if (a == end || b == end || !a->second.at_s || !b->second.at_s || !a->second.is_timed ||
            !b->second.is_timed)
            return cudaErrorInvalidResourceHandle;
        if (!a->second.recorded.is_past() || !b->second.recorded.is_past())
            return cudaErrorNotReady;
        *milliseconds = static_cast<float>(1e3 * (*b->second.at_s - *a->second.at_s));
        return cudaSuccess;
    });
}

}  // extern "C"
