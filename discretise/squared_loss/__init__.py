"""Squared loss against the maximum of a Gaussian sample.

A model comes in; a bracket of the optimum over all mechanisms goes out.
"""
