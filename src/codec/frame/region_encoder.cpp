#include "codec/frame/region_encoder.hpp"

#include <algorithm>

#include "codec/frame/split.hpp"

namespace caesura::codec {
namespace {

/// Halves shorter than this lose more at their edges than settings bring.
constexpr std::uint64_t k_least_extent = 8;
constexpr std::uint64_t k_least_values = 1U << 16;
/// A cut that saves less is not gone on with: a region more costs time for little.
constexpr double k_worth_keeping = 0.997;

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

/// A piece in two halves, coded. No axis: it cannot be cut.
struct Cut {
    int axis = -1;
    std::uint64_t extent = 0;  ///< of the first half
    Coded halves[2];
    std::size_t bytes() const {
        return halves[0].bytes.size() + halves[1].bytes.size() + k_split_head_bytes;
    }
};

class RegionEncoder {
  public:
    RegionEncoder(PartEncoder& encoder, const EncodeRequest& request, bool count)
        : encoder_(encoder), request_(request), count_(count) {}

    /// The part of a slab.
    Status encode(const Piece& slab, Coded& coded) {
        if (Status status = encode_uncut(slab, coded); !status.ok()) return status;
        // Auto may code bursts adaptively where neither of these two would have.
        Status status = encode_once(slab, Mode::automatic, nullptr, coded);
        if (!status.ok()) return status;
        Coded cut = coded;
        status = improve(slab, 0, cut);
        if (status.ok()) status = polish(slab, coded);
        if (!status.ok()) return status;
        if (cut.bytes.size() < coded.bytes.size()) coded = std::move(cut);
        return {};
    }

  private:
    /// Cut a piece, whose part is at hand uncut, as long as that pays; mend what is not cut.
    Status improve(const Piece& piece, int depth, Coded& coded) {
        Cut best;
        if (depth < k_deepest_split) {
            if (Status status = find_cut(piece, best); !status.ok()) return status;
        }
        const double limit = k_worth_keeping * static_cast<double>(coded.bytes.size());
        if (best.axis < 0 || static_cast<double>(best.bytes()) > limit)
            return depth > 0 ? polish(piece, coded) : Status();
        for (const int half : {0, 1}) {
            const Box box = box_of(piece, best, half);
            const std::vector<std::byte> values = values_of(piece, box);
            Status status = improve({values, box.extent}, depth + 1, best.halves[half]);
            if (!status.ok()) return status;
        }
        Output out;
        out.expect(best.bytes());
        append_split(best.axis, best.extent, best.halves[0].bytes, best.halves[1].bytes, out);
        coded.bytes = out.take();
        coded.counts = std::move(best.halves[0].counts);
        coded.counts.add(best.halves[1].counts);
        return {};
    }

    /// Of the cuts in the middle of each axis the one with fewest bytes, or one beside it. To code
    /// is no slower than to foretell a size, and it is exact.
    Status find_cut(const Piece& piece, Cut& best) {
        if (piece.shape.count() < 2 * k_least_values) return {};
        const auto consider = [&](int axis, std::uint64_t extent) -> Status {
            Cut cut;
            cut.axis = axis;
            cut.extent = extent;
            for (const int half : {0, 1}) {
                const Box box = box_of(piece, cut, half);
                const std::vector<std::byte> values = values_of(piece, box);
                Status status = encode_uncut({values, box.extent}, cut.halves[half]);
                if (!status.ok()) return status;
            }
            if (best.axis < 0 || cut.bytes() < best.bytes()) best = std::move(cut);
            return {};
        };
        for (int axis = 0; axis < piece.shape.rank(); ++axis) {
            if (piece.shape[axis] < 2 * k_least_extent) continue;
            Status status = consider(axis, (piece.shape[axis] + 1) / 2);
            if (!status.ok()) return status;
        }
        // Interpolation lacks fewest neighbours where extents are a power of two and one.
        if (best.axis < 0 || piece.shape[best.axis] % 2 != 0) return {};
        return consider(best.axis, best.extent + 1);
    }

    static Box box_of(const Piece& piece, const Cut& cut, int half) {
        Box box{Shape::filled(piece.shape.rank(), 0), piece.shape};
        box.extent[cut.axis] = half == 0 ? cut.extent : piece.shape[cut.axis] - cut.extent;
        if (half == 1) box.offset[cut.axis] = cut.extent;
        return box;
    }
    std::vector<std::byte> values_of(const Piece& piece, const Box& box) const {
        const std::size_t value_bytes = request_.header.value_bytes();
        const Box whole{Shape::filled(piece.shape.rank(), 0), piece.shape};
        std::vector<std::byte> values(static_cast<std::size_t>(box.extent.count()) * value_bytes);
        copy_box(box, whole, piece.values.data(), box, values.data(), value_bytes);
        return values;
    }

    /// By both predictors, with settings by a sample.
    Status encode_uncut(const Piece& piece, Coded& coded) {
        Status status = encode_once(piece, Mode::fast, nullptr, coded);
        return status.ok() ? encode_once(piece, Mode::strong, nullptr, coded) : status;
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
        best.coding = part->header.coding;
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
        if (Status status = adapt(piece, best, coded); !status.ok()) return status;
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

    /// With codes coded adaptively, where that is worth it.
    Status adapt(const Piece& piece, Choice& best, Coded& coded) {
        if (best.coding == Coding::adaptive) return {};
        Choice adaptive = best;
        adaptive.coding = Coding::adaptive;
        Coded other;
        Status status = encode_once(piece, Mode::automatic, &adaptive, other);
        if (!status.ok() ||
            !is_worth_adapting(other.bytes.size(), coded.bytes.size(), piece.shape.count()))
            return status;
        best = adaptive;
        coded = std::move(other);
        return {};
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
