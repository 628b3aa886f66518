# HDF5 in three flavours, because one process must use one HDF5 and an application may bring any:
#   Hdf5::serial    for the Python module, the command line and unit tests
#   Hdf5::parallel  for MPI programs that also use parallel HDF5 (only with CAESURA_MPI)
#   Hdf5::vol       parallel, 1.14 or newer, for the VOL connector (only with HDF5_VOL_ROOT, which
#                   tools/hdf5.py provides)
# HDF5_ROOT (serial) and HDF5_PARALLEL_ROOT win; then Debian's pkg-config names; then plain hdf5.
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
                        "install libhdf5-dev and libhdf5-openmpi-dev or set HDF5_ROOT")
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
caesura_find_hdf5(Hdf5::serial "${HDF5_ROOT}" hdf5-serial hdf5)
set(CAESURA_HDF5_ARCHIVE OFF)  # shows no names to plugins
if(CAESURA_STATIC AND Hdf5::serial_lib MATCHES "\\.a$")
    set(CAESURA_HDF5_ARCHIVE ON)
endif()
if(CAESURA_MPI)
    find_package(MPI REQUIRED COMPONENTS C CXX)
    caesura_find_hdf5(Hdf5::parallel "${HDF5_PARALLEL_ROOT}" hdf5-openmpi hdf5-mpich)
    target_link_libraries(Hdf5::parallel INTERFACE MPI::MPI_C)
    if(HDF5_VOL_ROOT)
        caesura_find_hdf5(Hdf5::vol "${HDF5_VOL_ROOT}")
        target_link_libraries(Hdf5::vol INTERFACE MPI::MPI_C)
    else()
        message(STATUS "VOL connector: off (HDF5_VOL_ROOT names no parallel HDF5 >= 1.14)")
    endif()
endif()
