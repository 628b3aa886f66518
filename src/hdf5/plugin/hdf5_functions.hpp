// The few HDF5 functions that creating a dataset takes, found in the process at run time.
//
// Invariants:
//  - Nothing here is linked: a plugin that named HDF5's functions could not be loaded where HDF5 is
//    not in the global scope (h5py's wheel), and would find the wrong one where two are.
//  - All functions come from one HDF5: the one that called.
//  - What is used of HDF5's headers is types and constants that have been the same since 1.10:
//    checked where they are used.
#pragma once

#include <H5Ipublic.h>
#include <H5Tpublic.h>
#include <H5Zpublic.h>

#include <string>

namespace caesura::hdf5 {

/// Signatures as in HDF5 1.10 to 2.x.
struct Hdf5Functions {
    herr_t (*get_filter_by_id)(hid_t, H5Z_filter_t, unsigned*, std::size_t*, unsigned*, std::size_t,
                               char*, unsigned*) = nullptr;
    herr_t (*modify_filter)(hid_t, H5Z_filter_t, unsigned, std::size_t, const unsigned*) = nullptr;
    H5Z_filter_t (*get_filter)(hid_t, unsigned, unsigned*, std::size_t*, unsigned*, std::size_t,
                               char*, unsigned*) = nullptr;
    int (*get_chunk)(hid_t, int, hsize_t*) = nullptr;
    herr_t (*fill_defined)(hid_t, int*) = nullptr;  ///< H5D_fill_value_t is an int
    herr_t (*get_fill)(hid_t, hid_t, void*) = nullptr;
    H5T_class_t (*type_class)(hid_t) = nullptr;
    std::size_t (*type_size)(hid_t) = nullptr;
    H5T_order_t (*type_order)(hid_t) = nullptr;
    std::size_t (*type_precision)(hid_t) = nullptr;
    herr_t (*type_fields)(hid_t, std::size_t*, std::size_t*, std::size_t*, std::size_t*,
                          std::size_t*) = nullptr;
    std::size_t (*type_exponent_bias)(hid_t) = nullptr;
    H5T_norm_t (*type_norm)(hid_t) = nullptr;
    hid_t (*type_super)(hid_t) = nullptr;
    int (*type_members)(hid_t) = nullptr;
    hid_t (*type_member)(hid_t, unsigned) = nullptr;
    herr_t (*type_close)(hid_t) = nullptr;

    /// Put a message on the error stack, as HDF5's own functions do. Does nothing where HDF5's
    /// error functions were not found.
    void push_error(const std::string& message) const;
    void* module = nullptr;  ///< handle to look up further symbols
};

/// From the library that `return_address` lies in, else from the global scope.
/// False: there is no complete HDF5 in either.
bool find_hdf5(const void* return_address, Hdf5Functions& functions);

}  // namespace caesura::hdf5
