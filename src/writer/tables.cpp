// Table sets from dump to dump (codec "caesura"; S0 section 4.3, decision D13).
//
// Blocks that have been compressed say what they were made of. These counts go to rank 0 with the
// records of finished dumps; at the next dump rank 0 makes a table set of them for each field and
// tells it to all ranks. So a field's set of dump n comes from the newest dump that was on disk
// everywhere when dump n was handed over, as a rule dump n - 1; the first dump has the built-in
// set.
//
// Invariants:
//  - All ranks code a dataset with the same set, which lies in its cd_values.
//  - At most 64 ranks count, evenly spaced: what rank 0 receives does not grow with
//    the run.
//  - The cd_values of an application's dataset are fixed when it is created, with the newest set
//  that
//    there was: what its blocks say is for the next of its kind (experience.hpp).
//  - Counts are advice. What is lost of them costs a little space, never a value.
#include <array>

#include "writer/impl.hpp"

namespace caesura {
namespace {

/// A set on its way to all ranks; the same length for every set.
struct SentSet {
    std::uint64_t length = 0;
    std::array<std::byte, k_table_set_limit_bytes> bytes{};
};

bool shares_tables(const writer::FieldState& field) {
    return caesura_mode(field.codec).has_value();
}

}  // namespace

void Writer::Impl::count_block(writer::FieldState& field,
                               std::span<const std::byte> statistics) const {
    if (statistics.empty()) return;
    const auto counts = TableStatistics::parse(statistics);
    if (!counts.ok() || !field.counted.add(*counts).ok())
        say("field '" + field.name + "': the counts of a block are lost; its table set is older");
}

void Writer::Impl::send_counts(writer::Packer& packer) {
    if (rank == 0) return;           // they are where they belong
    if (closed && own_tree) return;  // nobody will need them
    for (std::uint32_t f = 0; f < fields.size(); ++f) {
        if (fields[f].counted.empty()) continue;
        packer.put(f);
        packer.put_bytes(fields[f].counted.bytes());
        fields[f].counted = TableStatistics();
    }
}

void Writer::Impl::take_counts(writer::Unpacker& unpacker) {
    while (unpacker.more()) {
        const auto f = unpacker.get<std::uint32_t>();
        const auto bytes = unpacker.get_bytes();
        if (unpacker.good() && f < fields.size()) count_block(fields[f], bytes);
    }
}

// Where records go to all ranks, counts go by themselves to the one that needs them. Collective.
Status Writer::Impl::gather_counts() {
    writer::Packer packer;
    send_counts(packer);
    auto all = comm->gatherv(packer.bytes(), 0);
    if (!all.ok()) {
        comm_failed = true;
        return failed = all.status();
    }
    for (const Communicator::Bytes& part : *all) {
        writer::Unpacker unpacker(part);
        take_counts(unpacker);
    }
    return {};
}

// An application may have thousands of datasets, of which few were dumped: rank 0 says which.
Status Writer::Impl::keep_counted(std::vector<writer::FieldState*>& sharing) {
    std::vector<std::uint8_t> counted(sharing.size());
    for (std::size_t i = 0; i < sharing.size() && rank == 0; ++i)
        counted[i] = !sharing[i]->counted.empty();
    const Status sent = comm->broadcast(std::as_writable_bytes(std::span(counted)), 0);
    if (!sent.ok()) {
        comm_failed = true;
        return failed = sent;
    }
    std::vector<writer::FieldState*> kept;
    for (std::size_t i = 0; i < sharing.size(); ++i)
        if (counted[i]) kept.push_back(sharing[i]);
    sharing = std::move(kept);
    return {};
}

// Collective where all ranks know that there may be something new.
Status Writer::Impl::agree_on_tables() {
    std::vector<writer::FieldState*> sharing;
    for (writer::FieldState& field : fields)
        if (shares_tables(field)) sharing.push_back(&field);
    if (!new_counts || sharing.empty()) return {};
    new_counts = false;
    if (!own_tree)
        if (Status kept = keep_counted(sharing); !kept.ok()) return kept;
    std::vector<SentSet> sets(sharing.size());
    for (std::size_t i = 0; i < sharing.size() && rank == 0; ++i) {
        writer::FieldState& field = *sharing[i];
        if (!field.counted.empty()) field.newest_tables = field.counted.train();
        if (!field.dataset) field.tables = field.newest_tables;
        field.counted = TableStatistics();
        const auto bytes = field.newest_tables.bytes();
        sets[i].length = bytes.size();
        std::copy(bytes.begin(), bytes.end(), sets[i].bytes.begin());
    }
    if (size == 1) return {};
    const Status sent = comm->broadcast(std::as_writable_bytes(std::span(sets)), 0);
    if (!sent.ok()) {
        comm_failed = true;
        return failed = sent;
    }
    for (std::size_t i = 0; i < sharing.size(); ++i) {
        const std::size_t length = std::min<std::uint64_t>(sets[i].length, sets[i].bytes.size());
        auto tables = TableSet::parse(std::span(sets[i].bytes).first(length));
        if (!tables.ok()) return tables.status().with_context("field '" + sharing[i]->name + "'");
        sharing[i]->newest_tables = std::move(*tables);
        if (!sharing[i]->dataset) sharing[i]->tables = sharing[i]->newest_tables;
    }
    return {};
}

}  // namespace caesura
