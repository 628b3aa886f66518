# The targets of make are there; running them is what continuous integration does. The application
# is a test's own program of parallel HDF5.
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
report = "caesura.json"
END

make() { command make --dry-run -C "$CAESURA_SOURCES" "$@"; }
# block sh 1
# block sh 2
grep -q dump_0 caesura.json
