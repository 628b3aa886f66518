"""Planning problems as files, and what the best possible plans of them are.

planners: every planner by its name; instances: problems as JSON, from files and from the traces of
runs; exact: optimal plans by three methods that agree; bounds: how early no plan can end.
"""
