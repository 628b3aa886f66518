// A random use of the Writer: fields of any type, shape, bound and coverage, species, ranks,
// layouts, options, a file for each dump, runs that go on. Everything follows from one seed, values
// included, so whoever reads the files knows what they have to hold.
//
// Invariant: a Program is the same on every machine and in every process that has the seed.
#pragma once

#include <random>

#include "caesura/writer.hpp"
#include "decompositions.hpp"

namespace caesura::random_programs {

/// What the values of an array look like.
enum class Look : std::uint8_t { smooth, special, noise, constant, counting };

struct FieldPlan {
    std::string name;
    DType dtype = float32;
    ErrorBound bound;
    std::string codec;  ///< empty: the Writer's
    bool partial = false;
    FillValue fill = 0.0;
    Look look = Look::smooth;
};

struct FieldDump {
    bool is_put = true;
    Shape shape;
    std::vector<testing::OwnedBox> boxes;
    bool borrowed = false;
};

struct SpeciesDump {
    bool is_put = true;
    std::vector<std::uint64_t> counts;  ///< by rank
    std::uint64_t puts = 1;             ///< of each rank
};

struct DumpPlan {
    std::uint64_t iteration = 0;
    std::vector<FieldDump> fields;
    SpeciesDump species;
    bool is_empty = false;  ///< an iteration without a dump
};

/// What one process group does: the first makes the file or the series, the others go on with it.
struct Session {
    int n_ranks = 1;
    bool creates = true;                 ///< it is the first, or no file was made before
    std::optional<std::uint64_t> after;  ///< behind which it drops all dumps
    std::vector<DumpPlan> dumps;
};

/// A dump that is there in the end, and the file that has it.
struct KeptDump {
    const DumpPlan* plan = nullptr;
    std::string file;
};

struct Program {
    /// @param to_be_killed  it is one run, which drops nothing.
    explicit Program(std::uint64_t of_seed, bool to_be_killed = false);

    std::uint64_t seed = 0;
    WriterOptions options;
    std::vector<FieldPlan> fields;
    std::vector<FieldPlan> records;  ///< of the one species; none: there is no species
    std::vector<Session> sessions;
    bool is_series = false;

    /// For people: what it does, in a few lines.
    std::string text() const;
    /// @param path  as the Writer gets it; of a series with a %06T.
    std::vector<KeptDump> kept(const std::string& path) const;
    std::string path_of(std::uint64_t iteration, const std::string& field) const;
    std::string path_of_record(std::uint64_t iteration, const std::string& record) const;

  private:
    /// @param there  iterations that the sessions before have left.
    void add_session(std::vector<Shape>& shapes, std::vector<std::uint64_t>& there,
                     std::mt19937& random);
    std::string text_of(const DumpPlan& dump) const;
};

/// Value number `index` (C order, of the whole array) of a field or record in a dump, as it lies in
/// memory: size_of(plan.dtype) bytes.
void value_of(const Program& program, const FieldPlan& plan, std::uint64_t iteration,
              std::uint64_t index, std::byte* out);

/// Runs its sessions, each on threads as ranks. @param committed  told of each dump that is, by
/// rank 0.
Status run(const Program& program, const std::string& path,
           const std::function<void(std::uint64_t iteration)>& committed = {});

/// What a file of the program has that it should not have, or lacks; empty: it is right. Read by
/// the Reader, and by HDF5 alone.
/// @param must_have  of these iterations every value; others need not be there, but are right.
std::string wrong_with(const Program& program, const std::string& path,
                       std::span<const std::uint64_t> must_have);

}  // namespace caesura::random_programs
