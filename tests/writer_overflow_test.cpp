// However bad the prediction, the file is right.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

// Goal: reservations of 0, a tenth and ten times the predicted size all give an exact file; too
// small ones overflow, and that is counted.
TEST(WriterOverflow, reservations_of_any_size_give_an_exact_file) {
    const std::string path =
        ::testing::TempDir() + "caesura_overflow_" + std::to_string(::getpid()) + ".h5";
    const Shape shape{64, 64, 32}, half{32, 64, 32};
    for (unsigned i = 0; i < 8; ++i) {
        const double factor = std::array{0.0, 0.1, 1.0, 10.0}[i / 2];
        const std::string codec = i % 2 ? "caesura" : "none";
        SCOPED_TRACE(codec);
        std::mutex mutex;
        std::uint64_t overflow_blocks = 0, blocks = 0;
        std::vector<std::string> errors;
        base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
            const auto rank = static_cast<unsigned>(comm->rank());
            WriterOptions options;
            options.codec.name = codec;
            options.chunk_bytes = 64u << 10;
            options.reserve_factor = factor;
            auto writer = Writer::create(path, std::move(comm), options);
            ASSERT_TRUE(writer.ok());
            auto field = (*writer)->define_field("f", float32, shape);
            for (unsigned n = 0; n < 4; ++n) {
                const auto values = testing::make_field<float>(half, 2 * n + rank, 2);
                auto iteration = (*writer)->begin_iteration(n);
                auto dump = iteration.begin_dump(0.0);
                (void)dump.put(*field, {{rank * 32, 0, 0}, half}, values.data());
                const Status status = iteration.end();
                const std::lock_guard lock(mutex);
                if (!status.ok()) errors.push_back(status.message());
            }
            const Status closed = (*writer)->close();
            const std::lock_guard lock(mutex);
            if (!closed.ok()) errors.push_back(closed.message());
            overflow_blocks += (*writer)->report().overflow_blocks;
            blocks += (*writer)->report().blocks;
        });
        ASSERT_TRUE(errors.empty()) << errors[0];
        for (unsigned n = 0; n < 4; ++n) {
            auto expected = testing::make_field<float>(half, 2 * n, 2);
            const auto other = testing::make_field<float>(half, 2 * n + 1, 2);
            expected.insert(expected.end(), other.begin(), other.end());
            const auto read =
                testing::read_dataset(path, "/data/" + std::to_string(n) + "/meshes/f");
            EXPECT_EQ(testing::broken(expected, read.values, 0.0), "") << "factor " << factor;
        }
        if (factor == 0.0) {
            EXPECT_EQ(overflow_blocks, blocks);
        } else if (factor < 1.0) {
            EXPECT_GT(overflow_blocks, 0u);
        } else {
            EXPECT_EQ(overflow_blocks, 0u);
        }
    }
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace caesura
