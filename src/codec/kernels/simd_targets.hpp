// Which instruction sets kernels are compiled for. Included before Highway.
//
//  - AVX-512 with VBMI2 (Ice Lake, Zen 4), where bytes are shuffled: Highway 1.0.3 wants to be
//    asked for it. Kernels of floats (CAESURA_KERNELS_OF_FLOATS) have no use for it: the copy for
//    AVX-512 is the same code.
//  - No SSSE3: what has it and not SSE4 is older than 2008, and runs the emulated copy.
//  - The emulated 128-bit target instead of one-lane vectors, where no instruction set is known.
//    Highway leaves it out for GCC before 12.3, which miscompiles loops it vectorises by itself
//    (GCC bug 106322); these files are compiled without that (see CMakeLists.txt).
//  - No scalable vectors: the kernels work in blocks of 16 bytes and keep arrays of vectors, which
//    SVE has no types for. An SVE machine runs the NEON copy.
#pragma once

#ifndef CAESURA_KERNELS_OF_FLOATS
#define HWY_WANT_AVX3_DL
#endif
#define HWY_BROKEN_EMU128 0
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
