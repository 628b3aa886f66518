// Goal: values that lie inside of a larger array, as between ghost cells, are put as if they had
// been copied out of it before.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "caesura/device.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

class WriterWithin : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_within_" + std::to_string(::getpid()) + ".h5";
    std::unique_ptr<Writer> make_writer() {
        WriterOptions options;
        options.durable = false;
        options.compress_threads = 2;
        return Writer::create(path_, nullptr, options).value();
    }
    std::vector<double> dump(std::uint64_t n) const {
        return testing::read_dataset(path_, "/data/" + std::to_string(n) + "/meshes/f").values;
    }
    void TearDown() override { std::filesystem::remove(path_); }
};

/// An array of `extent` with other values around the part that begins at `begin`.
struct Wrapped {
    Wrapped(const std::vector<double>& inner, const Shape& shape, std::mt19937& random)
        : extent(shape), begin(shape) {
        for (int axis = 0; axis < shape.rank(); ++axis) {
            begin[axis] = random() % 4;
            extent[axis] += begin[axis] + random() % 4;
        }
        values.assign(extent.count(), 1e9);
        const auto bytes = [](auto& v) { return reinterpret_cast<std::byte*>(v.data()); };
        auto copy = inner;
        copy_box({begin, shape}, {begin, shape}, bytes(copy),
                 {Shape::filled(shape.rank(), 0), extent}, bytes(values), sizeof(double));
    }
    Shape extent, begin;
    std::vector<double> values;
};

TEST_F(WriterWithin, puts_what_a_copy_of_the_part_would_be) {
    const unsigned seed = 20261127;
    RecordProperty("seed", static_cast<int>(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 24; ++round) {
        const int axes = 1 + static_cast<int>(random() % 4);
        const std::uint64_t longest[] = {900'000, 900, 90, 30};  // some are shared with helpers
        Shape shape = Shape::filled(axes, 1);
        for (int axis = 0; axis < axes; ++axis) shape[axis] = 1 + random() % longest[axes - 1];
        const auto inner = testing::make_field<double>(shape, static_cast<unsigned>(round), 0);
        Wrapped wrapped(inner, shape, random);
        auto writer = make_writer();
        const Field field = writer->define_field("f", float64, shape, lossless()).value();
        auto iteration = writer->begin_iteration(0);
        auto dump_0 = iteration.begin_dump(0.0);
        const Status put = dump_0.put_within(field, {Shape::filled(axes, 0), shape},
                                             wrapped.values.data(), wrapped.extent, wrapped.begin);
        ASSERT_TRUE(put.ok()) << put.message();
        wrapped.values.assign(wrapped.values.size(), 7.0);  // copied: ours again
        ASSERT_TRUE(iteration.end().ok());
        ASSERT_TRUE(writer->close().ok());
        ASSERT_EQ(testing::broken(inner, dump(0), 0.0), "")
            << "round " << round << ": " << to_string(wrapped.begin) << " of "
            << to_string(wrapped.extent);
    }
}

TEST_F(WriterWithin, borrows_a_part_that_is_dense_and_copies_any_other) {
    const Shape extent{6, 8};
    std::vector<double> array(48);
    for (std::size_t i = 0; i < array.size(); ++i) array[i] = 0.5 * static_cast<double>(i);
    auto writer = make_writer();
    const Field field = writer->define_field("f", float64, {4, 8}, lossless()).value();
    const Field other = writer->define_field("g", float64, {4, 6}, lossless()).value();
    for (const bool dense : {true, false}) {
        const std::uint64_t n = dense ? 0 : 1;
        auto iteration = writer->begin_iteration(n);
        auto into = iteration.begin_dump(0.0);
        const std::uint64_t before = writer->report().peak_memory_bytes;
        const Status put = dense ? into.put_within(field, {{0, 0}, {4, 8}}, array.data(), extent,
                                                   {1, 0}, Ownership::borrow)
                                 : into.put_within(other, {{0, 0}, {4, 6}}, array.data(), extent,
                                                   {1, 1}, Ownership::borrow);
        ASSERT_TRUE(put.ok()) << put.message();
        if (dense)
            EXPECT_EQ(writer->report().peak_memory_bytes, before);
        else
            EXPECT_GE(writer->report().peak_memory_bytes, 4 * 6 * sizeof(double));
        ASSERT_TRUE(iteration.end().ok());
    }
    ASSERT_TRUE(writer->close().ok());
    const auto read = dump(0);
    ASSERT_EQ(read.size(), 32U);
    for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], array[8 + i]);
}

TEST_F(WriterWithin, comes_out_of_the_memory_of_a_device) {
    device::EmulatedMachine machine;
    machine.memory_bytes = 1 << 20;
    machine.link_bytes_per_s = machine.copy_bytes_per_s = 1e9;
    machine.compress_s = [](double) { return 0.0; };
    auto gpu = device::EmulatedDevice::create(std::move(machine));
    ASSERT_TRUE(gpu.ok());
    const Shape shape{5, 6, 7};
    std::mt19937 random(3);
    const auto inner = testing::make_field<double>(shape, 5, 0);
    const Wrapped wrapped(inner, shape, random);
    std::byte* const memory = *gpu->allocate(wrapped.values.size() * sizeof(double));
    std::memcpy(memory, wrapped.values.data(), wrapped.values.size() * sizeof(double));
    auto writer = make_writer();
    const Field field = writer->define_field("f", float64, shape, lossless()).value();
    auto iteration = writer->begin_iteration(0);
    auto into = iteration.begin_dump(0.0);
    const Status put =
        into.put_within(field, {{0, 0, 0}, shape}, reinterpret_cast<const double*>(memory),
                        wrapped.extent, wrapped.begin, Ownership::borrow);
    ASSERT_TRUE(put.ok()) << put.message();
    std::memset(memory, 0, wrapped.values.size() * sizeof(double));
    ASSERT_TRUE(iteration.end().ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(testing::broken(inner, dump(0), 0.0), "");
}

TEST_F(WriterWithin, refuses_a_part_that_leaves_its_array) {
    auto writer = make_writer();
    const Field field = writer->define_field("f", float64, {4, 4}, lossless()).value();
    const std::vector<double> array(36);
    const Shape wrong[][2] = {{{6, 6}, {3, 0}},
                              {{6, 6}, {0, 3}},
                              {{6, 3}, {0, 0}},
                              {{36}, {0}},
                              {{6, 6}, {0, ~std::uint64_t{0}}}};
    std::uint64_t n = 0;
    for (const auto& [extent, begin] : wrong) {
        auto iteration = writer->begin_iteration(n++);
        auto into = iteration.begin_dump(0.0);
        const Status put = into.put_within(field, {{0, 0}, {4, 4}}, array.data(), extent, begin);
        EXPECT_EQ(put.code(), StatusCode::invalid_argument);
        EXPECT_NE(put.message().find("field 'f' on rank 0: the box"), std::string::npos)
            << put.message();
        EXPECT_NE(put.message().find("leaves the array " + to_string(extent)), std::string::npos)
            << put.message();
        EXPECT_FALSE(iteration.end().ok());  // as of any put that fails
    }
    auto iteration = writer->begin_iteration(n);
    auto into = iteration.begin_dump(0.0);
    EXPECT_TRUE(into.put_within(field, {{0, 0}, {4, 4}}, array.data(), {6, 6}, {2, 2}).ok());
    EXPECT_TRUE(iteration.end().ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(testing::iterations(path_),
              (std::vector<std::int64_t>{static_cast<std::int64_t>(n)}));
}

}  // namespace
}  // namespace caesura
