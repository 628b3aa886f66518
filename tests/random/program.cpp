#include "program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "base/short_float.hpp"
#include "store/path_template.hpp"

namespace caesura::random_programs {
namespace {

using Random = std::mt19937;

std::uint64_t below(Random& random, std::uint64_t end) { return random() % end; }
bool one_in(Random& random, std::uint64_t n) { return below(random, n) == 0; }

template <class T, std::size_t n>
T any_of(Random& random, const T (&of)[n]) {
    return of[below(random, n)];
}

constexpr DType k_types[] = {float32, float64, float32,  float64,   int8,      int16,
                             int32,   int64,   uint8,    uint16,    uint32,    uint64,
                             boolean, float16, bfloat16, complex64, complex128};

FillValue fill_for(DType dtype, Random& random) {
    if (one_in(random, 3)) return 0.0;
    if (dtype == boolean) return std::int64_t{1};
    if (dtype == float16 || dtype == bfloat16) return any_of(random, {-1.5, 64.0, std::nan("")});
    if (!is_integer(dtype)) return any_of(random, {-1.5, 1e30, std::nan("")});
    if (dtype == uint64 && one_in(random, 2)) return ~std::uint64_t{0} - 1;
    if (dtype == int64 && one_in(random, 2)) return std::int64_t{-(1LL << 62) - 1};
    return std::int64_t{7};
}

ErrorBound bound_for(DType dtype, Random& random) {
    if (is_integer(dtype)) return lossless();
    return any_of(
        random, {lossless(), absolute(0.02), relative(1e-4), pointwise_relative(1e-3), psnr(70.0)});
}

FieldPlan random_plan(std::string name, Random& random) {
    FieldPlan plan;
    plan.name = std::move(name);
    plan.dtype = any_of(random, k_types);
    plan.bound = bound_for(plan.dtype, random);
    if (one_in(random, 4))
        plan.codec = any_of(random, {"none", "caesura:fast", "caesura:strong", "caesura:planes"});
    // The other codecs keep no bound that is relative to each value.
    if (plan.codec == "none" && plan.bound.kind == ErrorBound::Kind::pointwise_relative)
        plan.bound = absolute(0.02);
    plan.look = static_cast<Look>(below(random, 5));
    return plan;
}

Shape random_shape(int axes, Random& random) {
    const std::uint64_t longest[] = {30000, 180, 34, 14};
    Shape shape = Shape::filled(axes, 1);
    for (int axis = 0; axis < axes; ++axis) shape[axis] = 1 + below(random, longest[axes - 1]);
    return shape;
}

FieldDump random_dump(const FieldPlan& plan, const Shape& shape, int n_ranks, Random& random) {
    FieldDump dump;
    dump.shape = shape;
    dump.is_put = !one_in(random, 6);
    dump.borrowed = one_in(random, 4);
    std::vector<testing::OwnedBox> all;
    testing::cut({Shape::filled(shape.rank(), 0), shape}, n_ranks,
                 static_cast<int>(below(random, 5)), random, all);
    for (const testing::OwnedBox& one : all)
        if (!plan.partial || one_in(random, 2)) dump.boxes.push_back(one);
    // A dump without a box of a field is one without the field.
    if (dump.boxes.empty()) dump.boxes.push_back(all[0]);
    if (!dump.is_put) dump.boxes.clear();
    return dump;
}

SpeciesDump random_particles(int n_ranks, Random& random) {
    SpeciesDump dump;
    dump.is_put = !one_in(random, 6);
    dump.puts = 1 + below(random, 3);
    const std::uint64_t most[] = {1, 12, 900, 20000};
    const bool none = one_in(random, 6);
    for (int rank = 0; rank < n_ranks; ++rank)
        dump.counts.push_back(none ? 0 : below(random, any_of(random, most)));
    return dump;
}

WriterOptions random_options(Random& random) {
    WriterOptions options;
    options.durable = false;
    options.calibration_path = "none";
    options.chunk_bytes = any_of(random, {64u << 10, 64u << 10, 200000u, 1u << 20});
    options.planning = !one_in(random, 4);
    options.reserve = one_in(random, 4) ? Reserve::slots : Reserve::regions;
    options.reserve_factor = any_of(random, {1.0, 1.0, 0.3, 3.0});
    options.compress_threads = one_in(random, 3) ? 2 : 1;
    options.cooperative = one_in(random, 6);
    options.write_buffer_bytes = any_of(random, {20u << 20, 4096u, 100000u});
    options.stripe_bytes = one_in(random, 5) ? 65536 : 0;
    // Threads of idle priority would wait for whatever else the machine does.
    options.idle_priority = false;
    if (one_in(random, 4))
        options.layout = any_of(random, {"/step_%06T/{field}", "/{field}/%T", "/{field}_%04T"});
    return options;
}

}  // namespace

Program::Program(std::uint64_t of_seed, bool to_be_killed) : seed(of_seed) {
    Random random(static_cast<unsigned>(seed * 2654435761u + 17));
    options = random_options(random);
    is_series = one_in(random, 3);
    if (is_series) options.dumps_per_file = 1 + below(random, 3);
    const std::uint64_t n_sessions = to_be_killed ? 1 : 1 + below(random, 3) / 2 * below(random, 3);
    // A layout without a group for each dump cannot be gone on with.
    if (n_sessions > 1 && !options.layout.empty()) options.layout = "/step_%06T/{field}";
    const std::uint64_t n_fields = below(random, 4);
    const char* const names[] = {"rho", "v/x", "v/y", "mask"};
    std::vector<Shape> shapes;
    for (std::uint64_t i = 0; i < n_fields; ++i) {
        FieldPlan plan = random_plan(names[i], random);
        plan.partial = one_in(random, 3);
        if (plan.partial) plan.fill = fill_for(plan.dtype, random);
        // The parts of complex numbers take an axis.
        const std::uint64_t most_axes = is_complex(plan.dtype) ? 3 : 4;
        shapes.push_back(random_shape(1 + static_cast<int>(below(random, most_axes)), random));
        fields.push_back(std::move(plan));
    }
    if (n_fields == 0 || one_in(random, 2)) {
        const char* const of_each[] = {"position/x", "position/y", "id", "weighting"};
        for (std::uint64_t i = 0; i < 1 + below(random, 4); ++i)
            records.push_back(random_plan(of_each[i], random));
    }
    std::vector<std::uint64_t> there;
    for (std::uint64_t i = 0; i < n_sessions; ++i) add_session(shapes, there, random);
}

void Program::add_session(std::vector<Shape>& shapes, std::vector<std::uint64_t>& there,
                          Random& random) {
    Session session;
    session.n_ranks = 1 + static_cast<int>(below(random, 4));
    // A series without a dump has no file.
    session.creates = sessions.empty() || (is_series && there.empty());
    if (!there.empty() && one_in(random, 2)) {
        const std::size_t last = below(random, there.size());
        session.after = there[last];
        there.resize(last + 1);
    }
    std::uint64_t iteration = there.empty() ? below(random, 3) : there.back() + 1;
    for (std::uint64_t d = 0; d < 1 + below(random, 5); ++d) {
        DumpPlan dump;
        dump.iteration = iteration;
        iteration += 1 + below(random, 3);
        for (std::size_t i = 0; i < fields.size(); ++i) {
            if (one_in(random, 4)) shapes[i] = random_shape(shapes[i].rank(), random);
            dump.fields.push_back(random_dump(fields[i], shapes[i], session.n_ranks, random));
        }
        dump.species = random_particles(session.n_ranks, random);
        dump.is_empty = (records.empty() || !dump.species.is_put) &&
                        std::none_of(dump.fields.begin(), dump.fields.end(),
                                     [](const FieldDump& one) { return one.is_put; });
        if (!dump.is_empty) there.push_back(dump.iteration);
        session.dumps.push_back(std::move(dump));
    }
    sessions.push_back(std::move(session));
}

std::vector<KeptDump> Program::kept(const std::string& path) const {
    std::vector<KeptDump> all;
    for (const Session& session : sessions) {
        while (session.after && !all.empty() && all.back().plan->iteration != *session.after)
            all.pop_back();
        std::uint64_t in_file = 0;
        std::string file = path;
        for (const DumpPlan& dump : session.dumps) {
            if (dump.is_empty) continue;
            if (is_series && in_file++ % options.dumps_per_file == 0) {
                file = path;
                file.replace(file.find("%06T"), 4, fmt::format("{:06}", dump.iteration));
            }
            all.push_back({&dump, file});
        }
    }
    return all;
}

std::string Program::text() const {
    std::string said =
        fmt::format("seed {}: {}{}, chunks of {} bytes, {}, {}{}", seed,
                    is_series ? fmt::format("{} dumps a file", options.dumps_per_file) : "one file",
                    options.layout.empty() ? "" : ", layout " + options.layout, options.chunk_bytes,
                    options.planning ? "planned" : "in order", to_string(options.reserve),
                    options.cooperative ? ", cooperative" : "");
    const auto add = [&](const char* what, const FieldPlan& plan) {
        said +=
            fmt::format("\n  {} {}: {}, bound {} {}, codec '{}'{}, look {}", what, plan.name,
                        to_string(plan.dtype), static_cast<int>(plan.bound.kind), plan.bound.value,
                        plan.codec, plan.partial ? ", partial" : "", static_cast<int>(plan.look));
    };
    for (const FieldPlan& plan : fields) add("field", plan);
    for (const FieldPlan& plan : records) add("record", plan);
    for (const Session& session : sessions) {
        said += fmt::format("\n  {} ranks{}", session.n_ranks,
                            session.after ? fmt::format(", after {}", *session.after) : "");
        for (const DumpPlan& dump : session.dumps) said += "\n  " + text_of(dump);
    }
    return said;
}

std::string Program::text_of(const DumpPlan& dump) const {
    std::string said = fmt::format("dump {}:", dump.iteration);
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (dump.fields[i].is_put)
            said += fmt::format(" {} {} in {} boxes", fields[i].name,
                                to_string(dump.fields[i].shape), dump.fields[i].boxes.size());
    if (records.empty() || !dump.species.is_put) return said;
    said += " particles";
    for (const std::uint64_t count : dump.species.counts) said += fmt::format(" {}", count);
    return said;
}

std::string Program::path_of(std::uint64_t iteration, const std::string& field) const {
    if (options.layout.empty()) return fmt::format("/data/{}/meshes/{}", iteration, field);
    return store::PathTemplate::parse(options.layout)->path(iteration, field);
}

std::string Program::path_of_record(std::uint64_t iteration, const std::string& record) const {
    if (options.layout.empty())
        return fmt::format("/data/{}/particles/electrons/{}", iteration, record);
    return path_of(iteration, "electrons/" + record);
}

// -------------------------------------------------------------------------------- values

namespace {

/// As random as the index is another one.
std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

double floating_of(Look look, double phase, std::uint64_t index, std::uint64_t noise) {
    const double x = static_cast<double>(index), unit = static_cast<double>(noise >> 11) * 0x1p-53;
    switch (look) {
        case Look::smooth:
            return 100.0 * std::sin(0.01 * x + phase) + 0.1 * (unit - 0.5);
        case Look::special: {
            const double all[] = {std::nan(""), -HUGE_VAL, HUGE_VAL, -0.0, 0.0, 1e-30, 1e30};
            if (noise % 40 < std::size(all)) return all[noise % 40];
            return 10.0 * std::cos(0.02 * x + phase);
        }
        case Look::noise:
            return 1e3 * (unit - 0.5);
        case Look::constant:
            return 4.25 + phase;
        case Look::counting:
            break;
    }
    return x + phase;
}

/// float16 ends at 65504.
float short_of(double value) {
    return static_cast<float>(std::isfinite(value) ? std::fmod(value, 3e4) : value);
}

template <class T>
void store_as(T value, std::byte* out) {
    std::memcpy(out, &value, sizeof value);
}

std::uint64_t integer_of(Look look, std::uint64_t phase, std::uint64_t index, std::uint64_t noise) {
    switch (look) {
        case Look::smooth:
            return static_cast<std::uint64_t>(
                static_cast<std::int64_t>(60.0 * std::sin(0.01 * static_cast<double>(index))));
        case Look::special:
            return noise % 9 == 0 ? noise : ~std::uint64_t{0};
        case Look::noise:
            return noise;
        case Look::constant:
            return phase;
        case Look::counting:
            break;
    }
    return index * 3 + phase;
}

}  // namespace

void value_of(const Program& program, const FieldPlan& plan, std::uint64_t iteration,
              std::uint64_t index, std::byte* out) {
    const std::uint64_t base = mix(program.seed * 1000003 + iteration * 131 +
                                   std::hash<std::string_view>{}(plan.name) % 1000);
    const std::uint64_t noise = mix(base + index * 0x9e3779b97f4a7c15u);
    const double value = floating_of(plan.look, static_cast<double>(base % 7), index, noise);
    if (plan.dtype == float32) return store_as(static_cast<float>(value), out);
    if (plan.dtype == float64) return store_as(value, out);
    if (plan.dtype == float16) return store_as(base::to_short<Float16>(short_of(value)), out);
    if (plan.dtype == bfloat16) return store_as(base::to_short<Bfloat16>(short_of(value)), out);
    if (plan.dtype == complex64)
        return store_as(std::complex<float>(static_cast<float>(value), static_cast<float>(-value)),
                        out);
    if (plan.dtype == complex128) return store_as(std::complex<double>(value, 0.5 * value), out);
    if (plan.dtype == boolean)
        return store_as(static_cast<std::uint8_t>(plan.look == Look::counting ? index / 7 % 2
                                                                              : noise % 16 == 0),
                        out);
    // Little-endian: the low bytes are the value of a narrower type.
    const std::uint64_t number = integer_of(plan.look, base % 7, index, noise);
    std::memcpy(out, &number, size_of(plan.dtype));
}

}  // namespace caesura::random_programs
