#include "writer/metadata.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>

#include "base/wire.hpp"

namespace caesura::writer {
namespace {

using Kind = AttributeOwner::Kind;

struct ToText {
    std::string operator()(std::int64_t v) const { return fmt::format("int64 {}", v); }
    std::string operator()(std::uint64_t v) const { return fmt::format("uint64 {}", v); }
    std::string operator()(std::uint32_t v) const { return fmt::format("uint32 {}", v); }
    std::string operator()(double v) const { return fmt::format("float64 {}", v); }
    std::string operator()(float v) const { return fmt::format("float32 {}", v); }
    std::string operator()(const std::string& v) const { return fmt::format("'{}'", v); }
    std::string operator()(const std::vector<double>& v) const {
        return fmt::format("float64 [{}]", fmt::join(v, ", "));
    }
    std::string operator()(const std::vector<std::uint64_t>& v) const {
        return fmt::format("uint64 [{}]", fmt::join(v, ", "));
    }
    std::string operator()(const std::vector<std::int64_t>& v) const {
        return fmt::format("int64 [{}]", fmt::join(v, ", "));
    }
    std::string operator()(const std::vector<std::string>& v) const {
        return v.empty() ? "[]" : fmt::format("['{}']", fmt::join(v, "', '"));
    }
};

std::uint64_t digest_of(const AttributedObject& object, const std::string& name,
                        const store::AttributeValue& value) {
    return std::hash<std::string>{}(fmt::format("{}|{}|{}|{}", static_cast<int>(object.kind),
                                                object.name, name, std::visit(ToText{}, value)));
}

void pack_one(base::Packer& packer, const Metadata& metadata, std::string_view when) {
    std::uint64_t count = 0;
    for (const auto& [object, attributes] : metadata.all()) count += attributes.size();
    packer.put(count);
    for (const auto& [object, attributes] : metadata.all())
        for (const auto& [name, value] : attributes) {
            packer.put(fmt::format("attribute '{}' of {}{}", name, to_string(object), when));
            packer.put(text_of(value));
            packer.put(digest_of(object, name, value));
        }
}

struct Value {
    std::string text;
    std::uint64_t digest = 0;
};

std::map<std::string, Value> unpack(const std::vector<std::byte>& bytes) {
    std::map<std::string, Value> said;
    base::Unpacker unpacker(bytes);
    for (int part = 0; part < 2; ++part)
        for (auto n = unpacker.get<std::uint64_t>(); n > 0; --n) {
            std::string what = unpacker.get_string();
            Value value{unpacker.get_string(), 0};
            value.digest = unpacker.get<std::uint64_t>();
            said.insert_or_assign(std::move(what), std::move(value));
        }
    return said;
}

}  // namespace

bool is_of_particles(const AttributedObject& object) {
    return (object.kind == Kind::record || object.kind == Kind::field) &&
           object.name.starts_with(k_particles) &&
           object.name.find('/', k_particles.size()) != std::string::npos;
}

AttributedObject particle_object(Kind kind, const std::string& name) {
    const std::size_t first = name.find('/'), last = name.rfind('/');
    const std::string full = std::string(k_particles) + name;
    if (kind == Kind::record && last != first)
        return {Kind::record, full.substr(0, k_particles.size() + last)};
    return {Kind::field, full};
}

std::string to_string(const AttributedObject& object) {
    if (is_of_particles(object))
        return fmt::format("record '{}'", object.name.substr(k_particles.size()));
    switch (object.kind) {
        case Kind::file:
            return "the file";
        case Kind::iteration:
            return "the iteration";
        case Kind::meshes:
            return "the group of meshes";
        case Kind::record:
            return fmt::format("record '{}'", object.name);
        case Kind::species:
            return fmt::format("species '{}'", object.name);
        case Kind::field:
            break;
    }
    return fmt::format("field '{}'", object.name);
}

std::string text_of(const store::AttributeValue& value) {
    constexpr std::size_t k_most_shown_bytes = 60;
    std::string text = std::visit(ToText{}, value);
    if (text.size() <= k_most_shown_bytes) return text;
    return text.substr(0, k_most_shown_bytes) + fmt::format("... ({} characters)", text.size());
}

void Metadata::set(const AttributedObject& object, const std::string& name,
                   store::AttributeValue value) {
    const std::uint64_t added = digest_of(object, name, value);
    AttributeMap& attributes = said_[object];
    const auto known = attributes.find(name);
    const std::uint64_t removed =
        known == attributes.end() ? 0 : digest_of(object, name, known->second);
    attributes.insert_or_assign(name, std::move(value));
    digest_ += added - removed;
}

const AttributeMap& Metadata::of(const AttributedObject& object) const {
    static const auto& nothing = *new AttributeMap;
    const auto known = said_.find(object);
    return known == said_.end() ? nothing : known->second;
}

const store::AttributeValue* Metadata::find(const AttributedObject& object,
                                            const std::string& name) const {
    const AttributeMap& attributes = of(object);
    const auto known = attributes.find(name);
    return known == attributes.end() ? nullptr : &known->second;
}

const Metadata& nothing_said() {
    static const auto& nothing = *new Metadata;
    return nothing;
}

AttributeMap holding(const AttributedObject& object, const Metadata& always, const Metadata& dump) {
    AttributeMap attributes = always.of(object);
    for (const auto& [name, value] : dump.of(object)) attributes.insert_or_assign(name, value);
    return attributes;
}

std::vector<std::byte> pack(const Metadata& always, const Metadata& dump) {
    base::Packer packer;
    pack_one(packer, always, "");
    pack_one(packer, dump, " in this dump");
    const auto bytes = packer.bytes();
    return {bytes.begin(), bytes.end()};
}

Status first_difference(std::span<const std::vector<std::byte>> by_rank) {
    const auto first = unpack(by_rank[0]);
    const auto differ = [](const std::string& what, const std::string& how) {
        return Status{StatusCode::invalid_argument,
                      fmt::format("{} {}; set the same on all ranks", what, how)};
    };
    for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
        const auto other = unpack(by_rank[rank]);
        for (const auto& [what, value] : other) {
            const auto known = first.find(what);
            if (known == first.end())
                return differ(
                    what, fmt::format("is {} on rank {} and not set on rank 0", value.text, rank));
            if (known->second.digest != value.digest)
                return differ(what, fmt::format("is {} on rank 0 and {} on rank {}",
                                                known->second.text, value.text, rank));
        }
        for (const auto& [what, value] : first)
            if (other.find(what) == other.end())
                return differ(
                    what, fmt::format("is {} on rank 0 and not set on rank {}", value.text, rank));
    }
    return {};
}

}  // namespace caesura::writer
