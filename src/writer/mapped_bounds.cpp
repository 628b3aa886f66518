// Blocks of several arrays that are not an application's: layers with the bounds of a map, and what
// boxes cover of a chunk that they leave open in parts.
#include <fmt/format.h>

#include <algorithm>

#include "codec/bound/bound_map.hpp"
#include "run/encode.hpp"
#include "writer/assembly.hpp"
#include "writer/partial_layout.hpp"

namespace caesura::writer {
namespace {

ErrorBound as_bound(double bound) { return bound > 0.0 ? absolute(bound) : lossless(); }

/// The values of a block, where they lie dense and whole, or copied into `copy`.
const std::byte* values_of(const run::Job& job, std::vector<std::byte>& copy) {
    if (const std::byte* dense = run::values_in_place(job)) return dense;
    copy.resize(job.valid_bytes());
    run::gather_values(job, copy.data());
    return copy.data();
}

/// The layers of a part of a block. @param values  of the block, or null.
std::vector<codec::BoundLayer> layers_of(const BoundMap& map, double bound, const Box& block,
                                         const Box& part, const std::byte* values, DType dtype) {
    if (values == nullptr) return codec::bound_layers(map, bound, part, nullptr, dtype);
    std::vector<std::byte> own(part.extent.count() * size_of(dtype));
    copy_box(part, block, values, part, own.data(), size_of(dtype));
    return codec::bound_layers(map, bound, part, own.data(), dtype);
}

}  // namespace

Status check_bound_map(const std::string& field, const Shape& shape, const ErrorBound& bound,
                       const CodecSpec& codec, const BoundMap& map) {
    if (map.rules() == 0) return {};
    const auto wrong = [&](StatusCode code, std::string_view what) {
        return Status(code, fmt::format("field '{}': {}", field, what));
    };
    if (!caesura_mode(codec))
        return wrong(StatusCode::unsupported,
                     fmt::format("codec \"{}\" has one bound for all values; a bound map needs "
                                 "codec \"caesura\"",
                                 codec.name));
    if (bound.kind == ErrorBound::Kind::pointwise_relative || bound.kind == ErrorBound::Kind::psnr)
        return wrong(StatusCode::invalid_argument,
                     "beside a bound map the field's own bound must be absolute, relative or "
                     "lossless");
    return validate(map, shape).with_context(fmt::format("field '{}'", field));
}

ErrorBound tightest_bound(const BoundMap& map, const ErrorBound& own) {
    if (map.rules() == 0) return own;
    if (needs_range(own)) return lossless();
    return as_bound(codec::tightest_bound(map, own.value));
}

// Whoever writes into the dataset by its filter later keeps what the map asks anywhere.
ErrorBound Assembly::codec_bound(const FieldDump& dumped) const {
    return tightest_bound(parts_.fields[dumped.field].options.bound_map, dumped.bound);
}

// Layers are arrays of their own where they differ. A block at the field's edge is one array: the
// filter finds a bundle's arrays one after the other in a whole chunk.
void Assembly::hold_to_map(const FieldDump& dumped, run::Job& job) const {
    const BoundMap& map = parts_.fields[dumped.field].options.bound_map;
    const Box box{job.chunk_box.offset, job.valid};
    std::vector<std::byte> copy;
    const std::byte* const values =
        codec::looks_at_values(map) && !job.exactly ? values_of(job, copy) : nullptr;
    auto layers = codec::bound_layers(map, dumped.bound.value, box, values, job.dtype);
    if (job.exactly) layers = {{job.valid[0], 0.0}};
    if (layers.size() > 1 && job.valid != job.chunk_box.extent) {
        const auto tightest =
            std::min_element(layers.begin(), layers.end(),
                             [](const auto& a, const auto& b) { return a.bound < b.bound; });
        layers = {{job.valid[0], tightest->bound}};
    }
    job.bundled = layers.size() > 1;
    job.absolute_bound = 1.0;  // errors come as shares of each layer's own
    for (const codec::BoundLayer& layer : layers) {
        codec::BundlePart& part = job.parts.emplace_back();
        part.shape = job.valid;
        part.shape[0] = layer.planes;
        part.bound = as_bound(layer.bound);
    }
}

// Of a field that is covered in parts: what is put, as boxes. Between them is the fill value, and
// no bound changes it. Codecs that know one bound for a whole chunk compress all of it. A chunk
// that is covered whole is one array, named as such: a service, which knows the field's shape
// alone, then does not wait for values that nobody puts.
void Assembly::leave_open(const FieldDump& dumped, bool covered, run::Job& job) const {
    const FieldState& field = parts_.fields[dumped.field];
    if (!covered) job.fill = field.fill();
    if (!caesura_mode(field.codec)) return;
    if (covered) {
        job.absolute_bound = 1.0;
        job.parts = {{job.valid, dumped.bound}};
        return;
    }
    std::vector<Box> boxes;
    for (const run::PutPart& piece : job.pieces) boxes.push_back(piece.part);
    std::vector<std::byte> copy;
    const std::byte* values = nullptr;
    const Box block{job.chunk_box.offset, job.valid};
    const BoundMap& map = field.options.bound_map;
    if (field.has_bound_map() && codec::looks_at_values(map)) values = values_of(job, copy);
    job.bundled = true;
    job.absolute_bound = 1.0;  // errors come as shares of each box's own
    for (const Box& box : joined(std::move(boxes))) {
        Box layer = box;
        const auto layers = field.has_bound_map()
                                ? layers_of(map, dumped.bound.value, block, box, values, job.dtype)
                                : std::vector<codec::BoundLayer>{{box.extent[0], 0.0}};
        for (const codec::BoundLayer& one : layers) {
            codec::BundlePart& part = job.parts.emplace_back();
            layer.extent[0] = one.planes;
            part.shape = layer.extent;
            part.offset = layer.offset;
            for (int axis = 0; axis < part.offset.rank(); ++axis)
                part.offset[axis] -= block.offset[axis];
            part.bound = field.has_bound_map() ? as_bound(one.bound) : dumped.bound;
            layer.offset[0] += one.planes;
        }
    }
}

// One layer of each bound is looked at, as far as the piece has it; it says of all others with it.
predict::Features Assembly::estimate_layers(const run::Job& job, const run::PutPart& piece,
                                            Mode mode, const TableSet& tables) const {
    struct SeenLayer {
        double bound = 0.0, bits = 0.0;
    };
    std::vector<SeenLayer> seen;
    predict::Features features;
    double bits = 0.0, values = 0.0;
    bool exact = false;
    Box layer{job.chunk_box.offset, job.valid};
    for (const codec::BundlePart& part : job.parts) {
        layer.extent[0] = part.shape[0];
        const auto n = static_cast<double>(part.shape.count());
        auto found = std::find_if(seen.begin(), seen.end(), [&](const SeenLayer& one) {
            return one.bound == part.bound.value;
        });
        if (const auto box = intersect(layer, piece.part); found == seen.end() && box) {
            features = predict::estimate_block(piece.source, job.dtype, piece.source_box, *box,
                                               part.bound, mode, tables);
            exact |= features.exact;
            found = seen.insert(seen.end(), {part.bound.value, features.bits_per_value});
        }
        layer.offset[0] += part.shape[0];
        if (found == seen.end()) continue;
        bits += n * found->bits;
        values += n;
    }
    features.estimated = true;
    features.exact = exact;
    features.bits_per_value = features.smooth_bits_per_value = bits / std::max(1.0, values);
    return features;
}

}  // namespace caesura::writer
