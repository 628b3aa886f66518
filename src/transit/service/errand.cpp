#include "transit/service/errand.hpp"

#include <algorithm>
#include <new>

namespace caesura::transit {
namespace {

/// Belongs to itself until it is taken up.
class Errand final : public Work, public DoneWork {
  public:
    Errand(const ErrandHost& host, std::function<Status()> work,
           std::function<void(const Status&)> then)
        : lane_(host.lane),
          is_alive_(host.is_alive),
          owner_(host.owner()),
          work_(std::move(work)),
          then_(std::move(then)) {}

    void compute() override {
        try {
            status_ = is_alive_() ? work_() : gone();
        } catch (const std::bad_alloc&) {
            status_ = {StatusCode::no_space, "the service is out of memory"};
        }
        lane_.done(*this);
    }
    void give_up() override {
        status_ = gone();
        lane_.done(*this);
    }
    void take_up() override {
        const std::unique_ptr<Errand> self(this);
        then_(status_);
    }

  private:
    static Status gone() { return {StatusCode::cancelled, "the client is gone"}; }

    Lane& lane_;
    std::function<bool()> is_alive_;
    std::shared_ptr<void> owner_;  // goes last
    std::function<Status()> work_;
    std::function<void(const Status&)> then_;
    Status status_;
};

}  // namespace

void send_errand(const ErrandHost& host, double cost_s, std::function<Status()> work,
                 std::function<void(const Status&)> then) {
    auto errand = std::make_unique<Errand>(host, std::move(work), std::move(then));
    host.press.give(host.client, host.weight(), std::max(1e-6, cost_s), *errand.release());
}

}  // namespace caesura::transit
