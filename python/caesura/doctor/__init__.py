"""What a machine has and lacks for Caesura: the checks behind `caesura doctor`.

Each check is a function; the decorator `finding.check` holds the reason for it. A check reports
what is missing as missing. A check changes nothing, except that one makes a file in the directory
asked about and removes it again.
"""

from __future__ import annotations

import subprocess

# Importing them registers their checks, in the order in which they are shown.
from caesura.doctor import libraries, storage, cores, memory  # noqa: F401  isort: skip
from caesura.doctor.finding import CHECKS, MUST_SET, NOTE, Ask, Finding

__all__ = ["MUST_SET", "Ask", "Finding", "examine"]


def examine(ask: Ask) -> list[Finding]:
    """All checks. Raises OSError (no such directory, not to be looked at) or ValueError."""
    if ask.directory.is_file():
        raise ValueError(f"{ask.directory} is no directory; name the one that dumps go to")
    next(ask.directory.iterdir(), None)
    findings = []
    for check in CHECKS:
        try:
            finding = check.function(ask)
        except (OSError, ValueError, RuntimeError, subprocess.SubprocessError) as error:
            finding = Finding(NOTE, f"cannot be looked at: {error}")
        findings.append(finding.of(check))
    return findings
