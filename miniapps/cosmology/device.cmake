# CUDA for the particle kernels, where there is a compiler for it; see device_kernels.hpp.
#
#   CAESURA_CUDA AUTO  where nvcc works (not in sanitizer builds: CUDA refuses their address space)
#                ON    or fail to configure
#                OFF   never
# CMAKE_CUDA_ARCHITECTURES says for which GPUs. Building needs no GPU; running finds out.
set(CAESURA_CUDA AUTO CACHE STRING "CUDA kernels of the cosmology mini-app: AUTO, ON or OFF")
set_property(CACHE CAESURA_CUDA PROPERTY STRINGS AUTO ON OFF)

set(cosmology_cuda OFF)
if(CAESURA_CUDA STREQUAL "AUTO" AND NOT CAESURA_SANITIZE)
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        find_package(CUDAToolkit 12 QUIET)
        set(cosmology_cuda ${CUDAToolkit_FOUND})
    endif()
elseif(CAESURA_CUDA STREQUAL "ON")
    find_package(CUDAToolkit 12 REQUIRED)
    set(cosmology_cuda ON)
elseif(NOT CAESURA_CUDA MATCHES "^(AUTO|OFF)$")
    message(FATAL_ERROR "CAESURA_CUDA is '${CAESURA_CUDA}'; use AUTO, ON or OFF")
endif()

if(cosmology_cuda)
    # Ampere's code also runs on its successors 86 and 89; what follows 90 translates 90's PTX.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES "80-real;90")
    endif()
    enable_language(CUDA)
    add_library(caesura_cosmology_device STATIC device_kernels.cu)
    # In place of the project's options, which nvcc does not know. No contraction: what the host
    # computes bit for bit, the device does too.
    # C++17, because CMake knows CUDA's C++20 only from 3.26 on.
    set_target_properties(caesura_cosmology_device PROPERTIES
        COMPILE_OPTIONS "-fmad=false;-Xcompiler=-Wall,-Wextra;-Werror=all-warnings"
        CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
    target_link_libraries(caesura_cosmology_device PRIVATE CUDA::cudart_static)
    message(STATUS "cosmology: CUDA ${CUDAToolkit_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
else()
    add_library(caesura_cosmology_device STATIC device_kernels_none.cpp)
    message(STATUS "cosmology: no CUDA (CAESURA_CUDA is ${CAESURA_CUDA})")
endif()
