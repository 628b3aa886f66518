// The analysis quantiles: a KLL sketch, of a size that does not depend on the data's.
//
// Invariants:
//  - A value at level h stands for 2^h values; the weights always add up to the count.
//  - Exact until the sketch is full, at `size` values. From then on a rank is off by at most
//    rank_error * count with 99 % probability, rank_error = 2.296 / size^0.9021: the bound that
//    Apache DataSketches measured for this scheme. Minimum and maximum are exact.
//  - Which half of a level survives is drawn from a generator whose state travels with the sketch:
//    the same regions in the same order give the same bytes.
// Limit: sorting, of pieces of 128 values and of what goes up: about 40 ns a value.
// Source: Karnin, Lang, Liberty, Optimal quantile approximation in streams, 2016. Differs: low
// levels hold k_least_capacity values, not 2: larger, more exact, and sorted in longer pieces.
#include <algorithm>
#include <cmath>

#include "lambda/builtin.hpp"
#include "lambda/pattern_table.hpp"

namespace caesura::lambda {
namespace {

constexpr std::size_t k_least_capacity = 128;
constexpr int k_most_levels = 60;

double rank_error(std::size_t size) { return 2.296 / std::pow(static_cast<double>(size), 0.9021); }

class Quantiles : public Analysis {
  public:
    static Result<std::unique_ptr<Analysis>> make(const Arguments& arguments) {
        auto made = std::make_unique<Quantiles>();
        made->size_ = static_cast<std::size_t>(arguments.whole("size"));
        made->shares_ = arguments.numbers("at");
        made->levels_.resize(1);
        made->set_capacities();
        return std::unique_ptr<Analysis>(std::move(made));
    }
    Status add(const RegionView& region) override {
        with_values(region, [&](auto values) { take(values); });
        return {};
    }
    Status merge(const Analysis& other) override;
    Result<Results> finish() const override;
    void save(Writer& out) const override;
    Status load(Reader& in) override;

  private:
    template <class T>
    void take(std::span<const T> values);
    void set_capacities();
    void count_held();
    void compact();
    void compact_level(std::size_t level);

    std::size_t size_ = 0;
    std::vector<double> shares_;
    std::vector<std::vector<double>> levels_;
    std::vector<std::size_t> capacities_;  // of levels_
    std::size_t room_ = 0, held_ = 0;      // sums over levels
    std::uint64_t count_ = 0, nan_ = 0, infinite_ = 0, draws_ = 0;
    double low_ = std::numeric_limits<double>::infinity();
    double high_ = -std::numeric_limits<double>::infinity();
};

// The top level has `size_`, each one below two thirds of the one above.
void Quantiles::set_capacities() {
    capacities_.resize(levels_.size());
    room_ = 0;
    double wanted = static_cast<double>(size_);
    for (std::size_t level = levels_.size(); level-- > 0; wanted *= 2.0 / 3.0) {
        capacities_[level] = std::max(k_least_capacity, static_cast<std::size_t>(wanted) + 1);
        room_ += capacities_[level];
    }
    capacities_.back() = size_;
    if (levels_.size() == 1) room_ = size_;
}

void Quantiles::count_held() {
    held_ = 0;
    for (const auto& level : levels_) held_ += level.size();
}

template <class T>
void Quantiles::take(std::span<const T> values) {
    std::size_t left = room_ - std::min(room_, held_);
    for (const T value : values) {
        const double x = double{value};
        if (!std::isfinite(x)) {
            ++(std::isnan(x) ? nan_ : infinite_);
            continue;
        }
        ++count_;
        low_ = std::min(low_, x);
        high_ = std::max(high_, x);
        if (left == 0) {
            count_held();
            compact();
            left = room_ - held_;
        }
        levels_[0].push_back(x);
        --left;
    }
    count_held();
}

// Every level that is full, from below, until there is room again.
void Quantiles::compact() {
    while (held_ >= room_) {
        std::size_t level = 0;
        while (levels_[level].size() < capacities_[level]) ++level;
        compact_level(level);
    }
}

// Every other one of the sorted values goes up; of an odd number the largest stays.
void Quantiles::compact_level(std::size_t level) {
    if (level + 1 == levels_.size()) {
        levels_.emplace_back();
        set_capacities();
    }
    std::vector<double>& from = levels_[level];
    std::vector<double>& to = levels_[level + 1];
    std::sort(from.begin(), from.end());
    const std::size_t pairs = from.size() / 2;
    const std::size_t offset = hash_of(draws_++) & 1;
    for (std::size_t i = 0; i < pairs; ++i) to.push_back(from[2 * i + offset]);
    from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(2 * pairs));
    held_ -= pairs;
}

Status Quantiles::merge(const Analysis& other) {
    const auto& that = static_cast<const Quantiles&>(other);
    if (that.levels_.size() > levels_.size()) levels_.resize(that.levels_.size());
    for (std::size_t level = 0; level < that.levels_.size(); ++level)
        levels_[level].insert(levels_[level].end(), that.levels_[level].begin(),
                              that.levels_[level].end());
    count_ += that.count_;
    nan_ += that.nan_;
    infinite_ += that.infinite_;
    draws_ += that.draws_;
    low_ = std::min(low_, that.low_);
    high_ = std::max(high_, that.high_);
    set_capacities();
    count_held();
    if (held_ > room_) compact();
    return {};
}

Result<Results> Quantiles::finish() const {
    std::vector<std::pair<double, std::uint64_t>> all;
    for (std::size_t level = 0; level < levels_.size(); ++level)
        for (const double value : levels_[level])
            all.emplace_back(value, std::uint64_t{1} << level);
    std::sort(all.begin(), all.end());
    const auto at = [&](double share) {
        if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
        if (share <= 0.0) return low_;
        if (share >= 1.0) return high_;
        // The least value whose rank, from 1, is at least share * count.
        const double wanted = std::ceil(share * static_cast<double>(count_));
        std::uint64_t rank = 0;
        for (const auto& [value, weight] : all)
            if (rank += weight; static_cast<double>(rank) >= wanted) return value;
        return high_;
    };
    std::vector<double> values;
    for (const double share : shares_) values.push_back(at(share));
    const bool exact = levels_.size() == 1;
    Results results;
    results.put("at", shares_);
    results.put("values", std::move(values));
    results.put("exact", std::int64_t{exact});
    results.put("rank_error", exact ? 0.0 : rank_error(size_));
    results.put("count", static_cast<std::int64_t>(count_));
    results.put("nan", static_cast<std::int64_t>(nan_));
    results.put("infinite", static_cast<std::int64_t>(infinite_));
    return results;
}

void Quantiles::save(Writer& out) const {
    out.u64(count_).u64(nan_).u64(infinite_).u64(draws_).f64(low_).f64(high_);
    out.u8(static_cast<std::uint8_t>(levels_.size()));
    for (const auto& level : levels_) {
        out.u64(level.size());
        for (const double value : level) out.f64(value);
    }
}

Status Quantiles::load(Reader& in) {
    count_ = in.u64();
    nan_ = in.u64();
    infinite_ = in.u64();
    draws_ = in.u64();
    low_ = in.f64();
    high_ = in.f64();
    const int levels = in.u8();
    if (in.ended_early()) return {};
    if (levels < 1 || levels > k_most_levels || (count_ | nan_ | infinite_) >> 60 != 0)
        return corrupt("quantiles: impossible levels or counts");
    levels_.assign(static_cast<std::size_t>(levels), {});
    std::uint64_t weight = 0;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
        levels_[level].resize(get_count(in, 8));
        if (levels_[level].size() > count_ >> level) return corrupt("quantiles: too many values");
        for (double& value : levels_[level]) {
            value = in.f64();
            if (!std::isfinite(value)) return corrupt("quantiles: a value that is not finite");
        }
        weight += std::uint64_t{levels_[level].size()} << level;
        if (weight > count_) return corrupt("quantiles: weights beyond the count");
    }
    if (weight != count_) return corrupt("quantiles: weights that miss the count");
    set_capacities();
    count_held();
    if (held_ > room_) compact();
    return {};
}

}  // namespace

void add_quantiles(std::vector<Function>& to) {
    Function function{"quantiles", Kind::analysis,
                      "Quantiles of the finite values by a sketch (KLL); a rank is off by at most "
                      "rank_error of the count, with 99 % probability."};
    function.parameters = {
        {"at", Parameter::Type::numbers, "Which, as shares of the count.",
         std::vector<double>{0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0}, false, 0.0, 1.0},
        {"size", Parameter::Type::whole,
         "Of the sketch: a rank is off by 2.296 / size^0.9021 of the count.", std::int64_t{2048},
         false, 128, 1 << 20}};
    function.variants = {analysis_on_cpu<Quantiles>()};
    to.push_back(std::move(function));
}

}  // namespace caesura::lambda
