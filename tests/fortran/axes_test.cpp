// Where Fortran's axes are in the file: the program writes it, C++ reads it. Fortran's first axis,
// the fastest, is the file's last; labels and spacings follow it.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "caesura/reader.hpp"

namespace {

void check_file(const std::string& program, const std::string& name, std::uint64_t ranks) {
    const auto directory = std::filesystem::path(testing::TempDir()) / name;
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    const std::string path = directory / "fortran.h5";
    ASSERT_EQ(std::system((program + " " + path).c_str()), 0);
    auto reader = caesura::Reader::open(path);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    const auto found = (*reader)->find("cube", 2);
    ASSERT_TRUE(found.ok()) << found.status().message();
    const caesura::FieldInfo& cube = (*reader)->fields()[*found];
    EXPECT_EQ(cube.shape, caesura::Shape({4, 5, 6 * ranks}));
    EXPECT_EQ(cube.grid_spacing, (std::vector<double>{0.125, 0.25, 0.5}));
    std::vector<double> values(4 * 5 * 6 * ranks);
    const caesura::Box all{caesura::Shape({0, 0, 0}), cube.shape};
    const auto status =
        (*reader)->read(*found, all, std::as_writable_bytes(std::span<double>(values)));
    ASSERT_TRUE(status.ok()) << status.message();
    std::size_t at = 0;
    for (int z = 1; z <= 4; ++z)
        for (int y = 1; y <= 5; ++y)
            for (int x = 1; x <= static_cast<int>(6 * ranks); ++x)
                ASSERT_EQ(values[at++], x + 100 * y + 10000 * z + 2) << x << " " << y << " " << z;
    std::filesystem::remove_all(directory);
}

TEST(Fortran, WritesItsFirstAxisAsTheFilesLast) {
    check_file(FORTRAN_PROGRAM, "caesura_fortran", 1);
}

#ifdef FORTRAN_MPI_PROGRAM
TEST(Fortran, WritesWithTwoRanksOneFile) {
    check_file(FORTRAN_EXEC " -n 2 " FORTRAN_MPI_PROGRAM, "caesura_fortran_mpi", 2);
}
#endif

}  // namespace
