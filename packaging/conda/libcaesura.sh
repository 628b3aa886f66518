#!/usr/bin/env bash
# The libraries, the filter, the connector and the service: recipe.yaml's first output.
set -euo pipefail
# An environment has one HDF5, so all flavours are the same; without MPI there is only the first.
parallel=ON
hdf5=("-DHDF5_ROOT=$PREFIX" "-DHDF5_PARALLEL_ROOT=$PREFIX" "-DHDF5_VOL_ROOT=$PREFIX")
if [ "$mpi" = nompi ]; then
    parallel=OFF
    hdf5=("-DHDF5_ROOT=$PREFIX")
fi
mkdir -p kissfft-include && ln -sfn "$PWD/kissfft" kissfft-include/kissfft
# shellcheck disable=SC2086 # conda's arguments are several words
cmake -S . -B build-conda -G Ninja ${CMAKE_ARGS:-} "-DCMAKE_INSTALL_PREFIX=$PREFIX" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release "-DCAESURA_MPI=$parallel" "${hdf5[@]}" \
    -DCAESURA_TESTS=OFF -DCAESURA_LAB=OFF -DCAESURA_MINIAPPS=OFF -DCAESURA_PYTHON=OFF \
    -DCAESURA_CUDA=OFF -DCAESURA_PMIX=OFF "-DKISSFFT_INCLUDE_DIR=$PWD/kissfft-include"
cmake --build build-conda --target caesura_installed
cmake --install build-conda
# The command line is the other output's, and so are its pages.
find "$PREFIX/share/man/man1" -name 'caesura*.1' ! -name caesura-serve.1 -delete
