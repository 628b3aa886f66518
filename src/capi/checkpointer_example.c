/* What a C program with checkpoints does; compiled as C, run by checkpointer_test.cpp: a forward
 * pass that makes them, a backward pass that restores them in reverse. */
#include "caesura/checkpointer.h"

#define VALUES 5000
#define STEPS 100

static void forward(float* state, int step) {
    int i;
    for (i = 0; i < VALUES; ++i) state[i] = 0.5f * (float)((i * 7 + step) % 100);
}

/* 0, or where it went wrong; caesura_last_error() says how. */
int caesura_c_checkpointer_example(const char* path) {
    static float state[VALUES], expected[VALUES];
    const caesura_compress_point curve[2] = {{1e3, 34e-6}, {2e7, 3.7e-3}};
    caesura_device* device = NULL;
    caesura_checkpointer* checkpointer = NULL;
    caesura_checkpointer_options options = CAESURA_CHECKPOINTER_OPTIONS_DEFAULT;
    int step, i, wrong = 0;
    options.checkpoint_bytes = sizeof state;
    options.cache_bytes = 128000;
    options.link_bytes_per_s = 250e6;
    options.curve = curve;
    options.curve_points = 2;
    options.path = path;
    options.host_bytes = 3 * options.cache_bytes;
    if (caesura_device_create_emulated(options.cache_bytes, 250e6, 5e9, curve, 2, &device) !=
        CAESURA_OK)
        return 1;
    if (caesura_checkpointer_create(device, &options, &checkpointer) != CAESURA_OK) wrong = 2;
    for (step = 0; step < STEPS && !wrong; ++step) {
        forward(state, step);
        caesura_device_work(device, 20e-6); /* an emulated device has to be told */
        if (caesura_checkpointer_checkpoint(checkpointer, (uint64_t)step, state) != CAESURA_OK)
            wrong = 3;
    }
    if (!wrong && caesura_checkpointer_save(checkpointer) != CAESURA_OK) wrong = 4;
    for (step = STEPS - 1; step >= 0 && !wrong; --step) {
        if (caesura_checkpointer_restore(checkpointer, (uint64_t)step, state) != CAESURA_OK)
            wrong = 5;
        forward(expected, step);
        for (i = 0; i < VALUES; ++i)
            if (state[i] != expected[i]) wrong = 6;
    }
    caesura_checkpointer_free(checkpointer);
    caesura_device_free(device);
    return wrong;
}
