#include "vol/foresee.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/short_float.hpp"
#include "codec/bound/bound_map.hpp"
#include "vol/block_dataset.hpp"
#include "vol/library_state.hpp"
#include "vol/members.hpp"
#include "vol/missing.hpp"
#include "vol/object.hpp"
#include "writer/fill_value.hpp"
#include "writer/open_writer.hpp"

namespace caesura::vol {
namespace {

using nlohmann::json;
using store::Handle;
using Range = writer::Composition::Range;

constexpr std::uint64_t k_slab_bytes = 16u << 20;
/// Of a quantity: so many arrays, and more where they are small.
constexpr std::uint64_t k_least_samples = 8, k_most_samples = 64, k_sample_bytes = 1u << 20;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

std::uint64_t product_of(const std::vector<hsize_t>& extents) {
    return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

/// Slices along an axis, of at most k_slab_bytes if one index has no more.
std::uint64_t slice_of(std::uint64_t length, std::uint64_t bytes) {
    const std::uint64_t pieces = ceil_div(bytes, k_slab_bytes);
    return std::max<std::uint64_t>(1, length / std::max<std::uint64_t>(1, pieces));
}

/// Whole chunks, as many as make k_slab_bytes, along the last axes first: so they lie together.
std::vector<hsize_t> slab_of(const std::vector<hsize_t>& dims, const std::vector<hsize_t>& chunk,
                             std::uint64_t value_bytes) {
    std::vector<hsize_t> slab(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) slab[i] = std::min(chunk[i], dims[i]);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
        const std::uint64_t room = k_slab_bytes / (product_of(slab) * value_bytes);
        const std::uint64_t useful = ceil_div(dims[axis], slab[axis]);
        slab[axis] = std::min(dims[axis], slab[axis] * std::clamp<std::uint64_t>(room, 1, useful));
        if (slab[axis] < dims[axis]) break;
    }
    return slab;
}

/// To the next slab, C order. @return  false: there is none.
bool advance(std::vector<hsize_t>& offset, const std::vector<hsize_t>& slab,
             const std::vector<hsize_t>& dims) {
    for (std::size_t axis = dims.size(); axis-- > 0;) {
        offset[axis] += slab[axis];
        if (offset[axis] < dims[axis]) return true;
        offset[axis] = 0;
    }
    return false;
}

Range widened(const Range& a, const Range& b) {
    return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

/// JSON has no infinity.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

template <class T>
double as_double(T value) {
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<double>(value);
    else
        return static_cast<double>(base::to_float(value));
}

/// Of what differs, finite values alone.
template <class T>
double squares_of(std::span<const std::byte> a, std::span<const std::byte> b) {
    double sum = 0;
    for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
        T x, y;
        std::memcpy(&x, &a[at], sizeof(T));
        std::memcpy(&y, &b[at], sizeof(T));
        const double error = as_double(x) - as_double(y);
        if (std::isfinite(error)) sum += error * error;
    }
    return sum;
}
double squares_of(DType dtype, std::span<const std::byte> a, std::span<const std::byte> b) {
    if (is_short_float(dtype))
        return base::for_short_float(dtype,
                                     [&]<class Short>(Short) { return squares_of<Short>(a, b); });
    return dtype == float32 ? squares_of<float>(a, b) : squares_of<double>(a, b);
}

/// Between 1 and the next larger value.
double epsilon_of(DType dtype) {
    if (is_short_float(dtype)) return std::ldexp(1.0, -base::format_of(dtype).mantissa_bits);
    return dtype == float32 ? std::numeric_limits<float>::epsilon()
                            : std::numeric_limits<double>::epsilon();
}

json warnings_for(const ErrorBound& in_units, const Range& range, DType dtype) {
    json warnings = json::array();
    const bool pointwise = in_units.kind == ErrorBound::Kind::pointwise_relative;
    if (!pointwise && in_units.kind != ErrorBound::Kind::absolute) return warnings;
    const double spread = range.max - range.min;
    if (!(spread >= 0.0)) return warnings;  // no finite value
    const double largest = std::max(std::fabs(range.min), std::fabs(range.max));
    const double epsilon = epsilon_of(dtype);
    const double bound = pointwise ? in_units.value * largest : in_units.value;
    if (bound > 0.01 * spread)
        warnings.push_back(fmt::format("the bound{} is {:.3g} % of the range",
                                       pointwise ? " of the largest value" : "",
                                       spread > 0 ? 100.0 * bound / spread : 100.0));
    // Values lie half an epsilon of theirs apart, or up to a whole one.
    if (pointwise ? in_units.value < epsilon : bound < 0.5 * largest * epsilon)
        warnings.push_back(fmt::format(
            "the bound lies below the precision of the values, {:.2g}{}: they are stored exactly, "
            "or nearly so",
            pointwise ? epsilon : largest * epsilon, pointwise ? " of each" : ""));
    return warnings;
}

}  // namespace

void Foresight::say(const char* doing) const {
    if (watch_) watch_(doing, done_bytes_, all_bytes_);
}

Foresight::Extents Foresight::extents_of(hid_t dataset, const DatasetFacts& facts) {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    Extents extents{std::vector<hsize_t>(static_cast<std::size_t>(facts.rank)),
                    std::vector<hsize_t>(static_cast<std::size_t>(facts.rank), 1)};
    H5Sget_simple_extent_dims(space.get(), extents.dims.data(), nullptr);
    if (facts.layout == H5D_CHUNKED) H5Pget_chunk(creation.get(), facts.rank, extents.chunk.data());
    return extents;
}

// What is sampled of a component: pieces of at most k_slab_bytes, spread over all of it.
std::vector<Foresight::Piece> Foresight::pieces_of(const writer::Composition* parts,
                                                   const std::vector<hsize_t>& dims,
                                                   std::size_t value_bytes, std::size_t component) {
    std::vector<Piece> pieces;
    if (parts != nullptr && parts->axis() < 0) {
        const std::uint64_t boxes = parts->boxes().size();
        const std::uint64_t bytes =
            parts->count() * value_bytes /
            (boxes * static_cast<std::uint64_t>(parts->components().size()));
        const std::uint64_t wanted = std::clamp(k_sample_bytes / std::max<std::uint64_t>(1, bytes),
                                                k_least_samples, k_most_samples);
        const std::uint64_t taken = std::min(boxes, wanted);
        for (std::uint64_t i = 0; i < taken; ++i) {
            const auto array = parts->array_of(i * boxes / taken, component);
            const hsize_t rows = array.shape[0], inner = array.shape.count() / rows;
            const hsize_t step = slice_of(rows, array.shape.count() * value_bytes);
            const hsize_t slices = ceil_div(rows, step);
            const hsize_t own = std::min<hsize_t>(slices, std::max<hsize_t>(1, wanted / taken));
            for (hsize_t j = 0; j < own; ++j) {
                const hsize_t row = j * slices / own * step, n = std::min(step, rows - row);
                Piece piece{{{array.begin + row * inner}, {n * inner}}, array.shape};
                piece.shape[0] = n;
                pieces.push_back(std::move(piece));
            }
        }
        return pieces;
    }
    // Along an axis: one index of it, and slices of the first other axis.
    std::vector<hsize_t> extent = dims;
    const int axis = parts == nullptr ? -1 : parts->axis_in_file();
    if (axis >= 0) extent[static_cast<std::size_t>(axis)] = 1;
    const std::size_t cut = axis == 0 && dims.size() > 1 ? 1 : 0;
    const hsize_t step = slice_of(dims[cut], product_of(extent) * value_bytes);
    const hsize_t slices = ceil_div(dims[cut], step), taken = std::min(slices, k_least_samples);
    for (hsize_t i = 0; i < taken; ++i) {
        Piece piece{{std::vector<hsize_t>(dims.size(), 0), extent}, {}};
        piece.slab.offset[cut] = i * slices / taken * step;
        piece.slab.extent[cut] = std::min(step, dims[cut] - piece.slab.offset[cut]);
        if (axis >= 0) piece.slab.offset[static_cast<std::size_t>(axis)] = component;
        std::vector<std::uint64_t> shape;
        for (const hsize_t length : piece.slab.extent)
            if (length > 1) shape.push_back(length);
        if (shape.empty()) shape.push_back(1);
        while (shape.size() > static_cast<std::size_t>(k_max_rank)) {
            shape[1] *= shape[0];
            shape.erase(shape.begin());
        }
        piece.shape = Shape(shape);
        pieces.push_back(std::move(piece));
    }
    return pieces;
}

// Dense, C order; of a compound type the members that are named, one after the other.
Status Foresight::read(hid_t dataset, const Element& element, const Slab& slab,
                       std::vector<std::byte>& values) {
    const hsize_t count = product_of(slab.extent);
    values.resize(count * element.bytes());
    const Handle space(H5Dget_space(dataset), H5Sclose);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, slab.offset.data(), nullptr,
                        slab.extent.data(), nullptr);
    const Handle dense(H5Screate_simple(1, &count, nullptr), H5Sclose);
    const Handle type = element.words > 0 ? Handle(H5Dget_type(dataset), H5Tclose)
                                          : type_of(element.dtype, element.members);
    if (H5Dread(dataset, type.get(), dense.get(), space.get(), H5P_DEFAULT, values.data()) < 0)
        return store::hdf5_error(StatusCode::io, "reading values");
    return {};
}

// Of one of them.
Status Foresight::read_component(hid_t dataset, const Element& element, std::size_t component,
                                 const Slab& slab, std::vector<std::byte>& values) {
    if (element.words == 0) {
        Element one{element.dtype};
        if (element.has_axis()) one.members.push_back(element.members[component]);
        return read(dataset, one, slab, values);
    }
    std::vector<std::byte> all;
    if (Status status = read(dataset, element, slab, all); !status.ok()) return status;
    const std::size_t bytes = size_of(element.dtype), step = element.bytes();
    values.resize(all.size() / element.words);
    for (std::size_t i = 0; i * bytes < values.size(); ++i)
        std::memcpy(&values[i * bytes], &all[i * step + component * bytes], bytes);
    return {};
}

/// As the connector knows them when the file is made.
codec::ValueBits Foresight::declared_in(hid_t dataset, const DatasetFacts& facts) const {
    const LibraryState state;
    const store::QuietErrors quiet;
    const KeepErrors keep;
    FieldOptions said;
    said.missing = settings_of(config_, facts.path).missing;
    const auto by_attributes = missing_said_of({H5VLobject(dataset), H5I_DATASET});
    said.missing.insert(said.missing.end(), by_attributes.begin(), by_attributes.end());
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    double fill = 0;
    if (H5Pfill_value_defined(creation.get(), &defined) >= 0 &&
        defined == H5D_FILL_VALUE_USER_DEFINED &&
        H5Pget_fill_value(creation.get(), H5T_NATIVE_DOUBLE, &fill) >= 0 && fill != 0)
        said.missing.emplace_back(fill);
    return writer::declared_missing(said, facts.element->dtype);
}

Status Foresight::find_ranges(hid_t dataset, const Extents& extents, std::span<const int> axes,
                              const writer::Composition* parts, Seen& seen) {
    const std::uint64_t done_bytes = done_bytes_;
    Status status = look_through(dataset, extents, axes, parts, seen);
    if (!status.ok() || !codec::unite(seen.missing, seen.looks.suspects)) return status;
    // A suspect of one slab may lie alone in another, which has taken it for a value.
    if (seen.missing.size() > codec::k_most_missing) seen.missing.resize(codec::k_most_missing);
    seen.ranges.assign(seen.ranges.size(), {});
    seen.looks = {};
    seen.may_be_axis = false;  // it repeats
    done_bytes_ = done_bytes;
    return look_through(dataset, extents, axes, parts, seen);
}

Status Foresight::look_through(hid_t dataset, const Extents& extents, std::span<const int> axes,
                               const writer::Composition* parts, Seen& seen) {
    const std::size_t numbers = seen.element.numbers();
    const auto box_of = [&](const Slab& slab) {
        Box box{Shape::filled(static_cast<int>(axes.size()), 0),
                Shape::filled(static_cast<int>(axes.size()), 1)};
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const std::size_t first = i == 0 ? 0 : static_cast<std::size_t>(axes[i]);
            const std::size_t end =
                i + 1 < axes.size() ? static_cast<std::size_t>(axes[i + 1]) : slab.extent.size();
            // Nobody asks where a slab of joined axes begins.
            box.offset[static_cast<int>(i)] = slab.offset[static_cast<std::size_t>(axes[i])];
            for (std::size_t axis = first; axis < end; ++axis)
                box.extent[static_cast<int>(i)] *= slab.extent[axis];
        }
        if (!seen.element.has_axis()) return box;
        return Box{with_axis(box.offset, 0), with_axis(box.extent, numbers)};
    };
    const std::vector<hsize_t>& dims = extents.dims;
    if (product_of(dims) == 0) return {};
    const auto most = slab_of(dims, extents.chunk, seen.element.bytes());
    Slab slab{std::vector<hsize_t>(dims.size(), 0), most};
    std::vector<std::byte> values;
    do {
        for (std::size_t i = 0; i < dims.size(); ++i)
            slab.extent[i] = std::min(most[i], dims[i] - slab.offset[i]);
        if (Status status = read(dataset, seen.element, slab, values); !status.ok()) return status;
        if (parts != nullptr)
            parts->widen(box_of(slab), values.data(), seen.dtype(), seen.missing, seen.ranges);
        else
            seen.looks.unite(
                writer::widen_without(values, seen.dtype(), seen.missing, seen.ranges.front()));
        if (seen.may_be_axis)
            seen.order.add(values.data(), values.size() / size_of(seen.dtype()), seen.dtype());
        done_bytes_ += values.size();
        say("reading");
    } while (advance(slab.offset, most, dims));
    return {};
}

std::string Foresight::coordinates_because(hid_t dataset, const std::string& path) const {
    const LibraryState state;
    const store::QuietErrors quiet;
    const KeepErrors keep;
    return coordinate_by_attributes({H5VLobject(dataset), H5I_DATASET}, path, named_);
}

void Foresight::keep_exact(Seen& seen, std::string why) {
    seen.exact_because = std::move(why);
    seen.bound_map = {};
    seen.by_part = false;
    for (writer::Component& one : seen.components) one.bound = lossless();
}

Result<std::size_t> Foresight::look(hid_t dataset, const DatasetFacts& facts) {
    const Extents extents = extents_of(dataset, facts);
    const std::vector<hsize_t>& dims = extents.dims;
    // As if nothing grew: what it has now is looked at.
    const std::span sizes(reinterpret_cast<const std::uint64_t*>(dims.data()), dims.size());
    const auto axes = writer::fold_axes(sizes, sizes, most_axes(*facts.element));
    if (!axes.ok()) return axes.status();
    const auto self = Communicator::self();
    // From the dataset on, by its path: what lies beside it is found.
    H5VL_loc_params_t location{};
    location.type = H5VL_OBJECT_BY_SELF;
    location.obj_type = H5I_DATASET;
    const Asked asked{{H5VLobject(dataset), H5I_DATASET}, &location, config_, *self};
    const auto quantities = [&] {
        const LibraryState state;
        return quantities_of(asked, facts.path.c_str(), facts, dims);
    }();
    if (!quantities.ok()) return quantities.status();
    const auto composed = compose(config_, facts, *quantities, *axes, !facts.extendible);
    if (!composed.ok()) return composed.status();
    Seen seen;
    seen.path = facts.path;
    seen.element = *facts.element;
    seen.codec = settings_of(config_, facts.path).codec;
    const writer::Composition* const parts = composed->composition.get();
    seen.components = parts == nullptr
                          ? std::vector<writer::Component>{{"", composed->bound, false}}
                          : parts->components();
    seen.bound_map = composed->bound_map;
    if (parts != nullptr) seen.whole = parts->whole();
    seen.ranges.resize(seen.components.size());
    seen.by_part = composed->by_part;
    seen.exact_because = composed->exact_because;
    seen.missing = declared_in(dataset, facts);
    if (composed->for_fields) {
        if (std::string why = coordinates_because(dataset, facts.path); !why.empty())
            keep_exact(seen, "it looks like coordinates: " + why);
        seen.may_be_axis = seen.exact_because.empty() && facts.rank == 1 && parts == nullptr;
    }
    if (Status status = find_ranges(dataset, extents, *axes, parts, seen); !status.ok())
        return status.with_context(facts.path);
    if (seen.may_be_axis && facts.count > 0 && seen.order.holds())
        keep_exact(seen,
                   "it looks like coordinates: its values rise, or fall, from each to the next");
    for (std::size_t c = 0; c < seen.components.size(); ++c) {
        seen.samples.push_back(facts.count == 0 ? std::vector<Piece>{}
                                                : pieces_of(parts, dims, size_of(seen.dtype()), c));
        if (seen.whole.empty()) continue;
        Range& whole = wholes_[{seen.whole, seen.components[c].name}];
        whole = widened(whole, seen.ranges[c]);
    }
    seen_.push_back(std::move(seen));
    return seen_.size() - 1;
}

/// What is compressed with one bound.
struct Foresight::SampledPart {
    Shape shape;
    ErrorBound bound;
};

// With a map, its layers: a bundle of them is as long as they are one by one, but for a few bytes.
std::vector<Foresight::SampledPart> Foresight::parts_of(const Seen& seen, const Piece& piece,
                                                        const ErrorBound& bound,
                                                        std::span<const std::byte> values) {
    if (seen.bound_map.rules() == 0) return {{piece.shape, bound}};
    const std::vector<std::uint64_t> offset(piece.slab.offset.begin(), piece.slab.offset.end());
    const std::vector<std::uint64_t> extent(piece.slab.extent.begin(), piece.slab.extent.end());
    std::vector<SampledPart> parts;
    const auto layers = codec::bound_layers(
        seen.bound_map, bound.value, {Shape(offset), Shape(extent)}, values.data(), seen.dtype());
    for (const codec::BoundLayer& layer : layers) {
        parts.push_back({piece.shape, layer.bound > 0.0 ? absolute(layer.bound) : lossless()});
        // Axes of extent 1 are left out of the shape: then there is one layer.
        if (layers.size() > 1) parts.back().shape[0] = layer.planes;
    }
    return parts;
}

std::uint64_t Foresight::missing_in(std::span<const std::byte> values, const Seen& seen) {
    return codec::find_missing(values, seen.dtype(), seen.missing).missing;
}

json Foresight::sample(const Seen& seen, std::size_t component, const ErrorBound& bound,
                       const Range& range) {
    const Handle dataset(H5Dopen2(file_, seen.path.c_str(), H5P_DEFAULT), H5Dclose);
    double raw = 0, stored = 0, squares = 0, values = 0;
    std::vector<std::byte> original;
    for (const Piece& piece : seen.samples[component]) {
        if (!read_component(dataset.get(), seen.element, component, piece.slab, original).ok())
            return nullptr;
        std::span<const std::byte> left = original;
        for (const SampledPart& part : parts_of(seen, piece, bound, original)) {
            const auto before = left.first(part.shape.count() * size_of(seen.dtype()));
            left = left.subspan(before.size());
            const auto codec = make_block_codec({seen.codec}, seen.dtype(), part.shape, part.bound,
                                                {{}, false, seen.missing});
            if (!codec.ok()) return nullptr;
            const auto block = (*codec)->encode(before, part.shape);
            if (!block.ok()) return nullptr;
            std::vector<std::byte> kept(before.size());
            if (!(*codec)->decode(block->bytes, block->filter_mask, kept).ok()) return nullptr;
            stored += static_cast<double>(std::min(block->bytes.size(), before.size()));
            if (!seen.element.is_exact()) squares += squares_of(seen.dtype(), before, kept);
        }
        raw += static_cast<double>(original.size());
        values += static_cast<double>(piece.shape.count() - missing_in(original, seen));
        done_bytes_ += original.size();
        say("sampling");
    }
    if (stored == 0) return nullptr;
    return {
        {"ratio", raw / stored},
        {"psnr", number(20.0 * std::log10((range.max - range.min) / std::sqrt(squares / values)))}};
}

json Foresight::tell(std::size_t n) {
    if (!sampling_) {
        sampling_ = true;
        done_bytes_ = all_bytes_ = 0;
        for (const Seen& seen : seen_)
            for (std::size_t c = 0; c < seen.components.size(); ++c)
                for (const Piece& piece : seen.samples[c])
                    if (!seen.components[c].as_it_is)
                        all_bytes_ += piece.shape.count() * size_of(seen.dtype());
    }
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
                      {"warnings", warnings_for(in_units, range, seen.dtype())}};
        const std::string stretched =
            writer::stretched_range(one.bound, in_units, range, seen.looks.bulk);
        if (!stretched.empty()) entry["warnings"].push_back(stretched);
        for (const std::uint64_t bits : seen.missing)
            entry["missing"].push_back(number(std::get<double>(
                writer::value_of(codec::values_of({bits}, seen.dtype()), seen.dtype()))));
        if (seen.bound_map.rules() > 0)
            entry["bound_map"] = json::parse(codec::to_json(seen.bound_map, in_units.value));
        const json sampled = one.as_it_is ? json{{"ratio", 1.0}} : sample(seen, c, in_units, range);
        if (sampled.is_object()) entry.update(sampled);
        quantities.push_back(std::move(entry));
    }
    return quantities;
}

}  // namespace caesura::vol
