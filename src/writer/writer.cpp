// The public face: thin calls into Impl, and what is local to them.
#include "caesura/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/file.hpp"
#include "writer/impl.hpp"

namespace caesura {

// ------------------------------------------------------------------------------------ Writer

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Writer::~Writer() = default;

Result<Field> Writer::define_field(const std::string& name, DType dtype, const Shape& shape) {
    return define_field(name, dtype, shape, impl_->options.bound);
}

Result<Field> Writer::define_field(const std::string& name, DType dtype, const Shape& shape,
                                   const ErrorBound& bound, const FieldOptions& options) {
    const auto invalid = [&](std::string_view what) {
        return Status{StatusCode::invalid_argument, fmt::format("field '{}': {}", name, what)};
    };
    if (Status status = writer::check_field_name(name); !status.ok()) return status;
    if (dtype != float32 && dtype != float64) return invalid("dtype must be float32 or float64");
    if (shape.rank() < 1) return invalid("shape has no axes; 1 to 4 are possible");
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (shape[axis] == 0)
            return invalid(fmt::format("shape {} is empty along axis {}", to_string(shape), axis));
    if (Status status = validate(bound); !status.ok())
        return status.with_context(fmt::format("field '{}'", name));
    if (Status status = writer::check_field_options(name, shape, options); !status.ok())
        return status;
    const auto clashes = [&](const writer::FieldState& other) {
        return other.name == name || other.name.starts_with(name + "/") ||
               name.starts_with(other.name + "/");
    };
    if (std::any_of(impl_->fields.begin(), impl_->fields.end(), clashes))
        return invalid("is already defined (or is a record that has, or would have, components)");
    const CodecSpec codec = options.codec.value_or(impl_->options.codec);
    // Find a missing plugin now, not after the first dump was computed.
    const ErrorBound probe = writer::needs_range(bound) ? absolute(1.0) : bound;
    auto trial = make_block_codec(codec, dtype, Shape::filled(shape.rank(), 8), probe);
    if (!trial.ok()) return trial.status().with_context(fmt::format("field '{}'", name));

    impl_->fields.emplace_back(name, dtype, shape, bound, codec, options,
                               impl_->experience->of_field(name, codec, dtype, {}));
    impl_->note_definition(fmt::format("{}|{}|{}|{}|{}|{}", name, to_string(dtype),
                                       to_string(shape), static_cast<int>(bound.kind), bound.value,
                                       codec.name));
    return Field{static_cast<std::uint32_t>(impl_->fields.size() - 1)};
}

Iteration Writer::begin_iteration(std::uint64_t number, std::string_view label) {
    impl_->begin_iteration(number, label);
    return Iteration(this);
}

std::optional<std::uint64_t> Writer::committed() const {
    if (impl_->committed_dumps == impl_->first_dump) return std::nullopt;
    const auto found = impl_->iteration_of_dump.find(impl_->committed_dumps - 1);
    return found == impl_->iteration_of_dump.end() ? std::nullopt
                                                   : std::optional<std::uint64_t>(found->second);
}

bool Writer::released(std::uint64_t iteration) const {
    if (impl_->open_dump && impl_->iteration == iteration) return false;
    return !impl_->executor->reads(iteration);
}

Status Writer::close() { return impl_->close(); }

WriterReport Writer::report() const { return impl_->make_report(); }

// --------------------------------------------------------------------------------- Iteration

Iteration::Iteration(Iteration&& other) noexcept : writer_(std::exchange(other.writer_, nullptr)) {}
// Never communicates: an iteration that was not ended is the next call's error.
Iteration::~Iteration() = default;

Busy Iteration::busy(Lane lane) { return Busy(writer_, lane); }

double Iteration::compress_for(double seconds) {
    const Writer::Impl& impl = *writer_->impl_;
    return impl.executor->compress_until(impl.now_s() + seconds, {});
}

bool Iteration::wait_until(const std::function<bool()>& done, double at_most_s) {
    constexpr auto k_poll = std::chrono::microseconds(30);
    const Writer::Impl& impl = *writer_->impl_;
    const double deadline_s = impl.now_s() + at_most_s;
    bool is_done = false;  // what has said yes is not asked again
    const auto ask = [&] { return is_done = is_done || done(); };
    for (;;) {
        if (ask()) return true;
        (void)impl.executor->compress_until(deadline_s, ask);
        if (ask()) return true;
        if (impl.now_s() >= deadline_s) return false;
        std::this_thread::sleep_for(k_poll);  // not a spin: the write lane may need this core
    }
}

Dump Iteration::begin_dump(double time, double dt, double time_unit_si) {
    writer_->impl_->begin_dump({time, dt, time_unit_si});
    return Dump(writer_);
}

Status Iteration::end() { return writer_->impl_->end_iteration(); }

Status Dump::put_bytes(Field field, const Box& box, const void* data, DType dtype, Ownership own) {
    return writer_->impl_->put(field, box, data, dtype, own);
}

// -------------------------------------------------------------------------------------- Busy

Busy::Busy(Writer* writer, Lane lane) : writer_(writer), lane_(lane), begin_s_(0.0) {
    begin_s_ = writer_->impl_->now_s();
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
    if (in_iteration && misuse.ok())
        misuse = {
            StatusCode::invalid_argument,
            fmt::format("begin_iteration({}): iteration {} has not been ended", number, iteration)};
    if (closed && misuse.ok())
        misuse = {StatusCode::invalid_argument,
                  fmt::format("begin_iteration({}) after close()", number)};
    in_iteration = true;
    if (!std::exchange(first_begun, true)) expect_snapshots();
    iteration = number;
    iteration_begin_s = now_s();
    experience->listener.end();
    executor->observer().begin_iteration(iteration_begin_s, label);
    outcomes.iteration_began(iteration_begin_s);
    experience->listener.begin(*executor);
}

// Of an application's file: from here to the next hand-over. The iteration may have begun with
// another file's.
void Writer::Impl::next_round() {
    if (ending || closed) return;
    in_iteration = true;
    iteration = next_dump;
    open_dump.emplace();
    run::Observer& observer = executor->observer();
    const double begin_s = now_s();
    if (!observer.running()) observer.begin_iteration(begin_s);
    outcomes.iteration_began(begin_s);
    experience->listener.begin(*executor);
}

void Writer::Impl::enter(Lane lane) {
    const auto which =
        lane == Lane::compress ? run::Observer::Lane::compress : run::Observer::Lane::write;
    experience->listener.moved_here();
    executor->enter(which);
}

void Writer::Impl::leave(Lane lane, double begin_s) {
    const bool write = lane == Lane::write;
    experience->listener.moved_here();
    executor->leave(write ? run::Observer::Lane::write : run::Observer::Lane::compress);
    trace_application("obstacle", write ? "write" : "compress", begin_s);
}

void Writer::Impl::begin_dump(const writer::DumpTime& time) {
    if (misuse.ok() && !in_iteration)
        misuse = {StatusCode::invalid_argument, "begin_dump() outside an iteration"};
    if (misuse.ok() && open_dump)
        misuse = {
            StatusCode::invalid_argument,
            fmt::format("iteration {}: a second begin_dump(); one dump an iteration", iteration)};
    const bool known = std::any_of(iteration_of_dump.begin(), iteration_of_dump.end(),
                                   [&](const auto& entry) { return entry.second == iteration; });
    if (misuse.ok() && known)
        misuse = {StatusCode::invalid_argument,
                  fmt::format("iteration {} has been dumped before", iteration)};
    if (!open_dump) open_dump.emplace();
    expect_no_snapshots();
    open_dump->time = time;
}

WriterReport Writer::Impl::make_report() {
    harvest();
    WriterReport report = totals;
    const run::ExecutorCounters counters = executor->counters();
    report.compress_s = counters.compress_s;
    report.write_s = counters.write_s;
    report.writes = counters.writes;
    report.plan_s += counters.plan_s;
    report.replans = counters.replans;
    report.compress_interference_s = counters.compress_interference_s;
    report.planned_dumps = outcomes.dumps();
    report.planned_end_s = outcomes.planned_end_s();
    report.actual_end_s = outcomes.actual_end_s();
    report.planned_iteration_s = outcomes.planned_iteration_s();
    report.actual_iteration_s = outcomes.actual_iteration_s();
    report.plan_deviation = outcomes.deviation();
    report.helped_blocks = counters.helped_blocks;
    report.helped_bytes = counters.helped_bytes;
    report.taken_back_blocks = counters.taken_back_blocks;
    report.spare_bytes = free_space.bytes();
    report.peak_memory_bytes = budget.peak_bytes();
    return report;
}

// What must be the same on all ranks comes to one number.
void Writer::Impl::note_definition(const std::string& definition) {
    definitions_hash = definitions_hash * 1099511628211u + std::hash<std::string>{}(definition);
}

void Writer::Impl::say(const std::string& text) const {
    if (options.on_message) options.on_message(text);
}

void Writer::Impl::trace_application(const char* kind, std::string name, double begin_s) {
    if (options.trace_path.empty()) return;
    application_trace.add({kind, std::move(name), begin_s, now_s(), iteration, 0});
}

}  // namespace caesura
