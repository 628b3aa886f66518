"""The demonstration: one simulation, seven ways of writing, every value verified.

scenario.py says what is run, turns.py in which order. campaign.py has it run (runner.py), verified
(checking.py) and kept (state.py). measures.py makes figures of times with statistics.py, result.py
a report of figures.
"""
