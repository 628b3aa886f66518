#include "vol/shutdown.hpp"

#include <H5public.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>

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

void listen_for_ends() {
    if (has_ended()) return;
    if (!g_told_by_mpi) g_told_by_mpi = tell_by_mpi();
    if (!g_told_by_library) g_told_by_library = H5atclose(at_library_close, nullptr) >= 0;
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
