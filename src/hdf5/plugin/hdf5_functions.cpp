#include "hdf5/plugin/hdf5_functions.hpp"

#include <H5Dpublic.h>
#include <H5Epublic.h>
#include <dlfcn.h>

#include <type_traits>

#include "hdf5/filter/filter.hpp"

namespace caesura::hdf5 {
namespace {

static_assert(sizeof(hid_t) == 8, "HDF5 1.8 and older have ids of 4 bytes");
static_assert(sizeof(hsize_t) == 8 && sizeof(herr_t) == 4 && sizeof(H5T_class_t) == 4);
static_assert(sizeof(H5D_fill_value_t) == sizeof(int) && H5D_FILL_VALUE_UNDEFINED == 0);
static_assert(H5T_FLOAT == 1 && H5T_ARRAY == 10 && H5T_ORDER_LE == 0 && H5T_ORDER_BE == 1 &&
              H5T_NORM_IMPLIED == 0);

template <class Function>
bool find(void* module, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(module, name));
    return function != nullptr;
}

bool find_all(void* module, Hdf5Functions& functions) {
    functions.module = module;
    return find(module, "H5Pget_filter_by_id2", functions.get_filter_by_id) &&
           find(module, "H5Pmodify_filter", functions.modify_filter) &&
           find(module, "H5Pget_filter2", functions.get_filter) &&
           find(module, "H5Pget_chunk", functions.get_chunk) &&
           find(module, "H5Pfill_value_defined", functions.fill_defined) &&
           find(module, "H5Pget_fill_value", functions.get_fill) &&
           find(module, "H5Tget_class", functions.type_class) &&
           find(module, "H5Tget_size", functions.type_size) &&
           find(module, "H5Tget_order", functions.type_order) &&
           find(module, "H5Tget_precision", functions.type_precision) &&
           find(module, "H5Tget_fields", functions.type_fields) &&
           find(module, "H5Tget_ebias", functions.type_exponent_bias) &&
           find(module, "H5Tget_norm", functions.type_norm) &&
           find(module, "H5Tget_super", functions.type_super) &&
           find(module, "H5Tget_nmembers", functions.type_members) &&
           find(module, "H5Tget_member_type", functions.type_member) &&
           find(module, "H5Tclose", functions.type_close);
}

/// A handle on the loaded file that the address lies in; it stays loaded, as it is calling us.
void* module_of(const void* address) {
    Dl_info about{};
    if (dladdr(address, &about) == 0 || about.dli_fname == nullptr) return nullptr;
    void* module = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (module != nullptr) dlclose(module);  // only the count: the file is in use below us
    return module;
}

}  // namespace

bool find_hdf5(const void* return_address, Hdf5Functions& functions) {
    // The caller first. Its handle also finds what it is linked to, so a library that calls filters
    // itself leads to its own HDF5. The global scope may hold another HDF5 than the one at work: a
    // program linked to its own that also loads h5py.
    if (void* caller = module_of(return_address); caller != nullptr && find_all(caller, functions))
        return true;
    return find_all(RTLD_DEFAULT, functions);
}

void Hdf5Functions::push_error(const std::string& message) const {
    using Push = herr_t (*)(hid_t, const char*, const char*, unsigned, hid_t, hid_t, hid_t,
                            const char*, ...);
    Push push = nullptr;
    const hid_t* error_class = nullptr;
    const hid_t* major = nullptr;
    const hid_t* minor = nullptr;
    if (!find(module, "H5Epush2", push) || !find(module, "H5E_ERR_CLS_g", error_class) ||
        !find(module, "H5E_PLINE_g", major) || !find(module, "H5E_BADVALUE_g", minor))
        return;
    push(H5E_DEFAULT, "libh5caesura", k_filter_name, 0, *error_class, *major, *minor, "%s",
         message.c_str());
}

}  // namespace caesura::hdf5
