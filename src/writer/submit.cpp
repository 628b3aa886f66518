// From jobs to lanes: predictions, the reservation of file space, the plan, the hand-over.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/all_ranks.hpp"
#include "store/manifest.hpp"
#include "store/region_writer.hpp"
#include "writer/assembly.hpp"
#include "writer/user_attributes.hpp"

namespace caesura::writer {
run::WriteCost cost_of(const predict::WriteModel& model) {
    constexpr std::uint64_t small = 1u << 20, large = 16u << 20;
    const double small_s = model.predict_s(small), large_s = model.predict_s(large);
    run::WriteCost cost;
    const double per_byte_s = std::max(1e-13, (large_s - small_s) / double{large - small});
    cost.bytes_per_s = 1.0 / per_byte_s;
    cost.latency_s = std::max(0.0, small_s - per_byte_s * double{small});
    return cost;
}

namespace {

/// A block that cannot be compressed is a little longer than its values in our own format.
constexpr std::uint64_t k_frame_bytes = 1024;

/// Is the block boxes of a chunk, of which the rest is the fill value?
/// Of a bundle: complex numbers have two for each part of the job.
std::size_t arrays_in(const run::Job& job) {
    return job.parts.size() * (is_complex(job.dtype) ? 2 : 1);
}
bool is_boxed(const run::Job& job) { return job.bundled && job.parts.front().offset.rank() > 0; }

std::uint64_t boxed_values(const run::Job& job) {
    return std::accumulate(
        job.parts.begin(), job.parts.end(), std::uint64_t{0},
        [](std::uint64_t n, const auto& part) { return n + part.shape.count(); });
}

}  // namespace

Assembly::Assembly(const Parts& parts, OpenDump& dump)
    : parts_(parts), dump_(dump), rank_(parts.session.rank), size_(parts.session.size) {}

// The manifest, for the ranks that build.
void Assembly::describe() {
    manifest_.dump = parts_.ledger.book().next_dump();
    manifest_.iteration = parts_.session.iteration;
    std::vector<DumpedField> described;
    for (const FieldDump& dumped : dumped_)
        described.push_back({parts_.fields[dumped.field], dumped.bound, dumped.codec->pipeline(),
                             places_[dumped.field]});
    for (const FieldState& field : parts_.fields)
        if (field.is_put_empty()) described.push_back({field, lossless(), {}});
    parts_.tree.describe(manifest_, described, parts_.fields.species,
                         {dump_.time, parts_.metadata, dump_.metadata});
    if (rank_ == 0) manifest_text_ = store::encode_manifest(manifest_);
}

predict::Features Assembly::look_at(std::size_t index, FieldLooks& field_looks) const {
    const run::Job& job = task_->jobs[index];
    // The largest piece speaks for the block.
    const run::PutPart& piece = *std::max_element(
        job.pieces.begin(), job.pieces.end(), [](const run::PutPart& a, const run::PutPart& b) {
            return a.part.extent.count() < b.part.extent.count();
        });
    const FieldState& field = parts_.fields[job_fields_[index]];
    const ErrorBound bound = job.parts.size() == 1 ? job.parts[0].bound
                             : job.exactly         ? lossless()
                                                   : codec_bound(dumped_[job.dataset]);
    const auto own_mode = caesura_mode(field.codec);
    const auto closely = [&](const std::optional<codec::Choice>& settings) {
        const bool boxed = is_boxed(job);
        if (job.bundled && field.has_bound_map() && !boxed)
            return estimate_layers(job, piece, *own_mode, field.tables);
        if (job.bundled && !boxed) return estimate_parts(job, *own_mode, field.tables, field_looks);
        return own_mode
                   ? predict::estimate_block(piece.source, job.dtype, piece.source_box, piece.part,
                                             bound, *own_mode, field.tables, settings)
                   : predict::sample_block(piece.source, job.dtype, piece.source_box, piece.part,
                                           bound, field.codec.name);
    };
    // Our frames hold what lies inside the array; others' blocks are padded.
    std::uint64_t n = own_mode ? job.valid.count() : job.chunk_box.extent.count();
    if (is_boxed(job)) n = boxed_values(job);
    return field_looks.looks.look(job.chunk, n, piece.source, job.dtype, piece.source_box,
                                  piece.part, bound, closely);
}

// Looks at a field's blocks teach each other, so they are one thread's.
void Assembly::look_at_jobs() {
    std::map<std::uint32_t, std::vector<std::size_t>> by_field;
    for (std::size_t i = 0; i < task_->n_jobs; ++i) by_field[job_fields_[i]].push_back(i);
    std::vector<const std::vector<std::size_t>*> jobs;
    for (const auto& [field, indices] : by_field) jobs.push_back(&indices);
    features_.resize(task_->n_jobs);
    parts_.helpers.for_each(jobs.size(), [&](std::size_t field) {
        const std::vector<std::size_t>& mine = *jobs[field];
        FieldLooks looks{predict::Looks(parts_.fields[job_fields_[mine.front()]].sizes)};
        for (const std::size_t i : mine) features_[i] = look_at(i, looks);
    });
}

void Assembly::predict_jobs() {
    look_at_jobs();
    for (std::size_t i = 0; i < task_->n_jobs; ++i) {
        const run::Job& job = task_->jobs[i];
        const predict::Features& features = features_[i];
        const FieldState& field = parts_.fields[job_fields_[i]];
        parts_.session.totals.recalled_blocks += features.recalled;
        predict::Bytes bytes = field.sizes.predict(features);
        const std::uint64_t raw_bytes = features.values * size_of(job.dtype);
        const bool as_it_is =
            !job.parts.empty() && std::all_of(job.parts.begin(), job.parts.end(),
                                              [](const auto& part) { return part.as_it_is; });
        if (as_it_is) {
            bytes.mean =
                static_cast<double>(codec::bundle_bytes_at_most(arrays_in(job), raw_bytes));
            bytes.sigma = 0.0;
        }
        bytes.field = job_fields_[i];
        const auto values = std::max<double>(1.0, static_cast<double>(features.values));
        predicted_.push_back(bytes);
        compress_s_.push_back(field.times.predict_s(raw_bytes, 8.0 * bytes.mean / values,
                                                    features.mode, features.adaptive));
        parts_.session.totals.predicted_compress_s += compress_s_.back();
    }
}

// Where a stretch of a dataset of one axis lies, if one piece of the block has all of it.
const std::byte* Assembly::stretch_of(const run::Job& job, std::uint64_t at, std::uint64_t count) {
    for (const run::PutPart& piece : job.pieces)
        if (at >= piece.part.offset[0] && at + count <= piece.part.offset[0] + piece.part.extent[0])
            return piece.source + (at - piece.source_box.offset[0]) * size_of(job.dtype);
    return nullptr;
}

// Values of one of the members that take turns in a block, dense, from the first piece that has it;
// `where` is the array that they are. A few say as much as all.
std::vector<std::byte> Assembly::sample_member(const run::Job& job, std::uint32_t member,
                                               Box& where) {
    constexpr std::uint64_t k_values = 1u << 16;
    const int last = job.chunk_box.extent.rank() - 1;
    for (const run::PutPart& piece : job.pieces) {
        Box part = piece.part;
        if (member < part.offset[last] || member >= part.offset[last] + part.extent[last]) continue;
        part.offset[last] = member;
        part.extent[last] = 1;
        for (int axis = 0; axis < last && part.extent.count() > k_values; ++axis)
            part.extent[axis] =
                std::max<std::uint64_t>(1, k_values / (part.extent.count() / part.extent[axis]));
        std::vector<std::byte> values(part.extent.count() * size_of(job.dtype));
        copy_box(part, piece.source_box, piece.source, part, values.data(), size_of(job.dtype));
        const Shape shape(std::span(part.extent.data(), static_cast<std::size_t>(last)));
        where = {Shape::filled(last, 0), shape};
        return values;
    }
    return {};
}

// One array of each component is looked at, until a few of the dump have been: a look costs as much
// as compressing a small array. They say of all others of the component.
predict::Features Assembly::estimate_parts(const run::Job& job, Mode mode, const TableSet& tables,
                                           FieldLooks& field_looks) {
    constexpr std::uint64_t k_looks = 4;
    predict::Features features;
    const double value_bits = 8.0 * static_cast<double>(size_of(job.dtype));
    double bits = 0.0, values = 0.0;
    bool exact = false;
    std::uint64_t at = job.chunk_box.offset[0];
    std::uint32_t last = ~0u;
    for (const codec::BundlePart& part : job.parts) {
        Looked& looked = field_looks.looked[{job.dataset, part.component}];
        const std::uint64_t count = part.shape.count();
        const auto n = static_cast<double>(count);
        const bool wanted = part.component != last && looked.looks < k_looks && !part.as_it_is;
        Box all{Shape::filled(part.shape.rank(), 0), part.shape};
        std::vector<std::byte> sample;
        if (wanted && part.interleaved) sample = sample_member(job, part.component, all);
        const std::byte* const there = !sample.empty()    ? sample.data()
                                       : part.interleaved ? nullptr
                                       : wanted           ? stretch_of(job, at, count)
                                                          : nullptr;
        at += count;
        last = part.component;
        if (there != nullptr) {
            features =
                predict::estimate_block(there, job.dtype, all, all, part.bound, mode, tables);
            const auto seen = static_cast<double>(all.extent.count());
            looked.bits += features.bits_per_value * seen;
            looked.values += seen;
            looked.exact |= features.exact;
            ++looked.looks;
        }
        const bool known = looked.values > 0.0 && !part.as_it_is;
        bits += n * (known ? looked.bits / looked.values : value_bits);
        values += n;
        exact |= looked.exact;
    }
    features.estimated = true;
    features.exact = exact;
    features.bits_per_value = features.smooth_bits_per_value = bits / std::max(1.0, values);
    return features;
}

// By when it is to be written, and how soon at normal priority. In cooperative mode the application
// says when there is time, and workers at normal priority get theirs.
void Assembly::set_pace() {
    run::DumpTask& task = *task_;
    const Session& session = parts_.session;
    const WriterOptions& options = session.options;
    const bool waits =
        !options.cooperative && options.idle_priority && !std::isinf(options.max_delay_s);
    const auto pauses_s = [&]() -> std::optional<double> {
        if (!waits) return std::nullopt;
        const auto idle_s = parts_.node.idle_s();
        if (!idle_s) return std::nullopt;
        return *idle_s + parts_.executor.observer().worked_s();
    };
    const auto known = session.experience->hand_over(options.max_delay_s, task.handed_over_s,
                                                     pauses_s, session.totals.cores);
    task.max_delay_s = known.max_delay_s;
    if (!waits) return;
    plan::PromptView view{0.0, known.interval_s, known.pauses,
                          plan::done_by_s(known.max_delay_s, known.max_delay_s)};
    for (std::size_t i = 0; i < task.n_jobs; ++i)
        view.work_s += task.jobs[i].expected_compress_s + task.jobs[i].expected_write_s;
    task.promptness = plan::promptness(view);
}

// The plan the lanes begin with; a worker makes a better one. Obstacles are those expected of the
// next iteration (S0: n predicts n+1).
void Assembly::plan_jobs() {
    const double begin_s = parts_.session.now_s();
    run::DumpTask& task = *task_;
    task.handed_over_s = begin_s;
    task.write_cost = cost_of(parts_.session.experience->write_model);
    if (parts_.session.elsewhere()) task.compress_elsewhere();
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        task.jobs[i].expected_bytes = predicted_[i].mean;
        task.jobs[i].expected_compress_s = compress_s_[i];
        task.jobs[i].expected_write_s = parts_.session.experience->write_model.predict_s(
            static_cast<std::uint64_t>(predicted_[i].mean));
        task.jobs[i].write_spread_s = predicted_[i].sigma / task.write_cost.bytes_per_s;
    }
    set_pace();  // the plan keeps to it
    task.compress_order.resize(task.n_jobs);
    std::iota(task.compress_order.begin(), task.compress_order.end(), 0u);
    task.write_order = task.compress_order;
    parts_.executor.observer().expect_next(begin_s, true);
    if (parts_.session.options.planning)
        if (const Status status = parts_.executor.plan(task); !status.ok())
            parts_.session.warn(
                Warning::unplanned,
                "planning failed, keeping the order of generation: " + status.message());
    parts_.session.totals.plan_s += parts_.session.now_s() - begin_s;
    parts_.session.trace("plan", "plan", begin_s);
}

// Space for the dump: in what earlier dumps have left free, and fresh at the end of the file.
void Assembly::reserve() {
    run::DumpTask& task = *task_;
    Wanted wanted;
    wanted.policy = parts_.session.options.reserve;
    wanted.sigmas = parts_.session.options.reserve_sigmas;
    wanted.slot_space =
        parts_.session.options.slot_speed_weight
            ? predict::slot_space_for_weight(*parts_.session.options.slot_speed_weight)
            : parts_.session.options.slot_space;
    wanted.manifest_bytes = manifest_text_.size();
    wanted.alignment = parts_.ledger.book().stripe_bytes();
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        const bool raw = parts_.fields[job_fields_[i]].codec.name == "none";
        const run::Job& job = task.jobs[i];
        const std::uint64_t raw_bytes = job.chunk_bytes();
        const std::uint64_t most = job.parts.empty()
                                       ? raw_bytes + (raw ? 0 : k_frame_bytes)
                                       : codec::bundle_bytes_at_most(arrays_in(job), raw_bytes);
        wanted.most_bytes.push_back(most);
        wanted.blocks.push_back(
            predict::scaled(predicted_[i], parts_.session.options.reserve_factor, most));
    }
    reservation_ = writer::reserve(parts_.ledger.book().take_free(), wanted);
    parts_.ledger.book().give_back(reservation_.rest);
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        task.jobs[i].region = reservation_.regions[i];
        if (parts_.session.options.reserve == Reserve::slots)
            task.jobs[i].slot = static_cast<std::uint32_t>(i);
    }
}

// All blocks of this rank, whatever becomes of them, in a region of their own.
std::uint64_t Assembly::most_bytes() const {
    std::uint64_t bytes = store::region_overhead_bytes(task_->n_jobs, 0);
    for (std::size_t i = 0; i < task_->n_jobs; ++i)
        bytes +=
            codec::bundle_bytes_at_most(arrays_in(task_->jobs[i]), task_->jobs[i].chunk_bytes()) +
            k_frame_bytes;
    return store::align_up(bytes);
}

void Assembly::submit(const ledger::Extent& fresh) {
    const std::uint64_t dump = parts_.ledger.book().next_dump();
    Flight flight;
    flight.dump = dump;
    flight.ledger = &parts_.ledger;
    flight.iteration = parts_.session.iteration;
    flight.put_bytes = dump_.put_bytes;
    flight.features = std::move(features_);
    flight.job_fields = std::move(job_fields_);
    for (const FieldDump& dumped : dumped_) {
        flight.fields.push_back(dumped.field);
        if (auto& dataset = parts_.fields[dumped.field].dataset) dataset->dumps_end = dump + 1;
    }
    if (parts_.session.elsewhere()) {
        for (const store::DatasetSpec& spec : manifest_.datasets)
            task_->datasets.push_back({spec.path, spec.dtype, spec.shape});
        task_->time = dump_.time.time;
        if (!parts_.ledger.builds()) manifest_ = {};
    }
    std::vector<ledger::Extent> extents = std::move(reservation_.kept);
    extents.push_back(fresh);
    for (const ledger::Extent& extent : extents) flight.reserved_bytes += extent.bytes;
    flight.most_bytes = most_bytes();
    SinkOrder order{parts_.ledger.file(),
                    parts_.ledger.begin(std::move(manifest_), extents),
                    manifest_text_,
                    reservation_.manifest_region,
                    parts_.session.options.durable,
                    std::move(reservation_.slots)};
    if (spill_.bytes > 0) order.spill = spill_;
    task_->snapshots = std::move(dump_.snapshots);
    flight.handed_over_s = task_->handed_over_s;
    flight.max_delay_s = task_->max_delay_s;
    ++parts_.session.totals.dumps;
    // What was prepared for the first dump and is not needed.
    if (!parts_.tree.serves_next_file() && dump == parts_.first_dump) parts_.session.pool.trim();
    parts_.flights.submit(std::move(flight), std::move(task_), std::move(order));
}

// What is said of a field in this dump would be lost if the dump did not have it.
Status Assembly::check_metadata() const {
    for (const auto& [object, attributes] : dump_.metadata.all()) {
        using Kind = AttributeOwner::Kind;
        if (attributes.empty() || (object.kind != Kind::field && object.kind != Kind::record &&
                                   object.kind != Kind::species))
            continue;
        const auto is_of = [&, &object = object](const FieldState& field) {
            if (!field.particles)
                return object == AttributedObject{Kind::field, field.name} ||
                       object == record_of(field.name);
            return object == particle_object(Kind::field, field.name) ||
                   object == particle_object(Kind::record, field.name) ||
                   object == AttributedObject{Kind::species,
                                              parts_.fields.species[field.particles->species].name};
        };
        const bool there =
            std::any_of(
                dumped_.begin(), dumped_.end(),
                [&](const FieldDump& dumped) { return is_of(parts_.fields[dumped.field]); }) ||
            std::any_of(parts_.fields.begin(), parts_.fields.end(), [&](const FieldState& field) {
                return field.is_put_empty() && is_of(field);
            });
        if (!there)
            return {StatusCode::invalid_argument,
                    fmt::format("attribute '{}' of {} is set in a dump into which nothing of it "
                                "was put",
                                attributes.begin()->first, to_string(object))};
    }
    return {};
}

// What this rank does by itself.
Status Assembly::make_task() try {
    if (Status known = check_metadata(); !known.ok()) return known;
    if (Status made = make_jobs(); !made.ok()) return made;
    predict_jobs();
    if (parts_.ledger.builds() || parts_.session.elsewhere()) describe();
    reserve();
    return {};
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space, "out of memory"};
}

Status Assembly::run(bool boxes_changed) {
    put_indices();
    if (Status status = exchange_boxes(boxes_changed); !status.ok()) return status;
    if (Status status = finish_what_is_needed(); !status.ok()) return status;
    Status mine = parts_.tables.agree();
    if (parts_.round.comm_failed()) return mine;
    // From here on an error is local: it is carried to the last exchange, so that nobody waits.
    if (mine.ok()) mine = make_codecs();
    if (Status moved = move_pieces(); !moved.ok()) {
        if (parts_.round.comm_failed()) return moved;
        if (mine.ok()) mine = moved;
    }
    if (mine.ok()) mine = make_task();
    const std::uint64_t earlier_bytes =
        parts_.session.is_last_dump ? parts_.flights.spill_bytes() : 0;
    const auto requests =
        base::from_all(*parts_.session.comm, Request{reservation_.fresh_bytes,
                                                     mine.ok() ? most_bytes() + earlier_bytes : 0,
                                                     static_cast<std::uint64_t>(mine.code())});
    if (!requests.ok()) return parts_.round.lost(requests.status());
    if (std::any_of(requests->begin(), requests->end(), [](auto& r) { return r.code != 0; })) {
        parts_.ledger.book().give_back(reservation_.kept);
        return parts_.round.agree(mine);
    }
    // Now that the dump will have something to say it has a file, and not before.
    if (Status made = parts_.make_file(); !made.ok()) return made;
    std::vector<std::uint64_t> bytes;
    for (const Request& request : *requests) bytes.push_back(request.bytes);
    const auto fresh = parts_.ledger.reserve(bytes);
    if (!fresh.ok()) return parts_.round.fail(fresh.status());
    if (parts_.session.is_last_dump) {
        std::vector<std::uint64_t> most;
        for (const Request& request : *requests) most.push_back(request.most_bytes);
        spill_ = {rank_, parts_.ledger.book().next_dump(),
                  parts_.flights.place_spills(parts_.ledger.book(), most), most_bytes(), 0};
    }
    if (Status status = balance_writes(); !status.ok()) return status;
    plan_jobs();
    submit(*fresh);
    return {};
}

}  // namespace caesura::writer
