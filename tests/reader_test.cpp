// Goal: the Reader gives what stock HDF5 reads: of any box, into any strides, with any number of
// threads; beside a Writer; together on several ranks; and says what is wrong where something is.
#include "caesura/reader.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <array>
#include <fstream>
#include <thread>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "read/strided.hpp"
#include "read_fixture.hpp"
#include "stock_reader.hpp"
#include "store/hdf5_handle.hpp"

namespace caesura {
namespace {

using store::Handle;
using testing::random_box, testing::whole_box;
using Bytes = std::vector<std::byte>;

class ReaderTest : public testing::ReadTest {
  protected:
    std::unique_ptr<Reader> open(const ReaderOptions& options = {}) {
        auto reader = Reader::open(path_, options);
        EXPECT_TRUE(reader.ok()) << reader.status().message();
        return reader.ok() ? std::move(*reader) : nullptr;
    }
    /// Dumps 0 to n - 1 of a scalar and of a component, in several chunks.
    void write(std::uint64_t n) {
        auto writer = create();
        for (std::uint64_t dump = 0; dump < n; ++dump) dump_one(*writer, dump);
        ASSERT_TRUE(writer->close().ok());
    }
    std::unique_ptr<Writer> create() {
        (void)testing::filter_available(0);
        WriterOptions options;
        options.chunk_bytes = 1u << 20;  // there are none smaller
        auto writer = Writer::create(path_, Communicator::self(), options);
        EXPECT_TRUE(writer.ok());
        FieldOptions grid;
        grid.unit_si = 1000.0;
        grid.grid_spacing = {0.5, 0.25, 0.125};
        grid.grid_offset = {1.0, 2.0, 3.0};
        rho_ = *(*writer)->define_field("rho", float32, k_shape, absolute(1e-3), grid);
        ex_ = *(*writer)->define_field("E/x", float64, k_shape, lossless(), grid);
        return *std::move(writer);
    }
    void dump_one(Writer& writer, std::uint64_t n) {
        std::mt19937 random(static_cast<unsigned>(n));
        std::vector<float> rho(k_shape.count());
        std::vector<double> ex(k_shape.count());
        for (std::size_t i = 0; i < rho.size(); ++i) {
            rho[i] = static_cast<float>(n) + 1e-3f * static_cast<float>(random() % 100);
            ex[i] = static_cast<double>(i) + 1e-6 * static_cast<double>(random() % 1000);
        }
        auto iteration = writer.begin_iteration(n);
        auto dump = iteration.begin_dump(0.5 * static_cast<double>(n), 0.5);
        ASSERT_TRUE(dump.put(*rho_, whole_box(k_shape), rho.data()).ok());
        ASSERT_TRUE(dump.put(*ex_, whole_box(k_shape), ex.data()).ok());
        ASSERT_TRUE(iteration.end().ok());
    }
    const Shape k_shape{60, 160, 100};
    std::optional<Field> rho_, ex_;
};

/// A dataset through stock HDF5, in the type that a field has.
Bytes stock_bytes(const std::string& path, const FieldInfo& field) {
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    const Handle dataset(H5Dopen2(file.get(), field.path.c_str(), H5P_DEFAULT), H5Dclose);
    const Handle type(H5Dget_type(dataset.get()), H5Tclose);
    const Handle native(H5Tget_native_type(type.get(), H5T_DIR_ASCEND), H5Tclose);
    Bytes bytes(field.shape.count() * field.type.value_bytes());
    EXPECT_EQ(H5Tget_size(native.get()), field.type.value_bytes()) << field.path;
    EXPECT_GE(H5Dread(dataset.get(), native.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), 0)
        << field.path;
    return bytes;
}

/// Strides of an array whose axes follow each other in a random order, with gaps at random.
Shape random_strides(const Shape& extent, std::size_t value_bytes, std::mt19937& random) {
    std::vector<int> axes;
    for (int axis = 0; axis < extent.rank(); ++axis) axes.push_back(axis);
    std::shuffle(axes.begin(), axes.end(), random);
    Shape strides = Shape::filled(extent.rank(), 0);
    std::uint64_t next = value_bytes * (random() % 3 == 0 ? 2 : 1);
    for (const int axis : axes) {
        strides[axis] = next;
        next = next * extent[axis] + (random() % 3 == 0 ? 5 : 0);
    }
    return strides;
}

/// Calls with each position of an array of this extent.
template <class Call>
void each_position(const Shape& extent, Call call) {
    Shape at = Shape::filled(extent.rank(), 0);
    for (std::uint64_t i = 0; i < extent.count(); ++i) {
        call(i, at);
        for (int axis = extent.rank() - 1; axis >= 0; --axis) {
            if (++at[axis] < extent[axis]) break;
            at[axis] = 0;
        }
    }
}

using ReadBox =
    std::function<Status(const Box&, std::span<std::byte>, const std::optional<Shape>&)>;

/// Reads a box into an array of random strides; each value has to be that of the whole, and what
/// lies between is left alone.
void compare_box(const FieldInfo& field, const Bytes& whole, const Box& box, std::mt19937& random,
                 const ReadBox& read) {
    const std::size_t bytes = field.type.value_bytes();
    const bool dense = random() % 3 == 0;
    const Shape strides =
        dense ? read::dense_strides(box.extent, bytes) : random_strides(box.extent, bytes, random);
    std::uint64_t last = 0;
    for (int axis = 0; axis < box.extent.rank(); ++axis)
        last += (box.extent[axis] - 1) * strides[axis];
    const std::uint64_t slack = dense ? 0 : random() % 9;
    Bytes values(last + bytes + slack, std::byte{0xa5}), expected = values;
    each_position(box.extent, [&](std::uint64_t, const Shape& at) {
        std::uint64_t from = 0, to = 0;
        for (int axis = 0; axis < at.rank(); ++axis) {
            from = from * field.shape[axis] + box.offset[axis] + at[axis];
            to += at[axis] * strides[axis];
        }
        std::memcpy(expected.data() + to, whole.data() + from * bytes, bytes);
    });
    const Status status = read(box, values, dense ? std::nullopt : std::optional(strides));
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(values, expected) << field.path << " " << to_string(box) << " strides "
                                << to_string(strides);
}

TEST_F(ReaderTest, lists_dumps_with_their_time_and_fields_with_their_bounds_and_grid) {
    ASSERT_NO_FATAL_FAILURE(write(3));
    const auto reader = open();
    ASSERT_EQ(reader->dumps().size(), 3u);
    EXPECT_LT(reader->fields()[0].chunk.count(), k_shape.count() / 4);
    EXPECT_EQ(reader->dumps()[2].time, 1.0);
    EXPECT_EQ(reader->dumps()[2].dt, 0.5);
    ASSERT_EQ(reader->fields().size(), 6u);
    const FieldInfo& rho = reader->fields()[*reader->find("rho", 2)];
    EXPECT_EQ(rho.path, "/data/2/meshes/rho");
    EXPECT_EQ(rho.kind, FieldInfo::Kind::mesh);
    EXPECT_EQ(to_string(rho.type), "float32");
    EXPECT_EQ(rho.shape, k_shape);
    EXPECT_EQ(rho.bound, absolute(1e-3));
    EXPECT_EQ(rho.codec, "caesura");
    EXPECT_EQ(rho.unit_si, 1000.0);
    const FieldInfo& ex = reader->fields()[*reader->find("E/x", 0)];
    EXPECT_EQ(ex.bound, lossless());
    EXPECT_EQ(ex.grid_spacing, (std::vector<double>{0.5, 0.25, 0.125})) << "of its record";
    EXPECT_EQ(ex.axis_labels, (std::vector<std::string>{"z", "y", "x"}));
    EXPECT_EQ(reader->find("/data/0/meshes/E/x").value(), *reader->find("E/x", 0));
    for (const Status& status : {reader->find("rho", 7).status(), reader->find("phi", 1).status(),
                                 reader->find("/data/9/meshes/rho").status()})
        EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_NE(reader->find("phi", 1).status().message().find("it has E/x, rho"), std::string::npos);
}

TEST_F(ReaderTest, random_boxes_into_random_strides_are_what_stock_hdf5_reads) {
    ASSERT_NO_FATAL_FAILURE(write(2));
    std::mt19937 random(22);
    for (const int threads : {1, 2, 3, 0}) {
        const auto reader = open({.threads = threads, .verify = random() % 2 == 0});
        for (std::size_t f = 0; f < reader->fields().size(); ++f) {
            const FieldInfo& field = reader->fields()[f];
            const Bytes whole = stock_bytes(path_, field);
            for (int n = 0; n < 25; ++n) {
                const auto read = [&](const Box& box, std::span<std::byte> values,
                                      const std::optional<Shape>& strides) {
                    return reader->read(f, box, values, strides);
                };
                ASSERT_NO_FATAL_FAILURE(
                    compare_box(field, whole, random_box(k_shape, random), random, read));
            }
        }
    }
}

TEST_F(ReaderTest, many_threads_read_from_one_reader) {
    ASSERT_NO_FATAL_FAILURE(write(1));
    const auto reader = open({.threads = 2});
    const Bytes whole = stock_bytes(path_, reader->fields()[1]);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            for (int n = 0; n < 20; ++n)
                compare_box(reader->fields()[1], whole, random_box(k_shape, random), random,
                            [&](const Box& box, std::span<std::byte> values,
                                const std::optional<Shape>& strides) {
                                return reader->read(1, box, values, strides);
                            });
        });
    for (std::thread& thread : threads) thread.join();
}

// ------------------------------------------------------------------- files of stock HDF5

/// Datasets of many types and filters, written by stock HDF5.
class ForeignReader : public ReaderTest {
  protected:
    void make(hid_t file, const std::string& name, hid_t type, const Shape& shape,
              const std::function<void(hid_t)>& filters, std::mt19937& random) {
        const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        std::array<hsize_t, 3> dims{}, chunk{};
        for (int axis = 0; axis < shape.rank(); ++axis) {
            dims[static_cast<std::size_t>(axis)] = shape[axis];
            chunk[static_cast<std::size_t>(axis)] = 1 + random() % shape[axis];
        }
        if (filters) {
            H5Pset_chunk(creation.get(), shape.rank(), chunk.data());
            filters(creation.get());
        }
        const Handle space(H5Screate_simple(shape.rank(), dims.data(), nullptr), H5Sclose);
        const Handle dataset(H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT,
                                        creation.get(), H5P_DEFAULT),
                             H5Dclose);
        ASSERT_TRUE(dataset.ok()) << name;
        std::vector<std::int32_t> values(shape.count());
        for (auto& value : values) value = static_cast<std::int32_t>(random() % 100);
        ASSERT_GE(
            H5Dwrite(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
            0)
            << name;
    }
};

TEST_F(ForeignReader, any_type_and_filter_of_hdf5_is_read_as_stock_hdf5_reads_it) {
    std::mt19937 random(7);
    const std::vector<std::pair<const char*, std::function<void(hid_t)>>> layouts = {
        {"contiguous", nullptr},
        {"plain", [](hid_t) {}},
        {"deflate", [](hid_t p) { H5Pset_deflate(p, 4); }},
        {"shuffled", [](hid_t p) { H5Pset_shuffle(p), H5Pset_deflate(p, 1); }},
        {"checked", [](hid_t p) { H5Pset_fletcher32(p); }},
        {"all", [](hid_t p) { H5Pset_shuffle(p), H5Pset_deflate(p, 1), H5Pset_fletcher32(p); }},
        {"nbit", [](hid_t p) { H5Pset_nbit(p); }}};
    const std::vector<std::pair<const char*, hid_t>> types = {
        {"f32", H5T_IEEE_F32LE},  {"f64be", H5T_IEEE_F64BE}, {"i8", H5T_STD_I8LE},
        {"u16be", H5T_STD_U16BE}, {"i32", H5T_STD_I32LE},    {"u64", H5T_STD_U64LE}};
    {
        const Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                          H5Fclose);
        for (const auto& [type, id] : types)
            for (const auto& [layout, filters] : layouts)
                ASSERT_NO_FATAL_FAILURE(make(file.get(), fmt::format("{}_{}", type, layout), id,
                                             {5, 7, 6}, filters, random));
    }
    const auto reader = open();
    ASSERT_EQ(reader->fields().size(), types.size() * layouts.size());
    for (std::size_t f = 0; f < reader->fields().size(); ++f) {
        const FieldInfo& field = reader->fields()[f];
        const Bytes whole = stock_bytes(path_, field);
        for (int n = 0; n < 4; ++n)
            ASSERT_NO_FATAL_FAILURE(compare_box(field, whole, random_box(field.shape, random),
                                                random,
                                                [&](const Box& box, std::span<std::byte> values,
                                                    const std::optional<Shape>& strides) {
                                                    return reader->read(f, box, values, strides);
                                                }));
    }
}

// ------------------------------------------------------------------------------ errors

TEST_F(ReaderTest, a_wrong_call_names_the_dataset_and_the_numbers) {
    ASSERT_NO_FATAL_FAILURE(write(1));
    const auto reader = open();
    const std::size_t rho = *reader->find("rho", 0);
    Bytes room(64);
    const auto message = [&](std::size_t field, const Box& box, std::span<std::byte> values,
                             const std::optional<Shape>& strides = {}) {
        const Status status = reader->read(field, box, values, strides);
        EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.message();
        return status.message();
    };
    const Box box{{0, 0, 0}, {2, 2, 4}};
    EXPECT_NE(message(99, box, room).find("no field 99 of 2"), std::string::npos);
    EXPECT_NE(message(rho, {{59, 0, 0}, {2, 1, 1}}, room).find("/data/0/meshes/rho: the box at"),
              std::string::npos);
    EXPECT_NE(message(rho, {{0}, {2}}, room).find("not inside [60, 160, 100]"), std::string::npos);
    EXPECT_NE(message(rho, box, std::span(room).first(60)).find("do not fill 60"),
              std::string::npos);
    EXPECT_NE(message(rho, box, room, Shape{16, 16, 4}).find("overlap"), std::string::npos);
    EXPECT_NE(message(rho, box, room, Shape{0, 16, 4}).find("overlap"), std::string::npos);
    EXPECT_NE(message(rho, box, room, Shape{40, 16, 4}).find("does not lie inside 64"),
              std::string::npos);
    EXPECT_NE(message(rho, box, room, Shape{16, 4}).find("2 strides"), std::string::npos);
    EXPECT_TRUE(reader->read(rho, {{60, 0, 0}, {0, 3, 3}}, {}).ok()) << "an empty box";
    EXPECT_EQ(Reader::open(path_, {.threads = -1}).status().code(), StatusCode::invalid_argument);
    EXPECT_EQ(Reader::open(path_ + ".none").status().code(), StatusCode::io);
}

/// Turns one byte in the middle of a chunk.
void damage(const std::string& path, const std::string& dataset, std::size_t chunk) {
    const auto info = store::read_info(path);
    for (const store::DatasetInfo& one : info->datasets) {
        if (one.spec.path != dataset) continue;
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        const auto at =
            static_cast<std::streamoff>(one.chunks[chunk].address + one.chunks[chunk].bytes / 2);
        file.seekg(at);
        const char byte = static_cast<char>(file.get() ^ 0x10);
        file.seekp(at);
        file.put(byte);
    }
}

TEST_F(ReaderTest, a_damaged_chunk_is_an_error_of_the_boxes_that_touch_it_and_of_no_others) {
    ASSERT_NO_FATAL_FAILURE(write(1));
    damage(path_, "/data/0/meshes/E/x", 1);
    const auto reader = open();
    const std::size_t ex = *reader->find("E/x", 0);
    Bytes all(k_shape.count() * 8);
    const Status status = reader->read(ex, whole_box(k_shape), all);
    EXPECT_EQ(status.code(), StatusCode::corrupt);
    EXPECT_NE(status.message().find("/data/0/meshes/E/x chunk 1"), std::string::npos)
        << status.message();
    Bytes one(8);
    EXPECT_TRUE(reader->read(ex, {{0, 0, 0}, {1, 1, 1}}, one).ok());
    // On several ranks, all have it; and the next call works.
    base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
        auto together = *Reader::open(path_, std::move(comm));
        Bytes values(k_shape.count() * 8);
        const Status on_all = together->read_all(ex, whole_box(k_shape), values);
        EXPECT_EQ(on_all.code(), StatusCode::corrupt) << on_all.message();
        EXPECT_NE(on_all.message().find("rank "), std::string::npos);
        EXPECT_NE(on_all.message().find("chunk 1"), std::string::npos);
        EXPECT_TRUE(
            together->read_all(ex, {{0, 0, 0}, {1, 1, 1}}, std::span(values).first(8)).ok());
    });
}

// ----------------------------------------------------------------- beside a Writer, together

TEST_F(ReaderTest, beside_a_writer_it_sees_what_is_committed_and_more_after_a_refresh) {
    auto writer = create();
    dump_one(*writer, 0);
    ASSERT_TRUE(writer->finish_by(60.0).ok());
    ASSERT_EQ(writer->committed(), 0u);
    const auto reader = open();
    ASSERT_EQ(reader->dumps().size(), 1u);
    dump_one(*writer, 1);
    dump_one(*writer, 2);
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(reader->dumps().size(), 1u);
    std::mt19937 random(1);
    const Bytes whole = stock_bytes(path_, reader->fields()[0]);
    compare_box(
        reader->fields()[0], whole, whole_box(k_shape), random,
        [&](const Box& box, std::span<std::byte> values, const std::optional<Shape>& strides) {
            return reader->read(0, box, values, strides);
        });
    EXPECT_TRUE(reader->refresh().value());
    EXPECT_EQ(reader->dumps().size(), 3u);
    EXPECT_FALSE(reader->refresh().value());
}

TEST_F(ReaderTest, ranks_read_boxes_of_their_own_together_and_each_chunk_once) {
    ASSERT_NO_FATAL_FAILURE(write(2));
    std::vector<Bytes> wholes;
    {
        const auto reader = open();
        for (const FieldInfo& field : reader->fields()) wholes.push_back(stock_bytes(path_, field));
    }
    for (const int ranks : {1, 2, 4})
        for (const std::uint64_t round_bytes :
             {std::uint64_t{1}, std::uint64_t{2500000}, std::uint64_t{1} << 26})
            base::run_ranks(ranks, [&](std::unique_ptr<Communicator> comm) {
                const int rank = comm->rank();
                auto reader =
                    Reader::open(path_, std::move(comm),
                                 {.threads = 2, .verify = true, .round_bytes = round_bytes});
                ASSERT_TRUE(reader.ok()) << reader.status().message();
                std::mt19937 random(static_cast<unsigned>(rank) + 17);
                std::mt19937 shared(5);
                for (int n = 0; n < 12; ++n) {
                    // All the same box, a box of each, the same field or another one.
                    const bool same_field = shared() % 2, same_box = shared() % 3 == 0;
                    const std::size_t common = shared() % wholes.size();
                    const Box box = random_box(k_shape, same_box ? shared : random);
                    const std::size_t f = same_field ? common : random() % wholes.size();
                    compare_box((*reader)->fields()[f], wholes[f], box, random,
                                [&](const Box& b, std::span<std::byte> values,
                                    const std::optional<Shape>& strides) {
                                    return (*reader)->read_all(f, b, values, strides);
                                });
                }
            });
}

/// Notes the most bytes that its rank has sent at once.
class CountingCommunicator final : public Communicator {
  public:
    CountingCommunicator(std::unique_ptr<Communicator> inner, std::uint64_t& most_bytes)
        : inner_(std::move(inner)), most_bytes_(most_bytes) {}
    int rank() const override { return inner_->rank(); }
    int size() const override { return inner_->size(); }
    Status barrier() override { return inner_->barrier(); }
    Status broadcast(std::span<std::byte> data, int root) override {
        return inner_->broadcast(data, root);
    }
    Status allgather(std::span<const std::byte> send, std::span<std::byte> receive) override {
        return inner_->allgather(send, receive);
    }
    Result<std::vector<Bytes>> allgatherv(std::span<const std::byte> send) override {
        return inner_->allgatherv(send);
    }
    Result<std::vector<Bytes>> gatherv(std::span<const std::byte> send, int root) override {
        return inner_->gatherv(send, root);
    }
    Result<std::vector<Bytes>> alltoallv(std::span<const Bytes> send) override {
        std::uint64_t bytes = 0;
        for (const Bytes& one : send) bytes += one.size();
        most_bytes_ = std::max(most_bytes_, bytes);
        return inner_->alltoallv(send);
    }
    Result<std::unique_ptr<Communicator>> node_local() override { return inner_->node_local(); }

  private:
    const std::unique_ptr<Communicator> inner_;
    std::uint64_t& most_bytes_;
};

TEST_F(ReaderTest, what_a_rank_sends_in_one_round_is_bounded_however_many_want_the_same) {
    ASSERT_NO_FATAL_FAILURE(write(1));
    const Bytes whole = stock_bytes(path_, open()->fields()[1]);
    constexpr std::uint64_t k_round_bytes = 2'500'000;  // two parts of a chunk, or three
    std::array<std::uint64_t, 5> most_bytes{};
    base::run_ranks(5, [&](std::unique_ptr<Communicator> comm) {
        std::uint64_t& most = most_bytes[static_cast<std::size_t>(comm->rank())];
        auto reader =
            *Reader::open(path_, std::make_unique<CountingCommunicator>(std::move(comm), most),
                          {.threads = 1, .verify = true, .round_bytes = k_round_bytes});
        ASSERT_LT(reader->fields()[1].chunk.count() * 4, k_round_bytes / 2);
        Bytes values(whole.size());
        ASSERT_TRUE(reader->read_all(1, whole_box(k_shape), values).ok());
        EXPECT_EQ(values, whole);
    });
    const std::uint64_t most = *std::max_element(most_bytes.begin(), most_bytes.end());
    EXPECT_LE(most, k_round_bytes + 64) << "and what says that all is well";
    EXPECT_GT(most, k_round_bytes / 4) << "they do send each other something";
}

// Goal: beside a Writer, ranks may open the file at different states: all list what all see. Here
// the states are two files.
TEST_F(ReaderTest, ranks_that_see_different_states_list_what_all_of_them_see) {
    ASSERT_NO_FATAL_FAILURE(write(2));
    const std::string earlier = path_ + ".earlier";
    std::filesystem::rename(path_, earlier);
    ASSERT_NO_FATAL_FAILURE(write(3));
    base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        auto reader = Reader::open(rank == 1 ? earlier : path_, std::move(comm));
        ASSERT_TRUE(reader.ok()) << reader.status().message();
        ASSERT_EQ((*reader)->fields().size(), 4u);
        EXPECT_EQ((*reader)->dumps().size(), 2u);
        EXPECT_EQ((*reader)->fields()[(*reader)->dumps()[1].fields[0]].path, "/data/1/meshes/E/x");
        EXPECT_FALSE((*reader)->refresh().value());
        Bytes one(8);
        EXPECT_TRUE((*reader)->read_all(2, {{0, 0, 0}, {1, 1, 1}}, one).ok());
        auto none = Reader::open(path_ + ".none", nullptr);
        EXPECT_EQ(none.status().code(), StatusCode::invalid_argument);
    });
    base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
        const bool wrong = comm->rank() == 1;
        const auto reader = Reader::open(wrong ? path_ + ".none" : path_, std::move(comm));
        EXPECT_EQ(reader.status().code(), StatusCode::io);
        EXPECT_NE(reader.status().message().find("rank 1: "), std::string::npos);
    });
    std::filesystem::remove(earlier);
}

TEST_F(ReaderTest, a_rank_with_a_wrong_box_stops_the_call_on_all_ranks_and_no_other) {
    ASSERT_NO_FATAL_FAILURE(write(1));
    base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        auto reader = *Reader::open(path_, std::move(comm));
        Bytes one(8);
        const Box box{{rank == 1 ? 99u : 0u, 0, 0}, {1, 1, 1}};
        const Status status = reader->read_all(0, box, one);
        EXPECT_EQ(status.code(), StatusCode::invalid_argument);
        EXPECT_NE(status.message().find("rank 1: dataset /data/0/meshes/E/x: the box at"),
                  std::string::npos)
            << status.message();
        EXPECT_TRUE(reader->read_all(0, {{0, 0, 0}, {1, 1, 1}}, one).ok());
        EXPECT_TRUE(reader->read_all(0, {{0, 0, 0}, {0, 1, 1}}, {}).ok()) << "nobody wants any";
    });
}

}  // namespace
}  // namespace caesura
