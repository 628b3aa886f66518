// Committed dumps are ordinary HDF5: everything is read back with the stock library.
#include <fmt/format.h>

#include <cstring>
#include <thread>

#include "store/committer.hpp"
#include "store/hdf5_handle.hpp"
#include "store/interleaved_file_system.hpp"
#include "store/region_format.hpp"
#include "store/region_writer.hpp"
#include "store/store_fixture.hpp"
#include "store/superblock.hpp"

namespace caesura::store {
namespace {

RunId commit_run() {
    RunId run;
    for (std::size_t i = 0; i < run.size(); ++i) run[i] = static_cast<std::byte>(i * 17 + 5);
    return run;
}

void expect_dump(const std::string& path, const SmallDump& dump) {
    for (std::size_t d = 0; d < dump.values.size(); ++d)
        EXPECT_EQ(stock_read(path, dump.manifest.datasets[d].path), dump.values[d])
            << dump.manifest.datasets[d].path;
}

TEST(Store, stock_hdf5_reads_raw_and_deflated_chunks_of_every_committed_dump) {
    const TemporaryPath path("commit");
    SmallRun run(base::FileSystem::posix(), path.str(), 3, commit_run());
    ASSERT_TRUE(run.opened().ok()) << run.opened().message();
    EXPECT_FALSE(stock_opens(path.str()));  // nothing committed, nothing to open
    std::vector<SmallDump> dumps;
    for (std::uint64_t n = 0; n < 20; ++n) {
        dumps.emplace_back(n);
        const Status status = run.dump_and_commit(dumps.back());
        ASSERT_TRUE(status.ok()) << status.message();
        for (const SmallDump& dump : dumps) expect_dump(path.str(), dump);
    }
    const Status status = run.commit(true);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const SmallDump& dump : dumps) expect_dump(path.str(), dump);
    EXPECT_EQ(std::filesystem::file_size(path.str()), run.end());
}

TEST(Store, a_flush_runs_beside_the_next_dumps_writes) {
    const TemporaryPath path("beside");
    SmallRun run(base::FileSystem::posix(), path.str(), 1, commit_run());
    auto other = SharedFile::open(base::FileSystem::posix(), path.str(), commit_run());
    ASSERT_TRUE(other.ok());
    const SmallDump first(0), second(1);
    ASSERT_TRUE(run.write_regions(first).ok());
    Status flushed;
    std::thread lane([&] { flushed = run.commit(); });
    // Another rank, far behind everything, while rank 0's write lane flushes.
    std::vector<ChunkRecord> records;
    const std::uint64_t far = first_region_address() + (1 << 20);
    RegionWriter region(*other, {1, 1, far, 1 << 20, 0}, encode_manifest(second.manifest));
    const auto blocks = second.blocks(0, 1);
    EXPECT_TRUE(region.write(blocks, records).ok());
    lane.join();
    ASSERT_TRUE(flushed.ok()) << flushed.message();
    auto image = run.committer().build({&second.manifest, 1}, records, far + (1 << 20));
    ASSERT_TRUE(image.ok()) << image.status().message();
    ASSERT_TRUE(image->flush(run.file()).ok());
    expect_dump(path.str(), first);
    expect_dump(path.str(), second);
}

TEST(Store, several_dumps_in_one_commit) {
    const TemporaryPath path("several");
    SmallRun run(base::FileSystem::posix(), path.str(), 2, commit_run());
    const SmallDump a(0), b(1), c(5);
    for (const SmallDump* dump : {&a, &b, &c}) ASSERT_TRUE(run.write_regions(*dump).ok());
    const Status status = run.commit();
    ASSERT_TRUE(status.ok()) << status.message();
    for (const SmallDump* dump : {&a, &b, &c}) expect_dump(path.str(), *dump);
}

TEST(Store, the_stored_end_includes_regions_reserved_for_the_next_dump) {
    const TemporaryPath path("reserved");
    auto shared = SharedFile::create(base::FileSystem::posix(), path.str(), commit_run());
    ASSERT_TRUE(shared.ok());
    Committer committer(*shared);
    const std::uint64_t reserved = first_region_address() + (64u << 20);
    auto image = committer.build({}, {}, reserved);
    ASSERT_TRUE(image.ok()) << image.status().message();
    ASSERT_TRUE(image->flush(*shared).ok());
    EXPECT_GE(image->file_end(), reserved);
    std::array<std::byte, k_superblock_bytes> front{};
    ASSERT_TRUE(shared->file().read_at(0, front).ok());
    const auto superblock = decode_superblock(front);
    ASSERT_TRUE(superblock);
    EXPECT_GE(superblock->end_of_file, reserved);
    EXPECT_EQ(superblock->status_flags, 0u);
    EXPECT_GE(*shared->file().size(), superblock->end_of_file);
    // Trimmed at close: the promise is that nothing beyond the first page of metadata is in use.
    ASSERT_TRUE(stock_opens(path.str()));
    auto trimmed = committer.build({}, {}, image->file_end(), true);
    ASSERT_TRUE(trimmed.ok()) << trimmed.status().message();
    ASSERT_TRUE(trimmed->flush(*shared).ok());
    EXPECT_EQ(*shared->file().size(), image->file_end());
    EXPECT_TRUE(stock_opens(path.str()));
}

TEST(Store, a_stock_writer_is_refused_while_a_run_lasts_and_a_reader_is_not) {
    const TemporaryPath path("locked");
    const SmallDump dump(0);
    {
        SmallRun run(base::FileSystem::posix(), path.str(), 2, commit_run());
        ASSERT_TRUE(run.dump_and_commit(dump).ok());
        const QuietErrors quiet;
        EXPECT_FALSE(Handle(H5Fopen(path.str().c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose).ok());
        expect_dump(path.str(), dump);
        auto second = SharedFile::create(base::FileSystem::posix(), path.str(), make_run_id());
        EXPECT_EQ(second.status().code(), StatusCode::io);
        expect_dump(path.str(), dump);
    }
    EXPECT_TRUE(Handle(H5Fopen(path.str().c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose).ok());
    expect_dump(path.str(), dump);
}

/// What lies in the file is of one run, whatever the instant at which another makes the same file.
TEST(Store, of_two_runs_that_create_a_file_at_once_one_gets_it_and_the_other_does_it_no_harm) {
    const SmallDump first_dump(0), second_dump(1);
    std::uint64_t at = 0, first_won = 0;
    for (bool reached = true; reached; ++at) {
        for (const bool is_there : {false, true}) {
            SCOPED_TRACE(fmt::format("step {}, {}", at, is_there ? "an old file" : "a new one"));
            const TemporaryPath path("creators");
            if (is_there) {
                SmallRun old(base::FileSystem::posix(), path.str(), 1, make_run_id());
                ASSERT_TRUE(old.dump_and_commit(SmallDump(2)).ok());
            }
            std::unique_ptr<SmallRun> second;
            const RunId run = make_run_id();
            const auto create_second = [&] {
                second = std::make_unique<SmallRun>(base::FileSystem::posix(), path.str(), 1, run);
                if (!second->opened().ok()) return;
                ASSERT_TRUE(second->dump_and_commit(second_dump).ok());
            };
            InterleavedFileSystem files(at, create_second);
            SmallRun first(files, path.str(), 1, commit_run());
            reached = files.reached();
            if (!reached) create_second();
            ASSERT_NE(first.opened().ok(), second->opened().ok());
            first_won += first.opened().ok();
            const Status& refused = (first.opened().ok() ? *second : first).opened();
            EXPECT_EQ(refused.code(), StatusCode::io) << refused.message();
            if (first.opened().ok()) {
                ASSERT_TRUE(first.dump_and_commit(first_dump).ok());
            }
            auto file =
                base::FileSystem::posix().open(path.str(), base::FileSystem::Mode::read_write);
            EXPECT_EQ(SharedFile::of_open(std::move(file).value(), path.str())->run(),
                      first.opened().ok() ? commit_run() : run);
            expect_dump(path.str(), first.opened().ok() ? first_dump : second_dump);
        }
    }
    EXPECT_GT(at, 6u);
    EXPECT_GT(first_won, 6u);
}

// ------------------------------------------------------------------------- filters

struct StoredFilter {
    unsigned flags = 0;
    std::vector<unsigned> cd_values;
    std::string name;
};

StoredFilter stored_filter(const std::string& path, const std::string& dataset, unsigned id) {
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    const Handle data(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
    const Handle creation(H5Dget_create_plist(data.get()), H5Pclose);
    StoredFilter out;
    std::array<unsigned, 64> values{};
    std::array<char, 64> name{};
    std::size_t n = values.size();
    EXPECT_GE(H5Pget_filter_by_id2(creation.get(), static_cast<H5Z_filter_t>(id), &out.flags, &n,
                                   values.data(), name.size(), name.data(), nullptr),
              0);
    out.cd_values.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
    out.name = name.data();
    return out;
}

herr_t rewrites_client_data(hid_t creation, hid_t, hid_t) {
    const unsigned wrong[] = {99, 98, 97};
    return H5Pmodify_filter(creation, 32024, H5Z_FLAG_OPTIONAL, 3, wrong);
}

std::size_t adds_one(unsigned flags, std::size_t, const unsigned[], std::size_t bytes, std::size_t*,
                     void** buffer) {
    auto* data = static_cast<unsigned char*>(*buffer);
    const int step = (flags & H5Z_FLAG_REVERSE) != 0 ? -1 : 1;
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(data[i] + step);
    return bytes;
}

/// One dataset of 3 x 100 values, 3 chunks, through `pipeline`; the stored bytes are as given.
struct FilteredDump {
    DumpManifest manifest;
    std::vector<std::vector<std::byte>> stored;
    std::vector<std::uint32_t> masks;
};

FilteredDump filtered_dump(std::uint64_t number, std::vector<FilterSpec> pipeline) {
    FilteredDump out;
    out.manifest.dump = number;
    DatasetSpec spec;
    spec.path = fmt::format("/filtered/{}", number);
    spec.shape = {3, 100};
    spec.chunk = {1, 100};
    spec.pipeline = std::move(pipeline);
    for (int i = 0; i < 20; ++i)
        spec.attributes.push_back({fmt::format("a{}", i), std::string(200, 'x')});
    out.manifest.datasets = {spec};
    for (int c = 0; c < 3; ++c) {
        std::vector<std::byte> bytes(400);
        for (std::size_t i = 0; i < 100; ++i) {
            const float value = static_cast<float>(c * 1000) + static_cast<float>(i);
            std::memcpy(bytes.data() + 4 * i, &value, 4);
        }
        const bool skipped = c == 1;  // its mask says that the filter was not applied
        if (!skipped)
            for (std::byte& b : bytes) b = static_cast<std::byte>(std::to_integer<int>(b) + 1);
        out.stored.push_back(std::move(bytes));
        out.masks.push_back(skipped ? 1 : 0);
    }
    return out;
}

Status commit_filtered(SharedFile& shared, Committer& committer, const FilteredDump& dump,
                       std::uint64_t& end) {
    std::vector<BlockView> blocks;
    for (std::size_t c = 0; c < 3; ++c) blocks.push_back({0, dump.masks[c], c, dump.stored[c]});
    std::vector<ChunkRecord> records;
    RegionWriter region(shared, {0, dump.manifest.dump, end, 16384, 0}, "");
    if (Status s = region.write(blocks, records); !s.ok()) return s;
    std::reverse(records.begin(), records.end());  // any order will do
    auto image = committer.build({&dump.manifest, 1}, records, end + 16384);
    if (!image.ok()) return image.status();
    end = image->file_end();
    return image->flush(shared);
}

TEST(Store, client_data_are_stored_verbatim_whatever_filters_the_process_has) {
    const TemporaryPath path("filters");
    auto shared = SharedFile::create(base::FileSystem::posix(), path.str(), commit_run());
    ASSERT_TRUE(shared.ok());
    Committer committer(*shared);
    std::uint64_t end = first_region_address();
    const std::vector<FilterSpec> pipeline = {{32024, false, {7, 0, 4000000000u}, "a name"},
                                              {40000, true, {}, ""}};
    // A mandatory filter that is not there at all, and an optional one without a name.
    Status status = commit_filtered(*shared, committer, filtered_dump(0, pipeline), end);
    ASSERT_TRUE(status.ok()) << status.message();
    // The application's own filter, which would rewrite the client data of a new dataset.
    const H5Z_class2_t mine = {H5Z_CLASS_T_VERS,     32024,   1, 1, "adds one", nullptr,
                               rewrites_client_data, adds_one};
    ASSERT_GE(H5Zregister(&mine), 0);
    status = commit_filtered(*shared, committer, filtered_dump(1, {pipeline[0]}), end);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const char* dataset : {"/filtered/0", "/filtered/1"}) {
        const StoredFilter filter = stored_filter(path.str(), dataset, 32024);
        EXPECT_EQ(filter.cd_values, pipeline[0].cd_values);
        EXPECT_EQ(filter.flags, unsigned{H5Z_FLAG_MANDATORY});
        EXPECT_EQ(filter.name, "a name");
    }
    EXPECT_EQ(stored_filter(path.str(), "/filtered/0", 40000).flags, unsigned{H5Z_FLAG_OPTIONAL});
    // And it is still the application's: its decoder runs, except where the mask says otherwise.
    const auto values = stock_read(path.str(), "/filtered/1");
    for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values[i], static_cast<float>(i / 100 * 1000 + i % 100)) << i;
    ASSERT_GE(H5Zunregister(32024), 0);
}

// ----------------------------------------------------------------------- refusals

class Refusal : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(run_.opened().ok());
        ASSERT_TRUE(run_.dump_and_commit(first_).ok());
        ASSERT_TRUE(run_.write_regions(second_).ok());
    }
    /// The file is as before, and the same committer goes on.
    void TearDown() override {
        expect_dump(path_.str(), first_);
        const Status status = run_.commit();
        ASSERT_TRUE(status.ok()) << status.message();
        expect_dump(path_.str(), first_);
        expect_dump(path_.str(), second_);
    }
    std::vector<ChunkRecord> records_of(const SmallDump& dump) {
        std::vector<ChunkRecord> records;
        const auto blocks = dump.blocks(0, 1);
        RegionWriter region(run_.file(), {9, dump.manifest.dump, run_.end(), 1 << 20, 0}, "");
        EXPECT_TRUE(region.write(blocks, records).ok());
        return records;
    }
    Status build(const DumpManifest& manifest, std::vector<ChunkRecord> records) {
        return run_.committer().build({&manifest, 1}, records, run_.end() + (1 << 20)).status();
    }
    void expect_refused(const Status& status, StatusCode code, std::string_view words) {
        EXPECT_EQ(status.code(), code) << status.message();
        EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    }

    TemporaryPath path_{"refusal"};
    SmallDump first_{0}, second_{1}, third_{2};
    SmallRun run_{base::FileSystem::posix(), path_.str(), 2, commit_run()};
};

TEST_F(Refusal, of_a_missing_chunk_names_dataset_and_chunk) {
    auto records = records_of(third_);
    records.erase(records.begin() + 1);
    expect_refused(build(third_.manifest, records), StatusCode::invalid_argument,
                   "/data/23/meshes/rho: chunk 1 of 3 is missing");
}

TEST_F(Refusal, of_a_chunk_written_twice) {
    auto records = records_of(third_);
    records.push_back(records[4]);
    expect_refused(build(third_.manifest, records), StatusCode::invalid_argument,
                   "/data/23/meshes/vx: chunk 1 was written twice");
}

TEST_F(Refusal, of_a_chunk_outside_the_grid) {
    auto records = records_of(third_);
    records[0].chunk = 77;
    expect_refused(build(third_.manifest, records), StatusCode::invalid_argument, "chunk 0 of 3");
    auto more = records_of(third_);
    more.push_back(more[0]);
    more.back().chunk = 3;
    expect_refused(build(third_.manifest, more), StatusCode::invalid_argument,
                   "/data/23/meshes/rho: chunk 3 is outside the grid of 3");
}

TEST_F(Refusal, of_a_raw_chunk_that_is_not_full) {
    auto records = records_of(third_);
    records[0].bytes -= 4;
    expect_refused(build(third_.manifest, records), StatusCode::invalid_argument,
                   "without filters a chunk has exactly 800");
}

TEST_F(Refusal, of_a_block_of_an_unknown_dataset) {
    auto records = records_of(third_);
    records.push_back(records[0]);
    records.back().dataset = 2;
    expect_refused(build(third_.manifest, records), StatusCode::invalid_argument,
                   "belongs to no dataset");
}

TEST_F(Refusal, of_a_dump_that_is_committed_already) {
    expect_refused(build(first_.manifest, records_of(first_)), StatusCode::invalid_argument,
                   "dump 0 is committed already");
}

TEST_F(Refusal, of_a_path_that_is_taken) {
    DumpManifest manifest = third_.manifest;
    manifest.datasets[1].path = first_.manifest.datasets[0].path;
    expect_refused(build(manifest, records_of(third_)), StatusCode::invalid_argument,
                   "is in the file already");
}

TEST_F(Refusal, of_a_chunk_larger_than_the_dataset) {
    DumpManifest manifest = third_.manifest;
    manifest.datasets[0].chunk = {13, 50};
    expect_refused(build(manifest, records_of(third_)), StatusCode::invalid_argument,
                   "must have 1 to 12 values along axis 0");
}

TEST_F(Refusal, of_a_path_through_a_dataset_carries_the_reason_of_hdf5) {
    DumpManifest manifest = third_.manifest;
    manifest.datasets[1].path = first_.manifest.datasets[0].path + "/below";
    expect_refused(build(manifest, records_of(third_)), StatusCode::internal, "HDF5");
}

TEST_F(Refusal, of_a_second_image_before_the_first_is_flushed) {
    auto image = run_.committer().build({}, {}, run_.end());
    ASSERT_TRUE(image.ok()) << image.status().message();
    expect_refused(build(third_.manifest, records_of(third_)), StatusCode::cancelled,
                   "has not been flushed");
}

// -------------------------------------------------------------------- attributes, regions

TEST(Store, attributes_of_every_type_are_stored_and_kept) {
    const TemporaryPath path("attributes");
    auto shared = SharedFile::create(base::FileSystem::posix(), path.str(), commit_run());
    ASSERT_TRUE(shared.ok());
    DumpManifest manifest;
    manifest.root = {{"text", std::string("caf\xc3\xa9")}, {"none", std::string()}};
    manifest.groups = {{"/g",
                        {{"i", std::int64_t{-5}},
                         {"u", std::uint64_t{1} << 63},
                         {"d", 0.1},
                         {"f", 0.25f},
                         {"ds", std::vector<double>{1, 2.5}},
                         {"us", std::vector<std::uint64_t>{}},
                         {"is", std::vector<std::int64_t>{-1, 1}},
                         {"long", std::vector<double>(20000, 3.5)},  // larger than 64 KiB
                         {"ss", std::vector<std::string>{"x", "long name", ""}}}}};
    Committer committer(*shared);
    auto image = committer.build({&manifest, 1}, {}, first_region_address());
    ASSERT_TRUE(image.ok()) << image.status().message();
    ASSERT_TRUE(image->flush(*shared).ok());
    const Handle file(H5Fopen(path.str().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    const auto attribute = [&](const char* object, const char* name) {
        return Handle(H5Aopen_by_name(file.get(), object, name, H5P_DEFAULT, H5P_DEFAULT),
                      H5Aclose);
    };
    std::int64_t i = 0;
    ASSERT_GE(H5Aread(attribute("/g", "i").get(), H5T_NATIVE_INT64, &i), 0);
    EXPECT_EQ(i, -5);
    std::array<std::int64_t, 2> is{};
    ASSERT_GE(H5Aread(attribute("/g", "is").get(), H5T_NATIVE_INT64, is.data()), 0);
    EXPECT_EQ(is, (std::array<std::int64_t, 2>{-1, 1}));
    std::uint64_t u = 0;
    ASSERT_GE(H5Aread(attribute("/g", "u").get(), H5T_NATIVE_UINT64, &u), 0);
    EXPECT_EQ(u, std::uint64_t{1} << 63);
    std::vector<double> numbers(20000);
    ASSERT_GE(H5Aread(attribute("/g", "long").get(), H5T_NATIVE_DOUBLE, numbers.data()), 0);
    EXPECT_EQ(numbers, std::vector<double>(20000, 3.5));
    const Handle text = attribute("/", "text");
    const Handle type(H5Aget_type(text.get()), H5Tclose);
    EXPECT_EQ(H5Tget_cset(type.get()), H5T_CSET_UTF8);
    std::string back(H5Tget_size(type.get()), '\0');
    ASSERT_GE(H5Aread(text.get(), type.get(), back.data()), 0);
    EXPECT_EQ(back, "caf\xc3\xa9");
    const Handle list = attribute("/g", "ss");
    const Handle list_type(H5Aget_type(list.get()), H5Tclose);
    ASSERT_EQ(H5Tget_size(list_type.get()), 9u);
    std::string table(27, '?');
    ASSERT_GE(H5Aread(list.get(), list_type.get(), table.data()), 0);
    EXPECT_EQ(table, std::string("x\0\0\0\0\0\0\0\0long name\0\0\0\0\0\0\0\0\0", 27));
}

TEST(Store, a_region_takes_exactly_what_it_says_is_free) {
    const TemporaryPath path("region");
    auto shared = SharedFile::create(base::FileSystem::posix(), path.str(), commit_run());
    ASSERT_TRUE(shared.ok());
    const std::uint64_t at = first_region_address();
    RegionWriter region(*shared, {3, 8, at, 8192, 0}, "manifest");
    EXPECT_EQ(region.tail(), std::pair(at, std::uint64_t{8192}));
    std::vector<ChunkRecord> records;
    const std::vector<std::byte> one(101, std::byte{1});
    const BlockView view{0, 0, 0, one};
    ASSERT_TRUE(region.write({&view, 1}, records).ok());
    EXPECT_EQ(region.tail(), std::pair(at + 4096, std::uint64_t{4096}));
    const std::vector<std::byte> large(region.free_bytes() + 1, std::byte{2});
    const BlockView too_large{0, 0, 1, large};
    EXPECT_EQ(region.write({&too_large, 1}, records).code(), StatusCode::invalid_argument);
    const BlockView fits{0, 0, 1, std::span(large).first(large.size() - 1)};
    ASSERT_TRUE(region.write({&fits, 1}, records).ok());
    EXPECT_EQ(region.free_bytes(), 0u);
    EXPECT_EQ(region.tail().second, 0u);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[1].address + records[1].bytes, at + 8192);
    EXPECT_EQ(*shared->file().size(), at + 8192);
}

}  // namespace
}  // namespace caesura::store
