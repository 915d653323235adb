"""The frontier of the Gaussian model over all mechanisms, from brackets at a few lambdas.

Risks (R_B, R_E) of all mechanisms are a convex set, since a mechanism may toss a public coin between two others. So all
mixtures of the rules that attain the upper bounds are attainable. At every bracket no mechanism has R_B - lam R_E below
`lower`; V(lam), the least R_A, is concave, so between two brackets it is at least their interpolation. Two neighbouring
rules tie at lam* = (R_B' - R_B) / (R_E' - R_E), where they are worst: `gap` is the largest difference there, so no
mechanism lies further than that below the line through the rules.

A new bracket is placed at the lam* with the largest difference (the sandwich algorithm for a concave function).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from bap_lp.support.risks import Risks
from gaussian.evaluate import calibrate
from gaussian.model import Eve, GaussianModel
from gaussian.optimum.gaussian_brackets import Bracket, bracket

_LARGEST = 64.0  # times the calibrated lam


@dataclass(frozen=True, eq=False)
class GaussianFrontier:
    """Brackets by increasing lam; `gap` bounds how far below the line through their rules a mechanism can lie."""

    brackets: tuple[Bracket, ...]
    gap: float

    def __repr__(self) -> str:
        return f"<GaussianFrontier: {len(self.brackets)} brackets, gap {self.gap:.2g}>"

    @property
    def points(self) -> tuple[Risks, ...]:
        """The risks of the rules, from the one that is best for Bob to the one that is worst for Eve."""
        return tuple(Risks(found.bob, found.eve) for found in self.brackets)


def attainable_frontier(model: GaussianModel, eve: Eve, count: int = 14) -> GaussianFrontier:
    """The frontier of all mechanisms from at most `count` brackets, at least 2, proved up to a gap."""
    found = [bracket(model, eve, 0.0), bracket(model, eve, _LARGEST * calibrate(model, eve))]
    while len(found) < count:
        gaps = [_tie(left, right) for left, right in pairwise(found)]
        at = max(range(len(gaps)), key=lambda k: gaps[k][1])
        lam, gap = gaps[at]
        if gap <= max(found[at].width, found[at + 1].width):
            break
        found.insert(at + 1, bracket(model, eve, lam))
    return GaussianFrontier(tuple(found), max((gap for _, gap in map(_tie, found, found[1:])), default=0.0))


def _tie(left: Bracket, right: Bracket) -> tuple[float, float]:
    """Where two rules have the same R_A, and how far that is above the interpolated lower bounds."""
    more = right.eve - left.eve
    lam = (right.bob - left.bob) / more if more > 0 else left.lam
    lam = min(max(lam, left.lam), right.lam)
    share = (lam - left.lam) / (right.lam - left.lam) if right.lam > left.lam else 0.0
    lower = (1 - share) * left.lower + share * right.lower
    return lam, min(left.bob - lam * left.eve, right.bob - lam * right.eve) - lower
