// Files that stock HDF5 has made: holes and fill values, contiguous datasets, either byte order,
// compound types, filter masks, and what cannot be read.
#include <fmt/format.h>
#include <hdf5.h>

#include "caesura/writer.hpp"
#include "hdf5/block_codec.hpp"
#include "read_fixture.hpp"
#include "stock_reader.hpp"
#include "store/hdf5_handle.hpp"

namespace caesura {
namespace {

using store::Handle;
using testing::compare_boxes, testing::read_box, testing::whole_box;
using Dims = std::array<hsize_t, k_max_rank>;

Dims dims_of(const Shape& shape) {
    Dims dims{};
    std::copy_n(shape.data(), shape.rank(), dims.begin());
    return dims;
}

struct Layout {
    Shape chunk = {};  ///< rank 0: contiguous
    Shape most = {};   ///< rank 0: never grows
    std::vector<FilterSpec> pipeline = {};
    const void* fill = nullptr;  ///< of the type in memory
};

class ReadForeign : public testing::ReadTest {
  protected:
    void SetUp() override {
        (void)testing::filter_available(0);  // our plugin's directory is HDF5's from here on
        file_ = Handle(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
        ASSERT_TRUE(file_.ok());
    }
    Handle make(const char* name, hid_t type, hid_t in_memory, const Shape& shape,
                const Layout& layout) {
        const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        if (layout.chunk.rank() > 0)
            H5Pset_chunk(creation.get(), shape.rank(), dims_of(layout.chunk).data());
        for (const FilterSpec& filter : layout.pipeline)
            H5Pset_filter(creation.get(), static_cast<H5Z_filter_t>(filter.id), H5Z_FLAG_OPTIONAL,
                          filter.cd_values.size(), filter.cd_values.data());
        if (layout.fill) H5Pset_fill_value(creation.get(), in_memory, layout.fill);
        const Dims most = dims_of(layout.most);
        const Handle space(H5Screate_simple(shape.rank(), dims_of(shape).data(),
                                            layout.most.rank() > 0 ? most.data() : nullptr),
                           H5Sclose);
        Handle made(H5Dcreate2(file_.get(), name, type, space.get(), H5P_DEFAULT, creation.get(),
                               H5P_DEFAULT),
                    H5Dclose);
        EXPECT_TRUE(made.ok()) << store::hdf5_error(StatusCode::internal, name).message();
        return made;
    }
    static void put(const Handle& dataset, const Box& box, const std::vector<double>& values) {
        const Handle in_file(H5Dget_space(dataset.get()), H5Sclose);
        H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, dims_of(box.offset).data(), nullptr,
                            dims_of(box.extent).data(), nullptr);
        const Handle in_memory(
            H5Screate_simple(box.extent.rank(), dims_of(box.extent).data(), nullptr), H5Sclose);
        EXPECT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, in_memory.get(), in_file.get(),
                           H5P_DEFAULT, values.data()),
                  0);
    }
    std::unique_ptr<read::Source> open() {
        file_.reset();
        auto source = read::Source::open(path_);
        EXPECT_TRUE(source.ok()) << source.status().message();
        return source.ok() ? std::move(*source) : nullptr;
    }
    Handle file_;
};

Shape any_shape(std::mt19937& random, int axes, std::uint64_t most) {
    Shape shape = Shape::filled(axes, 1);
    for (int axis = 0; axis < axes; ++axis) shape[axis] = 1 + random() % most;
    return shape;
}

std::vector<double> random_values(std::mt19937& random, std::size_t n) {
    std::vector<double> values(n);
    for (double& value : values) value = 0.25 * static_cast<double>(random() % 4096) - 500.0;
    return values;
}

// Goal: datasets of any float type, contiguous or chunked, that have grown and have holes, with and
// without a fill value, compressed by our filter or not, are what H5Dread has.
TEST_F(ReadForeign, random_datasets_with_holes_are_what_stock_hdf5_reads) {
    std::mt19937 random(5);
    const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE};
    constexpr int k_datasets = 60;
    for (int d = 0; d < k_datasets; ++d) {
        const int axes = 1 + static_cast<int>(random() % 4);
        const Shape shape = any_shape(random, axes, 14);
        Layout layout;
        const double fill = 7.5;
        if (random() % 2) layout.fill = &fill;
        if (random() % 3) {
            layout.chunk = any_shape(random, axes, 8);
            layout.most = shape;
            for (int axis = 0; axis < axes; ++axis) layout.most[axis] += 8;
            if (random() % 2) layout.pipeline = {{.id = 322, .cd_values = {}}};
        }
        const auto dataset =
            make(fmt::format("d{:02}", d).c_str(), types[d % 4], H5T_NATIVE_DOUBLE, shape, layout);
        for (auto writes = random() % 3; writes > 0; --writes) {
            const Box box = testing::random_box(shape, random);
            put(dataset, box, random_values(random, box.extent.count()));
        }
        if (layout.chunk.rank() > 0 && random() % 2) {
            Shape grown = shape;
            for (int axis = 0; axis < axes; ++axis) grown[axis] += random() % 6;
            EXPECT_GE(H5Dset_extent(dataset.get(), dims_of(grown).data()), 0);
        }
    }
    const auto source = open();
    ASSERT_TRUE(source);
    ASSERT_EQ(source->datasets().size(), static_cast<std::size_t>(k_datasets));
    for (int d = 0; d < k_datasets; ++d) {
        const auto name = fmt::format("/d{:02}", d);
        SCOPED_TRACE(name);
        const auto number = source->find(name);
        ASSERT_TRUE(number.ok()) << number.status().message();
        compare_boxes(*source, *number, testing::read_dataset(path_, name).values, random);
        if (HasFailure()) return;
    }
}

// Goal: a contiguous dataset larger than one piece is read by pieces, and only what is asked for.
TEST_F(ReadForeign, a_large_contiguous_dataset_is_read_in_pieces) {
    const Shape shape{3, 1500, 1000};  // 36 MB; 12 MB an index of the first axis
    std::vector<double> values(shape.count());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    put(make("big", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, shape, {}), whole_box(shape), values);
    file_.reset();
    testing::WatchedFileSystem files;
    auto source = read::Source::open(files, path_);
    ASSERT_TRUE(source.ok());
    EXPECT_EQ((*source)->datasets()[0].spec.chunk, (Shape{1, 1048, 1000}));
    EXPECT_EQ((*source)->datasets()[0].chunks.size(), 6u);
    std::mt19937 random(1);
    compare_boxes(**source, 0, values, random, 3);
    files.read_bytes = 0;
    const Box row{{2, 1499, 0}, {1, 1, 1000}};
    EXPECT_EQ(testing::difference(read_box(**source, 0, row), values, shape, row), "");
    EXPECT_EQ(files.read_bytes, 8000u);
    EXPECT_EQ((*source)->value_range(0, whole_box(shape))->highest, values.back());
}

// Goal: the mask of each chunk is honoured; a filter that is not there is an error, which says
// which, of the chunks that need it alone.
TEST_F(ReadForeign, a_missing_filter_is_an_error_of_the_chunks_that_need_it) {
    constexpr unsigned k_nobodys_filter = 299;
    const H5Z_class2_t stand_in = {H5Z_CLASS_T_VERS,
                                   k_nobodys_filter,
                                   1,
                                   1,
                                   "stand-in",
                                   nullptr,
                                   nullptr,
                                   [](unsigned, std::size_t, const unsigned*, std::size_t,
                                      std::size_t*, void**) { return std::size_t{0}; }};
    ASSERT_GE(H5Zregister(&stand_in), 0);
    const Layout layout{.chunk = {4}, .pipeline = {{.id = k_nobodys_filter, .cd_values = {}}}};
    {
        const auto dataset = make("odd", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {8}, layout);
        const std::array<float, 4> values{1, 2, 3, 4};
        const hsize_t first = 0, second = 4;
        ASSERT_GE(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 1, &first, 16, values.data()), 0);
        ASSERT_GE(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, &second, 16, values.data()), 0);
    }
    const auto source = open();
    ASSERT_GE(H5Zunregister(k_nobodys_filter), 0);
    ASSERT_TRUE(source);
    EXPECT_EQ(read_box(*source, 0, {{0}, {4}}), (std::vector<double>{1, 2, 3, 4}));
    std::vector<std::byte> bytes(4 * 4);
    const Status status = source->read(0, {{4}, {4}}, bytes);
    EXPECT_EQ(status.code(), StatusCode::unsupported);
    for (const char* what : {"/odd chunk 1", "HDF5 filter 299"})
        EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
}

TEST_F(ReadForeign, integers_of_either_byte_order_are_those_that_were_written) {
    const Shape shape{6};
    const std::int32_t narrow[] = {-2147483647 - 1, -1, 0, 1, 2147483647, 77};
    const std::uint64_t wide[] = {0, 1, ~std::uint64_t{0}, 9007199254740993U, 5, 6};
    const std::vector<FilterSpec> packed = {{.id = H5Z_FILTER_SHUFFLE, .cd_values = {}},
                                            {.id = H5Z_FILTER_DEFLATE, .cd_values = {6}}};
    const auto write = [](const Handle& dataset, hid_t type, const void* values) {
        EXPECT_GE(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
    };
    for (const hid_t type : {H5T_STD_I32LE, H5T_STD_I32BE}) {
        const char* const name = type == H5T_STD_I32LE ? "little" : "big";
        write(make(name, type, H5T_NATIVE_INT32, shape, {}), H5T_NATIVE_INT32, narrow);
    }
    for (const hid_t type : {H5T_STD_U64LE, H5T_STD_U64BE}) {
        const char* const name = type == H5T_STD_U64LE ? "little_packed" : "big_packed";
        write(make(name, type, H5T_NATIVE_UINT64, shape, {.chunk = {4}, .pipeline = packed}),
              H5T_NATIVE_UINT64, wide);
    }
    const auto source = open();
    ASSERT_TRUE(source);
    const auto read = [&](const char* path, DType dtype, std::span<const std::byte> expected) {
        const auto dataset = source->find(path);
        ASSERT_TRUE(dataset.ok()) << dataset.status().message();
        EXPECT_EQ(source->datasets()[*dataset].spec.dtype, dtype);
        std::vector<std::byte> bytes(expected.size());
        const Status status = source->read(*dataset, whole_box(shape), bytes);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin())) << path;
    };
    for (const char* path : {"/little", "/big"})
        read(path, int32, std::as_bytes(std::span(narrow)));
    for (const char* path : {"/little_packed", "/big_packed"})
        read(path, uint64, std::as_bytes(std::span(wide)));
    const auto range = source->value_range(*source->find("/big"), whole_box(shape));
    ASSERT_TRUE(range.ok());
    EXPECT_EQ(range->lowest, -2147483648.0);
    EXPECT_EQ(range->highest, 2147483647.0);
}

TEST_F(ReadForeign, what_is_of_another_kind_is_unsupported_and_named) {
    const Shape shape{6};
    (void)make("bits", H5T_STD_B32LE, H5T_NATIVE_B32, shape, {});
    (void)make("texts", H5T_C_S1, H5T_C_S1, shape, {.chunk = {3}});
    put(make("scaled", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, shape,
             {.chunk = {3}, .pipeline = {{.id = H5Z_FILTER_SCALEOFFSET, .cd_values = {0, 2}}}}),
        whole_box(shape), {1, 2, 3, 4, 5, 6});
    const auto source = open();
    ASSERT_TRUE(source);
    ASSERT_EQ(source->datasets().size(), 1u);
    for (const char* path : {"/bits", "/texts"}) {
        const Status status = source->find(path).status();
        EXPECT_EQ(status.code(), StatusCode::unsupported);
        EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
    }
    std::vector<std::byte> bytes(24);
    const Status status = source->read(0, whole_box(shape), bytes);
    EXPECT_EQ(status.code(), StatusCode::unsupported);
    EXPECT_NE(status.message().find("HDF5 filter 6 (scaleoffset)"), std::string::npos)
        << status.message();
}

// -------------------------------------------------------------------------------- compound types

/// A compound of these members, one after the other.
Handle compound_of(hid_t member, std::initializer_list<const char*> names) {
    const std::size_t bytes = H5Tget_size(member);
    Handle type(H5Tcreate(H5T_COMPOUND, bytes * names.size()), H5Tclose);
    std::size_t at = 0;
    for (const char* name : names) H5Tinsert(type.get(), name, bytes * at++, member);
    return type;
}

/// All members together and each for itself, of random boxes.
void compare_members(const read::Source& source, std::size_t dataset,
                     const std::vector<double>& records, std::mt19937& random) {
    const store::DatasetInfo& info = source.datasets()[dataset];
    const Shape& shape = info.spec.shape;
    const std::size_t members = info.members.size();
    std::vector<std::vector<double>> of_member(members);
    for (std::size_t i = 0; i < records.size(); ++i) of_member[i % members].push_back(records[i]);
    for (int n = 0; n < 5; ++n) {
        const Box box = n == 0 ? whole_box(shape) : testing::random_box(shape, random);
        std::vector<double> together(box.extent.count() * members);
        for (std::size_t m = 0; m < members; ++m) {
            const read::ReadOptions options{.threads = 2, .member = m};
            const auto values = read_box(source, dataset, box, options);
            ASSERT_EQ(testing::difference(values, of_member[m], shape, box), "");
            const auto [low, high] = std::minmax_element(values.begin(), values.end());
            EXPECT_EQ(*source.value_range(dataset, box, options), (read::ValueRange{*low, *high}));
            for (std::size_t i = 0; i < values.size(); ++i) together[i * members + m] = values[i];
        }
        ASSERT_EQ(read_box(source, dataset, box), together) << to_string(box);
    }
    EXPECT_EQ(source.value_range(dataset, whole_box(shape)).status().code(),
              StatusCode::invalid_argument);
}

TEST_F(ReadForeign, members_of_compound_types_are_read_together_and_alone) {
    std::mt19937 random(9);
    const auto particle = compound_of(H5T_NATIVE_DOUBLE, {"x", "y", "z"});
    const auto complex = compound_of(H5T_NATIVE_FLOAT, {"r", "i"});
    const Shape shape{9, 11};
    const auto particles = random_values(random, 3 * shape.count());
    std::vector<float> numbers;
    for (const double x : random_values(random, 2 * shape.count()))
        numbers.push_back(static_cast<float>(x));
    const std::array<double, 3> fill{1.5, 2.5, 3.5};
    (void)make("holes", particle.get(), particle.get(), shape,
               {.chunk = {4, 4}, .fill = fill.data()});
    {
        const auto p = make("p", particle.get(), particle.get(), shape, {.chunk = {4, 4}});
        H5Dwrite(p.get(), particle.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, particles.data());
        const auto c = make("c", complex.get(), complex.get(), shape, {});
        H5Dwrite(c.get(), complex.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
    }
    const auto source = open();
    ASSERT_TRUE(source);
    EXPECT_EQ(source->datasets()[*source->find("/p")].members,
              (std::vector<std::string>{"x", "y", "z"}));
    compare_members(*source, *source->find("/p"), particles, random);
    compare_members(*source, *source->find("/c"), {numbers.begin(), numbers.end()}, random);
    std::vector<double> filled;
    for (std::size_t i = 0; i < 3 * shape.count(); ++i) filled.push_back(fill[i % 3]);
    compare_members(*source, *source->find("/holes"), filled, random);
}

// Goal: chunks whose members are frames of their own, each with its bound, also where they end
// before the chunk does.
TEST_F(ReadForeign, interleaved_bundles_of_members_are_taken_apart) {
    std::mt19937 random(11);
    const auto type = compound_of(H5T_NATIVE_FLOAT, {"x", "y"});
    const Shape shape{5, 12}, chunk{4, 12}, of_members{4, 12, 2};
    auto codec = make_block_codec({.name = "caesura"}, float32, of_members, lossless(), {});
    ASSERT_TRUE(codec.ok()) << codec.status().message();
    std::vector<float> values;
    for (const double x : random_values(random, 2 * shape.count()))
        values.push_back(static_cast<float>(x));
    {
        const auto pipeline = (*codec)->pipeline();
        const auto dataset = make("xy", type.get(), type.get(), shape,
                                  {.chunk = chunk, .pipeline = {pipeline.begin(), pipeline.end()}});
        for (const std::uint64_t row : {0, 4}) {
            const std::uint64_t rows = row == 0 ? 4 : 1;
            std::vector<codec::BundlePart> parts(
                2, {.shape = {rows, 12}, .bound = absolute(0.5), .interleaved = true});
            parts[1].component = 1;
            parts[1].bound = lossless();
            const auto raw = std::as_bytes(std::span(values).subspan(24 * row, 24 * rows));
            auto block = (*codec)->encode_parts(raw, parts, true);
            ASSERT_TRUE(block.ok()) << block.status().message();
            const std::array<hsize_t, 2> offset{row, 0};
            ASSERT_GE(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, offset.data(),
                                     block->bytes.size(), block->bytes.data()),
                      0);
        }
    }
    const auto source = open();
    ASSERT_TRUE(source);
    std::vector<float> stock(values.size());
    {
        const Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
        const Handle dataset(H5Dopen2(file.get(), "xy", H5P_DEFAULT), H5Dclose);
        ASSERT_GE(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, stock.data()),
                  0);
    }
    compare_members(*source, 0, {stock.begin(), stock.end()}, random);
    for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_LE(std::abs(stock[i] - values[i]), i % 2 ? 0.0f : 0.5f);
    const auto blocks = source->blocks(0, whole_box(shape));
    ASSERT_TRUE(blocks.ok());
    ASSERT_EQ((*blocks)[1].frames.size(), 2u);
    EXPECT_EQ((*blocks)[1].frames[1].component, 1u);
    EXPECT_EQ((*blocks)[1].frames[0].info.bound, absolute(0.5));
    EXPECT_EQ((*blocks)[1].frames[0].info.shape, (Shape{1, 12}));
}

}  // namespace
}  // namespace caesura
