// What a block or a dump must be to pass, and that what passes can be acted on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/region_format.hpp"
#include "transit/message_fields.hpp"
#include "transit/message_samples.hpp"

namespace caesura::transit {
namespace {

Block good_block() { return std::get<Block>(client_samples()[15]); }
BeginDump good_dump() { return std::get<BeginDump>(client_samples()[14]); }

/// The sender refuses it, and so does the receiver, for the same reason, with this word.
template <class M, class Change>
void expect_found(M message, const char* word, Change change) {
    change(message);
    const auto sent = encode(ClientMessage(message));
    ASSERT_EQ(sent.status().code(), StatusCode::invalid_argument) << word;
    ASSERT_NE(sent.status().message().find(word), std::string::npos) << sent.status().message();
    FieldWriter writer(M::k_kind);
    fields(writer, message);
    const auto came = parse_client(writer.take(), payload_bytes_of(ClientMessage(message)));
    ASSERT_EQ(came.status().code(), StatusCode::corrupt) << word;
    ASSERT_EQ(came.status().message(), sent.status().message());
}

constexpr std::uint64_t k_huge = ~std::uint64_t{0};

TEST(BlockChecks, find_chunks_that_are_none) {
    const auto found = [](const char* word, auto change) {
        expect_found(good_block(), word, change);
    };
    found("job", [](Block& m) { m.job = k_blocks_limit; });
    found("chunk", [](Block& m) { m.chunk_box.extent[0] = 3; });  // below valid
    found("chunk", [](Block& m) { m.chunk_box.extent[1] = 0; });
    found("chunk", [](Block& m) { m.chunk_box.extent[1] = k_huge; });
    found("chunk", [](Block& m) { m.chunk_box.extent[1] = std::uint64_t{1} << 27; });  // 4 GiB
    found("chunk", [](Block& m) { m.chunk_box.offset[0] = k_huge - 1; });
    found("chunk", [](Block& m) { m.chunk_box.offset[0] = k_offset_limit; });
    found("chunk", [](Block& m) { m.valid[0] = 0; });
    found("chunk", [](Block& m) { m.valid[0] = 5; });
    found("absolute_bound", [](Block& m) { m.absolute_bound = -0.5; });
    found("absolute_bound", [](Block& m) { m.absolute_bound = std::nan(""); });
    found("expected_compress_s", [](Block& m) { m.expected_compress_s = 1e300; });
}

TEST(BlockChecks, find_pieces_outside_of_something) {
    const auto found = [](const char* word, auto change) {
        expect_found(good_block(), word, change);
    };
    found("no pieces", [](Block& m) { m.pieces.clear(); });
    found("piece 0", [](Block& m) { m.pieces[0].part.extent[0] = 0; });
    found("piece 0", [](Block& m) { m.pieces[0].part.offset[0] = 3; });  // in front of the chunk
    found("piece 0", [](Block& m) { m.pieces[0].part.offset[0] = k_huge - 1; });
    found("piece 1", [](Block& m) { m.pieces[1].part.extent[1] = 4; });  // beyond valid
    found("piece 1", [](Block& m) { m.pieces[1].source_box.extent[1] = 2; });
    found("piece 1", [](Block& m) { m.pieces[1].source_box.offset[0] = 5; });
    found("piece 1", [](Block& m) { m.pieces[1].source_box.extent[0] = k_huge; });
    found("piece 1", [](Block& m) { m.pieces[1].source_box.extent[0] = k_offset_limit; });
    found("piece 1", [](Block& m) { m.pieces[1].offset = k_arena_limit_bytes - 8; });
    found("piece 1", [](Block& m) { m.pieces[1].offset = k_huge - 7; });
    found("piece 1", [](Block& m) { m.pieces[1].offset = 4097; });
    found("piece 0", [](Block& m) { m.pieces[0].offset = 16; });  // beyond the payload
    found("piece 0", [](Block& m) { m.pieces[0].offset = 4; });
    found("piece 0", [](Block& m) { m.payload_bytes = 71; });
    found("payload", [](Block& m) { m.pieces.erase(m.pieces.begin()); });
}

TEST(BlockChecks, find_arrays_that_are_not_the_block) {
    const auto found = [](const char* word, auto change) {
        expect_found(good_block(), word, change);
    };
    found("bundle", [](Block& m) { m.parts.clear(); });
    found("bundle", [](Block& m) { m.bundled = false; });
    found("leave 64", [](Block& m) { m.parts.pop_back(); });
    found("no room", [](Block& m) { m.parts[1].shape[0] = 9; });
    found("no room", [](Block& m) { m.parts[1].shape[0] = 0; });
    found("no room", [](Block& m) { m.parts[0].shape = {std::uint64_t{1} << 32, k_huge}; });
    found("bound", [](Block& m) { m.parts[0].bound = absolute(-1); });
    found("bound", [](Block& m) { m.parts[0].bound = relative(1.5); });
    found("take turns", [](Block& m) { m.parts[1].interleaved = true; });
    found("take turns", [](Block& m) { m.parts[0].interleaved = m.parts[1].interleaved = true; });
}

TEST(BlockChecks, want_stored_blocks_to_have_bytes) {
    const auto stored = std::get<StoredBlock>(client_samples()[16]);
    expect_found(stored, "job", [](StoredBlock& m) { m.job = k_blocks_limit; });
    expect_found(stored, "0 bytes", [](StoredBlock& m) { m.payload_bytes = 0; });
    expect_found(stored, "bytes", [](StoredBlock& m) { m.payload_bytes = std::uint64_t{1} << 32; });
}

TEST(DumpChecks, find_places_that_no_region_can_have) {
    const auto found = [](const char* word, auto change) {
        expect_found(good_dump(), word, change);
    };
    found("jobs", [](BeginDump& m) { m.n_jobs = k_blocks_limit + 1; });
    found("due_in_s", [](BeginDump& m) { m.due_in_s = -1.0; });
    found("due_in_s", [](BeginDump& m) { m.due_in_s = std::nan(""); });
    found("place", [](BeginDump& m) { m.places[0].address += 8; });
    found("place", [](BeginDump& m) { m.places[0].address = 61440; });  // in the file's header
    found("place", [](BeginDump& m) { m.places[0].address = k_offset_limit - 4095; });
    found("place", [](BeginDump& m) { m.places[0].address = k_huge - 4095; });
    found("place", [](BeginDump& m) { m.places[0].bytes = 0; });
    found("place", [](BeginDump& m) { m.places[0].bytes = k_huge - 4095; });
    found("place", [](BeginDump& m) { m.places[0].bytes += 8; });
    found("place", [](BeginDump& m) { m.places[0].previous = 1; });
    found("place", [](BeginDump& m) { m.places[0].rank = -1; });
    found("place", [](BeginDump& m) { m.places[0].dump = 4; });
    found("overlap", [](BeginDump& m) { m.places[0].bytes = 20480; });
    found("overlap", [](BeginDump& m) { m.places[0].address = 81920; });
    found("spill", [](BeginDump& m) { m.spill->dump = 4; });
    found("overlap", [](BeginDump& m) { m.spill->address = 69632; });
    found("manifest", [](BeginDump& m) { m.manifest_region = 2; });
    found("place", [](BeginDump& m) { m.manifest.assign(5000, ' '); });  // does not fit
}

TEST(DumpChecks, find_slots_that_no_region_can_have) {
    const auto found = [](const char* word, auto change) {
        expect_found(good_dump(), word, change);
    };
    found("slots", [](BeginDump& m) { m.slots = {160}; });
    found("slots", [](BeginDump& m) { m.places.clear(), m.manifest.clear(); });
    found("slot", [](BeginDump& m) { m.slots[0] = 152; });   // in the table
    found("slot", [](BeginDump& m) { m.slots[1] = 216; });   // no room for a prefix
    found("slot", [](BeginDump& m) { m.slots[1] = 1023; });  // not a multiple of 8
    found("slot", [](BeginDump& m) { m.slots[1] = 96; });    // goes back
    found("slot", [](BeginDump& m) { m.slots[2] = 4104; });  // beyond the place
    found("slot", [](BeginDump& m) { m.slots[2] = k_huge - 7; });
}

TEST(DumpChecks, find_codecs_that_cannot_be_made) {
    const auto found = [](const char* word, auto change) {
        expect_found(good_dump(), word, change);
    };
    found("codec 0", [](BeginDump& m) { m.codecs[0].bound = absolute(0); });
    found("codec 0", [](BeginDump& m) { m.codecs[0].bound = relative(0.1); });
    found("codec 0", [](BeginDump& m) { m.codecs[0].bound = psnr(60); });
    found("codec 1", [](BeginDump& m) { m.codecs[1].chunk = {0}; });
    found("codec 1", [](BeginDump& m) { m.codecs[1].chunk = {std::uint64_t{1} << 30}; });
    found("codec 1", [](BeginDump& m) { m.codecs[1].chunk = {k_huge, k_huge, k_huge, k_huge}; });
    BeginDump dump = good_dump();
    dump.codecs[0].tables = trained_tables();
    auto bytes = encode(ClientMessage(dump));
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    const auto tables = dump.codecs[0].tables.bytes();
    const auto at = std::search(bytes->begin(), bytes->end(), tables.begin(), tables.end());
    ASSERT_NE(at, bytes->end());
    at[20] ^= std::byte{1};
    EXPECT_EQ(parse_client(*bytes, 0).status().code(), StatusCode::corrupt);
}

// ------------------------------------------------------- what passes can be acted on

/// The valid part, gathered as the service would, from memory that has not one byte more.
void gather_from_exact_memory(const Block& block) {
    const std::vector<std::byte> payload(block.payload_bytes), arena(arena_end(block));
    std::vector<std::byte> chunk(block.raw_bytes());
    const Box valid{block.chunk_box.offset, block.valid};
    for (const Piece& piece : block.pieces) {
        const auto& memory = piece.source == Source::arena ? arena : payload;
        copy_box(piece.part, piece.source_box, memory.data() + piece.offset, valid, chunk.data(),
                 size_of(block.dtype));
    }
}

// Goal: whatever bytes pass, nothing outside of payload and shared memory is read. AddressSanitizer
// looks on.
TEST(BlockChecks, let_nothing_pass_that_reads_outside_its_sources) {
    constexpr std::uint64_t k_seed = 2106, k_most_bytes = 1 << 20;
    RandomMessages random(k_seed);
    int passed = 0;
    for (int i = 0; i < 3000; ++i) {
        const Block block = random.block();
        auto bytes = encode(ClientMessage(block));
        ASSERT_TRUE(bytes.ok()) << bytes.status().message();
        for (int change = 0; change < 4; ++change) {
            const auto parsed = parse_client(*bytes, block.payload_bytes);
            if (!parsed.ok()) break;
            const Block& found = std::get<Block>(*parsed);
            if (arena_end(found) <= k_most_bytes && found.raw_bytes() <= k_most_bytes) {
                gather_from_exact_memory(found);
                ++passed;
            }
            const std::size_t at = random.below(bytes->size());
            (*bytes)[at] =
                static_cast<std::byte>(random.coin() ? random.below(8) : random.below(256));
        }
    }
    EXPECT_GT(passed, 4000);
}

// Goal: arrays of a block that passes are as many values as it has, so bundles can be made.
TEST(BlockChecks, find_boxes_that_do_not_lie_in_the_block) {
    const auto refused = [](const char* word, auto change) {
        Block block = good_block();
        block.bundled = true;
        block.parts = {{block.valid, lossless(), 0}};
        block.parts[0].offset = Shape::filled(block.valid.rank(), 0);
        ASSERT_TRUE(encode(ClientMessage(block)).ok());
        expect_found(block, word, change);
    };
    refused("a box", [](Block& m) { m.parts[0].offset[0] = 1; });
    refused("a box", [](Block& m) { m.parts[0].offset[1] = k_huge; });
    refused("no bundle", [](Block& m) { m.bundled = false; });
    refused("no room", [](Block& m) { m.parts.push_back(m.parts[0]); });
}

TEST(BlockChecks, let_only_arrays_pass_that_make_a_bundle) {
    RandomMessages random(2107);
    int made = 0;
    for (int i = 0; i < 500; ++i) {
        const Block block = random.block();
        if (block.parts.empty()) continue;
        const std::vector<std::byte> values(block.raw_bytes());
        const bool boxes = block.parts[0].offset.rank() > 0;
        const codec::Canvas canvas{block.valid};
        const auto bundle = block.bundled
                                ? codec::compress_bundle(values, block.dtype, block.parts, {},
                                                         boxes ? &canvas : nullptr)
                                : codec::compress_part(values, block.dtype, block.parts[0]);
        ASSERT_TRUE(bundle.ok()) << bundle.status().message();
        ++made;
    }
    EXPECT_GT(made, 200);
}

bool covers_by_counting(const Block& block) {
    std::vector<std::byte> seen(block.valid.count());
    const std::vector<std::byte> ones(block.valid.count(), std::byte{1});
    const Box valid{block.chunk_box.offset, block.valid};
    for (const Piece& piece : block.pieces)
        copy_box(piece.part, valid, ones.data(), valid, seen.data(), 1);
    return std::all_of(seen.begin(), seen.end(), [](std::byte b) { return b == std::byte{1}; });
}

// Goal: never said of a block that is open somewhere; and said of every tiling of few pieces.
TEST(Coverage, is_never_promised_for_an_open_block) {
    RandomMessages random(2108);
    int covered = 0, open = 0;
    for (int i = 0; i < 5000; ++i) {
        Block block = random.block();
        const bool is_covered = covers_by_counting(block);
        ++(is_covered ? covered : open);
        if (covers_all(block)) {
            ASSERT_TRUE(is_covered) << i;
        }
        // One piece, cut in two again and again.
        block.pieces.resize(1);
        block.pieces[0].part = {block.chunk_box.offset, block.valid};
        ASSERT_TRUE(covers_all(block));
        for (std::uint64_t cuts = random.below(12); cuts > 0; --cuts) {
            const std::size_t cut = random.below(block.pieces.size());
            const int axis =
                static_cast<int>(random.below(static_cast<std::uint64_t>(block.valid.rank())));
            Piece first = block.pieces[cut], second = first;
            if (first.part.extent[axis] < 2) continue;
            const std::uint64_t n = 1 + random.below(first.part.extent[axis] - 1);
            first.part.extent[axis] = n;
            second.part.offset[axis] += n;
            second.part.extent[axis] -= n;
            block.pieces[cut] = first;
            block.pieces.push_back(second);
        }
        ASSERT_TRUE(covers_all(block)) << i;
        if (block.pieces.size() < 2) continue;
        block.pieces.erase(block.pieces.begin() +
                           static_cast<std::ptrdiff_t>(random.below(block.pieces.size())));
        ASSERT_FALSE(covers_all(block)) << i;
    }
    EXPECT_GT(covered, 200);
    EXPECT_GT(open, 200);
}

TEST(Coverage, of_many_pieces_is_left_to_the_fill) {
    Block block;
    block.chunk_box = {{0}, {k_cover_pieces + 1}};
    block.valid = {k_cover_pieces};
    for (std::uint64_t i = 0; i < k_cover_pieces; ++i)
        block.pieces.push_back({{{i}, {1}}, {{i}, {1}}, Source::arena, 0});
    EXPECT_TRUE(covers_all(block));
    block.valid = {k_cover_pieces + 1};
    block.pieces.push_back({{{k_cover_pieces}, {1}}, {{k_cover_pieces}, {1}}, Source::arena, 0});
    EXPECT_FALSE(covers_all(block));
    block.pieces.push_back({block.chunk_box, block.chunk_box, Source::arena, 0});
    EXPECT_TRUE(covers_all(block));
}

// Goal: slots of a dump that passes are what RegionWriter counts on.
TEST(DumpChecks, let_only_slots_pass_that_hold_a_prefix) {
    RandomMessages random(2109);
    int passed = 0;
    for (int i = 0; i < 2000; ++i) {
        BeginDump dump = random.begin_dump();
        if (dump.slots.empty()) continue;
        std::uint64_t& slot = dump.slots[random.below(dump.slots.size())];
        slot += 8 * random.below(100) - 8 * random.below(100);
        if (!encode(ClientMessage(dump)).ok()) continue;
        ++passed;
        const auto& last = dump.places.back();
        ASSERT_LE(dump.slots.back(), last.bytes);
        for (std::size_t s = 1; s < dump.slots.size(); ++s)
            ASSERT_GE(dump.slots[s], dump.slots[s - 1] + store::k_block_prefix_bytes);
    }
    EXPECT_GT(passed, 100);
}

// --------------------------------------------------------------- messages beside each other

TEST(Fitting, wants_the_dumps_own_jobs_and_codecs) {
    const BeginDump dump = good_dump();
    Block block = good_block();
    block.codec = 0;
    block.chunk_box.extent = {4, 6};
    EXPECT_TRUE(fits(block, dump).ok());
    const auto misfits = [&](auto change) {
        Block other = block;
        change(other);
        EXPECT_EQ(fits(other, dump).code(), StatusCode::corrupt);
    };
    misfits([](Block& m) { m.dump = 4; });
    misfits([](Block& m) { m.job = 2; });
    misfits([](Block& m) { m.codec = 1; });
    misfits([](Block& m) { m.codec = 2; });
    misfits([](Block& m) { m.dtype = float32; });
    misfits([](Block& m) { m.chunk_box.extent = {4, 7}; });
    auto stored = std::get<StoredBlock>(client_samples()[16]);
    EXPECT_TRUE(fits(stored, dump).ok());
    stored.job = 2;
    EXPECT_FALSE(fits(stored, dump).ok());
    stored.job = 0, stored.dump = 2;
    EXPECT_FALSE(fits(stored, dump).ok());
}

TEST(Fitting, finds_records_outside_the_dumps_places) {
    RandomMessages random(2110);
    int tried = 0;
    for (int i = 0; i < 500; ++i) {
        const BeginDump dump = random.begin_dump();
        const Finished good = random.finished(dump);
        ASSERT_TRUE(lies_in(good, dump).ok()) << lies_in(good, dump).message();
        if (good.records.empty()) continue;
        ++tried;
        const auto misfits = [&](auto change) {
            Finished other = good;
            change(other);
            EXPECT_EQ(lies_in(other, dump).code(), StatusCode::corrupt);
        };
        const std::uint64_t end = good.tails[0].end();
        misfits([](Finished& m) { m.records[0].dump ^= 1; });
        misfits([](Finished& m) { m.records[0].address -= 192 - 63; });
        misfits([&](Finished& m) { m.records[0].bytes = end - m.records[0].address + 1; });
        misfits([](Finished& m) { m.records[0].address = std::uint64_t{1} << 40; });
        misfits([](Finished& m) { m.tails[0].bytes += 4096; });
        misfits([](Finished& m) { m.tails[0].bytes -= 8; });
        misfits([](Finished& m) { m.tails[0].bytes = 0; });
        misfits([](Finished& m) { m.tails[0].address += 8; });
        misfits([](Finished& m) { m.used_end = std::uint64_t{1} << 40; });
        misfits([](Finished& m) { m.used_end = 65536; });
    }
    EXPECT_GT(tried, 100);
}

}  // namespace
}  // namespace caesura::transit
