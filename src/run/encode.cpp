#include "run/encode.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace caesura::run {
namespace {

// Fill what lies beyond the array with copies of the last valid value along each axis, so that a
// filter sees no artificial edge (decision D12). Axes from last to first: each pass fills slabs
// whose inner axes are already whole.
void replicate_padding(const Job& job, std::byte* chunk) {
    const Shape& full = job.chunk_box.extent;
    const std::size_t value_bytes = size_of(job.dtype);
    std::size_t inner_bytes = value_bytes;  // bytes of one step along the axis
    for (int axis = full.rank() - 1; axis >= 0; --axis) {
        std::uint64_t outer = 1;  // how many such lines there are: valid ones only
        for (int before = 0; before < axis; ++before) outer *= full[before];
        const std::size_t line_bytes = full[axis] * inner_bytes;
        for (std::uint64_t line = 0; line < outer; ++line) {
            std::byte* begin = chunk + line * line_bytes;
            const std::byte* last = begin + (job.valid[axis] - 1) * inner_bytes;
            for (std::uint64_t i = job.valid[axis]; i < full[axis]; ++i)
                std::memcpy(begin + i * inner_bytes, last, inner_bytes);
        }
        inner_bytes = line_bytes;
    }
}

// What the codec wants of a chunk: all of it, or the part inside the array.
Box wanted_box(const Job& job) {
    return {job.chunk_box.offset, job.codec->wants_padding() ? job.chunk_box.extent : job.valid};
}

// The same value all over: each copy doubles what there is.
void fill(std::byte* chunk, std::size_t bytes, const std::array<std::byte, 8>& value,
          std::size_t value_bytes) {
    std::memcpy(chunk, value.data(), value_bytes);
    for (std::size_t done = value_bytes; done < bytes; done *= 2)
        std::memcpy(chunk + done, chunk, std::min(done, bytes - done));
}

void gather(const Job& job, const Box& wanted, std::byte* chunk) {
    const std::size_t value_bytes = size_of(job.dtype);
    // Of complex numbers that of both parts.
    const std::size_t fill_bytes = size_of(number_type(job.dtype));
    if (job.fill) fill(chunk, wanted.extent.count() * value_bytes, *job.fill, fill_bytes);
    for (const PutPart& piece : job.pieces)
        copy_box(piece.part, piece.source_box, piece.source, wanted, chunk, value_bytes);
    if (wanted.extent != job.valid) replicate_padding(job, chunk);
}

// The wanted values where they are, if they lie there dense and whole.
const std::byte* in_place(const Job& job, const Box& wanted) {
    if (job.pieces.size() != 1 || wanted.extent != job.valid) return nullptr;
    const PutPart& piece = job.pieces[0];
    if (piece.part != wanted) return nullptr;  // the rest is the fill value
    return dense_part(piece.part, piece.source_box, piece.source, size_of(job.dtype));
}

// The wanted values in the order of the job's particles; an empty buffer where that is the given
// one. The values are dense: a record has one axis.
Result<base::Buffer> in_order(const Job& job, const Box& wanted, base::BufferPool& pool) {
    ParticleOrder::Held own;
    base::Buffer gathered;
    const auto order = job.order->find(pool, own);
    if (!order.ok()) return order.status();
    if (order->empty()) return base::Buffer();
    const std::byte* values = values_in_place(job);
    if (values == nullptr) {
        auto taken = pool.take(job.valid_bytes());
        if (!taken.ok()) return taken.status();
        gathered = std::move(*taken);
        gather_values(job, gathered.data());
        values = gathered.data();
    }
    const std::size_t value_bytes = size_of(job.dtype);
    auto taken = pool.take(wanted.extent.count() * value_bytes);
    if (!taken.ok()) return taken.status();
    put_in_order(*order, values, value_bytes, taken->data());
    if (wanted.extent != job.valid) replicate_padding(job, taken->data());
    return taken;
}

// Into a buffer of ours, as long as the block: other threads must not free memory of the worker's
// malloc arena. The codec cannot write here itself. How long a block becomes is known afterwards
// only, and a buffer for the longest would hold memory that the budget does not know of until the
// block is written.
Result<base::Buffer> copy_out(std::span<const std::byte> bytes, base::BufferPool& pool) {
    if (bytes.empty()) return base::Buffer();
    auto copy = pool.take(bytes.size());
    if (copy.ok()) std::memcpy(copy->data(), bytes.data(), bytes.size());
    return copy;
}

/// As HDF5 stores a chunk without its filters. Beyond the array lie zeros, as in decoded frames.
Result<base::Buffer> raw_chunk(const Job& job, const Box& wanted, const std::byte* values,
                               base::BufferPool& pool) {
    auto taken = pool.take(job.chunk_bytes());
    if (!taken.ok()) return taken;
    if (wanted.extent == job.chunk_box.extent) {
        std::memcpy(taken->data(), values, taken->size());
        return taken;
    }
    std::memset(taken->data(), 0, taken->size());
    copy_box(wanted, wanted, values, job.chunk_box, taken->data(), size_of(job.dtype));
    return taken;
}

}  // namespace

const std::byte* values_in_place(const Job& job) {
    return in_place(job, {job.chunk_box.offset, job.valid});
}

void gather_values(const Job& job, std::byte* values) {
    gather(job, {job.chunk_box.offset, job.valid}, values);
}

Status make_dense(Job& job, base::BufferPool& pool, base::Buffer& scratch) {
    const Box wanted{job.chunk_box.offset, job.valid};
    const std::byte* values = values_in_place(job);
    if (values == nullptr) {
        auto taken = pool.take(job.valid_bytes());
        if (!taken.ok()) return taken.status();
        scratch = std::move(*taken);
        gather_values(job, scratch.data());
        values = scratch.data();
    }
    job.pieces.resize(1);  // which leaves nothing open; boxes still need to know the fill value
    job.pieces[0] = {wanted, wanted, values, nullptr};
    return {};
}

std::span<const std::byte> dense_values(const Job& job) {
    return {job.pieces[0].source, job.valid_bytes()};
}

Result<Encoded> encode(const Job& job, base::BufferPool& pool, base::Buffer* dense) {
    const Box wanted = wanted_box(job);
    const std::size_t bytes = wanted.extent.count() * size_of(job.dtype);
    const bool stored_as_is = job.codec->pipeline().empty();  // codec none
    base::Buffer scratch;
    if (job.order) {
        auto ordered = in_order(job, wanted, pool);
        if (!ordered.ok()) return ordered.status();
        scratch = std::move(*ordered);
    }
    const std::byte* chunk = scratch.size() > 0 ? scratch.data() : in_place(job, wanted);
    if (scratch.size() > 0) {
        // It is there.
    } else if (chunk && stored_as_is && dense != nullptr && dense->data() == chunk) {
        scratch = std::move(*dense);
    } else if (!chunk || stored_as_is) {
        auto taken = pool.take(bytes);
        if (!taken.ok()) return taken.status();
        scratch = std::move(*taken);
        gather(job, wanted, scratch.data());
        chunk = scratch.data();
    }
    if (stored_as_is) return Encoded{std::move(scratch), {}, 0, 0.0, false};
    const std::span values(chunk, bytes);
    const bool boxed = !job.parts.empty() && job.parts[0].offset.rank() > 0;
    const codec::Canvas canvas{job.valid, job.fill.value_or(std::array<std::byte, 8>{})};
    auto encoded = !job.parts.empty() ? job.codec->encode_parts(values, job.parts, job.bundled,
                                                                boxed ? &canvas : nullptr)
                   : job.exactly      ? job.codec->encode_exactly(values, job.valid)
                                      : job.codec->encode(values, job.valid);
    if (!encoded.ok()) return encoded.status();
    const bool raw =
        job.codec->leaves_raw_to_caller() && encoded->bytes.size() >= job.chunk_bytes();
    if (raw) {
        encoded->filter_mask = 1;
        encoded->max_error = 0.0;
    }
    auto stored = raw ? raw_chunk(job, wanted, chunk, pool) : copy_out(encoded->bytes, pool);
    if (!stored.ok()) return stored.status();
    auto statistics = copy_out(encoded->statistics, pool);
    if (!statistics.ok()) return statistics.status();
    return Encoded{std::move(*stored), std::move(*statistics), encoded->filter_mask,
                   encoded->max_error, encoded->fell_back};
}

}  // namespace caesura::run
