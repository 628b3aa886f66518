#include "vol/other_process.hpp"

#include <fmt/format.h>

#include <thread>

#include "base/file.hpp"
#include "store/in_flight.hpp"
#include "store/recover.hpp"
#include "store/region_format.hpp"
#include "vol/errors.hpp"
#include "vol/library_state.hpp"

namespace caesura::vol {
namespace {

using namespace std::chrono_literals;

/// Lanes on busy cores are done within max_delay, and with what they write then: the default is 10
/// s.
constexpr auto k_most_wait = 60s;
constexpr auto k_between_looks = 5ms;

}  // namespace

bool complete_if_whole(const std::string& name) {
    const KeepErrors keep;
    const LibraryState state;
    auto& files = base::FileSystem::posix();
    const auto found = store::recover(files, name, true);
    if (!found.ok() || !found->dropped.empty()) return false;
    return store::recover(files, name).ok();
}

bool Patience::wait() const {
    if (std::chrono::steady_clock::now() - begin_ >= k_most_wait) return false;
    std::this_thread::sleep_for(k_between_looks);
    return true;
}

Result<bool> complete_for_other_process(const std::string& name) {
    auto file = base::FileSystem::posix().open(name, base::FileSystem::Mode::read);
    if (!file.ok() || !store::read_file_header(**file, name).ok()) return false;
    const Patience patience;
    do {
        const auto marked = store::is_marked_in_flight(**file);
        if (!marked.ok()) return false;
        if (!*marked || complete_if_whole(name)) return true;
    } while (patience.wait());
    return Status{
        StatusCode::unsupported,
        fmt::format("{}: another process has closed it, and {} s later it is still being written: "
                    "let that process call H5Fflush before H5Fclose, or let H5Fclose wait, with "
                    "durability = \"complete\" in the connector's configuration; if that process "
                    "has ended, caesura recover brings the file to its last commit",
                    name, k_most_wait / 1s)};
}

}  // namespace caesura::vol
