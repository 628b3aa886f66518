# CUDA for the particle kernels, where there is a compiler for it; see device_kernels.hpp.
if(CAESURA_WITH_CUDA)
    add_library(caesura_cosmology_device STATIC device_kernels.cu)
    # In place of the project's options, which nvcc does not know; see cmake/CaesuraCuda.cmake.
    set_target_properties(caesura_cosmology_device PROPERTIES
        COMPILE_OPTIONS "-fmad=false;-Xcompiler=-Wall,-Wextra;-Werror=all-warnings"
        CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
    target_link_libraries(caesura_cosmology_device PRIVATE CUDA::cudart_static)
else()
    add_library(caesura_cosmology_device STATIC device_kernels_none.cpp)
endif()
