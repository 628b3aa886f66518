// Predictions: what a block will cost in bytes and seconds, before it is compressed.
//
// Invariants:
//  - A prediction is a mean and a spread; the reserve of a region is made from both.
//  - Models learn only from finished tasks and are never wrong in a way that breaks a file:
//    a bad prediction costs space (reserve) or time (overflow).
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/estimate/choice.hpp"
#include "predict/times.hpp"

namespace caesura::predict {

/// No particular block: Features::block of what is not a chunk of a field.
inline constexpr std::uint64_t k_no_block = ~std::uint64_t{0};

/// What a small sample of a block tells about it (about 1 % of its values).
struct Features {
    double bits_per_value = 0.0;  ///< coded size of the Lorenzo residuals' quantisation codes at
                                  ///< the bound (lossless: of the byte planes; ZFP: of its own
                                  ///< stream), >= 0
    double smooth_bits_per_value = 0.0;  ///< as above with interpolation (SZ3's predictor) where
                                         ///< that is better; 0..bits_per_value
    double zero_share = 0.0;             ///< share of residual codes that are zero, 0..1
    std::uint64_t values = 0;            ///< values of the whole block
    bool estimated = false;              ///< the bits are the codec's own estimate (estimate_block)
    bool exact = false;  ///< estimated: without loss, so that what a sample says of the
                         ///< size errs by a share of it
    bool finite = true;  ///< no NaN or infinity was seen; else a codec that cannot take such
                         ///< values (SZ3, ZFP) is expected to fall back to a lossless one
    double interpolated_bits_per_value = 0.0;  ///< with interpolation, better or not (0: as
                                               ///< smooth_bits_per_value)
    double symbols = 0.0;               ///< distinct Lorenzo codes to be expected in the block
    double interpolated_symbols = 0.0;  ///< distinct codes with interpolation
    std::uint64_t block = k_no_block;   ///< which block of the field: the same number for the same
                                        ///< place in every dump, so that its past is known
    Mode mode = Mode::automatic;        ///< estimated: what the codec will choose
    bool adaptive = false;              ///< likewise: will it code adaptively, which takes longer?
    double activity = -1.0;             ///< glance(): what goes on in the block; < 0: not known
    /// estimated: what the codec was taken to choose; none where it has nothing to choose
    std::optional<codec::Choice> settings = {};
    bool assumed = false;   ///< these settings are those of the dump before (SizeModel::settings)
    bool recalled = false;  ///< nobody looked: the block is what it was in the dump before, and
                            ///< all else here but block, values, mode, adaptive and
                            ///< activity is empty
};

/// Sample contiguous sub-blocks (so that residuals are exact) of `part` inside a dense array.
///
/// @param array_box  the box held by `data` (dense, C order); @param part lies inside it.
/// @param bound      absolute or lossless, as the field wants it; anything else (relative, not
///                   finite, <= 0) is taken as lossless.
/// @param codec_name CodecSpec::name: what will compress it decides what is looked at. Empty: any.
/// Calls: pure, thread-safe. Cost: about 1 % of the block's values, < 1 ms for 8 MiB.
/// Source: S1 §III-A, sampled before compressing.
Features sample_block(const std::byte* data, DType dtype, const Box& array_box, const Box& part,
                      const ErrorBound& bound, std::string_view codec_name = {});

/// The same for codec "caesura", which is asked itself: what estimate() says of the part, or of a
/// piece from its middle where its values do not lie together.
///
/// @param bound  anything but psnr and relative, which mean nothing inside a block (taken as
/// lossless). @param mode, tables  as the block will be compressed.
/// @param settings  none, or SizeModel::settings(): what to assume instead of choosing.
/// Calls: pure, thread-safe. For a block of 8 MiB 0.4 to 1 ms, a third of it with settings.
Features estimate_block(const std::byte* data, DType dtype, const Box& array_box, const Box& part,
                        const ErrorBound& bound, Mode mode, const TableSet& tables,
                        const std::optional<codec::Choice>& settings = {});

/// How much changes from value to value in a part (arguments as sample_block): the mean length, in
/// bits, of the differences between neighbours along the last two axes, on the bound's lattice, at
/// 128 short runs. The runs lie at the same places in every block of a shape: where this number is
/// what it was in an earlier dump, so, nearly, is the size.
///
/// @return  >= 0; nullopt where it would tell nothing: the bound is not absolute or too small for a
///          lattice, a run holds NaN or infinity, the part's rows do not lie whole in memory.
/// Calls: pure, thread-safe. About 0.03 ms, whatever the block.
std::optional<double> glance(const std::byte* data, DType dtype, const Box& array_box,
                             const Box& part, const ErrorBound& bound);

/// A predicted size: mean and standard deviation, in bytes.
struct Bytes {
    double mean = 0.0;
    double sigma = 0.0;
    /// The part of sigma that all blocks of the field have in common (what is not yet known about
    /// the field): it does not average out over the blocks of a region. 0..sigma.
    double shared_sigma = 0.0;
    std::uint32_t field = 0;  ///< blocks of one field have shared_sigma in common, others do not
};

enum class Family : std::uint8_t;  // of codecs; private
struct Guess;                      // private

/// What one field's blocks have taught about their sizes: a correction of the sampled size, for the
/// field and, where Features::block says which block it is, for each block by itself.
///
/// Calls: not thread-safe; one thread at a time per model.
class SizeModel {
  public:
    /// @param codec_name  selects the initial guess (CodecSpec::name).
    SizeModel(std::string_view codec_name, DType dtype);
    /// Never more than the raw bytes; exactly these for codec "none".
    Bytes predict(const Features& features) const;
    /// A size that cannot be right (0) is passed over.
    void learn(const Features& features, std::uint64_t stored_bytes);
    /// Features that say no more than what became of the block in the dump before, if that is
    /// enough: sizes of the field's blocks have moved so little from dump to dump that looking
    /// could not save more than a page of the file or a hundredth of the block, or not by more than
    /// half of what looks have been off by, and as much goes on in the block as did then. nullopt:
    /// look.
    ///
    /// @param block, values  as in Features. @param activity  glance() now.
    /// A block that comes out otherwise widens the spread, and the field is looked at again.
    std::optional<Features> recall(std::uint64_t block, std::uint64_t values,
                                   double activity) const;
    /// What the codec chose for the block when it was last asked, as long as that is likely to be
    /// near its choice of now: a few dumps, while as much goes on in the block. none: ask.
    /// Arguments: as recall's.
    std::optional<codec::Choice> settings(std::uint64_t block, std::uint64_t values,
                                          double activity) const;

  private:
    struct Past {  // what became of a block
        double log_ratio, log_guess, doubt_var;
        std::uint64_t dump;
        bool finite;
        std::uint8_t way;  // which of the codec's ways it went
        // The last time, whether it was looked at or not.
        double log_size = 0.0;  // ln(stored bytes per value)
        double activity = -1.0;
        std::uint64_t values = 0;
        Mode mode = Mode::automatic;
        bool adaptive = false;
        // What was chosen, how long ago in looks, and what went on in the block then.
        std::optional<codec::Choice> settings = {};
        std::uint64_t settings_age = 0;
        double settings_activity = -1.0;
    };
    struct Expected {
        double guess, log_ratio, common_var, own_var, scale;
        bool known;
    };
    double raw_bytes(const Features& features) const;
    Expected expect(const Features& features, const Guess& guess) const;
    Past first_of(const Features& features, const Guess& guess, double stored_bytes) const;
    bool learn_step(double step, double expected_var);
    void learn_field(double log_guess, double seen, double scale);
    void close_dump();
    double recall_var() const;
    double look_var(double bytes, std::uint64_t values) const;
    Bytes recalled(const Features& features) const;
    void learn_size(const Features& features, double log_size);
    /// Are the settings of a block in its last look likely to be near the codec's choice of now?
    static bool serves(const Past& was, std::uint64_t values, double activity);
    void keep_settings(const Features& features, const Past* was, Past& now) const;

    Family family_;
    double value_bits_;
    // ln(stored / guessed) of a block is mean + noise: a scalar Kalman filter with learned noise.
    double log_ratio_mean_ = 0.0;
    double mean_var_;   // how uncertain the mean is: common to all blocks
    double noise_var_;  // from block to block
    // ln(guessed bytes per value) of the blocks learned from: beyond, the factor is extrapolated.
    double log_guess_mean_ = 0.0;
    double log_guess_var_ = 0.0;
    std::uint64_t learned_ = 0;
    int odd_run_ = 0;  // blocks in a row that were far off
    // Steps of single blocks from dump to dump.
    std::unordered_map<std::uint64_t, Past> past_;
    double step_var_;
    double shared_share_ = 0.5;  // of step_var_, common to all blocks of a dump
    std::uint64_t steps_ = 0;
    std::uint64_t dump_ = 0;
    double dump_n_ = 0.0, dump_sum_ = 0.0, dump_squares_ = 0.0;  // steps of the dump at hand
    double dumps_ = 0.0;
    // Steps of ln(stored) of single blocks from dump to dump: how far off a size is that is taken
    // from the dump before.
    double size_step_var_;
    std::uint64_t size_steps_ = 0;
};

using LookClosely = std::function<Features(const std::optional<codec::Choice>& settings)>;

/// What a writer sees of one field's blocks in one dump: a glance where that is enough
/// (SizeModel::recall), else a closer look.
///
/// Calls: one thread at a time; nobody changes the model meanwhile.
class Looks {
  public:
    /// @param sizes  must outlive this.
    explicit Looks(const SizeModel& sizes) : sizes_(sizes) {}
    /// @param block, values   as in Features.
    /// @param data ... bound  as sample_block. @param closely  not empty: sample_block or
    ///        estimate_block. It gets the settings to assume: what SizeModel::settings() says of
    ///        the block or, where that is nothing, what was chosen in this dump for another block
    ///        in which as much goes on.
    /// Cost: about 0.03 ms, or as `closely`.
    Features look(std::uint64_t block, std::uint64_t values, const std::byte* data, DType dtype,
                  const Box& array_box, const Box& part, const ErrorBound& bound,
                  const LookClosely& closely);

  private:
    static constexpr std::size_t k_most_asked = 16;
    std::optional<codec::Choice> settings(std::uint64_t block, std::uint64_t values,
                                          double activity) const;

    const SizeModel& sizes_;
    std::vector<Features> asked_;  // whose settings were not assumed
};

/// Bytes to reserve for a region that will hold these blocks: the sum of the means plus
/// `sigmas` pooled standard deviations, never more than the raw bytes need.
///
/// @param sigmas  >= 0. Independent errors and those of different fields are added in squares; what
///                the blocks of one field have in common, linearly.
/// Source: S1 §III-D (extra space), per region and from the measured spread instead of a factor.
std::uint64_t reserve_bytes(std::span<const Bytes> blocks, std::uint64_t raw_bytes,
                            double sigmas = 3.0);

/// A prediction times `factor`, made fit for arithmetic: what is not finite or negative, and what
/// exceeds them, becomes the raw bytes without a spread. @param factor  >= 0.
Bytes scaled(const Bytes& block, double factor, std::uint64_t raw_bytes);

/// Bytes of a slot, S1's reserve of one block: the mean times R_space, never more than the raw
/// bytes.
///
/// @param space  R_space, >= 1; S1 uses 1.1 to 1.43, by default 1.25.
/// Source: S1 §III-D, and S1-Eq3: above ratio 32 four times the extra space, up to a factor of 2.
std::uint64_t slot_bytes(const Bytes& block, std::uint64_t raw_bytes, double space);

inline constexpr double k_least_slot_space = 1.1, k_most_slot_space = 1.43;
/// R_space for a user's weight between space (0) and speed (1), in S1's range [1.1, 1.43].
///
/// Source: S1 §III-D (its Figure 9 has no numbers). The place where weight * time + (1 - weight) *
/// space is least, time as S1 measured it: see reserve.cpp. Differs: a formula, not a picture.
double slot_space_for_weight(double speed_weight);

}  // namespace caesura::predict
