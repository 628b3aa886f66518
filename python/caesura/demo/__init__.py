"""The demonstration: one simulation, seven ways of writing, every value verified.

scenario.py says what is run, runner.py runs it, checking.py holds every value against the
reference, statistics.py makes numbers of times, result.py puts the report together.
"""
