// A function on a stack of its own, that can stop anywhere and be gone on with: a thread of a
// kernel. There are a thousand of them in a block, and they stop at each barrier, so changing from
// one to another must cost no system call.
//
// Invariants: a fiber stays on the thread that made it.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace caesura::device::on_host {

class Fiber {
  public:
    /// Runs `body` whenever it is gone on with after the body's end.
    explicit Fiber(std::function<void()> body);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Until it stops, or the body ends.
    void go_on();
    /// From within the body: back to whom go_on() was called by.
    void stop();

  private:
    static void enter();

    std::function<void()> body_;
    std::unique_ptr<std::byte[]> stack_;
    ucontext_t context_{};
    jmp_buf here_{}, caller_{};
    bool is_begun_ = false;
    // Sanitizers want to be told, and know no jump to another stack.
    ucontext_t caller_context_{};
    void* of_sanitizer_ = nullptr;
    void* caller_of_sanitizer_ = nullptr;
    const void* caller_bottom_ = nullptr;
    std::size_t caller_bytes_ = 0;
};

}  // namespace caesura::device::on_host
