"""The codec's compressed sizes are those on record in bench/codec/codec_ratio.csv.

A larger size fails. A smaller one asks, in a warning, to be recorded, so that a gain is not lost
again unnoticed: bench/codec/ratio.py --update.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "codec"))

import fields
import ratio
import samples


def check(blocks: list[fields.Block]) -> None:
    found = {key: (raw, size) for key, raw, size in ratio.sizes(blocks)}
    assert len(found) > 4 * len(blocks)
    worse, better = ratio.differences(found, ratio.recorded())
    assert not worse, "larger than on record:\n" + "\n".join(worse)
    if better:
        lines = "\n".join(better)
        warnings.warn(f"smaller: bench/codec/ratio.py --update records it\n{lines}", stacklevel=2)


def test_samples_compress_to_the_recorded_sizes():
    check(samples.blocks())


@pytest.mark.skipif(not fields.real_blocks(), reason="no simulation data (CAESURA_DATA)")
def test_real_fields_compress_to_the_recorded_sizes():
    check(fields.real_blocks())


def test_every_recorded_line_belongs_to_a_block_or_to_data_that_is_not_here():
    named = {block.name for block in samples.blocks() + fields.real_blocks()}
    stale = {key[0] for key in ratio.recorded()} - named
    if fields.real_blocks():
        assert not stale
    else:
        assert not any(name.startswith(("sample_", "exact/")) for name in stale)


def test_a_larger_size_is_noticed():
    record = {("block", "r1e-3", "auto", "rans"): (100, 10)}
    assert ratio.differences({("block", "r1e-3", "auto", "rans"): (100, 11)}, record)[0]
    assert ratio.differences({("block", "r1e-3", "auto", "rans"): (100, 9)}, record)[1]
    assert ratio.differences(record, record) == ([], [])
