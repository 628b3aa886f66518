// A session's dumps: from messages to blocks on the workers, and back.
#include <fmt/format.h>

#include <algorithm>

#include "transit/service/session.hpp"

namespace caesura::transit {
namespace {

/// What the client expects, as far as it can be: nobody gets a turn by a small word.
double cost_s(const Block& message) {
    constexpr double k_fast_bytes_per_s = 2e10, k_slow_bytes_per_s = 1e5;
    const auto bytes = static_cast<double>(message.raw_bytes());
    return std::clamp(message.expected_compress_s, 1e-6 + bytes / k_fast_bytes_per_s,
                      1.0 + bytes / k_slow_bytes_per_s);
}

/// The pieces that lie there, each padded to 8 bytes: more would be held and not counted.
std::uint64_t wanted_payload_bytes(const Block& message) {
    std::uint64_t bytes = 0;
    for (const Piece& piece : message.pieces)
        if (piece.source == Source::payload)
            bytes += (piece.part.extent.count() * size_of(message.dtype) + 7) / 8 * 8;
    return bytes;
}

/// A codec as it is made, with its tables.
constexpr std::uint64_t k_codec_bytes = 4096;
constexpr std::uint64_t k_most_dump_bytes = std::uint64_t{256} << 20;

/// Memory that a dump takes before it has a block.
std::uint64_t memory_bytes(const BeginDump& message) {
    constexpr std::uint64_t k_job_bytes = sizeof(std::unique_ptr<ServedBlock>) + 1;
    return message.manifest.size() + message.n_jobs * k_job_bytes +
           message.slots.size() * sizeof(message.slots[0]) +
           message.places.size() * sizeof(message.places[0]) +
           message.codecs.size() * (sizeof(DatasetCodec) + k_codec_bytes);
}

}  // namespace

ServedDump* Session::dump_of(std::uint64_t dump) {
    const auto found = dumps_.find(dump);
    return found == dumps_.end() ? nullptr : found->second.get();
}

Result<std::vector<std::shared_ptr<const BlockCodec>>> Session::codecs_of(
    const BeginDump& message) {
    std::vector<std::shared_ptr<const BlockCodec>> codecs;
    for (const DatasetCodec& wanted : message.codecs) {
        // A plugin believes its parameters, and these are a client's.
        if (has_plugins_parameters(wanted.spec))
            return Status{StatusCode::unsupported,
                          "filters of plugins in an application's pipeline: the client runs them"};
        // Foreign filters are looked for by HDF5.
        std::unique_lock<std::mutex> hdf5(workshop_.hdf5, std::defer_lock);
        if (!caesura_mode(wanted.spec) && wanted.spec.name != "none") hdf5.lock();
        auto made = make_block_codec(wanted.spec, wanted.dtype, wanted.chunk, wanted.bound,
                                     {wanted.tables, wanted.gather, wanted.missing});
        if (!made.ok()) return made.status();
        codecs.push_back(std::move(*made));
    }
    return codecs;
}

Status Session::begin(const BeginDump& message) {
    const auto found = files_.find(message.file);
    if (found == files_.end())
        return {StatusCode::invalid_argument, fmt::format("file {} is not open", message.file)};
    if (dumps_.contains(message.dump))
        return {StatusCode::invalid_argument, fmt::format("dump {} is under way", message.dump)};
    if (dumps_.size() >= workshop_.limits.dumps)
        return {StatusCode::no_space,
                fmt::format("{} dumps are under way, the most that a client may have here",
                            dumps_.size())};
    std::uint64_t bytes = memory_bytes(message);
    for (const auto& [number, dump] : dumps_) bytes += memory_bytes(dump->order());
    if (bytes > k_most_dump_bytes)
        return {StatusCode::no_space,
                fmt::format("dumps under way take {} bytes beside their values, more than the {} "
                            "that a client may have here",
                            bytes, k_most_dump_bytes)};
    OpenedFile& file = found->second;
    if (!file.shared) {
        // The file that the client has open, with its lock: another one may have its name by now.
        auto shared = store::SharedFile::of_open(file.file, file.path);
        if (!shared.ok()) return shared.status();
        file.shared = std::make_unique<store::SharedFile>(std::move(*shared));
    }
    auto codecs = codecs_of(message);
    if (!codecs.ok()) return codecs.status();
    dumps_[message.dump] =
        std::make_unique<ServedDump>(message, std::move(*codecs), *file.shared, *this);
    return {};
}

void Session::take(const BeginDump& message, base::Buffer&) {
    answer(message.request, begin(message));
}

// Null: the client has been refused, or the dump is one of which nothing is wanted any more.
ServedBlock* Session::add_block(std::uint64_t dump, std::uint32_t job, std::uint64_t bytes) {
    ServedDump* const served = dump_of(dump);
    if (served == nullptr || served->is_dropped()) return nullptr;  // its begin was refused
    // One block may be larger than all credits: then it is the only one.
    if (outstanding_bytes_ > 0 && outstanding_bytes_ + bytes > permit_.credits_bytes) {
        refuse({StatusCode::corrupt,
                fmt::format("{} bytes are under way beside {}, with credits of {}", bytes,
                            outstanding_bytes_, permit_.credits_bytes)});
        return nullptr;
    }
    ServedBlock* const block = served->add(job, lane_, pool_);
    if (block == nullptr) {
        refuse({StatusCode::corrupt, fmt::format("block {} of dump {} comes again", job, dump)});
        return nullptr;
    }
    block->raw_bytes = bytes;
    outstanding_bytes_ += bytes;
    counters_.waiting_blocks.fetch_add(1, std::memory_order_relaxed);
    counters_.outstanding_bytes.store(outstanding_bytes_, std::memory_order_relaxed);
    return block;
}

// The job, and where its values lie.
Status Session::fill(const Block& message, ServedBlock& block, const ServedDump& dump) {
    run::Job& job = block.job;
    job.label = message.label;
    job.dataset = message.dataset;
    job.chunk = message.chunk;
    job.dtype = message.dtype;
    job.chunk_box = message.chunk_box;
    job.valid = message.valid;
    job.fill = message.fill;
    if (!job.fill && !covers_all(message)) job.fill.emplace();  // never memory of others
    job.codec = dump.codec(message.codec);
    block.recipe = &dump.order().codecs[message.codec];
    block.done_s = dump.due_s();
    job.parts = message.parts;
    job.bundled = message.bundled;
    job.exactly = message.exactly;
    job.absolute_bound = message.absolute_bound;
    job.region = message.region;
    job.slot = message.slot;
    const std::uint64_t needed = arena_end(message);
    if (needed > (arena_ ? arena_->bytes() : 0))
        return {StatusCode::corrupt, fmt::format("{}: values up to byte {} of shared memory of {}",
                                                 job.label, needed, arena_ ? arena_->bytes() : 0)};
    for (const Piece& piece : message.pieces) {
        const std::byte* const from =
            piece.source == Source::arena ? arena_->data() : block.payload.data();
        job.pieces.push_back({piece.part, piece.source_box, from + piece.offset, nullptr});
    }
    return {};
}

void Session::take(const Block& message, base::Buffer& payload) {
    // Of a chunk that is not full, too: without a codec all of it is stored.
    const std::uint64_t chunk_bytes = message.chunk_box.extent.count() * size_of(message.dtype);
    if (chunk_bytes > workshop_.limits.block_bytes)
        return refuse({StatusCode::corrupt,
                       fmt::format("{}: a block of {} bytes", message.label, chunk_bytes)});
    if (message.payload_bytes > wanted_payload_bytes(message))
        return refuse({StatusCode::corrupt,
                       fmt::format("{}: {} bytes of payload for values of {}", message.label,
                                   message.payload_bytes, wanted_payload_bytes(message))});
    ServedDump* const dump = dump_of(message.dump);
    if (dump != nullptr)
        if (Status status = fits(message, dump->order()); !status.ok()) return refuse(status);
    ServedBlock* const block = add_block(message.dump, message.job, message.raw_bytes());
    if (block == nullptr) return;
    block->payload = std::move(payload);
    if (Status status = fill(message, *block, *dump); !status.ok()) {
        block->give_up();
        return refuse(status);
    }
    counters_.blocks.fetch_add(1, std::memory_order_relaxed);
    counters_.raw_bytes.fetch_add(block->raw_bytes, std::memory_order_relaxed);
    workshop_.dispatch.give(id_, weight(), cost_s(message), *block);
}

void Session::take(const StoredBlock& message, base::Buffer& payload) {
    ServedDump* const dump = dump_of(message.dump);
    if (dump != nullptr)
        if (Status status = fits(message, dump->order()); !status.ok()) return refuse(status);
    ServedBlock* const block = add_block(message.dump, message.job, message.payload_bytes);
    if (block == nullptr) return;
    run::Job& job = block->job;
    job.label = message.label;
    job.dataset = message.dataset;
    job.chunk = message.chunk;
    job.filter_mask = message.filter_mask;
    job.region = message.region;
    job.slot = message.slot;
    job.stored = std::move(payload);
    block->compressed_before = true;
    block->encoded = run::Encoded{};
    block->take_up();
}

void Session::taken(ServedDump& dump, ServedBlock& block) {
    workshop_.dispatch.learn(block);
    outstanding_bytes_ -= block.raw_bytes;
    counters_.waiting_blocks.fetch_sub(1, std::memory_order_relaxed);
    counters_.outstanding_bytes.store(outstanding_bytes_, std::memory_order_relaxed);
    Taken taken;
    taken.dump = dump.order().dump;
    taken.job = block.number;
    workshop_.replies.send(id_, taken);
    if (block.raw_bytes > 0) workshop_.replies.send(id_, Credit{block.raw_bytes});
}

void Session::result(ServedDump&, BlockResult result, base::Buffer stored) {
    counters_.stored_bytes.fetch_add(result.stored_bytes, std::memory_order_relaxed);
    workshop_.replies.send(id_, result, std::move(stored));
}

void Session::take(const FinishDump& message, base::Buffer&) {
    if (ServedDump* const dump = dump_of(message.dump)) return dump->finish(message.request);
    Finished finished;
    finished.request = message.request;
    finished.status = {StatusCode::invalid_argument,
                       fmt::format("dump {} is not under way", message.dump)};
    workshop_.replies.send(id_, finished);
}

void Session::take(const EndSpill& message, base::Buffer&) {
    if (ServedDump* const dump = dump_of(message.dump)) dump->end_spill();
    answer(message.request, {});
}

void Session::take(const DropDump& message, base::Buffer&) {
    if (ServedDump* const dump = dump_of(message.dump)) dump->drop();
    answer(message.request, {});
}

}  // namespace caesura::transit
