// A file descriptor with one owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace caesura::base {

class Descriptor {
  public:
    Descriptor() = default;
    /// Takes it; -1 is none.
    explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
    Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Descriptor() { close(); }

    int get() const { return descriptor_; }
    bool is_open() const { return descriptor_ >= 0; }
    void close() {
        // Linux has closed it even if it says EINTR.
        if (descriptor_ >= 0) (void)::close(std::exchange(descriptor_, -1));
    }

  private:
    int descriptor_ = -1;
};

}  // namespace caesura::base
