# A plotfile as AMReX writes it, by a test's own program.
program="$CAESURA_BUILD/tests/vol/vol_amrex_like"
[ -x "$program" ] && [ -e "$CAESURA_BUILD/vol/libcaesura_vol.so" ] ||
    { echo "this build has no connector"; exit 77; }
mpirun -n 1 "$program" "$PWD"
mv "$(ls -S ./*.h5 | head -1)" plt00000.h5
cat >run.toml <<'END'
# block toml 1
END
# block sh 1
