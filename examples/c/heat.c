/* A field that goes into a file, named on the command line, while the program computes on. */
#include <caesura/caesura.h>
#include <math.h>
#include <stdio.h>

enum { k_cells = 32, k_values = k_cells * k_cells * k_cells };

static double heat[k_values];

int main(int argc, char** argv) {
    const char* path = argc > 1 ? argv[1] : "heat.h5";
    const uint64_t offset[] = {0, 0, 0}, extent[] = {k_cells, k_cells, k_cells};
    caesura_writer* writer = NULL;
    uint32_t field = 0;
    int n, i;

    if (caesura_writer_create(path, NULL, NULL, &writer) != CAESURA_OK) goto failed;
    if (caesura_define_field(writer, "temperature", CAESURA_FLOAT64, 3, extent, CAESURA_ABSOLUTE,
                             1e-4, &field) != CAESURA_OK)
        goto failed;
    for (n = 0; n < 10; ++n) {
        caesura_begin_iteration(writer, (uint64_t)n);
        for (i = 0; i < k_values; ++i) heat[i] = sin(0.001 * i + n);
        caesura_begin_dump(writer, 0.1 * n, 0.1);
        caesura_put(writer, field, offset, extent, heat, CAESURA_FLOAT64, 0);
        if (caesura_end_iteration(writer) != CAESURA_OK) goto failed;
    }
    if (caesura_writer_close(writer) != CAESURA_OK) {
        writer = NULL;
        goto failed;
    }
    return 0;
failed:
    fprintf(stderr, "%s\n", caesura_last_error());
    if (writer) caesura_writer_abandon(writer);
    return 1;
}
