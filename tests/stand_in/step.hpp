// One call of a sequence: drawn once, made on both sides, compared.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "outcome.hpp"
#include "world.hpp"

namespace stand_in {

/// One side of a call that is being made.
struct Side {
    Which which;
    const World& world;
    Outcome& out;

    hid_t of(const Handle& handle) const { return handle.id[which]; }
    std::string path(int file) const { return world.path(which, file); }
};

using Pair = std::array<hid_t, 2>;
constexpr Pair k_no_ids = {H5I_INVALID_HID, H5I_INVALID_HID};

class Step {
  public:
    Step(World& world, std::uint64_t serial, std::uint64_t seed)
        : draw(seed), world(world), serial_(serial), seed_(seed) {}
    Step(const Step&) = delete;
    ~Step();

    /// A held identifier of one of these kinds: which one does not change when others go, so that
    /// a sequence from which steps were taken still makes the same calls. Null: there is none.
    Handle* pick(std::initializer_list<Kind> kinds);
    /// No bound holds for this dataset: the rules name those that are called lossy.
    bool is_exact(const Handle& dataset) const;
    /// Facts of its file: what it tells of a dataset may be what lies in the file.
    void tell_of_file(const Handle& dataset);
    /// Does it lie in a file that is open for reading alone?
    bool is_read_only(const Handle& held) const;
    /// Random choices that each rank makes for itself.
    Draw own_draw() const { return Draw(mix(seed_, 77u + static_cast<unsigned>(world.rank))); }
    std::uint64_t seed() const { return seed_; }

    /// Makes the call on the sides that run.
    void both(const std::function<void(Side&)>& call);
    /// Holds what both() has made; the name in the C program is `letter` and the step's number.
    Handle* keep(Kind kind, const Pair& ids, char letter, int file);
    std::string variable(char letter) const { return fmt::format("{}{}", letter, serial_); }

    /// A line of the C program.
    template <class... Args>
    void code(fmt::format_string<Args...> format, Args&&... args) {
        program += fmt::format(format, std::forward<Args>(args)...) + "\n";
    }
    /// A word about the call, by which known differences are told apart.
    void fact(const std::string& word) { facts += (facts.empty() ? "" : ",") + word; }
    /// Closed when the step ends.
    hid_t own(hid_t id);

    Draw draw;
    World& world;
    std::string program, facts;
    bool applies = true;  ///< false: nothing was there to call it on; nothing was done
    std::optional<std::string> differs;
    std::string log;  ///< of the side that runs, if processes are compared

  private:
    std::uint64_t serial_, seed_;
    std::vector<hid_t> owned_;
};

/// An operation that sequences are made of.
struct Operation {
    const char* name;
    unsigned weight;
    void (*run)(Step&);
};

const std::vector<Operation>& operations();

// By family; each appends its own.
void add_file_operations(std::vector<Operation>& all);
void add_group_operations(std::vector<Operation>& all);
void add_dataset_operations(std::vector<Operation>& all);
void add_transfer_operations(std::vector<Operation>& all);
void add_chunk_operations(std::vector<Operation>& all);
void add_attribute_operations(std::vector<Operation>& all);
void add_object_operations(std::vector<Operation>& all);
void add_reference_operations(std::vector<Operation>& all);
void add_memory_operations(std::vector<Operation>& all);
void add_sharing_operations(std::vector<Operation>& all);

/// The side whose call is being made, for those who ask why the process ended.
extern const char* volatile side_it_is;

/// A path that may or may not exist, of few, so that calls meet each other's objects.
std::string some_name(Draw& draw);

}  // namespace stand_in
