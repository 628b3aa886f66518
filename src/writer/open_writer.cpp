#include "writer/open_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/all_ranks.hpp"
#include "codec/bound/bound_map.hpp"
#include "run/hurry.hpp"
#include "writer/impl.hpp"

namespace caesura::writer {
namespace {

Status check_composition(const DatasetDefinition& dataset) {
    const Composition& parts = *dataset.composition;
    const int axis = parts.axis();
    const auto bad = [](std::string why) {
        return Status{StatusCode::invalid_argument, std::move(why)};
    };
    if (!caesura_mode(dataset.codec))
        return bad(fmt::format("codec {} has one bound for all quantities; use codec caesura",
                               dataset.codec.name));
    if (axis < 0 &&
        (dataset.dims.rank() != 1 || parts.count() != dataset.dims[0] || dataset.extendable))
        return bad(fmt::format("its arrays have {} values", parts.count()));
    if (axis >= dataset.dims.rank() ||
        (axis >= 0 && (dataset.dims[axis] != parts.components().size() ||
                       dataset.chunk[axis] != (parts.is_interleaved() ? dataset.dims[axis] : 1))))
        return bad(fmt::format("{} quantities do not lie along axis {}, {} to a chunk",
                               parts.components().size(), axis,
                               parts.is_interleaved() ? "all" : "one"));
    if (parts.is_interleaved() && (axis < 1 || axis != dataset.dims.rank() - 1))
        return bad(
            fmt::format("quantities are interleaved along the last of several axes, not {}", axis));
    for (const Component& one : parts.components())
        if (Status status = validate(one.bound); !status.ok())
            return status.with_context("component " + one.name);
    return {};
}

Status check(const DatasetDefinition& dataset) {
    const auto bad = [&](std::string_view what) {
        return Status{StatusCode::invalid_argument,
                      fmt::format("dataset {}: {}", dataset.path, what)};
    };
    if (!is_known(dataset.dtype)) return bad("its data type is unknown");
    if (dataset.dims.rank() < 1 || dataset.chunk.rank() != dataset.dims.rank())
        return bad("dims and chunk need 1 to 4 axes, the same for both");
    for (int axis = 0; axis < dataset.chunk.rank(); ++axis)
        if (dataset.chunk[axis] == 0)
            return bad(fmt::format("chunk {} is empty", to_string(dataset.chunk)));
    if (dataset.composition != nullptr)
        if (Status status = check_composition(dataset); !status.ok()) return bad(status.message());
    if (dataset.composition != nullptr && dataset.bound_map.rules() > 0)
        return bad("a bound map is of one quantity");
    // What may grow need not have reached the map's boxes.
    const Shape reach =
        dataset.extendable ? Shape::filled(dataset.dims.rank(), ~std::uint64_t{0}) : dataset.dims;
    if (Status status =
            check_bound_map(dataset.path, reach, dataset.bound, dataset.codec, dataset.bound_map);
        !status.ok())
        return status;
    return validate(dataset.bound).with_context("dataset " + dataset.path);
}

}  // namespace

Result<std::vector<int>> fold_axes(std::span<const std::uint64_t> dims,
                                   std::span<const std::uint64_t> most_dims, std::size_t most) {
    std::vector<int> kept;
    const auto is_one = [&](std::size_t axis) { return dims[axis] == 1 && most_dims[axis] == 1; };
    std::size_t too_many = dims.size() - std::min(dims.size(), most);
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (too_many > 0 && is_one(axis))
            --too_many;
        else
            kept.push_back(static_cast<int>(axis));
    }
    // The second axis of a pair must not grow: the first one's numbers would change.
    for (std::size_t i = 1; too_many > 0 && i < kept.size();) {
        const auto axis = static_cast<std::size_t>(kept[i]);
        if (dims[axis] != most_dims[axis]) {
            ++i;
            continue;
        }
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
        --too_many;
    }
    if (too_many == 0) return kept;
    return Status{
        StatusCode::unsupported,
        fmt::format("{} axes, so many of which may grow that {} more are left than the {} "
                    "possible",
                    dims.size(), too_many, most)};
}

OpenWriter::OpenWriter(std::unique_ptr<Writer::Impl> impl) : impl_(std::move(impl)) {}
OpenWriter::~OpenWriter() {
    if (impl_ && impl_->session.process.is_forked()) base::Process::leave(impl_);
}

Result<std::unique_ptr<OpenWriter>> OpenWriter::make(const TargetFile& target,
                                                     std::shared_ptr<Communicator> communicator,
                                                     WriterOptions options,
                                                     std::shared_ptr<Experience> experience,
                                                     Background background) {
    auto impl = Writer::Impl::make(target.ledger.file().path(), std::move(communicator),
                                   std::move(options), std::move(experience), &target);
    if (!impl.ok()) return impl.status();
    (*impl)->background = std::move(background);
    (*impl)->next_round();
    return std::unique_ptr<OpenWriter>(new OpenWriter(std::move(*impl)));
}

Result<Field> OpenWriter::define(const DatasetDefinition& dataset) {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    if (Status status = check(dataset); !status.ok()) return status;
    if (has(dataset.path))
        return Status{StatusCode::invalid_argument,
                      fmt::format("dataset {} is defined already", dataset.path)};
    // Chunks of arrays one after the other are as long as boxes make them, others after a regrid;
    // what is learned is of the arrays in them.
    const bool arrays = dataset.composition != nullptr && dataset.composition->axis() < 0;
    FieldModels& models = impl_->session.experience->of_field(
        dataset.path, dataset.codec, dataset.dtype, arrays ? Shape{1} : dataset.chunk);
    FieldOptions options;
    options.bound_map = dataset.bound_map;
    options.missing = dataset.missing;
    if (const DType number = number_type(dataset.dtype); dataset.fill_is_set &&
                                                         codec::may_have_missing(number) &&
                                                         dataset.fill != std::array<std::byte, 8>{})
        options.missing.push_back(value_of(std::span(dataset.fill).first(size_of(number)), number));
    FieldState field(dataset.path, dataset.dtype, dataset.dims, dataset.bound, dataset.codec,
                     std::move(options), models);
    field.tables = dataset.tables.value_or(models.tables);
    field.dataset.emplace(FieldState::Dataset{dataset.chunk, dataset.extendable, dataset.fill});
    field.dataset->chunk_bytes = dataset.chunk_bytes;
    field.dataset->composition = dataset.composition;
    field.dataset->for_fields = dataset.for_fields;
    field.dataset->loosest = dataset.loosest;
    if (Status made = fix_pipeline(field); !made.ok()) return made;
    return impl_->fields.add(
        std::move(field),
        fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", dataset.path, to_string(dataset.dtype),
                    to_string(dataset.dims), to_string(dataset.chunk), dataset.codec.name,
                    static_cast<int>(dataset.bound.kind), dataset.bound.value,
                    codec::to_json(dataset.bound_map, 0.0), dataset.for_fields));
}

bool OpenWriter::has(const std::string& path) const { return impl_->fields.has(path); }

Status OpenWriter::declare_missing(Field field, const FillValue& value) {
    return impl_->intake->declare_missing(field, value);
}

const std::string& OpenWriter::stretched(Field field) const {
    return impl_->fields[field.index].stretched;
}

Shape OpenWriter::fitting_chunk(const std::string& path, const Shape& dims) const {
    return impl_->session.experience->fitting_chunk(path, dims);
}

std::span<const FilterSpec> OpenWriter::pipeline(Field field) const {
    return impl_->fields[field.index].dataset->pipeline;
}

const std::vector<std::vector<unsigned>>& OpenWriter::creation_values(Field field) const {
    return impl_->fields[field.index].dataset->creation_values;
}

Status OpenWriter::resize(Field field, const Shape& dims) {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    if (field.index >= impl_->fields.size())
        return {StatusCode::invalid_argument, fmt::format("no dataset {}", field.index)};
    FieldState& state = impl_->fields[field.index];
    const auto bad = [&](std::string_view why) {
        return Status{StatusCode::invalid_argument, fmt::format("dataset {}: cannot become {}: {}",
                                                                state.name, to_string(dims), why)};
    };
    if (dims.rank() != state.shape.rank()) return bad("the number of axes is another");
    bool shrinks = false;
    for (int axis = 0; axis < dims.rank(); ++axis) shrinks |= dims[axis] < state.shape[axis];
    const auto& puts = impl_->intake->dump()->puts;
    if (shrinks &&
        std::any_of(puts.begin(), puts.end(), [&](auto& p) { return p.field == field.index; }))
        return bad("something put before is not handed over yet");
    FieldState::Dataset& dataset = *state.dataset;
    // Chunks are numbered with the first axis slowest.
    for (int axis = 1; axis < dims.rank(); ++axis)
        if (dims[axis] != state.shape[axis]) dataset.stored_bytes.clear();
    dataset.extendable |= dims != state.shape;
    state.shape = dims;
    impl_->fields.note(fmt::format("{}|{}", state.name, to_string(dims)));
    return {};
}

Status OpenWriter::put(Field field, const Box& box, const void* data, DType dtype, Ownership own,
                       Loss loss, std::uint32_t turn) {
    return impl_->intake->put({field, box, data, dtype, own, loss, turn});
}

void OpenWriter::keep_exact(Field field) { impl_->fields[field.index].dataset->told_exact = true; }

KeptExact OpenWriter::kept_exact(Field field) const {
    return impl_->fields[field.index].dataset->kept_exact;
}

Status OpenWriter::earlier_error() const {
    const Status& failed = impl_->round.failed();
    if (failed.ok()) return {};
    return {StatusCode::cancelled, "an earlier error: " + failed.message()};
}

bool OpenWriter::pending() const {
    return impl_->intake->dump() && !impl_->intake->dump()->puts.empty();
}

Status OpenWriter::end(const Status& mine) {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    if (!mine.ok()) {
        impl_->executor->report(mine);
        impl_->ledger->book().spoil();
    }
    const Status status = impl_->end_iteration();
    impl_->next_round();
    return status;
}

Status OpenWriter::flush(const Status& mine) {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    const Status status = end(mine);
    const Status finished = impl_->finish_dumps();
    return status.ok() ? finished : status;
}

Status OpenWriter::place_spills() {
    const auto all = base::from_all(*impl_->session.comm, impl_->flights->spill_bytes());
    if (!all.ok()) return impl_->round.lost(all.status());
    if (std::any_of(all->begin(), all->end(), [](std::uint64_t bytes) { return bytes > 0; }))
        (void)impl_->flights->place_spills(impl_->ledger->book(), *all);
    return {};
}

Status OpenWriter::pause(const Status& mine) {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    if (impl_->ending) return impl_->round.failed();
    impl_->session.is_last_dump = true;
    Status status = end(mine);
    impl_->session.is_last_dump = false;
    // There was no dump that asked for room for those before, too.
    if (status.ok() && impl_->session.spill_end == 0) status = place_spills();
    // A commit of earlier dumps, made after the place was chosen, may have needed more than that.
    if (impl_->session.spill_begin < impl_->ledger->book().file_end()) impl_->flights->end_spills();
    impl_->ending = true;
    impl_->intake->end_iteration();  // of this file; the application's goes on
    // A commit goes before blocks on the write lane: this takes milliseconds.
    if (impl_->executor->flush_running())
        impl_->executor->help([&] { return !impl_->executor->flush_running(); });
    return status;
}

void OpenWriter::when_written(std::function<void()> call) {
    impl_->executor->when_written(std::move(call));
}
bool OpenWriter::take_back_call() { return impl_->executor->take_back_call(); }
bool OpenWriter::wait_for_call() { return impl_->executor->wait_for_call(); }
void OpenWriter::go_on() {
    impl_->flights->end_spills();
    impl_->session.spill_begin = impl_->session.spill_end = 0;
    impl_->ending = false;
    impl_->next_round();
}

bool OpenWriter::finished() const {
    if (impl_->session.process.is_forked()) return true;  // here nothing is done
    impl_->flights->harvest();
    if (impl_->executor->flush_running()) return false;
    return !impl_->executor->error().ok() ||  // nothing more will be done
           !impl_->flights->any_at_work();
}

Status OpenWriter::close() {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    // What was handed over before a pause is the last: its commit gives back what lies behind it.
    const Status status = impl_->closed || impl_->ending ? Status{} : pause();
    const Status closed = impl_->close();
    return status.ok() ? closed : status;
}

Status OpenWriter::close_completed(double since_s) {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    return impl_->close(since_s);
}

std::uint64_t OpenWriter::committed_dumps() const { return impl_->ledger->book().committed(); }
// An iteration has the number of its dump: next_round().
bool OpenWriter::released(std::uint64_t dump) const {
    return dump < next_dump() && !impl_->executor->reads(dump);
}
std::uint64_t OpenWriter::next_dump() const { return impl_->ledger->book().next_dump(); }
WriterReport OpenWriter::report() const { return impl_->make_report(); }
PutSums OpenWriter::uncommitted() const { return impl_->uncommitted(); }
bool OpenWriter::has_written_all() const { return impl_->executor->has_written_all(); }
std::uint64_t OpenWriter::spill_end() const { return impl_->session.spill_end; }
void OpenWriter::hurry_all() { run::hurry_all(); }
bool OpenWriter::all_have_written() { return run::all_have_written(); }

}  // namespace caesura::writer
