// Command line parsing and the help that teaches; see options.hpp.

#include "options.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

namespace cosmology {

namespace {

constexpr const char* k_help_of_results = R"(what to learn
  --timing-json F   rank 0 writes times, bytes and the writer's report
  --trace PATTERN   Chrome trace per rank, "%r" becomes the rank (modes caesura, async)
  --raw-dir DIR     each dump's fields as raw floats, FIELD_ITERATION.bin, and what is written of
                    particles, by its path in the file; not charged to the time
  --check           verify mass, momentum, particle count and growth; exit 3 if violated
  --quiet           print nothing but errors

examples
  mpirun -n 2 cosmology --mode sync --output sync.h5 --timing-json sync.json
  HDF5_PLUGIN_PATH=... mpirun -n 2 cosmology --mode caesura --device-s 2 --output run.h5
)";

constexpr const char* k_help_of_computing =
    R"(cosmology: a particle-mesh universe that dumps six fields, for measuring output

usage: mpirun -n RANKS cosmology [options]

  A flat universe of dark matter starts nearly smooth at --z-init and clusters until --z-final.
  Every --dump-every steps it hands six float fields of grid^3 values to the output --mode:
  baryon_density, dark_matter_density, temperature, velocity_x, velocity_y, velocity_z.
  The physics is bit for bit the same in all modes.

what to compute
  --grid N          mesh cells a side (256); at least as many as ranks
  --particles N     particles a side (as the grid)
  --steps N         time steps (11), equal in ln a
  --dump-every K    dump at steps K-1, 2K-1, ... but never at the last step, so that the last dump
                    too is written while a step computes (1). For D dumps use N = K*D + 1.
  --hand-over all   every dump goes to the output (default)
              half  the fields are made all the same, but only the dumps 1, 2, 4, 7, 8, 11, ... (of
                    0, 1, 2, ...) go there: steps with and without output take turns in one run
              other-half  the dumps 0, 3, 5, 6, 9, 10, ...
  --box MPC         comoving side (28.5)             --seed S      another universe (1)
  --z-init Z        redshift of the start (159)      --z-final Z   of the last step (2)
  --device-s T      seconds a step that kernels would take on an accelerator (0): after computing
                    a kernel the host idles for its share. This is an emulation; 0 turns it off.
  --device auto     deposit, kick and drift on a GPU if every rank has one, else as emulated
           cuda     on a GPU, or fail: the host waits for them as long as they take; the other
                    kernels stay emulated
           emulated all kernels on the host, and their device time from --device-s

)";

constexpr const char* k_help_of_writing = R"(how to write
  --mode compute    make the fields, write nothing: the time others are compared with
         sync       parallel HDF5, collective, uncompressed
         filter     parallel HDF5, collective, through the filter of --codec
         async      Caesura with codec none and no planning
         caesura    Caesura
  --output FILE     the HDF5 file (not for compute)
  --file-per-dump   NAME-STEP.h5 for each dump, not one NAME.h5
  --write-particles the particles too, in every mode the same: position, momentum, id and mass, as
                    the next step begins with them
  --particle-bound X  largest error of positions (cells) and momenta (cells * H0) where the mode is
                    lossy (0: without loss; in mode filter by shuffle and deflate)
  --restart FILE    go on after the last dump of such a file of any mode, with any number of ranks,
                    whose options but --mode, --output and what comes of them were the same
  --append FILE     the same, and the dumps to come go into that file, too (modes async and
                    caesura; no --output)
  --codec NAME      caesura, sz3, zfp, zstd, none, ... (caesura; in mode filter sz3). Filters are
                    found through HDF5_PLUGIN_PATH.
  --bound-scale X   times the absolute error bounds 0.2 0.4 1e3 2e5 2e5 2e5 (1)
  --chunk N         chunk side in mode filter (128)
  --chunk-bytes B   raw chunk size in modes caesura and async (8388608)
  --memory-bytes B  the writer's memory budget in modes caesura and async (0: its own choice)
  --planning on     in mode caesura jobs are ordered by --algorithm, writes keep out of the way
             off    as they come, writes at once; as with --algorithm none
  --algorithm NAME  how jobs are ordered in mode caesura (default)
  --marks on        computing and communication are marked as obstacles
          off       not: what is seen of MPI (LD_PRELOAD libcaesura_pmpi.so) and of waits has to do
  --balance on|off  ranks of a node write blocks for one that has far more to write (caesura; on)
  --priority idle   compress threads run where the application leaves its core (caesura, async)
             normal  as if they were the application's own
  --compress-threads N  a rank (1)
  --cooperative     none: the host compresses while it would idle for an emulated kernel
  --write-buffer B  compressed bytes gathered into one write (20971520)
  --reserve regions one stretch of the file a rank and dump, with --reserve-sigmas S (2) as margin
            slots   one place a block, --slot-space R (1.25) times its prediction, or as
                    --slot-weight W says, from 0 (space) to 1 (speed)
  --reserve-factor F  times every predicted size (1)
  --stripe-bytes B  space begins at multiples of B (0: 4096)
  --transport T     service:ADDRESS, as `caesura serve` prints it: it compresses and writes
  --no-fsync        do not wait for the disk at commits (modes caesura, async)

)";

}  // namespace

std::string help_text() {
    return std::string(k_help_of_computing) + k_help_of_writing + k_help_of_results;
}

namespace {

class Parser {
  public:
    Parser(int argc, char** argv) : argc_(argc), argv_(argv) {}

    bool next() { return ++i_ < argc_; }
    std::string name() const { return argv_[i_]; }
    std::string text() {
        const std::string option = name();
        if (!next()) throw std::invalid_argument(option + " needs a value; see --help");
        return argv_[i_];
    }
    double number(double least, double most) {
        const std::string option = name(), value = text();
        char* end = nullptr;
        const double x = std::strtod(value.c_str(), &end);
        if (value.empty() || *end != '\0' || !(x >= least && x <= most))
            throw std::invalid_argument(option + " is '" + value + "'; it must be a number from " +
                                        std::to_string(least) + " to " + std::to_string(most));
        return x;
    }
    template <class T>
    T whole(double least, double most) {
        const std::string option = name();
        const double x = number(least, most);
        if (x != std::floor(x)) throw std::invalid_argument(option + " must be a whole number");
        return static_cast<T>(x);
    }
    /// True for the first of two words.
    bool choice(const char* first, const char* second) {
        const std::string option = name(), value = text();
        if (value != first && value != second)
            throw std::invalid_argument(option + " is '" + value + "'; use " + first + " or " +
                                        second);
        return value == first;
    }

  private:
    int argc_, i_ = 0;
    char** argv_;
};

HandOver hand_over_named(const std::string& name) {
    if (name == "all") return HandOver::all;
    if (name == "half") return HandOver::half;
    if (name == "other-half") return HandOver::other_half;
    throw std::invalid_argument("--hand-over is '" + name + "'; use all, half or other-half");
}

using Setter = std::function<void(Parser&, Options&)>;

const std::map<std::string, Setter>& setters() {
    constexpr double k_tiny = 1e-12, k_huge = 1e12, k_exact = 9007199254740992.0;
    static const std::map<std::string, Setter> table = {
        {"--grid", [](auto& p, auto& o) { o.grid = p.template whole<int>(8, 8192); }},
        {"--particles", [](auto& p, auto& o) { o.particles = p.template whole<int>(8, 8192); }},
        {"--steps", [](auto& p, auto& o) { o.steps = p.template whole<int>(2, 1e6); }},
        {"--dump-every", [](auto& p, auto& o) { o.dump_every = p.template whole<int>(1, 1e6); }},
        {"--hand-over", [](auto& p, auto& o) { o.hand_over = hand_over_named(p.text()); }},
        {"--box", [](auto& p, auto& o) { o.box_mpc = p.number(0.1, 1e5); }},
        {"--z-init", [](auto& p, auto& o) { o.z_init = p.number(0.1, 1000.0); }},
        {"--z-final", [](auto& p, auto& o) { o.z_final = p.number(0.0, 1000.0); }},
        {"--seed", [](auto& p, auto& o) { o.seed = p.template whole<std::uint64_t>(0, k_exact); }},
        {"--device-s", [](auto& p, auto& o) { o.device_s = p.number(0.0, 3600.0); }},
        {"--device", [](auto& p, auto& o) { o.device = p.text(); }},
        {"--mode", [](auto& p, auto& o) { o.mode = p.text(); }},
        {"--output", [](auto& p, auto& o) { o.output = p.text(); }},
        {"--file-per-dump", [](auto&, auto& o) { o.file_per_dump = true; }},
        {"--write-particles", [](auto&, auto& o) { o.write_particles = true; }},
        {"--particle-bound", [](auto& p, auto& o) { o.particle_bound = p.number(0.0, k_huge); }},
        {"--restart", [](auto& p, auto& o) { o.restart = p.text(); }},
        {"--append", [](auto& p, auto& o) { o.append = p.text(); }},
        {"--codec", [](auto& p, auto& o) { o.codec = p.text(); }},
        {"--bound-scale", [](auto& p, auto& o) { o.bound_scale = p.number(k_tiny, k_huge); }},
        {"--chunk", [](auto& p, auto& o) { o.chunk = p.template whole<int>(4, 1024); }},
        {"--chunk-bytes",
         [](auto& p, auto& o) { o.chunk_bytes = p.template whole<std::uint64_t>(4096, 4e9); }},
        {"--memory-bytes",
         [](auto& p, auto& o) { o.memory_bytes = p.template whole<std::uint64_t>(0, k_exact); }},
        {"--write-buffer",
         [](auto& p, auto& o) { o.write_buffer_bytes = p.template whole<std::uint64_t>(1, 4e9); }},
        {"--planning", [](auto& p, auto& o) { o.planning = p.choice("on", "off"); }},
        {"--marks", [](auto& p, auto& o) { o.marks = p.choice("on", "off"); }},
        {"--balance", [](auto& p, auto& o) { o.balance_writes = p.choice("on", "off"); }},
        {"--priority", [](auto& p, auto& o) { o.idle_priority = p.choice("idle", "normal"); }},
        {"--cooperative", [](auto&, auto& o) { o.cooperative = true; }},
        {"--compress-threads",
         [](auto& p, auto& o) { o.compress_threads = p.template whole<int>(1, 1024); }},
        {"--algorithm", [](auto& p, auto& o) { o.algorithm = p.text(); }},
        {"--reserve", [](auto& p, auto& o) { o.reserve = p.text(); }},
        {"--reserve-sigmas", [](auto& p, auto& o) { o.reserve_sigmas = p.number(0.0, 100.0); }},
        {"--reserve-factor", [](auto& p, auto& o) { o.reserve_factor = p.number(0.0, 1000.0); }},
        {"--slot-space", [](auto& p, auto& o) { o.slot_space = p.number(1.0, 10.0); }},
        {"--slot-weight", [](auto& p, auto& o) { o.slot_speed_weight = p.number(0.0, 1.0); }},
        {"--stripe-bytes",
         [](auto& p, auto& o) { o.stripe_bytes = p.template whole<std::uint64_t>(0, 1 << 30); }},
        {"--transport", [](auto& p, auto& o) { o.transport = p.text(); }},
        {"--no-fsync", [](auto&, auto& o) { o.durable = false; }},
        {"--timing-json", [](auto& p, auto& o) { o.timing_json = p.text(); }},
        {"--trace", [](auto& p, auto& o) { o.trace = p.text(); }},
        {"--raw-dir", [](auto& p, auto& o) { o.raw_dir = p.text(); }},
        {"--check", [](auto&, auto& o) { o.check = true; }},
        {"--quiet", [](auto&, auto& o) { o.quiet = true; }},
        {"--help", [](auto&, auto& o) { o.help = true; }},
    };
    return table;
}

}  // namespace

std::string Options::file_of(const std::string& step) const {
    if (!file_per_dump) return output;
    const std::filesystem::path path(output);
    const std::string name = path.stem().string() + "-" + step + path.extension().string();
    return path.parent_path() / name;
}

bool Options::hands_over(int step) const {
    if (!dumps_at(step)) return false;
    if (hand_over == HandOver::all) return true;
    // The sequence of Thue and Morse. Each half has one dump of every two neighbours, and as many
    // at each place of four: neither a drift of the machine nor what every fourth step does more
    // (the particles are sorted) is mistaken for the output.
    const bool odd = std::popcount(static_cast<unsigned>(step / dump_every)) % 2 == 1;
    return odd == (hand_over == HandOver::half);
}

std::string run_text(const Options& options) {
    return fmt::format("grid {}, particles {}, steps {}, box {}, z {} to {}, seed {}", options.grid,
                       options.particles, options.steps, options.box_mpc, options.z_init,
                       options.z_final, options.seed);
}

Options parse_options(int argc, char** argv) {
    Options options;
    for (Parser parser(argc, argv); parser.next();) {
        const auto setter = setters().find(parser.name());
        if (setter == setters().end())
            throw std::invalid_argument("unknown option '" + parser.name() + "'; see --help");
        setter->second(parser, options);
    }
    if (options.help) return options;
    if (options.particles == 0) options.particles = options.grid;
    if (options.codec.empty()) options.codec = options.mode == "filter" ? "sz3" : "caesura";
    if (options.z_final >= options.z_init)
        throw std::invalid_argument("--z-final must be below --z-init: the universe expands");
    const std::set<std::string> modes = {"compute", "sync", "filter", "async", "caesura"};
    if (!modes.contains(options.mode))
        throw std::invalid_argument("--mode is '" + options.mode +
                                    "'; use compute, sync, filter, async or caesura");
    const std::set<std::string> devices = {"auto", "cuda", "emulated"};
    if (!devices.contains(options.device))
        throw std::invalid_argument("--device is '" + options.device +
                                    "'; use auto, cuda or emulated");
    if (!options.append.empty()) {
        if (!options.output.empty() || !options.restart.empty())
            throw std::invalid_argument("--append names the file; drop --output and --restart");
        if (!options.write_particles)
            throw std::invalid_argument("--append goes on from particles: add --write-particles");
        if (options.mode != "async" && options.mode != "caesura")
            throw std::invalid_argument("--append is for modes async and caesura");
        options.output = options.restart = options.append;
    }
    if (options.mode != "compute" && options.output.empty())
        throw std::invalid_argument("--mode " + options.mode + " needs --output FILE");
    return options;
}

}  // namespace cosmology
