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
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace caesura::transit {

/// When an item must leave the queue, by any clock.
struct Due {
    static constexpr double k_never_s = std::numeric_limits<double>::infinity();
    double begin_s = k_never_s;  ///< at the latest; not before that of its client's item before it
    /// All work of its client that is due by then, what waits of it, is to be over.
    double done_s = k_never_s;
};

/// Start-time fair queueing (Goyal, Vin and Cheng 1996). Not thread-safe. O(clients) a call.
template <class Item>
class FairQueue {
  public:
    /// @param weight  > 0.  @param cost  >= 0, in any unit, the same for all.
    void push(std::uint64_t client, double weight, double cost, Item item, Due due = {}) {
        Line& line = lines_[client];
        const double begin = std::max(now_, line.end);
        line.end = begin + cost / weight;
        line.waiting.push_back({begin, cost, due, std::move(item)});
        line.cost += cost;
        line.done_s.insert(due.done_s);
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
        now_ = best->second.waiting.front().begin;
        return take(best->second, 0);
    }
    /// An item that must leave now. @param lead  seconds for each unit of cost that its client has
    /// waiting. @param next_s  set to when there may be one, if there is none.
    std::optional<Item> pop_due(double now_s, double lead, double& next_s) {
        auto best = lines_.end();
        next_s = Due::k_never_s;
        for (auto it = lines_.begin(); it != lines_.end(); ++it) {
            const Line& line = it->second;
            if (line.waiting.empty()) continue;
            const double leave_s =
                std::min(line.waiting.front().due.begin_s, *line.done_s.begin() - lead * line.cost);
            if (leave_s > now_s)
                next_s = std::min(next_s, leave_s);
            else if (best == lines_.end() ||
                     line.waiting.front().begin < best->second.waiting.front().begin)
                best = it;
        }
        if (best == lines_.end()) return std::nullopt;
        now_ = std::max(now_, best->second.waiting.front().begin);
        return take(best->second, 0);
    }
    /// The newest item that is accepted, which then has never been here: of each client from its
    /// last one on, `looks` in all. nullopt: none.
    template <class Accept>
    std::optional<Item> take_back(Accept accept, int looks) {
        for (auto& [client, line] : lines_)
            for (std::size_t i = line.waiting.size(); i-- > 0 && looks-- > 0;) {
                if (!accept(line.waiting[i].item)) continue;
                // Those behind it keep their turns, which are later than they need be.
                if (i + 1 == line.waiting.size()) line.end = line.waiting[i].begin;
                return take(line, i);
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
        double cost;
        Due due;
        Item item;
    };
    struct Line {
        double end = 0.0;  ///< of its last item, in virtual time
        std::deque<Entry> waiting;
        double cost = 0.0;               ///< of all that wait
        std::multiset<double> done_s{};  ///< of all that wait
    };
    static Item take(Line& line, std::size_t i) {
        Entry entry = std::move(line.waiting[i]);
        line.waiting.erase(line.waiting.begin() + static_cast<std::ptrdiff_t>(i));
        line.done_s.erase(line.done_s.find(entry.due.done_s));
        line.cost = line.waiting.empty() ? 0.0 : line.cost - entry.cost;
        return std::move(entry.item);
    }
    std::map<std::uint64_t, Line> lines_;
    double now_ = 0.0;  ///< virtual: the begin of the item that left last
};

}  // namespace caesura::transit
