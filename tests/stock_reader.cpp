#include "stock_reader.hpp"

#include <hdf5.h>

#include <algorithm>

namespace caesura::testing {
namespace {

// A test asks for things that are not there; HDF5 need not print that.
struct Quiet {
    H5E_auto2_t function = nullptr;
    void* data = nullptr;
    Quiet() {
        H5Eget_auto2(H5E_DEFAULT, &function, &data);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
    ~Quiet() { H5Eset_auto2(H5E_DEFAULT, function, data); }
};

// Our own plugin comes from this build, whatever HDF5_PLUGIN_PATH says.
void find_our_plugin() {
    static const bool found = H5PLprepend(CAESURA_TEST_PLUGINS) >= 0;
    (void)found;
}

herr_t note_name(hid_t, const char* name, const H5L_info_t*, void* out) {
    static_cast<std::vector<std::int64_t>*>(out)->push_back(std::stoll(name));
    return 0;
}

}  // namespace

StockDataset read_dataset(const std::string& path, const std::string& dataset) {
    const Quiet quiet;
    find_our_plugin();
    StockDataset result;
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) return result;
    const hid_t id = H5Dopen2(file, dataset.c_str(), H5P_DEFAULT);
    if (id >= 0) {
        const hid_t space = H5Dget_space(id);
        std::vector<hsize_t> dims(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
        H5Sget_simple_extent_dims(space, dims.data(), nullptr);
        result.values.resize(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
        if (H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.values.data()) >=
            0)
            result.shape.assign(dims.begin(), dims.end());
        H5Sclose(space);
        H5Dclose(id);
    }
    H5Fclose(file);
    return result;
}

std::vector<std::int64_t> iterations(const std::string& path) {
    const Quiet quiet;
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) return {-1};
    std::vector<std::int64_t> numbers;
    const hid_t data = H5Gopen2(file, "/data", H5P_DEFAULT);
    if (data >= 0) {
        H5Literate(data, H5_INDEX_NAME, H5_ITER_INC, nullptr, note_name, &numbers);
        H5Gclose(data);
    }
    H5Fclose(file);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

bool filter_available(unsigned id) {
    const Quiet quiet;
    find_our_plugin();
    return H5Zfilter_avail(static_cast<H5Z_filter_t>(id)) > 0;
}

}  // namespace caesura::testing
