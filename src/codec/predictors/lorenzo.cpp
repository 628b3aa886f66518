// The Lorenzo predictor: geometry and exact values; the loops are in lorenzo_kernels.cpp.
//
// Values are rounded to the lattice first and differenced as integers modulo 2^32, so that nothing
// depends on reconstructions and everything vectorises. Overflow needs no care: differences wrap
// in the encoder and sums wrap back in the decoder.
#include <fmt/format.h>

#include "codec/kernels/lorenzo_kernels.hpp"
#include "codec/predictors/predictors.hpp"

namespace caesura::codec {
namespace {

// Rows of histories start on whole vectors; the longest vector is 16 integers.
constexpr std::size_t k_vector_values = 16;

std::size_t round_up(std::size_t n) {
    return (n + k_vector_values - 1) / k_vector_values * k_vector_values;
}

/// Rows and histories of a shape; the histories' memory comes from `scratch`.
LorenzoPlan make_plan(const Shape& shape, const LorenzoSettings& settings,
                      PredictorScratch& scratch) {
    LorenzoPlan plan;
    // Rows run along the last axis that has more than one value.
    int x = shape.rank() - 1;
    while (x > 0 && shape[x] == 1) --x;
    plan.row_values = shape[x];
    plan.along_x = ((settings.axes >> x) & 1) != 0;
    plan.n_rows = 1;
    for (int axis = 0; axis < x; ++axis) plan.n_rows *= shape[axis];
    plan.stride = round_up(plan.row_values);
    std::size_t rows = 0;
    std::size_t slice_rows = plan.n_rows;
    for (int axis = 0; axis < x; ++axis) {
        slice_rows /= shape[axis];
        if (shape[axis] == 1 || ((settings.axes >> axis) & 1) == 0) continue;
        auto& history = plan.histories[static_cast<std::size_t>(plan.n_histories++)];
        history.slice_rows = slice_rows;
        history.extent = shape[axis];
        rows += slice_rows;
    }
    auto* memory = reinterpret_cast<std::int32_t*>(
        scratch.room((rows * plan.stride + k_vector_values) * sizeof(std::int32_t)));
    for (auto& history : plan.histories) {
        history.rows = memory;
        memory += history.slice_rows * plan.stride;
    }
    return plan;
}

}  // namespace

template <class T>
void encode_lorenzo(const T* values, const Shape& shape, const Quantiser<T>& quantiser,
                    const LorenzoSettings& settings, PredictorScratch& scratch, CodeWriter& codes,
                    ExactValues<T>& exact) {
    const LorenzoPlan plan = make_plan(shape, settings, scratch);
    lorenzo_encode(plan, values, quantiser, codes, exact);
    codes.finish();
}

template <class T>
Status decode_lorenzo(T* values, const Shape& shape, const Quantiser<T>& quantiser,
                      const LorenzoSettings& settings, PredictorScratch& scratch, CodeReader& codes,
                      const ExactValues<T>& exact) {
    const std::uint64_t count = shape.count();
    if (exact.values.size() != exact.positions.size()) {
        return {StatusCode::corrupt, fmt::format("{} exact values at {} positions",
                                                 exact.values.size(), exact.positions.size())};
    }
    const LorenzoPlan plan = make_plan(shape, settings, scratch);
    lorenzo_decode(plan, values, quantiser.step, codes);
    std::uint64_t next = 0;  // the lowest position that may come
    for (std::size_t i = 0; i < exact.values.size(); ++i) {
        const std::uint64_t position = exact.positions[i];
        if (position < next || position >= count) {
            return {StatusCode::corrupt,
                    fmt::format("exact value {} lies at {}: not ascending, or outside the block of "
                                "{} values",
                                i, position, count)};
        }
        values[position] = exact.values[i];
        next = position + 1;
    }
    return {};
}

#define CAESURA_INSTANTIATE(T)                                                                    \
    template void encode_lorenzo(const T*, const Shape&, const Quantiser<T>&,                     \
                                 const LorenzoSettings&, PredictorScratch&, CodeWriter&,          \
                                 ExactValues<T>&);                                                \
    template Status decode_lorenzo(T*, const Shape&, const Quantiser<T>&, const LorenzoSettings&, \
                                   PredictorScratch&, CodeReader&, const ExactValues<T>&);
CAESURA_INSTANTIATE(float)
CAESURA_INSTANTIATE(double)
#undef CAESURA_INSTANTIATE

}  // namespace caesura::codec
