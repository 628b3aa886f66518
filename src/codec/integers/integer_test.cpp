// Goal: integers of every type come back bit for bit, whatever their values, shape and alignment,
// on every instruction set; wrong calls are errors; broken parts do no harm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "codec/frame/part_decoder.hpp"
#include "codec/integers/integer_encoder.hpp"
#include "codec/integers/integer_families.hpp"
#include "codec/test_targets.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;

constexpr DType k_types[] = {DType::int8,  DType::int16,  DType::int32,  DType::int64,
                             DType::uint8, DType::uint16, DType::uint32, DType::uint64};

/// Whether a frame gives the array back; the frame.
Bytes expect_round_trip(const Bytes& values, DType dtype, const Shape& shape,
                        const CompressOptions& options = {}) {
    const auto frame = compress(values, dtype, shape, lossless(), options);
    EXPECT_TRUE(frame.ok()) << frame.status().message();
    if (!frame.ok()) return {};
    EXPECT_LE(frame->size(), values.size() + k_frame_overhead_bytes);
    const auto info = read_frame_info(*frame);
    EXPECT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->dtype, dtype);
    EXPECT_EQ(info->shape, shape);
    EXPECT_TRUE(info->stored_exactly);
    Bytes decoded(values.size(), std::byte{0x5a});
    const Status status = decompress(*frame, decoded);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(decoded, values);
    return *frame;
}

Shape shape_of_rank(std::size_t n, int rank, FamilyRandom& random) {
    std::vector<std::uint64_t> extents(static_cast<std::size_t>(rank), 1);
    for (std::size_t axis = 0; axis + 1 < extents.size(); ++axis) {
        extents[axis] = 1 + random.below(1 + n / 40);
        n /= static_cast<std::size_t>(extents[axis]);
    }
    extents.back() = std::max<std::size_t>(n, 1);
    for (std::size_t i = extents.size(); i > 1; --i)
        std::swap(extents[i - 1], extents[static_cast<std::size_t>(random.below(i))]);
    return Shape(extents);
}

TEST(Integers, of_every_type_family_and_shape_come_back) {
    const std::uint64_t seeds = 3;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        FamilyRandom random(seed);
        for (const std::string& name : family_names()) {
            for (const DType dtype : k_types) {
                const std::size_t most = 1 + random.below(20000);
                const int rank = 1 + static_cast<int>(random.below(4));
                const Shape shape = shape_of_rank(most, rank, random);
                SCOPED_TRACE(fmt::format("seed {}, {} {} {}", seed, name, to_string(dtype),
                                         to_string(shape)));
                const auto n = static_cast<std::size_t>(shape.count());
                expect_round_trip(as_bytes_of(family(name, n, seed), dtype), dtype, shape);
            }
        }
    }
}

TEST(Integers, of_every_small_and_odd_size_come_back) {
    for (const DType dtype : k_types) {
        for (const std::size_t n :
             {1U, 2U, 3U, 7U, 8U, 9U, 63U, 64U, 65U, 1023U, 1024U, 1025U, 8191U, 8193U, 70001U}) {
            for (const char* name : {"sequential", "permuted", "enumeration", "noise"}) {
                SCOPED_TRACE(fmt::format("{} {} {}", name, to_string(dtype), n));
                expect_round_trip(as_bytes_of(family(name, n, n), dtype), dtype, {n});
            }
        }
    }
}

TEST(Integers, at_the_ends_of_their_range_come_back) {
    for (const DType dtype : k_types) {
        const std::size_t bits = 8 * size_of(dtype);
        const std::uint64_t top = ~std::uint64_t{0} >> (64 - bits);
        const std::uint64_t ends[] = {0, top, top / 2, top / 2 + 1, 1, top - 1};
        for (std::size_t pattern = 0; pattern < 5; ++pattern) {
            FamilyValues values(5000);
            FamilyRandom random(pattern);
            for (std::size_t i = 0; i < values.size(); ++i) {
                const std::size_t which = pattern == 0   ? i % 2
                                          : pattern == 1 ? 2 + i % 2
                                          : pattern == 2 ? random.below(6)
                                          : pattern == 3 ? (i % 997 == 0 ? random.below(6) : 4)
                                                         : i % 6;
                values[i] = ends[which];
            }
            SCOPED_TRACE(fmt::format("{} pattern {}", to_string(dtype), pattern));
            expect_round_trip(as_bytes_of(values, dtype), dtype, {50, 100});
        }
    }
}

TEST(Integers, of_several_slabs_come_back_and_threads_do_not_change_the_frame) {
    const std::size_t n = 2'700'000;
    const Bytes values = as_bytes_of(family("gaps", n, 4), DType::int64);
    const Bytes one = expect_round_trip(values, DType::int64, {n});
    CompressOptions options;
    options.threads = 2;
    const auto frame = compress(values, DType::int64, {n}, lossless(), options);
    ASSERT_TRUE(frame.ok());
    EXPECT_GT(read_frame_info(*frame)->slabs, 1u);
    EXPECT_EQ(*frame, one);
}

TEST(Integers, at_any_address_come_back) {
    const std::size_t n = 3001;
    for (const DType dtype : {DType::int16, DType::uint32, DType::int64}) {
        for (const char* name : {"gaps", "permuted"}) {
            const Bytes values = as_bytes_of(family(name, n, 2), dtype);
            Bytes memory(values.size() + 1);
            std::memcpy(memory.data() + 1, values.data(), values.size());
            const auto odd = std::span(memory).subspan(1);
            const auto frame = compress(odd, dtype, {n}, lossless());
            ASSERT_TRUE(frame.ok());
            EXPECT_EQ(*frame, expect_round_trip(values, dtype, {n}));
            std::fill(memory.begin(), memory.end(), std::byte{1});
            ASSERT_TRUE(decompress(*frame, odd).ok());
            EXPECT_TRUE(std::equal(odd.begin(), odd.end(), values.begin()));
        }
    }
}

TEST(Integers, make_the_same_bytes_on_every_instruction_set) {
    for (const std::string& name : family_names()) {
        for (const DType dtype : {DType::uint8, DType::int16, DType::uint32, DType::int64}) {
            SCOPED_TRACE(fmt::format("{} {}", name, to_string(dtype)));
            const Bytes values = as_bytes_of(family(name, 40000, 5), dtype);
            Bytes first;
            for_each_target([&](const char* target) {
                SCOPED_TRACE(target);
                const Bytes frame = expect_round_trip(values, dtype, {40, 1000});
                if (first.empty()) first = frame;
                EXPECT_EQ(frame, first);
            });
        }
    }
}

TEST(Integers, use_shared_tables_and_say_which) {
    const std::size_t n = 60000;
    TableStatistics statistics;
    CompressOptions options;
    options.statistics = &statistics;
    const Bytes values = as_bytes_of(family("counts", n, 1), DType::uint32);
    ASSERT_TRUE(compress(values, DType::uint32, {n}, lossless(), options).ok());
    ASSERT_FALSE(statistics.empty());
    const TableSet tables = statistics.train();
    options.statistics = nullptr;
    options.tables = &tables;
    const Bytes later = as_bytes_of(family("counts", n, 2), DType::uint32);
    const auto frame = compress(later, DType::uint32, {n}, lossless(), options);
    ASSERT_TRUE(frame.ok());
    EXPECT_EQ(read_frame_info(*frame)->table_set_id, tables.id());
    Bytes decoded(later.size());
    EXPECT_EQ(decompress(*frame, decoded).code(), StatusCode::invalid_argument);
    ASSERT_TRUE(decompress(*frame, decoded, &tables).ok());
    EXPECT_EQ(decoded, later);
}

TEST(Integers, with_an_error_bound_or_no_values_are_refused) {
    const Bytes values(80);
    for (const ErrorBound& bound : {absolute(1), relative(0.1), psnr(50)}) {
        const auto frame = compress(values, DType::int64, {10}, bound);
        ASSERT_FALSE(frame.ok());
        EXPECT_EQ(frame.status().code(), StatusCode::invalid_argument);
        EXPECT_NE(frame.status().message().find("int64"), std::string::npos);
    }
    for (const Shape& shape : {Shape{0}, Shape{9}, Shape{5, 0}}) {
        EXPECT_EQ(compress(values, DType::int64, shape, lossless()).status().code(),
                  StatusCode::invalid_argument);
    }
    EXPECT_EQ(compress({}, DType::uint8, {0}, lossless()).status().code(),
              StatusCode::invalid_argument);
    EXPECT_FALSE(compress(values, static_cast<DType>(16), {10}, lossless()).ok());
}

// ------------------------------------------- every transform and coder, whatever a sample says

struct Told {
    IntegerChoice choice;
    std::string name;
};

std::vector<Told> all_choices(std::size_t width, const FamilyValues& values) {
    std::vector<Told> all;
    const Neighbours k_neighbours[] = {{},
                                       {false, 1},
                                       {false, 2},
                                       {true, 1},
                                       {false, 0, 7},
                                       {false, 1, 7, 91},
                                       {true, 0, 1000, 3},
                                       {false, 2, 1, 1},
                                       {false, 0, 2000000}};
    const auto add = [&](IntegerChoice one, const std::string& name) {
        for (const IntegerCoder coder : {IntegerCoder::rans, IntegerCoder::planes}) {
            one.head.coder = coder;
            if (coder == IntegerCoder::planes) one.head.low_bytes = 0;
            all.push_back({one, name + (coder == IntegerCoder::rans ? ", codes" : ", planes")});
        }
    };
    for (const Neighbours& by : k_neighbours) {
        for (unsigned low = 0; low <= (width == 8 ? k_most_low_bytes : 0); ++low) {
            IntegerChoice one;
            one.head.transform.neighbours = by;
            one.head.transform.zigzag = low % 2 == 1 || by.order == 1;
            one.head.transform.base = 77 % (std::uint64_t{1} << (8 * width - 1));
            one.head.low_bytes = static_cast<std::uint8_t>(low);
            add(one, fmt::format("order {}, near {}, far {}, xor {}, {} low", by.order, by.near,
                                 by.far, by.exclusive_or, low));
        }
    }
    IntegerChoice smallest;
    smallest.head.transform.form = IntegerForm::smallest;
    add(smallest, "smallest");
    IntegerChoice listed;
    listed.head.transform.form = IntegerForm::dictionary;
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * width);
    for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 20); ++i) {
        const std::uint64_t value = values[i] & mask;
        if (std::count(listed.entries.begin(), listed.entries.end(), value) == 0)
            listed.entries.push_back(value);
    }
    listed.head.entries = static_cast<std::uint8_t>(listed.entries.size());
    add(listed, "dictionary");
    return all;
}

Bytes part_of(const Bytes& values, std::size_t width, const IntegerChoice& choice) {
    const TableSet tables;
    const IntegerTask task{{values.size() / width}, width == 2, &tables, true};
    IntegerEncoder encoder;
    Output out;
    encoder.encode_as_told(values, width, task, choice, out);
    return out.take();
}

Status decode_part(const Bytes& part, DType dtype, Bytes& values) {
    PredictorScratch scratch;
    PartDecoder decoder(scratch);
    FrameHeader header;
    header.version = k_integer_frame_version;
    header.dtype = dtype;
    header.shape = {values.size() / size_of(dtype)};
    return decoder.decode(part, header, header.shape, nullptr, values);
}

TEST(Integers, come_back_from_every_transform_and_coder) {
    for (const DType dtype : {DType::uint8, DType::int16, DType::uint32, DType::uint64}) {
        for (const char* name : {"noise", "gaps", "enumeration", "sorted_keys"}) {
            for (const std::size_t n : {1U, 90U, 2500U, 17000U}) {
                const FamilyValues raw = family(name, n, 6);
                const Bytes values = as_bytes_of(raw, dtype);
                for (const Told& told : all_choices(size_of(dtype), raw)) {
                    SCOPED_TRACE(fmt::format("{} {} {}: {}", name, to_string(dtype), n, told.name));
                    const Bytes part = part_of(values, size_of(dtype), told.choice);
                    Bytes decoded(values.size());
                    const Status status = decode_part(part, dtype, decoded);
                    ASSERT_TRUE(status.ok()) << status.message();
                    ASSERT_EQ(decoded, values);
                }
            }
        }
    }
}

TEST(Integers, of_broken_parts_of_every_kind_do_no_harm) {
    // The part lies on the heap, exactly as long as it is, for a sanitizer to see what is read.
    for (const DType dtype : {DType::uint8, DType::int16, DType::uint32, DType::uint64}) {
        const FamilyValues raw = family("sorted_keys", 300, 6);
        const Bytes values = as_bytes_of(raw, dtype);
        FamilyRandom random(9);
        for (const Told& told : all_choices(size_of(dtype), raw)) {
            SCOPED_TRACE(fmt::format("{}: {}", to_string(dtype), told.name));
            const Bytes part = part_of(values, size_of(dtype), told.choice);
            Bytes decoded(values.size());
            for (std::size_t at = 1; at < part.size(); ++at) {
                const Bytes cut(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(at));
                EXPECT_NE(decode_part(cut, dtype, decoded).code(), StatusCode::internal);
                Bytes changed = part;
                changed[at] ^= static_cast<std::byte>(1 + random.below(255));
                EXPECT_NE(decode_part(changed, dtype, decoded).code(), StatusCode::internal);
            }
        }
    }
}

}  // namespace
}  // namespace caesura::codec
