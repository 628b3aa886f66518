/* What libcaesura_hdf5_names.so and plugin_loader.cpp agree on: which names of HDF5 filter plugins
 * look up, and how the library is told what they stand for. CAESURA_HDF5_LISTS is the header that
 * CMakeLists.txt makes: CAESURA_HDF5_FUNCTIONS(X), CAESURA_HDF5_VARIABLES(X). */
#ifndef CAESURA_HDF5_NAMES_H
#define CAESURA_HDF5_NAMES_H

#include <stdint.h>

#include CAESURA_HDF5_LISTS

#define CAESURA_HDF5_TAKE "caesura_hdf5_take"

/* Functions and values of variables, in the order of the lists. Before any name is looked up. */
typedef void (*caesura_hdf5_take_function)(void (*const functions[])(void),
                                           const int64_t variables[]);

#endif
