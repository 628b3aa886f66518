// What planning checkpoints costs, and what it would win if a checkpoint might overtake those that
// are held. JSON on standard output; times are of the processor, so that a busy machine hardly
// changes them.
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace caesura::plan

int main() {
    const nlohmann::json result = {{"speed", caesura::plan::speed()},
                                   {"overtaking", caesura::plan::overtaking()}};
    std::puts(result.dump(1).c_str());
}
