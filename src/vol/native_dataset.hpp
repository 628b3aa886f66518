// A dataset of the image, held by us beside whatever the application holds of it.
#pragma once

#include <H5VLconnector.h>
#include <hdf5.h>

#include "caesura/base.hpp"

namespace caesura::vol {

/// Any object of the file, as the native connector has it: what calls are made through.
struct NativeObject {
    void* under = nullptr;
    H5I_type_t kind = H5I_FILE;
};

/// Where an object's header lies; equal on all ranks. Errors: internal.
Result<H5O_token_t> token_of(const NativeObject& object);
/// For maps, and to be sent: its bytes.
std::string key_of_token(const H5O_token_t& token);

/// How many hard links lead to an object; of an attribute, to the one that has it. Errors:
/// internal.
Result<unsigned> links_of(const NativeObject& object);
/// The root group of its file, opened; null with HDF5's errors.
void* open_root_of(const NativeObject& object);
/// HDF5's number of the open file that an object lies in; not the same on all ranks. Errors:
/// internal.
Result<unsigned long> file_number_of(const NativeObject& object);
/// Its absolute path, or as much of it as is known.
std::string path_of(const NativeObject& object);

/// Is it contiguous, with its space allocated in the file? Such a dataset has neither filters nor
/// sources elsewhere.
bool lies_in_one_piece(void* dataset);
/// After H5Dwrite_chunk with another filter mask than the chunk had. The library remembers the
/// chunk that it looked up last with its mask of then, so that a read would take the new bytes
/// through the old filters (HDF5 1.10.8 to 1.14.5): have it look up another one.
void forget_last_mask(void* dataset, const hsize_t* offset);

class NativeDataset {
  public:
    NativeDataset() = default;
    /// Errors: internal (the object is gone).
    static Result<NativeDataset> open(const NativeObject& through, const H5O_token_t& token);
    NativeDataset(NativeDataset&& other) noexcept : under_(std::exchange(other.under_, nullptr)) {}
    NativeDataset& operator=(NativeDataset&& other) noexcept;
    ~NativeDataset() { close(); }
    void close();
    bool ok() const { return under_ != nullptr; }
    void* under() const { return under_; }

    /// As H5Dwrite_chunk. @param offset  of as many axes as the dataset has.
    herr_t write_chunk(const hsize_t* offset, std::uint32_t mask, const void* buffer,
                       std::size_t bytes) const;
    /// Has a chunk any bytes? Errors: internal.
    Result<bool> has_chunk(const hsize_t* offset) const;
    /// As H5Dread.
    herr_t read(hid_t memory_type, hid_t memory_space, hid_t file_space, hid_t transfer,
                void* memory) const;

  private:
    explicit NativeDataset(void* under) : under_(under) {}
    void* under_ = nullptr;
};

/// As H5Fflush of the whole file.
herr_t flush_native(const NativeObject& through);

}  // namespace caesura::vol
