// Checkpoints in C: translation of arguments and errors, nothing else.
#include "caesura/checkpointer.h"

#include <algorithm>
#include <cstring>

#include "caesura/checkpoint_file.hpp"
#include "caesura/checkpointer.hpp"
#include "caesura/device.hpp"
#include "capi/errors.hpp"

struct caesura_device {
    std::unique_ptr<caesura::device::Device> device;
    caesura::device::EmulatedDevice* emulated = nullptr;  // the same, if it is one
};

struct caesura_checkpointer {
    std::unique_ptr<caesura::Checkpointer> checkpointer;
};

namespace {

using caesura::Result;
using caesura::Status;
using caesura::capi::guarded;
using caesura::capi::invalid;

std::vector<caesura::plan::CompressPoint> curve_of(const caesura_compress_point* curve,
                                                   std::size_t points) {
    std::vector<caesura::plan::CompressPoint> out;
    for (std::size_t i = 0; curve && i < points; ++i)
        out.push_back({curve[i].bytes, curve[i].seconds});
    return out;
}

Result<caesura::plan::CheckpointProfile> profile_of(const caesura_checkpointer_options& options) {
    if (options.profile) return caesura::plan::parse_checkpoint_profile(options.profile);
    caesura::plan::CheckpointProfile profile;
    profile.checkpoint_bytes = options.checkpoint_bytes;
    profile.cache_bytes = options.cache_bytes;
    profile.link_bytes_per_s = options.link_bytes_per_s;
    profile.compress_curve = curve_of(options.curve, options.curve_points);
    return profile;
}

Result<caesura::device::Content> content_of(const caesura_checkpointer_options& options) {
    if (options.dtype != CAESURA_FLOAT32 && options.dtype != CAESURA_FLOAT64)
        return invalid("dtype " + std::to_string(options.dtype) +
                       "; checkpoints are float32 or float64");
    if (options.rank < 0 || options.rank > caesura::k_max_rank)
        return invalid("a checkpoint of " + std::to_string(options.rank) + " axes; 0 to 4 go");
    if (options.kind != CAESURA_LOSSLESS && options.kind != CAESURA_ABSOLUTE)
        return invalid("bound kind " + std::to_string(options.kind) +
                       "; checkpoints are lossless or have an absolute bound");
    caesura::device::Content content;
    content.dtype = static_cast<caesura::DType>(options.dtype);
    if (options.rank > 0)
        content.shape = caesura::Shape(
            std::span<const std::uint64_t>(options.shape, static_cast<std::size_t>(options.rank)));
    if (options.kind == CAESURA_ABSOLUTE) content.bound = caesura::absolute(options.bound);
    return content;
}

Status make(caesura_device* device, const caesura_checkpointer_options* given, bool reopens,
            caesura_checkpointer** checkpointer) {
    if (!checkpointer) return invalid("checkpointer is NULL");
    *checkpointer = nullptr;
    if (!device || !given) return invalid("an argument is NULL");
    caesura_checkpointer_options all = CAESURA_CHECKPOINTER_OPTIONS_DEFAULT;
    std::memcpy(&all, given, std::min(sizeof all, given->struct_bytes));
    auto profile = profile_of(all);
    if (!profile.ok()) return profile.status();
    const auto content = content_of(all);
    if (!content.ok()) return content.status();
    caesura::CheckpointerOptions options;
    options.content = *content;
    if (all.host_bytes) options.host_bytes = all.host_bytes;
    options.write_all = all.write_all != 0;
    options.commit_every_s = all.commit_every_s;
    options.checkpoints = all.checkpoints;
    if (reopens && !all.path) return invalid("path is NULL; there is nothing to open");
    if (all.path) {
        caesura::CheckpointFileOptions how;
        how.durable = all.durable != 0;
        if (reopens) {
            auto file = caesura::CheckpointFile::open(all.path, how);
            if (!file.ok()) return file.status();
            options.store = *std::move(file);
        } else {
            options.store = caesura::CheckpointFile::create_at_begin(all.path, how);
        }
    }
    auto made = caesura::Checkpointer::create(*device->device, *std::move(profile), options);
    if (!made.ok()) return made.status();
    *checkpointer = new caesura_checkpointer{*std::move(made)};
    return {};
}

/// Runs a call of a checkpointer that is there.
template <class Body>
caesura_code with(caesura_checkpointer* checkpointer, Body body) {
    return guarded([&]() -> Status {
        if (!checkpointer) return invalid("checkpointer is NULL");
        return body(*checkpointer->checkpointer);
    });
}

}  // namespace

extern "C" {

caesura_code caesura_device_create_emulated(uint64_t memory_bytes, double link_bytes_per_s,
                                            double copy_bytes_per_s,
                                            const caesura_compress_point* curve, size_t points,
                                            caesura_device** device) {
    return guarded([&]() -> Status {
        if (!device) return invalid("device is NULL");
        *device = nullptr;
        if (!curve || points == 0) return invalid("a curve of no points");
        caesura::device::EmulatedMachine machine;
        machine.memory_bytes = memory_bytes;
        machine.link_bytes_per_s = link_bytes_per_s;
        machine.copy_bytes_per_s = copy_bytes_per_s;
        machine.compress_s = [known = curve_of(curve, points)](double bytes) {
            return caesura::plan::compress_s(known, bytes);
        };
        auto made = caesura::device::EmulatedDevice::create(std::move(machine));
        if (!made.ok()) return made.status();
        auto emulated = std::make_unique<caesura::device::EmulatedDevice>(*std::move(made));
        auto handle = std::make_unique<caesura_device>();
        handle->emulated = emulated.get();
        handle->device = std::move(emulated);
        *device = handle.release();
        return {};
    });
}

caesura_code caesura_device_create_cuda(int ordinal, void* stream, caesura_device** device) {
    return guarded([&]() -> Status {
        if (!device) return invalid("device is NULL");
        *device = nullptr;
        caesura::device::CudaOptions options;
        options.ordinal = ordinal;
        options.stream = stream;
        auto made = caesura::device::create_cuda_device(options);
        if (!made.ok()) return made.status();
        auto handle = std::make_unique<caesura_device>();
        handle->device = *std::move(made);
        *device = handle.release();
        return {};
    });
}

caesura_code caesura_device_work(caesura_device* device, double seconds) {
    return guarded([&]() -> Status {
        if (!device || !device->emulated) return invalid("no emulated device");
        if (!(seconds >= 0.0)) return invalid("work of " + std::to_string(seconds) + " seconds");
        device->emulated->work(seconds);
        return {};
    });
}

double caesura_device_now_s(caesura_device* device) {
    return device ? device->device->now_s() : -1.0;
}

void caesura_device_free(caesura_device* device) { delete device; }

caesura_code caesura_checkpointer_create(caesura_device* device,
                                         const caesura_checkpointer_options* options,
                                         caesura_checkpointer** checkpointer) {
    return guarded([&] { return make(device, options, false, checkpointer); });
}

caesura_code caesura_checkpointer_reopen(caesura_device* device,
                                         const caesura_checkpointer_options* options,
                                         caesura_checkpointer** checkpointer) {
    return guarded([&] { return make(device, options, true, checkpointer); });
}

caesura_code caesura_checkpointer_checkpoint(caesura_checkpointer* checkpointer, uint64_t id,
                                             const void* data) {
    return with(checkpointer, [&](caesura::Checkpointer& it) -> Status {
        if (!data) return invalid("data is NULL");
        return it.checkpoint(id, static_cast<const std::byte*>(data));
    });
}

caesura_code caesura_checkpointer_restore(caesura_checkpointer* checkpointer, uint64_t id,
                                          void* data) {
    return with(checkpointer, [&](caesura::Checkpointer& it) -> Status {
        if (!data) return invalid("data is NULL");
        return it.restore(id, static_cast<std::byte*>(data));
    });
}

caesura_code caesura_checkpointer_flush(caesura_checkpointer* checkpointer) {
    return with(checkpointer, [](caesura::Checkpointer& it) { return it.flush(); });
}

caesura_code caesura_checkpointer_save(caesura_checkpointer* checkpointer) {
    return with(checkpointer, [](caesura::Checkpointer& it) { return it.save(); });
}

caesura_code caesura_checkpointer_ids(caesura_checkpointer* checkpointer, uint64_t* ids,
                                      size_t room, size_t* count) {
    return with(checkpointer, [&](caesura::Checkpointer& it) -> Status {
        if (!count || (!ids && room > 0)) return invalid("an argument is NULL");
        const std::vector<std::uint64_t> all = it.ids();
        *count = all.size();
        std::copy_n(all.begin(), std::min(room, all.size()), ids);
        return {};
    });
}

caesura_code caesura_checkpointer_profile(caesura_checkpointer* checkpointer, char* text,
                                          size_t room, size_t* bytes) {
    return with(checkpointer, [&](caesura::Checkpointer& it) -> Status {
        if (!bytes || (!text && room > 0)) return invalid("an argument is NULL");
        const std::string json = caesura::plan::to_json(it.recorded());
        *bytes = json.size();
        if (room > json.size()) std::memcpy(text, json.c_str(), json.size() + 1);
        return {};
    });
}

caesura_code caesura_checkpointer_get_report(caesura_checkpointer* checkpointer,
                                             caesura_checkpointer_report* report) {
    return with(checkpointer, [&](caesura::Checkpointer& it) -> Status {
        if (!report) return invalid("report is NULL");
        const caesura::CheckpointerReport from = it.report();
        caesura_checkpointer_report all{};
        all.struct_bytes = report->struct_bytes;
        all.checkpoints = from.word.size();
        all.checkpoint_s = from.checkpoint_s;
        all.restore_s = from.restore_s;
        all.raw_bytes = from.raw_bytes;
        all.link_bytes = from.link_bytes;
        all.restores = from.restores;
        all.prefetched = from.prefetched;
        all.peak_cache_bytes = from.peak_cache_bytes;
        all.peak_host_bytes = from.peak_host_bytes;
        all.written_bytes = from.written_bytes;
        all.reads = from.reads;
        all.read_ahead = from.read_ahead;
        all.store_wait_s = from.store_wait_s;
        std::memcpy(report, &all, std::min(sizeof all, report->struct_bytes));
        return {};
    });
}

void caesura_checkpointer_free(caesura_checkpointer* checkpointer) { delete checkpointer; }

}  // extern "C"
