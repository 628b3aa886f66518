// Packing what ranks tell each other: plain values, strings and lists, in the machine's own byte
// order (ranks of one job have the same).
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::writer {

class Packer {
  public:
    template <class T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto* bytes = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
    }
    void put(const std::string& text) {
        put(static_cast<std::uint64_t>(text.size()));
        const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
        bytes_.insert(bytes_.end(), bytes, bytes + text.size());
    }
    template <class T>
    void put(const std::vector<T>& values) {
        put(static_cast<std::uint64_t>(values.size()));
        for (const T& value : values) put(value);
    }
    const std::vector<std::byte>& bytes() const { return bytes_; }

  private:
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
    bool good() const { return good_; }

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

}  // namespace caesura::writer
