// What would become of a dataset that exists, quantity by quantity, if it were written under the
// connector: `caesura vol check`. Reads values, writes nothing.
//
// Invariants:
//  - All values are read once, whole chunks at a time, in slabs of about 16 MiB (of one chunk where
//    that is larger), however many arrays lie in them.
//  - What is kept of a dataset is its composition, ranges, and where samples lie: no values, no
//    open dataset, nothing for each array but its shape.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "store/hdf5_handle.hpp"
#include "vol/coordinates.hpp"
#include "vol/quantities.hpp"
#include "writer/value_order.hpp"

namespace caesura::vol {

/// The datasets of one file.
class Foresight {
  public:
    /// Told after each read: "reading" values or "sampling" them, and how much of it is done.
    using Watch =
        std::function<void(const char* doing, std::uint64_t done_bytes, std::uint64_t all_bytes)>;
    /// @param file  natively; open as long as this lives. @param watch  may be empty.
    /// @param named  by attributes of the file.
    Foresight(const Config& config, hid_t file, Watch watch, NamedCoordinates named)
        : config_(config), file_(file), watch_(std::move(watch)), named_(std::move(named)) {}
    /// Before the first look(), for the Watch alone.
    /// @param all_bytes  of the datasets that are to be looked at.
    void expect(std::uint64_t all_bytes) { all_bytes_ = all_bytes; }
    /// Look at all values of a dataset that qualifies.
    /// @return  its number. Errors: those of H5Dcreate under the connector (a bound that can be
    /// meant of none), io.
    Result<std::size_t> look(hid_t dataset, const DatasetFacts& facts);
    /// After all have been looked at, as a bound may be of the range of several: an entry for each
    /// quantity, with name ("" if it has none), min, max, bound_kind, bound, in_units (0: exact),
    /// bound_map (if it has one, as files have it), missing (values that are left out), ratio and
    /// psnr (both from a sample; null: not known), and warnings.
    nlohmann::json tell(std::size_t number);
    /// Why a bound that is said of no dataset by name does not hold for it; empty: it does, or
    /// there is none.
    const std::string& exact_because(std::size_t number) const {
        return seen_[number].exact_because;
    }
    /// Does such a bound hold for each part of its complex numbers?
    bool by_part(std::size_t number) const { return seen_[number].by_part; }

  private:
    /// Part of a dataset, read in one go.
    struct Slab {
        std::vector<hsize_t> offset, extent;
    };
    /// Values that lie in one array of one quantity.
    struct Piece {
        Slab slab;
        Shape shape;
    };
    struct Seen {
        std::string path;
        Element element;
        std::string codec, whole, exact_because;
        bool by_part = false;
        bool may_be_axis = false;
        writer::ValueOrder order;  ///< if it may
        std::vector<writer::Component> components;
        BoundMap bound_map;  ///< of one component
        std::vector<writer::Composition::Range> ranges;
        codec::ValueBits missing;                 ///< declared, and suspects of a pass before
        writer::Seen looks;                       ///< of the last pass, where it is one quantity
        std::vector<std::vector<Piece>> samples;  ///< of each component
        DType dtype() const { return element.dtype; }
    };
    struct Extents {
        std::vector<hsize_t> dims, chunk;  ///< chunk: all 1 of a contiguous dataset
    };
    static Extents extents_of(hid_t dataset, const DatasetFacts& facts);
    static std::vector<Piece> pieces_of(const writer::Composition* parts,
                                        const std::vector<hsize_t>& dims, std::size_t value_bytes,
                                        std::size_t component);
    static Status read(hid_t dataset, const Element& element, const Slab& slab,
                       std::vector<std::byte>& values);
    static Status read_component(hid_t dataset, const Element& element, std::size_t component,
                                 const Slab& slab, std::vector<std::byte>& values);
    codec::ValueBits declared_in(hid_t dataset, const DatasetFacts& facts) const;
    Status find_ranges(hid_t dataset, const Extents& extents, std::span<const int> axes,
                       const writer::Composition* parts, Seen& seen);
    Status look_through(hid_t dataset, const Extents& extents, std::span<const int> axes,
                        const writer::Composition* parts, Seen& seen);
    static std::uint64_t missing_in(std::span<const std::byte> values, const Seen& seen);
    struct SampledPart;
    static std::vector<SampledPart> parts_of(const Seen& seen, const Piece& piece,
                                             const ErrorBound& bound,
                                             std::span<const std::byte> values);
    nlohmann::json sample(const Seen& seen, std::size_t component, const ErrorBound& bound,
                          const writer::Composition::Range& range);
    std::string coordinates_because(hid_t dataset, const std::string& path) const;
    static void keep_exact(Seen& seen, std::string why);
    void say(const char* doing) const;

    const Config& config_;
    const hid_t file_;
    const Watch watch_;
    const NamedCoordinates named_;
    std::uint64_t done_bytes_ = 0, all_bytes_ = 0;
    bool sampling_ = false;
    std::deque<Seen> seen_;
    std::map<std::pair<std::string, std::string>, writer::Composition::Range> wholes_;
};

}  // namespace caesura::vol
