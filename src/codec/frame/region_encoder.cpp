#include "codec/frame/region_encoder.hpp"

#include <algorithm>
#include <limits>

#include "codec/frame/split.hpp"

namespace caesura::codec {
namespace {

/// Halves shorter than this lose more at their edges than settings bring.
constexpr std::uint64_t k_least_extent = 8;
constexpr std::uint64_t k_least_values = 1U << 16;
/// A cut that saves less is not gone on with: a region more costs time for little.
constexpr double k_worth_keeping = 0.997;
/// A predictor that a sample rates so much worse is not tried.
constexpr double k_surely_worse = 1.25;
constexpr std::uint64_t k_most_bytes = std::numeric_limits<std::uint64_t>::max();

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

/// Bytes of a part, by a sample.
struct Predicted {
    std::uint64_t fast = k_most_bytes, strong = k_most_bytes;
    std::uint64_t bytes() const { return std::min(fast, strong); }
};

struct Cut {
    int axis = -1;
    std::uint64_t extent = 0;  ///< of the first half
    Predicted halves[2];
    std::uint64_t bytes() const {
        return halves[0].bytes() + halves[1].bytes() + k_split_head_bytes;
    }
};

/// The two halves of a piece, coded.
struct Halves {
    std::vector<std::byte> values[2];
    Shape shapes[2];
    Coded coded[2];
    std::size_t bytes() const {
        return coded[0].bytes.size() + coded[1].bytes.size() + k_split_head_bytes;
    }
};

class RegionEncoder {
  public:
    RegionEncoder(PartEncoder& encoder, const EncodeRequest& request, bool count)
        : encoder_(encoder), request_(request), count_(count) {}

    /// The part of a slab.
    Status encode(const Piece& slab, Coded& coded) {
        // Both predictors, whatever a sample says: so it is never larger than auto's.
        if (Status status = encode_uncut(slab, {0, 0}, coded); !status.ok()) return status;
        return improve(slab, predict(slab), 0, coded);
    }

  private:
    /// Cut a piece, whose part is at hand uncut, as long as that pays.
    Status improve(const Piece& piece, const Predicted& uncut, int depth, Coded& coded) {
        if (depth == k_deepest_split) return {};
        Cut cut = best_cut(piece);
        if (cut.axis < 0 || cut.bytes() > uncut.bytes()) return {};
        Halves halves;
        if (Status status = encode_halves(piece, cut, halves); !status.ok()) return status;
        // Interpolation lacks fewest neighbours where extents are a power of two and one.
        if (piece.shape[cut.axis] % 2 == 0) {
            Cut beside = cut;
            ++beside.extent;
            Halves others;
            if (Status status = encode_halves(piece, beside, others); !status.ok()) return status;
            if (others.bytes() < halves.bytes()) {
                halves = std::move(others);
                cut = beside;
            }
        }
        if (static_cast<double>(halves.bytes()) >
            k_worth_keeping * static_cast<double>(coded.bytes.size()))
            return {};
        for (const int half : {0, 1}) {
            const Piece own{halves.values[half], halves.shapes[half]};
            const Status status = improve(own, cut.halves[half], depth + 1, halves.coded[half]);
            if (!status.ok()) return status;
        }
        join(cut, halves, coded);
        return {};
    }

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

    Status encode_halves(const Piece& piece, const Cut& cut, Halves& halves) {
        for (const int half : {0, 1}) {
            halves.values[half] = values_of(piece, cut, half);
            halves.shapes[half] = box_of(piece, cut, half).extent;
            const Piece own{halves.values[half], halves.shapes[half]};
            const Status status = encode_uncut(own, cut.halves[half], halves.coded[half]);
            if (!status.ok()) return status;
        }
        return {};
    }

    /// What auto chooses between, but for the sample's errors.
    Status encode_uncut(const Piece& piece, const Predicted& predicted, Coded& coded) {
        const double limit = k_surely_worse * static_cast<double>(predicted.bytes());
        for (const Mode mode : {Mode::fast, Mode::strong}) {
            const std::uint64_t bytes = mode == Mode::fast ? predicted.fast : predicted.strong;
            if (static_cast<double>(bytes) > limit) continue;
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

    Predicted predict(const Piece& piece) {
        Predicted predicted;
        for (const Mode mode : {Mode::fast, Mode::strong}) {
            EncodeRequest request = request_;
            request.mode = mode;
            (mode == Mode::fast ? predicted.fast : predicted.strong) =
                encoder_.predict(piece.values, piece.shape, request).bytes;
        }
        return predicted;
    }
    Predicted predict_half(const Piece& piece, const Cut& cut, int half) {
        const Shape shape = box_of(piece, cut, half).extent;
        std::uint64_t at = half == 0 ? 0 : cut.extent;
        for (int axis = cut.axis + 1; axis < piece.shape.rank(); ++axis) at *= piece.shape[axis];
        const std::byte* const first = piece.values.data() + at * request_.header.value_bytes();
        Predicted predicted;
        for (const Mode mode : {Mode::fast, Mode::strong}) {
            EncodeRequest request = request_;
            request.mode = mode;
            const auto choice = encoder_.predict_in_place(first, shape, piece.shape, request);
            if (!choice) {  // only all of its values tell
                const std::vector<std::byte> values = values_of(piece, cut, half);
                return predict({values, shape});
            }
            (mode == Mode::fast ? predicted.fast : predicted.strong) = choice->bytes;
        }
        return predicted;
    }

    Cut best_cut(const Piece& piece) {
        Cut best;
        for (int axis = 0; axis < piece.shape.rank(); ++axis) {
            if (piece.shape[axis] < 2 * k_least_extent || piece.shape.count() < 2 * k_least_values)
                continue;
            Cut cut;
            cut.axis = axis;
            cut.extent = (piece.shape[axis] + 1) / 2;
            for (const int half : {0, 1}) cut.halves[half] = predict_half(piece, cut, half);
            if (best.axis < 0 || cut.bytes() < best.bytes()) best = cut;
        }
        return best;
    }

    static void join(const Cut& cut, Halves& halves, Coded& coded) {
        Output out;
        out.expect(halves.bytes());
        append_split(cut.axis, cut.extent, halves.coded[0].bytes, halves.coded[1].bytes, out);
        coded.bytes = out.take();
        coded.counts = std::move(halves.coded[0].counts);
        coded.counts.add(halves.coded[1].counts);
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
    const Status status = regions.encode(slab, coded);
    if (!status.ok()) return status;
    out.append(coded.bytes);
    if (statistics != nullptr) statistics->add(coded.counts);
    return {};
}

}  // namespace caesura::codec
