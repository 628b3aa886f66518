// A growing array that is aligned to a cache line and does not initialise what it makes room for.
//
// std::vector would write zeros to memory that kernels fill the next moment; for a block's symbols
// that is a quarter of the encoder's time.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace caesura::codec {

template <class T>
class AlignedBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    /// Room for n more elements behind size(). Throws std::bad_alloc.
    T* room(std::size_t n) {
        if (n > capacity_ - size_) grow(size_ + n);
        return data_.get() + size_;
    }
    /// After writing n elements of the room.
    void advance(std::size_t n) { size_ += n; }
    void clear() { size_ = 0; }
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }

  private:
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };
    void grow(std::size_t wanted) {
        constexpr std::size_t k_align = 64;
        const std::size_t larger = wanted + wanted / 2 + 1024;
        const std::size_t bytes = (larger * sizeof(T) + k_align - 1) / k_align * k_align;
        std::unique_ptr<T[], Free> memory(static_cast<T*>(std::aligned_alloc(k_align, bytes)));
        if (!memory) throw std::bad_alloc();
        if (size_ != 0) std::memcpy(memory.get(), data_.get(), size_ * sizeof(T));
        data_ = std::move(memory);
        capacity_ = bytes / sizeof(T);
    }
    std::unique_ptr<T[], Free> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace caesura::codec
