// The public door of the room: checks what the caller asks for and picks the implementation.
#include <fmt/format.h>

#include <limits>
#include <mutex>
#include <new>

#include "hdf5/caesura_codec.hpp"
#include "hdf5/complex_codec.hpp"
#include "hdf5/filter_codec.hpp"
#include "hdf5/known_filters.hpp"
#include "hdf5/pipeline_codec.hpp"

namespace caesura {
namespace {

Status check_chunk(DType dtype, const Shape& chunk) {
    if (!is_known(dtype)) {
        return {StatusCode::invalid_argument,
                fmt::format("data type {} is unknown", static_cast<int>(dtype))};
    }
    if (chunk.rank() < 1 || chunk.rank() > k_max_rank) {
        return {StatusCode::invalid_argument,
                fmt::format("chunk {} has {} axes; 1 to {} are possible", to_string(chunk),
                            chunk.rank(), k_max_rank)};
    }
    if (is_complex(dtype) && chunk.rank() == k_max_rank) {
        return {StatusCode::invalid_argument,
                fmt::format("chunk {} of {} has {} axes; complex numbers have 1 to {}, their parts "
                            "are one more",
                            to_string(chunk), to_string(dtype), chunk.rank(), k_max_rank - 1)};
    }
    // HDF5 stores a chunk's size in 32 bits.
    constexpr std::uint64_t k_limit_bytes = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t bytes = size_of(dtype);
    for (int axis = 0; axis < chunk.rank(); ++axis) {
        if (chunk[axis] == 0 || chunk[axis] > k_limit_bytes / bytes) {
            return {StatusCode::invalid_argument,
                    fmt::format("chunk {} of {} is empty or not below 4 GiB", to_string(chunk),
                                to_string(dtype))};
        }
        bytes *= chunk[axis];
    }
    return {};
}

/// A block knows its own values only, and most codecs only what an absolute bound is.
Status check_bound_kind(const CodecSpec& spec, DType dtype, const ErrorBound& bound) {
    using Kind = ErrorBound::Kind;
    if (is_integer(dtype) && bound.kind != Kind::lossless) {
        return {StatusCode::invalid_argument,
                fmt::format("an error bound for {}; integers are stored without loss",
                            to_string(dtype))};
    }
    if (bound.kind == Kind::relative || bound.kind == Kind::psnr) {
        return {StatusCode::invalid_argument,
                fmt::format("a block codec needs an absolute bound, not {}{}: resolve it first",
                            bound.value, bound.kind == Kind::psnr ? " dB" : " of the value range")};
    }
    if (bound.kind == Kind::pointwise_relative && !hdf5::is_caesura(spec)) {
        return {StatusCode::invalid_argument,
                fmt::format("codec \"{}\" cannot keep a bound relative to each value; codec "
                            "\"caesura\" can",
                            spec.name)};
    }
    return {};
}

constexpr std::string_view k_none = "none";

}  // namespace

Status validate_codec(const CodecSpec& spec) {
    if (hdf5::is_caesura(spec)) return hdf5::validate_mode(spec);
    return spec.name == k_none ? Status{} : hdf5::choose_filter(spec.name).status();
}

Result<std::unique_ptr<BlockCodec>> make_block_codec(const CodecSpec& spec, DType dtype,
                                                     const Shape& chunk, const ErrorBound& bound,
                                                     const SharedTables& tables) try {
    if (Status status = validate(bound); !status.ok()) return status;
    if (Status status = check_bound_kind(spec, dtype, bound); !status.ok()) return status;
    if (Status status = check_chunk(dtype, chunk); !status.ok()) return status;
    if (is_complex(dtype) && spec.name != k_none) {
        auto of_parts =
            make_block_codec(spec, number_type(dtype), hdf5::with_parts(chunk), bound, tables);
        if (!of_parts.ok()) return of_parts.status();
        return hdf5::make_complex_codec(std::move(*of_parts), dtype, chunk, bound,
                                        hdf5::is_caesura(spec));
    }
    if (hdf5::is_caesura(spec)) {
        return hdf5::make_caesura_codec(spec, dtype, chunk, bound, tables);
    }
    if (spec.name == k_none) {
        if (!spec.cd_values.empty()) {
            return Status(StatusCode::invalid_argument, "codec \"none\" takes no cd_values");
        }
        return hdf5::make_none_codec(dtype, chunk);
    }
    // The plugins found so far are remembered for the whole process, whose threads may each have a
    // writer of their own. Set-up only: no worker ever waits here.
    static std::mutex plugins;
    const std::lock_guard lock(plugins);
    if (hdf5::is_pipeline(spec)) return hdf5::make_pipeline_codec(spec, dtype, chunk);
    return hdf5::make_filter_codec(spec, dtype, chunk, bound, tables.missing);
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, "no memory for a codec");
}

}  // namespace caesura
