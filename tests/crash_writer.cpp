// A program to be killed: dumps fields whose every value follows from (seed, field, iteration,
// index), as fast as it can, and notes every commit in a side file. tests/crash.py starts it, kills
// it, and knows the same formula.
//
// Invariants:
//  - A line "committed <iteration>" is in the side file only after Writer::committed() said so; one
//    write call a line, so that a line is there whole or not at all.
//  - No MPI-parallel HDF5: the serial flavour of the library under an MPI Communicator.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "caesura/mpi.hpp"
#include "caesura/writer.hpp"

namespace {

using namespace caesura;

struct Options {
    std::string path, log;
    std::string codec = "none";
    std::uint64_t seed = 1, dumps = 5;
    std::uint64_t rows = 45;        // of every field; odd, so that chunks straddle the ranks
    std::uint64_t chunk_kib = 256;  // several blocks a rank
    std::uint64_t every = 1;        // iterations from dump to dump
    std::uint64_t pause_us = 0;     // between iterations
    double reserve_factor = 1.0;
    bool goes_on = false;  // with a file that is there
    std::optional<std::uint64_t> after;
    std::uint64_t dumps_per_file = 1;  // of a path with %T
};

struct FieldSpec {
    const char* name;
    DType dtype;
};
constexpr FieldSpec k_fields[] = {
    {"density", float32}, {"velocity/x", float64}, {"temperature", float32}};
constexpr std::uint64_t k_columns = 64, k_planes = 96;

/// 20 bits times 1/8: exact in both types. Runs of 8 equal values, so that Zstd has work to do.
template <class T>
T value(std::uint64_t seed, std::uint32_t field, std::uint64_t iteration, std::uint64_t index) {
    const std::uint32_t hash = static_cast<std::uint32_t>(index >> 3) * 2654435761u +
                               static_cast<std::uint32_t>(iteration) * 2246822519u +
                               field * 3266489917u + static_cast<std::uint32_t>(seed) * 668265263u;
    return static_cast<T>((static_cast<std::int32_t>(hash >> 12) - (1 << 19)) * 0.125);
}

void note(int log, const std::string& line) {
    const std::string text = line + "\n";
    if (::write(log, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
}

/// Report and leave, with all other ranks.
[[noreturn]] void give_up(const std::string& what) {
    std::fprintf(stderr, "crash_writer: %s\n", what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

void expect_ok(const Status& status, const char* what) {
    if (!status.ok()) give_up(std::string(what) + ": " + status.message());
}

template <class T>
void put(Dump& dump, Field field, std::uint32_t index, const Options& options,
         std::uint64_t iteration, std::uint64_t first_row, std::uint64_t n_rows) {
    const std::uint64_t begin = first_row * k_columns * k_planes;
    std::vector<T> values(n_rows * k_columns * k_planes);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = value<T>(options.seed, index, iteration, begin + i);
    expect_ok(dump.put(field, {{first_row, 0, 0}, {n_rows, k_columns, k_planes}}, values.data()),
              "put");
}

void run(const Options& options, int rank, int size, int log) {
    WriterOptions writing;
    writing.codec.name = options.codec;
    writing.chunk_bytes = options.chunk_kib << 10;
    writing.reserve_factor = options.reserve_factor;
    writing.dumps_per_file = options.dumps_per_file;
    writing.memory_bytes = 64u << 20;  // what a fast producer may have in flight
    writing.durable = true;
    if (rank == 0 && options.goes_on) note(log, "opening");
    auto writer = options.goes_on
                      ? Writer::open(options.path, mpi(MPI_COMM_WORLD), writing, {options.after})
                      : Writer::create(options.path, mpi(MPI_COMM_WORLD), writing);
    if (!writer.ok()) give_up("create: " + writer.status().message());
    if (rank == 0) note(log, "created");
    std::vector<Field> fields;
    for (const FieldSpec& spec : k_fields) {
        auto field = (*writer)->define_field(spec.name, spec.dtype,
                                             {options.rows, k_columns, k_planes}, lossless());
        if (!field.ok()) give_up("define_field: " + field.status().message());
        fields.push_back(*field);
    }
    const auto n_ranks = static_cast<std::uint64_t>(size), me = static_cast<std::uint64_t>(rank);
    const std::uint64_t first_row = options.rows * me / n_ranks;
    const std::uint64_t n_rows = options.rows * (me + 1) / n_ranks - first_row;

    std::optional<std::uint64_t> known = (*writer)->committed();
    const std::uint64_t first = known ? *known + options.every : 0;
    const auto note_commit = [&] {
        if (rank == 0 && (*writer)->committed() != known)
            note(log, "committed " + std::to_string(*(known = (*writer)->committed())));
    };
    for (std::uint64_t n = first; n < first + options.dumps * options.every; ++n) {
        auto iteration = (*writer)->begin_iteration(n);
        if (n % options.every == 0) {
            auto dump = iteration.begin_dump(0.5 * static_cast<double>(n));
            for (std::uint32_t f = 0; f < fields.size(); ++f)
                if (k_fields[f].dtype == float32)
                    put<float>(dump, fields[f], f, options, n, first_row, n_rows);
                else
                    put<double>(dump, fields[f], f, options, n, first_row, n_rows);
        }
        expect_ok(iteration.end(), "end");
        note_commit();
        if (options.pause_us > 0)
            std::this_thread::sleep_for(std::chrono::microseconds(options.pause_us));
    }
    if (rank == 0) note(log, "closing");
    expect_ok((*writer)->close(), "close");
    note_commit();
    if (rank == 0) note(log, "closed");
}

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return false;
        const std::string name = argv[i], text = argv[i + 1];
        const auto number = [&](auto& out) {
            const char* end = text.data() + text.size();
            const auto result = std::from_chars(text.data(), end, out);
            return result.ec == std::errc() && result.ptr == end;
        };
        bool known = true;
        if (name == "--file")
            options.path = text;
        else if (name == "--log")
            options.log = text;
        else if (name == "--codec")
            options.codec = text;
        else if (name == "--seed")
            known = number(options.seed);
        else if (name == "--dumps")
            known = number(options.dumps);
        else if (name == "--rows")
            known = number(options.rows);
        else if (name == "--chunk-kib")
            known = number(options.chunk_kib);
        else if (name == "--every")
            known = number(options.every) && options.every > 0;
        else if (name == "--pause-us")
            known = number(options.pause_us);
        else if (name == "--reserve-factor")
            known = number(options.reserve_factor);
        else if (name == "--go-on")
            options.goes_on = text == "last" || number(options.after.emplace());
        else if (name == "--dumps-per-file")
            known = number(options.dumps_per_file);
        else
            known = false;
        if (!known) return false;
    }
    return !options.path.empty() && !options.log.empty();
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    Options options;
    if (!parse(argc, argv, options))
        give_up(
            "usage: crash_writer --file FILE --log FILE [--codec none|zstd|caesura] [--seed N] "
            "[--dumps N] [--rows N] [--chunk-kib N] [--every N] [--pause-us N] "
            "[--reserve-factor X] [--dumps-per-file N] [--go-on last|ITERATION]");
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int log = -1;
    if (rank == 0) {
        log = ::open(options.log.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
        if (log < 0) give_up("cannot open " + options.log);
    }
    run(options, rank, size, log);
    MPI_Finalize();
    return 0;
}
