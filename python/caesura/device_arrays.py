"""Arrays that lie in a device: cupy, torch, numba, whatever has __cuda_array_interface__."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from caesura import _core

_DEFAULT_STREAMS = (None, 1)  # 1 is the interface's name of CUDA's default stream


@dataclass(frozen=True)
class DeviceArray:
    """Values, dense and in C order, that the library can fetch itself."""

    address: int
    dtype: np.dtype
    shape: tuple[int, ...]


def device_array(array: Any) -> DeviceArray | None:
    """What there is to fetch; None: it lies in the host, or is to be copied there by its own
    library, because it is not dense, its stream is not to be waited for, or this library was built
    without CUDA."""
    if isinstance(array, np.ndarray):
        return None
    if hasattr(array, "detach"):  # torch: leave autograd
        array = array.detach()
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None or not is_dense(interface):
        return None
    address = int(interface["data"][0])
    if address == 0 or not _core.owns_device_memory(address) or not _wait_for(array, interface):
        return None
    shape = tuple(int(extent) for extent in interface["shape"])
    return DeviceArray(address, np.dtype(interface["typestr"]), shape)


def _wait_for(array: Any, interface: dict[str, Any]) -> bool:
    """Work on the array under way is waited for by CUDA's default stream, in which it is fetched.
    False: it cannot be."""
    if hasattr(array, "__dlpack__"):
        array.__dlpack__(stream=1)  # the exporter makes that stream wait
        return True
    return interface.get("stream") in _DEFAULT_STREAMS


def is_dense(interface: dict[str, Any]) -> bool:
    """Whether an array of __cuda_array_interface__ is contiguous in C order."""
    if interface.get("strides") is None:
        return True
    step = np.dtype(interface["typestr"]).itemsize
    for extent, stride in zip(
        reversed(interface["shape"]), reversed(interface["strides"]), strict=True
    ):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True
