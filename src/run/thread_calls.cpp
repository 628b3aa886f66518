#include "run/thread_calls.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <array>
#include <mutex>

#include "run/executor.hpp"

namespace caesura::run {
namespace {

// Writers with an open iteration at the same time, on all threads; more are not observed.
constexpr int k_slots = 64;

struct Slot {
    std::atomic<std::uint64_t> thread{0};  // whose doings it hears; 0: nobody's
    std::atomic<Executor*> executor{nullptr};
    std::atomic<int> pins{0};
    std::atomic<bool> taken{false};
};
std::array<Slot, k_slots> g_slots;
std::atomic<int> g_used{0};  // slots from here on have never been taken
std::atomic<bool> g_watched{false};
thread_local int t_ours = 0;

// Never used twice, unlike what the system calls a thread.
std::uint64_t id_of_this_thread() {
    static std::atomic<std::uint64_t> next{1};
    thread_local std::uint64_t t_id = 0;
    if (t_id == 0) t_id = next.fetch_add(1, std::memory_order_relaxed);
    return t_id;
}

template <class Call>
void tell(Call call) {
    if (t_ours > 0) return;
    const std::uint64_t me = id_of_this_thread();
    const int used = g_used.load(std::memory_order_acquire);
    for (int i = 0; i < used; ++i) {
        Slot& slot = g_slots[static_cast<std::size_t>(i)];
        if (slot.thread.load(std::memory_order_relaxed) != me) continue;
        // Pin first, then look again: who empties the slot does it in the other order.
        slot.pins.fetch_add(1, std::memory_order_seq_cst);
        if (slot.thread.load(std::memory_order_seq_cst) == me)
            call(*slot.executor.load(std::memory_order_relaxed));
        slot.pins.fetch_sub(1, std::memory_order_release);
    }
}

// The layer looks nobody up: whether we are static, shared or a Python module that keeps its
// symbols to itself, the layer is in the global scope and we can find it.
using Enter = void (*)(int);
using Attach = void (*)(Enter, Enter);

void enter_from_layer(int doing) {
    observation::enter(doing == 2 ? Doing::waits : Doing::communicates);
}
void leave_from_layer(int doing) {
    observation::leave(doing == 2 ? Doing::waits : Doing::communicates);
}

Attach layer_function(const char* name) {
    return reinterpret_cast<Attach>(::dlsym(RTLD_DEFAULT, name));  // NOLINT: what POSIX says
}

std::mutex g_listeners_lock;  // making and destroying a writer, never a call between
int g_listeners = 0;

}  // namespace

namespace observation {

void enter(Doing doing) {
    g_watched.store(true, std::memory_order_relaxed);
    tell([doing](Executor& executor) { executor.observe_enter(doing); });
}

void leave(Doing doing) {
    tell([doing](Executor& executor) { executor.observe_leave(doing); });
}

bool anybody_watches() { return g_watched.load(std::memory_order_relaxed); }

}  // namespace observation

Unobserved::Unobserved() { ++t_ours; }
Unobserved::~Unobserved() { --t_ours; }

Listener::Listener() {
    const std::scoped_lock lock(g_listeners_lock);
    if (g_listeners++ > 0) return;
    if (const Attach attach = layer_function("caesura_pmpi_attach")) {
        attach(enter_from_layer, leave_from_layer);
        g_watched.store(true, std::memory_order_relaxed);
    }
}

Listener::~Listener() {
    end();
    const std::scoped_lock lock(g_listeners_lock);
    if (--g_listeners > 0) return;
    if (const Attach detach = layer_function("caesura_pmpi_detach"))
        detach(enter_from_layer, leave_from_layer);
}

std::uint64_t Listener::this_thread() { return id_of_this_thread(); }

void Listener::begin(Executor& executor) {
    end();
    for (int i = 0; i < k_slots && slot_ < 0; ++i)
        if (!g_slots[static_cast<std::size_t>(i)].taken.exchange(true, std::memory_order_acq_rel))
            slot_ = i;
    if (slot_ < 0) return;
    for (int used = g_used.load();
         used <= slot_ && !g_used.compare_exchange_weak(used, slot_ + 1);) {
    }
    executor_ = &executor;
    thread_ = this_thread();
    Slot& slot = g_slots[static_cast<std::size_t>(slot_)];
    slot.executor.store(executor_, std::memory_order_relaxed);
    slot.thread.store(thread_, std::memory_order_seq_cst);
}

void Listener::end() {
    if (slot_ < 0) return;
    Slot& slot = g_slots[static_cast<std::size_t>(slot_)];
    slot.thread.store(0, std::memory_order_seq_cst);
    while (slot.pins.load(std::memory_order_seq_cst) > 0) ::sched_yield();
    slot.taken.store(false, std::memory_order_release);
    slot_ = -1;
}

void Listener::move() {
    Executor& executor = *executor_;
    end();
    begin(executor);
}

}  // namespace caesura::run
