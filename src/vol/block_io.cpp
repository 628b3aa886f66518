#include "vol/block_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/all_ranks.hpp"
#include "codec/bound/bound_map.hpp"
#include "vol/errors.hpp"
#include "vol/missing.hpp"
#include "vol/object.hpp"
#include "vol/settings.hpp"
#include "vol/strided_copy.hpp"

namespace caesura::vol {
namespace {

store::Handle decoded_type(const std::vector<unsigned char>& bytes) {
#if H5_VERSION_GE(2, 0, 0)  // reads no further than the bytes there are
    return store::Handle(H5Tdecode2(bytes.data(), bytes.size()), H5Tclose);
#else
    return store::Handle(H5Tdecode(bytes.data()), H5Tclose);
#endif
}

}  // namespace

BlockIo::~BlockIo() = default;

std::unique_ptr<BlockIo> BlockIo::make(const FileParts& place) {
    return std::unique_ptr<BlockIo>(new BlockIo(place));
}

Status BlockIo::start() {
    if (started()) return {};
    WriterOptions options;
    options.memory_bytes = place_.config->memory_bytes;
    options.transport = place_.config->transport;  // of the experience, which has it already
    options.durable = place_.durable;
    options.max_delay_s = max_delay_s(*place_.config, place_.alone);
    if (!place_.config->closing_line) options.on_message = quiet;
    auto writer = writer::OpenWriter::make(
        {place_.ledger, place_.tree}, place_.communicator, std::move(options), place_.experience,
        [this](Field field, std::uint64_t, const Box& part, std::span<std::byte> values) {
            return read_stored(*by_field_[field.index], part, values);
        });
    if (!writer.ok()) return writer.status();
    writer_ = std::move(*writer);
    // Whoever opens the file after a kill is to recover it first. A disk that refuses these bytes
    // refuses the blocks too.
    if (place_.communicator->rank() == 0) (void)store::mark_open(place_.ledger.file());
    return {};
}

// ------------------------------------------------------------------------------- datasets

Status BlockIo::define(Dataset& made, writer::DatasetDefinition definition) {
    // A path may come again: its dataset has been deleted, or HDF5 refused to make it. The order is
    // the same everywhere.
    made.key = made.path;
    for (int n = 2; writer_->has(made.key); ++n) made.key = fmt::format("{} ({})", made.path, n);
    definition.missing = settings_of(*place_.config, made.path).missing;
    definition.path = made.key;
    definition.dtype = made.dtype();
    definition.dims = made.dims;
    definition.chunk = made.chunk;
    made.lossy = made.lossy || definition.bound.kind != ErrorBound::Kind::lossless ||
                 codec::loosest_bound(definition.bound_map, 0.0) > 0.0;
    if (definition.composition != nullptr)
        for (const writer::Component& one : definition.composition->components())
            made.lossy = made.lossy || one.bound.kind != ErrorBound::Kind::lossless;
    auto field = writer_->define(definition);
    if (!field.ok()) return field.status();
    made.field = *field;
    return {};
}

std::span<const FilterSpec> BlockIo::pipeline(const Dataset& dataset) const {
    return writer_->pipeline(dataset.field);
}

const std::vector<std::vector<unsigned>>& BlockIo::creation_values(const Dataset& dataset) const {
    return writer_->creation_values(dataset.field);
}

Status BlockIo::adopt(const DatasetPtr& made, const NativeObject& object) {
    auto token = token_of(object);
    if (!token.ok()) return token.status();
    made->token = *token;
    made->settled = Shape::filled(made->dims.rank(), 0);
    by_token_[key_of_token(*token)] = made;
    note_field(made);
    // Kept, so that the dataset is there when its blocks are placed even if it has been deleted.
    place_.tree.go_through(object);
    return place_.tree.open(*made);
}

void BlockIo::note_field(const DatasetPtr& dataset) {
    by_field_.resize(std::max<std::size_t>(by_field_.size(), dataset->field.index + 1));
    by_field_[dataset->field.index] = dataset;
    place_.tree.add(*dataset);
}

BlockIo::DatasetPtr BlockIo::find(const NativeObject& object) const {
    if (by_token_.empty() || object.kind != H5I_DATASET) return nullptr;
    const auto token = token_of(object);
    if (!token.ok()) return nullptr;
    const auto found = by_token_.find(key_of_token(*token));
    return found == by_token_.end() ? nullptr : found->second;
}

void BlockIo::release() {
    decoded_.clear();
    for (const auto& [token, dataset] : by_token_) dataset->native.close();
    place_.tree.go_through({});
}

void BlockIo::forget_types() {
    for (const DatasetPtr& dataset : by_field_)
        if (dataset != nullptr) dataset->type.reset();
    // Those that were found and not written are known by their token alone.
    for (const auto& [token, dataset] : by_token_) dataset->type.reset();
}

Status BlockIo::go_on() {
    closing_ = false;
    writer_->go_on();
    std::vector<DatasetPtr> all(by_field_);
    for (const auto& [token, dataset] : by_token_) all.push_back(dataset);
    for (const DatasetPtr& dataset : all) {
        if (dataset == nullptr || dataset->type.ok()) continue;
        dataset->type = decoded_type(dataset->type_bytes);
        if (!dataset->type.ok()) return store::hdf5_error(StatusCode::internal, dataset->path);
    }
    return {};
}

// ---------------------------------------------------------------------------- reads, writes

Status BlockIo::put(const Dataset& dataset, PutBox& piece) {
    piece.dump = writer_->next_dump();
    return writer_->put(dataset.field, piece.box, piece.values, dataset.dtype(), Ownership::borrow,
                        piece.loss, piece.turn);
}

// Those that wait are the newest.
Status BlockIo::put_waiting(Dataset& dataset) {
    auto first = dataset.pieces.end();
    while (first != dataset.pieces.begin() && std::prev(first)->dump == k_not_put) --first;
    for (; first != dataset.pieces.end(); ++first)
        if (Status status = put(dataset, *first); !status.ok()) {
            first->dump = k_not_put;
            return status.with_context(dataset.path);
        }
    return {};
}

Status BlockIo::put_all_waiting() {
    Status first;
    for (const DatasetPtr& dataset : by_field_)
        if (dataset != nullptr && !dataset->definition)
            if (Status status = put_waiting(*dataset); first.ok()) first = std::move(status);
    return first;
}

bool BlockIo::any_waits() const {
    return std::any_of(by_field_.begin(), by_field_.end(), [](const DatasetPtr& dataset) {
        return dataset != nullptr && !dataset->definition && !dataset->pieces.empty() &&
               dataset->pieces.back().dump == k_not_put;
    });
}

namespace {

/// Does `next` go on where `piece` ends, in the array and in memory?
bool goes_on(const BlockIo::Dataset& dataset, const BlockIo::PutBox& piece,
             const BlockIo::PutBox& next) {
    if (piece.dump != BlockIo::k_not_put || piece.loss != next.loss || piece.turn != next.turn ||
        piece.values + piece.box.extent.count() * dataset.value_bytes() != next.values)
        return false;
    const Box &a = piece.box, &b = next.box;
    const int rank = a.offset.rank();
    int axis = 0;
    while (axis < rank && a.offset[axis] == b.offset[axis] && a.extent[axis] == 1 &&
           b.extent[axis] == 1)
        ++axis;
    if (axis == rank || b.offset[axis] != a.offset[axis] + a.extent[axis]) return false;
    for (++axis; axis < rank; ++axis)
        if (a.offset[axis] != b.offset[axis] || a.extent[axis] != b.extent[axis]) return false;
    return true;
}

}  // namespace

// Small pieces wait, for others that go on where they end: a row, then rows that make a plane.
// Whatever waits goes before a larger piece, so that the order stays.
Status BlockIo::add(Dataset& dataset, PutBox piece) {
    auto& pieces = dataset.pieces;
    const bool small = piece.box.extent.count() * dataset.value_bytes() < k_small_bytes;
    pieces.push_back(std::move(piece));
    while (pieces.size() > dataset.index.known() + 1 &&
           goes_on(dataset, pieces[pieces.size() - 2], pieces.back())) {
        Box& box = pieces[pieces.size() - 2].box;
        const Box& last = pieces.back().box;
        for (int axis = 0; axis < box.offset.rank(); ++axis)
            if (box.offset[axis] != last.offset[axis]) box.extent[axis] += last.extent[axis];
        pieces.pop_back();
    }
    if (dataset.definition || small) return {};
    Status status = put_waiting(dataset);
    if (!status.ok()) pieces.pop_back();
    return status;
}

// Small values go behind the ones before them, so that they can become one piece.
Result<std::byte*> BlockIo::make_room(Dataset& dataset, std::size_t bytes) {
    Dataset::Room& room = dataset.room;
    if (room.bytes >= bytes) return room.begin;
    constexpr std::size_t k_first = 4096;
    const std::size_t next = std::clamp<std::size_t>(2 * room.taken, k_first, 4 * k_small_bytes);
    const std::size_t taken = bytes < k_small_bytes ? std::max(bytes, next) : bytes;
    auto buffer = pool_.take(taken, base::Pages::now);
    if (!buffer.ok()) return buffer.status();
    copies_.push_back({dataset.definition ? k_not_put : writer_->next_dump(), std::move(*buffer)});
    room = {copies_.back().buffer.data(), taken, taken};
    return room.begin;
}

// What a memory type has of the members of a compound type is what is written.
Status BlockIo::write(Dataset& dataset, const NativeObject& through, const Selected& selected,
                      const void* memory, hid_t memory_type, hid_t transfer) {
    if (selected.count == 0) return {};
    if (memory == nullptr) return no_memory(dataset);
    place_.tree.go_through(through);
    if (Status status = place_.tree.open(dataset); !status.ok()) return status;
    if (!dataset.definition)
        if (Status status = writer_->earlier_error(); !status.ok()) return status;
    const Source source{memory, {memory_type, selected.memory_space, selected.memory, transfer}};
    const Element& element = dataset.element;
    if (!element.has_axis())
        return write_numbers(dataset, selected, source, {dataset.type.get(), 1, {{0, 1}}});
    auto present = element.words > 0 ? words_in(memory_type, dataset.type.get(), element.dtype)
                                     : members_in(memory_type, element.dtype, element.members);
    if (!present.ok()) return present.status().with_context(dataset.path);
    if (present->count == 0) return {};
    return write_numbers(dataset, selected, source,
                         {present->type.get(), present->count, std::move(present->runs)});
}

Status BlockIo::write_numbers(Dataset& dataset, const Selected& selected, const Source& source,
                              const Written& written) {
    const std::size_t bytes = written.numbers * dataset.value_bytes();
    const std::size_t beside = source.values.bytes_beside(written.type);
    const SelectedBoxes boxes = selected.picked.boxes();
    const bool apart = written.runs.size() > 1;
    if (boxes.in_order && !apart) {
        const auto room = make_room(dataset, beside);
        if (!room.ok()) return room.status().with_context(dataset.path);
        Status status = gather(pool_, source.memory, source.values, written.type, *room);
        if (!status.ok()) return status.with_context(dataset.path);
        return add_boxes(dataset, boxes, written.runs[0], selected);
    }
    auto values = pool_.take(beside);
    if (!values.ok()) return values.status().with_context(dataset.path);
    if (Status status = gather(pool_, source.memory, source.values, written.type, values->data());
        !status.ok())
        return status.with_context(dataset.path);
    if (!boxes.in_order) {
        auto ordered = pool_.take(selected.count * bytes);
        if (!ordered.ok()) return ordered.status().with_context(dataset.path);
        selected.picked.to_boxes(boxes, values->data(), ordered->data(), bytes);
        *values = std::move(*ordered);
    }
    std::size_t at = 0;
    for (const MemberRun& run : written.runs) {
        const std::size_t part = run.count * dataset.value_bytes();
        const auto room = make_room(dataset, selected.count * part);
        if (!room.ok()) return room.status().with_context(dataset.path);
        copy_strided({{selected.count, bytes, part}}, values->data() + at, *room, part);
        if (Status status = add_boxes(dataset, boxes, run, selected); !status.ok()) return status;
        at += part;
    }
    return {};
}

// The boxes' values lie where there was room for them.
Status BlockIo::add_boxes(Dataset& dataset, const SelectedBoxes& boxes, const MemberRun& run,
                          const Selected& selected) {
    const std::size_t bytes = run.count * dataset.value_bytes();
    const std::byte* const first = dataset.room.begin;
    dataset.room.begin += selected.count * bytes;
    dataset.room.bytes -= selected.count * bytes;
    waiting_bytes_ += selected.count * bytes;
    // What a rank writes by itself comes after the collective write before it.
    const std::uint32_t turn = 2 * dataset.writes_together + (selected.together ? 0 : 1);
    for (const SelectedBox& one : boxes.boxes) {
        Box box = one.box;
        if (dataset.element.has_axis())
            box = {with_axis(box.offset, run.first), with_axis(box.extent, run.count)};
        if (Status status = add(dataset, {box, k_not_put, first + one.at * bytes,
                                          writer::Loss::within_bound, turn});
            !status.ok())
            return status.with_context(dataset.path);
    }
    return {};
}

// ------------------------------------------------------------------------------- commits

bool BlockIo::anything_pending_here() const {
    return writer_->pending() || any_waits() || writer_->committed_dumps() < writer_->next_dump();
}

bool BlockIo::may_wait() const {
    const auto waits = [](const auto& known) {
        return known.second->others_may_have_written || !known.second->pieces.empty();
    };
    return std::any_of(by_token_.begin(), by_token_.end(), waits);
}

std::uint64_t BlockIo::held_bytes() const {
    const std::uint64_t committed = started() ? writer_->committed_dumps() : 0;
    std::uint64_t bytes = 0;
    for (const DatasetPtr& dataset : by_field_)
        if (dataset != nullptr)
            for (const PutBox& piece : dataset->pieces)
                if (piece.dump >= committed)
                    bytes += piece.box.extent.count() * dataset->value_bytes();
    return bytes;
}

losses::Uncommitted BlockIo::uncommitted() const {
    if (!started()) return {0, held_bytes()};
    const std::uint64_t next = any_waits() && !writer_->pending() ? 1 : 0;
    return {writer_->uncommitted().dumps + next, held_bytes()};
}

Result<bool> BlockIo::anything_pending(const Status& error) {
    const std::uint8_t mine = anything_pending_here() || !error.ok() ? 1 : 0;
    const auto all = base::from_all(*place_.communicator, mine);
    if (!all.ok()) return all.status();
    const bool any =
        std::any_of(all->begin(), all->end(), [](std::uint8_t one) { return one != 0; });
    if (!any) forget_committed();
    return any;
}

void BlockIo::forget_committed() {
    const std::uint64_t committed = writer_->committed_dumps();
    for (const auto& [token, dataset] : by_token_) {
        if (std::erase_if(dataset->pieces,
                          [&](const PutBox& piece) { return piece.dump < committed; }) > 0)
            dataset->index.clear();
        if (committed == writer_->next_dump()) dataset->others_may_have_written = false;
    }
    std::uint64_t asked = committed;
    bool released = false;
    std::erase_if(copies_, [&](const Copy& copy) {
        if (copy.dump >= committed) return false;
        if (copy.dump != asked) released = writer_->released(asked = copy.dump);
        return released;
    });
}

/// What was put so far has been handed over.
void BlockIo::begin_turns() {
    for (const auto& [token, dataset] : by_token_) {
        dataset->writes_together = 0;
        dataset->room = {};
    }
    waiting_bytes_ = 0;
}

// An attribute that came after the values holds for them, too, as long as they wait.
Status BlockIo::declare_missing() {
    const std::uint64_t next = writer_->next_dump();
    for (const DatasetPtr& dataset : by_field_) {
        if (dataset == nullptr || !dataset->lossy || dataset->filtered) continue;
        const bool waits = std::any_of(dataset->pieces.begin(), dataset->pieces.end(),
                                       [&](const PutBox& piece) { return piece.dump == next; });
        if (!waits || !place_.tree.open(*dataset).ok()) continue;
        for (const FillValue& value : missing_said_of({dataset->native.under(), H5I_DATASET}))
            if (writer::fill_of(value, number_type(dataset->dtype())).ok())
                if (Status status = writer_->declare_missing(dataset->field, value); !status.ok())
                    return status.with_context(dataset->path);
    }
    return {};
}

Status BlockIo::hand_over(const NativeObject& through, Status mine) {
    place_.tree.go_through(through);
    if (Status put = put_all_waiting(); mine.ok()) mine = std::move(put);
    if (mine.ok()) mine = declare_missing();
    look_for_coordinates();
    const Status status = writer_->end(mine);
    report_fields();
    begin_turns();
    forget_committed();
    return status;
}

Status BlockIo::flush(const NativeObject& through, Status mine) {
    place_.tree.go_through(through);
    if (Status put = put_all_waiting(); mine.ok()) mine = std::move(put);
    if (mine.ok()) mine = declare_missing();
    place_.tree.look_for_changes();
    look_for_coordinates();
    const Status status = writer_->flush(mine);
    report_fields();
    begin_turns();
    if (!status.ok()) return status;
    forget_committed();
    for (const auto& [token, dataset] : by_token_) dataset->settled = dataset->dims;
    return {};
}

Status BlockIo::pause(const NativeObject& through, Status mine) {
    place_.tree.go_through(through);
    if (Status put = put_all_waiting(); mine.ok()) mine = std::move(put);
    if (mine.ok()) mine = declare_missing();
    // Datasets without their blocks are not worth a commit; see close().
    place_.tree.pass_over_changes();
    decoded_.clear();
    closing_ = true;
    look_for_coordinates();
    const Status status = writer_->pause(mine);
    report_fields();
    begin_turns();
    forget_committed();
    return status;
}

Status BlockIo::close(const NativeObject& through, const Status& mine) {
    const Status begun = closing_ ? Status{} : pause(through, mine);
    place_.tree.go_through(through);
    place_.tree.look_for_changes();
    const Status closed = writer_->close();
    if (begun.ok() && closed.ok()) forget_committed();
    return begun.ok() ? closed : begun;
}

}  // namespace caesura::vol
