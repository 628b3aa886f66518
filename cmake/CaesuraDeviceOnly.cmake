# What runs on a GPU and its benchmark, on a machine where nothing can be installed: no package is
# needed, and HDF5 and MPI are not looked for. fmt is used where it is; elsewhere cmake/plain has as
# much of it as these rooms need.
set(CAESURA_TESTS OFF)
include(CaesuraCuda)
include(CaesuraGraph)
include(CaesuraRoom)
find_package(Threads REQUIRED)
find_package(fmt QUIET)
if(NOT TARGET fmt::fmt)
    message(STATUS "fmt: cmake/plain")
    add_library(caesura_plain_fmt INTERFACE)
    target_include_directories(caesura_plain_fmt INTERFACE ${PROJECT_SOURCE_DIR}/cmake/plain)
    add_library(fmt::fmt ALIAS caesura_plain_fmt)
endif()
foreach(room base codec plan device checkpoint)
    add_subdirectory(src/${room})
endforeach()
add_subdirectory(lab)
