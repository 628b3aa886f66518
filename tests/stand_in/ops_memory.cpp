// Calls that walk over values in memory, and those that HDF5 does by reading and writing itself.
#include <cstring>

#include "spaces.hpp"
#include "types.hpp"

namespace stand_in {
namespace {

herr_t add_bytes(void* element, hid_t type, unsigned, const hsize_t*, void* to) {
    auto& sum = *static_cast<std::uint64_t*>(to);
    const std::string data = flat(type, element, 1, nullptr);
    for (const char c : data) sum = mix(sum, static_cast<unsigned char>(c));
    return 0;
}

/// Reads all, then iterates over it, as programs do that look at each element.
void iterate(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr) return;
    const hid_t id = dataset->id[step.world.leader()];
    const hid_t space = step.own(H5Dget_space(id)), type = step.own(H5Dget_type(id));
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (count <= 0 || varies(type) || has_references(type) || step.world.setting.bound > 0 ||
        step.world.setting.mpio) {
        step.applies = false;
        return;
    }
    step.code(
        "H5Dread({0}, ...); H5Diterate(buffer, H5Dget_type({0}), H5Dget_space({0}), sum, &sum);",
        dataset->name);
    step.both([&](Side& side) {
        Values values(type, static_cast<std::size_t>(count));
        values.mark(0xA5);
        side.out.result("H5Dread", H5Dread(side.of(*dataset), type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                           values.data()));
        std::uint64_t sum = 0;
        const hid_t own = H5Dget_space(side.of(*dataset));
        side.out.result("H5Diterate", H5Diterate(values.data(), type, own, add_bytes, &sum));
        side.out.number("sum", static_cast<long long>(sum));
        H5Sclose(own);
    });
}

/// An image of the file, opened from memory: what it holds has to be what was written.
void image(Step& step) {
    Handle* const file = step.pick({Kind::file});
    if (file == nullptr || step.world.setting.mpio) {  // MPI-IO has no images
        step.applies = false;
        return;
    }
    step.code("H5Fget_file_image({}, buffer, size);", file->name);
    bool natively = true;
    step.both([&](Side& side) {
        const hid_t id = side.of(*file);
        H5Fflush(id, H5F_SCOPE_GLOBAL);
        const ssize_t size = H5Fget_file_image(id, nullptr, 0);
        if (!side.out.result("size of H5Fget_file_image", size)) return;
        std::vector<char> bytes(static_cast<std::size_t>(size), 'U');
        const ssize_t got = H5Fget_file_image(id, bytes.data(), bytes.size());
        side.out.result("H5Fget_file_image", got);
        const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
        H5Pset_fapl_core(list, 65536, false);
        H5Pset_file_image(list, bytes.data(), bytes.size());
        H5Pset_vol(list, H5VL_NATIVE, nullptr);
        const hid_t opened = H5Fopen("an image", H5F_ACC_RDONLY, list);
        // Natively newer formats say in the image that the file is being written.
        if (side.which == native) natively = opened >= 0;
        H5G_info_t info{};
        if (natively) side.out.result("the image opens", opened);
        if (natively && opened >= 0 && H5Gget_info_by_name(opened, "/", &info, H5P_DEFAULT) >= 0)
            side.out.number("links in the image", static_cast<long long>(info.nlinks));
        if (opened >= 0) H5Fclose(opened);
        H5Pclose(list);
    });
}

/// Of the identifiers themselves.
void references_of_ids(Step& step) {
    Handle* const held =
        step.pick({Kind::file, Kind::group, Kind::dataset, Kind::type, Kind::attribute});
    if (held == nullptr) return;
    step.code("H5Iinc_ref({0}); H5Idec_ref({0}); H5Iis_valid({0});", held->name);
    step.both([&](Side& side) {
        const hid_t id = side.of(*held);
        side.out.number("H5Iinc_ref", H5Iinc_ref(id));
        side.out.number("H5Idec_ref", H5Idec_ref(id));
        side.out.truth("H5Iis_valid", H5Iis_valid(id));
    });
}

}  // namespace

void add_memory_operations(std::vector<Operation>& all) {
    all.insert(all.end(), {{"H5Diterate", 1, iterate},
                           {"H5Fget_file_image", 1, image},
                           {"H5Iinc_ref", 1, references_of_ids}});
}

}  // namespace stand_in
