#include "store/number_types.hpp"

#include <algorithm>
#include <array>

namespace caesura::store {
namespace {

struct NumberType {
    DType dtype;
    hid_t native, little, big;
};

/// Those that HDF5 has. Its names of types are calls, so that this is no constant.
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
    const NumberType type =
        number_types()[static_cast<std::size_t>(dtype) - static_cast<std::size_t>(float32)];
    return Handle(H5Tcopy(native ? type.native : type.little), H5Tclose);
}

bool is(hid_t type, const Handle& other) { return H5Tequal(type, other.get()) > 0; }

}  // namespace

Handle native_type(DType dtype) { return type_of(dtype, true); }
Handle file_type(DType dtype) { return type_of(dtype, false); }

std::optional<DType> number_of(hid_t type) {
    for (const NumberType& one : number_types())
        if (H5Tequal(type, one.little) > 0 || H5Tequal(type, one.big) > 0) return one.dtype;
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_ENUM && is(type, boolean_type())) return boolean;
    if (kind != H5T_FLOAT || H5Tget_size(type) != 2) return std::nullopt;
    for (const DType dtype : {float16, bfloat16})
        for (const H5T_order_t order : {H5T_ORDER_LE, H5T_ORDER_BE})
            if (is(type, short_float_type(dtype, order))) return dtype;
    return std::nullopt;
}

}  // namespace caesura::store
