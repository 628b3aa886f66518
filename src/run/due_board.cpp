#include "run/due_board.hpp"

#include <algorithm>

namespace caesura::run {
namespace {

std::atomic<DuePlace*> g_places{nullptr};
std::atomic<std::uint32_t> g_numbers{0};

}  // namespace

DuePlace& DuePlace::take() {
    for (DuePlace* place = g_places.load(std::memory_order_acquire); place; place = place->next_)
        if (!place->taken_.exchange(true, std::memory_order_acq_rel)) return *place;
    DuePlace* const made = new DuePlace;
    made->number_ = g_numbers.fetch_add(1, std::memory_order_relaxed);
    made->next_ = g_places.load(std::memory_order_acquire);
    while (!g_places.compare_exchange_weak(made->next_, made, std::memory_order_acq_rel)) {
    }
    return *made;
}

void DuePlace::leave() {
    if (publish({})) wake_others();
    taken_.store(false, std::memory_order_release);
}

// The stores of the next publication come after this one's version, and a reader that sees one of
// them sees that version too.
bool DuePlace::publish(std::span<const plan::DueWork> work) {
    const std::uint64_t version = version_.load(std::memory_order_relaxed) + 1;
    Said& said = said_[version & 1];
    std::array<plan::DueWork, k_most> kept;
    std::size_t count = 0, open = 0;
    double left_s = 0.0;
    for (const plan::DueWork& next : work) {
        if (count < k_most) kept[count++] = {next.by_s, 0.0, false, number_};
        plan::DueWork& last = kept[count - 1];
        last.left_s += next.left_s;
        last.open |= next.open;
        left_s += next.left_s;
    }
    for (std::size_t i = 0; i < count; ++i) {
        said.work[i].by_s.store(kept[i].by_s, std::memory_order_release);
        said.work[i].left_s.store(kept[i].left_s, std::memory_order_release);
        said.work[i].open.store(kept[i].open, std::memory_order_release);
        open += kept[i].open;
    }
    said.count.store(count, std::memory_order_release);
    version_.store(version, std::memory_order_release);
    const bool matters = open != said_open_ || left_s > said_left_s_;
    said_open_ = open;
    said_left_s_ = left_s;
    return matters;
}

void DuePlace::add_to(std::vector<plan::DueWork>& all) const {
    const std::size_t before = all.size();
    for (;;) {
        const std::uint64_t version = version_.load(std::memory_order_acquire);
        const Said& said = said_[version & 1];
        const std::size_t count = said.count.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < count; ++i)
            all.push_back({said.work[i].by_s.load(std::memory_order_acquire),
                           said.work[i].left_s.load(std::memory_order_acquire),
                           said.work[i].open.load(std::memory_order_acquire), number_});
        if (version_.load(std::memory_order_acquire) == version) return;
        all.resize(before);
    }
}

void DuePlace::add_others(std::vector<plan::DueWork>& all) const {
    for (DuePlace* place = g_places.load(std::memory_order_acquire); place; place = place->next_)
        if (place != this) place->add_to(all);
}

void DuePlace::wake_others() const {
    for (DuePlace* place = g_places.load(std::memory_order_acquire); place; place = place->next_)
        if (place != this && place->taken_.load(std::memory_order_acquire)) place->event_.raise();
}

}  // namespace caesura::run
