#include "group.hpp"

#include <fmt/format.h>

#include <utility>

#ifdef CAESURA_PMIX
#include <pmix.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#endif

namespace caesura {

Group::Group(Group&& other) noexcept
    : name_space_(std::exchange(other.name_space_, {})), rank_(other.rank_), size_(other.size_) {}

#ifdef CAESURA_PMIX

namespace {

constexpr char k_key[] = "caesura.serve.address";

pmix_proc_t proc_of(const std::string& name_space, std::uint32_t rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, name_space.c_str(), rank);
    return proc;
}

Status failure(const char* what, pmix_status_t status) {
    return {StatusCode::io, fmt::format("PMIx, {}: {}", what, PMIx_Error_string(status))};
}

/// What PMIx will say, on a thread of its own. It is waited for here: not every PMIx knows a time
/// limit. Shared, because it may be said after nobody waits any more.
class Said {
  public:
    using Ptr = std::shared_ptr<Said>;
    /// For a callback's data.
    static void* held(const Ptr& said) { return new Ptr(said); }
    static void say(pmix_status_t status, void* held) {
        const std::unique_ptr<Ptr> said(static_cast<Ptr*>(held));
        const std::lock_guard lock((*said)->mutex_);
        (*said)->status_ = status;
        (*said)->changed_.notify_all();
    }
    std::optional<pmix_status_t> wait_until(std::chrono::steady_clock::time_point end) {
        std::unique_lock lock(mutex_);
        changed_.wait_until(lock, end, [&] { return status_.has_value(); });
        return status_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<pmix_status_t> status_;
};

void say_value(pmix_status_t status, pmix_value_t*, void* held) { Said::say(status, held); }

std::chrono::steady_clock::time_point after(double seconds) {
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
               std::chrono::duration<double>(seconds));
}

}  // namespace

Result<Group> Group::join() {
    pmix_proc_t self;
    if (const pmix_status_t status = PMIx_Init(&self, nullptr, 0); status != PMIX_SUCCESS)
        return Status{StatusCode::invalid_argument,
                      fmt::format("group = \"pmix\": no launcher with PMIx has started this ({}); "
                                  "use mpirun or srun --mpi=pmix",
                                  PMIx_Error_string(status))};
    Group group;
    group.name_space_ = self.nspace;
    group.rank_ = self.rank;
    pmix_value_t* value = nullptr;
    const pmix_proc_t all = proc_of(group.name_space_, PMIX_RANK_WILDCARD);
    if (const pmix_status_t status = PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, &value);
        status != PMIX_SUCCESS)
        return failure("the number of services", status);
    group.size_ = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return group;
}

Group::~Group() {
    if (!name_space_.empty()) (void)PMIx_Finalize(nullptr, 0);
}

// Who has said an address is asked for it; the others cannot answer.
std::string Group::missing() const {
    constexpr double k_answer_s = 1.0;
    std::vector<std::pair<std::uint32_t, Said::Ptr>> asked;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        if (rank == rank_) continue;
        const pmix_proc_t other = proc_of(name_space_, rank);
        const auto said = std::make_shared<Said>();
        void* const held = Said::held(said);
        const pmix_status_t status = PMIx_Get_nb(&other, k_key, nullptr, 0, say_value, held);
        if (status != PMIX_SUCCESS) Said::say(status, held);
        asked.emplace_back(rank, said);
    }
    std::string ranks;
    const auto end = after(k_answer_s);
    for (const auto& [rank, said] : asked)
        if (said->wait_until(end) != PMIX_SUCCESS)
            ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
    return ranks;
}

Result<std::vector<std::string>> Group::exchange(const std::string& address, double wait_s) const {
    std::string held = address;
    pmix_value_t own;
    own.type = PMIX_STRING;
    own.data.string = held.data();
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, k_key, &own);
    if (status == PMIX_SUCCESS) status = PMIx_Commit();
    if (status != PMIX_SUCCESS) return failure("saying the address", status);
    pmix_info_t collect;
    bool yes = true;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    const pmix_proc_t all = proc_of(name_space_, PMIX_RANK_WILDCARD);
    const auto said = std::make_shared<Said>();
    void* const held_by_fence = Said::held(said);
    status = PMIx_Fence_nb(&all, 1, &collect, 1, Said::say, held_by_fence);
    if (status != PMIX_SUCCESS) Said::say(status, held_by_fence);
    const auto outcome = said->wait_until(after(wait_s));
    if (!outcome) {
        const std::string ranks = missing();
        return Status{StatusCode::io,
                      fmt::format("group: rank {} of {} has waited {} s (group_wait_s) for the "
                                  "others; {}",
                                  rank_, size_, wait_s,
                                  ranks.empty() ? "all have come since, and PMIx does not say so"
                                                : "these ranks have not come: " + ranks)};
    }
    if (*outcome != PMIX_SUCCESS) return failure("waiting for the others", *outcome);
    std::vector<std::string> others;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        if (rank == rank_) continue;
        const pmix_proc_t other = proc_of(name_space_, rank);
        pmix_value_t* value = nullptr;
        status = PMIx_Get(&other, k_key, nullptr, 0, &value);
        if (status != PMIX_SUCCESS) return failure("the address of another", status);
        others.emplace_back(value->data.string);
        PMIX_VALUE_RELEASE(value);
    }
    return others;
}

#else

Result<Group> Group::join() {
    return Status{StatusCode::unsupported, "group = \"pmix\": built without PMIx (libpmix-dev)"};
}
Group::~Group() = default;
Result<std::vector<std::string>> Group::exchange(const std::string&, double) const {
    return Status{StatusCode::unsupported, "built without PMIx"};
}

#endif

}  // namespace caesura
