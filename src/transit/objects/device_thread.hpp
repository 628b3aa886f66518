// The thread that makes all calls of a device.
//
// Why: the runtime of a device has locks of its own, and a device takes one call at a time. A
// worker at idle priority that is preempted in such a call would stop every other thread that
// needs the device (decision D22).
//
// Invariants:
//  - The thread has normal priority. It makes calls one after the other, in the order in which they
//    were given.
//  - Who gives a call touches atomics alone, also who waits for it: any thread may, whatever its
//    priority.
//  - What was given is made before the thread ends.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "base/event.hpp"
#include "caesura/device.hpp"

namespace caesura::transit {

/// Something to do with the device.
class DeviceCall {
  public:
    virtual ~DeviceCall() = default;
    /// On the device's thread, which does not touch the call afterwards. Must not throw.
    virtual void make(device::Device& device) = 0;

  private:
    friend class DeviceThread;
    DeviceCall* next_ = nullptr;
};

class DeviceThread {
  public:
    /// On a thread of normal priority, as the destructor.
    explicit DeviceThread(std::unique_ptr<device::Device> device);
    ~DeviceThread();
    DeviceThread(const DeviceThread&) = delete;
    DeviceThread& operator=(const DeviceThread&) = delete;

    /// Any thread, without waiting. The call lives until it is made.
    void give(DeviceCall& call);
    /// Any thread; waits for the work. It may throw bad_alloc. Errors: the work's; no_space.
    Status wait_for(const std::function<Status(device::Device&)>& work);

  private:
    void loop();

    const std::unique_ptr<device::Device> device_;
    base::Event given_event_, made_event_;
    std::atomic<DeviceCall*> given_{nullptr};  ///< the newest first
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace caesura::transit
