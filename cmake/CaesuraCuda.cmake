# CUDA, where there is a compiler for it: CAESURA_WITH_CUDA says whether.
#
#   CAESURA_CUDA AUTO  where nvcc works (not in sanitizer builds: CUDA refuses their address space)
#                ON    or fail to configure
#                OFF   never
# CMAKE_CUDA_ARCHITECTURES says for which GPUs. Building needs no GPU and no driver; running finds
# out: the runtime is linked statically and loads the driver when it is first called.
set(CAESURA_CUDA AUTO CACHE STRING "Devices and kernels for CUDA: AUTO, ON or OFF")
set_property(CACHE CAESURA_CUDA PROPERTY STRINGS AUTO ON OFF)

# find_package(CUDAToolkit), for CUDA 13 too: there CMake 3.25 sets a property of a library that
# CUDA no longer has, and fails, if the project asks for CMake 3.25.
macro(caesura_find_cuda)
    set(cmake_required ${CMAKE_MINIMUM_REQUIRED_VERSION})
    set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
    find_package(CUDAToolkit 12 ${ARGN})
    set(CMAKE_MINIMUM_REQUIRED_VERSION ${cmake_required})
endmacro()

set(CAESURA_WITH_CUDA OFF)
if(CAESURA_CUDA STREQUAL "AUTO" AND NOT CAESURA_SANITIZE)
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        caesura_find_cuda(QUIET)
        set(CAESURA_WITH_CUDA ${CUDAToolkit_FOUND})
    endif()
elseif(CAESURA_CUDA STREQUAL "ON")
    caesura_find_cuda(REQUIRED)
    set(CAESURA_WITH_CUDA ON)
elseif(NOT CAESURA_CUDA MATCHES "^(AUTO|OFF)$")
    message(FATAL_ERROR "CAESURA_CUDA is '${CAESURA_CUDA}'; use AUTO, ON or OFF")
endif()

if(CAESURA_WITH_CUDA)
    # Ampere's code also runs on its successors 86 and 89; what follows 90 translates 90's PTX.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES "80-real;90")
    endif()
    enable_language(CUDA)
    message(STATUS "CUDA ${CUDAToolkit_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
else()
    message(STATUS "no CUDA (CAESURA_CUDA is ${CAESURA_CUDA})")
endif()

# The options stand in place of the project's, which nvcc does not know. No contraction: what the
# host computes bit for bit, the device does too. C++17, because CMake knows CUDA's C++20 only from
# 3.26 on.
function(caesura_cuda_options target)
    set_target_properties(${target} PROPERTIES
        COMPILE_OPTIONS "-fmad=false;-Xcompiler=-Wall,-Wextra;-Werror=all-warnings"
        CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
endfunction()

# caesura_cuda_library(<target> x.cu y.cpp): kernels, or what stands in their place without CUDA.
function(caesura_cuda_library target kernels without)
    if(CAESURA_WITH_CUDA)
        add_library(${target} STATIC ${kernels})
        caesura_cuda_options(${target})
        target_link_libraries(${target} PRIVATE CUDA::cudart_static)
    else()
        add_library(${target} STATIC ${without})
    endif()
endfunction()

# caesura_cuda_sources(<target> x.cu ...): kernels of a target. A library of objects, so that the
# target keeps the project's options for its own sources.
function(caesura_cuda_sources target)
    add_library(${target}_kernels OBJECT ${ARGN})
    target_include_directories(${target}_kernels PRIVATE ${PROJECT_SOURCE_DIR}/src)
    caesura_cuda_options(${target}_kernels)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_kernels>)
    target_link_libraries(${target} PRIVATE CUDA::cudart_static)
endfunction()
