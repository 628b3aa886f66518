#include "nvcomp/on_host/nvcomp_stand_in.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>

using caesura::device::on_host::NvcompStandIn;

namespace {

// As nvCOMP 6 numbers them.
enum Code : int { done = 0, invalid_value = 10, cannot_decompress = 12, cannot_compress = 19 };
constexpr int k_internal = 10000;

struct Alignment {
    std::size_t from, to, scratch;
};

/// What nvCOMP 6.0.0 answers for each coder, for values of 8 bytes and chunks of 64 KiB; a chunk's
/// most bytes are zstd's where these are more.
struct Coder {
    const char* name;
    Alignment compress, decompress;
    std::size_t most_bytes, scratch_per_chunk, decompress_scratch;
    bool has_values;  ///< raw chunks must be whole values of the type in the options
};
constexpr std::array k_coders = {
    Coder{"LZ4", {1, 1, 2}, {1, 1, 1}, 65'832, 32'768, 0, false},
    Coder{"Gdeflate", {1, 4, 8}, {4, 1, 1}, 131'360, 360'488, 0, false},
    Coder{"Bitcomp", {8, 8, 1}, {8, 8, 4}, 65'832, 0, 20, true},
    Coder{"ANS", {16, 16, 1}, {16, 16, 1}, 92'720, 0, 0, false},
    Coder{"Cascaded", {8, 4, 1}, {4, 8, 1}, 65'832, 0, 0, true},
};

/// As nvCOMP passes them: 64 bytes by value.
struct Options {
    alignas(8) std::array<unsigned char, 64> bytes;
    int number(std::size_t offset) const {
        int value = 0;
        std::memcpy(&value, bytes.data() + offset, sizeof value);
        return value;
    }
};

NvcompStandIn& stand_in() {
    static NvcompStandIn one;
    return one;
}

void mistake(std::string what) {
    const std::lock_guard lock(stand_in().mutex);
    stand_in().mistakes.push_back(std::move(what));
}

/// Counts a call. @return what it returns without doing anything, or done.
int begin_call() {
    NvcompStandIn& it = stand_in();
    const std::lock_guard lock(it.mutex);
    ++it.calls;
    return it.fail_call > 0 && --it.fail_call == 0 ? k_internal : done;
}

/// Counts a chunk. @return whether it is to fail.
bool begin_chunk(std::uint64_t NvcompStandIn::*count) {
    NvcompStandIn& it = stand_in();
    const std::lock_guard lock(it.mutex);
    ++(it.*count);
    return it.fail_chunk > 0 && --it.fail_chunk == 0;
}

bool is_aligned(const void* memory, std::size_t to) {
    return reinterpret_cast<std::uintptr_t>(memory) % to == 0;
}

void check_options(const Coder& coder, const Options& options, bool compresses) {
    const std::string name = coder.name;
    const int type = options.number(name == "Bitcomp" ? 4 : 0);
    bool right = true;
    if (compresses && coder.has_values) right = type == 5 || type == 7;  // unsigned, 4 or 8 bytes
    if (compresses && name == "Gdeflate") right = options.number(0) <= 5;
    if (!compresses) right = options.number(0) == 2;  // by kernels
    for (std::size_t i = name == "Cascaded" ? 40 : 24; i < 64; ++i)
        right = right && options.bytes[i] == 0;
    if (!right) mistake(name + ": options that nvCOMP 6 does not have");
}

std::size_t value_bytes(const Coder& coder, const Options& options) {
    if (!coder.has_values) return 1;
    return options.number(std::strcmp(coder.name, "Bitcomp") == 0 ? 4 : 0) == 7 ? 8 : 4;
}

/// One call of compress or decompress; what pointers lead to is looked at by the stream only.
struct Batch {
    const Coder* coder;
    Options options;
    const void* const* from;
    const std::size_t* bytes;
    const std::size_t* room_bytes;
    std::size_t chunks, chunk_bytes;
    void* scratch;
    std::size_t scratch_bytes;
    void* const* to;
    std::size_t* to_bytes;
    int* statuses;
};

void compress(const Batch& batch) {
    const Coder& coder = *batch.coder;
    const std::size_t whole = value_bytes(coder, batch.options);
    if (batch.scratch_bytes > 0) std::memset(batch.scratch, 0xa5, batch.scratch_bytes);
    for (std::size_t i = 0; i < batch.chunks; ++i) {
        const std::size_t bytes = batch.bytes[i];
        if (bytes == 0 || bytes > batch.chunk_bytes || bytes % whole != 0 ||
            !is_aligned(batch.from[i], std::max(coder.compress.from, whole)) ||
            !is_aligned(batch.to[i], coder.compress.to))
            mistake(std::string(coder.name) + ": a chunk that must not be compressed so");
        std::memset(batch.to[i], 0xa5, coder.most_bytes);
        const std::size_t made =
            ZSTD_compress(batch.to[i], coder.most_bytes, batch.from[i], bytes, 1);
        const bool fails = begin_chunk(&NvcompStandIn::compressed) || ZSTD_isError(made) != 0;
        batch.statuses[i] = fails ? cannot_compress : done;
        batch.to_bytes[i] = stand_in().lie_about_size ? std::size_t{1} << 40 : made;
    }
}

void decompress(const Batch& batch) {
    const Coder& coder = *batch.coder;
    if (batch.scratch_bytes > 0) std::memset(batch.scratch, 0xa5, batch.scratch_bytes);
    for (std::size_t i = 0; i < batch.chunks; ++i) {
        if (!is_aligned(batch.from[i], coder.decompress.from) ||
            !is_aligned(batch.to[i], coder.decompress.to))
            mistake(std::string(coder.name) + ": a chunk that must not be decompressed so");
        const std::size_t made =
            ZSTD_decompress(batch.to[i], batch.room_bytes[i], batch.from[i], batch.bytes[i]);
        // nvCOMP need not notice: nobody may let it see what is damaged.
        if (ZSTD_isError(made) != 0) mistake(std::string(coder.name) + ": a damaged chunk");
        const bool fails = begin_chunk(&NvcompStandIn::decompressed) || ZSTD_isError(made) != 0;
        batch.statuses[i] = fails ? cannot_decompress : done;
        batch.to_bytes[i] = stand_in().stop_early ? made - 1 : made;
    }
}

int give(const Batch& batch, bool compresses, void* stream) {
    const Coder& coder = *batch.coder;
    check_options(coder, batch.options, compresses);
    const std::size_t scratch_alignment =
        compresses ? coder.compress.scratch : coder.decompress.scratch;
    const std::size_t scratch_bytes =
        compresses ? batch.chunks * coder.scratch_per_chunk : coder.decompress_scratch;
    if (batch.chunks == 0 || batch.scratch_bytes < scratch_bytes ||
        !is_aligned(batch.scratch, scratch_alignment) || batch.statuses == nullptr ||
        (compresses && batch.chunk_bytes > 1 << 16)) {
        mistake(std::string(coder.name) + ": scratch or numbers that nvCOMP does not take");
        return invalid_value;
    }
    if (const int code = begin_call(); code != done) return code;
    return stand_in().give(
        stream, [batch, compresses] { compresses ? compress(batch) : decompress(batch); });
}

template <std::size_t n>
int alignments(const Options& options, bool compresses, Alignment* found) {
    check_options(k_coders[n], options, compresses);
    *found = compresses ? k_coders[n].compress : k_coders[n].decompress;
    return begin_call();
}

int scratch(std::size_t* bytes, std::size_t found) {
    *bytes = found;
    return begin_call();
}

}  // namespace

#define STAND_IN extern "C" __attribute__((visibility("default")))

STAND_IN NvcompStandIn* nvcomp_stand_in() { return &stand_in(); }
STAND_IN int nvcompGetProperties(std::uint32_t* version_and_runtime) {
    version_and_runtime[0] = stand_in().version;
    version_and_runtime[1] = 0;
    return begin_call();
}
STAND_IN const char* nvcompGetStatusString(int) { return "as nvCOMP stood in for says"; }

#define STAND_IN_FOR(NAME, n)                                                                     \
    STAND_IN int nvcompBatched##NAME##CompressGetRequiredAlignments(Options options,              \
                                                                    Alignment* found) {           \
        return alignments<n>(options, true, found);                                               \
    }                                                                                             \
    STAND_IN int nvcompBatched##NAME##DecompressGetRequiredAlignments(Options options,            \
                                                                      Alignment* found) {         \
        return alignments<n>(options, false, found);                                              \
    }                                                                                             \
    STAND_IN int nvcompBatched##NAME##CompressGetMaxOutputChunkSize(std::size_t, Options,         \
                                                                    std::size_t* most) {          \
        return scratch(most, k_coders[n].most_bytes);                                             \
    }                                                                                             \
    STAND_IN int nvcompBatched##NAME##CompressGetTempSize(                                        \
        std::size_t chunks, std::size_t, Options, std::size_t* bytes, std::size_t, void*) {       \
        return scratch(bytes, chunks * k_coders[n].scratch_per_chunk);                            \
    }                                                                                             \
    STAND_IN int nvcompBatched##NAME##DecompressGetTempSize(                                      \
        std::size_t, std::size_t, Options, std::size_t* bytes, std::size_t, void*) {              \
        return scratch(bytes, k_coders[n].decompress_scratch);                                    \
    }                                                                                             \
    STAND_IN int nvcompBatched##NAME##CompressAsync(                                              \
        const void* const* from, const std::size_t* bytes, std::size_t chunk_bytes,               \
        std::size_t chunks, void* temp, std::size_t temp_bytes, void* const* to,                  \
        std::size_t* to_bytes, Options options, int* statuses, void* stream) {                    \
        return give({&k_coders[n], options, from, bytes, nullptr, chunks, chunk_bytes, temp,      \
                     temp_bytes, to, to_bytes, statuses},                                         \
                    true, stream);                                                                \
    }                                                                                             \
    STAND_IN int nvcompBatched##NAME##DecompressAsync(                                            \
        const void* const* from, const std::size_t* bytes, const std::size_t* room_bytes,         \
        std::size_t* to_bytes, std::size_t chunks, void* temp, std::size_t temp_bytes,            \
        void* const* to, Options options, int* statuses, void* stream) {                          \
        return give({&k_coders[n], options, from, bytes, room_bytes, chunks, 0, temp, temp_bytes, \
                     to, to_bytes, statuses},                                                     \
                    false, stream);                                                               \
    }

STAND_IN_FOR(LZ4, 0)
STAND_IN_FOR(Gdeflate, 1)
STAND_IN_FOR(Bitcomp, 2)
STAND_IN_FOR(ANS, 3)
STAND_IN_FOR(Cascaded, 4)
