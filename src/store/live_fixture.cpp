#include "store/live_fixture.hpp"

#include <cmath>
#include <stdexcept>

#include "store/committer.hpp"
#include "store/hdf5_write.hpp"
#include "store/region_writer.hpp"

namespace caesura::store {

void require(const Status& status) {
    if (!status.ok()) throw std::runtime_error(status.message());
}

namespace {

hid_t checked(hid_t id, const std::string& doing) {
    if (id < 0) throw std::runtime_error(hdf5_error(StatusCode::internal, doing).message());
    return id;
}

Handle space_of(hsize_t n) { return Handle(H5Screate_simple(1, &n, nullptr), H5Sclose); }

}  // namespace

LiveRun::LiveRun(base::FileSystem& file_system, const std::string& path, int n_ranks,
                 const RunId& run, const LiveOptions& options) {
    open(file_system, path, n_ranks, run, options, true);
}

LiveRun LiveRun::reopen(base::FileSystem& file_system, const std::string& path, int n_ranks,
                        const RunId& run, const LiveOptions& options) {
    LiveRun out;
    out.open(file_system, path, n_ranks, run, options, false);
    return out;
}

void LiveRun::open(base::FileSystem& file_system, const std::string& path, int n_ranks,
                   const RunId& run, const LiveOptions& options, bool create) {
    const QuietErrors quiet;
    for (int r = 0; r < n_ranks; ++r) {
        auto shared = create && r == 0 ? SharedFile::create(file_system, path, run)
                                       : SharedFile::open(file_system, path, run);
        require(shared.status());
        LiveRank rank;
        rank.shared = std::make_unique<SharedFile>(std::move(*shared));
        auto image = LiveImage::make(*rank.shared);
        require(image.status());
        rank.image = std::move(*image);
        const Handle fcpl(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
        if (options.creation) options.creation(fcpl.get());
        require(LiveImage::supports(fcpl.get()));
        require(LiveImage::prepare_creation(fcpl.get()));
        const Handle fapl(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
        H5Pset_libver_bounds(fapl.get(), options.low, options.high);
        require(rank.image->set_driver(fapl.get()));
        rank.file = Handle(rank.image->creating()
                               ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, fcpl.get(), fapl.get())
                               : H5Fopen(path.c_str(), H5F_ACC_RDWR, fapl.get()),
                           H5Fclose);
        checked(rank.file.get(), path);
        next_dump_ = rank.image->next_dump();
        ranks_.push_back(std::move(rank));
    }
}

void LiveRun::all(const std::function<hid_t(hid_t, int)>& call) {
    const QuietErrors quiet;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
        checked(call(file(r), static_cast<int>(r)), fmt::format("rank {}", r));
}

void LiveRun::attribute(const std::string& object, const std::string& name, std::int64_t value) {
    all([&](hid_t file, int) -> hid_t {
        const Handle at(H5Oopen(file, object.c_str(), H5P_DEFAULT), H5Oclose);
        const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
        const Handle attribute(H5Aexists(at.get(), name.c_str()) > 0
                                   ? H5Aopen(at.get(), name.c_str(), H5P_DEFAULT)
                                   : H5Acreate2(at.get(), name.c_str(), H5T_STD_I64LE, space.get(),
                                                H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose);
        return H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value);
    });
}

void LiveRun::group(const std::string& path) {
    all([&](hid_t file, int) -> hid_t {
        return Handle(H5Gcreate2(file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                      H5Gclose)
                       .ok()
                   ? 0
                   : -1;
    });
}

void LiveRun::integers(const std::string& path, hsize_t chunk, std::optional<int> fill) {
    all([&](hid_t file, int rank) -> hid_t {
        const Handle dcpl(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        H5Pset_alloc_time(dcpl.get(), H5D_ALLOC_TIME_EARLY);
        if (chunk > 0) H5Pset_chunk(dcpl.get(), 1, &chunk);
        if (fill) H5Pset_fill_value(dcpl.get(), H5T_NATIVE_INT, &*fill);
        const LiveImage::Filling filling(image(static_cast<std::size_t>(rank)));
        return Handle(H5Dcreate2(file, path.c_str(), H5T_STD_I32LE, space_of(k_values).get(),
                                 H5P_DEFAULT, dcpl.get(), H5P_DEFAULT),
                      H5Dclose)
                       .ok()
                   ? 0
                   : -1;
    });
}

void LiveRun::write_integers(const std::string& path, int base) {
    all([&](hid_t file, int rank) -> hid_t {
        const Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
        const auto n_ranks = static_cast<hsize_t>(ranks_.size());
        const hsize_t begin = k_values * static_cast<hsize_t>(rank) / n_ranks;
        const hsize_t n = k_values * static_cast<hsize_t>(rank + 1) / n_ranks - begin;
        std::vector<int> values(n);
        for (hsize_t i = 0; i < n; ++i) values[i] = base + static_cast<int>(begin + i);
        const Handle in_file = space_of(k_values), in_memory = space_of(n);
        H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, &begin, nullptr, &n, nullptr);
        return H5Dwrite(dataset.get(), H5T_NATIVE_INT, in_memory.get(), in_file.get(), H5P_DEFAULT,
                        values.data());
    });
}

std::uint64_t LiveRun::reserve(std::uint64_t bytes) {
    const std::uint64_t begin = align_up(image().end());
    regions_end_ = begin + align_up(bytes);
    for (LiveRank& rank : ranks_) rank.image->move_end(regions_end_);
    return begin;
}

std::vector<ChunkRecord> LiveRun::write_region(const PlacedDataset& data, hsize_t blocks,
                                               std::uint64_t header) {
    DumpManifest manifest;
    manifest.dump = manifest.iteration = next_dump_;
    manifest.tree = TreeOwner::application;
    manifest.datasets = {
        {data.path, float32, {k_values}, {k_chunk}, {{1, true, {6}, "deflate"}}, {}}};
    if (header != 0) {
        manifest.placed_in = {{header, k_values / k_chunk, 1, {0}}};
        manifest.datasets[0].attributes = {{"dump", static_cast<std::int64_t>(next_dump_)}};
    }
    const std::string text = encode_manifest(manifest);
    const std::uint64_t bytes =
        align_up(region_overhead_bytes(k_values / k_chunk, text.size()) + 8 * k_values);
    RegionWriter region(*ranks_[0].shared, {0, next_dump_, reserve(bytes), bytes, 0}, text);
    std::vector<ChunkRecord> pieces;
    for (hsize_t c = 0; c < blocks; ++c) {
        const auto stored =
            deflate(std::as_bytes(std::span(data.values).subspan(c * k_chunk, k_chunk)));
        const BlockView block{n_regions_, 0, c, stored};
        require(region.write({&block, 1}, pieces));
    }
    ++n_regions_;
    return pieces;
}

namespace {

PlacedDataset values_of(const std::string& path, int seed) {
    PlacedDataset out{path, std::vector<float>(LiveRun::k_values)};
    for (hsize_t i = 0; i < LiveRun::k_values; ++i)
        out.values[i] = static_cast<float>(std::sin(0.01 * static_cast<double>(i) + seed));
    return out;
}

}  // namespace

void LiveRun::make_deflated(const std::string& path) {
    all([&](hid_t file, int) -> hid_t {
        if (H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0) return 0;
        const Handle dcpl(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        H5Pset_chunk(dcpl.get(), 1, &k_chunk);
        H5Pset_deflate(dcpl.get(), 6);
        H5Pset_fill_time(dcpl.get(), H5D_FILL_TIME_NEVER);
        return Handle(H5Dcreate2(file, path.c_str(), H5T_IEEE_F32LE, space_of(k_values).get(),
                                 H5P_DEFAULT, dcpl.get(), H5P_DEFAULT),
                      H5Dclose)
                       .ok()
                   ? 0
                   : -1;
    });
}

PlacedDataset LiveRun::unplaced(const std::string& path, int seed, hsize_t blocks) {
    PlacedDataset out = values_of(path, seed);
    make_deflated(path);
    const Handle dataset(checked(H5Dopen2(file(), path.c_str(), H5P_DEFAULT), path), H5Dclose);
    const auto header = object_address(dataset.get());
    require(header.status());
    n_regions_ = 0;
    (void)write_region(out, blocks, *header);
    ++next_dump_;
    return out;
}

void LiveRun::close_before_commit(std::uint64_t first_dump) {
    require(flush_raw());
    all([&](hid_t file, int) -> hid_t { return H5Fflush(file, H5F_SCOPE_GLOBAL); });
    auto tree = image().closing();
    require(tree.status());
    tree->first_dump = first_dump;
    tree->dumps_end = next_dump_;
    tree->address = align_up(regions_end_ + (1u << 20));
    require(write_closed_tree(*ranks_[0].shared, *tree).status());
}

PlacedDataset LiveRun::placed(const std::string& path, int seed) {
    PlacedDataset out = values_of(path, seed);
    const auto pieces = write_region(out);
    make_deflated(path);
    all([&](hid_t file, int rank) -> hid_t {
        const Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
        for (const ChunkRecord& piece : pieces) {
            const hsize_t offset = piece.chunk * k_chunk;
            require(image(static_cast<std::size_t>(rank))
                        .place(piece.address, piece.bytes, [&](const void* buffer, std::size_t n) {
                            return H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, &offset, n,
                                                  buffer);
                        }));
        }
        return 0;
    });
    return out;
}

Status LiveRun::flush_raw() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        const auto fill = ranks_[r].image->take_fill();
        if (!fill) continue;
        if (r > 0)
            fill->mark_written();
        else if (Status s = fill->write(ranks_[r].shared->file()); !s.ok())
            return s;
    }
    for (LiveRank& rank : ranks_) {
        if (const auto raw = rank.image->take_raw())
            if (Status s = raw->write(rank.shared->file()); !s.ok()) return s;
        if (Status s = rank.shared->file().sync(); !s.ok()) return s;
    }
    return {};
}

Result<CommitImage> LiveRun::build(bool trim) {
    const QuietErrors quiet;
    Result<CommitImage> first = Status{StatusCode::internal, "no rank"};
    const std::uint64_t dump = next_dump_++;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (ranks_[r].file.ok() && H5Fflush(file(r), H5F_SCOPE_GLOBAL) < 0)
            return hdf5_error(StatusCode::internal, "H5Fflush");
        auto image = ranks_[r].image->commit({&dump, 1}, regions_end_, trim);
        if (!image.ok()) return image.status();
        if (r == 0) first = std::move(image);
    }
    return first;
}

Status LiveRun::commit(bool trim) {
    if (Status s = flush_raw(); !s.ok()) return s;
    auto image = build(trim);
    if (!image.ok()) return image.status();
    if (Status s = image->flush(*ranks_[0].shared); !s.ok()) return s;
    for (LiveRank& rank : ranks_)
        if (Status s = rank.image->committed(); !s.ok()) return s;
    return {};
}

std::vector<int> integers_of(hid_t file, const std::string& dataset) {
    const QuietErrors quiet;
    const Handle data(checked(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), dataset), H5Dclose);
    std::vector<int> values(LiveRun::k_values);
    checked(H5Dread(data.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
            dataset);
    return values;
}

std::vector<int> stock_integers(const std::string& path, const std::string& dataset) {
    const QuietErrors quiet;
    const Handle file(checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), path), H5Fclose);
    return integers_of(file.get(), dataset);
}

std::int64_t stock_attribute(const std::string& path, const std::string& object,
                             const std::string& name) {
    const QuietErrors quiet;
    const Handle file(checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), path), H5Fclose);
    const Handle attribute(
        checked(H5Aopen_by_name(file.get(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
                name),
        H5Aclose);
    std::int64_t value = 0;
    checked(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), name);
    return value;
}

}  // namespace caesura::store
