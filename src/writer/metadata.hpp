// What a user has said of the objects of a file: attributes by object and name, of each the last.
//
// Invariant: digest() depends on what holds, not on the order in which it was said.
#pragma once

#include "caesura/writer.hpp"

namespace caesura::writer {

using AttributeMap = std::map<std::string, store::AttributeValue>;

/// An object of the file, or of each dump in it.
struct AttributedObject {
    AttributeOwner::Kind kind = AttributeOwner::Kind::file;
    /// Of a record, field or species, as defined; behind k_particles of what a species has. Else
    /// empty.
    std::string name = {};
    friend auto operator<=>(const AttributedObject&, const AttributedObject&) = default;
};
/// No mesh has two slashes in its name, and what is of particles has.
inline constexpr std::string_view k_particles = "particles/";
/// A record of a species or a component of it? @see particle_object
bool is_of_particles(const AttributedObject& object);
/// @param name  "electrons/position/x". @param kind  record or field
AttributedObject particle_object(AttributeOwner::Kind kind, const std::string& name);
/// "field 'rho'", "the file", ...
std::string to_string(const AttributedObject& object);
/// With its type, and short: "float64 0.5".
std::string text_of(const store::AttributeValue& value);

class Metadata {
  public:
    void set(const AttributedObject& object, const std::string& name, store::AttributeValue value);
    const AttributeMap& of(const AttributedObject& object) const;
    const store::AttributeValue* find(const AttributedObject& object,
                                      const std::string& name) const;
    const std::map<AttributedObject, AttributeMap>& all() const { return said_; }
    std::uint64_t digest() const { return digest_; }

  private:
    std::map<AttributedObject, AttributeMap> said_;
    std::uint64_t digest_ = 0;
};

const Metadata& nothing_said();

/// What holds of an object in a dump, of which more was said.
AttributeMap holding(const AttributedObject& object, const Metadata& always, const Metadata& dump);

/// What a rank has said, for the others; and from there the first difference to what rank 0 has
/// said, ok if there is none.
std::vector<std::byte> pack(const Metadata& always, const Metadata& dump);
Status first_difference(std::span<const std::vector<std::byte>> by_rank);

}  // namespace caesura::writer
