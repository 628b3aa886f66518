// What parsing takes of memory, whatever a message says. In a program of its own: it replaces
// operator new.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/little_endian.hpp"
#include "transit/message_samples.hpp"

namespace {

std::size_t held_bytes = 0, most_bytes = 0;

void* take(std::size_t bytes) {
    void* const memory = std::malloc(bytes > 0 ? bytes : 1);
    if (memory == nullptr) throw std::bad_alloc();
    held_bytes += malloc_usable_size(memory);
    most_bytes = std::max(most_bytes, held_bytes);
    return memory;
}

void give_back(void* memory) {
    if (memory != nullptr) held_bytes -= malloc_usable_size(memory);
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }

namespace caesura::transit {
namespace {

constexpr std::size_t k_some_bytes = 16384;  // error messages, a table set

/// The most that parsing these bytes has held at once.
std::size_t cost_bytes(std::span<const std::byte> bytes, bool from_client, std::uint64_t payload) {
    const std::size_t before = most_bytes = held_bytes;
    if (from_client)
        (void)parse_client(bytes, payload);
    else
        (void)parse_service(bytes, payload);
    return most_bytes - before;
}

// Goal: a count of 2^32 - 1, or of as many as a limit allows, costs nothing by itself.
TEST(MessageMemory, is_not_taken_for_numbers_that_are_only_said) {
    const auto look_at = [](const auto& message, bool from_client) {
        const auto good = encode(message);
        ASSERT_TRUE(good.ok()) << good.status().message();
        for (const std::uint64_t count : {0xffffffffull, 1048576ull, 65536ull, 1024ull})
            for (std::size_t at = 1; at + 4 <= good->size(); ++at) {
                std::vector<std::byte> bad = *good;
                base::put_little(&bad[at], count, 4);
                ASSERT_LE(cost_bytes(bad, from_client, payload_bytes_of(message)),
                          8 * bad.size() + k_some_bytes)
                    << message.index() << " " << at << " " << count;
            }
    };
    for (const ClientMessage& message : client_samples()) look_at(message, true);
    for (const ServiceMessage& message : service_samples()) look_at(message, false);
}

// Goal: the list whose items need the most memory for their bytes stays below the stated factor.
TEST(MessageMemory, of_long_lists_is_less_than_eight_times_their_bytes) {
    BeginDump dump;
    dump.codecs.assign(50000, {{"", {}, {}}, float32, {1}, lossless(), {}, false});
    Block parts;
    parts.chunk_box = {{0}, {100000}};
    parts.valid = {100000};
    parts.bundled = true;
    parts.parts.assign(100000, {{1}, lossless(), 0, false, false});
    parts.pieces = {{parts.chunk_box, parts.chunk_box, Source::arena, 0}};
    Block pieces = parts;
    pieces.parts.clear();
    pieces.bundled = false;
    pieces.pieces.assign(100000, parts.pieces[0]);
    for (const ClientMessage& message :
         {ClientMessage(dump), ClientMessage(parts), ClientMessage(pieces)}) {
        const auto bytes = encode(message);
        ASSERT_TRUE(bytes.ok()) << bytes.status().message();
        ASSERT_LT(cost_bytes(*bytes, true, 0), 8 * bytes->size());
        ASSERT_GT(cost_bytes(*bytes, true, 0), bytes->size());  // or nothing is counted
    }
}

}  // namespace
}  // namespace caesura::transit
