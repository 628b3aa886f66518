// What a Writer has written is read back box by box as stock HDF5 reads all of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "hdf5/filter/filter.hpp"
#include "read_fixture.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

using testing::compare_boxes, testing::read_box, testing::whole_box;

struct ReadCodec {
    std::string name;
    unsigned filter;  ///< that must be there
};

const std::vector<ReadCodec> k_read_codecs = {{"none", 0},
                                              {"zstd", 32015},
                                              {"sz3", 32024},
                                              {"zfp", 32013},
                                              {"blosc2", 32026},
                                              {"round+zstd", 32015},
                                              {"caesura", 322},
                                              {"caesura:fast", 322},
                                              {"caesura:strong", 322},
                                              {"caesura:planes", 322}};

class ReadWriter : public testing::ReadTest {
  protected:
    /// Two dumps of one field of any shape and type.
    Status write_any(std::mt19937& random, const std::string& codec) {
        const int axes = 1 + static_cast<int>(random() % 4);
        const std::uint64_t longest[] = {200000, 500, 70, 24};
        Shape shape = Shape::filled(axes, 1);
        for (int axis = 0; axis < axes; ++axis) shape[axis] = 1 + random() % longest[axes - 1];
        const auto kind = static_cast<int>(random() % 4);
        const ErrorBound bound = random() % 3 ? absolute(kind == 2 ? 10.0 : 0.01) : lossless();
        WriterOptions options;
        options.codec.name = codec;
        options.chunk_bytes = 1u << (16 + random() % 3);
        options.durable = false;
        const auto seed = static_cast<unsigned>(random());
        if (random() % 2)
            return write(testing::make_field<float>(shape, seed, kind), shape, bound, options);
        return write(testing::make_field<double>(shape, seed, kind), shape, bound, options);
    }
    template <class T>
    Status write(const std::vector<T>& values, const Shape& shape, const ErrorBound& bound,
                 const WriterOptions& options, std::uint64_t dumps = 2) {
        auto writer = Writer::create(path_, nullptr, options);
        if (!writer.ok()) return writer.status();
        const DType dtype = sizeof(T) == 4 ? float32 : float64;
        // Uneven boxes make several chunks of a small field.
        std::mt19937 random(static_cast<unsigned>(values.size()));
        std::vector<testing::OwnedBox> boxes;
        testing::cut(whole_box(shape), 1, 2, random, boxes);
        auto field = (*writer)->define_field("rho", dtype, shape, bound);
        if (!field.ok()) return field.status();
        for (std::uint64_t n = 0; n < dumps; ++n) {
            auto iteration = (*writer)->begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            for (const testing::OwnedBox& owned : boxes) {
                const auto part = testing::take(values, shape, owned.box);
                if (Status s = dump.put(*field, owned.box, part.data()); !s.ok()) return s;
            }
            if (Status s = iteration.end(); !s.ok()) return s;
        }
        return (*writer)->close();
    }
};

// Goal: any box of any field, by any codec, with any number of threads, is bit for bit what H5Dread
// has there.
TEST_F(ReadWriter, random_boxes_are_what_stock_hdf5_reads) {
    std::vector<std::string> skipped;
    for (const ReadCodec& codec : k_read_codecs) {
        if (codec.filter && !testing::filter_available(codec.filter)) {
            ASSERT_NE(codec.filter, hdf5::k_filter_id) << "our own plugin is not found";
            skipped.push_back(codec.name);
            continue;
        }
        for (unsigned seed = 1; seed <= (codec.name == "sz3" ? 4u : 12u); ++seed) {
            SCOPED_TRACE(fmt::format("codec {} seed {}", codec.name, seed));
            std::mt19937 random(seed);
            const Status written = write_any(random, codec.name);
            ASSERT_TRUE(written.ok()) << written.message();
            auto source = read::Source::open(path_);
            ASSERT_TRUE(source.ok()) << source.status().message();
            ASSERT_EQ((*source)->datasets().size(), 2u);
            const auto dataset = (*source)->find("/data/1/meshes/rho");
            ASSERT_TRUE(dataset.ok()) << dataset.status().message();
            const auto stock = testing::read_dataset(path_, "/data/1/meshes/rho");
            compare_boxes(**source, *dataset, stock.values, random);
            if (HasFailure()) return;
        }
    }
    if (!skipped.empty())
        GTEST_SKIP() << fmt::format("no plugin for {}; set HDF5_PLUGIN_PATH",
                                    fmt::join(skipped, ", "));
}

// Goal: what is asked for and cannot be is refused by its values, and what is asked for and empty
// reads nothing.
TEST_F(ReadWriter, what_cannot_be_read_is_refused_by_its_values) {
    const Shape shape{20, 30};
    ASSERT_TRUE(write(testing::make_field<float>(shape, 1, 0), shape, lossless(), {}).ok());
    auto source = read::Source::open(path_);
    ASSERT_TRUE(source.ok());
    std::vector<std::byte> bytes(shape.count() * 4);
    const auto refused = [&](std::size_t dataset, const Box& box, std::size_t n,
                             const read::ReadOptions& options, std::string_view what) {
        const Status status = (*source)->read(dataset, box, std::span(bytes).first(n), options);
        EXPECT_EQ(status.code(), StatusCode::invalid_argument);
        EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
    };
    refused(0, {{15, 0}, {6, 30}}, 720, {}, "offset [15, 0] extent [6, 30] is not inside [20, 30]");
    refused(0, {{0, std::numeric_limits<std::uint64_t>::max()}, {1, 2}}, 8, {}, "is not inside");
    refused(0, {{0}, {1}}, 4, {}, "is not inside");
    refused(2, whole_box(shape), bytes.size(), {}, "no dataset 2 of 2");
    refused(0, whole_box(shape), bytes.size() - 4, {}, "do not fill 2396 bytes");
    refused(0, whole_box(shape), bytes.size(), {.member = 0}, "no member 0 of 0");
    EXPECT_EQ((*source)->find("/data/7/meshes/rho").status().code(), StatusCode::invalid_argument);
    EXPECT_TRUE((*source)->read(0, {{20, 3}, {0, 5}}, {}).ok());
    EXPECT_TRUE((*source)->value_range(0, {{20, 3}, {0, 5}})->empty());
    EXPECT_EQ(read::Source::open(path_ + ".none").status().code(), StatusCode::io);
}

// Goal: only chunks that a box touches are read from the file.
TEST_F(ReadWriter, only_chunks_that_the_box_touches_are_read) {
    const Shape shape{512, 600};
    WriterOptions options;
    options.codec.name = "none";
    options.chunk_bytes = 64u << 10;
    ASSERT_TRUE(write(testing::make_field<float>(shape, 1, 2), shape, lossless(), options, 1).ok());
    testing::WatchedFileSystem files;
    auto source = read::Source::open(files, path_);
    ASSERT_TRUE(source.ok());
    const store::DatasetInfo& dataset = (*source)->datasets()[0];
    ASSERT_GT(dataset.chunks.size(), 3u);
    files.read_bytes = 0;
    Box one{{0, 0}, dataset.spec.chunk};
    (void)read_box(**source, 0, one);
    EXPECT_EQ(files.read_bytes, dataset.chunks[0].bytes);
    files.read_bytes = 0;
    one.extent = Shape{1, 1};
    (void)read_box(**source, 0, one);
    EXPECT_EQ(files.read_bytes, dataset.chunks[0].bytes) << "all of it, to check it";
    files.read_bytes = 0;
    (void)read_box(**source, 0, one, {.verify = false});
    EXPECT_EQ(files.read_bytes, sizeof(float)) << "nothing is checked, so nothing else is needed";
}

// Goal: a range is that of the finite values of the box, is remembered, and is taken from what is
// remembered without reading anything.
TEST_F(ReadWriter, ranges_are_those_of_the_finite_values_and_are_remembered) {
    for (unsigned seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::mt19937 random(seed);
        ASSERT_TRUE(write_any(random, seed % 2 ? "caesura" : "none").ok());
        testing::WatchedFileSystem files;
        auto source = read::Source::open(files, path_);
        ASSERT_TRUE(source.ok());
        const Shape shape = (*source)->datasets()[0].spec.shape;
        const read::ReadOptions options{.threads = static_cast<int>(random() % 3)};
        for (int n = 0; n < 6; ++n) {
            const Box box = n < 5 ? testing::random_box(shape, random) : whole_box(shape);
            read::ValueRange expected;
            for (const double x : read_box(**source, 0, box)) {
                if (!std::isfinite(x)) continue;
                expected.lowest = std::min(expected.lowest, x);
                expected.highest = std::max(expected.highest, x);
            }
            const auto range = (*source)->value_range(0, box, options);
            ASSERT_TRUE(range.ok()) << range.status().message();
            EXPECT_EQ(*range, expected) << to_string(box);
        }
        files.read_bytes = 0;
        EXPECT_TRUE((*source)->value_range(0, whole_box(shape)).ok());
        EXPECT_EQ(files.read_bytes, 0u);
        const auto blocks = (*source)->blocks(0, whole_box(shape));
        ASSERT_TRUE(blocks.ok());
        for (const read::Block& block : *blocks) {
            ASSERT_TRUE(block.range.has_value());
            EXPECT_EQ(*block.range, *(*source)->value_range(0, block.box));
        }
    }
}

// Goal: a chunk says its bound, mode and shape without being decoded.
TEST_F(ReadWriter, blocks_say_bound_mode_and_shape) {
    const Shape shape{300, 170};
    WriterOptions options;
    options.codec.name = "caesura:fast";
    options.chunk_bytes = 64u << 10;
    const auto values = testing::make_field<float>(shape, 3, 0);
    ASSERT_TRUE(write(values, shape, absolute(0.25), options).ok());
    auto source = read::Source::open(path_);
    ASSERT_TRUE(source.ok());
    const auto blocks = (*source)->blocks(1, whole_box(shape));
    ASSERT_TRUE(blocks.ok()) << blocks.status().message();
    const store::DatasetInfo& dataset = (*source)->datasets()[1];
    ASSERT_EQ(blocks->size(), dataset.chunks.size());
    std::uint64_t count = 0, stored = 0;
    for (const read::Block& block : *blocks) {
        ASSERT_EQ(block.frames.size(), 1u);
        const FrameInfo& info = block.frames[0].info;
        EXPECT_EQ(info.shape, block.box.extent);
        EXPECT_EQ(info.bound, absolute(0.25));
        EXPECT_EQ(info.mode, Mode::fast);
        EXPECT_TRUE(block.written && !block.range);
        count += block.box.extent.count();
        stored += block.stored_bytes;
    }
    EXPECT_EQ(count, shape.count());
    EXPECT_EQ(stored, dataset.stored_bytes);
}

}  // namespace
}  // namespace caesura
