#include "codec/frame/slabs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace caesura::codec {

Result<Slabs> Slabs::make(const Shape& shape, const SlabCut& cut) {
    if (cut.axis < 0 || cut.axis >= shape.rank() || cut.thickness < 1 ||
        cut.thickness > shape[cut.axis]) {
        return Status(StatusCode::corrupt,
                      fmt::format("slabs of thickness {} along axis {} do not fit the shape {}",
                                  cut.thickness, cut.axis, to_string(shape)));
    }
    Slabs slabs;
    slabs.shape_ = shape;
    slabs.cut_ = cut;
    for (int axis = 0; axis < cut.axis; ++axis) slabs.leading_ *= shape[axis];
    slabs.pieces_ = (shape[cut.axis] - 1) / cut.thickness + 1;
    for (int axis = cut.axis + 1; axis < shape.rank(); ++axis) slabs.inner_ *= shape[axis];
    return slabs;
}

Slabs Slabs::one(const Shape& shape) { return *make(shape, {0, shape[0]}); }

Slab Slabs::operator[](std::uint64_t index) const {
    const std::uint64_t leading = index / pieces_;
    const std::uint64_t begin = (index % pieces_) * cut_.thickness;
    const std::uint64_t extent = shape_[cut_.axis];
    Slab slab;
    slab.first = (leading * extent + begin) * inner_;
    slab.shape = Shape(
        std::span(shape_.data() + cut_.axis, static_cast<std::size_t>(shape_.rank() - cut_.axis)));
    slab.shape[0] = std::min(cut_.thickness, extent - begin);
    return slab;
}

Slabs choose_slabs(const Shape& shape, std::size_t value_bytes) {
    const std::uint64_t limit = k_slab_limit_bytes / value_bytes;
    if (shape.count() <= limit) return Slabs::one(shape);
    int axis = 0;
    std::uint64_t inner = shape.count() / shape[0];
    while (inner > limit) inner /= shape[++axis];
    // As few pieces as fit, of nearly the same thickness, so that no thread gets a sliver.
    const std::uint64_t most = limit / inner;
    const std::uint64_t pieces = (shape[axis] - 1) / most + 1;
    return *Slabs::make(shape, {axis, (shape[axis] - 1) / pieces + 1});
}

int worker_count(std::uint64_t n, int threads) {
    const auto wanted = threads > 0 ? static_cast<std::uint64_t>(threads)
                                    : std::max(1U, std::thread::hardware_concurrency());
    return static_cast<int>(std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(n, 1)));
}

Status for_each_parallel(std::uint64_t n, int threads,
                         const std::function<Status(int worker, std::uint64_t index)>& work) {
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex mutex;
    Status first_error;
    std::uint64_t first_error_index = n;
    const auto run = [&](int worker) {
        while (!failed.load(std::memory_order_relaxed)) {
            const std::uint64_t index = next.fetch_add(1, std::memory_order_relaxed);
            if (index >= n) return;
            Status status;
            try {
                status = work(worker, index);
            } catch (const std::bad_alloc&) {
                status = Status(StatusCode::no_space, "not enough memory for a slab's buffers");
            } catch (const std::length_error&) {  // or it would end the process in another thread
                status = Status(StatusCode::no_space, "a slab's buffers cannot be addressed");
            }
            if (status.ok()) continue;
            failed.store(true, std::memory_order_relaxed);
            const std::lock_guard lock(mutex);
            if (index < first_error_index) {
                first_error_index = index;
                first_error = std::move(status);
            }
        }
    };
    std::vector<std::thread> others;
    try {
        for (int worker = 1; worker < worker_count(n, threads); ++worker)
            others.emplace_back(run, worker);
    } catch (const std::system_error&) {
        // No more threads to be had: those that are there, and this one, do the work.
    } catch (const std::bad_alloc&) {
    }
    run(0);
    for (std::thread& thread : others) thread.join();
    return first_error;
}

}  // namespace caesura::codec
