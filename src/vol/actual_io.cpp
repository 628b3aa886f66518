#include "vol/actual_io.hpp"

#include "vol/errors.hpp"

namespace caesura::vol {
namespace {

/// The library's names of its properties, which its public headers do not have.
template <class Value>
void set(hid_t list, const char* name, Value value) {
    if (H5Pexist(list, name) > 0) H5Pset(list, name, &value);
}

}  // namespace

void say_actual_io(hid_t transfer, const ActualIo& actual) {
    if (transfer == H5P_DATASET_XFER_DEFAULT) return;
    const KeepErrors keep;
    unsigned mode = H5D_MPIO_NO_COLLECTIVE;
    if (actual.collective && actual.contiguous) mode |= H5D_MPIO_CONTIGUOUS_COLLECTIVE;
    if (actual.collective && actual.chunked) mode |= H5D_MPIO_CHUNK_COLLECTIVE;
    set(transfer, "actual_io_mode", static_cast<H5D_mpio_actual_io_mode_t>(mode));
    set(transfer, "actual_chunk_opt_mode",
        actual.collective && actual.chunked ? H5D_MPIO_LINK_CHUNK : H5D_MPIO_NO_CHUNK_OPTIMIZATION);
    const std::uint32_t cause = actual.collective ? H5D_MPIO_COLLECTIVE : H5D_MPIO_SET_INDEPENDENT;
    set(transfer, "local_no_collective_cause", cause);
    set(transfer, "global_no_collective_cause", cause);
}

}  // namespace caesura::vol
