// A communicator of the first `ranks` ranks for a test, or nothing on the others.
#pragma once

#include <mpi.h>

namespace cosmology {

class TestComm {
  public:
    explicit TestComm(int ranks) {
        int world_rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
        MPI_Comm_split(MPI_COMM_WORLD, world_rank < ranks ? 0 : MPI_UNDEFINED, world_rank, &comm_);
    }
    ~TestComm() {
        if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    }
    TestComm(const TestComm&) = delete;
    TestComm& operator=(const TestComm&) = delete;
    bool member() const { return comm_ != MPI_COMM_NULL; }
    operator MPI_Comm() const { return comm_; }

    static int world_size() {
        int size = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        return size;
    }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace cosmology
