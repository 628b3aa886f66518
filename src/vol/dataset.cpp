// H5D: datasets. Those of files that are not captured are handed on; those of captured ones are
// made and opened so that every rank's image stays alike, and read and written without MPI-IO.
#include <fmt/format.h>

#include "vol/callbacks.hpp"
#include "vol/captured_dataset.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {
namespace {

/// Arguments of a call on several datasets, as the connector below wants them.
struct Transfer {
    std::size_t count;
    void** datasets;
    hid_t *memory_types, *memory_spaces, *file_spaces;
    hid_t list;
    void** request_slot;
    const Object& first() const { return object_of(datasets[0]); }
    std::vector<void*> under() const {
        std::vector<void*> all(count);
        for (std::size_t i = 0; i < count; ++i) all[i] = object_of(datasets[i]).under;
        return all;
    }
};

/// The captured files of a call's datasets, each once.
std::vector<CapturedFile*> files_of(const Transfer& call) {
    std::vector<CapturedFile*> files;
    for (std::size_t i = 0; i < call.count; ++i) {
        CapturedFile* const file = object_of(call.datasets[i]).file.get();
        if (file != nullptr && std::find(files.begin(), files.end(), file) == files.end())
            files.push_back(file);
    }
    return files;
}

herr_t dataset_read(std::size_t count, void* datasets[], hid_t memory_types[],
                    hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer, void* buffers[],
                    void** request_slot) {
    return guarded([&] {
        const Transfer call{count,       datasets, memory_types, memory_spaces,
                            file_spaces, transfer, request_slot};
        const ImageTransfer moving = image_transfer(call.first().file.get(), transfer);
        for (std::size_t i = 0; i < count; ++i)
            if (const Status status = may_read(object_of(datasets[i])); !status.ok())
                return fail(status);
        // A collective read sees what all ranks wrote before it.
        if (moving.was_collective)
            for (CapturedFile* const file : files_of(call))
                if (const Status status = file->drain(); !status.ok()) return fail(status);
        const Request request(call.first(), request_slot);
        auto under = call.under();
        const herr_t read =
            H5VLdataset_read(count, under.data(), call.first().connector, memory_types,
                             memory_spaces, file_spaces, moving.list, buffers, request_slot);
        // Nobody goes on to change what another rank is still reading.
        if (moving.was_collective) {
            const KeepErrors keep;
            for (CapturedFile* const file : files_of(call))
                if (const Status status = file->drain(); !status.ok()) return k_failure<herr_t>;
        }
        return read;
    });
}

herr_t dataset_write(std::size_t count, void* datasets[], hid_t memory_types[],
                     hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer,
                     const void* buffers[], void** request_slot) {
    return guarded([&] {
        const Transfer call{count,       datasets, memory_types, memory_spaces,
                            file_spaces, transfer, request_slot};
        const ImageTransfer moving = image_transfer(call.first().file.get(), transfer);
        for (std::size_t i = 0; i < count; ++i)
            if (const Status status = may_write(object_of(datasets[i]), memory_types[i]);
                !status.ok())
                return fail(status);
        const Request request(call.first(), request_slot);
        auto under = call.under();
        const herr_t written =
            H5VLdataset_write(count, under.data(), call.first().connector, memory_types,
                              memory_spaces, file_spaces, moving.list, buffers, request_slot);
        if (written < 0) return written;
        // What a collective write has written is there for all ranks when it returns anywhere.
        for (CapturedFile* const file : files_of(call)) {
            const Status status = moving.was_collective ? file->drain() : file->write_through();
            if (!status.ok()) return fail(status);
        }
        return written;
    });
}

void* dataset_create(void* object, const H5VL_loc_params_t* location, const char* name,
                     hid_t link_creation, hid_t type, hid_t space, hid_t creation, hid_t access,
                     hid_t transfer, void** request_slot) {
    return guarded([&]() -> void* {
        const Object& at = object_of(object);
        if (at.file == nullptr)
            return MakesAtLocation<H5VLdataset_create, H5I_DATASET>::call(
                object, location, name, link_creation, type, space, creation, access, transfer,
                request_slot);
        auto made = object_near(at, H5I_DATASET);
        auto prepared = prepare_dataset(at, location, name, type, space, creation, access);
        if (!prepared.ok()) return fail<void*>(prepared.status());
        const Request request(at, request_slot);
        made->dataset = prepared->dataset;
        return adopt(std::move(made), at.file->filling([&] {
            return H5VLdataset_create(at.under, location, at.connector, name, link_creation, type,
                                      space, prepared->creation.get(), prepared->access.get(),
                                      transfer, request_slot);
        }));
    });
}

void* dataset_open(void* object, const H5VL_loc_params_t* location, const char* name, hid_t access,
                   hid_t transfer, void** request_slot) {
    return guarded([&]() -> void* {
        const Object& at = object_of(object);
        if (at.file == nullptr)
            return MakesAtLocation<H5VLdataset_open, H5I_DATASET>::call(
                object, location, name, access, transfer, request_slot);
        auto opened = object_near(at, H5I_DATASET);
        const Request request(at, request_slot);
        opened->dataset = std::make_shared<CapturedDataset>();
        const store::Handle list = image_access(*at.file, access, *opened->dataset);
        if (!list.ok()) return nullptr;
        opened->under = H5VLdataset_open(at.under, location, at.connector, name, list.get(),
                                         transfer, request_slot);
        if (opened->under == nullptr) return nullptr;
        inspect_dataset(*opened);
        return opened.release();
    });
}

/// The application gets back the lists that it gave.
herr_t dataset_get(void* object, H5VL_dataset_get_args_t* args, hid_t transfer,
                   void** request_slot) {
    const std::shared_ptr<CapturedDataset> dataset = object_of(object).dataset;
    if (dataset != nullptr && dataset->creation.ok() && args->op_type == H5VL_DATASET_GET_DCPL) {
        hid_t& creation = args->args.get_dcpl.dcpl_id;
        creation = H5Pcopy(dataset->creation.get());
        return creation < 0 ? -1 : 0;
    }
    const herr_t status = OnObject<H5VLdataset_get>::call(object, args, transfer, request_slot);
    if (status < 0 || dataset == nullptr || args->op_type != H5VL_DATASET_GET_DAPL) return status;
    return H5Pset_chunk_cache(args->args.get_dapl.dapl_id, dataset->cache_slots,
                              dataset->cache_bytes, dataset->cache_preemption);
}

/// H5Dset_extent may allocate chunks, on all ranks alike.
herr_t dataset_specific(void* object, H5VL_dataset_specific_args_t* args, hid_t transfer,
                        void** request_slot) {
    return guarded([&] {
        const auto call = [&] {
            return OnObject<H5VLdataset_specific>::call(object, args, transfer, request_slot);
        };
        const std::shared_ptr<CapturedFile> file = object_of(object).file;
        if (file == nullptr || args->op_type != H5VL_DATASET_SET_EXTENT) return call();
        return file->filling(call);
    });
}

/// The native connector's operations on chunks, by its numbers.
herr_t dataset_optional(void* object, H5VL_optional_args_t* args, hid_t transfer,
                        void** request_slot) {
    return guarded([&] {
        const Object& on = object_of(object);
        if (on.file == nullptr)
            return OnObject<H5VLdataset_optional>::call(object, args, transfer, request_slot);
        if (args->op_type == H5VL_NATIVE_DATASET_CHUNK_WRITE && on.dataset != nullptr &&
            on.dataset->creation.ok() && H5Pget_nfilters(on.dataset->creation.get()) > 0 &&
            on.file->shared())
            return fail({StatusCode::unsupported,
                         on.file->name() + ": chunks that the application has filtered cannot be "
                                           "written by several processes"});
        const ImageTransfer moving = image_transfer(on.file.get(), transfer);
        const std::shared_ptr<CapturedFile> file = on.file;
        const herr_t status =
            OnObject<H5VLdataset_optional>::call(object, args, moving.list, request_slot);
        return status < 0 ? status : done(file->write_through());
    });
}

}  // namespace

H5VL_dataset_class_t dataset_callbacks() {
    H5VL_dataset_class_t table{};
    table.create = dataset_create;
    table.open = dataset_open;
    table.read = dataset_read;
    table.write = dataset_write;
    table.get = dataset_get;
    table.specific = dataset_specific;
    table.optional = dataset_optional;
    table.close = Closes<H5VLdataset_close>::call;
    return table;
}

}  // namespace caesura::vol
