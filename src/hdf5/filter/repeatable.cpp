#include "hdf5/filter/repeatable.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "codec/frame/recode.hpp"
#include "hdf5/filter/kept_chunk.hpp"

namespace caesura::hdf5 {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = ErrorBound::Kind;

/// The grid of decoded values has 32 to 64 steps to the bound, half of one of which it takes.
constexpr int k_finer = 5;
/// From this share of values on, old ones are too many to be kept beside the frame.
constexpr std::size_t k_many = 8;
/// About what a value that is kept takes, in bits.
constexpr double k_kept_bits = 28;
/// A hair less, for the rounding of the very sums.
constexpr double k_less = 1.0 - 1e-12;

/// Values as float or double.
template <class T>
std::vector<T> wide_values(Bytes values, DType dtype) {
    std::vector<T> wide(values.size() / size_of(dtype));
    if (is_short_float(dtype)) {
        const std::vector<std::byte> coded = codec::code_as(values, dtype, true);
        std::memcpy(wide.data(), coded.data(), coded.size());
    } else {
        std::memcpy(wide.data(), values.data(), values.size());
    }
    return wide;
}

template <class T>
void put_narrow(const std::vector<T>& wide, DType dtype, std::span<std::byte> values) {
    const auto from = std::as_bytes(std::span(wide));
    if (is_short_float(dtype))
        codec::decode_as(from, dtype, true, values);
    else
        std::memcpy(values.data(), from.data(), values.size());
}

/// What a bound comes to for the values from `low` to `high`; 0: they stay as they are.
/// @param has_old  rounding has moved some values, and may have widened the range by two bounds.
double resolved_bound(const ErrorBound& bound, double low, double high, bool has_old) {
    constexpr double k_log2_10_by_20 = 0.16609640474436813;
    if (bound.kind == Kind::absolute || bound.kind == Kind::pointwise_relative) return bound.value;
    if (!(low < high)) return 0;
    const double asked =
        bound.kind == Kind::psnr ? std::exp2(-bound.value * k_log2_10_by_20) : bound.value;
    const double share = has_old ? asked / (1 + 2 * asked) : asked;
    const double half = share * (high / 2 - low / 2) * k_less;
    return 2 * std::min(half, std::numeric_limits<double>::max() / 4);
}

template <class T>
class Encoder {
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

  public:
    Encoder(const Settings& settings, DType dtype, const Shape& shape, Bytes values,
            std::optional<Fineness> decoded)
        : settings_(settings),
          dtype_(dtype),
          shape_(shape),
          originals_(values),
          decoded_(decoded),
          values_(wide_values<T>(values, dtype)) {
        options_.mode = settings.mode;
        options_.tables = &settings.tables;
        options_.checksum = settings.checksum;
    }

    Result<std::vector<std::byte>> run() {
        look();
        if (!(bound_ > 0)) return exact();
        const bool many_old = n_old_ * k_many > n_numbers_;
        if (settings_.bound.kind == Kind::pointwise_relative)
            return many_old ? exact() : free_form(fine_grid());
        if (many_old || (!decoded_ && is_begun())) return on_grid();
        return free_form(fine_grid());
    }

  private:
    enum class Role : std::uint8_t {
        fresh,
        fill,  ///< where a range leaves them out
        old,   ///< may have been rounded before
    };

    bool range_excludes_fill() const {
        return settings_.bound.kind == Kind::relative || settings_.bound.kind == Kind::psnr;
    }

    T fill_value() const {
        std::byte bytes[sizeof(std::uint64_t)];
        std::memcpy(bytes, &*settings_.fill, sizeof bytes);
        return wide_values<T>(Bytes(bytes, size_of(dtype_)), dtype_)[0];
    }

    /// Which values are the fill value, old, or neither; and the bound.
    void look() {
        const auto fill = std::bit_cast<Word>(fill_value());
        std::vector<T> on_old_grid;
        if (decoded_) {
            on_old_grid = values_;
            round_all<T>(on_old_grid, grid_of(settings_.bound, *decoded_, dtype_));
        }
        roles_.assign(values_.size(), Role::fresh);
        double low = std::numeric_limits<double>::infinity();
        double high = -low;
        for (std::size_t i = 0; i < values_.size(); ++i) {
            const T value = values_[i];
            const bool is_fill = std::bit_cast<Word>(value) == fill;
            if (!is_fill) after_last_ = i + 1;
            if (is_fill && range_excludes_fill()) {
                roles_[i] = Role::fill;
                n_fill_ += 1;
                continue;
            }
            if (!std::isfinite(value)) continue;  // the codec keeps it
            low = std::min(low, static_cast<double>(value));
            high = std::max(high, static_cast<double>(value));
            n_numbers_ += value != T{0};
            if (!decoded_ || on_old_grid[i] != value) continue;
            roles_[i] = Role::old;
            has_old_ = true;
            n_old_ += value != T{0};
        }
        bound_ = resolved_bound(settings_.bound, low, high, has_old_);
    }

    /// Has the second half not been written? Then the chunk will come again.
    bool is_begun() const { return after_last_ * 2 <= values_.size(); }

    Grid fine_grid() const {
        return grid_of(settings_.bound, k_finer - std::ilogb(bound_), dtype_);
    }

    /// What the codec has to hold, so that rounding to the grid stays inside the bound.
    ErrorBound bound_before(const Grid& grid) const {
        const double step = std::ldexp(1.0, -grid.fineness);
        if (settings_.bound.kind == Kind::pointwise_relative)
            return pointwise_relative(
                grid.kind == Grid::Kind::none ? bound_ : (bound_ - step) / (1 + step) * k_less);
        if (settings_.bound.kind == Kind::psnr && n_fill_ + n_old_ == 0) {
            // No more than a 64th of the root mean square is the grid's: 0.137 dB.
            const ErrorBound stricter = psnr(settings_.bound.value + 0.14);
            if (validate(stricter).ok()) return stricter;
        }
        return absolute(grid.kind == Grid::Kind::none ? bound_ : (bound_ - step / 2) * k_less);
    }

    /// The codec's own choice for new values; kept ones beside it.
    Result<std::vector<std::byte>> free_form(const Grid& grid) {
        if (bound_before(grid).value <= 0) return exact();
        const Fineness own = grid.kind == Grid::Kind::none ? k_finest : grid.fineness;
        keep_beside([](T) { return true; });
        return finish(bound_before(grid), grid, n_old_ > 0 ? std::max(own, *decoded_) : own);
    }

    /// The fineness that costs least: coarser, more old values have to be kept beside the frame;
    /// finer, every value takes another bit.
    Fineness best_fineness(Fineness coarsest) const {
        if (!decoded_ || *decoded_ <= coarsest) return coarsest;
        std::vector<std::size_t> finer(static_cast<std::size_t>(*decoded_ - coarsest) + 1);
        std::size_t n = 0;
        for (std::size_t i = 0; i < values_.size(); ++i) {
            if (roles_[i] != Role::old || values_[i] == T{0}) continue;
            const Fineness own = coarsest_with(static_cast<double>(values_[i]));
            finer[static_cast<std::size_t>(std::clamp(own, coarsest, *decoded_) - coarsest)] += 1;
            n += 1;
        }
        Fineness best = coarsest;
        double least = std::numeric_limits<double>::infinity();
        const auto coded = static_cast<double>(values_.size() - n_fill_);
        for (std::size_t k = 0; k < finer.size(); ++k) {
            n -= finer[k];
            const double bits =
                static_cast<double>(k) * coded + k_kept_bits * static_cast<double>(n);
            if (bits >= least) continue;
            least = bits;
            best = coarsest + static_cast<Fineness>(k);
        }
        return best;
    }

    /// All values on a grid that most old ones lie on.
    Result<std::vector<std::byte>> on_grid() {
        const Fineness coarsest = -std::ilogb(bound_) - 1;
        const Grid for_new = grid_of(settings_.bound, coarsest, dtype_);
        const Grid grid = grid_of(settings_.bound, best_fineness(coarsest), dtype_);
        if (for_new.kind == Grid::Kind::none || grid.kind == Grid::Kind::none) return exact();
        std::vector<T> on_coarsest = values_;
        round_all<T>(on_coarsest, for_new);
        for (std::size_t i = 0; i < values_.size(); ++i)
            if (roles_[i] == Role::fresh) values_[i] = on_coarsest[i];
        const bool some_finer = keep_beside([&](T value) { return !is_on(value, grid); });
        Fineness finest = std::max(grid.fineness, for_new.fineness);
        if (some_finer) finest = std::max(finest, *decoded_);
        // Less than half a step, so that rounding finds the value again.
        const double half = std::ldexp(0.5, -grid.fineness);
        return finish(absolute(half * (1 - 1.0 / 256)), grid, finest);
    }

    /// Keep fill values, and old ones where `chosen` says so, beside the frame. In what is coded
    /// fill values become the value before. Returns whether an old one is kept.
    template <class Chosen>
    bool keep_beside(Chosen chosen) {
        bool old = false;
        T last = 0;
        std::size_t end = 0;  // of the last run
        for (std::size_t i = 0; i < values_.size(); ++i) {
            const bool is_old = roles_[i] == Role::old;
            if (roles_[i] != Role::fill && !(is_old && chosen(values_[i]))) {
                if (std::isfinite(values_[i])) last = values_[i];
                continue;
            }
            old |= is_old;
            if (runs_.empty() || end != i)
                runs_.push_back({static_cast<std::uint32_t>(i - end), 0});
            runs_.back().length += 1;
            end = i + 1;
            const Bytes original = originals_.subspan(i * size_of(dtype_), size_of(dtype_));
            taken_.insert(taken_.end(), original.begin(), original.end());
            if (is_old)
                last = values_[i];  // its neighbours are predicted from it
            else
                values_[i] = last;
        }
        return old;
    }

    Result<std::vector<std::byte>> finish(const ErrorBound& bound, const Grid& grid,
                                          Fineness finest) {
        std::vector<std::byte> coded(originals_.size());
        put_narrow(values_, dtype_, coded);
        const auto frame = compress(coded, dtype_, shape_, bound, options_);
        if (!frame.ok()) return frame.status();
        return write_kept_chunk({grid, finest, promised(bound), *frame, {}, {}}, runs_, taken_,
                                size_of(dtype_), settings_.checksum);
    }

    /// What values are held to, where the frame is held to `bound`.
    double promised(const ErrorBound& bound) const {
        return bound.kind == Kind::psnr ? settings_.bound.value : bound_;
    }

    /// Without loss; old values remain known as such.
    Result<std::vector<std::byte>> exact() {
        auto frame = compress(originals_, dtype_, shape_, lossless(), options_);
        if (!frame.ok() || n_old_ == 0) return frame;
        return write_kept_chunk({Grid{}, *decoded_, 0.0, *frame, {}, {}}, {}, {}, size_of(dtype_),
                                settings_.checksum);
    }

    const Settings& settings_;
    const DType dtype_;
    const Shape& shape_;
    const Bytes originals_;
    const std::optional<Fineness> decoded_;
    CompressOptions options_;
    std::vector<T> values_;
    std::vector<Role> roles_;
    std::size_t n_fill_ = 0;  // of a range
    bool has_old_ = false;
    std::size_t n_old_ = 0;       // without zeros, which lie on every grid
    std::size_t n_numbers_ = 0;   // finite, not 0, not the fill value of a range
    std::size_t after_last_ = 0;  // index behind the last value that is not the fill value
    double bound_ = 0;
    std::vector<KeptRun> runs_;
    std::vector<std::byte> taken_;
};

template <class T>
void round_decoded_as(DType dtype, const Grid& grid, std::span<std::byte> values) {
    if (grid.kind == Grid::Kind::none) return;
    std::vector<T> wide = wide_values<T>(values, dtype);
    round_all<T>(wide, grid);
    put_narrow(wide, dtype, values);
}

}  // namespace

Result<std::vector<std::byte>> encode_repeatable(const Settings& settings, DType dtype,
                                                 const Shape& shape, Bytes values,
                                                 std::optional<Fineness> decoded) {
    if (dtype == DType::float64)
        return Encoder<double>(settings, dtype, shape, values, decoded).run();
    return Encoder<float>(settings, dtype, shape, values, decoded).run();
}

void round_decoded(DType dtype, const Grid& grid, std::span<std::byte> values) {
    if (dtype == DType::float64)
        round_decoded_as<double>(dtype, grid, values);
    else
        round_decoded_as<float>(dtype, grid, values);
}

}  // namespace caesura::hdf5
