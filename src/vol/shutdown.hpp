// The ends of MPI and of HDF5, before which what is pending has to be completed.
//
// Invariants:
//  - MPI_Finalize calls us through an attribute of MPI_COMM_SELF; H5close, and HDF5's own end in
//    the end of the process, through H5atclose. HDF5 has such an attribute too, in whose callback
//    it closes itself; ours is set later and so runs first (trap 4). What the application has left
//    open is committed there, and HDF5 closes it after that, with nothing put off.
//  - Linked with -z nodelete, the callbacks stay where they are when HDF5 unloads us (trap 3).
#pragma once

namespace caesura::vol {

/// A file was opened: from now on MPI and the library tell us of their ends. Collective calls may
/// be made in what they call.
void listen_for_ends();
/// A file was opened for which nothing is put off: its identifiers are to be closed before HDF5
/// does.
void listen_for_end_of_library();
/// May a close be put off? Not where one of them would not tell us, or has ended.
bool may_put_off();
/// HDF5 has loaded the connector: it may have closed and been opened again.
void library_begins();
/// A child that was forked since has copies of our files, and neither lanes nor MPI: it leaves them
/// to its parent. HDF5 closes them in its exit().
bool is_forked();

}  // namespace caesura::vol
