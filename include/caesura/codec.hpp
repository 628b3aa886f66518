// Error bounds, and Caesura's own codec: an array becomes a frame of bytes and comes back.
//
// Invariants:
//  - For every finite value |x - x'| <= bound, exactly, in the array's own type. NaN (with its
//    payload), infinities and -0 come back bit for bit whenever the bound does not cover them.
//  - A frame decodes on its own, given the table set it names (or none, if it carries its own).
//  - The same input and options give the same bytes on every machine and instruction set.
//  - No frame is larger than the raw values + k_frame_overhead_bytes.
//  - decompress() is safe on any input: a wrong frame is an error, never a crash.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "caesura/base.hpp"

#pragma GCC visibility push(default)

namespace caesura {

// ----------------------------------------------------------------------------------- bounds

/// How far a stored value may lie from the one handed in.
struct ErrorBound {
    enum class Kind : std::uint8_t {
        lossless = 0,
        absolute = 1,
        relative = 2,
        pointwise_relative = 3,
        psnr = 4
    };
    Kind kind = Kind::lossless;
    /// absolute: in units of the field; relative: share of the value range; pointwise_relative:
    /// share of each value's magnitude; psnr: decibels
    double value = 0.0;
    friend bool operator==(const ErrorBound&, const ErrorBound&) = default;
};

inline ErrorBound lossless() { return {}; }
/// |x - x'| <= bound for every finite x. bound > 0 and finite.
inline ErrorBound absolute(double bound) { return {ErrorBound::Kind::absolute, bound}; }
/// |x - x'| <= fraction * (max - min of the whole field in this dump). 0 < fraction < 1.
inline ErrorBound relative(double fraction) { return {ErrorBound::Kind::relative, fraction}; }
/// |x - x'| <= fraction * |x| for every finite x; zeros come back as they are. 0 < fraction < 1.
inline ErrorBound pointwise_relative(double fraction) {
    return {ErrorBound::Kind::pointwise_relative, fraction};
}
/// 20 log10((max - min) / sqrt(mean (x - x')^2)) >= decibels, over the finite values. 0 < decibels
/// < 400.
inline ErrorBound psnr(double decibels) { return {ErrorBound::Kind::psnr, decibels}; }
/// Is the bound one that can be kept? Errors: invalid_argument (NaN, infinite, 0, negative,
/// relative >= 1, psnr >= 400), naming the value.
Status validate(const ErrorBound& bound);

// -------------------------------------------------------------------------------- the codec

/// How a block is predicted before its residuals are coded.
enum class Mode : std::uint8_t {
    automatic = 0,  ///< the better of fast and strong, by the size predicted from a sample
    fast = 1,       ///< Lorenzo prediction on integers
    strong = 2,     ///< multi-level interpolation with row feedback
    planes = 3,     ///< Lorenzo, residuals in fixed lengths: memory speed, smaller ratios
    /// As automatic, with settings of its own for every region of a block where that is smaller:
    /// never larger than automatic, 10 to 50 times slower to compress, up to 3 to decompress.
    regions = 4,
};

/// The probability tables that frames of one field share, from dump to dump (S0 section 4.3).
///
/// A value type of at most k_table_set_limit_bytes: cheap to copy, to agree on between ranks and
/// to store beside the data. The same statistics give the same set on every machine.
class TableSet {
  public:
    /// The set that serves when nothing is known of the field yet. Its id is 0.
    TableSet();
    /// Errors: corrupt (not a table set, or its checksum is wrong), unsupported.
    static Result<TableSet> parse(std::span<const std::byte> bytes);
    /// What parse() takes; empty for the built-in set. Valid while this object lives.
    std::span<const std::byte> bytes() const { return bytes_; }
    /// Hash of bytes(): frames name their set by it. 0: the built-in set.
    std::uint64_t id() const { return id_; }
    friend bool operator==(const TableSet& a, const TableSet& b) { return a.bytes_ == b.bytes_; }

  private:
    friend class TableTraining;
    std::vector<std::byte> bytes_;
    std::uint64_t id_ = 0;
};

inline constexpr std::size_t k_table_set_limit_bytes = 1024;

/// Counts of what was coded, from which the next table set is made. Add up the counts of blocks,
/// ranks and dumps of one field with add(); then train().
class TableStatistics {
  public:
    TableStatistics();
    bool empty() const;
    void add(const TableStatistics& other);
    /// For sending to another rank; about 4 KiB. parse() errors: corrupt, unsupported.
    std::vector<std::byte> bytes() const;
    static Result<TableStatistics> parse(std::span<const std::byte> bytes);
    /// The set that codes these counts best. Deterministic; about 50 us.
    /// Source: S0 §4.3. Differs: range coder tables per class of chunk, not one Huffman tree.
    TableSet train() const;

  private:
    friend class TableTraining;
    std::vector<std::uint64_t> counts_;
};

struct CompressOptions {
    Mode mode = Mode::automatic;
    /// The field's shared set; null: the built-in one. Must outlive the call. A block that the set
    /// does not fit carries its own table inline; the frame says so.
    const TableSet* tables = nullptr;
    /// Null, or where to add what this call coded. Not touched by other threads meanwhile.
    TableStatistics* statistics = nullptr;
    bool checksum = true;
    /// Threads for arrays of more than one slab (16 MiB); 0: as many as the machine has.
    int threads = 1;
    /// Off: `tables` are used even where they fit badly (to measure what that costs).
    bool drift_check = true;
    /// Values of the array's type, one after the other: those with the same bits are missing. They
    /// come back as they are and belong to no range. At most 255; must outlive the call.
    std::span<const std::byte> missing = {};
    /// Values that look like fills are missing, too (docs/reference/missing_values.md).
    bool find_suspects = true;
};

struct FrameInfo {
    std::uint8_t version = 0;
    DType dtype = DType::float32;  ///< meaningless if untyped
    Shape shape;                   ///< untyped: {raw_bytes, value_bytes}
    bool untyped = false;          ///< made by compress_bytes()
    std::uint64_t raw_bytes = 0;   ///< what decompress() fills
    std::size_t value_bytes = 0;   ///< of one value
    ErrorBound bound;              ///< as asked for
    double absolute_bound = 0;     ///< what it came to; 0: lossless (or per value)
    /// What was chosen: fast, strong or planes; of several slabs or regions the first one's.
    /// Meaningless if stored_exactly.
    Mode mode = Mode::fast;
    bool stored_exactly = false;  ///< raw or lossless, because it was asked for or came out smaller
    bool inline_tables = false;   ///< the frame carries its own table set
    std::uint64_t table_set_id = 0;  ///< the shared set it needs; 0: none
    std::uint64_t slabs = 1;         ///< parts that decode independently
    std::uint64_t regions = 1;       ///< with settings of their own; Mode::regions cuts slabs
    bool checksum = false;
    std::uint64_t exact_values = 0;    ///< values outside the lattice, stored as they are
    std::uint64_t missing_values = 0;  ///< places of missing values, declared or suspected
};

/// Compress a dense array.
///
/// @param values  C order, size_of(dtype) * shape.count() bytes, any alignment; borrowed for the
///                call.
/// @param dtype   floating-point or integers (bool: uint8), which come back bit for bit.
/// @param shape   1 to 4 axes, every extent >= 1, fewer than 2^31 values per slab.
/// @param bound   relative and psnr take the range of this very array, without missing values.
///                Integers: lossless().
/// @return the frame; at most the raw bytes + k_frame_overhead_bytes.
/// Errors: invalid_argument (bound, shape, size), no_space (memory).
/// Calls: independent, thread-safe. Memory per thread, beside the result: at most 1.5 times a slab
/// of 16 MiB where the slab comes to less than half its bytes. More slabs are needed for a
/// point-wise relative bound, a PSNR target (each attempt is decoded and looked at) and values that
/// are not aligned (one each); for gaps of NaN or fill values (one to four); and for a bound below
/// the values' own rounding, which leaves nearly all of them to be stored exactly (up to six); for
/// Mode::regions (two); and for missing values (two). The
/// process keeps working memory for as many calls at once as it has cores.
Result<std::vector<std::byte>> compress(std::span<const std::byte> values, DType dtype,
                                        const Shape& shape, const ErrorBound& bound,
                                        const CompressOptions& options = {});

/// compress() into memory of the caller's, without a copy.
///
/// @param frame  at least the raw bytes + k_frame_overhead_bytes, apart from the values; what lies
///               past the frame's end has any content afterwards.
/// @return how many bytes the frame has.
/// Errors: those of compress, invalid_argument (too little memory).
Result<std::size_t> compress_into(std::span<std::byte> frame, std::span<const std::byte> values,
                                  DType dtype, const Shape& shape, const ErrorBound& bound,
                                  const CompressOptions& options = {});

/// The array of a frame.
///
/// @param tables   the shared set the frame names; null if it names none.
/// @param values   exactly the array's bytes (see read_frame_info), any alignment.
/// @param threads  as in CompressOptions.
/// Errors: insufficient_data (the frame ends early), corrupt (checksum or contents), unsupported
/// (a later version), invalid_argument (size of `values`; missing or wrong table set: the message
/// names both ids), no_space (memory). On an error `values` holds nothing of use.
/// Calls: independent, thread-safe.
Status decompress(std::span<const std::byte> frame, std::span<std::byte> values,
                  const TableSet* tables = nullptr, int threads = 1);

/// What a frame says of itself, without decoding it or looking at its checksum. Errors: as
/// decompress.
Result<FrameInfo> read_frame_info(std::span<const std::byte> frame);

/// What compress() would give, from a sample of about 1 % of the values.
struct Estimate {
    std::uint64_t bytes = 0;  ///< of the frame
    Mode mode = Mode::fast;   ///< what Mode::automatic would choose
    bool exact = false;       ///< values are to be stored without loss, at least some of them
};

/// Errors: as compress. Cost for 8 MiB: about 0.06 ms (fast, planes) or 0.2 to 0.6 ms (strong,
/// automatic; the more, the more uneven the block is);
/// relative and psnr also look at every value for the range. Integers: 1 to 4 ms, as long as
/// compressing an easy block takes.
Result<Estimate> estimate(std::span<const std::byte> values, DType dtype, const Shape& shape,
                          const ErrorBound& bound, const CompressOptions& options = {});

/// The same of `part` of a dense array that holds `array_box` (coordinates as in copy_box; `part`
/// lies inside). With an absolute bound it is told where it lies, without a copy, unless it is
/// nearly incompressible or full of values that no lattice holds; then, and with other bounds, from
/// a copy of its middle.
Result<Estimate> estimate_part(const std::byte* array, DType dtype, const Box& array_box,
                               const Box& part, const ErrorBound& bound,
                               const CompressOptions& options = {});

/// Lossless compression of anything else: bytes of values of `value_bytes` each (1 to 65536; the
/// last may be cut short), any type. Same frame, same decompress() (whose `values` are then these
/// bytes), same guarantees. Errors: invalid_argument (value_bytes), no_space (memory).
Result<std::vector<std::byte>> compress_bytes(std::span<const std::byte> bytes,
                                              std::size_t value_bytes, bool checksum = true);
/// Likewise into the caller's memory: see compress_into().
Result<std::size_t> compress_bytes_into(std::span<std::byte> frame,
                                        std::span<const std::byte> bytes, std::size_t value_bytes,
                                        bool checksum = true);

inline constexpr std::size_t k_frame_overhead_bytes = 64;

/// Which compressor a field wants.
struct CodecSpec {
    ///  - "caesura": ours, of the best predictor for each block; "caesura:fast", "caesura:strong",
    ///    "caesura:planes" and "caesura:regions" fix the Mode of codec.hpp
    ///  - "none"
    ///  - "sz3", "zfp": lossy within the bound. Asked for lossless, sz3 becomes zstd, zfp
    ///  reversible
    ///  - "zstd", "blosc2": lossless, whatever the bound (which they keep)
    ///  - "round+zstd", "round+blosc2": values rounded to the largest power of two that the bound
    ///    allows, then lossless: several times the speed of sz3, smaller ratios
    ///  - "filter:<number>": any other HDF5 filter plugin; needs cd_values
    std::string name = "caesura";
    /// User cd_values for the filter, as one would give them to H5Pset_filter; empty: derived from
    /// the bound (known filters only). The result is held to the bound all the same.
    std::vector<unsigned> cd_values = {};
    /// Decode every lossy block again and check the bound, NaN and Inf; fall back where broken.
    /// Unset: for HDF5 filters only. "caesura" looks at every value while it compresses, so a
    /// second look protects from broken machines alone; what it finds is EncodedBlock::max_error.
    std::optional<bool> verify = {};
    friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
};

}  // namespace caesura

#pragma GCC visibility pop
