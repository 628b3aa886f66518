// What H5Pget_mpio_actual_* say of a transfer list after a call on a captured file.
#pragma once

#include <hdf5.h>

namespace caesura::vol {

/// How a call was made, as far as these properties tell it apart.
struct ActualIo {
    bool collective = false, contiguous = false, chunked = false;
};

/// As natively: a collective call was one for each kind of layout that the application gave its
/// datasets, and nothing stood in its way. A value that HDF5 refuses to set is no error.
void say_actual_io(hid_t transfer, const ActualIo& actual);

}  // namespace caesura::vol
