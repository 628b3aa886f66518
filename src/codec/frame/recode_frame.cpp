#include "codec/frame/recode_frame.hpp"

#include <cmath>
#include <cstring>
#include <optional>

#include "codec/bound/float_environment.hpp"
#include "codec/bound/resolve_bound.hpp"
#include "codec/frame/frame.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = ErrorBound::Kind;

/// Past this ratio a lossy frame is never compared with a lossless one.
constexpr std::size_t k_surely_smaller = 4;

struct Recoded {
    std::vector<std::byte> values;
    ErrorBound bound;
};

/// As float32; nullopt where the bound leaves nothing to gain.
std::optional<Recoded> widened(Bytes values, DType dtype, const ErrorBound& asked, int threads) {
    if (asked.kind == Kind::lossless) return std::nullopt;
    Recoded made{code_as(values, dtype, true), asked};
    const FloatEnvironment environment;
    if (asked.kind == Kind::relative || asked.kind == Kind::psnr) {
        const ResolvedBound resolved = resolve(asked, made.values, DType::float32, threads);
        if (resolved.how == ResolvedBound::How::exact) return std::nullopt;
        // A PSNR that is certain: no value is off by more than the mean square allows.
        made.bound =
            absolute(asked.kind == Kind::psnr ? std::sqrt(resolved.mean_square_limit) * (1 - 1e-9)
                                              : resolved.bound);
    }
    const std::span wide(reinterpret_cast<const float*>(made.values.data()), values.size() / 2);
    made.bound = bound_before_rounding(made.bound, wide, dtype);
    if (made.bound.kind == Kind::lossless) return std::nullopt;
    return made;
}

/// What a frame of coded values is in truth: the header that the type's own has.
Status rename_frame(DType dtype, bool widened, const ErrorBound& bound,
                    std::span<std::byte> frame) {
    auto header = read_header(frame);
    if (!header.ok()) return header.status();
    header->version = k_recoded_frame_version;
    header->dtype = dtype;
    header->widened = widened;
    header->bound = bound;
    Output renamed;
    write_header(*header, renamed);
    std::memcpy(frame.data(), renamed.data(), renamed.size());
    return seal(frame);
}

}  // namespace

Status compress_recoded(Bytes values, DType dtype, const Shape& shape, const ErrorBound& bound,
                        const CompressOptions& options, Output& frame) {
    const auto take = [&](std::vector<std::byte>& bytes, bool wide) -> Status {
        Status status = rename_frame(dtype, wide, bound, bytes);
        if (status.ok()) frame.append(bytes);
        return status;
    };
    TableStatistics lossy_counts, exact_counts;
    const auto with = [&](TableStatistics& counts) {
        CompressOptions changed = options;
        if (options.statistics != nullptr) changed.statistics = &counts;
        return changed;
    };
    const auto note = [&](const TableStatistics& counts) {
        if (options.statistics != nullptr) options.statistics->add(counts);
    };
    frame.clear();
    std::optional<std::vector<std::byte>> lossy;
    if (const auto wide = widened(values, dtype, bound, options.threads)) {
        auto made = compress(wide->values, DType::float32, shape, wide->bound, with(lossy_counts));
        if (!made.ok()) return made.status();
        lossy = std::move(*made);
        if (lossy->size() * k_surely_smaller <= values.size()) {
            note(lossy_counts);
            return take(*lossy, true);
        }
    }
    auto exact = compress(code_as(values, dtype, false), coded_type(dtype, false), shape,
                          lossless(), with(exact_counts));
    if (!exact.ok()) return exact.status();
    const bool is_exact = !lossy || exact->size() <= lossy->size();
    note(is_exact ? exact_counts : lossy_counts);
    return is_exact ? take(*exact, false) : take(*lossy, true);
}

Result<Estimate> estimate_recoded(Bytes values, DType dtype, const Shape& shape,
                                  const ErrorBound& bound, const CompressOptions& options) {
    // The bytes of bool are those that it is coded as.
    if (dtype == DType::boolean)
        return estimate(values, coded_type(dtype, false), shape, lossless(), options);
    std::optional<Estimate> lossy;
    if (const auto wide = widened(values, dtype, bound, options.threads)) {
        const auto found = estimate(wide->values, DType::float32, shape, wide->bound, options);
        if (!found.ok()) return found.status();
        lossy = *found;
        if (lossy->bytes * k_surely_smaller <= values.size()) return *lossy;
    }
    const auto exact = estimate(code_as(values, dtype, false), coded_type(dtype, false), shape,
                                lossless(), options);
    if (!exact.ok() || !lossy || exact->bytes <= lossy->bytes) return exact;
    return *lossy;
}

}  // namespace caesura::codec
