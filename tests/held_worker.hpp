// Test support: an idle-priority worker that gets no CPU time, without a core to be kept busy.
//
// It is held where it asks how much CPU time it has had: when it has taken a block and not looked
// at its values yet. To see that, clock_gettime of the whole test program is this one's. A worker
// that plans asks for it too: WriterOptions::planning must be off.
#pragma once

namespace caesura::testing {

class HeldWorker {
  public:
    /// From now on, the first worker that takes a block.
    HeldWorker();
    ~HeldWorker() { let_go(); }
    HeldWorker(const HeldWorker&) = delete;
    HeldWorker& operator=(const HeldWorker&) = delete;
    void wait_until_held();
    void let_go();
};

}  // namespace caesura::testing
