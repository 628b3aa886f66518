#include "plan/together.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "plan/together_model.hpp"

namespace caesura::plan {
namespace {

// Up to so many checkpoints hardly any instance has more states that none dominates; beyond, 16
// come within half a percent of 256 on the bench's instances (docs/evidence/checkpoints.md).
constexpr std::size_t k_few = 20, k_states_of_few = 256, k_states_of_many = 16;
// Measured: 2 is up to 1.2 % worse, 8 no better.
constexpr std::size_t k_windows = 4;

/// A number of checkpoints is handled, and nothing is held.
struct State {
    Moment at;
    std::int32_t before = -1;    ///< the state before the last step, of all that were kept
    std::uint32_t together = 0;  ///< checkpoints of the last step; 0: one, sent raw
    double promise_s = 0.0;      ///< roughly how late the goal may then be reached
};

/// The smaller the better.
std::pair<double, double> lateness_s(Goal goal, double link_s, double application_s) {
    if (goal == Goal::application_done) return {application_s, link_s};
    return {link_s, application_s};
}

/// The states for one number of handled checkpoints that no other dominates; where there are more
/// than may be kept, those that promise most.
class Frontier {
  public:
    enum class Added { yes, dominated, passed_over, instead };

    Added add(const TogetherModel& model, const State& made, std::size_t most) {
        // Cheapest first: of many candidates most promise too little.
        if (states_.size() == most && made.promise_s >= worst_s_) return Added::passed_over;
        for (const State& s : states_)
            if (model.dominates(s.at, made.at)) return Added::dominated;
        std::erase_if(states_, [&](const State& s) { return model.dominates(made.at, s.at); });
        states_.push_back(made);
        const bool too_many = states_.size() > most;
        if (too_many) {
            std::swap(*worst(), states_.back());
            states_.pop_back();
        }
        if (states_.size() == most) worst_s_ = worst()->promise_s;
        return too_many ? Added::instead : Added::yes;
    }
    const std::vector<State>& states() const { return states_; }

  private:
    std::vector<State>::iterator worst() {
        return std::max_element(states_.begin(), states_.end(), [](const State& a, const State& b) {
            return a.promise_s < b.promise_s;
        });
    }
    std::vector<State> states_;
    double worst_s_ = 0.0;  ///< the promise of the worst, where as many are kept as may be
};

/// What may come of a state: of the checkpoints that come next as many are compressed, at the best
/// speed there is, as makes application and link end together; or, where the application need not
/// wait for the link, as leaves it a full cache.
///
/// Looked at are only a few times as many as fit the cache together: what is queued now must be
/// carried while these are made, and no compression long after them makes up for a full cache.
class Promise {
  public:
    Promise(const CheckpointProfile& profile, const TogetherModel& model, Goal goal)
        : model_(model),
          goal_(goal),
          cache_s_(static_cast<double>(profile.cache_bytes) / profile.link_bytes_per_s),
          raw_s_(model.checkpoint_bytes() / profile.link_bytes_per_s),
          link_(profile.link_bytes_per_s),
          before_(1) {
        for (std::size_t i = 0; i < profile.intervals_s.size(); ++i)
            before_.push_back({before_[i].intervals_s + profile.intervals_s[i],
                               before_[i].small + model.compressed_bytes(i)});
        const double u = model.checkpoint_bytes();
        for (std::size_t k = 1; k == 1 || model.fits(static_cast<double>(k) * u, 0.0); ++k) {
            const double together = static_cast<double>(k);
            each_s_ =
                std::min(each_s_, compress_s(profile.compress_curve, together * u) / together);
            window_ = k_windows * k;
        }
    }
    double of(const Moment& now, std::size_t handled) const {
        const std::size_t end = std::min(handled + window_, before_.size() - 1);
        if (end == handled) return lateness_s(goal_, now.link_s, now.application_s).first;
        const double n = static_cast<double>(end - handled);
        const double small_s = (before_[end].small - before_[handled].small) / n / link_;
        const double saved_s = std::max(raw_s_ - small_s, 0.0);
        const double link_s = now.link_s + n * raw_s_;
        const double own_s =
            now.application_s + before_[end].intervals_s - before_[handled].intervals_s;
        const double left_s = goal_ == Goal::at_host ? 0.0 : cache_s_;
        // With y compressed: link_s - y saved_s = own_s + y each_s + left_s.
        const double trade_s = saved_s + each_s_;  // 0: nothing is won, and nothing paid
        const double late_s = link_s - own_s - left_s;
        const double y = trade_s > 0.0 ? std::clamp(late_s / trade_s, 0.0, n) : 0.0;
        return std::max(link_s - y * saved_s - left_s, own_s + y * each_s_);
    }

  private:
    struct Sums {
        double intervals_s = 0.0, small = 0.0;
    };
    const TogetherModel& model_;
    Goal goal_;
    double cache_s_, raw_s_, link_;
    std::vector<Sums> before_;  ///< [n + 1] of all checkpoints before one
    double each_s_ = std::numeric_limits<double>::infinity();
    std::size_t window_ = 0;
};

class Planner {
  public:
    Planner(const CheckpointProfile& profile, const TogetherStart& start, std::size_t states,
            Goal goal)
        : model_(profile),
          promise_(profile, model_, goal),
          goal_(goal),
          start_(start),
          n_(profile.intervals_s.size()),
          most_states_(states > 0    ? states
                       : n_ <= k_few ? k_states_of_few
                                     : k_states_of_many),
          frontiers_(n_ + 1) {}

    Result<TogetherPlan> plan() {
        State first;
        first.at = model_.begin(start_);
        frontiers_[0].add(model_, first, most_states_);
        for (std::size_t i = 0; i < n_; ++i) {
            for (const State& state : frontiers_[i].states()) {
                kept_.push_back(state);
                if (i > 0 || start_.held_bytes == 0) send_raw(state, i);
                send_together(state, i);
            }
            frontiers_[i] = {};
        }
        const auto& last = frontiers_[n_].states();
        if (last.empty())
            return Status{StatusCode::invalid_argument,
                          fmt::format("{} bytes are held, which cannot be compressed in a cache of "
                                      "this size together with the next checkpoint",
                                      start_.held_bytes)};
        const State& best = *std::min_element(last.begin(), last.end(), [&](auto& a, auto& b) {
            return lateness_s(goal_, a.at.link_s, a.at.application_s) <
                   lateness_s(goal_, b.at.link_s, b.at.application_s);
        });
        return TogetherPlan{word_of(best), best.at.link_s, best.at.application_s, exact_};
    }

  private:
    void send_raw(const State& state, std::size_t i) {
        Moment now = state.at;
        model_.arrive(now, i, 0.0);
        model_.queue(now, model_.checkpoint_bytes());
        add(i + 1, now, 0);
    }
    /// This one and those after it, as many as fit.
    void send_together(const State& state, std::size_t i) {
        Moment holding = state.at;
        double raw = i == 0 ? static_cast<double>(start_.held_bytes) : 0.0;
        double small = i == 0 ? static_cast<double>(start_.held_compressed_bytes) : 0.0;
        for (std::size_t end = i; end < n_; ++end) {
            small += model_.compressed_bytes(end);
            if (!model_.fits(raw + model_.checkpoint_bytes(), small)) return;
            model_.arrive(holding, end, raw);
            raw += model_.checkpoint_bytes();
            Moment now = holding;
            model_.compress(now, raw, small);
            add(end + 1, now, static_cast<std::uint32_t>(end + 1 - i));
        }
    }
    void add(std::size_t handled, const Moment& now, std::uint32_t together) {
        const State made{now, static_cast<std::int32_t>(kept_.size()) - 1, together,
                         promise_.of(now, handled)};
        const Frontier::Added added = frontiers_[handled].add(model_, made, most_states_);
        if (added == Frontier::Added::dominated || added == Frontier::Added::passed_over)
            model_.forget_newest();
        if (added == Frontier::Added::passed_over || added == Frontier::Added::instead)
            exact_ = false;
    }
    std::string word_of(const State& last) const {
        std::string word;
        for (const State* s = &last; s->before >= 0;
             s = &kept_[static_cast<std::size_t>(s->before)]) {
            word += s->together == 0 ? 'U' : s->together > 1 || opens_held(*s) ? 'X' : 'C';
            if (s->together > 1) word.append(s->together - 1, 'A');
        }
        std::reverse(word.begin(), word.end());
        return word;
    }
    /// Is the step the first one, with which what is held already goes?
    bool opens_held(const State& s) const {
        return start_.held_bytes > 0 && kept_[static_cast<std::size_t>(s.before)].before < 0;
    }

    TogetherModel model_;
    Promise promise_;
    Goal goal_;
    const TogetherStart& start_;
    std::size_t n_, most_states_;
    std::vector<Frontier> frontiers_;
    std::vector<State> kept_;  ///< in the order in which their steps were tried
    bool exact_ = true;
};

std::string all_raw(const CheckpointProfile& profile) {
    return std::string(profile.intervals_s.size(), 'U');
}

std::string each(const CheckpointProfile& profile) {
    const TogetherModel model(profile);
    std::string word;
    for (std::size_t i = 0; i < profile.intervals_s.size(); ++i)
        word += model.fits(model.checkpoint_bytes(), model.compressed_bytes(i)) ? 'C' : 'U';
    return word;
}

Status illegal(std::size_t i, std::string_view word, std::string_view why) {
    return {StatusCode::invalid_argument,
            fmt::format("letter {} of the word, {}: {}", i, word[i], why)};
}

}  // namespace

double compress_s(std::span<const CompressPoint> curve, double bytes) {
    if (bytes <= curve.front().bytes) return curve.front().seconds;
    const CompressPoint& last = curve.back();
    if (bytes >= last.bytes) return last.seconds * (bytes / last.bytes);
    const auto next =
        std::upper_bound(curve.begin(), curve.end(), bytes,
                         [](double b, const CompressPoint& p) { return b < p.bytes; });
    const CompressPoint& before = *std::prev(next);
    const double share = (bytes - before.bytes) / (next->bytes - before.bytes);
    return before.seconds + share * (next->seconds - before.seconds);
}

Result<TogetherPlan> together(const CheckpointProfile& profile, const TogetherStart& start,
                              std::size_t states, Goal goal) {
    if (Status status = validate(profile, start); !status.ok()) return status;
    Result<TogetherPlan> made = Planner(profile, start, states, goal).plan();
    if (!made.ok() || made->exact) return made;
    // What has been passed over may have been a simple word.
    for (const std::string& word : {all_raw(profile), each(profile)}) {
        const Result<TogetherPlan> simple = play(profile, word, start);
        if (simple.ok() && lateness_s(goal, simple->flush_end_s, simple->application_end_s) <
                               lateness_s(goal, made->flush_end_s, made->application_end_s)) {
            made = *simple;
            made->exact = false;
        }
    }
    return made;
}

Result<TogetherPlan> play(const CheckpointProfile& profile, std::string_view word,
                          const TogetherStart& start) {
    if (Status status = validate(profile, start); !status.ok()) return status;
    if (word.size() != profile.intervals_s.size())
        return Status{StatusCode::invalid_argument,
                      fmt::format("the word has {} letters for {} checkpoints", word.size(),
                                  profile.intervals_s.size())};
    TogetherModel model(profile);
    Moment now = model.begin(start);
    double raw = static_cast<double>(start.held_bytes);
    double small = static_cast<double>(start.held_compressed_bytes);
    for (std::size_t i = 0; i < word.size(); ++i) {
        const char letter = word[i];
        const bool holding = raw > 0.0;
        if (std::string_view("UCAX").find(letter) == std::string_view::npos)
            return illegal(i, word, "use U, C, A or X");
        if (holding && (letter == 'U' || letter == 'C'))
            return illegal(i, word, "something is held, which it would overtake; use A or X");
        if (letter == 'A' && i + 1 == word.size())
            return illegal(i, word, "nothing comes after it that could be compressed with it");
        const double all = raw + model.checkpoint_bytes();
        const double all_small = small + model.compressed_bytes(i);
        if (letter != 'U' && !model.fits(all, all_small))
            return illegal(i, word, fmt::format("{} bytes cannot be compressed in the cache", all));
        model.arrive(now, i, raw);
        if (letter == 'U') model.queue(now, model.checkpoint_bytes());
        if (letter == 'C' || letter == 'X') model.compress(now, all, all_small);
        raw = letter == 'A' ? all : 0.0;
        small = letter == 'A' ? all_small : 0.0;
    }
    return TogetherPlan{std::string(word), now.link_s, now.application_s, true};
}

Result<TogetherPlan> send_all_raw(const CheckpointProfile& profile) {
    return play(profile, all_raw(profile));
}

Result<TogetherPlan> compress_each(const CheckpointProfile& profile) {
    if (Status status = validate(profile, {}); !status.ok()) return status;
    return play(profile, each(profile));
}

}  // namespace caesura::plan
