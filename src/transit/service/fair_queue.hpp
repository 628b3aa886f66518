// Whose turn it is where several clients want the same workers: each gets its share, by weight, of
// what the work costs, however much it asks for.
//
// Invariants:
//  - Items of one client leave in the order in which they came.
//  - Of clients that always have something waiting none gets less than its share by more than the
//    cost of one item of each other client. A client that comes anew is not ahead for the time in
//    which it wanted nothing.
//  - What leaves because a client claims that it is due is at most that client's share, by weight
//    among those that have something waiting, of the time, and what it has saved of that.
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
    /// All work of its client that is due by then, what waits of it, is to be over. The client's
    /// claim: it counts within the client's share.
    double done_s = k_never_s;
};

/// Start-time fair queueing (Goyal, Vin and Cheng 1996). Not thread-safe. O(clients) a call.
template <class Item>
class FairQueue {
  public:
    /// @param weight  > 0.  @param cost  >= 0, in any unit, the same for all.
    void push(std::uint64_t client, double weight, double cost, Item item, Due due = {}) {
        Line& line = lines_[client];
        line.weight = weight;
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
    /// An item that must leave now; costs are seconds. @param lead  seconds for each unit of cost
    /// that its client has waiting. @param next_s  set to when there may be one, if there is none.
    std::optional<Item> pop_due(double now_s, double lead, double& next_s) {
        auto best = lines_.end();
        next_s = Due::k_never_s;
        earn(now_s);
        for (auto it = lines_.begin(); it != lines_.end(); ++it) {
            const Line& line = it->second;
            if (line.waiting.empty()) continue;
            const double claim_s = *line.done_s.begin() - lead * line.cost;
            const double leave_s = std::min(line.waiting.front().due.begin_s,
                                            std::max(claim_s, line.may_claim_s(now_s)));
            if (leave_s > now_s)
                next_s = std::min(next_s, leave_s);
            else if (best == lines_.end() ||
                     line.waiting.front().begin < best->second.waiting.front().begin)
                best = it;
        }
        if (best == lines_.end()) return std::nullopt;
        const Entry& first = best->second.waiting.front();
        now_ = std::max(now_, first.begin);
        if (first.due.begin_s > now_s) best->second.claimed += first.cost;
        return take(best->second, 0);
    }
    /// May an item that has left before go ahead of others because its client claims so? Then the
    /// claim is counted. @param next_s  set to when it may, if not.
    bool claim(std::uint64_t client, double cost, double now_s, double& next_s) {
        earn(now_s);
        const auto found = lines_.find(client);
        if (found == lines_.end()) return true;  // it is gone, and so is what it wants
        next_s = found->second.may_claim_s(now_s);
        if (next_s > now_s) return false;
        found->second.claimed += cost;
        return true;
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
        double weight = 1.0;
        double share = 1.0;    ///< of the time, as things are
        double claimed = 0.0;  ///< more than its share; negative: it has saved
        double may_claim_s(double now_s) const { return now_s + std::max(0.0, claimed) / share; }
    };
    /// Each client's share of the time that has passed.
    void earn(double now_s) {
        const double passed_s = std::max(0.0, now_s - std::exchange(earned_s_, now_s));
        double weights = 0.0;
        for (const auto& [client, line] : lines_)
            if (!line.waiting.empty()) weights += line.weight;
        for (auto& [client, line] : lines_) {
            line.share = line.weight / (weights + (line.waiting.empty() ? line.weight : 0.0));
            line.claimed = std::max(line.claimed - passed_s * line.share, -k_most_saved);
        }
    }
    static Item take(Line& line, std::size_t i) {
        Entry entry = std::move(line.waiting[i]);
        line.waiting.erase(line.waiting.begin() + static_cast<std::ptrdiff_t>(i));
        line.done_s.erase(line.done_s.find(entry.due.done_s));
        line.cost = line.waiting.empty() ? 0.0 : line.cost - entry.cost;
        return std::move(entry.item);
    }
    static constexpr double k_most_saved = 10.0;  ///< seconds of work
    std::map<std::uint64_t, Line> lines_;
    double earned_s_ = std::numeric_limits<double>::infinity();  ///< when shares were last counted
    double now_ = 0.0;  ///< virtual: the begin of the item that left last
};

}  // namespace caesura::transit
