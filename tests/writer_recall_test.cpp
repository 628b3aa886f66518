// Sizes of a field that stays what it is are not sampled in every dump; a field that does not, is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "caesura/writer.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

constexpr unsigned k_writer_recall_seed = 20261122;
constexpr double k_bound = 1e-3;
const Shape k_shape{64, 32, 32};  // one block

std::vector<float> waves(double strength, double noise) {
    std::mt19937 random(k_writer_recall_seed);
    std::normal_distribution<double> normal;
    std::vector<float> values(k_shape.count());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(strength * std::sin(static_cast<double>(i % 1024) * 0.01) +
                                       noise * normal(random));
    return values;
}

class WriterRecall : public ::testing::Test {
  protected:
    ~WriterRecall() override { std::filesystem::remove(path_); }

    void open(const ErrorBound& bound) {
        WriterOptions options;
        options.durable = false;
        auto made = Writer::create(path_, nullptr, options);
        ASSERT_TRUE(made.ok()) << made.status().message();
        writer_ = std::move(*made);
        auto field = writer_->define_field("f", float32, k_shape, bound);
        ASSERT_TRUE(field.ok());
        field_ = *field;
    }

    /// Hand a dump over and wait for it. Returns how many of its blocks were recalled.
    std::uint64_t dump(const std::vector<float>& values) {
        const std::uint64_t before = writer_->report().recalled_blocks;
        const std::uint64_t number = next_++;
        auto iteration = writer_->begin_iteration(number);
        auto handed_over = iteration.begin_dump(0.0);
        EXPECT_TRUE(handed_over.put(field_, {{0, 0, 0}, k_shape}, values.data()).ok());
        EXPECT_TRUE(iteration.end().ok());
        while (writer_->committed() != number) {
            auto empty = writer_->begin_iteration(next_++);
            EXPECT_TRUE(empty.end().ok());
        }
        dumped_.emplace_back(number, values);
        return writer_->report().recalled_blocks - before;
    }

    void expect_within_bound() {
        for (const auto& [number, values] : dumped_) {
            const auto read =
                testing::read_dataset(path_, "/data/" + std::to_string(number) + "/meshes/f");
            ASSERT_EQ(read.values.size(), values.size());
            for (std::size_t i = 0; i < values.size(); ++i)
                ASSERT_LE(std::fabs(read.values[i] - static_cast<double>(values[i])), k_bound);
        }
    }

    std::string path_ =
        ::testing::TempDir() + "caesura_recall_" + std::to_string(::getpid()) + ".h5";
    std::unique_ptr<Writer> writer_;
    Field field_;
    std::uint64_t next_ = 0;
    std::vector<std::pair<std::uint64_t, std::vector<float>>> dumped_;
};

// Goal: two dumps are looked at, then none while the field grows a little from dump to dump; when
// it turns rough it is looked at again. Nothing overflows, every value is within its bound.
TEST_F(WriterRecall, looks_at_a_field_again_when_it_is_no_longer_what_it_was) {
    open(absolute(k_bound));
    std::vector<std::uint64_t> recalled;
    for (int n = 0; n < 6; ++n) recalled.push_back(dump(waves(1.0 + 0.005 * n, 1e-3)));
    recalled.push_back(dump(waves(1.0, 0.05)));
    EXPECT_EQ(recalled, (std::vector<std::uint64_t>{0, 0, 1, 1, 1, 1, 0}));
    ASSERT_TRUE(writer_->close().ok());
    const WriterReport report = writer_->report();
    EXPECT_EQ(report.blocks, 7u);
    EXPECT_EQ(report.overflow_blocks, 0u);
    expect_within_bound();
}

// Goal: what a bound relative to the range comes to changes with the field, and so does what a
// glance sees: it works with these bounds too. Without a bound there is no glance.
TEST_F(WriterRecall, works_with_bounds_that_are_relative_to_the_range) {
    open(relative(k_bound / 4.0));
    for (const std::uint64_t expected : {0u, 0u, 1u, 1u})
        EXPECT_EQ(dump(waves(1.0, 1e-3)), expected);
    ASSERT_TRUE(writer_->close().ok());
    expect_within_bound();
}

TEST_F(WriterRecall, never_happens_without_a_bound) {
    open(lossless());
    for (int n = 0; n < 5; ++n) EXPECT_EQ(dump(waves(1.0, 1e-3)), 0u);
    ASSERT_TRUE(writer_->close().ok());
    expect_within_bound();
}

}  // namespace
}  // namespace caesura
