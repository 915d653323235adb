"""The best release of the Gaussian model over all mechanisms.

The input is a model and an Eve. The output is a bracket around the optimum, with the rule that attains its upper end.
"""
