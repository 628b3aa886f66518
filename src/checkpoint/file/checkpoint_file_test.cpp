// Goal: what the host has no room for comes back from the file as it was, in this process and in
// later ones; a full disk loses nothing; a stock HDF5 reads what is committed.
#include <hdf5.h>

#include <algorithm>
#include <iostream>

#include "base/whole_file.hpp"
#include "checkpoint/file/spilled_run.hpp"
#include "device/parcel.hpp"
#include "store/faulty_file_system.hpp"
#include "store/recording_file_system.hpp"
#include "store/shared_file.hpp"
#include "store/store_fixture.hpp"

namespace caesura::checkpoint {
namespace {

using store::TemporaryPath;

constexpr unsigned k_checkpoint_file_seed = 20250311;

CheckpointFileOptions not_durable(base::FileSystem* file_system = nullptr) {
    return {false, file_system};
}

TEST(CheckpointFile, what_the_host_has_no_room_for_comes_back_in_any_order_within_the_budget) {
    std::mt19937_64 random(k_checkpoint_file_seed);
    for (unsigned round = 0; round < 12; ++round) {
        SCOPED_TRACE("seed " + std::to_string(k_checkpoint_file_seed) + " round " +
                     std::to_string(round));
        const TemporaryPath path("spilled");
        const plan::CheckpointProfile expected = machine(40'000 + random() % 300'000);
        CheckpointerOptions options;
        options.host_bytes = 3 * expected.cache_bytes + random() % 300'000;
        options.write_all = random() % 3 == 0;
        options.commit_every_s = random() % 2 == 0 ? 0.0 : 1e9;
        const double bound = random() % 2 == 0 ? 0.0 : 1e-3;
        options.content = {float32, {50, 100}, bound > 0.0 ? absolute(bound) : lossless()};
        SpilledRun run(round, expected);
        const Status begun = run.begin(CheckpointFile::create(path.str(), not_durable()), options);
        ASSERT_TRUE(begun.ok()) << begun.message();
        std::vector<std::uint64_t> ids;
        for (std::uint64_t step = 0; step < 150; ++step) {
            ids.push_back(5000 - 7 * step);
            const Status status = run.make(ids.back(), 1e-6 * static_cast<double>(random() % 100));
            ASSERT_TRUE(status.ok()) << status.message();
            if (random() % 20 == 0) {
                ASSERT_EQ(run.wrong(ids[random() % ids.size()], bound), "");
            }
        }
        EXPECT_EQ(run->ids(), ids);
        for (auto id = ids.rbegin(); id != ids.rend(); ++id) ASSERT_EQ(run.wrong(*id, bound), "");
        for (const std::uint64_t id : ids) ASSERT_EQ(run.wrong(id, bound), "");
        std::shuffle(ids.begin(), ids.end(), random);
        for (const std::uint64_t id : ids) ASSERT_EQ(run.wrong(id, bound), "");
        const CheckpointerReport report = run->report();
        EXPECT_LE(report.peak_host_bytes, options.host_bytes);
        EXPECT_LE(report.peak_cache_bytes, expected.cache_bytes);
        EXPECT_EQ(report.trouble, "");
        if (report.link_bytes > options.host_bytes) {
            EXPECT_GT(report.reads, 0u);
            EXPECT_GT(report.read_ahead, 0u);
        }
        run.end();
        EXPECT_EQ(run.device().allocations(), 0u);
    }
}

TEST(CheckpointFile, a_later_process_restores_what_was_saved_and_goes_on) {
    const TemporaryPath path("later");
    {
        SpilledRun run(1, machine());
        ASSERT_TRUE(run.begin(CheckpointFile::create(path.str(), not_durable())).ok());
        for (std::uint64_t id = 0; id < 40; ++id) ASSERT_TRUE(run.make(id).ok());
        const Status saved = run->save();
        ASSERT_TRUE(saved.ok()) << saved.message();
        ASSERT_TRUE(run->save().ok());  // nothing is left to do
    }
    for (std::uint64_t member = 1; member < 4; ++member) {
        SpilledRun run(1, machine(60'000 * member));
        auto file = CheckpointFile::open(path.str(), not_durable());
        ASSERT_TRUE(file.ok()) << file.status().message();
        EXPECT_EQ((*file)->checkpoint_bytes(), 20'000u);
        EXPECT_EQ((*file)->committed(), 40 * member);
        ASSERT_TRUE(run.begin(file).ok());
        file = Status{StatusCode::cancelled, "given away"};
        ASSERT_EQ(run->ids().size(), 40 * member);
        EXPECT_EQ(run.make(39).code(), StatusCode::invalid_argument);
        for (std::uint64_t id = 40 * member; id-- > 0;) ASSERT_EQ(run.wrong(id), "");
        EXPECT_GT(run->report().read_ahead, 20u);
        for (std::uint64_t id = 40 * member; id < 40 * (member + 1); ++id)
            ASSERT_TRUE(run.make(id).ok());
        for (std::uint64_t id = 0; id < 40 * (member + 1); ++id) ASSERT_EQ(run.wrong(id), "");
        ASSERT_TRUE(run->save().ok());
    }
}

/// One dataset through stock HDF5 and the filter plugin; whether it is compressed.
std::vector<float> stock_values(hid_t file, std::uint64_t id, int& filters) {
    const hid_t data = H5Dopen2(file, ("/checkpoints/" + std::to_string(id)).c_str(), H5P_DEFAULT);
    const hid_t creation = H5Dget_create_plist(data), space = H5Dget_space(data);
    filters = H5Pget_nfilters(creation);
    hsize_t dims[2] = {};
    EXPECT_EQ(H5Sget_simple_extent_dims(space, dims, nullptr), 2);
    std::vector<float> values(dims[0] * dims[1]);
    EXPECT_GE(H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    H5Sclose(space), H5Pclose(creation), H5Dclose(data);
    return values;
}

TEST(CheckpointFile, a_stock_reader_sees_each_checkpoint_as_an_array_also_while_more_are_made) {
    ASSERT_GE(H5PLprepend(CAESURA_TEST_PLUGINS), 0);
    for (const auto& [bound, coder] :
         {std::pair{0.0, device::Coder::codec}, std::pair{1e-3, device::Coder::codec},
          std::pair{0.0, device::Coder::packed}, std::pair{1e-3, device::Coder::packed}}) {
        const TemporaryPath path("stock");
        SpilledRun run(2, machine(), coder);
        CheckpointerOptions options;
        options.content = {float32, {100, 50}, bound > 0.0 ? absolute(bound) : lossless()};
        ASSERT_TRUE(run.begin(CheckpointFile::create(path.str(), not_durable()), options).ok());
        // The link has time for the first half, and they are sent raw.
        for (std::uint64_t id = 0; id < 40; ++id)
            ASSERT_TRUE(run.make(id, id < 20 ? 1e-3 : 1e-6).ok());
        ASSERT_TRUE(run->save().ok());
        ASSERT_TRUE(run.make(40, 1e-6).ok());
        const hid_t file = H5Fopen(path.str().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        ASSERT_GE(file, 0);
        int raw = 0;
        for (std::uint64_t id = 0; id < 40; ++id) {
            int filters = 0;
            const std::vector<float> found = stock_values(file, id, filters);
            const std::vector<float> made = values_of(id, 2);
            const double allowed = filters > 0 ? bound : 0.0;
            for (std::size_t i = 0; i < k_values; ++i)
                ASSERT_LE(std::abs(static_cast<double>(found[i]) - static_cast<double>(made[i])),
                          allowed)
                    << "checkpoint " << id;
            raw += filters == 0;
        }
        EXPECT_GT(raw, 0);
        EXPECT_LT(raw, 40);
        H5Fclose(file);
    }
}

/// A run on a disk that is full at operation `fail_at`; false when it never came to that.
bool run_on_a_full_disk(std::uint64_t fail_at, store::FaultyFileSystem::After after) {
    constexpr std::uint64_t k_made = 30;
    const TemporaryPath path("full");
    store::RecordingFileSystem quiet(base::FileSystem::posix());  // does not forward syncs
    store::FaultyFileSystem disk(quiet, fail_at, after);
    const bool passes = after == store::FaultyFileSystem::After::works_again;
    CheckpointerOptions options;
    options.host_bytes = 3 * machine(64'000).cache_bytes;
    options.commit_every_s = 0.0;
    SpilledRun run(3, machine(64'000));
    std::uint64_t made = 0, refused = 0, committed = 0;
    auto file = CheckpointFile::create(path.str(), {true, &disk});
    if (!file.ok()) {
        EXPECT_EQ(file.status().code(), StatusCode::no_space);
        return disk.reached();
    }
    CheckpointFile& kept = **file;
    EXPECT_TRUE(run.begin(file, options).ok());
    file = Status{StatusCode::cancelled, "given away"};
    const auto allowed = [&](const Status& status) {
        refused += !status.ok();
        return status.ok() || (status.code() == StatusCode::no_space &&
                               status.message().find(path.str()) != std::string::npos);
    };
    for (std::uint64_t attempt = 0; attempt < k_made + 10 && made < k_made; ++attempt) {
        const Status status = run.make(made);
        EXPECT_TRUE(allowed(status)) << status.message();
        made += status.ok();  // else it is the same one again
    }
    Status saved = run->save();
    EXPECT_TRUE(allowed(saved)) << saved.message();
    if (passes) saved = run->save();
    EXPECT_EQ(saved.ok(), passes || !disk.reached()) << saved.message();
    EXPECT_EQ(made == k_made, passes || refused < 2) << made;
    // Whatever became of the disk, all that were made are there.
    for (std::uint64_t id = made; id-- > 0;) EXPECT_EQ(run.wrong(id), "");
    committed = kept.committed();
    if (passes) {
        EXPECT_EQ(committed, k_made);
    }
    run.end();
    auto again = CheckpointFile::open(path.str(), not_durable());
    EXPECT_TRUE(again.ok()) << again.status().message();
    if (!again.ok()) return disk.reached();
    SpilledRun later(3, machine());
    EXPECT_TRUE(later.begin(again).ok());
    EXPECT_GE(later->ids().size(), committed);
    for (const std::uint64_t id : later->ids()) EXPECT_EQ(later.wrong(id), "");
    return disk.reached();
}

TEST(CheckpointFile, a_disk_that_is_full_refuses_loses_nothing_and_may_be_tried_again) {
    using After = store::FaultyFileSystem::After;
    for (const After after : {After::works_again, After::fails_for_ever}) {
        // Every one of the first operations, then one in so many: batches and commits are alike.
        std::uint64_t fail_at = 0, runs = 0;
        for (; run_on_a_full_disk(fail_at, after) && !HasFailure(); ++runs)
            fail_at += 1 + fail_at / 40;
        EXPECT_GT(runs, 40u);
        std::cout << runs << " runs, of up to " << fail_at << " operations before one fails\n";
    }
}

TEST(CheckpointFile, ten_thousand_checkpoints_stay_within_the_budget_and_come_back) {
    const TemporaryPath path("many");
    plan::CheckpointProfile expected = machine(64'000);
    expected.checkpoint_bytes = 1'000;
    device::EmulatedDevice device = checkpoint::device_of(expected);
    auto file = CheckpointFile::create(path.str(), not_durable());
    ASSERT_TRUE(file.ok()) << file.status().message();
    CheckpointerOptions options;
    options.store = *file;
    options.host_bytes = 3 * expected.cache_bytes;
    auto checkpointer = Checkpointer::create(device, expected, options);
    ASSERT_TRUE(checkpointer.ok()) << checkpointer.status().message();
    const auto data_of = [](std::uint64_t id) {
        std::mt19937_64 random(k_checkpoint_file_seed + id);
        return checkpoint::synthetic(random, 1'000, id % 3 == 0 ? 1.0 : 10.0);
    };
    for (std::uint64_t id = 0; id < 10'000; ++id) {
        device.work(3e-6);
        const Status status = (*checkpointer)->checkpoint(id, data_of(id).data());
        ASSERT_TRUE(status.ok()) << status.message();
    }
    std::vector<std::byte> back(1'000);
    for (std::uint64_t id = 10'000; id-- > 0;) {
        const Status status = (*checkpointer)->restore(id, back.data());
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(back, data_of(id)) << id;
    }
    const CheckpointerReport report = (*checkpointer)->report();
    EXPECT_LE(report.peak_host_bytes, options.host_bytes);
    EXPECT_LE(report.peak_cache_bytes, expected.cache_bytes);
    EXPECT_GT(report.written_bytes, report.link_bytes / 2);
    checkpointer->reset();
    EXPECT_EQ(device.allocations(), 0u);
}

TEST(CheckpointFile, what_cannot_be_is_refused_by_name) {
    const TemporaryPath path("refused");
    const auto said = [](const Status& status, StatusCode code, const char* words) {
        EXPECT_EQ(status.code(), code) << status.message();
        EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    };
    SpilledRun run(4, machine());
    CheckpointerOptions options;
    options.host_bytes = 3 * machine().cache_bytes - 1;
    const auto file = CheckpointFile::create(path.str(), not_durable());
    said(run.begin(file, options), StatusCode::invalid_argument, "three times the cache");
    said(run.begin(std::shared_ptr<CheckpointFile>(), options), StatusCode::invalid_argument,
         "there is no store");
    options = {};
    options.content = {float64, {2500}, lossless()};
    ASSERT_TRUE(run.begin(file, options).ok());
    said(CheckpointFile::create(path.str()).status(), StatusCode::io, path.str().c_str());
    said(CheckpointFile::open(path.str()).status(), StatusCode::io, path.str().c_str());
    ASSERT_TRUE(run.make(7).ok());
    ASSERT_TRUE(run->save().ok());
    run.end();
}

TEST(CheckpointFile, a_run_that_is_refused_for_its_options_leaves_an_older_file_as_it_was) {
    const TemporaryPath path("kept");
    {
        SpilledRun run(6, machine());
        ASSERT_TRUE(run.begin(CheckpointFile::create(path.str(), not_durable())).ok());
        ASSERT_TRUE(run.make(7).ok());
        ASSERT_TRUE(run->save().ok());
    }
    const auto refused = [&](const plan::CheckpointProfile& expected, CheckpointerOptions options) {
        device::EmulatedDevice device = checkpoint::device_of(machine());
        options.store = CheckpointFile::create_at_begin(path.str(), not_durable());
        EXPECT_FALSE(Checkpointer::create(device, expected, options).ok());
        const auto there = CheckpointFile::open(path.str(), not_durable());
        ASSERT_TRUE(there.ok()) << there.status().message();
        EXPECT_EQ((*there)->committed(), 1u);
    };
    CheckpointerOptions options;
    options.host_bytes = 3 * machine().cache_bytes - 1;
    refused(machine(), options);
    options = {};
    options.commit_every_s = -1.0;
    refused(machine(), options);
    options = {};
    options.content = {float32, {7}, lossless()};
    refused(machine(), options);
    options = {};
    refused(machine(0), options);
    plan::CheckpointProfile expected = machine();
    expected.header_bytes = 1;
    refused(expected, options);
    expected = machine(std::uint64_t{1} << 40);
    expected.checkpoint_bytes = 0xfffffffc;
    refused(expected, options);
    device::EmulatedDevice device = checkpoint::device_of(machine());
    options.store = CheckpointFile::create_at_begin(path.str(), not_durable());
    const auto accepted = Checkpointer::create(device, machine(), options);
    ASSERT_TRUE(accepted.ok()) << accepted.status().message();
    EXPECT_TRUE((*accepted)->ids().empty());
}

TEST(CheckpointFile, the_largest_checkpoint_is_a_chunk_whoever_compresses_it) {
    const auto frame_bytes = [](std::uint64_t raw_bytes, device::Coder coder) {
        return device::parcel_bytes_at_most(1, raw_bytes, coder) - device::parcel_table_bytes(1);
    };
    const auto fits = [&](std::uint64_t raw_bytes) {
        return frame_bytes(raw_bytes, device::Coder::codec) <= 0xffffffff &&
               frame_bytes(raw_bytes, device::Coder::packed) <= 0xffffffff;
    };
    const TemporaryPath path("largest");
    const auto file = CheckpointFile::create(path.str(), not_durable());
    ASSERT_TRUE(file.ok()) << file.status().message();
    const device::Content content;
    std::uint64_t taken = 1, refused = std::uint64_t{1} << 30;  // values of 4 bytes
    while (taken + 1 < refused) {
        const std::uint64_t middle = (taken + refused) / 2;
        ((*file)->begin(4 * middle, content).ok() ? taken : refused) = middle;
    }
    EXPECT_TRUE(fits(4 * taken)) << 4 * taken;
    EXPECT_FALSE(fits(4 * refused)) << 4 * refused;
    EXPECT_EQ((*file)->begin(std::uint64_t{1} << 62, content).code(), StatusCode::invalid_argument);
}

TEST(CheckpointFile, a_file_of_other_things_is_refused_and_left_as_it_was) {
    const auto said = [](const Status& status, StatusCode code, const char* words) {
        EXPECT_EQ(status.code(), code) << status.message();
        EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    };
    const TemporaryPath path("other");
    said(CheckpointFile::open(path.str()).status(), StatusCode::io, path.str().c_str());
    {
        const store::SmallDump dump(0);
        store::SmallRun run(base::FileSystem::posix(), path.str(), 1, store::make_run_id());
        ASSERT_TRUE(run.dump_and_commit(dump).ok());
    }
    said(CheckpointFile::open(path.str()).status(), StatusCode::unsupported, "no file of checkpo");
    {
        const store::SmallDump committed(0), written(1);
        store::SmallRun killed(base::FileSystem::posix(), path.str(), 1, store::make_run_id());
        ASSERT_TRUE(killed.dump_and_commit(committed).ok());
        ASSERT_TRUE(killed.write_regions(written).ok());
    }
    said(CheckpointFile::open(path.str()).status(), StatusCode::unsupported, "no file of checkpo");
    EXPECT_TRUE(store::read_info(path.str())->needs_recover) << "it was recovered";
    {
        const store::SmallDump written(0);
        store::SmallRun killed(base::FileSystem::posix(), path.str(), 1, store::make_run_id());
        ASSERT_TRUE(killed.write_regions(written).ok());
    }
    const std::vector<std::byte> nothing_committed = base::get_file(path.str());
    said(CheckpointFile::open(path.str()).status(), StatusCode::unsupported, "no file of checkpo");
    EXPECT_EQ(base::get_file(path.str()), nothing_committed);
    {
        SpilledRun run(5, machine());
        ASSERT_TRUE(run.begin(CheckpointFile::create(path.str(), not_durable())).ok());
        ASSERT_TRUE(run.make(7).ok());
        ASSERT_TRUE(run->save().ok());
    }
    CheckpointerOptions options;
    options.content = {float32, {50, 100}, lossless()};
    SpilledRun run(5, machine());
    said(run.begin(CheckpointFile::open(path.str()), options), StatusCode::invalid_argument,
         "its checkpoints are [5000] of float32, not [50, 100]");
}

}  // namespace
}  // namespace caesura::checkpoint
