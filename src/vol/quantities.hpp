// What a dataset that is to be made holds: which quantities, and which arrays of them.
//
// AMReX's plotfiles: attributes of the root group name the components. There is a group for each
// level, in it a dataset "boxes" of the corners of all boxes, written before the data, and
// "data:datatype=N", box after box, component after component, the first axis running fastest.
// Other applications' are described by rules of the configuration. The members of a compound type
// are quantities, whatever rules say.
#pragma once

#include "vol/capture.hpp"
#include "vol/native_dataset.hpp"

namespace caesura::vol {

struct Quantities {
    std::vector<std::string> names = {""};  ///< at least one; one: ours, or nothing is known
    std::vector<Shape> boxes = {};          ///< of a sequence of arrays, as Composition::arrays()
    std::string whole = {};                 ///< Composition::arrays()
    int axis = -1;                          ///< along which the quantities lie
    bool scattered = false;                 ///< there are several, and nobody knows where
    bool members = false;                   ///< they are those of a compound type
};

/// Where a dataset is, or is to be made, and who asks.
struct Asked {
    NativeObject at;
    const H5VL_loc_params_t* location;
    const Config& config;
    Communicator& communicator;  ///< of those who make it
};

/// Collective, and communicates if it looks like AMReX's: rank 0 reads the boxes, which it has
/// written itself there.
/// Errors: invalid_argument (a rule that names the dataset and does not fit it), those of the
/// Communicator.
/// Boxes that cannot be read are no boxes.
/// @param name  from `at` on; null: it has none. @param dims  of the dataset.
Result<Quantities> quantities_of(const Asked& asked, const char* name, const DatasetFacts& facts,
                                 std::span<const hsize_t> dims);

/// What blocks may be made of, which must be known when the dataset is made. Only our own codec
/// holds several arrays, or quantities with different bounds.
struct Composed {
    ErrorBound bound;                                             ///< what the pipeline says
    std::shared_ptr<const writer::Composition> composition = {};  ///< null: one array
    BoundMap bound_map = {};  ///< of one array, whose own bound is `bound`
    /// The bound is said of no dataset by name, and holds unless this turns out to hold
    /// coordinates.
    bool for_fields = false;
    /// Such a bound does not hold here, and why, for people; empty: it does.
    std::string exact_because = {};
    bool by_part = false;  ///< it holds for real and imaginary part, each by itself
};
/// @param axes   of each axis that blocks see the first of the dataset's (writer::fold_axes).
/// @param fixed  it cannot grow.
/// A bound or map that is said of no dataset by name, and cannot be meant here, is left out.
/// Errors: those of components_of(); unsupported (bounds that differ, and nobody can keep apart; a
/// bound map for what is not one array of codec caesura); invalid_argument (a map that does not
/// fit).
Result<Composed> compose(const Config& config, const DatasetFacts& facts,
                         const Quantities& quantities, std::span<const int> axes, bool fixed);

}  // namespace caesura::vol
