#include "store/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/file.hpp"
#include "store/byte_order.hpp"
#include "store/checksum.hpp"
#include "store/shared_file.hpp"

namespace caesura::store {
namespace {

constexpr std::array<char, 8> k_magic = {'\x8a', 'C', 'A', 'E', 'S', 'J', 'N', '\n'};
using HeaderBytes = std::array<std::byte, k_journal_header_bytes>;

struct Header {
    std::uint64_t sequence = 0, payload_address = 0, payload_bytes = 0, payload_checksum = 0;
};

std::optional<Header> decode_header(const HeaderBytes& bytes, const RunId& run) {
    const auto body = std::span(bytes).first(k_journal_header_bytes - 8);
    if (std::memcmp(bytes.data(), k_magic.data(), k_magic.size()) != 0) return std::nullopt;
    RecordReader reader(bytes);
    reader.skip_to(k_journal_header_bytes - 8);
    if (reader.u64() != checksum(body, k_journal_address)) return std::nullopt;
    reader.skip_to(8);
    if (reader.u32() != k_format_version) return std::nullopt;
    reader.skip_to(16);
    RunId found;
    reader.bytes(found);
    if (found != run) return std::nullopt;
    Header header;
    header.sequence = reader.u64();
    header.payload_address = reader.u64();
    header.payload_bytes = reader.u64();
    header.payload_checksum = reader.u64();
    return header;
}

}  // namespace

std::optional<std::vector<Extent>> decode_journal_payload(std::span<const std::byte> payload) {
    std::vector<Extent> out;
    while (!payload.empty()) {
        if (payload.size() < 16) return std::nullopt;
        RecordReader reader(payload);
        const std::uint64_t address = reader.u64();
        const std::uint64_t bytes = reader.u64();
        if (bytes > payload.size() - 16) return std::nullopt;
        const auto data = payload.subspan(16, static_cast<std::size_t>(bytes));
        out.push_back({address, {data.begin(), data.end()}});
        payload = payload.subspan(
            std::min(payload.size(), static_cast<std::size_t>(16 + round_up_8(bytes))));
    }
    return out;
}

std::vector<std::byte> encode_journal_payload(std::span<const Extent> overwrites) {
    std::size_t total = 0;
    for (const Extent& extent : overwrites) total += 16 + round_up_8(extent.bytes.size());
    std::vector<std::byte> out(total);
    RecordWriter writer(out);
    for (const Extent& extent : overwrites) {
        writer.u64(extent.address).u64(extent.bytes.size()).bytes(extent.bytes);
        writer.pad_to(static_cast<std::size_t>(round_up_8(writer.at())));
    }
    return out;
}

std::vector<std::byte> encode_journal(const RunId& run, std::uint64_t sequence,
                                      std::uint64_t payload_address,
                                      std::span<const std::byte> payload) {
    const bool inside = payload_address == k_journal_address + k_journal_header_bytes;
    std::vector<std::byte> out(k_journal_header_bytes + (inside ? payload.size() : 0));
    RecordWriter writer(out);
    writer.bytes(std::as_bytes(std::span(k_magic)))
        .u32(k_format_version)
        .u32(0)
        .bytes(run)
        .u64(sequence)
        .u64(payload_address)
        .u64(payload.size())
        .u64(checksum(payload))
        .pad_to(k_journal_header_bytes - 8);
    writer.u64(checksum(std::span(out).first(k_journal_header_bytes - 8), k_journal_address));
    if (inside) writer.bytes(payload);
    return out;
}

Status clear_journal(base::File& file) { return file.write_at(k_journal_address, HeaderBytes{}); }

Result<Journal> read_journal(base::File& file, const RunId& run) {
    Journal journal;
    HeaderBytes bytes{};
    Status status = file.read_at(k_journal_address, bytes);
    // A file that ends before its journal has none.
    if (status.code() == StatusCode::insufficient_data || bytes == HeaderBytes{}) return journal;
    if (!status.ok()) return status;
    journal.state = Journal::State::torn;
    const auto header = decode_header(bytes, run);
    if (!header) return journal;
    auto size = file.size();
    if (!size.ok()) return size.status();
    // Lengths come from a checked header, but memory is only taken for bytes that are there.
    if (header->payload_address > *size || header->payload_bytes > *size - header->payload_address)
        return journal;
    std::vector<std::byte> payload(static_cast<std::size_t>(header->payload_bytes));
    status = file.read_at(header->payload_address, payload);
    if (status.code() == StatusCode::insufficient_data) {
        // Cut off since its length was asked: that commit is done, and its journal is cleared.
        const auto now = file.size();
        return now.ok() && *now < *size ? read_journal(file, run) : Result<Journal>(status);
    }
    if (!status.ok()) return status;
    if (checksum(payload) != header->payload_checksum) return journal;
    auto overwrites = decode_journal_payload(payload);
    if (!overwrites) return journal;
    journal.state = Journal::State::valid;
    journal.sequence = header->sequence;
    journal.overwrites = std::move(*overwrites);
    return journal;
}

}  // namespace caesura::store
