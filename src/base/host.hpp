// What kind of machine this is, and where what was measured on it is kept.
//
// Calls: all thread-safe; they read /proc, the environment and the file system's name, nothing
// else.
#pragma once

#include <string>

namespace caesura {

/// Machines of one class share their measurements: same processor model, same number of cores.
/// Independent of the operating system and its version.
struct HostClass {
    std::string name;       ///< fit for a file name: "intel-xeon-platinum-8480-56"
    std::string processor;  ///< as the machine says it
    int cores = 0;          ///< online, whatever this process may use of them
};
HostClass host_class();

/// "ext4", "xfs", "lustre", "gpfs", "nfs", "tmpfs", ...; "0x" and its number if it is none of the
/// known; "" if there is no such path.
std::string file_system_type(const std::string& path);

/// Where the calibration of a class of machines lies: $CAESURA_CALIBRATION if it is set (a file, or
/// "none": use none), else caesura/calibration/<class>.json in $XDG_CONFIG_HOME or ~/.config; "" if
/// there is no home directory either.
std::string calibration_path(const std::string& host_class_name);

}  // namespace caesura
