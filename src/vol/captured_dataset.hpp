// Datasets of a captured file: how they are made and opened so that every rank's image stays alike,
// and what cannot be done with them while several processes share it.
#pragma once

#include "store/hdf5_handle.hpp"
#include "vol/block_io.hpp"
#include "vol/captured_file.hpp"

namespace caesura::vol {

/// What HDF5 has once of a dataset, however many identifiers are open on it.
struct OpenDataset {
    store::Handle creation;      ///< as the application gave it; invalid: as it lies in the file
    bool since_made = false;     ///< it has been open since then
    bool drops_filters = false;  ///< the application's, which its ranks cannot run together
    /// The application's own chunk cache; what the library is given is another.
    std::size_t cache_slots = H5D_CHUNK_CACHE_NSLOTS_DEFAULT;
    std::size_t cache_bytes = H5D_CHUNK_CACHE_NBYTES_DEFAULT;
    double cache_preemption = H5D_CHUNK_CACHE_W0_DEFAULT;
};

struct CapturedDataset {
    std::shared_ptr<BlockIo::Dataset> block;  ///< it becomes blocks; or null
    std::shared_ptr<OpenDataset> open = std::make_shared<OpenDataset>();
    const store::Handle& creation() const { return open->creation; }
    /// Why its data cannot be written, or read, while the file is captured; empty: they can.
    std::string why_not_written, why_not_read;
    bool is_virtual = false;         ///< HDF5 reads its sources, which may be blocks
    bool has_other_sources = false;  ///< in other files (other_sources.hpp)
};

/// The lists with which a dataset is made in the image.
struct PreparedDataset {
    std::shared_ptr<CapturedDataset> dataset;
    store::Handle creation, access;
    bool has_defaults = false;  ///< `creation` is the library's own: see DefaultsOfImage
    /// It keeps the application's filters: what the Writer is to be told once it is made.
    std::optional<writer::DatasetDefinition> filtered;
    /// Of blocks: Composed::exact_because and by_part.
    std::string why_exact;
    bool by_part = false;
};

/// While one with `on` lives, the library's default creation list is as the image needs it. A
/// dataset that is made with this very list shares it; with another one it has a copy, which costs
/// as much as all else of a small dataset. The library's lock guards it.
class DefaultsOfImage {
  public:
    explicit DefaultsOfImage(bool on);
    ~DefaultsOfImage();
    DefaultsOfImage(const DefaultsOfImage&) = delete;
    DefaultsOfImage& operator=(const DefaultsOfImage&) = delete;

  private:
    bool on_;
};

bool has_filter(hid_t creation, H5Z_filter_t wanted);
/// The same access list, without HDF5's chunk cache.
store::Handle without_cache(const CapturedDataset& dataset, store::Handle access);

/// Decide what becomes of a new dataset, and tell the report.
Result<PreparedDataset> prepare_dataset(const Object& at, const H5VL_loc_params_t* location,
                                        const char* name, hid_t type, hid_t space, hid_t creation,
                                        hid_t access);
/// The access list for the image; fills in the application's chunk cache. Invalid on failure.
store::Handle image_access(CapturedFile& file, hid_t access, CapturedDataset& dataset);
/// After a dataset was made. Errors: internal.
Status note_open(const Object& made);
/// After a dataset that exists was opened.
void inspect_dataset(Object& opened);
/// The same for one that was opened without an access list of its own.
void inspect_without_list(Object& opened);

/// Into the list that HDF5 gives of the image. The chunk cache is that of the first open.
herr_t tell_chunk_cache(const Object& dataset, hid_t access);

/// The creation list that HDF5 would give back: as the application gave it, with what HDF5 makes of
/// it. The caller's; negative with HDF5's errors on the stack.
hid_t asked_creation(const Object& dataset);
/// Did the application make it with chunks?
bool is_chunked(const Object& dataset);

Status may_read(const Object& dataset);
/// Values that live in heaps (variable length, region references) cannot be written by several
/// processes, as in parallel HDF5 itself.
Status may_write(const Object& dataset, hid_t memory_type);

/// The transfer list with which data move to and from the image: independent, all else as the
/// application set it (trap 8: without an MPI driver the library refuses collective ones).
struct ImageTransfer {
    hid_t list = H5P_DEFAULT;
    bool was_collective = false;
};
ImageTransfer image_transfer(CapturedFile* file, hid_t list);

}  // namespace caesura::vol
