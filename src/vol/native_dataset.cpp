#include "vol/native_dataset.hpp"

#include <algorithm>
#include <array>

#include "store/hdf5_handle.hpp"
#include "vol/errors.hpp"
#include "vol/object.hpp"

namespace caesura::vol {
namespace {

H5VL_loc_params_t itself(H5I_type_t kind) {
    H5VL_loc_params_t location{};
    location.type = H5VL_OBJECT_BY_SELF;
    location.obj_type = kind;
    return location;
}

herr_t optional(void* dataset, int operation, H5VL_native_dataset_optional_args_t& args) {
    H5VL_optional_args_t call{operation, &args};
    return H5VLdataset_optional(dataset, native_connector(), &call, H5P_DATASET_XFER_DEFAULT,
                                nullptr);
}

}  // namespace

namespace {

Result<H5O_info2_t> info_of(const NativeObject& object) {
    const H5VL_loc_params_t location = itself(object.kind);
    H5O_info2_t info{};
    H5VL_object_get_args_t args{};
    args.op_type = H5VL_OBJECT_GET_INFO;
    args.args.get_info.oinfo = &info;
    args.args.get_info.fields = H5O_INFO_BASIC;
    if (H5VLobject_get(object.under, &location, native_connector(), &args, H5P_DATASET_XFER_DEFAULT,
                       nullptr) < 0)
        return store::hdf5_error(StatusCode::internal, "where an object lies");
    return info;
}

}  // namespace

Result<H5O_token_t> token_of(const NativeObject& object) {
    auto info = info_of(object);
    if (!info.ok()) return info.status();
    return info->token;
}

std::string key_of_token(const H5O_token_t& token) {
    return {reinterpret_cast<const char*>(&token), sizeof token};
}

Result<unsigned> links_of(const NativeObject& object) {
    auto info = info_of(object);
    if (!info.ok()) return info.status();
    return info->rc;
}

void* open_root_of(const NativeObject& object) {
    const H5VL_loc_params_t location = itself(object.kind);
    return H5VLgroup_open(object.under, &location, native_connector(), "/",
                          H5P_GROUP_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr);
}

Result<unsigned long> file_number_of(const NativeObject& object) {
    auto info = info_of(object);
    if (!info.ok()) return info.status();
    return info->fileno;
}

std::string path_of(const NativeObject& object) {
    const H5VL_loc_params_t location = itself(object.kind);
    std::size_t bytes = 0;
    H5VL_object_get_args_t args{};
    args.op_type = H5VL_OBJECT_GET_NAME;
    args.args.get_name.name_len = &bytes;
    const auto ask = [&] {
        return H5VLobject_get(object.under, &location, native_connector(), &args,
                              H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
    };
    if (!ask()) return {};
    std::string path(bytes + 1, '\0');
    args.args.get_name.buf = path.data();
    args.args.get_name.buf_size = path.size();
    if (!ask()) return {};
    path.resize(bytes);
    return path;
}

Result<NativeDataset> NativeDataset::open(const NativeObject& through, const H5O_token_t& token) {
    H5O_token_t at = token;
    H5VL_loc_params_t location{};
    location.type = H5VL_OBJECT_BY_TOKEN;
    location.obj_type = through.kind;
    location.loc_data.loc_by_token.token = &at;
    H5I_type_t kind = H5I_BADID;
    void* const under = H5VLobject_open(through.under, &location, native_connector(), &kind,
                                        H5P_DATASET_XFER_DEFAULT, nullptr);
    if (under == nullptr) return store::hdf5_error(StatusCode::internal, "opening a dataset again");
    return NativeDataset(under);
}

NativeDataset& NativeDataset::operator=(NativeDataset&& other) noexcept {
    if (this != &other) {
        close();
        under_ = std::exchange(other.under_, nullptr);
    }
    return *this;
}

void NativeDataset::close() {
    if (under_ == nullptr) return;
    const KeepErrors keep;
    H5VLdataset_close(std::exchange(under_, nullptr), native_connector(), H5P_DATASET_XFER_DEFAULT,
                      nullptr);
}

herr_t NativeDataset::write_chunk(const hsize_t* offset, std::uint32_t mask, const void* buffer,
                                  std::size_t bytes) const {
    H5VL_native_dataset_optional_args_t args{};
    args.chunk_write.offset = offset;
    args.chunk_write.filters = mask;
    args.chunk_write.size = static_cast<decltype(args.chunk_write.size)>(bytes);
    args.chunk_write.buf = buffer;
    return optional(under_, H5VL_NATIVE_DATASET_CHUNK_WRITE, args);
}

void forget_last_mask(void* dataset, const hsize_t* offset) {
    const KeepErrors keep;
    const store::QuietErrors quiet;  // that other chunk need not be there
    H5VL_dataset_get_args_t get{};
    get.op_type = H5VL_DATASET_GET_SPACE;
    if (H5VLdataset_get(dataset, native_connector(), &get, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
        return;
    const store::Handle space(get.args.get_space.space_id, H5Sclose);
    get.op_type = H5VL_DATASET_GET_DCPL;
    if (H5VLdataset_get(dataset, native_connector(), &get, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
        return;
    const store::Handle creation(get.args.get_dcpl.dcpl_id, H5Pclose);
    std::array<hsize_t, H5S_MAX_RANK> most{}, chunk{}, other{};
    const int rank = H5Sget_simple_extent_dims(space.get(), nullptr, most.data());
    if (H5Pget_chunk(creation.get(), rank, chunk.data()) != rank) return;
    // Along an axis that has or may get several: an index of fixed size knows no others. Where
    // there is one chunk for good there is no such index, and any place will do.
    std::size_t axis = 0;
    for (int i = rank - 1; i >= 0; --i)
        if (most[static_cast<std::size_t>(i)] > chunk[static_cast<std::size_t>(i)])
            axis = static_cast<std::size_t>(i);
    std::copy_n(offset, rank, other.begin());
    other[axis] = offset[axis] > 0 ? offset[axis] - chunk[axis] : chunk[axis];
    hsize_t bytes = 0;
    H5VL_native_dataset_optional_args_t args{};
    args.get_chunk_storage_size = {other.data(), &bytes};
    optional(dataset, H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE, args);  // there or not
}

bool lies_in_one_piece(void* dataset) {
    haddr_t address = HADDR_UNDEF;
    H5VL_native_dataset_optional_args_t args{};
    args.get_offset.offset = &address;
    return optional(dataset, H5VL_NATIVE_DATASET_GET_OFFSET, args) >= 0 && address != HADDR_UNDEF;
}

Result<bool> NativeDataset::has_chunk(const hsize_t* offset) const {
    // Its size, which the library looks up. Information by coordinates goes through all chunks, and
    // misses those of an index whose axis that grows is not the first (HDF5 1.14.5). Where there is
    // no chunk the size stays as it was; one that a read has put into the cache alone is an error.
    hsize_t bytes = 0;
    H5VL_native_dataset_optional_args_t args{};
    args.get_chunk_storage_size = {offset, &bytes};
    {
        const KeepErrors keep;
        const store::QuietErrors quiet;
        if (optional(under_, H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE, args) >= 0)
            return bytes > 0;
    }
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    args.get_chunk_info_by_coord = {offset, &mask, &address, &bytes};
    if (optional(under_, H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD, args) < 0)
        return store::hdf5_error(StatusCode::internal, "looking for a chunk");
    return address != HADDR_UNDEF;
}

herr_t NativeDataset::read(hid_t memory_type, hid_t memory_space, hid_t file_space, hid_t transfer,
                           void* memory) const {
    void* dataset = under_;
    return H5VLdataset_read(1, &dataset, native_connector(), &memory_type, &memory_space,
                            &file_space, transfer, &memory, nullptr);
}

herr_t flush_native(const NativeObject& through) {
    H5VL_file_specific_args_t args{};
    args.op_type = H5VL_FILE_FLUSH;
    args.args.flush.obj_type = through.kind;
    args.args.flush.scope = H5F_SCOPE_GLOBAL;
    return H5VLfile_specific(through.under, native_connector(), &args, H5P_DATASET_XFER_DEFAULT,
                             nullptr);
}

}  // namespace caesura::vol
