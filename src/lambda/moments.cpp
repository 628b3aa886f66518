#include "lambda/moments.hpp"

#include <algorithm>
#include <cmath>

#include "lambda/builtin.hpp"

namespace caesura::lambda {
namespace {

constexpr double k_no_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
void add_blocks(Moments& to, std::span<const T> values) {
    for (std::size_t begin = 0; begin < values.size(); begin += Moments::k_block) {
        const auto block = values.subspan(begin, std::min(Moments::k_block, values.size() - begin));
        const auto first =
            std::find_if(block.begin(), block.end(), [](T value) { return std::isfinite(value); });
        const double shift = first == block.end() ? 0.0 : double{*first};
        to.add(block_sums(block.data(), block.size(), shift), block.size(), shift);
    }
}

enum class Wanted : std::uint8_t { low, high, mean, variance, all };

/// The analyses min, max, mean, variance and stats.
class MomentsAnalysis : public Analysis {
  public:
    MomentsAnalysis(Wanted wanted, std::int64_t ddof) : wanted_(wanted), ddof_(ddof) {}
    Status add(const RegionView& region) override {
        with_values(region, [&](auto values) { moments_.add(values); });
        return {};
    }
    Reduction reduction() const override { return {Reduction::Kind::moments}; }
    Status add_reduced(const RegionView&, const Reduced& reduced) override {
        moments_.merge(reduced.moments);
        return {};
    }
    Status merge(const Analysis& other) override {
        moments_.merge(static_cast<const MomentsAnalysis&>(other).moments_);
        return {};
    }
    Result<Results> finish() const override;
    void save(Writer& out) const override { moments_.save(out); }
    Status load(Reader& in) override { return moments_.load(in); }

  private:
    Wanted wanted_;
    std::int64_t ddof_;
    Moments moments_;
};

Result<Results> MomentsAnalysis::finish() const {
    const Moments& m = moments_;
    const bool any = m.count > 0;
    const auto wants = [&](Wanted what) { return wanted_ == what || wanted_ == Wanted::all; };
    Results results;
    if (wants(Wanted::low)) results.put("min", any ? m.low : k_no_number);
    if (wants(Wanted::high)) results.put("max", any ? m.high : k_no_number);
    if (wants(Wanted::mean)) results.put("mean", any ? m.mean() : k_no_number);
    if (wants(Wanted::variance)) results.put("variance", m.variance(ddof_));
    results.put("count", static_cast<std::int64_t>(m.count));
    results.put("nan", static_cast<std::int64_t>(m.nan));
    results.put("infinite", static_cast<std::int64_t>(m.infinite));
    return results;
}

Function moments_function(std::string name, std::string help, Wanted wanted) {
    Function function{std::move(name), Kind::analysis, std::move(help)};
    const bool has_variance = wanted == Wanted::variance || wanted == Wanted::all;
    if (has_variance)
        function.parameters.push_back({"ddof", Parameter::Type::whole,
                                       "The variance is divided by the count less this.",
                                       std::int64_t{0}, false, 0, 1});
    Variant variant{Device::cpu, "plain", "on the host's cores"};
    variant.also_on = {Device::gpu, Device::remote};
    variant.make_analysis =
        [wanted, has_variance](const Arguments& given) -> Result<std::unique_ptr<Analysis>> {
        const std::int64_t ddof = has_variance ? given.whole("ddof") : 0;
        return std::unique_ptr<Analysis>(std::make_unique<MomentsAnalysis>(wanted, ddof));
    };
    function.variants.push_back(std::move(variant));
    return function;
}

}  // namespace

void Moments::add(std::span<const float> values) { add_blocks(*this, values); }
void Moments::add(std::span<const double> values) { add_blocks(*this, values); }

void Moments::add(const BlockSums& sums, std::size_t values, double shift) {
    Moments part;
    part.count = sums.finite;
    part.nan = sums.nan;
    part.infinite = values - sums.finite - sums.nan;
    if (part.count > 0) {
        const auto n = static_cast<double>(part.count);
        part.low = sums.low;
        part.high = sums.high;
        part.origin = shift;
        part.offset = sums.sum / n;
        part.squares = std::max(0.0, sums.squares - sums.sum * sums.sum / n);
    }
    merge(part);
}

void Moments::merge(const Moments& other) {
    nan += other.nan;
    infinite += other.infinite;
    if (other.count == 0) return;
    const auto n_here = static_cast<double>(count), n_there = static_cast<double>(other.count);
    const double share = n_there / (n_here + n_there);
    if (count == 0) {
        origin = other.origin;
        offset = other.offset;
        squares = other.squares;
    } else {
        const double apart = (other.origin - origin) + (other.offset - offset);
        offset += apart * share;
        squares += other.squares + apart * apart * n_here * share;
    }
    count += other.count;
    low = std::min(low, other.low);
    high = std::max(high, other.high);
}

double Moments::variance(std::int64_t ddof) const {
    if (count <= static_cast<std::uint64_t>(ddof)) return k_no_number;
    return squares / (static_cast<double>(count) - static_cast<double>(ddof));
}

void Moments::save(Writer& out) const {
    out.u64(count).u64(nan).u64(infinite).f64(low).f64(high).f64(origin).f64(offset).f64(squares);
}

Status Moments::load(Reader& in) {
    count = in.u64();
    nan = in.u64();
    infinite = in.u64();
    low = in.f64();
    high = in.f64();
    origin = in.f64();
    offset = in.f64();
    squares = in.f64();
    if (in.ended_early()) return {};
    constexpr std::uint64_t k_most = std::uint64_t{1} << 60;
    if (count > k_most || nan > k_most || infinite > k_most) return corrupt("impossible counts");
    return {};
}

void add_moments(std::vector<Function>& to) {
    to.push_back(moments_function("min", "The smallest finite value.", Wanted::low));
    to.push_back(moments_function("max", "The largest finite value.", Wanted::high));
    to.push_back(moments_function("mean", "The mean of the finite values.", Wanted::mean));
    to.push_back(
        moments_function("variance", "The variance of the finite values.", Wanted::variance));
    to.push_back(moments_function(
        "stats", "Minimum, maximum, mean and variance of the finite values.", Wanted::all));
}

}  // namespace caesura::lambda
