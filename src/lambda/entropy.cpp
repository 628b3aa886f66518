// The analysis entropy: Shannon entropy of the bit patterns of the values, in bits per value.
//
// Invariants:
//  - Every value counts, NaN and infinities by their bits too; float32 has patterns of 32 bits,
//    float64 of 64.
//  - Exact while the different patterns fit `memory_mb` (while a table grows, half as much again);
//    the result says so. Beyond, an estimate with its standard error, and the result says that.
//  - Estimate: of the patterns only those stay whose hash ends in `level` zeros, with all their
//    occurrences, so states of any parts merge. A sum over all patterns is that over the sample,
//    scaled by how many values the sample has of those it stands for (a ratio estimate; exact where
//    all patterns are equally frequent). Patterns that were 1/4096 of the values or more when
//    sampling began are kept exactly, by themselves.
//  - A pattern that is kept exactly here and was not in a part merged later is missing its
//    occurrences there: less than 1/4096 of that part for each such pattern.
// Limit: a cache miss for each value of the sample while the table is larger than the cache: 25 ns
// a value where nine of ten are alike, 110 ns where all differ.
//
// Source: S4 Table II (entropy of data sets), S4 §III-B.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "lambda/builtin.hpp"
#include "lambda/pattern_table.hpp"

namespace caesura::lambda {
namespace {

constexpr std::uint64_t k_heavy_share = 4096;

/// n log2 n, 0 for 0.
double n_log_n(std::uint64_t n) {
    const auto number = static_cast<double>(n);
    return n < 2 ? 0.0 : number * std::log2(number);
}

/// Of a table: sums over its counts, added in an order that the counts alone decide.
struct CountSums {
    double n_log_n = 0.0;
    std::uint64_t values = 0;
    std::vector<std::uint64_t> counts;  // ascending
};
CountSums sums_of(const PatternTable& table) {
    CountSums sums;
    sums.counts.reserve(table.size());
    table.for_each([&](std::uint64_t, std::uint64_t times) { sums.counts.push_back(times); });
    std::sort(sums.counts.begin(), sums.counts.end());
    for (const std::uint64_t times : sums.counts) {
        sums.n_log_n += n_log_n(times);
        sums.values += times;
    }
    return sums;
}

class Entropy : public Analysis {
  public:
    static Result<std::unique_ptr<Analysis>> make(const Arguments& arguments) {
        auto made = std::make_unique<Entropy>();
        const auto bytes = static_cast<std::size_t>(arguments.whole("memory_mb")) << 20;
        made->most_patterns_ = PatternTable::patterns_in(bytes);
        return std::unique_ptr<Analysis>(std::move(made));
    }
    Status add(const RegionView& region) override {
        with_values(region, [&](auto values) { count(values); });
        return check_memory();
    }
    Status merge(const Analysis& other) override;
    Result<Results> finish() const override;
    void save(Writer& out) const override;
    Status load(Reader& in) override;

  private:
    template <class T>
    void count(std::span<const T> values);
    void count_pattern(std::uint64_t pattern, std::uint64_t times);
    bool in_sample(std::uint64_t pattern) const {
        return (hash_of(pattern) >> 40 & ((std::uint64_t{1} << level_) - 1)) == 0;
    }
    void raise_level(int level);
    /// Values may be made so that no sampling helps.
    Status check_memory() const {
        if (table_.size() <= most_patterns_) return {};
        return {StatusCode::no_space, "entropy: these patterns fit no sample"};
    }

    std::size_t most_patterns_ = 0;
    std::uint64_t n_ = 0;  // values
    int level_ = 0;        // 0: exact
    PatternTable table_;   // the sample
    PatternTable heavy_;   // kept exactly; empty while level_ is 0
};

void Entropy::raise_level(int level) {
    if (level <= level_) return;
    PatternTable kept;
    kept.reserve(table_.size() / 2);
    const bool is_first = level_ == 0;
    level_ = level;
    table_.for_each([&](std::uint64_t pattern, std::uint64_t times) {
        if (is_first && times >= std::max<std::uint64_t>(2, n_ / k_heavy_share))
            heavy_.add(pattern, times);
        else if (in_sample(pattern))
            kept.add(pattern, times);
    });
    table_ = std::move(kept);
}

void Entropy::count_pattern(std::uint64_t pattern, std::uint64_t times) {
    if (level_ > 0 && heavy_.add_if_there(pattern, times)) return;
    if (level_ > 0 && !in_sample(pattern)) return;
    table_.add(pattern, times);
    while (table_.size() > most_patterns_ && level_ < 24) raise_level(level_ + 1);
}

template <class T>
void Entropy::count(std::span<const T> values) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr std::size_t k_ahead = 16;  // values whose slots are on their way from memory
    const auto pattern_at = [&](std::size_t i) {
        Bits bits;
        std::memcpy(&bits, &values[i], sizeof bits);
        return std::uint64_t{bits};
    };
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i + k_ahead < values.size())
            if (const std::uint64_t next = pattern_at(i + k_ahead); in_sample(next))
                table_.prefetch(next);
        ++n_;
        count_pattern(pattern_at(i), 1);
    }
}

Status Entropy::merge(const Analysis& other) {
    const auto& that = static_cast<const Entropy&>(other);
    // The one that is sampled more decides for both; what is heavy on either side stays so.
    that.heavy_.for_each([&](std::uint64_t pattern, std::uint64_t times) {
        heavy_.add(pattern, times + table_.take(pattern));
    });
    raise_level(that.level_);
    n_ += that.n_;
    that.table_.for_each(
        [&](std::uint64_t pattern, std::uint64_t times) { count_pattern(pattern, times); });
    return check_memory();
}

Result<Results> Entropy::finish() const {
    // H = log2 n - 1/n sum c log2 c over all patterns, c their counts.
    const CountSums exact = sums_of(heavy_), sample = sums_of(table_);
    const auto n = static_cast<double>(n_);
    const auto rest = static_cast<double>(n_ - std::min(n_, exact.values));
    const auto seen = static_cast<double>(sample.values);
    const double per_value = sample.values > 0 ? sample.n_log_n / seen : 0.0;
    double squares = 0.0;  // of what each pattern departs from the ratio
    for (const std::uint64_t times : sample.counts) {
        const double off = n_log_n(times) - per_value * static_cast<double>(times);
        squares += off * off;
    }
    const double share = std::ldexp(1.0, -level_);
    const double error = level_ == 0 || sample.values == 0
                             ? 0.0
                             : std::sqrt((1.0 - share) * squares) / seen * rest / n;
    const double bits = n_ == 0 ? 0.0 : std::log2(n) - (exact.n_log_n + rest * per_value) / n;
    const double patterns =
        static_cast<double>(heavy_.size()) + std::ldexp(static_cast<double>(table_.size()), level_);
    Results results;
    results.put("entropy_bits", std::max(0.0, bits));
    results.put("exact", std::int64_t{level_ == 0});
    results.put("standard_error_bits", error);
    results.put("patterns", patterns);
    results.put("sampled_share", share);
    results.put("count", static_cast<std::int64_t>(n_));
    return results;
}

void Entropy::save(Writer& out) const {
    out.u64(n_).u8(static_cast<std::uint8_t>(level_));
    for (const PatternTable* table : {&heavy_, &table_}) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
        entries.reserve(table->size());
        table->for_each([&](std::uint64_t pattern, std::uint64_t times) {
            entries.emplace_back(pattern, times);
        });
        std::sort(entries.begin(), entries.end());
        out.u64(entries.size());
        for (const auto& [pattern, times] : entries) out.u64(pattern).u64(times);
    }
}

Status Entropy::load(Reader& in) {
    n_ = in.u64();
    level_ = in.u8();
    if (level_ > 24) return corrupt("entropy: impossible level");
    std::uint64_t all = 0;
    for (PatternTable* table : {&heavy_, &table_}) {
        const std::uint64_t patterns = get_count(in, 16);
        for (std::uint64_t i = 0; i < patterns; ++i) {
            const std::uint64_t pattern = in.u64(), times = in.u64();
            if (times == 0 || times > n_ || (all += times) > n_)
                return corrupt("entropy: counts that do not fit the number of values");
            if (table == &table_ && !in_sample(pattern))
                return corrupt("entropy: a pattern that is not in the sample");
            table->add(pattern, times);
        }
    }
    if (n_ >> 60 != 0 || (level_ == 0 && (all != n_ || heavy_.size() > 0)))
        return corrupt("entropy: counts that do not fit the number of values");
    return {};
}

}  // namespace

void add_entropy(std::vector<Function>& to) {
    Function function{"entropy", Kind::analysis,
                      "Shannon entropy of the bit patterns of the values, in bits per value; exact "
                      "while the patterns fit the memory, else an estimate with its error."};
    function.parameters = {{"memory_mb", Parameter::Type::whole,
                            "Memory for patterns in MiB, a power of two: 49,152 patterns each.",
                            std::int64_t{64}, false, 1, 65536}};
    function.variants = {analysis_on_cpu<Entropy>()};
    to.push_back(std::move(function));
}

}  // namespace caesura::lambda
