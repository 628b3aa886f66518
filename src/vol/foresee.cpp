#include "vol/foresee.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "vol/members.hpp"
#include "vol/object.hpp"
#include "writer/open_writer.hpp"

namespace caesura::vol {
namespace {

using nlohmann::json;
using store::Handle;
using Range = writer::Composition::Range;

constexpr std::uint64_t k_piece_bytes = 16u << 20;
constexpr std::size_t k_sampled_pieces = 8;  // of a quantity

/// Slices along an axis, of at most k_piece_bytes if one index has no more.
std::uint64_t slice_of(std::uint64_t length, std::uint64_t bytes) {
    const std::uint64_t pieces = (bytes + k_piece_bytes - 1) / k_piece_bytes;
    return std::max<std::uint64_t>(1, length / std::max<std::uint64_t>(1, pieces));
}

Range widened(const Range& a, const Range& b) {
    return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

/// JSON has no infinity.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

/// Of what differs, finite values alone.
template <class T>
double squares_of(std::span<const std::byte> a, std::span<const std::byte> b) {
    double sum = 0;
    for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
        T x, y;
        std::memcpy(&x, &a[at], sizeof(T));
        std::memcpy(&y, &b[at], sizeof(T));
        const double error = static_cast<double>(x) - static_cast<double>(y);
        if (std::isfinite(error)) sum += error * error;
    }
    return sum;
}

json warnings_for(const ErrorBound& in_units, const Range& range, DType dtype) {
    json warnings = json::array();
    if (in_units.kind != ErrorBound::Kind::absolute) return warnings;
    const double spread = range.max - range.min;
    if (!(spread >= 0.0)) return warnings;  // no finite value
    if (in_units.value > 0.01 * spread)
        warnings.push_back(fmt::format("the bound is {:.3g} % of the range",
                                       spread > 0 ? 100.0 * in_units.value / spread : 100.0));
    const double largest = std::max(std::fabs(range.min), std::fabs(range.max));
    const double precision = largest * (dtype == float32 ? std::numeric_limits<float>::epsilon()
                                                         : std::numeric_limits<double>::epsilon());
    if (in_units.value < 0.5 * precision)
        warnings.push_back(fmt::format(
            "the bound lies below the precision of the values, {:.2g}: they are stored exactly, or "
            "nearly so",
            precision));
    return warnings;
}

}  // namespace

std::vector<Foresight::Piece> Foresight::pieces_of(const writer::Composition* parts,
                                                   std::vector<hsize_t> dims,
                                                   std::size_t value_bytes) {
    std::vector<Piece> pieces;
    if (parts != nullptr && parts->axis() < 0) {
        hsize_t at = 0;
        for (auto& part : parts->parts({{0}, {dims[0]}})) {
            const hsize_t rows = part.shape[0], inner = part.shape.count() / rows;
            const hsize_t step = slice_of(rows, part.shape.count() * value_bytes);
            for (hsize_t row = 0; row < rows; row += step) {
                Piece piece{{at + row * inner}, {std::min(step, rows - row) * inner}, part};
                piece.part.shape[0] = std::min(step, rows - row);
                pieces.push_back(std::move(piece));
            }
            at += rows * inner;
        }
        return pieces;
    }
    // Along an axis: one index of it, and slices of the first other axis.
    const std::size_t axis =
        parts == nullptr ? dims.size() : static_cast<std::size_t>(parts->axis_in_file());
    const std::size_t cut = axis == 0 && dims.size() > 1 ? 1 : 0;
    const bool members = parts != nullptr && parts->is_interleaved();
    const hsize_t quantities = members              ? parts->components().size()
                               : axis < dims.size() ? dims[axis]
                                                    : 1;
    if (axis < dims.size()) dims[axis] = 1;
    std::uint64_t count = 1;
    for (const hsize_t extent : dims) count *= extent;
    const hsize_t step = slice_of(dims[cut], count * value_bytes);
    for (hsize_t c = 0; c < quantities; ++c)
        for (hsize_t begin = 0; begin < dims[cut]; begin += step) {
            Piece piece{std::vector<hsize_t>(dims.size(), 0), dims, {}};
            piece.offset[cut] = begin;
            piece.extent[cut] = std::min(step, dims[cut] - begin);
            if (axis < dims.size()) piece.offset[axis] = c;
            std::vector<std::uint64_t> shape;
            for (const hsize_t extent : piece.extent)
                if (extent > 1) shape.push_back(extent);
            if (shape.empty()) shape.push_back(1);
            piece.part.shape = Shape(std::span(shape).first(
                std::min<std::size_t>(shape.size(), static_cast<std::size_t>(k_max_rank))));
            piece.part.component = static_cast<std::uint32_t>(c);
            pieces.push_back(std::move(piece));
        }
    return pieces;
}

Result<std::vector<std::byte>> Foresight::read(const Seen& seen, const Piece& piece) {
    std::uint64_t count = 1;
    for (const hsize_t extent : piece.extent) count *= extent;
    std::vector<std::byte> values(count * size_of(seen.dtype));
    const Handle space(H5Dget_space(seen.dataset.get()), H5Sclose);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, piece.offset.data(), nullptr,
                        piece.extent.data(), nullptr);
    const hsize_t n = count;
    const Handle dense(H5Screate_simple(1, &n, nullptr), H5Sclose);
    std::vector<std::string> member;
    if (seen.members) member.push_back(seen.components[piece.part.component].name);
    const Handle type = type_of(seen.dtype, member);
    if (H5Dread(seen.dataset.get(), type.get(), dense.get(), space.get(), H5P_DEFAULT,
                values.data()) < 0)
        return store::hdf5_error(StatusCode::io, "reading values");
    return values;
}

Result<std::size_t> Foresight::look(hid_t dataset, const DatasetFacts& facts) {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    std::vector<hsize_t> dims(static_cast<std::size_t>(facts.rank)), most(dims.size());
    H5Sget_simple_extent_dims(space.get(), dims.data(), most.data());
    const auto axes =
        writer::fold_axes({reinterpret_cast<const std::uint64_t*>(dims.data()), dims.size()},
                          {reinterpret_cast<const std::uint64_t*>(most.data()), most.size()});
    if (!axes.ok()) return axes.status();
    const auto self = Communicator::self();
    // From the dataset on, by its path: what lies beside it is found.
    H5VL_loc_params_t location{};
    location.type = H5VL_OBJECT_BY_SELF;
    location.obj_type = H5I_DATASET;
    const Asked asked{{H5VLobject(dataset), H5I_DATASET}, &location, config_, *self};
    const auto quantities = quantities_of(asked, facts.path.c_str(), facts, dims);
    if (!quantities.ok()) return quantities.status();
    const auto composed = compose(config_, facts, *quantities, *axes, !facts.extendible);
    if (!composed.ok()) return composed.status();
    Seen seen;
    if (H5Iinc_ref(dataset) < 0) return store::hdf5_error(StatusCode::internal, facts.path);
    seen.dataset = Handle(dataset, H5Dclose);
    seen.dtype = facts.number_bytes() == 4 ? float32 : float64;
    seen.members = quantities->members;
    seen.codec = settings_of(config_, facts.path).codec;
    const writer::Composition* const parts = composed->composition.get();
    seen.components = parts == nullptr
                          ? std::vector<writer::Component>{{"", composed->bound, false}}
                          : parts->components();
    if (parts != nullptr) seen.whole = parts->whole();
    seen.pieces = pieces_of(parts, dims, facts.number_bytes());
    seen.ranges.resize(seen.components.size());
    for (const Piece& piece : seen.pieces) {
        const auto values = read(seen, piece);
        if (!values.ok()) return values.status().with_context(facts.path);
        widen_range(values->data(), values->size() / facts.number_bytes(), seen.dtype,
                    seen.ranges[piece.part.component]);
    }
    for (std::size_t c = 0; c < seen.components.size() && !seen.whole.empty(); ++c) {
        Range& whole = wholes_[{seen.whole, seen.components[c].name}];
        whole = widened(whole, seen.ranges[c]);
    }
    seen_.push_back(std::move(seen));
    return seen_.size() - 1;
}

json Foresight::sample(const Seen& seen, std::size_t component, const ErrorBound& bound,
                       const Range& range) {
    std::vector<const Piece*> own;
    for (const Piece& piece : seen.pieces)
        if (piece.part.component == component) own.push_back(&piece);
    const std::size_t step = std::max<std::size_t>(1, own.size() / k_sampled_pieces);
    double raw = 0, stored = 0, squares = 0, values = 0;
    for (std::size_t i = 0; i < own.size(); i += step) {
        const auto original = read(seen, *own[i]);
        if (!original.ok()) return nullptr;
        const Shape& shape = own[i]->part.shape;
        const auto codec = make_block_codec({seen.codec}, seen.dtype, shape, bound);
        if (!codec.ok()) return nullptr;
        const auto block = (*codec)->encode(*original, shape);
        if (!block.ok()) return nullptr;
        std::vector<std::byte> kept(original->size());
        if (!(*codec)->decode(block->bytes, block->filter_mask, kept).ok()) return nullptr;
        raw += static_cast<double>(kept.size());
        stored += static_cast<double>(block->bytes.size());
        values += static_cast<double>(shape.count());
        squares += seen.dtype == float32 ? squares_of<float>(*original, kept)
                                         : squares_of<double>(*original, kept);
    }
    if (stored == 0) return nullptr;
    return {
        {"ratio", raw / stored},
        {"psnr", number(20.0 * std::log10((range.max - range.min) / std::sqrt(squares / values)))}};
}

json Foresight::tell(std::size_t n) const {
    const Seen& seen = seen_[n];
    json quantities = json::array();
    for (std::size_t c = 0; c < seen.components.size(); ++c) {
        const writer::Component& one = seen.components[c];
        const Range range =
            seen.whole.empty() ? seen.ranges[c] : wholes_.at({seen.whole, one.name});
        const ErrorBound in_units = writer::resolve(one.bound, range);
        json entry = {{"name", one.name},
                      {"min", number(range.min)},
                      {"max", number(range.max)},
                      {"bound_kind", one.as_it_is ? "as it is" : std::string(kind_name(one.bound))},
                      {"bound", one.bound.value},
                      {"in_units", in_units.value},
                      {"ratio", nullptr},
                      {"psnr", nullptr},
                      {"warnings", warnings_for(in_units, range, seen.dtype)}};
        const json sampled = one.as_it_is ? json{{"ratio", 1.0}} : sample(seen, c, in_units, range);
        if (sampled.is_object()) entry.update(sampled);
        quantities.push_back(std::move(entry));
    }
    return quantities;
}

}  // namespace caesura::vol
