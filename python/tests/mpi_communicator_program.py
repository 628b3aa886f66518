"""Run under mpirun by test_mpi_writer.py: every call of the adaptor against what it must give."""

from __future__ import annotations

from caesura.communicator import MpiCommunicator
from mpi4py import MPI


def payload(rank: int) -> bytes:
    return bytes([rank]) * (1000 * rank)  # rank 0 sends nothing


def main() -> None:
    comm = MpiCommunicator(MPI.COMM_WORLD)
    ranks = range(comm.size)
    everything = [payload(r) for r in ranks]
    comm.barrier()
    assert comm.broadcast(b"from one" if comm.rank == 1 else bytes(8), 1) == b"from one"
    assert comm.allgather(bytes([comm.rank, 7])) == b"".join(bytes([r, 7]) for r in ranks)
    assert comm.allgatherv(payload(comm.rank)) == everything
    assert comm.allgatherv(b"") == [b""] * comm.size
    assert comm.gatherv(payload(comm.rank), 2) == (everything if comm.rank == 2 else [])
    sent = [bytes([10 * comm.rank + to]) * (to + comm.rank) for to in ranks]
    got = comm.alltoallv(sent)
    assert got == [bytes([10 * r + comm.rank]) * (comm.rank + r) for r in ranks]
    node = comm.node_local()
    assert 1 <= node.size <= comm.size
    assert len(node.allgatherv(b"x")) == node.size


if __name__ == "__main__":
    main()
