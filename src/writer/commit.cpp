// What becomes of blocks after they are written: overflow finds a place, records come together on
// rank 0, and a commit makes dumps part of the HDF5 tree.
#include <fmt/format.h>

#include <algorithm>

#include "writer/impl.hpp"
#include "writer/wire.hpp"

namespace caesura {

using writer::InFlight;

// Blocks that found no room get a region at the end of the file. The same arithmetic on all ranks.
void Writer::Impl::place_overflow(const std::vector<writer::Hello>& all, std::uint64_t& end) {
    std::uint64_t total = 0;
    for (const writer::Hello& theirs : all) total += theirs.overflow_bytes;
    if (total == 0) return;
    end = begin_of_stripe(end);
    std::uint64_t address = end;
    for (int r = 0; r < rank; ++r) address += all[static_cast<std::size_t>(r)].overflow_bytes;
    end += total;
    for (InFlight& dump : in_flight) {
        if (dump.overflow.empty() || dump.task) continue;
        const std::size_t n = dump.overflow.size();
        std::uint64_t bytes = store::region_overhead_bytes(n, 0);
        for (const auto& block : dump.overflow) bytes += block.stored.size();
        bytes = store::align_up(bytes, stripe_bytes);

        auto task = std::make_unique<run::DumpTask>(n);
        task->dump = dump.dump;
        task->iteration = dump.iteration;
        for (std::uint32_t i = 0; i < n; ++i) {
            writer::OverflowBlock& block = dump.overflow[i];
            run::Job& job = task->jobs[i];
            job.label = block.label + " (overflow)";
            job.dataset = block.dataset;
            job.chunk = block.chunk;
            job.filter_mask = block.filter_mask;
            job.stored_bytes = block.stored.size();
            job.stored = std::move(block.stored);
            job.taken = true;
            job.state = run::JobState::compressed;
            task->compress_order.push_back(i);
            task->write_order.push_back(i);
        }
        task->n_begun = static_cast<std::uint32_t>(n);
        task->n_compressed = static_cast<std::uint32_t>(n);
        task->sink = std::make_unique<writer::RegionSink>(
            *file,
            std::vector<store::RegionWriter::Place>{{rank, dump.dump, address, bytes, last_region}},
            std::string(), 0, options.durable);
        last_region = address;
        address += bytes;
        totals.reserved_bytes += bytes;
        say(
            fmt::format("rank {}: iteration {}: {} blocks did not fit into the reserved region "
                        "and go to the end of the file",
                        rank, dump.iteration, n));
        dump.task = task.get();
        if (Status status = executor->submit(std::move(task)); !status.ok()) {
            dump.task = nullptr;
            executor->report(std::move(status));
        }
    }
}

// Records of all dumps before `durable` travel to the ranks that build, which then know them
// completely; what their blocks say about table sets, to rank 0.
Status Writer::Impl::gather_records(std::uint64_t durable) {
    std::vector<store::ChunkRecord> mine;
    for (const InFlight& dump : in_flight)
        if (dump.dump < durable) mine.insert(mine.end(), dump.records.begin(), dump.records.end());
    writer::Packer packer;
    packer.put_bytes(std::as_bytes(std::span(mine)));
    const bool everywhere = tree->records_on_all_ranks();
    if (!everywhere) send_counts(packer);
    auto all = everywhere ? comm->allgatherv(packer.bytes()) : comm->gatherv(packer.bytes(), 0);
    if (!all.ok()) {
        comm_failed = true;
        return failed = all.status();
    }
    for (const Communicator::Bytes& part : *all) {
        writer::Unpacker unpacker(part);
        const auto records = unpacker.get_bytes();
        const std::size_t at = records_to_commit.size(), n = records.size() / sizeof(mine[0]);
        records_to_commit.resize(at + n);
        if (n) std::memcpy(records_to_commit.data() + at, records.data(), records.size());
        take_counts(unpacker);
    }
    if (everywhere)
        if (Status sent = gather_counts(); !sent.ok()) return sent;
    new_counts = true;
    count_superseded();
    while (!in_flight.empty() && in_flight.front().dump < durable) {
        if (builds()) to_commit.push_back(std::move(in_flight.front().manifest));
        in_flight.pop_front();
    }
    gathered_dumps = durable;
    return {};
}

// Build the metadata of all gathered dumps in memory (HDF5, 1-2 ms); rank 0 hands their flush to
// the write lane. Waits for its turn if the last commit is still being flushed. All decisions are
// made from what is agreed, so that all ranks that build do so together.
void Writer::Impl::commit(std::uint64_t end, bool trim) {
    // What the tree has of itself waits for blocks that are on their way: a file that shows a
    // dataset and not yet its values would look complete.
    const bool of_itself = tree_changed && gathered_dumps == next_dump;
    if (spoiled || !may_build || (gathered_dumps == built_dumps && !trim && !of_itself)) return;
    built_dumps = gathered_dumps;
    tree_changed = false;
    flush_expected = true;
    if (!builds()) return;
    if (Status built = build(end, trim); !built.ok()) executor->report(built);
    if (tree->records_on_all_ranks()) agree_on_tree_end();
}

// Images of the same tree are not the same to the byte: the library of a rank that has read in
// between may flush a block once more. So the journal may fit into its slot on one rank and need
// room behind the file on another, and what comes next must begin behind it on all.
void Writer::Impl::agree_on_tree_end() {
    const std::uint64_t mine = tree->end();
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size));
    const Status status =
        comm->allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    if (status.ok()) return tree->regions_end(*std::max_element(all.begin(), all.end()));
    comm_failed = true;
    failed = status;
}

Status Writer::Impl::build(std::uint64_t end, bool trim) {
    const double begin_s = now_s();
    auto built = tree->build(to_commit, records_to_commit, end, trim);
    trace_application("commit", "build metadata", begin_s);
    if (!built.ok()) return built.status().with_context("committing to " + path);
    to_commit.clear();
    records_to_commit.clear();
    if (!*built) return {};
    image = std::move(*built);
    image_dumps = gathered_dumps;
    file_end = image->file_end();
    used_end = std::max(used_end, file_end);
    return executor->submit_flush([this] { return image->flush(*file, options.durable); });
}

}  // namespace caesura
