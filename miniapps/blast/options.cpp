// See options.hpp.

#include "options.hpp"

#include <functional>
#include <map>
#include <stdexcept>

namespace blast {

std::string help_text() {
    return R"(blast: an explosion on a mesh with two refined levels, written as it goes

usage: mpirun -n RANKS blast [options]

  --grid N          cells a side of level 0, a multiple of 8 (32)
  --steps N         time steps (60)
  --regrid-every K  steps from one regrid to the next (4)
  --dump-every K    steps from one dump to the next (10)
  --threshold T     refine where density or pressure jump by this share (0.08)
  --output FILE     HDF5 file (blast.h5)
  --codec NAME      of blast alone: caesura, none, zstd, ... (caesura)
  --bound B         of blast alone: largest error of a value, for codecs with loss (1e-3)
  --check           exit 3 unless mass and energy are conserved and levels nested
)";
}

namespace {

int whole(const std::string& name, const std::string& text, int least) {
    std::size_t used = 0;
    int value = 0;
    try {
        value = std::stoi(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used != text.size() || text.empty() || value < least)
        throw std::invalid_argument(name + " is '" + text + "'; use a number of at least " +
                                    std::to_string(least));
    return value;
}

double positive(const std::string& name, const std::string& text) {
    std::size_t used = 0;
    double value = 0.0;
    try {
        value = std::stod(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used != text.size() || !(value > 0.0))
        throw std::invalid_argument(name + " is '" + text + "'; use a number above 0");
    return value;
}

}  // namespace

Options parse(const std::vector<std::string>& arguments) {
    Options o;
    using Set = std::function<void(const std::string& name, const std::string& text)>;
    const std::map<std::string, Set> all = {
        {"--grid", [&](auto& name, auto& text) { o.grid = whole(name, text, 8); }},
        {"--steps", [&](auto& name, auto& text) { o.steps = whole(name, text, 0); }},
        {"--regrid-every", [&](auto& name, auto& text) { o.regrid_every = whole(name, text, 1); }},
        {"--dump-every", [&](auto& name, auto& text) { o.dump_every = whole(name, text, 1); }},
        {"--threshold", [&](auto& name, auto& text) { o.threshold = positive(name, text); }},
        {"--output", [&](auto&, auto& text) { o.output = text; }},
        {"--codec", [&](auto&, auto& text) { o.codec = text; }},
        {"--bound", [&](auto& name, auto& text) { o.bound = positive(name, text); }},
    };
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& name = arguments[i];
        if (name == "--check") {
            o.check = true;
            continue;
        }
        const auto option = all.find(name);
        if (option == all.end())
            throw std::invalid_argument("unknown option '" + name + "'; try --help");
        if (i + 1 == arguments.size()) throw std::invalid_argument(name + " needs a value");
        option->second(name, arguments[++i]);
    }
    if (o.grid % 8 != 0)
        throw std::invalid_argument("--grid is " + std::to_string(o.grid) +
                                    "; use a multiple of 8");
    return o;
}

}  // namespace blast
