#include "vol/shutdown.hpp"

#include <hdf5.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "store/hdf5_handle.hpp"
#include "vol/callbacks.hpp"
#include "vol/captured_file.hpp"
#include "vol/in_call.hpp"
#include "vol/pending_files.hpp"

namespace caesura::vol {
namespace {

bool g_library_ends = false, g_told_by_library = false;
bool g_mpi_ends = false, g_told_by_mpi = false;
bool g_process_ends = false, g_told_by_process = false;
pid_t g_process = 0;

bool has_ended() { return g_library_ends || g_mpi_ends || g_process_ends; }

int at_finalize(MPI_Comm, int, void*, void*) {
    const InCall in_call;
    g_mpi_ends = true;
    CapturedFile::commit_all_open(true);
    pending_files::complete_all();
    pending_files::show_errors();
    return MPI_SUCCESS;
}

/// A process that ends without MPI_Finalize does so at a time of its own: its peers may be waiting
/// for it somewhere else, and it must not wait for them.
void end_alone() {
    CapturedFile::commit_all_open(false);
    pending_files::give_up("the program ended without MPI_Finalize and without H5close");
}

herr_t collect(hid_t id, void* to) {
    static_cast<std::vector<hid_t>*>(to)->push_back(id);
    return 0;
}

bool is_ours(hid_t id) {
    std::array<char, 16> name{};
    return H5VLget_connector_name(id, name.data(), name.size()) > 0 &&
           std::string_view(name.data()) == k_connector_name;
}

/// What the application has left open: objects, and then files. HDF5 1.14.5 would close the
/// identifiers of files one after the other and, for a file with several, look at all of them: also
/// at those that it has just closed, whose freed object it would hand to us (H5I_find_id inside
/// H5I_clear_type). And it would end its types before a file whose last object is a type.
void close_all() {
    const store::QuietErrors quiet;  // of what could not be committed the closing line tells
    for (const H5I_type_t kind : {H5I_ATTR, H5I_DATASET, H5I_GROUP, H5I_DATATYPE, H5I_FILE}) {
        std::vector<hid_t> all;
        H5Iiterate(kind, collect, &all);
        for (const hid_t id : all)
            while (H5Iis_valid(id) > 0 && is_ours(id) && H5Idec_ref(id) > 0) continue;
    }
}

void at_library_close(void*) {
    g_library_ends = true;
    g_told_by_library = false;  // the list of callbacks goes with the library
    if (is_forked()) return;
    const InCall in_call;
    if (g_process_ends && !g_mpi_ends) {
        end_alone();
    } else {
        if (!g_mpi_ends) CapturedFile::commit_all_open(true);  // else it has been done
        pending_files::complete_all();
    }
    close_all();
    pending_files::show_errors();
}

/// The library's own end comes after it: handlers run in reverse order. It does not come where the
/// application has called H5dont_atexit(), and what is closed is to be complete there as well.
void at_exit() {
    g_process_ends = true;
    if (g_library_ends || g_mpi_ends || is_forked()) return;
    end_alone();
    pending_files::show_errors();
}

bool tell_by_mpi() {
    int key = MPI_KEYVAL_INVALID;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr) != MPI_SUCCESS)
        return false;
    const bool set = MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS;
    MPI_Comm_free_keyval(&key);  // the attribute keeps it
    return set;
}

}  // namespace

void listen_for_end_of_library() {
    if (has_ended() || g_told_by_library) return;
    g_told_by_library = H5atclose(at_library_close, nullptr) >= 0;
}

void listen_for_ends() {
    if (has_ended()) return;
    if (!g_told_by_mpi) g_told_by_mpi = tell_by_mpi();
    listen_for_end_of_library();
    if (!g_told_by_process) g_told_by_process = std::atexit(at_exit) == 0;
}

bool may_put_off() {
    return !has_ended() && g_told_by_mpi && g_told_by_library && g_told_by_process;
}

void library_begins() {
    g_library_ends = false;
    g_process = getpid();
}

bool is_forked() { return getpid() != g_process; }

}  // namespace caesura::vol
