"""Simulated runs: scenarios in TOML, all modes of each, sweeps over their settings."""

from caesura_lab.simulation.running import MODES, Point, run, run_scenario
from caesura_lab.simulation.scenario import Scenario, ScenarioError, load, parse

__all__ = ["MODES", "Point", "Scenario", "ScenarioError", "load", "parse", "run", "run_scenario"]
