// Goal: a file kept open in memory by several ranks is, at every commit, a whole HDF5 file for
// stock readers, with everybody's data in it, and goes on from there.
#include "store/live_image.hpp"

#include <numeric>

#include "base/forwarding_file.hpp"
#include "store/in_flight.hpp"
#include "store/journal.hpp"
#include "store/live_fixture.hpp"
#include "store/recover.hpp"
#include "store/scan.hpp"
#include "store/superblock.hpp"

namespace caesura::store {
namespace {

RunId live_image_run() {
    RunId run;
    for (std::size_t i = 0; i < run.size(); ++i) run[i] = static_cast<std::byte>(100 + i * 5);
    return run;
}

std::vector<int> counting_from(int base) {
    std::vector<int> out(LiveRun::k_values);
    std::iota(out.begin(), out.end(), base);
    return out;
}

class Live : public ::testing::Test {
  protected:
    std::vector<std::byte> bytes(std::uint64_t address, std::size_t n) {
        std::vector<std::byte> out(n);
        auto file = files_.open(path_.str(), base::FileSystem::Mode::read);
        require((*file)->read_at(address, out));
        return out;
    }
    Superblock superblock() { return decode_superblock(bytes(0, k_superblock_bytes)).value(); }
    std::uint64_t length() { return std::filesystem::file_size(path_.str()); }

    TemporaryPath path_{"live"};
    base::FileSystem& files_ = base::FileSystem::posix();
};

TEST_F(Live, two_ranks_with_the_same_calls_make_one_file_with_the_data_of_both) {
    LiveRun run(files_, path_.str(), 2, live_image_run());
    run.group("/level_0");
    run.attribute("/level_0", "step", 17);
    run.integers("/level_0/contiguous", 0);
    run.integers("/level_0/chunked", 700);
    run.write_integers("/level_0/contiguous", 5);
    run.write_integers("/level_0/chunked", 9000);
    const auto field = run.placed("/level_0/field", 1);
    EXPECT_EQ(run.image(0).end(), run.image(1).end());
    EXPECT_FALSE(stock_opens(path_.str()));
    require(run.commit());
    EXPECT_EQ(run.image(0).end(), run.image(1).end());
    EXPECT_EQ(stock_attribute(path_.str(), "/level_0", "step"), 17);
    EXPECT_EQ(stock_integers(path_.str(), "/level_0/contiguous"), counting_from(5));
    EXPECT_EQ(stock_integers(path_.str(), "/level_0/chunked"), counting_from(9000));
    EXPECT_EQ(stock_read(path_.str(), field.path), field.values);
}

TEST_F(Live, every_commit_is_a_whole_file_while_the_run_goes_on) {
    for (const auto low : {H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST}) {
        LiveOptions options;
        options.low = low;
        LiveRun run(files_, path_.str(), 2, live_image_run(), options);
        std::vector<PlacedDataset> fields;
        for (int step = 0; step < 6; ++step) {
            const std::string group = fmt::format("/step_{}", step);
            run.group(group);
            // More than fits into an object header: dense storage, whose blocks move.
            for (int i = 0; i < 12; ++i)
                run.attribute(group, fmt::format("attribute_{}", i), step * 100 + i);
            run.attribute("/", "last", step);
            run.integers(group + "/integers", step % 2 == 0 ? 0 : 512);
            run.write_integers(group + "/integers", step);
            fields.push_back(run.placed(group + "/field", step));
            require(run.commit());
            EXPECT_EQ(superblock().status_flags, 0u);
            EXPECT_GE(length(), superblock().end_of_file);
            EXPECT_EQ(run.image(0).end(), run.image(1).end());
            EXPECT_EQ(stock_attribute(path_.str(), "/", "last"), step);
            EXPECT_EQ(stock_attribute(path_.str(), group, "attribute_11"), step * 100 + 11);
            for (int s = 0; s <= step; ++s)
                EXPECT_EQ(stock_integers(path_.str(), fmt::format("/step_{}/integers", s)),
                          counting_from(s));
            for (const PlacedDataset& field : fields)
                EXPECT_EQ(stock_read(path_.str(), field.path), field.values);
        }
    }
}

TEST_F(Live, stock_readers_refuse_a_file_that_is_in_flight_until_the_next_commit) {
    LiveRun run(files_, path_.str(), 2, live_image_run());
    SharedFile& shared = *run.ranks()[0].shared;
    require(mark_in_flight(shared));  // nothing to mark
    EXPECT_FALSE(is_marked_in_flight(shared.file()).value());
    run.attribute("/", "step", 1);
    require(run.commit());
    const Superblock before = superblock();
    require(mark_in_flight(shared));
    EXPECT_TRUE(is_marked_in_flight(shared.file()).value());
    EXPECT_EQ(superblock().status_flags, 1u);
    EXPECT_EQ(superblock().end_of_file, before.end_of_file);
    EXPECT_FALSE(stock_opens(path_.str()));
    auto info =
        read_info(files_, path_.str());  // ours tells what was committed, and that it is not all
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_TRUE(info->needs_recover);
    run.attribute("/", "later", 2);
    require(run.commit());
    EXPECT_EQ(superblock().status_flags, 0u);
    EXPECT_EQ(stock_attribute(path_.str(), "/", "later"), 2);
}

TEST_F(Live, recover_takes_the_mark_off_a_file_whose_run_has_died) {
    {
        LiveRun run(files_, path_.str(), 1, live_image_run());
        run.attribute("/", "step", 1);
        require(run.commit(true));
        require(mark_in_flight(*run.ranks()[0].shared));
        EXPECT_FALSE(recover(files_, path_.str()).ok());  // it lives
    }
    auto seen = recover(files_, path_.str(), true);
    ASSERT_TRUE(seen.ok()) << seen.status().message();
    EXPECT_FALSE(seen->was_clean);
    EXPECT_FALSE(stock_opens(path_.str()));
    auto report = recover(files_, path_.str());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_FALSE(report->was_clean);
    EXPECT_EQ(stock_attribute(path_.str(), "/", "step"), 1);
    EXPECT_TRUE(recover(files_, path_.str())->was_clean);
}

TEST_F(Live, metadata_never_lands_between_the_old_end_and_the_floor) {
    LiveRun run(files_, path_.str(), 1, live_image_run());
    std::vector<std::pair<std::uint64_t, std::uint64_t>> kept;
    const std::vector<std::byte> pattern(40960, std::byte{0xee});
    for (int step = 0; step < 20; ++step) {
        // The last block is an object header, a heap, an index: whatever it is must not grow.
        run.group(fmt::format("/g{}", step));
        for (int i = 0; i < step; ++i)
            run.attribute(fmt::format("/g{}", step), fmt::format("before_{}", i), i);
        const std::uint64_t at = run.reserve(pattern.size());
        kept.emplace_back(at, pattern.size());
        require(run.ranks()[0].shared->file().write_at(at, pattern));
        for (int s = 0; s <= step; ++s)
            for (int i = 0; i < 3; ++i)
                run.attribute(fmt::format("/g{}", s), fmt::format("after_{}_{}", step, i), i);
        if (step % 3 == 2) require(run.commit());
    }
    require(run.commit(true));
    for (const auto& [address, n] : kept) EXPECT_EQ(bytes(address, n), pattern) << address;
    EXPECT_EQ(stock_attribute(path_.str(), "/g0", "after_19_2"), 2);
}

TEST_F(Live, a_replaced_chunk_moves_and_its_old_bytes_are_left_alone) {
    LiveRun run(files_, path_.str(), 2, live_image_run());
    auto one = run.placed("/field", 1);
    require(run.commit());
    const std::uint64_t committed_end = run.image().end();
    const auto before = bytes(65536, committed_end - 65536 - 1);
    auto two = run.placed("/field", 2);
    run.integers("/raw", 0);  // would be put where the old chunks were
    run.write_integers("/raw", 3);
    require(run.flush_raw());
    auto image = run.build();
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(stock_read(path_.str(), "/field"), one.values);
    EXPECT_EQ(bytes(65536, committed_end - 65536 - 1), before);
    require(image->flush(*run.ranks()[0].shared));
    EXPECT_EQ(stock_read(path_.str(), "/field"), two.values);
    EXPECT_EQ(stock_integers(path_.str(), "/raw"), counting_from(3));
}

TEST_F(Live, a_chunk_of_the_same_size_moves_too) {
    LiveRun run(files_, path_.str(), 1, live_image_run());
    const auto first = run.placed("/field", 4);
    require(run.commit());
    const auto second = run.placed("/field", 4);  // the same bytes somewhere else
    const std::uint64_t region = run.image().end();
    require(run.commit());
    EXPECT_EQ(stock_read(path_.str(), "/field"), second.values);
    auto info = read_info(files_, path_.str());
    ASSERT_TRUE(info.ok()) << info.status().message();
    ASSERT_EQ(info->datasets.size(), 1u);
    for (const ChunkRecord& chunk : info->datasets[0].chunks) {
        EXPECT_GT(chunk.address, region / 2);
        EXPECT_NE(chunk.checksum, 0u);
    }
}

TEST_F(Live, a_chunk_without_filters_that_exists_cannot_move_and_nothing_is_lost) {
    LiveRun run(files_, path_.str(), 1, live_image_run());
    run.integers("/chunked", 1000);
    run.write_integers("/chunked", 50);
    const std::uint64_t at = run.reserve(4096);
    const Handle dataset(H5Dopen2(run.file(), "/chunked", H5P_DEFAULT), H5Dclose);
    const hsize_t offset = 1000;
    const Status status = run.image().place(at, 4000, [&](const void* buffer, std::size_t n_bytes) {
        return H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, &offset, n_bytes, buffer);
    });
    EXPECT_EQ(status.code(), StatusCode::unsupported) << status.message();
    require(run.commit());
    EXPECT_EQ(stock_integers(path_.str(), "/chunked"), counting_from(50));
}

TEST_F(Live, a_placing_that_fails_ends_commits_and_keeps_the_file) {
    LiveRun run(files_, path_.str(), 1, live_image_run());
    run.attribute("/", "a", 1);
    require(run.commit());
    run.attribute("/", "a", 2);
    const std::uint64_t at = run.reserve(4096);
    EXPECT_EQ(run.image().place(run.image().end(), 10, {}).code(), StatusCode::invalid_argument);
    const Status status = run.image().place(at, 10, [](const void*, std::size_t) { return -1; });
    EXPECT_EQ(status.code(), StatusCode::internal);
    EXPECT_EQ(run.commit().code(), StatusCode::internal);
    EXPECT_EQ(stock_attribute(path_.str(), "/", "a"), 1);
}

// ------------------------------------------------------------------------- raw data

TEST_F(Live, raw_data_are_read_back_before_while_and_after_they_are_written) {
    LiveRun run(files_, path_.str(), 2, live_image_run());
    run.integers("/raw", 0);
    run.write_integers("/raw", 7);
    const auto half = [&](std::size_t rank, int base) {
        const auto values = integers_of(run.file(rank), "/raw");
        const std::size_t begin = rank * LiveRun::k_values / 2;
        for (std::size_t i = 0; i < LiveRun::k_values / 2; ++i)
            if (values[begin + i] != base + static_cast<int>(begin + i)) return false;
        return true;
    };
    EXPECT_TRUE(half(0, 7) && half(1, 7));
    const auto zero = run.image(0).take_raw(), one = run.image(1).take_raw();
    ASSERT_TRUE(zero && one);
    EXPECT_FALSE(run.image(0).take_raw());
    EXPECT_TRUE(half(0, 7) && half(1, 7));
    run.write_integers("/raw", 8);  // newer than what has been taken
    EXPECT_TRUE(half(0, 8) && half(1, 8));
    require(zero->write(run.ranks()[0].shared->file()));
    require(one->write(run.ranks()[1].shared->file()));
    EXPECT_TRUE(half(0, 8) && half(1, 8));
    require(run.flush_raw());
    EXPECT_EQ(integers_of(run.file(0), "/raw"), counting_from(8));
    EXPECT_EQ(integers_of(run.file(1), "/raw"), counting_from(8));
}

/// A file of which something happens whenever it has been read.
class FileWithEvent final : public base::File {
  public:
    FileWithEvent(base::File& inner, std::function<void()> event)
        : inner_(inner), event_(std::move(event)) {}
    Status write_at(std::uint64_t at, std::span<const std::byte> bytes) override {
        return inner_.write_at(at, bytes);
    }
    Status write_at(std::uint64_t at, std::span<const std::span<const std::byte>> b) override {
        return inner_.write_at(at, b);
    }
    Status read_at(std::uint64_t at, std::span<std::byte> bytes) override {
        const Status status = inner_.read_at(at, bytes);
        event_();
        return status;
    }
    Status sync() override { return inner_.sync(); }
    Status truncate(std::uint64_t bytes) override { return inner_.truncate(bytes); }
    Result<std::uint64_t> size() override { return inner_.size(); }
    Status lock(bool exclusive) override { return inner_.lock(exclusive); }
    void unlock() override { inner_.unlock(); }

  private:
    base::File& inner_;
    std::function<void()> event_;
};

// Goal: a run that ends cuts off what it has not used, while a reader goes by the length before.
// The reader goes on, and sees nothing there.
TEST_F(Live, a_file_that_becomes_shorter_is_read_to_where_it_ends) {
    auto real = files_.open(path_.str(), base::FileSystem::Mode::create).value();
    const std::vector<std::byte> old(3 * k_first_region_address, std::byte{1});
    require(real->write_at(0, old));
    require(real->truncate(k_first_region_address + 8));

    PlacingState state;
    state.file = real.get();
    state.file_bytes = old.size();
    std::vector<std::byte> seen(16), expected(16);
    std::fill_n(expected.begin(), 8, std::byte{1});
    require(state.read(k_first_region_address, seen));
    EXPECT_EQ(seen, expected);

    const auto regions = scan_regions(*real, live_image_run(), old.size());
    ASSERT_TRUE(regions.ok()) << regions.status().message();
    EXPECT_TRUE(regions->empty());
}

/// Its run ends when somebody asks for its length, and the answer is the length before.
class EndsWhenAsked final : public base::ForwardingFile {
  public:
    EndsWhenAsked(std::unique_ptr<base::File> inner, std::uint64_t end)
        : ForwardingFile(std::move(inner)), end_(end) {}
    Result<std::uint64_t> size() override {
        const auto before = ForwardingFile::size();
        require(clear_journal(*this));
        require(truncate(end_));
        return before;
    }

  private:
    std::uint64_t end_;
};

TEST_F(Live, a_journal_that_is_cut_off_while_it_is_read_is_none) {
    auto real = files_.open(path_.str(), base::FileSystem::Mode::create).value();
    const Extent overwrite{0, std::vector<std::byte>(64, std::byte{3})};
    const auto payload = encode_journal_payload({&overwrite, 1});
    const std::uint64_t outside = 2 * k_first_region_address;
    require(real->write_at(outside, payload));
    require(
        real->write_at(k_journal_address, encode_journal(live_image_run(), 1, outside, payload)));
    ASSERT_EQ(read_journal(*real, live_image_run())->state, Journal::State::valid);
    EndsWhenAsked file(std::move(real), outside);
    const auto journal = read_journal(file, live_image_run());
    ASSERT_TRUE(journal.ok()) << journal.status().message();
    EXPECT_EQ(journal->state, Journal::State::none);
}

// Goal: a lane that writes a batch just after the file was read does not take it from the reader.
TEST_F(Live, raw_data_that_are_written_while_they_are_read_are_seen) {
    const std::vector<std::byte> old(8, std::byte{1}), fresh(8, std::byte{2});
    auto real = files_.open(path_.str(), base::FileSystem::Mode::create).value();
    require(real->write_at(0, old));
    Overlay overlay;
    overlay.write(0, fresh);
    const auto batch = std::make_shared<RawBatch>(std::move(overlay));
    FileWithEvent file(*real, [&] { require(batch->write(*real)); });
    PlacingState state;
    state.file = &file;
    state.file_bytes = old.size();
    state.live = std::make_unique<LiveLayers>();
    state.live->taken.push_back(batch);
    for (const char* when : {"while it is written", "afterwards"}) {
        std::vector<std::byte> seen(8);
        require(state.read(0, seen));
        EXPECT_EQ(seen, fresh) << when;
    }
    EXPECT_TRUE(state.live->taken.empty());
}

TEST_F(Live, a_rank_never_writes_bytes_that_it_was_not_given) {
    LiveRun run(files_, path_.str(), 2, live_image_run());
    run.integers("/contiguous", 0);
    run.integers("/chunked", 1500);  // the middle chunk has values of both ranks
    require(run.commit());
    run.write_integers("/contiguous", 1);
    run.write_integers("/chunked", 1);
    // Rank 1 first, then rank 0, then rank 1 again with nothing new.
    for (const std::size_t rank : {1u, 0u, 1u})
        if (const auto raw = run.image(rank).take_raw())
            require(raw->write(run.ranks()[rank].shared->file()));
    EXPECT_EQ(stock_integers(path_.str(), "/contiguous"), counting_from(1));
    EXPECT_EQ(stock_integers(path_.str(), "/chunked"), counting_from(1));
}

TEST_F(Live, fill_values_are_written_by_one_rank_and_zeros_by_none) {
    LiveRun run(files_, path_.str(), 2, live_image_run());
    run.integers("/zeros", 0);
    run.integers("/zeros_chunked", 1000);
    EXPECT_FALSE(run.image(0).take_fill());
    run.integers("/sevens", 0, 7);
    run.integers("/sevens_chunked", 1000, 7);
    EXPECT_EQ(integers_of(run.file(1), "/sevens"), std::vector<int>(LiveRun::k_values, 7));
    EXPECT_FALSE(run.image(0).take_raw());
    require(run.commit());
    EXPECT_EQ(stock_integers(path_.str(), "/zeros"), std::vector<int>(LiveRun::k_values, 0));
    EXPECT_EQ(stock_integers(path_.str(), "/zeros_chunked"),
              std::vector<int>(LiveRun::k_values, 0));
    EXPECT_EQ(stock_integers(path_.str(), "/sevens"), std::vector<int>(LiveRun::k_values, 7));
    EXPECT_EQ(stock_integers(path_.str(), "/sevens_chunked"),
              std::vector<int>(LiveRun::k_values, 7));
    run.write_integers("/sevens", 3);
    EXPECT_EQ(integers_of(run.file(1), "/sevens").front(), 7);  // rank 0's, not written yet
    require(run.commit());
    EXPECT_EQ(integers_of(run.file(1), "/sevens"), counting_from(3));
}

// ------------------------------------------------------------------------- commits

TEST_F(Live, a_commit_that_was_let_go_is_contained_in_the_next) {
    LiveRun run(files_, path_.str(), 2, live_image_run());
    run.attribute("/", "a", 1);
    require(run.commit());
    run.attribute("/", "a", 2);
    run.group("/lost");
    { ASSERT_TRUE(run.build().ok()); }
    EXPECT_EQ(stock_attribute(path_.str(), "/", "a"), 1);
    run.attribute("/lost", "b", 3);
    require(run.commit());
    EXPECT_EQ(stock_attribute(path_.str(), "/", "a"), 2);
    EXPECT_EQ(stock_attribute(path_.str(), "/lost", "b"), 3);
    EXPECT_EQ(run.image().next_dump(), 3u);
}

TEST_F(Live, a_commit_out_of_turn_says_what_is_missing) {
    LiveRun run(files_, path_.str(), 1, live_image_run());
    const std::uint64_t zero = 0;
    EXPECT_TRUE(run.image().creating());
    run.attribute("/", "a", 1);
    auto early = run.image().commit({&zero, 1}, 0);
    EXPECT_EQ(early.status().code(), StatusCode::invalid_argument);
    auto image = run.build();
    ASSERT_TRUE(image.ok()) << image.status().message();
    H5Fflush(run.file(), H5F_SCOPE_GLOBAL);
    EXPECT_EQ(run.image().commit({}, 0).status().code(), StatusCode::cancelled);
    require(image->flush(*run.ranks()[0].shared));
    EXPECT_EQ(run.image().commit({}, 0).status().code(), StatusCode::invalid_argument);
    require(run.image().committed());
    EXPECT_FALSE(run.image().creating());
    EXPECT_EQ(run.image().commit({&zero, 1}, 0).status().code(), StatusCode::invalid_argument);
    EXPECT_EQ(stock_attribute(path_.str(), "/", "a"), 1);
}

TEST_F(Live, what_is_committed_is_not_kept_in_memory) {
    LiveRun run(files_, path_.str(), 2, live_image_run());
    for (int i = 0; i < 50; ++i) run.group(fmt::format("/g{}", i));
    H5Fflush(run.file(1), H5F_SCOPE_GLOBAL);
    EXPECT_GT(run.image(1).metadata_memory_bytes(), 0u);
    require(run.commit());
    for (const std::size_t rank : {0u, 1u}) EXPECT_EQ(run.image(rank).metadata_memory_bytes(), 0u);
    EXPECT_GT(H5Lexists(run.file(1), "/g49", H5P_DEFAULT), 0);
}

TEST_F(Live, a_journal_that_does_not_fit_into_its_slot_lies_where_nobody_writes) {
    LiveRun run(files_, path_.str(), 2, live_image_run());
    for (int i = 0; i < 400; ++i) run.group(fmt::format("/g{}", i));
    require(run.commit());
    for (int i = 0; i < 400; ++i) run.group(fmt::format("/g{}/child", i));
    auto image = run.build();
    ASSERT_TRUE(image.ok());
    // Raw data of the next dump are written before this commit is flushed.
    run.integers("/raw", 0);
    run.write_integers("/raw", 11);
    require(run.flush_raw());
    require(image->flush(*run.ranks()[0].shared));
    EXPECT_GT(image->file_end(), superblock().end_of_file);  // it was outside
    for (LiveRank& rank : run.ranks()) require(rank.image->committed());
    require(run.commit());
    EXPECT_EQ(run.image(0).end(), run.image(1).end());
    EXPECT_EQ(stock_integers(path_.str(), "/raw"), counting_from(11));
    run.attribute("/g399/child", "a", 1);
    require(run.commit(true));
    EXPECT_EQ(stock_attribute(path_.str(), "/g399/child", "a"), 1);
    EXPECT_EQ(length(), superblock().end_of_file);
}

TEST_F(Live, a_trimmed_file_is_exactly_as_long_as_it_says_and_opens_again) {
    {
        LiveRun run(files_, path_.str(), 2, live_image_run());
        run.placed("/one", 1);
        run.integers("/raw", 0);  // the last bytes of the file are raw and were never written
        require(run.commit(true));
        for (LiveRank& rank : run.ranks()) EXPECT_GE(rank.file.reset(), 0);
    }
    EXPECT_EQ(length(), superblock().end_of_file);
    EXPECT_EQ(stock_integers(path_.str(), "/raw"), std::vector<int>(LiveRun::k_values, 0));
    {
        LiveRun run = LiveRun::reopen(files_, path_.str(), 2, live_image_run());
        EXPECT_EQ(run.next_dump(), 1u);
        EXPECT_FALSE(run.image().creating());
        run.write_integers("/raw", 6);
        run.placed("/two", 2);
        run.attribute("/", "second", 1);
        require(run.commit());
        require(run.commit(true));
    }
    EXPECT_EQ(length(), superblock().end_of_file);
    auto report = recover(files_, path_.str());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->was_clean);
    EXPECT_EQ(report->committed_dumps, 3u);
    {
        const Handle stock(H5Fopen(path_.str().c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
        ASSERT_TRUE(stock.ok());
        EXPECT_GE(H5Ldelete(stock.get(), "/one", H5P_DEFAULT), 0);
    }
    EXPECT_EQ(stock_integers(path_.str(), "/raw"), counting_from(6));
    EXPECT_EQ(stock_attribute(path_.str(), "/", "second"), 1);
}

TEST_F(Live, can_be_committed_after_the_hdf5_file_was_closed) {
    LiveRun run(files_, path_.str(), 2, live_image_run());
    run.integers("/raw", 0);
    run.write_integers("/raw", 1);
    for (LiveRank& rank : run.ranks()) ASSERT_GE(rank.file.reset(), 0);
    require(run.commit(true));
    EXPECT_EQ(stock_integers(path_.str(), "/raw"), counting_from(1));
}

// ------------------------------------------------------------------------- property lists

TEST_F(Live, creation_lists_that_cannot_be_served_are_named) {
    const Handle fcpl(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    EXPECT_TRUE(LiveImage::supports(fcpl.get()).ok());
    const auto refused = [](const std::function<void(hid_t)>& set, const char* word) {
        const Handle list(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
        set(list.get());
        const Status status = LiveImage::supports(list.get());
        EXPECT_EQ(status.code(), StatusCode::unsupported) << word;
        EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    };
    refused([](hid_t l) { H5Pset_userblock(l, 512); }, "user block");
    refused([](hid_t l) { H5Pset_sizes(l, 4, 4); }, "addresses of 4");
    refused([](hid_t l) { H5Pset_file_space_strategy(l, H5F_FSPACE_STRATEGY_PAGE, 0, 1); }, "PAGE");
    refused([](hid_t l) { H5Pset_file_space_strategy(l, H5F_FSPACE_STRATEGY_FSM_AGGR, 1, 1); },
            "persistent");
    EXPECT_EQ(LiveImage::supports(fcpl.get(), true).code(), StatusCode::unsupported);
    require(LiveImage::prepare_creation(fcpl.get()));
    EXPECT_TRUE(LiveImage::supports(fcpl.get(), true).ok());
}

TEST_F(Live, a_file_of_somebody_else_is_told_from_one_of_ours) {
    Handle(H5Fcreate(path_.str().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const auto open = [&] {
        auto file = files_.open(path_.str(), base::FileSystem::Mode::read_write);
        return SharedFile::of_open(std::move(file).value(), path_.str());
    };
    const auto foreign = open();
    EXPECT_EQ(foreign.status().code(), StatusCode::unsupported);
    EXPECT_NE(foreign.status().message().find(path_.str()), std::string::npos);
    { LiveRun run(files_, path_.str(), 1, live_image_run()); }
    const auto ours = open();
    ASSERT_TRUE(ours.ok()) << ours.status().message();
    EXPECT_EQ(ours->run(), live_image_run());
}

TEST_F(Live, an_access_list_for_readers_of_1_8_is_refused) {
    auto shared = SharedFile::create(files_, path_.str(), live_image_run());
    ASSERT_TRUE(shared.ok());
    auto image = LiveImage::make(*shared);
    ASSERT_TRUE(image.ok());
    const Handle fapl(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_libver_bounds(fapl.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V18);
    EXPECT_EQ((*image)->set_driver(fapl.get()).code(), StatusCode::unsupported);
}

TEST_F(Live, creation_lists_that_say_other_things_are_served) {
    LiveOptions options;
    options.creation = [](hid_t l) {
        H5Pset_sym_k(l, 32, 8);
        H5Pset_istore_k(l, 64);
        H5Pset_shared_mesg_nindexes(l, 1);
        H5Pset_shared_mesg_index(l, 0, H5O_SHMESG_ATTR_FLAG | H5O_SHMESG_SDSPACE_FLAG, 20);
        H5Pset_link_creation_order(l, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
        H5Pset_attr_creation_order(l, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    };
    LiveRun run(files_, path_.str(), 2, live_image_run(), options);
    for (int step = 0; step < 3; ++step) {
        run.group(fmt::format("/g{}", step));
        for (int i = 0; i < 12; ++i)
            run.attribute(fmt::format("/g{}", step), fmt::format("a{}", i), i);
        run.integers(fmt::format("/raw{}", step), 0);
        run.write_integers(fmt::format("/raw{}", step), step);
        require(run.commit(step == 2));
        EXPECT_EQ(stock_attribute(path_.str(), fmt::format("/g{}", step), "a11"), 11);
    }
    EXPECT_EQ(run.image(0).end(), run.image(1).end());
    EXPECT_EQ(stock_integers(path_.str(), "/raw2"), counting_from(2));
}

}  // namespace
}  // namespace caesura::store
