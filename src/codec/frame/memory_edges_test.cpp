// Goal: nothing is read or written beside the caller's memory, however short the arrays and
// whatever the vectors' length: input, frame and output lie between pages that nobody may touch.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/integers/integer_families.hpp"
#include "codec/test_arrays.hpp"
#include "codec/test_targets.hpp"

namespace caesura::codec {
namespace {

enum class Edge { end, begin };

/// Bytes that end where an inaccessible page begins, or begin where one ends.
class Fenced {
  public:
    Fenced(std::size_t n, Edge edge) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t inside = (n + page - 1) / page * page;
        all_ = inside + 2 * page;
        void* memory = mmap(nullptr, all_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        begin_ = static_cast<std::byte*>(memory);
        std::byte* const first = begin_ + page;
        if (inside != 0 && mprotect(first, inside, PROT_READ | PROT_WRITE) != 0)
            throw std::bad_alloc();
        bytes_ = {edge == Edge::end ? first + (inside - n) : first, n};
    }
    Fenced(std::span<const std::byte> content, Edge edge) : Fenced(content.size(), edge) {
        if (!content.empty()) std::memcpy(bytes_.data(), content.data(), content.size());
    }
    ~Fenced() { munmap(begin_, all_); }
    Fenced(const Fenced&) = delete;
    Fenced& operator=(const Fenced&) = delete;
    std::span<std::byte> bytes() const { return bytes_; }

  private:
    std::byte* begin_ = nullptr;
    std::size_t all_ = 0;
    std::span<std::byte> bytes_;
};

/// What is asked of the codec, and of values.
struct Case {
    const char* name;
    ErrorBound bound;
    Mode mode;
    bool specials = false;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"fast", absolute(1e-3), Mode::fast},
        {"fast, specials", absolute(1e-3), Mode::fast, true},
        {"strong", absolute(1e-3), Mode::strong},
        {"strong, specials", absolute(1e-3), Mode::strong, true},
        {"strong, coarse", absolute(0.3), Mode::strong},
        {"strong, relative", relative(1e-3), Mode::strong},
        {"planes", absolute(1e-3), Mode::planes},
        {"planes, specials", absolute(1e-5), Mode::planes, true},
        {"point-wise", pointwise_relative(1e-2), Mode::automatic, true},
        {"psnr", psnr(60), Mode::automatic},
        {"lossless", lossless(), Mode::automatic},
    };
    return all;
}

/// Rows around the vectors' lengths, alone and in planes.
std::vector<Shape> shapes() {
    std::vector<Shape> all;
    for (const std::uint64_t n : {1,  2,  3,  4,  5,  7,  8,  9,    15,   16,   17,   31,  32,
                                  33, 34, 47, 63, 64, 65, 66, 1023, 1024, 1025, 2048, 2050}) {
        all.push_back(Shape{n});
    }
    for (const std::uint64_t n : {2, 3, 8, 9, 15, 16, 17, 31, 32, 33, 34, 65}) {
        all.push_back(Shape{5, n});
        all.push_back(Shape{4, 3, n});
        all.push_back(Shape{2, 3, 2, n});
    }
    all.push_back(Shape{20, 21, 35});
    all.push_back(Shape{9, 10, 8, 11});
    all.push_back(Shape{33, 1});
    all.push_back(Shape{17, 6, 1});
    all.push_back(Shape{3, 2051});
    return all;
}

template <class T>
void go_and_return(const Case& wanted, const Shape& shape, Edge edge) {
    auto values = smooth_array<T>(shape, 7);
    if (wanted.specials) sprinkle_specials(values, 11);
    const Fenced input(std::as_bytes(std::span(values)), edge);
    CompressOptions options;
    options.mode = wanted.mode;
    const auto made = compress(input.bytes(), dtype_of<T>(), shape, wanted.bound, options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    if (!wanted.specials) {
        ASSERT_TRUE(estimate(input.bytes(), dtype_of<T>(), shape, wanted.bound, options).ok());
    }
    const Fenced frame(*made, edge);
    const Fenced output(input.bytes().size(), edge);
    const Status status = decompress(frame.bytes(), output.bytes());
    ASSERT_TRUE(status.ok()) << status.message();
    // The same, read and written where there is room on both sides.
    std::vector<T> decoded(values.size());
    ASSERT_TRUE(decompress(*made, std::as_writable_bytes(std::span(decoded))).ok());
    EXPECT_EQ(std::memcmp(decoded.data(), output.bytes().data(), output.bytes().size()), 0);
}

template <class T>
void go_and_return_everywhere() {
    const std::vector<Shape> all = shapes();
    for_each_target([&](const char* target) {
        for (const Case& wanted : cases()) {
            for (std::size_t i = 0; i < all.size(); ++i) {
                // Loops run upwards: past the end is where they might go, on every shape.
                for (const Edge edge : {Edge::end, Edge::begin}) {
                    if (edge == Edge::begin && i % 4 != 0) continue;
                    SCOPED_TRACE(std::string(target) + ", " + wanted.name + ", " +
                                 to_string(all[i]) + (edge == Edge::end ? ", end" : ", begin"));
                    go_and_return<T>(wanted, all[i], edge);
                }
            }
        }
    });
}

TEST(MemoryEdges, fences_hold) {
    const Fenced before(100, Edge::end), behind(100, Edge::begin);
    const auto touch = [](std::byte* at) { *static_cast<volatile std::byte*>(at) = std::byte{1}; };
    touch(before.bytes().data() + 99);
    touch(behind.bytes().data());
    EXPECT_DEATH(touch(before.bytes().data() + 100), "");
    EXPECT_DEATH(touch(behind.bytes().data() - 1), "");
}

TEST(MemoryEdges, float32_arrays_and_frames_beside_forbidden_pages) {
    go_and_return_everywhere<float>();
}

TEST(MemoryEdges, float64_arrays_and_frames_beside_forbidden_pages) {
    go_and_return_everywhere<double>();
}

// Blocks so large that rows of them are sampled; the sparse ones with sources that are predicted.
template <class T>
void sample_everywhere() {
    for (const Shape& shape : {Shape{20011}, Shape{33, 701}, Shape{129, 130}, Shape{31, 33, 65},
                               Shape{64, 2, 300}, Shape{9, 10, 12, 21}, Shape{3, 1, 40, 259}}) {
        const auto values = smooth_array<T>(shape, 7);
        for (const Edge edge : {Edge::end, Edge::begin}) {
            const Fenced input(std::as_bytes(std::span(values)), edge);
            for (const double bound : {0.1, 1e-4}) {
                for (const Mode mode : {Mode::fast, Mode::strong}) {
                    SCOPED_TRACE(testing::Message() << to_string(shape) << ", " << bound);
                    CompressOptions options;
                    options.mode = mode;
                    ASSERT_TRUE(
                        estimate(input.bytes(), dtype_of<T>(), shape, absolute(bound), options)
                            .ok());
                }
            }
        }
    }
}

TEST(MemoryEdges, samples_of_arrays_beside_forbidden_pages) {
    for_each_target([](const char* target) {
        SCOPED_TRACE(target);
        sample_everywhere<float>();
        sample_everywhere<double>();
    });
}

/// Frames without checksum, a few bytes of which are anything: whatever decoding them says.
template <class T>
void break_frames(const Case& wanted, const Shape& shape) {
    constexpr int k_times = 150;
    auto values = smooth_array<T>(shape, 7);
    if (wanted.specials) sprinkle_specials(values, 11);
    CompressOptions options;
    options.mode = wanted.mode;
    options.checksum = false;
    const auto made =
        compress(std::as_bytes(std::span(values)), dtype_of<T>(), shape, wanted.bound, options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const Fenced frame(*made, Edge::end);
    const Fenced output(values.size() * sizeof(T), Edge::end);
    ASSERT_TRUE(decompress(frame.bytes(), output.bytes()).ok());
    std::mt19937 random(5);
    for (int i = 0; i < k_times; ++i) {
        std::memcpy(frame.bytes().data(), made->data(), made->size());
        for (unsigned n = 1 + random() % 3; n > 0; --n) {
            // The header is the same for all; what follows it is what kernels meet.
            const std::size_t at = 40 + random() % (made->size() - 40);
            frame.bytes()[at] = static_cast<std::byte>(random());
        }
        const Status status = decompress(frame.bytes(), output.bytes());
        EXPECT_NE(status.code(), StatusCode::internal) << status.message();
    }
}

TEST(MemoryEdges, broken_frames_beside_forbidden_pages) {
    for_each_target([](const char* target) {
        for (const Case& wanted : cases()) {
            SCOPED_TRACE(testing::Message() << target << ", " << wanted.name);
            for (const Shape& shape : {Shape{1500}, Shape{9, 7, 41}}) {
                break_frames<float>(wanted, shape);
                break_frames<double>(wanted, shape);
            }
        }
    });
}

TEST(MemoryEdges, integers_beside_forbidden_pages) {
    const std::vector<Shape> all = shapes();
    for_each_target([&](const char* target) {
        for (const char* name : {"gaps", "permuted", "enumeration", "shuffled_900", "blobs"}) {
            for (const DType dtype : {DType::uint8, DType::int16, DType::int32, DType::uint64}) {
                for (std::size_t i = 0; i < all.size(); ++i) {
                    const Edge edge = i % 4 == 0 ? Edge::begin : Edge::end;
                    SCOPED_TRACE(testing::Message() << target << ", " << name << ", "
                                                    << to_string(dtype) << ", " << all[i].count());
                    const auto n = static_cast<std::size_t>(all[i].count());
                    const Fenced input(as_bytes_of(family(name, n, i), dtype), edge);
                    const auto made = compress(input.bytes(), dtype, all[i], lossless());
                    ASSERT_TRUE(made.ok()) << made.status().message();
                    const Fenced frame(*made, edge);
                    const Fenced output(input.bytes().size(), edge);
                    ASSERT_TRUE(decompress(frame.bytes(), output.bytes()).ok());
                    EXPECT_EQ(std::memcmp(output.bytes().data(), input.bytes().data(),
                                          input.bytes().size()),
                              0);
                }
            }
        }
    });
}

TEST(MemoryEdges, broken_frames_of_integers_beside_forbidden_pages) {
    for_each_target([](const char* target) {
        for (const char* name : {"gaps", "permuted", "enumeration", "shuffled_900", "morton"}) {
            for (const DType dtype : {DType::uint8, DType::int16, DType::int32, DType::uint64}) {
                SCOPED_TRACE(testing::Message() << target << ", " << name << to_string(dtype));
                const auto values = as_bytes_of(family(name, 1500, 1), dtype);
                CompressOptions options;
                options.checksum = false;
                const auto made = compress(values, dtype, {10, 150}, lossless(), options);
                ASSERT_TRUE(made.ok()) << made.status().message();
                const Fenced frame(*made, Edge::end);
                const Fenced output(values.size(), Edge::end);
                std::mt19937 random(5);
                for (int i = 0; i < 150; ++i) {
                    std::memcpy(frame.bytes().data(), made->data(), made->size());
                    for (unsigned n = 1 + random() % 3; n > 0; --n)
                        frame.bytes()[40 + random() % (made->size() - 40)] =
                            static_cast<std::byte>(random());
                    const Status status = decompress(frame.bytes(), output.bytes());
                    EXPECT_NE(status.code(), StatusCode::internal) << status.message();
                }
            }
        }
    });
}

TEST(MemoryEdges, bytes_of_any_length_and_value_beside_forbidden_pages) {
    for_each_target([](const char* target) {
        for (const std::size_t value_bytes : {1, 2, 3, 4, 8, 16}) {
            for (const std::size_t n :
                 {0, 1, 7, 8, 15, 16, 17, 63, 64, 65, 257, 4095, 4096, 4097}) {
                for (const Edge edge : {Edge::end, Edge::begin}) {
                    SCOPED_TRACE(testing::Message()
                                 << target << ", " << n << " of " << value_bytes);
                    std::vector<std::byte> content(n);
                    for (std::size_t i = 0; i < n; ++i)
                        content[i] = static_cast<std::byte>(i * i / 64 % 251);
                    const Fenced input(content, edge);
                    const auto made = compress_bytes(input.bytes(), value_bytes);
                    ASSERT_TRUE(made.ok()) << made.status().message();
                    const Fenced frame(*made, edge);
                    const Fenced output(n, edge);
                    ASSERT_TRUE(decompress(frame.bytes(), output.bytes()).ok());
                    if (n != 0) {
                        EXPECT_EQ(std::memcmp(output.bytes().data(), content.data(), n), 0);
                    }
                }
            }
        }
    });
}

}  // namespace
}  // namespace caesura::codec
