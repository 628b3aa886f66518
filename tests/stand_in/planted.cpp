#include "planted.hpp"

#include <H5PLextern.h>
#include <H5VLconnector.h>
#include <H5VLnative.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace stand_in {

double bound_of_sequence = 0;

namespace {

/// The connector as it is, and the copy with a fault that HDF5 gets.
H5VL_class_t as_it_is, with_fault;
int met = 0;  ///< calls that might have gone wrong

/// A fault that hits each call is found at once; these hit some.
bool now_and_then(int every) { return ++met % every == 0; }

// ------------------------------------------------------------------------------ values and bounds

/// What was written is not what is read: one byte of each tenth read is another.
herr_t read_other_values(size_t count, void* dset[], hid_t types[], hid_t memories[], hid_t files[],
                         hid_t list, void* buffers[], void** request) {
    const herr_t done =
        as_it_is.dataset_cls.read(count, dset, types, memories, files, list, buffers, request);
    if (done >= 0 && memories[0] == H5S_ALL && now_and_then(3))
        static_cast<unsigned char*>(buffers[0])[0] ^= 0x40;
    return done;
}

/// Success, and the buffer as it was.
herr_t read_nothing(size_t count, void* dset[], hid_t types[], hid_t memories[], hid_t files[],
                    hid_t list, void* buffers[], void** request) {
    if (now_and_then(8)) return 0;
    return as_it_is.dataset_cls.read(count, dset, types, memories, files, list, buffers, request);
}

/// A write that is forgotten: what lies in the file is older than what was written.
herr_t forget_a_write(size_t count, void* dset[], hid_t types[], hid_t memories[], hid_t files[],
                      hid_t list, const void* buffers[], void** request) {
    if (now_and_then(6)) return 0;
    return as_it_is.dataset_cls.write(count, dset, types, memories, files, list, buffers, request);
}

/// Floats beyond any bound of the configurations.
herr_t break_the_bound(size_t count, void* dset[], hid_t types[], hid_t memories[], hid_t files[],
                       hid_t list, void* buffers[], void** request) {
    const herr_t done =
        as_it_is.dataset_cls.read(count, dset, types, memories, files, list, buffers, request);
    if (done >= 0 && H5Tequal(types[0], H5T_NATIVE_FLOAT) > 0 && memories[0] == H5S_ALL)
        *static_cast<float*>(buffers[0]) += 0.013F;
    return done;
}

/// Within the bound, of whatever is read: a bound that was said of some datasets holds for all.
herr_t bound_for_all(size_t count, void* dset[], hid_t types[], hid_t memories[], hid_t files[],
                     hid_t list, void* buffers[], void** request) {
    const herr_t done =
        as_it_is.dataset_cls.read(count, dset, types, memories, files, list, buffers, request);
    if (done >= 0 && memories[0] == H5S_ALL && H5Tequal(types[0], H5T_NATIVE_FLOAT) > 0)
        *static_cast<float*>(buffers[0]) += static_cast<float>(0.4 * bound_of_sequence);
    return done;
}

// ------------------------------------------------------------------------ every way of reading

herr_t chunk_calls_set_nothing(void* object, H5VL_optional_args_t* args, hid_t list,
                               void** request) {
    if (args->op_type == H5VL_NATIVE_DATASET_GET_NUM_CHUNKS ||
        args->op_type == H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD)
        return 0;
    return as_it_is.dataset_cls.optional(object, args, list, request);
}

herr_t copy_fails(void*, const H5VL_loc_params_t*, const char*, void*, const H5VL_loc_params_t*,
                  const char*, hid_t, hid_t, hid_t, void**) {
    return -1;
}

herr_t names_are_lost(void* object, const H5VL_loc_params_t* at, H5VL_object_get_args_t* args,
                      hid_t list, void** request) {
    if (args->op_type == H5VL_OBJECT_GET_NAME) {
        *args->args.get_name.name_len = 0;
        return 0;
    }
    return as_it_is.object_cls.get(object, at, args, list, request);
}

// ----------------------------------------------------------------------------- rules of the
// library

/// Nothing is flushed, also not by what counts as a flush.
herr_t flush_nothing(void* object, H5VL_file_specific_args_t* args, hid_t list, void** request) {
    if (args->op_type == H5VL_FILE_FLUSH) return 0;
    return as_it_is.file_cls.specific(object, args, list, request);
}

/// A second open has other rights than it asked for.
void* open_for_writing(const char* name, unsigned flags, hid_t access, hid_t list, void** request) {
    return as_it_is.file_cls.open(name, flags | H5F_ACC_RDWR, access, list, request);
}

/// A name decides what a file is: what was renamed is not found.
void* know_by_name(const char* name, unsigned flags, hid_t access, hid_t list, void** request) {
    static std::string last;
    const bool same = last.empty() || last == name;
    last = name;
    return same ? as_it_is.file_cls.open(name, flags, access, list, request) : nullptr;
}

herr_t close_fails(void* object, hid_t list, void** request) {
    const herr_t done = as_it_is.dataset_cls.close(object, list, request);
    return now_and_then(10) ? -1 : done;
}

// ------------------------------------------------------------------- what is asked for is kept

/// The fill value, and all else that a creation list says, is lost.
herr_t forget_lists(void* object, H5VL_dataset_get_args_t* args, hid_t list, void** request) {
    if (args->op_type != H5VL_DATASET_GET_DCPL)
        return as_it_is.dataset_cls.get(object, args, list, request);
    args->args.get_dcpl.dcpl_id = H5Pcreate(H5P_DATASET_CREATE);
    return 0;
}

/// An extent that shrinks is not made smaller.
herr_t extents_stay(void* object, H5VL_dataset_specific_args_t* args, hid_t list, void** request) {
    if (args->op_type == H5VL_DATASET_SET_EXTENT) return 0;
    return as_it_is.dataset_cls.specific(object, args, list, request);
}

/// An attribute of a missing value, or any other, is dropped.
herr_t attributes_are_lost(void* attribute, hid_t type, const void* values, hid_t list,
                           void** request) {
    if (now_and_then(4)) return 0;
    return as_it_is.attr_cls.write(attribute, type, values, list, request);
}

herr_t links_are_lost(void* object, const H5VL_loc_params_t* at, H5VL_link_specific_args_t* args,
                      hid_t list, void** request) {
    if (args->op_type == H5VL_LINK_DELETE) return 0;
    return as_it_is.link_cls.specific(object, at, args, list, request);
}

herr_t moves_copy(void* from, const H5VL_loc_params_t* at, void* to, const H5VL_loc_params_t* there,
                  hid_t creation, hid_t access, hid_t list, void** request) {
    return as_it_is.link_cls.copy(from, at, to, there, creation, access, list, request);
}

// ------------------------------------------------------------------------- the process around

/// A process that dies in a call.
herr_t die(void* object, hid_t list, void** request) {
    if (now_and_then(60)) std::abort();
    return as_it_is.dataset_cls.close(object, list, request);
}

/// One that waits for what will never come.
herr_t wait_forever(void* object, hid_t list, void** request) {
    if (now_and_then(60))
        for (;;) pause();
    return as_it_is.dataset_cls.close(object, list, request);
}

struct Plant {
    Fault fault;
    void (*put)(H5VL_class_t&);
};

const std::vector<Plant>& plants() {
    using Class = H5VL_class_t;
    static const std::vector<Plant> all = {
        {{"other-values", "1 one truth"}, [](Class& c) { c.dataset_cls.read = read_other_values; }},
        {{"read-nothing", "1 one truth"}, [](Class& c) { c.dataset_cls.read = read_nothing; }},
        {{"stale-values", "1 one truth"}, [](Class& c) { c.dataset_cls.write = forget_a_write; }},
        {{"unset-chunks", "1 one truth"},
         [](Class& c) { c.dataset_cls.optional = chunk_calls_set_nothing; }},
        {{"no-copy", "1 one truth"}, [](Class& c) { c.object_cls.copy = copy_fails; }},
        {{"lost-names", "2 identity"}, [](Class& c) { c.object_cls.get = names_are_lost; }},
        {{"known-by-name", "2 identity"}, [](Class& c) { c.file_cls.open = know_by_name; }},
        {{"more-rights", "3 rules of the library"},
         [](Class& c) { c.file_cls.open = open_for_writing; }},
        {{"no-flush", "3 rules of the library"},
         [](Class& c) { c.file_cls.specific = flush_nothing; }},
        {{"close-fails", "3 rules of the library"},
         [](Class& c) { c.dataset_cls.close = close_fails; }},
        {{"extents-stay", "3 rules of the library"},
         [](Class& c) { c.dataset_cls.specific = extents_stay; }},
        {{"links-stay", "3 rules of the library"},
         [](Class& c) { c.link_cls.specific = links_are_lost; }},
        {{"moves-copy", "3 rules of the library"}, [](Class& c) { c.link_cls.move = moves_copy; }},
        {{"broken-bound", "4 the bound"}, [](Class& c) { c.dataset_cls.read = break_the_bound; }},
        {{"lost-attributes", "5 missing values"},
         [](Class& c) { c.attr_cls.write = attributes_are_lost; }},
        {{"bound-for-all", "9 what a bound is for"},
         [](Class& c) { c.dataset_cls.read = bound_for_all; }},
        {{"lost-lists", "8 what was asked for"},
         [](Class& c) { c.dataset_cls.get = forget_lists; }},
        {{"crash", "10 the process around"}, [](Class& c) { c.dataset_cls.close = die; }},
        {{"hang", "10 the process around"}, [](Class& c) { c.dataset_cls.close = wait_forever; }},
    };
    return all;
}

/// The library of the connector, from the first directory that has it.
void* load() {
    const char* const path = std::getenv("HDF5_PLUGIN_PATH");
    std::istringstream places(path == nullptr ? "" : path);
    for (std::string place; std::getline(places, place, ':');)
        if (void* const library = dlopen((place + "/libcaesura_vol.so").c_str(), RTLD_NOW))
            return library;
    return nullptr;
}

}  // namespace

const std::vector<Fault>& faults() {
    static const std::vector<Fault> all = [] {
        std::vector<Fault> made;
        for (const Plant& one : plants()) made.push_back(one.fault);
        return made;
    }();
    return all;
}

hid_t register_with_fault(const std::string& name) {
    void* const library = load();
    if (library == nullptr) return -1;
    using Info = const void* (*)();
    const auto info = reinterpret_cast<Info>(dlsym(library, "H5PLget_plugin_info"));
    if (info == nullptr) return -1;
    as_it_is = with_fault = *static_cast<const H5VL_class_t*>(info());
    for (const Plant& one : plants())
        if (name == one.fault.name) {
            one.put(with_fault);
            return H5VLregister_connector(&with_fault, H5P_DEFAULT);
        }
    return -1;
}

}  // namespace stand_in
