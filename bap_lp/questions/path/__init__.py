"""Every lam at once.

A problem comes in; the pieces of V(lam), the risk-utility frontier and what is read off it go out.
"""
