"""Prints what openPMD-api and openPMD-viewer make of a file's attributes, as one JSON object.

    OUR_PLUGIN=DIRECTORY read_metadata.py FILE

FILE lies alone in its directory, with the fields "rho", "modes" (of geometry thetaMode) and "v/x"
in iteration 3. Runs in an environment without Caesura.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def of_openpmd_api(path: Path) -> dict:
    import openpmd_api as io

    series = io.Series(str(path), io.Access.read_only)
    iteration = series.iterations[3]
    rho, modes, v = (iteration.meshes[name] for name in ("rho", "modes", "v"))
    scalar = io.Mesh_Record_Component.SCALAR
    found = {
        "software": series.software,
        "run": series.get_attribute("run"),
        "stage": iteration.get_attribute("stage"),
        "time_unit_si": iteration.time_unit_SI,
        "boundary": iteration.meshes.get_attribute("fieldBoundary"),
        "rho": {
            "geometry": str(rho.geometry).split(".")[-1],
            "data_order": str(rho.data_order),
            "axis_labels": rho.axis_labels,
            "grid_spacing": rho.grid_spacing,
            "grid_offset": rho.grid_global_offset,
            "time_offset": rho.time_offset,
            "position": rho[scalar].position,
            "colour": rho.get_attribute("colour"),
        },
        "modes": {
            "geometry": str(modes.geometry).split(".")[-1],
            "parameters": modes.geometry_parameters,
            "axis_labels": modes.axis_labels,
        },
        "v": {"origin": v.get_attribute("origin"), "x": v["x"].get_attribute("counts")},
    }
    series.close()
    return found


def of_openpmd_viewer(path: Path) -> dict:
    import h5py
    from openpmd_viewer import OpenPMDTimeSeries

    h5py.h5pl.append(os.environ["OUR_PLUGIN"].encode())
    series = OpenPMDTimeSeries(str(path.parent), check_all_files=False, backend="h5py")
    values, info = series.get_field("modes", iteration=3, m=0)
    return {
        "geometry": series.fields_metadata["modes"]["geometry"],
        "shape": values.shape,
        "r": info.r[-1],
        "z": info.z[-1],
        "value": float(values[-1, 0]),
    }


def main() -> None:
    path = Path(sys.argv[1])
    print(json.dumps({"api": of_openpmd_api(path), "viewer": of_openpmd_viewer(path)}))


if __name__ == "__main__":
    main()
