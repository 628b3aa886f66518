/* What a C program does; compiled as C, run by capi_test.cpp. */
#include "caesura/caesura.h"

static void count(void* context, const char* message) {
    if (message[0] != '\0') ++*(int*)context;
}

int caesura_c_example(const char* path) {
    static float data[64 * 64];
    const uint64_t shape[2] = {64, 64}, offset[2] = {0, 0};
    caesura_writer* writer = NULL;
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    caesura_field_options described = CAESURA_FIELD_OPTIONS_DEFAULT;
    caesura_writer_report report;
    const char* labels[2] = {"r", "z"};
    int messages = 0;
    uint32_t rho = 0;
    uint64_t n, committed = 0;
    options.codec = "none";
    report.struct_bytes = sizeof report;
    options.on_message = count;
    options.message_context = &messages;
    described.unit_si = 1e3;
    described.axis_labels = labels;
    if (caesura_writer_create(path, NULL, &options, &writer) != CAESURA_OK) return 1;
    if (caesura_define_field_with(writer, "rho", CAESURA_FLOAT32, 2, shape, CAESURA_LOSSLESS, 0.0,
                                  &described, &rho) != CAESURA_OK)
        return 2;
    for (n = 0; n < 3; ++n) {
        int i;
        for (i = 0; i < 64 * 64; ++i) data[i] = (float)(i + 10000 * (int)n);
        if (caesura_begin_iteration(writer, n) != CAESURA_OK) return 3;
        if (caesura_busy_begin(writer, CAESURA_LANE_WRITE) != CAESURA_OK) return 4;
        if (caesura_busy_end(writer, CAESURA_LANE_WRITE) != CAESURA_OK) return 5;
        if (caesura_begin_dump(writer, 0.1 * (double)n, 0.1) != CAESURA_OK) return 6;
        if (caesura_put(writer, rho, offset, shape, data, CAESURA_FLOAT32, 0) != CAESURA_OK)
            return 7;
        if (caesura_end_iteration(writer) != CAESURA_OK) return 8;
    }
    (void)caesura_committed(writer, &committed);
    if (caesura_writer_get_report(writer, &report) != CAESURA_OK || report.dumps != 3) return 9;
    if (caesura_writer_close_and_report(writer, &report) != CAESURA_OK) return 10;
    return report.raw_bytes == 3 * sizeof data ? 0 : 11;
}
