/* What every wrapper does: find the real function, and say when the application is inside it.
 *
 * Invariants:
 *  - Only the thread that initialised MPI counts: it is the application's own under every thread
 *    level below MULTIPLE, and the one the writers' plans are made for.
 *  - The outermost call counts; what MPI calls inside itself (MPI-IO sends messages) does not.
 *  - No state but the ears and a thread's depth. With nobody attached a wrapper is two branches.
 *  - The real function is the next one of that name, not PMPI's: other layers keep working.
 */
#ifndef CAESURA_PMPI_LAYER_H
#define CAESURA_PMPI_LAYER_H

#define CAESURA_PMPI_EXPORT __attribute__((visibility("default")))

/* A function of unknown type; wrappers cast it back to what they know it is. */
typedef void (*pmpi_function)(void);

/* The next `name` in the order of libraries, else `otherwise`. Cached in *slot. */
pmpi_function pmpi_next(pmpi_function* slot, const char* name, pmpi_function otherwise);

/* Enter a call; pass the result to pmpi_leave. */
int pmpi_enter(void);
void pmpi_leave(int told);
/* The calling thread is the one that counts. */
void pmpi_this_is_the_main_thread(void);

#endif
