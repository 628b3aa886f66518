#include "hdf5/complex_codec.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <new>

namespace caesura::hdf5 {
namespace {

class ComplexCodec final : public BlockCodec {
  public:
    ComplexCodec(std::unique_ptr<BlockCodec> inner, DType dtype, const Shape& chunk,
                 const ErrorBound& bound, bool by_part)
        : inner_(std::move(inner)),
          dtype_(dtype),
          chunk_(chunk),
          bound_(bound),
          by_part_(by_part) {}

    std::span<const FilterSpec> pipeline() const override { return inner_->pipeline(); }
    std::vector<std::vector<unsigned>> creation_values() const override {
        return inner_->creation_values();
    }
    std::string_view lacks() const override { return inner_->lacks(); }
    bool reentrant() const override { return inner_->reentrant(); }
    bool wants_padding() const override { return inner_->wants_padding(); }
    bool leaves_raw_to_caller() const override { return inner_->leaves_raw_to_caller(); }

    Result<EncodedBlock> encode(std::span<const std::byte> chunk,
                                const Shape& valid) const override {
        if (!by_part_) return inner_->encode(chunk, with_parts(valid));
        return encode_both(chunk, valid, bound_);
    }
    Result<EncodedBlock> encode_exactly(std::span<const std::byte> chunk,
                                        const Shape& valid) const override {
        if (!by_part_) return inner_->encode_exactly(chunk, with_parts(valid));
        return encode_both(chunk, valid, lossless());
    }
    Result<EncodedBlock> encode_parts(std::span<const std::byte> values,
                                      std::span<const codec::BundlePart> parts, bool bundled,
                                      const codec::Canvas* canvas) const override try {
        if (!by_part_) return BlockCodec::encode_parts(values, parts, bundled, canvas);
        if (!bundled)
            return inner_->encode_parts(values, both_of(parts[0].shape, parts[0].bound), true);
        codec::Canvas of_numbers{parts[0].shape};
        if (canvas == nullptr) {  // layers
            of_numbers.shape[0] = 0;
            for (const codec::BundlePart& part : parts) of_numbers.shape[0] += part.shape[0];
        } else {
            of_numbers = *canvas;
        }
        const auto boxes = boxes_of(parts);
        of_numbers.shape = with_parts(of_numbers.shape);
        return inner_->encode_parts(values, boxes, true, &of_numbers);
    } catch (const std::bad_alloc&) {
        return no_memory();
    }
    Status decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                  std::span<std::byte> chunk) const override {
        return inner_->decode(stored, filter_mask, chunk);
    }

  private:
    bool lies_inside(const Shape& valid) const {
        bool inside = valid.rank() == chunk_.rank();
        for (int axis = 0; inside && axis < chunk_.rank(); ++axis)
            inside = valid[axis] >= 1 && valid[axis] <= chunk_[axis];
        return inside;
    }

    Result<EncodedBlock> encode_both(std::span<const std::byte> chunk, const Shape& valid,
                                     const ErrorBound& bound) const try {
        const std::size_t value_bytes = size_of(dtype_);
        const std::size_t bytes = static_cast<std::size_t>(valid.count()) * value_bytes;
        const std::size_t full_bytes = static_cast<std::size_t>(chunk_.count()) * value_bytes;
        if (!lies_inside(valid) || (chunk.size() != bytes && chunk.size() != full_bytes))
            return Status(
                StatusCode::invalid_argument,
                fmt::format("a block of {} bytes with valid extent {} does not fit chunks "
                            "of {} {}",
                            chunk.size(), to_string(valid), to_string(chunk_), to_string(dtype_)));
        std::vector<std::byte> cut;
        if (chunk.size() != bytes) {
            const Box full{Shape::filled(chunk_.rank(), 0), chunk_};
            const Box inside{full.offset, valid};
            cut.resize(bytes);
            copy_box(inside, full, chunk.data(), inside, cut.data(), value_bytes);
            chunk = cut;
        }
        auto block = inner_->encode_parts(chunk, both_of(valid, bound), true);
        // It comes as a share of the bound; of one relative to each value that is no error.
        if (block.ok() && bound.kind == ErrorBound::Kind::absolute) block->max_error *= bound.value;
        if (block.ok() && bound.kind == ErrorBound::Kind::pointwise_relative)
            block->max_error = std::numeric_limits<double>::quiet_NaN();
        return block;
    } catch (const std::bad_alloc&) {
        return no_memory();
    }

    static Status no_memory() {
        return {StatusCode::no_space, "no memory to encode a block of complex numbers"};
    }

    /// The real parts of an array, and the imaginary ones.
    static std::array<codec::BundlePart, 2> both_of(const Shape& valid, const ErrorBound& bound) {
        std::array<codec::BundlePart, 2> parts;
        for (std::uint32_t i = 0; i < parts.size(); ++i) {
            parts[i].shape = valid;
            parts[i].bound = bound;
            parts[i].component = i;
            parts[i].interleaved = true;
        }
        return parts;
    }

    /// The same of each box, or of layers, which lie one behind the other: boxes of a canvas of
    /// numbers that are thin along the axis of the parts.
    static std::vector<codec::BundlePart> boxes_of(std::span<const codec::BundlePart> parts) {
        std::vector<codec::BundlePart> boxes;
        Shape layer = Shape::filled(parts[0].shape.rank(), 0);
        for (const codec::BundlePart& part : parts) {
            const bool is_box = part.offset.rank() > 0;
            for (std::uint32_t i = 0; i < 2; ++i) {
                codec::BundlePart& box = boxes.emplace_back(part);
                box.shape = with_parts(part.shape, 1);
                box.offset = with_parts(is_box ? part.offset : layer, i);
                box.component = i;
            }
            layer[0] += part.shape[0];
        }
        return boxes;
    }

    std::unique_ptr<BlockCodec> inner_;
    DType dtype_;
    Shape chunk_;
    ErrorBound bound_;
    bool by_part_;
};

}  // namespace

std::unique_ptr<BlockCodec> make_complex_codec(std::unique_ptr<BlockCodec> inner, DType dtype,
                                               const Shape& chunk, const ErrorBound& bound,
                                               bool by_part) {
    return std::make_unique<ComplexCodec>(std::move(inner), dtype, chunk, bound, by_part);
}

Shape with_parts(const Shape& shape, std::uint64_t last) {
    std::vector<std::uint64_t> extents(shape.data(), shape.data() + shape.rank());
    extents.push_back(last);
    return Shape(extents);
}

}  // namespace caesura::hdf5
