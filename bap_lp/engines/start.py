"""Where the simplex method starts, and what serves if a few pivots from there are not enough.

The usual releases are the full one, at which Bob decides as if he saw the data, and the null one. Either has a basis:
the columns that are sent, every t, one tight reply per view and group, and the largest of the worst rows. The cheaper
one that breaks no row is often near the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bap_lp.engines.form import LinearForm
from bap_lp.program.bound import Program
from bap_lp.support.rational import Array

Method = Literal["states", "interior", "dual"]
_ROUNDING = 1e-12  # of the sizes of its terms: what a row may be broken by
_FEW = 8  # values of a table of losses that make ties certain


@dataclass(frozen=True)
class Choice:
    """Pivots of the primal simplex method from the best release, and what takes over after them."""

    pivots: int
    then: Method


def choose(program: Program) -> Choice:
    """The method by the shape of the program.

    Behind each line are milliseconds of the primal method, of what takes over and of HiGHS as it comes, on floats,
    integers to 20, 0-1 and absolute losses (`benchmarks.grid`), with HiGHS 1.15.
    """
    (N, S), free = program.shape, program.free
    if free is None:  # 0-1 at (100, 10, 5): posterior caps 3 / 8 / 9, independence 3 / 6 / 10, all pairs 78 / 72 / 72
        rows = N + sum(o.views * o.columns for o in program.observers) + sum(map(len, program.rows))
        return Choice(4 * rows if rows <= N * S else 0, "dual")
    e = free.shape[2]
    if N * S * e <= 10_000:  # floats (50, 5, 5): .5 / .9 / 1.4; (52, 52, 2): 1.7 / 3.7 / 7.4
        return Choice(2 * (N + S * e), "dual")
    if S * e <= N:  # floats (300, 8, 8): 18 / 5 / 43; (1000, 10, 10): 180 / 19 / 491; 0-1 (2000, 20, 5): 37 / 25 / 3563
        return Choice(0, "states")
    if S * e <= 2 * N:  # floats (200, 20, 20): 265 / 62 / 537; 0-1 (200, 100, 4): 15 / 123 / 109
        return Choice(400, "states")
    if N * S * e <= 50_000:  # integers (100, 50, 5): 40 / 38 / 57; floats (20, 100, 20): 45 / 22 / 32
        return Choice(200, "dual")
    if S * e <= 10 * N:  # floats (200, 50, 10): 1128 / 164 / 785; 0-1 (100, 100, 10): 5 / 143 / 268
        return Choice(300, "interior")
    # integers (60, 60, 60): - / 301 / 356, from inside 546; absolute (40, 80, 80): - / 247 / 259, from inside 663
    if S * e > 100 * N or (e <= 2 * S and _repeated(free.rounded.E)):
        return Choice(150, "dual")
    return Choice(150, "interior")  # floats (60, 60, 60): - / 603 / 1688; (60, 60, 20): 558 / 138 / 234


def _repeated(losses: Array) -> bool:
    """Whether values repeat, but not so much that ties are certain."""
    return _FEW < len(np.unique(losses)) <= losses.size // 2


def best_release(program: Program, allowed: Array | None = None, weight: Any = 0.0) -> Array | None:
    """The signal that every state sends in the cheaper of the usual releases that break no row; None if both do.

    weight: chooses among equal costs, as the ties will: that saves three quarters of the pivots on 0-1 losses.
    """
    small = program.rounded
    cost = small.cost if allowed is None else np.where(allowed, small.cost, np.inf)
    own = np.where(cost == cost.min(axis=1)[:, None], weight, np.inf).argmin(axis=1)
    null = (small.mass @ cost).argmin()
    best, least = None, np.inf
    for sent in (own, np.full(len(own), null)):
        rho = _table(small, sent)
        if np.isfinite(cost[np.arange(len(own)), sent]).all() and _kept(small, rho) and (v := small.value(rho)) < least:
            best, least = sent, v
    return best


def _table(small: Program, sent: Array) -> Array:
    rho = np.zeros(small.shape)
    rho[np.arange(len(sent)), sent] = small.mass
    return rho


def _kept(small: Program, rho: Array) -> bool:
    """Whether a table breaks no row by more than rounding."""
    if not small.rows:
        return True
    seen = small.seen(rho)
    sides, sizes = small.sides(rho, seen), small.sides(rho, seen, sizes=True)
    over = {one.name: abs(sides[one.name]) if one.equal else sides[one.name] for one in small.rows if not one.worst}
    return all((side <= _ROUNDING * sizes[name]).all() for name, side in over.items())


def release_basis(program: Program, form: LinearForm, sent: Array) -> Array:
    """The variables of the basis at which state x sends sent[x]."""
    small, (m, n) = program.rounded, form.lp.shape
    rho = _table(small, sent)
    basic = np.arange(n + m) >= n + len(sent)  # all slacks but those of the marginals
    basic[form.rho[np.arange(len(sent)), sent]] = True
    for o in small.observers:
        basic[form.t[o.name]] = True
        sums, rows = o.sums(rho), n + np.arange(m)[form.replies[o.name]].reshape(form.shapes[o.name])
        for first, last in zip(o.starts.tolist(), [*o.starts.tolist()[1:], o.columns], strict=True):
            basic[rows[np.arange(o.views), first + sums[:, first:last].argmin(axis=1)]] = False
    worst = [one for one in small.rows if one.worst and len(one)]
    if worst:
        basic[form.rho.size + sum(t.size for t in form.t.values())] = True
        sides = small.sides(rho)
        name = max(worst, key=lambda one: sides[one.name].max()).name
        basic[n + np.arange(m)[form.weights[name]][sides[name].argmax()]] = False
    return np.flatnonzero(basic)
