#define _GNU_SOURCE
#include "pmpi/layer.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "pmpi/attach.h"

enum { k_most_ears = 8, k_communicates = 1 };

static struct {
    caesura_pmpi_ear enter, leave; /* atomic; enter is set last and cleared first */
} g_ears[k_most_ears];

static int g_n_ears; /* atomic: ears beyond have never been attached */

/* The layer is there when the program starts, never loaded later: its variables have a fixed place
 * in each thread, and looking at them costs no call. */
#define PMPI_THREAD static __thread __attribute__((tls_model("initial-exec")))
PMPI_THREAD int t_is_main;
PMPI_THREAD int t_depth;

CAESURA_PMPI_EXPORT void caesura_pmpi_attach(caesura_pmpi_ear enter, caesura_pmpi_ear leave) {
    for (int i = 0; i < k_most_ears; ++i) {
        caesura_pmpi_ear none = NULL;
        if (!__atomic_compare_exchange_n(&g_ears[i].leave, &none, leave, 0, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&g_ears[i].enter, enter, __ATOMIC_RELEASE);
        int n = __atomic_load_n(&g_n_ears, __ATOMIC_RELAXED);
        while (n <= i && !__atomic_compare_exchange_n(&g_n_ears, &n, i + 1, 0, __ATOMIC_RELEASE,
                                                      __ATOMIC_RELAXED)) {
        }
        return;
    }
}

CAESURA_PMPI_EXPORT void caesura_pmpi_detach(caesura_pmpi_ear enter, caesura_pmpi_ear leave) {
    for (int i = 0; i < k_most_ears; ++i) {
        if (__atomic_load_n(&g_ears[i].enter, __ATOMIC_ACQUIRE) != enter ||
            __atomic_load_n(&g_ears[i].leave, __ATOMIC_ACQUIRE) != leave)
            continue;
        __atomic_store_n(&g_ears[i].enter, NULL, __ATOMIC_RELEASE);
        __atomic_store_n(&g_ears[i].leave, NULL, __ATOMIC_RELEASE);
        return;
    }
}

int pmpi_enter(void) {
    if (!t_is_main || t_depth++ > 0) return 0;
    const int n = __atomic_load_n(&g_n_ears, __ATOMIC_ACQUIRE);
    for (int i = 0; i < n; ++i) {
        caesura_pmpi_ear ear = __atomic_load_n(&g_ears[i].enter, __ATOMIC_ACQUIRE);
        if (ear) ear(k_communicates);
    }
    return 1;
}

void pmpi_leave(int told) {
    if (!t_is_main) return;
    --t_depth;
    if (!told) return;
    const int n = __atomic_load_n(&g_n_ears, __ATOMIC_ACQUIRE);
    for (int i = 0; i < n; ++i) {
        caesura_pmpi_ear ear = __atomic_load_n(&g_ears[i].leave, __ATOMIC_ACQUIRE);
        if (ear) ear(k_communicates);
    }
}

void pmpi_this_is_the_main_thread(void) { t_is_main = 1; }

pmpi_function pmpi_next(pmpi_function* slot, const char* name, pmpi_function otherwise) {
    pmpi_function known = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (known) return known;
    void* symbol = dlsym(RTLD_NEXT, name);
    /* ISO C has no conversion from void* to a function pointer; copying the bits is what POSIX
     * says. */
    if (symbol) memcpy(&known, &symbol, sizeof known);
    if (!known) known = otherwise;
    __atomic_store_n(slot, known, __ATOMIC_RELAXED);
    return known;
}
