#include "vol/losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "vol/report.hpp"

namespace caesura::vol::losses {
namespace {

struct Entry {
    const CapturedFile* file = nullptr;
    Watched watched;
    std::function<Progress()> progress;  ///< empty: it is open
    Uncommitted left;
};
/// Never destroyed: HDF5 may close files after our statics.
struct Guarded {
    std::mutex mutex;
    std::vector<Entry> entries;  ///< oldest first

    auto find(const CapturedFile* file) {
        return std::find_if(entries.begin(), entries.end(),
                            [&](const Entry& entry) { return entry.file == file; });
    }
};
Guarded& live() {
    static Guarded& made = *new Guarded;
    return made;
}

std::string naming(const std::string& name, const std::string& message) {
    return message.find(name) == std::string::npos ? name + ": " + message : message;
}

/// Of one that is watched: how the end of the process finds it. Under the lock.
void end(const Entry& entry, const std::string& event) {
    const auto& [file, watched, ask, left] = entry;
    if (!ask)
        return report_given_up({watched.config, watched.name, GivenUp::open,
                                fmt::format("{}: was open when {} ended the process, and is as it "
                                            "was flushed last",
                                            watched.name, event),
                                0, 0, watched.says},
                               {});
    const Progress progress = ask();
    if (progress == Progress::complete) return;
    if (progress == Progress::written)
        return report_given_up(
            {watched.config, watched.name, GivenUp::for_recover,
             fmt::format("{}: is not complete: {} ended the process before the commit; caesura "
                         "recover finishes it if all ranks' blocks have been written",
                         watched.name, event),
             left.dumps, left.raw_bytes, watched.says},
            {});
    // The others do not know it.
    report_given_up({watched.config, watched.name, GivenUp::lost,
                     fmt::format("{}: is not complete: {} ended the process before all blocks of "
                                 "rank {} had been written",
                                 watched.name, event, known_world_rank()),
                     left.dumps, left.raw_bytes, true},
                    {});
}

}  // namespace

void watch(const CapturedFile* file, Watched watched) {
    world_rank();  // whoever asks later may not ask MPI
    const std::lock_guard lock(live().mutex);
    live().entries.push_back({file, std::move(watched), {}, {}});
}

void set_pending(const CapturedFile* file, const Uncommitted& left,
                 std::function<Progress()> progress) {
    const std::lock_guard lock(live().mutex);
    const auto found = live().find(file);
    if (found == live().entries.end()) return;
    found->left = left;
    found->progress = std::move(progress);
}

void set_open(const CapturedFile* file) { set_pending(file, {}, {}); }

void forget(const CapturedFile* file) {
    const std::lock_guard lock(live().mutex);
    if (const auto found = live().find(file); found != live().entries.end())
        live().entries.erase(found);
}

void give_up(const CapturedFile* file, GivenUp how, const Status& why, const Uncommitted& left,
             const WriterReport& mine, bool alone) {
    Watched watched;
    {
        const std::lock_guard lock(live().mutex);
        const auto found = live().find(file);
        if (found == live().entries.end()) return;
        watched = std::move(found->watched);
        live().entries.erase(found);
    }
    report_given_up({watched.config, watched.name, how, naming(watched.name, why.message()),
                     left.dumps, left.raw_bytes, watched.says || alone},
                    mine);
}

void give_up_all(const std::string& event) {
    live().mutex.lock();  // for good: what comes from now on would be said by nobody
    for (const Entry& entry : live().entries) end(entry, event);
    live().entries.clear();
}

}  // namespace caesura::vol::losses
