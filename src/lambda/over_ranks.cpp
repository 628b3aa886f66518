#include "lambda/over_ranks.hpp"

#include <algorithm>

namespace caesura::lambda {
namespace {

Status add_all(AnalysisState& state, RegionIterator& regions) {
    while (true) {
        const auto region = regions.next();
        if (!region.ok()) return region.status();
        if (!*region) return {};
        if (Status status = state.add(**region); !status.ok()) return status;
    }
}

/// What a rank tells: its state; or, behind a byte that says so, its error.
std::vector<std::byte> letter(const AnalysisState& state, const Status& status) {
    std::vector<std::byte> bytes{static_cast<std::byte>(status.code())};
    const std::vector<std::byte> all = state.bytes();
    const auto words = std::as_bytes(std::span(status.message()));
    if (status.ok())
        bytes.insert(bytes.end(), all.begin(), all.end());
    else
        bytes.insert(bytes.end(), words.begin(), words.end());
    return bytes;
}

}  // namespace

Result<Results> run_over_ranks(const Registry& registry, std::string_view call,
                               RegionIterator& regions, Communicator& ranks) {
    auto whole = registry.start(call);
    if (!whole.ok()) return whole.status();  // the same on all ranks
    std::vector<std::byte> begin = whole->bytes();
    while (true) {
        auto mine = registry.parse_state(begin);
        if (!mine.ok()) return mine.status();
        const Status added = add_all(*mine, regions);
        const auto letters = ranks.allgatherv(letter(*mine, added));
        if (!letters.ok()) return letters.status();
        auto all = registry.parse_state(begin);
        if (!all.ok()) return all.status();
        for (const Communicator::Bytes& one : *letters) {
            const auto body = std::span(one).subspan(std::min<std::size_t>(1, one.size()));
            if (one.empty() || one[0] != std::byte{0})
                return Status{one.empty() ? StatusCode::internal : static_cast<StatusCode>(one[0]),
                              {reinterpret_cast<const char*>(body.data()), body.size()}};
            const auto theirs = registry.parse_state(body);
            if (!theirs.ok()) return theirs.status();
            if (Status status = all->merge(*theirs); !status.ok()) return status;
        }
        if (all->passes_left() == 0) return all->finish();
        if (Status status = all->next_pass(); !status.ok()) return status;
        if (Status status = regions.rewind(); !status.ok()) return status;
        begin = all->bytes();
    }
}

}  // namespace caesura::lambda
