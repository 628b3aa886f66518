// The machine's class from /proc/cpuinfo, the file system's name from its magic number.
#include "base/host.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace caesura {
namespace {

constexpr std::size_t k_most_name_bytes = 100;

/// What follows the colon of the first line that begins with `key`; "" without one.
std::string cpuinfo(const std::string& key) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos && line.compare(0, key.size(), key) == 0)
            return line.substr(colon + 2);
    }
    return "";
}

// Arm says numbers only: together they name the core.
std::string processor_name() {
    if (std::string model = cpuinfo("model name"); !model.empty()) return model;
    const std::string implementer = cpuinfo("CPU implementer"), part = cpuinfo("CPU part");
    utsname names{};
    const std::string machine = uname(&names) == 0 ? names.machine : "unknown";
    return implementer.empty() ? machine : fmt::format("{} {} {}", machine, implementer, part);
}

/// Lower-case letters, digits and single hyphens; marketing signs and clock rates are left out, so
/// that a name does not change with a firmware that spells them otherwise.
std::string as_file_name(const std::string& text) {
    std::string plain = text.substr(0, text.find('@'));
    for (const char* noise : {"(R)", "(TM)", "(r)", "(tm)", "CPU", "Processor"})
        for (std::size_t at; (at = plain.find(noise)) != std::string::npos;)
            plain.replace(at, std::string_view(noise).size(), 1, ' ');
    std::string name;
    for (const char c : plain) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80 && std::isalnum(byte) != 0)
            name += static_cast<char>(std::tolower(byte));
        else if (!name.empty() && name.back() != '-')
            name += '-';
    }
    name.resize(std::min(name.size(), k_most_name_bytes));
    while (!name.empty() && name.back() == '-') name.pop_back();
    return name.empty() ? "unknown" : name;
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

HostClass host_class() {
    HostClass host;
    host.processor = processor_name();
    host.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    host.name = fmt::format("{}-{}", as_file_name(host.processor), host.cores);
    return host;
}

std::string file_system_type(const std::string& path) {
    struct statfs found {};
    if (statfs(path.c_str(), &found) != 0) return "";
    struct Known {
        std::uint64_t magic;
        const char* name;
    };
    // From linux/magic.h and the file systems' own headers.
    constexpr Known known[] = {
        {0xEF53, "ext4"},       {0x58465342, "xfs"},     {0x9123683E, "btrfs"},
        {0x01021994, "tmpfs"},  {0x794C7630, "overlay"}, {0x6969, "nfs"},
        {0x0BD00BD0, "lustre"}, {0x47504653, "gpfs"},    {0x19830326, "beegfs"},
        {0x00C36400, "ceph"},   {0x2FC12FC1, "zfs"},     {0xAAD7AAEA, "panfs"},
        {0x65735546, "fuse"},   {0xFF534D42, "cifs"},    {0xFE534D42, "smb2"},
        {0x01021997, "9p"},     {0x5346544E, "ntfs"},    {0x858458F6, "ramfs"},
        {0xF2F52010, "f2fs"},   {0x7461636F, "ocfs2"},   {0x20030528, "orangefs"},
    };
    const auto magic = static_cast<std::uint64_t>(found.f_type) & 0xFFFFFFFF;
    for (const Known& entry : known)
        if (entry.magic == magic) return entry.name;
    return fmt::format("{:#x}", magic);
}

std::string calibration_path(const std::string& host_class_name) {
    if (std::string given = environment("CAESURA_CALIBRATION"); !given.empty()) return given;
    std::string place = environment("XDG_CONFIG_HOME");
    if (place.empty()) {
        const std::string home = environment("HOME");
        if (home.empty()) return "";
        place = home + "/.config";
    }
    return fmt::format("{}/caesura/calibration/{}.json", place, host_class_name);
}

}  // namespace caesura
