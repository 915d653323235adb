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
    """Where f, positive at 0, first turns negative in (0, limit]; None if it does not."""
    if f.degree() == 0:
        return None
    simple = f / f.gcd(f.derivative())
    chain = _sturm(simple)
    low, top = fmpq(0), limit if limit is not None else _cauchy(f)
    while _changes(chain, low) > _changes(chain, top):
        low, high = _isolated(simple, chain, low, top)
        root = high if simple(high) == 0 else _rational(simple, low, high)
        if root is not None:
            if _falls(f, root):
                return root, True
            low = root
        elif f(high) < 0:
            return low, False
        else:
            low = high
    return None


def _isolated(f: fmpq_poly, chain: list[fmpq_poly], low: Any, high: Any) -> tuple[Any, Any]:
    """A narrow (low, high] with the first root of f alone, or with that root as its right end."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = _changes(chain, low) - _changes(chain, middle)
        if inside == 1 and f(middle) == 0:
            return low, middle
        low, high = (low, middle) if inside > 0 else (middle, high)
    while _changes(chain, low) - _changes(chain, high) > 1:
        middle = (low + high) / 2
        low, high = (low, middle) if _changes(chain, low) > _changes(chain, middle) else (middle, high)
    return low, high


def _rational(f: fmpq_poly, low: Any, high: Any) -> Any:
    """The root in (low, high] if it is rational."""
    for factor, _ in f.factor()[1]:
        if factor.degree() == 1:
            root = -factor[0] / factor[1]
            if low < root <= high:
                return root
    return None


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
