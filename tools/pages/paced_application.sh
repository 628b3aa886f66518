# Sourced by frames of tests/pages: makes `./application`, a test's own program of parallel HDF5 that
# stands for the reader's. Its datasets are called rho and ids.
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
