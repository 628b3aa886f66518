#include "codec/rehearsal.hpp"

#include <algorithm>

#include "codec/code_cost.hpp"
#include "codec/sampler.hpp"

namespace caesura::codec {
namespace {

constexpr std::uint64_t k_piece_values = 8192;

/// Sums rough bits of the codes it is given.
class RoughSink final : public CodeSink {
  public:
    void put_chunk(const std::uint32_t* codes, std::size_t n) override {
        bits_ += rough_bits(summarise_chunk(codes, k_chunk_values), n);
    }
    double bits() const { return bits_; }

  private:
    double bits_ = 0;
};

/// Alike along all axes, but longer along x, as far as the block goes.
Shape piece_shape(const Shape& shape) {
    Shape piece = Shape::filled(shape.rank(), 1);
    for (bool grown = true; grown && piece.count() * 2 <= k_piece_values;) {
        grown = false;
        for (int axis = shape.rank() - 1; axis >= 0; --axis) {
            if (piece[axis] * 2 > shape[axis] || piece.count() * 2 > k_piece_values) continue;
            piece[axis] *= 2;
            grown = true;
        }
    }
    return piece;
}

/// Rough bits of differences along x of a few rows inside a piece: is anything going on here?
template <class T>
double activity(const T* values, const Shape& shape, const Box& piece, T step) {
    constexpr std::size_t k_most = 64;
    constexpr std::uint64_t k_rows = 4;
    const int x = shape.rank() - 1;
    const std::size_t n =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.extent[x], k_most));
    alignas(64) std::uint32_t codes[k_most] = {};
    std::int32_t indices[k_most];
    double bits = 0;
    for (std::uint64_t r = 0; r < k_rows; ++r) {
        std::uint64_t at = 0;
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const std::uint64_t inside = axis == x ? 0 : piece.extent[axis] * (2 * r + 1) / 8;
            at = at * shape[axis] + piece.offset[axis] + inside;
        }
        sample_indices(values + at, n, step, indices);
        sample_zigzag_differences(indices, n - 1, codes);
        bits += rough_bits(summarise_chunk(codes, k_most), n);
    }
    return bits;
}

}  // namespace

template <class T>
Rehearsal<T>::Rehearsal(const T* values, const Shape& shape, const Quantiser<T>& quantiser)
    : quantiser_(quantiser), piece_(piece_shape(shape)), values_(k_pieces * piece_.count()) {
    // Where the bits are: of places all over the block, sorted by what goes on there, those at a
    // quarter and three quarters of the sum. In a field that is alike everywhere, any two.
    constexpr std::size_t k_places = 32;
    std::vector<std::pair<double, Box>> places;
    Places spread(23);
    double sum = 0;
    for (std::size_t p = 0; p < k_places; ++p) {
        Box box{Shape::filled(shape.rank(), 0), piece_};
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const std::uint64_t n = shape[axis] - piece_[axis] + 1;
            box.offset[axis] = axis == 0 ? (p * n + spread.below(n)) / k_places : spread.below(n);
        }
        places.emplace_back(activity(values, shape, box, quantiser.step), box);
        sum += places.back().first;
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    double passed = 0;
    int piece = 0;
    for (const auto& [bits, box] : places) {
        passed += bits;
        while (piece < k_pieces && passed * 2 * k_pieces >= sum * (2 * piece + 1)) {
            copy_piece(values, shape, box, piece++);
        }
    }
}

template <class T>
void Rehearsal<T>::copy_piece(const T* values, const Shape& shape, const Box& box, int piece) {
    const Box whole{Shape::filled(shape.rank(), 0), shape};
    copy_box(box, whole, reinterpret_cast<const std::byte*>(values), box,
             reinterpret_cast<std::byte*>(piece_values(piece)), sizeof(T));
}

template <class T>
double Rehearsal<T>::bits(const InterpolationSettings& settings, int first, int last) {
    RoughSink sink;
    for (int piece = first; piece < last; ++piece) {
        CodeWriter writer(sink);
        exact_ = {};
        encode_interpolation(piece_values(piece), piece_, quantiser_, settings, scratch_, writer,
                             exact_);
        writer.finish();
    }
    return sink.bits();
}

template <class T>
double Rehearsal<T>::bits(const LorenzoSettings& settings, int first, int last) {
    RoughSink sink;
    for (int piece = first; piece < last; ++piece) {
        CodeWriter writer(sink);
        exact_ = {};
        encode_lorenzo(piece_values(piece), piece_, quantiser_, settings, scratch_, writer, exact_);
        writer.finish();
    }
    return sink.bits();
}

template class Rehearsal<float>;
template class Rehearsal<double>;

}  // namespace caesura::codec
