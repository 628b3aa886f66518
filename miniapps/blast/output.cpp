// See output.hpp.

#include "output.hpp"

#include <stdexcept>

#include "caesura/mpi.hpp"

namespace blast {

namespace {

void expect_ok(const caesura::Status& status, const std::string& doing) {
    if (!status.ok()) throw std::runtime_error(doing + ": " + status.message());
}

caesura::Box file_box(const Box& box) {
    const auto u = [](int cells) { return static_cast<std::uint64_t>(cells); };
    return {{u(box.lo[0]), u(box.lo[1]), u(box.lo[2])},
            {u(box.extent(0)), u(box.extent(1)), u(box.extent(2))}};
}

}  // namespace

std::string field_name(const std::string& quantity, int level) {
    return level == 0 ? quantity : quantity + "_lvl" + std::to_string(level);
}

Output::Output(const Options& options, const Hierarchy& hierarchy, MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank_);
    caesura::WriterOptions writer_options;
    writer_options.codec.name = options.codec;
    writer_options.software = "caesura-blast";
    auto writer = caesura::Writer::create(options.output, caesura::mpi(comm), writer_options);
    expect_ok(writer.status(), "create " + options.output);
    writer_ = std::move(*writer);
    const bool lossy =
        options.codec == "caesura" || options.codec == "sz3" || options.codec == "zfp";
    const auto bound = lossy ? caesura::absolute(options.bound) : caesura::lossless();
    for (int l = 0; l < k_levels; ++l) {
        const auto n = static_cast<std::uint64_t>(hierarchy.domain(l).hi[0]);
        const double h = hierarchy.spacing(l);
        caesura::FieldOptions field;
        field.coverage = l == 0 ? caesura::Coverage::whole : caesura::Coverage::partial;
        field.fill_value = k_fill_value;
        field.axis_labels = {"x", "y", "z"};
        field.grid_spacing = {h, h, h};
        field.grid_offset = {0.0, 0.0, 0.0};
        field.position = {0.5, 0.5, 0.5};
        const auto define = [&](const std::string& quantity, std::array<double, 7> unit) {
            field.unit_dimension = unit;
            auto made = writer_->define_field(field_name(quantity, l), caesura::float32, {n, n, n},
                                              bound, field);
            expect_ok(made.status(), "define " + field_name(quantity, l));
            return *made;
        };
        density_.push_back(define("density", {-3, 1, 0}));
        pressure_.push_back(define("pressure", {-1, 1, -2}));
    }
}

void Output::begin_step(int number) {
    iteration_.emplace(writer_->begin_iteration(static_cast<std::uint64_t>(number)));
}

void Output::dump(const Hierarchy& hierarchy) {
    auto dump = iteration_->begin_dump(hierarchy.time());
    for (int l = 0; l < k_levels; ++l) {
        const Level& level = hierarchy.level(l);
        for (std::size_t b = 0; b < level.patches.size(); ++b) {
            if (level.layout.owners[b] != rank_) continue;
            const Patch& patch = level.patches[b];
            const auto density = values_of(patch, level.layout.boxes[b], 0);
            const auto pressures = values_of(patch, level.layout.boxes[b], 1);
            const caesura::Box box = file_box(level.layout.boxes[b]);
            const auto field = static_cast<std::size_t>(l);
            expect_ok(dump.put(density_[field], box, density.data()), "put density");
            expect_ok(dump.put(pressure_[field], box, pressures.data()), "put pressure");
        }
    }
}

void Output::end_step() {
    const caesura::Status status = iteration_->end();
    iteration_.reset();
    expect_ok(status, "end of a step");
}

void Output::close() { expect_ok(writer_->close(), "close"); }

std::unique_ptr<Sink> make_sink(const Options& options, const Hierarchy& hierarchy, MPI_Comm comm) {
    return std::make_unique<Output>(options, hierarchy, comm);
}

std::string sink_text() { return "Writes through Caesura.\n"; }

}  // namespace blast
