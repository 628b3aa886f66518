// The analysis histogram: finite values in bins of equal width.
//
// Invariants:
//  - Bin i holds edge(i) <= x < edge(i+1), the last one x = high too, with edge(i) = i * (high -
//    low) / bins + low: the counts of numpy.histogram on float64. Nothing is rounded away: every
//    value is in a bin, below, above, NaN or infinite.
//  - Without low or high a first pass over the regions finds it.
// Limit: the counting of values one by one, about 2.5 ns each; memory is eight times as fast.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/invalid.hpp"
#include "codec/kernels/range_kernels.hpp"
#include "lambda/builtin.hpp"

namespace caesura::lambda {
namespace {

constexpr std::uint64_t k_most_counted = std::uint64_t{1} << 60;

class Histogram : public Analysis {
  public:
    static Result<std::unique_ptr<Analysis>> make(const Arguments& arguments);

    Status add(const RegionView& region) override;
    Reduction reduction() const override {
        if (edges_.empty()) return {Reduction::Kind::moments};  // the first pass finds extremes
        return {Reduction::Kind::counts, edges_};
    }
    Status add_reduced(const RegionView& place, const Reduced& reduced) override;
    Status merge(const Analysis& other) override;
    Result<Results> finish() const override;
    int passes_left() const override { return edges_.empty() ? 1 : 0; }
    Status next_pass() override;
    void save(Writer& out) const override;
    Status load(Reader& in) override;

  private:
    Status set_range(double low, double high);
    template <class T>
    void count(std::span<const T> values);
    void count_outside(double value);

    std::size_t bins_ = 1;
    std::optional<double> given_low_, given_high_;
    double seen_low_ = std::numeric_limits<double>::infinity();
    double seen_high_ = -std::numeric_limits<double>::infinity();
    std::vector<double> edges_;  // [bins_ + 1]; empty: the range is not known yet
    std::vector<std::uint64_t> counts_;
    std::vector<std::uint64_t> more_counts_;  // zeros, but within count()
    std::uint64_t below_ = 0, above_ = 0, nan_ = 0, infinite_ = 0;
};

Result<std::unique_ptr<Analysis>> Histogram::make(const Arguments& arguments) {
    auto made = std::make_unique<Histogram>();
    made->bins_ = static_cast<std::size_t>(arguments.whole("bins"));
    if (arguments.has("low")) made->given_low_ = arguments.number("low");
    if (arguments.has("high")) made->given_high_ = arguments.number("high");
    if (made->given_low_ && made->given_high_)
        if (Status status = made->set_range(*made->given_low_, *made->given_high_); !status.ok())
            return status;
    return std::unique_ptr<Analysis>(std::move(made));
}

Status Histogram::set_range(double low, double high) {
    if (!(low < high) || !std::isfinite(high - low) ||
        !std::isfinite(static_cast<double>(bins_) / (high - low)))
        return base::invalid("histogram: low=" + text(low) + " and high=" + text(high) +
                             " are no range");
    edges_.resize(bins_ + 1);
    counts_.assign(bins_, 0);
    more_counts_.assign(bins_, 0);
    const double step = (high - low) / static_cast<double>(bins_);
    for (std::size_t i = 0; i < bins_; ++i) edges_[i] = static_cast<double>(i) * step + low;
    edges_[bins_] = high;
    return {};
}

// A guess is off by a bin at most, where rounding moves a value over an edge.
template <class T>
void Histogram::count(std::span<const T> values) {
    constexpr std::size_t k_block = 1024;
    std::array<std::int32_t, k_block> guesses;
    const double low = edges_.front(), high = edges_.back();
    const double scale = static_cast<double>(bins_) / (high - low);
    const double* edges = edges_.data();
    const auto last = static_cast<std::int32_t>(bins_ - 1);
    // Two in turn: to add to one place twice in a row takes longer.
    std::uint64_t* counts[] = {counts_.data(), more_counts_.data()};
    for (std::size_t begin = 0; begin < values.size(); begin += k_block) {
        const std::size_t n = std::min(k_block, values.size() - begin);
        const T* block = values.data() + begin;
        for (std::size_t i = 0; i < n; ++i) {
            const double x = double{block[i]};
            const bool inside = x >= low && x <= high;
            guesses[i] = inside ? static_cast<std::int32_t>((x - low) * scale) : -1;
        }
        for (std::size_t i = 0; i < n; ++i) {
            if (guesses[i] < 0) {
                count_outside(double{block[i]});
                continue;
            }
            const double x = double{block[i]};
            std::int32_t bin = std::min(guesses[i], last);
            if (x < edges[bin])
                --bin;
            else if (bin < last && x >= edges[bin + 1])
                ++bin;
            ++counts[i & 1][bin];
        }
    }
    for (std::size_t i = 0; i < bins_; ++i) counts_[i] += std::exchange(more_counts_[i], 0);
}

void Histogram::count_outside(double value) {
    if (std::isfinite(value))
        ++(value < edges_.front() ? below_ : above_);
    else
        ++(std::isnan(value) ? nan_ : infinite_);
}

Status Histogram::add(const RegionView& region) {
    with_values(region, [&](auto values) {
        if (!edges_.empty()) return count(values);
        const auto found = codec::finite_extremes(values.data(), values.size());
        seen_low_ = std::min(seen_low_, double{found.lowest});
        seen_high_ = std::max(seen_high_, double{found.highest});
    });
    return {};
}

Status Histogram::add_reduced(const RegionView&, const Reduced& reduced) {
    if (edges_.empty()) {
        seen_low_ = std::min(seen_low_, reduced.moments.low);
        seen_high_ = std::max(seen_high_, reduced.moments.high);
        return {};
    }
    if (reduced.counts.size() != counts_.size())
        return base::invalid("histogram: counts of " + std::to_string(reduced.counts.size()) +
                             " bins in place of " + std::to_string(counts_.size()));
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += reduced.counts[i];
    below_ += reduced.below;
    above_ += reduced.above;
    nan_ += reduced.nan;
    infinite_ += reduced.infinite;
    return {};
}

Status Histogram::merge(const Analysis& other) {
    const auto& that = static_cast<const Histogram&>(other);
    if (edges_ != that.edges_)
        return base::invalid(
            "histogram: states of different ranges; after the first pass all "
            "servers go on from one state");
    seen_low_ = std::min(seen_low_, that.seen_low_);
    seen_high_ = std::max(seen_high_, that.seen_high_);
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += that.counts_[i];
    below_ += that.below_;
    above_ += that.above_;
    nan_ += that.nan_;
    infinite_ += that.infinite_;
    return {};
}

// As numpy: 0 to 1 for no values, one wide for a single one.
Status Histogram::next_pass() {
    double low = given_low_.value_or(seen_low_), high = given_high_.value_or(seen_high_);
    if (seen_low_ > seen_high_) {
        low = given_low_.value_or(given_high_ ? *given_high_ - 1.0 : 0.0);
        high = given_high_.value_or(low + 1.0);
    } else if (low >= high && !given_low_ && !given_high_) {
        low -= 0.5;
        high += 0.5;
    } else if (low >= high) {  // all values lie beyond the side that is given
        (given_low_ ? high : low) = given_low_ ? low + 1.0 : high - 1.0;
    }
    return set_range(low, high);
}

Result<Results> Histogram::finish() const {
    Results results;
    std::vector<std::int64_t> counts(counts_.begin(), counts_.end());
    const auto inside = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    results.put("low", edges_.front());
    results.put("high", edges_.back());
    results.put("counts", std::move(counts));
    results.put("below", static_cast<std::int64_t>(below_));
    results.put("above", static_cast<std::int64_t>(above_));
    results.put("count", inside + static_cast<std::int64_t>(below_ + above_));
    results.put("nan", static_cast<std::int64_t>(nan_));
    results.put("infinite", static_cast<std::int64_t>(infinite_));
    return results;
}

void Histogram::save(Writer& out) const {
    const bool counts = !edges_.empty();
    out.u8(counts ? 1 : 0).f64(seen_low_).f64(seen_high_);
    if (!counts) return;
    out.f64(edges_.front()).f64(edges_.back());
    out.u64(below_).u64(above_).u64(nan_).u64(infinite_);
    for (const std::uint64_t count : counts_) out.u64(count);
}

Status Histogram::load(Reader& in) {
    const bool counts = in.u8() != 0;
    seen_low_ = in.f64();
    seen_high_ = in.f64();
    if (!counts) return edges_.empty() ? Status() : corrupt("a pass that it does not have");
    const double low = in.f64(), high = in.f64();
    below_ = in.u64();
    above_ = in.u64();
    nan_ = in.u64();
    infinite_ = in.u64();
    if (in.ended_early() || in.rest().size() < 8 * bins_) return cut_short("histogram");
    if (Status status = set_range(low, high); !status.ok()) return corrupt(status.message());
    std::uint64_t all = 0;
    bool possible = (!given_low_ || *given_low_ == low) && (!given_high_ || *given_high_ == high);
    const auto take = [&](std::uint64_t count) {
        possible = possible && count < k_most_counted && (all += count) < k_most_counted;
    };
    for (const std::uint64_t count : {below_, above_, nan_, infinite_}) take(count);
    for (std::uint64_t& count : counts_) take(count = in.u64());
    return possible ? Status() : corrupt("histogram: impossible range or counts");
}

}  // namespace

void add_histogram(std::vector<Function>& to) {
    Function function{"histogram", Kind::analysis,
                      "Counts of the finite values in bins of equal width."};
    function.parameters = {
        {"bins", Parameter::Type::whole, "How many bins.", std::int64_t{64}, false, 1, 1 << 20},
        {"low", Parameter::Type::number,
         "Where the first bin begins; without it a first pass finds the least value."},
        {"high", Parameter::Type::number,
         "Where the last bin ends; without it a first pass finds the greatest value."}};
    function.variants = {analysis_on_cpu<Histogram>({Device::gpu, Device::remote})};
    to.push_back(std::move(function));
}

}  // namespace caesura::lambda
