// An HDF5 filter plugin as a C++ object: found on disk, loaded, and callable without HDF5.
//
// Invariants:
//  - A loaded plugin is never unloaded: worker threads may be inside it.
//  - apply() makes no HDF5 call of its own. The plugins looked at (SZ3, ZFP, Zstd, Blosc2 of the
//    hdf5plugin wheel) call HDF5 from their filter function only to push an error message; see
//    plugin_loader.cpp for which HDF5 that reaches.
#pragma once

#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::hdf5 {

/// Bytes in malloc's hands, because HDF5 filters free and replace the buffer they are given.
class FilterBuffer {
  public:
    FilterBuffer() = default;
    /// A copy of `bytes`. Throws std::bad_alloc.
    explicit FilterBuffer(std::span<const std::byte> bytes);
    /// So many bytes of any content. Throws std::bad_alloc.
    explicit FilterBuffer(std::size_t bytes);
    /// Only the first ones stay; `bytes` is at most their number.
    void cut(std::size_t bytes) { size_ = bytes; }

    std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(data_.get()), size_};
    }
    std::span<std::byte> bytes() { return {static_cast<std::byte*>(data_.get()), size_}; }

  private:
    friend class FilterPlugin;
    struct Free {
        void operator()(void* data) const { std::free(data); }
    };
    std::unique_ptr<void, Free> data_;
    std::size_t size_ = 0;
};

enum class Direction : std::uint8_t { encode, decode };

class FilterPlugin {
  public:
    /// The plugin that implements filter `id`, loaded once per process. Looks through
    /// HDF5_PLUGIN_PATH, then where HDF5 itself looks, then CAESURA_PLUGIN_PATH.
    /// Only from the thread that owns HDF5.
    /// @param codec_name  for the message only.
    /// Errors: unsupported (not found: where it was looked for, what to install).
    static Result<const FilterPlugin*> find(unsigned id, const std::string& codec_name);

    unsigned id() const { return id_; }
    const std::string& name() const { return name_; }
    const std::string& path() const { return path_; }

    /// The cd_values that HDF5 would store with a dataset of this type and chunk: what the
    /// plugin's set_local callback makes of the user's. Only from the thread that owns HDF5.
    /// Errors: unsupported (the plugin refuses this type or shape), internal.
    Result<std::vector<unsigned>> final_cd_values(std::span<const unsigned> user, DType dtype,
                                                  const Shape& chunk) const;

    /// Run the filter on `buffer`, which becomes its output. false: the filter failed, and the
    /// buffer holds nothing of use. Throws std::bad_alloc. Thread-safe if the filter is.
    bool apply(Direction direction, std::span<const unsigned> cd_values,
               FilterBuffer& buffer) const;

    /// For filters that are not reentrant: held around apply() by whoever shares the plugin.
    std::mutex& serialise() const { return serialise_; }

  private:
    friend struct PluginScan;
    unsigned id_ = 0;
    std::string name_;
    std::string path_;
    const void* filter_class_ = nullptr;  // H5Z_class2_t, kept out of this header
    mutable std::mutex serialise_;
};

}  // namespace caesura::hdf5
