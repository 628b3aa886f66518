"""HDF5's Fortran modules for the connector's HDF5, which comes without them.

Arguments: DIRECTORY, and a source package of HDF5 that is unpacked already, if there is one. Builds
the same source package with the same options and with Fortran, and installs it there. A program is
linked to `libhdf5_fortran` of that folder and to `libhdf5` of the connector. Needs gfortran.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import hdf5

target = Path(sys.argv[1]).resolve()
MORE = {"HDF5_BUILD_FORTRAN": "ON", "HDF5_BUILD_TOOLS": "OFF", "HDF5_BUILD_HL_LIB": "OFF"}
hdf5.OPTIONS.update(MORE)
with tempfile.TemporaryDirectory(prefix="hdf5-fortran-") as folder:
    source = Path(sys.argv[2]).resolve() if sys.argv[2:] else hdf5.fetch(Path(folder))
    print(f"builds {source.name} with Fortran", flush=True)
    subprocess.run(["sh", "-c", hdf5.compile_commands(source, target)], check=True)
    shutil.copytree(source / "root" / target.relative_to("/"), target, dirs_exist_ok=True)
print(target)
