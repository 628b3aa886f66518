#include "codec/frame/part_encoder.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "codec/bound/gaps.hpp"
#include "codec/bound/logarithm.hpp"
#include "codec/estimate/measure.hpp"
#include "codec/frame/typed_view.hpp"
#include "codec/integers/integer_encoder.hpp"

namespace caesura::codec {
namespace {

/// Past this ratio a lossy part is never compared with a lossless one: values that compress so far
/// without loss compress further with it, and the sample costs time.
constexpr std::uint64_t k_compare_below_ratio = 8;
/// A lossy part of this ratio and more is smaller than a lossless one of nearly any field.
constexpr std::uint64_t k_surely_lossy_ratio = 2;
/// Samples miss the lossless size by less than this, unless small parts repeat themselves from
/// afar.
constexpr double k_sample_error = 1.25;

/// Spots as uneven as this: most of a block is silent, and what goes on goes on in bursts.
constexpr double k_bursty = 2.0;
/// A bursty block of no more values is coded faster than it is sampled, and samples miss bursts.
constexpr std::uint64_t k_few_bursty_values = 1U << 18;

bool may_adapt(const EncodeRequest& request) {
    return request.mode != Mode::fast && request.mode != Mode::planes;
}

/// From here on samples of a few thousand places are more of one kind than the chunks that codes
/// are coded in, and say too little.
constexpr double k_uneven = 0.5;

Coding coding_of(const EncodeRequest& request, const Choice& choice) {
    return request.mode == Mode::planes ? Coding::planes : choice.coding;
}

bool is_constant(std::span<const std::byte> values, std::size_t value_bytes) {
    return values.size() >= value_bytes && values.size() % value_bytes == 0 &&
           std::memcmp(values.data(), values.data() + value_bytes, values.size() - value_bytes) ==
               0;
}

void append(PartKind kind, std::span<const std::byte> content, Output& out) {
    out.push_back(static_cast<std::byte>(kind));
    out.append(content);
}

bool is_integer(const FrameHeader& header) {
    return !header.untyped && caesura::is_integer(header.dtype);
}

IntegerTask integer_task(const Shape& shape, const EncodeRequest& request) {
    return {shape, is_signed_integer(request.header.dtype), request.tables, request.drift_check};
}

/// What was left out is in its section now. Its memory serves the next slab, unless it is large:
/// where the bound lies below the values' own rounding, nearly all of them are left out.
template <class V>
void let_go(std::vector<V>& left_out, std::size_t slab_bytes) {
    left_out.clear();
    if (left_out.capacity() * sizeof(V) > slab_bytes / 4) left_out.shrink_to_fit();
}

}  // namespace

template <class T>
struct TypedSlab {
    ExactValues<T> exact;
    LogarithmOfSlab<T> logarithm;
    FilledSlab<T> filled;
    Spots<T> spots;          // of what is predicted
    std::vector<T> aligned;  // where the caller's values do not lie where a T may
};

template <class T>
struct PreparedSlab {
    std::span<const T> coded;
    Quantiser<T> quantiser;
    bool possible = false;  ///< is there a lattice for such values and bound?
};

struct PartEncoder::Work {
    Work(PredictorScratch& scratch_memory, PartDecoder& verifier)
        : scratch(scratch_memory), decoder(verifier) {}

    PredictorScratch& scratch;
    PartDecoder& decoder;
    LosslessPacker packer;
    IntegerEncoder integers;
    const TableSet built_in;
    std::array<std::unique_ptr<EntropyEncoder>, k_codings> encoders;
    TypedSlab<float> float_values;
    TypedSlab<double> double_values;

    template <class T>
    TypedSlab<T>& typed() {
        if constexpr (sizeof(T) == sizeof(float)) {
            return float_values;
        } else {
            return double_values;
        }
    }
    EntropyEncoder& encoder(Coding coding) {
        auto& encoder = encoders[static_cast<std::size_t>(coding)];
        if (encoder == nullptr) encoder = make_entropy_encoder(coding);
        return *encoder;
    }
    void encode_exactly(std::span<const std::byte> values, std::size_t value_bytes, Output& out);
    bool lossless_is_smaller(std::span<const std::byte> values, std::size_t value_bytes,
                             std::size_t lossy_bytes, Output& lossless);
    template <class T>
    PreparedSlab<T> prepare(std::span<const T> values, const Shape& shape,
                            const ResolvedBound& resolved, PartHeader& header);
    template <class T>
    bool encode_codes(const PreparedSlab<T>& prepared, const Shape& shape, const PartHeader& header,
                      const EncodeRequest& request, std::uint64_t expected_bytes,
                      TableStatistics* statistics, Output& out);
    template <class T>
    Status finish_overrides(std::span<const T> values, const Shape& shape,
                            const EncodeRequest& request, PartHeader& header, PartWriter& part,
                            std::size_t begin, Output& out);
    Choice predict_exactly(std::span<const std::byte> values, std::size_t value_bytes);
    template <class T>
    Choice choose_by_sample(const Quantiser<T>& quantiser, const Shape& shape,
                            const EncodeRequest& request);
    template <class T>
    void choose_for_bursts(const Quantiser<T>& quantiser, const Shape& shape, Mode mode,
                           Choice& choice);
    template <class T>
    Choice predict_spots(const Quantiser<T>& quantiser, const Shape& shape,
                         const EncodeRequest& request);
    template <class T>
    std::optional<Choice> predict_in_place(const T* first, const Shape& shape, const Shape& array,
                                           const EncodeRequest& request);
    template <class T>
    Choice predict_lossy(std::span<const T> values, const Shape& shape,
                         const EncodeRequest& request, bool& possible);
    template <class T>
    Status encode_lossy(std::span<const T> values, const Shape& shape, const EncodeRequest& request,
                        TableStatistics* statistics, Output& out, bool& possible);
};

void PartEncoder::Work::encode_exactly(std::span<const std::byte> values, std::size_t value_bytes,
                                       Output& out) {
    const std::size_t begin = out.size();
    out.expect(begin + values.size() + 64);  // pages that are not used cost nothing
    append(PartKind::lossless, {}, out);
    packer.pack(values, value_bytes, out);
    if (out.size() - begin <= values.size()) return;
    out.shrink(begin);
    append(PartKind::raw, values, out);
}

bool PartEncoder::Work::lossless_is_smaller(std::span<const std::byte> values,
                                            std::size_t value_bytes, std::size_t lossy_bytes,
                                            Output& lossless) {
    if (lossy_bytes * k_compare_below_ratio < values.size()) return false;
    if (lossy_bytes < least_packed_bytes(values, value_bytes)) return false;
    const auto estimated = static_cast<double>(packer.estimate(values, value_bytes));
    if (estimated > k_sample_error * static_cast<double>(lossy_bytes) &&
        lossy_bytes <= values.size())
        return false;
    encode_exactly(values, value_bytes, lossless);
    return lossless.size() < lossy_bytes;
}

/// The section of codes; exact values are left in typed<T>().exact. Returns what
/// EntropyEncoder::finish does.
template <class T>
bool PartEncoder::Work::encode_codes(const PreparedSlab<T>& prepared, const Shape& shape,
                                     const PartHeader& header, const EncodeRequest& request,
                                     std::uint64_t expected_bytes, TableStatistics* statistics,
                                     Output& out) {
    const std::span<const T> values = prepared.coded;
    const Quantiser<T>& quantiser = prepared.quantiser;
    ExactValues<T>& exact = typed<T>().exact;
    exact.values.clear();
    exact.positions.clear();
    EntropyEncoder& sink = encoder(header.coding);
    sink.set_drift_check(request.drift_check);
    sink.begin(values.size(), *request.tables, statistics, expected_bytes, out);
    CodeWriter codes(sink);
    if (header.kind == PartKind::lorenzo) {
        encode_lorenzo(values.data(), shape, quantiser, header.lorenzo, scratch, codes, exact);
    } else {
        encode_interpolation(values.data(), shape, quantiser, header.interpolation, scratch, codes,
                             exact);
    }
    codes.finish();
    return sink.finish();
}

/// The values that will be predicted, and their lattice: the slab's own, their logarithms, or the
/// slab without its gaps.
template <class T>
PreparedSlab<T> PartEncoder::Work::prepare(std::span<const T> values, const Shape& shape,
                                           const ResolvedBound& resolved, PartHeader& header) {
    TypedSlab<T>& work = typed<T>();
    PreparedSlab<T> prepared{values, {}, false};
    work.spots.look(values, shape);
    double bound = resolved.bound;
    const auto take = [&](std::span<const T> coded) {
        header.overrides = true;
        prepared.coded = coded;
        work.spots.look(coded, shape);
    };
    if (resolved.how == ResolvedBound::How::logarithm) {
        if (!work.logarithm.transform(values, bound)) return prepared;
        take(work.logarithm.logarithms());
        header.logarithm = true;
        header.centre = work.logarithm.centre();
    } else if (has_many_gaps(work.spots.sample(), static_cast<T>(bound))) {
        work.filled.fill(values, static_cast<T>(bound));
        take(work.filled.values());
    }
    prepared.quantiser = choose_quantiser(work.spots.sample(), bound);
    prepared.possible = prepared.quantiser.bound > 0;
    if (prepared.possible) work.spots.rate(prepared.quantiser);
    header.step = static_cast<double>(prepared.quantiser.step);
    header.bound = static_cast<double>(prepared.quantiser.bound);
    return prepared;
}

/// What is put in place after prediction. Logarithms are decoded (their part begins at `begin`) to
/// see which values fail.
template <class T>
Status PartEncoder::Work::finish_overrides(std::span<const T> values, const Shape& shape,
                                           const EncodeRequest& request, PartHeader& header,
                                           PartWriter& part, std::size_t begin, Output& out) {
    std::span<const std::uint32_t> positions = typed<T>().filled.positions();
    if (header.logarithm) {
        LogarithmOfSlab<T>& logarithm = typed<T>().logarithm;
        logarithm.write_masks(packer, part, out);
        part.finish(header);
        // The logarithms have served; their place takes what a reader will see.
        const std::span<T> decoded = logarithm.logarithms();
        FrameHeader with_all_parts = request.header;
        with_all_parts.version = k_adaptive_frame_version;
        const Status status = decoder.decode(out.bytes().subspan(begin), with_all_parts, shape,
                                             request.tables, std::as_writable_bytes(decoded));
        if (!status.ok()) return {StatusCode::internal, "verifying a part: " + status.message()};
        logarithm.add_failures(values, decoded, request.header.bound.value);
        positions = logarithm.positions();
    }
    header.override_count = static_cast<std::uint32_t>(positions.size());
    write_overrides(values, positions, packer, part, out);
    return {};
}

/// Of the block that the spots lie in, which have been rated.
template <class T>
Choice PartEncoder::Work::choose_by_sample(const Quantiser<T>& quantiser, const Shape& shape,
                                           const EncodeRequest& request) {
    const Spots<T>& spots = typed<T>().spots;
    Rehearsal<T> rehearsal(spots, shape, quantiser);
    Choice choice = choose(spots, shape, quantiser, request.mode, rehearsal);
    if (may_adapt(request) && spots.unevenness() >= k_bursty)
        choose_for_bursts(quantiser, shape, request.mode, choice);
    return choice;
}

/// A few pieces tell little of a block that is bursty: both predictors are measured, and both
/// coders of their codes. Built-in tables serve to compare, whatever the block will be given.
template <class T>
void PartEncoder::Work::choose_for_bursts(const Quantiser<T>& quantiser, const Shape& shape,
                                          Mode mode, Choice& choice) {
    // Adaptive coding makes up for less than this between predictors.
    constexpr std::uint64_t k_out_of_reach = 2;
    // A brief look, which costs a quarter, is enough to pass over most large blocks.
    constexpr double k_brief_doubt = 0.15;
    struct Best {
        PartKind kind{};
        std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max() / k_out_of_reach;
        void offer(PartKind other, std::uint64_t other_bytes) {
            if (other_bytes > 0 && other_bytes < bytes) *this = {other, other_bytes};
        }
    };
    const bool is_small = shape.count() <= k_few_bursty_values;
    const auto look_at = [&](PartKind kind, Look look, std::uint64_t least_bytes) {
        choice.kind = kind;
        return measure(typed<T>().spots, shape, quantiser, choice,
                       {.look = look,
                        .tables = built_in,
                        .all_codes = is_small,
                        .adaptive_below = k_out_of_reach * least_bytes},
                       scratch);
    };
    Best rans, adaptive;
    if (!is_small) {
        const Measured brief = look_at(choice.kind, Look::brief, rans.bytes);
        if (!is_worth_adapting(brief.adaptive_bytes, brief.bytes, shape.count(), k_brief_doubt))
            return;
    }
    for (const PartKind kind : {PartKind::interpolation, PartKind::lorenzo}) {
        if (kind == PartKind::lorenzo && mode == Mode::strong) continue;
        const Measured found = look_at(kind, Look::whole, rans.bytes);
        rans.offer(kind, found.bytes);
        adaptive.offer(kind, found.adaptive_bytes);
    }
    const bool adapts = is_worth_adapting(adaptive.bytes, rans.bytes, shape.count());
    choice.kind = adapts ? adaptive.kind : rans.kind;
    choice.coding = adapts ? Coding::adaptive : Coding::rans;
    if (adapts) choice.bytes = adaptive.bytes;
}

template <class T>
Status PartEncoder::Work::encode_lossy(std::span<const T> values, const Shape& shape,
                                       const EncodeRequest& request, TableStatistics* statistics,
                                       Output& out, bool& possible) {
    const std::size_t begin = out.size();
    PartHeader header;
    const PreparedSlab<T> prepared = prepare(values, shape, request.bound, header);
    possible = prepared.possible;
    if (!possible) return {};
    const Choice choice = request.chosen != nullptr
                              ? *request.chosen
                              : choose_by_sample(prepared.quantiser, shape, request);
    header.coding = coding_of(request, choice);
    header.kind = choice.kind;
    header.lorenzo = choice.lorenzo;
    header.interpolation = choice.interpolation;
    out.expect(begin + static_cast<std::size_t>(choice.bytes + choice.bytes / 4 + 256));

    PartWriter part(header, out);
    // A block that the shared tables do not fit brings its own, whatever they are.
    header.own_tables =
        encode_codes(prepared, shape, header, request, choice.bytes, statistics, out);
    if (header.coding == Coding::rans && !header.own_tables)
        header.table_set_id = request.tables->id();
    part.end_section(Section::codes);

    ExactValues<T>& exact = typed<T>().exact;
    header.exact_count = static_cast<std::uint32_t>(exact.values.size());
    pack_values<T>(exact.values, packer, out);
    part.end_section(Section::exact_values);
    let_go(exact.values, values.size_bytes());
    if (header.kind == PartKind::lorenzo) pack_positions(exact.positions, packer, out);
    part.end_section(Section::exact_positions);
    let_go(exact.positions, values.size_bytes());
    Status status;
    if (header.overrides)
        status = finish_overrides(values, shape, request, header, part, begin, out);
    part.finish(header);
    return status;
}

PartEncoder::PartEncoder(PredictorScratch& scratch, PartDecoder& decoder)
    : work_(std::make_unique<Work>(scratch, decoder)) {}
PartEncoder::~PartEncoder() = default;

Status PartEncoder::encode(std::span<const std::byte> values, const Shape& shape,
                           const EncodeRequest& request, TableStatistics* statistics, Output& out) {
    const std::size_t begin = out.size();
    const std::size_t value_bytes = request.header.value_bytes();
    if (is_constant(values, value_bytes)) {
        append(PartKind::constant, values.first(value_bytes), out);
        return {};
    }
    if (is_integer(request.header)) {
        work_->integers.encode(values, value_bytes, integer_task(shape, request), statistics, out);
        return {};
    }
    bool possible = request.bound.how != ResolvedBound::How::exact;
    TableStatistics counts;
    TableStatistics* const counting =
        statistics != nullptr && request.mode != Mode::planes ? &counts : nullptr;
    if (possible) {
        const auto lossy = [&]<class T>(TypedSlab<T>& typed) {
            const auto view = typed_view<T>(values, typed.aligned);
            return work_->encode_lossy(view, shape, request, counting, out, possible);
        };
        const Status status = request.header.dtype == DType::float32 ? lossy(work_->float_values)
                                                                     : lossy(work_->double_values);
        if (!status.ok()) return status;
    }
    if (!possible) {
        work_->encode_exactly(values, value_bytes, out);
        return {};
    }
    Output lossless;
    if (work_->lossless_is_smaller(values, value_bytes, out.size() - begin, lossless)) {
        out.shrink(begin);
        out.append(lossless.bytes());
        return {};
    }
    if (counting != nullptr) statistics->add(counts);
    return {};
}

Choice PartEncoder::Work::predict_exactly(std::span<const std::byte> values,
                                          std::size_t value_bytes) {
    Choice choice;
    choice.kind = PartKind::lossless;
    choice.bytes = 1 + packer.estimate(values, value_bytes);
    if (choice.bytes > values.size()) {
        choice.kind = PartKind::raw;
        choice.bytes = 1 + values.size();
    }
    return choice;
}

template <class T>
Choice PartEncoder::Work::predict_lossy(std::span<const T> values, const Shape& shape,
                                        const EncodeRequest& request, bool& possible) {
    PartHeader header;
    const PreparedSlab<T> prepared = prepare(values, shape, request.bound, header);
    possible = prepared.possible;
    return possible ? predict_spots(prepared.quantiser, shape, request) : Choice();
}

/// Likewise, and what it will come to.
template <class T>
Choice PartEncoder::Work::predict_spots(const Quantiser<T>& quantiser, const Shape& shape,
                                        const EncodeRequest& request) {
    const Spots<T>& spots = typed<T>().spots;
    Choice choice =
        request.chosen != nullptr ? *request.chosen : choose_by_sample(quantiser, shape, request);
    const Coding coding = coding_of(request, choice);
    // A brief look sees too little for adaptive coding to learn from. It is compared with a whole
    // one, so rANS's bytes serve as well.
    const auto bytes = [&](Look look) {
        Measuring how{.look = look,
                      .planes = coding == Coding::planes,
                      .tables = *request.tables,
                      .drift_check = request.drift_check,
                      .all_codes = look == Look::whole && shape.count() <= k_few_bursty_values &&
                                   spots.unevenness() >= k_uneven && request.mode != Mode::planes};
        if (coding == Coding::adaptive && look == Look::whole)
            how.adaptive_below = std::numeric_limits<std::uint64_t>::max();
        const Measured found = measure(spots, shape, quantiser, choice, how, scratch);
        return found.adaptive_bytes > 0 ? found.adaptive_bytes : found.bytes;
    };
    if (request.chosen != nullptr && choice.whole_over_brief > 0) {
        choice.bytes = static_cast<std::uint64_t>(
            std::llround(static_cast<double>(bytes(Look::brief)) * choice.whole_over_brief));
        return choice;
    }
    // Where adaptive coding has just been chosen its bytes are known: no tables matter to it.
    const bool is_measured = request.chosen == nullptr && coding == Coding::adaptive;
    if (!is_measured) choice.bytes = bytes(Look::whole);
    if (request.is_first_look)
        choice.whole_over_brief =
            static_cast<double>(choice.bytes) / static_cast<double>(bytes(Look::brief));
    return choice;
}

template <class T>
std::optional<Choice> PartEncoder::Work::predict_in_place(const T* first, const Shape& shape,
                                                          const Shape& array,
                                                          const EncodeRequest& request) {
    Spots<T>& spots = typed<T>().spots;
    if (FourAxes(shape, array).stride.back() != 1) return {};
    spots.look(first, shape, array);
    if (has_many_gaps(spots.sample(), static_cast<T>(request.bound.bound))) return {};
    const Quantiser<T> quantiser = choose_quantiser(spots.sample(), request.bound.bound);
    if (!(quantiser.bound > 0)) return {};
    spots.rate(quantiser);
    const Choice choice = predict_spots(quantiser, shape, request);
    // Near what lossless coding takes, all values have to be seen.
    if (choice.bytes * k_surely_lossy_ratio > shape.count() * sizeof(T)) return {};
    return choice;
}

std::optional<Choice> PartEncoder::predict_in_place(const std::byte* first, const Shape& shape,
                                                    const Shape& array,
                                                    const EncodeRequest& request) {
    if (request.bound.how != ResolvedBound::How::absolute) return {};
    const auto predict_as = [&]<class T>(T) -> std::optional<Choice> {
        if (!is_aligned<T>(first)) return {};
        return work_->predict_in_place(reinterpret_cast<const T*>(first), shape, array, request);
    };
    return request.header.dtype == DType::float32 ? predict_as(float{}) : predict_as(double{});
}

Choice PartEncoder::predict(std::span<const std::byte> values, const Shape& shape,
                            const EncodeRequest& request) {
    const std::size_t value_bytes = request.header.value_bytes();
    if (is_constant(values, value_bytes)) {
        Choice constant;
        constant.kind = PartKind::constant;
        constant.bytes = 1 + value_bytes;
        return constant;
    }
    if (is_integer(request.header)) {
        Choice integers;
        integers.kind = PartKind::integers;
        integers.bytes = work_->integers.predict(values, value_bytes, integer_task(shape, request));
        return integers;
    }
    bool possible = request.bound.how != ResolvedBound::How::exact;
    Choice lossy;
    if (possible) {
        const auto predict_as = [&]<class T>(TypedSlab<T>& typed) {
            const auto view = typed_view<T>(values, typed.aligned);
            return work_->predict_lossy(view, shape, request, possible);
        };
        lossy = request.header.dtype == DType::float32 ? predict_as(work_->float_values)
                                                       : predict_as(work_->double_values);
    }
    // Only where encode() would compare the two.
    if (possible && (lossy.bytes * k_compare_below_ratio < values.size() ||
                     lossy.bytes < least_packed_bytes(values, value_bytes))) {
        return lossy;
    }
    const Choice exact = work_->predict_exactly(values, value_bytes);
    return possible && lossy.bytes <= exact.bytes ? lossy : exact;
}

}  // namespace caesura::codec
