/* A dataset is written through selections, each rank its own, and a replica of it in memory says
 * what every element must be afterwards. Elements never written are the fill value. */
#ifndef CAESURA_TESTS_VOL_SELECTIONS_H
#define CAESURA_TESTS_VOL_SELECTIONS_H

#include "check.h"

typedef struct {
    hid_t dataset;
    int rank;
    hsize_t dims[3];
    size_t elements;
    double* replica; /* the same on all ranks */
} Target;

/* A double dataset filled with `fill`; contiguous where chunk is NULL. */
Target make_target(hid_t file, const char* name, int rank, const hsize_t* dims,
                   const hsize_t* chunk, double fill);
/* The value that this element gets in this round; no two rounds agree. Local. */
double value_of(size_t element, int round);
/* Writes the elements of this rank's selection (of the dataset's space) and, on all ranks, notes
 * every rank's in the replica. Ranks may select different numbers of elements, and none. */
void write_selected(Target* target, hid_t selection, int round, H5FD_mpio_xfer_t how);
/* The whole dataset equals the replica; so do this rank's selection and the dataset reopened. */
void check_target(Target* target, hid_t selection);
void close_target(Target* target); /* checks it once more */

#endif
