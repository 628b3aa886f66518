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

}  // namespace

run::WriteCost writer::cost_of(const predict::WriteModel& model) {
    constexpr std::uint64_t small = 1u << 20, large = 16u << 20;
    const double small_s = model.predict_s(small), large_s = model.predict_s(large);
    run::WriteCost cost;
    const double per_byte_s = std::max(1e-13, (large_s - small_s) / double{large - small});
    cost.bytes_per_s = 1.0 / per_byte_s;
    cost.latency_s = std::max(0.0, small_s - per_byte_s * double{small});
    return cost;
}

// The manifest and the stored description of each dataset, for the ranks that build.
void Writer::Impl::describe(Assembly& assembly) {
    store::DumpManifest& manifest = assembly.manifest;
    manifest.dump = next_dump;
    manifest.iteration = iteration;
    if (!own_tree) {  // the application says all else
        manifest.tree = store::TreeOwner::application;
        for (const Assembly::FieldDump& dumped : assembly.fields) {
            const writer::FieldState& field = fields[dumped.field];
            manifest.datasets.push_back({field.name,
                                         field.dtype,
                                         field.shape,
                                         field.dataset->chunk,
                                         field.dataset->pipeline,
                                         {}});
        }
        if (rank == 0) assembly.manifest_text = store::encode_manifest(manifest);
        return;
    }
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
        const ErrorBound bound = job.exactly ? lossless() : assembly.fields[job.dataset].bound;
        const auto own_mode = caesura_mode(field.codec);
        const auto closely = [&] {
            return own_mode ? predict::estimate_block(piece.source, job.dtype, piece.source_box,
                                                      piece.part, bound, *own_mode, field.tables)
                            : predict::sample_block(piece.source, job.dtype, piece.source_box,
                                                    piece.part, bound, field.codec.name);
        };
        // Our frames hold what lies inside the array; others' blocks are padded.
        const std::uint64_t n = own_mode ? job.valid.count() : job.chunk_box.extent.count();
        const predict::Features features =
            predict::look(field.sizes, job.chunk, n, piece.source, job.dtype, piece.source_box,
                          piece.part, bound, closely);
        totals.recalled_blocks += features.recalled;
        predict::Bytes bytes = field.sizes.predict(features);
        bytes.field = assembly.job_fields[i];
        const auto values = std::max<double>(1.0, static_cast<double>(features.values));
        assembly.features.push_back(features);
        assembly.predicted.push_back(bytes);
        assembly.compress_s.push_back(field.times.predict_s(
            features.values * size_of(job.dtype), 8.0 * bytes.mean / values, features.mode));
        totals.predicted_compress_s += assembly.compress_s.back();
    }
}

// The plan the lanes begin with; a worker makes a better one. Obstacles are those expected of the
// next iteration (S0: n predicts n+1).
void Writer::Impl::plan_jobs(Assembly& assembly) {
    const double begin_s = now_s();
    run::DumpTask& task = *assembly.task;
    task.write_cost = writer::cost_of(experience->write_model);
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        task.jobs[i].expected_compress_s = assembly.compress_s[i];
        task.jobs[i].expected_write_s = experience->write_model.predict_s(
            static_cast<std::uint64_t>(assembly.predicted[i].mean));
        task.jobs[i].write_spread_s = assembly.predicted[i].sigma / task.write_cost.bytes_per_s;
    }
    task.compress_order.resize(task.n_jobs);
    std::iota(task.compress_order.begin(), task.compress_order.end(), 0u);
    task.write_order = task.compress_order;
    executor->observer().expect_next(begin_s, true);
    if (options.planning)
        if (const Status status = executor->plan(task); !status.ok())
            say("planning failed, keeping the order of generation: " + status.message());
    totals.plan_s += now_s() - begin_s;
    trace_application("plan", "plan", begin_s);
}

// Space for the dump: in what earlier dumps have left free, and fresh at the end of the file.
void Writer::Impl::reserve(Assembly& assembly) {
    // A block that cannot be compressed is a little longer than its values in our own format.
    constexpr std::uint64_t k_frame_bytes = 1024;
    run::DumpTask& task = *assembly.task;
    writer::Wanted wanted;
    wanted.policy = options.reserve;
    wanted.sigmas = options.reserve_sigmas;
    wanted.slot_space = options.slot_speed_weight
                            ? predict::slot_space_for_weight(*options.slot_speed_weight)
                            : options.slot_space;
    wanted.manifest_bytes = assembly.manifest_text.size();
    wanted.alignment = stripe_bytes;
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        const bool raw = fields[assembly.job_fields[i]].codec.name == "none";
        const std::uint64_t most = task.jobs[i].chunk_bytes() + (raw ? 0 : k_frame_bytes);
        wanted.most_bytes.push_back(most);
        wanted.blocks.push_back(
            predict::scaled(assembly.predicted[i], options.reserve_factor, most));
    }
    assembly.reservation = writer::reserve(free_space.take_all(), wanted);
    for (const writer::Extent& extent : assembly.reservation.rest) free_space.add(extent);
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        task.jobs[i].region = assembly.reservation.regions[i];
        if (options.reserve == Reserve::slots) task.jobs[i].slot = static_cast<std::uint32_t>(i);
    }
}

// Where the next regions may begin. What is skipped lies behind metadata, which rank 0 writes: so
// it is rank 0's to use, and no other rank comes into that stripe.
std::uint64_t Writer::Impl::begin_of_stripe(std::uint64_t end) {
    const std::uint64_t from = store::align_up(end);
    const std::uint64_t begin = store::align_up(end, stripe_bytes);
    if (rank == 0 && begin > from) {
        free_space.add({from, begin - from});
        totals.reserved_bytes += begin - from;
    }
    return begin;
}

void Writer::Impl::submit(Assembly& assembly, std::uint64_t address) {
    writer::Reservation& reservation = assembly.reservation;
    std::vector<store::RegionWriter::Place> places;
    const auto use = [&](const writer::Extent& extent) {
        if (extent.bytes == 0) return;
        places.push_back({rank, next_dump, extent.address, extent.bytes, last_region});
        last_region = extent.address;
    };
    for (const writer::Extent& extent : reservation.kept) use(extent);
    use({address, reservation.fresh_bytes});
    totals.reserved_bytes += reservation.fresh_bytes;
    run::DumpTask& task = *assembly.task;
    task.sink = std::make_unique<writer::RegionSink>(
        *file, std::move(places), assembly.manifest_text, reservation.manifest_region,
        options.durable, std::move(reservation.slots));
    task.snapshots = std::move(open_dump->snapshots);
    writer::InFlight flight;
    flight.dump = next_dump;
    flight.iteration = iteration;
    flight.manifest = std::move(assembly.manifest);
    flight.task = &task;
    for (const Assembly::FieldDump& dumped : assembly.fields) {
        flight.fields.push_back(dumped.field);
        if (auto& dataset = fields[dumped.field].dataset) dataset->dumps_end = next_dump + 1;
    }
    flight.features = std::move(assembly.features);
    flight.job_fields = std::move(assembly.job_fields);
    in_flight.push_back(std::move(flight));
    iteration_of_dump[next_dump] = iteration;
    if (options.planning) outcomes.submitted(next_dump);
    ++next_dump;
    ++totals.dumps;
    if (own_tree && next_dump == 1) pool.trim();  // what was prepared and is not needed
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
    if (Status status = finish_what_is_needed(assembly); !status.ok()) return status;
    end = std::max(end, agreed_end);  // its commits may have added to the tree
    Status mine = agree_on_tables();
    if (comm_failed) return mine;
    // From here on an error is local: it is carried to the last exchange, so that nobody waits.
    if (mine.ok()) mine = make_codecs(assembly);
    if (Status moved = move_pieces(assembly); !moved.ok()) {
        if (comm_failed) return moved;
        if (mine.ok()) mine = moved;
    }
    try {
        if (mine.ok()) {
            mine = make_jobs(assembly);
        }
        if (mine.ok()) {
            predict_jobs(assembly);
            if (builds()) describe(assembly);
            reserve(assembly);
        }
    } catch (const std::bad_alloc&) {
        mine = {StatusCode::no_space, "out of memory"};
    }
    struct Request {
        std::uint64_t bytes = 0;
        std::uint64_t code = 0;
    };
    const Request my_request{assembly.reservation.fresh_bytes,
                             static_cast<std::uint64_t>(mine.code())};
    std::vector<Request> requests(static_cast<std::size_t>(size));
    const Status exchanged = comm->allgather(std::as_bytes(std::span(&my_request, 1)),
                                             std::as_writable_bytes(std::span(requests)));
    if (!exchanged.ok()) {
        comm_failed = true;
        return failed = exchanged;
    }
    if (std::any_of(requests.begin(), requests.end(), [](auto& r) { return r.code != 0; })) {
        for (const writer::Extent& extent : assembly.reservation.kept) free_space.add(extent);
        return agree(mine);
    }
    std::uint64_t address = begin_of_stripe(end);
    end = address;
    for (int r = 0; r < size; ++r) {
        if (r == rank) address = end;
        end += requests[static_cast<std::size_t>(r)].bytes;
    }
    if (Status status = balance_writes(assembly); !status.ok()) return status;
    plan_jobs(assembly);
    submit(assembly, address);
    return {};
}

}  // namespace caesura
