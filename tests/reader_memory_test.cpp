// Memory runs out at any allocation of one rank of a Reader: all ranks say so, none waits for ever,
// and the next call works. The memory of the communicator itself is not counted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "base/thread_communicator.hpp"
#include "caesura/reader.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "failing_new.hpp"
#include "read_fixture.hpp"

namespace caesura {
namespace {

/// Its own allocations succeed.
class SparedCommunicator final : public Communicator {
  public:
    explicit SparedCommunicator(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}
    int rank() const override { return inner_->rank(); }
    int size() const override { return inner_->size(); }
    Status barrier() override { return inner_->barrier(); }
    Status broadcast(std::span<std::byte> data, int root) override {
        const testing::UnfailingAllocation spared;
        return inner_->broadcast(data, root);
    }
    Status allgather(std::span<const std::byte> send, std::span<std::byte> receive) override {
        const testing::UnfailingAllocation spared;
        return inner_->allgather(send, receive);
    }
    Result<std::vector<Bytes>> allgatherv(std::span<const std::byte> send) override {
        const testing::UnfailingAllocation spared;
        return inner_->allgatherv(send);
    }
    Result<std::vector<Bytes>> gatherv(std::span<const std::byte> send, int root) override {
        const testing::UnfailingAllocation spared;
        return inner_->gatherv(send, root);
    }
    Result<std::vector<Bytes>> alltoallv(std::span<const Bytes> send) override {
        const testing::UnfailingAllocation spared;
        return inner_->alltoallv(send);
    }
    Result<std::unique_ptr<Communicator>> node_local() override { return inner_->node_local(); }

  private:
    const std::unique_ptr<Communicator> inner_;
};

class ReaderMemory : public testing::ReadTest {
  protected:
    static constexpr int k_ranks = 3, k_short = 1;  // one rank is short of memory
    static constexpr std::uint64_t k_rows = 64, k_columns = 4096;
    const Box k_whole{{0, 0}, {k_rows, k_columns}};
    std::vector<float> values_ = testing::make_field<float>({k_rows, k_columns}, 5, 2);

    void SetUp() override { write(path_, 3); }
    void write(const std::string& path, std::uint64_t dumps) {
        const WriterOptions options{.codec = {.name = "none"}, .chunk_bytes = 64u << 10};
        auto writer = Writer::create(path, nullptr, options).value();
        const Field field = writer->define_field("rho", float32, {k_rows, k_columns}).value();
        for (std::uint64_t n = 0; n < dumps; ++n) {
            auto iteration = writer->begin_iteration(n);
            ASSERT_TRUE(iteration.begin_dump(0.0).put(field, k_whole, values_.data()).ok());
            ASSERT_TRUE(iteration.end().ok());
        }
        ASSERT_TRUE(writer->close().ok());
    }
    using Call = std::function<Status(std::unique_ptr<Reader>&, std::unique_ptr<Communicator>)>;
    /// Calls on all ranks; the one that is short fails at allocation n.
    /// @return  false: there are not as many allocations.
    bool fails_on_all(long n, const Call& call, bool opened) const {
        SCOPED_TRACE(fmt::format("allocation {}", n));
        std::array<Status, k_ranks> said;
        bool failed = false;
        base::run_ranks(k_ranks, [&](std::unique_ptr<Communicator> inner) {
            const int rank = inner->rank();
            std::unique_ptr<Communicator> comm =
                std::make_unique<SparedCommunicator>(std::move(inner));
            std::unique_ptr<Reader> reader;
            if (opened) reader = *Reader::open(path_, std::move(comm), k_options);
            Status& status = said[static_cast<std::size_t>(rank)];
            if (rank == k_short) {
                const testing::FailingAllocation failing(n);
                status = call(reader, std::move(comm));
                failed = failing.has_failed();
            } else {
                status = call(reader, std::move(comm));
            }
            if (!opened) return;
            std::vector<float> again(values_.size());
            const Status after =
                reader->read_all(0, k_whole, std::as_writable_bytes(std::span(again)));
            EXPECT_TRUE(after.ok()) << after.message();
            EXPECT_EQ(again, values_);
        });
        for (const Status& status : said) {
            EXPECT_EQ(status.code(), said[0].code()) << status.message();
            if (status.ok()) continue;
            EXPECT_EQ(status.code(), StatusCode::no_space) << status.message();
            EXPECT_EQ(status.message().find("rank 1: "), 0u) << status.message();
        }
        return failed;
    }
    const ReaderOptions k_options{.threads = 1, .verify = true, .round_bytes = 200'000};
};

TEST_F(ReaderMemory, running_out_of_it_on_one_rank_ends_read_all_on_every_rank) {
    const Call read = [&](std::unique_ptr<Reader>& reader, std::unique_ptr<Communicator>) {
        std::vector<float> room;
        {
            const testing::UnfailingAllocation spared;
            room.resize(values_.size());
        }
        return reader->read_all(0, k_whole, std::as_writable_bytes(std::span(room)));
    };
    long n = 0;
    while (fails_on_all(n, read, true)) ++n;
    EXPECT_GT(n, 10);
}

TEST_F(ReaderMemory, running_out_of_it_on_one_rank_ends_open_and_refresh_on_every_rank) {
    // What ranks see differs, as beside a Writer.
    const std::string earlier = path_ + ".earlier";
    write(earlier, 2);
    const Call open = [&](std::unique_ptr<Reader>& reader, std::unique_ptr<Communicator> comm) {
        const std::string& path = comm->rank() == 2 ? earlier : path_;
        auto opened = Reader::open(path, std::move(comm), k_options);
        if (!opened.ok()) return opened.status();
        reader = std::move(*opened);
        EXPECT_EQ(reader->dumps().size(), 2u);
        return Status();
    };
    long n = 0;
    while (fails_on_all(n, open, false)) ++n;
    EXPECT_GT(n, 10);
    const Call refresh = [](std::unique_ptr<Reader>& reader, std::unique_ptr<Communicator>) {
        return reader->refresh().status();
    };
    n = 0;
    while (fails_on_all(n, refresh, true)) ++n;
    EXPECT_GT(n, 10);
    std::filesystem::remove(earlier);
}

}  // namespace
}  // namespace caesura
