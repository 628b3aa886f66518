// Order::any: which jobs share an order, and the record that says what it was before.
#include <numeric>

#include "writer/assembly.hpp"
#include "writer/particle_patches.hpp"

namespace caesura::writer {

bool Assembly::is_ordered(const FieldState& field) const {
    return field.particles &&
           parts_.fields.species[field.particles->species].options.order == Order::any;
}

// As many as this rank has put of another record; their numbers come when all counts are known. On
// an error nothing is put, and place_particles() says on all ranks that it lacks.
void Assembly::put_indices() {
    for (std::uint32_t f = 0; f < parts_.fields.size(); ++f) {
        const auto& particles = parts_.fields[f].particles;
        if (!particles || !particles->is_index) continue;
        for (std::uint32_t other = 0; other < parts_.fields.size(); ++other) {
            const auto& of_other = parts_.fields[other].particles;
            const bool is_put = of_other && of_other->species == particles->species && other != f &&
                                !dump_.puts_of(other).empty();
            if (!is_put) continue;
            std::uint64_t count = 0;
            for (const std::uint32_t i : dump_.puts_of(other)) count += dump_.puts[i].box.extent[0];
            put_index(f, count);
            break;
        }
    }
}

void Assembly::put_index(std::uint32_t field, std::uint64_t count) {
    run::Snapshot& snapshot = dump_.snapshots.emplace_back();
    const std::uint64_t bytes = count * sizeof(std::uint64_t);
    Put put{field, {{0}, {count}}, nullptr, &snapshot};
    if (count > 0) {
        auto buffer = parts_.session.pool.take(bytes, base::Pages::now);
        if (!buffer.ok()) return;
        snapshot.buffer = std::move(*buffer);
        snapshot.budget = &parts_.session.budget;
        snapshot.charged_bytes = bytes;
        parts_.session.budget.charge(bytes);
        put.data = snapshot.buffer.data();
    }
    dump_.add(std::move(put));
}

void Assembly::number_particles(std::uint32_t field) {
    for (const std::uint32_t i : dump_.puts_of(field)) {
        const Put& put = dump_.puts[i];
        auto* const numbers = reinterpret_cast<std::uint64_t*>(put.snapshot->buffer.data());
        std::iota(numbers, numbers + put.box.extent[0], put.box.offset[0]);
    }
}

namespace {

/// Where the particles of each rank begin in a chunk, and where the last ones end.
std::vector<std::uint64_t> stretches_of(const OwnedChunk& chunk, const Layout& layout) {
    std::vector<std::uint64_t> stretches;
    int rank = -1;
    for (const LayoutPiece& piece : chunk.pieces) {
        const int of_piece = layout.boxes[piece.box].rank;
        if (of_piece != rank) stretches.push_back(piece.part.offset[0]);
        rank = of_piece;
    }
    stretches.push_back(chunk.box.offset[0] + chunk.valid[0]);
    return stretches;
}

}  // namespace

// The jobs of a chunk, one for each record of the species: all ranks cut all records alike, so
// whoever has a chunk of one has that of all.
void Assembly::order_jobs() {
    if (parts_.session.elsewhere()) return;  // whoever compresses there knows nothing of records
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < task_->n_jobs; ++i) {
        const FieldState& field = parts_.fields[job_fields_[i]];
        if (is_ordered(field))
            groups[{field.particles->species, task_->jobs[i].chunk}].push_back(i);
    }
    for (const auto& [group, jobs] : groups) {
        const std::uint64_t wanted = group.second;  // Clang before 16 captures no `group`
        std::vector<run::ParticleOrder::Record> records;
        bool any_position = false, any_codec = false, have_order = true;
        for (const std::size_t i : jobs) {
            const run::Job& job = task_->jobs[i];
            const FieldState& field = parts_.fields[job_fields_[i]];
            records.push_back(
                {job.dtype, dumped_[job.dataset].bound, is_position(field), job.pieces});
            any_position |= records.back().is_position;
            // Of the other types nothing is known that a curve could follow.
            have_order &= !records.back().is_position || job.dtype <= uint64;
            any_codec |= field.codec.name != "none";
        }
        if (!any_position || !any_codec || !have_order) continue;
        const Layout& layout = *parts_.fields[job_fields_[jobs[0]]].layout;
        const auto chunk = std::find_if(layout.mine.begin(), layout.mine.end(),
                                        [&](const OwnedChunk& one) { return one.chunk == wanted; });
        const auto order = std::make_shared<run::ParticleOrder>(
            std::move(records), stretches_of(*chunk, layout), parts_.session.budget);
        for (const std::size_t i : jobs) task_->jobs[i].order = order;
    }
}

}  // namespace caesura::writer
