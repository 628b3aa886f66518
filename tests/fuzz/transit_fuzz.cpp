// Fuzzing of what a client and the service tell each other: any bytes are a message or an error,
// and a message that passes can be acted on.
//
// An input is the payload's length, 4 bytes, and the message. What passes has to come back byte for
// byte; a block is gathered from sources of just the lengths that it says, its arrays are made a
// bundle of, and slots have to hold a prefix. Built with libFuzzer by clang, and with replay.cpp by
// any compiler.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/little_endian.hpp"
#include "store/region_format.hpp"
#include "transit/messages.hpp"

namespace {

using namespace caesura;
using namespace caesura::transit;

// Larger ones find nothing that smaller ones do not, and take longer.
constexpr std::uint64_t k_limit_bytes = std::uint64_t{1} << 16;

void require(bool condition) {
    if (!condition) std::abort();
}

void use_block(const Block& block) {
    (void)covers_all(block);
    const std::uint64_t arena_bytes = arena_end(block);
    if (arena_bytes > k_limit_bytes || block.payload_bytes > k_limit_bytes ||
        block.raw_bytes() > k_limit_bytes)
        return;
    const std::vector<std::byte> payload(block.payload_bytes), arena(arena_bytes);
    std::vector<std::byte> chunk(block.raw_bytes());
    const Box valid{block.chunk_box.offset, block.valid};
    for (const Piece& piece : block.pieces) {
        const auto& memory = piece.source == Source::arena ? arena : payload;
        copy_box(piece.part, piece.source_box, memory.data() + piece.offset, valid, chunk.data(),
                 size_of(block.dtype));
    }
    if (block.parts.empty() || chunk.size() > 1024) return;
    const auto made = block.bundled ? codec::compress_bundle(chunk, block.dtype, block.parts)
                                    : codec::compress_part(chunk, block.dtype, block.parts[0]);
    require(made.ok());
}

void use_dump(const BeginDump& dump) {
    for (std::size_t i = 1; i < dump.slots.size(); ++i)
        require(dump.slots[i] >= dump.slots[i - 1] + store::k_block_prefix_bytes);
    require(dump.slots.empty() || dump.slots.back() <= dump.places.back().bytes);
    require(dump.manifest.empty() || dump.manifest_region < dump.places.size());
    Finished finished;
    for (const auto& place : dump.places)
        finished.records.push_back({place.dump, 0, 0, 0, place.address + 64, 1, 0});
    require(lies_in(finished, dump).ok());
}

// What a session takes as it is.
void use_object(const ClientMessage& message) {
    if (const auto* put = std::get_if<PutRegion>(&message)) {
        const std::uint64_t bytes = put->box.extent.count() * size_of(put->dtype);
        require(put->chained ? put->payload_bytes <= chained_limit_bytes(bytes)
                             : put->payload_bytes == bytes);
    }
    if (const auto* create = std::get_if<CreateObject>(&message))
        require(create->shape.count() > 0 && !create->name.empty() &&
                (!create->chain.text.empty() || create->chain.side == ChainSide::client));
    if (const auto* find = std::get_if<FindObjects>(&message))
        require(find->most > 0 && (!find->values || find->values->lowest <= find->values->highest));
}

template <class Message>
void check_bytes(const Result<Message>& message, std::span<const std::byte> bytes) {
    if (!message.ok()) return require(message.status().code() != StatusCode::internal);
    const auto again = encode(*message);
    require(again.ok() && again->size() == bytes.size() &&
            std::equal(bytes.begin(), bytes.end(), again->begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    const auto input = std::as_bytes(std::span(data, size));
    const std::uint64_t payload_bytes = base::get_little(input.data(), 4);
    const auto bytes = input.subspan(4);
    const auto client = parse_client(bytes, payload_bytes);
    const auto service = parse_service(bytes, payload_bytes);
    require(!client.ok() || !service.ok());
    check_bytes(client, bytes);
    check_bytes(service, bytes);
    if (!client.ok()) return 0;
    use_object(*client);
    if (const auto* block = std::get_if<Block>(&*client)) use_block(*block);
    if (const auto* dump = std::get_if<BeginDump>(&*client)) use_dump(*dump);
    return 0;
}
