"""A running job, from its file and its traces alone: what `caesura watch` shows.

following.py  traces that grow: what is new in them, the last dumps kept
state.py      dumps, ratio, lanes, what the application waits for, what limits, the next dump

Invariants: nothing is written, no lock is taken, nothing of the job is asked; so a watcher can
neither slow a run nor stop it.
"""
