#include "sequence.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "step.hpp"

namespace stand_in {

char where_it_is[512] = "at its start";

namespace {

namespace fs = std::filesystem;

/// Each with its name; a bound makes it lossy.
struct Configuration {
    const char* name;
    double bound;
    bool blocks, completes;
    const char* text;
};

constexpr Configuration k_configurations[] = {
    {"tiny", 0, true, false, "threshold_bytes = 1\nchunk_bytes = 4096\n"},
    {"small_memory", 0, true, false,
     "threshold_bytes = 1\nchunk_bytes = 1024\nmemory_bytes = 100000\n"},
    {"complete", 0, true, true, "threshold_bytes = 64\ndurability = \"complete\"\n"},
    {"durable", 0, true, true, "threshold_bytes = 1\ndurability = \"durable\"\n"},
    {"large", 0, false, false, "threshold_bytes = 1073741824\n"},
    {"at_once", 0, true, false, "threshold_bytes = 256\ncommit_writes = true\n"},
    {"bounded", 1e-3, true, false,
     "threshold_bytes = 1\nchunk_bytes = 2048\n[[dataset]]\npath = \"lossy_*\"\nbound = 1e-3\n"},
    {"bounded_complete", 1e-2, true, true,
     "threshold_bytes = 1\ndurability = \"complete\"\n[[dataset]]\npath = \"lossy_*\"\n"
     "bound = 1e-2\n"},
};

/// Directories of this sequence's own: one that failed may have left files open.
void begin_directories(World& world, std::uint64_t attempt) {
    std::error_code error;
    if (world.rank == 0 && world.directory != world.base) fs::remove_all(world.directory, error);
    world.directory = fmt::format("{}/{}", world.base, attempt);
    if (world.rank == 0)
        for (const Which side : {native, ours})
            if (world.runs[side]) fs::create_directories(world.directory_of(side), error);
    MPI_Barrier(world.communicator);
}

const Operation* draw_operation(Draw& draw, const Options& options) {
    static const unsigned total = [] {
        unsigned sum = 0;
        for (const Operation& one : operations()) sum += one.weight;
        return sum;
    }();
    std::uint64_t at = draw.below(total);
    for (const Operation& one : operations()) {
        if (at >= one.weight) {
            at -= one.weight;
            continue;
        }
        const bool left_out = std::find(options.without.begin(), options.without.end(), one.name) !=
                              options.without.end();
        return left_out ? nullptr : &one;
    }
    return nullptr;
}

const Operation* named(const char* name) {
    for (const Operation& one : operations())
        if (std::strcmp(one.name, name) == 0) return &one;
    return nullptr;
}

/// Whether any rank has found a difference: then all stop.
bool any_rank(const World& world, bool mine) {
    if (world.ranks == 1) return mine;
    int one = mine, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_MAX, world.communicator);
    return all != 0;
}

struct Run {
    World& world;
    const Options& options;
    std::uint64_t seed;
    Judge* judge;
    Verdict verdict{};

    /// One step. Whether the sequence goes on.
    bool make(std::uint64_t serial, const Operation& operation) {
        std::snprintf(where_it_is, sizeof where_it_is, "seed=%llu step=%llu op=%s",
                      static_cast<unsigned long long>(seed),
                      static_cast<unsigned long long>(serial), operation.name);
        Step step(world, serial, mix(seed, serial + 1000));
        operation.run(step);
        if (!step.applies) return true;
        ++verdict.calls;
        verdict.steps.push_back(serial);
        verdict.program += step.program;
        if (!step.log.empty())
            std::printf("LOG seed=%llu step=%llu rank=%d %s%s\n",
                        static_cast<unsigned long long>(seed),
                        static_cast<unsigned long long>(serial), world.rank, operation.name,
                        step.log.c_str());
        if (!any_rank(world, step.differs.has_value())) return true;
        verdict.step = serial;
        verdict.operation = operation.name;
        verdict.facts = step.facts;
        verdict.difference = step.differs;
        return false;
    }

    bool draw_and_make(std::uint64_t serial) {
        Draw draw(mix(seed, serial));
        const Operation* operation =
            serial == 0 ? named("H5Fcreate") : draw_operation(draw, options);
        return operation == nullptr || make(serial, *operation);
    }

    void look_from_outside(const char* when) {
        std::string found;
        std::snprintf(where_it_is, sizeof where_it_is, "seed=%llu step=999 op=outside %s",
                      static_cast<unsigned long long>(seed), when);
        const bool asks = judge != nullptr && (world.rank == 0 || !world.setting.mpio);
        for (int file = 0; asks && file < 3 && found.empty(); ++file)
            found = judge->compare(world.path(native, file), world.path(ours, file),
                                   world.setting.bound);
        if (!any_rank(world, !found.empty())) return;
        verdict.operation = std::string("outside ") + when;
        verdict.step = 999;
        if (!found.empty())
            verdict.difference = found;
        else
            verdict.difference = "another rank has found it";
    }
};

/// After a difference nothing is compared any more; what can be closed is.
void give_up(World& world) {
    for (const auto& held : world.handles)
        for (const Which side : {native, ours}) {
            if (!world.runs[side] || held->id[side] < 0 || H5Iis_valid(held->id[side]) <= 0)
                continue;
            if (held->kind == Kind::file) continue;
            H5Idec_ref(held->id[side]);
        }
    for (int again = 0; again < 2; ++again)
        for (const auto& held : world.handles)
            for (const Which side : {native, ours})
                if (world.runs[side] && held->kind == Kind::file && held->id[side] >= 0 &&
                    H5Iis_valid(held->id[side]) > 0)
                    H5Fclose(held->id[side]);
    world.handles.clear();
}

/// Blocks that the lanes still have are written when the file is opened again.
void complete_files(World& world) {
    for (int file = 0; file < 3; ++file) {
        const std::string path = world.path(ours, file);
        if (access(path.c_str(), F_OK) != 0) continue;
        const hid_t list = access_list(world, ours, {});
        const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, list);
        if (id >= 0) H5Fclose(id);
        H5Pclose(list);
    }
}

}  // namespace

void write_configurations(const std::string& directory) {
    for (const Configuration& one : k_configurations)
        std::ofstream(fmt::format("{}/{}.toml", directory, one.name)) << "closing_line = false\n"
                                                                      << one.text;
}

Setting setting_of(std::uint64_t seed, const World& world) {
    Draw draw(mix(seed, 1));
    const Configuration& one = k_configurations[draw.below(std::size(k_configurations))];
    Setting setting;
    setting.config = fmt::format("{}/{}.toml", world.base, one.name);
    setting.bound = one.bound;
    setting.blocks = one.blocks;
    setting.completes = one.completes;
    setting.mpio = draw.chance(60);
    return setting;
}

Verdict run_sequence(World& world, const Options& options, std::uint64_t seed,
                     const std::vector<std::uint64_t>* kept, Judge* judge) {
    static std::uint64_t attempt = 0;
    begin_directories(world, attempt++);
    world.handles.clear();
    world.unflushed = world.has_aliases = false;
    world.opened_again = world.has_copies = {};
    Run run{world, options, seed, judge};
    bool goes_on = true;
    if (kept != nullptr) {
        for (const std::uint64_t serial : *kept)
            if (goes_on) goes_on = serial >= 900 || run.draw_and_make(serial);
    } else {
        // Many steps find nothing to be called on.
        for (std::uint64_t serial = 0; goes_on && run.verdict.calls < options.calls && serial < 899;
             ++serial)
            goes_on = run.draw_and_make(serial);
    }
    if (options.leaves_open) {
        world.handles.clear();
        return run.verdict;
    }
    if (goes_on && !world.handles.empty()) goes_on = run.make(900, *named("close_all"));
    give_up(world);
    if (world.runs[native] && world.runs[ours]) {
        if (!world.setting.completes) complete_files(world);
        if (goes_on) run.look_from_outside("after close");
    }
    return run.verdict;
}

}  // namespace stand_in
