#include "store/closed_tree.hpp"

#include <algorithm>
#include <cstring>

#include "base/file.hpp"
#include "store/byte_order.hpp"
#include "store/checksum.hpp"
#include "store/journal.hpp"

namespace caesura::store {
namespace {

constexpr std::array<char, 8> k_tree_magic = {'\x8a', 'C', 'A', 'E', 'S', 'T', 'R', '\n'};
using TreeHeaderBytes = std::array<std::byte, k_closed_tree_bytes>;

struct TreeHeader {
    std::uint64_t sequence = 0, first_dump = 0, dumps_end = 0, end = 0;
    std::uint64_t address = 0, bytes = 0, checksum = 0;  ///< of the pages; 0: a run has it open
};

TreeHeaderBytes encode_header(const TreeHeader& header, const RunId& run) {
    TreeHeaderBytes out{};
    RecordWriter writer(out);
    writer.bytes(std::as_bytes(std::span(k_tree_magic)))
        .u32(k_format_version)
        .u32(0)
        .bytes(run)
        .u64(header.sequence)
        .u64(header.first_dump)
        .u64(header.dumps_end)
        .u64(header.end)
        .u64(header.address)
        .u64(header.bytes)
        .u64(header.checksum)
        .pad_to(k_closed_tree_bytes - 8);
    writer.u64(checksum(std::span(out).first(k_closed_tree_bytes - 8), k_closed_tree_address));
    return out;
}

std::optional<TreeHeader> decode_header_of_tree(const TreeHeaderBytes& bytes, const RunId& run) {
    if (std::memcmp(bytes.data(), k_tree_magic.data(), k_tree_magic.size()) != 0)
        return std::nullopt;
    RecordReader reader(bytes);
    reader.skip_to(k_closed_tree_bytes - 8);
    if (reader.u64() !=
        checksum(std::span(bytes).first(k_closed_tree_bytes - 8), k_closed_tree_address))
        return std::nullopt;
    reader.skip_to(8);
    if (reader.u32() != k_format_version) return std::nullopt;
    reader.skip_to(16);
    RunId found;
    reader.bytes(found);
    if (found != run) return std::nullopt;
    TreeHeader header;
    header.sequence = reader.u64();
    header.first_dump = reader.u64();
    header.dumps_end = reader.u64();
    header.end = reader.u64();
    header.address = reader.u64();
    header.bytes = reader.u64();
    header.checksum = reader.u64();
    return header;
}

Result<TreeHeaderBytes> read_tree_header(base::File& file) {
    TreeHeaderBytes bytes{};
    const Status status = file.read_at(k_closed_tree_address, bytes);
    if (status.code() == StatusCode::insufficient_data) return TreeHeaderBytes{};
    if (!status.ok()) return status;
    return bytes;
}

}  // namespace

Result<std::uint64_t> write_closed_tree(SharedFile& file, const ClosedTree& tree) {
    const auto pages = encode_journal_payload(tree.pages);
    if (Status s = file.file().write_at(tree.address, pages); !s.ok()) return s;
    const TreeHeader header{tree.sequence, tree.first_dump, tree.dumps_end, tree.end,
                            tree.address,  pages.size(),    checksum(pages)};
    if (Status s = file.file().write_at(k_closed_tree_address, encode_header(header, file.run()));
        !s.ok())
        return s;
    return k_closed_tree_bytes + pages.size();
}

Result<std::optional<ClosedTree>> read_closed_tree(base::File& file, const RunId& run) {
    const auto none = [] { return std::optional<ClosedTree>(); };
    const auto bytes = read_tree_header(file);
    if (!bytes.ok()) return bytes.status();
    const auto header = decode_header_of_tree(*bytes, run);
    if (!header || header->address == 0) return none();
    const auto size = file.size();
    if (!size.ok()) return size.status();
    // Memory is only taken for bytes that are there. A tree that is committed has none.
    const bool lacks = header->address > *size || header->bytes > *size - header->address;
    if (header->bytes > 0 && lacks) return none();
    std::vector<std::byte> pages(static_cast<std::size_t>(header->bytes));
    if (Status s = file.read_at(header->address, pages); !s.ok()) return s;
    if (checksum(pages) != header->checksum) return none();
    auto extents = decode_journal_payload(pages);
    if (!extents) return none();
    return std::optional<ClosedTree>({header->sequence, header->first_dump, header->dumps_end,
                                      header->end, header->address, std::move(*extents)});
}

Status mark_open(SharedFile& file) {
    return file.file().write_at(k_closed_tree_address, encode_header({}, file.run()));
}

Status clear_closed_tree(base::File& file) {
    return file.write_at(k_closed_tree_address, TreeHeaderBytes{});
}

Result<bool> is_closed(base::File& file) {
    const auto run = read_file_header(file, "");
    if (!run.ok()) return run.status();
    const auto bytes = read_tree_header(file);
    if (!bytes.ok()) return bytes.status();
    const auto header = decode_header_of_tree(*bytes, *run);
    return header && header->address != 0;
}

Result<bool> is_open_or_closed(base::File& file) {
    const auto bytes = read_tree_header(file);
    if (!bytes.ok()) return bytes.status();
    return *bytes != TreeHeaderBytes{};
}

}  // namespace caesura::store
