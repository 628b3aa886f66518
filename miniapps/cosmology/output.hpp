// Where a dump goes: one small interface, one implementation per mode.
//
// Call order: open, then per iteration begin_iteration, marks, at most one dump, end_iteration,
// then close. All collective but the marks, in the same order on all ranks.
// Invariant: an output reads the fields and never changes them, so every mode sees the same
// physics. Errors are std::runtime_error with a sentence that says what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "fields.hpp"
#include "options.hpp"
#include "particles.hpp"

namespace cosmology {

/// What the application needs for itself, and an output had better leave alone meanwhile.
enum class Resource { core, network };

/// Told when the application needs a resource.
class Marks {
  public:
    virtual ~Marks() = default;
    virtual void begin_busy(Resource) {}
    virtual void end_busy(Resource) {}
    /// The host would wait so long: its core is the output's if it wants it.
    virtual void waits(double) {}
    /// Runs `call`, in which the host sleeps.
    virtual void sleep(const std::function<void()>& call) { call(); }
};

class Output : public Marks {
  public:
    virtual void open() {}
    /// @param label  what kind of step it is, so that its like is expected next time.
    virtual void begin_iteration(std::uint64_t, std::string_view label) { (void)label; }
    /// @param particles  as the next step begins with them; written if options.write_particles.
    virtual void dump(const Fields&, const Particles& particles, std::uint64_t iteration,
                      double time_s) = 0;
    virtual void end_iteration() {}
    virtual void close() {}
    /// The library's own account, summed or maximised over ranks; null if there is none.
    /// Collective.
    virtual nlohmann::json report() { return nullptr; }
    /// Last iteration known to be safe in the file.
    virtual std::optional<std::uint64_t> committed() const { return std::nullopt; }
};

/// "compute": the fields are made and dropped.
std::unique_ptr<Output> make_no_output();
/// "sync" and "filter": parallel HDF5, collective writes, the second through a compression filter.
std::unique_ptr<Output> make_hdf5_output(const Options& options, const Slab& slab, bool filtered);
/// "caesura", and "async": the same writer with codec none and no planning.
std::unique_ptr<Output> make_caesura_output(const Options& options, const Slab& slab,
                                            bool asynchronous_only);
/// By options.mode: all of them, or in a program that is linked without Caesura the others
/// (modes.cpp, modes_plain.cpp). Modes that it has not are an error.
std::unique_ptr<Output> make_output(const Options& options, const Slab& slab);

/// What a run had after a step.
struct Restored {
    Particles particles;
    int step = 0;
};
/// The last dump of options.restart, on this number of ranks. Collective. An error in a program
/// that is linked without Caesura.
Restored read_restart(const Options& options, const Slab& slab);

}  // namespace cosmology
