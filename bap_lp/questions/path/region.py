"""All (R_B, R_E) that mechanisms attain: a polygon, exact where the path is.

A public coin mixes two mechanisms and their risks, so the set is convex. Nobody does better than with the data or worse
than without them, so the set lies in a box with the full and the null release at opposite corners. One side between
these corners is the frontier, the minima of R_B - lam R_E. The other side has the minima of R_E - mu R_B: it is the
frontier of the problem in which Bob and Eve change places. Mixtures join the ends of both to the corners.

With agents who act on beliefs of their own there is no such box; the polygon is then the hull of the frontier, the full
and the null release, all of it attainable.
"""

from __future__ import annotations

from math import prod
from typing import Any

from bap_lp.model.calibration import extremes
from bap_lp.model.problem import Problem
from bap_lp.questions.path.pieces import Path, PathProgress, all_mechanisms, lambda_path
from bap_lp.support.rational import public
from bap_lp.support.risks import Risks

_MOST_DECISIONS = 64  # several Eves who change places with Bob act on the product of their decision spaces


class _TooManyCorners(Exception):
    pass


def _hull(points: list[Risks]) -> tuple[Risks, ...]:
    ranked = sorted({(r.bob, r.eve) for r in points})

    def chain(order: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        out: list[tuple[Any, Any]] = []
        for x, y in order:
            while len(out) > 1:
                (ax, ay), (bx, by) = out[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                out.pop()
            out.append((x, y))
        return out

    around = [*chain(ranked)[:-1], *chain(ranked[::-1])[:-1]] if len(ranked) > 1 else ranked
    return tuple(Risks(bob, eve) for bob, eve in around)


def attainable_region(
    problem: Problem, path: Path | None = None, *, most: int | None = None, progress: PathProgress | None = None
) -> tuple[tuple[Risks, ...], bool]:
    """The polygon's vertices, from full along the frontier to null and back, and whether the way back is the true edge.

    If the other side has too many decisions or more than `most` corners, the way back is the straight line from null to
    full: every point inside is still attainable.
    """
    path = all_mechanisms(path) or lambda_path(problem)
    full, null = (Risks(*map(public, pair)) for pair in extremes(problem))
    if problem.misaligned:
        return _hull([full, null, *(Risks(piece.risks.bob, piece.risks.eve) for piece in path.pieces)]), False
    whole = prod(len(eve.decisions or ()) for eve in problem.attackers) <= _MOST_DECISIONS
    back: list[Risks] = []

    def told(count: int, lam: float) -> None:
        if most is not None and count > most:
            raise _TooManyCorners
        if progress is not None:
            progress(count, lam)

    if whole:
        mirrored = Problem(problem.p, bobs=problem.attackers, eves=problem.bobs, states=problem.states)
        try:
            other = lambda_path(mirrored, path.exact, told)
            back = [Risks(piece.risks.eve, piece.risks.bob) for piece in reversed(other.pieces)]
        except _TooManyCorners:
            whole = False
    out: list[Risks] = []
    for risks in (full, *(Risks(piece.risks.bob, piece.risks.eve) for piece in path.pieces), null, *back):
        if risks not in out:
            out.append(risks)
    return tuple(out), whole
