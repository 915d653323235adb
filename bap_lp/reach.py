"""How far from 0 polynomials stay non-negative: the first sign change to the right, exact where it is rational.

A polynomial that is a + b d with b < 0 <= a changes sign at -a/b. For higher degrees Sturm's theorem counts the
distinct roots in an interval; halving it isolates the first root and narrows its bracket. The end returned is then the
inner end of the bracket, so the whole interval returned is certain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq, fmpq_poly

from bap_lp.rational import Array

_HALVINGS = 60


def reach(conditions: Array) -> tuple[Any, bool]:
    """The largest d with every row c of `conditions` (c[0] + c[1] x + ...) non-negative on [0, d]; None: no end.

    Also whether that end is exact. Every c[0] must be >= 0.
    """
    best: Any = None
    linear = ~(conditions[:, 2:] != 0).any(axis=1)
    for a, b in {(str(r[0]), str(r[1])): (r[0], r[1]) for r in conditions[linear][:, :2] if r[1] < 0}.values():
        end = a / -b
        best = end if best is None or end < best else best
    exact = True
    for row in conditions[~linear]:
        low = next(k for k, c in enumerate(row) if c != 0)
        if row[low] < 0:
            return fmpq(0), True
        found = _first_root(fmpq_poly(row[low:].tolist()), best)
        if found is not None:
            best, exact = found
    return best, exact


def _first_root(f: fmpq_poly, limit: Any) -> tuple[Any, bool] | None:
    """The first root of f in (0, limit], where f(0) > 0 and f changes sign; None if there is none."""
    if f.degree() == 0:
        return None
    chain = _sturm(f)
    top = limit if limit is not None else _cauchy(f)
    low, high = fmpq(0), top
    if _changes(chain, low) - _changes(chain, high) == 0 and f(high) > 0:
        return None
    if f(high) == 0 and _changes(chain, low) - _changes(chain, high) <= 1:
        return (high, True) if _falls(f, high) else None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if f(middle) == 0 and _changes(chain, low) - _changes(chain, middle) == 1:
            return (middle, True) if _falls(f, middle) else _next_root(f, middle, limit)
        if _changes(chain, low) - _changes(chain, middle) > 0:
            high = middle
        else:
            low = middle
    if f(high) > 0 and _changes(chain, low) - _changes(chain, high) == 1:  # touches zero and rises again
        return _next_root(f, high, limit)
    return low, False


def _next_root(f: fmpq_poly, after: Any, limit: Any) -> tuple[Any, bool] | None:
    """The first sign change beyond a point where f is zero without changing sign, or positive."""
    shifted = f(fmpq_poly([after, 1]))
    coefficients = shifted.coeffs()
    low = next((k for k, c in enumerate(coefficients) if c != 0), None)
    if low is None:
        return None
    rest = None if limit is None else limit - after
    found = _first_root(fmpq_poly(coefficients[low:]), rest)
    return None if found is None else (after + found[0], found[1])


def _falls(f: fmpq_poly, root: Any) -> bool:
    """Whether f turns negative right after a root."""
    derivative = f.derivative()
    while derivative(root) == 0 and derivative.degree() > 0:
        derivative = derivative.derivative()
    return bool(derivative(root) < 0)


def _sturm(f: fmpq_poly) -> list[fmpq_poly]:
    chain = [f, f.derivative()]
    while chain[-1].degree() > 0:
        rest = -(chain[-2] % chain[-1])
        if rest == 0:
            break
        chain.append(rest)
    return chain


def _changes(chain: list[fmpq_poly], at: Any) -> int:
    signs = [v > 0 for v in (g(at) for g in chain) if v != 0]
    return int(np.count_nonzero(np.diff(np.array(signs, dtype=np.int8))))


def _cauchy(f: fmpq_poly) -> Any:
    """All roots lie below 1 + max |c_k / c_n|."""
    *rest, lead = f.coeffs()
    return 1 + max(abs(c / lead) for c in rest)
