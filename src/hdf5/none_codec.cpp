// The codec "none": blocks lie in the file as they are in memory.
#include <fmt/format.h>

#include <cstring>
#include <new>

#include "hdf5/filter_codec.hpp"

namespace caesura::hdf5 {
namespace {

class NoneCodec final : public BlockCodec {
  public:
    explicit NoneCodec(std::size_t raw_bytes) : raw_bytes_(raw_bytes) {}

    std::span<const FilterSpec> pipeline() const override { return {}; }
    bool reentrant() const override { return true; }

    Result<EncodedBlock> encode(std::span<const std::byte> chunk, const Shape&) const override try {
        if (chunk.size() != raw_bytes_) {
            return Status(StatusCode::invalid_argument,
                          fmt::format("a chunk has {} bytes, not {}", raw_bytes_, chunk.size()));
        }
        EncodedBlock block;
        block.bytes.assign(chunk.begin(), chunk.end());
        block.max_error = 0.0;
        return block;
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::no_space,
                      fmt::format("no memory for a block of {} bytes", raw_bytes_));
    }

    Result<EncodedBlock> encode_exactly(std::span<const std::byte> chunk,
                                        const Shape& valid) const override {
        return encode(chunk, valid);
    }

    Status decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                  std::span<std::byte> chunk) const override {
        if (filter_mask != 0 || stored.size() != raw_bytes_ || chunk.size() != raw_bytes_) {
            return {StatusCode::corrupt,
                    fmt::format("an unfiltered block has {} bytes and filter mask {:#x}; expected "
                                "{} bytes and mask 0",
                                stored.size(), filter_mask, raw_bytes_)};
        }
        std::memcpy(chunk.data(), stored.data(), stored.size());
        return {};
    }

  private:
    std::size_t raw_bytes_;
};

}  // namespace

std::unique_ptr<BlockCodec> make_none_codec(DType dtype, const Shape& chunk) {
    return std::make_unique<NoneCodec>(chunk.count() * size_of(dtype));
}

}  // namespace caesura::hdf5
