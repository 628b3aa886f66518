#include "options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>

namespace wave {
namespace {

struct Value {
    std::string option, text;

    double number(double least, double most) const {
        char* end = nullptr;
        const double x = std::strtod(text.c_str(), &end);
        if (text.empty() || *end != '\0' || !(x >= least && x <= most))
            throw std::invalid_argument(fmt::format("{} is '{}'; it must be a number from {} to {}",
                                                    option, text, least, most));
        return x;
    }
    int whole(int least, int most) const {
        const double x = number(least, most);
        if (x != std::floor(x))
            throw std::invalid_argument(
                fmt::format("{} is '{}'; it must be a whole number", option, text));
        return static_cast<int>(x);
    }
};

using Setter = std::function<void(Options&, const Value&)>;

const std::map<std::string, Setter>& setters() {
    static const std::map<std::string, Setter> all = {
        {"--nz", [](auto& o, auto& v) { o.nz = v.whole(16, 4096); }},
        {"--ny", [](auto& o, auto& v) { o.ny = v.whole(16, 4096); }},
        {"--nx", [](auto& o, auto& v) { o.nx = v.whole(16, 4096); }},
        {"--spacing",
         [](auto& o, auto& v) { o.spacing_m = static_cast<float>(v.number(0.1, 1e3)); }},
        {"--frequency",
         [](auto& o, auto& v) { o.frequency_hz = static_cast<float>(v.number(0.1, 1e3)); }},
        {"--record", [](auto& o, auto& v) { o.record_s = v.number(1e-3, 1e3); }},
        {"--shots", [](auto& o, auto& v) { o.shots = v.whole(1, 10'000); }},
        {"--sponge", [](auto& o, auto& v) { o.sponge = v.whole(1, 1000); }},
        {"--threads", [](auto& o, auto& v) { o.threads = v.whole(0, 1024); }},
        {"--every", [](auto& o, auto& v) { o.every = v.whole(1, 1'000'000); }},
        {"--cache-mb",
         [](auto& o, auto& v) {
             o.cache_bytes = static_cast<std::uint64_t>(1e6 * v.number(0.001, 1e6));
         }},
        {"--bound", [](auto& o, auto& v) { o.bound = v.number(0.0, 1e30); }},
        {"--link-gb-per-s",
         [](auto& o, auto& v) { o.link_bytes_per_s = 1e9 * v.number(1e-6, 1e6); }},
        {"--cells-per-s", [](auto& o, auto& v) { o.cells_per_s = v.number(1.0, 1e15); }},
        {"--profile", [](auto& o, auto& v) { o.profile = v.text; }},
        {"--image", [](auto& o, auto& v) { o.image = v.text; }},
        {"--velocity", [](auto& o, auto& v) { o.velocity = v.text; }},
        {"--json", [](auto& o, auto& v) { o.json = v.text; }},
        {"--device",
         [](auto& o, auto& v) {
             if (v.text != "emulated" && v.text != "cuda")
                 throw std::invalid_argument("--device is '" + v.text + "'; use emulated or cuda");
             o.gpu = v.text == "cuda";
         }},
    };
    return all;
}

void validate(const Options& options) {
    const int side = 2 * options.sponge + 8;
    for (const auto& [name, cells] : {std::pair{"--nz", options.nz}, std::pair{"--ny", options.ny},
                                      std::pair{"--nx", options.nx}})
        if (cells < side)
            throw std::invalid_argument(
                fmt::format("{} is {}; with a sponge of {} cells on both sides it must be at "
                            "least {}",
                            name, cells, options.sponge, side));
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--help" || name == "-h") {
            options.help = true;
        } else if (name == "--check") {
            options.check = true;
        } else if (name == "--quiet") {
            options.quiet = true;
        } else if (const auto found = setters().find(name); found == setters().end()) {
            throw std::invalid_argument("unknown option '" + name + "'; see --help");
        } else if (++i == argc) {
            throw std::invalid_argument(name + " needs a value; see --help");
        } else {
            found->second(options, {name, argv[i]});
        }
    }
    validate(options);
    return options;
}

std::string help_text() {
    return R"(wave: reverse time migration that keeps its waves as checkpoints of a GPU

usage: wave [options]

  For each shot a source rings in a made-up piece of the earth, receivers record it, and an image
  of what reflected is formed: the source's waves, computed forwards in a smooth earth, times the
  receivers' waves, computed backwards. On the way back the source's waves come from checkpoints,
  the last first, and are computed again between them. The first shot is the others' profile:
  which checkpoints to send raw, compress, or compress together is planned from it.

what to compute
  --nz N --ny N --nx N  cells down and along (96, 64, 160)
  --spacing M       between cells (10)
  --frequency HZ    of the source's wavelet (15); the slowest wave, 1800 m/s, should have 4 cells
                    at 2.5 times it
  --record S        how long the receivers listen (1.0); the step follows from the spacing
  --shots N         along x (4)
  --sponge N        cells of absorbing boundary on every side (16)
  --device emulated waves are computed by the host, in the virtual time of an emulated GPU
           cuda     waves and checkpoints are on a GPU, or fail (not yet run on one)
  --threads N       of the host (0: as many as it has); the image does not depend on it

how to keep the waves
  --every K         steps between checkpoints (6), which are two wavefields each
  --cache-mb MB     of the GPU's memory for checkpoints on their way (128)
  --bound X         absolute, of the wavefield, which is about 0.1 near the source (0: lossless)
  --profile FILE    read, where it exists, as what the first shot will be like; written after it
  --link-gb-per-s G expected of the link (25)
  --cells-per-s C   of the emulated GPU (3e10); its link is as expected, compressing and copying
                    take what bench/together/a100.json says

what to learn
  --image FILE      the stacked image, [nz, ny, nx] floats, as NumPy's .npy
  --velocity FILE   the true velocities likewise
  --json FILE       what each shot's checkpoints came to
  --check           migrate without checkpoints too (keeps every wavefield in memory) and compare;
                    exit 3 if the images differ, or with --bound by more than it explains
  --quiet           print nothing but errors

example
  wave --image image.npy --velocity velocity.npy
  miniapps/wave/picture.py image.npy velocity.npy image.svg
)";
}

}  // namespace wave
