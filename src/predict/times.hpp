// Durations: how long a block takes to compress and to write, from curves that were measured.
//
// intro      `caesura calibrate` measures a machine; fit_compress and fit_write turn what it found
//            into curves, which lie in a profile. CompressModel and WriteModel start from a
//            profile's curves, or from built-in ones, and learn from finished tasks.
//
// Invariants:
//  - Everything here is pure given its inputs: no clock, no file, no global state.
//  - A curve's prediction is finite, >= 0, and never falls when the bits or the bytes grow.
//  - A model without a profile is usable: the first finished task sets its scale.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "caesura/codec.hpp"

namespace caesura::predict {

// ------------------------------------------------------------------------------------- compressing

/// One measured compression.
struct CompressSample {
    std::uint64_t raw_bytes = 0;
    double bits_per_value = 0.0;  ///< of the compressed block
    double compress_s = 0.0;      ///< CPU time of the thread that did it
};

/// Seconds of a compression over the bits per value that come of it.
struct CompressCurve {
    enum class Form : std::uint8_t {
        power,  ///< S1-Eq1 with the clamp: three numbers
        points  ///< straight lines between points, and a fixed cost per block
    };
    Form form = Form::power;
    // Form::power; raw bytes/s.
    double low_bytes_per_s = 100.0e6, high_bytes_per_s = 200.0e6;
    double exponent = -1.716;  ///< a of S1-Eq1, < 0
    // Form::points; as many of each, bits ascending, seconds of a raw byte not falling. Outside the
    // ends the nearest point holds (S1's clamp).
    std::vector<double> bits, s_per_byte;
    double per_block_s = 0.0;  ///< beside what the bytes cost, >= 0

    /// 0 for no bytes. Calls: pure, thread-safe.
    /// Source: S1-Eq1, t = D / S(B), S(B) = (C_max - C_min) 3^-a B^a + C_min in [C_min, C_max].
    double predict_s(std::uint64_t raw_bytes, double bits_per_value) const;
};

/// Errors: invalid_argument (a number that is not finite, wrong sign, order), naming it.
Status check(const CompressCurve& curve);

/// The curve of a form that comes closest to what was measured, by relative error; single wild
/// samples do not move it.
///
/// @param samples  any number and order; those that cannot be right (no bytes, time <= 0 or not
///                 finite, bits < 0 or not finite) are passed over.
/// Errors: insufficient_data (no sample is left).
/// Calls: pure, thread-safe. About 1 ms for 100 samples.
/// Source: S1 §III-B, C_min, C_max and a are fitted per machine. Differs: least absolute errors.
Result<CompressCurve> fit_compress(std::span<const CompressSample> samples,
                                   CompressCurve::Form form);
/// The better form: S1-Eq1 where it predicts samples it has not seen about as well as points do.
Result<CompressCurve> fit_compress(std::span<const CompressSample> samples);
/// Median of |predicted / measured - 1| over the samples that can be right; 0 if there is none.
double median_error(const CompressCurve& curve, std::span<const CompressSample> samples);

// ----------------------------------------------------------------------------------------- writing

/// One measured write.
struct WriteSample {
    std::uint64_t bytes = 0;
    double write_s = 0.0;
};

/// Seconds of one write over its bytes: straight lines between points.
struct WriteCurve {
    double latency_s = 1.0e-3;                  ///< of a write of nothing, >= 0
    std::vector<double> bytes = {0.0};          ///< ascending, where the slope changes; first 0
    std::vector<double> s_per_byte = {1.0e-9};  ///< from there on, >= 0; as many

    /// Calls: pure, thread-safe.
    /// Source: S1-Eq2, t = bytes / C_thr, C_thr(bytes) as measured: the time is kept, not C_thr.
    double predict_s(double write_bytes) const;
};

/// As for compressions.
Status check(const WriteCurve& curve);
Result<WriteCurve> fit_write(std::span<const WriteSample> samples);
double median_error(const WriteCurve& curve, std::span<const WriteSample> samples);
/// Share of the pairs of samples whose predicted times stand in the order of the measured ones.
/// Pairs of equal bytes are left out, and so are pairs whose measured times differ by less than
/// `tie` of the smaller: no order is there to be found. 1 if no pair is left.
double ordered_share(const WriteCurve& curve, std::span<const WriteSample> samples,
                     double tie = 0.0);

// ----------------------------------------------------------------------------------------- profile

/// What was measured on one class of machines.
struct Profile {
    static constexpr int k_version = 1;

    struct Compress {
        std::string codec;  ///< CodecSpec::name
        std::string mode;   ///< "fast", "strong", "planes": what codec "caesura" chose; else ""
        DType dtype = float32;
        CompressCurve curve;
        double median_error = 0.0;  ///< of the fit
        std::uint64_t samples = 0;
    };
    struct Write {
        std::string file_system;  ///< file_system_type(): "ext4", "lustre", ...
        bool synced = false;      ///< with fsync after each write
        WriteCurve curve;
        double median_error = 0.0;
        std::uint64_t samples = 0;
    };
    std::string host_class, processor;
    int cores = 0;
    std::string created;  ///< when, ISO 8601; for people
    std::vector<Compress> compress;
    std::vector<Write> write;

    /// nullptr: nothing measured.
    const CompressCurve* find(std::string_view codec, std::string_view mode, DType dtype) const;
    const WriteCurve* find_write(std::string_view file_system, bool synced) const;
};

/// Errors: corrupt (no JSON, missing or wrong members, naming the first), unsupported (a version
/// that this build does not know, or another kind of file). Unknown members are passed over.
/// Calls: pure, thread-safe.
Result<Profile> parse_profile(std::string_view json);
/// What parse_profile reads. Calls: pure, thread-safe.
std::string to_json(const Profile& profile);

// ------------------------------------------------------------------------------------------ models

/// Seconds that one field's blocks take to compress.
///
/// Calls: not thread-safe; one thread at a time per model.
class CompressModel {
  public:
    /// @param codec_name  selects the initial curves (CodecSpec::name).
    /// @param profile     measured curves instead of built-in ones; may be null; not kept.
    CompressModel(std::string_view codec_name, DType dtype, const Profile* profile = nullptr);
    /// @param bits_per_value  of the compressed block, predicted.
    /// @param mode, adaptive  what codec "caesura" will choose, predicted; others ignore it.
    /// Source: S1-Eq1 with the clamp, refined by finished tasks.
    double predict_s(std::uint64_t raw_bytes, double bits_per_value, Mode mode = Mode::automatic,
                     bool adaptive = false) const;
    /// @param compress_s  CPU seconds of the finished compression. A value that cannot be right
    ///                    (not finite, <= 0; no bytes) is passed over.
    void learn(std::uint64_t raw_bytes, double bits_per_value, double compress_s,
               Mode mode = Mode::automatic, bool adaptive = false);
    bool calibrated() const { return calibrated_; }

  private:
    struct ModeCurve {
        Mode mode;
        bool adaptive;
        CompressCurve curve;
        double bits_scale;  ///< from this model's bits per value to the curve's
    };
    static constexpr std::size_t k_knots = 8;
    const ModeCurve& curve_of(Mode mode, bool adaptive) const;
    double curve_s(std::uint64_t raw_bytes, double bits_per_value, Mode mode, bool adaptive) const;
    double correction(double bits_per_value) const;

    std::vector<ModeCurve> curves_;  // at least one; the first serves modes that have none
    double value_bits_;
    bool calibrated_ = false;
    // ln(measured / curve): what all blocks have in common (a scalar Kalman filter), and what only
    // those of similar bits have.
    double log_factor_ = 0.0, log_factor_var_;
    std::array<double, k_knots> log_local_{};
};

/// Seconds of one write of so many bytes, learned from finished writes.
/// Source: S1-Eq2, t = bytes / throughput(bytes), with a fixed cost per write.
///
/// Calls: not thread-safe; one thread at a time per model.
class WriteModel {
  public:
    WriteModel() = default;
    /// Starts from a measured curve, whose shape it keeps: t = latency + factor * (the curve's time
    /// beyond its own latency).
    explicit WriteModel(WriteCurve curve);
    double predict_s(std::uint64_t bytes) const;
    /// A duration that cannot be right (not finite, < 0) is passed over.
    void learn(std::uint64_t bytes, double write_s);

  private:
    // Normal equations of t = latency + factor * x, x the curve's time beyond its latency; old
    // writes weigh less and less.
    struct Sums {
        double n = 0.0, w = 0.0, x = 0.0, xx = 0.0, t = 0.0, xt = 0.0;
        void scale(double by);
        void add(double weight, double beyond_s, double time_s);
    };
    double beyond_s(double bytes) const;
    double weight_of(double bytes) const;
    void add_anchors(Sums& sums) const;
    void solve();

    WriteCurve curve_;
    double latency_s_ = curve_.latency_s;
    double factor_ = 1.0;
    Sums sums_;
    std::uint64_t learned_ = 0;
};

}  // namespace caesura::predict
