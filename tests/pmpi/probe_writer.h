/* What the test's applications share, in C++ and Fortran: a writer without a single mark, and an
 * account of what the application itself says it did, to compare the writer's report with. */
#ifndef CAESURA_TESTS_PMPI_PROBE_WRITER_H
#define CAESURA_TESTS_PMPI_PROBE_WRITER_H

#ifdef __cplusplus
extern "C" {
#endif

/* The file $PMPI_PROBE_OUT/file.h5, on the ranks of MPI_COMM_WORLD. */
void probe_open(void);
void probe_begin(int iteration);
/* Dumps a little in even iterations. */
void probe_end(void);
/* Writes the report and the account to $PMPI_PROBE_OUT/<rank>.json. */
void probe_close(void);

double probe_now_s(void);
/* Keep the core busy for so long. */
void probe_compute(double seconds);
/* "A call of MPI took me so long." */
void probe_called(double seconds);

#ifdef __cplusplus
}
#endif
#endif
