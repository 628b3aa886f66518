// What a Python extension is to its process: a shared library with a libhdf5 of its own, which the
// loader keeps out of the global scope. The loader tests open it; so can ctypes, beside h5py.
#include <cstdio>
#include <cstring>
#include <vector>

#include "hdf5/block_codec.hpp"

namespace {

int say(char* message, std::size_t capacity, const std::string& text) {
    std::snprintf(message, capacity, "%s", text.c_str());
    return -1;
}

}  // namespace

/// Encode and decode a ramp with a codec. Returns the encoded size, or -1 with a message.
extern "C" __attribute__((visibility("default"))) int caesura_codec_trial(const char* codec_name,
                                                                          char* message,
                                                                          std::size_t capacity) {
    const caesura::Shape shape{16, 16, 16};
    std::vector<float> ramp(shape.count());
    for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = 0.01f * static_cast<float>(i);
    caesura::CodecSpec spec;
    spec.name = codec_name;
    auto codec = caesura::make_block_codec(spec, caesura::float32, shape, caesura::absolute(0.125));
    if (!codec.ok()) return say(message, capacity, codec.status().message());
    auto encoded = (*codec)->encode(std::as_bytes(std::span<const float>(ramp)), shape);
    if (!encoded.ok()) return say(message, capacity, encoded.status().message());
    if (encoded->fell_back) return say(message, capacity, "the block fell back");
    std::vector<std::byte> decoded(ramp.size() * sizeof(float));
    const caesura::Status status = (*codec)->decode(encoded->bytes, encoded->filter_mask, decoded);
    if (!status.ok()) return say(message, capacity, status.message());
    return static_cast<int>(encoded->bytes.size());
}
