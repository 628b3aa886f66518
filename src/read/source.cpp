#include "read/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/invalid.hpp"
#include "codec/frame/slabs.hpp"
#include "read/impl.hpp"
#include "store/recover.hpp"

namespace caesura::read {
namespace {

using base::invalid;

constexpr std::uint64_t k_contiguous_piece_bytes = 8u << 20;

/// What a commit overwrites in place: superblock, commit record, journal.
Result<std::vector<std::byte>> read_front(base::File& file) {
    constexpr std::uint64_t k_front_bytes = 65536;
    const auto bytes = file.size();
    if (!bytes.ok()) return bytes.status();
    std::vector<std::byte> front(std::min(*bytes, k_front_bytes));
    if (Status status = file.read_at(0, front); !status.ok()) return status;
    return front;
}

/// The file's list. A Writer may commit meanwhile: where the front has changed, what was read may
/// be of two states, and is read again. The second time the journal is there, or the commit done.
Result<store::FileInfo> list(base::File& file, const std::string& path) {
    constexpr int k_attempts = 16;  // each saw a commit; a slow reader may meet several in a row
    auto before = read_front(file);
    for (int attempt = 1;; ++attempt) {
        if (!before.ok()) return before.status();
        auto info = store::read_info(file, path);
        auto after = read_front(file);
        if (attempt == k_attempts || (after.ok() && *after == *before)) return info;
        before = std::move(after);
    }
}

/// A contiguous dataset in pieces, which follow each other in the file. One that is not all there
/// stays whole: its only chunk is damaged.
void cut(store::DatasetInfo& dataset, std::size_t value_bytes, std::uint64_t file_bytes) {
    const Shape& shape = dataset.spec.shape;
    const auto bytes = array_bytes(shape, value_bytes);
    if (!dataset.chunks.empty()) {
        const std::uint64_t address = dataset.chunks[0].address;
        if (!bytes || *bytes > file_bytes || address > file_bytes - *bytes) return;
    }
    dataset.spec.chunk = chunk_of_dense(shape, value_bytes, k_contiguous_piece_bytes);
    if (dataset.chunks.empty()) return;
    const auto layout = ChunkLayout::of(shape, dataset.spec.chunk);
    store::ChunkRecord record = dataset.chunks[0];
    dataset.chunks.clear();
    for (record.chunk = 0; record.chunk < layout.grid.count(); ++record.chunk) {
        record.bytes = layout.inside(record.chunk).extent.count() * value_bytes;
        dataset.chunks.push_back(record);
        record.address += record.bytes;
    }
}

bool is_inside(const Box& box, const Shape& shape) {
    bool inside = box.offset.rank() == shape.rank() && box.extent.rank() == shape.rank();
    for (int axis = 0; inside && axis < shape.rank(); ++axis)
        inside =
            box.offset[axis] <= shape[axis] && box.extent[axis] <= shape[axis] - box.offset[axis];
    return inside;
}

}  // namespace

void Source::Impl::take_datasets() {
    datasets = std::move(info.datasets);
    const std::size_t chunked = datasets.size();
    for (store::DatasetInfo& dataset : info.contiguous) {
        const std::size_t members = std::max<std::size_t>(1, dataset.members.size());
        cut(dataset, size_of(dataset.spec.dtype) * members, info.file_bytes);
        datasets.push_back(std::move(dataset));
    }
    info.datasets.clear();
    info.contiguous.clear();
    hdf5::PluginsByFilter plugins;
    readers.reserve(datasets.size());
    for (std::size_t i = 0; i < datasets.size(); ++i) {
        readers.emplace_back(*file, info.file_bytes, datasets[i], i >= chunked, plugins);
        by_path.emplace(datasets[i].spec.path, i);
    }
    ranges = std::vector<KnownRanges>(datasets.size());
}

Status Source::Impl::check(std::size_t dataset, const Box& box, const ReadOptions& options) const {
    if (dataset >= datasets.size())
        return invalid(
            fmt::format("{}: there is no dataset {} of {}", info.path, dataset, datasets.size()));
    const store::DatasetInfo& the = datasets[dataset];
    if (!is_inside(box, the.spec.shape))
        return invalid(fmt::format("dataset {}: the box at {} is not inside {}", the.spec.path,
                                   to_string(box), to_string(the.spec.shape)));
    if (options.member && *options.member >= the.members.size())
        return invalid(fmt::format("dataset {}: there is no member {} of {}", the.spec.path,
                                   *options.member, the.members.size()));
    return readers[dataset].usable();
}

Source::Source(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Source::~Source() = default;

Result<std::unique_ptr<Source>> Source::open(const std::string& path) {
    return open(base::FileSystem::posix(), path);
}

Result<std::unique_ptr<Source>> Source::open(base::FileSystem& files, const std::string& path) try {
    auto impl = std::make_unique<Impl>();
    auto file = files.open(path, base::FileSystem::Mode::read);
    if (!file.ok()) return file.status();
    impl->file = std::move(*file);
    // Not while somebody recovers the file. What is listed stays where it is, so no longer.
    if (Status status = impl->file->lock(false); !status.ok()) return status;
    auto info = list(*impl->file, path);
    impl->file->unlock();
    if (!info.ok()) return info.status();
    impl->info = std::move(*info);
    impl->take_datasets();
    return std::unique_ptr<Source>(new Source(std::move(impl)));
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, path + ": no memory to list it");
}

Result<std::unique_ptr<Source>> Source::over(std::unique_ptr<base::File> file,
                                             const std::string& path,
                                             std::vector<store::DatasetInfo> datasets) try {
    const auto bytes = file->size();
    if (!bytes.ok()) return bytes.status();
    auto impl = std::make_unique<Impl>();
    impl->file = std::move(file);
    impl->info.path = path;
    impl->info.file_bytes = *bytes;
    impl->info.datasets = std::move(datasets);
    impl->take_datasets();
    return std::unique_ptr<Source>(new Source(std::move(impl)));
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, path + ": no memory to list it");
}

const store::FileInfo& Source::info() const { return impl_->info; }

std::span<const store::DatasetInfo> Source::datasets() const { return impl_->datasets; }

Result<std::size_t> Source::find(const std::string& path) const {
    if (const auto found = impl_->by_path.find(path); found != impl_->by_path.end())
        return found->second;
    const auto& others = impl_->info.others;
    if (std::find(others.begin(), others.end(), path) == others.end())
        return invalid(fmt::format("{}: there is no dataset {}", impl_->info.path, path));
    return Status(StatusCode::unsupported,
                  fmt::format("{}: dataset {} is not one of float32, float64 or integer values, "
                              "chunked or contiguous, with 1 to {} axes",
                              impl_->info.path, path, k_max_rank));
}

Status Source::read(std::size_t dataset, const Box& box, std::span<std::byte> values,
                    const ReadOptions& options) const try {
    if (Status status = impl_->check(dataset, box, options); !status.ok()) return status;
    const ChunkReader& reader = impl_->readers[dataset];
    const auto bytes = array_bytes(box.extent, reader.value_bytes(options));
    if (bytes != values.size())
        return invalid(fmt::format("dataset {}: {} values of {} bytes do not fill {} bytes",
                                   impl_->datasets[dataset].spec.path, to_string(box.extent),
                                   reader.value_bytes(options), values.size()));
    const TouchedChunks chunks(reader.layout(), box);
    std::vector<Scratch> scratch(
        static_cast<std::size_t>(codec::worker_count(chunks.count(), options.threads)));
    return codec::for_each_parallel(
        chunks.count(), options.threads, [&](int worker, std::uint64_t i) -> Status {
            const Box part = *intersect(reader.layout().inside(chunks[i]), box);
            return reader.read(chunks[i], part, box, values.data(), options,
                               scratch[static_cast<std::size_t>(worker)]);
        });
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space, impl_->info.path + ": no memory to read a box"};
}

Status Source::read_strided(std::size_t dataset, const Box& box, const StridedArray& target,
                            const ReadOptions& options,
                            const std::vector<std::uint64_t>* only) const try {
    if (Status status = impl_->check(dataset, box, options); !status.ok()) return status;
    const ChunkReader& reader = impl_->readers[dataset];
    const bool dense =
        target.stride_bytes == dense_strides(box.extent, reader.value_bytes(options));
    const TouchedChunks touched(reader.layout(), box);
    const std::uint64_t n = only != nullptr ? only->size() : touched.count();
    std::vector<Scratch> scratch(static_cast<std::size_t>(codec::worker_count(n, options.threads)));
    return codec::for_each_parallel(n, options.threads, [&](int worker, std::uint64_t i) {
        const std::uint64_t chunk = only != nullptr ? (*only)[i] : touched[i];
        const Box part = *intersect(reader.layout().inside(chunk), box);
        Scratch& own = scratch[static_cast<std::size_t>(worker)];
        return dense ? reader.read(chunk, part, box, target.data, options, own)
                     : reader.read(chunk, part, box, target, options, own);
    });
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space, impl_->info.path + ": no memory to read a box"};
}

Status Source::each_chunk(
    std::span<const ChunkOf> chunks, const ReadOptions& options,
    const std::function<void(std::size_t i, const Box& box, const std::byte* values)>& take) const
    try {
    std::vector<Scratch> scratch(
        static_cast<std::size_t>(codec::worker_count(chunks.size(), options.threads)));
    return codec::for_each_parallel(
        chunks.size(), options.threads, [&](int worker, std::uint64_t i) -> Status {
            const ChunkReader& reader = impl_->readers[chunks[i].dataset];
            const auto values =
                reader.values_of(chunks[i].number, reader.layout().inside(chunks[i].number),
                                 options, scratch[static_cast<std::size_t>(worker)]);
            if (!values.ok()) return values.status();
            take(i, values->box, values->bytes);
            return {};
        });
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space, impl_->info.path + ": no memory to read chunks"};
}

const ChunkLayout& Source::layout(std::size_t dataset) const {
    return impl_->readers[dataset].layout();
}

base::File& Source::file() const { return *impl_->file; }

Result<std::vector<Block>> Source::blocks(std::size_t dataset, const Box& box,
                                          const ReadOptions& options) const try {
    if (Status status = impl_->check(dataset, box, options); !status.ok()) return status;
    const ChunkReader& reader = impl_->readers[dataset];
    const TouchedChunks chunks(reader.layout(), box);
    std::vector<Block> blocks;
    Scratch scratch;
    for (std::uint64_t i = 0; i < chunks.count(); ++i) {
        auto block = reader.describe(chunks[i], options.verify, scratch);
        if (!block.ok()) return block.status();
        block->range = impl_->ranges[dataset].find(chunks[i], options);
        blocks.push_back(std::move(*block));
    }
    return blocks;
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, impl_->info.path + ": no memory to list blocks");
}

}  // namespace caesura::read
