# HDF5 in three flavours, because one process must use one HDF5 and an application may bring any:
#   Hdf5::serial    for the Python module, the command line and unit tests
#   Hdf5::parallel  for MPI programs that also use parallel HDF5 (only with CAESURA_MPI)
#   Hdf5::vol       parallel, 1.14 or newer, for the VOL connector (only with HDF5_VOL_ROOT, which
#                   tools/hdf5.py provides)
# and one more that no application sees, for src/completion:
#   Hdf5::hidden    a serial archive of 1.14 (only with HDF5_HIDDEN_ROOT, which tools/hdf5_archive.py
#                   provides)
# HDF5_ROOT (serial) and HDF5_PARALLEL_ROOT win; then Debian's pkg-config names, of the MPI that
# CMake has found; then plain hdf5, and for the parallel one that of the connector.
#
# With CAESURA_STATIC the serial one is an archive that tools/hdf5_archive.py builds from HDF5's sources, if
# HDF5_ROOT names none: it gets the flags that we want. Debian's libhdf5.a is no candidate, because
# it is compiled for programs and not for shared libraries, and brings curl and OpenSSL. Packages of
# PyPI have HDF5's headers or a shared libhdf5 with a name of its own, never sources or an archive.
find_package(PkgConfig REQUIRED)

# What an archive of HDF5 is linked to is left to its user.
function(caesura_link_archive_of_hdf5 target root)
    file(STRINGS ${root}/include/H5pubconf.h has REGEX "^#define H5_HAVE_")
    if(has MATCHES "H5_HAVE_(ROS3_VFD|LIBHDFS)")
        message(FATAL_ERROR "${root}/lib/libhdf5.a is built with ${CMAKE_MATCH_0}, which needs more "
                            "libraries than a wheel may have; name another by HDF5_ROOT, or none")
    endif()
    if(has MATCHES "H5_HAVE_FILTER_SZIP")
        find_library(CAESURA_STATIC_sz NAMES libsz.a REQUIRED)
        find_library(CAESURA_STATIC_aec NAMES libaec.a REQUIRED)
        target_link_libraries(${target} INTERFACE ${CAESURA_STATIC_sz} ${CAESURA_STATIC_aec})
    endif()
    if(has MATCHES "H5_HAVE_FILTER_DEFLATE")
        find_library(CAESURA_STATIC_zlib NAMES libz.a z REQUIRED)
        target_link_libraries(${target} INTERFACE ${CAESURA_STATIC_zlib})
    endif()
    find_package(Threads REQUIRED)
    target_link_libraries(${target} INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
endfunction()

function(caesura_find_hdf5 target root)
    set(modules ${ARGN})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    if(root)
        set(archive)
        if(CAESURA_STATIC AND target STREQUAL "Hdf5::serial")
            set(archive libhdf5.a)
        endif()
        find_library(${target}_lib NAMES ${archive} hdf5 PATHS ${root}/lib ${root}/lib64
                     NO_DEFAULT_PATH REQUIRED)
        target_include_directories(${target} INTERFACE ${root}/include)
        target_link_libraries(${target} INTERFACE ${${target}_lib})
        if(${target}_lib MATCHES "\\.a$")
            caesura_link_archive_of_hdf5(${target} ${root})
        endif()
        message(STATUS "${target}: ${${target}_lib}")
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
                        "install libhdf5-dev and libhdf5-openmpi-dev (libhdf5-mpich-dev) or set HDF5_ROOT")
endfunction()

if(CAESURA_STATIC AND NOT HDF5_ROOT)
    find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
    execute_process(COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/hdf5_archive.py
                    OUTPUT_VARIABLE HDF5_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT HDF5_ROOT)
        message(WARNING "The module is linked to this machine's shared HDF5 (see above): the wheel "
                        "works on machines that have the same one.")
    endif()
endif()
if(CAESURA_STATIC AND HDF5_ROOT AND NOT HDF5_HIDDEN_ROOT)
    set(HDF5_HIDDEN_ROOT ${HDF5_ROOT})
endif()
caesura_find_hdf5(Hdf5::serial "${HDF5_ROOT}" hdf5-serial hdf5)
set(CAESURA_HDF5_ARCHIVE OFF)  # shows no names to plugins
if(CAESURA_STATIC AND Hdf5::serial_lib MATCHES "\\.a$")
    set(CAESURA_HDF5_ARCHIVE ON)
endif()
# Two MPIs in one program crash in their first call.
# @param target: a shared HDF5 names its MPI; of others nothing is known.
function(caesura_check_mpi_of_hdf5 target)
    if(NOT ${target}_lib MATCHES "\\.so$" OR NOT MPI_C_LIBRARIES)
        return()
    endif()
    file(STRINGS ${${target}_lib} needed REGEX "^libmpi(ch)?\\.so\\.[0-9]+$")
    set(there)
    foreach(library IN LISTS MPI_C_LIBRARIES)
        get_filename_component(name ${library} REALPATH)
        get_filename_component(name ${name} NAME)
        list(APPEND there ${name})
        foreach(one IN LISTS needed)
            if("${name}." MATCHES "^${one}\\.")
                return()
            endif()
        endforeach()
    endforeach()
    if(needed)
        message(FATAL_ERROR "${${target}_lib} needs ${needed}, and the MPI is ${there}: name an "
                            "HDF5 of this MPI, or the MPI of this HDF5 (MPI_HOME, "
                            "MPI_EXECUTABLE_SUFFIX)")
    endif()
endfunction()

if(CAESURA_MPI)
    find_package(MPI REQUIRED COMPONENTS C CXX)
    include(CheckSymbolExists)
    set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
    check_symbol_exists(MPICH_VERSION mpi.h CAESURA_MPI_IS_MPICH)
    unset(CMAKE_REQUIRED_LIBRARIES)
    set(modules hdf5-openmpi)
    if(CAESURA_MPI_IS_MPICH)
        set(modules hdf5-mpich)
    endif()
    set(root "${HDF5_PARALLEL_ROOT}")
    pkg_check_modules(CAESURA_SYSTEMS_HDF5 QUIET ${modules})
    if(NOT root AND NOT CAESURA_SYSTEMS_HDF5_FOUND)
        set(root "${HDF5_VOL_ROOT}")
    endif()
    caesura_find_hdf5(Hdf5::parallel "${root}" ${modules})
    caesura_check_mpi_of_hdf5(Hdf5::parallel)
    target_link_libraries(Hdf5::parallel INTERFACE MPI::MPI_C)
    if(HDF5_VOL_ROOT)
        caesura_find_hdf5(Hdf5::vol "${HDF5_VOL_ROOT}")
        caesura_check_mpi_of_hdf5(Hdf5::vol)
        target_link_libraries(Hdf5::vol INTERFACE MPI::MPI_C)
        if(HDF5_HIDDEN_ROOT)
            find_library(CAESURA_HIDDEN_HDF5 NAMES libhdf5.a PATHS ${HDF5_HIDDEN_ROOT}/lib
                         NO_DEFAULT_PATH REQUIRED)
            add_library(Hdf5::hidden INTERFACE IMPORTED GLOBAL)
            target_include_directories(Hdf5::hidden INTERFACE ${HDF5_HIDDEN_ROOT}/include)
            target_link_libraries(Hdf5::hidden INTERFACE ${CAESURA_HIDDEN_HDF5})
            caesura_link_archive_of_hdf5(Hdf5::hidden ${HDF5_HIDDEN_ROOT})
        else()
            message(STATUS "closed files are completed at the next call alone (HDF5_HIDDEN_ROOT "
                           "names no archive of HDF5)")
        endif()
    else()
        message(STATUS "VOL connector: off (HDF5_VOL_ROOT names no parallel HDF5 >= 1.14)")
    endif()
endif()
