#include "lambda/chained_object.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/invalid.hpp"

namespace caesura::lambda {

Result<ChainedObject> ChainedObject::make(const Registry& functions, std::string_view text,
                                          const Operator& by, const RegionView& object) {
    const auto calls = parse_chain(text);
    if (!calls.ok()) return calls.status();
    ChainedObject made;
    for (const Call& call : *calls) {
        const auto bound = functions.bind(call);
        if (!bound.ok()) return bound.status();
        const Function& function = *bound->function;
        if (function.kind != Kind::transform)
            return base::invalid(fmt::format("{} is no transform", bound->text));
        if (!function.inverse)
            return base::invalid(fmt::format("{} takes no values, and objects have", bound->text));
        made.stages_.push_back(function.name);
        made.is_keyed_ = made.is_keyed_ || function.is_keyed;
        made.text_ += (made.text_.empty() ? "" : " | ") + bound->text;
    }
    if (made.text_.size() > k_longest_call_bytes)
        return base::invalid(fmt::format("a chain of {} bytes with all its arguments; at most {}",
                                         made.text_.size(), k_longest_call_bytes));
    if (!made.is_keyed_ || by.key) {
        auto chain = Chain::make(functions, text, by);
        if (!chain.ok()) return chain.status();
        made.chain_ = std::make_shared<const Chain>(std::move(*chain));
    }
    made.functions_ = &functions;
    made.by_ = by;
    made.name_ = object.object;
    made.id_ = object.id;
    made.dtype_ = object.dtype;
    made.shape_ = object.shape;
    made.time_ = object.time;
    return made;
}

bool ChainedObject::is_same_as(const ChainedObject& other) const {
    return text_ == other.text_ && name_ == other.name_ && id_ == other.id_ &&
           dtype_ == other.dtype_ && shape_ == other.shape_ &&
           (time_ == other.time_ || (time_ != time_ && other.time_ != other.time_));
}

RegionView ChainedObject::place(const Box& box) const {
    RegionView region;
    region.object = name_;
    region.id = id_;
    region.dtype = dtype_;
    region.shape = shape_;
    region.box = box;
    region.time = time_;
    return region;
}

Result<std::vector<std::byte>> ChainedObject::apply(const Box& box,
                                                    std::span<const std::byte> values) const {
    RegionView region = place(box);
    if (!chain_)
        return base::invalid(
            fmt::format("{}: {} needs a key, and there is none", describe(region), text_));
    region.values = values;
    return chain_->apply(region);
}

Status ChainedObject::check(const Box& box, std::span<const std::byte> bytes) const {
    const RegionView region = place(box);
    if (Status status = validate_place(region); !status.ok()) return status;
    const auto info = read_chain_info(bytes);
    if (!info.ok()) return info.status().with_context(describe(region));
    if (info->stages != stages_)
        return {StatusCode::corrupt, fmt::format("{}: bytes of other stages than {}",
                                                 describe(region), fmt::join(stages_, " | "))};
    if (info->raw_bytes != region.count() * size_of(dtype_))
        return {StatusCode::corrupt,
                fmt::format("{}: values of {} bytes, and the region has {}", describe(region),
                            info->raw_bytes, region.count() * size_of(dtype_))};
    return {};
}

Result<std::vector<std::byte>> ChainedObject::undo(const Box& box,
                                                   std::span<const std::byte> bytes) const {
    if (Status status = check(box, bytes); !status.ok()) return status;
    return restore(*functions_, bytes, place(box), by_);
}

}  // namespace caesura::lambda
