! caesura_put, caesura_put_particles and caesura_read for each kind of number: one module each, of
! which the generic names become one where they are used together.
#define MODULE caesura_arrays_float32
#define VALUE real(real32)
#define DTYPE caesura_float32
#include "arrays.inc"
#define MODULE caesura_arrays_float64
#define VALUE real(real64)
#define DTYPE caesura_float64
#include "arrays.inc"
#define MODULE caesura_arrays_int8
#define VALUE integer(int8)
#define DTYPE caesura_int8
#include "arrays.inc"
#define MODULE caesura_arrays_int16
#define VALUE integer(int16)
#define DTYPE caesura_int16
#include "arrays.inc"
#define MODULE caesura_arrays_int32
#define VALUE integer(int32)
#define DTYPE caesura_int32
#include "arrays.inc"
#define MODULE caesura_arrays_int64
#define VALUE integer(int64)
#define DTYPE caesura_int64
#include "arrays.inc"
#define MODULE caesura_arrays_bool
#define VALUE logical(c_bool)
#define DTYPE caesura_bool
#include "arrays.inc"
#define MODULE caesura_arrays_complex64
#define VALUE complex(real32)
#define DTYPE caesura_complex64
#include "arrays.inc"
#define MODULE caesura_arrays_complex128
#define VALUE complex(real64)
#define DTYPE caesura_complex128
#include "arrays.inc"
