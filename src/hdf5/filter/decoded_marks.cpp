#include "hdf5/filter/decoded_marks.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>

namespace caesura::hdf5 {
namespace {

struct Notes {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, Fineness> finest;
};

/// Never destroyed: HDF5 may flush chunks while the process ends.
Notes& notes() {
    static Notes* const all = new Notes;
    return *all;
}

}  // namespace

void note_decoded(std::uint64_t parameters, Fineness finest) {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    const auto [place, is_new] = all.finest.try_emplace(parameters, finest);
    if (!is_new) place->second = std::max(place->second, finest);
}

std::optional<Fineness> finest_decoded(std::uint64_t parameters) {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    const auto place = all.finest.find(parameters);
    return place == all.finest.end() ? std::nullopt : std::optional(place->second);
}

NothingDecoded::NothingDecoded() {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    before_.swap(all.finest);
}

NothingDecoded::~NothingDecoded() {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    before_.swap(all.finest);
    for (auto& [parameters, finest] : before_)
        if (const auto old = all.finest.find(parameters); old != all.finest.end())
            old->second = std::max(old->second, finest);
    try {
        all.finest.merge(before_);
    } catch (const std::bad_alloc&) {
        return;  // of one dataset, whose cut chunks are put again as they were
    }
}

void forget_decoded() {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    all.finest.clear();
}

}  // namespace caesura::hdf5
