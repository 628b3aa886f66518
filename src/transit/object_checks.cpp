// Checks of messages about objects.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "transit/message_checks.hpp"

namespace caesura::transit {
namespace {

Status amiss(std::string what) { return {StatusCode::corrupt, std::move(what)}; }

bool has_control(const std::string& text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

Status check_name(const char* what, const std::string& name, bool may_be_empty) {
    if (name.empty() && !may_be_empty) return amiss(fmt::format("the {} is empty", what));
    if (has_control(name)) return amiss(fmt::format("the {} has control characters", what));
    return {};
}

/// All axes >= 1; the bytes of the values are a number.
Status check_shape(const Shape& shape) {
    std::uint64_t bytes = 8;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] < 1 || shape[axis] > k_offset_limit / bytes)
            return amiss(fmt::format("shape {}", to_string(shape)));
        bytes *= shape[axis];
    }
    return shape.rank() >= 1 ? Status{} : amiss("a shape without axes");
}

Status check_whole_box(const Box& box) {
    if (box.offset.rank() != box.extent.rank()) return amiss("a box of two minds about its axes");
    for (int axis = 0; axis < box.extent.rank(); ++axis)
        if (box.offset[axis] > k_offset_limit ||
            box.extent[axis] > k_offset_limit - box.offset[axis])
            return amiss(fmt::format("box {}", to_string(box)));
    return check_shape(box.extent);
}

Status check_kept_bound(const ErrorBound& bound) {
    using K = ErrorBound::Kind;
    const bool known = bound.kind == K::lossless || bound.kind == K::absolute ||
                       bound.kind == K::pointwise_relative;
    if (!known) return amiss("a bound of a kind that needs all values of the object");
    const Status status = validate(bound);
    return status.ok() ? status : amiss(status.message());
}

Status check_tags(const std::vector<Tag>& tags) {
    for (const Tag& tag : tags) {
        if (Status status = check_name("tag's name", tag.first, false); !status.ok()) return status;
        if (Status status = check_name("tag", tag.second, true); !status.ok()) return status;
    }
    return {};
}

Status check_calls(const std::vector<std::string>& calls) {
    for (const std::string& call : calls)
        if (call.empty()) return amiss("an empty call");
    return {};
}

bool is_range(const std::optional<Range>& range) {
    return !range || range->lowest <= range->highest;
}

/// Of what has been found: it may be empty, and is made of numbers.
bool is_known_range(const std::optional<Range>& range) {
    return !range || (!std::isnan(range->lowest) && !std::isnan(range->highest));
}

Status check_chain(const ObjectChain& chain, const ErrorBound& bound) {
    if (chain.text.empty())
        return chain.side == ChainSide::client ? Status{} : amiss("a side and no chain");
    if (bound.kind != ErrorBound::Kind::lossless)
        return amiss("a bound beside a chain, which says itself what may be lost");
    return check_name("chain", chain.text, false);
}

Status check_object(const ObjectInfo& object) {
    if (object.name.empty()) return amiss("an object without a name");
    if (Status status = check_shape(object.shape); !status.ok()) return status;
    if (Status status = check_kept_bound(object.bound); !status.ok()) return status;
    if (Status status = check_chain(object.chain, object.bound); !status.ok()) return status;
    if (Status status = check_tags(object.tags); !status.ok()) return status;
    if (!is_known_range(object.range)) return amiss("a range that is none");
    for (const ResultInfo& result : object.results)
        if (result.call.empty()) return amiss("an empty call");
    for (const RegionInfo& region : object.regions) {
        if (Status status = check_whole_box(region.box); !status.ok()) return status;
        if (region.box.extent.rank() != object.shape.rank()) return amiss("a region of other axes");
        if (!is_known_range(region.range)) return amiss("a range that is none");
    }
    return {};
}

}  // namespace

Status check(const DescribeDump& message) {
    for (const DumpedObject& object : message.objects) {
        if (Status status = check_name("path", object.path, false); !status.ok()) return status;
        if (Status status = check_shape(object.shape); !status.ok()) return status;
    }
    return check_calls(message.calls);
}

Status check(const CreateObject& message) {
    if (Status status = check_name("container", message.container, true); !status.ok())
        return status;
    if (Status status = check_name("name", message.name, false); !status.ok()) return status;
    if (Status status = check_shape(message.shape); !status.ok()) return status;
    if (Status status = check_kept_bound(message.bound); !status.ok()) return status;
    if (message.guest && message.keep) return amiss("a guest that stays");
    if (message.guest && !message.chain.text.empty()) return amiss("a guest with a chain");
    if (Status status = check_chain(message.chain, message.bound); !status.ok()) return status;
    return check_tags(message.tags);
}

Status check(const PutRegion& message) {
    if (Status status = check_whole_box(message.box); !status.ok()) return status;
    const std::uint64_t bytes = message.box.extent.count() * size_of(message.dtype);
    const bool fits = message.chained ? message.payload_bytes > 0 &&
                                            message.payload_bytes <= chained_limit_bytes(bytes)
                                      : message.payload_bytes == bytes;
    if (!fits || std::max(bytes, message.payload_bytes) > k_block_limit_bytes)
        return amiss(fmt::format("{} bytes for box {} of {}", message.payload_bytes,
                                 to_string(message.box), to_string(message.dtype)));
    return {};
}

Status check(const GetRegion& message) { return check_whole_box(message.box); }

Status check(const FindObjects& message) {
    if (!is_range(message.times) || !is_range(message.values)) return amiss("a range that is none");
    if (message.most < 1 || message.most > k_found_limit)
        return amiss(fmt::format("{} objects at most", message.most));
    return check_tags(message.tags);
}

Status check(const RunFunction& message) {
    if (message.call.empty()) return amiss("an empty call");
    return message.box ? check_whole_box(*message.box) : Status{};
}

Status check(const RunPass& message) {
    if (message.boxes.empty() || message.state.empty()) return amiss("a pass over nothing");
    for (const Box& box : message.boxes)
        if (Status status = check_whole_box(box); !status.ok()) return status;
    return {};
}

Status check(const PersistObjects& message) {
    if (Status status = check_name("path", message.path, false); !status.ok()) return status;
    if (Status status = check_name("container", message.container, true); !status.ok())
        return status;
    if (!message.objects.empty() && !message.container.empty())
        return amiss("objects by number, and a container");
    return message.bound ? check_kept_bound(*message.bound) : Status{};
}

Status check(const FoundObjects& message) {
    if (!message.status.ok() && !message.objects.empty()) return amiss("an error with objects");
    for (const ObjectInfo& object : message.objects)
        if (Status status = check_object(object); !status.ok()) return status;
    return {};
}

Status check(const FoundInDump& message) {
    return message.dataset < k_datasets_limit ? Status{} : amiss("a dataset beyond all limits");
}

Status check(const AnalyseRegion& message) {
    if (Status status = check_name("function", message.function, false); !status.ok())
        return status;
    if (Status status = check_name("version", message.version, true); !status.ok()) return status;
    if (Status status = check_tags(message.tags); !status.ok()) return status;
    if (Status status = check_shape(message.shape); !status.ok()) return status;
    if (Status status = check_whole_box(message.box); !status.ok()) return status;
    bool inside = message.box.extent.rank() == message.shape.rank();
    for (int axis = 0; inside && axis < message.shape.rank(); ++axis)
        inside = message.box.extent[axis] <= message.shape[axis] &&
                 message.box.offset[axis] <= message.shape[axis] - message.box.extent[axis];
    if (!inside)
        return amiss(fmt::format("box {} of {}", to_string(message.box), to_string(message.shape)));
    const std::uint64_t bytes = message.box.extent.count() * size_of(message.dtype);
    if (message.payload_bytes != bytes || bytes > k_block_limit_bytes)
        return amiss(fmt::format("{} bytes for box {} of {}", message.payload_bytes,
                                 to_string(message.box), to_string(message.dtype)));
    return message.state.empty() ? amiss("an analysis without a state") : Status{};
}

Status check(const AnalysedRegion& message) {
    const bool fits = message.status.ok() ? message.payload_bytes >= 1 &&
                                                message.payload_bytes <= k_state_limit_bytes
                                          : message.payload_bytes == 0;
    if (!fits)
        return amiss(fmt::format("a state of {} bytes ({})", message.payload_bytes,
                                 to_string(message.status.code())));
    if (!(message.compute_s >= 0.0 && message.compute_s <= k_seconds_limit))
        return amiss(fmt::format("compute_s is {}", message.compute_s));
    if (!(message.utilisation >= 0.0 && message.utilisation <= 1.0))
        return amiss(fmt::format("utilisation is {}", message.utilisation));
    return {};
}

}  // namespace caesura::transit
