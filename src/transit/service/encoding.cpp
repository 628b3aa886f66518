#include "transit/service/encoding.hpp"

#include <fmt/format.h>

#include "base/clock.hpp"

namespace caesura::transit {
namespace {

std::string_view name_of(ErrorBound::Kind kind) {
    constexpr std::array<std::string_view, 5> k_names = {"lossless", "absolute", "relative",
                                                         "pointwise_relative", "psnr"};
    return k_names[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string variant_of(const DatasetCodec& codec) {
    return fmt::format("{} {} {}", codec.spec.name, to_string(codec.dtype),
                       name_of(codec.bound.kind));
}

PlacedWork::What Encoding::what() const {
    What what;
    what.variant = recipe != nullptr ? variant_of(*recipe) : "other";
    what.field = where::field_of(job.label);
    what.label = job.label;
    what.bytes = job.valid_bytes();
    what.is_written = !for_another_service;
    return what;
}

// The values are gathered once, for those who look and for the codec. Without memory for it the
// codec says so. Gathering is a part of encoding, looking is not.
double Encoding::prepare(const base::Clock& clock) {
    if (!run::make_dense(job, pool_, gathered_).ok()) return 0.0;
    const double dense_s = clock.now_s();
    look();
    return clock.now_s() - dense_s;
}

void Encoding::on_host() {
    const base::Clock& clock = base::Clock::steady();
    const double begin_s = clock.thread_cpu_s();
    encoded = run::encode(job, pool_, &gathered_);
    compress_s = clock.thread_cpu_s() - begin_s;
}

void Encoding::on_device(BlockDevice& there, DeviceParts& parts) {
    encoded = encode_on(there, job, *recipe, pool_, parts);
    compress_s = parts.compute_s;
}

}  // namespace caesura::transit
