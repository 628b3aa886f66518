// Values that some rank suspects to be fills belong to no range, on any rank; and a word about
// ranges that a few values stretch.
#include <fmt/format.h>

#include "base/wire.hpp"
#include "writer/assembly.hpp"

namespace caesura::writer {
// For the dataset's attributes.
void FieldState::say_missing(const codec::ValueBits& declared) {
    for (const std::uint64_t bits : declared) {
        const codec::ValueBits one = {bits};
        const auto bytes = codec::values_of(one, number_type(dtype));
        options.missing.push_back(value_of(bytes, number_type(dtype)));
    }
}

Seen Assembly::seen_of(std::uint32_t field) const {
    Seen all;
    for (const std::uint32_t i : dump_.puts_of(field)) all.unite(dump_.puts[i].seen);
    if (const auto found = dump_.declared.find(field); found != dump_.declared.end())
        codec::unite(all.declared, found->second);
    return all;
}

// Collective where a rank has something new: the others may have taken it for a value. All ranks
// have heard the same.
Status Assembly::leave_out_suspects(std::span<const Seen> seen,
                                    std::vector<std::vector<Composition::Range>>& ranges) {
    std::vector<std::uint32_t> again;
    for (std::uint32_t f = 0; f < seen.size(); ++f) {
        FieldState& field = parts_.fields[f];
        const bool is_declared = codec::unite(field.agreed_missing, seen[f].declared);
        if (is_declared) field.say_missing(seen[f].declared);
        const bool is_new = codec::unite(field.agreed_missing, seen[f].suspects) || is_declared;
        codec::unite(field.missing, field.agreed_missing);
        if (is_new && field.ranges() > 0) again.push_back(f);
    }
    if (again.empty()) return {};
    base::Packer packer;
    for (const std::uint32_t f : again) {
        std::vector<Composition::Range> mine(parts_.fields[f].ranges());
        Seen ignored;
        for (const std::uint32_t i : dump_.puts_of(f))
            parts_.fields[f].widen(dump_.puts[i].box, dump_.puts[i].data, mine, ignored);
        packer.put(mine);
    }
    auto all = parts_.session.comm->allgatherv(packer.bytes());
    if (!all.ok()) return parts_.round.lost(all.status());
    for (const std::uint32_t f : again) ranges[f].assign(parts_.fields[f].ranges(), {});
    for (const auto& bytes : *all) {
        base::Unpacker unpacker(bytes);
        for (const std::uint32_t f : again) {
            const auto theirs = unpacker.get_list<Composition::Range>();
            for (std::size_t i = 0; i < theirs.size() && i < ranges[f].size(); ++i) {
                ranges[f][i].min = std::min(ranges[f][i].min, theirs[i].min);
                ranges[f][i].max = std::max(ranges[f][i].max, theirs[i].max);
            }
        }
    }
    return {};
}

// Local; all ranks know the same, and rank 0 says it, once for each field.
void Assembly::warn_of_stretched_range(const FieldDump& dumped) {
    FieldState& field = parts_.fields[dumped.field];
    if (!field.stretched.empty() || dumped.ranges.empty()) return;
    field.stretched = stretched_range(field.bound, dumped.bound, dumped.ranges[0], dumped.bulk);
    if (rank_ == 0 && !field.stretched.empty())
        parts_.session.warn(Warning::of_file,
                            fmt::format("field '{}', iteration {}: {}", field.name,
                                        parts_.session.iteration, field.stretched));
}

}  // namespace caesura::writer
