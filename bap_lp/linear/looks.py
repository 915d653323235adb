"""From the float solver's basis to one that is right to 160 bits, by looks through the magnifying glass of `refine`.

Where an optimum has probabilities of 2^-50 next to ones of order one (geometric mechanisms on long chains), the float
solver cannot tell a right basis from a wrong one. A look solves the basis in extended precision, scales what is still
violated to order one and lets the float solver go on from there.
"""

from __future__ import annotations

import math

import numpy as np

from bap_lp.clock import check
from bap_lp.linear.extended import SPARE, ExtendedBasis, ExtendedProgram, Unsolved, to_floats
from bap_lp.linear.program import LinearProgram
from bap_lp.linear.refine import magnified_basis
from bap_lp.rational import Array

_LOOKS = 12


class Look:
    """A basis with its values and duals, in floats that are right to the last bit, and how much is violated."""

    def __init__(self, program: ExtendedProgram, basic: Array, number: int = 0) -> None:
        self.number = number  # of looks before this one
        lp, (m, n) = program.lp, program.lp.shape
        basis = ExtendedBasis(program, basic)
        x, bits = basis.values()
        y, deep = basis.duals()
        reduced = program.reduced(y, deep)
        self.basic = basic
        self.values, self.reduced = (
            to_floats(_clean(x, bits), bits),
            to_floats(_clean(reduced, deep), deep, program.unit),
        )
        self.y = to_floats(_clean(y, deep), deep, program.unit) * floats_of(program.scale)
        free = np.append(lp.free, np.zeros(m, dtype=bool))[basic]
        fixed = np.append(np.zeros(n, dtype=bool), lp.equality)[basic]
        self.reduced[basic[basic < n]] = 0.0
        wrong = np.where(fixed, np.abs(self.values), np.maximum(-self.values, 0.0))
        self.primal = float(wrong[~free].max(initial=0.0))
        dual = np.where(lp.free, np.abs(self.reduced), np.maximum(-self.reduced, 0.0))
        slack = np.where(lp.equality, 0.0, np.maximum(self.y, 0.0))
        self.dual = max(float(dual.max(initial=0.0)), float(slack.max(initial=0.0)))

    @property
    def optimal(self) -> bool:
        return self.primal == self.dual == 0.0

    def point(self, lp: LinearProgram) -> tuple[Array, Array]:
        """z and y."""
        z = np.zeros(lp.shape[1])
        own = self.basic < lp.shape[1]
        z[self.basic[own]] = self.values[own]
        return z, self.y


def _clean(numerators: Array, bits: int) -> Array:
    """Without what is noise."""
    least = 1 << max(min(SPARE, bits // 2), 0)
    return np.where(np.abs(numerators) < least, 0, numerators)


def floats_of(integers: Array) -> Array:
    return np.array([float(v) for v in integers.tolist()])


def looked(lp: LinearProgram, basic: Array, enough: float = 0.0) -> Look | None:
    """The basis after some looks; None if extended precision cannot follow.

    enough: violations (at the scale of the program) with which a float answer is content.
    """
    if len(basic) != lp.shape[0]:
        return None
    try:
        program = ExtendedProgram(lp)
        level, best = math.inf, None
        for number in range(_LOOKS):
            check()
            look = Look(program, basic, number)
            best = look
            if look.optimal or (look.primal <= enough and look.dual <= enough):
                return look
            if look.dual:
                # while infeasibility is being mended, costs keep the scale at which they were last told apart
                level = min(1 / look.dual, level) if look.primal else 1 / look.dual
            zoom = (1 / look.primal if look.primal else 1.0, level if level < math.inf else 1.0)
            better = magnified_basis(lp.rounded, basic, look.values, look.reduced, look.y, zoom)
            if better is None or len(better) != lp.shape[0]:
                return best
            basic = better
        return best
    except (Unsolved, OverflowError):
        return None
