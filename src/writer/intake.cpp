#include "writer/intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "caesura/device.hpp"
#include "writer/particle_patches.hpp"

namespace caesura::writer {

void Intake::begin_iteration(std::uint64_t number) try {
    const std::uint64_t before = std::exchange(session_.iteration, number);
    session_.iteration_begin_s = session_.now_s();
    if (std::exchange(in_iteration_, true) && misuse_.ok())
        misuse_ = {
            StatusCode::invalid_argument,
            fmt::format("begin_iteration({}): iteration {} has not been ended", number, before)};
    if (closed_ && misuse_.ok())
        misuse_ = {StatusCode::invalid_argument,
                   fmt::format("begin_iteration({}) after close()", number)};
    if (!std::exchange(first_begun_, true)) expect_snapshots();
} catch (const std::bad_alloc&) {
    misuse_ = out_of_memory();
}

void Intake::begin_round(std::uint64_t dump) {
    in_iteration_ = true;
    session_.iteration = dump;
    dump_.emplace();
}

void Intake::begin_dump(const DumpTime& time) try {
    const std::uint64_t iteration = session_.iteration;
    if (!in_iteration_) {
        if (misuse_.ok())
            misuse_ = {StatusCode::invalid_argument, "begin_dump() outside an iteration"};
        return;
    }
    // First: whatever happens, this rank has a dump as the others have, and end() communicates.
    const bool second = dump_.has_value();
    if (!second) dump_.emplace();
    if (misuse_.ok() && second)
        misuse_ = {
            StatusCode::invalid_argument,
            fmt::format("iteration {}: a second begin_dump(); one dump an iteration", iteration)};
    if (misuse_.ok() && flights_.has_dumped(iteration))
        misuse_ = {StatusCode::invalid_argument,
                   fmt::format("iteration {} has been dumped before", iteration)};
    if (misuse_.ok() && flights_.was_there(iteration))
        misuse_ = {StatusCode::invalid_argument,
                   fmt::format("iteration {} is in {} already, from before this run opened it; go "
                               "on behind the last one, or drop it by OpenOptions::after",
                               iteration, session_.path)};
    expect_no_snapshots();
    dump_->time = time;
} catch (const std::bad_alloc&) {
    misuse_ = out_of_memory();
}

void Intake::end_iteration() {
    dump_.reset();
    in_iteration_ = false;
}

void Intake::close() {
    closed_ = true;
    expect_no_snapshots();
}

Status Intake::declare_missing(Field field, const FillValue& value) {
    if (!dump_ || field.index >= fields_.size())
        return refuse({StatusCode::invalid_argument,
                       fmt::format("declare_missing() on rank {}: outside a dump, or of a field "
                                   "that this writer has not",
                                   session_.rank)});
    FieldState& state = fields_[field.index];
    const DType number = number_type(state.dtype);
    const auto bytes = fill_of(value, number);
    if (!bytes.ok())
        return refuse(bytes.status().with_context(
            fmt::format("field '{}' on rank {}: a missing value", state.name, session_.rank)));
    if (!state.masks()) return {};
    const codec::ValueBits bits = codec::bits_of(std::span(*bytes).first(size_of(number)), number);
    if (codec::unite(state.missing, bits)) codec::unite(dump_->declared[field.index], bits);
    return {};
}

bool Intake::boxes_changed() const {
    if (!dump_->declared.empty()) return true;  // to be told to the others
    for (std::uint32_t f = 0; f < fields_.size(); ++f) {
        // Where they go is said by all counts together.
        if (fields_[f].particles && !dump_->puts_of(f).empty()) return true;
        std::vector<RankBox> before;
        if (fields_[f].in_last_dump)
            for (const RankBox& b : fields_[f].layout->boxes)
                if (b.rank == session_.rank) before.push_back(b);
        if (dump_->boxes_of(f, session_.rank) != before) return true;
        if (!before.empty() && fields_[f].layout->dims != fields_[f].shape) return true;
    }
    return false;
}

Status Intake::check_put(const Handed& handed) const {
    const auto& [field, box, data, dtype, own, loss, turn, array, part] = handed;
    if (Status here = session_.check_process(); !here.ok()) return here;
    const int rank = session_.rank;
    const auto invalid = [&](std::string text) {
        return Status{StatusCode::invalid_argument, std::move(text)};
    };
    if (closed_) return invalid(fmt::format("put() on rank {} after close()", rank));
    if (!in_iteration_ || !dump_)
        return invalid(fmt::format("put() on rank {} outside a dump", rank));
    if (field.index >= fields_.size())
        return invalid(
            fmt::format("put() on rank {}: field handle {} was not defined by this "
                        "writer, which has {} fields",
                        rank, field.index, fields_.size()));
    const FieldState& state = fields_[field.index];
    const std::string who = fmt::format("field '{}' on rank {}", state.name, rank);
    if (dtype != state.dtype)
        return invalid(fmt::format("{}: the data are {}, the field is {}", who, to_string(dtype),
                                   to_string(state.dtype)));
    if (!state.particles)
        if (Status status = check_box(handed, who); !status.ok()) return status;
    if (!data && box.extent.count() > 0)
        return invalid(fmt::format("{}: data is null for the box ({})", who, to_string(box)));
    return {};
}

Status Intake::check_box(const Handed& handed, const std::string& who) const {
    const Box& box = handed.box;
    const Shape& shape = fields_[handed.field.index].shape;
    const auto invalid = [](std::string text) {
        return Status{StatusCode::invalid_argument, std::move(text)};
    };
    if (box.offset.rank() != shape.rank() || box.extent.rank() != shape.rank())
        return invalid(fmt::format("{}: the box ({}) has {} axes, the field {} has {}", who,
                                   to_string(box), box.extent.rank(), to_string(shape),
                                   shape.rank()));
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (box.extent[axis] > shape[axis] || box.offset[axis] > shape[axis] - box.extent[axis])
            return invalid(fmt::format("{}: the box ({}) leaves the field {} along axis {}", who,
                                       to_string(box), to_string(shape), axis));
    return {};
}

// Charge the budget; at the limit do the background's work until older dumps have given enough
// back. A dump larger than the whole budget is taken all the same, and said and counted.
Status Intake::reserve_memory(std::uint64_t bytes) {
    if (session_.budget.try_charge(bytes)) return {};
    bool charged = false;
    executor_.set_draining(true);
    session_.totals.put_wait_s +=
        executor_.help([&] { return charged || (charged = session_.budget.try_charge(bytes)); });
    executor_.set_draining(false);
    if (Status error = executor_.error(); !error.ok()) {
        if (charged) session_.budget.release(bytes);
        return {StatusCode::cancelled, "an earlier error: " + error.message()};
    }
    if (!charged && !(charged = session_.budget.try_charge(bytes))) {
        session_.budget.charge(bytes);
        session_.totals.over_budget_bytes += bytes;
        session_.warn(
            Warning::over_budget,
            fmt::format("rank {}: iteration {} needs {} bytes more than the memory budget of {} "
                        "holds and nothing older is left to write; taken all the same. Raise "
                        "memory_bytes or borrow the data.",
                        session_.rank, session_.iteration, bytes, session_.budget.limit_bytes()));
    }
    return {};
}

// What fresh pages cost can be paid by the workers while the application computes its way to the
// first dump. Boxes are not known yet: an even share of every field. And not whether the data will
// be borrowed: what is not used goes back (begin_dump). Half of the budget, as two dumps need it
// that are on their way at once, or the copies would have to wait anyway.
void Intake::expect_snapshots() {
    constexpr std::uint64_t k_share = 2;
    if (session_.options.cooperative || !session_.options.idle_priority) return;
    const auto share_of = [&](const FieldState& field) {
        const auto ranks = static_cast<std::uint64_t>(session_.size);
        return (field.shape.count() + ranks - 1) / ranks * size_of(field.dtype);
    };
    std::uint64_t bytes = 0;
    for (const FieldState& field : fields_) bytes += share_of(field);
    if (bytes > session_.budget.limit_bytes() / k_share || !session_.budget.try_charge(bytes))
        return;
    expected_bytes_ = bytes;
    for (const FieldState& field : fields_)
        if (share_of(field) > 0) session_.pool.expect(share_of(field));
    executor_.prepare_buffers();
}

void Intake::expect_no_snapshots() {
    if (expected_bytes_ == 0) return;
    session_.pool.expect_nothing();
    session_.budget.release(std::exchange(expected_bytes_, 0));
}

Status Intake::refuse(Status status) {
    // What an application's write says to it concerns nobody else.
    if (dump_is_whole_ && dump_ && dump_->error.ok()) dump_->error = status;
    return status;
}

Status Intake::put(const Handed& handed) {
    const auto index = handed.field.index;
    if (index < fields_.size() && fields_[index].particles)
        return refuse({StatusCode::invalid_argument,
                       fmt::format("'{}' on rank {} is a record of particles: use put_particles",
                                   fields_[index].name, session_.rank)});
    return take(handed);
}

Status Intake::put_particles(Field record, std::uint64_t count, const void* data, DType dtype,
                             Ownership own) {
    if (record.index < fields_.size() && !fields_[record.index].particles)
        return refuse({StatusCode::invalid_argument,
                       fmt::format("field '{}' on rank {} is no record of particles: use put",
                                   fields_[record.index].name, session_.rank)});
    constexpr std::uint64_t k_most = std::uint64_t{1} << 45;  // no sum over ranks overflows
    if (count > k_most)
        return refuse({StatusCode::invalid_argument,
                       fmt::format("put_particles() on rank {}: {} particles; a rank can have {}",
                                   session_.rank, count, k_most)});
    return take({record, {{0}, {count}}, data, dtype, own});
}

// The values of a box that lie in rows of a larger array.
Status Intake::put_within(Handed handed, const Shape& extent, const Shape& begin) try {
    const Box& box = handed.box;
    if (Status status = check_put(handed); !status.ok()) return refuse(status);
    const bool same_axes = extent.rank() == box.extent.rank() && begin.rank() == box.extent.rank();
    bool inside = same_axes;
    for (int axis = 0; inside && axis < extent.rank(); ++axis)
        inside = box.extent[axis] <= extent[axis] && begin[axis] <= extent[axis] - box.extent[axis];
    if (!inside)
        return refuse({StatusCode::invalid_argument,
                       fmt::format("field '{}' on rank {}: the box ({}), which begins at {} of its "
                                   "array, leaves the array {}",
                                   fields_[handed.field.index].name, session_.rank, to_string(box),
                                   to_string(begin), to_string(extent))});
    const Box part{begin, box.extent}, array{Shape::filled(extent.rank(), 0), extent};
    const auto* const values = static_cast<const std::byte*>(handed.data);
    if (const std::byte* dense = dense_part(part, array, values, size_of(handed.dtype))) {
        handed.data = dense;
    } else {
        handed.array = &extent;
        handed.part = &part;
        handed.own = Ownership::copy;
    }
    return put(handed);
} catch (const std::bad_alloc&) {
    return refuse(out_of_memory());
}

// All of the array comes to the host: rows of it would take a transfer each.
Status Intake::fetch_part(const Handed& handed, std::byte* to) {
    const std::uint64_t bytes = handed.array->count() * size_of(handed.dtype);
    run::Snapshot all;
    if (Status status = reserve_memory(bytes); !status.ok()) return status;
    all.budget = &session_.budget;
    all.charged_bytes = bytes;
    auto buffer = session_.pool.take(bytes, base::Pages::now);
    Status status = buffer.ok() ? Status{} : buffer.status();
    if (status.ok()) {
        all.buffer = std::move(*buffer);
        status = device::fetch({all.buffer.data(), bytes}, handed.data);
    }
    const Box array{Shape::filled(handed.array->rank(), 0), *handed.array};
    if (status.ok())
        copy_box(*handed.part, array, all.buffer.data(), *handed.part, to, size_of(handed.dtype));
    all.release_memory();
    return status;
}

Status Intake::fill(const Handed& handed, std::byte* to) {
    const std::uint64_t bytes = handed.box.extent.count() * size_of(handed.dtype);
    const auto* const from = static_cast<const std::byte*>(handed.data);
    const bool in_device = device::owns_memory(from);
    if (!handed.array) {
        if (in_device) return device::fetch({to, bytes}, from);
        helpers_.copy(to, from, bytes);
        return {};
    }
    if (in_device) return fetch_part(handed, to);
    // Slabs of the slowest axis, of about what a helper is worth waking for.
    constexpr std::uint64_t k_slab_bytes = std::uint64_t{2} << 20;
    const Box& part = *handed.part;
    const Box array{Shape::filled(part.extent.rank(), 0), *handed.array};
    const std::uint64_t layers = part.extent[0];
    const std::uint64_t slabs = std::clamp<std::uint64_t>(bytes / k_slab_bytes, 1, layers);
    helpers_.for_each(slabs, [&](std::size_t i) {
        Box slab = part;
        slab.offset[0] = part.offset[0] + layers * i / slabs;
        slab.extent[0] = part.offset[0] + layers * (i + 1) / slabs - slab.offset[0];
        copy_box(slab, array, from, part, to, size_of(handed.dtype));
    });
    return {};
}

Status Intake::copy(const Handed& handed, run::Snapshot& snapshot) {
    const std::uint64_t bytes = handed.box.extent.count() * size_of(handed.dtype);
    if (Status status = reserve_memory(bytes); !status.ok()) return status;
    snapshot.budget = &session_.budget;
    snapshot.charged_bytes = bytes;
    auto buffer = session_.pool.take(bytes, base::Pages::now);
    Status status = buffer.ok() ? Status{} : buffer.status();
    if (status.ok()) {
        snapshot.buffer = std::move(*buffer);
        status = fill(handed, snapshot.buffer.data());
    }
    if (status.ok()) return {};
    snapshot.release_memory();
    return status.with_context(
        fmt::format("field '{}' on rank {}", fields_[handed.field.index].name, session_.rank));
}

Status Intake::take(const Handed& handed) try {
    const auto& [field, box, data, dtype, own, loss, turn, array, part] = handed;
    const double begin_s = session_.now_s();
    if (!round_.failed().ok())
        return {StatusCode::cancelled, "an earlier error: " + round_.failed().message()};
    if (Status status = check_put(handed); !status.ok()) return refuse(status);
    const FieldState& state = fields_[field.index];
    // A rank with nothing to put may say so; of particles it is what the dump has.
    if (box.extent.count() == 0 && !state.particles) return {};
    const std::uint64_t bytes = box.extent.count() * size_of(dtype);
    Put put{field.index, box, static_cast<const std::byte*>(data)};
    run::Snapshot& snapshot = dump_->snapshots.emplace_back();
    put.snapshot = &snapshot;
    put.exactly = loss == Loss::spent;
    put.turn = turn;
    // Nobody but put() reads a device's memory: it is staged, whoever owns it.
    if (bytes > 0 && (own == Ownership::copy || device::owns_memory(data))) {
        if (Status status = copy(handed, snapshot); !status.ok()) return refuse(status);
        put.data = snapshot.buffer.data();
    }
    put.ranges.resize(state.ranges());
    if (!put.ranges.empty()) state.widen(box, put.data, put.ranges, put.seen);
    if (state.may_be_axis()) put.order.add(put.data, box.extent.count(), dtype);
    if (says_where(state)) put.places = finite_range(put.data, box.extent.count(), dtype);
    if (session_.traces()) session_.trace("put", state.name, begin_s);
    dump_->add(std::move(put));
    dump_->put_bytes += bytes;
    session_.totals.put_s += session_.now_s() - begin_s;
    return {};
} catch (const std::bad_alloc&) {
    return refuse(out_of_memory());
}

}  // namespace caesura::writer
