// AMReX: levels of FABs and containers of particles, as AMReX has them, into a Writer.
//
//     caesura::AmrexMeshes meshes(**writer, {.bounds = {{"Temp", caesura::absolute(0.5)}}});
//     auto dump = iteration.begin_dump(time, dt);
//     (void)meshes.put(dump, amrex::GetVecOfConstPtrs(state), {"rho", "Temp"}, geom, ref_ratio);
//
// layout     A component of level 0 is the mesh "rho", of level 1 "rho_lvl1"; of the name
//            "velocity/x" it is "velocity_lvl1/x". A mesh has the shape of its level's domain, the
//            slowest axis (z) first, and values where the level has boxes; elsewhere readers find
//            NaN, of integers 0. Spacing, offset and centring are Geometry's and the BoxArray's.
// copies     A FAB's component is dense in AMReX. Without ghost cells it is copied once, or
//            borrowed; with ghost cells its valid part is copied out of it, once.
// nodes      Values on a node that several boxes have are those of the box with the lowest number.
// particles  Every level's valid particles are one species: "position", "id" (id and cpu as AMReX
//            packs them, 64 bits), and a record for each component.
//
// Run with AMReX 24.10 on CPUs. C++20.
#pragma once

#include <AMReX_MultiFab.H>
#if __has_include(<AMReX_Particle.H>)
#include <AMReX_Particle.H>
#define CAESURA_AMREX_PARTICLES
#endif

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "caesura/writer.hpp"

namespace caesura {

struct AmrexOptions {
    ErrorBound bound = lossless();  ///< of what `bounds` does not name; integers are lossless
    /// By component or record, of all levels. A relative one is of each level's range.
    std::map<std::string, ErrorBound> bounds = {};
    std::optional<CodecSpec> codec = {};  ///< none: the Writer's
    /// borrow: FABs without ghost cells are not copied, and must not change until
    /// Writer::released() says so. Particles are always copied.
    Ownership own = Ownership::copy;
    double length_unit_si = 1.0;  ///< of AMReX's coordinates, in m
};

/// "density_lvl2", "velocity_lvl2/x"; of level 0 the name itself.
inline std::string amrex_level_name(const std::string& name, int level) {
    if (level == 0) return name;
    const std::size_t slash = std::min(name.find('/'), name.size());
    return name.substr(0, slash) + "_lvl" + std::to_string(level) + name.substr(slash);
}

namespace detail {

inline constexpr int k_amrex_axes = AMREX_SPACEDIM;
inline const char* const k_amrex_axis_names[] = {"x", "y", "z"};

/// AMReX counts axes from the fastest, a Shape from the slowest one.
inline Shape amrex_shape(const ::amrex::Box& box) {
    Shape shape = Shape::filled(k_amrex_axes, 0);
    for (int d = 0; d < k_amrex_axes; ++d)
        shape[k_amrex_axes - 1 - d] = static_cast<std::uint64_t>(box.length(d));
    return shape;
}
/// Where `box` begins inside of `whole`, which has it.
inline Shape amrex_offset(const ::amrex::Box& box, const ::amrex::Box& whole) {
    Shape offset = Shape::filled(k_amrex_axes, 0);
    for (int d = 0; d < k_amrex_axes; ++d)
        offset[k_amrex_axes - 1 - d] =
            static_cast<std::uint64_t>(box.smallEnd(d) - whole.smallEnd(d));
    return offset;
}
/// What `of(d)` says of each axis, in the order of a Shape.
template <class Of>
auto amrex_axes(const Of& of) {
    std::vector<decltype(of(0))> values;
    for (int d = k_amrex_axes - 1; d >= 0; --d) values.push_back(of(d));
    return values;
}

/// What of box number `index` no box of a lower number has: of cells all of it.
inline std::vector<::amrex::Box> amrex_own_parts(const ::amrex::BoxArray& boxes, int index) {
    std::vector<::amrex::Box> parts{boxes[index]};
    if (boxes.ixType().cellCentered()) return parts;
    for (const auto& [other, common] : boxes.intersections(boxes[index])) {
        if (other >= index) continue;
        std::vector<::amrex::Box> left;
        for (const ::amrex::Box& part : parts)
            for (const ::amrex::Box& piece : ::amrex::boxDiff(part, common)) left.push_back(piece);
        parts = std::move(left);
    }
    return parts;
}

inline ErrorBound amrex_bound(const AmrexOptions& options, const std::string& name, DType dtype) {
    const auto found = options.bounds.find(name);
    if (is_integer(dtype)) return lossless();
    return found == options.bounds.end() ? options.bound : found->second;
}

}  // namespace detail

/// Fields of a Writer for the components of MultiFabs, iMultiFabs and other FabArrays.
class AmrexMeshes {
  public:
    /// The Writer outlives it.
    explicit AmrexMeshes(Writer& writer, AmrexOptions options = {})
        : writer_(&writer), options_(std::move(options)) {}

    /// Hand over what this rank has of each level. The same levels, names and geometries on all
    /// ranks; the same names may have other boxes, and other levels may be there, in each dump.
    ///
    /// @param levels      by level, from 0 on; null: this level is not in the dump.
    /// @param names       [nComp()] of the components.
    /// @param geometries  by level.
    /// @param ratios      by level, to the next one: AmrCore::refRatio(). Needed from level 1 on.
    /// Errors: invalid_argument (lengths of these; a box outside of its level's domain), as
    /// define_field's, reshape's and put's. Collective as define_field is; does not communicate.
    template <class Levels>
    Status put(Dump& dump, const Levels& levels, const std::vector<std::string>& names,
               const std::vector<::amrex::Geometry>& geometries,
               const std::vector<::amrex::IntVect>& ratios = {}) {
        for (std::size_t level = 0; level < static_cast<std::size_t>(levels.size()); ++level) {
            if (!levels[level]) continue;
            if (level >= geometries.size() || level > ratios.size())
                return invalid("level " + std::to_string(level) + ": there are " +
                               std::to_string(geometries.size()) + " geometries and " +
                               std::to_string(ratios.size()) +
                               " refinement ratios; each level needs a geometry, each but the "
                               "last a ratio");
            const Place place{static_cast<int>(level), &geometries[level],
                              level > 0 ? &ratios[level - 1] : nullptr};
            if (Status status = put_level(dump, *levels[level], names, place); !status.ok())
                return status;
        }
        return {};
    }

    /// The boxes of a level, as a mesh "amrex_boxes", "amrex_boxes_lvl1" of int32: a row for each,
    /// of its lowest and highest cell, x first, as amrex::Box has them. Collective as put() is.
    Status put_boxes(Dump& dump, int level, const ::amrex::BoxArray& boxes) {
        constexpr auto k_numbers = static_cast<std::uint64_t>(2 * detail::k_amrex_axes);
        const Shape shape{static_cast<std::uint64_t>(boxes.size()), k_numbers};
        if (shape[0] == 0) return {};
        const std::string name = amrex_level_name("amrex_boxes", level);
        FieldOptions options;
        options.codec = CodecSpec{};  // a table: no lossy codec of somebody else
        options.axis_labels = {"box", "corner"};
        options.geometry = "other:amrex boxes";
        options.attributes.push_back({"level", static_cast<std::int64_t>(level)});
        auto field = field_of(name, DType::int32, shape, lossless(), options);
        if (!field.ok()) return field.status();
        if (!::amrex::ParallelDescriptor::IOProcessor()) return {};
        std::vector<std::int32_t> corners;
        for (int i = 0; i < static_cast<int>(boxes.size()); ++i) {
            const ::amrex::Box box = boxes[i];
            for (int d = 0; d < detail::k_amrex_axes; ++d) corners.push_back(box.smallEnd(d));
            for (int d = 0; d < detail::k_amrex_axes; ++d) corners.push_back(box.bigEnd(d));
        }
        return dump.put(*field, {{0, 0}, shape}, corners.data());
    }

  private:
    struct Place {
        int level;
        const ::amrex::Geometry* geometry;
        const ::amrex::IntVect* ratio;  ///< to the coarser level; null: there is none
    };
    struct Known {
        Field field;
        Shape shape;
        std::vector<double> grid_offset;
    };

    static Status invalid(std::string message) {
        return {StatusCode::invalid_argument, std::move(message)};
    }

    template <class Fabs>
    Status put_level(Dump& dump, const Fabs& fabs, const std::vector<std::string>& names,
                     const Place& place) {
        using Value = typename Fabs::value_type;
        if (static_cast<std::size_t>(fabs.nComp()) != names.size())
            return invalid("level " + std::to_string(place.level) + " has " +
                           std::to_string(fabs.nComp()) + " components and " +
                           std::to_string(names.size()) + " names");
        const ::amrex::BoxArray& boxes = fabs.boxArray();
        const ::amrex::Box domain = ::amrex::convert(place.geometry->Domain(), boxes.ixType());
        std::vector<Field> fields;
        for (const std::string& name : names) {
            auto field = mesh_of(name, dtype_of<Value>(), domain, place);
            if (!field.ok()) return field.status();
            fields.push_back(*field);
        }
        ::amrex::Gpu::streamSynchronize();
        for (::amrex::MFIter at(fabs); at.isValid(); ++at) {
            const ::amrex::Box array = fabs[at].box();
            for (const ::amrex::Box& part : detail::amrex_own_parts(boxes, at.index())) {
                if (!domain.contains(part))
                    return invalid("level " + std::to_string(place.level) + ": box " +
                                   std::to_string(at.index()) + " leaves the level's domain");
                const Box box{detail::amrex_offset(part, domain), detail::amrex_shape(part)};
                for (std::size_t c = 0; c < fields.size(); ++c) {
                    const Value* values = fabs[at].dataPtr(static_cast<int>(c));
                    Status status =
                        dump.put_within(fields[c], box, values, detail::amrex_shape(array),
                                        detail::amrex_offset(part, array), options_.own);
                    if (!status.ok()) return status;
                }
            }
        }
        return {};
    }

    /// What a mesh's attributes say follows from the level's geometry and the values' centring.
    Result<Field> mesh_of(const std::string& name, DType dtype, const ::amrex::Box& domain,
                          const Place& place) {
        const ::amrex::Geometry& geometry = *place.geometry;
        const auto real = [](::amrex::Real x) { return static_cast<double>(x); };
        FieldOptions options;
        options.codec = options_.codec;
        options.coverage = Coverage::partial;
        if (!is_integer(dtype)) options.fill_value = std::numeric_limits<double>::quiet_NaN();
        const bool radial = geometry.Coord() == ::amrex::CoordSys::RZ;
        options.axis_labels = detail::amrex_axes([&](int d) -> std::string {
            return radial ? (d == 0 ? "r" : "z") : detail::k_amrex_axis_names[d];
        });
        if (radial) options.geometry = "cylindrical";
        if (geometry.Coord() == ::amrex::CoordSys::SPHERICAL) options.geometry = "spherical";
        options.grid_spacing =
            detail::amrex_axes([&](int d) { return real(geometry.CellSize(d)); });
        options.grid_offset =
            detail::amrex_axes([&](int d) { return real(geometry.LoEdge(domain.smallEnd(d), d)); });
        options.grid_unit_si = options_.length_unit_si;
        options.position =
            detail::amrex_axes([&](int d) { return domain.ixType().nodeCentered(d) ? 0.0 : 0.5; });
        options.attributes.push_back({"level", static_cast<std::int64_t>(place.level)});
        if (place.ratio)
            options.attributes.push_back({"refinementRatio", detail::amrex_axes([&](int d) {
                                              return static_cast<std::int64_t>((*place.ratio)[d]);
                                          })});
        return field_of(amrex_level_name(name, place.level), dtype, detail::amrex_shape(domain),
                        detail::amrex_bound(options_, name, dtype), options);
    }

    /// Defined with its first put; of another shape or at another place, once that changes.
    Result<Field> field_of(const std::string& name, DType dtype, const Shape& shape,
                           const ErrorBound& bound, const FieldOptions& options) {
        const auto found = known_.find(name);
        if (found == known_.end()) {
            auto field = writer_->define_field(name, dtype, shape, bound, options);
            if (field.ok()) known_.emplace(name, Known{*field, shape, options.grid_offset});
            return field;
        }
        Known& known = found->second;
        if (known.shape == shape && known.grid_offset == options.grid_offset) return known.field;
        Status status = writer_->reshape(known.field, shape, options.grid_offset);
        if (!status.ok()) return status;
        known.shape = shape;
        known.grid_offset = options.grid_offset;
        return known.field;
    }

    Writer* writer_;
    AmrexOptions options_;
    std::map<std::string, Known> known_;
};

#ifdef CAESURA_AMREX_PARTICLES

/// A species of a Writer for a ParticleContainer, or a ParticleContainerPureSoA.
class AmrexParticles {
  public:
    /// @param writer  outlives it. @param species  openPMD's name of them.
    AmrexParticles(Writer& writer, std::string species, AmrexOptions options = {})
        : writer_(&writer), name_(std::move(species)), options_(std::move(options)) {}

    /// On all ranks, before the first dump.
    ///
    /// @param reals, ints  records of the components, as WritePlotFile() takes their names: of the
    ///                     structs first, then of the arrays; without the positions of a
    ///                     ParticleContainerPureSoA. "momentum/x" is a component of a record.
    ///                     Empty: "real_comp0", "int_comp0" and so on.
    /// Errors: invalid_argument (numbers of names), as define_species' and define_record's.
    template <class Container>
    Status define(const Container& particles, std::vector<std::string> reals = {},
                  std::vector<std::string> ints = {}) {
        if (Status status = fill_names(name_, "real_comp", n_reals(particles), reals); !status.ok())
            return status;
        if (Status status = fill_names(name_, "int_comp", n_ints(particles), ints); !status.ok())
            return status;
        auto species = writer_->define_species(name_);
        if (!species.ok()) return species.status();
        species_ = *species;
        constexpr DType k_real = dtype_of<::amrex::ParticleReal>();
        RecordOptions place;
        place.unit_si = options_.length_unit_si;
        place.unit_dimension[0] = 1.0;
        for (int d = 0; d < detail::k_amrex_axes; ++d)
            if (Status status =
                    add(std::string("position/") + detail::k_amrex_axis_names[d], k_real, place);
                !status.ok())
                return status;
        if (Status status = add("id", DType::uint64, {}); !status.ok()) return status;
        for (const std::string& name : reals)
            if (Status status = add(name, k_real, {}); !status.ok()) return status;
        for (const std::string& name : ints)
            if (Status status = add(name, DType::int32, {}); !status.ok()) return status;
        return {};
    }

    /// Hand over this rank's particles of all levels, but those that are marked invalid.
    /// Errors: invalid_argument (not defined, or for another number of components), as
    /// put_particles'.
    template <class Container>
    Status put(Dump& dump, const Container& particles) const {
#ifdef AMREX_USE_GPU
        auto host = particles.template make_alike<::amrex::PinnedArenaAllocator>();
        host.copyParticles(particles, true);
        return put_host(dump, host);
#else
        return put_host(dump, particles);
#endif
    }

    Species species() const { return species_; }  ///< for define_constant and attributes

  private:
    /// Values that are gathered before they are put: few enough for a core's cache.
    static constexpr std::size_t k_batch = std::size_t{1} << 16;

    template <class Container>
    static constexpr bool is_soa() {
        return Container::ParticleType::is_soa_particle;
    }
    template <class Container>
    static constexpr int n_struct_reals() {
        if constexpr (is_soa<Container>()) return 0;
        return Container::NStructReal;
    }
    template <class Container>
    static constexpr int n_struct_ints() {
        if constexpr (is_soa<Container>()) return 0;
        return Container::NStructInt;
    }
    template <class Container>
    static int n_reals(const Container& particles) {
        return n_struct_reals<Container>() + particles.NumRealComps() -
               (is_soa<Container>() ? detail::k_amrex_axes : 0);
    }
    template <class Container>
    static int n_ints(const Container& particles) {
        return n_struct_ints<Container>() + particles.NumIntComps();
    }

    static Status fill_names(const std::string& species, const char* prefix, int n,
                             std::vector<std::string>& names) {
        for (int i = 0; names.size() == static_cast<std::size_t>(i) && i < n; ++i)
            names.push_back(prefix + std::to_string(i));
        if (names.size() == static_cast<std::size_t>(n)) return {};
        return {StatusCode::invalid_argument, "species '" + species + "' has " + std::to_string(n) +
                                                  " components '" + prefix + "...' and " +
                                                  std::to_string(names.size()) + " names of them"};
    }

    Status add(const std::string& record, DType dtype, RecordOptions options) {
        options.codec = options_.codec;
        auto field = writer_->define_record(species_, record, dtype,
                                            detail::amrex_bound(options_, record, dtype), options);
        if (!field.ok()) return field.status();
        records_.push_back(*field);
        return {};
    }

    template <class Container>
    Status put_host(Dump& dump, const Container& particles) const {
        using Real = ::amrex::ParticleReal;
        constexpr int k_axes = detail::k_amrex_axes;
        const int reals = n_reals(particles), ints = n_ints(particles);
        if (records_.size() != static_cast<std::size_t>(k_axes + 1 + reals + ints))
            return {StatusCode::invalid_argument,
                    "species '" + name_ + "' has " + std::to_string(reals + ints) +
                        " components, and was defined for another number of them"};
        std::size_t record = 0;
        Status status;
        for (int d = 0; d < k_axes && status.ok(); ++d)
            status =
                put_record<Real>(dump, records_[record++], particles,
                                 [d](const auto& tile, int i) { return position(tile, i, d); });
        if (status.ok())
            status = put_record<std::uint64_t>(
                dump, records_[record++], particles,
                [](const auto& tile, int i) { return packed_id(tile, i); });
        for (int c = 0; c < reals && status.ok(); ++c)
            status = put_record<Real>(
                dump, records_[record++], particles, [c](const auto& tile, int i) -> Real {
                    constexpr int k_structs = n_struct_reals<Container>();
                    constexpr int k_first = is_soa<Container>() ? k_axes : -k_structs;
                    if constexpr (k_structs > 0)
                        if (c < k_structs) return tile.GetArrayOfStructs()[i].rdata(c);
                    return tile.GetStructOfArrays().GetRealData(k_first + c)[i];
                });
        for (int c = 0; c < ints && status.ok(); ++c)
            status = put_record<std::int32_t>(
                dump, records_[record++], particles, [c](const auto& tile, int i) -> std::int32_t {
                    constexpr int k_structs = n_struct_ints<Container>();
                    if constexpr (k_structs > 0)
                        if (c < k_structs) return tile.GetArrayOfStructs()[i].idata(c);
                    return tile.GetStructOfArrays().GetIntData(c - k_structs)[i];
                });
        return status;
    }

    template <class Tile>
    static ::amrex::ParticleReal position(const Tile& tile, int i, int d) {
        if constexpr (Tile::ParticleType::is_soa_particle)
            return tile.GetStructOfArrays().GetRealData(d)[i];
        else
            return tile.GetArrayOfStructs()[i].pos(d);
    }
    template <class Tile>
    static std::uint64_t packed_id(const Tile& tile, int i) {
        if constexpr (Tile::ParticleType::is_soa_particle)
            return tile.GetStructOfArrays().GetIdCPUData()[i];
        else
            return tile.GetArrayOfStructs()[i].m_idcpu;
    }

    template <class Value, class Container, class Get>
    static Status put_record(Dump& dump, Field record, const Container& particles, const Get& get) {
        std::vector<Value> batch;
        batch.reserve(k_batch);
        for (const auto& level : particles.GetParticles())
            for (const auto& [grid_and_tile, tile] : level)
                for (int i = 0; i < tile.numParticles(); ++i) {
                    const std::uint64_t packed = packed_id(tile, i);
                    if (::amrex::Long(::amrex::ConstParticleIDWrapper(packed)) <= 0) continue;
                    batch.push_back(get(tile, i));
                    if (batch.size() < k_batch) continue;
                    Status status = dump.put_particles(record, batch.size(), batch.data());
                    if (!status.ok()) return status;
                    batch.clear();
                }
        // A rank without particles says so.
        return dump.put_particles(record, batch.size(), batch.data());
    }

    Writer* writer_;
    std::string name_;
    AmrexOptions options_;
    Species species_;
    std::vector<Field> records_;
};

#endif  // CAESURA_AMREX_PARTICLES

}  // namespace caesura
