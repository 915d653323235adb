"""From the float solver's basis to one that is right to 160 bits: `looks` at the program on a finer scale.

Where an optimum has probabilities of 2^-50 next to ones of order one (geometric mechanisms on long chains), the float
solver cannot tell a right basis from a wrong one. A look solves the basis in extended precision, scales what is still
violated to order one and lets the float solver go on from there.

At a basis with exact values x and duals y, substitute z = x + z'/P and let the cost be the exact reduced costs times D:
    min  D (c - A'y).z' - D y.s'   s.t.  A z' + s' = 0,  z' >= -P x,  s' >= -P s  (s' = -P s in equality rows).
It is the same program, seen from x at scale P and from y at scale D, so its optimal bases are the same; but violations
of 1e-12, which the float solver cannot see at scale one, are of order one here. What was already settled becomes huge
and is cut off: costs stay large, bounds out of reach vanish. Only the basis is wanted, and it is checked exactly
afterwards (Gleixner, Steffy and Wolter, 2016, refine solutions in the same way).
"""

from __future__ import annotations

import math

import highspy
import numpy as np

from bap_lp.clock import check
from bap_lp.engines.linear.extended import SPARE, ExtendedBasis, ExtendedProgram, Unsolved, to_floats
from bap_lp.engines.linear.highs import basic_flags, loaded, run, set_basis
from bap_lp.engines.linear.program import LinearProgram
from bap_lp.rational import Array

_LOOKS = 12
_LARGE = 1e5  # what is cut off


class Look:
    """A basis with its values and duals, in floats that are right to the last bit, and how much is violated.

    All of them are those of the program at one size (`ExtendedProgram.sized`).
    """

    def __init__(self, program: ExtendedProgram, basic: Array, number: int = 0) -> None:
        self.program, self.number = program, number  # of looks before this one
        lp, n = program.lp, program.lp.shape[1]
        basis = ExtendedBasis(program, basic)
        x, bits = basis.values()
        y, deep = basis.duals()
        reduced = program.reduced(y, deep)
        self.basic = basic
        self.values = to_floats(_clean(x, bits), bits)
        self.reduced = to_floats(_clean(reduced, deep), deep, program.unit)
        self.y = program.duals(_clean(y, deep), deep)
        self.reduced[basic[basic < n]] = 0.0
        wrong = np.where(lp.fixed_variables[basic], np.abs(self.values), np.maximum(-self.values, 0.0))
        self.primal = float(wrong[~lp.free_variables[basic]].max(initial=0.0))
        dual = np.where(lp.free, np.abs(self.reduced), np.maximum(-self.reduced, 0.0))
        slack = np.where(lp.equality, 0.0, np.maximum(self.y, 0.0))
        self.dual = max(float(dual.max(initial=0.0)), float(slack.max(initial=0.0)))

    @property
    def optimal(self) -> bool:
        return self.primal == self.dual == 0.0

    def point(self) -> tuple[Array, Array]:
        """z and y of the program itself."""
        n = self.program.lp.shape[1]
        z, own = np.zeros(n), self.basic < n
        z[self.basic[own]] = self.values[own]
        return self.program.restored(z, self.y)


def _clean(numerators: Array, bits: int) -> Array:
    """Without what is noise."""
    least = 1 << max(min(SPARE, bits // 2), 0)
    return np.where(np.abs(numerators) < least, 0, numerators)


def looked(lp: LinearProgram, basic: Array, enough: float = 0.0) -> Look | None:
    """The basis after some looks; None if extended precision cannot follow.

    enough: violations, relative to the largest cost, with which a float answer is content.
    """
    if len(basic) != lp.shape[0]:
        return None
    level, look = math.inf, None
    try:
        program = ExtendedProgram(lp)
        enough *= float(np.abs(program.sized.cost).max(initial=0.0))
        for number in range(_LOOKS):
            check()
            look = Look(program, basic, number)
            if look.primal <= enough and look.dual <= enough:
                return look
            if look.dual:
                # until the basis is feasible, costs keep the scale at which they last differed
                level = min(1 / look.dual, level) if look.primal else 1 / look.dual
            zoom = (1 / look.primal if look.primal else 1.0, level if level < math.inf else 1.0)
            better = _magnified_basis(program.sized, look, zoom)
            if better is None or len(better) != lp.shape[0]:
                return look
            basic = better
        return look
    except (Unsolved, OverflowError):
        return None


def _magnified_basis(rounded: LinearProgram, look: Look, zoom: tuple[float, float]) -> Array | None:
    """The basis that is optimal at the scales P and D; None if the float solver finds none."""
    m, n = rounded.shape
    P, D = zoom
    at, is_basic = np.zeros(n + m), ~rounded.outside(look.basic)
    at[look.basic] = look.values
    cost = np.concatenate([look.reduced, -look.y]) * D
    cost[is_basic] = 0.0
    lower = -P * at
    far = P * at > _LARGE
    inf = highspy.kHighsInf
    low, high = np.where(rounded.free_variables | far, -inf, lower), np.where(rounded.fixed_variables, lower, inf)
    highs = loaded(
        (np.clip(cost, -_LARGE, _LARGE), low, high),
        (np.zeros(m), np.zeros(m)),
        (
            np.concatenate([rounded.start, rounded.start[-1] + np.arange(1, m + 1)]),
            np.concatenate([rounded.index, np.arange(m)]),
            np.concatenate([rounded.value, np.ones(m)]),
        ),
    )
    set_basis(highs, np.append(is_basic, np.zeros(m, dtype=bool)))
    run(highs)
    flags = basic_flags(highs)
    if not len(flags):
        return None
    # a basic row is one whose slack is as good as basic
    return np.flatnonzero(flags[: n + m] | np.append(np.zeros(n, dtype=bool), flags[n + m :]))
