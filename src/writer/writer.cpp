// The public face: thin calls into Impl, and what is local to them.
#include "caesura/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "base/file.hpp"
#include "codec/bound/bound_map.hpp"
#include "writer/impl.hpp"
#include "writer/trial_codec.hpp"
#include "writer/user_attributes.hpp"

namespace caesura {

namespace {

/// Empty: a field may have it. Else why not, as "is ...". Checked axis by axis, so that no product
/// of extents overflows.
std::string impossible(const Shape& shape, DType dtype) {
    constexpr std::uint64_t k_file_bytes = std::numeric_limits<std::int64_t>::max();
    std::uint64_t most = k_file_bytes / size_of(dtype);
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] == 0) return fmt::format("empty along axis {}", axis);
        if (shape[axis] > most)
            return fmt::format("of more bytes of {} than a file can have", to_string(dtype));
        most /= shape[axis];
    }
    return {};
}

}  // namespace

// ------------------------------------------------------------------------------------ Writer

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Writer::~Writer() {
    if (impl_ && impl_->session.process.is_forked()) base::Process::leave(impl_);
}

Result<Field> Writer::define_field(const std::string& name, DType dtype, const Shape& shape) {
    return define_field(name, dtype, shape,
                        is_integer(dtype) ? lossless() : impl_->session.options.bound);
}

Result<Field> Writer::define_field(const std::string& name, DType dtype, const Shape& shape,
                                   const ErrorBound& bound, const FieldOptions& options) {
    const auto invalid = [&](std::string_view what) {
        return Status{StatusCode::invalid_argument, fmt::format("field '{}': {}", name, what)};
    };
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    if (Status status = writer::check_field_name(name); !status.ok()) return status;
    if (!is_known(dtype))
        return invalid(fmt::format("data type {} is unknown", static_cast<int>(dtype)));
    if (shape.rank() < 1) return invalid("shape has no axes; 1 to 4 are possible");
    if (const std::string why = impossible(shape, dtype); !why.empty())
        return invalid(fmt::format("shape {} is {}", to_string(shape), why));
    if (Status status = validate(bound); !status.ok())
        return status.with_context(fmt::format("field '{}'", name));
    const auto attributes = writer::attributes_of(name, options);
    if (!attributes.ok()) return attributes.status();
    if (Status may = impl_->tree->check_attributes(fmt::format("field '{}'", name), *attributes);
        !may.ok())
        return may;
    if (const auto fill = writer::fill_of(options.fill_value, dtype); !fill.ok())
        return invalid(fill.status().message());
    if (const Status may = writer::check_missing(options, dtype); !may.ok())
        return invalid(may.message());
    if (is_complex(dtype) && shape.rank() == k_max_rank)
        return invalid(fmt::format("{} of {} axes; 1 to {} are possible", to_string(dtype),
                                   shape.rank(), k_max_rank - 1));
    if (is_integer(dtype) && options.bound_map.rules() > 0)
        return invalid(
            fmt::format("a bound map for {}; integers are stored without loss", to_string(dtype)));
    const auto clashes = [&](const writer::FieldState& other) {
        if (other.particles) return false;  // in another group
        return other.name == name || other.name.starts_with(name + "/") ||
               name.starts_with(other.name + "/");
    };
    if (std::any_of(impl_->fields.begin(), impl_->fields.end(), clashes))
        return invalid("is already defined (or is a record that has, or would have, components)");
    if (impl_->tree->has_one_space_of_names() && impl_->fields.has_species(name))
        return invalid("is the name of a species, and they lie in one group in this layout");
    const CodecSpec codec = options.codec.value_or(impl_->session.options.codec);
    if (Status status = writer::check_bound_map(name, shape, bound, codec, options.bound_map);
        !status.ok())
        return status;
    const auto filters = writer::try_codec(impl_->session, fmt::format("field '{}'", name), codec,
                                           dtype, shape.rank(), bound);
    if (!filters.ok()) return filters.status();
    if (Status status = writer::define(impl_->metadata, name, shape.rank(), *attributes);
        !status.ok())
        return status;

    return impl_->fields.add(
        {name, dtype, shape, bound, codec, options,
         impl_->session.experience->of_field(name, codec, dtype, {})},
        fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", name, to_string(dtype), to_string(shape),
                    static_cast<int>(bound.kind), bound.value, codec.name, *filters,
                    codec::to_json(options.bound_map, 0.0), static_cast<int>(options.coverage),
                    writer::to_string(options.fill_value),
                    fmt::join(writer::declared_missing(options, dtype), ",")));
}

Status Writer::reshape(Field field, const Shape& shape, const std::vector<double>& grid_offset) {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    if (field.index >= impl_->fields.size())
        return {StatusCode::invalid_argument,
                fmt::format("reshape() on rank {}: field handle {} was not defined by this writer",
                            impl_->session.rank, field.index)};
    writer::FieldState& state = impl_->fields[field.index];
    const auto invalid = [&](const std::string& what) {
        return Status{StatusCode::invalid_argument,
                      fmt::format("field '{}' on rank {}: reshape() {}", state.name,
                                  impl_->session.rank, what)};
    };
    if (state.particles) return invalid("of a record of particles, whose length each dump says");
    if (const auto& dump = impl_->intake->dump(); dump && !dump->puts_of(field.index).empty())
        return invalid("after a put of it into the open dump; reshape before the first");
    if (shape.rank() != state.shape.rank())
        return invalid(fmt::format("from {} to {}; the number of axes stays",
                                   to_string(state.shape), to_string(shape)));
    if (const std::string why = impossible(shape, state.dtype); !why.empty())
        return invalid(fmt::format("to {}, {}", to_string(shape), why));
    if (Status status = writer::check_bound_map(state.name, shape, state.bound, state.codec,
                                                state.options.bound_map);
        !status.ok())
        return status;
    if (!grid_offset.empty())
        if (Status status = impl_->set_attribute(false, AttributeOwner::field(field),
                                                 "gridGlobalOffset", grid_offset);
            !status.ok())
            return status;
    state.shape = shape;
    impl_->fields.note(fmt::format("{}|{}", field.index, to_string(shape)));
    return {};
}

Iteration Writer::begin_iteration(std::uint64_t number, std::string_view label) {
    impl_->begin_iteration(number, label);
    return Iteration(this);
}

std::optional<std::uint64_t> Writer::committed() const {
    const std::uint64_t until = impl_->committed();
    if (until == impl_->first_dump) return impl_->flights->last_before();
    return impl_->flights->iteration_of(until - 1);
}

bool Writer::released(std::uint64_t iteration) const {
    if (impl_->session.process.is_forked()) return true;  // the threads that read are not here
    if (impl_->intake->dump() && impl_->session.iteration == iteration) return false;
    return !impl_->executor->reads(iteration);
}

Status Writer::finish_by(double seconds) { return impl_->finish_by(seconds); }
Status Writer::close() { return impl_->close(); }

WriterReport Writer::report() const { return impl_->make_report(); }

// --------------------------------------------------------------------------------- Iteration

Iteration::Iteration(Iteration&& other) noexcept : writer_(std::exchange(other.writer_, nullptr)) {}
// Never communicates: an iteration that was not ended is the next call's error.
Iteration::~Iteration() = default;

Busy Iteration::busy(Lane lane) { return Busy(writer_, lane); }

double Iteration::compress_for(double seconds) {
    const Writer::Impl& impl = *writer_->impl_;
    if (impl.session.process.is_forked()) return 0.0;
    return impl.executor->compress_until(impl.session.now_s() + seconds, {});
}

bool Iteration::wait_until(const std::function<bool()>& done, double at_most_s) {
    constexpr auto k_poll = std::chrono::microseconds(30);
    const Writer::Impl& impl = *writer_->impl_;
    const double deadline_s = impl.session.now_s() + at_most_s;
    bool is_done = false;  // what has said yes is not asked again
    const auto ask = [&] { return is_done = is_done || done(); };
    for (;;) {
        if (ask()) return true;
        if (!impl.session.process.is_forked()) (void)impl.executor->compress_until(deadline_s, ask);
        if (ask()) return true;
        if (impl.session.now_s() >= deadline_s) return false;
        std::this_thread::sleep_for(k_poll);  // not a spin: the write lane may need this core
    }
}

Dump Iteration::begin_dump(double time, double dt, double time_unit_si) {
    if (!writer_->impl_->session.process.is_forked())
        writer_->impl_->intake->begin_dump({time, dt, time_unit_si});
    return Dump(writer_);
}

Status Iteration::end() { return writer_->impl_->end_iteration(); }

Status Dump::put_bytes(Field field, const Box& box, const void* data, DType dtype, Ownership own) {
    return writer_->impl_->intake->put({field, box, data, dtype, own});
}

Status Dump::declare_missing(Field field, const FillValue& value) {
    return writer_->impl_->intake->declare_missing(field, value);
}

Status Dump::put_within_bytes(Field field, const Box& box, const void* array, const Shape& extent,
                              const Shape& begin, DType dtype, Ownership own) {
    return writer_->impl_->intake->put_within({field, box, array, dtype, own}, extent, begin);
}

// -------------------------------------------------------------------------------------- Busy

Busy::Busy(Writer* writer, Lane lane) : writer_(writer), lane_(lane), begin_s_(0.0) {
    begin_s_ = writer_->impl_->session.now_s();
    writer_->impl_->enter(lane);
}
Busy::Busy(Busy&& other) noexcept
    : writer_(std::exchange(other.writer_, nullptr)),
      lane_(other.lane_),
      begin_s_(other.begin_s_) {}
Busy::~Busy() {
    if (writer_) writer_->impl_->leave(lane_, begin_s_);
}

// ----------------------------------------------------------------------- Impl: iterations

void Writer::Impl::begin_iteration(std::uint64_t number, std::string_view label) {
    if (session.process.is_forked()) return;  // end() says it
    intake->begin_iteration(number);
    if_memory_allows([&] {
        session.experience->listener.end();
        executor->observer().begin_iteration(session.iteration_begin_s, label);
        flights->outcomes().iteration_began(session.iteration_begin_s);
        session.experience->listener.begin(*executor);
    });
}

// Of an application's file: from here to the next hand-over. The iteration may have begun with
// another file's.
void Writer::Impl::next_round() {
    if (ending || closed) return;
    intake->begin_round(ledger->book().next_dump());
    run::Observer& observer = executor->observer();
    const double begin_s = session.now_s();
    if (!observer.running()) observer.begin_iteration(begin_s);
    flights->outcomes().iteration_began(begin_s);
    session.experience->listener.begin(*executor);
}

void Writer::Impl::enter(Lane lane) {
    if (session.process.is_forked()) return;
    const auto which =
        lane == Lane::compress ? run::Observer::Lane::compress : run::Observer::Lane::write;
    session.experience->listener.moved_here();
    executor->enter(which);
}

void Writer::Impl::leave(Lane lane, double begin_s) {
    if (session.process.is_forked()) return;
    const bool write = lane == Lane::write;
    if_memory_allows([&] {  // called by a destructor
        session.experience->listener.moved_here();
        executor->leave(write ? run::Observer::Lane::write : run::Observer::Lane::compress);
        session.trace("obstacle", write ? "write" : "compress", begin_s);
    });
}

// What was seen since begin_iteration becomes obstacles of this iteration, and part of the account.
void Writer::Impl::settle_observation(double now_s) {
    session.experience->listener.end();
    run::Observer& observer = executor->observer();
    observer.settle(now_s, run::observation::anybody_watches(), node.workers_have_a_core());
    const run::Seen& seen = observer.seen();
    const auto account = [&](const run::Intervals& intervals, double& sum_s, const char* kind,
                             const char* name) {
        sum_s += run::length_s(intervals);
        session.totals.seen_intervals += intervals.size();
        if (!session.traces()) return;
        for (const plan::Interval& interval : intervals)
            session.application_trace.add({kind, name, session.iteration_begin_s + interval.begin_s,
                                           session.iteration_begin_s + interval.end_s,
                                           session.iteration, 0});
    };
    account(seen.computing, session.totals.seen_computing_s, "obstacle", "compress");
    account(seen.communicating, session.totals.seen_communicating_s, "obstacle", "write");
    account(seen.waiting, session.totals.seen_waiting_s, "pause", "pause");
    session.totals.seen_spinning_s += run::length_s(seen.spinning);
}

writer::PutSums Writer::Impl::uncommitted() const {
    writer::PutSums sums = flights->uncommitted();
    sums.dumps += session.totals.lost_dumps;
    sums.bytes += session.totals.lost_bytes;
    if (const auto& dump = intake->dump(); dump && !dump->puts.empty()) {
        ++sums.dumps;
        sums.bytes += dump->put_bytes;
    }
    return sums;
}

WriterReport Writer::Impl::make_report() {
    if (session.process.is_forked()) return session.totals;
    flights->harvest();
    const writer::Outcomes& outcomes = flights->outcomes();
    WriterReport report = session.totals;
    const run::ExecutorCounters counters = executor->counters();
    report.compress_s = counters.compress_s;
    report.write_s = counters.write_s;
    report.writes = counters.writes;
    report.plan_s += counters.plan_s;
    report.replans = counters.replans;
    report.compress_interference_s = counters.compress_interference_s;
    report.taken_over_blocks = counters.taken_over_blocks;
    report.taken_over_s = counters.taken_over_s;
    session.count_losses(report);
    if (!round.failed().ok()) {
        const writer::PutSums left = flights->uncommitted();
        report.lost_dumps += left.dumps;
        report.lost_bytes += left.bytes;
    }
    report.planned_dumps = outcomes.dumps();
    report.planned_end_s = outcomes.planned_end_s();
    report.actual_end_s = outcomes.actual_end_s();
    report.planned_iteration_s = outcomes.planned_iteration_s();
    report.actual_iteration_s = outcomes.actual_iteration_s();
    report.plan_deviation = outcomes.deviation();
    report.helped_blocks = counters.helped_blocks;
    report.helped_bytes = counters.helped_bytes;
    report.taken_back_blocks = counters.taken_back_blocks;
    report.reserved_bytes = series.reserved_bytes;
    report.spare_bytes = series.spare_bytes;
    for_each_ledger([&](const ledger::Ledger& one) {
        report.reserved_bytes += one.book().reserved_bytes();
        report.spare_bytes += one.book().free_bytes();
    });
    report.peak_memory_bytes = session.budget.peak_bytes();
    return report;
}

}  // namespace caesura
