// The operator's [[device]] tables: what compresses blocks and analyses regions beside the host's
// cores.
//
// | key                  | kinds    | default  | meaning                                        |
// |----------------------|----------|----------|------------------------------------------------|
// | kind                 |          |          | "cuda", "emulated" (a GPU in host memory, which |
// |                      |          |          | takes the time stated) or "remote"             |
// | name                 | all      | its kind | for status, trace and results                  |
// | memory_bytes         | cuda, emulated | 256 MiB | of the device, for one block and its result |
// | object_bytes         | cuda, emulated | 0  | of the device, for copies of objects' regions  |
// | ordinal              | cuda     | 0        | which GPU                                      |
// | coder                | emulated | "packed" | or "codec": as the host codes                  |
// | link_bytes_per_s     | emulated | 8e9      | in each direction                              |
// | compress_bytes_per_s | emulated | 4e9      |                                                |
// | analyse_bytes_per_s  | emulated | 5e10     |                                                |
// | per_block_s          | emulated | 1e-4     | of a block or a region                         |
// | kept_bytes           | emulated | 0        | of results, so that a block that comes again   |
// |                      |          |          | takes the stated time alone: for benchmarks    |
// | address              | remote   |          | of another service: "tcp:HOST:PORT"            |
// | secret               | remote   | none     | a file, as the service's own                   |
// | trusted_network      | remote   | false    | as the other service's                         |
// | at_once              | remote   | 1        | blocks that are on their way or there          |
// | patience_s           | remote   | 10       | without a result the host's cores do the block |
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transit/devices/device.hpp"
#include "transit/objects/device_memory.hpp"

namespace caesura::transit {

struct DeviceSettings {
    enum class Kind { cuda, emulated, remote };
    Kind kind = Kind::emulated;
    std::string name;
    std::uint64_t memory_bytes = std::uint64_t{256} << 20;
    std::uint64_t object_bytes = 0;
    int ordinal = 0;
    std::string coder = "packed";
    double link_bytes_per_s = 8e9, compress_bytes_per_s = 4e9, per_block_s = 1e-4;
    double analyse_bytes_per_s = 50e9;
    std::uint64_t kept_bytes = 0;
    std::string address, secret_path;
    bool trusted_network = false;
    int at_once = 1;
    double patience_s = 10.0;
};

class TomlReader;
/// The [[device]] tables of a document. Errors: invalid_argument, naming file, line and key.
Result<std::vector<DeviceSettings>> take_devices(TomlReader& document, const std::string& name);

/// Errors: those of the devices: unsupported (no GPU), invalid_argument, io. A remote one that is
/// not there is none: it is looked for when it is needed.
Result<std::unique_ptr<BlockDevice>> make_device(const DeviceSettings& settings);
/// Its object_bytes; null: none. Errors: those of a GPU.
Result<std::unique_ptr<DeviceMemory>> make_device_memory(const DeviceSettings& settings);

}  // namespace caesura::transit
