# A Writer's file with a density beside one of others; HDF5's tools have the filter as the page says.
python - <<'END'
import caesura
import h5py
import numpy

values = numpy.random.default_rng(1).random((32, 32, 32), dtype="f4").cumsum(axis=0, dtype="f4")
with h5py.File("run.h5", "w") as file:
    options = caesura.filter_options(1e-3)
    file.create_dataset("density", data=values, chunks=values.shape, **options)
with h5py.File("in.h5", "w") as file:
    file.create_dataset("rho", data=values, chunks=values.shape)
END
export HDF5_PLUGIN_PATH=$(python -c 'import caesura; print(caesura.plugin_path())')
# block sh 1
h5dump -H -p plain.h5 >plain
if grep -q FILTER_ID plain; then exit 1; fi
# block sh 2
h5dump -H -p out.h5 | grep -q 'FILTER_ID 322'
