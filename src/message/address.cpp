#include "message/address.hpp"

#include <sys/stat.h>
#include <xxhash.h>

#include <fstream>
#include <string>

namespace caesura::message {

std::uint64_t node_number() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    struct stat net {};
    if (boot.empty() || ::stat("/proc/self/ns/net", &net) != 0) return 0;
    return XXH3_64bits_withSeed(boot.data(), boot.size(), net.st_ino) | 1;
}

}  // namespace caesura::message
