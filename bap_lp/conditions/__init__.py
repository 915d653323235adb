"""Conditions the mechanism must satisfy.

What users write comes in; one object per notion goes out, with its rows, its check, its term in the bound and its
document.
"""
