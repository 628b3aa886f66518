// A file's content for people and tools: what HDF5 knows, and beside it what our own records say.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <unordered_map>

#include "store/checksum.hpp"
#include "store/dump_path.hpp"
#include "store/hdf5_read.hpp"
#include "store/manifest.hpp"
#include "store/own_front.hpp"
#include "store/recover.hpp"
#include "store/scan.hpp"

namespace caesura::store {
namespace {

/// What the records beside HDF5's say.
struct OwnRecords {
    bool ours = false;
    bool empty = false;  ///< ours, and nothing committed yet
    bool needs_recover = false;
    std::uint64_t metadata_bytes = 0;
    std::unordered_map<std::uint64_t, ChunkRecord> by_address;
    std::unordered_map<std::string, std::uint64_t> iteration_of;  ///< by dataset path
};

Status read_regions(PlacingState& state, const RunId& run, const CommitRecord& record,
                    OwnRecords& own) {
    auto regions = scan_regions(*state.file, run, state.file_bytes);
    if (!regions.ok()) return regions.status();
    for (const FoundRegion& region : *regions) {
        if (!record.contains(region.header.dump)) {
            own.needs_recover = true;
            continue;
        }
        for (const ChunkRecord& block : region.blocks) own.by_address[block.address] = block;
        if (region.manifest.empty()) continue;
        const auto manifest = decode_manifest(region.manifest);
        if (!manifest.ok()) continue;
        for (const DatasetSpec& dataset : manifest->datasets)
            own.iteration_of[dataset.path] = manifest->iteration;
    }
    return {};
}

Result<OwnRecords> read_own(PlacingState& state, const std::string& path) {
    const auto front = read_own_front(state, path);
    if (!front.ok()) return front.status();
    OwnRecords own;
    own.ours = front->ours;
    own.empty = front->empty;
    own.needs_recover = front->needs_recover;
    own.metadata_bytes = front->record.metadata_bytes;
    if (!own.ours) return own;
    if (Status s = read_regions(state, front->run, front->record, own); !s.ok()) return s;
    return own;
}

/// As its dump's manifest says, else as openPMD has it in the path; 0 if there is none.
std::uint64_t iteration_of(const std::string& path, const OwnRecords& own, const DumpPath& dumps) {
    const auto found = own.iteration_of.find(path);
    if (found != own.iteration_of.end()) return found->second;
    const auto dump = dumps.of(path);
    return dump ? dump->iteration : 0;
}

DatasetInfo describe(FoundDataset&& found, std::uint32_t number, const OwnRecords& own,
                     const DumpPath& dumps) {
    DatasetInfo info;
    info.spec = std::move(found.spec);
    info.members = std::move(found.members);
    info.big_endian = found.big_endian;
    info.fill = std::move(found.fill);
    info.raw_bytes = info.spec.shape.count() * size_of(info.spec.dtype) *
                     std::max<std::size_t>(1, info.members.size());
    info.chunks = std::move(found.chunks);
    info.iteration = iteration_of(info.spec.path, own, dumps);
    for (ChunkRecord& chunk : info.chunks) {
        info.stored_bytes += chunk.bytes;
        chunk.dataset = number;
        const auto block = own.by_address.find(chunk.address);
        // A chunk that a stock tool has rewritten elsewhere has no record of ours, or another size.
        if (block == own.by_address.end() || block->second.bytes != chunk.bytes) continue;
        chunk.dump = block->second.dump;
        chunk.dataset = block->second.dataset;
        chunk.checksum = block->second.checksum;
    }
    return info;
}

std::uint64_t allocated_bytes(const std::string& path, std::uint64_t file_bytes) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return file_bytes;
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

void fill_sizes(FileInfo& info, const OwnRecords& own, std::uint64_t other_bytes) {
    std::uint64_t stored = other_bytes;
    for (const DatasetInfo& dataset : info.datasets) stored += dataset.stored_bytes;
    const std::uint64_t rest = info.file_bytes - std::min(stored, info.file_bytes);
    info.metadata_bytes = own.ours ? std::min(own.metadata_bytes, rest) : rest;
    info.unused_bytes = rest - info.metadata_bytes;
}

}  // namespace

Result<FileInfo> read_info(base::FileSystem& file_system, const std::string& path) {
    auto file = file_system.open(path, base::FileSystem::Mode::read);
    if (!file.ok()) return file.status();
    if (const Status status = (*file)->lock(false); !status.ok()) return status;
    return read_info(**file, path);
}

Result<FileInfo> read_info(base::File& file, const std::string& path) try {
    auto bytes = file.size();
    if (!bytes.ok()) return bytes.status();

    PlacingState state;
    state.file = &file;
    state.file_bytes = *bytes;
    auto own = read_own(state, path);
    if (!own.ok()) return own.status();
    FileInfo info;
    info.path = path;
    info.file_bytes = *bytes;
    info.allocated_bytes = allocated_bytes(path, *bytes);
    info.needs_recover = own->needs_recover;
    if (own->ours && own->empty) {
        fill_sizes(info, *own, 0);
        return info;
    }
    auto content = read_hdf5(state, path);
    if (!content.ok()) return content.status();
    info.root = std::move(content->root);
    info.others = std::move(content->others);
    info.groups = std::move(content->groups);
    info.other_datasets = std::move(content->other_datasets);
    const DumpPath dumps(info.root);
    for (OtherDataset& other : info.other_datasets)
        other.iteration = iteration_of(other.path, *own, dumps);
    std::uint32_t number = 0, number_contiguous = 0;
    for (FoundDataset& dataset : content->datasets) {
        if (dataset.contiguous)
            info.contiguous.push_back(
                describe(std::move(dataset), number_contiguous++, *own, dumps));
        else
            info.datasets.push_back(describe(std::move(dataset), number++, *own, dumps));
    }
    for (auto* const list : {&info.datasets, &info.contiguous})
        std::sort(list->begin(), list->end(), [](const DatasetInfo& a, const DatasetInfo& b) {
            return std::tie(a.iteration, a.spec.path) < std::tie(b.iteration, b.spec.path);
        });
    fill_sizes(info, *own, content->other_bytes);
    return info;
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, path + ": out of memory while reading"};
} catch (const std::exception& error) {
    return Status{StatusCode::internal, path + ": " + error.what()};
}

Result<std::vector<std::byte>> read_chunk(base::File& file, const DatasetInfo& dataset,
                                          const ChunkRecord& chunk) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(chunk.bytes));
    if (Status status = read_chunk(file, dataset, chunk, bytes); !status.ok()) return status;
    return bytes;
}

Status read_chunk(base::File& file, const DatasetInfo& dataset, const ChunkRecord& chunk,
                  std::span<std::byte> bytes) {
    const auto name = [&] {
        return fmt::format("dataset {} chunk {}", dataset.spec.path, chunk.chunk);
    };
    if (bytes.size() != chunk.bytes)
        return {StatusCode::invalid_argument, fmt::format("{}: {} bytes are stored, room is for {}",
                                                          name(), chunk.bytes, bytes.size())};
    const Status status = file.read_at(chunk.address, bytes);
    if (status.code() == StatusCode::insufficient_data)
        return {StatusCode::corrupt, fmt::format("{}: {}", name(), status.message())};
    if (!status.ok()) return status.with_context(name());
    if (chunk.checksum == 0) return {};  // a file of others: nothing to compare with
    const std::uint64_t found = checksum(bytes);
    if (found == chunk.checksum) return {};
    return {StatusCode::corrupt,
            fmt::format("{}: the stored bytes have checksum {:016x}, written was {:016x}", name(),
                        found, chunk.checksum)};
}

}  // namespace caesura::store
