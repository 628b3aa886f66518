"""A few random kills of clients and of the service, and some hundred connections: nothing committed
is lost, nobody hangs, nothing is left, nothing grows. kills.py by hand makes many."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from caesura import serving

sys.path.insert(0, str(Path(__file__).parent))
import kills

try:
    serving.program_path()
except RuntimeError as missing:
    pytest.skip(str(missing), allow_module_level=True)


@pytest.fixture
def campaign(tmp_path):
    running = kills.Campaign(tmp_path / "runs")
    running.out.mkdir()
    yield running
    if running.service is not None:
        running.service.__exit__()


def test_random_kills_lose_nothing_and_leave_nothing(campaign):
    for seed in range(1, 9):
        assert campaign.run(seed) == [], kills.Plan.draw(seed)
    victims = [kills.Plan.draw(seed).victim for seed in range(1, 9)]
    assert -1 in victims
    assert max(victims) >= 0


def test_many_connections_leave_nothing(campaign):
    states = campaign.connect(400, batch=50)
    assert kills.growth(states) == []
    campaign.end()
    assert campaign.faults == []
