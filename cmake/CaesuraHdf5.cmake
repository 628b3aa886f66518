# HDF5 in two flavours, because one process must use one HDF5 and an application may bring either:
#   Hdf5::serial    for the Python module, the command line and unit tests
#   Hdf5::parallel  for MPI programs that also use parallel HDF5 (only with CAESURA_MPI)
# HDF5_ROOT (serial) and HDF5_PARALLEL_ROOT win; then Debian's pkg-config names; then plain hdf5.
find_package(PkgConfig REQUIRED)

function(caesura_find_hdf5 target root)
    set(modules ${ARGN})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    if(root)
        find_library(${target}_lib hdf5 PATHS ${root}/lib ${root}/lib64 NO_DEFAULT_PATH REQUIRED)
        target_include_directories(${target} INTERFACE ${root}/include)
        target_link_libraries(${target} INTERFACE ${${target}_lib})
        message(STATUS "${target}: ${root}")
        return()
    endif()
    foreach(module ${modules})
        pkg_check_modules(${module}_pc QUIET IMPORTED_TARGET ${module})
        if(${module}_pc_FOUND)
            if(${module}_pc_VERSION VERSION_LESS 1.10.8)
                message(FATAL_ERROR "${module} is ${${module}_pc_VERSION}; Caesura needs HDF5 >= 1.10.8")
            endif()
            # pkg_check_modules makes directory-scoped targets; hand their properties on.
            target_include_directories(${target} SYSTEM INTERFACE ${${module}_pc_INCLUDE_DIRS})
            target_link_libraries(${target} INTERFACE ${${module}_pc_LINK_LIBRARIES})
            message(STATUS "${target}: ${module} ${${module}_pc_VERSION}")
            return()
        endif()
    endforeach()
    message(FATAL_ERROR "${target}: no HDF5 found (tried pkg-config ${modules}); "
                        "install libhdf5-dev and libhdf5-openmpi-dev or set HDF5_ROOT")
endfunction()

caesura_find_hdf5(Hdf5::serial "${HDF5_ROOT}" hdf5-serial hdf5)
if(CAESURA_MPI)
    find_package(MPI REQUIRED COMPONENTS C CXX)
    caesura_find_hdf5(Hdf5::parallel "${HDF5_PARALLEL_ROOT}" hdf5-openmpi hdf5-mpich)
    target_link_libraries(Hdf5::parallel INTERFACE MPI::MPI_C)
endif()
