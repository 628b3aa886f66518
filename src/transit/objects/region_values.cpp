#include "transit/objects/region_values.hpp"

#include <fmt/format.h>

#include <vector>

#include "caesura/codec.hpp"
#include "transit/objects/far_memory.hpp"

namespace caesura::transit {
namespace {

/// A chain's way back, of which a part is wanted.
Status undo(const RegionForm& form, const Box& region, DType dtype,
            std::span<const std::byte> bytes, const Box& part, const Box& box, std::byte* target) {
    const auto values = form.object.undo(region, bytes);
    if (!values.ok()) return values.status();
    copy_box(part, region, values->data(), box, target, size_of(dtype));
    return {};
}

}  // namespace

Status RegionForm::refuse(std::string_view what) const {
    return {StatusCode::unsupported, fmt::format("object {} is encrypted by its client ({}): {}",
                                                 object.name(), object.text(), what)};
}

Result<std::vector<std::byte>> RegionValues::chained() const {
    return Status{StatusCode::unsupported, "no chain has made these values"};
}

Status MemoryValues::read(const Box& part, const Box& box, std::byte* target) const {
    if (form_) return undo(*form_, box_, dtype_, bytes(), part, box, target);
    copy_box(part, box_, bytes_.data(), box, target, size_of(dtype_));
    return {};
}

Result<std::vector<std::byte>> MemoryValues::chained() const {
    if (!form_) return RegionValues::chained();
    return std::vector<std::byte>(bytes().begin(), bytes().end());
}

Result<std::vector<std::byte>> SunkValues::chained() const {
    if (!form_) return RegionValues::chained();
    std::vector<std::byte> bytes(frame_->bytes());
    if (Status status = frame_->read(bytes); !status.ok()) return status;
    return bytes;
}

Status SunkValues::read(const Box& part, const Box& box, std::byte* target) const {
    if (form_) {
        const auto made = chained();
        return made.ok() ? undo(*form_, box_, dtype_, *made, part, box, target) : made.status();
    }
    std::vector<std::byte> frame(frame_->bytes());
    if (Status status = frame_->read(frame); !status.ok()) return status;
    const std::size_t bytes = box_.extent.count() * size_of(dtype_);
    if (part == box_ && box == box_) return decompress(frame, {target, bytes});
    std::vector<std::byte> values(bytes);
    if (Status status = decompress(frame, values); !status.ok()) return status;
    copy_box(part, box_, values.data(), box, target, size_of(dtype_));
    return {};
}

Status DeviceValues::read(const Box& part, const Box& box, std::byte* target) const {
    if (!form_ && part == box_ && box == box_)
        return block_->read({target, block_->bytes()}).ok() ? Status{}
                                                            : kept_->read(part, box, target);
    std::vector<std::byte> bytes(block_->bytes());
    if (!block_->read(bytes).ok()) return kept_->read(part, box, target);
    if (form_) return undo(*form_, box_, dtype_, bytes, part, box, target);
    copy_box(part, box_, bytes.data(), box, target, size_of(dtype_));
    return {};
}

Result<std::vector<std::byte>> DeviceValues::chained() const {
    if (!form_) return RegionValues::chained();
    std::vector<std::byte> bytes(block_->bytes());
    if (!block_->read(bytes).ok()) return kept_->chained();
    return bytes;
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
