"""The HDF5 filter: where the plugin lies, how h5py comes to know it, what to create datasets with.

Invariants: no environment variable is set (HDF5_PLUGIN_PATH would make hdf5plugin take its own
filters for registered elsewhere, and h5py could no longer write with them); h5py is never imported
for its own sake, because it brings an HDF5 of its own into the process.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from caesura.bounds import as_bound, lossless


def plugin_path() -> str:
    """The directory with libh5caesura.so and nothing else.

    For programs that are not this process: HDF5_PLUGIN_PATH=$(python -c 'import caesura;
    print(caesura.plugin_path())') h5dump run.h5. In this process h5py knows it already.

    Raises RuntimeError if the package was built without the plugin.
    """
    directory = Path(__file__).parent / "plugins"
    if not any(directory.glob("libh5caesura.*")):
        raise RuntimeError(
            f"{directory} holds no libh5caesura; build the target h5caesura, or install the "
            "package with pip"
        )
    return str(directory)


def filter_options(
    bound: Any = None,
    *,
    mode: str = "auto",
    tables: Any = None,
    checksum: bool = True,
) -> dict[str, Any]:
    """What makes h5py compress a dataset with Caesura: keywords for create_dataset().

        file.create_dataset("rho", data=rho, chunks=(64, 64, 64), **caesura.filter_options(1e-3))

    bound: a number (absolute), or caesura.lossless() (also when left out), relative(x),
    pointwise_relative(x), psnr(x). A filter sees one chunk at a time: relative() and psnr() take
    each chunk's own value range, so chunks of little variation get a tighter bound; for one bound
    everywhere compute it, and pass a number. Values that are no floats of 16 to 64 bits are stored
    exactly, whatever the bound.
    mode: "auto" (the best of each chunk), "fast", "strong", "planes" or "regions".
    tables: a codec.TableSet trained on the field; it is kept in the dataset.
    checksum: detect damage when reading.

    Do not add other filters before this one (h5py's shuffle=True): a lossy bound is then refused.
    Chunks of 1 to 16 MiB compress best: h5py's automatic chunks are far smaller.

    Raises ValueError (bound, mode).
    """
    from caesura import _core

    values = _core.filter_cd_values(
        tuple(as_bound(lossless() if bound is None else bound)),
        mode=mode,
        checksum=checksum,
        tables=tables,
    )
    return {"compression": _core.FILTER_ID, "compression_opts": tuple(values)}


# ------------------------------------------------------------------------------- telling h5py


def register() -> None:
    """Add plugin_path() to where h5py's HDF5 looks for filters: now, or when h5py is imported.

    `import caesura` does this. Without h5py or without the plugin it does nothing.
    """
    if "h5py" in sys.modules and hasattr(sys.modules["h5py"], "h5pl"):
        _append_path(sys.modules["h5py"])
    elif not any(isinstance(finder, _AfterH5py) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterH5py())


def _append_path(h5py: ModuleType) -> None:
    try:
        path = plugin_path().encode()
    except RuntimeError:
        return  # a source tree without the compiled parts: reports and the like still work
    h5pl = h5py.h5pl
    if all(h5pl.get(i) != path for i in range(h5pl.size())):
        h5pl.append(path)


class _AfterH5py(importlib.abc.MetaPathFinder):
    """Lets h5py be imported, and then adds the path. It stays until then: many programs ask first
    whether there is an h5py (importlib.util.find_spec), and import it later or not at all."""

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "h5py":
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(fullname, path, target)):
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    """h5py's own loader, and the path afterwards."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:  # get_filename, get_data, ...: as before
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _append_path(module)
        sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _AfterH5py)]
