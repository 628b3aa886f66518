#include "plan/horizon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/invalid.hpp"
#include "plan/one_step.hpp"

namespace caesura::plan {
namespace {

// How much the newest value counts; an application's pace changes seldom, and then for long.
constexpr double k_newest = 0.3;
// A plan is replaced where application or link are off by more than this share of its length, or
// sizes by more than this share of themselves.
constexpr double k_tolerance = 0.1;
// Of a run of which nothing is known the first checkpoint for which the link is too slow is
// compressed, to learn its size, and one more after so many that were sent raw. It counts as too
// slow where it needs a tenth more than the interval: less is not worth a look.
constexpr std::size_t k_look_again = 64;
constexpr double k_slower = 1.1;
// Where only the end of a run is known, what remains is planned with few states, which takes 8 us a
// checkpoint, and only when so few remain; and as if the application became faster by so much.
// A plan does not mind how long a backlog lasts; one that was built up in good faith cannot be
// worked off when the pace rises. 1.0 and 0.6 are behind the better simple way twice as often.
constexpr std::size_t k_states = 4, k_most_planned = 512;
constexpr double k_faster = 0.8;

void move_towards(double& value, double newest) { value += k_newest * (newest - value); }

}  // namespace

Result<HorizonPlanner> HorizonPlanner::create(CheckpointProfile expected, std::size_t checkpoints) {
    if (Status status = validate(expected, {}); !status.ok()) return status;
    return HorizonPlanner(std::move(expected), checkpoints);
}

// ---------------------------------------------------------------------------- what is expected

bool HorizonPlanner::has_room(double held_bytes) const {
    return 2.0 * (held_bytes + static_cast<double>(expected_.checkpoint_bytes)) +
               static_cast<double>(expected_.header_bytes) <=
           static_cast<double>(expected_.cache_bytes);
}

double HorizonPlanner::expected_interval_s(std::size_t checkpoint) const {
    if (checkpoint >= expected_.intervals_s.size()) return interval_s_;
    return expected_.intervals_s[checkpoint] * interval_scale_;
}

double HorizonPlanner::expected_bytes(std::size_t checkpoint) const {
    if (checkpoint >= expected_.compressed_bytes.size())
        return share_ * static_cast<double>(expected_.checkpoint_bytes);
    return static_cast<double>(expected_.compressed_bytes[checkpoint]) * size_scale_;
}

double HorizonPlanner::expected_of_held(std::uint64_t held_bytes) const {
    const std::size_t held = std::min<std::size_t>(held_bytes / expected_.checkpoint_bytes, made_);
    double bytes = 0.0;
    for (std::size_t i = made_ - held; i < made_; ++i) bytes += expected_bytes(i);
    return bytes;
}

void HorizonPlanner::learn_interval(double interval_s) {
    if (made_ == 0) interval_s_ = interval_s;
    move_towards(interval_s_, interval_s);
    if (made_ < expected_.intervals_s.size() && expected_.intervals_s[made_] > 0.0)
        move_towards(interval_scale_, interval_s / expected_.intervals_s[made_]);
}

void HorizonPlanner::compressed(std::uint64_t raw_bytes, std::uint64_t compressed_bytes,
                                double seconds) {
    if (raw_bytes == 0 || !std::isfinite(seconds) || seconds < 0.0) return;
    const auto raw = static_cast<double>(raw_bytes), small = static_cast<double>(compressed_bytes);
    const std::size_t together =
        std::min<std::size_t>(made_, raw_bytes / expected_.checkpoint_bytes);
    double foreseen = 0.0;
    for (std::size_t i = made_ - together; i < std::min(made_, expected_.compressed_bytes.size());
         ++i)
        foreseen += static_cast<double>(expected_.compressed_bytes[i]);
    if (foreseen > 0.0) move_towards(size_scale_, small / foreseen);
    share_ = small / raw;
    learned_ = true;
    since_ = 0;
    const double curve_s = compress_s(expected_.compress_curve, raw);
    if (curve_s > 0.0) move_towards(compress_scale_, seconds / curve_s);
}

CheckpointProfile HorizonPlanner::expected_from(std::size_t checkpoint, std::size_t count) const {
    CheckpointProfile profile;
    profile.checkpoint_bytes = expected_.checkpoint_bytes;
    profile.link_bytes_per_s = expected_.link_bytes_per_s;
    profile.cache_bytes = expected_.cache_bytes;
    profile.header_bytes = expected_.header_bytes;
    for (const CompressPoint& point : expected_.compress_curve)
        profile.compress_curve.push_back({point.bytes, point.seconds * compress_scale_});
    for (std::size_t i = checkpoint; i < checkpoint + count; ++i) {
        // The first one has just been made.
        profile.intervals_s.push_back(i == checkpoint ? 0.0 : expected_interval_s(i));
        profile.compressed_bytes.push_back(static_cast<std::uint64_t>(expected_bytes(i)));
    }
    return profile;
}

TogetherStart HorizonPlanner::start_of(const HorizonNow& now) const {
    TogetherStart start;
    start.held_bytes = now.held_bytes;
    start.held_compressed_bytes = static_cast<std::uint64_t>(expected_of_held(now.held_bytes));
    for (const QueuedBuffer& buffer : now.queued)
        if (buffer.end_s > now.now_s)
            start.queued.push_back({buffer.end_s - now.now_s, buffer.bytes});
    return start;
}

// ------------------------------------------------------------------------------------ deciding

Result<char> HorizonPlanner::next(const HorizonNow& now) {
    if (!std::isfinite(now.now_s) || !std::isfinite(now.interval_s) || now.interval_s < 0.0)
        return base::invalid(fmt::format("checkpoint {} is made at {} s after an interval of {} s",
                                         made_, now.now_s, now.interval_s));
    const bool holds = now.held_bytes > 0;
    const bool room = has_room(static_cast<double>(now.held_bytes));
    if (holds && !room)
        return base::invalid(
            fmt::format("{} bytes are held, which cannot be compressed in a cache of {} "
                        "together with checkpoint {}",
                        now.held_bytes, expected_.cache_bytes, made_));
    learn_interval(now.interval_s);
    const double link_s =
        now.queued.empty() ? now.now_s : std::max(now.now_s, now.queued.back().end_s);
    char letter = 'U';
    if (!room) {
        letter = 'U';  // not even one can be compressed
    } else if (!holds && is_to_be_looked_at(now, link_s)) {
        letter = 'C';
        word_.clear();  // plans are made with what this tells
        followed_ = 0;
    } else if (made_ < planned_end()) {
        if (!follows(now, link_s))
            if (Status status = plan(now, link_s); !status.ok()) return status;
        letter = word_[followed_++];
    } else if (learned_ || has_profile()) {
        letter = one_step(now, link_s);
    }
    ++made_;
    since_ += letter == 'U';
    return letter;
}

/// The last of those that can be planned now; of a far end those of which there is a profile.
std::size_t HorizonPlanner::planned_end() const {
    const bool near = learned_ && end_ <= made_ + k_most_planned;
    return near ? end_ : expected_.intervals_s.size();
}

bool HorizonPlanner::is_to_be_looked_at(const HorizonNow& now, double link_s) const {
    if (made_ < expected_.intervals_s.size()) return false;
    if (learned_ && since_ < k_look_again) return false;
    if (!learned_ && has_profile()) return false;
    const double raw_s =
        static_cast<double>(expected_.checkpoint_bytes) / expected_.link_bytes_per_s;
    return raw_s > k_slower * interval_s_ || link_s - now.now_s > raw_s;
}

char HorizonPlanner::one_step(const HorizonNow& now, double link_s) {
    if (now.held_bytes == 0) {
        holds_since_s_ = now.now_s;
        busy_then_s_ = link_s - now.now_s;
    }
    const auto most = static_cast<std::size_t>(static_cast<double>(expected_.cache_bytes) / 2.0 /
                                               static_cast<double>(expected_.checkpoint_bytes));
    return cheapest_step(expected_from(made_, most + 1), start_of(now), interval_s_,
                         {now.now_s - holds_since_s_, busy_then_s_});
}

// ------------------------------------------------------------------------------- following a plan

bool HorizonPlanner::follows(const HorizonNow& now, double link_s) {
    if (followed_ >= word_.size()) return false;
    // Planning took time on a real clock, in which the application stood still. It is no reason to
    // plan again, which would take as long again.
    if (followed_ == 1)
        application_begin_s_ = std::max(begin_s_, now.now_s - foreseen_[followed_].application_s);
    const bool holds = followed_ > 0 && word_[followed_ - 1] == 'A';
    if (holds != (now.held_bytes > 0)) return false;
    if (sizes_are_off()) return false;
    const Expected& foreseen = foreseen_[followed_];
    const double application_s = application_begin_s_ + foreseen.application_s;
    const double application_off = now.now_s - application_s;
    // The link went on meanwhile, until it had nothing left: it may be late by as much, or not.
    double link_off = link_s - std::max(begin_s_ + foreseen.link_s, application_s);
    if (link_off > 0.0) link_off = std::max(0.0, link_off - (application_begin_s_ - begin_s_));
    return std::max(std::abs(application_off), std::abs(link_off)) <= k_tolerance * length_s_;
}

CheckpointProfile HorizonPlanner::careful(CheckpointProfile profile) const {
    const std::size_t known = std::max(made_ + 1, expected_.intervals_s.size());
    for (std::size_t i = known - made_; i < profile.intervals_s.size(); ++i)
        profile.intervals_s[i] *= k_faster;
    return profile;
}

bool HorizonPlanner::sizes_are_off() const {
    const bool of_profile = made_ < expected_.compressed_bytes.size();
    const double now = of_profile ? size_scale_ : share_;
    const double planned = of_profile ? planned_scale_ : planned_share_;
    return std::abs(now - planned) > k_tolerance * planned;
}

Status HorizonPlanner::plan(const HorizonNow& now, double link_s) {
    const CheckpointProfile hoped = expected_from(made_, planned_end() - made_);
    CheckpointProfile profile = careful(hoped);
    TogetherStart start = start_of(now);
    // What is held can be compressed together with this one, whatever it shrinks to (the result
    // takes the place of the raw bytes): it is not to look as if it could not.
    if (now.held_bytes > 0) {
        const std::uint64_t spare = profile.cache_bytes - profile.header_bytes -
                                    2 * (now.held_bytes + profile.checkpoint_bytes);
        auto& first = profile.compressed_bytes.front();
        first = std::min(first, spare);
        start.held_compressed_bytes = std::min(start.held_compressed_bytes, spare - first);
    }
    Result<TogetherPlan> made =
        together(profile, start, planned_end() > expected_.intervals_s.size() ? k_states : 0);
    if (!made.ok()) return made.status();
    ++plans_;
    word_ = std::move(made->word);
    followed_ = 0;
    begin_s_ = application_begin_s_ = now.now_s;
    length_s_ = std::max(made->flush_end_s, link_s - now.now_s);
    planned_scale_ = size_scale_;
    planned_share_ = share_;
    foresee(hoped, start);
    return {};
}

void HorizonPlanner::foresee(const CheckpointProfile& profile, const TogetherStart& start) {
    TogetherModel model(profile);
    Moment at = model.begin(start);
    double raw = static_cast<double>(start.held_bytes);
    double small = static_cast<double>(start.held_compressed_bytes);
    foreseen_.clear();
    for (std::size_t i = 0; i < word_.size(); ++i) {
        foreseen_.push_back({at.application_s + profile.intervals_s[i], at.link_s});
        model.arrive(at, i, raw);
        raw += model.checkpoint_bytes();
        small += model.compressed_bytes(i);
        if (word_[i] == 'U') model.queue(at, model.checkpoint_bytes());
        if (word_[i] == 'C' || word_[i] == 'X') model.compress(at, raw, small);
        if (word_[i] != 'A') raw = small = 0.0;
    }
}

// ------------------------------------------------------------------------------------- the end

char HorizonPlanner::finish(const HorizonNow& now) const {
    const auto held = static_cast<double>(now.held_bytes);
    const double link_s = now.queued.empty() ? now.now_s : now.queued.back().end_s;
    const double compressed_at_s =
        now.now_s + compress_scale_ * compress_s(expected_.compress_curve, held);
    const double together_s = std::max(link_s, compressed_at_s) +
                              expected_of_held(now.held_bytes) / expected_.link_bytes_per_s;
    const double raw_s = std::max(link_s, now.now_s) + held / expected_.link_bytes_per_s;
    return together_s < raw_s ? 'X' : 'U';
}

}  // namespace caesura::plan
