#include "transit/service/placed_work.hpp"

#include <new>

#include "transit/service/dispatch.hpp"

namespace caesura::transit {

void PlacedWork::compute() {
    if (!is_wanted()) return give_up();
    const base::Clock& clock = *dispatch_->options_.clock;
    Dispatch::Place& place = *dispatch_->places_[place_];
    try {
        begun_s_ = clock.now_s();
        if (!std::exchange(prepared_, true)) begun_s_ += prepare(clock);
        place.running_since_s.store(begun_s_, std::memory_order_relaxed);
        place_ == 0 ? on_host() : on_device(*place.device, parts_);
        if (place_ == 0) device = "cpu";
        if (place_ != 0) device = place.device->label();
    } catch (const std::bad_alloc&) {
        end_with({StatusCode::no_space, "out of memory"});
    }
    ended_s_ = clock.now_s();
    place.running_since_s.store(-1.0, std::memory_order_relaxed);
    leave();
    const Status status = outcome();
    if (place_ == 0 || status.ok()) {
        tidy();
        return ready();
    }
    // Somebody else has to. Nothing of this is touched afterwards.
    failed_ = true;
    failure_ = status;
    dispatch_->go_to_host(*this);
}

void PlacedWork::give_up() {
    if (dispatch_ != nullptr) leave();
    end_with({StatusCode::cancelled, "the client is gone"});
    ready();
}

void PlacedWork::leave() {
    Dispatch::Place& place = *dispatch_->places_[place_];
    place.expected_us.fetch_sub(std::exchange(expected_us_, 0), std::memory_order_relaxed);
    place.waiting.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace caesura::transit
