"""The pictures of where.py: predicted against taken, as S4's Figures 11 to 13, and the devices
chosen by load, as its Figure 14 compares them."""

from __future__ import annotations

from caesura.report.markup import tag, text
from caesura.report.quantities import bytes_text
from caesura.report.where_page import COLOURS, scatter

_DEVICES = ("cpu", "gpu", "remote")
_LABELS = {"cpu": "CPU pool", "gpu": "GPU (emulated)", "remote": "other service (emulated)"}
_WIDTH, _ROW, _LEFT = 640, 24, 240


def latency_picture(found: dict) -> str:
    """Requests that the models were not fitted to."""
    points = [
        (_LABELS[name], predicted, took)
        for name in _DEVICES
        for predicted, took in found["model"][name]["fields"]["pairs_s"]
    ]
    return scatter(points, "predicted", "taken") + "\n"


def choices_picture(found: dict) -> str:
    """Of the requests under each load and of each size: the shares of the devices chosen."""
    rows: dict[str, list[int]] = {}
    chosen = found["policies"]["middle"]["model"]["device"]
    for request, load, device in zip(found["requests"], found["loads"], chosen, strict=True):
        cores, gpu = load
        for label in (
            f"cores {100 * cores:3.0f} % busy, GPU {100 * gpu:2.0f} %",
            f"blocks of {bytes_text(request['bytes'])}",
        ):
            rows.setdefault(label, [0, 0, 0])[device] += 1
    parts = []
    labels = sorted(rows, key=lambda label: (label.startswith("blocks"), label))
    for i, label in enumerate(labels):
        y, x, total = 40 + _ROW * i, float(_LEFT), sum(rows[label])
        parts.append(tag("text", text(label), x=_LEFT - 8, y=y + 13, text_anchor="end"))
        for device, count in enumerate(rows[label]):
            width = (_WIDTH - _LEFT - 60) * count / total
            parts.append(tag("rect", x=x, y=y, width=width, height=_ROW - 6, fill=COLOURS[device]))
            x += width
        parts.append(tag("text", str(total), x=x + 6, y=y + 13))
    for device, name in enumerate(_DEVICES):
        x = 12 + 190 * device
        parts.append(tag("rect", x=x, y=10, width=12, height=12, fill=COLOURS[device]))
        parts.append(tag("text", text(_LABELS[name]), x=x + 18, y=20))
    height = 48 + _ROW * len(labels)
    return (
        tag(
            "svg",
            *parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {_WIDTH} {height}",
            style=f"max-width:{_WIDTH}px;font:12px sans-serif;fill:currentColor",
        )
        + "\n"
    )
