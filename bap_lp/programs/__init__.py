"""Alice's programs and their solutions.

A problem, lam and conditions come in; a `Solution` with its certificate goes out.
"""
