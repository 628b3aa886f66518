// One block from its values to its stored bytes: gather the chunk, pad it, encode it.
#pragma once

#include "run/job.hpp"

namespace caesura::run {

struct Encoded {
    base::Buffer stored;
    base::Buffer statistics;  ///< EncodedBlock::statistics
    std::uint32_t filter_mask = 0;
    double max_error = 0.0;
    bool fell_back = false;

    /// Is nothing of the job's values compressed?
    bool is_raw(const Job& job) const {
        const std::size_t n_stages = job.codec->pipeline().size();
        const bool none_used = filter_mask == (1u << n_stages) - 1u;
        return n_stages > 0 && (none_used || stored.size() >= job.valid_bytes());
    }
};

/// Have the values of the job's valid part dense, in one piece: where they lie, or gathered into
/// `scratch`, which lives as long as the job is read. So several may read them for one gathering.
/// Any thread. Errors: no_space.
Status make_dense(Job& job, base::BufferPool& pool, base::Buffer& scratch);
/// Of such a job.
std::span<const std::byte> dense_values(const Job& job);

/// The values of the job's valid part where they are, if they lie there dense and whole; or null.
const std::byte* values_in_place(const Job& job);
/// Copy them, dense, C order. @param values  room for valid_bytes().
void gather_values(const Job& job, std::byte* values);

/// Pure: changes nothing of the job. Buffers are the pool's. Any thread, as far as the job's codec
/// is reentrant. Errors: those of the codec, no_space (memory); may throw bad_alloc.
/// @param dense  what make_dense() has gathered; values that are stored as they are stay in it.
Result<Encoded> encode(const Job& job, base::BufferPool& pool, base::Buffer* dense = nullptr);

}  // namespace caesura::run
