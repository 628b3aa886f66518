#include "codec/integers/integer_choice.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "codec/entropy/code_cost.hpp"

namespace caesura::codec {
namespace {

constexpr std::size_t k_ranking_pieces = 12;
constexpr std::size_t k_measuring_pieces = 48;
constexpr std::size_t k_run_values = 4 * k_planes_piece;
constexpr double k_head_bytes = 24;
/// Codes of more bits cost as much as bit planes do, and no fewer than their low bytes do.
constexpr int k_code_bits = 30;
/// Bit planes take longer, so they have to be this much smaller.
constexpr double k_planes_gain = 0.999;
constexpr double k_bytes_gain = 0.97;

template <class U>
class Chooser {
  public:
    Chooser(std::span<const U> values, const IntegerTask& task, LosslessPacker& packer,
            PlanesWriter& planes)
        : values_(values),
          task_(task),
          flip_(sign_bit<U>(task.is_signed)),
          packer_(packer),
          planes_(planes) {}

    IntegerChoice choose() {
        rank_all();
        std::stable_sort(ranked_.begin(), ranked_.end(),
                         [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
        IntegerChoice best = measured_by_codes(ranked_[0]);
        if (ranked_.size() > 1) take_smaller(measured_by_codes(ranked_[1]), 1, best);
        // Next to nothing is left: nothing is to be won.
        if (best.bytes < 64 + static_cast<double>(values_.size()) / 2000) return best;
        for (IntegerChoice& one : for_planes()) take_smaller(by_planes(one), k_planes_gain, best);
        if (best.bytes * 100 > static_cast<double>(values_.size_bytes())) {
            IntegerChoice bytes;
            bytes.bytes_only = true;
            bytes.bytes =
                1 + static_cast<double>(packer_.estimate(std::as_bytes(values_), sizeof(U)));
            take_smaller(bytes, k_bytes_gain, best);
        }
        return best;
    }

    double closer_estimate(const IntegerChoice& choice) {
        constexpr std::size_t k_runs = 8;
        if (choice.bytes_only || choice.head.coder != IntegerCoder::planes) return choice.bytes;
        return by_planes(choice, k_runs).bytes;
    }

  private:
    struct Piece {
        std::uint64_t first;
        std::size_t n;
    };

    static void take_smaller(IntegerChoice one, double gain, IntegerChoice& best) {
        if (one.bytes < gain * best.bytes) best = std::move(one);
    }

    /// Spread evenly.
    std::vector<Piece> pieces(std::size_t most) const {
        const std::size_t all = (values_.size() + k_integer_piece - 1) / k_integer_piece;
        const std::size_t count = std::min(all, most);
        std::vector<Piece> picked;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t first = (2 * i + 1) * all / (2 * count) * k_integer_piece;
            picked.push_back({first, std::min(k_integer_piece, values_.size() - first)});
        }
        return picked;
    }

    std::vector<Neighbours> neighbourhoods() const {
        std::vector<Neighbours> all = {{}, {false, 1}, {false, 2}, {true, 1}};
        const Shape& shape = task_.shape;
        const std::uint64_t n = values_.size();
        const std::uint64_t row = shape[shape.rank() - 1];
        if (shape.rank() < 2 || row < 2 || row >= n || row >= k_most_predicted_values) return all;
        all.push_back({false, 0, row});
        all.push_back({false, 1, row});
        all.push_back({true, 0, row});
        if (shape.rank() < 3) return all;
        const std::uint64_t plane = row * shape[shape.rank() - 2];
        if (plane == row || plane >= n || plane >= k_most_predicted_values) return all;
        all.push_back({false, 1, row, plane});
        all.push_back({false, 0, plane});
        all.push_back({true, 0, plane});
        return all;
    }

    void rank_all() {
        const auto picked = pieces(k_ranking_pieces);
        std::vector<U> sample(picked.size() * k_integer_piece);
        for (const Neighbours& by : neighbourhoods()) {
            std::size_t n = 0;
            for (const Piece& piece : picked) {
                kernels_.residuals(values_.data(), piece.first, piece.n, by, &sample[n]);
                n += piece.n;
            }
            rank_mappings(by, std::span(sample).first(n));
        }
        IntegerChoice smallest;
        smallest.head.transform.form = IntegerForm::smallest;
        rank(std::move(smallest), picked);
        look_for_dictionary(picked);
    }

    /// The residuals as distances to their smallest, or on either side of their median.
    void rank_mappings(const Neighbours& by, std::span<const U> sample) {
        const bool as_signed = by != Neighbours{} || task_.is_signed;
        const U flip = by.exclusive_or ? U{0} : sign_bit<U>(as_signed);
        std::vector<U> some;
        constexpr std::size_t k_some = 512;
        const std::size_t step = std::max<std::size_t>(1, sample.size() / k_some) | 1U;
        for (std::size_t i = 0; i < sample.size(); i += step)
            some.push_back(static_cast<U>(sample[i] ^ flip));
        std::sort(some.begin(), some.end());
        const auto quantile = [&](std::size_t percent) {
            return static_cast<U>(some[(some.size() - 1) * percent / 100] ^ flip);
        };
        const U median = quantile(50);
        U smallest = kernels_.smallest(sample.data(), sample.size(), flip);
        if (by.exclusive_or) smallest = U{0};
        const auto add = [&](U base, bool zigzag, U largest) {
            IntegerChoice one;
            one.head.transform.neighbours = by;
            one.head.transform.base = base;
            one.head.transform.zigzag = zigzag;
            one.head.low_bytes = low_bytes_for(largest);
            rank(std::move(one), sample);
        };
        add(smallest, false, static_cast<U>(quantile(99) - smallest));
        if (by.exclusive_or) return;
        U ends[2] = {quantile(1), quantile(99)};
        kernels_.map(ends, 2, median, true);
        add(median, true, std::max(ends[0], ends[1]));
    }

    static std::uint8_t low_bytes_for(U largest) {
        const int bits = std::bit_width(largest);
        if (sizeof(U) < 8 || bits <= k_code_bits) return 0;
        return static_cast<std::uint8_t>(
            std::min<int>(k_most_low_bytes, (bits - k_code_bits + 7) / 8));
    }

    /// By what the codes of residuals cost.
    void rank(IntegerChoice one, std::span<const U> residuals) {
        double bits = 0;
        for (std::size_t first = 0; first < residuals.size(); first += k_integer_piece) {
            const std::size_t n = std::min(k_integer_piece, residuals.size() - first);
            std::copy_n(residuals.data() + first, n, mapped_);
            kernels_.map(mapped_, n, static_cast<U>(one.head.transform.base),
                         one.head.transform.zigzag);
            bits += rough_bits(n, one.head.low_bytes);
        }
        keep(std::move(one), bits, residuals.size());
    }

    /// Of the other forms.
    void rank(IntegerChoice one, std::span<const Piece> picked) {
        const Dictionary<U> dictionary = dictionary_of(one);
        const Forward<U> forward(values_, one.head.transform, flip_, &dictionary);
        LeftOut<U> left_out;
        double bits = 0;
        std::size_t n = 0;
        for (const Piece& piece : picked) {
            forward.take(piece.first, piece.n, mapped_, left_out);
            bits += rough_bits(piece.n, 0);
            n += piece.n;
        }
        keep(std::move(one), bits, n);
    }

    void keep(IntegerChoice one, double bits, std::size_t n) {
        const double extra = one.head.transform.form == IntegerForm::smallest
                                 ? double{sizeof(U)} / k_integer_piece
                                 : 0;
        const auto all = static_cast<double>(values_.size());
        one.bytes = (bits / 8 / static_cast<double>(n) + extra) * all +
                    static_cast<double>(one.entries.size() * sizeof(U));
        ranked_.push_back(std::move(one));
    }

    /// Of the mapped values.
    double rough_bits(std::size_t n, unsigned low_bytes) {
        kernels_.split(mapped_, n, low_bytes, codes_, low_);
        constexpr double k_unit = 128;
        return static_cast<double>(rough_cost(codes_, n)) / k_unit +
               8.0 * low_bytes * static_cast<double>(n);
    }

    void look_for_dictionary(std::span<const Piece> picked) {
        std::map<U, std::size_t> counts;
        for (const Piece& piece : picked) {
            for (std::size_t i = 0; i < piece.n; ++i) {
                // Runs of one value are common.
                const U value = values_[static_cast<std::size_t>(piece.first) + i];
                ++counts[value];
                if (counts.size() > k_most_entries) return;
            }
        }
        std::vector<std::pair<U, std::size_t>> order(counts.begin(), counts.end());
        std::stable_sort(order.begin(), order.end(),
                         [](const auto& a, const auto& b) { return a.second > b.second; });
        IntegerChoice one;
        one.head.transform.form = IntegerForm::dictionary;
        for (const auto& [value, count] : order) one.entries.push_back(value);
        one.head.entries = static_cast<std::uint8_t>(one.entries.size());
        rank(std::move(one), picked);
    }

    static Dictionary<U> dictionary_of(const IntegerChoice& one) {
        return Dictionary<U>(std::vector<U>(one.entries.begin(), one.entries.end()));
    }

    IntegerChoice measured_by_codes(const IntegerChoice& ranked) {
        IntegerChoice one = ranked;
        const auto picked = pieces(k_measuring_pieces);
        const Dictionary<U> dictionary = dictionary_of(one);
        const Forward<U> forward(values_, one.head.transform, flip_, &dictionary);
        LeftOut<U> left_out;
        std::size_t seen = 0, exact = 0;
        for (const Piece& piece : picked) seen += piece.n;
        const double share = static_cast<double>(values_.size()) / static_cast<double>(seen);
        constexpr double k_weight_scale = 1024;
        const auto weight = static_cast<std::uint64_t>(k_weight_scale * share);
        CodeCost cost(*task_.tables, task_.drift_check);
        for (const Piece& piece : picked) {
            forward.take(piece.first, piece.n, mapped_, left_out);
            if (kernels_.split(mapped_, piece.n, one.head.low_bytes, codes_, low_))
                exact +=
                    static_cast<std::size_t>(std::count(codes_, codes_ + piece.n, k_exact_code));
            cost.add(codes_, piece.n, weight);
        }
        exact += left_out.escapes.size();
        one.bytes = k_head_bytes + cost.bytes(k_weight_scale) +
                    static_cast<double>(one.entries.size() * sizeof(U)) +
                    static_cast<double>(values_.size() * one.head.low_bytes) +
                    static_cast<double>(exact * sizeof(U)) * share;
        if (!left_out.smallest.empty()) {
            const auto [low, high] =
                std::minmax_element(left_out.smallest.begin(), left_out.smallest.end(),
                                    [&](U a, U b) { return (a ^ flip_) < (b ^ flip_); });
            const auto range = static_cast<U>(*high - *low);
            one.bytes += share * static_cast<double>(left_out.smallest.size()) *
                         ((std::bit_width(range) + 7) / 8);
        }
        return one;
    }

    /// What else may be left of planes than the values' own.
    std::vector<IntegerChoice> for_planes() const {
        std::vector<IntegerChoice> all(1);
        bool transformed = false;
        for (const IntegerChoice& one : ranked_) {
            const IntegerTransform& by = one.head.transform;
            const bool dictionary = by.form == IntegerForm::dictionary;
            const bool rows = by.neighbours.exclusive_or && by.neighbours.near != 0;
            const bool first = !dictionary && !transformed && by != IntegerTransform{};
            if (dictionary || rows || first) all.push_back(one);
            transformed = transformed || first;
        }
        for (IntegerChoice& one : all) {
            one.head.coder = IntegerCoder::planes;
            one.head.low_bytes = 0;
        }
        return all;
    }

    /// Values [first, first + n) to the planes; returns how many they leave out.
    void put_run(const Forward<U>& forward, std::size_t first, std::size_t n,
                 LeftOut<U>& left_out) {
        alignas(64) U piece[k_planes_piece];
        for (std::size_t begin = 0; begin < n; begin += k_planes_piece) {
            const std::size_t length = std::min(k_planes_piece, n - begin);
            for (std::size_t i = 0; i < length; i += k_integer_piece)
                forward.take(first + begin + i, std::min(k_integer_piece, length - i), piece + i,
                             left_out);
            planes_.put(piece, length);
        }
    }

    /// The second half of the runs costs what every further one will.
    IntegerChoice by_planes(IntegerChoice one, std::size_t runs = 2) {
        const Dictionary<U> dictionary = dictionary_of(one);
        const Forward<U> forward(values_, one.head.transform, flip_, &dictionary);
        const std::size_t all = values_.size();
        Output out;
        const auto size_of_runs = [&](std::size_t count, std::size_t n) {
            LeftOut<U> left_out;
            planes_.begin(count * n, sizeof(U));
            const std::size_t apart = (all - n) / std::max<std::size_t>(runs - 1, 1);
            for (std::size_t i = 0; i < count; ++i)
                put_run(forward, i * apart / k_planes_piece * k_planes_piece, n, left_out);
            out.clear();
            planes_.finish(packer_, out);
            return static_cast<double>(out.size()) +
                   static_cast<double>((left_out.escapes.size() + left_out.smallest.size()) *
                                       sizeof(U));
        };
        if (all <= runs * k_run_values) {
            runs = 1;
            one.bytes = size_of_runs(1, all);
        } else {
            const double half = size_of_runs(runs / 2, k_run_values);
            const double both = size_of_runs(runs, k_run_values);
            const double more =
                static_cast<double>(all) / k_run_values / (static_cast<double>(runs) / 2) - 1;
            one.bytes = half + std::max(0.0, both - half) * more;
        }
        one.bytes += k_head_bytes + static_cast<double>(one.entries.size() * sizeof(U));
        return one;
    }

    std::span<const U> values_;
    const IntegerTask& task_;
    U flip_;
    LosslessPacker& packer_;
    PlanesWriter& planes_;
    const IntegerKernels<U>& kernels_ = integer_kernels<U>();
    std::vector<IntegerChoice> ranked_;
    alignas(64) U mapped_[k_integer_piece + k_code_slack];
    alignas(64) std::uint32_t codes_[k_integer_piece + k_code_slack];
    std::byte low_[k_most_low_bytes * k_integer_piece];
};

}  // namespace

template <class U>
IntegerChoice choose_integers(std::span<const U> values, const IntegerTask& task,
                              LosslessPacker& packer, PlanesWriter& planes) {
    return Chooser<U>(values, task, packer, planes).choose();
}

template <class U>
double closer_estimate(const IntegerChoice& choice, std::span<const U> values,
                       const IntegerTask& task, LosslessPacker& packer, PlanesWriter& planes) {
    return Chooser<U>(values, task, packer, planes).closer_estimate(choice);
}

template double closer_estimate(const IntegerChoice&, std::span<const std::uint8_t>,
                                const IntegerTask&, LosslessPacker&, PlanesWriter&);
template double closer_estimate(const IntegerChoice&, std::span<const std::uint16_t>,
                                const IntegerTask&, LosslessPacker&, PlanesWriter&);
template double closer_estimate(const IntegerChoice&, std::span<const std::uint32_t>,
                                const IntegerTask&, LosslessPacker&, PlanesWriter&);
template double closer_estimate(const IntegerChoice&, std::span<const std::uint64_t>,
                                const IntegerTask&, LosslessPacker&, PlanesWriter&);
template IntegerChoice choose_integers(std::span<const std::uint8_t>, const IntegerTask&,
                                       LosslessPacker&, PlanesWriter&);
template IntegerChoice choose_integers(std::span<const std::uint16_t>, const IntegerTask&,
                                       LosslessPacker&, PlanesWriter&);
template IntegerChoice choose_integers(std::span<const std::uint32_t>, const IntegerTask&,
                                       LosslessPacker&, PlanesWriter&);
template IntegerChoice choose_integers(std::span<const std::uint64_t>, const IntegerTask&,
                                       LosslessPacker&, PlanesWriter&);

}  // namespace caesura::codec
