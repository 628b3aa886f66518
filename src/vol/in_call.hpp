// How long the application is inside the connector: in whichever call, and while MPI or HDF5 end.
//
// Invariant: calls nest, as HDF5 calls back; the outermost is what counts. HDF5's lock lets one in
// at a time. Another thread may ask how long it was.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace caesura::vol {

class InCall {
  public:
    InCall() {
        if (depth_++ == 0) begun_ns_ = now_ns();
    }
    ~InCall() {
        if (--depth_ == 0) sum_ns_ += now_ns() - begun_ns_.exchange(0);
    }
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;

    /// Seconds since it was asked last, those of the call that is going on included.
    static double take_s() {
        constexpr double k_ns = 1e-9;
        std::int64_t ns = sum_ns_.exchange(0);
        if (std::int64_t begun = begun_ns_; begun != 0) {
            const std::int64_t now = now_ns();
            if (begun_ns_.compare_exchange_strong(begun, now)) ns += now - begun;
        }
        return k_ns * static_cast<double>(ns);
    }

  private:
    static std::int64_t now_ns() {
        return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    }
    inline static int depth_ = 0;
    inline static std::atomic<std::int64_t> begun_ns_{0};  ///< 0: not inside
    inline static std::atomic<std::int64_t> sum_ns_{0};
};

}  // namespace caesura::vol
