// H5D: datasets.
#include <vector>

#include "vol/callbacks.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {
namespace {

/// The native connector's datasets of a call on several.
std::vector<void*> under_all(std::size_t count, void* const datasets[]) {
    std::vector<void*> under(count);
    for (std::size_t i = 0; i < count; ++i) under[i] = object_of(datasets[i]).under;
    return under;
}

herr_t dataset_read(std::size_t count, void* datasets[], hid_t memory_types[],
                    hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer, void* buffers[],
                    void** request_slot) {
    return guarded([&] {
        const Object& first = object_of(datasets[0]);
        const Request request(first, request_slot);
        auto under = under_all(count, datasets);
        return H5VLdataset_read(count, under.data(), first.connector, memory_types, memory_spaces,
                                file_spaces, transfer, buffers, request_slot);
    });
}

herr_t dataset_write(std::size_t count, void* datasets[], hid_t memory_types[],
                     hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer,
                     const void* buffers[], void** request_slot) {
    return guarded([&] {
        const Object& first = object_of(datasets[0]);
        const Request request(first, request_slot);
        auto under = under_all(count, datasets);
        return H5VLdataset_write(count, under.data(), first.connector, memory_types, memory_spaces,
                                 file_spaces, transfer, buffers, request_slot);
    });
}

}  // namespace

H5VL_dataset_class_t dataset_callbacks() {
    H5VL_dataset_class_t table{};
    table.create = MakesAtLocation<H5VLdataset_create, H5I_DATASET>::call;
    table.open = MakesAtLocation<H5VLdataset_open, H5I_DATASET>::call;
    table.read = dataset_read;
    table.write = dataset_write;
    table.get = OnObject<H5VLdataset_get>::call;
    table.specific = OnObject<H5VLdataset_specific>::call;
    table.optional = OnObject<H5VLdataset_optional>::call;
    table.close = Closes<H5VLdataset_close>::call;
    return table;
}

}  // namespace caesura::vol
