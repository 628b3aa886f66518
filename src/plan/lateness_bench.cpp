// Not pass/fail: by how much of its obstacles' lateness the application should be taken to be late.
//
//     plan_lateness_bench bench/plan/instances/{beginning,middle,end}.json
//
// Plans of ExtJohnson+BF and of the search are run by plan::execute() in worlds of two kinds. In
// the first every end of an obstacle is off by itself (S0 §5.4.1): that one came late says nothing
// of the next. In the second every stretch of time takes longer or shorter: lateness adds up and
// stays. Both have the same standard deviation on average over an iteration. Prints how long the
// iteration is, with the compress lane excluded and resumable, by how much of a change is followed.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plan/scenarios.hpp"

namespace caesura::plan {
namespace {

constexpr int k_worlds = 50;
constexpr double k_follows[] = {0.0, 0.25, 0.5, 0.75, 1.0};
constexpr std::size_t k_n = std::size(k_follows);

struct Problem {
    std::vector<Job> jobs;
    Obstacles obstacles;
    double iteration_s;
};

std::vector<Problem> read(std::span<char*> files) {
    std::vector<Problem> problems;
    for (const char* path : files)
        for (const auto& from : nlohmann::json::parse(std::ifstream(path))) {
            Problem problem;
            problem.iteration_s = from["iteration_s"];
            for (const auto& job : from["jobs"])
                problem.jobs.push_back({job["compress_s"], job["write_s"]});
            for (const auto& o : from["obstacles"]["compress"])
                problem.obstacles.compress.push_back({o[0], o[1]});
            for (const auto& o : from["obstacles"]["write"])
                problem.obstacles.write.push_back({o[0], o[1]});
            problems.push_back(std::move(problem));
        }
    return problems;
}

// S0's shares of noise; ends of obstacles by themselves if `independent_s` > 0.
Problem with_spreads(Problem problem, double independent_s, double durations) {
    problem.obstacles.spread_s = independent_s;
    for (Job& job : problem.jobs) {
        job.compress_spread_s = durations * 0.05 * job.compress_s;
        job.write_spread_s = durations * 0.1118 * job.write_s;
    }
    return problem;
}

double normal(Random& random) {
    return std::sqrt(-2.0 * std::log(1.0 - share(random))) *
           std::cos(2.0 * 3.14159265358979323846 * share(random));
}

// Every moment of the iteration is moved by a random walk: both lanes by the same.
void let_drift(Obstacles& obstacles, double walk_s, double iteration_s, Random& random) {
    constexpr std::size_t k_steps = 64;
    // A walk that ends with standard deviation e has e / sqrt(2) on average over its length.
    const double step_s = walk_s * std::sqrt(2.0 / k_steps);
    std::vector<double> late_s(k_steps + 1, 0.0);
    for (std::size_t k = 1; k <= k_steps; ++k) {
        late_s[k] = late_s[k - 1] + step_s * normal(random);
        const double width_s = iteration_s / k_steps;
        late_s[k] = std::max(late_s[k], late_s[k - 1] - 0.9 * width_s);  // time goes on
    }
    const auto moved = [&](double at_s) {
        const double place = std::clamp(at_s / iteration_s, 0.0, 1.0) * k_steps;
        const auto k = std::min(static_cast<std::size_t>(place), k_steps - 1);
        const double part = place - static_cast<double>(k);
        return at_s + (1.0 - part) * late_s[k] + part * late_s[k + 1];
    };
    for (auto* lane : {&obstacles.compress, &obstacles.write})
        for (Interval& o : *lane) o = {moved(o.begin_s), moved(o.end_s)};
}

using Row = std::array<double, k_n>;

// Mean length of the iteration over the computing's own, less 1.
Row run(std::span<const Problem> problems, Algorithm algorithm, bool resumable, double independent,
        double walk, double durations) {
    Row row{};
    unsigned seed = 1;
    for (const Problem& mean : problems) {
        const Problem in = with_spreads(mean, independent * mean.iteration_s, durations);
        Rules rules;
        rules.resumable = resumable;
        rules.search_steps = 2 * k_search_steps_per_ms;
        const Orders orders =
            orders_of(schedule(algorithm, in.jobs, in.obstacles, rules).value(), in.jobs);
        Random random(seed++);
        for (int i = 0; i < k_worlds; ++i) {
            Scenario world = draw_scenario(in.jobs, in.obstacles, random);
            if (walk > 0.0)
                let_drift(world.obstacles, walk * in.iteration_s, in.iteration_s, random);
            for (std::size_t k = 0; k < k_n; ++k) {
                const Execution done = run_orders(orders, in.jobs, in.obstacles, world.jobs,
                                                  world.obstacles, resumable, k_follows[k]);
                row[k] += std::max(1.0 + done.delay_s / in.iteration_s,
                                   done.schedule.end_s / in.iteration_s) -
                          1.0;
            }
        }
    }
    for (double& x : row) x /= static_cast<double>(problems.size()) * k_worlds;
    return row;
}

}  // namespace
}  // namespace caesura::plan

int main(int argc, char** argv) {
    using namespace caesura::plan;
    if (argc < 2) {
        fmt::print("usage: plan_lateness_bench INSTANCES.json...\n");
        return 2;
    }
    const auto problems = read(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
    fmt::print("| ends off by themselves | drift | durations | compress lane | plan |");
    for (const double follow : k_follows) fmt::print(" {:g} |", follow);
    fmt::print("\n|---|---|---|---|---|");
    for (std::size_t k = 0; k < k_n; ++k) fmt::print("---|");
    fmt::print("\n");
    struct Noise {
        double independent, walk, durations;
    };
    for (const Noise noise : {Noise{0.01, 0.0, 1.0},
                              {0.0, 0.01, 1.0},
                              {0.007, 0.007, 1.0},
                              {0.001, 0.0, 0.1},
                              {0.0, 0.001, 0.1},
                              {0.001, 0.01, 0.1},
                              {0.01, 0.001, 0.1},
                              {0.01, 0.0, 0.0},
                              {0.0, 0.01, 0.0}})
        for (const bool resumable : {false, true})
            for (const Algorithm algorithm : {Algorithm::ext_johnson_backfill, Algorithm::search}) {
                const Row row = run(problems, algorithm, resumable, noise.independent, noise.walk,
                                    noise.durations);
                fmt::print("| {:g} % | {:g} % | {:g} | {} | `{}` |", 100 * noise.independent,
                           100 * noise.walk, noise.durations, resumable ? "resumable" : "excluded",
                           to_string(algorithm));
                for (const double x : row) fmt::print(" {:.2f} % |", 100 * x);
                fmt::print("\n");
                std::fflush(stdout);
            }
}
