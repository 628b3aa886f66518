"""The pictures of a GPU's run are drawn where there is nothing but Python."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

PICTURES = Path(__file__).parent / "together"
WAYS = ("raw", "each", "planned", "ensemble", "counted", "unknown")


def figure(labels: list[str], gb_per_s: float) -> dict:
    return {
        label: {
            "bytes_per_s": {way: (gb_per_s + 10 * n) * 1e9 for n, way in enumerate(WAYS)},
            "words": {"planned": "UUCAAX"},
        }
        for label in labels
    }


def device(name: str, gb_per_s: float) -> dict:
    """What device_bench prints, as far as it is drawn."""
    return {
        "device": name,
        "coder": "packed",
        "figure 2": {f"{mb} MB": {"bytes": mb * 1e6, "seconds": 1e-3, "bytes_per_s": mb * 1e9}
                     for mb in (1, 2, 4)},
        "figure 6": figure(["2 Hz", "3 Hz"], gb_per_s),
        "figure 8": figure(["64 MB", "128 MB"], gb_per_s),
        "figure 9": figure(["40 GB/s", "100 GB/s"], gb_per_s),
        "figure 10": figure(["4 x", "16 x"], gb_per_s),
    }  # fmt: skip


def drawn(results: dict) -> dict[str, str]:
    program = (
        f"import json, sys; sys.path.insert(0, {str(PICTURES)!r}); import pictures;"
        "print(json.dumps(pictures.draw(json.load(sys.stdin))))"
    )
    command = [sys.executable, "-S", "-E", "-c", program]
    answer = subprocess.run(
        command, input=json.dumps(results), capture_output=True, text=True, check=True
    )
    return json.loads(answer.stdout)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter() if "text" in element.tag]


def test_a_gpus_figures_are_drawn_with_their_source_and_the_emulated_ones_as_rings():
    nvcomp = {"version": "6", "lz4": {"1 MB": {"bytes": 1e6, "bytes_per_s": 70e9}, "ended": "full"}}
    gpu = {**device("cuda:GPU X", 100), "emulated": device("emulated", 200), "nvcomp": nvcomp}
    made = drawn(gpu)
    assert set(made) == {
        "figure2", "figure6", "figure7", "figure8", "figure9", "figure10", "throughputs",
    }  # fmt: skip
    for name in ("figure6", "figure8", "figure9", "figure10"):
        said = texts(made[name])
        assert "Measured on cuda:GPU X, coder packed" in said
        assert any(text.startswith("S2: ") for text in said)
        assert made[name].count("executed: 200 GB/s") == 2  # raw, of two cases
    assert "lz4" in texts(made["figure2"])
    assert not any("Inferred" in text for text in texts(made["figure2"]))


def test_without_a_gpu_nothing_says_that_it_was_measured():
    made = drawn(device("emulated", 200))
    assert not any("Measured" in text for svg in made.values() for text in texts(svg))
