"""The runs of two.py over a network: the service on one node, both applications on another, TCP
over a shaped cable between them.

The nodes are network namespaces of this machine, each with a host name and an IPC namespace of its
own, so both share its cores and its (emulated) file system. The applications compute on the same
node in every mode. The cable's own counter says what it carried. Root only. Results: section
two_nodes of out/bench/transit.json. About 3 minutes; --quick tries it out.
"""

from __future__ import annotations

import sys

from applications import nodes
from results import save
from two import measured, parser_of, show


def main() -> int:
    """Measure over each cable, say, save."""
    parser = parser_of(__doc__, 1)
    parser.add_argument("--gbit", type=float, nargs="+", default=[1.0, 10.0], help="of the cable")
    options = parser.parse_args()
    cables = []
    for gbit in options.gbit:
        try:
            with nodes.Cable(rate=f"{gbit * 1000:.0f}mbit", burst="1mb") as cable:
                section = measured(options, cable, gbit * 1e9 / 8)
                carried = cable.received_bytes(0)
        except nodes.NotHere as why:
            print(f"two_nodes.py is left out: {why}")
            return 0
        print(f"\ncable of {gbit:g} Gbit/s: {carried / 1e6:.0f} MB to the service's node")
        show(section)
        cables.append({"gbit_per_s": gbit, "carried_bytes": carried, **section})
    print(save("two_nodes", {"cables": cables}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
