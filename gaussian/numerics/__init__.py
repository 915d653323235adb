"""Piecewise polynomials, risks from masses, and random numbers."""
