#include "vol/block_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/all_ranks.hpp"
#include "codec/bound/bound_map.hpp"
#include "vol/errors.hpp"
#include "vol/memory_values.hpp"
#include "vol/missing.hpp"
#include "vol/object.hpp"
#include "vol/settings.hpp"

namespace caesura::vol {
namespace {

Status no_memory(const BlockIo::Dataset& dataset) {
    return {StatusCode::invalid_argument,
            dataset.path + ": values are selected, and the address in memory is null"};
}

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
    options.durable = place_.config->durability == Durability::durable;
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
    // A path may come again, after its dataset has been deleted; the order is the same everywhere.
    made.key = made.path;
    for (int n = 2; place_.tree.knows(made.key); ++n)
        made.key = fmt::format("{} ({})", made.path, n);
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

// Puts it, or lets it wait until the Writer knows the dataset.
Status BlockIo::add(Dataset& dataset, PutBox piece) {
    if (!dataset.definition) {
        if (Status status = put(dataset, piece); !status.ok()) return status;
    }
    dataset.pieces.push_back(std::move(piece));
    return {};
}

// What a memory type has of the members of a compound type is what is written.
Status BlockIo::write(Dataset& dataset, const NativeObject& through, Selected& selected,
                      const void* memory, hid_t memory_type, hid_t transfer) {
    if (selected.count == 0) return {};
    if (memory == nullptr) return no_memory(dataset);
    place_.tree.go_through(through);
    if (Status status = place_.tree.open(dataset); !status.ok()) return status;
    const Source source{memory, memory_type, selected.memory.get(), transfer};
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
    auto values = gather(pool_, source.memory, source.type, source.space, selected.count,
                         written.type, source.transfer);
    if (!values.ok()) return values.status().with_context(dataset.path);
    const std::size_t bytes = written.numbers * dataset.value_bytes();
    const Shape dims = dataset.elements(dataset.dims);
    const SelectedBoxes boxes = boxes_of(dims, selected.runs);
    if (!boxes.in_order) {
        auto ordered = pool_.take(selected.count * bytes);
        if (!ordered.ok()) return ordered.status().with_context(dataset.path);
        to_boxes(dims, selected.runs, boxes, values->data(), ordered->data(), bytes);
        *values = std::move(*ordered);
    }
    std::size_t at = 0;
    for (const MemberRun& run : written.runs) {
        auto own = written.runs.size() == 1 ? Result<base::Buffer>(std::move(*values))
                                            : numbers_of(*values, selected.count, dataset.dtype(),
                                                         written.numbers, {at, run.count});
        if (!own.ok()) return own.status().with_context(dataset.path);
        if (Status status = add_boxes(dataset, boxes, std::move(*own), run, selected.together);
            !status.ok())
            return status.with_context(dataset.path);
        at += run.count;
    }
    return {};
}

// Some of the numbers of each element, dense.
Result<base::Buffer> BlockIo::numbers_of(const base::Buffer& values, std::uint64_t count,
                                         DType dtype, std::size_t numbers, const MemberRun& run) {
    const std::size_t from = numbers * size_of(dtype), to = run.count * size_of(dtype);
    auto own = pool_.take(count * to);
    if (!own.ok()) return own;
    const std::byte* source = values.data() + run.first * size_of(dtype);
    std::byte* target = own->data();
    for (std::uint64_t i = 0; i < count; ++i, source += from, target += to)
        std::memcpy(target, source, to);
    return own;
}

Status BlockIo::add_boxes(Dataset& dataset, const SelectedBoxes& boxes, base::Buffer values,
                          const MemberRun& run, bool together) {
    waiting_bytes_ += values.size();
    copies_.push_back({dataset.definition ? k_not_put : writer_->next_dump(), std::move(values)});
    const std::byte* const first = copies_.back().buffer.data();
    const std::size_t bytes = run.count * dataset.value_bytes();
    // What a rank writes by itself comes after the collective write before it.
    const std::uint32_t turn = 2 * dataset.writes_together + (together ? 0 : 1);
    for (const SelectedBox& one : boxes.boxes) {
        Box box = one.box;
        if (dataset.element.has_axis())
            box = {with_axis(box.offset, run.first), with_axis(box.extent, run.count)};
        if (Status status = add(dataset, {box, k_not_put, first + one.at * bytes,
                                          writer::Loss::within_bound, turn});
            !status.ok())
            return status;
    }
    return {};
}

// Copy what a piece has of a selection. @return  does it have all of it?
bool BlockIo::take_from(const Dataset& dataset, const PutBox& piece, const Selected& selected,
                        std::byte* values) {
    ValueBytes bytes = ValueBytes::whole(dataset.element.bytes());
    if (dataset.element.has_axis()) {
        const int last = piece.box.extent.rank() - 1;
        bytes.begin = piece.box.offset[last] * dataset.value_bytes();
        bytes.count = piece.box.extent[last] * dataset.value_bytes();
    }
    return take_from_box(dataset.elements(dataset.dims), selected.runs, dataset.elements(piece.box),
                         piece.values, values, bytes) == selected.count &&
           bytes.count == bytes.all;
}

// Which of the selected elements' numbers of one member are in the file for certain, or ours?
bool BlockIo::knows_member(const Dataset& dataset, const Selected& selected, std::size_t member) {
    const Shape dims = dataset.elements(dataset.dims);
    std::vector<char> known(selected.count, 0);
    const auto mark = [&](const Box& box) { mark_in_box(dims, selected.runs, box, known); };
    const Shape settled = dataset.elements(dataset.settled);
    if (!dataset.others_may_have_written && settled.count() > 0)
        mark({Shape::filled(dims.rank(), 0), settled});
    for (const PutBox& piece : dataset.pieces) {
        const int last = piece.box.extent.rank() - 1;
        if (!dataset.element.has_axis() ||
            (piece.box.offset[last] <= member &&
             member < piece.box.offset[last] + piece.box.extent[last]))
            mark(dataset.elements(piece.box));
    }
    return std::memchr(known.data(), 0, known.size()) == nullptr;
}

// What this rank has not written itself it reads from the file, where others' values may be missing
// still.
Status BlockIo::check_settled(const Dataset& dataset, const Selected& selected) const {
    const bool all = !dataset.others_may_have_written && dataset.settled == dataset.dims;
    if (all || selected.together || place_.communicator->size() == 1) return {};
    bool known = true;
    for (std::size_t i = 0; known && i < dataset.element.numbers(); ++i)
        known = knows_member(dataset, selected, i);
    if (known) return {};
    return {StatusCode::unsupported,
            fmt::format("{}: a rank reads by itself what others may have written since the last "
                        "H5Fflush; read it collectively, or let all ranks call H5Fflush before, or "
                        "write it collectively with commit_writes = true for the dataset in "
                        "Caesura's configuration",
                        dataset.path)};
}

Status BlockIo::read(Dataset& dataset, const NativeObject& through, Selected& selected,
                     void* memory, hid_t memory_type, hid_t transfer) {
    if (selected.count == 0) return {};
    if (memory == nullptr) return no_memory(dataset);
    place_.tree.go_through(through);
    if (Status status = place_.tree.open(dataset); !status.ok()) return status;
    auto values = pool_.take(selected.count * dataset.element.bytes());
    if (!values.ok()) return values.status().with_context(dataset.path);
    // The newest piece that has all of it saves the look into the file.
    std::size_t first = dataset.pieces.size();
    bool covered = false;
    while (first > 0 && !covered)
        covered = take_from(dataset, dataset.pieces[--first], selected, values->data());
    if (!covered) {
        if (Status status = check_settled(dataset, selected); !status.ok()) return status;
        const hsize_t n = selected.count;
        const store::Handle dense(H5Screate_simple(1, &n, nullptr), H5Sclose);
        // The library keeps the list it is given until the application's call ends.
        if (dataset.native.read(dataset.type.get(), dense.get(), selected.file.get(),
                                H5P_DATASET_XFER_DEFAULT, values->data()) < 0)
            return store::hdf5_error(StatusCode::io, dataset.path);
        first = 0;
    }
    for (; first < dataset.pieces.size(); ++first)
        take_from(dataset, dataset.pieces[first], selected, values->data());
    return scatter(pool_, values->bytes(), selected.count, dataset.type.get(), memory, memory_type,
                   selected.memory.get(), transfer)
        .with_context(dataset.path);
}

// A part of one chunk, from the tree. @return  false: it has no such chunk.
Result<bool> BlockIo::read_stored(Dataset& dataset, const Box& part, std::span<std::byte> values) {
    if (Status status = place_.tree.open(dataset); !status.ok()) return status;
    const auto offset = native_offset(dataset, part.offset);
    auto there = dataset.native.has_chunk(offset.data());
    if (!there.ok() || !*there) return there;
    const auto extent = native_extent(dataset, part.extent);
    auto dims = native_extent(dataset, dataset.dims);
    const store::Handle in_file(H5Screate_simple(dataset.rank, dims.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, offset.data(), nullptr, extent.data(),
                        nullptr);
    const hsize_t n = part.extent.count() / dataset.element.numbers();
    const store::Handle dense(H5Screate_simple(1, &n, nullptr), H5Sclose);
    if (dataset.native.read(dataset.type.get(), dense.get(), in_file.get(),
                            H5P_DATASET_XFER_DEFAULT, values.data()) < 0)
        return store::hdf5_error(StatusCode::io,
                                 "reading what a block of " + dataset.path + " held before");
    return true;
}

// ------------------------------------------------------------------------------- commits

bool BlockIo::anything_pending_here() const {
    return writer_->pending() || writer_->committed_dumps() < writer_->next_dump();
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
    return {started() ? writer_->uncommitted().dumps : 0, held_bytes()};
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
        std::erase_if(dataset->pieces, [&](const PutBox& piece) { return piece.dump < committed; });
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
    for (const auto& [token, dataset] : by_token_) dataset->writes_together = 0;
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
    if (mine.ok()) mine = declare_missing();
    look_for_coordinates();
    const Status status = writer_->end(mine);
    report_exact();
    begin_turns();
    forget_committed();
    return status;
}

Status BlockIo::flush(const NativeObject& through, Status mine) {
    place_.tree.go_through(through);
    if (mine.ok()) mine = declare_missing();
    place_.tree.look_for_changes();
    look_for_coordinates();
    const Status status = writer_->flush(mine);
    report_exact();
    begin_turns();
    if (!status.ok()) return status;
    forget_committed();
    for (const auto& [token, dataset] : by_token_) dataset->settled = dataset->dims;
    return {};
}

Status BlockIo::pause(const NativeObject& through, Status mine) {
    place_.tree.go_through(through);
    if (mine.ok()) mine = declare_missing();
    // Datasets without their blocks are not worth a commit; see close().
    place_.tree.pass_over_changes();
    closing_ = true;
    look_for_coordinates();
    const Status status = writer_->pause(mine);
    report_exact();
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

// ------------------------------------------------------------------------------- selections

Result<Selected> select(const BlockIo::Dataset& dataset, hid_t memory_space, hid_t file_space) {
    using store::Handle;
    if (memory_space == H5S_PLIST || file_space == H5S_PLIST)
        return Status{StatusCode::unsupported,
                      dataset.path +
                          ": H5S_PLIST is not taken for data that become blocks; give a "
                          "dataspace"};
    Selected selected;
    const auto dims = native_extent(dataset, dataset.dims);
    selected.file = file_space == H5S_ALL
                        ? Handle(H5Screate_simple(dataset.rank, dims.data(), nullptr), H5Sclose)
                        : Handle(H5Scopy(file_space), H5Sclose);
    std::array<hsize_t, H5S_MAX_RANK> given{};
    if (!selected.file.ok() ||
        H5Sget_simple_extent_dims(selected.file.get(), given.data(), nullptr) != dataset.rank ||
        !std::equal(dims.begin(), dims.begin() + dataset.rank, given.begin()) ||
        H5Sselect_valid(selected.file.get()) <= 0)
        return Status{StatusCode::invalid_argument,
                      fmt::format("{}: the file's dataspace is not that of the dataset {}",
                                  dataset.path, to_string(dataset.elements(dataset.dims)))};
    const hssize_t count = H5Sget_select_npoints(selected.file.get());
    if (count < 0) return store::hdf5_error(StatusCode::internal, dataset.path);
    selected.count = static_cast<std::uint64_t>(count);
    if (memory_space == H5S_ALL) {
        selected.memory = Handle(H5Scopy(selected.file.get()), H5Sclose);
    } else if (memory_space == H5S_BLOCK) {
        const hsize_t n = selected.count;
        selected.memory = Handle(H5Screate_simple(1, &n, nullptr), H5Sclose);
    } else {
        selected.memory = Handle(H5Scopy(memory_space), H5Sclose);
    }
    if (!selected.memory.ok() || H5Sget_select_npoints(selected.memory.get()) != count)
        return Status{
            StatusCode::invalid_argument,
            fmt::format("{}: {} values are selected in the file, and not as many in memory",
                        dataset.path, selected.count)};
    if (H5Sselect_valid(selected.memory.get()) <= 0)
        return Status{StatusCode::invalid_argument,
                      dataset.path + ": the selection in memory leaves its dataspace"};
    auto runs = runs_of(selected.file.get());
    if (!runs.ok()) return runs.status();
    selected.runs = std::move(*runs);
    return selected;
}

}  // namespace caesura::vol
