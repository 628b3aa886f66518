// put: check, make room, snapshot.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "writer/impl.hpp"

namespace caesura {
namespace {

template <class T>
void widen_range(const std::byte* data, std::uint64_t count, double& low, double& high) {
    const T* values = reinterpret_cast<const T*>(data);
    T least = std::numeric_limits<T>::infinity(), most = -least;
    for (std::uint64_t i = 0; i < count; ++i) {
        const T value = values[i];
        // NaN compares false both ways; infinities do not belong to a range.
        if (value < least && value >= std::numeric_limits<T>::lowest()) least = value;
        if (value > most && value <= std::numeric_limits<T>::max()) most = value;
    }
    low = std::min(low, static_cast<double>(least));
    high = std::max(high, static_cast<double>(most));
}

}  // namespace

Status Writer::Impl::check_put(Field field, const Box& box, const void* data, DType dtype) const {
    const auto invalid = [&](std::string text) {
        return Status{StatusCode::invalid_argument, std::move(text)};
    };
    if (closed) return invalid(fmt::format("put() on rank {} after close()", rank));
    if (!in_iteration || !open_dump)
        return invalid(fmt::format("put() on rank {} outside a dump", rank));
    if (field.index >= fields.size())
        return invalid(
            fmt::format("put() on rank {}: field handle {} was not defined by this "
                        "writer, which has {} fields",
                        rank, field.index, fields.size()));
    const writer::FieldState& state = fields[field.index];
    const std::string who = fmt::format("field '{}' on rank {}", state.name, rank);
    if (dtype != state.dtype)
        return invalid(fmt::format("{}: the data are {}, the field is {}", who, to_string(dtype),
                                   to_string(state.dtype)));
    if (box.offset.rank() != state.shape.rank() || box.extent.rank() != state.shape.rank())
        return invalid(fmt::format("{}: the box ({}) has {} axes, the field {} has {}", who,
                                   to_string(box), box.extent.rank(), to_string(state.shape),
                                   state.shape.rank()));
    for (int axis = 0; axis < state.shape.rank(); ++axis)
        if (box.extent[axis] > state.shape[axis] ||
            box.offset[axis] > state.shape[axis] - box.extent[axis])
            return invalid(fmt::format("{}: the box ({}) leaves the field {} along axis {}", who,
                                       to_string(box), to_string(state.shape), axis));
    if (!data && box.extent.count() > 0)
        return invalid(fmt::format("{}: data is null for the box ({})", who, to_string(box)));
    return {};
}

// Charge the budget; at the limit do the background's work until older dumps have given enough
// back. A dump larger than the whole budget is taken all the same, and said and counted.
Status Writer::Impl::reserve_memory(std::uint64_t bytes) {
    if (budget.try_charge(bytes)) return {};
    bool charged = false;
    executor->set_draining(true);
    totals.put_wait_s +=
        executor->help([&] { return charged || (charged = budget.try_charge(bytes)); });
    executor->set_draining(false);
    if (Status error = executor->error(); !error.ok()) {
        if (charged) budget.release(bytes);
        return {StatusCode::cancelled, "an earlier error: " + error.message()};
    }
    if (!charged && !(charged = budget.try_charge(bytes))) {
        budget.charge(bytes);
        totals.over_budget_bytes += bytes;
        say(
            fmt::format("rank {}: iteration {} needs {} bytes more than the memory budget of {} "
                        "holds and nothing older is left to write; taken all the same. Raise "
                        "memory_bytes or borrow the data.",
                        rank, iteration, bytes, budget.limit_bytes()));
    }
    return {};
}

// What fresh pages cost can be paid by the workers while the application computes its way to the
// first dump. Boxes are not known yet: an even share of every field. And not whether the data will
// be borrowed: so it must be little of the budget, and what is not used goes back (submit).
void Writer::Impl::expect_snapshots() {
    constexpr std::uint64_t k_share = 8;
    if (options.cooperative || !options.idle_priority) return;
    const auto share_of = [&](const writer::FieldState& field) {
        const auto ranks = static_cast<std::uint64_t>(size);
        return (field.shape.count() + ranks - 1) / ranks * size_of(field.dtype);
    };
    std::uint64_t bytes = 0;
    for (const writer::FieldState& field : fields) bytes += share_of(field);
    if (bytes > budget.limit_bytes() / k_share || !budget.try_charge(bytes)) return;
    expected_bytes = bytes;
    for (const writer::FieldState& field : fields) pool.expect(share_of(field));
    executor->prepare_buffers();
}

void Writer::Impl::expect_no_snapshots() {
    if (expected_bytes == 0) return;
    pool.expect_nothing();
    budget.release(std::exchange(expected_bytes, 0));
}

Status Writer::Impl::put(Field field, const Box& box, const void* data, DType dtype, Ownership own,
                         writer::Loss loss, std::uint32_t turn) {
    const double begin_s = now_s();
    const auto refuse = [&](Status status) {
        // What an application's write says to it concerns nobody else.
        if (own_tree && open_dump && open_dump->error.ok()) open_dump->error = status;
        return status;
    };
    if (!failed.ok()) return {StatusCode::cancelled, "an earlier error: " + failed.message()};
    if (Status status = check_put(field, box, data, dtype); !status.ok()) return refuse(status);
    if (box.extent.count() == 0) return {};  // a rank with nothing to put may say so

    const writer::FieldState& state = fields[field.index];
    const std::uint64_t bytes = box.extent.count() * size_of(dtype);
    writer::Put put{field.index, box, static_cast<const std::byte*>(data)};
    run::Snapshot& snapshot = open_dump->snapshots.emplace_back();
    put.snapshot = &snapshot;
    put.exactly = loss == writer::Loss::spent;
    put.turn = turn;
    if (own == Ownership::copy) {
        if (Status status = reserve_memory(bytes); !status.ok()) return refuse(status);
        snapshot.budget = &budget;
        snapshot.charged_bytes = bytes;
        auto buffer = pool.take(bytes, base::Pages::now);
        if (!buffer.ok()) {
            snapshot.release_memory();
            return refuse(buffer.status().with_context(
                fmt::format("field '{}' on rank {}", state.name, rank)));
        }
        snapshot.buffer = std::move(*buffer);
        std::memcpy(snapshot.buffer.data(), data, bytes);
        put.data = snapshot.buffer.data();
    }
    if (writer::needs_range(state.bound)) {
        if (dtype == float32)
            widen_range<float>(put.data, box.extent.count(), put.min, put.max);
        else
            widen_range<double>(put.data, box.extent.count(), put.min, put.max);
    }
    open_dump->add(put);
    totals.put_s += now_s() - begin_s;
    trace_application("put", state.name, begin_s);
    return {};
}

}  // namespace caesura
