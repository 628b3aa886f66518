#include "codec/frame/region_encoder.hpp"

#include <algorithm>
#include <limits>

#include "codec/frame/split.hpp"

namespace caesura::codec {
namespace {

/// Halves shorter than this lose more at their edges than settings bring.
constexpr std::uint64_t k_least_extent = 8;
constexpr std::uint64_t k_least_values = 1U << 14;
/// A cut is tried if samples do not say that it costs more than this: they are off by about as much.
constexpr double k_worth_trying = 1.01;

/// A region's part and what it was made of.
struct Coded {
    std::vector<std::byte> bytes;
    TableStatistics counts;
};

/// A slab or a region of it, dense.
struct Piece {
    std::span<const std::byte> values;
    Shape shape;
};

struct Cut {
    int axis = -1;
    std::uint64_t extent = 0;  ///< of the first half
    std::uint64_t bytes[2] = {};
};

class RegionEncoder {
  public:
    RegionEncoder(PartEncoder& encoder, const EncodeRequest& request, bool count)
        : encoder_(encoder), request_(request), count_(count) {}

    /// @param bytes  of the piece uncut, by a sample. @param coded  the result.
    Status encode(const Piece& piece, std::uint64_t bytes, int depth, Coded& coded) {
        if (Status status = encode_uncut(piece, coded); !status.ok()) return status;
        if (depth == k_deepest_split) return {};
        const Cut cut = best_cut(piece);
        if (cut.axis < 0) return {};
        const double both = static_cast<double>(cut.bytes[0] + cut.bytes[1] + k_split_head_bytes);
        if (both > k_worth_trying * static_cast<double>(bytes)) return {};
        Coded halves[2];
        for (const int half : {0, 1}) {
            const std::vector<std::byte> values = values_of(piece, cut, half);
            const Piece own{values, box_of(piece, cut, half).extent};
            if (Status status = encode(own, cut.bytes[half], depth + 1, halves[half]);
                !status.ok())
                return status;
        }
        keep_smaller(cut, halves, coded);
        return {};
    }
    std::uint64_t predict(const Piece& piece) { return predict(piece.values.data(), piece, piece); }

  private:
    static Box box_of(const Piece& piece, const Cut& cut, int half) {
        Box box{Shape::filled(piece.shape.rank(), 0), piece.shape};
        box.extent[cut.axis] = half == 0 ? cut.extent : piece.shape[cut.axis] - cut.extent;
        if (half == 1) box.offset[cut.axis] = cut.extent;
        return box;
    }
    std::vector<std::byte> values_of(const Piece& piece, const Cut& cut, int half) const {
        const std::size_t value_bytes = request_.header.value_bytes();
        const Box whole{Shape::filled(piece.shape.rank(), 0), piece.shape};
        const Box box = box_of(piece, cut, half);
        std::vector<std::byte> values(static_cast<std::size_t>(box.extent.count()) * value_bytes);
        copy_box(box, whole, piece.values.data(), box, values.data(), value_bytes);
        return values;
    }

    /// What auto chooses between, and without the sample's errors.
    Status encode_uncut(const Piece& piece, Coded& coded) {
        for (const Mode mode : {Mode::fast, Mode::strong}) {
            EncodeRequest request = request_;
            request.mode = mode;
            Output out;
            TableStatistics counts;
            Status status = encoder_.encode(piece.values, piece.shape, request,
                                            count_ ? &counts : nullptr, out);
            if (!status.ok()) return status;
            if (!coded.bytes.empty() && coded.bytes.size() <= out.size()) continue;
            coded.bytes = out.take();
            coded.counts = std::move(counts);
        }
        return {};
    }

    /// The better of both predictors. @param first  of `part`, which lies in the array.
    std::uint64_t predict(const std::byte* first, const Piece& part, const Piece& array) {
        std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
        for (const Mode mode : {Mode::fast, Mode::strong}) {
            EncodeRequest request = request_;
            request.mode = mode;
            auto choice = encoder_.predict_in_place(first, part.shape, array.shape, request);
            if (!choice && !part.values.empty())
                choice = encoder_.predict(part.values, part.shape, request);
            if (choice) bytes = std::min(bytes, choice->bytes);
        }
        return bytes;
    }

    Cut best_cut(const Piece& piece) {
        Cut best;
        std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
        for (int axis = 0; axis < piece.shape.rank(); ++axis) {
            Cut cut{axis, (piece.shape[axis] + 1) / 2, {}};
            if (piece.shape[axis] < 2 * k_least_extent ||
                piece.shape.count() < 2 * k_least_values)
                continue;
            for (const int half : {0, 1}) cut.bytes[half] = predict_half(piece, cut, half);
            if (cut.bytes[0] + cut.bytes[1] >= least) continue;
            least = cut.bytes[0] + cut.bytes[1];
            best = cut;
        }
        if (best.axis < 0 || piece.shape[best.axis] % 2 != 0) return best;
        // Interpolation lacks fewest neighbours where extents are a power of two and one.
        Cut beside{best.axis, best.extent + 1, {}};
        for (const int half : {0, 1}) beside.bytes[half] = predict_half(piece, beside, half);
        return beside.bytes[0] + beside.bytes[1] < least ? beside : best;
    }
    std::uint64_t predict_half(const Piece& piece, const Cut& cut, int half) {
        const Box box = box_of(piece, cut, half);
        std::uint64_t at = half == 0 ? 0 : cut.extent;
        for (int axis = cut.axis + 1; axis < piece.shape.rank(); ++axis) at *= piece.shape[axis];
        const std::byte* const first = piece.values.data() + at * request_.header.value_bytes();
        const std::uint64_t bytes = predict(first, {{}, box.extent}, piece);
        if (bytes != std::numeric_limits<std::uint64_t>::max()) return bytes;
        // Only all of its values tell.
        const std::vector<std::byte> values = values_of(piece, cut, half);
        return predict({values, box.extent});
    }

    void keep_smaller(const Cut& cut, Coded halves[2], Coded& coded) const {
        const std::size_t bytes =
            k_split_head_bytes + halves[0].bytes.size() + halves[1].bytes.size();
        if (bytes >= coded.bytes.size()) return;
        Output out;
        out.expect(bytes);
        append_split(cut.axis, cut.extent, halves[0].bytes, halves[1].bytes, out);
        coded.bytes = out.take();
        coded.counts = std::move(halves[0].counts);
        coded.counts.add(halves[1].counts);
    }

    PartEncoder& encoder_;
    const EncodeRequest& request_;
    const bool count_;
};

}  // namespace

Status encode_regions(PartEncoder& encoder, std::span<const std::byte> values, const Shape& shape,
                      const EncodeRequest& request, TableStatistics* statistics, Output& out) {
    RegionEncoder regions(encoder, request, statistics != nullptr);
    const Piece slab{values, shape};
    Coded coded;
    const Status status = regions.encode(slab, regions.predict(slab), 0, coded);
    if (!status.ok()) return status;
    out.append(coded.bytes);
    if (statistics != nullptr) statistics->add(coded.counts);
    return {};
}

}  // namespace caesura::codec
