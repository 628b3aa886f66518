// The model of plan/together.hpp once more, written to be obviously right and slow, and all the
// words there are: what planning is held against.
//
// Invariants:
//  - Shares no line with the planner.
//  - Plays words in which U and C overtake what is held, too.
#pragma once

#include <functional>
#include <optional>
#include <random>

#include "plan/together.hpp"

namespace caesura::plan {

struct PlayedWord {
    double flush_end_s = 0.0, application_end_s = 0.0;
};

class SlowPlayer {
  public:
    explicit SlowPlayer(const CheckpointProfile& profile) : profile_(profile) {}

    /// @return  nothing where a word cannot be carried out.
    std::optional<PlayedWord> play(const std::string& word, const TogetherStart& start = {}) {
        queued_ = start.queued;
        double now_s = 0.0;
        double held = static_cast<double>(start.held_bytes);
        double held_small = static_cast<double>(start.held_compressed_bytes);
        const double u = static_cast<double>(profile_.checkpoint_bytes);
        for (std::size_t i = 0; i < word.size(); ++i) {
            const double small = static_cast<double>(profile_.compressed_bytes[i]);
            now_s = room(now_s + profile_.intervals_s[i], held + u);
            if (now_s < 0.0) return {};
            if (word[i] == 'A') held += u, held_small += small;
            if (word[i] == 'U') send(now_s, u);
            if (word[i] == 'C' && !compress(now_s, u, small, held)) return {};
            if (word[i] == 'X') {
                if (!compress(now_s, held + u, held_small + small, 0.0)) return {};
                held = held_small = 0.0;
            }
        }
        if (held > 0.0) return {};
        return PlayedWord{queued_.empty() ? 0.0 : queued_.back().end_s, now_s};
    }

  private:
    double used(double at_s) const {
        double bytes = 0.0;
        for (const QueuedBuffer& buffer : queued_)
            if (buffer.end_s > at_s) bytes += buffer.bytes;
        return bytes;
    }
    /// The first moment from which so much beside the queue fits; negative: never.
    double room(double from_s, double bytes) const {
        const double cache = static_cast<double>(profile_.cache_bytes);
        if (used(from_s) + bytes <= cache) return from_s;
        for (const QueuedBuffer& buffer : queued_)
            if (buffer.end_s > from_s && used(buffer.end_s) + bytes <= cache) return buffer.end_s;
        return -1.0;
    }
    void send(double now_s, double bytes) {
        const double link_s = queued_.empty() ? 0.0 : queued_.back().end_s;
        queued_.push_back({std::max(link_s, now_s) + bytes / profile_.link_bytes_per_s, bytes});
    }
    bool compress(double& now_s, double raw, double small, double beside) {
        const double header = static_cast<double>(profile_.header_bytes);
        now_s = room(now_s, beside + raw + (raw + header) + small);
        if (now_s < 0.0) return false;
        now_s += compress_s(profile_.compress_curve, raw);
        if (profile_.copy_bytes_per_s != 0.0) now_s += small / profile_.copy_bytes_per_s;
        send(now_s, small);
        return true;
    }

    const CheckpointProfile& profile_;
    std::vector<QueuedBuffer> queued_;
};

/// All words of n letters in which an X ends what is held.
/// @param overtaking  U and C may come while something is held.
inline void all_words(std::size_t n, bool overtaking, bool held,
                      const std::function<void(const std::string&)>& use, std::string word = {}) {
    if (word.size() == n) {
        if (!held) use(word);
        return;
    }
    if (!held || overtaking)
        for (const char letter : {'U', 'C'}) all_words(n, overtaking, held, use, word + letter);
    all_words(n, overtaking, true, use, word + 'A');
    if (held) all_words(n, overtaking, false, use, word + 'X');
}

/// 2 MB checkpoints, 25 GB/s, a curve that flattens as S2's Figure 2 does.
inline CheckpointProfile paper_like(std::size_t n, double generated_bytes_per_s) {
    CheckpointProfile profile;
    profile.checkpoint_bytes = 2'000'000;
    profile.cache_bytes = 128'000'000;
    profile.header_bytes = 1000;
    profile.link_bytes_per_s = 25e9;
    for (double bytes = 0.5e6; bytes < 300e6; bytes *= 2.0)
        profile.compress_curve.push_back({bytes, (bytes + 60e6) / 550e9});
    profile.intervals_s.assign(n, 2e6 / generated_bytes_per_s);
    profile.compressed_bytes.assign(n, 200'000);
    return profile;
}

/// A run in which every resource may be the scarce one.
inline CheckpointProfile random_profile(std::mt19937_64& random, std::size_t n) {
    const auto uniform = [&](double from, double to) {
        return std::uniform_real_distribution<double>(from, to)(random);
    };
    CheckpointProfile profile;
    profile.checkpoint_bytes = 1000;
    profile.cache_bytes = static_cast<std::uint64_t>(uniform(1000.0, 20000.0));
    profile.header_bytes = static_cast<std::uint64_t>(uniform(0.0, 200.0));
    profile.link_bytes_per_s = uniform(200.0, 3000.0);
    const double fixed_s = uniform(0.0, 1.0), speed = uniform(1000.0, 20000.0);
    for (const double bytes : {1000.0, 3000.0, 10000.0})
        profile.compress_curve.push_back({bytes, fixed_s + bytes / speed * uniform(0.7, 1.3)});
    if (profile.cache_bytes % 2 == 0) profile.copy_bytes_per_s = 20.0 * profile.link_bytes_per_s;
    const double interval_s = uniform(0.0, 1.5), small = uniform(20.0, 900.0);
    for (std::size_t i = 0; i < n; ++i) {
        profile.intervals_s.push_back(interval_s * uniform(0.5, 1.5));
        profile.compressed_bytes.push_back(static_cast<std::uint64_t>(small * uniform(0.5, 1.2)));
    }
    return profile;
}

}  // namespace caesura::plan
