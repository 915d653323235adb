"""Brackets with a stated level for anything that can be simulated.

The input is a problem of `discretise.sample`. The replies of Eve are fitted on its draws and judged on fresh ones.
"""
