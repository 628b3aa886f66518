#include "plan/who.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace caesura::plan {
namespace {

/// What a row of writes makes of the time it begins at: t -> max(t + work, floor). Rows follow each
/// other as functions do, so that a row with one task more or less costs O(1).
struct Row {
    double work_s = 0.0;
    double floor_s = 0.0;
    double operator()(double t) const { return std::max(t + work_s, floor_s); }
};
Row of(double write_s, double ready_s) { return {write_s, ready_s + write_s}; }
Row then(const Row& first, const Row& next) {
    return {first.work_s + next.work_s, std::max(first.floor_s + next.work_s, next.floor_s)};
}

struct Foreign {
    std::uint32_t from = 0, task = 0;
    double write_s = 0.0, ready_s = 0.0;  ///< write_s: on the lane that does it
    bool operator<(const Foreign& other) const {
        return std::tie(ready_s, from, task) < std::tie(other.ready_s, other.from, other.task);
    }
};

/// One process while moves are tried on it.
struct Process {
    const WriteLoad* load = nullptr;
    std::vector<std::uint32_t> own;  ///< tasks that have stayed, in order
    std::vector<Foreign> foreign;    ///< sorted

    double seconds(double write_s) const { return write_s / load->free_share; }
    Row row_of_own(std::size_t k) const {
        const WriteTask& task = load->tasks[own[k]];
        return of(seconds(task.write_s), task.ready_s);
    }
    /// rows[k]: everything from position k on; own tasks, then foreign ones.
    std::vector<Row> rows() const {
        std::vector<Row> rows(own.size() + foreign.size() + 1);
        std::size_t k = rows.size() - 1;
        for (std::size_t f = foreign.size(); f-- > 0; --k)
            rows[k - 1] = then(of(foreign[f].write_s, foreign[f].ready_s), rows[k]);
        for (; k > 0; --k) rows[k - 1] = then(row_of_own(k - 1), rows[k]);
        return rows;
    }
    double done_s() const { return rows()[0](0.0); }
};

std::vector<Process> processes_of(std::span<const WriteLoad> loads) {
    std::vector<Process> processes(loads.size());
    for (std::size_t p = 0; p < loads.size(); ++p) {
        processes[p].load = &loads[p];
        processes[p].own.resize(loads[p].tasks.size());
        std::iota(processes[p].own.begin(), processes[p].own.end(), 0u);
    }
    return processes;
}

Foreign foreign_of(const Process& from, const Move& move, const Process& to) {
    const WriteTask& task = from.load->tasks[move.task];
    return {move.from, move.task, to.seconds(task.write_s), task.ready_s};
}

void make(const Move& move, std::vector<Process>& processes) {
    Process& from = processes[move.from];
    Process& to = processes[move.to];
    from.own.erase(std::find(from.own.begin(), from.own.end(), move.task));
    const Foreign task = foreign_of(from, move, to);
    to.foreign.insert(std::upper_bound(to.foreign.begin(), to.foreign.end(), task), task);
}

/// A process as a possible helper: when it would be done with one foreign task more.
class Helper {
  public:
    explicit Helper(const Process& process) : process_(process), rows_(process.rows()) {
        const std::size_t own = process.own.size();
        double t = 0.0;
        for (std::size_t k = 0; k < own; ++k) t = process.row_of_own(k)(t);
        before_s_.push_back(t);
        for (const Foreign& task : process.foreign)
            before_s_.push_back(t = of(task.write_s, task.ready_s)(t));
    }
    double done_with_s(const Foreign& task) const {
        const auto& foreign = process_.foreign;
        const auto at = static_cast<std::size_t>(
            std::upper_bound(foreign.begin(), foreign.end(), task) - foreign.begin());
        const double end_s = of(task.write_s, task.ready_s)(before_s_[at]);
        return rows_[process_.own.size() + at](end_s);
    }

  private:
    const Process& process_;
    std::vector<Row> rows_;
    std::vector<double> before_s_;  // [k]: done with all that is its own and k foreign tasks
};

// The few that are done soonest and give nothing away, the first of them first.
std::vector<std::uint32_t> idlest(std::span<const Process> processes,
                                  std::span<const double> done_s) {
    constexpr std::size_t k_few = 4;  // others are no better as a rule, and cost time on fat nodes
    std::vector<std::uint32_t> found;
    for (std::uint32_t p = 0; p < processes.size(); ++p)
        if (processes[p].own.size() == processes[p].load->tasks.size()) found.push_back(p);
    const auto few = found.begin() + static_cast<std::ptrdiff_t>(std::min(k_few, found.size()));
    std::partial_sort(found.begin(), few, found.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(done_s[a], a) < std::pair(done_s[b], b);
    });
    found.erase(few, found.end());
    return found;
}

// Of all tasks of the process that is done last, and of its possible helpers, the pair that lets
// the later of the two be done soonest. Each such move makes the sorted list of ends smaller, so
// they end. Nobody both gives and takes: else the crumbs of a helper that is last by a hair go
// elsewhere.
std::vector<Move> best_moves(std::span<const WriteLoad> loads, double least_gain) {
    std::vector<Process> processes = processes_of(loads);
    std::vector<double> done_s;
    for (const Process& process : processes) done_s.push_back(process.done_s());
    const double before_s = *std::max_element(done_s.begin(), done_s.end());
    std::vector<Move> moves;
    for (;;) {
        const auto from = static_cast<std::uint32_t>(
            std::max_element(done_s.begin(), done_s.end()) - done_s.begin());
        const Process& heavy = processes[from];
        if (!heavy.foreign.empty()) break;  // a helper is not helped
        const std::vector<Row> rows = heavy.rows();
        std::vector<double> done_without_s;
        double t = 0.0;
        for (std::size_t k = 0; k < heavy.own.size(); ++k) {
            done_without_s.push_back(rows[k + 1](t));
            t = heavy.row_of_own(k)(t);
        }
        std::optional<Move> best;
        // A hair less, so that rounding cannot make a task look like a gain for ever.
        double best_s = done_s[from] * (1.0 - 1e-9);
        for (const std::uint32_t to : idlest(processes, done_s)) {
            if (to == from || done_s[to] >= best_s) continue;
            const Helper helper(processes[to]);
            for (std::size_t k = 0; k < heavy.own.size(); ++k) {
                const Move move{from, heavy.own[k], to};
                const Foreign task = foreign_of(heavy, move, processes[to]);
                const double end_s = std::max(done_without_s[k], helper.done_with_s(task));
                if (end_s >= best_s) continue;
                best_s = end_s;
                best = move;
            }
        }
        if (!best) break;
        make(*best, processes);
        done_s[best->from] = processes[best->from].done_s();
        done_s[best->to] = processes[best->to].done_s();
        moves.push_back(*best);
    }
    const double after_s = *std::max_element(done_s.begin(), done_s.end());
    if (after_s > (1.0 - least_gain) * before_s) moves.clear();
    return moves;
}

// Loads are sums of write times, as in the paper.
std::vector<Move> first_to_last(std::span<const WriteLoad> loads) {
    std::vector<double> load_s;
    for (const WriteLoad& load : loads)
        load_s.push_back(
            std::accumulate(load.tasks.begin(), load.tasks.end(), 0.0,
                            [](double sum, const WriteTask& task) { return sum + task.write_s; }));
    std::vector<std::uint32_t> first(loads.size(), 0);
    std::vector<Move> moves;
    for (;;) {
        const auto [least, most] = std::minmax_element(load_s.begin(), load_s.end());
        const auto from = static_cast<std::uint32_t>(most - load_s.begin());
        const auto to = static_cast<std::uint32_t>(least - load_s.begin());
        if (*most < 2.0 * *least || first[from] == loads[from].tasks.size()) return moves;
        const double write_s = loads[from].tasks[first[from]].write_s;
        if (write_s <= 0.0 || *least + write_s >= *most) return moves;
        moves.push_back({from, first[from]++, to});
        load_s[from] -= write_s;
        load_s[to] += write_s;
    }
}

Status check_loads(std::span<const WriteLoad> loads) {
    const auto bad = [](double value) { return !std::isfinite(value) || value < 0.0; };
    for (std::size_t p = 0; p < loads.size(); ++p) {
        const WriteLoad& load = loads[p];
        if (!(load.free_share > 0.0 && load.free_share <= 1.0))
            return {StatusCode::invalid_argument,
                    fmt::format("process {}: free_share is {}; it must lie in (0, 1]", p,
                                load.free_share)};
        for (std::size_t t = 0; t < load.tasks.size(); ++t)
            if (bad(load.tasks[t].write_s) || bad(load.tasks[t].ready_s))
                return {StatusCode::invalid_argument,
                        fmt::format("process {} task {}: write_s {} and ready_s {} must be finite "
                                    "and not negative",
                                    p, t, load.tasks[t].write_s, load.tasks[t].ready_s)};
    }
    return {};
}

}  // namespace

std::string_view to_string(Balance balance) {
    switch (balance) {
        case Balance::none:
            return "none";
        case Balance::first_to_last:
            return "first_to_last";
        case Balance::best_move:
            return "best_move";
    }
    return "unknown";
}

Result<Balance> balance_named(std::string_view name) {
    std::string names;
    for (const Balance balance : k_balances) {
        if (name == to_string(balance)) return balance;
        names += names.empty() ? "" : ", ";
        names += to_string(balance);
    }
    return Status{StatusCode::invalid_argument,
                  fmt::format("balance is '{}'; use one of {}", name, names)};
}

Result<std::vector<Move>> balance(std::span<const WriteLoad> loads, const BalanceRules& rules) {
    if (Status status = check_loads(loads); !status.ok()) return status;
    if (!(rules.least_gain >= 0.0 && rules.least_gain < 1.0))
        return Status{StatusCode::invalid_argument,
                      fmt::format("least_gain is {}; it must lie in [0, 1)", rules.least_gain)};
    if (loads.size() < 2 || rules.balance == Balance::none) return std::vector<Move>{};
    if (rules.balance == Balance::first_to_last) return first_to_last(loads);
    return best_moves(loads, rules.least_gain);
}

std::vector<double> done_s(std::span<const WriteLoad> loads, std::span<const Move> moves) {
    std::vector<Process> processes = processes_of(loads);
    for (const Move& move : moves) make(move, processes);
    std::vector<double> done_s;
    for (const Process& process : processes) done_s.push_back(process.done_s());
    return done_s;
}

}  // namespace caesura::plan
