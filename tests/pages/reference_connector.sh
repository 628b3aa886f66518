# The connector takes the configuration; the closing line is shown, not run.
[ -e "$CAESURA_BUILD/vol/libcaesura_vol.so" ] || { echo "this build has no connector"; exit 77; }
cat >run.toml <<'END'
# block toml 1
END
python - <<'END'
import h5py
import numpy

with h5py.File("fields.h5", "w") as file:
    for name in ("rho", "T"):
        file["fields/" + name] = numpy.random.default_rng(1).random((96, 64, 64), "f4") * 2e3
END
caesura vol check fields.h5 --config run.toml | tee said
grep -q '/fields/rho' said
