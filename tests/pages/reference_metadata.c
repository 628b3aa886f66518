/* A Writer with a dump that is open, to which the page gives attributes. */
#include <caesura/caesura.h>
#include <stdio.h>

static int fail(void) {
    fprintf(stderr, "%s\n", caesura_last_error());
    return 1;
}

int main(void) {
    static const float values[16];
    const uint64_t offset[] = {0}, extent[] = {16};
    caesura_writer* writer = NULL;
    uint32_t field = 0;
    if (caesura_writer_create("run.h5", NULL, NULL, &writer) != CAESURA_OK) return fail();
    if (caesura_define_field(writer, "rho", CAESURA_FLOAT32, 1, extent, CAESURA_ABSOLUTE, 1e-3,
                             &field) != CAESURA_OK)
        return fail();
    caesura_begin_iteration(writer, 0);
    caesura_begin_dump(writer, 0.0, 0.1);
    /* block c 1 */
    caesura_put(writer, field, offset, extent, values, CAESURA_FLOAT32, 0);
    if (caesura_end_iteration(writer) != CAESURA_OK) return fail();
    return caesura_writer_close(writer) == CAESURA_OK ? 0 : fail();
}
