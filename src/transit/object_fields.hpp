// Which fields messages about objects have: see message_fields.hpp.
#pragma once

#include "transit/message_fields.hpp"

namespace caesura::transit {

// ------------------------------------------------------------------- parts of messages

template <class Io>
void fields(Io& io, Of<Io, Tag>& tag) {
    io.text(tag.first, k_object_name_limit_bytes, "tag");
    io.text(tag.second, k_object_name_limit_bytes, "tag");
}
inline constexpr std::size_t k_least_tag_bytes = 4 + 1 + 4;

template <class Io, class Tags>
void tags(Io& io, Tags& all) {
    io.list(all, k_tags_limit, k_least_tag_bytes, "tags", [&](auto& tag) { fields(io, tag); });
}

template <class Io>
void fields(Io& io, Of<Io, Range>& range) {
    io.f64(range.lowest);
    io.f64(range.highest);
}

/// A box with its number of axes.
template <class Io>
void whole_box(Io& io, Of<Io, Box>& box) {
    int axes = box.offset.rank();
    io.axes(axes);
    extents(io, box, axes);
}

/// A shape with its number of axes.
template <class Io>
void whole_shape(Io& io, Of<Io, Shape>& shape) {
    int axes = shape.rank();
    io.axes(axes);
    io.shape(shape, axes);
}

template <class Io>
void fields(Io& io, Of<Io, ObjectChain>& chain) {
    io.text(chain.text, k_call_limit_bytes, "chain");
    io.one_of(chain.side, ChainSide::client, ChainSide::service, "side");
}

template <class Io>
void fields(Io& io, Of<Io, DumpedObject>& object) {
    io.text(object.path, k_path_limit_bytes, "path");
    fields(io, object.dtype);
    whole_shape(io, object.shape);
}
inline constexpr std::size_t k_least_dumped_bytes = 4 + 1 + 1 + 1 + 8;

template <class Io>
void fields(Io& io, Of<Io, RegionInfo>& region) {
    whole_box(io, region.box);
    io.one_of(region.place, RegionPlace::memory, RegionPlace::device, "place");
    io.optional(region.range, "range", [&](auto& range) { fields(io, range); });
    io.u64(region.stored_bytes);
}
inline constexpr std::size_t k_least_region_bytes = 1 + 16 + 1 + 1 + 8;

template <class Io>
void fields(Io& io, Of<Io, ResultInfo>& result) {
    io.text(result.call, k_call_limit_bytes, "call");
    io.bytes(result.results, k_state_limit_bytes, "results");
}
inline constexpr std::size_t k_least_result_bytes = 4 + 1 + 4;

template <class Io>
void fields(Io& io, Of<Io, ObjectInfo>& object) {
    io.u64(object.id);
    io.one_of(object.origin, Origin::put, Origin::filed, "origin");
    io.text(object.container, k_path_limit_bytes, "container");
    io.text(object.name, k_path_limit_bytes, "name");
    fields(io, object.dtype);
    whole_shape(io, object.shape);
    io.f64(object.time);
    fields(io, object.bound);
    fields(io, object.chain);
    io.note(object.owner, k_name_limit_bytes, "owner");
    tags(io, object.tags);
    io.u64(object.values);
    io.u64(object.regions_known);
    io.u64(object.stored_bytes);
    io.optional(object.range, "range", [&](auto& range) { fields(io, range); });
    io.list(object.results, k_calls_limit, k_least_result_bytes, "results",
            [&](auto& result) { fields(io, result); });
    io.list(object.regions, k_regions_limit, k_least_region_bytes, "regions",
            [&](auto& region) { fields(io, region); });
}
inline constexpr std::size_t k_least_object_bytes =
    8 + 1 + 4 + 5 + 1 + 9 + 8 + 1 + 5 + 4 * 4 + 3 * 8 + 1;

// ------------------------------------------------------------------------------ from a client

template <class Io>
void fields(Io& io, Of<Io, DescribeDump>& m) {
    dump_request(io, m);
    io.f64(m.time);
    io.list(m.objects, k_datasets_limit, k_least_dumped_bytes, "objects",
            [&](auto& object) { fields(io, object); });
    io.list(m.calls, k_calls_limit, 5, "calls",
            [&](auto& call) { io.text(call, k_call_limit_bytes, "call"); });
}

template <class Io>
void fields(Io& io, Of<Io, CreateObject>& m) {
    io.u64(m.request);
    io.text(m.container, k_path_limit_bytes, "container");
    io.text(m.name, k_object_name_limit_bytes, "name");
    fields(io, m.dtype);
    whole_shape(io, m.shape);
    io.f64(m.time);
    fields(io, m.bound);
    io.flag(m.keep, "keep");
    io.flag(m.guest, "guest");
    tags(io, m.tags);
    fields(io, m.chain);
}

template <class Io>
void fields(Io& io, Of<Io, PutRegion>& m) {
    io.u64(m.request);
    io.u64(m.object);
    fields(io, m.dtype);
    whole_box(io, m.box);
    io.u64(m.payload_bytes);
    io.flag(m.chained, "chained");
}

template <class Io>
void fields(Io& io, Of<Io, GetRegion>& m) {
    io.u64(m.request);
    io.u64(m.object);
    whole_box(io, m.box);
    io.flag(m.chained, "chained");
}

template <class Io>
void fields(Io& io, Of<Io, DeleteObject>& m) {
    io.u64(m.request);
    io.u64(m.object);
}

template <class Io>
void fields(Io& io, Of<Io, FindObjects>& m) {
    io.u64(m.request);
    io.text(m.container, k_path_limit_bytes, "container");
    io.text(m.name, k_object_name_limit_bytes, "name");
    tags(io, m.tags);
    io.optional(m.times, "times", [&](auto& range) { fields(io, range); });
    io.optional(m.values, "values", [&](auto& range) { fields(io, range); });
    io.flag(m.regions, "regions");
    io.u32(m.most);
    io.u64(m.after);
}

template <class Io>
void fields(Io& io, Of<Io, RunFunction>& m) {
    io.u64(m.request);
    io.u64(m.object);
    io.optional(m.box, "box", [&](auto& box) { whole_box(io, box); });
    io.text(m.call, k_call_limit_bytes, "call");
}

template <class Io>
void fields(Io& io, Of<Io, ListFunctions>& m) {
    io.u64(m.request);
}

template <class Io>
void fields(Io& io, Of<Io, RunPass>& m) {
    io.u64(m.request);
    io.u64(m.object);
    io.list(m.boxes, k_pass_boxes_limit, 1 + 16, "boxes", [&](auto& box) { whole_box(io, box); });
    io.bytes(m.state, k_state_limit_bytes, "state");
}

template <class Io>
void fields(Io& io, Of<Io, PersistObjects>& m) {
    io.u64(m.request);
    io.text(m.path, k_path_limit_bytes, "path");
    io.text(m.container, k_path_limit_bytes, "container");
    io.list(m.objects, k_found_limit, 8, "objects", [&](auto& object) { io.u64(object); });
    fields(io, m.codec);
    io.optional(m.bound, "bound", [&](auto& bound) { fields(io, bound); });
}

template <class Io>
void fields(Io& io, Of<Io, AnalyseRegion>& m) {
    io.u64(m.request);
    io.text(m.function, k_call_limit_bytes, "function");
    io.text(m.version, k_version_limit_bytes, "version");
    io.text(m.object, k_path_limit_bytes, "object");
    io.u64(m.id);
    fields(io, m.dtype);
    whole_shape(io, m.shape);
    whole_box(io, m.box);
    io.f64(m.time);
    io.note(m.owner, k_name_limit_bytes, "owner");
    tags(io, m.tags);
    io.bytes(m.state, k_state_limit_bytes, "state");
    io.u64(m.payload_bytes);
}

template <class Io>
void fields(Io& io, Of<Io, ListVersions>& m) {
    io.u64(m.request);
}

// ----------------------------------------------------------------------------- from the service

template <class Io>
void fields(Io& io, Of<Io, FoundObjects>& m) {
    io.u64(m.request);
    io.status(m.status);
    io.u64(m.regions_skipped);
    io.u64(m.regions_kept);
    io.flag(m.more, "more");
    io.list(m.objects, k_found_limit, k_least_object_bytes, "objects",
            [&](auto& object) { fields(io, object); });
}

template <class Io>
void fields(Io& io, Of<Io, FoundInDump>& m) {
    io.u64(m.dump);
    io.u32(m.dataset);
    io.u64(m.values);
    io.bytes(m.state, k_state_limit_bytes, "state");
}

template <class Io>
void fields(Io& io, Of<Io, AnalysedRegion>& m) {
    io.u64(m.request);
    io.status(m.status);
    io.f64(m.compute_s);
    io.f64(m.utilisation);
    io.note(m.device, k_name_limit_bytes, "device");
    io.u64(m.payload_bytes);
}

}  // namespace caesura::transit
