// A chunk of any HDF5 dataset back through the filters that its pipeline names, whoever wrote it:
// what a reader has, where a BlockCodec is what a writer has.
//
// Invariants:
//  - What a filter lacks is an error of the chunks that need it, and of no others: a filter that
//    the mask of a chunk skips need not be there.
//  - Plugins are looked for when it is made. decode() makes no HDF5 call that touches a file or id
//    (a plugin that fails may push a message on HDF5's error stack), and may run in any threads at
//    once; filters that are not reentrant wait for each other inside.
#pragma once

#include <map>
#include <optional>

#include "hdf5/filter/filter.hpp"
#include "hdf5/filter_stage.hpp"

namespace caesura::hdf5 {

/// Plugins looked for so far, found or not, by filter: many datasets have the same.
using PluginsByFilter = std::map<unsigned, Result<const FilterPlugin*>>;

class PipelineDecoder {
  public:
    /// Only from the thread that owns HDF5. A directory is searched for each filter that is not in
    /// `plugins` yet.
    PipelineDecoder(std::span<const FilterSpec> pipeline, PluginsByFilter& plugins);

    /// Are the stored bytes of a chunk with this mask its values as they are?
    bool stores_values(std::uint32_t filter_mask) const;
    /// Are they a frame of our codec (or a bundle of frames, or a packed one)?
    bool stores_frame(std::uint32_t filter_mask) const;

    /// @param chunk  all of it is filled: what HDF5 would have after its filters, in the byte order
    ///               of the file.
    /// Errors: corrupt, unsupported (a filter that is not there, and which), no_space (memory).
    /// Check the stored bytes' checksum first: not every plugin survives malformed input; see
    /// BlockCodec::decode. Our own codec does.
    Status decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                  std::span<std::byte> chunk) const;

  private:
    std::vector<FilterStage> stages_;
    std::vector<Status> missing_;   // for each of them
    std::optional<Settings> ours_;  // the pipeline is our filter alone
};

}  // namespace caesura::hdf5
