#include "vol/block_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/all_ranks.hpp"
#include "vol/memory_values.hpp"

namespace caesura::vol {
namespace {

Status no_memory(const BlockIo::Dataset& dataset) {
    return {StatusCode::invalid_argument,
            dataset.path + ": values are selected, and the address in memory is null"};
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
    options.durable = place_.config->durability == Durability::durable;
    options.max_delay_s = place_.config->max_delay_s;
    // Others may be waiting for a file that one process has: see other_process.cpp.
    constexpr double k_alone_s = 10.0;
    if (place_.communicator->size() == 1 && options.max_delay_s == 0.0)
        options.max_delay_s = k_alone_s;
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
    definition.path = made.key;
    definition.dtype = made.dtype;
    definition.dims = made.dims;
    definition.chunk = made.chunk;
    made.lossy = definition.bound.kind != ErrorBound::Kind::lossless;
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
    for (const auto& [token, dataset] : by_token_) {
        if (dataset->type.ok()) continue;
        dataset->type = store::Handle(
            H5Tcopy(dataset->dtype == float32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE), H5Tclose);
        if (!dataset->type.ok()) return store::hdf5_error(StatusCode::internal, dataset->path);
    }
    return {};
}

// ---------------------------------------------------------------------------- reads, writes

Status BlockIo::put(const Dataset& dataset, PutBox& piece) {
    piece.dump = writer_->next_dump();
    return writer_->put(dataset.field, piece.box, piece.values, dataset.dtype, Ownership::borrow,
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

Status BlockIo::write(Dataset& dataset, const NativeObject& through, Selected& selected,
                      const void* memory, hid_t memory_type, hid_t transfer) {
    if (selected.count == 0) return {};
    if (memory == nullptr) return no_memory(dataset);
    place_.tree.go_through(through);
    if (Status status = place_.tree.open(dataset); !status.ok()) return status;
    auto values = gather(pool_, memory, memory_type, selected.memory.get(), selected.count,
                         dataset.type.get(), transfer);
    if (!values.ok()) return values.status().with_context(dataset.path);
    const std::size_t value_bytes = size_of(dataset.dtype);
    const SelectedBoxes boxes = boxes_of(dataset.dims, selected.runs);
    if (!boxes.in_order) {
        auto ordered = pool_.take(selected.count * value_bytes);
        if (!ordered.ok()) return ordered.status().with_context(dataset.path);
        to_boxes(dataset.dims, selected.runs, boxes, values->data(), ordered->data(), value_bytes);
        *values = std::move(*ordered);
    }
    copies_.push_back({dataset.definition ? k_not_put : writer_->next_dump(), std::move(*values)});
    const std::byte* const first = copies_.back().buffer.data();
    // What a rank writes by itself comes after the collective write before it.
    const std::uint32_t turn = 2 * dataset.writes_together + (selected.together ? 0 : 1);
    for (const SelectedBox& one : boxes.boxes)
        if (Status status = add(dataset, {one.box, k_not_put, first + one.at * value_bytes,
                                          writer::Loss::within_bound, turn});
            !status.ok())
            return status.with_context(dataset.path);
    return {};
}

// What this rank has not written itself it reads from the file, where others' values may be missing
// still.
Status BlockIo::check_settled(const Dataset& dataset, const Selected& selected) const {
    const bool all = !dataset.others_may_have_written && dataset.settled == dataset.dims;
    if (all || selected.together || place_.communicator->size() == 1) return {};
    std::vector<char> known(selected.count, 0);
    const auto mark = [&](const Box& box) { mark_in_box(dataset.dims, selected.runs, box, known); };
    if (!dataset.others_may_have_written && dataset.settled.count() > 0)
        mark({Shape::filled(dataset.dims.rank(), 0), dataset.settled});
    for (const PutBox& piece : dataset.pieces) mark(piece.box);
    if (std::memchr(known.data(), 0, known.size()) == nullptr) return {};
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
    const std::size_t value_bytes = size_of(dataset.dtype);
    auto values = pool_.take(selected.count * value_bytes);
    if (!values.ok()) return values.status().with_context(dataset.path);
    // The newest piece that has all of it saves the look into the file.
    std::size_t first = dataset.pieces.size();
    bool covered = false;
    while (first > 0 && !covered) {
        const PutBox& piece = dataset.pieces[--first];
        covered = take_from_box(dataset.dims, selected.runs, piece.box, piece.values,
                                values->data(), value_bytes) == selected.count;
    }
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
        take_from_box(dataset.dims, selected.runs, dataset.pieces[first].box,
                      dataset.pieces[first].values, values->data(), value_bytes);
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
    const hsize_t n = part.extent.count();
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

std::uint64_t BlockIo::held_bytes() const {
    std::uint64_t bytes = 0;
    for (const DatasetPtr& dataset : by_field_)
        if (dataset != nullptr)
            for (const PutBox& piece : dataset->pieces)
                bytes += piece.box.extent.count() * size_of(dataset->dtype);
    return bytes;
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
}

Status BlockIo::hand_over(const NativeObject& through, const Status& mine) {
    place_.tree.go_through(through);
    const Status status = writer_->end(mine);
    begin_turns();
    forget_committed();
    return status;
}

Status BlockIo::flush(const NativeObject& through, const Status& mine) {
    place_.tree.go_through(through);
    place_.tree.look_for_changes();
    const Status status = writer_->flush(mine);
    begin_turns();
    if (!status.ok()) return status;
    forget_committed();
    for (const auto& [token, dataset] : by_token_) dataset->settled = dataset->dims;
    return {};
}

Status BlockIo::pause(const NativeObject& through, const Status& mine) {
    place_.tree.go_through(through);
    place_.tree.pass_over_changes();  // see begin_close()
    closing_ = true;
    const Status status = writer_->pause(mine);
    begin_turns();
    forget_committed();
    return status;
}

Status BlockIo::begin_close(const NativeObject& through, const Status& mine) {
    place_.tree.go_through(through);
    // Datasets without their blocks are not worth a commit; see close().
    place_.tree.pass_over_changes();
    closing_ = true;
    return writer_->begin_close(mine);
}

Status BlockIo::close(const NativeObject& through, const Status& mine) {
    const Status begun = closing_ ? Status{} : begin_close(through, mine);
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
                                  dataset.path, to_string(dataset.dims))};
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
