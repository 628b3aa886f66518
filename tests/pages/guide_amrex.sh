# The calls of the page, with AMReX's signatures in its place (tests/bridges).
command -v mpicxx >/dev/null || { echo "no mpicxx"; exit 77; }
cat >block.cpp <<'END'
# block cpp 1
END
{
    grep '^#include' block.cpp
    cat <<'END'
#include <cstdio>
#include <cstdlib>

namespace amrex {
inline void Abort(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::abort();
}
}  // namespace amrex

static void run(int step, double time, double dt) {
    const amrex::Box domain(amrex::IntVect(0), amrex::IntVect(15));
    const amrex::RealBox unit({0.0, 0.0, 0.0}, {1.0, 1.0, 1.0});
    const std::vector<amrex::Geometry> geom{amrex::Geometry(domain, unit, 0, {0, 0, 0})};
    const std::vector<amrex::IntVect> ref_ratio;
    const amrex::BoxArray boxes(domain);
    amrex::Vector<std::unique_ptr<amrex::MultiFab>> state;
    state.push_back(std::make_unique<amrex::MultiFab>(boxes, amrex::DistributionMapping(boxes), 2, 1));
    state[0]->setVal(1.0);
    amrex::ParticleContainer<1, 0, 0, 0> particles;
END
    grep -v '^#include' block.cpp
    echo '(void)(*writer)->close();'
    echo '}'
    echo 'int main(int argc, char** argv) { MPI_Init(&argc, &argv); run(0, 0.0, 1.0); MPI_Finalize(); }'
} >page.cpp
mpicxx -std=c++20 -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX page.cpp -o page \
    -I"$CAESURA_ROOT/include" -I"$CAESURA_ROOT/tests/bridges/amrex_stand_in" \
    -L"$CAESURA_BUILD/lib" -Wl,-rpath,"$CAESURA_BUILD/lib" -lcaesura
./page
caesura info run.h5 | grep density
