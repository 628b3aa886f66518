// cd_values to and from Settings.
//
// Invariant: the words mean what docs/reference/filter_parameters.md says.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <limits>
#include <new>

#include "codec/entropy/entropy.hpp"
#include "hdf5/filter/filter.hpp"

namespace caesura::hdf5 {
namespace {

// The full form begins with a word no user would type, version in the low byte.
constexpr unsigned k_magic = 0xCAE5F100U;
constexpr unsigned k_magic_mask = 0xFFFFFF00U;
constexpr unsigned k_version = 1;
/// Of datasets of floating point in 16 bits, which plugins of version 1 do not know.
constexpr unsigned k_short_float_version = 2;
/// Of datasets whose chunks may have kept values (kept_chunk.hpp): the fill value comes last.
constexpr unsigned k_fill_version = 3;
constexpr std::size_t k_fill_words = 2;
constexpr std::size_t k_fixed_words = 8;  // up to and with the rank
constexpr std::size_t k_hdf5_max_rank = 32;
constexpr unsigned k_flag_no_checksum = 1;
constexpr unsigned k_flag_big_endian = 1;
constexpr std::size_t k_user_words = 4;

Status corrupt(std::string what) { return {StatusCode::corrupt, "cd_values: " + std::move(what)}; }

Result<Mode> mode_of(unsigned value) {
    if (value <= static_cast<unsigned>(Mode::regions)) return static_cast<Mode>(value);
    return corrupt(fmt::format(
        "mode {} is none of 0 (auto), 1 (fast), 2 (strong), 3 (planes), 4 (regions)", value));
}

Result<ErrorBound> bound_of(unsigned kind, double value) {
    if (kind > static_cast<unsigned>(ErrorBound::Kind::psnr)) {
        return corrupt(
            fmt::format("bound kind {} is none of 0 (lossless), 1 (absolute), 2 "
                        "(relative), 3 (pointwise relative), 4 (PSNR)",
                        kind));
    }
    const ErrorBound bound{static_cast<ErrorBound::Kind>(kind), value};
    if (bound.kind == ErrorBound::Kind::lossless) return ErrorBound{};
    if (Status status = validate(bound); !status.ok()) return corrupt(status.message());
    return bound;
}

/// mantissa * 10^-exponent, rounded as a compiler rounds the literal.
double decimal(unsigned mantissa, unsigned exponent) {
    const std::string text = fmt::format("{}e-{}", mantissa, exponent);
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() ? value : 0.0;  // too small for a double
}

/// (), (mode), (mode, kind, mantissa) or (mode, kind, mantissa, exponent).
Result<Settings> parse_user_form(std::span<const unsigned> words) {
    Settings settings;
    if (words.empty()) return settings;
    if (words.size() == 2 || words.size() > k_user_words) {
        return corrupt(
            fmt::format("{} values; give mode, bound kind, mantissa, exponent: 0, 1, 1, "
                        "3 for an absolute bound of 1e-3",
                        words.size()));
    }
    const auto mode = mode_of(words[0]);
    if (!mode.ok()) return mode.status();
    settings.mode = *mode;
    if (words.size() == 1) return settings;
    const double value = decimal(words[2], words.size() > 3 ? words[3] : 0);
    const auto bound = bound_of(words[1], value);
    if (!bound.ok()) return bound.status();
    settings.bound = *bound;
    return settings;
}

bool is_short_float(const Settings& settings) {
    return settings.element == Element::float16 || settings.element == Element::bfloat16;
}

/// A fill value says how values are rounded: of floating point, with a bound.
bool may_have_fill(const Settings& settings) {
    const bool is_float = settings.element == Element::float32 ||
                          settings.element == Element::float64 || is_short_float(settings);
    const std::uint64_t beyond =
        settings.element_bytes < 8 ? *settings.fill >> 8 * settings.element_bytes : 0;
    return is_float && settings.bound.kind != ErrorBound::Kind::lossless && beyond == 0;
}

Status parse_type(std::span<const unsigned> words, Settings& settings) {
    const unsigned element = words[5] & 0xffU;
    const unsigned flags = words[5] >> 8;
    const bool is_short = element == static_cast<unsigned>(Element::float16) ||
                          element == static_cast<unsigned>(Element::bfloat16);
    const unsigned version = words[0] & ~k_magic_mask;
    if ((element > static_cast<unsigned>(Element::bytes) && !is_short) ||
        (version != k_fill_version && is_short != (version == k_short_float_version)) ||
        flags > k_flag_big_endian)
        return corrupt(fmt::format("element type {:#x} is unknown", words[5]));
    settings.element = static_cast<Element>(element);
    settings.big_endian = (flags & k_flag_big_endian) != 0;
    settings.element_bytes = words[6];
    const bool fits = is_short                               ? words[6] == 2
                      : settings.element == Element::float32 ? words[6] == 4
                      : settings.element == Element::float64 ? words[6] == 8
                                                             : !settings.big_endian;
    if (fits && (settings.element != Element::bytes || words[6] >= 1)) return {};
    return corrupt(fmt::format("values of type {:#x} cannot have {} bytes", words[5], words[6]));
}

/// Takes the last words off.
Status parse_fill(std::span<const unsigned>& words, Settings& settings) {
    if (words.size() < k_fixed_words + 1 + k_fill_words)
        return corrupt(fmt::format("{} values are too few", words.size()));
    const auto fill = words.last(k_fill_words);
    settings.fill = fill[0] | static_cast<std::uint64_t>(fill[1]) << 32;
    words = words.first(words.size() - k_fill_words);
    if (may_have_fill(settings)) return {};
    return corrupt("a fill value where no value is rounded");
}

Status parse_chunk(std::span<const unsigned> words, Settings& settings) {
    const std::size_t rank = words[7];
    if (rank > k_hdf5_max_rank || words.size() < k_fixed_words + rank + 1)
        return corrupt(fmt::format("{} axes in {} values", rank, words.size()));
    settings.chunk.assign(words.begin() + k_fixed_words,
                          words.begin() + k_fixed_words + static_cast<std::ptrdiff_t>(rank));
    if (rank > 0 && settings.chunk_bytes() == 0)
        return corrupt("a chunk has no bytes, or 4 GiB or more");
    return {};
}

Status parse_tables(std::span<const unsigned> words, Settings& settings) {
    const std::size_t bytes = words[0];
    const auto packed = words.subspan(1);
    if (bytes > k_table_set_limit_bytes || packed.size() != (bytes + 3) / 4)
        return corrupt(
            fmt::format("{} values hold no table set of {} bytes", packed.size(), bytes));
    if (bytes == 0) return {};
    std::vector<std::byte> unpacked(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        unpacked[i] = static_cast<std::byte>((packed[i / 4] >> (8 * (i % 4))) & 0xffU);
    auto tables = TableSet::parse(unpacked);
    if (!tables.ok()) return tables.status().with_context("cd_values");
    settings.tables = std::move(*tables);
    return {};
}

Result<Settings> parse_full_form(std::span<const unsigned> words) {
    const unsigned version = words[0] & ~k_magic_mask;
    if (version < k_version || version > k_fill_version) {
        return Status(StatusCode::unsupported,
                      fmt::format("cd_values: version {}; this plugin reads versions {} to {}: "
                                  "install a newer libh5caesura",
                                  version, k_version, k_fill_version));
    }
    if (words.size() < k_fixed_words + 1)
        return corrupt(fmt::format("{} values are too few", words.size()));
    Settings settings;
    const auto mode = mode_of(words[1] & 0xffU);
    if (!mode.ok()) return mode.status();
    settings.mode = *mode;
    const unsigned stage = (words[1] >> 8) & 0xffU;
    const unsigned flags = words[1] >> 16;
    if (stage == codec::k_huffman_stage) return codec::huffman_is_unsupported("dataset");
    if (stage != 0 || flags > k_flag_no_checksum)
        return corrupt(fmt::format("entropy stage {} or flags {:#x} are unknown", stage, flags));
    settings.checksum = (flags & k_flag_no_checksum) == 0;
    const auto bits = words[3] | static_cast<std::uint64_t>(words[4]) << 32;
    const auto bound = bound_of(words[2], std::bit_cast<double>(bits));
    if (!bound.ok()) return bound.status();
    settings.bound = *bound;
    Status status = parse_type(words, settings);
    if (status.ok() && version == k_fill_version) status = parse_fill(words, settings);
    if (status.ok()) status = parse_chunk(words, settings);
    if (status.ok())
        status = parse_tables(words.subspan(k_fixed_words + settings.chunk.size()), settings);
    if (!status.ok()) return status;
    return settings;
}

Status check_chunk(const Settings& settings) {
    if (settings.chunk.empty()) return {};
    if (settings.chunk.size() > k_hdf5_max_rank) {
        return {StatusCode::invalid_argument, fmt::format("{} axes; HDF5 has at most {}",
                                                          settings.chunk.size(), k_hdf5_max_rank)};
    }
    if (settings.chunk_bytes() != 0) return {};
    return {StatusCode::invalid_argument,
            fmt::format("a chunk of [{}] values of {} bytes has no bytes, or 4 GiB or more",
                        fmt::join(settings.chunk, ", "), settings.element_bytes)};
}

}  // namespace

std::uint64_t Settings::chunk_bytes() const {
    if (chunk.empty()) return 0;
    std::uint64_t bytes = element_bytes;
    for (const std::uint32_t extent : chunk) {
        bytes *= extent;  // both below 2^32
        if (bytes > std::numeric_limits<std::uint32_t>::max()) return 0;
    }
    return bytes;
}

Settings settings_of(DType dtype, const Shape& chunk, const ErrorBound& bound, Mode mode,
                     const TableSet& tables) {
    Settings settings;
    settings.mode = mode;
    settings.bound = bound;
    settings.element = dtype == DType::float32    ? Element::float32
                       : dtype == DType::float64  ? Element::float64
                       : dtype == DType::float16  ? Element::float16
                       : dtype == DType::bfloat16 ? Element::bfloat16
                                                  : Element::bytes;
    settings.element_bytes = static_cast<std::uint32_t>(size_of(dtype));
    for (int axis = 0; axis < chunk.rank(); ++axis)
        settings.chunk.push_back(static_cast<std::uint32_t>(chunk[axis]));
    settings.tables = tables;
    return settings;
}

Result<std::vector<unsigned>> to_cd_values(const Settings& settings) {
    if (Status status = validate(settings.bound); !status.ok()) return status;
    if (Status status = check_chunk(settings); !status.ok()) return status;
    const double value =
        settings.bound.kind == ErrorBound::Kind::lossless ? 0.0 : settings.bound.value;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    if (settings.fill && !may_have_fill(settings))
        return Status(StatusCode::invalid_argument, "a fill value where no value is rounded");
    const unsigned version = settings.fill              ? k_fill_version
                             : is_short_float(settings) ? k_short_float_version
                                                        : k_version;
    std::vector<unsigned> words = {
        k_magic | version,
        static_cast<unsigned>(settings.mode) | (settings.checksum ? 0U : k_flag_no_checksum << 16),
        static_cast<unsigned>(settings.bound.kind),
        static_cast<unsigned>(bits & 0xffffffffU),
        static_cast<unsigned>(bits >> 32),
        static_cast<unsigned>(settings.element) |
            (settings.big_endian ? k_flag_big_endian << 8 : 0U),
        settings.element_bytes,
        static_cast<unsigned>(settings.chunk.size())};
    words.insert(words.end(), settings.chunk.begin(), settings.chunk.end());
    const auto tables = settings.tables.bytes();
    words.push_back(static_cast<unsigned>(tables.size()));
    const std::size_t first = words.size();
    words.resize(first + (tables.size() + 3) / 4, 0U);
    for (std::size_t i = 0; i < tables.size(); ++i)
        words[first + i / 4] |= std::to_integer<unsigned>(tables[i]) << (8 * (i % 4));
    if (settings.fill) {
        words.push_back(static_cast<unsigned>(*settings.fill & 0xffffffffU));
        words.push_back(static_cast<unsigned>(*settings.fill >> 32));
    }
    return words;
}

Result<Settings> parse_cd_values(std::span<const unsigned> cd_values) try {
    if (!cd_values.empty() && (cd_values[0] & k_magic_mask) == k_magic)
        return parse_full_form(cd_values);
    return parse_user_form(cd_values);
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, "no memory to read cd_values");
}

}  // namespace caesura::hdf5
