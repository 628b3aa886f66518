# The programs of the build tree; the second needs the connector's HDF5.
for program in blast blast_plotfile; do
    test -x "$CAESURA_BUILD/miniapps/blast/$program" || { echo "no $program in this build" && exit 77; }
done
# The tests `blast.*` run the same programs for every change.
test -n "${CAESURA_NIGHTLY:-}" || { echo "CAESURA_NIGHTLY is not set: see .ci/nightly" && exit 77; }
ln -s "$CAESURA_BUILD" build
# block sh 1
test -s blast.h5 && test -s blast00000.h5
