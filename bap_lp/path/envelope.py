"""The path of a float problem: lines R_B - lam R_E of mechanisms found by float solutions, and how far below V may lie.

Every mechanism's line lies above V. Start with the lines of Bob's best decisions and of the null release; solve where
two neighbours cross, and add the line found there if it passes below the crossing by more than rounding. The lowest of
the lines is the envelope. At each of its kinks lam_k the replies u_k give a bound below V(lam_k), at lam = 0 the full
release does, and R_E^null bounds the last slope. V is concave and the envelope linear in between, so their difference
is at most the interpolation of these gaps. With every gap at most g * size and size(lam) = max(B, lam E) <= B + lam E
<= 2 size(lam), linear in the middle, the envelope is within the tolerance 2 g of V at every lam, relative to size(lam).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bap_lp.model.calibration import extremes
from bap_lp.model.evaluation import joint_risks
from bap_lp.model.problem import Problem
from bap_lp.path.parametric import PathVertex
from bap_lp.programs.solving import solve
from bap_lp.rational import Array

_SAME = 1e-11  # lines closer than this, relative to the size of the losses, are one line


@dataclass(frozen=True, eq=False)
class _Line:
    rho: Array
    bob: float
    eve: float

    def at(self, lam: float) -> float:
        return self.bob - lam * self.eve


def envelope(problem: Problem, progress: Callable[[int, float], None] | None = None) -> tuple[list[PathVertex], float]:
    """Vertices of the frontier of a float problem by increasing lam, and the tolerance of their envelope."""
    search = _Search(problem)
    lines = search.lowest(search.explore(progress))
    out, gaps = [], [(lines[0].bob - search.full_bob) / search.bob_size]
    gaps.append((search.null_eve - lines[-1].eve) / search.eve_size)
    for k, line in enumerate(lines):
        lam, u = 0.0, np.zeros((problem.B.shape[1], problem.E.shape[1]))
        if k:
            lam = search.crossing(lines[k - 1], line)
            u, bound = search.replies.get(lam) or search.solve(lam)[1]
            gaps.append((line.at(lam) - bound) / search.size(lam))
        out.append(PathVertex(lam, u, line.rho, line.bob, line.eve))
    rounding = 4 * (len(problem.p) + 40) * float(np.finfo(float).eps)
    return out, 2 * max(gaps) + rounding


class _Search:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.bob_size, self.eve_size = (max(float(a.max()), 1e-300) for a in (problem.B, problem.E))
        (self.full_bob, _), (_, self.null_eve) = extremes(problem)
        self.replies: dict[float, tuple[Array, float]] = {}  # Eve's replies at lam and the bound they prove

    def size(self, lam: float) -> float:
        return max(self.bob_size, lam * self.eve_size)

    def line(self, rho: Array) -> _Line:
        risks = joint_risks(self.problem.arrays, rho)
        return _Line(rho, float(risks.bob), float(risks.eve))

    def explore(self, progress: Callable[[int, float], None] | None) -> list[_Line]:
        """Lines of optimal mechanisms, enough of them for V; unordered, some perhaps twice up to rounding."""
        p, B = self.problem.p, self.problem.B
        own, blind = np.zeros_like(B), np.zeros_like(B)
        own[np.arange(len(p)), B.argmin(axis=1)] = p
        blind[:, (p @ B).argmin()] = p
        ends = self.line(own), self.line(blind)
        lines, open_pairs = [*ends], [ends]
        while open_pairs:
            left, right = open_pairs.pop()
            if self.covers(left, right) or self.covers(right, left):
                continue
            lam = self.crossing(left, right)
            found, self.replies[lam] = self.solve(lam)
            if found.at(lam) < left.at(lam) - _SAME * self.size(lam):
                lines.append(found)
                open_pairs += [(found, right), (left, found)]  # leftmost first: lam grows as the search goes on
                if progress is not None:
                    progress(len(lines), lam)
        return lines

    def solve(self, lam: float) -> tuple[_Line, tuple[Array, float]]:
        solution = solve(self.problem, lam, exact=False)
        return self.line(solution.certificate.rho), (solution.certificate.u, float(solution.bound))

    def covers(self, a: _Line, b: _Line) -> bool:
        """Whether a is no worse than b for either agent, up to rounding."""
        return a.bob <= b.bob + _SAME * self.bob_size and a.eve >= b.eve - _SAME * self.eve_size

    def crossing(self, left: _Line, right: _Line) -> float:
        return (right.bob - left.bob) / (right.eve - left.eve)

    def lowest(self, lines: list[_Line]) -> list[_Line]:
        """The lines of the lower envelope by increasing R_E, without those that lower it by rounding only."""
        out: list[_Line] = []
        for line in sorted(lines, key=lambda one: (one.eve, -one.bob)):
            if out and self.covers(out[-1], line) and not self.covers(line, out[-1]):
                continue
            while out and self.covers(line, out[-1]):
                out.pop()
            while len(out) > 1:
                lam = self.crossing(out[-2], line)
                if out[-1].at(lam) < line.at(lam) - _SAME * self.size(lam):
                    break
                out.pop()
            out.append(line)
        return out
