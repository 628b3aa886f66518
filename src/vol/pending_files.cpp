#include "vol/pending_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/all_ranks.hpp"
#include "vol/agree.hpp"
#include "vol/captured_file.hpp"
#include "vol/errors.hpp"
#include "vol/shutdown.hpp"

namespace caesura::vol::pending_files {
namespace {

/// Each keeps the copies of its data and the threads of its lanes. Beyond this the oldest is waited
/// for.
constexpr std::size_t k_most_files = 4;
/// Of raw data on a rank, where the configuration has no memory_bytes.
constexpr std::uint64_t k_most_bytes = std::uint64_t{1} << 30;

using FilePtr = std::shared_ptr<CapturedFile>;

std::atomic<std::size_t> g_count{0};

struct Failure {
    Ranks ranks;
    FileIdentity identity;
    Status status;
};

/// Never destroyed: HDF5 may close itself after the destructors of our statics.
struct Lists {
    std::vector<FilePtr> files;  ///< in the order of their closing
    std::vector<Failure> failures;
    std::vector<FilePtr> given_up;  ///< their lanes may be at work: they end with the process
};
Lists& lists() {
    static Lists& live = *new Lists;
    return live;
}

void note_failure(const CapturedFile& file, const Status& status) {
    if (!status.ok()) lists().failures.push_back({file.members(), file.identity(), status});
}

void complete(const FilePtr& file) {
    std::erase(lists().files, file);
    note_failure(*file, file->complete());
    --g_count;
}

std::vector<FilePtr> files_of(const Ranks& ranks) {
    std::vector<FilePtr> out;
    for (const FilePtr& file : lists().files)
        if (congruent(file->members(), ranks)) out.push_back(file);
    return out;
}

/// How many of the oldest must go before another one with so many bytes may come.
std::uint32_t too_many(const std::vector<FilePtr>& files, std::uint64_t coming) {
    std::uint64_t bytes = coming;
    for (const FilePtr& file : files) bytes += file->pending_bytes();
    std::uint32_t go = 0;
    while (go < files.size()) {
        const std::size_t left = files.size() - go;
        if (left < k_most_files && bytes <= most_bytes(*files[go]->config())) break;
        bytes -= files[go++]->pending_bytes();
    }
    return go;
}

/// Complete those of the callers' files that need not be waited for, and those that must go.
Status complete_some(const Callers& callers, const std::vector<FilePtr>& files,
                     std::uint32_t must_go) {
    struct Vote {
        std::uint32_t finished = 0, must_go = 0;
    } mine;
    while (mine.finished < files.size() && files[mine.finished]->finished()) ++mine.finished;
    mine.must_go = must_go;
    const auto all = base::from_all(*callers.communicator, mine);
    if (!all.ok()) return all.status();
    Vote agreed = all->front();
    for (const Vote& vote : *all) {
        agreed.finished = std::min(agreed.finished, vote.finished);
        agreed.must_go = std::max(agreed.must_go, vote.must_go);
    }
    const std::size_t n = std::max(agreed.finished, agreed.must_go);
    for (std::size_t i = 0; i < n; ++i) complete(files[i]);
    return {};
}

/// One process needs nobody to complete its files.
void complete_alone(bool wait, const FileIdentity* but = nullptr) {
    if (is_forked()) return;
    const std::vector<FilePtr> files = lists().files;
    for (const FilePtr& file : files)
        if (file->alone() && (but == nullptr || file->identity() != *but) &&
            (wait || file->finished()))
            complete(file);
}

/// The file that is asked for is pending itself.
Status complete_same(const Ranks& callers, const FileIdentity& identity) {
    const std::vector<FilePtr> files = lists().files;
    for (const FilePtr& file : files) {
        if (file->identity() != identity) continue;
        if (covers(callers, file->members()))
            complete(file);
        else if (Status status = file->wait_until_completed(); !status.ok())
            return status;
    }
    return {};
}

/// The oldest failure that concerns the callers.
Status take_failure(const Ranks& callers, const FileIdentity& identity) {
    auto& failures = lists().failures;
    const auto concerns = [&](const Failure& failure) {
        return failure.identity == identity || congruent(failure.ranks, callers);
    };
    const auto found = std::find_if(failures.begin(), failures.end(), concerns);
    if (found == failures.end()) return {};
    const Status status =
        found->status.with_context("after the file was closed, and before this call");
    failures.erase(found);
    return status;
}

}  // namespace

std::uint64_t most_bytes(const Config& config) {
    return config.memory_bytes > 0 ? config.memory_bytes : k_most_bytes;
}

void add(FilePtr file) {
    lists().files.push_back(std::move(file));
    ++g_count;
}

std::size_t count() { return g_count; }

bool holds(const FileIdentity& identity) {
    return std::any_of(lists().files.begin(), lists().files.end(),
                       [&](const FilePtr& file) { return file->identity() == identity; });
}

bool holds_for_others(const FileIdentity& identity, const Ranks& callers) {
    return std::any_of(lists().files.begin(), lists().files.end(), [&](const FilePtr& file) {
        return file->identity() == identity && !covers(callers, file->members());
    });
}

bool may_go_on(const FileIdentity& identity, const std::string& name, hid_t access) {
    if (is_forked()) return false;
    const auto& files = lists().files;
    return std::any_of(files.begin(), files.end(), [&](const FilePtr& file) {
        return file->identity() == identity && file->may_go_on(name, access);
    });
}

FilePtr take_back(const FileIdentity& identity) {
    for (const FilePtr& file : lists().files)
        if (file->identity() == identity && file->take_back()) {
            FilePtr back = file;
            std::erase(lists().files, back);
            --g_count;
            return back;
        }
    return nullptr;
}

Status before_open(const Callers& callers, const FileIdentity& identity, Status mine,
                   bool goes_on) {
    complete_alone(false, goes_on ? &identity : nullptr);
    Status same = goes_on ? Status{} : complete_same(callers.ranks, identity);
    if (mine.ok()) mine = std::move(same);
    if (callers.communicator != nullptr)
        if (const auto files = files_of(callers.ranks); !files.empty())  // on all callers
            if (Status status = complete_some(callers, files, 0); !status.ok()) return status;
    if (mine.ok()) mine = take_failure(callers.ranks, identity);
    return callers.communicator == nullptr ? mine : agree(*callers.communicator, mine);
}

Status advance(const Callers& callers, std::uint64_t bytes) {
    complete_alone(false);
    const auto files = files_of(callers.ranks);
    if (files.empty()) return {};  // on all callers
    return complete_some(callers, files, bytes > 0 ? too_many(files, bytes) : 0);
}

void complete_own() { complete_alone(true); }

void complete_all() {
    while (!lists().files.empty()) complete(FilePtr(lists().files.front()));
}

void give_up(const std::string& why) {
    complete_alone(true);
    for (const FilePtr& file : lists().files) {
        const Status status{StatusCode::cancelled,
                            fmt::format("{}: is not complete: {}; caesura recover finishes it if "
                                        "all its blocks have been written",
                                        file->name(), why)};
        note_failure(*file, file->abandon(status));
    }
    lists().given_up = std::exchange(lists().files, {});
}

void show_errors() {
    for (const Failure& failure : std::exchange(lists().failures, {})) show_error(failure.status);
}

}  // namespace caesura::vol::pending_files
