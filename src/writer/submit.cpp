// From jobs to lanes: predictions, the reservation of file space, the plan, the hand-over.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "writer/assembly.hpp"

namespace caesura {
namespace {

const char* kind_name(ErrorBound::Kind kind) {
    switch (kind) {
        case ErrorBound::Kind::absolute:
            return "absolute";
        case ErrorBound::Kind::relative:
            return "relative";
        case ErrorBound::Kind::pointwise_relative:
            return "pointwise_relative";
        case ErrorBound::Kind::psnr:
            return "psnr";
        case ErrorBound::Kind::lossless:
            break;
    }
    return "lossless";
}

// What a write lane may expect of a write, as a line through two typical sizes.
run::WriteCost cost_of(const predict::WriteModel& model) {
    constexpr std::uint64_t small = 1u << 20, large = 16u << 20;
    const double small_s = model.predict_s(small), large_s = model.predict_s(large);
    run::WriteCost cost;
    const double per_byte_s = std::max(1e-13, (large_s - small_s) / double{large - small});
    cost.bytes_per_s = 1.0 / per_byte_s;
    cost.latency_s = std::max(0.0, small_s - per_byte_s * double{small});
    return cost;
}

std::vector<std::uint32_t> order_by(const std::vector<double>& begin_s) {
    std::vector<std::uint32_t> order(begin_s.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return begin_s[a] < begin_s[b]; });
    return order;
}

}  // namespace

// The manifest and the stored description of each dataset; rank 0 commits it.
void Writer::Impl::describe(Assembly& assembly) {
    store::DumpManifest& manifest = assembly.manifest;
    manifest.dump = next_dump;
    manifest.iteration = iteration;
    manifest.root = writer::root_attributes(options);
    manifest.groups = {writer::iteration_group(iteration, open_dump->time)};
    for (const Assembly::FieldDump& dumped : assembly.fields) {
        const writer::FieldState& field = fields[dumped.field];
        std::vector<store::Attribute> extra = {
            {"caesura_codec", field.codec.name},
            {"caesura_bound", dumped.bound.value},
            {"caesura_bound_kind", std::string(kind_name(field.bound.kind))},
            {"caesura_bound_requested", field.bound.value},
        };
        writer::add_field(manifest, field.name, field.dtype, field.shape, field.layout->chunk,
                          dumped.codec->pipeline(), field.options, std::move(extra));
    }
    assembly.manifest_text = store::encode_manifest(manifest);
}

void Writer::Impl::predict_jobs(Assembly& assembly) {
    run::DumpTask& task = *assembly.task;
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        run::Job& job = task.jobs[i];
        // The largest piece speaks for the block.
        const run::Piece& piece = *std::max_element(
            job.pieces.begin(), job.pieces.end(), [](const run::Piece& a, const run::Piece& b) {
                return a.part.extent.count() < b.part.extent.count();
            });
        const writer::FieldState& field = fields[assembly.job_fields[i]];
        const ErrorBound& bound = assembly.fields[job.dataset].bound;
        const auto own_mode = caesura_mode(field.codec);
        predict::Features features =
            own_mode ? predict::estimate_block(piece.source, job.dtype, piece.source_box,
                                               piece.part, bound, *own_mode, field.tables)
                     : predict::sample_block(piece.source, job.dtype, piece.source_box, piece.part,
                                             bound, field.codec.name);
        features.block = job.chunk;
        // Our frames hold what lies inside the array; others' blocks are padded.
        features.values = own_mode ? job.valid.count() : job.chunk_box.extent.count();
        const predict::Bytes bytes = field.sizes.predict(features);
        const auto values = std::max<double>(1.0, static_cast<double>(features.values));
        assembly.features.push_back(features);
        assembly.predicted.push_back(bytes);
        assembly.compress_s.push_back(field.times.predict_s(
            features.values * size_of(job.dtype), 8.0 * bytes.mean / values, features.mode));
        totals.predicted_compress_s += assembly.compress_s.back();
    }
}

// Orders for both lanes. Obstacles are those of the iteration that ends now (S0: n predicts n+1).
void Writer::Impl::plan_jobs(Assembly& assembly) {
    const double begin_s = now_s();
    run::DumpTask& task = *assembly.task;
    task.write_cost = cost_of(write_model);
    std::vector<plan::Job> jobs(task.n_jobs);
    for (std::size_t i = 0; i < task.n_jobs; ++i)
        jobs[i] = {assembly.compress_s[i],
                   write_model.predict_s(static_cast<std::uint64_t>(assembly.predicted[i].mean))};
    task.compress_order = order_by(std::vector<double>(task.n_jobs, 0.0));
    task.write_order = task.compress_order;
    if (options.planning) {
        const auto schedule =
            plan::schedule(options.algorithm, jobs, executor->observer().recorded());
        if (schedule.ok()) {
            task.compress_order = order_by(schedule->compress_begin_s);
            task.write_order = order_by(schedule->write_begin_s);
            if (!options.trace_path.empty())
                for (std::size_t i = 0; i < task.n_jobs; ++i) {
                    const auto note = [&](const char* kind, double at_s, double length_s) {
                        plan_trace.add({kind, task.jobs[i].label, begin_s + at_s,
                                        begin_s + at_s + length_s, iteration,
                                        static_cast<std::uint64_t>(assembly.predicted[i].mean)});
                    };
                    note("planned_compress", schedule->compress_begin_s[i], jobs[i].compress_s);
                    note("planned_write", schedule->write_begin_s[i], jobs[i].write_s);
                }
        } else {
            say("planning failed, keeping the order of generation: " + schedule.status().message());
        }
    }
    totals.plan_s += now_s() - begin_s;
    trace_application("plan", "plan", begin_s);
}

// Fresh bytes to reserve beyond the spare region that this rank kept from an earlier dump.
std::uint64_t Writer::Impl::bytes_to_reserve(Assembly& assembly) {
    const std::size_t n_jobs = assembly.task->n_jobs;
    if (n_jobs == 0 && assembly.manifest_text.empty()) return 0;
    const std::uint64_t blocks_bytes =
        predict::reserve_bytes(assembly.predicted, assembly.raw_bytes);
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(static_cast<double>(blocks_bytes) * options.reserve_factor) +
        store::region_overhead_bytes(n_jobs, assembly.manifest_text.size());
    // Of the spare region one block's length may stay empty, since blocks go whole.
    double largest = 0.0;
    for (const predict::Bytes& block : assembly.predicted) largest = std::max(largest, block.mean);
    const auto lost = static_cast<std::uint64_t>(largest * 1.25) +
                      store::region_overhead_bytes(1, assembly.manifest_text.size());
    if (spare_region.second < lost + (1u << 20)) spare_region = {0, 0};
    const std::uint64_t usable = spare_region.second ? spare_region.second - lost : 0;
    return bytes > usable ? store::align_up(bytes - usable) : 0;
}

void Writer::Impl::submit(Assembly& assembly, std::uint64_t address, std::uint64_t bytes) {
    std::vector<store::RegionWriter::Place> places;
    const auto use = [&](std::uint64_t at, std::uint64_t length) {
        if (length == 0) return;
        places.push_back({rank, next_dump, at, length, last_region});
        last_region = at;
    };
    if (assembly.task->n_jobs > 0 || rank == 0) {
        use(spare_region.first, spare_region.second);
        spare_region = {0, 0};
    }
    use(address, bytes);
    totals.reserved_bytes += bytes;  // the spare region was counted when it was fresh
    run::DumpTask& task = *assembly.task;
    task.sink = std::make_unique<writer::RegionSink>(*file, std::move(places),
                                                     assembly.manifest_text, options.durable);
    task.snapshots = std::move(open_dump->snapshots);
    writer::InFlight flight;
    flight.dump = next_dump;
    flight.iteration = iteration;
    flight.manifest = std::move(assembly.manifest);
    flight.task = &task;
    flight.features = std::move(assembly.features);
    flight.job_fields = std::move(assembly.job_fields);
    in_flight.push_back(std::move(flight));
    iteration_of_dump[next_dump] = iteration;
    ++next_dump;
    ++totals.dumps;
    if (Status status = executor->submit(std::move(assembly.task)); !status.ok()) {
        in_flight.back().task = nullptr;
        executor->report(std::move(status));
    }
}

Status Writer::Impl::assemble(const std::vector<writer::Hello>& all, std::uint64_t& end) {
    Assembly assembly;
    const bool changed = std::any_of(all.begin(), all.end(),
                                     [](const auto& theirs) { return theirs.boxes_changed != 0; });
    if (Status status = exchange_boxes(assembly, changed); !status.ok()) return status;
    Status mine = agree_on_tables();
    if (comm_failed) return mine;
    // From here on an error is local: it is carried to the last exchange, so that nobody waits.
    if (mine.ok()) mine = make_codecs(assembly);
    if (Status moved = move_pieces(assembly); !moved.ok()) {
        if (comm_failed) return moved;
        if (mine.ok()) mine = moved;
    }
    std::uint64_t bytes = 0;
    try {
        if (mine.ok()) {
            make_jobs(assembly);
            predict_jobs(assembly);
            if (rank == 0) describe(assembly);
            bytes = bytes_to_reserve(assembly);
        }
    } catch (const std::bad_alloc&) {
        mine = {StatusCode::no_space, "out of memory"};
    }
    struct Reservation {
        std::uint64_t bytes = 0;
        std::uint64_t code = 0;
    };
    const Reservation my_reservation{bytes, static_cast<std::uint64_t>(mine.code())};
    std::vector<Reservation> reservations(static_cast<std::size_t>(size));
    const Status exchanged = comm->allgather(std::as_bytes(std::span(&my_reservation, 1)),
                                             std::as_writable_bytes(std::span(reservations)));
    if (!exchanged.ok()) {
        comm_failed = true;
        return failed = exchanged;
    }
    if (std::any_of(reservations.begin(), reservations.end(), [](auto& r) { return r.code != 0; }))
        return agree(mine);
    std::uint64_t address = store::align_up(end);
    end = address;
    for (int r = 0; r < size; ++r) {
        if (r == rank) address = end;
        end += reservations[static_cast<std::size_t>(r)].bytes;
    }
    plan_jobs(assembly);
    submit(assembly, address, bytes);
    return {};
}

}  // namespace caesura
