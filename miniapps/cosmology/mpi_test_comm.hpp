// What tests under MPI share: a communicator of some ranks, and a directory.
#pragma once

#include <mpi.h>

#include <filesystem>
#include <string>

namespace cosmology {

/// Of the first `ranks` ranks, or nothing on the others.
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

/// A directory of this test, gone at the end. Collective.
class Place {
  public:
    Place(const char* name, MPI_Comm comm) : comm_(comm) {
        path = std::filesystem::temp_directory_path() / name;
        MPI_Comm_rank(comm, &rank_);
        if (rank_ == 0) std::filesystem::create_directories(path);
        MPI_Barrier(comm);
    }
    ~Place() {
        MPI_Barrier(comm_);
        if (rank_ == 0) std::filesystem::remove_all(path);
    }
    std::string path;

  private:
    MPI_Comm comm_;
    int rank_ = 0;
};

}  // namespace cosmology
