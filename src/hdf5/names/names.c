/* libcaesura_hdf5_names.so: names for an HDF5 that shows none.
 *
 * A wheel's module holds HDF5 as an archive whose functions are hidden. The filter plugins of
 * hdf5plugin are told by the path of a library which HDF5 to call (plugin_loader.cpp, case b), and
 * look its functions up by name. This is that library: looking up a name here gives the function
 * of the module's HDF5.
 *
 * It is loaded by its path, for itself (RTLD_LOCAL), and nothing is linked to it, so its names meet
 * nobody else's. Each name is an indirect function: the dynamic linker asks find_NAME when the name
 * is looked up, which is after caesura_hdf5_take. */
#include "hdf5/names/names.h"

#define VISIBLE __attribute__((visibility("default")))

enum {
#define COUNT(name) at_##name,
    CAESURA_HDF5_FUNCTIONS(COUNT) k_functions
};

typedef void (*function)(void);
static function table[k_functions];

#define DEFINE(name)                                               \
    static function find_##name(void) { return table[at_##name]; } \
    VISIBLE void name(void) __attribute__((ifunc("find_" #name)));
CAESURA_HDF5_FUNCTIONS(DEFINE)

#define DEFINE_VARIABLE(name) VISIBLE int64_t name = -1;
CAESURA_HDF5_VARIABLES(DEFINE_VARIABLE)

VISIBLE void caesura_hdf5_take(void (*const functions[])(void), const int64_t variables[]) {
    for (int i = 0; i < k_functions; ++i) table[i] = functions[i];
#define TAKE(name) name = *variables++;
    CAESURA_HDF5_VARIABLES(TAKE)
}
