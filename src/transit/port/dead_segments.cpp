#include "transit/port/dead_segments.hpp"

#include <sys/shm.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace caesura::transit {
namespace {

/// A line of /proc/sysvipc/shm.
struct Segment {
    std::int64_t key = 0;
    int id = 0;
    unsigned permissions = 0;
    std::uint64_t bytes = 0;
    pid_t maker = 0, last = 0;
    std::uint64_t attached = 0;
    uid_t owner = 0;
    gid_t group = 0;
    uid_t made_by = 0;
    gid_t made_by_group = 0;
    std::int64_t attached_at_s = 0, detached_at_s = 0, changed_at_s = 0;
    std::uint64_t resident_bytes = 0, swapped_bytes = 0;

    bool read(const std::string& line) {
        std::istringstream words(line);
        words >> key >> id >> std::oct >> permissions >> std::dec >> bytes >> maker >> last >>
            attached >> owner >> group >> made_by >> made_by_group >> attached_at_s >>
            detached_at_s >> changed_at_s >> resident_bytes >> swapped_bytes;
        return !words.fail();
    }
    bool is_of_the_dead() const {
        return key == IPC_PRIVATE && attached == 0 && resident_bytes + swapped_bytes == 0 &&
               owner == ::geteuid() && made_by == ::geteuid() && maker > 0 &&
               ::kill(maker, 0) != 0 && errno == ESRCH;
    }
};

}  // namespace

std::size_t remove_dead_segments() {
    std::ifstream file("/proc/sysvipc/shm");
    std::string line;
    std::getline(file, line);  // the heading
    std::size_t removed = 0;
    while (std::getline(file, line))
        if (Segment segment; segment.read(line) && segment.is_of_the_dead())
            removed += ::shmctl(segment.id, IPC_RMID, nullptr) == 0 ? 1 : 0;
    return removed;
}

}  // namespace caesura::transit
