# The program of the build tree.
test -x "$CAESURA_BUILD/miniapps/cosmology/cosmology" || { echo "no cosmology in this build" && exit 77; }
ln -s "$CAESURA_BUILD" build
# block sh 1
