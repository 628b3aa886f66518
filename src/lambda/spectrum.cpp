// The analysis spectrum: the isotropic power spectrum of a whole object of 1 to 3 axes.
//
// Invariants:
//  - Power of a mode is |sum x exp(-2 pi i f.r)|^2 / N^2, N values: the powers of all modes add up
//    to the mean of x^2. f is in cycles per value along each axis (cells are cubes).
//  - Wave number k = |f| * longest extent, so the longest axis has k = 1, 2, ...; bin i holds the
//    modes with round(k) = i, up to the Nyquist number of the longest axis. What lies beyond, in
//    the corners, is summed up by itself.
//  - The object has to be complete: missing or overlapping regions are errors. Values that are not
//    finite stand for the mean of the others; they are counted.
//  - Regions' values are kept until the end; then the object lies in memory as double: 8 bytes a
//    value more. A limit holds for both together.
// Limit: the FFT's arithmetic on one core, about 25 ns a value at 128^3, with kissfft (BSD-3).
#include <algorithm>
#include <cmath>

#include "base/invalid.hpp"
#include "lambda/builtin.hpp"
#include "lambda/moments.hpp"
#include "lambda/spectrum_fft.hpp"

namespace caesura::lambda {
namespace {

struct Piece {
    Box box;
    std::vector<std::byte> values;
};

class Spectrum : public Analysis {
  public:
    static Result<std::unique_ptr<Analysis>> make(const Arguments& arguments) {
        auto made = std::make_unique<Spectrum>();
        made->most_bytes_ = static_cast<std::uint64_t>(arguments.whole("memory_mb")) << 20;
        return std::unique_ptr<Analysis>(std::move(made));
    }
    Status add(const RegionView& region) override;
    Status merge(const Analysis& other) override;
    Result<Results> finish() const override;
    void save(Writer& out) const override;
    Status load(Reader& in) override;

  private:
    Status set_object(DType dtype, const Shape& shape);
    Status keep(const Box& box, std::span<const std::byte> values);
    Status fill(HalfComplex& field, Moments& moments) const;

    std::uint64_t most_bytes_ = 0, kept_bytes_ = 0;
    DType dtype_ = float32;
    Shape shape_;
    std::vector<Piece> pieces_;
};

Status Spectrum::set_object(DType dtype, const Shape& shape) {
    dtype_ = dtype;
    shape_ = shape;
    return check_lengths(shape);
}

Status Spectrum::keep(const Box& box, std::span<const std::byte> values) {
    const std::uint64_t needed = kept_bytes_ + values.size() + HalfComplex::bytes_of(shape_);
    if (needed > most_bytes_)
        return {StatusCode::no_space, "spectrum: the object needs " + std::to_string(needed >> 20) +
                                          " MiB; memory_mb allows " +
                                          std::to_string(most_bytes_ >> 20)};
    if (values.empty()) return {};
    pieces_.push_back({box, {values.begin(), values.end()}});
    kept_bytes_ += values.size();
    return {};
}

Status Spectrum::add(const RegionView& region) {
    if (Status status = set_object(region.dtype, region.shape); !status.ok()) return status;
    return keep(region.box, region.values);
}

Status Spectrum::merge(const Analysis& other) {
    const auto& that = static_cast<const Spectrum&>(other);
    if (that.shape_.rank() == 0) return {};
    if (Status status = set_object(that.dtype_, that.shape_); !status.ok()) return status;
    for (const Piece& piece : that.pieces_)
        if (Status status = keep(piece.box, piece.values); !status.ok()) return status;
    return {};
}

/// Rows of `piece` go to their places; calls visit(index of the first value, its values).
template <class T, class Visit>
void for_each_row(const Piece& piece, const Shape& shape, Visit&& visit) {
    const int rank = shape.rank();
    const std::uint64_t length = piece.box.extent[rank - 1];
    const auto* values = reinterpret_cast<const T*>(piece.values.data());
    const std::uint64_t rows = piece.box.extent.count() / length;
    for (std::uint64_t row = 0; row < rows; ++row) {
        std::uint64_t rest = row, index = 0, stride = shape[rank - 1];
        for (int axis = rank - 2; axis >= 0; --axis) {
            index += (piece.box.offset[axis] + rest % piece.box.extent[axis]) * stride;
            rest /= piece.box.extent[axis];
            stride *= shape[axis];
        }
        visit(index + piece.box.offset[rank - 1], std::span(values + row * length, length));
    }
}

Status Spectrum::fill(HalfComplex& field, Moments& moments) const {
    std::vector<bool> covered(shape_.count());
    const auto place = [&](auto type) -> bool {
        using T = decltype(type);
        for (const Piece& piece : pieces_) {
            bool overlaps = false;
            for_each_row<T>(piece, shape_, [&](std::uint64_t index, std::span<const T> row) {
                double* to = field.real_row(index);
                moments.add(row);
                for (std::size_t i = 0; i < row.size(); ++i) {
                    to[i] = double{row[i]};
                    overlaps = overlaps || covered[index + i];
                    covered[index + i] = true;
                }
            });
            if (overlaps) return false;
        }
        return true;
    };
    if (!(dtype_ == float32 ? place(float{}) : place(double{})))
        return base::invalid("spectrum: regions overlap");
    if (moments.count != shape_.count()) field.replace_not_finite(moments.mean());
    return {};
}

Result<Results> Spectrum::finish() const {
    Results results;
    Moments moments;
    const std::uint64_t seen = kept_bytes_ / size_of(dtype_);
    const std::uint64_t wanted = shape_.rank() > 0 ? shape_.count() : 0;
    if (seen < wanted)
        return Status(StatusCode::insufficient_data, "spectrum: " + std::to_string(seen) + " of " +
                                                         std::to_string(wanted) +
                                                         " values; the whole object is needed");
    if (seen > wanted) return base::invalid("spectrum: regions overlap");
    if (wanted > 0) {
        HalfComplex field(shape_);
        if (Status status = fill(field, moments); !status.ok()) return status;
        field.transform();
        const Power power = field.power();
        results.put("k", power.wave_number);
        results.put("power", power.mean);
        results.put("modes", power.modes);
        results.put("beyond_power", power.beyond);
        results.put("beyond_modes", power.beyond_modes);
    }
    results.put("count", static_cast<std::int64_t>(moments.count));
    results.put("nan", static_cast<std::int64_t>(moments.nan));
    results.put("infinite", static_cast<std::int64_t>(moments.infinite));
    return results;
}

void Spectrum::save(Writer& out) const {
    out.u8(static_cast<std::uint8_t>(dtype_));
    put_shape(out, shape_);
    out.u64(pieces_.size());
    for (const Piece& piece : pieces_) {
        put_box(out, piece.box);
        // Little-endian, as all states.
        if (dtype_ == float32)
            for (std::size_t i = 0; i < piece.values.size(); i += 4) {
                std::uint32_t bits;
                std::memcpy(&bits, &piece.values[i], sizeof bits);
                out.u32(bits);
            }
        else
            for (std::size_t i = 0; i < piece.values.size(); i += 8) {
                std::uint64_t bits;
                std::memcpy(&bits, &piece.values[i], sizeof bits);
                out.u64(bits);
            }
    }
}

Status Spectrum::load(Reader& in) {
    RegionView region;
    const auto dtype = in.u8();
    region.dtype = dtype == 2 ? float64 : float32;
    region.shape = get_shape(in);
    const std::uint64_t pieces = get_count(in, 2);
    if (in.ended_early() || region.shape.rank() == 0) {
        const bool empty = !in.ended_early() && pieces == 0;
        return empty ? Status() : corrupt("spectrum: pieces of no object");
    }
    region.box = {region.shape, Shape::filled(region.shape.rank(), 0)};
    if (!validate_place(region).ok()) return corrupt("spectrum: impossible shape");
    if (Status status = set_object(region.dtype, region.shape); !status.ok()) return status;
    for (std::uint64_t i = 0; i < pieces; ++i) {
        region.box = get_box(in);
        if (!validate_place(region).ok()) return corrupt("spectrum: impossible box");
        const std::uint64_t n = region.count(), bytes = size_of(region.dtype);
        if (n > in.rest().size() / bytes) return cut_short("spectrum");
        std::vector<std::byte> values(n * bytes);
        for (std::uint64_t k = 0; k < n; ++k) {
            const std::uint64_t bits = bytes == 4 ? in.u32() : in.u64();
            const auto narrow = static_cast<std::uint32_t>(bits);
            std::memcpy(&values[k * bytes], bytes == 4 ? static_cast<const void*>(&narrow) : &bits,
                        bytes);
        }
        if (Status status = keep(region.box, values); !status.ok()) return status;
    }
    return {};
}

}  // namespace

void add_spectrum(std::vector<Function>& to) {
    Function function{"spectrum", Kind::analysis,
                      "Isotropic power spectrum of a whole object of 1 to 3 axes; needs the object "
                      "in memory, 12 bytes a value of float32, 16 of float64."};
    function.parameters = {{"memory_mb", Parameter::Type::whole,
                            "The most memory it may take, in MiB.", std::int64_t{4096}, false, 1,
                            1 << 24}};
    // Its state has the values: they would come back from wherever they went.
    function.variants = {analysis_on_cpu<Spectrum>({})};
    to.push_back(std::move(function));
}

}  // namespace caesura::lambda
