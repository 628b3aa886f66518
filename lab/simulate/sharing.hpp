// The file system: who gets how much of its bandwidth, and when the next transfer ends.
//
// Invariants:
//  - Shares are max-min fair under three limits: of a stream, of a node, of the system. All streams
//    of a node are equals, so a node with k streams gives each min(stream, node / k, level), where
//    the level is what uses the system's bandwidth up.
//  - Nodes with equally many streams move at the same speed: they form a class with one clock that
//    counts bytes per stream. A change of the level changes the speeds of classes, not of nodes, so
//    an event costs O(log nodes + streams per node) however many nodes there are.
#pragma once

#include <cstdint>
#include <limits>
#include <queue>
#include <vector>

#include "simulate/simulate.hpp"

namespace caesura::simulate {

class Sharing {
  public:
    static constexpr double k_never_s = std::numeric_limits<double>::infinity();

    Sharing(const Storage& storage, std::uint32_t n_nodes, std::uint32_t ranks_per_node);

    /// `rank` of `node` begins to transfer `bytes`. At most one transfer a rank; now >= all before.
    void begin(double now_s, std::uint32_t rank, std::uint32_t node, double bytes);
    /// When the next transfer ends if nothing changes.
    double next_end_s() const;
    /// The rank whose transfer ends at next_end_s().
    std::uint32_t end_next();
    /// From now on the system has so many bytes per s (of Storage's unit; 0: no limit).
    void set_system(double now_s, double bytes_per_s);
    /// What a stream gets in a node of `streams` streams now; for tests.
    double rate(std::uint32_t streams) const { return classes_[streams].rate; }

  private:
    struct Transfer {
        double end_bytes;  // of the node's clock
        std::uint32_t rank;
        bool operator>(const Transfer& other) const {
            return end_bytes != other.end_bytes ? end_bytes > other.end_bytes : rank > other.rank;
        }
    };
    using Transfers = std::priority_queue<Transfer, std::vector<Transfer>, std::greater<Transfer>>;
    struct Node {
        Transfers transfers;
        double offset_bytes = 0.0;  // the node's clock is its class's plus this
        std::uint32_t version = 0;  // entries of classes with another one are stale
    };
    struct Entry {
        double end_bytes;  // of the class's clock
        std::uint32_t node, version;
        bool operator>(const Entry& other) const {
            return end_bytes != other.end_bytes ? end_bytes > other.end_bytes : node > other.node;
        }
    };
    struct Class {
        double clock_bytes = 0.0, rate = 0.0;
        std::uint32_t n_nodes = 0;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ends;
    };

    void advance(double now_s);
    void leave_class(std::uint32_t node);
    void join_class(std::uint32_t node);
    void settle();
    std::size_t next_class() const;

    Storage storage_;
    std::vector<Node> nodes_;
    std::vector<Class> classes_;  // [streams]; class 0 is never used
    double now_s_ = 0.0;
};

}  // namespace caesura::simulate
