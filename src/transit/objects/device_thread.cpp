#include "transit/objects/device_thread.hpp"

#include <new>

namespace caesura::transit {
namespace {

/// A call that somebody waits for. It lies on his stack.
class Awaited final : public DeviceCall {
  public:
    explicit Awaited(const std::function<Status(device::Device&)>& work) : work_(work) {}
    void make(device::Device& device) override {
        try {
            status_ = work_(device);
        } catch (const std::bad_alloc&) {  // an emulated device is memory of the host
            status_ = {StatusCode::no_space, "the service is out of memory"};
        }
        is_made_.store(true, std::memory_order_release);  // last: now he may go
    }
    bool is_made() const { return is_made_.load(std::memory_order_acquire); }
    Status take_status() { return std::move(status_); }

  private:
    const std::function<Status(device::Device&)>& work_;
    Status status_;
    std::atomic<bool> is_made_{false};
};

}  // namespace

DeviceThread::DeviceThread(std::unique_ptr<device::Device> device)
    : device_(std::move(device)), thread_([this] { loop(); }) {}

DeviceThread::~DeviceThread() {
    stopping_.store(true, std::memory_order_release);
    given_event_.raise();
    thread_.join();
}

void DeviceThread::give(DeviceCall& call) {
    call.next_ = given_.load(std::memory_order_relaxed);
    while (!given_.compare_exchange_weak(call.next_, &call, std::memory_order_acq_rel)) {
    }
    given_event_.raise();
}

// All who wait share an event: one in the call itself could be gone when it is raised.
Status DeviceThread::wait_for(const std::function<Status(device::Device&)>& work) {
    Awaited call(work);
    give(call);
    for (;;) {
        const std::uint32_t seen = made_event_.count();
        if (call.is_made()) return call.take_status();
        made_event_.wait(seen);
    }
}

void DeviceThread::loop() {
    for (;;) {
        const std::uint32_t seen = given_event_.count();
        const bool stopping = stopping_.load(std::memory_order_acquire);
        DeviceCall* oldest = nullptr;
        for (DeviceCall* call = given_.exchange(nullptr, std::memory_order_acq_rel);
             call != nullptr;) {
            DeviceCall* const next = call->next_;
            call->next_ = oldest;
            oldest = call;
            call = next;
        }
        if (oldest == nullptr) {
            if (stopping) return;
            given_event_.wait(seen);
        }
        while (oldest != nullptr) {
            DeviceCall& call = *oldest;
            oldest = call.next_;  // it may be gone afterwards
            call.make(*device_);
            made_event_.raise();
        }
    }
}

}  // namespace caesura::transit
