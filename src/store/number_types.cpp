#include "store/number_types.hpp"

#include <algorithm>
#include <array>

namespace caesura::store {
namespace {

struct NumberType {
    DType dtype;
    hid_t native, little, big;
};

/// In the order of DType. HDF5's names of types are calls, so that this is no constant.
std::array<NumberType, 10> number_types() {
    return {{
        {float32, H5T_NATIVE_FLOAT, H5T_IEEE_F32LE, H5T_IEEE_F32BE},
        {float64, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, H5T_IEEE_F64BE},
        {int8, H5T_NATIVE_INT8, H5T_STD_I8LE, H5T_STD_I8BE},
        {int16, H5T_NATIVE_INT16, H5T_STD_I16LE, H5T_STD_I16BE},
        {int32, H5T_NATIVE_INT32, H5T_STD_I32LE, H5T_STD_I32BE},
        {int64, H5T_NATIVE_INT64, H5T_STD_I64LE, H5T_STD_I64BE},
        {uint8, H5T_NATIVE_UINT8, H5T_STD_U8LE, H5T_STD_U8BE},
        {uint16, H5T_NATIVE_UINT16, H5T_STD_U16LE, H5T_STD_U16BE},
        {uint32, H5T_NATIVE_UINT32, H5T_STD_U32LE, H5T_STD_U32BE},
        {uint64, H5T_NATIVE_UINT64, H5T_STD_U64LE, H5T_STD_U64BE},
    }};
}

NumberType type_of(DType dtype) {
    return number_types()[static_cast<std::size_t>(dtype) - static_cast<std::size_t>(float32)];
}

}  // namespace

hid_t native_type(DType dtype) { return type_of(dtype).native; }
hid_t file_type(DType dtype) { return type_of(dtype).little; }

std::optional<DType> number_of(hid_t type) {
    for (const NumberType& one : number_types())
        if (H5Tequal(type, one.little) > 0 || H5Tequal(type, one.big) > 0) return one.dtype;
    return std::nullopt;
}

}  // namespace caesura::store
