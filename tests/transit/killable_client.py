"""A client of a service that says what it has been told is committed; run and killed by kills.py.

killable_client.py PATH TRANSPORT DUMPS SEED BOUND [STOP]

Before dump STOP it commits what it has, says "stops", and waits for a line on its standard input.
"""

from __future__ import annotations

import sys

import caesura
import numpy as np

SHAPE = (64, 64, 64)
FIELDS = ("rho", "u")


def values(dump: int, seed: int, which: int) -> np.ndarray:
    """Every value of a field of a dump."""
    at = np.arange(np.prod(SHAPE), dtype=np.float64).reshape(SHAPE)
    return np.sin(1e-3 * at + dump + 0.1 * seed + 10 * which).astype(np.float32)


def say(*words: object) -> None:
    """One line, at once."""
    print(*words, flush=True)


def main() -> int:
    """Dumps, one after the other; a loss is one line and exit code 1."""
    path, transport, dumps, seed, bound = sys.argv[1:6]
    stop = int(sys.argv[6]) if len(sys.argv) > 6 else -1
    limit = {"absolute": float(bound)} if float(bound) else {}
    try:
        writer = caesura.Writer(
            path, transport=transport, chunk_bytes=1 << 18, memory_bytes=64 << 20, **limit
        )
        say("begin")
        fields = [writer.define_field(name, np.float32, SHAPE) for name in FIELDS]
        for n in range(int(dumps)):
            if n == stop:
                writer.finish_by(600.0)
                say("committed", writer.committed)
                say("stops")
                sys.stdin.readline()
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                for which, field in enumerate(fields):
                    dump.put(field, values(n, int(seed), which))
            say("committed", -1 if writer.committed is None else writer.committed)
        writer.close()
        say("committed", writer.committed)
    except OSError as error:
        say("lost", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
