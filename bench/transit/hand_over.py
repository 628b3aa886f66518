"""One application that does nothing but hand over: run by two.py, two at a time.

    hand_over.py PATH TRANSPORT DATA DUMPS CODEC BOUND_SCALE

It prints "ready", begins with a line on its standard input, and prints one line of JSON: when it
began and when its file was whole (monotonic clock of the node), and what its Writer counted.
TRANSPORT "": it writes by itself. PATH "codec": it compresses the same blocks and writes nothing.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import caesura
import numpy as np
from caesura import codec
from caesura_lab.demo.scenario import BOUNDS

CHUNK = 64  # cells a side: 1 MB


def load(folder: Path) -> dict[str, np.ndarray]:
    """The mini-app's fields of its last dump (--raw-dir)."""
    fields = {}
    for name in BOUNDS:
        last = max(folder.glob(f"{name}_*.bin"), key=lambda path: int(path.stem.split("_")[-1]))
        values = np.fromfile(last, np.float32)
        side = round(values.size ** (1 / 3))
        fields[name] = values.reshape(side, side, side)
    return fields


def compress_all(fields: dict[str, np.ndarray], dumps: int, scale: float) -> int:
    """The codec alone; stored bytes."""
    stored = 0
    for _ in range(dumps):
        for name, values in fields.items():
            for first in range(0, values.shape[0], CHUNK):
                block = np.ascontiguousarray(values[first : first + CHUNK])
                stored += len(codec.compress(block, caesura.absolute(scale * BOUNDS[name])))
    return stored


def main() -> None:
    """Load, wait for the word, hand over."""
    path, transport, data, dumps, codec_name, scale = sys.argv[1:7]
    fields = load(Path(data))
    raw_bytes = int(dumps) * sum(values.nbytes for values in fields.values())
    print("ready", flush=True)
    sys.stdin.readline()
    begin_s = time.monotonic()
    report: dict = {}
    if path == "codec":
        report = {"stored_bytes": compress_all(fields, int(dumps), float(scale))}
    else:
        with caesura.Writer(
            path,
            transport=transport,
            codec=codec_name,
            memory_bytes=2 * raw_bytes // int(dumps),
            chunk_bytes=4 * CHUNK**3,
        ) as writer:
            defined = {
                name: writer.define_field(
                    name,
                    np.float32,
                    values.shape,
                    **(
                        {"lossless": True}
                        if codec_name == "none"
                        else {"absolute": float(scale) * BOUNDS[name]}
                    ),
                )
                for name, values in fields.items()
            }
            for n in range(int(dumps)):
                with writer.iteration(n) as iteration:
                    dump = iteration.begin_dump(time=n)
                    for name, values in fields.items():
                        dump.put(defined[name], values)
        report = asdict(writer.report())
    end_s = time.monotonic()
    print(json.dumps({**report, "raw_bytes": raw_bytes, "from_s": begin_s, "to_s": end_s}))


if __name__ == "__main__":
    main()
