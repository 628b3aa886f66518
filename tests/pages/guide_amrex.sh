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
namespace ParallelDescriptor {
inline MPI_Comm Communicator() { return MPI_COMM_WORLD; }
}  // namespace ParallelDescriptor
}  // namespace amrex

static void run(int step, double time, double dt) {
    const amrex::Box domain(amrex::IntVect(0), amrex::IntVect(15));
    const std::vector<amrex::Geometry> geom{amrex::Geometry(domain, {0, 0, 0}, {1, 1, 1})};
    const std::vector<amrex::IntVect> ref_ratio;
    const amrex::BoxArray boxes(amrex::BoxList{domain});
    amrex::Vector<amrex::MultiFab> state;
    state.emplace_back(boxes, amrex::DistributionMapping(amrex::Vector<int>{0}), 2, 1);
    amrex::ParticleContainer<1, 0, 0, 0> particles(1);
END
    grep -v '^#include' block.cpp
    echo '(void)(*writer)->close();'
    echo '}'
    echo 'int main(int argc, char** argv) { MPI_Init(&argc, &argv); run(0, 0.0, 1.0); MPI_Finalize(); }'
} >page.cpp
mpicxx -std=c++20 -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX page.cpp -o page \
    -I"$CAESURA_SOURCES/include" -I"$CAESURA_SOURCES/tests/bridges/amrex_stand_in" \
    -L"$CAESURA_BUILD/lib" -Wl,-rpath,"$CAESURA_BUILD/lib" -lcaesura
./page
caesura info run.h5 | grep density
