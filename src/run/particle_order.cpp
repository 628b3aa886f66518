#include "run/particle_order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "run/hilbert.hpp"

namespace caesura::run {

/// A record's values of the chunk, dense.
struct ParticleOrder::Values {
    const Record* record = nullptr;
    const std::byte* data = nullptr;
    Held gathered;
};

namespace {

constexpr std::size_t k_most_axes = 3;

/// `call` gets a null pointer to the type. @return  false: it has no numbers that we know.
template <class Call>
bool with_type(DType dtype, Call call) {
    switch (dtype) {
        case DType::float32:
            return call(static_cast<const float*>(nullptr)), true;
        case DType::float64:
            return call(static_cast<const double*>(nullptr)), true;
        case DType::int8:
            return call(static_cast<const std::int8_t*>(nullptr)), true;
        case DType::int16:
            return call(static_cast<const std::int16_t*>(nullptr)), true;
        case DType::int32:
            return call(static_cast<const std::int32_t*>(nullptr)), true;
        case DType::int64:
            return call(static_cast<const std::int64_t*>(nullptr)), true;
        case DType::uint8:
            return call(static_cast<const std::uint8_t*>(nullptr)), true;
        case DType::uint16:
            return call(static_cast<const std::uint16_t*>(nullptr)), true;
        case DType::uint32:
            return call(static_cast<const std::uint32_t*>(nullptr)), true;
        case DType::uint64:
            return call(static_cast<const std::uint64_t*>(nullptr)), true;
        default:
            return false;
    }
}

/// One axis of the cells: cell = (value - low) * scale, at most `last`.
struct Axis {
    const std::byte* values = nullptr;
    DType dtype = float32;
    double low = 0.0, scale = 0.0;
};

struct Extent {
    double low = 0.0, length = 0.0;  ///< of the finite values
};

// Several at a time, so that the compiler can use vectors; NaN compares false.
template <class T>
Extent extent_of(const T* values, std::uint64_t count) {
    constexpr std::uint64_t k_lanes = 16;
    std::array<T, k_lanes> least, most;
    least.fill(std::numeric_limits<T>::max());
    most.fill(std::numeric_limits<T>::lowest());
    const auto look = [&](T value, std::uint64_t lane) {
        const bool finite =
            value >= std::numeric_limits<T>::lowest() && value <= std::numeric_limits<T>::max();
        least[lane] = (finite & (value < least[lane])) ? value : least[lane];
        most[lane] = (finite & (value > most[lane])) ? value : most[lane];
    };
    std::uint64_t i = 0;
    for (; i + k_lanes <= count; i += k_lanes)
        for (std::uint64_t lane = 0; lane < k_lanes; ++lane) look(values[i + lane], lane);
    for (; i < count; ++i) look(values[i], 0);
    const auto low = static_cast<double>(*std::min_element(least.begin(), least.end()));
    const auto high = static_cast<double>(*std::max_element(most.begin(), most.end()));
    return high >= low ? Extent{low, high - low} : Extent{};
}

/// NaN is in cell 0.
template <class T>
void to_cells(const T* values, std::uint64_t count, const Axis& axis, double last,
              std::uint32_t* cells) {
    for (std::uint64_t i = 0; i < count; ++i) {
        double cell = (static_cast<double>(values[i]) - axis.low) * axis.scale;
        cell = cell >= 0.0 ? cell : 0.0;
        cells[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(cell < last ? cell : last));
    }
}

constexpr int k_digit_bits = 10;
constexpr std::size_t k_digits = 3, k_digit_values = std::size_t{1} << k_digit_bits;
using Histograms = std::array<std::array<std::uint32_t, k_digit_values>, k_digits>;

/// Key and number of each particle, and how often each digit of keys comes.
template <int k_axes>
void make_keys(std::span<const Axis> axes, std::uint64_t count, std::uint64_t* pairs,
               Histograms& histograms) {
    constexpr std::uint64_t k_block = 256;
    std::array<std::array<std::uint32_t, k_block>, k_axes> cells;
    for (std::uint64_t at = 0; at < count; at += k_block) {
        const std::uint64_t n = std::min(k_block, count - at);
        for (std::size_t a = 0; a < k_axes; ++a)
            with_type(axes[a].dtype, [&](auto* type) {
                to_cells(reinterpret_cast<decltype(type)>(axes[a].values) + at, n, axes[a],
                         double{Hilbert<k_axes>::k_side - 1}, cells[a].data());
            });
        for (std::uint64_t i = 0; i < n; ++i) {
            std::array<std::uint32_t, k_axes> cell;
            for (std::size_t a = 0; a < k_axes; ++a) cell[a] = cells[a][i];
            cells[0][i] = Hilbert<k_axes>::interleaved(cell);
        }
        for (std::uint64_t i = 0; i < n; ++i) cells[0][i] = Hilbert<k_axes>::key_of(cells[0][i]);
        for (std::uint64_t i = 0; i < n; ++i) {
            const std::uint32_t key = cells[0][i];
            pairs[at + i] = std::uint64_t{key} << 32 | (at + i);
            for (std::size_t digit = 0; digit < k_digits; ++digit)
                ++histograms[digit][key >> (k_digit_bits * digit) & (k_digit_values - 1)];
        }
    }
}

/// Stable, by keys. @return  where they are then: `pairs` or `other`.
std::uint64_t* sort_pairs(std::uint64_t* pairs, std::uint64_t* other, std::uint64_t count,
                          Histograms& histograms) {
    for (std::size_t digit = 0; digit < k_digits; ++digit) {
        auto& starts = histograms[digit];
        const int shift = 32 + k_digit_bits * static_cast<int>(digit);
        const auto of = [shift](std::uint64_t pair) {
            return static_cast<std::size_t>(pair >> shift) & (k_digit_values - 1);
        };
        if (starts[of(pairs[0])] == count) continue;
        std::uint32_t begin = 0;
        for (std::uint32_t& start : starts) begin += std::exchange(start, begin);
        for (std::uint64_t i = 0; i < count; ++i) other[starts[of(pairs[i])]++] = pairs[i];
        std::swap(pairs, other);
    }
    return pairs;
}

/// About the bits that a coder of differences needs for such a one: in steps of twice the bound.
double bits_of(double steps) {
    return std::isfinite(steps) ? std::log2(1.0 + std::abs(steps)) : 64.0;
}

/// A lossless float as a number of which steps are those between neighbours.
template <class T>
double ordered(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
        const auto bits = std::bit_cast<Bits>(value);
        return static_cast<double>(bits < 0 ? std::numeric_limits<Bits>::min() - bits : bits);
    } else {
        return static_cast<double>(value);
    }
}

/// Bits of a value of a record that follows two others in an order, by first and by second
/// differences.
struct Cost {
    double first = 0.0, second = 0.0;
    double least() const { return std::min(first, second); }
};

template <class T>
void add_cost(const T* values, const std::array<std::uint64_t, 3>& at, const ErrorBound& bound,
              Cost& cost) {
    using Kind = ErrorBound::Kind;
    std::array<double, 3> v;
    const bool exact = bound.kind == Kind::lossless || std::is_integral_v<T>;
    for (std::size_t i = 0; i < 3; ++i)
        v[i] = exact ? ordered(values[at[i]]) : static_cast<double>(values[at[i]]);
    double step = 1.0;
    if (!exact)
        step = 2.0 * bound.value * (bound.kind == Kind::pointwise_relative ? std::abs(v[2]) : 1.0);
    cost.first += bits_of((v[2] - v[1]) / step);
    cost.second += bits_of((v[2] - 2.0 * v[1] + v[0]) / step);
}

}  // namespace

ParticleOrder::ParticleOrder(std::vector<Record> records, std::vector<std::uint64_t> stretches,
                             base::MemoryBudget& budget)
    : records_(std::move(records)), stretches_(std::move(stretches)), budget_(budget) {}

void ParticleOrder::join() {
    users_.fetch_add(1, std::memory_order_relaxed);
    for (const Record& record : records_)
        for (const PutPart& piece : record.pieces)
            if (piece.snapshot) piece.snapshot->readers.fetch_add(1, std::memory_order_relaxed);
}

void ParticleOrder::leave() {
    for (const Record& record : records_)
        for (const PutPart& piece : record.pieces)
            if (piece.snapshot) piece.snapshot->release_reader();
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) release();
}

void ParticleOrder::release() { const Held gone = std::exchange(order_, {}); }

Result<ParticleOrder::Held> ParticleOrder::take(base::BufferPool& pool, std::uint64_t bytes) const {
    auto taken = pool.take(bytes);
    if (!taken.ok()) return taken.status();
    return Held{std::move(*taken), base::Charge(budget_, bytes)};
}

Status ParticleOrder::dense(const Record& record, base::BufferPool& pool, Values& values) const {
    values.record = &record;
    const std::size_t value_bytes = size_of(record.dtype);
    const auto at = [&](const PutPart& piece) {
        return piece.source + (piece.part.offset[0] - piece.source_box.offset[0]) * value_bytes;
    };
    if (record.pieces.size() == 1) {
        values.data = at(record.pieces[0]);
        return {};
    }
    auto taken = take(pool, count() * value_bytes);
    if (!taken.ok()) return taken.status();
    values.gathered = std::move(*taken);
    for (const PutPart& piece : record.pieces)
        std::memcpy(values.gathered.buffer.data() +
                        (piece.part.offset[0] - stretches_.front()) * value_bytes,
                    at(piece), piece.part.extent[0] * value_bytes);
    values.data = values.gathered.buffer.data();
    return {};
}

// Cells are cubes in units of the bounds, if all positions have one: so far from each other is what
// a difference costs. Of the longest axis there are as many as the curve has room for.
void ParticleOrder::sort(std::span<const Values> positions, std::uint64_t begin, std::uint64_t end,
                         std::span<std::uint64_t> scratch, std::uint32_t* order) const {
    const std::uint64_t n = end - begin;
    std::array<Axis, k_most_axes> axes;
    std::array<double, k_most_axes> unit;
    const bool bounded = std::all_of(positions.begin(), positions.end(), [](const Values& one) {
        return one.record->bound.kind == ErrorBound::Kind::absolute && one.record->bound.value > 0;
    });
    double longest = 0.0;
    for (std::size_t a = 0; a < positions.size(); ++a) {
        const Record& record = *positions[a].record;
        axes[a] = {positions[a].data + begin * size_of(record.dtype), record.dtype, 0.0, 0.0};
        Extent extent;
        with_type(record.dtype, [&](auto* type) {
            extent = extent_of(reinterpret_cast<decltype(type)>(axes[a].values), n);
        });
        unit[a] = bounded ? record.bound.value : 1.0;
        axes[a].low = extent.low;
        longest = std::max(longest, extent.length / unit[a]);
    }
    Histograms histograms{};
    const auto with_keys = [&]<int k_axes>() {
        const double cells = double{Hilbert<k_axes>::k_side};
        for (std::size_t a = 0; a < k_axes; ++a) {
            const double scale = cells / (longest * unit[a]);
            axes[a].scale = std::isfinite(scale) ? scale : 0.0;
        }
        make_keys<k_axes>({axes.data(), k_axes}, n, scratch.data(), histograms);
    };
    if (positions.size() == 1) with_keys.template operator()<1>();
    if (positions.size() == 2) with_keys.template operator()<2>();
    if (positions.size() == 3) with_keys.template operator()<3>();
    const std::uint64_t* const sorted =
        sort_pairs(scratch.data(), scratch.data() + n, n, histograms);
    for (std::uint64_t i = 0; i < n; ++i)
        order[begin + i] = static_cast<std::uint32_t>(begin + (sorted[i] & 0xFFFFFFFF));
}

namespace {

/// Of a sample, over all records: will they be smaller in this order? It must be by a little: what
/// is gained is certain, and reordering takes time.
template <class ValuesOf>
bool saves(std::span<const std::uint32_t> order, std::size_t records, const ValuesOf& values_of) {
    constexpr std::uint64_t k_looks = 128;
    constexpr double k_at_most = 0.98;
    const std::uint64_t n = order.size();
    if (n < 4) return false;
    const std::uint64_t step = std::max<std::uint64_t>(1, (n - 2) / k_looks);
    double as_given = 0.0, in_order = 0.0;
    for (std::size_t r = 0; r < records; ++r) {
        const auto [dtype, bound, data] = values_of(r);
        Cost before, after;
        with_type(dtype, [&, data = data, &bound = bound](auto* type) {
            const auto* const values = reinterpret_cast<decltype(type)>(data);
            for (std::uint64_t i = 0; i + 2 < n; i += step) {
                add_cost(values, {i, i + 1, i + 2}, bound, before);
                add_cost(values, {order[i], order[i + 1], order[i + 2]}, bound, after);
            }
        });
        as_given += before.least();
        in_order += after.least();
    }
    return in_order < k_at_most * as_given;
}

struct Sampled {
    DType dtype;
    ErrorBound bound;
    const std::byte* data;
};

}  // namespace

Result<std::span<const std::uint32_t>> ParticleOrder::find(base::BufferPool& pool, Held& own) {
    using Order = std::span<const std::uint32_t>;
    const State state = state_.load(std::memory_order_acquire);
    if (state == State::as_given) return Order{};
    if (state == State::known)
        return Order{reinterpret_cast<const std::uint32_t*>(order_.buffer.data()), count()};
    std::vector<Values> values(records_.size());
    std::vector<Values> positions;
    for (std::size_t r = 0; r < records_.size(); ++r) {
        if (Status status = dense(records_[r], pool, values[r]); !status.ok()) return status;
        if (records_[r].is_position && positions.size() < k_most_axes)
            positions.push_back({&records_[r], values[r].data, {}});
    }
    auto scratch = take(pool, 2 * count() * sizeof(std::uint64_t));
    if (!scratch.ok()) return scratch.status();
    auto made = take(pool, count() * sizeof(std::uint32_t));
    if (!made.ok()) return made.status();
    auto* const order = reinterpret_cast<std::uint32_t*>(made->buffer.data());
    const std::span pairs(reinterpret_cast<std::uint64_t*>(scratch->buffer.data()), 2 * count());
    for (std::size_t s = 0; s + 1 < stretches_.size(); ++s)
        if (stretches_[s + 1] > stretches_[s])
            sort(positions, stretches_[s] - stretches_.front(),
                 stretches_[s + 1] - stretches_.front(), pairs, order);
    const bool better =
        !positions.empty() && saves(Order{order, count()}, records_.size(), [&](std::size_t r) {
            return Sampled{records_[r].dtype, records_[r].bound, values[r].data};
        });
    // The first order is kept. A second thread uses its own, which is the same: the first may
    // be a thread that gets no time before it has published.
    const Order found = better ? Order{order, count()} : Order{};
    if (publishing_.exchange(true, std::memory_order_acq_rel)) {
        own = std::move(*made);
        return found;
    }
    if (better) order_ = std::move(*made);
    state_.store(better ? State::known : State::as_given, std::memory_order_release);
    return found;
}

void put_in_order(std::span<const std::uint32_t> order, const std::byte* values,
                  std::size_t value_bytes, std::byte* out) {
    const auto of_type = [&](auto type) {
        using T = decltype(type);
        const auto* const from = reinterpret_cast<const T*>(values);
        auto* const to = reinterpret_cast<T*>(out);
        for (std::size_t i = 0; i < order.size(); ++i) to[i] = from[order[i]];
    };
    if (value_bytes == 8) return of_type(std::uint64_t{});
    if (value_bytes == 4) return of_type(std::uint32_t{});
    if (value_bytes == 2) return of_type(std::uint16_t{});
    if (value_bytes == 1) return of_type(std::uint8_t{});
    for (std::size_t i = 0; i < order.size(); ++i)
        std::memcpy(out + i * value_bytes, values + order[i] * value_bytes, value_bytes);
}

}  // namespace caesura::run
