/* How a Caesura in the same process tells the MPI layer where its ears are.
 *
 * The layer is preloaded or linked as a shared library, so its symbols are in the global scope; the
 * Caesura may be static, hidden, or inside a Python module. So it is Caesura that looks for these
 * two names (src/run/thread_calls.cpp), when its first writer is made and when its last one goes.
 * Several Caesuras in one process may attach; the ears are C functions as in caesura.h. */
#ifndef CAESURA_PMPI_ATTACH_H
#define CAESURA_PMPI_ATTACH_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*caesura_pmpi_ear)(int doing);
void caesura_pmpi_attach(caesura_pmpi_ear enter, caesura_pmpi_ear leave);
void caesura_pmpi_detach(caesura_pmpi_ear enter, caesura_pmpi_ear leave);

#ifdef __cplusplus
}
#endif
#endif
