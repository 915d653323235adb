"""Proofs checked by arithmetic alone.

A problem and a certificate come in, a verdict goes out. No solver is imported here.
"""
