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
        Coded cut = coded;
        if (Status status = improve(slab, predict(slab), 0, cut); !status.ok()) return status;
        if (Status status = polish(slab, coded); !status.ok()) return status;
        if (cut.bytes.size() < coded.bytes.size()) coded = std::move(cut);
        return {};
    }

  private:
    /// Cut a piece, whose part is at hand uncut, as long as that pays; mend what is not cut.
    Status improve(const Piece& piece, const Predicted& uncut, int depth, Coded& coded) {
        Cut cut;
        Halves halves;
        if (depth < k_deepest_split) {
            const Status status = try_cut(piece, uncut, cut, halves);
            if (!status.ok()) return status;
        }
        const bool pays =
            cut.axis >= 0 && static_cast<double>(halves.bytes()) <
                                 k_worth_keeping * static_cast<double>(coded.bytes.size());
        if (!pays) return depth > 0 ? polish(piece, coded) : Status();
        for (const int half : {0, 1}) {
            const Piece own{halves.values[half], halves.shapes[half]};
            const Status status = improve(own, cut.halves[half], depth + 1, halves.coded[half]);
            if (!status.ok()) return status;
        }
        join(cut, halves, coded);
        return {};
    }

    /// The cut of which samples say most, and its halves; no axis where they say it does not pay.
    Status try_cut(const Piece& piece, const Predicted& uncut, Cut& cut, Halves& halves) {
        cut = best_cut(piece);
        if (cut.axis < 0 || cut.bytes() > uncut.bytes()) {
            cut.axis = -1;
            return {};
        }
        if (Status status = encode_halves(piece, cut, halves); !status.ok()) return status;
        if (piece.shape[cut.axis] % 2 != 0) return {};
        // Interpolation lacks fewest neighbours where extents are a power of two and one.
        Cut beside = cut;
        ++beside.extent;
        Halves others;
        if (Status status = encode_halves(piece, beside, others); !status.ok()) return status;
        if (others.bytes() >= halves.bytes()) return {};
        halves = std::move(others);
        cut = beside;
        return {};
    }

    /// Settings a step away from those that the sample chose, tried on all values.
    Status polish(const Piece& piece, Coded& coded) {
        const auto kind = static_cast<PartKind>(coded.bytes[0]);
        if (kind != PartKind::lorenzo && kind != PartKind::interpolation) return {};
        const auto part = read_part(coded.bytes, piece.shape);
        if (!part.ok())
            return {StatusCode::internal, "a part's own head: " + part.status().message()};
        Choice best;
        best.kind = kind;
        best.lorenzo = part->header.lorenzo;
        best.interpolation = part->header.interpolation;
        const auto all = static_cast<std::uint8_t>((1U << piece.shape.rank()) - 1);
        const auto consider = [&](auto change) -> Status {
            Choice other = best;
            change(other.lorenzo, other.interpolation);
            if (other.lorenzo.axes == best.lorenzo.axes &&
                other.interpolation == best.interpolation)
                return {};
            const std::size_t before = coded.bytes.size();
            Status status = encode_once(piece, Mode::automatic, &other, coded);
            if (coded.bytes.size() < before) best = other;
            return status;
        };
        using Lorenzo = LorenzoSettings;
        using Interpolation = InterpolationSettings;
        if (kind == PartKind::lorenzo)
            return consider([&](Lorenzo& lorenzo, Interpolation&) { lorenzo.axes = all; });
        Status status = consider([&](Lorenzo&, Interpolation& other) {
            other.cubic = (other.cubic & all) == 0 ? all : std::uint8_t{0};
        });
        for (const int step : {4, -4}) {
            if (!status.ok()) return status;
            status = consider([&](Lorenzo&, Interpolation& other) {
                for (std::uint8_t& feedback : other.feedback)
                    feedback = static_cast<std::uint8_t>(std::clamp(feedback + step, 0, 15));
            });
        }
        if (!status.ok()) return status;
        return consider([&](Lorenzo&, Interpolation& other) {
            const bool even = other.alpha == 16 && other.beta == 16;
            other.alpha = even ? Interpolation{}.alpha : std::uint8_t{16};
            other.beta = even ? Interpolation{}.beta : std::uint8_t{16};
        });
    }

    /// @param chosen  settings, or null: by a sample. @param coded  kept unless it is larger.
    Status encode_once(const Piece& piece, Mode mode, const Choice* chosen, Coded& coded) {
        EncodeRequest request = request_;
        request.mode = mode;
        request.chosen = chosen;
        Output out;
        TableStatistics counts;
        Status status =
            encoder_.encode(piece.values, piece.shape, request, count_ ? &counts : nullptr, out);
        if (!status.ok()) return status;
        if (!coded.bytes.empty() && coded.bytes.size() <= out.size()) return {};
        coded.bytes = out.take();
        coded.counts = std::move(counts);
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
            Status status = encode_once(piece, mode, nullptr, coded);
            if (!status.ok()) return status;
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
