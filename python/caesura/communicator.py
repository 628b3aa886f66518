"""The library's Communicator over mpi4py: what `Writer(comm=...)` wraps around an MPI communicator.

Every method is collective and is called from the thread that calls the writer, so MPI needs no
thread support. Payloads are bytes; sizes travel first where ranks send different lengths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI


class MpiCommunicator:
    """Carries bytes over a private duplicate of `comm`, so that no message can meet another's."""

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm = comm.Dup()
        self._made: list[MpiCommunicator] = []
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()

    def barrier(self) -> None:
        self._comm.Barrier()

    def broadcast(self, data: bytes, root: int) -> bytes:
        buffer = bytearray(data)
        self._comm.Bcast(buffer, root=root)
        return bytes(buffer)

    def allgather(self, data: bytes) -> bytes:
        received = bytearray(len(data) * self.size)
        self._comm.Allgather(data, received)
        return bytes(received)

    def allgatherv(self, data: bytes) -> list[bytes]:
        counts = self._lengths(data)
        received = bytearray(int(counts.sum()))
        byte = self._byte()
        self._comm.Allgatherv([data, byte], [received, (counts, _begins(counts)), byte])
        return _split(received, counts)

    def gatherv(self, data: bytes, root: int) -> list[bytes]:
        counts = self._lengths(data)
        byte = self._byte()
        if self.rank != root:
            self._comm.Gatherv([data, byte], None, root=root)
            return []
        received = bytearray(int(counts.sum()))
        self._comm.Gatherv([data, byte], [received, (counts, _begins(counts)), byte], root=root)
        return _split(received, counts)

    def alltoallv(self, parts: list[bytes]) -> list[bytes]:
        send_counts = np.array([len(part) for part in parts], dtype=np.int64)
        receive_counts = np.empty(self.size, dtype=np.int64)
        self._comm.Alltoall(send_counts, receive_counts)
        received = bytearray(int(receive_counts.sum()))
        byte = self._byte()
        self._comm.Alltoallv(
            [b"".join(parts), (send_counts, _begins(send_counts)), byte],
            [received, (receive_counts, _begins(receive_counts)), byte],
        )
        return _split(received, receive_counts)

    def node_local(self) -> MpiCommunicator:
        from mpi4py import MPI

        node = self._comm.Split_type(MPI.COMM_TYPE_SHARED)
        try:
            self._made.append(MpiCommunicator(node))
        finally:
            node.Free()
        return self._made[-1]

    def free(self) -> None:
        """Collective. Gives the duplicates back: an MPI has only so many communicators."""
        for made in self._made:
            made.free()
        self._made.clear()
        self._comm.Free()

    def _lengths(self, data: bytes) -> np.ndarray:
        counts = np.empty(self.size, dtype=np.int64)
        self._comm.Allgather(np.array([len(data)], dtype=np.int64), counts)
        return counts

    @staticmethod
    def _byte() -> MPI.Datatype:
        from mpi4py import MPI

        return MPI.BYTE


def _begins(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)[:-1]])


def _split(data: bytearray, counts: np.ndarray) -> list[bytes]:
    ends = np.cumsum(counts)
    return [bytes(data[int(end - n) : int(end)]) for n, end in zip(counts, ends, strict=True)]


def wrap(comm: object) -> object | None:
    """The object the library calls: None for one process, an adaptor for an mpi4py communicator.

    Anything else that has the methods of MpiCommunicator is taken as it is.
    """
    if comm is None or hasattr(comm, "alltoallv"):
        return comm
    if hasattr(comm, "Allgatherv") and hasattr(comm, "Dup"):
        return MpiCommunicator(comm)  # type: ignore[arg-type]
    raise ValueError(
        f"comm is {type(comm).__name__}; pass an mpi4py communicator (MPI.COMM_WORLD) or None"
    )
