// Modes caesura and async: the fields handed to a caesura::Writer.
//
// async is the same writer with codec none and no planning: an asynchronous write without
// compression, first in first out. The application's marks become obstacles in both.

#include <mpi.h>

#include <array>
#include <stdexcept>

#include "caesura/mpi.hpp"
#include "caesura/wait.hpp"
#include "caesura/writer.hpp"
#include "output.hpp"
#include "particle_records.hpp"
#include "status.hpp"

namespace cosmology {

namespace {

/// One counter of the report: how it adds up over the ranks.
struct Counter {
    const char* name;
    double value;
    MPI_Op op;
};

std::vector<Counter> counters_of(const caesura::WriterReport& r) {
    const auto bytes = [](std::uint64_t count) { return static_cast<double>(count); };
    return {{"raw_bytes", bytes(r.raw_bytes), MPI_SUM},
            {"stored_bytes", bytes(r.stored_bytes), MPI_SUM},
            {"reserved_bytes", bytes(r.reserved_bytes), MPI_SUM},
            {"spare_bytes", bytes(r.spare_bytes), MPI_SUM},
            {"overflow_bytes", bytes(r.overflow_bytes), MPI_SUM},
            {"overflow_blocks", bytes(r.overflow_blocks), MPI_SUM},
            {"fallback_blocks", bytes(r.fallback_blocks), MPI_SUM},
            {"raw_blocks", bytes(r.raw_blocks), MPI_SUM},
            {"blocks", bytes(r.blocks), MPI_SUM},
            {"writes", bytes(r.writes), MPI_SUM},
            {"helped_blocks", bytes(r.helped_blocks), MPI_SUM},
            {"helped_bytes", bytes(r.helped_bytes), MPI_SUM},
            {"taken_back_blocks", bytes(r.taken_back_blocks), MPI_SUM},
            {"dumps", bytes(r.dumps), MPI_MAX},
            {"compress_s", r.compress_s, MPI_MAX},
            {"write_s", r.write_s, MPI_MAX},
            {"plan_s", r.plan_s, MPI_MAX},
            {"put_s", r.put_s, MPI_MAX},
            {"end_s", r.end_s, MPI_MAX},
            {"close_s", r.close_s, MPI_MAX},
            {"put_wait_s", r.put_wait_s, MPI_MAX},
            {"over_budget_bytes", bytes(r.over_budget_bytes), MPI_MAX},
            {"peak_memory_bytes", bytes(r.peak_memory_bytes), MPI_MAX},
            {"max_error_over_bound", r.max_error_over_bound, MPI_MAX},
            {"seen_computing_s", r.seen_computing_s, MPI_MAX},
            {"seen_communicating_s", r.seen_communicating_s, MPI_MAX},
            {"seen_waiting_s", r.seen_waiting_s, MPI_MAX},
            {"seen_spinning_s", r.seen_spinning_s, MPI_MAX},
            {"seen_intervals", bytes(r.seen_intervals), MPI_MAX},
            {"write_interference_s", r.write_interference_s, MPI_MAX},
            {"compress_interference_s", r.compress_interference_s, MPI_MAX},
            {"replans", bytes(r.replans), MPI_SUM},
            {"planned_dumps", bytes(r.planned_dumps), MPI_MAX},
            {"planned_end_s", r.planned_end_s, MPI_MAX},
            {"actual_end_s", r.actual_end_s, MPI_MAX},
            {"planned_iteration_s", r.planned_iteration_s, MPI_MAX},
            {"actual_iteration_s", r.actual_iteration_s, MPI_MAX},
            {"plan_deviation", r.plan_deviation, MPI_MAX}};
}

class CaesuraOutput : public Output {
  public:
    CaesuraOutput(const Options& options, const Slab& slab, bool asynchronous_only)
        : options_(options), slab_(slab), asynchronous_only_(asynchronous_only) {}

    void open() override {
        caesura::WriterOptions writer_options;
        writer_options.codec.name = asynchronous_only_ ? "none" : options_.codec;
        writer_options.planning =
            !asynchronous_only_ && options_.planning && options_.algorithm != "none";
        writer_options.balance_writes = options_.balance_writes;
        writer_options.idle_priority = options_.idle_priority;
        writer_options.cooperative = options_.cooperative;
        writer_options.compress_threads = options_.compress_threads;
        writer_options.write_buffer_bytes = options_.write_buffer_bytes;
        if (writer_options.planning) {
            const auto algorithm = caesura::plan::algorithm_named(options_.algorithm);
            expect_ok(algorithm.status(), "--algorithm");
            writer_options.algorithm = *algorithm;
        }
        const auto reserve = caesura::reserve_named(options_.reserve);
        expect_ok(reserve.status(), "--reserve");
        writer_options.reserve = *reserve;
        writer_options.reserve_sigmas = options_.reserve_sigmas;
        writer_options.reserve_factor = options_.reserve_factor;
        writer_options.slot_space = options_.slot_space;
        if (options_.slot_speed_weight >= 0.0)
            writer_options.slot_speed_weight = options_.slot_speed_weight;
        writer_options.stripe_bytes = options_.stripe_bytes;
        writer_options.transport = options_.transport;
        writer_options.chunk_bytes = options_.chunk_bytes;
        writer_options.memory_bytes = options_.memory_bytes;
        writer_options.durable = options_.durable;
        writer_options.trace_path = options_.trace;
        writer_options.software = "caesura-cosmology";
        writer_options.root_attributes = {{"cosmology_run", run_text(options_)}};
        const bool appends = !options_.append.empty();
        const std::string path = appends ? options_.output : options_.file_of("%T");
        auto writer = appends ? caesura::Writer::open(path, caesura::mpi(slab_.comm()),
                                                      std::move(writer_options))
                              : caesura::Writer::create(path, caesura::mpi(slab_.comm()),
                                                        std::move(writer_options));
        expect_ok(writer.status(), (appends ? "open " : "create ") + path);
        writer_ = std::move(*writer);
        const auto n = static_cast<std::uint64_t>(slab_.n());
        const auto infos = field_infos(options_.cosmology, options_.bound_scale);
        for (std::size_t i = 0; i < infos.size(); ++i) {
            const double cell = options_.box_mpc / options_.grid;
            caesura::FieldOptions field;
            field.unit_si = infos[i].unit_si;
            field.unit_dimension = infos[i].unit_dimension;
            field.axis_labels = {"x", "y", "z"};
            field.grid_spacing = {cell, cell, cell};
            field.grid_unit_si = k_metres_per_mpc;
            const auto bound = writer_bound(infos[i].bound);
            auto defined =
                writer_->define_field(infos[i].name, caesura::float32, {n, n, n}, bound, field);
            expect_ok(defined.status(), std::string("define ") + infos[i].name);
            fields_[i] = *defined;
        }
        if (options_.write_particles) define_particles();
    }

    // In the program's own units; unless a bound is asked for without loss, so that a run can go on
    // from them bit for bit.
    void define_particles() {
        const auto species = writer_->define_species(k_species);
        expect_ok(species.status(), std::string("define ") + k_species);
        const auto bound = options_.particle_bound > 0.0 ? writer_bound(options_.particle_bound)
                                                         : caesura::lossless();
        const auto infos = record_infos(options_);
        for (std::size_t i = 0; i < infos.size(); ++i) {
            caesura::RecordOptions record;
            record.unit_si = infos[i].unit_si;
            record.unit_dimension = infos[i].unit_dimension;
            auto made =
                writer_->define_record(*species, infos[i].name, caesura::float32, bound, record);
            expect_ok(made.status(), "define " + infos[i].name);
            records_[i] = *made;
        }
        auto id = writer_->define_record(*species, "id", caesura::uint64, caesura::lossless());
        expect_ok(id.status(), "define id");
        id_ = *id;
        expect_ok(writer_->define_constant(*species, "mass", particle_mass(options_)),
                  "define mass");
    }

    void begin_iteration(std::uint64_t number, std::string_view label) override {
        iteration_.emplace(writer_->begin_iteration(number, label));
    }

    void begin_busy(Resource resource) override {
        if (!options_.marks) return;
        const auto lane =
            resource == Resource::core ? caesura::Lane::compress : caesura::Lane::write;
        busy_[static_cast<std::size_t>(resource)].emplace(iteration_->busy(lane));
    }
    void end_busy(Resource resource) override { busy_[static_cast<std::size_t>(resource)].reset(); }
    void sleep(const std::function<void()>& call) override { caesura::wait(call); }

    void waits(double seconds) override {
        if (options_.cooperative) iteration_->compress_for(seconds);
    }

    void dump(const Fields& fields, const Particles& particles, std::uint64_t,
              double time_s) override {
        const auto n = static_cast<std::uint64_t>(slab_.n());
        const caesura::Box box{{static_cast<std::uint64_t>(slab_.lo()), 0, 0},
                               {static_cast<std::uint64_t>(slab_.planes()), n, n}};
        auto dump = iteration_->begin_dump(time_s);
        for (std::size_t i = 0; i < fields_.size(); ++i)
            expect_ok(dump.put(fields_[i], box, fields[static_cast<int>(i)].data()), "put");
        if (!options_.write_particles) return;
        const std::uint64_t count = particles.count();
        for (std::size_t a = 0; a < particles.arrays.size(); ++a)
            expect_ok(dump.put_particles(records_[a], count, particles.arrays[a].data()), "put");
        expect_ok(dump.put_particles(id_, count, particles.ids.data()), "put");
    }

    void end_iteration() override {
        const caesura::Status status = iteration_->end();
        iteration_.reset();
        expect_ok(status, "end the iteration");
    }

    void close() override { expect_ok(writer_->close(), "close " + options_.output); }

    nlohmann::json report() override {
        nlohmann::json all;
        for (const Counter& counter : counters_of(writer_->report())) {
            double value = counter.value;
            MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, counter.op, slab_.comm());
            all[counter.name] = value;
        }
        return all;
    }

    std::optional<std::uint64_t> committed() const override { return writer_->committed(); }

  private:
    caesura::ErrorBound writer_bound(double bound) const {
        const bool lossless = asynchronous_only_ || options_.codec == "none" ||
                              options_.codec == "zstd" || options_.codec == "blosc2";
        return lossless ? caesura::lossless() : caesura::absolute(bound);
    }

    const Options options_;
    const Slab slab_;
    const bool asynchronous_only_;
    std::unique_ptr<caesura::Writer> writer_;
    std::array<caesura::Field, k_field_count> fields_{};
    std::array<caesura::Field, Particles::k_arrays> records_{};
    caesura::Field id_;
    std::optional<caesura::Iteration> iteration_;
    std::array<std::optional<caesura::Busy>, 2> busy_;
};

}  // namespace

std::unique_ptr<Output> make_caesura_output(const Options& options, const Slab& slab,
                                            bool asynchronous_only) {
    return std::make_unique<CaesuraOutput>(options, slab, asynchronous_only);
}

}  // namespace cosmology
