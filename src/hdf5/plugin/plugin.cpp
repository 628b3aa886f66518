// libh5caesura: the HDF5 filter plugin. HDF5 finds it by the two functions it exports.
#include <H5PLextern.h>

#include "hdf5/plugin/hdf5_class.hpp"

extern "C" __attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) {
    return H5PL_TYPE_FILTER;
}
extern "C" __attribute__((visibility("default"))) const void* H5PLget_plugin_info(void) {
    return &caesura::hdf5::hdf5_class();
}
