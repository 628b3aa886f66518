"""Goal: h5py as its users write it: attributes, slices, strides, filters, growth, links."""

import h5py
import numpy as np
from vol_check import DIRECTORY, check_connector, check_near, comm, share

ROWS, WIDTH = 96, 64
FIELD = np.sin(np.arange(ROWS)[:, None] * 0.05 + np.arange(WIDTH)[None, :] * 0.1) + 2.0


def write(name: str) -> None:
    """A file by all ranks."""
    mine = share(ROWS)
    with h5py.File(DIRECTORY / name, "w", driver="mpio", comm=comm) as file:
        check_connector(file)
        file.attrs["title"] = "a file with text of any length: \N{GREEK SMALL LETTER RHO}"
        file.attrs["vector"] = np.arange(5.0)
        file.attrs["words"] = ["one", "two"]
        file.attrs["flag"] = True
        file.attrs["nothing"] = h5py.Empty("f4")
        group = file.create_group("fields/deep")
        check_connector(group)
        group.attrs["level"] = np.int16(3)
        plain = group.create_dataset("plain", (ROWS, WIDTH), dtype="f8")
        plain[mine] = FIELD[mine]
        chunks = group.create_dataset("chunks", (ROWS, WIDTH), dtype="f4", chunks=(20, 40))
        with chunks.collective:
            chunks[mine] = FIELD[mine].astype("f4")
        packed = group.create_dataset(
            "packed", (ROWS, WIDTH), dtype="i4", chunks=(16, 64), compression="gzip", shuffle=True
        )
        with packed.collective:
            packed[mine] = np.arange(ROWS * WIDTH, dtype="i4").reshape(ROWS, WIDTH)[mine]
        strided = group.create_dataset("strided", (ROWS, WIDTH), dtype="f8", fillvalue=-1.0)
        strided[comm.rank :: comm.size, ::2] = FIELD[comm.rank :: comm.size, ::2]
        listed = group.create_dataset("listed", (ROWS, WIDTH), dtype="f8")
        rows = list(range(comm.rank, ROWS, 3 * comm.size))
        listed[rows, 5:9] = FIELD[rows, 5:9]
        masked = group.create_dataset("masked", (ROWS, WIDTH), dtype="f8")
        mask = np.zeros((ROWS, WIDTH), dtype=bool)
        mask[mine, ::7] = True
        masked[mask] = FIELD[mask]
        flags = group.create_dataset("flags", (ROWS, WIDTH), dtype=bool)
        flags[mine] = FIELD[mine] > 2.0
        halves = group.create_dataset("halves", (ROWS, WIDTH), dtype="f2")
        halves[mine] = FIELD[mine].astype("f2")
        direct = group.create_dataset("direct", (ROWS, WIDTH), dtype="f8")
        direct.write_direct(FIELD, mine, mine)
        file["soft"] = h5py.SoftLink("/fields/deep/plain")
        file["hard"] = plain
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/missing")


def write_more(name: str) -> None:
    """The file again: growth, references, scales, copies, types."""
    with h5py.File(DIRECTORY / name, "r+", driver="mpio", comm=comm) as file:
        grows = file.create_dataset("grows", (0, WIDTH), "f8", maxshape=(None, WIDTH), chunks=True)
        for step in range(3):
            grows.resize((step + 1) * ROWS, axis=0)
            mine = share(ROWS)
            at = slice(step * ROWS + mine.start, step * ROWS + mine.stop)
            grows[at] = FIELD[mine] + step
        file.attrs["to"] = file["fields/deep"].ref
        axis = file.create_dataset("axis", data=np.arange(float(WIDTH)))
        axis.make_scale("x")
        file["fields/deep/plain"].dims[1].attach_scale(axis)
        file["fields/deep/plain"].dims[0].label = "row"
        file.copy("fields/deep/plain", file, name="copied")
        kind = np.dtype([("id", "i8"), ("at", "f8", 3), ("name", "S8")])
        bodies = file.create_dataset("bodies", (comm.size,), kind)
        bodies[comm.rank] = (comm.rank, (0.5, 1.5, 2.5), b"body")
        colour = h5py.enum_dtype({"red": 0, "green": 1}, basetype="i1")
        file.create_dataset("colours", data=np.arange(8) % 2, dtype=colour)
        file["moved"] = file["grows"]
        del file["moved"]
        file.flush()


def check(name: str) -> None:
    """What was written, by every rank and seen from everywhere."""
    with h5py.File(DIRECTORY / name, "r", driver="mpio", comm=comm) as file:
        group = file[file.attrs["to"]]
        assert list(file.attrs["words"]) == ["one", "two"] and file.attrs["flag"]
        assert group.attrs["level"] == 3
        for path in ("fields/deep/plain", "soft", "hard", "copied", "fields/deep/direct"):
            check_near(file[path][...], FIELD)
        check_near(group["chunks"][...], FIELD.astype("f4").astype("f8"))
        assert (group["packed"][...].ravel() == np.arange(ROWS * WIDTH)).all()
        check_near(group["strided"][:, ::2], FIELD[:, ::2])
        check_near(group["strided"][:, 1::2], np.full((ROWS, WIDTH // 2), -1.0))
        assert group["flags"].dtype == bool and (group["flags"][...] == (FIELD > 2.0)).all()
        assert group["halves"].dtype == np.float16
        check_near(group["halves"][...].astype("f8"), FIELD.astype("f2").astype("f8"))
        rows = sorted({r for k in range(comm.size) for r in range(k, ROWS, 3 * comm.size)})
        wanted = np.zeros((ROWS, WIDTH))
        wanted[rows, 5:9] = FIELD[rows, 5:9]
        check_near(group["listed"][...], wanted)
        wanted = np.zeros((ROWS, WIDTH))
        wanted[:, ::7] = FIELD[:, ::7]
        check_near(group["masked"][...], wanted)
        check_near(file["grows"][...], np.concatenate([FIELD, FIELD + 1, FIELD + 2]))
        assert (file["bodies"]["id"] == np.arange(comm.size)).all()
        names = []
        file.visit(names.append)
        assert len(names) == 16, names
        assert "moved" not in file and file.get("elsewhere", getlink=True).path == "/missing"
        assert file["fields/deep/plain"].dims[0].label == "row"


write("h5py.h5")
write_more("h5py.h5")
check("h5py.h5")
