// The fields of a Writer, and what is remembered of each from dump to dump.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "caesura/writer.hpp"
#include "hdf5/block_codec.hpp"
#include "writer/composition.hpp"
#include "writer/experience.hpp"
#include "writer/fill_value.hpp"
#include "writer/layout.hpp"
#include "writer/value_order.hpp"

namespace caesura::writer {

struct FieldState {
    FieldState(std::string field_name, DType type, const Shape& extents, const ErrorBound& asked,
               CodecSpec codec_spec, FieldOptions field_options, FieldModels& models)
        : name(std::move(field_name)),
          dtype(type),
          shape(extents),
          bound(asked),
          codec(std::move(codec_spec)),
          options(std::move(field_options)),
          sizes(models.sizes),
          times(models.times),
          newest_tables(models.tables),
          tables(models.tables),
          missing(declared_missing(options, dtype)),
          agreed_missing(missing) {}

    std::string name;
    DType dtype = float32;
    Shape shape;
    ErrorBound bound;
    CodecSpec codec;
    FieldOptions options;
    predict::SizeModel& sizes;  ///< of the Experience, as `times` and `newest_tables`
    predict::CompressModel& times;
    /// A record's component; its shape is that of the last dump.
    struct OfSpecies {
        std::uint32_t species = 0;
        RecordOptions options;
        bool is_put = false;    ///< by some rank, in the dump that is being made
        bool is_index = false;  ///< SpeciesOptions::keep_index: nobody puts it
    };
    std::optional<OfSpecies> particles;
    std::optional<Layout> layout;  ///< of the last dump it was in
    bool in_last_dump = false;
    // Codec "caesura" only; see tables.cpp.
    TableSet& newest_tables;  ///< agreed: the same on all ranks
    TableSet tables;          ///< what blocks are coded with: these, or those of the dataset
    /// Bits of the missing values that this rank knows: those that all ranks know, and what was
    /// declared here since.
    codec::ValueBits missing;
    codec::ValueBits agreed_missing;  ///< declared, or suspects of any rank: the same on all
    /// What has been said, once, of a range that few values stretch. The same on all ranks.
    std::string stretched;
    TableStatistics counted;  ///< of blocks finished here and not yet sent; on rank 0 of all ranks

    /// Of an application's file.
    struct Dataset {
        Shape chunk;
        bool extendable = false;
        std::array<std::byte, 8> fill{};
        std::vector<FilterSpec> pipeline = {};                    ///< as the dataset was created
        std::vector<std::vector<unsigned>> creation_values = {};  ///< BlockCodec's
        std::shared_ptr<const BlockCodec> codec = {};
        ErrorBound codec_bound = {};
        codec::ValueBits codec_missing = {};
        /// Of several quantities or arrays; else null.
        std::shared_ptr<const Composition> composition = {};
        /// By component, of one quantity one: the loosest bound of any dump so far, resolved; 0:
        /// exact. Infinite: blocks were there before that do not say it.
        std::vector<double> loosest = {};
        std::uint64_t chunk_bytes = 0;  ///< DatasetDefinition::chunk_bytes
        bool for_fields = false;        ///< DatasetDefinition::for_fields
        bool told_exact = false;        ///< OpenWriter::keep_exact, on this rank
        KeptExact kept_exact = KeptExact::no;
        std::uint64_t dumps_end = 0;  ///< it is in no dump of this number or above
        /// Rank 0: stored bytes by chunk, for what is superseded.
        std::unordered_map<std::uint64_t, std::uint64_t> stored_bytes = {};
    };
    std::optional<Dataset> dataset;

    /// Null: one array of one quantity.
    const Composition* composition() const {
        return dataset ? dataset->composition.get() : nullptr;
    }
    /// Of a species without particles in the dump that is being made.
    bool is_put_empty() const { return particles && particles->is_put && shape[0] == 0; }
    /// May its values say that it is coordinates?
    bool may_be_axis() const {
        return dataset && dataset->for_fields && shape.rank() == 1 && composition() == nullptr;
    }
    bool is_kept_exact() const { return dataset && dataset->kept_exact != KeptExact::no; }
    bool has_bound_map() const { return options.bound_map.rules() > 0; }
    bool is_partial() const { return options.coverage == Coverage::partial; }
    /// Of a field that is partial: FieldOptions::fill_value as it lies in memory.
    std::array<std::byte, 8> fill() const {
        return *fill_of(options.fill_value, dtype);  // checked by define_field()
    }
    /// How many ranges of values its bounds depend on: of each component, of the field, or none.
    std::size_t ranges() const;
    /// By the values of a box. @param ranges  as many as ranges(). @param seen  what is found on
    /// the way.
    void widen(const Box& box, const std::byte* values, std::span<Composition::Range> ranges,
               Seen& seen) const;
    /// Bits of the missing values may be compared with those of its numbers, which are rounded.
    void say_missing(const codec::ValueBits& declared);
    bool masks() const { return codec::may_have_missing(number_type(dtype)); }
};

/// A species, and what all its particles have alike.
struct SpeciesState {
    struct Constant {
        std::string name;
        double value = 0.0;
        RecordOptions options;
    };
    std::string name;
    SpeciesOptions options;
    std::vector<Constant> constants = {};
};

/// All fields, in the order of their definition.
class Fields {
  public:
    std::vector<SpeciesState> species;
    /// Is a field, or its record, named as a species?
    bool has_species(const std::string& field) const {
        const std::string first = field.substr(0, field.find('/'));
        return std::any_of(species.begin(), species.end(),
                           [&](const SpeciesState& one) { return one.name == first; });
    }
    /// A record of fields or a scalar field of that name?
    bool has_record(const std::string& name) const {
        return std::any_of(all_.begin(), all_.end(), [&](const FieldState& one) {
            return !one.particles && one.name.substr(0, one.name.find('/')) == name;
        });
    }
    FieldState& operator[](std::size_t field) { return all_[field]; }
    const FieldState& operator[](std::size_t field) const { return all_[field]; }
    std::size_t size() const { return all_.size(); }
    auto begin() { return all_.begin(); }
    auto end() { return all_.end(); }
    auto begin() const { return all_.begin(); }
    auto end() const { return all_.end(); }
    bool has(const std::string& name) const { return names_.contains(name); }
    /// @param definition  what must be the same on all ranks.
    Field add(FieldState field, const std::string& definition) {
        names_.insert(field.name);
        all_.push_back(std::move(field));
        note(definition);
        return Field{static_cast<std::uint32_t>(all_.size() - 1)};
    }
    /// What must be the same on all ranks comes to one number.
    void note(const std::string& definition) {
        hash_ = hash_ * 1099511628211u + std::hash<std::string>{}(definition);
    }
    std::uint64_t hash() const { return hash_; }
    /// Of what all datasets of a whole have been given so far (Composition::arrays), by component.
    Composition::Range& range_of(const std::string& whole, const std::string& component) {
        return wholes_[{whole, component}];
    }

  private:
    std::map<std::pair<std::string, std::string>, Composition::Range> wholes_;
    std::vector<FieldState> all_;
    std::unordered_set<std::string> names_;
    std::uint64_t hash_ = 0;
};

/// The content that blocks keep where nothing was put.
///
/// @param part    of the dataset: the chunk `chunk` (row-major number), as far as it lies inside
///                the dims.
/// @param values  to be filled with its values of before, dense, C order.
/// @return  false: there was nothing, the fill value is right. Errors cost the dump.
/// Called inside end() on the application's thread, by the rank that has the chunk, after all
/// earlier dumps with the dataset have been given to the tree and lie in the file.
using Background = std::function<Result<bool>(Field field, std::uint64_t chunk, const Box& part,
                                              std::span<std::byte> values)>;

inline std::size_t FieldState::ranges() const {
    const Composition* const parts = composition();
    if (parts == nullptr) return needs_range(bound) ? 1 : 0;
    const auto& all = parts->components();
    const bool any = std::any_of(all.begin(), all.end(),
                                 [](const Component& one) { return needs_range(one.bound); });
    return any ? all.size() : 0;
}

inline void FieldState::widen(const Box& box, const std::byte* values,
                              std::span<Composition::Range> ranges, Seen& seen) const {
    if (const Composition* const parts = composition(); parts != nullptr)
        return parts->widen(box, values, dtype, missing, ranges);
    seen.unite(
        widen_without({values, static_cast<std::size_t>(box.extent.count()) * size_of(dtype)},
                      dtype, missing, ranges[0]));
}

/// What is fixed when an application's dataset is created: its pipeline. Local. Errors: unsupported
/// (the codec must know a bound that only the values will say; foreign.cpp).
Status fix_pipeline(FieldState& field);

/// Can a field with this bound and codec have the map? Errors: invalid_argument (the map, the
/// bound), unsupported (the codec); they name the field.
Status check_bound_map(const std::string& field, const Shape& shape, const ErrorBound& bound,
                       const CodecSpec& codec, const BoundMap& map);

/// What a dataset's filter says, so that a program that rewrites chunks breaks no promise: its own
/// bound, or with a map the tightest that a value can have. Lossless where nobody knows it, as the
/// own bound is one of a range to come.
ErrorBound tightest_bound(const BoundMap& map, const ErrorBound& own);

/// Does this rank count what its blocks are made of? So do at most 64, evenly spaced; rank 0
/// always.
constexpr bool counts_tables(int rank, int size) {
    constexpr std::int64_t k_ranks = 64;
    return rank == 0 || size <= k_ranks || rank * k_ranks / size != (rank - 1) * k_ranks / size;
}

}  // namespace caesura::writer
