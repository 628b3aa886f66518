"""Research kept with Caesura and not in it: simulation, evaluation, comparison.

It uses the package `caesura` and its internals; nothing in `caesura` imports it but the command
line, which takes its commands from here where they are installed.
"""
