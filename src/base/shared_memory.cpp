#include "base/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "base/page.hpp"

namespace caesura::base {
namespace {

Status refused(std::string_view what, int error) {
    return {StatusCode::unsupported,
            fmt::format("memory shared on the node: {}: {}", what, std::strerror(error))};
}

// What this process has mapped. Used at set-up and at the end only, never by a lane.
struct Opened {
    std::mutex mutex;
    std::map<std::array<std::byte, 16>, std::weak_ptr<SharedMemory>> by_nonce;
};
Opened& opened() {
    static auto& all = *new Opened;
    return all;
}

std::array<std::byte, 16> make_nonce() {
    std::random_device source;
    std::array<std::byte, 16> nonce;
    for (std::byte& byte : nonce) byte = static_cast<std::byte>(source() & 0xff);
    return nonce;
}

}  // namespace

Result<std::shared_ptr<SharedMemory>> SharedMemory::map(const Key& key, int descriptor) {
    void* mapped = ::mmap(nullptr, key.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                          descriptor, 0);
    if (mapped == MAP_FAILED) {
        const int error = errno;
        ::close(descriptor);
        return refused(fmt::format("mapping {} bytes", key.bytes), error);
    }
    // A core dump wants none of it.
    (void)::madvise(mapped, key.bytes, MADV_DONTDUMP);
    std::shared_ptr<SharedMemory> memory(
        new SharedMemory(key, descriptor, static_cast<std::byte*>(mapped)));
    const std::lock_guard lock(opened().mutex);
    opened().by_nonce[key.nonce] = memory;
    return memory;
}

Result<std::shared_ptr<SharedMemory>> SharedMemory::create(std::uint64_t bytes) {
    // Growing a file beyond the limit is a signal, not an error.
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < bytes)
        return refused(fmt::format("{} bytes", bytes), EFBIG);
    const int descriptor = ::memfd_create("caesura", MFD_CLOEXEC);
    if (descriptor < 0) return refused("memfd_create", errno);
    if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
        const int error = errno;
        ::close(descriptor);
        return refused(fmt::format("{} bytes", bytes), error);
    }
    const Key key{make_nonce(), ::getpid(), descriptor, 0, bytes};
    auto memory = map(key, descriptor);
    if (!memory.ok()) return memory;
    if (Status status = (*memory)->allocate(0, k_page_bytes); !status.ok()) return status;
    std::memcpy((*memory)->data_, key.nonce.data(), key.nonce.size());
    return memory;
}

Result<std::shared_ptr<SharedMemory>> SharedMemory::open(const Key& key) {
    {
        const std::lock_guard lock(opened().mutex);
        const auto found = opened().by_nonce.find(key.nonce);
        if (found != opened().by_nonce.end())
            if (auto memory = found->second.lock()) return memory;
    }
    const std::string path = fmt::format("/proc/{}/fd/{}", key.process, key.descriptor);
    // In another process namespace this may be anything: look before touching it.
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return refused(path, errno);
    struct stat info {};
    if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) ||
        static_cast<std::uint64_t>(info.st_size) != key.bytes) {
        ::close(descriptor);
        return refused(path + " is something else", ENOENT);
    }
    std::array<std::byte, 16> nonce{};
    if (::pread(descriptor, nonce.data(), nonce.size(), 0) != ssize_t{16} || nonce != key.nonce) {
        ::close(descriptor);
        return refused(path + " is somebody else's", ENOENT);
    }
    return map(key, descriptor);
}

SharedMemory::~SharedMemory() {
    {
        const std::lock_guard lock(opened().mutex);
        const auto found = opened().by_nonce.find(key_.nonce);
        if (found != opened().by_nonce.end() && found->second.expired())
            opened().by_nonce.erase(found);
    }
    ::munmap(data_, key_.bytes);
    ::close(descriptor_);
}

Status SharedMemory::allocate(std::uint64_t offset, std::uint64_t bytes) {
    int result = 0;
    do {
        result = ::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                             static_cast<off_t>(bytes));
    } while (result != 0 && errno == EINTR);
    if (result == 0) return {};
    return {StatusCode::no_space,
            fmt::format("memory shared on the node: {} bytes: {}", bytes, std::strerror(errno))};
}

void SharedMemory::release(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t begin = (offset + k_page_bytes - 1) / k_page_bytes * k_page_bytes;
    const std::uint64_t end = (offset + bytes) / k_page_bytes * k_page_bytes;
    // Refused: the pages stay taken until the next block lies in them.
    if (end > begin)
        (void)::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                          static_cast<off_t>(begin), static_cast<off_t>(end - begin));
}

}  // namespace caesura::base
