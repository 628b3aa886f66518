// What is new on some rank in a step, told to all of them by one exchange.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "adios2/steps.hpp"
#include "base/invalid.hpp"

namespace caesura::adios {
namespace {

using base::invalid;
using store::AttributeValue;

struct PackValue {
    base::Packer& to;
    void operator()(const std::vector<std::string>& texts) const {
        to.put(static_cast<std::uint64_t>(texts.size()));
        for (const std::string& text : texts) to.put(text);
    }
    template <class T>
    void operator()(const T& value) const {
        to.put(value);
    }
};

void pack_value(base::Packer& to, const AttributeValue& value) {
    to.put(static_cast<std::uint64_t>(value.index()));
    std::visit(PackValue{to}, value);
}

template <class T>
void take(base::Unpacker& from, T& value) {
    value = from.get<T>();
}
void take(base::Unpacker& from, std::string& value) { value = from.get_string(); }
template <class T>
void take(base::Unpacker& from, std::vector<T>& values) {
    values = from.get_list<T>();
}
void take(base::Unpacker& from, std::vector<std::string>& values) {
    const auto n = from.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < n && from.good(); ++i) values.push_back(from.get_string());
}

template <std::size_t I = 0>
AttributeValue unpack_value(base::Unpacker& from, std::uint64_t index) {
    if constexpr (I == std::variant_size_v<AttributeValue>) {
        return {};
    } else {
        if (index != I) return unpack_value<I + 1>(from, index);
        std::variant_alternative_t<I, AttributeValue> value{};
        take(from, value);
        return value;
    }
}

/// Whether no extent of `a` is larger than that of `b`.
bool fits(const Shape& a, const Shape& b) {
    if (a.rank() != b.rank()) return false;
    for (int axis = 0; axis < a.rank(); ++axis)
        if (a[axis] > b[axis]) return false;
    return true;
}

}  // namespace

base::Packer Steps::pack(const News& news) {
    base::Packer to;
    to.put(news.error);
    to.put(static_cast<std::uint64_t>(news.variables.size()));
    for (const auto& [name, one] : news.variables) {
        to.put(name);
        to.put(one.dtype);
        to.put(one.shape);
        to.put(one.species);
        to.put(one.constant.has_value());
        to.put(one.constant.value_or(0.0));
    }
    to.put(static_cast<std::uint64_t>(news.values.size()));
    for (const auto& [name, value] : news.values) {
        to.put(name);
        pack_value(to, value);
    }
    to.put(static_cast<std::uint64_t>(news.attributes.size()));
    for (const auto& [key, value] : news.attributes) {
        to.put(std::get<Of>(key));
        to.put(std::get<1>(key));
        to.put(std::get<2>(key));
        pack_value(to, value);
    }
    to.put(static_cast<std::uint64_t>(news.constants.size()));
    for (const auto& [name, value] : news.constants) {
        to.put(name);
        to.put(value);
    }
    to.put(static_cast<std::uint64_t>(news.shares.size()));
    for (const auto& [name, share] : news.shares) {
        to.put(name);
        to.put(share);
    }
    to.put(news.any);
    to.put(news.puts);
    to.put(news.when.has_value());
    to.put(news.when.value_or(When{}));
    return to;
}

bool Steps::unpack(std::span<const std::byte> bytes, News& news) {
    base::Unpacker from(bytes);
    news.error = from.get_string();
    for (auto n = from.get<std::uint64_t>(); n > 0 && from.good(); --n) {
        const std::string name = from.get_string();
        const auto dtype = from.get<DType>();
        Known one{{}, dtype, from.get<Shape>(), from.get_string()};
        const bool is_constant = from.get<bool>();
        const auto constant = from.get<double>();
        if (is_constant) one.constant = constant;
        news.variables.emplace(name, std::move(one));
    }
    for (auto n = from.get<std::uint64_t>(); n > 0 && from.good(); --n) {
        const std::string name = from.get_string();
        news.values.emplace(name, unpack_value(from, from.get<std::uint64_t>()));
    }
    for (auto n = from.get<std::uint64_t>(); n > 0 && from.good(); --n) {
        const auto of = from.get<Of>();
        std::string object = from.get_string();
        std::string name = from.get_string();
        news.attributes.emplace(Key(of, std::move(object), std::move(name)),
                                unpack_value(from, from.get<std::uint64_t>()));
    }
    for (auto n = from.get<std::uint64_t>(); n > 0 && from.good(); --n) {
        const std::string name = from.get_string();
        news.constants.emplace(name, from.get<double>());
    }
    for (auto n = from.get<std::uint64_t>(); n > 0 && from.good(); --n) {
        const std::string name = from.get_string();
        news.shares.emplace(name, from.get<std::array<std::uint64_t, 2>>());
    }
    news.any = from.get<bool>();
    news.puts = from.get<bool>();
    const bool is_said = from.get<bool>();
    const auto when = from.get<When>();
    if (is_said) news.when = when;
    return from.good();
}

// Of what several ranks say the lowest one's counts, but of variables all have to say the same.
Status Steps::merge(News& agreed, News&& theirs, int rank,
                    std::map<std::string, int>& said_by) const {
    if (!theirs.error.empty()) return invalid(theirs.error);
    for (const auto& [name, one] : theirs.variables) {
        const auto [before, added] = agreed.variables.emplace(name, one);
        if (added) said_by[name] = rank;
        // A rank may have put its last values before a program enlarged a dataset.
        Shape& shape = before->second.shape;
        if (late_ && before->second.dtype == one.dtype && fits(shape, one.shape)) shape = one.shape;
        const bool agrees = late_ ? fits(one.shape, shape) : one.shape == shape;
        if (before->second.dtype != one.dtype || !agrees)
            return invalid(fmt::format("variable '{}' is {} {} on rank {} and {} {} on rank {}",
                                       name, to_string(before->second.dtype),
                                       to_string(before->second.shape), said_by[name],
                                       to_string(one.dtype), to_string(one.shape), rank));
    }
    for (const auto& [name, share] : theirs.shares) {
        auto& so_far = agreed.shares[name];  // of the lower ranks
        if (share[0] != so_far[1])
            return invalid(
                fmt::format("particles of '{}' on rank {} begin at {}, and those of the ranks "
                            "before it end at {}; they must follow each other",
                            name, rank, share[0], so_far[1]));
        so_far[1] += share[1];
    }
    agreed.values.merge(theirs.values);
    agreed.attributes.merge(theirs.attributes);
    agreed.constants.merge(theirs.constants);
    // Which iteration it is knows best who has values of it.
    if (theirs.when && (!agreed.when || (theirs.any && !agreed.any))) agreed.when = theirs.when;
    agreed.any = agreed.any || theirs.any;
    agreed.puts = agreed.puts || theirs.puts;
    return {};
}

Result<Steps::News> Steps::agree(const News& mine) {
    const auto all = exchange_->allgatherv(pack(mine).bytes());
    if (!all.ok()) return all.status();
    News agreed;
    std::map<std::string, int> said_by;
    for (int r = 0; r < size(); ++r) {
        News theirs;
        if (!unpack((*all)[static_cast<std::size_t>(r)], theirs))
            return Status{StatusCode::internal, fmt::format("rank {} sent a broken list", r)};
        if (Status status = merge(agreed, std::move(theirs), r, said_by); !status.ok())
            return status;
    }
    return agreed;
}

/// Puts of particles in order, and where this rank's lie.
void Steps::note_shares() {
    std::stable_sort(held_.begin(), held_.end(), [](const Held& a, const Held& b) {
        return std::pair(a.part.variable, a.part.species.empty() ? 0 : a.part.box.offset[0]) <
               std::pair(b.part.variable, b.part.species.empty() ? 0 : b.part.box.offset[0]);
    });
    for (const Held& held : held_) {
        const Box& box = held.part.box;
        if (box.extent.count() == 0) continue;
        news_.any = true;
        if (!held.part.constant) news_.puts = true;
        if (held.part.species.empty()) continue;
        const auto [share, added] =
            news_.shares.emplace(held.part.variable, std::array{box.offset[0], box.extent[0]});
        if (added) continue;
        if (share->second[0] + share->second[1] != box.offset[0])
            (void)remember(
                invalid(fmt::format("particles of '{}' on rank {} leave some out before {}",
                                    held.part.variable, rank(), box.offset[0])));
        share->second[1] += box.extent[0];
    }
}

}  // namespace caesura::adios
