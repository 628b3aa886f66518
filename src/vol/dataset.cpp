// H5D: datasets. Those of files that are not captured are handed on; those of captured ones are
// made and opened so that every rank's image stays alike, and read and written without MPI-IO.
#include <fmt/format.h>

#include <cstring>

#include "hdf5/filter/decoded_marks.hpp"
#include "hdf5/filter/filter.hpp"
#include "vol/actual_io.hpp"
#include "vol/block_calls.hpp"
#include "vol/callbacks.hpp"
#include "vol/chunk_calls.hpp"
#include "vol/chunk_offsets.hpp"
#include "vol/forward.hpp"
#include "vol/found_datasets.hpp"
#include "vol/other_sources.hpp"

namespace caesura::vol {
namespace {

/// Arguments of a call on several datasets.
template <class Buffer>
struct Transfer {
    std::size_t count;
    void** datasets;
    hid_t *memory_types, *memory_spaces, *file_spaces;
    Buffer* buffers;
    const Object& object(std::size_t i) const { return object_of(datasets[i]); }
};

/// The connector below does not read it.
bool is_read_here(const Object& dataset) {
    return block_of(dataset) != nullptr || has_other_sources(dataset);
}

/// Those of them that the connector below does.
template <class Buffer>
struct NativeTransfer {
    explicit NativeTransfer(const Transfer<Buffer>& call) {
        for (std::size_t i = 0; i < call.count; ++i) {
            if (is_read_here(call.object(i))) continue;
            datasets.push_back(call.object(i).under);
            memory_types.push_back(call.memory_types[i]);
            memory_spaces.push_back(call.memory_spaces[i]);
            file_spaces.push_back(call.file_spaces[i]);
            buffers.push_back(call.buffers[i]);
        }
    }
    std::vector<void*> datasets;
    std::vector<hid_t> memory_types, memory_spaces, file_spaces;
    std::vector<Buffer> buffers;
};

/// The captured files of a call's datasets, each once, with the dataset to go through.
template <class Buffer>
std::vector<const Object*> files_of(const Transfer<Buffer>& call) {
    std::vector<const Object*> files;
    for (std::size_t i = 0; i < call.count; ++i) {
        const Object& one = call.object(i);
        const auto same = [&](const Object* other) { return other->file == one.file; };
        if (one.file != nullptr && std::none_of(files.begin(), files.end(), same))
            files.push_back(&one);
    }
    return files;
}

/// After a call, for who asks the transfer list how it went: HDF5 says so of MPI-IO alone.
template <class Buffer>
void say_actual_io(const Transfer<Buffer>& call, hid_t transfer, bool collective) {
    ActualIo actual{collective};
    for (std::size_t i = 0; i < call.count; ++i) {
        const Object& one = call.object(i);
        if (one.file == nullptr || one.file->alone()) return;
        const bool chunked = one.dataset != nullptr && one.dataset->creation().ok() &&
                             H5Pget_layout(one.dataset->creation().get()) == H5D_CHUNKED;
        (chunked ? actual.chunked : actual.contiguous) = true;
    }
    say_actual_io(transfer, actual);
}

NativeObject through(const Object& dataset) { return {dataset.under, H5I_DATASET}; }

bool is_virtual(const Object& dataset) {
    return dataset.dataset != nullptr && dataset.dataset->is_virtual;
}

/// A collective read sees what all ranks wrote before it. HDF5 itself reads the sources of a
/// virtual dataset, which may be blocks that wait.
Status settle_for(const Transfer<void*>& call, bool collective) {
    if (collective) {
        for (const Object* const one : files_of(call))
            if (Status status = one->file->settle(through(*one)); !status.ok()) return status;
        return {};
    }
    for (std::size_t i = 0; i < call.count; ++i)
        if (is_virtual(call.object(i)))
            if (Status status =
                    call.object(i).file->settle_alone(through(call.object(i)), "a virtual dataset");
                !status.ok())
                return status;
    return {};
}

/// Before HDF5 itself writes into the sources of a virtual dataset: what waits for them is older,
/// and so are their chunks that were decoded.
Status settle_for_sources(const Transfer<const void*>& call) {
    for (std::size_t i = 0; i < call.count; ++i) {
        const Object& dataset = call.object(i);
        if (!is_virtual(dataset)) continue;
        if (dataset.file->shared())
            return {StatusCode::unsupported,
                    dataset.file->name() +
                        ": several ranks cannot write through a virtual dataset; "
                        "write its sources"};
        if (Status status = dataset.file->settle(through(dataset)); !status.ok()) return status;
        if (BlockIo* const blocks = dataset.file->blocks_or_null()) blocks->release();
    }
    return {};
}

/// HDF5 takes datasets of one file in a call.
template <class Buffer>
Status lie_in_one_file(const Transfer<Buffer>& call) {
    const CapturedFile* const first = call.object(0).file.get();
    for (std::size_t i = 1; i < call.count; ++i)
        if (const CapturedFile* const other = call.object(i).file.get(); other != first)
            return {StatusCode::invalid_argument,
                    fmt::format("datasets of two files in one call: {}",
                                (other == nullptr ? first : other)->name())};
    return {};
}

herr_t dataset_read(std::size_t count, void* datasets[], hid_t memory_types[],
                    hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer, void* buffers[],
                    void** request_slot) {
    return guarded([&] {
        const Transfer<void*> call{count,         datasets,    memory_types,
                                   memory_spaces, file_spaces, buffers};
        if (const Status status = lie_in_one_file(call); !status.ok()) return fail(status);
        const Object& first = call.object(0);
        const ImageTransfer list = image_transfer(first.file.get(), transfer);
        for (std::size_t i = 0; i < count; ++i)
            if (const Status status = may_read(call.object(i)); !status.ok()) return fail(status);
        if (const Status status = settle_for(call, list.was_collective); !status.ok())
            return fail(status);
        for (std::size_t i = 0; i < count; ++i) {
            if (!is_read_here(call.object(i))) continue;
            const Status status =
                has_other_sources(call.object(i))
                    ? read_other_sources(call.object(i), memory_types[i], memory_spaces[i],
                                         file_spaces[i], buffers[i])
                    : read_blocks(call.object(i), memory_types[i], memory_spaces[i], file_spaces[i],
                                  list.list, buffers[i], list.was_collective);
            if (!status.ok()) return fail(status);
        }
        say_actual_io(call, transfer, list.was_collective);
        NativeTransfer native(call);
        if (native.datasets.empty()) return 0;
        const Request request(first, request_slot);
        const herr_t read = H5VLdataset_read(native.datasets.size(), native.datasets.data(),
                                             first.connector, native.memory_types.data(),
                                             native.memory_spaces.data(), native.file_spaces.data(),
                                             list.list, native.buffers.data(), request_slot);
        // Nobody goes on to change what another rank is still reading.
        if (list.was_collective) {
            const KeepErrors keep;
            for (const Object* const one : files_of(call))
                if (const Status status = one->file->drain(); !status.ok())
                    return k_failure<herr_t>;
        }
        return read;
    });
}

/// This rank's part of a write that became blocks.
Status write_all_blocks(const Transfer<const void*>& call, hid_t transfer, bool collective) {
    Status first;
    for (std::size_t i = 0; i < call.count; ++i) {
        BlockIo::Dataset* const block = block_of(call.object(i));
        if (block == nullptr) continue;
        block->others_may_have_written |= collective;
        block->writes_together += collective ? 1 : 0;  // on all ranks, whatever fails here
        Status status = write_blocks(call.object(i), call.memory_types[i], call.memory_spaces[i],
                                     call.file_spaces[i], transfer, call.buffers[i], collective);
        if (first.ok()) first = std::move(status);
    }
    return first;
}

/// Before a collective write of data that do not become blocks.
Status keep_order(const Transfer<const void*>& call) {
    for (const Object* const one : files_of(call)) {
        std::vector<H5O_token_t> written;
        for (std::size_t i = 0; i < call.count; ++i) {
            const Object& dataset = call.object(i);
            if (dataset.file != one->file || block_of(dataset) != nullptr) continue;
            const auto token = token_of(through(dataset));
            if (!token.ok()) return token.status();
            written.push_back(*token);
        }
        if (Status status = one->file->before_writing_together(written); !status.ok())
            return status;
    }
    return {};
}

/// After a write: no more memory than is allowed. Also after an error, as the other ranks of a
/// collective write come here too.
Status relieve(const Transfer<const void*>& call, bool collective) {
    Status first;
    for (const Object* const one : files_of(call)) {
        Status status = one->file->write_through();
        bool at_once = false;
        std::uint64_t bytes = 0;  // that a rank may have written: the same everywhere
        for (std::size_t i = 0; i < call.count; ++i)
            if (const auto* const block = block_of(call.object(i));
                block != nullptr && call.object(i).file == one->file) {
                bytes += block->dims.count() * block->value_bytes();
                at_once |= block->commit_writes;
            }
        if (collective && bytes > 0) {
            Status all = at_once ? one->file->settle(through(*one))
                                 : one->file->relieve_together(through(*one), bytes);
            if (status.ok()) status = std::move(all);
        }
        if (first.ok()) first = std::move(status);
    }
    return first;
}

herr_t dataset_write(std::size_t count, void* datasets[], hid_t memory_types[],
                     hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer,
                     const void* buffers[], void** request_slot) {
    return guarded([&] {
        const Transfer<const void*> call{count,         datasets,    memory_types,
                                         memory_spaces, file_spaces, buffers};
        if (const Status status = lie_in_one_file(call); !status.ok()) return fail(status);
        const Object& first = call.object(0);
        const ImageTransfer list = image_transfer(first.file.get(), transfer);
        for (std::size_t i = 0; i < count; ++i)
            if (const Status status = may_write(call.object(i), memory_types[i]); !status.ok())
                return fail(status);
        if (const Status status = settle_for_sources(call); !status.ok()) return fail(status);
        if (list.was_collective)
            if (const Status status = keep_order(call); !status.ok()) return fail(status);
        say_actual_io(call, transfer, list.was_collective);
        const Status blocks = write_all_blocks(call, transfer, list.was_collective);
        NativeTransfer native(call);
        herr_t written = 0;
        if (!native.datasets.empty()) {
            const Request request(first, request_slot);
            written = H5VLdataset_write(native.datasets.size(), native.datasets.data(),
                                        first.connector, native.memory_types.data(),
                                        native.memory_spaces.data(), native.file_spaces.data(),
                                        list.list, native.buffers.data(), request_slot);
        }
        // Also after an error: the other ranks of a collective write are there.
        const Status relieved = relieve(call, list.was_collective);
        if (!blocks.ok()) return fail(blocks);
        return written < 0 ? written : done(relieved);
    });
}

/// Where links and mounts lead to other files: the group that a new dataset is to be in. Null if it
/// is in the file of `at`, or if there is no such group.
std::unique_ptr<Object> group_elsewhere(const Object& at, const H5VL_loc_params_t* location,
                                        const std::string& name, hid_t transfer) {
    const std::size_t slash = name.rfind('/');
    if (!CapturedFile::files_are_crossed() || slash == std::string::npos || slash == 0)
        return nullptr;
    const KeepErrors keep;
    auto group = object_near(at, H5I_GROUP);
    group->under = H5VLgroup_open(at.under, location, at.connector, name.substr(0, slash).c_str(),
                                  H5P_GROUP_ACCESS_DEFAULT, transfer, nullptr);
    if (group->under == nullptr) return nullptr;
    CapturedFile::find_holder(*group);
    if (group->file != at.file) return group;
    H5VLgroup_close(group->under, group->connector, transfer, nullptr);
    return nullptr;
}

void* dataset_create(void* object, const H5VL_loc_params_t* location, const char* name,
                     hid_t link_creation, hid_t type, hid_t space, hid_t creation, hid_t access,
                     hid_t transfer, void** request_slot) {
    return guarded([&]() -> void* {
        const Object& at = object_of(object);
        if (const auto group = group_elsewhere(at, location, name == nullptr ? "" : name, transfer);
            group != nullptr) {
            H5VL_loc_params_t here{};
            here.type = H5VL_OBJECT_BY_SELF;
            here.obj_type = H5I_GROUP;
            void* const made =
                dataset_create(group.get(), &here, std::strrchr(name, '/') + 1, link_creation, type,
                               space, creation, access, transfer, request_slot);
            const KeepErrors keep;
            H5VLgroup_close(group->under, group->connector, transfer, nullptr);
            return made;
        }
        if (at.file == nullptr)
            return MakesAtLocation<H5VLdataset_create, H5I_DATASET>::call(
                object, location, name, link_creation, type, space, creation, access, transfer,
                request_slot);
        auto made = object_near(at, H5I_DATASET);
        auto prepared = prepare_dataset(at, location, name, type, space, creation, access);
        if (!prepared.ok()) return fail<void*>(prepared.status());
        const Request request(at, request_slot);
        made->dataset = prepared->dataset;
        const auto create = [&] {
            const DefaultsOfImage defaults(prepared->has_defaults);
            return H5VLdataset_create(at.under, location, at.connector, name, link_creation, type,
                                      space, prepared->creation.get(), prepared->access.get(),
                                      transfer, request_slot);
        };
        made->under = at.file->filling(create, !at.file->alone() && prepared->has_defaults);
        if (made->under == nullptr) return nullptr;
        Status status;
        if (block_of(*made) != nullptr) status = adopt_blocks(*made, space, prepared->filtered);
        if (status.ok()) status = note_open(*made);
        if (status.ok()) return made.release();
        H5VLdataset_close(made->under, made->connector, transfer, nullptr);
        // Closing lists clears the error stack.
        made.reset();
        prepared->dataset.reset();
        prepared->creation.reset();
        prepared->access.reset();
        return fail<void*>(status);
    });
}

/// Of a dataset that has chunks; see without_cache().
bool needs_no_cache(const Object& opened) {
    const store::Handle creation = ask_dataset(opened.under, H5VL_DATASET_GET_DCPL);
    return has_filter(creation.get(), hdf5::k_filter_id) ||
           has_filter(creation.get(), H5Z_FILTER_FLETCHER32);
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
        store::Handle list = image_access(*at.file, access, *opened->dataset);
        if (!list.ok()) return nullptr;
        const auto open = [&] {
            return H5VLdataset_open(at.under, location, at.connector, name, list.get(), transfer,
                                    request_slot);
        };
        opened->under = open();
        if (opened->under == nullptr) return nullptr;
        if (!at.file->shared() && !lies_in_one_piece(opened->under) && needs_no_cache(*opened)) {
            list = without_cache(*opened->dataset, std::move(list));
            H5VLdataset_close(opened->under, at.connector, transfer, nullptr);
            opened->under = open();
            if (opened->under == nullptr) return nullptr;
        }
        CapturedFile::find_holder(*opened);
        if (opened->file == nullptr)
            opened->dataset.reset();
        else
            inspect_dataset(*opened);
        return opened.release();
    });
}

/// What HDF5's chunk cache has of a dataset, in a file of one process. The flush of one dataset
/// fails in HDF5 1.14.5 where its metadata and others' are dirty, and no flush succeeds afterwards.
herr_t store_cached_chunks(const Object& on) { return flush_native({on.under, on.kind}); }

/// In formats from 1.10 on, HDF5 does not count the one chunk of a dataset while it is in its
/// cache.
void store_before_counting(const Object& on, H5VL_dataset_get_t asked) {
    if (asked != H5VL_DATASET_GET_STORAGE_SIZE && asked != H5VL_DATASET_GET_SPACE_STATUS) return;
    const KeepErrors keep;
    const store::QuietErrors quiet;
    store_cached_chunks(on);
}

/// How much space a dataset has that became blocks, as of the layout that the application asked
/// for.
std::optional<herr_t> answer_for_space(const Object& on, H5VL_dataset_get_args_t& args) {
    const BlockIo::Dataset* const block = block_of(on);
    if (block == nullptr) {
        if (on.file != nullptr && !on.file->shared()) store_before_counting(on, args.op_type);
        return std::nullopt;
    }
    if (args.op_type == H5VL_DATASET_GET_SPACE_STATUS && block->asked != nullptr) {
        *args.args.get_space_status.status = asked_space_status(*block->asked);
        return 0;
    }
    if (args.op_type != H5VL_DATASET_GET_STORAGE_SIZE) return std::nullopt;
    // The bytes that are stored; of several ranks' file, which one rank cannot settle, those that
    // have been committed.
    if (!on.file->shared())
        if (const Status status = on.file->settle(through(on)); !status.ok()) return fail(status);
    return std::nullopt;
}

/// The application gets back the lists that it gave.
herr_t dataset_get(void* object, H5VL_dataset_get_args_t* args, hid_t transfer,
                   void** request_slot) {
    const std::shared_ptr<CapturedDataset> dataset = object_of(object).dataset;
    if (dataset != nullptr && args->op_type == H5VL_DATASET_GET_DCPL)
        return guarded([&]() -> herr_t {
            args->args.get_dcpl.dcpl_id = asked_creation(object_of(object));
            return args->args.get_dcpl.dcpl_id < 0 ? -1 : 0;
        });
    if (args->op_type == H5VL_DATASET_GET_SPACE && dataset != nullptr &&
        has_other_sources(object_of(object)))
        return guarded([&]() -> herr_t {
            args->args.get_space.space_id = space_of_other_sources(object_of(object));
            return args->args.get_space.space_id < 0 ? -1 : 0;
        });
    std::optional<herr_t> answered;
    const herr_t asked = guarded([&]() -> herr_t {
        answered = answer_for_space(object_of(object), *args);
        return 0;
    });
    if (asked < 0 || answered) return answered.value_or(asked);
    const herr_t status = OnObject<H5VLdataset_get>::call(object, args, transfer, request_slot);
    if (status < 0 || dataset == nullptr || args->op_type != H5VL_DATASET_GET_DAPL) return status;
    return tell_chunk_cache(object_of(object), args->args.get_dapl.dapl_id);
}

/// HDF5 refuses an extent beyond the largest: nothing may be done before.
bool exceeds_most(const Object& dataset, const hsize_t* size) {
    const KeepErrors keep;
    const store::Handle space = ask_dataset(dataset.under, H5VL_DATASET_GET_SPACE);
    std::array<hsize_t, H5S_MAX_RANK> most{};
    const int rank = H5Sget_simple_extent_dims(space.get(), nullptr, most.data());
    for (int axis = 0; axis < rank; ++axis)
        if (size[axis] > most[static_cast<std::size_t>(axis)]) return true;
    return false;
}

/// H5Dset_extent may allocate chunks, on all ranks alike.
herr_t dataset_specific(void* object, H5VL_dataset_specific_args_t* args, hid_t transfer,
                        void** request_slot) {
    return guarded([&] {
        const auto call = [&] {
            return OnObject<H5VLdataset_specific>::call(object, args, transfer, request_slot);
        };
        const std::shared_ptr<CapturedFile> file = object_of(object).file;
        if (args->op_type == H5VL_DATASET_FLUSH) return flush_object(object, call);
        if (file == nullptr || args->op_type != H5VL_DATASET_SET_EXTENT) return call();
        const std::shared_ptr<CapturedDataset> dataset = object_of(object).dataset;
        const hsize_t* const size = args->args.set_extent.size;
        if (exceeds_most(object_of(object), size)) return call();
        if (dataset == nullptr || dataset->block == nullptr) {
            if (!file->shared())
                if (const Status status = before_emptying(object_of(object), size); !status.ok())
                    return fail(status);
            return file->filling(call);
        }
        auto resizing = before_resizing(object_of(object), size);
        if (!resizing.ok()) return fail(resizing.status());
        const herr_t changed = [&] {
            // Each rank stores the chunks that are cut, and ranks have read different ones.
            const hdf5::NothingDecoded alike;
            return file->filling(call);
        }();
        if (changed < 0) return changed;
        // A chunk that was cut stays in HDF5's cache, which would store it when the dataset is
        // closed: after the commit that is to take it.
        if (!file->shared() && dataset->block->filtered &&
            store_cached_chunks(object_of(object)) < 0)
            return -1;
        if (AskedChunks* const asked = dataset->block->asked.get())
            asked->resize({size, size + dataset->block->rank});
        return done(after_resizing(object_of(object), std::move(*resizing)));
    });
}

/// The native connector's operations, most of them on chunks, by its numbers.
herr_t dataset_optional(void* object, H5VL_optional_args_t* args, hid_t transfer,
                        void** request_slot) {
    return guarded([&] {
        const Object& on = object_of(object);
        clear_chunk_outputs(*args);
        if (on.file == nullptr)
            return OnObject<H5VLdataset_optional>::call(object, args, transfer, request_slot);
        if (args->op_type == H5VL_NATIVE_DATASET_CHUNK_WRITE && on.dataset != nullptr &&
            on.dataset->creation().ok() && H5Pget_nfilters(on.dataset->creation().get()) > 0 &&
            on.file->shared())
            return fail({StatusCode::unsupported,
                         on.file->name() + ": chunks that the application has filtered cannot be "
                                           "written by several processes"});
        if (is_about_chunks(args->op_type) && answers_for_chunks(on))
            return answer_for_chunks(on, *args);
        // HDF5 itself looks at what is stored.
        if (BlockIo::Dataset* const block = block_of(on); block != nullptr) {
            Status status = on.file->settle_alone(through(on), "a call on its chunks");
            if (status.ok() && args->op_type == H5VL_NATIVE_DATASET_CHUNK_WRITE && !block->filtered)
                status = mark_written_values(*block, *args);
            if (!status.ok()) return fail(status);
            block->change();
        }
        if (has_wrong_offsets(on, args->op_type)) return answer_with_offsets(on, *args);
        const ImageTransfer moving = image_transfer(on.file.get(), transfer);
        const std::shared_ptr<CapturedFile> file = on.file;
        const herr_t status =
            OnObject<H5VLdataset_optional>::call(object, args, moving.list, request_slot);
        if (args->op_type == H5VL_NATIVE_DATASET_CHUNK_WRITE && block_of(on) != nullptr)
            forget_mask_of_written(on, *args);
        return status < 0 ? status : done(file->write_through());
    });
}

/// HDF5 deletes a dataset without links when its last identifier is closed. One of blocks is held
/// until the commit that has what waits for it.
void hold_if_deleted(const Object& closed) {
    BlockIo::Dataset* const block = block_of(closed);
    if (block == nullptr || block->native.ok() || closed.file->closes_use) return;
    const KeepErrors keep;
    const NativeObject native{closed.under, H5I_DATASET};
    const auto links = links_of(native);
    if (!links.ok() || *links > 0) return;
    if (auto held = NativeDataset::open(native, block->token); held.ok())
        block->native = std::move(*held);
}

herr_t dataset_close(void* object, hid_t transfer, void** request_slot) {
    return guarded([&] {
        hold_if_deleted(object_of(object));
        return Closes<H5VLdataset_close>::call(object, transfer, request_slot);
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
    table.close = dataset_close;
    return table;
}

}  // namespace caesura::vol
