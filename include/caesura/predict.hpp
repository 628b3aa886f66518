// Predictions: what a block will cost in bytes and seconds, before it is compressed.
//
// Invariants:
//  - A prediction is a mean and a spread; the reserve of a region is made from both.
//  - Models learn only from finished tasks and are never wrong in a way that breaks a file:
//    a bad prediction costs space (reserve) or time (overflow).
#pragma once

#include "caesura/codec.hpp"

namespace caesura::predict {

/// What a small sample of a block tells about it (about 1 % of its values).
struct Features {
    double bits_per_value = 0.0;  ///< entropy of the Lorenzo residuals' quantisation codes at the
                                  ///< bound (lossless: of the exponent/mantissa bytes), >= 0
    double zero_share = 0.0;      ///< share of residual codes that are zero, 0..1
    std::uint64_t values = 0;     ///< values of the whole block
};

/// Sample contiguous sub-blocks (so that residuals are exact) of `part` inside a dense array.
///
/// @param array_box  the box held by `data` (dense, C order); @param part lies inside it.
/// @param bound      absolute or lossless.
/// Calls: pure, thread-safe. Cost: about 1 % of the block's values, < 10 % of its compression.
/// Source: S1 §III-A, sampled before compressing.
Features sample_block(const std::byte* data, DType dtype, const Box& array_box, const Box& part,
                      const ErrorBound& bound);

struct Bytes {
    double mean = 0.0;
    double sigma = 0.0;
};

/// What one field's blocks have taught so far: correction of the sampled size, and throughput.
class FieldModel {
  public:
    /// @param codec_name  selects the initial guess (CodecSpec::name).
    FieldModel(std::string_view codec_name, DType dtype);
    Bytes predict_bytes(const Features& features) const;
    /// Source: S1-Eq1 with the clamp, refined by finished tasks.
    double predict_compress_s(const Features& features) const;
    void learn(const Features& features, std::uint64_t stored_bytes, double compress_s);

  private:
    struct Curve {  // S1-Eq1: compression throughput over bits per value, bytes/s
        double low, high, exponent;
    };
    DType dtype_;
    Curve curve_;
    bool stores_raw_ = false;      // codec "none"
    double log_ratio_mean_ = 0.0;  // of stored bytes over sampled bytes
    double log_ratio_var_ = 0.0;
    double speed_factor_ = 1.0;  // measured over predicted throughput
    std::uint64_t learned_ = 0;
};

/// Seconds of one write of so many bytes, learned from finished writes.
/// Source: S1-Eq2, t = bytes / throughput(bytes), with a fixed cost per write.
class WriteModel {
  public:
    double predict_s(std::uint64_t bytes) const;
    void learn(std::uint64_t bytes, double write_s);

  private:
    double bytes_per_s_ = 1.0e9;
    double latency_s_ = 1.0e-3;
    std::uint64_t learned_ = 0;
};

/// Bytes to reserve for a region that will hold these blocks: the sum of the means plus
/// `sigmas` pooled standard deviations, never more than the raw bytes need.
std::uint64_t reserve_bytes(std::span<const Bytes> blocks, std::uint64_t raw_bytes,
                            double sigmas = 3.0);

}  // namespace caesura::predict
