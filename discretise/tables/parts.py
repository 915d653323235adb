"""Cells that no question distinguishes: the law of what they show together, given their total.

Let A be a part and x_A the people in it. Given x_A the counts inside are independent of everything else, so what the
cells of A show, s_A, depends on the table through x_A. With w_i(m) = (a_i)_m / m!,

    q_A(s_A | m)  is proportional in s_A to  the coefficient of z^m in prod_{i in A} f_{i,s_i}(z),
    f_{i,o}(z) = sum_m w_i(m) q(o|m) z^m.

Two outputs s_A whose products are proportional say the same about x_A and are taken together; among cells with equal
alphas the order of what they show never matters. So a part is one cell, with fewer outputs than its cells together.
"""

from __future__ import annotations

from flint import fmpq, fmpz, fmpz_poly

from bap_lp.rational import EXACT, Array
from discretise.tables.layout import Set
from discretise.tables.spaces import Population, urn_weights
from discretise.tables.sums import TooLarge, scaled

_MOST_PRODUCTS = 300_000  # of polynomials of degree n: some ten seconds for n = 40


def part_law(population: Population, part: Set, law: Array) -> Array:
    """q_A(o|m) for m = 0..n from the law of a single cell."""
    if len(part) == 1:
        return law
    n, (whole, _) = population.n, scaled(law)
    known: dict[tuple[fmpz, ...], fmpz] = {(fmpz(1),): fmpz(1)}
    left = _MOST_PRODUCTS
    for i in sorted(part):
        weights = urn_weights(population.alpha[i], n)
        shown = [fmpz_poly((weights * column).tolist()) for column in whole.T]
        left -= len(known) * len(shown)
        if left < 0:
            raise TooLarge
        following: dict[tuple[fmpz, ...], fmpz] = {}
        for coefficients, times in known.items():
            before = fmpz_poly(list(coefficients))
            for factor in shown:
                product = before.mul_low(factor, n + 1)
                if not product.is_zero():
                    content = product.content()
                    key = tuple((product // content).coeffs())
                    following[key] = following.get(key, fmpz(0)) + times * content
        known = following
    out = EXACT.zeros((n + 1, len(known)))
    for o, (coefficients, times) in enumerate(known.items()):
        out[: len(coefficients), o] = [fmpq(c * times) for c in coefficients]
    return out / out.sum(axis=1)[:, None]
