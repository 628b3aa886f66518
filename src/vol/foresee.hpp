// What would become of a dataset that exists, quantity by quantity, if it were written under the
// connector: `caesura vol check`. Reads values, writes nothing.
#pragma once

#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "store/hdf5_handle.hpp"
#include "vol/quantities.hpp"

namespace caesura::vol {

/// The datasets of one file.
class Foresight {
  public:
    explicit Foresight(const Config& config) : config_(config) {}
    /// Look at all values of a dataset that qualifies.
    /// @return  its number. Errors: those of H5Dcreate under the connector (a bound that can be
    /// meant of none), io.
    Result<std::size_t> look(hid_t dataset, const DatasetFacts& facts);
    /// After all have been looked at, as a bound may be of the range of several: an entry for each
    /// quantity, with name ("" if it has none), min, max, bound_kind, bound, in_units (0: exact),
    /// ratio and psnr (both from a sample; null: not known), and warnings.
    nlohmann::json tell(std::size_t number) const;

  private:
    /// Values that lie in one array of one quantity, read in one go.
    struct Piece {
        std::vector<hsize_t> offset, extent;
        codec::BundlePart part;
    };
    struct Seen {
        store::Handle dataset;
        DType dtype = float32;
        std::string codec, whole;
        std::vector<writer::Component> components;
        std::vector<writer::Composition::Range> ranges;
        std::vector<Piece> pieces;
        bool members = false;  ///< the components are those of a compound type
    };
    static std::vector<Piece> pieces_of(const writer::Composition* parts, std::vector<hsize_t> dims,
                                        std::size_t value_bytes);
    static Result<std::vector<std::byte>> read(const Seen& seen, const Piece& piece);
    static nlohmann::json sample(const Seen& seen, std::size_t component, const ErrorBound& bound,
                                 const writer::Composition::Range& range);

    const Config& config_;
    std::deque<Seen> seen_;
    std::map<std::pair<std::string, std::string>, writer::Composition::Range> wholes_;
};

}  // namespace caesura::vol
