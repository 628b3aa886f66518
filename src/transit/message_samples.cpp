#include "transit/message_samples.hpp"

#include <algorithm>
#include <cmath>

namespace caesura::transit {
namespace {

std::array<std::byte, 16> counted(std::uint8_t from) {
    std::array<std::byte, 16> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(from + i);
    return out;
}

BeginDump sample_dump() {
    BeginDump dump;
    dump.request = 15, dump.dump = 3, dump.file = 2, dump.iteration = 120, dump.n_jobs = 2;
    dump.places = {{7, 3, 65536, 8192, 4096}, {7, 3, 81920, 4096, 65536}};
    dump.manifest = "{}";
    dump.manifest_region = 1;
    dump.slots = {160, 1024, 4096};
    dump.spill = {7, 3, 1 << 20, 4096, 0};
    dump.codecs = {{{"caesura:fast", {}, true},
                    float64,
                    {4, 6},
                    absolute(0.25),
                    {},
                    true,
                    {0xc0c3878000000000}},
                   {{"filter:32024", {1, 2}, {}}, float32, {9}, lossless(), {}, false}};
    dump.due_in_s = 7.5;
    return dump;
}

Block sample_block() {
    Block block;
    block.dump = 3, block.job = 1, block.label = "rho #5", block.dataset = 2, block.chunk = 5;
    block.dtype = float64;
    block.chunk_box = {{4, 6}, {4, 6}};
    block.valid = {4, 5};
    block.pieces = {{{{4, 6}, {4, 2}}, {{4, 6}, {4, 2}}, Source::payload, 8},
                    {{{4, 8}, {4, 3}}, {{0, 8}, {9, 4}}, Source::arena, 4096}};
    block.fill = {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3},
                  std::byte{4}, std::byte{5}, std::byte{6}, std::byte{7}};
    block.codec = 1;
    block.parts = {{{4, 3}, pointwise_relative(0.5), 1, false, false},
                   {{8}, lossless(), 2, true, false}};
    block.bundled = block.exactly = true;
    block.absolute_bound = 0.25;
    block.region = 1, block.slot = 6;
    block.expected_compress_s = 0.5;
    block.payload_bytes = 72;
    return block;
}

}  // namespace

std::vector<ClientMessage> client_samples() {
    std::vector<ClientMessage> all = {
        Hello{k_protocol_version, "nyx", 3, 8, {counted(0), 0x1112, 0x1314}, 1 << 30, 2.0},
        Share{{counted(16), 4711, 9, 0, 1 << 20}},
        Heartbeat{},
        Bye{},
        OpenFile{5, "/data/run.h5", base::FileSystem::Mode::create, base::FileLocking::yielding},
        CloseFile{6, 2},
        WriteFile{7, 2, 4096, true, 300},
        ReadFile{8, 2, 8192, 512},
        SyncFile{9, 2},
        TruncateFile{10, 2, 65536},
        SizeOfFile{11, 2},
        LockFile{12, 2, true},
        UnlockFile{13, 2},
        SyncDirectory{14, "/data/run.h5"},
        sample_dump(),
        sample_block(),
        StoredBlock{3, 0, "rho #4", 2, 4, 1, 1, 7, 1000},
        FinishDump{16, 3},
        EndSpill{17, 3},
        DropDump{18, 3},
        PressBlock{
            19,
            {{"caesura:fast", {}, {}}, float32, {4, 6}, absolute(0.5), {}, false, {0x7f800001}},
            {4, 5},
            true,
            80}};
    add_object_samples(all);
    return all;
}

std::vector<ServiceMessage> service_samples() {
    std::vector<ServiceMessage> all = {
        Welcome{k_protocol_version, 1 << 28, 5.0, {1 << 27, 1 << 26, 16, 4}, true},
        Refusal{Status{StatusCode::unsupported, "no"}},
        ServiceHeartbeat{},
        Draining{},
        Answer{8, {}, 2, 512},
        Taken{3, 1},
        Credit{1 << 20},
        BlockResult{3, 1, BlockState::overflowed, 1000, 1, 0.125, true, true, 0.5, {}, "cpu", 1000},
        Finished{16,
                 Status{StatusCode::no_space, "full"},
                 {{3, 2, 1, 5, 65792, 1000, 0xfedcba9876543210}},
                 {{69632, 4096}},
                 69632,
                 false},
        PressedBlock{19, {}, 1, 0.25, true, 0.5, 0.75, {}, "cpu", 60}};
    add_object_samples(all);
    return all;
}

namespace {

/// Statistics of a field as a simulation has them.
TableStatistics count_field() {
    std::vector<float> values(4096);
    std::mt19937 noise(5);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(0.1f * static_cast<float>(i % 64)) +
                    1e-2f * static_cast<float>(noise() % 1000) / 1000.0f;
    TableStatistics statistics;
    CompressOptions options;
    options.mode = Mode::fast;
    options.statistics = &statistics;
    (void)compress(std::as_bytes(std::span(values)), float32, {64, 64}, absolute(1e-3), options);
    return statistics;
}

}  // namespace

TableSet trained_tables() { return count_field().train(); }
std::vector<std::byte> counted_statistics() { return count_field().bytes(); }

// ------------------------------------------------------------------------------- random

std::uint64_t RandomMessages::any() {
    switch (below(4)) {
        case 0:
            return below(4);
        case 1:
            return ~below(4);
        case 2:
            return below(100000);
        default:
            return random_();
    }
}

std::string RandomMessages::text(std::size_t limit) {
    std::string out(below(8) == 0 ? limit : below(std::min<std::size_t>(limit, 40) + 1), ' ');
    for (char& c : out) c = static_cast<char>(below(256));
    return out;
}

std::string RandomMessages::line(std::size_t limit) {
    std::string out = text(limit);
    for (char& c : out) c = static_cast<char>(' ' + static_cast<unsigned char>(c) % 95);
    return out;
}

Status RandomMessages::status() {
    if (coin()) return {};
    return {static_cast<StatusCode>(1 + below(8)), text(k_reason_limit_bytes)};
}

ErrorBound RandomMessages::bound(bool of_part) {
    const double share = (1.0 + static_cast<double>(below(1000))) / 1002.0;
    switch (below(of_part ? 5 : 3)) {
        case 0:
            return lossless();
        case 1:
            return absolute(share * 1e6);
        case 2:
            return pointwise_relative(share);
        case 3:
            return relative(share);
        default:
            return psnr(share * 399.0);
    }
}

Piece RandomMessages::piece(const Block& block) {
    Piece piece;
    const Box valid{block.chunk_box.offset, block.valid};
    piece.part = piece.source_box = valid;
    for (int axis = 0; axis < block.valid.rank(); ++axis) {
        const std::uint64_t begin = below(block.valid[axis]);
        piece.part.offset[axis] += begin;
        piece.part.extent[axis] = 1 + below(block.valid[axis] - begin);
        const std::uint64_t before = below(1 + std::min<std::uint64_t>(3, piece.part.offset[axis]));
        piece.source_box.offset[axis] = piece.part.offset[axis] - before;
        piece.source_box.extent[axis] = before + piece.part.extent[axis] + below(3);
    }
    piece.source = coin() ? Source::arena : Source::payload;
    piece.offset = below(1000) * size_of(block.dtype);
    return piece;
}

void RandomMessages::add_parts(Block& block) {
    const std::uint64_t count = block.valid.count();
    switch (below(5)) {
        case 0:
            block.parts = {{block.valid, bound(true), any32(), coin(), false}};
            block.bundled = coin();
            return;
        case 1:  // one after the other
            block.bundled = true;
            for (std::uint64_t left = count; left > 0;) {
                const std::uint64_t n = 1 + below(left);
                block.parts.push_back({{1, n}, bound(true), any32(), coin(), false});
                left -= n;
            }
            return;
        case 2:  // taking turns
            block.bundled = true;
            for (std::uint64_t i = block.valid[0]; i > 0; --i)
                block.parts.push_back(
                    {{count / block.valid[0]}, bound(true), any32(), coin(), true});
            return;
        case 3: {  // a box of the block
            block.bundled = true;
            codec::BundlePart& part = block.parts.emplace_back();
            part = {block.valid, bound(true), any32(), coin(), false};
            part.offset = Shape::filled(block.valid.rank(), 0);
            part.offset[0] = below(block.valid[0]);
            part.shape[0] = block.valid[0] - part.offset[0];
            return;
        }
        default:
            return;
    }
}

Block RandomMessages::block() {
    Block block;
    block.dump = any();
    block.job = static_cast<std::uint32_t>(below(k_blocks_limit));
    block.label = text(k_label_limit_bytes);
    block.dataset = any32();
    block.chunk = any();
    block.dtype = coin() ? float64 : float32;
    const int axes = 1 + static_cast<int>(below(4));
    block.chunk_box = {Shape::filled(axes, 0), Shape::filled(axes, 1)};
    block.valid = Shape::filled(axes, 1);
    for (int axis = 0; axis < axes; ++axis) {
        block.chunk_box.offset[axis] = offset();
        block.chunk_box.extent[axis] = 1 + below(7);
        block.valid[axis] = 1 + below(block.chunk_box.extent[axis]);
    }
    for (std::uint64_t n = 1 + below(5); n > 0; --n) block.pieces.push_back(piece(block));
    for (const Piece& piece : block.pieces)
        if (piece.source == Source::payload)
            block.payload_bytes =
                std::max(block.payload_bytes,
                         piece.offset + piece.source_box.extent.count() * size_of(block.dtype));
    if (coin()) {
        block.fill.emplace();
        for (std::byte& byte : *block.fill) byte = static_cast<std::byte>(below(256));
    }
    block.codec = any32();
    add_parts(block);
    block.exactly = coin();
    block.absolute_bound = seconds();
    block.region = any32(), block.slot = any32();
    block.expected_compress_s = seconds();
    return block;
}

void RandomMessages::fill_places(BeginDump& dump) {
    const std::uint64_t n = below(6);
    const auto add = [&](std::uint64_t opening) {
        return store::RegionWriter::Place{static_cast<int>(below(1000)), dump.dump, 0,
                                          store::align_up(opening) + 4096 * below(5),
                                          4096 * below(100)};
    };
    dump.manifest_region = static_cast<std::uint32_t>(n > 0 ? below(n) : any());
    if (n > 0 && coin()) dump.manifest = text(20000);
    for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t manifest_bytes = i == dump.manifest_region ? dump.manifest.size() : 0;
        std::uint64_t opening = store::region_overhead_bytes(0, manifest_bytes);
        if (i + 1 == n && coin()) {
            std::vector<std::uint64_t> capacities(1 + below(5));
            for (std::uint64_t& capacity : capacities) capacity = below(3000);
            dump.slots = store::slot_offsets(capacities, manifest_bytes);
            opening = dump.slots.back();
        }
        dump.places.push_back(add(opening));
    }
    if (coin()) dump.spill = add(store::region_overhead_bytes(0, 0));
    if (coin()) dump.due_in_s = static_cast<double>(below(1000)) / 8.0;
    // Apart from each other, in any order.
    std::vector<store::RegionWriter::Place*> order;
    for (auto& place : dump.places) order.push_back(&place);
    if (dump.spill) order.push_back(&*dump.spill);
    std::shuffle(order.begin(), order.end(), random_);
    std::uint64_t at = store::first_region_address();
    for (store::RegionWriter::Place* place : order) {
        place->address = at += 4096 * below(3);
        at += place->bytes;
    }
}

DatasetCodec RandomMessages::codec() {
    static const TableSet trained = trained_tables();
    DatasetCodec codec;
    codec.spec.name = text(k_name_limit_bytes);
    codec.spec.cd_values.resize(below(5));
    for (unsigned& value : codec.spec.cd_values) value = any32();
    if (coin()) codec.spec.verify = coin();
    codec.dtype = coin() ? float64 : float32;
    codec.chunk = Shape::filled(1 + static_cast<int>(below(4)), 1 + below(100));
    codec.bound = bound(false);
    if (coin()) codec.tables = trained;
    codec.gather = coin();
    codec.missing.resize(below(4));
    for (std::uint64_t& bits : codec.missing) bits = any();
    std::ranges::sort(codec.missing);
    codec.missing.erase(std::unique(codec.missing.begin(), codec.missing.end()),
                        codec.missing.end());
    return codec;
}

BeginDump RandomMessages::begin_dump() {
    BeginDump dump;
    dump.request = any(), dump.dump = any(), dump.file = any32(), dump.iteration = any();
    dump.n_jobs = static_cast<std::uint32_t>(below(k_blocks_limit + 1));
    fill_places(dump);
    dump.durable = coin();
    for (std::uint64_t n = below(4); n > 0; --n) dump.codecs.push_back(codec());
    return dump;
}

Finished RandomMessages::finished(const BeginDump& dump) {
    Finished finished;
    finished.request = any();
    finished.status = status();
    finished.is_whole = coin();
    for (const auto& place : dump.places) {
        if (place.bytes < 8192) continue;
        finished.records.push_back({dump.dump, any32(), any32(), any(), place.address + 192,
                                    1 + below(4096 - 192), any()});
        finished.tails.push_back({place.address + 4096, place.bytes - 4096});
        finished.used_end = std::max(finished.used_end, place.address + 4096);
    }
    return finished;
}

ClientMessage RandomMessages::file_message(std::size_t kind) {
    using Mode = base::FileSystem::Mode;
    std::string path = "/" + text(k_path_limit_bytes - 1);
    std::replace(path.begin(), path.end(), '\0', '0');
    switch (kind) {
        case 4:
            return OpenFile{any(), path, static_cast<Mode>(below(3)),
                            static_cast<base::FileLocking>(below(4))};
        case 5:
            return CloseFile{any(), any32()};
        case 6:
            return WriteFile{any(), any32(), offset(), coin(), below(k_io_limit_bytes + 1)};
        case 7:
            return ReadFile{any(), any32(), offset(), below(k_io_limit_bytes + 1)};
        case 8:
            return SyncFile{any(), any32()};
        case 9:
            return TruncateFile{any(), any32(), offset()};
        case 10:
            return SizeOfFile{any(), any32()};
        case 11:
            return LockFile{any(), any32(), coin()};
        case 12:
            return UnlockFile{any(), any32()};
        default:
            return SyncDirectory{any(), path};
    }
}

constexpr std::size_t k_first_about_objects = 21;

ClientMessage RandomMessages::client(std::size_t kind) {
    std::array<std::byte, 16> bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(below(256));
    const auto size = static_cast<std::int32_t>(1 + below(k_ranks_limit));
    const auto rank = static_cast<std::int32_t>(below(static_cast<std::uint64_t>(size)));
    switch (kind) {
        case 0:
            return Hello{k_protocol_version,
                         line(k_name_limit_bytes),
                         rank,
                         size,
                         {bytes, any(), any()},
                         any(),
                         1e-3 + seconds()};
        case 1:
            return Share{{bytes, static_cast<std::int64_t>(1 + below(1u << 22)), rank, 0,
                          64 + below(k_arena_limit_bytes - 63)}};
        case 2:
            return Heartbeat{};
        case 3:
            return Bye{};
        case 14:
            return begin_dump();
        case 15:
            return block();
        case 16:
            return StoredBlock{any(),
                               static_cast<std::uint32_t>(below(k_blocks_limit)),
                               text(k_label_limit_bytes),
                               any32(),
                               any(),
                               any32(),
                               any32(),
                               any32(),
                               1 + below(k_block_limit_bytes)};
        case 17:
            return FinishDump{any(), any()};
        case 18:
            return EndSpill{any(), any()};
        case 19:
            return DropDump{any(), any()};
        case 20:
            return press();
        default:
            return kind < k_first_about_objects ? file_message(kind)
                                                : object_message(kind - k_first_about_objects);
    }
}

BlockResult RandomMessages::result() {
    static const std::vector<std::byte> statistics = counted_statistics();
    BlockResult result;
    result.dump = any();
    result.job = static_cast<std::uint32_t>(below(k_blocks_limit));
    result.state = coin() ? BlockState::overflowed : BlockState::written;
    result.stored_bytes = 1 + below(k_block_limit_bytes);
    result.filter_mask = any32();
    if (coin()) result.max_error = seconds();
    result.fell_back = coin(), result.stored_raw = coin();
    result.compress_s = seconds();
    if (coin()) result.statistics = statistics;
    result.device = text(k_name_limit_bytes);
    if (result.state == BlockState::overflowed) result.payload_bytes = result.stored_bytes;
    return result;
}

PressBlock RandomMessages::press() {
    PressBlock press;
    press.request = any();
    press.codec = codec();
    press.valid = press.codec.chunk;
    for (int axis = 0; axis < press.valid.rank(); ++axis)
        press.valid[axis] = 1 + below(press.valid[axis]);
    press.exactly = coin();
    press.payload_bytes = press.valid.count() * size_of(press.codec.dtype);
    return press;
}

PressedBlock RandomMessages::pressed() {
    PressedBlock pressed;
    pressed.request = any();
    pressed.status = status();
    pressed.filter_mask = any32();
    if (coin()) pressed.max_error = seconds();
    pressed.fell_back = coin();
    pressed.compress_s = seconds();
    pressed.utilisation = static_cast<double>(below(1001)) / 1000.0;
    pressed.device = text(k_name_limit_bytes);
    if (pressed.status.ok()) pressed.payload_bytes = 1 + below(k_block_limit_bytes);
    return pressed;
}

ServiceMessage RandomMessages::service(std::size_t kind) {
    switch (kind) {
        case 0:
            return Welcome{
                k_protocol_version,
                offset(),
                1e-3 + seconds(),
                {1 + below(k_block_limit_bytes), 1 + below(k_io_limit_bytes), any32(), any32()},
                coin()};
        case 1:
            return Refusal{{static_cast<StatusCode>(1 + below(8)), text(k_reason_limit_bytes)}};
        case 2:
            return ServiceHeartbeat{};
        case 3:
            return Draining{};
        case 4: {
            Answer answer{any(), status(), any(), 0};
            if (answer.status.ok()) answer.payload_bytes = below(k_io_limit_bytes + 1);
            return answer;
        }
        case 5:
            return Taken{any(), static_cast<std::uint32_t>(below(k_blocks_limit))};
        case 6:
            return Credit{1 + offset()};
        case 7:
            return result();
        case 8:
            return finished(begin_dump());
        default:
            return kind == 9 ? ServiceMessage(pressed()) : object_answer(kind - 10);
    }
}

}  // namespace caesura::transit
