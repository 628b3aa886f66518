// The command line of the mini-app.
#pragma once

#include <cstdint>
#include <string>

#include "background.hpp"

namespace cosmology {

/// Which dumps the output gets. The fields of all of them are made in any case.
enum class HandOver { all, half, other_half };

struct Options {
    int grid = 256;
    int particles = 0;  ///< a side; 0: as the grid
    int steps = 11;
    int dump_every = 1;
    HandOver hand_over = HandOver::all;
    double box_mpc = 28.5;
    double z_init = 159.0, z_final = 2.0;
    std::uint64_t seed = 1;
    std::string mode = "compute";
    std::string output;
    bool file_per_dump = false;
    bool write_particles = false;
    double particle_bound = 0.0;  ///< of positions and momenta; 0: without loss
    std::string restart;          ///< the file to go on from
    std::string append;           ///< the same, and the output; once parsed all three are one
    double device_s = 0.0;
    std::string device = "auto";
    std::string codec;  ///< empty until parsed: caesura, in mode filter sz3
    double bound_scale = 1.0;
    int chunk = 128;                               ///< cells a side of a chunk, mode filter
    std::uint64_t chunk_bytes = 8u << 20;          ///< raw bytes of a chunk aimed at, mode caesura
    std::uint64_t write_buffer_bytes = 20u << 20;  ///< compressed bytes gathered into one write
    bool planning = true;                          ///< mode caesura; false: first in, first out
    bool balance_writes = true;                    ///< ranks of a node write for each other
    bool idle_priority = true;                     ///< of the compress threads
    int compress_threads = 1;
    bool cooperative = false;        ///< none: compress where the host waits for a kernel
    std::uint64_t memory_bytes = 0;  ///< of the writer; 0: its own choice
    bool durable = true;
    std::string algorithm = "default";  ///< of the plan; "none": first in, first out
    std::string reserve = "regions";
    double reserve_sigmas = 2.0, reserve_factor = 1.0;
    double slot_space = 1.25, slot_speed_weight = -1.0;  ///< weight below 0: slot_space counts
    std::uint64_t stripe_bytes = 0;
    std::string transport;  ///< as WriterOptions::transport
    std::string trace, timing_json, raw_dir;
    bool marks = true;  ///< false: the writer learns of the application by observation alone
    bool check = false, help = false, quiet = false;
    CosmologyParameters cosmology;

    /// The file that holds a dump.
    std::string file_of(const std::string& step) const;
    bool dumps_at(int step) const {
        // Never at the last step: the last dump is written while that step computes.
        return step % dump_every == dump_every - 1 && step + 1 < steps;
    }
    /// Whether the fields of a step are handed to the output, or made and dropped.
    bool hands_over(int step) const;
};

/// Throws std::invalid_argument with a sentence for the user.
Options parse_options(int argc, char** argv);
/// What must be the same in a run that goes on, as one text: the file's attribute "cosmology_run".
std::string run_text(const Options& options);
std::string help_text();

}  // namespace cosmology
