// What the reader lists is what was written, and what stock HDF5 says.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>

#include "store/hdf5_handle.hpp"
#include "store/journal.hpp"
#include "store/list_regions.hpp"
#include "store/recording_file_system.hpp"
#include "store/recover.hpp"
#include "store/store_fixture.hpp"

namespace caesura::store {
namespace {

RunId read_info_run() {
    RunId run{};
    run[3] = std::byte{42};
    return run;
}

std::vector<Attribute> sorted(std::vector<Attribute> attributes) {
    std::sort(attributes.begin(), attributes.end(),
              [](const Attribute& a, const Attribute& b) { return a.name < b.name; });
    return attributes;
}

TEST(ReadInfo, lists_what_was_written_with_checksums) {
    const TemporaryPath path("info");
    SmallRun run(base::FileSystem::posix(), path.str(), 2, read_info_run());
    std::vector<SmallDump> dumps;
    for (std::uint64_t n = 0; n < 3; ++n) {
        dumps.emplace_back(n);
        ASSERT_TRUE(run.dump_and_commit(dumps.back()).ok());
    }
    ASSERT_TRUE(run.commit(true).ok());
    auto info = read_info(base::FileSystem::posix(), path.str());
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_FALSE(info->needs_recover);
    EXPECT_EQ(info->root, sorted(dumps[0].manifest.root));
    ASSERT_EQ(info->datasets.size(), 6u);
    auto file = base::FileSystem::posix().open(path.str(), base::FileSystem::Mode::read);
    std::uint64_t stored = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        const DatasetInfo& dataset = info->datasets[i];
        DatasetSpec expected = dumps[i / 2].manifest.datasets[i % 2];
        expected.attributes = sorted(expected.attributes);
        EXPECT_EQ(dataset.spec, expected);
        EXPECT_EQ(dataset.iteration, dumps[i / 2].manifest.iteration);
        EXPECT_EQ(dataset.raw_bytes, 12u * 50 * 4);
        ASSERT_EQ(dataset.chunks.size(), 3u);
        const auto blocks = dumps[i / 2].blocks(0, 1);
        for (std::size_t c = 0; c < 3; ++c) {
            const ChunkRecord& chunk = dataset.chunks[c];
            EXPECT_EQ(chunk.chunk, c);
            EXPECT_EQ(chunk.dump, i / 2);
            EXPECT_EQ(chunk.dataset, i % 2);
            EXPECT_NE(chunk.checksum, 0u);
            auto bytes = read_chunk(**file, dataset, chunk);
            ASSERT_TRUE(bytes.ok()) << bytes.status().message();
            const auto& written = blocks[i % 2 * 3 + c].bytes;
            EXPECT_TRUE(std::equal(bytes->begin(), bytes->end(), written.begin(), written.end()));
            stored += chunk.bytes;
        }
    }
    EXPECT_GT(info->metadata_bytes, 1000u);
    EXPECT_EQ(stored + info->metadata_bytes + info->unused_bytes, info->file_bytes);
    EXPECT_GT(info->allocated_bytes, stored);
}

TEST(ReadInfo, a_damaged_chunk_is_corrupt_and_named) {
    const TemporaryPath path("damaged");
    SmallRun run(base::FileSystem::posix(), path.str(), 2, read_info_run());
    ASSERT_TRUE(run.dump_and_commit(SmallDump(0)).ok());
    auto info = read_info(base::FileSystem::posix(), path.str());
    ASSERT_TRUE(info.ok());
    const ChunkRecord chunk = info->datasets[1].chunks[2];
    const std::byte wrong{0x5a};
    ASSERT_TRUE(run.file().file().write_at(chunk.address + chunk.bytes / 2, {&wrong, 1}).ok());
    auto bytes = read_chunk(run.file().file(), info->datasets[1], chunk);
    EXPECT_EQ(bytes.status().code(), StatusCode::corrupt);
    const std::string& message = bytes.status().message();
    EXPECT_NE(message.find("/data/3/meshes/vx chunk 2"), std::string::npos) << message;
    EXPECT_NE(message.find(fmt::format("{:016x}", chunk.checksum)), std::string::npos) << message;
}

TEST(ReadInfo, a_chunk_is_read_into_the_callers_memory_of_its_size_and_no_other) {
    const TemporaryPath path("into");
    const SmallDump dump(0);
    SmallRun run(base::FileSystem::posix(), path.str(), 1, read_info_run());
    ASSERT_TRUE(run.dump_and_commit(dump).ok());
    auto info = read_info(base::FileSystem::posix(), path.str());
    ASSERT_TRUE(info.ok());
    const DatasetInfo& dataset = info->datasets[1];
    const ChunkRecord& chunk = dataset.chunks[2];
    base::File& file = run.file().file();
    constexpr std::size_t k_before = 3, k_behind = 5;
    const std::byte kept{0x77};
    std::vector<std::byte> room(k_before + chunk.bytes + k_behind, kept);
    const auto bytes = std::span(room).subspan(k_before, chunk.bytes);
    for (const std::size_t wrong : {chunk.bytes - 1, chunk.bytes + 1}) {
        const Status status =
            read_chunk(file, dataset, chunk, std::span(room).subspan(k_before, wrong));
        EXPECT_EQ(status.code(), StatusCode::invalid_argument);
        EXPECT_NE(status.message().find("/data/3/meshes/vx chunk 2"), std::string::npos)
            << status.message();
    }
    EXPECT_EQ(std::count(room.begin(), room.end(), kept), std::ssize(room));
    const Status status = read_chunk(file, dataset, chunk, bytes);
    ASSERT_TRUE(status.ok()) << status.message();
    const std::span<const std::byte> written = dump.blocks(0, 1)[5].bytes;  // they are the dump's
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), written.begin(), written.end()));
    EXPECT_EQ(std::count(room.begin(), room.begin() + k_before, kept), 3);
    EXPECT_EQ(std::count(room.end() - k_behind, room.end(), kept), 5);
}

TEST(ReadInfo, says_when_a_file_needs_recovery_and_reads_it_through_the_journal) {
    const TemporaryPath path("needs");
    const SmallDump first(0), second(1);
    std::vector<Operation> operations;
    std::size_t after_regions = 0;
    {
        RecordingFileSystem recorder(base::FileSystem::posix());
        SmallRun run(recorder, path.str(), 2, read_info_run());
        ASSERT_TRUE(run.write_regions(first).ok());
        auto empty = read_info(base::FileSystem::posix(), path.str());
        ASSERT_TRUE(empty.ok()) << empty.status().message();
        EXPECT_TRUE(empty->needs_recover);
        EXPECT_TRUE(empty->datasets.empty());
        ASSERT_TRUE(run.commit().ok());
        EXPECT_FALSE(read_info(base::FileSystem::posix(), path.str())->needs_recover);
        ASSERT_TRUE(run.write_regions(second).ok());
        after_regions = recorder.size();
        EXPECT_TRUE(read_info(base::FileSystem::posix(), path.str())->needs_recover);
        ASSERT_TRUE(run.commit().ok());
        operations = recorder.operations();
    }
    // Stop after each operation of the second commit: two datasets until its journal is whole,
    // four from then on, also while the in-place bytes are half written.
    std::size_t listed_before = 2;
    for (std::size_t n = after_regions; n <= operations.size(); ++n) {
        const auto state = state_after(operations, n);
        std::ofstream(path.str(), std::ios::binary | std::ios::trunc)
            .write(reinterpret_cast<const char*>(state.data()),
                   static_cast<std::streamsize>(state.size()));
        auto info = read_info(base::FileSystem::posix(), path.str());
        ASSERT_TRUE(info.ok()) << n << ": " << info.status().message();
        ASSERT_TRUE(info->datasets.size() == 2 || info->datasets.size() == 4);
        ASSERT_GE(info->datasets.size(), listed_before);
        listed_before = info->datasets.size();
        EXPECT_EQ(info->needs_recover, n != operations.size());
    }
    EXPECT_EQ(listed_before, 4u);
}

/// A file of stock HDF5: a sparse chunked dataset, a contiguous one, strings of variable length.
void write_foreign(const std::string& path, bool latest) {
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (latest) H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
    const std::array<hsize_t, 2> extent = {50, 60}, chunk = {10, 20};
    const Handle space(H5Screate_simple(2, extent.data(), nullptr), H5Sclose);
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(creation.get(), 2, chunk.data());
    H5Pset_shuffle(creation.get());
    H5Pset_deflate(creation.get(), 4);
    const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links.get(), 1);
    const Handle dataset(H5Dcreate2(file.get(), "/data/7/x", H5T_IEEE_F64LE, space.get(),
                                    links.get(), creation.get(), H5P_DEFAULT),
                         H5Dclose);
    std::vector<double> values(50 * 60);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    const std::array<hsize_t, 2> start = {20, 20}, count = {30, 40};
    const Handle part(H5Scopy(space.get()), H5Sclose);
    H5Sselect_hyperslab(part.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, part.get(), part.get(), H5P_DEFAULT, values.data());
    const Handle flat(H5Dcreate2(file.get(), "/flat", H5T_IEEE_F64LE, space.get(), H5P_DEFAULT,
                                 H5P_DEFAULT, H5P_DEFAULT),
                      H5Dclose);
    H5Dwrite(flat.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    const Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(text.get(), H5T_VARIABLE);
    const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute(
        H5Acreate2(file.get(), "note", text.get(), scalar.get(), H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    const char* words = "of any length";
    H5Awrite(attribute.get(), text.get(), &words);
    H5Lcreate_hard(file.get(), "/data", file.get(), "/data/7/loop", H5P_DEFAULT, H5P_DEFAULT);
}

TEST(ReadInfo, works_for_files_of_others) {
    for (const bool latest : {false, true}) {
        const TemporaryPath path("foreign");
        write_foreign(path.str(), latest);
        auto info = read_info(base::FileSystem::posix(), path.str());
        ASSERT_TRUE(info.ok()) << info.status().message();
        EXPECT_EQ(info->root, (std::vector<Attribute>{{"note", std::string("of any length")}}));
        ASSERT_EQ(info->datasets.size(), 1u);
        const DatasetInfo& dataset = info->datasets[0];
        EXPECT_EQ(dataset.spec.path, "/data/7/x");
        EXPECT_EQ(dataset.iteration, 7u);
        ASSERT_EQ(dataset.spec.pipeline.size(), 2u);
        EXPECT_EQ(dataset.spec.pipeline[0].cd_values, std::vector<unsigned>{8});
        // Every address and size as HDF5 itself tells them.
        const Handle file(H5Fopen(path.str().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
        const Handle data(H5Dopen2(file.get(), "/data/7/x", H5P_DEFAULT), H5Dclose);
        const Handle space(H5Dget_space(data.get()), H5Sclose);
        hsize_t n = 0;
        ASSERT_GE(H5Dget_num_chunks(data.get(), space.get(), &n), 0);
        ASSERT_EQ(dataset.chunks.size(), n);
        ASSERT_EQ(n, 6u);
        for (const ChunkRecord& chunk : dataset.chunks) {
            const std::array<hsize_t, 2> offset = {chunk.chunk / 3 * 10, chunk.chunk % 3 * 20};
            unsigned mask = 9;
            haddr_t address = 0;
            hsize_t bytes = 0;
            ASSERT_GE(
                H5Dget_chunk_info_by_coord(data.get(), offset.data(), &mask, &address, &bytes), 0);
            EXPECT_EQ(chunk.address, address);
            EXPECT_EQ(chunk.bytes, bytes);
            EXPECT_EQ(chunk.filter_mask, mask);
            EXPECT_EQ(chunk.checksum, 0u);
        }
    }
}

TEST(ReadInfo, refuses_what_is_not_hdf5) {
    const TemporaryPath path("not_hdf5");
    std::ofstream(path.str()) << std::string(9000, 'x');
    auto info = read_info(base::FileSystem::posix(), path.str());
    EXPECT_EQ(info.status().code(), StatusCode::corrupt);
    EXPECT_NE(info.status().message().find(path.str()), std::string::npos);
    EXPECT_EQ(read_info(base::FileSystem::posix(), "/no/such/file").status().code(),
              StatusCode::io);
}

// Goal: what a reader needs beside the chunks of what HDF5 itself has made: fill values, byte
// order, where contiguous values lie, and what is there and not listed.
TEST(ReadInfo, says_fill_values_byte_order_contiguous_datasets_and_what_else_there_is) {
    const TemporaryPath path("foreign");
    const hsize_t dims = 6, chunk = 4;
    const std::array<float, 6> values{1, 2, 3, 4, 5, 6};
    const float fill = 2.5f;
    {
        const Handle file(H5Fcreate(path.str().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                          H5Fclose);
        const Handle space(H5Screate_simple(1, &dims, nullptr), H5Sclose);
        const Handle chunked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        H5Pset_chunk(chunked.get(), 1, &chunk);
        H5Pset_fill_value(chunked.get(), H5T_NATIVE_FLOAT, &fill);
        const auto make = [&](const char* name, hid_t type, hid_t creation) {
            return Handle(
                H5Dcreate2(file.get(), name, type, space.get(), H5P_DEFAULT, creation, H5P_DEFAULT),
                H5Dclose);
        };
        (void)make("chunked", H5T_IEEE_F64BE, chunked.get());
        (void)make("empty", H5T_IEEE_F32LE, H5P_DEFAULT);
        (void)make("bits", H5T_STD_B32LE, H5P_DEFAULT);
        const auto flat = make("flat", H5T_IEEE_F32LE, H5P_DEFAULT);
        ASSERT_GE(
            H5Dwrite(flat.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
            0);
    }
    const auto info = read_info(path.str());
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->others, std::vector<std::string>{"/bits"});
    ASSERT_EQ(info->datasets.size(), 1u);
    const DatasetInfo& chunks = info->datasets[0];
    EXPECT_TRUE(chunks.big_endian && chunks.chunks.empty());
    const double wide = fill;
    ASSERT_EQ(chunks.fill.size(), sizeof wide);
    EXPECT_EQ(std::memcmp(chunks.fill.data(), &wide, sizeof wide), 0) << "as this machine has it";
    ASSERT_EQ(info->contiguous.size(), 2u);
    EXPECT_TRUE(info->contiguous[0].chunks.empty());
    const DatasetInfo& flat = info->contiguous[1];
    EXPECT_EQ(flat.spec.chunk, flat.spec.shape);
    EXPECT_EQ(flat.fill, std::vector<std::byte>(4));
    ASSERT_EQ(flat.chunks.size(), 1u);
    auto file = open_for_reading(path.str());
    const auto bytes = read_chunk(**file, flat, flat.chunks[0]);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    EXPECT_EQ(std::memcmp(bytes->data(), values.data(), sizeof values), 0);
}

TEST(ListRegions, gives_each_region_with_its_dump_and_the_bytes_of_its_blocks) {
    const TemporaryPath path("regions");
    SmallRun run(base::FileSystem::posix(), path.str(), 2, read_info_run());
    for (std::uint64_t n = 0; n < 3; ++n) {
        const SmallDump dump(n);
        ASSERT_TRUE(run.dump_and_commit(dump).ok());
    }
    ASSERT_TRUE(run.commit(true).ok());
    auto file = base::FileSystem::posix().open(path.str(), base::FileSystem::Mode::read);
    ASSERT_TRUE(file.ok());
    const auto uses = list_regions(**file, path.str());
    ASSERT_TRUE(uses.ok()) << uses.status().message();
    ASSERT_EQ(uses->size(), 6u);  // one a rank in each dump
    const auto info = read_info(base::FileSystem::posix(), path.str());
    ASSERT_TRUE(info.ok());
    std::map<std::uint64_t, std::uint64_t> in_regions, in_datasets;  // bytes by iteration
    for (const RegionUse& use : *uses) {
        EXPECT_TRUE(use.committed);
        ASSERT_TRUE(use.iteration);
        EXPECT_GE(use.bytes, use.stored_bytes);
        in_regions[*use.iteration] += use.stored_bytes;
    }
    for (const DatasetInfo& dataset : info->datasets)
        in_datasets[dataset.iteration] += dataset.stored_bytes;
    EXPECT_EQ(in_regions, in_datasets);
}

}  // namespace
}  // namespace caesura::store
