# The targets of make are there; running them is what continuous integration does.
. "$CAESURA_SOURCES/tools/pages/paced_application.sh"

make() { command make --dry-run -C "$CAESURA_SOURCES" "$@"; }
# block sh 1
# block sh 2
caesura info dump_0.h5 >info
grep -q "rho .* caesura .* lossless" info
