"""Squared loss against the maximum of a Gaussian sample.

The input is a model. The output is a bracket around the optimum over all mechanisms, or a finite problem on a grid.
"""
