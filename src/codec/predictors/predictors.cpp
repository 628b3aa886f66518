#include "codec/predictors/predictors.hpp"

#include <fmt/format.h>

#include <new>

namespace caesura::codec {
namespace {

constexpr std::align_val_t k_alignment{64};

}  // namespace

void PredictorScratch::Free::operator()(std::byte* memory) const {
    ::operator delete(memory, k_alignment);
}

std::byte* PredictorScratch::room(std::size_t bytes) {
    if (bytes > bytes_ || memory_ == nullptr) {
        memory_.reset();  // first, so that old and new never count together
        bytes_ = 0;
        memory_.reset(static_cast<std::byte*>(::operator new(bytes, k_alignment)));
        bytes_ = bytes;
    }
    return memory_.get();
}

Status valid(const LorenzoSettings& settings, int rank) {
    if (rank < 1 || rank > k_max_rank || settings.axes > 0x0f) {
        return {StatusCode::corrupt,
                fmt::format("Lorenzo axes {:#x} at rank {}: only bits 0 to 3 may be set",
                            settings.axes, rank)};
    }
    return {};
}

Status valid(const InterpolationSettings& settings, int rank) {
    const auto wrong = [](const char* setting, int value) {
        return Status{StatusCode::corrupt,
                      fmt::format("interpolation setting {} is {}: out of range", setting, value)};
    };
    if (rank < 1 || rank > k_max_rank) return wrong("rank", rank);
    unsigned seen = 0;
    for (int i = 0; i < rank; ++i) {
        const auto index = static_cast<std::size_t>(i);
        if (settings.order[index] >= rank) return wrong("order", settings.order[index]);
        seen |= 1U << settings.order[index];
        if (settings.feedback[index] > 15) return wrong("feedback", settings.feedback[index]);
    }
    if (seen != (1U << rank) - 1) {
        return {StatusCode::corrupt, "interpolation setting order names an axis twice"};
    }
    if (settings.cubic > 0x0f) return wrong("cubic", settings.cubic);
    if (settings.alpha < 16 || settings.alpha > 64) return wrong("alpha", settings.alpha);
    if (settings.beta < 16 || settings.beta > 64) return wrong("beta", settings.beta);
    return {};
}

}  // namespace caesura::codec
