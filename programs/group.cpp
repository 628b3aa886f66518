#include "group.hpp"

#include <fmt/format.h>

#include <utility>

#ifdef CAESURA_PMIX
#include <pmix.h>

#include <cstring>
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

Result<std::vector<std::string>> Group::exchange(const std::string& address) const {
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
    status = PMIx_Fence(&all, 1, &collect, 1);
    if (status != PMIX_SUCCESS) return failure("waiting for the others", status);
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
Result<std::vector<std::string>> Group::exchange(const std::string&) const {
    return Status{StatusCode::unsupported, "built without PMIx"};
}

#endif

}  // namespace caesura
