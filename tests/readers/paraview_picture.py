"""Run by pvpython, without Caesura: opens a file as ParaView's openPMD reader does, says what it
sees of the first dump, and draws it.

xvfb-run -a pvpython paraview_picture.py FILE.pmd FIELD SPECIES LEVEL PICTURE.png
FILE.pmd has one line, the name of the HDF5 file beside it: so that reader wants it.
"""

import json
import sys

import numpy as np
from paraview.simple import (
    ColorBy,
    Contour,
    CreateRenderView,
    OutputPort,
    Render,
    ResetCamera,
    SaveScreenshot,
    Show,
    openPMDReader,
)
from vtkmodules.util.numpy_support import vtk_to_numpy


def arrays_of(data):
    """Values of all points, by the array's name; the points themselves as "points"."""
    while hasattr(data, "GetNumberOfPartitionedDataSets"):
        data = data.GetPartitionedDataSet(0)
    if hasattr(data, "GetNumberOfPartitions"):
        data = data.GetPartition(0)
    points = data.GetPointData()
    found = {
        points.GetArrayName(i): vtk_to_numpy(points.GetArray(i))
        for i in range(points.GetNumberOfArrays())
    }
    if hasattr(data, "GetPoints") and data.GetPoints() is not None:
        found["points"] = vtk_to_numpy(data.GetPoints().GetData())
    return found


def main():
    path, field, species, level, picture = sys.argv[1:]
    reader = openPMDReader(FileName=path)
    reader.UpdatePipelineInformation()
    times = list(reader.TimestepValues)
    reader.UpdatePipeline(times[0])  # this reader gives particles of other times to nobody
    # The server is this process: what it has needs no transport, which merges blocks.
    seen = reader.GetClientSideObject().GetOutputDataObject
    mesh = arrays_of(seen(0))
    particles = arrays_of(seen(1))
    said = {
        "times": times,
        "values": [
            float(v) for v in (np.sum(mesh[field]), np.min(mesh[field]), np.max(mesh[field]))
        ],
        "count": int(mesh[field].size),
        "particles": len(particles["points"]),
        "places": [float(v) for v in np.sum(particles["points"], axis=0)],
        "species": species,
    }
    view = CreateRenderView(ViewSize=[900, 700])
    view.ViewTime = times[0]
    surface = Contour(Input=OutputPort(reader, 0), ContourBy=["POINTS", field])
    surface.Isosurfaces = [float(level)]
    shown = Show(surface, view)
    shown.Opacity = 0.35
    dots = Show(OutputPort(reader, 1), view)
    dots.SetRepresentationType("Points")
    dots.PointSize = 4
    ColorBy(dots, ("POINTS", "id"))
    ResetCamera(view)
    Render(view)
    SaveScreenshot(picture, view)
    print("SAID " + json.dumps(said))


main()
