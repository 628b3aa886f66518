// Test support: boxes of a Source held against the whole dataset, as stock HDF5 reads it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/forwarding_file.hpp"
#include "read/source.hpp"

namespace caesura::testing {

/// A file of the test's own, gone at its end.
class ReadTest : public ::testing::Test {
  protected:
    std::string path_ = ::testing::TempDir() + "caesura_read_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }
};

inline Box whole_box(const Shape& shape) { return {Shape::filled(shape.rank(), 0), shape}; }

inline Box random_box(const Shape& shape, std::mt19937& random) {
    Box box = whole_box(shape);
    if (random() % 4 == 0) return box;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (random() % 3 == 0) continue;  // whole along this axis: some are dense
        box.offset[axis] = random() % shape[axis];
        box.extent[axis] = 1 + random() % (shape[axis] - box.offset[axis]);
    }
    return box;
}

/// Values of one float type as double; exact.
inline std::vector<double> as_doubles(std::span<const std::byte> bytes, DType dtype) {
    std::vector<double> out(bytes.size() / size_of(dtype));
    for (std::size_t i = 0; i < out.size(); ++i) {
        float narrow = 0;
        if (dtype == float64)
            std::memcpy(&out[i], bytes.data() + 8 * i, 8);
        else
            std::memcpy(&narrow, bytes.data() + 4 * i, 4);
        if (dtype == float32) out[i] = static_cast<double>(narrow);
    }
    return out;
}

inline bool same_value(double a, double b) {
    return std::isnan(a) ? std::isnan(b)
                         : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// A box through the Source; fails the test if it cannot be read.
inline std::vector<double> read_box(const read::Source& source, std::size_t dataset, const Box& box,
                                    const read::ReadOptions& options = {}) {
    const store::DatasetInfo& info = source.datasets()[dataset];
    const std::size_t members = options.member ? 1 : std::max<std::size_t>(1, info.members.size());
    std::vector<std::byte> bytes(box.extent.count() * members * size_of(info.spec.dtype),
                                 std::byte{0xee});
    const Status status = source.read(dataset, box, bytes, options);
    EXPECT_TRUE(status.ok()) << status.message();
    return as_doubles(bytes, info.spec.dtype);
}

/// The first difference between a box and the same part of the whole, as text; empty if none.
inline std::string difference(const std::vector<double>& values, const std::vector<double>& whole,
                              const Shape& shape, const Box& box) {
    std::vector<double> expected(box.extent.count());
    copy_box(box, whole_box(shape), reinterpret_cast<const std::byte*>(whole.data()), box,
             reinterpret_cast<std::byte*>(expected.data()), sizeof(double));
    if (values.size() != expected.size()) return "another number of values";
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!same_value(values[i], expected[i]))
            return to_string(box) + " value " + std::to_string(i) + ": " +
                   std::to_string(values[i]) + " instead of " + std::to_string(expected[i]);
    return {};
}

/// Random boxes of a dataset, with random options, against the whole of it.
inline void compare_boxes(const read::Source& source, std::size_t dataset,
                          const std::vector<double>& whole, std::mt19937& random, int boxes = 6) {
    const Shape& shape = source.datasets()[dataset].spec.shape;
    ASSERT_EQ(whole.size(), shape.count());
    for (int n = 0; n < boxes; ++n) {
        const Box box = random_box(shape, random);
        read::ReadOptions options;
        options.threads = static_cast<int>(random() % 4);
        options.verify = random() % 2 == 0;
        ASSERT_EQ(difference(read_box(source, dataset, box, options), whole, shape, box), "");
    }
}

/// Counts what is read, and calls somebody before each reading.
class WatchedFileSystem final : public base::FileSystem {
  public:
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override {
        auto inner = posix().open(path, mode);
        if (!inner.ok()) return inner.status();
        return std::unique_ptr<base::File>(std::make_unique<Watched>(*this, *std::move(inner)));
    }
    Status sync_directory_of(const std::string& path) override {
        return posix().sync_directory_of(path);
    }
    std::atomic<std::uint64_t> read_bytes{0};
    std::function<void()> before_read;

  private:
    class Watched final : public base::ForwardingFile {
      public:
        Watched(WatchedFileSystem& system, std::unique_ptr<base::File> inner)
            : ForwardingFile(std::move(inner)), system_(system) {}
        Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
            if (system_.before_read) system_.before_read();
            system_.read_bytes += bytes.size();
            return ForwardingFile::read_at(offset, bytes);
        }

      private:
        WatchedFileSystem& system_;
    };
};

}  // namespace caesura::testing
