/* What every program here stands on: assertions, access lists, values that can be told apart.
 *
 * A program is plain parallel HDF5 and knows nothing of Caesura. It gets a directory, writes its
 * files there and asserts what it reads back. The same binary runs with and without the connector;
 * VOL_TEST_CONNECTOR says which one has to be there, VOL_TEST_BOUND how far floating point data may
 * be from what was written (0 without it).
 *
 * All calls are collective over MPI_COMM_WORLD unless they say otherwise. */
#ifndef CAESURA_TESTS_VOL_CHECK_H
#define CAESURA_TESTS_VOL_CHECK_H

#include <hdf5.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern int g_rank;
extern int g_ranks;

/* Ends the job with file and line unless the condition holds. Local. */
#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
/* The call's value, which must not be negative, and HDF5 has told the application of no error.
 * Local as far as the call is. */
#define OK(call) check_ok((int64_t)(call), #call, __FILE__, __LINE__)
/* What one rank does to names; the others wait for it. */
#define BY_ONE(call)                 \
    do {                             \
        MPI_Barrier(MPI_COMM_WORLD); \
        if (g_rank == 0) OK(call);   \
        MPI_Barrier(MPI_COMM_WORLD); \
    } while (0)
/* The call must fail; what HDF5 says about it is not printed. */
#define FAILS(call)                                                 \
    do {                                                            \
        int64_t value_;                                             \
        H5E_BEGIN_TRY { value_ = (int64_t)(call); }                 \
        H5E_END_TRY                                                 \
        check_that(value_ < 0, #call " fails", __FILE__, __LINE__); \
    } while (0)

/* The call must fail, and the error stack must have a message with `words` in it. */
#define FAILS_SAYING(call, words)                                   \
    do {                                                            \
        int64_t value_ = (int64_t)(call);                           \
        check_that(value_ < 0, #call " fails", __FILE__, __LINE__); \
        check_said((words), #call, __FILE__, __LINE__);             \
        forget_told();                                              \
    } while (0)

void check_that(bool holds, const char* text, const char* file, int line);
void check_said(const char* words, const char* text, const char* file, int line);
void forget_told(void); /* of the errors that a call was to have */
int64_t check_ok(int64_t value, const char* text, const char* file, int line);

void start(int* argc, char*** argv); /* MPI, HDF5, arguments */
int finish(void);                    /* everything closed; what main returns */

/* Whether the connector is there and captures files: what only then is so can be asserted. */
bool captured(void);

/* <directory>/<name>.h5, in one of a few buffers used in turn. Local. */
const char* path_of(const char* name);
hid_t mpi_access(MPI_Comm comm);     /* access list; caller closes */
hid_t create_file(const char* name); /* truncated, by all ranks */
hid_t open_file(const char* name, unsigned flags);
hid_t transfer(H5FD_mpio_xfer_t how); /* transfer list; caller closes. Local. */
/* That the expected connector carries an object. Local. */
void check_connector(hid_t object);

/* A smooth field's value at a linear index of a row of `width` cells. Local. */
double field(uint64_t index, uint64_t width);
/* Whether a value read is one that was written: equal natively, within the bound otherwise. */
bool near(double read, double written);
/* [begin, begin + count) is this rank's even share of n; the first ranks get one more. */
void share(hsize_t n, hsize_t* begin, hsize_t* count);

/* A dataset [dims] of file type `type`; `creation` as H5Dcreate2 takes it. */
hid_t make_dataset(hid_t place, const char* name, hid_t type, int rank, const hsize_t* dims,
                   hid_t creation);
/* Creation list with chunks; caller closes. Local. */
hid_t chunked(int rank, const hsize_t* chunk);
/* Writes this rank's rows of a [rows, width] double dataset: base + field(). */
void write_rows(hid_t dataset, hsize_t rows, hsize_t width, double base, H5FD_mpio_xfer_t how);
/* Writes the values of a box, dense, collectively. */
void write_box(hid_t dataset, int rank, const hsize_t* offset, const hsize_t* extent,
               const double* values);
/* Reads all of it on every rank and checks each value. */
void check_rows(hid_t dataset, hsize_t rows, hsize_t width, double base);
/* A file with one dataset "field" [rows, 64] of base + field(), written by all of `comm` and
 * closed; and that it is so, asked by all of `comm`. */
void write_file(MPI_Comm comm, const char* name, hsize_t rows, double base);
void check_file(MPI_Comm comm, const char* name, hsize_t rows, double base);
/* Writes an int attribute, or checks its value. */
void put_int(hid_t object, const char* name, int value);
int get_int(hid_t object, const char* name);

#endif
