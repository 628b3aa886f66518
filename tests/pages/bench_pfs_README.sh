# A program that writes 1 MB into the emulated system, and the tool of the build tree.
test -e "$CAESURA_BUILD/bench/pfs/libpfs.so" || { echo "no libpfs.so in this build" && exit 77; }
ln -s "$CAESURA_BUILD" build
PATH=$PATH:$PWD/build/bench/pfs
mkdir -p /tmp/run
printf '#!/bin/sh\nexec dd if=/dev/zero of=/tmp/run/of_the_page bs=1M count=1 status=none\n' >program
chmod +x program
# block sh 1
pfs_stat | grep -q '1048576'
rm /tmp/run/of_the_page
pfs_stat --remove
