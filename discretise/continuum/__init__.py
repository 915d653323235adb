"""Brackets for scalar models: both ends are integrals or sums over the data themselves, not over a grid.

The input is a problem of `discretise.model`. The output is a bracket around the optimum over all mechanisms, with the
rule that attains its upper end.
"""
