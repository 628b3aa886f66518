#!/usr/bin/env bash
# Compile the library with Clang, where a warning is an error, and run tests: the codec writes and
# reads the same bytes as with GCC (golden files included), and a Writer works through the C face.
# Exit code 77: there is no clang++.
# Without CAESURA_NIGHTLY only the codec, for one instruction set, and the first of the tests.
#   compiles_with_clang.sh SOURCE_DIR BUILD_DIR ROOM/TEST...
set -euo pipefail
source=$1 build=$2
tests=("${@:3}") libraries=(caesura_shared h5caesura) sets=
parts=(-DCAESURA_CODEC_ONLY=OFF -DCAESURA_MPI=OFF -DCAESURA_SERVICE=OFF -DCAESURA_FORTRAN=OFF
       -DCAESURA_LAB=OFF -DCAESURA_MINIAPPS=OFF)
if [ -z "${CAESURA_NIGHTLY:-}" ]; then
    # Kernels are compiled once per instruction set, which is most of the time.
    tests=("$3") libraries=(caesura_codec) sets=" -DHWY_COMPILE_ONLY_STATIC"
    parts=(-DCAESURA_CODEC_ONLY=ON)
    if grep -qw avx2 /proc/cpuinfo; then sets+=" -march=x86-64-v3"; fi
fi
if ! command -v clang++ >/dev/null; then
    echo "clang++ is not installed; tools/packages-clang.txt names what this test needs"
    exit 77
fi
# -O0: half of the time. The codec's kernels keep the optimisation that they ask for.
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -DNDEBUG$sets" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
    "${parts[@]}" >"$build.log" 2>&1 || { tail -20 "$build.log"; exit 1; }
cmake --build "$build" --target "${libraries[@]}" "${tests[@]##*/}" >>"$build.log" 2>&1 ||
    { tail -40 "$build.log"; exit 1; }
for test in "${tests[@]}"; do
    "$build/src/$test"
done
