#include "transit/service/probe.hpp"

#include <cmath>
#include <new>

#include "base/clock.hpp"

namespace caesura::transit {
namespace {

// The large one first: it lasts long enough for the utilisation to be seen.
const std::array<Shape, 2> k_sample_shapes = {Shape{128, 256, 256}, Shape{32, 128, 128}};
constexpr double k_sample_bound = 1e-3;
// The first makes connections and touches memory. Two of each size are what a model needs to tell
// a block's fixed time from that of its bytes.
constexpr int k_times = 3;

}  // namespace

ProbeSamples::ProbeSamples() : values_(k_sample_shapes.front().count()) {
    std::uint32_t noise = 1;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        noise = 1664525u * noise + 1013904223u;
        values_[i] = std::sin(1e-3f * static_cast<float>(i % 65536)) +
                     0.05f * static_cast<float>(noise >> 8) / 16777216.0f;
    }
    for (const Shape& shape : k_sample_shapes) {
        Sample sample;
        sample.recipe = {{"caesura", {}, {}}, float32, shape, absolute(k_sample_bound), {}, false};
        auto codec = make_block_codec(sample.recipe.spec, float32, shape, sample.recipe.bound);
        if (!codec.ok()) continue;
        sample.codec = std::move(*codec);
        sample.values = std::span(values_).first(shape.count());
        samples_.push_back(std::move(sample));
    }
}

void ProbeSamples::Sample::fill(run::Job& job) const {
    const Box box{Shape::filled(recipe.chunk.rank(), 0), recipe.chunk};
    job.label = "sample";
    job.dtype = float32;
    job.chunk_box = box;
    job.valid = recipe.chunk;
    job.codec = codec.get();
    job.pieces = {{box, box, reinterpret_cast<const std::byte*>(values.data()), nullptr}};
}

std::optional<where::Run> Probe::run(const ProbeSamples::Sample& sample) {
    run::Job job;
    sample.fill(job);
    if (device_ != nullptr && !device_->takes(job, sample.recipe)) return std::nullopt;
    const base::Clock& clock = base::Clock::steady();
    DeviceParts parts;
    where::Run run;
    (void)utilisation_();  // it looks at what was since it was asked last
    const double begin_s = clock.now_s();
    const auto encoded = device_ == nullptr ? run::encode(job, pool_)
                                            : encode_on(*device_, job, sample.recipe, pool_, parts);
    const double took_s = clock.now_s() - begin_s;
    if (!encoded.ok()) return std::nullopt;
    run.utilisation = utilisation_();
    run.bytes = static_cast<double>(job.valid_bytes());
    run.result_bytes = static_cast<double>(encoded->stored.size());
    run.to_s = parts.to_s;
    run.from_s = parts.from_s;
    run.compute_s = std::max(1e-9, took_s - parts.to_s - parts.from_s);
    return run;
}

void Probe::compute() {
    try {
        for (const ProbeSamples::Sample& sample : samples_->samples())
            for (int time = 0; time < k_times; ++time) {
                const auto seen = run(sample);
                if (!seen) break;
                if (time > 0) runs_.push_back(*seen);
            }
    } catch (const std::bad_alloc&) {  // what was seen so far counts
    }
    give_up();
}

void Probe::give_up() {
    samples_.reset();
    done_.store(true, std::memory_order_release);
}

}  // namespace caesura::transit
