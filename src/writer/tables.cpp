#include "writer/tables.hpp"

#include <algorithm>
#include <array>

namespace caesura::writer {
namespace {

/// A set on its way to all ranks; the same length for every set.
struct SentSet {
    std::uint64_t length = 0;
    std::array<std::byte, k_table_set_limit_bytes> bytes{};
};

bool shares_tables(const FieldState& field) { return caesura_mode(field.codec).has_value(); }

}  // namespace

void Tables::count_block(FieldState& field, std::span<const std::byte> statistics) const {
    if (statistics.empty()) return;
    const auto counts = TableStatistics::parse(statistics);
    if (counts.ok())
        field.counted.add(*counts);
    else
        session_.say("field '" + field.name +
                     "': the counts of a block are lost; its table set is older");
}

void Tables::send_to(base::Packer& packer) {
    if (session_.rank == 0) return;  // they are where they belong
    for (std::uint32_t f = 0; f < fields_.size(); ++f) {
        if (fields_[f].counted.empty()) continue;
        packer.put(f);
        packer.put_bytes(fields_[f].counted.bytes());
        fields_[f].counted = TableStatistics();
    }
}

void Tables::take(base::Unpacker& unpacker) {
    while (unpacker.more()) {
        const auto f = unpacker.get<std::uint32_t>();
        const auto bytes = unpacker.get_bytes();
        if (unpacker.good() && f < fields_.size()) count_block(fields_[f], bytes);
    }
}

Status Tables::gather_counts() {
    base::Packer packer;
    send_to(packer);
    auto all = session_.comm->gatherv(packer.bytes(), 0);
    if (!all.ok()) return round_.lost(all.status());
    for (const Communicator::Bytes& part : *all) {
        base::Unpacker unpacker(part);
        take(unpacker);
    }
    return {};
}

// An application may have thousands of datasets, of which few were dumped: rank 0 says which.
Status Tables::keep_counted(std::vector<FieldState*>& sharing) {
    std::vector<std::uint8_t> counted(sharing.size());
    for (std::size_t i = 0; i < sharing.size() && session_.rank == 0; ++i)
        counted[i] = !sharing[i]->counted.empty();
    const Status sent = session_.comm->broadcast(std::as_writable_bytes(std::span(counted)), 0);
    if (!sent.ok()) return round_.lost(sent);
    std::vector<FieldState*> kept;
    for (std::size_t i = 0; i < sharing.size(); ++i)
        if (counted[i]) kept.push_back(sharing[i]);
    sharing = std::move(kept);
    return {};
}

Status Tables::agree() {
    std::vector<FieldState*> sharing;
    for (FieldState& field : fields_)
        if (shares_tables(field)) sharing.push_back(&field);
    if (!new_counts_ || sharing.empty()) return {};
    new_counts_ = false;
    if (sharing.front()->dataset)
        if (Status kept = keep_counted(sharing); !kept.ok()) return kept;
    std::vector<SentSet> sets(sharing.size());
    for (std::size_t i = 0; i < sharing.size() && session_.rank == 0; ++i) {
        FieldState& field = *sharing[i];
        if (!field.counted.empty()) field.newest_tables = field.counted.train();
        if (!field.dataset) field.tables = field.newest_tables;
        field.counted = TableStatistics();
        const auto bytes = field.newest_tables.bytes();
        sets[i].length = bytes.size();
        std::copy(bytes.begin(), bytes.end(), sets[i].bytes.begin());
    }
    if (session_.size == 1) return {};
    const Status sent = session_.comm->broadcast(std::as_writable_bytes(std::span(sets)), 0);
    if (!sent.ok()) return round_.lost(sent);
    for (std::size_t i = 0; i < sharing.size(); ++i) {
        const std::size_t length = std::min<std::uint64_t>(sets[i].length, sets[i].bytes.size());
        auto tables = TableSet::parse(std::span(sets[i].bytes).first(length));
        if (!tables.ok()) return tables.status().with_context("field '" + sharing[i]->name + "'");
        sharing[i]->newest_tables = std::move(*tables);
        if (!sharing[i]->dataset) sharing[i]->tables = sharing[i]->newest_tables;
    }
    return {};
}

}  // namespace caesura::writer
