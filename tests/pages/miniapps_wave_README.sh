# The program of the build tree.
test -x "$CAESURA_BUILD/miniapps/wave/wave" || { echo "no wave in this build" && exit 77; }
ln -s "$CAESURA_BUILD" build
# block sh 1
