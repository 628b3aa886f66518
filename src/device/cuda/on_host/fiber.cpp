#include "device/cuda/on_host/fiber.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif
#include <sanitizer/common_interface_defs.h>

#include <utility>

namespace caesura::device::on_host {
namespace {

constexpr std::size_t k_stack_bytes = 128 << 10;

thread_local Fiber* t_begins = nullptr;

}  // namespace

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(new std::byte[k_stack_bytes]) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = k_stack_bytes;
    makecontext(&context_, enter, 0);
#if defined(__SANITIZE_THREAD__)
    of_sanitizer_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(of_sanitizer_);
#endif
}

void Fiber::enter() {
    Fiber& fiber = *t_begins;
#if defined(__SANITIZE_ADDRESS__)
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    fiber.caller_bottom_ = bottom;
    fiber.caller_bytes_ = bytes;
#endif
    for (;;) {
        fiber.body_();
        fiber.stop();
    }
}

#if defined(__SANITIZE_ADDRESS__)

void Fiber::go_on() {
    t_begins = this;
    void* mine = nullptr;
    __sanitizer_start_switch_fiber(&mine, stack_.get(), k_stack_bytes);
    swapcontext(&caller_context_, &context_);
    __sanitizer_finish_switch_fiber(mine, nullptr, nullptr);
}

void Fiber::stop() {
    __sanitizer_start_switch_fiber(&of_sanitizer_, caller_bottom_, caller_bytes_);
    swapcontext(&context_, &caller_context_);
    __sanitizer_finish_switch_fiber(of_sanitizer_, &caller_bottom_, &caller_bytes_);
}

#elif defined(__SANITIZE_THREAD__)

void Fiber::go_on() {
    t_begins = this;
    caller_of_sanitizer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(of_sanitizer_, 0);
    swapcontext(&caller_context_, &context_);
}

void Fiber::stop() {
    __tsan_switch_to_fiber(caller_of_sanitizer_, 0);
    swapcontext(&context_, &caller_context_);
}

#else

void Fiber::go_on() {
    if (_setjmp(caller_) != 0) return;
    if (std::exchange(is_begun_, true)) _longjmp(here_, 1);
    t_begins = this;
    setcontext(&context_);
}

void Fiber::stop() {
    if (_setjmp(here_) == 0) _longjmp(caller_, 1);
}

#endif

}  // namespace caesura::device::on_host
