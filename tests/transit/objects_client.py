"""A client that puts an object, reads it, and has it analysed; run by test_two_nodes.py.

objects_client.py SERVICE SLABS

Prints one line of JSON: what was found, what numpy finds, and whether what came back is what was
put.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from caesura import service

SLAB = (16, 64, 64)  # 256 KiB of float32


def main() -> None:
    """Put slab by slab, so that the service has time to make room."""
    address, slabs = sys.argv[1], int(sys.argv[2])
    shape = (SLAB[0] * slabs, *SLAB[1:])
    values = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    with service.connect(address) as objects:
        made = objects.create("run", "rho", np.float32, shape)
        for at in range(0, shape[0], SLAB[0]):
            objects.put(made, values[at : at + SLAB[0]], offset=(at, 0, 0)).wait()
        found = objects.run(made, "stats")
        histogram = objects.run(made, "histogram(bins=16, low=-4, high=4)")
        back = objects.get(made, offset=(0, 0, 0), extent=shape)
    counts, _ = np.histogram(values, bins=16, range=(-4, 4))
    print(
        json.dumps(
            {
                "found": {name: found[name] for name in ("min", "max", "mean")},
                "numpy": {
                    "min": float(values.min()),
                    "max": float(values.max()),
                    "mean": float(values.astype(np.float64).mean()),
                },
                "counts": [int(n) for n in histogram["counts"]],
                "numpy_counts": [int(n) for n in counts],
                "same": bool(np.array_equal(back, values)),
                "bytes": values.nbytes,
            }
        )
    )


if __name__ == "__main__":
    main()
