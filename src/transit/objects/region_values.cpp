#include "transit/objects/region_values.hpp"

#include <vector>

#include "caesura/codec.hpp"
#include "transit/objects/far_memory.hpp"

namespace caesura::transit {

Status MemoryValues::read(const Box& part, const Box& box, std::byte* target) const {
    copy_box(part, box_, values_.data(), box, target, size_of(dtype_));
    return {};
}

Status SunkValues::read(const Box& part, const Box& box, std::byte* target) const {
    std::vector<std::byte> frame(frame_->bytes());
    if (Status status = frame_->read(frame); !status.ok()) return status;
    const std::size_t bytes = box_.extent.count() * size_of(dtype_);
    if (part == box_ && box == box_) return decompress(frame, {target, bytes});
    std::vector<std::byte> values(bytes);
    if (Status status = decompress(frame, values); !status.ok()) return status;
    copy_box(part, box_, values.data(), box, target, size_of(dtype_));
    return {};
}

Status FarValues::read(const Box& part, const Box& box, std::byte* target) const {
    if (part == box) return object_->get(part, dtype_, target);
    std::vector<std::byte> values(part.extent.count() * size_of(dtype_));
    if (Status status = object_->get(part, dtype_, values.data()); !status.ok()) return status;
    copy_box(part, part, values.data(), box, target, size_of(dtype_));
    return {};
}

Status FileValues::read(const Box& part, const Box& box, std::byte* target) const {
    const std::size_t bytes = part.extent.count() * size_of(dtype_);
    if (part == box) return source_->read(dataset_, part, {target, bytes});
    std::vector<std::byte> values(bytes);
    if (Status status = source_->read(dataset_, part, values); !status.ok()) return status;
    copy_box(part, part, values.data(), box, target, size_of(dtype_));
    return {};
}

}  // namespace caesura::transit
