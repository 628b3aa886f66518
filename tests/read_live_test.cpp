// A file that a Writer goes on with, or that a killed run has left: a Source has what is committed,
// exactly, at every instant.
#include <fmt/format.h>

#include "base/whole_file.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "read_fixture.hpp"
#include "store/recording_file_system.hpp"
#include "store/recover.hpp"

namespace caesura {
namespace {

using store::Operation;
using testing::read_box, testing::whole_box;

constexpr std::uint64_t k_live_dumps = 4;
const Shape k_live_shape{400, 700};

std::vector<float> live_field(std::uint64_t dump) {
    return testing::make_field<float>(k_live_shape, 77 + static_cast<unsigned>(dump), 2);
}

class ReadLive : public testing::ReadTest {
  protected:
    void SetUp() override {
        for (std::uint64_t n = 0; n < k_live_dumps; ++n) {
            const auto values = live_field(n);
            fields_.emplace_back(values.begin(), values.end());
        }
    }
    /// Dumps of one field. @param after  called when each has ended.
    void write(base::FileSystem& files, const std::function<void(Writer&)>& after) {
        WriterOptions options;
        options.file_system = &files;
        options.chunk_bytes = 64u << 10;
        options.planning = false;
        options.write_buffer_bytes = 1;  // every block a write of its own
        options.reserve_factor = 0.7;    // some blocks overflow
        auto writer = Writer::create(path_, nullptr, options);
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        auto field = (*writer)->define_field("rho", float32, k_live_shape);
        for (std::uint64_t n = 0; n < k_live_dumps; ++n) {
            const auto values = live_field(n);
            auto iteration = (*writer)->begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            ASSERT_TRUE(dump.put(*field, whole_box(k_live_shape), values.data()).ok());
            ASSERT_TRUE(iteration.end().ok());
            after(**writer);
        }
        ASSERT_TRUE((*writer)->close().ok());
    }
    /// How many dumps it has, each of which has to be exact.
    std::uint64_t check(const read::Source& source) {
        std::uint64_t dumps = 0;
        for (std::size_t i = 0; i < source.datasets().size(); ++i) {
            const std::uint64_t n = source.datasets()[i].iteration;
            EXPECT_LT(n, k_live_dumps);
            if (n >= k_live_dumps) return dumps;
            const Box box = whole_box(k_live_shape);
            EXPECT_EQ(testing::difference(read_box(source, i, box), fields_[n], k_live_shape, box),
                      "");
            ++dumps;
        }
        return dumps;
    }
    std::vector<Operation> record() {
        store::RecordingFileSystem recording(base::FileSystem::posix());
        write(recording, [](Writer&) {});
        return recording.operations();
    }
    std::vector<std::vector<double>> fields_;
};

TEST_F(ReadLive, who_opens_the_file_again_after_a_dump_sees_what_is_committed_by_then) {
    std::vector<std::unique_ptr<read::Source>> sources;
    write(base::FileSystem::posix(), [&](Writer& writer) {
        auto source = read::Source::open(path_);
        ASSERT_TRUE(source.ok()) << source.status().message();
        EXPECT_GE(check(**source), writer.committed() ? *writer.committed() + 1 : 0);
        sources.push_back(std::move(*source));
    });
    for (const auto& source : sources) {  // those that were opened before see the same as ever
        const std::size_t datasets = source->datasets().size();
        EXPECT_EQ(check(*source), datasets);
    }
    auto last = read::Source::open(path_);
    ASSERT_TRUE(last.ok());
    EXPECT_EQ(check(**last), k_live_dumps);
}

// Goal: whatever instant a run is killed at, a Source has all that stock HDF5 has and what the
// journal adds, exactly; after recovery it has what recovery says.
TEST_F(ReadLive, a_killed_file_is_read_before_and_after_it_is_recovered) {
    const auto operations = record();
    ASSERT_GT(operations.size(), 20u);
    std::uint64_t before = 0;
    for (std::size_t n = 0; n <= operations.size(); ++n) {
        SCOPED_TRACE(fmt::format("{} of {} operations", n, operations.size()));
        ASSERT_TRUE(base::put_file(path_, store::state_after(operations, n)));
        auto source = read::Source::open(path_);
        auto report = store::recover(base::FileSystem::posix(), path_);
        if (!report.ok()) {  // killed while the file was made
            ASSERT_LT(n, 4u) << report.status().message();
            continue;
        }
        ASSERT_TRUE(source.ok()) << source.status().message();
        const std::uint64_t dumps = check(**source);  // recovery has moved nothing of it
        EXPECT_GE(dumps, before) << "what was committed stays";
        before = dumps;
        auto recovered = read::Source::open(path_);
        ASSERT_TRUE(recovered.ok()) << recovered.status().message();
        EXPECT_EQ(check(**recovered), report->committed_dumps);
        EXPECT_GE(report->committed_dumps, dumps);
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_EQ(before, k_live_dumps);
}

// Goal: a commit that is made while the file is listed is seen whole or not at all. The operations
// of a run are done one by one between a Source's own readings.
TEST_F(ReadLive, a_commit_that_happens_while_the_file_is_opened_is_seen_whole_or_not_at_all) {
    const auto operations = record();
    for (unsigned seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::mt19937 random(seed);
        std::size_t next = 4 + random() % (operations.size() - 4);
        ASSERT_TRUE(base::put_file(path_, store::state_after(operations, next)));
        auto file = base::FileSystem::posix().open(path_, base::FileSystem::Mode::read_write);
        ASSERT_TRUE(file.ok());
        const auto go_on = [&] {
            if (next == operations.size()) return;
            const Operation& operation = operations[next++];
            Status status;
            if (operation.kind == Operation::Kind::write)
                status = (*file)->write_at(operation.offset, operation.bytes);
            if (operation.kind == Operation::Kind::truncate)
                status = (*file)->truncate(operation.offset);
            if (operation.kind == Operation::Kind::extend)
                status = (*file)->extend(operation.offset);
            ASSERT_TRUE(status.ok()) << status.message();
        };
        testing::WatchedFileSystem files;
        const unsigned one_in = 1 + random() % 12;
        files.before_read = [&] {
            while (random() % one_in == 0 && next < operations.size() && random() % 4) go_on();
        };
        auto source = read::Source::open(files, path_);
        ASSERT_TRUE(source.ok()) << source.status().message();
        const std::uint64_t dumps = check(**source);
        EXPECT_EQ(dumps, (*source)->datasets().size());
        while (next < operations.size()) go_on();
        EXPECT_EQ(check(**source), dumps);
        ASSERT_FALSE(HasFailure());
    }
}

}  // namespace
}  // namespace caesura
