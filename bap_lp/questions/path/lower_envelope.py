"""V(lam) as a lower envelope of lines R_B - lam R_E: solve where two lines cross.

This is the way where no basis can be followed: the mechanisms are no convex set, or the floats are many. V is a minimum
of lines over the mechanisms allowed, hence concave and piecewise linear. Start with the line of the
optimum at lam = 0 and that of the most private mechanism; solve where two neighbours cross, and add the line found
there if it passes below. With exact numbers a crossing whose optimum lies on both lines is a breakpoint of V; the
optimum chosen there is the most private one, so it is the mechanism of the piece that starts there.

In floats lines within rounding of each other are one line, and the envelope lies above V. At each of its kinks the
multipliers give a bound below V, and a bound on R_E limits the last slope. V is concave and the envelope linear
in between, so their difference is at most the interpolation of these gaps. With every gap at most g * size and
size(lam) = max(B, lam E) <= B + lam E <= 2 size(lam), linear in the middle, the envelope is within the tolerance 2 g of
V at every lam, relative to size(lam).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import Dual
from bap_lp.support.rational import UNIT, Array
from bap_lp.support.risks import Risks

_SAME = 1e-11  # float lines closer than this, relative to the size of the losses, are one line


@dataclass(frozen=True, eq=False)
class SupportLine:
    """A mechanism that is optimal at some lam, with its risks, the multipliers there and the bound they prove.

    table: its joint table or channel. For the most private mechanism the bound is on -R_E.
    """

    table: Array
    bob: Any
    eve: Any
    dual: Dual
    bound: Any

    def at(self, lam: Any) -> Any:
        return self.bob - lam * self.eve

    def risks(self, states: int) -> Risks:
        return Risks.summed(self.bob, self.eve, states)


Oracle = Callable[[Any], SupportLine]  # lam -> the optimum there
Stretch = tuple[Any, Dual, SupportLine]  # where a piece starts, multipliers that are optimal there, its line


def envelope(
    arrays: Arrays, solve: Oracle, last: SupportLine, progress: Callable[[int, float], None] | None, exact: bool
) -> tuple[list[Stretch], float]:
    """Every piece by increasing lam, and the tolerance of the envelope; exact: whether the solutions have no gap."""
    search = _LineSearch(arrays, solve, exact)
    zero = arrays.field.zero
    first = search.solve(zero)
    lines = search.lowest(search.explore(first, last, progress))
    starts = [zero, *(search.crossing(a, b) for a, b in pairwise(lines))]
    there = [search.known.get(lam) or search.solve(lam) for lam in starts]
    # of several mechanisms with the risks of a piece, the one that `solve` chooses all along it
    lines = [found if search.same(found, line) else line for found, line in zip(there, lines, strict=True)]
    out = [(lam, found.dual, line) for lam, found, line in zip(starts, there, lines, strict=True)]
    if exact:
        return out, 0.0
    gaps = [
        float(line.at(lam) - found.bound) / arrays.size(lam)
        for lam, found, line in zip(starts, there, lines, strict=True)
    ]
    gaps.append(float(-last.bound - lines[-1].eve) / search.eve_size)
    return out, 2 * max(gaps) + 8 * (len(arrays.p) + 40) * UNIT


class _LineSearch:
    def __init__(self, arrays: Arrays, solve: Oracle, exact: bool) -> None:
        self.arrays, self.oracle, self.exact = arrays, solve, exact
        self.bob_size, self.eve_size = (max(float(a.max()), 1e-300) for a in (arrays.B, arrays.E))
        self.known: dict[Any, SupportLine] = {}

    def solve(self, lam: Any) -> SupportLine:
        self.known[lam] = self.oracle(lam)
        return self.known[lam]

    def near(self, size: float) -> Any:
        """What counts as equal: nothing else, if the numbers are exact."""
        return 0 if self.exact else self.arrays.field.number(_SAME * size)

    def explore(
        self, first: SupportLine, last: SupportLine, progress: Callable[[int, float], None] | None
    ) -> list[SupportLine]:
        """Lines of optimal mechanisms, enough of them for V; unordered, float ones perhaps twice up to rounding."""
        lines, open_pairs = [first, last], [(first, last)]
        while open_pairs:
            left, right = open_pairs.pop()
            if self.covers(left, right) or self.covers(right, left):
                continue
            lam = self.crossing(left, right)
            found = self.solve(lam)
            if found.at(lam) < left.at(lam) - self.near(self.arrays.size(lam)):
                lines.append(found)
                open_pairs += [(found, right), (left, found)]  # leftmost first: lam grows as the search goes on
            if progress is not None:
                progress(len(lines), float(lam))
        return lines

    def covers(self, a: SupportLine, b: SupportLine) -> bool:
        """Whether a is no worse than b for either agent, up to rounding."""
        return bool(a.bob <= b.bob + self.near(self.bob_size) and a.eve >= b.eve - self.near(self.eve_size))

    def same(self, a: SupportLine, b: SupportLine) -> bool:
        return self.covers(a, b) and self.covers(b, a)

    def crossing(self, left: SupportLine, right: SupportLine) -> Any:
        return (right.bob - left.bob) / (right.eve - left.eve)

    def lowest(self, lines: list[SupportLine]) -> list[SupportLine]:
        """The lines of the lower envelope by increasing R_E, without those that lower it by rounding only."""
        out: list[SupportLine] = []
        for line in sorted(lines, key=lambda one: (one.eve, -one.bob)):
            if out and self.covers(out[-1], line) and not self.covers(line, out[-1]):
                continue
            while out and self.covers(line, out[-1]):
                out.pop()
            while len(out) > 1:
                lam = self.crossing(out[-2], line)
                if out[-1].at(lam) < line.at(lam) - self.near(self.arrays.size(lam)):
                    break
                out.pop()
            out.append(line)
        return out
