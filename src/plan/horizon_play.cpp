// A planner that does not know the run, in the model of plan/together.hpp.
#include <deque>

#include "plan/horizon.hpp"
#include "plan/together_model.hpp"

namespace caesura::plan {
namespace {

class HorizonRun {
  public:
    HorizonRun(const CheckpointProfile& actual, HorizonPlanner& planner, double plan_s)
        : actual_(actual),
          planner_(planner),
          plan_s_(plan_s),
          u_(static_cast<double>(actual.checkpoint_bytes)),
          cache_(static_cast<double>(actual.cache_bytes)) {}

    Status checkpoint(std::size_t i) {
        now_s_ += actual_.intervals_s[i];
        const std::uint64_t plans = planner_.plans();
        const Result<char> letter = planner_.next(seen(actual_.intervals_s[i]));
        if (!letter.ok()) return letter.status();
        now_s_ += plan_s_ * static_cast<double>(planner_.plans() - plans);
        word_ += *letter;
        wait_for(raw_ + u_);
        raw_ += u_;
        small_ += static_cast<double>(actual_.compressed_bytes[i]);
        if (*letter == 'U') send(raw_);
        if (*letter == 'C' || *letter == 'X') compress();
        return {};
    }
    void finish() {
        if (raw_ > 0.0 && planner_.finish(seen(0.0)) == 'X') compress();
        while (raw_ > 0.0) send(u_);
    }
    TogetherPlan result() const { return {word_, link_s_, now_s_, false}; }

  private:
    HorizonNow seen(double interval_s) {
        queue_.assign(queued_.begin(), queued_.end());
        return {now_s_, interval_s, static_cast<std::uint64_t>(raw_), queue_};
    }
    void wait_for(double bytes) {
        while (!queued_.empty() && (queued_.front().end_s <= now_s_ || used_ + bytes > cache_)) {
            now_s_ = std::max(now_s_, queued_.front().end_s);
            used_ -= queued_.front().bytes;
            queued_.pop_front();
        }
    }
    void send(double bytes) {
        raw_ -= bytes;
        queue(bytes);
    }
    void compress() {
        wait_for(2.0 * raw_ + static_cast<double>(actual_.header_bytes));
        const double seconds = compress_s(actual_.compress_curve, raw_);
        now_s_ += seconds;
        planner_.compressed(static_cast<std::uint64_t>(raw_), static_cast<std::uint64_t>(small_),
                            seconds);
        if (actual_.copy_bytes_per_s > 0.0) now_s_ += small_ / actual_.copy_bytes_per_s;
        queue(small_);
        raw_ = 0.0;
    }
    void queue(double bytes) {
        link_s_ = std::max(link_s_, now_s_) + bytes / actual_.link_bytes_per_s;
        queued_.push_back({link_s_, bytes});
        used_ += bytes;
        small_ = 0.0;
    }

    const CheckpointProfile& actual_;
    HorizonPlanner& planner_;
    double plan_s_, u_, cache_;
    double now_s_ = 0.0, link_s_ = 0.0;
    double raw_ = 0.0, small_ = 0.0;  ///< held
    double used_ = 0.0;               ///< by what is queued
    std::deque<QueuedBuffer> queued_;
    std::vector<QueuedBuffer> queue_;
    std::string word_;
};

}  // namespace

Result<TogetherPlan> play_planner(const CheckpointProfile& actual, HorizonPlanner& planner,
                                  double plan_s) {
    if (Status status = validate(actual, {}); !status.ok()) return status;
    HorizonRun run(actual, planner, plan_s);
    for (std::size_t i = 0; i < actual.intervals_s.size(); ++i)
        if (Status status = run.checkpoint(i); !status.ok()) return status;
    run.finish();
    return run.result();
}

}  // namespace caesura::plan
