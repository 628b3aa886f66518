// Whose turn it is where several clients want the same workers: each gets its share, by weight, of
// what the work costs, however much it asks for.
//
// Invariants:
//  - Items of one client leave in the order in which they came.
//  - Of clients that always have something waiting none gets less than its share by more than the
//    cost of one item of each other client. A client that comes anew is not ahead for the time in
//    which it wanted nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace caesura::transit {

/// Start-time fair queueing (Goyal, Vin and Cheng 1996). Not thread-safe. O(clients) a call.
template <class Item>
class FairQueue {
  public:
    /// @param weight  > 0.  @param cost  >= 0, in any unit, the same for all.
    void push(std::uint64_t client, double weight, double cost, Item item) {
        Line& line = lines_[client];
        const double begin = std::max(now_, line.end);
        line.end = begin + cost / weight;
        line.waiting.push_back({begin, std::move(item)});
    }
    std::optional<Item> pop() {
        auto best = lines_.end();
        for (auto it = lines_.begin(); it != lines_.end(); ++it) {
            if (it->second.waiting.empty()) continue;
            if (best == lines_.end() ||
                it->second.waiting.front().begin < best->second.waiting.front().begin)
                best = it;
        }
        if (best == lines_.end()) return std::nullopt;
        Entry entry = std::move(best->second.waiting.front());
        best->second.waiting.pop_front();
        now_ = entry.begin;
        return std::move(entry.item);
    }
    /// The newest item that is accepted, which then has never been here: of each client from its
    /// last one on, `looks` in all. nullopt: none.
    template <class Accept>
    std::optional<Item> take_back(Accept accept, int looks) {
        for (auto& [client, line] : lines_)
            for (std::size_t i = line.waiting.size(); i-- > 0 && looks-- > 0;) {
                if (!accept(line.waiting[i].item)) continue;
                Entry entry = std::move(line.waiting[i]);
                line.waiting.erase(line.waiting.begin() + static_cast<std::ptrdiff_t>(i));
                // Those behind it keep their turns, which are later than they need be.
                if (i == line.waiting.size()) line.end = entry.begin;
                return std::move(entry.item);
            }
        return std::nullopt;
    }
    /// What of a client has not left comes back, and the client is forgotten.
    std::deque<Item> forget(std::uint64_t client) {
        std::deque<Item> items;
        const auto found = lines_.find(client);
        if (found == lines_.end()) return items;
        for (Entry& entry : found->second.waiting) items.push_back(std::move(entry.item));
        lines_.erase(found);
        return items;
    }
    bool empty() const {
        return std::all_of(lines_.begin(), lines_.end(),
                           [](const auto& line) { return line.second.waiting.empty(); });
    }

  private:
    struct Entry {
        double begin;  ///< in virtual time
        Item item;
    };
    struct Line {
        double end = 0.0;  ///< of its last item, in virtual time
        std::deque<Entry> waiting;
    };
    std::map<std::uint64_t, Line> lines_;
    double now_ = 0.0;  ///< virtual: the begin of the item that left last
};

}  // namespace caesura::transit
