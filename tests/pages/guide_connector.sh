# The application writes a file natively, then under the connector.
. "$CAESURA_SOURCES/tools/pages/paced_application.sh"
cat >run.toml <<'END'
# block toml 1
END
mpirun ./application
cp dump_0.h5 old_output.h5
# block sh 2
# block sh 1
grep -q 'dump_0' caesura.json
