#include "caesura/checkpoint_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <numeric>

#include "base/file.hpp"
#include "device/parcel.hpp"
#include "hdf5/filter/filter.hpp"
#include "ledger/ledger.hpp"
#include "store/manifest.hpp"
#include "store/recover.hpp"
#include "store/region_writer.hpp"

namespace caesura {
namespace {

using store::ChunkRecord;

constexpr std::string_view k_group = "/checkpoints/";
// Root attributes that say what this file is.
constexpr const char* k_version_name = "caesura_checkpoints";
constexpr std::uint64_t k_version = 1;
constexpr std::uint64_t k_part_bytes = 8u << 20;            // of a batch: written at once
constexpr std::uint64_t k_chunk_limit_bytes = 0xffffffffu;  // of HDF5

std::string path_of(std::uint64_t id) { return fmt::format("{}{}", k_group, id); }

/// The number that a dataset's path ends with; nullopt for one that is not ours.
std::optional<std::uint64_t> id_of(std::string_view path) {
    if (!path.starts_with(k_group)) return std::nullopt;
    const std::string_view digits = path.substr(k_group.size());
    std::uint64_t id = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), id);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
    return id;
}

Status check_version(const std::string& path, const std::vector<store::Attribute>& root) {
    for (const store::Attribute& attribute : root) {
        if (attribute.name != k_version_name) continue;
        const auto* number = std::get_if<std::uint64_t>(&attribute.value);
        if (number != nullptr && *number == k_version) return {};
    }
    return {StatusCode::unsupported,
            fmt::format("{}: no file of checkpoints (its root has no attribute {} of value {})",
                        path, k_version_name, k_version)};
}

class Impl final : public CheckpointFile {
  public:
    Impl(store::SharedFile file, bool durable)
        : file_(std::move(file)), tree_(file_, 0), durable_(durable) {
        open_ledger(0, store::first_region_address());
    }

    Status take_up(const store::FileInfo& info);
    Status begin(std::uint64_t checkpoint_bytes, const device::Content& content) override;
    std::vector<Kept> kept() const override { return kept_; }
    Result<Work> place(std::span<const Parcel> parcels) override;
    Result<Work> commit() override;
    Status read(std::span<const std::uint64_t> ids, bool compressed,
                std::span<std::byte> bytes) override;
    void will_read(std::span<const std::uint64_t> ids) override;

    std::uint64_t checkpoint_bytes() const override {
        return content_.shape.rank() == 0 ? 0 : content_.shape.count() * size_of(content_.dtype);
    }
    device::Content content() const override { return content_; }
    std::uint64_t committed() const override {
        const std::lock_guard lock(mutex_);
        return committed_;
    }

  private:
    /// Checkpoints that are written together, and committed together: a dump of the ledger.
    struct Batch {
        std::string manifest;
        store::RegionWriter::Place place;
        std::vector<std::uint64_t> ids;
        std::vector<store::BlockView> blocks;
        std::vector<ChunkRecord> records;
        bool written = false;
    };
    void open_ledger(std::uint64_t next_dump, std::uint64_t file_end) {
        ledger_.emplace(ledger::Ledger::Subject{file_, tree_, *alone_, durable_}, next_dump,
                        file_end);
    }
    Status end_batch(bool may_go_on);
    store::DatasetSpec dataset_of(std::uint64_t id, bool compressed) const;
    Status write(const std::shared_ptr<Batch>& batch);
    Status flush();
    Result<std::vector<ChunkRecord>> records_of(std::span<const std::uint64_t> ids) const;

    store::SharedFile file_;
    ledger::CommitterTree tree_;
    const std::unique_ptr<Communicator> alone_ = Communicator::self();
    bool durable_;
    std::optional<ledger::Ledger> ledger_;
    device::Content content_;
    FilterSpec filter_;  ///< of what is compressed
    std::vector<Kept> kept_;
    std::shared_ptr<Batch> batch_;         ///< placed last, and the ledger has not heard of its end
    std::uint64_t image_checkpoints_ = 0;  ///< gathered, and not flushed

    mutable std::mutex mutex_;  ///< guards what is below: the background writes and reads
    std::map<std::uint64_t, ChunkRecord> records_;  ///< by id; all that was written
    std::uint64_t committed_ = 0;
};

// --------------------------------------------------------------------------- what is there already

Status Impl::take_up(const store::FileInfo& info) {
    const std::uint64_t end =
        store::align_up(std::max(info.file_bytes, store::first_region_address()));
    std::uint64_t next_dump = 0;
    open_ledger(next_dump, end);
    if (info.datasets.empty()) return {};
    if (Status status = check_version(info.path, info.root); !status.ok()) return status;
    std::vector<std::pair<std::uint64_t, Kept>> found;  // by address: as they were made
    for (const store::DatasetInfo& dataset : info.datasets) {
        const auto id = id_of(dataset.spec.path);
        if (!id || dataset.chunks.size() != 1 || dataset.spec.shape != dataset.spec.chunk)
            return {StatusCode::unsupported,
                    fmt::format("{}: {} is no checkpoint's dataset", info.path, dataset.spec.path)};
        const ChunkRecord& chunk = dataset.chunks.front();
        const bool compressed = !dataset.spec.pipeline.empty();
        const std::uint64_t bytes = chunk.bytes + (compressed ? device::parcel_table_bytes(1) : 0);
        found.push_back({chunk.address, {*id, compressed, bytes}});
        records_[*id] = chunk;
        next_dump = std::max(next_dump, chunk.dump + 1);
        content_.dtype = dataset.spec.dtype;
        content_.shape = dataset.spec.shape;
    }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [address, kept] : found) kept_.push_back(kept);
    committed_ = kept_.size();
    open_ledger(next_dump, end);
    return {};
}

/// Also what a device's compressor makes of it must be a chunk.
std::uint64_t most_stored_bytes(std::uint64_t checkpoint_bytes) {
    std::uint64_t most = checkpoint_bytes;
    for (const device::Coder coder : {device::Coder::codec, device::Coder::packed})
        most = std::max(most, device::parcel_bytes_at_most(1, checkpoint_bytes, coder) -
                                  device::parcel_table_bytes(1));
    return most;
}

/// What its datasets are. Errors: as CheckpointStore::begin, but for what a file has already.
Result<device::Content> content_of(std::uint64_t checkpoint_bytes, const device::Content& content) {
    if (Status status = validate(content, checkpoint_bytes); !status.ok()) return status;
    device::Content wanted = content;
    if (wanted.shape.rank() == 0) wanted.shape = {checkpoint_bytes / size_of(wanted.dtype)};
    if (wanted.shape.count() * size_of(wanted.dtype) != checkpoint_bytes)
        return Status{StatusCode::invalid_argument,
                      fmt::format("a checkpoint of {} bytes is not of whole values of {}",
                                  checkpoint_bytes, to_string(wanted.dtype))};
    if (checkpoint_bytes > k_chunk_limit_bytes ||
        most_stored_bytes(checkpoint_bytes) > k_chunk_limit_bytes)
        return Status{
            StatusCode::invalid_argument,
            fmt::format("a checkpoint of {} bytes; those that go to a file are, with what "
                        "a frame adds, below 4 GiB",
                        checkpoint_bytes)};
    return wanted;
}

Status Impl::begin(std::uint64_t checkpoint_bytes, const device::Content& content) {
    const Result<device::Content> wanted = content_of(checkpoint_bytes, content);
    if (!wanted.ok()) return wanted.status();
    if (!kept_.empty() && (content_.dtype != wanted->dtype || content_.shape != wanted->shape))
        return {StatusCode::invalid_argument,
                fmt::format("{}: its checkpoints are {} of {}, not {} of {}", file_.path(),
                            to_string(content_.shape), to_string(content_.dtype),
                            to_string(wanted->shape), to_string(wanted->dtype))};
    const auto cd_values = hdf5::to_cd_values(hdf5::settings_of(
        wanted->dtype, wanted->shape, wanted->bound, Mode::automatic, TableSet()));
    if (!cd_values.ok()) return cd_values.status();
    content_ = *wanted;
    filter_ = {hdf5::k_filter_id, false, *cd_values, hdf5::k_filter_name};
    return {};
}

// -------------------------------------------------------------------------------------- writing

store::DatasetSpec Impl::dataset_of(std::uint64_t id, bool compressed) const {
    store::DatasetSpec spec;
    spec.path = path_of(id);
    spec.dtype = content_.dtype;
    spec.shape = spec.chunk = content_.shape;
    if (compressed) spec.pipeline = {filter_};
    return spec;
}

Result<CheckpointStore::Work> Impl::place(std::span<const Parcel> parcels) {
    auto batch = std::make_shared<Batch>();
    store::DumpManifest manifest;
    manifest.root = {{k_version_name, k_version}};
    std::uint64_t bytes = 0;
    const auto add = [&](std::uint64_t id, bool compressed, std::span<const std::byte> stored) {
        const auto number = static_cast<std::uint32_t>(batch->ids.size());
        manifest.datasets.push_back(dataset_of(id, compressed));
        batch->blocks.push_back({number, 0, 0, stored});
        batch->ids.push_back(id);
        bytes += stored.size();
    };
    for (const Parcel& parcel : parcels) {
        if (!parcel.compressed) {
            add(parcel.ids.front(), false, parcel.bytes);
            continue;
        }
        const auto frames = device::frames_of(parcel.bytes);
        if (!frames.ok()) return frames.status();
        if (frames->size() != parcel.ids.size())
            return Status{StatusCode::internal,
                          fmt::format("a parcel of {} frames for {} checkpoints", frames->size(),
                                      parcel.ids.size())};
        for (std::size_t i = 0; i < frames->size(); ++i) add(parcel.ids[i], true, (*frames)[i]);
    }
    if (Status status = end_batch(false); !status.ok()) return status;
    manifest.dump = manifest.iteration = ledger_->book().next_dump();
    batch->manifest = store::encode_manifest(manifest);
    const std::uint64_t region_bytes = store::align_up(
        store::region_overhead_bytes(batch->blocks.size(), batch->manifest.size()) + bytes);
    const auto region = ledger_->reserve({&region_bytes, 1});
    if (!region.ok()) return region.status();
    batch->place = ledger_->begin(std::move(manifest), {&*region, 1}).front();
    batch_ = batch;
    return Work([this, batch] { return write(batch); });
}

/// What has become of the batch placed last. One that was not written by the time that the next is
/// placed never will be.
Status Impl::end_batch(bool may_go_on) {
    const std::shared_ptr<Batch> batch = batch_;
    if (!batch) return {};
    const std::lock_guard lock(mutex_);
    if (!batch->written && may_go_on) return {};
    batch_.reset();
    const std::uint64_t dump = batch->place.dump;
    if (!batch->written) return ledger_->abandon(dump);
    return ledger_->wrote(dump,
                          {batch->records, {}, batch->place.address + batch->place.bytes, {}});
}

/// After an error everything is written again, to the same place: nobody knows what has arrived.
Status Impl::write(const std::shared_ptr<Batch>& batch) {
    store::RegionWriter region(file_, batch->place, batch->manifest);
    std::vector<ChunkRecord> records;
    Status status;
    // The disk has the first blocks while the next are summed and copied.
    for (std::span<const store::BlockView> left = batch->blocks; status.ok() && !left.empty();) {
        std::size_t count = 0;
        for (std::uint64_t bytes = 0; count < left.size() && bytes < k_part_bytes; ++count)
            bytes += left[count].bytes.size();
        status = region.write(left.first(count), records, durable_);
        left = left.subspan(count);
    }
    if (status.ok() && durable_) status = file_.file().sync();
    if (!status.ok())
        return status.with_context(fmt::format("{}: checkpoints {} to {} are not written",
                                               file_.path(), batch->ids.front(),
                                               batch->ids.back()));
    batch->blocks.clear();  // the bytes may go
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < records.size(); ++i) records_[batch->ids[i]] = records[i];
    batch->records = std::move(records);
    batch->written = true;
    return {};
}

Result<CheckpointStore::Work> Impl::commit() {
    const Work flushes = [this] { return flush(); };
    if (Status status = end_batch(true); !status.ok()) return status;
    if (ledger_->flush_due()) return flushes;
    const ledger::Statement mine = ledger_->statement();
    Status of_tree;
    if (Status heard = ledger_->hear({&mine, 1}, true, of_tree); !heard.ok()) return heard;
    const auto gathered = ledger_->gather(mine.durable_dumps);
    if (!gathered.ok()) return gathered.status();
    image_checkpoints_ += gathered->records.size();
    if (!ledger_->anything_gathered()) return Work();
    if (Status built = ledger_->build(false); !built.ok()) {
        ledger_->withdraw_build();
        return built.with_context(file_.path());
    }
    return flushes;
}

Status Impl::flush() {
    if (Status status = ledger_->flush(); !status.ok()) return status.with_context(file_.path());
    const std::lock_guard lock(mutex_);
    committed_ += std::exchange(image_checkpoints_, 0);
    return {};
}

// ------------------------------------------------------------------------------------- and reading

Result<std::vector<ChunkRecord>> Impl::records_of(std::span<const std::uint64_t> ids) const {
    std::vector<ChunkRecord> records;
    const std::lock_guard lock(mutex_);
    for (const std::uint64_t id : ids) {
        const auto found = records_.find(id);
        if (found == records_.end())
            return Status{StatusCode::invalid_argument,
                          fmt::format("{}: checkpoint {} was not written", file_.path(), id)};
        records.push_back(found->second);
    }
    return records;
}

/// Straight to where the bytes are wanted: what is read back is all the memory it takes.
Status Impl::read(std::span<const std::uint64_t> ids, bool compressed, std::span<std::byte> bytes) {
    const Result<std::vector<ChunkRecord>> records = records_of(ids);
    if (!records.ok()) return records.status();
    std::vector<std::uint64_t> stored_bytes;
    for (const ChunkRecord& record : *records) stored_bytes.push_back(record.bytes);
    std::uint64_t at = compressed ? device::parcel_table_bytes(ids.size()) : 0;
    const std::uint64_t sum = std::accumulate(stored_bytes.begin(), stored_bytes.end(), at);
    if (sum != bytes.size())
        return {StatusCode::internal,
                fmt::format("a parcel of {} bytes, {} wanted", sum, bytes.size())};
    if (compressed) device::write_table(stored_bytes, bytes.first(at));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        store::DatasetInfo dataset;
        dataset.spec.path = path_of(ids[i]);
        if (Status status = store::read_chunk(file_.file(), dataset, (*records)[i],
                                              bytes.subspan(at, stored_bytes[i]));
            !status.ok())
            return status.with_context(file_.path());
        at += stored_bytes[i];
    }
    return {};
}

void Impl::will_read(std::span<const std::uint64_t> ids) {
    if (const auto records = records_of(ids); records.ok())
        for (const ChunkRecord& record : *records)
            file_.file().will_read(record.address, record.bytes);
}

/// A file that is created by begin().
class NewFile final : public CheckpointStore {
  public:
    NewFile(std::string path, const CheckpointFileOptions& options)
        : path_(std::move(path)), options_(options) {}
    Status begin(std::uint64_t checkpoint_bytes, const device::Content& content) override {
        if (const auto wanted = content_of(checkpoint_bytes, content); !wanted.ok())
            return wanted.status();
        auto file = CheckpointFile::create(path_, options_);
        if (!file.ok()) return file.status();
        Status status = (*file)->begin(checkpoint_bytes, content);
        if (status.ok()) file_ = *std::move(file);
        return status;
    }
    std::vector<Kept> kept() const override { return file_->kept(); }
    Result<Work> place(std::span<const Parcel> parcels) override { return file_->place(parcels); }
    Result<Work> commit() override { return file_->commit(); }
    Status read(std::span<const std::uint64_t> ids, bool compressed,
                std::span<std::byte> bytes) override {
        return file_->read(ids, compressed, bytes);
    }
    void will_read(std::span<const std::uint64_t> ids) override { file_->will_read(ids); }

  private:
    std::string path_;
    CheckpointFileOptions options_;
    std::shared_ptr<CheckpointFile> file_;
};

base::FileSystem& file_system_of(const CheckpointFileOptions& options) {
    return options.file_system ? *options.file_system : base::FileSystem::posix();
}

}  // namespace

Result<std::shared_ptr<CheckpointFile>> CheckpointFile::create(
    const std::string& path, const CheckpointFileOptions& options) {
    auto file = store::SharedFile::create(file_system_of(options), path, store::make_run_id(),
                                          options.durable);
    if (!file.ok()) return file.status();
    return std::shared_ptr<CheckpointFile>(
        std::make_shared<Impl>(std::move(*file), options.durable));
}

std::shared_ptr<CheckpointStore> CheckpointFile::create_at_begin(
    const std::string& path, const CheckpointFileOptions& options) {
    return std::make_shared<NewFile>(path, options);
}

Result<std::shared_ptr<CheckpointFile>> CheckpointFile::open(const std::string& path,
                                                             const CheckpointFileOptions& options) {
    base::FileSystem& file_system = file_system_of(options);
    // Recovering another run's file would drop what that one could still have finished.
    auto file = store::recover_and_open(
        file_system, path, [&](const auto& root) { return check_version(path, root); });
    if (!file.ok()) return file.status();
    // Read while the file is ours: what another process did before that is seen.
    const auto info = store::read_info(file_system, path);
    if (!info.ok()) return info.status();
    if (info->needs_recover)
        return Status{StatusCode::io, fmt::format("{}: is in use by another process", path)};
    auto opened = std::make_shared<Impl>(std::move(*file), options.durable);
    if (Status status = opened->take_up(*info); !status.ok()) return status;
    return std::shared_ptr<CheckpointFile>(std::move(opened));
}

}  // namespace caesura
