"""The best release of the Gaussian model over all mechanisms.

A model and an Eve come in; a bracket with its rule goes out.
"""
