#include "codec/packed/packed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codec/bound/float_environment.hpp"

namespace caesura::codec::packed {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are written as memory is");

/// Words written one after the other, and their checksum.
class Words {
  public:
    static constexpr bool k_wants_words = true;
    Words() : words_(k_chunk_groups * (1 + 2 + k_group_values * 2)) {}
    void begin(std::size_t descriptors) { filled_ = descriptors; }
    void operator()(std::uint32_t word) { words_[filled_++] = word; }
    void set(std::size_t at, std::uint32_t word) { words_[at] = word; }
    std::span<const std::uint32_t> get() const { return std::span(words_).first(filled_); }

  private:
    std::vector<std::uint32_t> words_;
    std::size_t filled_ = 0;
};

std::uint64_t checksum_of(const std::byte* words, std::uint64_t count, std::uint64_t seed) {
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint32_t word = 0;
        std::memcpy(&word, words + 4 * i, 4);
        seed += checksum_part(word, i);
    }
    return seed;
}

/// @return words of the chunk, now at `body`.
template <class T>
std::uint64_t pack_chunk(const std::byte* raw, std::uint64_t values, const PackRule& rule,
                         Words& words, std::byte* body) {
    const std::uint64_t groups = (values + k_group_values - 1) / k_group_values;
    words.begin(groups);
    std::array<T, k_group_values> group;
    for (std::uint64_t g = 0; g < groups; ++g) {
        const auto count = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(k_group_values, values - g * k_group_values));
        std::memcpy(group.data(), raw + g * sizeof group, count * sizeof(T));
        words.set(g, encode_group(group.data(), count, rule, words));
    }
    const std::uint64_t raw_words = values * (sizeof(T) / 4);
    const bool smaller = words.get().size() < raw_words;
    const std::uint64_t count = smaller ? words.get().size() : raw_words;
    if (smaller)
        std::memcpy(body, words.get().data(), 4 * count);
    else
        std::memcpy(body, raw, 4 * count);
    return count;
}

template <class T>
std::uint64_t pack_values(std::span<const std::byte> raw, PackedHeader& header, std::byte* frame) {
    codec::FloatEnvironment environment;
    const std::uint64_t chunks = chunks_of(raw.size(), sizeof(T)), values = raw.size() / sizeof(T);
    const PackRule rule = pack_rule(header.bound);
    std::byte* const body = frame + body_begin(chunks);
    Words words;
    std::uint64_t at = 0;
    for (std::uint64_t c = 0; c < chunks; ++c) {
        const std::uint64_t first = c * k_chunk_values;
        const std::uint64_t count = std::min<std::uint64_t>(k_chunk_values, values - first);
        const std::uint64_t n =
            pack_chunk<T>(raw.data() + first * sizeof(T), count, rule, words, body + 4 * at);
        PackedChunk line{at + n, 0};
        line.checksum = checksum_of(body + 4 * at, n, chunk_checksum_seed(c, at, at + n));
        std::memcpy(frame + body_begin(c), &line, sizeof line);
        at += n;
    }
    header.body_words = at;
    if (at % 2 == 1) std::memset(body + 4 * at, 0, 4);
    return packed_bytes(chunks, at);
}

template <class T>
Status unpack_chunk(const std::byte* body, std::uint64_t words, std::uint64_t values,
                    const PackRule& rule, std::byte* raw) {
    if (words == values * (sizeof(T) / 4)) {
        std::memcpy(raw, body, values * sizeof(T));
        return {};
    }
    const std::uint64_t groups = (values + k_group_values - 1) / k_group_values;
    // With room behind, so that a group may be copied whole.
    std::array<std::uint32_t, 2 + 2 * k_group_values> group_of;
    std::array<T, k_group_values> group;
    std::uint64_t at = groups;
    for (std::uint64_t g = 0; g < groups; ++g) {
        std::uint32_t descriptor = 0;
        if (g < words) std::memcpy(&descriptor, body + 4 * g, 4);
        const std::uint64_t n = group_words(descriptor, sizeof(T));
        if (!is_descriptor(descriptor, sizeof(T)) || at > words || n > words - at)
            return {StatusCode::corrupt, fmt::format("group {} goes beyond its chunk", g)};
        std::memcpy(group_of.data(), body + 4 * at, 4 * n);
        const auto count = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(k_group_values, values - g * k_group_values));
        decode_group(descriptor, group_of.data(), rule, count, group.data());
        std::memcpy(raw + g * sizeof group, group.data(), count * sizeof(T));
        at += n;
    }
    if (at == words) return {};
    return {StatusCode::corrupt, fmt::format("{} words of a chunk, {} read", words, at)};
}

template <class T>
Status unpack_values(std::span<const std::byte> frame, const PackedHeader& header, std::byte* raw) {
    codec::FloatEnvironment environment;
    const std::uint64_t chunks = chunks_of(header.raw_bytes, sizeof(T));
    const std::uint64_t values = header.raw_bytes / sizeof(T);
    const PackRule rule = pack_rule(header.bound);
    const std::byte* const body = frame.data() + body_begin(chunks);
    std::uint64_t begin = 0;
    for (std::uint64_t c = 0; c < chunks; ++c) {
        PackedChunk line;
        std::memcpy(&line, frame.data() + body_begin(c), sizeof line);
        const std::uint64_t end = line.end_words, first = c * k_chunk_values;
        if (end < begin || end > header.body_words ||
            line.checksum !=
                checksum_of(body + 4 * begin, end - begin, chunk_checksum_seed(c, begin, end)))
            return {StatusCode::corrupt, fmt::format("chunk {} of {} is damaged", c, chunks)};
        const std::uint64_t count = std::min<std::uint64_t>(k_chunk_values, values - first);
        if (Status status = unpack_chunk<T>(body + 4 * begin, end - begin, count, rule,
                                            raw + first * sizeof(T));
            !status.ok())
            return status.with_context(fmt::format("chunk {}", c));
        begin = end;
    }
    if (begin == header.body_words) return {};
    return {StatusCode::corrupt,
            fmt::format("{} words, of which chunks have {}", header.body_words, begin)};
}

}  // namespace

std::uint64_t packed_bytes_at_most(std::uint64_t raw_bytes) {
    return packed_bytes(chunks_of(raw_bytes, 4), raw_bytes / 4);
}

Result<std::uint64_t> pack_frame(std::span<const std::byte> raw, DType dtype,
                                 const ErrorBound& bound, std::span<std::byte> frame) {
    if (bound.kind != ErrorBound::Kind::lossless && bound.kind != ErrorBound::Kind::absolute)
        return Status{StatusCode::unsupported,
                      "packed frames are lossless or have an absolute bound, no other kind"};
    if (Status status = caesura::validate(bound); !status.ok()) return status;
    if (raw.empty() || frame.size() < packed_bytes_at_most(raw.size()))
        return Status{StatusCode::invalid_argument,
                      fmt::format("a frame of {} bytes for {}; give at least 1, and room for {}",
                                  frame.size(), raw.size(), packed_bytes_at_most(raw.size()))};
    PackedHeader header;
    header.value_bytes = static_cast<std::uint8_t>(size_of(dtype));
    header.raw_bytes = raw.size();
    header.bound = bound.kind == ErrorBound::Kind::absolute ? bound.value : 0.0;
    header.tail_bytes = static_cast<std::uint8_t>(raw.size() % header.value_bytes);
    std::memcpy(&header.tail, raw.data() + raw.size() - header.tail_bytes, header.tail_bytes);
    const std::uint64_t bytes = dtype == float32 ? pack_values<float>(raw, header, frame.data())
                                                 : pack_values<double>(raw, header, frame.data());
    header.checksum = header_checksum(header);
    std::memcpy(frame.data(), &header, sizeof header);
    return bytes;
}

bool is_packed_frame(std::span<const std::byte> frame) {
    std::uint32_t magic = 0;
    if (frame.size() >= sizeof magic) std::memcpy(&magic, frame.data(), sizeof magic);
    return magic == k_packed_magic;
}

Result<PackedHeader> read_packed_header(std::span<const std::byte> begin,
                                        std::uint64_t frame_bytes) {
    PackedHeader header;
    if (begin.size() < sizeof header)
        return Status{StatusCode::insufficient_data,
                      fmt::format("a packed frame of {} bytes", begin.size())};
    std::memcpy(&header, begin.data(), sizeof header);
    if (header.magic != k_packed_magic) return Status{StatusCode::corrupt, "not a packed frame"};
    if (header.checksum != header_checksum(header))
        return Status{StatusCode::corrupt, "a packed frame's header is damaged"};
    if (header.version != k_packed_version)
        return Status{StatusCode::unsupported,
                      fmt::format("a packed frame of version {}, this library knows {}",
                                  header.version, k_packed_version)};
    if ((header.value_bytes != 4 && header.value_bytes != 8) ||
        header.tail_bytes != header.raw_bytes % header.value_bytes)
        return Status{StatusCode::corrupt,
                      fmt::format("{} bytes of values of {} with a rest of {}", header.raw_bytes,
                                  header.value_bytes, header.tail_bytes)};
    const std::uint64_t chunks = chunks_of(header.raw_bytes, header.value_bytes);
    // Each is checked by itself, so that no sum of them overflows.
    if (chunks > frame_bytes / sizeof(PackedChunk) || header.body_words > frame_bytes / 4 ||
        packed_bytes(chunks, header.body_words) > frame_bytes)
        return Status{StatusCode::insufficient_data,
                      fmt::format("{} bytes of a packed frame of {} chunks and {} words",
                                  frame_bytes, chunks, header.body_words)};
    return header;
}

Status unpack_frame(std::span<const std::byte> frame, std::span<std::byte> raw) {
    const Result<PackedHeader> header = read_packed_header(frame, frame.size());
    if (!header.ok()) return header.status();
    if (raw.size() != header->raw_bytes)
        return {StatusCode::invalid_argument,
                fmt::format("room for {} bytes of {}", raw.size(), header->raw_bytes)};
    Status status = header->value_bytes == 4 ? unpack_values<float>(frame, *header, raw.data())
                                             : unpack_values<double>(frame, *header, raw.data());
    if (status.ok() && header->tail_bytes > 0)
        std::memcpy(raw.data() + raw.size() - header->tail_bytes, &header->tail,
                    header->tail_bytes);
    return status;
}

}  // namespace caesura::codec::packed
