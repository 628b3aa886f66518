// Goal: shares are max-min fair at every moment, so transfers end when an independent, slow and
// obvious calculation says.
#include "simulate/sharing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace caesura::simulate {
namespace {

struct Request {
    double begin_s;
    std::uint32_t rank, node;
    double bytes;
};

/// Progressive filling by the book: raise all streams together; freeze those that meet a limit.
std::map<std::uint32_t, double> fair_rates(const std::map<std::uint32_t, std::uint32_t>& node_of,
                                           const Storage& storage) {
    std::map<std::uint32_t, double> rate;
    std::map<std::uint32_t, bool> frozen;
    const auto limit = [](double x) { return x > 0.0 ? x : 1e18; };
    double level = 0.0;
    for (const auto& [rank, node] : node_of) rate[rank] = 0.0;
    while (frozen.size() < node_of.size()) {
        double step = limit(storage.stream_bytes_per_s) - level;
        std::map<std::uint32_t, double> used, rising;
        double all_used = 0.0, all_rising = 0.0;
        for (const auto& [rank, node] : node_of) {
            used[node] += rate[rank];
            all_used += rate[rank];
            rising[node] += frozen.count(rank) ? 0.0 : 1.0;
            all_rising += frozen.count(rank) ? 0.0 : 1.0;
        }
        for (const auto& [node, n] : rising)
            if (n > 0.0) step = std::min(step, (limit(storage.node_bytes_per_s) - used[node]) / n);
        const double system_step = (limit(storage.system_bytes_per_s) - all_used) / all_rising;
        step = std::min(step, system_step);
        level += step;
        for (const auto& [rank, node] : node_of) {
            if (frozen.count(rank)) continue;
            rate[rank] += step;
            const double node_left =
                limit(storage.node_bytes_per_s) - used[node] - step * rising[node];
            if (level >= limit(storage.stream_bytes_per_s) * (1 - 1e-12) ||
                node_left <= 1e-9 * limit(storage.node_bytes_per_s) || step == system_step)
                frozen[rank] = true;
        }
    }
    return rate;
}

std::map<std::uint32_t, double> slow_ends(std::vector<Request> requests, const Storage& storage) {
    std::sort(requests.begin(), requests.end(),
              [](const Request& a, const Request& b) { return a.begin_s < b.begin_s; });
    std::map<std::uint32_t, double> left, end_s;
    std::map<std::uint32_t, std::uint32_t> node_of;
    double now_s = 0.0;
    std::size_t next = 0;
    while (next < requests.size() || !left.empty()) {
        const auto rates = fair_rates(node_of, storage);
        double until_s = next < requests.size() ? requests[next].begin_s : 1e300;
        std::uint32_t ends = 0xffffffffu;
        for (const auto& [rank, bytes] : left)
            if (now_s + bytes / rates.at(rank) < until_s) {
                until_s = now_s + bytes / rates.at(rank);
                ends = rank;
            }
        for (auto& [rank, bytes] : left) bytes -= rates.at(rank) * (until_s - now_s);
        now_s = until_s;
        if (ends != 0xffffffffu) {
            end_s[ends] = now_s;
            left.erase(ends);
            node_of.erase(ends);
        } else {
            left[requests[next].rank] = requests[next].bytes;
            node_of[requests[next].rank] = requests[next].node;
            ++next;
        }
    }
    return end_s;
}

std::map<std::uint32_t, double> ends(std::vector<Request> requests, const Storage& storage,
                                     std::uint32_t n_nodes, std::uint32_t per_node) {
    std::sort(requests.begin(), requests.end(),
              [](const Request& a, const Request& b) { return a.begin_s < b.begin_s; });
    Sharing sharing(storage, n_nodes, per_node);
    std::map<std::uint32_t, double> end_s;
    const auto end_one = [&] {
        const double now_s = sharing.next_end_s();
        end_s[sharing.end_next()] = now_s;
    };
    for (const Request& r : requests) {
        while (sharing.next_end_s() <= r.begin_s) end_one();
        sharing.begin(r.begin_s, r.rank, r.node, r.bytes);
    }
    while (sharing.next_end_s() < Sharing::k_never_s) end_one();
    return end_s;
}

TEST(Sharing, equal_writers_end_together_after_all_bytes_at_full_bandwidth) {
    for (const std::uint32_t n : {1u, 2u, 7u, 16u}) {
        std::vector<Request> requests;
        for (std::uint32_t r = 0; r < n; ++r) requests.push_back({0.5, r, 0, 3e6});
        for (const auto& [rank, end_s] : ends(requests, {0, 2e8, 0, 0}, 1, n))
            EXPECT_NEAR(end_s, 0.5 + 3e6 * n / 2e8, 1e-12) << "rank " << rank << " of " << n;
    }
}

TEST(Sharing, what_a_node_cannot_use_the_others_get) {
    // Node 0 has three streams, node 1 one, the stream's own limit binds there.
    const std::vector<Request> requests{
        {0, 0, 0, 1e6}, {0, 1, 0, 1e6}, {0, 2, 0, 1e6}, {0, 3, 1, 1e6}};
    const auto end_s = ends(requests, {2e6, 3e6, 4.5e6, 0}, 2, 3);
    EXPECT_NEAR(end_s.at(3), 0.6666666666666667, 1e-12);  // (4.5 - 3) MB/s, below its 2
    EXPECT_NEAR(end_s.at(0), 1.0, 1e-12);
}

TEST(Sharing, is_max_min_fair_at_every_moment) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> unit(0.0, 1.0);
        const std::uint32_t n_nodes = 1 + random() % 6, per_node = 1 + random() % 5;
        const auto maybe = [&](double x) {
            return random() % 3 == 0 ? 0.0 : x * (0.3 + unit(random));
        };
        Storage storage{maybe(1e8), maybe(2e8), maybe(4e8), 0.0};
        if (storage.stream_bytes_per_s + storage.node_bytes_per_s + storage.system_bytes_per_s == 0)
            storage.node_bytes_per_s = 1e8;
        std::vector<Request> requests;
        for (std::uint32_t r = 0; r < n_nodes * per_node; ++r)
            requests.push_back(
                {unit(random) * 0.2, r, r / per_node, 1e6 * (1 + 20 * unit(random))});
        const auto expected = slow_ends(requests, storage);
        const auto found = ends(requests, storage, n_nodes, per_node);
        ASSERT_EQ(found.size(), expected.size());
        for (const auto& [rank, end_s] : expected)
            ASSERT_NEAR(found.at(rank), end_s, 1e-7 * (1 + end_s))
                << "seed " << seed << " rank " << rank;
    }
}

TEST(Sharing, a_change_of_the_systems_bandwidth_takes_effect_at_once) {
    Sharing sharing({0, 0, 1e6, 0}, 1, 2);
    sharing.begin(0.0, 0, 0, 1e6);
    sharing.set_system(0.5, 0.25e6);
    EXPECT_DOUBLE_EQ(sharing.next_end_s(), 2.5);
    sharing.set_system(1.5, 1e6);
    EXPECT_DOUBLE_EQ(sharing.next_end_s(), 1.75);
}

}  // namespace
}  // namespace caesura::simulate
