/* PETSc's HDF5 viewer: a vector of a distributed 3-D array, a time step after the other.
 * Argument: DIRECTORY. Built against the HDF5 of the connector: see README.md. */
#include <petscdmda.h>
#include <petscviewerhdf5.h>

int main(int argc, char** argv) {
    DM grid;
    Vec field;
    PetscViewer viewer;
    PetscScalar*** values;
    PetscInt x0, y0, z0, nx, ny, nz;
    const PetscInt n = 128;
    char path[1024];
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                           DMDA_STENCIL_BOX, n, n, n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1,
                           1, NULL, NULL, NULL, &grid));
    PetscCall(DMSetUp(grid));
    PetscCall(DMCreateGlobalVector(grid, &field));
    PetscCall(PetscObjectSetName((PetscObject)field, "field"));
    PetscCall(DMDAGetCorners(grid, &x0, &y0, &z0, &nx, &ny, &nz));
    PetscCall(PetscSNPrintf(path, sizeof path, "%s/petsc.h5", argv[1]));
    PetscCall(PetscViewerHDF5Open(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
    PetscCall(PetscViewerHDF5PushTimestepping(viewer));
    for (PetscInt step = 0; step < 4; ++step) {
        PetscCall(DMDAVecGetArray(grid, field, &values));
        for (PetscInt z = z0; z < z0 + nz; ++z)
            for (PetscInt y = y0; y < y0 + ny; ++y)
                for (PetscInt x = x0; x < x0 + nx; ++x)
                    values[z][y][x] = PetscSinReal(0.03 * x + 0.1 * step) * (1 + 0.01 * y) + z;
        PetscCall(DMDAVecRestoreArray(grid, field, &values));
        PetscCall(PetscViewerHDF5SetTimestep(viewer, step));
        PetscCall(VecView(field, viewer));
    }
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(PetscViewerHDF5Open(PETSC_COMM_WORLD, path, FILE_MODE_READ, &viewer));
    PetscCall(PetscViewerHDF5PushTimestepping(viewer));
    PetscCall(PetscViewerHDF5SetTimestep(viewer, 2));
    PetscCall(VecLoad(field, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(VecDestroy(&field));
    PetscCall(DMDestroy(&grid));
    PetscCall(PetscFinalize());
    return 0;
}
