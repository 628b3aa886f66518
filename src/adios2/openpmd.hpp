// Where things of openPMD-api's ADIOS2 backend belong in openPMD. It names variables and attributes
// by path: "/data/meshes/E/x" in a step of iteration "/data/snapshot", or "/data/7/meshes/E/x".
// Knows no ADIOS2.
#pragma once

#include <set>

#include "adios2/steps.hpp"

namespace caesura::adios {

struct Place {
    enum class Kind : std::uint8_t {
        none,       ///< openPMD-api's own notes, patches (a Writer makes them), what is elsewhere
        file,       ///< the rest of the path is in `name`, as everywhere
        iteration,  ///< below "/data" or "/data/7"
        meshes,     ///< below those and meshesPath: "E/x", with an attribute "E/x/unitSI"
        particles   ///< below a species: "position/x"
    };
    Kind kind = Kind::none;
    std::optional<std::uint64_t> iteration;  ///< that the path names
    std::string species;
    std::string name;
};

/// @param meshes, particles  as the attributes meshesPath and particlesPath: "meshes/".
Place place_of(const std::string& path, const std::string& meshes, const std::string& particles);

/// Between openPMD-api and Steps: its variables and attributes become fields, particles and what
/// openPMD says of them.
class OpenPmd {
  public:
    /// Of all that its ADIOS2 backend says the first, before it opens an engine.
    static constexpr const char* k_sign = "__openPMD_internal/useModifiableAttributes";

    explicit OpenPmd(Steps& steps) : steps_(steps) { steps.begin_late(); }
    /// Before puts and end(), as far as it is said.
    void set_paths(std::string meshes, std::string particles) {
        meshes_ = std::move(meshes);
        particles_ = std::move(particles);
    }
    /// @param part  its variable by path.
    Status put(Part part, const void* values);
    /// Before Steps::end(), which tells all ranks what was wrong on one.
    /// @param attributes  all that there are, by path. @param types  of those that are ".../value".
    void end(const std::map<std::string, store::AttributeValue>& attributes,
             const std::map<std::string, DType>& types);

  private:
    void say(const Place& place, const store::AttributeValue& value, When& when);
    Status say_constant(const Place& place, const store::AttributeValue& value,
                        const store::AttributeValue& shape, DType dtype);

    Steps& steps_;
    std::string meshes_ = "meshes/", particles_ = "particles/";
    std::optional<std::uint64_t> iteration_;  ///< of this step, as paths name it
    std::set<std::string> put_;               ///< in this step
};

}  // namespace caesura::adios
