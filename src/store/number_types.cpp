#include "store/number_types.hpp"

#include <algorithm>
#include <array>

namespace caesura::store {
namespace {

struct NumberType {
    DType dtype;
    hid_t native, little, big;
};

/// Those that HDF5 has. Each of its names of types is a call; the variables behind them are not.
std::array<NumberType, 10> number_types() {
    H5open();
    return {{
        {float32, H5T_NATIVE_FLOAT_g, H5T_IEEE_F32LE_g, H5T_IEEE_F32BE_g},
        {float64, H5T_NATIVE_DOUBLE_g, H5T_IEEE_F64LE_g, H5T_IEEE_F64BE_g},
        {int8, H5T_NATIVE_INT8_g, H5T_STD_I8LE_g, H5T_STD_I8BE_g},
        {int16, H5T_NATIVE_INT16_g, H5T_STD_I16LE_g, H5T_STD_I16BE_g},
        {int32, H5T_NATIVE_INT32_g, H5T_STD_I32LE_g, H5T_STD_I32BE_g},
        {int64, H5T_NATIVE_INT64_g, H5T_STD_I64LE_g, H5T_STD_I64BE_g},
        {uint8, H5T_NATIVE_UINT8_g, H5T_STD_U8LE_g, H5T_STD_U8BE_g},
        {uint16, H5T_NATIVE_UINT16_g, H5T_STD_U16LE_g, H5T_STD_U16BE_g},
        {uint32, H5T_NATIVE_UINT32_g, H5T_STD_U32LE_g, H5T_STD_U32BE_g},
        {uint64, H5T_NATIVE_UINT64_g, H5T_STD_U64LE_g, H5T_STD_U64BE_g},
    }};
}

NumberType number_type_of(DType dtype) {
    return number_types()[static_cast<std::size_t>(dtype) - static_cast<std::size_t>(float32)];
}

/// As h5py stores numpy's bool.
Handle boolean_type() {
    Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
    const std::int8_t no = 0, yes = 1;
    H5Tenum_insert(type.get(), "FALSE", &no);
    H5Tenum_insert(type.get(), "TRUE", &yes);
    return type;
}

/// h5py makes float16 so; HDF5 has such types of its own from 1.14.4 and 2.0 on, equal to these.
Handle short_float_type(DType dtype, H5T_order_t order) {
    Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
    const bool half = dtype == float16;
    H5Tset_fields(type.get(), 15, half ? 10 : 7, half ? 5 : 8, 0, half ? 10 : 7);
    H5Tset_size(type.get(), 2);
    H5Tset_ebias(type.get(), half ? 15 : 127);
    H5Tset_order(type.get(), order);
    return type;
}

/// As h5py stores numpy's complex numbers.
Handle complex_type(const Handle& number) {
    const std::size_t bytes = H5Tget_size(number.get());
    Handle type(H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose);
    H5Tinsert(type.get(), "r", 0, number.get());
    H5Tinsert(type.get(), "i", bytes, number.get());
    return type;
}

Handle type_of(DType dtype, bool native) {
    if (dtype == boolean) return boolean_type();
    if (is_complex(dtype)) return complex_type(type_of(number_type(dtype), native));
    if (is_short_float(dtype))
        return short_float_type(dtype, native ? H5Tget_order(H5T_NATIVE_INT) : H5T_ORDER_LE);
    const NumberType type = number_type_of(dtype);
    return Handle(H5Tcopy(native ? type.native : type.little), H5Tclose);
}

bool is(hid_t type, const Handle& other) { return H5Tequal(type, other.get()) > 0; }

}  // namespace

Handle native_type(DType dtype) { return type_of(dtype, true); }
Handle file_type(DType dtype) { return type_of(dtype, false); }

std::optional<DType> number_of(hid_t type) {
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_FLOAT || kind == H5T_INTEGER) {
        const std::size_t bytes = H5Tget_size(type);
        for (const NumberType& one : number_types())
            if (size_of(one.dtype) == bytes &&
                (H5Tequal(type, one.little) > 0 || H5Tequal(type, one.big) > 0))
                return one.dtype;
    }
    if (kind == H5T_ENUM && is(type, boolean_type())) return boolean;
    if (kind != H5T_FLOAT || H5Tget_size(type) != 2) return std::nullopt;
    for (const DType dtype : {float16, bfloat16})
        for (const H5T_order_t order : {H5T_ORDER_LE, H5T_ORDER_BE})
            if (is(type, short_float_type(dtype, order))) return dtype;
    return std::nullopt;
}

bool is_native(hid_t type, DType dtype) {
    if (dtype == boolean || is_complex(dtype) || is_short_float(dtype))
        return is(type, native_type(dtype));
    return H5Tequal(type, number_type_of(dtype).native) > 0;
}

}  // namespace caesura::store
