# The application is a test's own program of parallel HDF5; it writes a file natively, then under
# the connector. Its datasets are called rho and ids.
application="$CAESURA_BUILD/tests/vol/vol_paced"
[ -x "$application" ] && [ -e "$CAESURA_BUILD/vol/libcaesura_vol.so" ] ||
    { echo "this build has no connector"; exit 77; }
ln -s "$CAESURA_BUILD" build
cat >application <<END
#!/bin/sh
# The program holds it against the connector that it finds.
[ -z "\$HDF5_VOL_CONNECTOR" ] || export VOL_TEST_CONNECTOR=caesura
exec "$application" "\$PWD" 1 </dev/zero
END
chmod +x application
cat >run.toml <<'END'
# block toml 1
END
mpirun ./application
cp dump_0.h5 old_output.h5
# block sh 2
# block sh 1
grep -q 'dump_0' caesura.json
