"""Beyond linear programs: convex side conditions through cvxpy, and squared losses in closed form.

A problem (or a covariance) and the conditions come in; a mechanism with a certified bound goes out, in floats.
"""
