// What planning checkpoints costs, what it would win if a checkpoint might overtake those that are
// held, and what it loses where nothing is known of the run. JSON on standard output; times are of
// the processor, so that a busy machine hardly changes them.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "plan/horizon.hpp"
#include "plan/together_reference.hpp"

namespace caesura::plan {
namespace {

/// Its intervals and sizes vary by a tenth.
CheckpointProfile varied(std::mt19937_64& random, CheckpointProfile profile) {
    std::uniform_real_distribution<double> varies(0.9, 1.1);
    for (std::size_t i = 0; i < profile.intervals_s.size(); ++i) {
        profile.intervals_s[i] *= varies(random);
        profile.compressed_bytes[i] = static_cast<std::uint64_t>(2e5 * varies(random));
    }
    return profile;
}

nlohmann::json speed() {
    auto rows = nlohmann::json::array();
    for (const std::size_t n : {10u, 100u, 1000u, 10000u})
        for (const double rate : {17e9, 40e9, 100e9, 400e9})
            for (const std::size_t states : {std::size_t{0}, std::size_t{64}}) {
                std::mt19937_64 random(1);
                const CheckpointProfile profile = varied(random, paper_like(n, rate));
                const std::clock_t begin = std::clock();
                const auto plan = together(profile, {}, states);
                const double plan_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
                rows.push_back({{"checkpoints", n},
                                {"generated_bytes_per_s", rate},
                                {"states", states},
                                {"plan_s", plan_s},
                                {"exact", plan->exact},
                                {"flush_end_s", plan->flush_end_s},
                                {"raw_flush_end_s", send_all_raw(profile)->flush_end_s},
                                {"each_flush_end_s", compress_each(profile)->flush_end_s}});
            }
    return rows;
}

double best_s(SlowPlayer& player, std::size_t n, bool overtaking) {
    double best = std::numeric_limits<double>::infinity();
    all_words(n, overtaking, false, [&](const std::string& word) {
        if (const auto played = player.play(word)) best = std::min(best, played->flush_end_s);
    });
    return best;
}

nlohmann::json overtaking() {
    constexpr std::size_t k_letters = 8;
    constexpr int k_rounds = 500;
    std::mt19937_64 random(2);
    int gains = 0;
    double sum = 0.0, most = 0.0;
    for (int round = 0; round < k_rounds; ++round) {
        const CheckpointProfile profile = random_profile(random, k_letters);
        SlowPlayer player(profile);
        const double gain =
            best_s(player, k_letters, false) / best_s(player, k_letters, true) - 1.0;
        gains += gain > 1e-9;
        sum += gain;
        most = std::max(most, gain);
    }
    return {{"instances", k_rounds},
            {"checkpoints", k_letters},
            {"where_it_gains", gains},
            {"mean_gain", sum / k_rounds},
            {"largest_gain", most}};
}

/// Checkpoints of 2 MB or, as in S2's migration, of 9 to 24 MB, where the pace rises by half and
/// what they shrink to doubles on the way.
CheckpointProfile unknown_run(std::mt19937_64& random, bool migration, double level, double share,
                              double cache, std::size_t n) {
    std::uniform_real_distribution<double> varies(0.9, 1.1);
    CheckpointProfile profile = paper_like(n, 1e9);
    profile.compress_curve = {{1e5, 34e-6 + 1e5 / 550e9}, {2e9, 34e-6 + 2e9 / 550e9}};
    profile.cache_bytes = static_cast<std::uint64_t>(cache);
    const double u = migration ? 9e6 + 15e6 * level : 2e6;
    const double rate = 17e9 * std::pow(migration ? 9.0 : 24.0, level);
    profile.checkpoint_bytes = static_cast<std::uint64_t>(u);
    for (std::size_t i = 0; i < n; ++i) {
        const double done = static_cast<double>(i) / static_cast<double>(n);
        const double pace = migration ? (done < 0.5 ? 1.1 : 0.75) : 1.0;
        const double size = migration ? 0.6 + 0.8 * done : 1.0;
        profile.intervals_s[i] = u / rate * varies(random) * pace;
        profile.compressed_bytes[i] = static_cast<std::uint64_t>(u * share * size * varies(random));
    }
    return profile;
}

/// Without a profile, beside the better simple way and beside the plan of who knows the run.
nlohmann::json unknown(unsigned seed, bool length_known) {
    std::mt19937_64 random(seed);
    double worst = 0.0, mean = 0.0, furthest = 0.0, cpu_s = 0.0;
    int cases = 0, behind = 0;
    std::size_t checkpoints = 0;
    std::uint64_t plans = 0;
    for (const bool migration : {false, true})
        for (int step = 0; step <= 8; ++step)
            for (const double cache : {64e6, 128e6, 256e6, 1024e6})
                for (const double share : {0.25, 0.1, 0.04, 0.7})
                    for (const std::size_t n : {20u, 66u, 100u, 500u}) {
                        const CheckpointProfile run =
                            unknown_run(random, migration, step / 8.0, share, cache, n);
                        CheckpointProfile machine = run;
                        machine.intervals_s.clear();
                        machine.compressed_bytes.clear();
                        auto planner = HorizonPlanner::create(machine, length_known ? n : 0);
                        const std::clock_t begin = std::clock();
                        const double end_s = play_planner(run, *planner)->flush_end_s;
                        cpu_s += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
                        const double simple = end_s / std::min(send_all_raw(run)->flush_end_s,
                                                               compress_each(run)->flush_end_s);
                        const double known = end_s / together(run)->flush_end_s;
                        plans += planner->plans();
                        worst = std::max(worst, simple), furthest = std::max(furthest, known);
                        mean += known, checkpoints += n, ++cases, behind += simple > 1.02;
                    }
    return {{"instances", cases},
            {"over_2_percent_behind_the_better_simple_way", behind},
            {"worst_to_the_better_simple_way", worst},
            {"mean_to_the_plan", mean / cases},
            {"worst_to_the_plan", furthest},
            {"plans", plans},
            {"s_per_checkpoint", cpu_s / static_cast<double>(checkpoints)}};
}

}  // namespace
}  // namespace caesura::plan

int main() {
    const nlohmann::json result = {
        {"speed", caesura::plan::speed()},
        {"overtaking", caesura::plan::overtaking()},
        {"unknown", {caesura::plan::unknown(3, false), caesura::plan::unknown(4, false)}},
        {"length_known", {caesura::plan::unknown(3, true), caesura::plan::unknown(4, true)}}};
    std::puts(result.dump(1).c_str());
}
