#include "transit/service/dispatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

namespace caesura::transit {
namespace {

constexpr std::size_t k_errors = 32;
constexpr double k_us = 1e6;
constexpr std::uint64_t k_nobody = ~std::uint64_t{0};  // the client of samples

}  // namespace

// --------------------------------------------------------------------------- the dispatch

Dispatch::Dispatch(Press& host, Options options, std::vector<std::unique_ptr<BlockDevice>> devices)
    : options_(std::move(options)), placer_(options_.placer) {
    places_.push_back(std::make_unique<Place>());
    places_[0]->press = &host;
    places_[0]->at_once = options_.host_threads;
    placer_.add("cpu", options_.host_threads);
    for (auto& device : devices) {
        Place& place = *places_.emplace_back(std::make_unique<Place>());
        place.at_once = device->at_once();
        placer_.add(device->label(), place.at_once);
        place.device = std::move(device);
        // Threads that mostly wait for the device.
        place.own_press = std::make_unique<Press>(Press::Options{place.at_once, false});
        place.press = place.own_press.get();
    }
    if (options_.probe) start_probes();
    // S4's running average is kept as it is.
    if (places_.size() < 2 || options_.placer.rule == where::Rule::average) return;
    for (std::size_t i = 0; i < places_.size(); ++i)
        places_[i]->press->when_free([this, i] { return help(i); });
}

void Dispatch::stop() {
    // The host's workers may outlive this.
    places_[0]->press->when_free({});
    if (!probes_.empty()) {
        places_[0]->press->forget(k_nobody);
        base::Event nothing;
        while (!probes_[0]->done()) nothing.wait(nothing.count(), 0.001);
    }
    for (const auto& place : places_)
        if (place->own_press) place->own_press->stop();
}

void Dispatch::start_probes() {
    std::shared_ptr<const ProbeSamples> samples;
    try {
        samples = std::make_shared<ProbeSamples>();
    } catch (const std::bad_alloc&) {
        return;  // then the first blocks are the samples
    }
    for (const auto& place : places_) {
        BlockDevice* const device = place->device.get();
        probes_.push_back(std::make_unique<Probe>(samples, device, [this, device] {
            return device == nullptr ? host_utilisation() : device->utilisation();
        }));
    }
    for (std::size_t i = 0; i < places_.size(); ++i)
        places_[i]->press->give(k_nobody, 1.0, 0.0, *probes_[i]);
}

// Under the lock.
void Dispatch::learn_probes() {
    for (std::size_t i = 0; i < probes_.size(); ++i) {
        if (places_[i]->is_calibrated || !probes_[i]->done()) continue;
        for (const where::Run& run : probes_[i]->runs()) placer_.calibrate(i, run);
        places_[i]->is_calibrated = true;
    }
}

bool Dispatch::is_probed() const {
    return std::all_of(probes_.begin(), probes_.end(),
                       [](const auto& probe) { return probe->done(); });
}

double Dispatch::host_utilisation() const {
    const double now_s = options_.clock->now_s();
    return options_.host_utilisation ? options_.host_utilisation(now_s) : sampled_.share(now_s);
}

std::vector<where::Present> Dispatch::present(const PlacedWork& work, double now_s) const {
    std::vector<where::Present> all;
    for (const auto& place : places_) {
        where::Present& one = all.emplace_back();
        one.waiting = place->waiting.load(std::memory_order_relaxed);
        one.waiting_s =
            static_cast<double>(place->expected_us.load(std::memory_order_relaxed)) / k_us;
        one.running_since_s = place->running_since_s.load(std::memory_order_relaxed);
        if (place->device) {
            one.takes_it = !work.is_the_hosts() && work.is_taken_by(*place->device) &&
                           !(work.for_another_service && place->device->is_remote());
            one.utilisation = place->device->utilisation();
            continue;
        }
        // A core that another block of ours has is as busy as one that others have.
        const int cores = std::max(1, place->at_once);
        const auto ours =
            static_cast<double>(std::min(one.waiting, static_cast<std::size_t>(cores - 1)));
        const double others =
            options_.host_utilisation ? options_.host_utilisation(now_s) : sampled_.share(now_s);
        one.utilisation = std::min(1.0, others + ours / cores);
    }
    return all;
}

void Dispatch::enter(PlacedWork& work, std::size_t place, double expected_s) {
    work.place_ = place;
    work.expected_us_ = static_cast<std::int64_t>(std::clamp(expected_s, 0.0, 1e6) * k_us);
    places_[place]->waiting.fetch_add(1, std::memory_order_relaxed);
    places_[place]->expected_us.fetch_add(work.expected_us_, std::memory_order_relaxed);
}

// Small regions of many are quick, and what they take is nobody's to know without other devices.
bool Dispatch::has_choice(const PlacedWork& work) const {
    return places_.size() > 1 || work.what_.function == "compress";
}

void Dispatch::give(std::uint64_t client, double weight, double cost, PlacedWork& work) {
    work.dispatch_ = this;
    work.client_ = client;
    work.weight_ = weight;
    work.cost_ = cost;
    work.given_s_ = options_.clock->now_s();
    work.what_ = work.what();
    work.request_.variant = work.what_.variant;
    work.request_.field = work.what_.field;
    work.request_.bytes = static_cast<double>(work.what_.bytes);
    work.request_.is_like_samples = work.what_.is_like_samples;
    work.request_.is_on_host_too = work.what_.is_in_memory;
    for (std::size_t i = 1; i < places_.size() && !work.what_.lies_on.empty(); ++i)
        if (places_[i]->device->has_memory_of(work.what_.lies_on)) work.request_.from = i;
    auto now = present(work, work.given_s_);
    now[0].takes_it = !options_.host_last;
    std::optional<where::Decision> decision;
    if (has_choice(work)) {
        const std::lock_guard lock(mutex_);
        learn_probes();
        if (work.what_.is_written) work.request_.result_s_per_byte = write_s_per_byte_;
        decision = placer_.choose(work.request_, now, work.given_s_);
    }
    if (decision) work.decision_ = std::move(*decision);  // else the host's: it takes everything
    work.utilisation_ = now[work.decision_.device].utilisation;
    enter(work, work.decision_.device, work.decision_.service_s);
    const std::size_t place = work.place_;
    const bool on_host = place == 0;
    places_[place]->press->give(client, weight, on_host ? cost : work.decision_.service_s, work,
                                work.done_s);
    // Others sleep when there is nothing that waits.
    const std::size_t waiting = places_[place]->waiting.load(std::memory_order_relaxed);
    if (waiting == static_cast<std::size_t>(places_[place]->at_once) + 1)
        for (const auto& other : places_) other->press->look_again();
}

void Dispatch::go_to_host(PlacedWork& work) {
    // A device that cannot do this one may do others.
    if (work.failure_.code() != StatusCode::unsupported || work.what_.function == "compress") {
        const std::lock_guard lock(mutex_);
        placer_.failed(work.place_, options_.clock->now_s());
    }
    double expected_s = work.cost_;
    if (!work.decision_.options.empty()) expected_s = work.decision_.options[0].expected.compute_s;
    move(work, 0, expected_s);
}

// ------------------------------------------------------------------- blocks that wait elsewhere

// Would the free device have it done sooner than the one whose last it is? By a margin: predictions
// err, and moving a block to and fro helps nobody. Called under the lock of the busy one's queue.
bool Dispatch::is_sooner(const PlacedWork& work, std::size_t free, std::size_t busy, double now_s) {
    constexpr double k_margin = 0.9, k_margin_unknown = 0.5;
    constexpr int k_most_moves = 3;
    if (work.failed_ || work.is_the_hosts() || work.moves_ >= k_most_moves) return false;
    auto now = present(work, now_s);
    if (options_.host_last) now[0].takes_it = false;
    now[busy].waiting -= std::min<std::size_t>(now[busy].waiting, 1);
    now[busy].waiting_s =
        std::max(0.0, now[busy].waiting_s - static_cast<double>(work.expected_us_) / k_us);
    std::vector<where::Option> options;
    {
        const std::lock_guard lock(mutex_);
        options = placer_.options(work.request_, now, now_s);
    }
    const bool is_known = options[free].expected.known != plan::Known::nothing;
    return options[free].latency_s <
           (is_known ? k_margin : k_margin_unknown) * options[busy].latency_s;
}

PlacedWork* Dispatch::take_for(std::size_t free, std::size_t busy, double now_s) {
    Work* const taken = places_[busy]->press->take_back([&](Work& work) {
        const auto* const placed = dynamic_cast<const PlacedWork*>(&work);
        return placed != nullptr && placed->dispatch_ == this &&
               is_sooner(*placed, free, busy, now_s);
    });
    return static_cast<PlacedWork*>(taken);
}

// @return seconds until it is worth to look again: what waits elsewhere may come to wait longer.
double Dispatch::help(std::size_t free) {
    constexpr double k_look_again_s = 0.005;
    const double now_s = options_.clock->now_s();
    bool any = false;
    for (std::size_t busy = 0; busy < places_.size(); ++busy) {
        const Place& place = *places_[busy];
        const std::size_t waiting = place.waiting.load(std::memory_order_relaxed);
        if (busy == free || waiting <= static_cast<std::size_t>(place.at_once)) continue;
        any = true;
        if (PlacedWork* const work = take_for(free, busy, now_s)) {
            work->leave();
            ++work->moves_;
            double expected_s = work->cost_;
            if (free < work->decision_.options.size()) {
                const where::Expected& expected = work->decision_.options[free].expected;
                expected_s = expected.to_s + expected.compute_s + expected.from_s;
            }
            move(*work, free, expected_s);
            return base::Event::k_forever_s;  // the queue that has it asks again
        }
    }
    return any ? k_look_again_s : base::Event::k_forever_s;
}

void Dispatch::move(PlacedWork& work, std::size_t to, double expected_s) {
    enter(work, to, expected_s);
    work.utilisation_ = to == 0 ? host_utilisation() : places_[to]->device->utilisation();
    places_[to]->press->give(work.client_, work.weight_, to == 0 ? work.cost_ : expected_s, work,
                             work.done_s);
}

double Dispatch::utilisation_of(const PlacedWork& work) const {
    return work.place_ == 0 ? host_utilisation() : places_[work.place_]->device->utilisation();
}

void Dispatch::forget(std::uint64_t client) {
    for (const auto& place : places_) place->press->forget(client);
}

void Dispatch::wrote(std::uint64_t bytes, double seconds) {
    constexpr double k_gain = 0.1;
    if (bytes == 0 || !(seconds >= 0.0)) return;
    const std::lock_guard lock(mutex_);
    const double seen = seconds / static_cast<double>(bytes);
    write_s_per_byte_ += (write_s_per_byte_ > 0.0 ? k_gain : 1.0) * (seen - write_s_per_byte_);
}

void Dispatch::learn(PlacedWork& work) {
    if (work.dispatch_ != this) return;
    Placed placed;
    const bool is_done = work.outcome().ok();
    const bool is_block = work.what_.function == "compress";
    placed.function = work.what_.function;
    placed.label = work.what_.label;
    placed.variant = work.request_.variant;
    placed.field = work.request_.field;
    placed.bytes = work.what_.bytes;
    placed.result_bytes = is_done ? work.result_bytes() : 0;
    placed.result_s_per_byte = work.request_.result_s_per_byte;
    placed.lay_on = work.what_.lies_on;
    placed.failed = work.failed_;
    placed.device = work.place_;
    placed.moved = work.moves_ > 0 && work.place_ != work.decision_.device;
    placed.why = work.failure_.message();
    placed.given_s = work.given_s_;
    placed.begun_s = work.begun_s_;
    placed.ended_s = work.ended_s_;
    where::Run& run = placed.run;
    run.bytes = work.request_.bytes;
    run.result_bytes = static_cast<double>(placed.result_bytes);
    const double service_s = work.ended_s_ - work.begun_s_;
    if (work.place_ == 0) {
        run.compute_s = std::max(1e-9, service_s - work.fetched_s_);
        run.utilisation = work.utilisation_;
    } else {
        // What is neither of the ways is the device's, gathering included.
        run.to_s = work.parts_.to_s;
        run.from_s = work.parts_.from_s;
        run.compute_s = std::max(1e-9, service_s - run.to_s - run.from_s - work.fetched_s_);
        run.utilisation = places_[work.place_]->device->utilisation();
    }
    const double took_s = work.ended_s_ - work.given_s_;
    if (is_done) {
        const std::lock_guard lock(mutex_);
        Place& place = *places_[work.place_];
        if (work.fetched_s_ > 0.0 && work.request_.from != where::k_host)
            placer_.fetched(work.request_.from, run.bytes, work.fetched_s_);
        ++(is_block ? place.blocks : place.regions);
        place.bytes += placed.bytes;
        const double predicted_s = work.decision_.predicted_s();
        if (!work.failed_ && !placed.moved && predicted_s > 0.0) {
            const double writing_s = run.result_bytes * work.request_.result_s_per_byte;
            place.errors.push_back(std::fabs((took_s + writing_s) / predicted_s - 1.0));
            if (place.errors.size() > k_errors) place.errors.pop_front();
        }
        // After a failure: what the host took, which nobody had chosen.
        if (work.failed_ || placed.moved)
            placer_.moved(work.request_, work.decision_, work.place_, run);
        else if (has_choice(work))
            placer_.done(work.request_, work.decision_, run, took_s);
    }
    placed.decision = std::move(work.decision_);
    if (options_.trace && placed.begun_s > 0.0) options_.trace(placed);
}

std::size_t Dispatch::at_once_beside() const {
    std::size_t all = 0;
    for (std::size_t i = 1; i < places_.size(); ++i)
        all += static_cast<std::size_t>(places_[i]->at_once);
    return all;
}

std::size_t Dispatch::waiting() const {
    std::size_t waiting = 0;
    for (const auto& place : places_)
        if (place->own_press) waiting += place->own_press->waiting();
    return waiting;
}

std::vector<DeviceStatus> Dispatch::status() const {
    const double now_s = options_.clock->now_s();
    std::vector<DeviceStatus> all;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const Place& place = *places_[i];
        DeviceStatus& one = all.emplace_back();
        one.name = placer_.name(i);
        one.blocks = place.blocks;
        one.regions = place.regions;
        one.bytes = place.bytes;
        one.failures = placer_.failures(i);
        one.waiting = place.waiting.load(std::memory_order_relaxed);
        one.utilisation = place.device ? place.device->utilisation() : host_utilisation();
        one.paused_s = std::max(0.0, placer_.paused_until_s(i) - now_s);
        one.to_bytes_per_s = placer_.record(i).to().bytes_per_s();
        one.from_bytes_per_s = placer_.record(i).from().bytes_per_s();
        if (place.errors.empty()) continue;
        std::vector<double> errors(place.errors.begin(), place.errors.end());
        std::nth_element(errors.begin(), errors.begin() + errors.size() / 2, errors.end());
        one.error = errors[errors.size() / 2];
    }
    return all;
}

}  // namespace caesura::transit
