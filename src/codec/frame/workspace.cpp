#include "codec/frame/workspace.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace caesura::codec {
namespace {

/// Workspaces that nobody uses at the moment. Without a lock: workers at idle priority take them,
/// too (decision D22).
class IdleWorkspaces {
  public:
    std::unique_ptr<Workspace> take() {
        for (std::atomic<Workspace*>& slot : idle_) {
            if (slot.load(std::memory_order_relaxed) == nullptr) continue;
            if (Workspace* const taken = slot.exchange(nullptr, std::memory_order_acq_rel))
                return std::unique_ptr<Workspace>(taken);
        }
        return nullptr;
    }
    void put(std::unique_ptr<Workspace> workspace) {
        for (std::atomic<Workspace*>& slot : idle_) {
            Workspace* none = nullptr;
            if (!slot.compare_exchange_strong(none, workspace.get(), std::memory_order_acq_rel))
                continue;
            (void)workspace.release();
            return;
        }
    }

  private:
    std::vector<std::atomic<Workspace*>> idle_{std::max(1U, std::thread::hardware_concurrency())};
};

/// Never destroyed: a process that ends with a file open compresses the file's last chunks in a
/// handler of exit(), which may run after objects made later than it was registered are gone.
IdleWorkspaces& idle_workspaces() {
    static IdleWorkspaces& workspaces = *new IdleWorkspaces;
    return workspaces;
}

}  // namespace

WorkspaceLease::WorkspaceLease() : workspace_(idle_workspaces().take()) {
    if (workspace_ == nullptr) workspace_ = std::make_unique<Workspace>();
}

WorkspaceLease::~WorkspaceLease() { idle_workspaces().put(std::move(workspace_)); }

}  // namespace caesura::codec
