// Packing what ranks tell each other: plain values, strings and lists, in the machine's own byte
// order (ranks of one job have the same).
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::base {

class Packer {
  public:
    template <class T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        append(&value, sizeof value);
    }
    void put(const std::string& text) { put_bytes(std::as_bytes(std::span(text))); }
    template <class T>
    void put(const std::vector<T>& values) {
        put(static_cast<std::uint64_t>(values.size()));
        for (const T& value : values) put(value);
    }
    void put_bytes(std::span<const std::byte> bytes) {
        put(static_cast<std::uint64_t>(bytes.size()));
        append(bytes.data(), bytes.size());
    }
    const std::vector<std::byte>& bytes() const { return bytes_; }

  private:
    void append(const void* data, std::size_t size) {
        const std::size_t at = bytes_.size();
        bytes_.resize(at + size);
        if (size > 0) std::memcpy(bytes_.data() + at, data, size);
    }
    std::vector<std::byte> bytes_;
};

/// Reads what a Packer put, in the same order. Reading past the end gives zeros and clears good().
class Unpacker {
  public:
    explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class T>
    T get() {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        if (!take(sizeof value)) return value;
        std::memcpy(&value, bytes_.data() + at_ - sizeof value, sizeof value);
        return value;
    }
    std::string get_string() {
        const auto size = get<std::uint64_t>();
        if (!take(size)) return {};
        return {reinterpret_cast<const char*>(bytes_.data() + at_ - size), size};
    }
    template <class T>
    std::vector<T> get_list() {
        const auto size = get<std::uint64_t>();
        std::vector<T> values;
        for (std::uint64_t i = 0; i < size && good_; ++i) values.push_back(get<T>());
        return values;
    }
    /// What put_bytes() put; valid as long as the bytes that are read from.
    std::span<const std::byte> get_bytes() {
        const auto size = get<std::uint64_t>();
        if (!take(size)) return {};
        return bytes_.subspan(at_ - size, size);
    }
    bool good() const { return good_; }
    /// Is there more to read?
    bool more() const { return good_ && at_ < bytes_.size(); }

  private:
    bool take(std::uint64_t bytes) {
        if (!good_ || bytes > bytes_.size() - at_) {
            good_ = false;
            return false;
        }
        at_ += bytes;
        return true;
    }
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
    bool good_ = true;
};

}  // namespace caesura::base
