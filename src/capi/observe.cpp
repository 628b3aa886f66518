// The C face of observation: a tool's word for what a thread does.
#include "caesura/caesura.h"
#include "run/thread_calls.hpp"

namespace {
using caesura::run::Doing;
Doing doing_of(int doing) { return doing == CAESURA_WAITS ? Doing::waits : Doing::communicates; }
}  // namespace

extern "C" {

void caesura_observe_enter(int doing) { caesura::run::observation::enter(doing_of(doing)); }
void caesura_observe_leave(int doing) { caesura::run::observation::leave(doing_of(doing)); }

}  // extern "C"
