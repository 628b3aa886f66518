// The tables of callbacks, one for each class of the VOL, each made in the file of its class.
#pragma once

#include "vol/object.hpp"

namespace caesura::vol {

/// By which HDF5 and its users know the connector.
constexpr const char* k_connector_name = "caesura";

H5VL_info_class_t info_callbacks();
H5VL_wrap_class_t wrap_callbacks();
H5VL_attr_class_t attribute_callbacks();
H5VL_dataset_class_t dataset_callbacks();
H5VL_datatype_class_t datatype_callbacks();
H5VL_file_class_t file_callbacks();
H5VL_group_class_t group_callbacks();
H5VL_link_class_t link_callbacks();
H5VL_object_class_t object_callbacks();
H5VL_introspect_class_t introspect_callbacks();
H5VL_request_class_t request_callbacks();
H5VL_blob_class_t blob_callbacks();
H5VL_token_class_t token_callbacks();

/// The connector itself, for the library and for whoever asks which one it has.
const H5VL_class_t& connector_class();

}  // namespace caesura::vol
