"""How far from 0 polynomials stay non-negative: the first sign change to the right, exact where it is rational.

A polynomial that is a + b d with b < 0 <= a changes sign at -a/b. Any other is a product of irreducible factors over
the rationals. Their roots are simple and no two share one, so the sign changes exactly at the real roots of factors
with an odd power. The root of a linear factor is rational. Other roots are irrational and enclosed in intervals; the
end returned is then the left end of the enclosure, so the whole interval returned is certain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq, fmpq_poly

from bap_lp.rational import Array, floats


def reach(conditions: Array) -> tuple[Any, bool]:
    """The largest d with every row c of `conditions` (c[0] + c[1] x + ...) non-negative on [0, d]; None: no end.

    Also whether that end is exact. Every c[0] must be >= 0.
    """
    linear = ~(conditions[:, 2:] != 0).any(axis=1)
    best, exact = _least_ratio(*conditions[linear][:, :2].T), True
    for row in conditions[~linear]:
        low = next(k for k, c in enumerate(row) if c != 0)
        if row[low] < 0:
            return fmpq(0), True
        found = _sign_change(fmpq_poly(row[low:].tolist()), best)
        if found is not None:
            best, exact = found
    return best, exact


def _least_ratio(a: Array, b: Array) -> Any:
    """The least a / -b where b < 0, None if there is none; floats say which ones it may be."""
    falling = np.flatnonzero(b < 0)
    a, b = a[falling], -b[falling]
    try:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            rough = floats(a) / floats(b)
            near = np.flatnonzero(~(rough > rough.min(initial=np.inf) * (1 + 1e-12)))
    except OverflowError:
        near = np.arange(len(a))
    return min((a[k] / b[k] for k in near.tolist()), default=None)


def _sign_change(f: fmpq_poly, limit: Any) -> tuple[Any, bool] | None:
    """Where f, positive at 0, first turns negative in (0, limit], and whether that is exact; None if it does not."""
    first, *rest = f.coeffs()
    falling = [(k, c) for k, c in enumerate(rest, 1) if c < 0]
    if not falling or (limit is not None and first + sum(c * limit**k for k, c in falling) > 0):
        return None  # positive already without the terms that rise
    found: list[tuple[Any, bool]] = []
    for factor, power in f.factor()[1]:
        if power % 2 and factor.degree() == 1:
            found.append((-factor[0] / factor[1], True))
        elif power % 2:
            real = [root.real for root, _ in factor.complex_roots() if root.imag == 0]
            found += [(_rational(root.lower()), False) for root in real]
    return min((end for end in found if end[0] > 0 and (limit is None or end[0] <= limit)), default=None)


def _rational(exact: Any) -> fmpq:
    mantissa, exponent = exact.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)
