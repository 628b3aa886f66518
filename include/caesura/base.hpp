// Base vocabulary of Caesura: errors, data types, shapes, boxes, filters and the Communicator.
//
// Invariants:
//  - Nothing here throws across a public call; errors travel as Status or Result<T>.
//  - Shapes are in C order (last axis varies fastest), 1 to k_max_rank axes.
//  - No MPI and no HDF5 type appears here: a Communicator carries what MPI would.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Here, and in every public header: what shared libraries of ours export (tests/abi).
#pragma GCC visibility push(default)

namespace caesura {

// ---------------------------------------------------------------------------------- errors

/// Why a call failed. The numbers are pinned: they are the C API's and never change.
enum class StatusCode : int {
    ok = 0,
    invalid_argument = 1,   ///< the caller's value cannot be right
    insufficient_data = 2,  ///< the input ends too early; more bytes may make it valid
    corrupt = 3,            ///< the input contradicts itself or its checksum
    unsupported = 4,        ///< valid, but this build or machine cannot do it
    no_space = 5,           ///< disk or memory is exhausted
    io = 6,                 ///< the operating system refused an operation
    cancelled = 7,          ///< given up because of an earlier error, here or on another rank
    internal = 8,           ///< a bug of ours
};

/// The code's name as it stands above, e.g. "no_space".
std::string_view to_string(StatusCode code);

/// Success, or a code and a sentence that names field, rank and value.
class [[nodiscard]] Status {
  public:
    Status() = default;
    Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

    bool ok() const { return code_ == StatusCode::ok; }
    StatusCode code() const { return code_; }
    const std::string& message() const { return message_; }
    /// The same code, with `context` and ": " in front of the message.
    Status with_context(std::string_view context) const;

  private:
    StatusCode code_ = StatusCode::ok;
    std::string message_;
};

/// What Result::value() throws where there is no value; what() is the Status's message.
class NoValue : public std::runtime_error {
  public:
    explicit NoValue(Status status)
        : std::runtime_error(status.message()), status_(std::move(status)) {}
    const Status& status() const { return status_; }

  private:
    Status status_;
};

/// A value or the Status (never ok) that explains its absence.
///
/// Ask ok() before `*` and `->`, which do not look. value() looks: without a value it throws
/// NoValue, the only exception that this library throws of its own, and only where you call it.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
    Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design

    bool ok() const { return value_.has_value(); }
    const Status& status() const { return status_; }
    T& value() & {
        check();
        return *value_;
    }
    const T& value() const& {
        check();
        return *value_;
    }
    T&& value() && {
        check();
        return std::move(*value_);
    }
    T& operator*() & { return *value_; }
    const T& operator*() const& { return *value_; }
    T&& operator*() && { return std::move(*value_); }
    T* operator->() { return &*value_; }
    const T* operator->() const { return &*value_; }

  private:
    void check() const {
        if (!value_) throw NoValue(status_);
    }

    std::optional<T> value_;
    Status status_;
};

// ----------------------------------------------------------------------- types and shapes

/// What one value is. Integers and boolean are always stored without loss.
enum class DType : std::uint8_t {
    float32 = 1,
    float64 = 2,
    int8 = 3,
    int16 = 4,
    int32 = 5,
    int64 = 6,
    uint8 = 7,
    uint16 = 8,
    uint32 = 9,
    uint64 = 10,
    boolean = 11,     ///< one byte, 0 or 1
    float16 = 12,     ///< IEEE 754 in 16 bits
    bfloat16 = 13,    ///< the upper half of a float32
    complex64 = 14,   ///< two float32: real and imaginary part
    complex128 = 15,  ///< two float64
};
inline constexpr DType float32 = DType::float32;
inline constexpr DType float64 = DType::float64;
inline constexpr DType int8 = DType::int8;
inline constexpr DType int16 = DType::int16;
inline constexpr DType int32 = DType::int32;
inline constexpr DType int64 = DType::int64;
inline constexpr DType uint8 = DType::uint8;
inline constexpr DType uint16 = DType::uint16;
inline constexpr DType uint32 = DType::uint32;
inline constexpr DType uint64 = DType::uint64;
inline constexpr DType boolean = DType::boolean;
inline constexpr DType float16 = DType::float16;
inline constexpr DType bfloat16 = DType::bfloat16;
inline constexpr DType complex64 = DType::complex64;
inline constexpr DType complex128 = DType::complex128;

/// Values of the types of 16 bits as their bits: C++20 has no such types. Whoever has one of
/// another library's (_Float16, __half, __nv_bfloat16) hands in its memory as this.
struct Float16 {
    std::uint16_t bits = 0;
    friend bool operator==(Float16, Float16) = default;
};
struct Bfloat16 {
    std::uint16_t bits = 0;
    friend bool operator==(Bfloat16, Bfloat16) = default;
};

/// The DType of a C++ type: bool, Float16, Bfloat16, std::complex of float or double, or arithmetic
/// of 1 to 8 bytes, no character other than signed and unsigned char.
template <class T>
consteval DType dtype_of() {
    if constexpr (std::is_same_v<T, bool>) return boolean;
    if constexpr (std::is_same_v<T, Float16>) return float16;
    if constexpr (std::is_same_v<T, Bfloat16>) return bfloat16;
    if constexpr (std::is_same_v<T, std::complex<float>>) return complex64;
    if constexpr (std::is_same_v<T, std::complex<double>>) return complex128;
    constexpr bool k_is_special =
        std::is_same_v<T, bool> || std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16> ||
        std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
    static_assert(k_is_special || std::is_same_v<T, float> || std::is_same_v<T, double> ||
                      (std::is_integral_v<T> && sizeof(T) <= 8 && !std::is_same_v<T, char> &&
                       !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char8_t> &&
                       !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>),
                  "float, double, bool, a signed or unsigned integer of 1 to 8 bytes, Float16, "
                  "Bfloat16, or std::complex of float or double");
    if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? float32 : float64;
    constexpr DType k_signed[] = {int8, int16, int32, int64};
    constexpr DType k_unsigned[] = {uint8, uint16, uint32, uint64};
    const std::size_t place = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? k_signed[place] : k_unsigned[place];
}

/// Bytes per value.
constexpr std::size_t size_of(DType dtype) {
    constexpr std::uint8_t k_bytes[] = {8, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 2, 8, 16};
    const auto type = static_cast<std::size_t>(dtype);
    return k_bytes[type < sizeof k_bytes ? type : 0];
}
/// False of a number that is none of the above.
constexpr bool is_known(DType dtype) {
    return dtype >= DType::float32 && dtype <= DType::complex128;
}
constexpr bool is_complex(DType dtype) {
    return dtype == DType::complex64 || dtype == DType::complex128;
}
/// Of the two numbers of a complex value; else the type itself.
constexpr DType number_type(DType dtype) {
    return dtype == DType::complex64    ? DType::float32
           : dtype == DType::complex128 ? DType::float64
                                        : dtype;
}
/// One number, not two.
constexpr bool is_number(DType dtype) { return is_known(dtype) && !is_complex(dtype); }
/// boolean too: what is stored without loss.
constexpr bool is_integer(DType dtype) { return dtype >= DType::int8 && dtype <= DType::boolean; }
/// Floating point in 16 bits.
constexpr bool is_short_float(DType dtype) {
    return dtype == DType::float16 || dtype == DType::bfloat16;
}
constexpr bool is_signed_integer(DType dtype) {
    return dtype >= DType::int8 && dtype <= DType::int64;
}
std::string_view to_string(DType dtype);

inline constexpr int k_max_rank = 4;

/// Up to four extents or coordinates, in values, C order.
class Shape {
  public:
    Shape() = default;
    Shape(std::initializer_list<std::uint64_t> extents);
    explicit Shape(std::span<const std::uint64_t> extents);
    /// `rank` axes of `value` each.
    static Shape filled(int rank, std::uint64_t value);

    int rank() const { return rank_; }
    std::uint64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
    std::uint64_t& operator[](int axis) { return extents_[static_cast<std::size_t>(axis)]; }
    const std::uint64_t* data() const { return extents_.data(); }
    /// Product of the extents (1 for rank 0).
    std::uint64_t count() const;
    friend bool operator==(const Shape&, const Shape&) = default;

  private:
    std::array<std::uint64_t, k_max_rank> extents_{};
    int rank_ = 0;
};

/// "[64, 64, 256]"
std::string to_string(const Shape& shape);

/// An axis-aligned part of a global array: offset and extent have the same rank.
struct Box {
    Shape offset;
    Shape extent;
    friend bool operator==(const Box&, const Box&) = default;
};

/// The common part of two boxes; nullopt when they share no value.
std::optional<Box> intersect(const Box& a, const Box& b);
std::string to_string(const Box& box);

/// Copy the values of `part` (global coordinates) from an array that holds `source_box` to one that
/// holds `target_box`. Both arrays are dense, C order; `part` lies inside both boxes.
void copy_box(const Box& part, const Box& source_box, const std::byte* source,
              const Box& target_box, std::byte* target, std::size_t value_bytes);

/// Where the values of `part` begin, if they lie one after the other in a dense array that holds
/// `array_box`; else null. `part` lies inside the box.
const std::byte* dense_part(const Box& part, const Box& array_box, const std::byte* array,
                            std::size_t value_bytes);

/// One stage of a dataset's HDF5 filter pipeline, as a stock reader will see it.
struct FilterSpec {
    unsigned id = 0;                  ///< HDF5 filter number, e.g. 32024 for SZ3
    bool optional = true;             ///< H5Z_FLAG_OPTIONAL: may be skipped per chunk
    std::vector<unsigned> cd_values;  ///< final client data, stored verbatim
    std::string name{};               ///< shown by h5dump
    friend bool operator==(const FilterSpec&, const FilterSpec&) = default;
};

// ----------------------------------------------------------------------------- communicator

/// What Caesura needs from MPI, and nothing else. caesura/mpi.hpp implements it over MPI;
/// self() is the group of one process.
///
/// Every call below rank(), size() is collective: all ranks of the group call it in the same
/// order, from one thread at a time. A returned error is sticky for the group: no further call.
class Communicator {
  public:
    using Bytes = std::vector<std::byte>;

    virtual ~Communicator() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;

    virtual Status barrier() = 0;
    /// `data` of `root` replaces everyone's; same length everywhere.
    virtual Status broadcast(std::span<std::byte> data, int root) = 0;
    /// Everyone's `send` (same length everywhere) one after the other in `receive`.
    virtual Status allgather(std::span<const std::byte> send, std::span<std::byte> receive) = 0;
    /// As allgather, with lengths of any size; result[r] is what rank r sent.
    virtual Result<std::vector<Bytes>> allgatherv(std::span<const std::byte> send) = 0;
    /// As allgatherv, the result at `root` only; empty elsewhere.
    virtual Result<std::vector<Bytes>> gatherv(std::span<const std::byte> send, int root) = 0;
    /// send[r] goes to rank r; result[r] is what rank r sent here. send.size() == size().
    virtual Result<std::vector<Bytes>> alltoallv(std::span<const Bytes> send) = 0;
    /// The ranks that share this node's memory and network card. Errors: unsupported.
    virtual Result<std::unique_ptr<Communicator>> node_local() = 0;

    /// A group of one process.
    static std::unique_ptr<Communicator> self();
};

}  // namespace caesura

#pragma GCC visibility pop
