// The chunks of a dataset as the application asked for them, and which of them it has written.
//
// Blocks have chunks of their own. A program that asks which chunks there are asks for those that
// it made, as HDF5 would have them.
//
// Invariants:
//  - Chunks are numbered row by row, as HDF5 lists them.
//  - A dataset that the application made contiguous has one chunk, which is all of it.
#pragma once

#include <hdf5.h>

#include <set>
#include <vector>

namespace caesura::vol {

class AskedChunks {
  public:
    using Extents = std::vector<hsize_t>;
    /// When HDF5 would make space for chunks: all that the dims have, when it is made; all of them
    /// at the first write; each when it is written.
    enum class Space { at_once, at_first_write, one_by_one };

    /// @param dims   of the dataset; any number of axes >= 1.
    /// @param chunk  as many; each >= 1.
    AskedChunks(Extents dims, Extents chunk, Space space);

    /// The application has written what `space` selects. Errors of HDF5 leave out chunks.
    void note_written(hid_t space);
    /// Chunks beyond smaller dims are gone.
    void resize(Extents dims);

    const Extents& dims() const { return dims_; }
    const Extents& chunk() const { return chunk_; }
    /// How many the dims have, and how many of them are there.
    hsize_t all() const;
    hsize_t count() const;
    bool has(const hsize_t* offset) const;
    /// Where the chunk begins that is the n-th of those that are there; n < count().
    Extents nth(hsize_t n) const;

  private:
    hsize_t along(std::size_t axis) const {
        return (dims_[axis] + chunk_[axis] - 1) / chunk_[axis];
    }
    hsize_t number_of(const hsize_t* offset) const;
    Extents offset_of(hsize_t number) const;

    Extents dims_, chunk_;
    Space space_;
    bool written_ = false;
    std::set<hsize_t> there_;  ///< numbers; of Space::one_by_one alone
};

}  // namespace caesura::vol
