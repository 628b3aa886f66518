#include "vol/other_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/file.hpp"
#include "store/closed_tree.hpp"
#include "store/recover.hpp"
#include "vol/errors.hpp"
#include "vol/library_state.hpp"

namespace caesura::vol {
namespace {

using namespace std::chrono_literals;

/// Lanes are done within max_delay, 10 s here, and with what they write then.
constexpr auto k_most_wait = 60s;
constexpr auto k_longest_sleep = 100ms;

Status is_late(const std::string& name) {
    return {StatusCode::unsupported,
            fmt::format("{}: another process has closed it, and {} s later it is still being "
                        "written: let that process call H5Fflush before H5Fclose, or let H5Fclose "
                        "wait, with durability = \"complete\" in the connector's configuration",
                        name, k_most_wait / 1s)};
}

}  // namespace

bool Patience::wait() {
    if (std::chrono::steady_clock::now() - begin_ >= k_most_wait) return false;
    std::this_thread::sleep_for(next_);
    next_ = std::min<std::chrono::milliseconds>(2 * next_, k_longest_sleep);
    return true;
}

Status wait_for_other_process(base::FileSystem& files, const std::string& name) {
    const auto file = files.open(name, base::FileSystem::Mode::read);
    const auto is_closed = [&] {
        const auto closed = store::is_closed(**file);
        return closed.ok() && *closed;
    };
    if (!file.ok() || !is_closed()) return {};
    const KeepErrors keep;
    const LibraryState state;
    Patience patience;
    while (is_closed()) {
        const Status finished = store::finish_if_whole(files, name);
        // Not whole, and nobody has it: its program was killed.
        if (finished.ok() || finished.code() == StatusCode::cancelled) return {};
        if (!patience.wait()) return is_late(name);
    }
    // Somebody else has completed it, and may not have left it yet.
    while (!(*file)->lock(false).ok())
        if (!patience.wait()) break;
    return {};
}

}  // namespace caesura::vol
