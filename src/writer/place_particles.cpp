#include "writer/place_particles.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace caesura::writer {
namespace {

using Counts = std::map<int, std::uint64_t>;  // by rank; none: 0

Counts count(std::span<const RankBox> boxes) {
    Counts counts;
    for (const RankBox& one : boxes)
        if (one.box.extent[0] > 0) counts[one.rank] += one.box.extent[0];
    return counts;
}

/// The first rank that has put another number of the two.
Status check_same(const std::string& species, const std::string& a, const Counts& of_a,
                  const std::string& b, const Counts& of_b) {
    if (of_a == of_b) return {};
    const auto at = [](const Counts& counts, int rank) {
        const auto found = counts.find(rank);
        return found == counts.end() ? std::uint64_t{0} : found->second;
    };
    Counts all = of_a;
    all.insert(of_b.begin(), of_b.end());
    const auto differs = [&](const auto& one) {
        return at(of_a, one.first) != at(of_b, one.first);
    };
    const int rank = std::find_if(all.begin(), all.end(), differs)->first;
    return {
        StatusCode::invalid_argument,
        fmt::format("species '{}': rank {} put {} values of '{}' and {} of '{}'; every rank puts "
                    "as many of each record",
                    species, rank, at(of_a, rank), a, at(of_b, rank), b)};
}

}  // namespace

Status place_particles(Fields& fields, std::vector<std::vector<RankBox>>& boxes) {
    struct First {
        std::string record;
        Counts counts;
    };
    std::map<std::uint32_t, First> first;  // by species
    // Ours come last: what an error names is what the application has put.
    std::vector<std::uint32_t> in_turn;
    for (const bool ours : {false, true})
        for (std::uint32_t f = 0; f < fields.size(); ++f)
            if (fields[f].particles && fields[f].particles->is_index == ours) in_turn.push_back(f);
    for (const std::uint32_t f : in_turn) {
        FieldState& field = fields[f];
        if (boxes[f].empty()) continue;
        Counts counts = count(boxes[f]);
        const auto known = first.try_emplace(field.particles->species, First{field.name, counts});
        const First& other = known.first->second;
        if (Status same = check_same(fields.species[field.particles->species].name, other.record,
                                     other.counts, field.name, counts);
            !same.ok())
            return same;
        field.particles->is_put = true;
        std::uint64_t end = 0;
        for (RankBox& one : boxes[f]) {
            one.box.offset[0] = end;
            end += one.box.extent[0];
        }
        std::erase_if(boxes[f], [](const RankBox& one) { return one.box.extent[0] == 0; });
        field.shape = {end};
    }
    return {};
}

// Ranks have other numbers of particles than chunks hold, so that at each end of a rank's share a
// part of a chunk travels to another rank, inside end(). Eight chunks a rank or more keep that to a
// sixteenth of the values, and from 1 MiB on a chunk is as well compressed as a larger one.
std::uint64_t particle_chunk_bytes(std::span<const RankBox> boxes, std::size_t value_bytes,
                                   std::uint64_t target_bytes) {
    constexpr std::uint64_t k_least_bytes = 1u << 20, k_chunks = 8;
    std::uint64_t most = 0;
    for (const auto& [rank, values] : count(boxes)) most = std::max(most, values);
    const std::uint64_t share = most * value_bytes / k_chunks;
    return std::min(target_bytes, std::max(k_least_bytes, share));
}

// As many particles in a chunk of each record, or they could not share an order: as many as the
// record of the widest numbers has.
Shape ordered_chunk(std::span<const RankBox> boxes, std::size_t widest_bytes,
                    std::uint64_t target_bytes) {
    std::uint64_t all = 0;
    for (const auto& [rank, values] : count(boxes)) all += values;
    const std::uint64_t bytes = particle_chunk_bytes(boxes, widest_bytes, target_bytes);
    return {std::min(all, std::max<std::uint64_t>(1, bytes / widest_bytes))};
}

std::size_t widest_record_bytes(const Fields& fields, std::uint32_t species,
                                std::span<const std::vector<RankBox>> boxes) {
    std::size_t widest = 1;
    for (std::uint32_t f = 0; f < fields.size(); ++f)
        if (fields[f].particles && fields[f].particles->species == species && !boxes[f].empty())
            widest = std::max(widest, size_of(fields[f].dtype));
    return widest;
}

}  // namespace caesura::writer
