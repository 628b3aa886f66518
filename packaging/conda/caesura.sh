#!/usr/bin/env bash
# The Python package and the command line with its man pages: recipe.yaml's second output.
set -euo pipefail
mkdir -p kissfft-include && ln -sfn "$PWD/kissfft" kissfft-include/kissfft
export CMAKE_ARGS="${CMAKE_ARGS:-} -DHDF5_ROOT=$PREFIX -DCAESURA_CUDA=OFF \
    -DCAESURA_SERVICE=ON -DCAESURA_PMIX=OFF -DKISSFFT_INCLUDE_DIR=$PWD/kissfft-include"
"$PYTHON" -m pip install . --verbose --no-deps --no-build-isolation
# The service's program is the first output's.
rm -rf "$SP_DIR/caesura/bin"
mkdir -p "$PREFIX/share/man/man1"
cp docs/man/caesura*.1 "$PREFIX/share/man/man1"
rm "$PREFIX/share/man/man1/caesura-serve.1"
