// gtest under MPI: every rank runs every test; a failure on any rank fails the launch.
// The tests split MPI_COMM_WORLD themselves, so that one launch covers 1 to 4 ranks.

#include <gtest/gtest.h>
#include <mpi.h>

int main(int argc, char** argv) {
    int provided = 0, rank = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    testing::InitGoogleTest(&argc, argv);
    if (rank != 0) {  // one voice; failures of other ranks are printed as they happen
        auto& listeners = testing::UnitTest::GetInstance()->listeners();
        class Failures : public testing::EmptyTestEventListener {
            void OnTestPartResult(const testing::TestPartResult& result) override {
                if (result.failed())
                    fprintf(stderr, "%s:%d: %s\n", result.file_name(), result.line_number(),
                            result.message());
            }
        };
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new Failures);
    }
    int failed = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed;
}
