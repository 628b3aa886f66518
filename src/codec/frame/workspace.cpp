#include "codec/frame/workspace.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

namespace caesura::codec {
namespace {

/// Workspaces that nobody uses at the moment.
class IdleWorkspaces {
  public:
    IdleWorkspaces() { idle_.reserve(most_); }
    std::unique_ptr<Workspace> take() {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) return nullptr;
        std::unique_ptr<Workspace> last = std::move(idle_.back());
        idle_.pop_back();
        return last;
    }
    void put(std::unique_ptr<Workspace> workspace) {
        const std::lock_guard lock(mutex_);
        if (idle_.size() < most_) idle_.push_back(std::move(workspace));
    }

  private:
    const std::size_t most_ = std::max(1U, std::thread::hardware_concurrency());
    std::mutex mutex_;
    std::vector<std::unique_ptr<Workspace>> idle_;
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
