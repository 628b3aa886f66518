# CAESURA_STATIC, which `pip install .` switches on: the module and the plugin need nothing of the
# system but the C library. So a wheel works on other machines and beside other versions of what it
# uses, in one process too: h5py, hdf5plugin and mpi4py bring theirs.
#
# Here the targets that rooms link are made of archives, before the rooms look for libraries:
# pkg_check_modules leaves a target alone that is there. What has no archive here is linked as a
# shared library and named; `auditwheel repair` then puts it into the wheel. HDF5's archive is
# looked for by CaesuraHdf5.cmake.
find_package(PkgConfig REQUIRED)

function(caesura_archive target module)
    pkg_check_modules(${target} REQUIRED ${module})
    find_library(CAESURA_STATIC_${target} NAMES ${module}.a HINTS ${${target}_LIBRARY_DIRS})
    add_library(PkgConfig::${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(PkgConfig::${target} SYSTEM INTERFACE ${${target}_INCLUDE_DIRS})
    target_compile_options(PkgConfig::${target} INTERFACE ${${target}_CFLAGS_OTHER})
    if(CAESURA_STATIC_${target})
        target_link_libraries(PkgConfig::${target} INTERFACE ${CAESURA_STATIC_${target}})
    else()
        message(STATUS "${module}.a is not installed: the module needs ${module}.so")
        target_link_libraries(PkgConfig::${target} INTERFACE ${${target}_LINK_LIBRARIES})
    endif()
endfunction()

caesura_archive(zstd libzstd)
caesura_archive(xxhash libxxhash)
caesura_archive(deflate libdeflate)
caesura_archive(sodium libsodium)

# Debian has no archives of these two; the plugin brings what is needed of both as sources. Options
# are those of the shared libraries (FMT_SHARED, HWY_SHARED_DEFINE): equal ones let a compiler cache
# serve both builds.
find_path(CAESURA_FMT_INCLUDE_DIR fmt/format.h REQUIRED)
set(here ${PROJECT_SOURCE_DIR}/src/hdf5/plugin)
add_library(caesura_fmt STATIC ${here}/fmt_here.cpp)
target_compile_options(caesura_fmt PRIVATE -O0)  # see there
target_compile_definitions(caesura_fmt INTERFACE FMT_SHARED)
target_include_directories(caesura_fmt SYSTEM PUBLIC ${CAESURA_FMT_INCLUDE_DIR})
add_library(fmt::fmt ALIAS caesura_fmt)

pkg_check_modules(hwy REQUIRED libhwy)
if(hwy_VERSION MATCHES "^1\\.0\\.")
    add_library(caesura_highway STATIC ${here}/highway_here.cpp)
    target_include_directories(caesura_highway SYSTEM PRIVATE ${hwy_INCLUDE_DIRS})
    add_library(PkgConfig::hwy INTERFACE IMPORTED GLOBAL)
    target_include_directories(PkgConfig::hwy SYSTEM INTERFACE ${hwy_INCLUDE_DIRS})
    target_compile_options(PkgConfig::hwy INTERFACE ${hwy_CFLAGS_OTHER})
    target_link_libraries(PkgConfig::hwy INTERFACE caesura_highway)
else()
    caesura_archive(hwy libhwy)
endif()

# Their licences want to be with what holds them: those of the very packages that are linked.
if(SKBUILD)
    set(packages libzstd-dev libxxhash-dev libdeflate-dev libsodium-dev libfmt-dev libhwy-dev
        nlohmann-json3-dev libkissfft-dev zlib1g-dev libaec-dev)
    foreach(package IN LISTS packages)
        if(EXISTS /usr/share/doc/${package}/copyright)
            install(FILES /usr/share/doc/${package}/copyright DESTINATION caesura/licences
                    RENAME ${package}.txt)
        else()
            message(STATUS "no licence of ${package} here: add it to a wheel that you hand out")
        endif()
    endforeach()
    file(GLOB hdf5_licence ${HDF5_ROOT}/share/COPYING*)
    install(FILES ${hdf5_licence} DESTINATION caesura/licences/hdf5)
endif()
