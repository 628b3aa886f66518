#!/usr/bin/env bash
# Build the codec and its tests for 64-bit ARM and run them under qemu: NEON must write and read the
# same bytes (golden files included). Exit code 77: the cross compiler, its libraries or qemu are not
# there.
# Without CAESURA_NIGHTLY only the first of the tests.
#   codec_on_aarch64.sh SOURCE_DIR BUILD_DIR TEST...
set -euo pipefail
source=$1 build=$2
tests=("${@:3}")
if [ -z "${CAESURA_NIGHTLY:-}" ]; then tests=("$3"); fi
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
    if ! command -v "$tool" >/dev/null; then
        echo "$tool is not installed; tools/packages-aarch64.txt names what this test needs"
        exit 77
    fi
done
for library in pkgconfig/libhwy.pc pkgconfig/libzstd.pc pkgconfig/libxxhash.pc libfmt.so libgtest.a; do
    if [ ! -e "/usr/lib/aarch64-linux-gnu/$library" ]; then
        echo "the ARM library $library is not installed; see tools/packages-aarch64.txt"
        exit 77
    fi
done
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAESURA_CODEC_ONLY=ON \
    -DCMAKE_TOOLCHAIN_FILE="$source/cmake/aarch64.cmake" >"$build.log" 2>&1 ||
    { tail -20 "$build.log"; exit 1; }
cmake --build "$build" --target "${tests[@]}" >>"$build.log" 2>&1 || { tail -40 "$build.log"; exit 1; }
for test in "${tests[@]}"; do
    qemu-aarch64 "$build/src/codec/$test"
done
