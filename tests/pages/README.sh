# The targets of make are there; running them is what continuous integration does.
. "$CAESURA_SOURCES/tools/pages/paced_application.sh"
cat >run.toml <<'END'
report = "caesura.json"
END

make() { command make --dry-run -C "$CAESURA_SOURCES" "$@"; }
# block sh 1
# block sh 2
grep -q dump_0 caesura.json
