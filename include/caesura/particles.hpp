// Particles: species whose records have as many values as there are particles, in each dump as many
// as there happen to be.
//
// intro      define_species once, define_record for what each particle has (position/x, weighting),
//            define_constant for what all have alike (charge, mass). In a dump every rank calls
//            put_particles with as many as it has, none included.
// order      The file has the particles of rank 0, then those of rank 1, and so on; of a rank in
//            the order in which they were put, or with Order::any in one that compresses better.
// layout     openPMD: /data/<iteration>/particles/<species>/<record>[/<component>]. What is
//            constant, and every record of a dump without particles, is a group with the attributes
//            `value` and `shape`. `positionOffset` is 0 unless it is defined.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caesura/codec.hpp"
#include "caesura/store.hpp"

#pragma GCC visibility push(default)

namespace caesura {

/// Handle of a species; valid for the life of its Writer.
struct Species {
    std::uint32_t index = 0;
};

/// In which order the file has the particles of a rank.
enum class Order : std::uint8_t {
    given,  ///< in which they were put
    any     ///< within a chunk in any, all records of a particle together
};

struct SpeciesOptions {
    std::vector<store::Attribute> attributes;  ///< of the species' group
    /// any: a chunk's particles lie along a Hilbert curve through their positions, where that makes
    /// them smaller. The positions are the components of the record "position", three at most; a
    /// species without them stays as it is given.
    Order order = Order::given;
    /// With Order::any: write a record "index", uint64 and lossless, which says of each particle
    /// what its number would be in the given order. It takes about as much as the order wins.
    bool keep_index = false;
};

struct RecordOptions {
    std::optional<CodecSpec> codec;  ///< none: the Writer's
    double unit_si = 1.0;
    std::array<double, 7> unit_dimension{};  ///< L M T I theta N J powers (openPMD)
    double time_offset = 0.0;                ///< in units of time_unit_si
    /// Is a value that of all the particles which a macroparticle stands for? And the power of the
    /// weighting with which one becomes the other (openPMD).
    bool macro_weighted = false;
    double weighting_power = 0.0;
    std::vector<store::Attribute> attributes;  ///< of the component
};

}  // namespace caesura

#pragma GCC visibility pop
