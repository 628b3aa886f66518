#include "transit/service/device_settings.hpp"

#include <algorithm>

#include "transit/devices/gpu.hpp"
#include "transit/devices/remote.hpp"
#include "transit/port/address.hpp"
#include "transit/service/toml_reader.hpp"

namespace caesura::transit {
namespace {

constexpr double k_least_rate = 1e3, k_most_rate = 1e15;

Status take_kind(TomlReader& table, const toml::node& node, DeviceSettings& device,
                 std::string& kind) {
    table.take("kind", kind);
    if (kind == "cuda")
        device.kind = DeviceSettings::Kind::cuda;
    else if (kind == "emulated")
        device.kind = DeviceSettings::Kind::emulated;
    else if (kind == "remote")
        device.kind = DeviceSettings::Kind::remote;
    else
        table.wrong(node, "kind", "must be cuda, emulated or remote");
    return table.status();
}

/// The keys that a device of this kind has; others are none.
void take_keys(TomlReader& table, const toml::node& node, DeviceSettings& device) {
    using Kind = DeviceSettings::Kind;
    table.take("name", device.name);
    if (device.kind != Kind::remote) {
        table.count("memory_bytes", device.memory_bytes, 1 << 20, std::int64_t{1} << 40);
        table.count("object_bytes", device.object_bytes, 0, std::int64_t{1} << 40);
    }
    if (device.kind == Kind::cuda) table.count("ordinal", device.ordinal, 0, 1023);
    if (device.kind == Kind::emulated) {
        table.take("coder", device.coder);
        table.number("link_bytes_per_s", device.link_bytes_per_s, k_least_rate, k_most_rate);
        table.number("compress_bytes_per_s", device.compress_bytes_per_s, k_least_rate,
                     k_most_rate);
        table.number("analyse_bytes_per_s", device.analyse_bytes_per_s, k_least_rate, k_most_rate);
        table.number("per_block_s", device.per_block_s, 0.0, 60.0);
        table.count("kept_bytes", device.kept_bytes, 0, std::int64_t{1} << 40);
        if (device.coder != "packed" && device.coder != "codec")
            table.wrong(node, "coder", "must be packed or codec");
    }
    if (device.kind == Kind::remote) {
        table.take("address", device.address);
        table.take("secret", device.secret_path);
        table.take("trusted_network", device.trusted_network);
        table.count("at_once", device.at_once, 1, 64);
        table.number("patience_s", device.patience_s, 0.1, 3600.0);
        if (const auto address = Address::parse(device.address); !address.ok())
            table.wrong(node, "address", "of a remote device: " + address.status().message());
    }
}

}  // namespace

Result<std::vector<DeviceSettings>> take_devices(TomlReader& document, const std::string& name) {
    std::vector<DeviceSettings> devices;
    const toml::array* const list = document.list("device");
    if (list == nullptr) return devices;
    for (const toml::node& one : *list) {
        if (one.as_table() == nullptr) {
            document.wrong(one, "device", "must be tables: [[device]]");
            continue;
        }
        TomlReader table(*one.as_table(), name);
        DeviceSettings device;
        std::string kind;
        if (Status status = take_kind(table, one, device, kind); !status.ok()) return status;
        device.name = kind;
        take_keys(table, one, device);
        table.end();
        const auto is_same = [&](const DeviceSettings& other) { return other.name == device.name; };
        if (device.name == "cpu" || std::any_of(devices.begin(), devices.end(), is_same))
            table.wrong(one, "name", "\"" + device.name + "\" is another device's");
        if (!table.status().ok()) return table.status();
        devices.push_back(std::move(device));
    }
    return devices;
}

Result<std::unique_ptr<BlockDevice>> make_device(const DeviceSettings& settings) {
    if (settings.kind == DeviceSettings::Kind::remote) {
        RemoteDevice::Options options{settings.name, settings.at_once, settings.patience_s};
        PortOptions port;
        port.identity = "caesura-serve";
        port.secret_path = settings.secret_path;
        port.trusted_network = settings.trusted_network;
        return std::unique_ptr<BlockDevice>(
            RemoteDevice::over_port(options, settings.address, port));
    }
    GpuDevice::Options options;
    options.name = settings.name;
    options.memory_bytes = settings.memory_bytes;
    options.ordinal = settings.ordinal;
    options.kept_bytes = settings.kept_bytes;
    if (settings.coder == "codec") options.coder = device::Coder::codec;
    auto speeds = std::make_shared<StatedSpeeds>();
    speeds->link_bytes_per_s = settings.link_bytes_per_s;
    speeds->compress_bytes_per_s = settings.compress_bytes_per_s;
    speeds->analyse_bytes_per_s = settings.analyse_bytes_per_s;
    speeds->per_block_s = settings.per_block_s;
    auto made = settings.kind == DeviceSettings::Kind::cuda
                    ? GpuDevice::cuda(options)
                    : GpuDevice::emulated(options, std::move(speeds));
    if (!made.ok()) return made.status().with_context("device " + settings.name);
    return std::unique_ptr<BlockDevice>(std::move(*made));
}

Result<std::unique_ptr<DeviceMemory>> make_device_memory(const DeviceSettings& settings) {
    if (settings.object_bytes == 0) return std::unique_ptr<DeviceMemory>();
    const bool is_emulated = settings.kind == DeviceSettings::Kind::emulated;
    std::unique_ptr<device::Device> device;
    if (is_emulated) {
        device::EmulatedMachine machine;
        machine.memory_bytes = settings.object_bytes;
        machine.link_bytes_per_s = settings.link_bytes_per_s;
        machine.copy_bytes_per_s = settings.link_bytes_per_s;
        machine.compress_s = [](double) { return 0.0; };  // it only keeps bytes
        auto made = device::EmulatedDevice::create(std::move(machine));
        if (!made.ok()) return made.status().with_context("device " + settings.name);
        device = std::make_unique<device::EmulatedDevice>(std::move(*made));
    } else {
        device::CudaOptions cuda;
        cuda.ordinal = settings.ordinal;
        auto made = device::create_cuda_device(cuda);
        if (!made.ok()) return made.status().with_context("device " + settings.name);
        device = std::move(*made);
    }
    return std::make_unique<DeviceMemory>(
        DeviceMemory::Options{settings.name, settings.object_bytes, is_emulated},
        std::move(device));
}

}  // namespace caesura::transit
