#include "store/store_fixture.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "store/committer.hpp"
#include "store/hdf5_handle.hpp"
#include "store/region_writer.hpp"

namespace caesura::store {

std::vector<std::byte> deflate(std::span<const std::byte> raw) {
    uLongf bytes = compressBound(raw.size());
    std::vector<std::byte> out(bytes);
    if (compress2(reinterpret_cast<Bytef*>(out.data()), &bytes,
                  reinterpret_cast<const Bytef*>(raw.data()), raw.size(), 6) != Z_OK)
        throw std::runtime_error("zlib");
    out.resize(bytes);
    return out;
}

SmallDump::SmallDump(std::uint64_t dump) : values(2), stored_(2) {
    manifest.dump = dump;
    manifest.iteration = 10 * dump + 3;
    manifest.root = {{"openPMD", std::string("1.1.0")}, {"basePath", std::string("/data/%T/")}};
    const std::string base = fmt::format("/data/{}", manifest.iteration);
    manifest.groups = {{base, {{"time", 0.5 * static_cast<double>(dump)}, {"dt", 1.0f}}},
                       {base + "/meshes", {}}};
    for (std::size_t d = 0; d < 2; ++d) {
        DatasetSpec spec;
        spec.path = fmt::format("{}/meshes/{}", base, d == 0 ? "rho" : "vx");
        spec.shape = {k_rows, k_columns};
        spec.chunk = {k_chunk_rows, k_columns};
        if (d == 1) spec.pipeline = {{1, true, {6}, "deflate"}};
        spec.attributes = {{"unitSI", 1.0}, {"axisLabels", std::vector<std::string>{"y", "x"}}};
        manifest.datasets.push_back(spec);
        for (std::uint64_t i = 0; i < k_rows * k_columns; ++i)
            values[d].push_back(static_cast<float>(
                std::sin(0.01 * static_cast<double>(i * (d + 1))) + static_cast<double>(dump)));
        for (std::uint64_t c = 0; c < k_rows / k_chunk_rows; ++c) {
            const auto chunk = std::as_bytes(std::span(values[d]).subspan(
                c * k_chunk_rows * k_columns, k_chunk_rows * k_columns));
            stored_[d].push_back(d == 1 ? deflate(chunk)
                                        : std::vector<std::byte>(chunk.begin(), chunk.end()));
        }
    }
}

std::vector<BlockView> SmallDump::blocks(int rank, int ranks) const {
    std::vector<BlockView> out;
    for (std::uint32_t d = 0; d < stored_.size(); ++d)
        for (std::size_t c = 0; c < stored_[d].size(); ++c)
            if ((c + d) % static_cast<std::size_t>(ranks) == static_cast<std::size_t>(rank))
                out.push_back({d, 0, c, stored_[d][c]});
    return out;
}

namespace {

Handle stock_open(const std::string& path) {
    Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file.ok()) throw std::runtime_error(hdf5_error(StatusCode::io, "open").message());
    return file;
}

std::vector<float> stock_read(hid_t file, const std::string& dataset) {
    const Handle data(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose);
    if (!data.ok()) throw std::runtime_error(hdf5_error(StatusCode::io, dataset).message());
    const Handle space(H5Dget_space(data.get()), H5Sclose);
    std::vector<float> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
    if (H5Dread(data.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
        throw std::runtime_error(hdf5_error(StatusCode::io, dataset).message());
    return values;
}

}  // namespace

std::vector<float> stock_read(const std::string& path, const std::string& dataset) {
    const QuietErrors quiet;
    return stock_read(stock_open(path).get(), dataset);
}

std::string stock_difference(const std::string& path, std::span<const SmallDump* const> dumps) {
    const QuietErrors quiet;
    try {
        const Handle file = stock_open(path);
        for (const SmallDump* dump : dumps)
            for (std::size_t d = 0; d < dump->values.size(); ++d)
                if (stock_read(file.get(), dump->manifest.datasets[d].path) != dump->values[d])
                    return dump->manifest.datasets[d].path + " has other values";
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}

bool stock_opens(const std::string& path) {
    const QuietErrors quiet;
    return Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose).ok();
}

TemporaryPath::TemporaryPath(const std::string& name)
    : path_(fmt::format("{}caesura_{}_{}.h5", ::testing::TempDir(), name, ::getpid())) {}

TemporaryPath::~TemporaryPath() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

SmallRun::SmallRun(base::FileSystem& file_system, const std::string& path, int ranks, RunId run,
                   bool for_readers)
    : ranks_(ranks), previous_(static_cast<std::size_t>(ranks), 0), end_(first_region_address()) {
    for (int r = 0; r < ranks; ++r) {
        auto file = r == 0 ? SharedFile::create(file_system, path, run)
                           : SharedFile::open(file_system, path, run);
        if (!file.ok()) {
            opened_ = file.status();
            return;
        }
        files_.push_back(std::make_unique<SharedFile>(std::move(*file)));
    }
    committer_ = std::make_unique<Committer>(*files_.front(), for_readers);
}

void SmallRun::reserve(const SmallDump& dump) {
    auto& places = reserved_[dump.manifest.dump];
    for (int r = 0; r < ranks_; ++r) {
        const auto blocks = dump.blocks(r, ranks_);
        const std::uint64_t manifest = r == 0 ? encode_manifest(dump.manifest).size() : 0;
        std::uint64_t bytes = region_overhead_bytes(blocks.size(), manifest);
        for (const BlockView& block : blocks) bytes += block.bytes.size();
        auto& previous = previous_[static_cast<std::size_t>(r)];
        places.push_back({r, dump.manifest.dump, end_, align_up(bytes), previous});
        previous = end_;
        end_ += align_up(bytes);
    }
}

Status SmallRun::write_regions(const SmallDump& dump) {
    if (reserved_.count(dump.manifest.dump) == 0) reserve(dump);
    for (int r = 0; r < ranks_; ++r) {
        const auto blocks = dump.blocks(r, ranks_);
        SharedFile& file = *files_[static_cast<std::size_t>(r)];
        RegionWriter region(file, reserved_[dump.manifest.dump][static_cast<std::size_t>(r)],
                            r == 0 ? encode_manifest(dump.manifest) : std::string());
        // Two writes, so that a crash may fall between them.
        const std::size_t half = blocks.size() / 2;
        for (const auto part : {std::span(blocks).first(half), std::span(blocks).subspan(half)})
            if (Status s = region.write(part, records_); !s.ok()) return s;
        if (Status s = file.file().sync(); !s.ok()) return s;
    }
    manifests_.push_back(dump.manifest);
    return {};
}

Status SmallRun::commit(bool trim) {
    if (!pending_) {
        auto image = committer_->build(manifests_, records_, end_, trim);
        if (!image.ok()) return image.status();
        pending_ = std::move(*image);
    }
    if (Status s = pending_->flush(*files_.front()); !s.ok()) return s;
    end_ = std::max(end_, pending_->file_end());
    pending_.reset();
    manifests_.clear();
    records_.clear();
    return {};
}

Status SmallRun::dump_and_commit(const SmallDump& dump) {
    if (Status s = write_regions(dump); !s.ok()) return s;
    return commit();
}

}  // namespace caesura::store
