#include "transit/client/remote_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/clock.hpp"
#include "plan/standby_policy.hpp"
#include "transit/client/remote_files.hpp"

namespace caesura::transit {

using run::Job;
using run::JobState;

RemoteSink::RemoteSink(std::shared_ptr<Client> client, writer::SinkOrder order, run::DumpTask& task,
                       writer::Lanes lanes)
    : kept_(std::move(client)),
      client_(*kept_),
      order_(std::move(order)),
      task_(task),
      lanes_(std::move(lanes)),
      number_(client_.next_number()) {
    client_.enlist(number_, *this);
}

RemoteSink::~RemoteSink() {
    client_.delist(number_);
    if (begun_ && !finished_ && !client_.is_lost()) {
        const std::uint64_t request = client_.next_number();
        (void)client_.ask(request, DropDump{request, number_});
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sending_ == 0; });
}

// ------------------------------------------------------------------------------ the write lane

Status RemoteSink::begin() {
    auto& remote = dynamic_cast<RemoteFile&>(order_.file.file());
    const auto file = remote.number_at(kept_);
    if (!file.ok()) {  // the client that made the file was another one; this one may not have it
        if (client_.writes_here() && !client_.is_lost()) {
            client_.note_refusal(remote.path(), file.status());
            write_here();
        }
        return file.status();
    }
    BeginDump message;
    message.request = client_.next_number();
    message.dump = number_;
    message.file = *file;
    message.iteration = task_.iteration;
    message.n_jobs = static_cast<std::uint32_t>(task_.n_jobs);
    message.places = order_.places;
    message.manifest = order_.manifest;
    message.manifest_region = static_cast<std::uint32_t>(order_.manifest_region);
    message.durable = order_.durable;
    message.slots = order_.slots;
    message.spill = order_.spill;
    for (const CodecRecipe& recipe : task_.recipes)
        message.codecs.push_back({recipe.spec, recipe.dtype, recipe.chunk, recipe.bound,
                                  recipe.tables.set, recipe.tables.gather, recipe.tables.missing});
    if (task_.handed_over_s >= 0.0 && std::isfinite(task_.max_delay_s))
        message.due_in_s = std::max(
            0.0, plan::done_by_s(task_.handed_over_s + task_.max_delay_s, task_.max_delay_s) -
                     base::Clock::steady().now_s());
    if (Status status = client_.ask(message.request, message).status(); !status.ok()) {
        // It has nothing of this dump, and all of it is still here. It may take the next one.
        if (client_.is_lost()) return status;
        client_.note_refusal(remote.path(), status.with_context(fmt::format(
                                                "the dump of iteration {}", task_.iteration)));
        write_here();
        return status;
    }
    begun_ = true;
    return describe_dump();
}

// Nothing of the dump has been told to the service, so its places are this process's.
void RemoteSink::write_here() {
    order_.spill.reset();  // end_spill() may have been called
    here_ = std::make_unique<writer::RegionSink>(std::move(order_));
}

// A service that cannot list the dump's fields among its objects writes the dump all the same; what
// the client has asked to be found of it would be missing.
Status RemoteSink::describe_dump() {
    if (task_.datasets.empty()) return {};
    DescribeDump message;
    message.request = client_.next_number();
    message.dump = number_;
    message.time = task_.time;
    message.calls = client_.analyses();
    for (const run::DumpTask::Dataset& dataset : task_.datasets) {
        // Under the connector a dataset need not have a name (H5Dcreate_anon).
        const std::string name = !dataset.path.empty()
                                     ? dataset.path
                                     : fmt::format("dataset {} of dump {}, without a name",
                                                   message.objects.size(), number_);
        message.objects.push_back({name, dataset.dtype, dataset.shape});
    }
    const Status status = client_.ask(message.request, message).status();
    const bool is_missed =
        client_.is_lost() || (status.code() != StatusCode::no_space && !message.calls.empty());
    return is_missed ? status : Status{};
}

// The service has all it will get.
void RemoteSink::ask_to_finish() {
    std::uint64_t request = 0;
    {
        const std::lock_guard lock(mutex_);
        if (finish_request_ != 0) return;
        request = finish_request_ = client_.next_number();
    }
    client_.tell(FinishDump{request, number_});
}

// What is compressed here has no place but the end of the file. The others, which the lane has
// found ready before the loss, it takes back.
void RemoteSink::overflow_all(std::span<Job* const> jobs) {
    for (Job* const job : jobs)
        if (!job->elsewhere.load(std::memory_order_relaxed))
            job->state.store(JobState::overflowed, std::memory_order_release);
}

Status RemoteSink::write(std::span<Job* const> jobs) {
    if (here_) return here_->write(jobs);
    if (gives_back()) return overflow_all(jobs), Status{};
    Status status = begun_ ? Status{} : begin();
    for (Job* const job : jobs) {
        if (!status.ok()) break;
        status = job->elsewhere.load(std::memory_order_relaxed) ? give(*job) : give_stored(*job);
    }
    if (status.ok() && n_given_ == task_.n_jobs) ask_to_finish();
    if (here_) return {};  // the lane takes them back
    if (status.ok() || !client_.is_lost()) return status;
    return client_.writes_here() ? Status{} : status;  // likewise
}

// The values of a block: where they lie in shared memory, or beside the message.
Status RemoteSink::describe(const Job& job, Block& message, Values& values) const {
    static constexpr std::array<std::byte, 8> k_zeros{};
    const Arena* const arena = client_.arena();
    const std::size_t value_bytes = size_of(job.dtype);
    for (const run::PutPart& piece : job.pieces) {
        Piece told;
        told.part = piece.part;
        if (arena != nullptr && arena->has(piece.source)) {
            told.source_box = piece.source_box;
            told.source = Source::arena;
            told.offset = arena->offset_of(piece.source);
            message.pieces.push_back(told);
            continue;
        }
        const std::uint64_t bytes = piece.part.extent.count() * value_bytes;
        const std::byte* from = dense_part(piece.part, piece.source_box, piece.source, value_bytes);
        if (from == nullptr) {
            auto copy = client_.pool().take(bytes);
            if (!copy.ok()) return copy.status();
            copy_box(piece.part, piece.source_box, piece.source, piece.part, copy->data(),
                     value_bytes);
            from = copy->data();
            values.copies.push_back(std::move(*copy));
        }
        told.source_box = piece.part;
        told.offset = message.payload_bytes;
        message.pieces.push_back(told);
        values.spans.emplace_back(from, bytes);
        message.payload_bytes += bytes;
        if (const std::size_t odd = message.payload_bytes % 8; odd != 0) {
            values.spans.emplace_back(k_zeros.data(), 8 - odd);
            message.payload_bytes += 8 - odd;
        }
    }
    return {};
}

Status RemoteSink::give(Job& job) {
    Block message;
    message.dump = number_;
    message.job = static_cast<std::uint32_t>(&job - task_.jobs.get());
    message.label = job.label;
    message.dataset = job.dataset;
    message.chunk = job.chunk;
    message.dtype = job.dtype;
    message.chunk_box = job.chunk_box;
    message.valid = job.valid;
    message.fill = job.fill;
    message.codec = job.dataset;
    message.parts = job.parts;
    message.bundled = job.bundled;
    message.exactly = job.exactly;
    message.absolute_bound = job.absolute_bound;
    message.region = job.region;
    message.slot = job.slot;
    message.expected_compress_s = job.expected_compress_s;
    auto values = std::make_shared<Values>();
    if (Status status = describe(job, message, *values); !status.ok()) return status;
    if (!client_.spend(job.valid_bytes())) return client_.loss();
    // Its answer may come before tell() has returned.
    job.state.store(JobState::given, std::memory_order_release);
    ++n_given_;
    std::function<void()> done;
    if (!values->spans.empty()) {
        const std::lock_guard lock(mutex_);
        ++sending_;
        done = [this, values] {
            const std::lock_guard guard(mutex_);
            --sending_;
            changed_.notify_all();
        };
    }
    client_.tell(message, values->spans, std::move(done));
    return {};
}

Status RemoteSink::give_stored(Job& job) {
    StoredBlock message;
    message.dump = number_;
    message.job = static_cast<std::uint32_t>(&job - task_.jobs.get());
    message.label = job.label;
    message.dataset = job.dataset;
    message.chunk = job.chunk;
    message.filter_mask = job.filter_mask;
    message.region = job.region;
    message.slot = job.slot;
    message.payload_bytes = job.stored.size();
    if (!client_.spend(job.stored.size())) return client_.loss();
    job.state.store(JobState::given, std::memory_order_release);
    ++n_given_;
    {
        const std::lock_guard lock(mutex_);
        ++sending_;
    }
    client_.tell(message, {std::as_const(job.stored).bytes()}, [this] {
        const std::lock_guard guard(mutex_);
        --sending_;
        changed_.notify_all();
    });
    return {};
}

Status RemoteSink::finish() {
    if (here_) return here_->finish();
    if (gives_back()) {  // what the service has written of it is nobody's
        for (std::size_t i = 0; i < task_.n_jobs; ++i)
            if (task_.jobs[i].elsewhere.load(std::memory_order_relaxed) &&
                task_.jobs[i].state.load(std::memory_order_acquire) == JobState::written)
                return client_.loss();  // since the lane has looked: it takes them back
        for (const store::RegionWriter::Place& place : order_.places)
            used_end_ = std::max(used_end_, place.address + place.bytes);
        return {};
    }
    if (!begun_) {  // no blocks: a manifest, or nothing
        if (Status status = begin(); !status.ok()) return here_ ? here_->finish() : status;
        ask_to_finish();
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finished_.has_value() || client_.is_lost(); });
    if (!error_.ok()) return error_;
    if (!finished_) return client_.loss();
    if (!finished_->status.ok()) return finished_->status;
    BeginDump order;
    order.places = order_.places;
    if (Status status = lies_in(*finished_, order); !status.ok()) return status;
    records_ = std::move(finished_->records);
    tails_ = std::move(finished_->tails);
    used_end_ = finished_->used_end;
    return {};
}

std::vector<writer::Finding> RemoteSink::findings() const {
    const std::lock_guard lock(mutex_);
    std::vector<writer::Finding> all;
    if (!finished_ || !finished_->status.ok()) return all;
    for (const FoundInDump& found : found_)
        all.push_back({found.dataset, found.values, found.state});
    return all;
}

bool RemoteSink::gives_back() const {
    if (here_)
        return std::any_of(task_.jobs.get(), task_.jobs.get() + task_.n_jobs, [](const Job& job) {
            return job.elsewhere.load(std::memory_order_relaxed);
        });
    if (!client_.is_lost() || !client_.writes_here()) return false;
    const std::lock_guard lock(mutex_);
    return !finished_.has_value();
}

std::shared_ptr<run::Overflow> RemoteSink::overflow() {
    /// The application's next call places what the service has given back.
    struct AtNextCall final : run::Overflow {
        bool make_whole() override { return false; }
    };
    if (here_) return here_->overflow();
    if (finished_ && finished_->is_whole) return nullptr;
    return std::make_shared<AtNextCall>();
}

void RemoteSink::end_spill() {
    if (!begun_ || client_.is_lost()) return;
    const std::uint64_t request = client_.next_number();
    (void)client_.ask(request, EndSpill{request, number_});
}

// ------------------------------------------------------------------------ the channel's thread

void RemoteSink::taken(std::uint32_t number) {
    if (number >= task_.n_jobs || client_.writes_here()) return;
    task_.jobs[number].release_sources();
}

void RemoteSink::result(const BlockResult& result, std::span<const std::byte> stored) {
    if (result.job >= task_.n_jobs) return;
    Job& job = task_.jobs[result.job];
    if (job.state.load(std::memory_order_acquire) != JobState::given) return;
    const bool overflowed = result.state == BlockState::overflowed;
    if (!job.elsewhere.load(std::memory_order_relaxed)) {
        // It has its bytes, and keeps them until the dump is finished.
        if (overflowed) job.state.store(JobState::overflowed, std::memory_order_release);
        if (overflowed) lanes_.answer_came();
        return;
    }
    job.stored_bytes = result.stored_bytes;
    job.filter_mask = result.filter_mask;
    if (result.max_error) job.max_error = *result.max_error;
    job.fell_back = result.fell_back;
    job.stored_raw = result.stored_raw;
    job.compress_s = result.compress_s;
    if (!result.statistics.empty()) {
        auto statistics = client_.pool().take(result.statistics.size());
        if (statistics.ok()) {  // without them the next tables know less
            std::memcpy(statistics->data(), result.statistics.data(), result.statistics.size());
            job.statistics = std::move(*statistics);
        }
    }
    JobState state = JobState::written;
    if (overflowed) {
        auto bytes = client_.pool().take(stored.size());
        if (bytes.ok()) {
            std::memcpy(bytes->data(), stored.data(), stored.size());
            lanes_.budget.charge(stored.size());
            job.stored = std::move(*bytes);
            state = JobState::overflowed;
        } else {
            const std::lock_guard lock(mutex_);
            if (error_.ok()) error_ = bytes.status();  // finish() says it
        }
    }
    if (!client_.writes_here()) job.release_sources();
    job.state.store(state, std::memory_order_release);
    lanes_.answer_came();
}

void RemoteSink::found(const FoundInDump& found) {
    const std::lock_guard lock(mutex_);
    found_.push_back(found);
}

bool RemoteSink::finished(const Finished& finished) {
    {
        const std::lock_guard lock(mutex_);
        if (finish_request_ == 0 || finished.request != finish_request_) return false;
        finished_ = finished;
        changed_.notify_all();
    }
    settle_open();
    return true;
}

// The dump is at its end: of what has no answer there will be none, and finish() says why.
void RemoteSink::settle_open() {
    for (std::size_t i = 0; i < task_.n_jobs; ++i) {
        Job& job = task_.jobs[i];
        job.release_sources();
        if (job.state.load(std::memory_order_acquire) != JobState::given) continue;
        if (job.stored.size() > 0) {
            lanes_.budget.release(job.stored.size());
            job.stored = base::Buffer();
        }
        job.state.store(JobState::written, std::memory_order_release);
    }
    lanes_.answer_came();
}

void RemoteSink::lost() {
    {
        const std::lock_guard lock(mutex_);
        changed_.notify_all();
        if (finished_) return;
    }
    if (client_.writes_here())
        lanes_.answer_came();
    else
        settle_open();
}

}  // namespace caesura::transit
