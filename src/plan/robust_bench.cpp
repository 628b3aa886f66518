// Not pass/fail: what plans are worth when reality departs from them by S0 §5.4.1's noise, and by a
// tenth of it.
//
//     plan_robust_bench bench/plan/instances/{beginning,middle,end}.json
//
// Every plan is run by plan::execute() in the same 100 worlds an instance, none of which it has
// seen. Prints the table of docs/evidence/planning.md.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "plan/scenarios.hpp"

namespace caesura::plan {
namespace {

constexpr int k_worlds = 100;

struct Problem {
    std::vector<Job> jobs;
    Obstacles obstacles;
    double iteration_s;
};

std::vector<Problem> read(const char* path, double noise) {
    std::vector<Problem> problems;
    for (const auto& from : nlohmann::json::parse(std::ifstream(path))) {
        Problem problem;
        problem.iteration_s = from["iteration_s"];
        problem.obstacles.spread_s = noise * 0.01 * problem.iteration_s;
        for (const auto& job : from["jobs"]) {
            const double compress_s = job["compress_s"], write_s = job["write_s"];
            // Of a write: 10 % of the ratio and 5 % of the throughput, independent.
            problem.jobs.push_back(
                {compress_s, write_s, noise * 0.05 * compress_s, noise * 0.1118 * write_s});
        }
        for (const auto& o : from["obstacles"]["compress"])
            problem.obstacles.compress.push_back({o[0], o[1]});
        for (const auto& o : from["obstacles"]["write"])
            problem.obstacles.write.push_back({o[0], o[1]});
        problems.push_back(std::move(problem));
    }
    return problems;
}

struct Sums {
    double planned_s = 0.0, iteration_s = 0.0, held_up_s = 0.0;
    int better = 0;  // instances on which it beats the plan against means
};

void add(const Problem& in, bool resumable, std::vector<Sums>& sums, unsigned seed) {
    Rules rules;
    rules.resumable = resumable;
    Rules robust = rules;
    robust.robust = true;
    const Schedule plans[] = {
        schedule(Algorithm::ext_johnson_backfill, in.jobs, in.obstacles, rules).value(),
        schedule(Algorithm::search, in.jobs, in.obstacles, rules).value(),
        schedule(Algorithm::search, in.jobs, in.obstacles, robust).value()};
    std::vector<double> lasts_s(std::size(plans), 0.0);
    Random random(seed);
    for (int i = 0; i < k_worlds; ++i) {
        const Scenario world = draw_scenario(in.jobs, in.obstacles, random);
        for (std::size_t p = 0; p < std::size(plans); ++p) {
            const Execution done = run_orders(orders_of(plans[p], in.jobs), in.jobs, in.obstacles,
                                              world.jobs, world.obstacles, resumable);
            lasts_s[p] += std::max(in.iteration_s + done.delay_s, done.schedule.end_s) / k_worlds;
            sums[p].held_up_s += done.delay_s / k_worlds;
        }
    }
    for (std::size_t p = 0; p < std::size(plans); ++p) {
        sums[p].planned_s += std::max(in.iteration_s, plans[p].end_s);
        sums[p].iteration_s += lasts_s[p];
        sums[p].better += lasts_s[p] < lasts_s[1] ? 1 : 0;
    }
}

void run(double noise, bool resumable, std::span<char*> files) {
    std::vector<Sums> sums(3);
    int n = 0;
    for (const char* file : files)
        for (const Problem& problem : read(file, noise))
            add(problem, resumable, sums, 1000u + static_cast<unsigned>(n++));
    const char* names[] = {"`ext_johnson_backfill`", "`default`", "`default`, robust"};
    for (std::size_t p = 0; p < sums.size(); ++p)
        fmt::print("| {} | {} | {} | {:.3f} s | {:.3f} s | {:.3f} s | {} of {} |\n", noise,
                   resumable ? "resumable" : "excluded", names[p], sums[p].planned_s / n,
                   sums[p].iteration_s / n, sums[p].held_up_s / n, sums[p].better, n);
}

}  // namespace
}  // namespace caesura::plan

int main(int argc, char** argv) {
    if (argc < 2) {
        fmt::print("usage: plan_robust_bench INSTANCES.json...\n");
        return 2;
    }
    fmt::print(
        "| noise beside S0's | compress lane | plan | planned | came true | application held up "
        "| better than the plan against means |\n|---|---|---|---|---|---|---|\n");
    for (const double noise : {1.0, 0.1})
        for (const bool resumable : {false, true})
            caesura::plan::run(noise, resumable, std::span(argv, argv + argc).subspan(1));
}
