// A dataset's codec: how its blocks become stored bytes in an HDF5 filter pipeline, and come back.
//
// Invariants:
//  - A BlockCodec belongs to one dataset of one dump: dtype, chunk shape and bound are fixed, and
//    pipeline() is exactly what the dataset's HDF5 filter pipeline must say.
//  - decode(encode(x)) keeps the bound for every finite value, and keeps NaN and Inf, or encode
//    fell back to a lossless or raw form and said so in the filter mask.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "codec/bound/missing.hpp"
#include "codec/bundle/bundle.hpp"

namespace caesura {

/// A block as it will lie in the file.
struct EncodedBlock {
    std::vector<std::byte> bytes;
    std::uint32_t filter_mask = 0;  ///< bit i set: stage i of the pipeline was skipped
    /// Largest |x - x'| over the finite values; of encode_parts() as a share of the array's own
    /// bound. Of complex numbers that of their parts. NaN when it was not verified, or where it is
    /// known as a share of each value only.
    double max_error = std::numeric_limits<double>::quiet_NaN();
    bool fell_back = false;  ///< the plugin broke the bound or failed, so the block is lossless
    /// TableStatistics::bytes() of what was coded, if SharedTables asked for it and there is any.
    std::vector<std::byte> statistics = {};
};

/// What the blocks of a field share from dump to dump. Tables are of codec "caesura" alone.
struct SharedTables {
    TableSet set;         ///< codes the blocks, and lies in the pipeline's cd_values
    bool gather = false;  ///< fill EncodedBlock::statistics, from which the next set is made
    /// Bits of missing values, of the type of the numbers; lossy filters keep them, too.
    codec::ValueBits missing = {};
};

/// The mode that codec "caesura" is asked for; nullopt: another codec (or a mode that is none).
/// Whoever has a mode uses SharedTables.
std::optional<Mode> caesura_mode(const CodecSpec& spec);

/// Is there a codec of this name? Calls no HDF5; whether its plugin is installed only
/// make_block_codec() finds out. Errors: invalid_argument (none; names the choices), unsupported
/// (a filter that is built into HDF5).
Status validate_codec(const CodecSpec& spec);

class BlockCodec {
  public:
    virtual ~BlockCodec() = default;
    virtual std::span<const FilterSpec> pipeline() const = 0;
    /// For whoever makes the dataset through H5Dcreate, which calls the filters' set_local: what to
    /// give each filter of pipeline() so that its cd_values come out.
    virtual std::vector<std::vector<unsigned>> creation_values() const {
        std::vector<std::vector<unsigned>> values;
        for (const FilterSpec& filter : pipeline()) values.push_back(filter.cd_values);
        return values;
    }
    /// For people: what becomes of blocks for want of a plugin that would make them smaller, and
    /// what to do. Empty: nothing is missing.
    virtual std::string_view lacks() const { return {}; }
    /// May encode/decode run in several threads at once? If not, calls for the same filter wait for
    /// each other on a mutex inside: correct, but no faster in several threads, and a thread at
    /// idle priority may hold the mutex while it is preempted. Use such a codec from one thread
    /// only.
    virtual bool reentrant() const = 0;
    /// Does encode want chunks at the array's edges padded to their full size? If not, it takes the
    /// valid part alone as well.
    virtual bool wants_padding() const { return true; }
    /// Is who stores a block to store the chunk itself where encode() has made nothing smaller of
    /// it, with mask 1? Other codecs see to that in encode().
    virtual bool leaves_raw_to_caller() const { return false; }
    /// @param chunk  the full chunk, dense, C order, padded at the array's edges; or just its valid
    ///               part, dense, where wants_padding() is false.
    /// @param valid  extent of the part that lies inside the array (starting at 0 on each axis).
    /// Makes no HDF5 call that touches a file or id; a plugin that fails may push a message on
    /// HDF5's error stack (a race only where HDF5 is not thread-safe and is in use elsewhere).
    /// Errors: invalid_argument (sizes), no_space (memory).
    virtual Result<EncodedBlock> encode(std::span<const std::byte> chunk,
                                        const Shape& valid) const = 0;
    /// As encode(), but decode() gives back exactly these values, whatever the bound: for a block
    /// that holds values which a bound has been spent on before. The same pipeline reads it.
    virtual Result<EncodedBlock> encode_exactly(std::span<const std::byte> chunk,
                                                const Shape& valid) const = 0;
    /// A block of several arrays, each with its own bound (codec "caesura" alone; the pipeline's
    /// bound says nothing of such blocks).
    /// @param values   of all parts, one after the other, or of the canvas; dense.
    /// @param bundled  as a bundle, which says of each part what it is; else there is one part, and
    ///                 decode() puts it into the corner of a chunk, as that of encode().
    /// @param canvas   the parts are boxes of it: what lies inside the array of a chunk. A bundle.
    /// Errors: also unsupported (another codec).
    virtual Result<EncodedBlock> encode_parts(std::span<const std::byte> values,
                                              std::span<const codec::BundlePart> parts,
                                              bool bundled,
                                              const codec::Canvas* canvas = nullptr) const {
        (void)values, (void)parts, (void)bundled, (void)canvas;
        return Status(StatusCode::unsupported, "this codec has one bound for a whole dataset");
    }
    /// Inverse of all; `chunk` is filled whole. Errors: corrupt, no_space (memory).
    /// Check the stored bytes' checksum first: not every plugin survives malformed input (SZ3 and
    /// ZFP read past the end, SZ3 may end the process), and nothing here can prevent that.
    virtual Status decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                          std::span<std::byte> chunk) const = 0;
};

/// Numbers of the pipeline's filters: ranks whose plugins differ must not write one dataset.
inline std::string filters_of(const BlockCodec& codec) {
    std::string numbers;
    for (const FilterSpec& filter : codec.pipeline()) numbers += std::to_string(filter.id) + ",";
    return numbers;
}

/// What make_block_codec() is given: for another process to make the same codec.
struct CodecRecipe {
    CodecSpec spec;
    DType dtype = float32;
    Shape chunk;
    ErrorBound bound;
    SharedTables tables;
};

/// The filter of codec "caesura" for a dataset that is made before the range of its values is
/// known, to which its bound is relative: it says what is asked for, and every frame the bound it
/// keeps. Errors: invalid_argument (another codec, the bound), as make_block_codec().
Result<FilterSpec> filter_before_range(const CodecSpec& spec, DType dtype, const Shape& chunk,
                                       const ErrorBound& bound, const TableSet& tables);

/// The set that the blocks of a dataset with this pipeline are coded with; nullopt: another codec's
/// pipeline, or the built-in set.
std::optional<TableSet> tables_in(std::span<const FilterSpec> pipeline);

/// Make the codec of one dataset. Calls HDF5 (property lists, plugin search) and keeps plugins
/// loaded for the life of the process: only from the thread that owns HDF5. Cost: about 0.1 ms; the
/// first codec of a kind also loads its plugin (milliseconds).
/// "caesura" and "none" need neither HDF5 nor a plugin.
/// @param bound   absolute or lossless, for "caesura" also pointwise_relative; those that need the
///                value range of the whole field must have been resolved.
/// @param tables  copied; see SharedTables.
/// Errors: invalid_argument (bound not finite or <= 0, of a kind the codec cannot keep; bound given
/// to a filter we cannot map and no cd_values), unsupported (plugin not found: the message says
/// where it was looked for and what to install).
Result<std::unique_ptr<BlockCodec>> make_block_codec(const CodecSpec& spec, DType dtype,
                                                     const Shape& chunk, const ErrorBound& bound,
                                                     const SharedTables& tables = {});
inline Result<std::unique_ptr<BlockCodec>> make_block_codec(const CodecRecipe& recipe) {
    return make_block_codec(recipe.spec, recipe.dtype, recipe.chunk, recipe.bound, recipe.tables);
}

/// Is it an application's pipeline with a filter of a plugin, whose parameters are taken as they
/// are?
bool has_plugins_parameters(const CodecSpec& spec);

}  // namespace caesura
