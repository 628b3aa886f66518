#include "checkpoint/word_runner.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace caesura::checkpoint {

using device::Transfer;

namespace {

/// What compressing as many checkpoints as fit the cache with all it takes adds to them and their
/// parcel. More of them add no less, so it is enough for fewer; one more than these does not fit.
std::uint64_t header_bytes_for(const device::Device& device,
                               const plan::CheckpointProfile& expected) {
    const std::uint64_t bytes = std::max<std::uint64_t>(expected.checkpoint_bytes, 1);
    const auto header = [&](std::uint64_t n) {
        return device.parcel_bytes(n, n * bytes) - n * bytes;
    };
    std::uint64_t fit = 0, do_not = expected.cache_bytes / 2 / bytes + 1;
    while (fit + 1 < do_not) {
        const std::uint64_t n = fit + (do_not - fit) / 2;
        (2 * n * bytes + header(n) <= expected.cache_bytes ? fit : do_not) = n;
    }
    const std::uint64_t one_more = 2 * (fit + 1) * bytes;
    const std::uint64_t spare =
        expected.cache_bytes >= one_more ? expected.cache_bytes - one_more + 1 : 0;
    return std::max(header(std::max<std::uint64_t>(fit, 1)), spare);
}

}  // namespace

WordRunner::WordRunner(device::Device& device, plan::HorizonPlanner planner,
                       plan::CheckpointProfile expected, std::string word, Arrival arrival,
                       device::Content content)
    : device_(device),
      planner_(std::move(planner)),
      expected_(std::move(expected)),
      word_(std::move(word)),
      arrival_(std::move(arrival)),
      content_(content),
      pool_(device, expected_.cache_bytes),
      left_s_(device.now_s()) {}

Result<std::unique_ptr<WordRunner>> WordRunner::create(device::Device& device,
                                                       plan::CheckpointProfile expected,
                                                       std::string word, Arrival arrival,
                                                       device::Content content,
                                                       std::size_t checkpoints) {
    if (Status status = validate(content, expected.checkpoint_bytes, device.coder()); !status.ok())
        return status;
    const std::uint64_t header_bytes = header_bytes_for(device, expected);
    if (expected.header_bytes == 0) expected.header_bytes = header_bytes;
    Result<plan::HorizonPlanner> planner = plan::HorizonPlanner::create(expected, checkpoints);
    if (!planner.ok()) return planner.status();
    if (expected.header_bytes < header_bytes)
        return Status{
            StatusCode::invalid_argument,
            fmt::format("header_bytes is {}; compressing as many checkpoints as fit the cache adds "
                        "up to {}",
                        expected.header_bytes, header_bytes)};
    const std::uint64_t one = 2 * expected.checkpoint_bytes;
    if (is_nvcomp(device.coder()) && one <= expected.cache_bytes &&
        one + header_bytes > expected.cache_bytes)
        return Status{
            StatusCode::invalid_argument,
            fmt::format("in a cache of {} bytes {} cannot compress one checkpoint of {}, for what "
                        "it needs beside; give more, or smaller CudaOptions::work_bytes",
                        expected.cache_bytes, to_string(device.coder()),
                        expected.checkpoint_bytes)};
    return std::unique_ptr<WordRunner>(new WordRunner(device, *std::move(planner),
                                                      std::move(expected), std::move(word),
                                                      std::move(arrival), content));
}

WordRunner::~WordRunner() {
    for (const Queued& queued : queued_) (void)device_.wait(queued.transfer);
}

Status WordRunner::sticky(Status status) {
    if (error_.ok()) error_ = std::move(status);
    return error_;
}

// ------------------------------------------------------------------------------------ a checkpoint

Status WordRunner::checkpoint(std::uint64_t id, const std::byte* data) {
    if (!error_.ok()) return error_;
    const double begin_s = device_.now_s();
    Status status = make(id, data);
    if (status.ok()) status = device_.wait_for_work();  // the data are the caller's again
    left_s_ = device_.now_s();
    executed_.stopped_s += left_s_ - begin_s;
    return sticky(status.ok() ? Status{} : status.with_context(fmt::format("checkpoint {}", id)));
}

Status WordRunner::make(std::uint64_t id, const std::byte* data) {
    if (Status status = poll(); !status.ok()) return status;
    const double interval_s = device_.now_s() - left_s_ + copied_s_;
    const Result<char> letter = decide(interval_s);
    if (!letter.ok()) return letter.status();
    intervals_s_.push_back(interval_s);
    shares_.push_back(0.0);
    executed_.word += *letter;
    executed_.raw_bytes += expected_.checkpoint_bytes;

    const Result<std::byte*> memory = take(expected_.checkpoint_bytes);
    if (!memory.ok()) return memory.status();
    held_.push_back({id, *memory});
    const double copy_begin_s = device_.now_s();
    if (Status status = device_.copy(*memory, data, expected_.checkpoint_bytes); !status.ok())
        return status;
    copied_s_ = device_.now_s() - copy_begin_s;
    if (*letter == 'U') return send_held_raw();
    return *letter == 'A' ? Status{} : compress_held();
}

Result<char> WordRunner::decide(double interval_s) {
    const std::size_t made = shares_.size();
    if (made >= word_.size()) return planner_.next(now_with(interval_s));
    const char letter = word_[made];
    const bool fits = 2 * (held_bytes() + expected_.checkpoint_bytes) + expected_.header_bytes <=
                      expected_.cache_bytes;
    if (std::string_view("UCAX").find(letter) == std::string_view::npos ||
        (!held_.empty() && (letter == 'U' || letter == 'C')) || (letter != 'U' && !fits))
        return Status{StatusCode::invalid_argument,
                      fmt::format("letter {} of the word, {}: not possible with {} bytes held in a "
                                  "cache of {}",
                                  made, letter, held_bytes(), expected_.cache_bytes)};
    return letter;
}

plan::HorizonNow WordRunner::now_with(double interval_s) {
    seen_.clear();
    const double now_s = device_.now_s();
    // What has not arrived by the time it was expected is expected now.
    for (const Queued& queued : queued_)
        seen_.push_back(
            {std::max(queued.end_s, now_s), static_cast<double>(queued.arrived.bytes.size())});
    return {now_s, interval_s, held_bytes(), seen_};
}

Result<std::byte*> WordRunner::take(std::uint64_t bytes) {
    while (pool_.free_bytes() < bytes && !queued_.empty()) {
        ++executed_.waits;
        if (Status status = device_.wait(queued_.front().transfer); !status.ok()) return status;
        if (Status status = arrive_oldest(); !status.ok()) return status;
    }
    return pool_.take(bytes);
}

// ------------------------------------------------------------------------------ what becomes of it

Status WordRunner::send_held_raw() {
    for (const Held& held : held_)
        if (Status status =
                to_link(held.memory, expected_.checkpoint_bytes, Arrived{{held.id}, false, {}});
            !status.ok())
            return status;
    held_.clear();
    return {};
}

Status WordRunner::compress_held() {
    const std::uint64_t room = device_.parcel_bytes(held_.size(), held_bytes());
    const Result<std::byte*> temporary = take(room);
    if (!temporary.ok()) return temporary.status();
    std::vector<std::span<const std::byte>> pieces;
    Arrived arrived{{}, true, {}};
    for (const Held& held : held_) {
        pieces.emplace_back(held.memory, expected_.checkpoint_bytes);
        arrived.ids.push_back(held.id);
    }
    const double begin_s = device_.now_s();
    const Result<std::uint64_t> bytes = device_.compress(pieces, content_, {*temporary, room});
    if (!bytes.ok()) {
        (void)pool_.give_back(*temporary);  // the room is for what is restored from the host now
        return bytes.status();
    }
    planner_.compressed(held_bytes(), *bytes, device_.now_s() - begin_s);
    const double share = static_cast<double>(*bytes) / static_cast<double>(held_bytes());
    std::fill_n(shares_.rbegin(), held_.size(), share);
    if (*bytes >= held_bytes()) {  // nothing was won
        if (Status status = pool_.give_back(*temporary); !status.ok()) return status;
        return send_held_raw();
    }
    for (const Held& held : held_)
        if (Status status = pool_.give_back(held.memory); !status.ok()) return status;
    held_.clear();
    const Result<std::byte*> exact = pool_.take(*bytes);
    if (!exact.ok()) return exact.status();
    if (Status status = device_.copy(*exact, *temporary, *bytes); !status.ok()) return status;
    if (Status status = pool_.give_back(*temporary); !status.ok()) return status;
    return to_link(*exact, *bytes, std::move(arrived));
}

Status WordRunner::to_link(std::byte* memory, std::uint64_t bytes, Arrived arrived) {
    arrived.bytes = HostBytes(bytes);
    Queued queued{0, memory, 0.0, std::move(arrived)};
    const Result<Transfer> transfer = device_.to_host(queued.arrived.bytes.span(), memory);
    if (!transfer.ok()) return transfer.status();
    queued.transfer = *transfer;
    link_s_ = std::max(link_s_, device_.now_s()) +
              static_cast<double>(bytes) / expected_.link_bytes_per_s;
    queued.end_s = link_s_;
    executed_.link_bytes += bytes;
    queued_bytes_ += bytes;
    queued_.push_back(std::move(queued));
    return {};
}

// ------------------------------------------------------------------------------------- at the host

Status WordRunner::arrive_oldest() {
    Queued queued = std::move(queued_.front());
    queued_.pop_front();
    queued_bytes_ -= queued.arrived.bytes.size();
    const Status freed = pool_.give_back(queued.memory);
    const Status handed = arrival_(std::move(queued.arrived));
    has_gap_ = !handed.ok();
    return handed.ok() ? freed : handed;
}

/// After an error too: the link has carried it, and it can be restored.
Status WordRunner::hand_over(bool waits) {
    while (!queued_.empty() && !has_gap_) {
        const Transfer oldest = queued_.front().transfer;
        Result<bool> done = true;
        if (waits) {
            if (Status status = device_.wait(oldest); !status.ok()) done = status;
        } else {
            done = device_.is_done(oldest);
        }
        if (!done.ok()) return sticky(done.status());
        if (!*done) break;
        if (Status status = arrive_oldest(); !status.ok()) (void)sticky(status);
    }
    return error_;
}

Status WordRunner::poll() { return hand_over(false); }

Status WordRunner::finish() {
    if (error_.ok() && !held_.empty()) {
        const bool compress = planner_.finish(now_with(0.0)) == 'X';
        (void)sticky(compress ? compress_held() : send_held_raw());
    }
    (void)hand_over(true);
    if (!error_.ok()) {  // what is held goes nowhere; its room is for what is restored
        for (const Held& held : held_) (void)pool_.give_back(held.memory);
        held_.clear();
        return error_;
    }
    left_s_ = device_.now_s();
    return {};
}

plan::CheckpointProfile WordRunner::recorded() const {
    plan::CheckpointProfile profile = expected_;
    profile.intervals_s = intervals_s_;
    profile.compressed_bytes.clear();
    const auto known = std::find_if(shares_.begin(), shares_.end(), [](double s) { return s > 0; });
    double share = known == shares_.end() ? 0.0 : *known;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        if (shares_[i] > 0.0) share = shares_[i];
        const bool foreseen = share == 0.0 && i < expected_.compressed_bytes.size();
        profile.compressed_bytes.push_back(
            foreseen ? expected_.compressed_bytes[i]
                     : static_cast<std::uint64_t>((share > 0.0 ? share : 1.0) *
                                                  static_cast<double>(expected_.checkpoint_bytes)));
    }
    return profile;
}

}  // namespace caesura::checkpoint
