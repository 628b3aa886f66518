// The slab FFT; see fft.hpp.

#include "fft.hpp"

#include <cstring>
#include <stdexcept>

namespace cosmology {

namespace {

fftwf_complex* fftw(Complex* p) { return reinterpret_cast<fftwf_complex*>(p); }

}  // namespace

SlabFft::SlabFft(const Slab& slab) : slab_(slab), n_(slab.n()), nk_(slab.n() / 2 + 1) {
    const auto values = static_cast<std::size_t>(slab.planes()) * static_cast<std::size_t>(n_) *
                        static_cast<std::size_t>(nk_);
    modes_.resize(values);
    packed_.resize(values);
    // FFTW_UNALIGNED: the plans serve planes at any address, with the same arithmetic at each.
    constexpr unsigned k_flags = FFTW_ESTIMATE | FFTW_UNALIGNED;
    auto* scratch = reinterpret_cast<float*>(modes_.data());
    const int sides[2] = {n_, n_};
    const int real_rows[2] = {n_, 2 * nk_}, complex_rows[2] = {n_, nk_};
    planes_forward_ = fftwf_plan_many_dft_r2c(2, sides, 1, scratch, real_rows, 1, 0,
                                              fftw(modes_.data()), complex_rows, 1, 0, k_flags);
    planes_backward_ = fftwf_plan_many_dft_c2r(2, sides, 1, fftw(modes_.data()), complex_rows, 1, 0,
                                               scratch, real_rows, 1, 0, k_flags);
    const auto lines = [&](int sign) {
        return fftwf_plan_many_dft(1, sides, nk_, fftw(modes_.data()), nullptr, nk_, 1,
                                   fftw(modes_.data()), nullptr, nk_, 1, sign, k_flags);
    };
    lines_forward_ = lines(FFTW_FORWARD);
    lines_backward_ = lines(FFTW_BACKWARD);
    if (!planes_forward_ || !planes_backward_ || !lines_forward_ || !lines_backward_)
        throw std::runtime_error("FFTW cannot plan a mesh of " + std::to_string(n_) + "^3");
}

SlabFft::~SlabFft() {
    fftwf_destroy_plan(planes_forward_);
    fftwf_destroy_plan(planes_backward_);
    fftwf_destroy_plan(lines_forward_);
    fftwf_destroy_plan(lines_backward_);
}

void SlabFft::forward_planes(float* real) {
    for (int i = 0; i < slab_.planes(); ++i) {
        float* plane = real + static_cast<std::size_t>(i) * plane_floats();
        fftwf_execute_dft_r2c(planes_forward_, plane, reinterpret_cast<fftwf_complex*>(plane));
    }
}

void SlabFft::backward_planes(float* real) {
    for (int i = 0; i < slab_.planes(); ++i) {
        float* plane = real + static_cast<std::size_t>(i) * plane_floats();
        fftwf_execute_dft_c2r(planes_backward_, reinterpret_cast<fftwf_complex*>(plane), plane);
    }
}

void SlabFft::forward_lines() {
    const std::size_t plane = static_cast<std::size_t>(n_) * static_cast<std::size_t>(nk_);
    for (int i = 0; i < slab_.planes(); ++i) {
        auto* p = fftw(modes_.data() + static_cast<std::size_t>(i) * plane);
        fftwf_execute_dft(lines_forward_, p, p);
    }
}

void SlabFft::backward_lines() {
    const std::size_t plane = static_cast<std::size_t>(n_) * static_cast<std::size_t>(nk_);
    for (int i = 0; i < slab_.planes(); ++i) {
        auto* p = fftw(modes_.data() + static_cast<std::size_t>(i) * plane);
        fftwf_execute_dft(lines_backward_, p, p);
    }
}

std::size_t SlabFft::block_offset(int rank) const {
    return static_cast<std::size_t>(slab_.first(rank)) * static_cast<std::size_t>(slab_.planes()) *
           static_cast<std::size_t>(nk_);
}

// The packed block of peer q is [its ky][my planes][nk]: exactly the runs in which q stores it, so
// that q receives it through a strided MPI type without an unpacking pass of its own.
void SlabFft::pack(const float* planes) {
    const auto rows = static_cast<std::size_t>(slab_.planes());
    const auto row = static_cast<std::size_t>(nk_);
    for (std::size_t x = 0; x < rows; ++x) {
        const auto* source = reinterpret_cast<const Complex*>(planes + x * plane_floats());
        for (std::size_t ky = 0; ky < static_cast<std::size_t>(n_); ++ky)
            std::memcpy(packed_.data() + (ky * rows + x) * row, source + ky * row,
                        row * sizeof(Complex));
    }
}

void SlabFft::unpack(float* planes) const {
    const auto rows = static_cast<std::size_t>(slab_.planes());
    const auto row = static_cast<std::size_t>(nk_);
    for (std::size_t x = 0; x < rows; ++x) {
        auto* target = reinterpret_cast<Complex*>(planes + x * plane_floats());
        for (std::size_t ky = 0; ky < static_cast<std::size_t>(n_); ++ky)
            std::memcpy(target + ky * row, packed_.data() + (ky * rows + x) * row,
                        row * sizeof(Complex));
    }
}

void SlabFft::exchange(bool forward) {
    MPI_Datatype row_type = MPI_DATATYPE_NULL;  // counts stay small: one row of nk values each
    MPI_Type_contiguous(2 * nk_, MPI_FLOAT, &row_type);
    MPI_Type_commit(&row_type);
    std::vector<MPI_Request> requests;
    std::vector<MPI_Datatype> types;
    const auto row = static_cast<std::size_t>(nk_);
    for (int step = 1; step < slab_.size(); ++step) {
        const int peer = (slab_.rank() + step) % slab_.size();
        MPI_Datatype strided = MPI_DATATYPE_NULL;
        MPI_Type_vector(slab_.planes(), slab_.planes(peer), n_, row_type, &strided);
        MPI_Type_commit(&strided);
        types.push_back(strided);
        Complex* placed = modes_.data() + static_cast<std::size_t>(slab_.first(peer)) * row;
        Complex* packed = packed_.data() + block_offset(peer);
        const int packed_rows = slab_.planes(peer) * slab_.planes();
        if (forward) {
            MPI_Irecv(placed, 1, strided, peer, 0, slab_.comm(), &requests.emplace_back());
            MPI_Isend(packed, packed_rows, row_type, peer, 0, slab_.comm(),
                      &requests.emplace_back());
        } else {
            MPI_Irecv(packed, packed_rows, row_type, peer, 0, slab_.comm(),
                      &requests.emplace_back());
            MPI_Isend(placed, 1, strided, peer, 0, slab_.comm(), &requests.emplace_back());
        }
    }
    const std::size_t run = static_cast<std::size_t>(slab_.planes()) * row;
    Complex* own_packed = packed_.data() + block_offset(slab_.rank());
    for (int ky = 0; ky < slab_.planes(); ++ky) {
        const auto i = static_cast<std::size_t>(ky);
        Complex* own_placed =
            modes_.data() +
            (i * static_cast<std::size_t>(n_) + static_cast<std::size_t>(slab_.lo())) * row;
        if (forward) std::memcpy(own_placed, own_packed + i * run, run * sizeof(Complex));
        if (!forward) std::memcpy(own_packed + i * run, own_placed, run * sizeof(Complex));
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (auto& type : types) MPI_Type_free(&type);
    MPI_Type_free(&row_type);
}

void SlabFft::transpose_forward(const float* planes) {
    pack(planes);
    exchange(true);
}

void SlabFft::transpose_backward(float* planes) {
    exchange(false);
    unpack(planes);
}

}  // namespace cosmology
