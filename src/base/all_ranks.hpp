// What every rank says, on every rank: the allgather of one plain value or of equally many.
#pragma once

#include <type_traits>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::base {

/// Collective. @param mine  as many on every rank. @return  rank after rank. Errors: the
/// communicator's.
template <class T>
Result<std::vector<T>> lists_from_all(Communicator& ranks, std::span<const T> mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(mine.size() * static_cast<std::size_t>(ranks.size()));
    const Status status =
        ranks.allgather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
    if (!status.ok()) return status;
    return all;
}

/// The same of one value: by rank.
template <class T>
Result<std::vector<T>> from_all(Communicator& ranks, const T& mine) {
    return lists_from_all(ranks, std::span<const T>(&mine, 1));
}

}  // namespace caesura::base
