#include "simulate/sharing.hpp"

#include <algorithm>

namespace caesura::simulate {
namespace {

// No limit is a limit that nothing reaches; finite, because a clock at infinity tells no time.
constexpr double k_unlimited_bytes_per_s = 1e21;

double limit(double bytes_per_s) {
    return bytes_per_s > 0.0 ? bytes_per_s : k_unlimited_bytes_per_s;
}

}  // namespace

Sharing::Sharing(const Storage& storage, std::uint32_t n_nodes, std::uint32_t ranks_per_node)
    : storage_(storage), nodes_(n_nodes), classes_(ranks_per_node + 1) {}

void Sharing::begin(double now_s, std::uint32_t rank, std::uint32_t node, double bytes) {
    advance(now_s);
    leave_class(node);
    // A node without transfers has no clock yet that mattered: its offset is what it was.
    nodes_[node].transfers.push({nodes_[node].offset_bytes + bytes, rank});
    join_class(node);
    settle();
}

double Sharing::next_end_s() const {
    const std::size_t k = next_class();
    if (k == 0) return k_never_s;
    const Class& c = classes_[k];
    return now_s_ + std::max(0.0, c.ends.top().end_bytes - c.clock_bytes) / c.rate;
}

std::uint32_t Sharing::end_next() {
    const std::size_t k = next_class();
    const double end_bytes = classes_[k].ends.top().end_bytes;
    const std::uint32_t node = classes_[k].ends.top().node;
    advance(next_end_s());
    classes_[k].clock_bytes = end_bytes;  // exactly, whatever rounding the time has
    leave_class(node);
    const std::uint32_t rank = nodes_[node].transfers.top().rank;
    nodes_[node].transfers.pop();
    join_class(node);
    settle();
    return rank;
}

void Sharing::set_system(double now_s, double bytes_per_s) {
    advance(now_s);
    storage_.system_bytes_per_s = bytes_per_s;
    settle();
}

void Sharing::advance(double now_s) {
    const double passed_s = now_s - now_s_;
    if (passed_s > 0.0)
        for (Class& c : classes_)
            if (c.n_nodes > 0) c.clock_bytes += passed_s * c.rate;
    now_s_ = std::max(now_s_, now_s);
}

// Leaves the node's own clock in its offset.
void Sharing::leave_class(std::uint32_t node) {
    Node& n = nodes_[node];
    const std::size_t k = n.transfers.size();
    if (k == 0) return;
    n.offset_bytes += classes_[k].clock_bytes;
    ++n.version;
    --classes_[k].n_nodes;
}

void Sharing::join_class(std::uint32_t node) {
    Node& n = nodes_[node];
    const std::size_t k = n.transfers.size();
    if (k == 0) {
        n.offset_bytes = 0.0;
        return;
    }
    Class& c = classes_[k];
    if (c.n_nodes++ == 0) {  // nobody read this clock: start it again, small numbers are exact
        c.clock_bytes = 0.0;
        c.ends = {};
    }
    n.offset_bytes -= c.clock_bytes;
    c.ends.push({n.transfers.top().end_bytes - n.offset_bytes, node, n.version});
}

// Progressive filling: the level rises until a class is bound by its own limit, which leaves more
// for the others, or the system's bandwidth is used up.
void Sharing::settle() {
    double left = limit(storage_.system_bytes_per_s);
    double streams = 0.0;
    for (std::size_t k = 1; k < classes_.size(); ++k)
        streams += static_cast<double>(k) * classes_[k].n_nodes;
    for (std::size_t k = classes_.size(); k-- > 1;) {  // from the lowest limit to the highest
        Class& c = classes_[k];
        const double of_class = static_cast<double>(k) * c.n_nodes;
        const double own = std::min(limit(storage_.stream_bytes_per_s),
                                    limit(storage_.node_bytes_per_s) / static_cast<double>(k));
        c.rate = streams > 0.0 ? std::min(own, left / streams) : own;
        left -= c.rate * of_class;
        streams -= of_class;
        while (!c.ends.empty() && c.ends.top().version != nodes_[c.ends.top().node].version)
            c.ends.pop();
    }
}

std::size_t Sharing::next_class() const {
    std::size_t next = 0;
    double next_s = k_never_s;
    for (std::size_t k = 1; k < classes_.size(); ++k) {
        const Class& c = classes_[k];
        if (c.n_nodes == 0) continue;
        const double end_s = std::max(0.0, c.ends.top().end_bytes - c.clock_bytes) / c.rate;
        if (next == 0 || end_s < next_s) {
            next = k;
            next_s = end_s;
        }
    }
    return next;
}

}  // namespace caesura::simulate
