"""The risk-utility frontier and what is read off it: the corner, disclosure control with its shadow price, and for
which lam a given mechanism is optimal.

The attainable (R_B, R_E) and everything worse form a convex set: mixing two mechanisms, and pooling the signals on
which Bob does the same, mixes R_B and raises R_E at least to the mixture. Its efficient edge runs from the least R_B,
with the largest R_E that allows, to the largest R_E, which is that of the null release, with the least R_B that allows.
Its vertices are the pieces of V(lam) and its edges have the slopes dR_B/dR_E = lam, one per breakpoint.

    min R_B  s.t.  R_E >= floor           max R_E  s.t.  R_B <= cap

both end on that edge. Between two vertices the joint tables mix, (1 - w) rho_k + w rho_{k+1}: optimal at the breakpoint
lam like both of them, so R_A is V(lam), and as R_B is at most and R_E at least the mixture, both are equal to it. The
certificate at lam proves it, because R_B >= V(lam) + lam R_E for all mechanisms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bap_lp.model.calibration import extremes, lam_of
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.proof.certificate import Certificate
from bap_lp.questions.optimum.solving import solve
from bap_lp.questions.path.piece import Piece
from bap_lp.questions.path.pieces import Path, all_mechanisms, lambda_path
from bap_lp.support.display import Displayed
from bap_lp.support.rational import TOLERANCE, InputError, is_exact, number, public, show, stated
from bap_lp.support.risks import Number, Risks

_POWERS = range(-3, 4)  # of two, times the calibrated lambda
_SAME = 1e-12  # a float floor or cap this close to a vertex, relative to the largest risk, is meant to be the vertex


def frontier(problem: Problem, path: Path | None = None) -> tuple[Piece, ...]:
    """The vertices of the efficient edge, from full utility to full privacy, each with its risks and mechanism.

    A vertex is optimal for lam from `start` to `end`: the slopes of the edges on its two sides. A path under conditions
    gives the frontier of the mechanisms that satisfy them.

    Args:
        problem: the problem.
        path: the path of the problem, if it is known already.

    Returns:
        The pieces of the path.

    Raises:
        InputError: the path cannot be computed, as for `lambda_path`.

    >>> from bap_lp import Problem, frontier
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> [(str(vertex.risks.bob), str(vertex.risks.eve)) for vertex in frontier(coin)]
    [('1/4', '0'), ('13/40', '3/4')]
    """
    return (path or lambda_path(problem)).pieces


def edge_points(problem: Problem) -> list[Risks]:
    """Risks of optima at some lambdas: points of a frontier that is curved, as with Eves who report probabilities."""
    try:
        middle = float(lam_of(problem, "calibrated"))
    except InputError:  # Eve gains nothing from the data
        middle = 1.0
    found = (solve(problem, lam).risks for lam in (0.0, *(middle * 2.0**k for k in _POWERS)))
    return sorted(found, key=lambda one: one.eve)


@dataclass(frozen=True, eq=False, repr=False)
class Corner(Displayed):
    """The utility of the full release with the privacy of the null one: no R_A lies below `value` = R_A at the corner.

    `excess` is what the best mechanism at lam has above it; the corner is attained if that is zero for some lam > 0,
    and then for every lam, by `mechanism`, the best one at lam. lam and value are None where the calibrated lam is
    undefined: Eve gains nothing from the data, and the corner is attained.
    """

    risks: Risks
    lam: Number | None
    value: Number | None
    excess: Number
    attained: bool
    mechanism: Mechanism


def corner(problem: Problem, lam: Any = "calibrated", path: Path | None = None) -> Corner:
    """(R_B^full, R_E^null), its R_A, and whether a mechanism attains it: one solution settles that, or the path.

    With agents who act on beliefs of their own the corner is the least R_B and the largest R_E of all mechanisms.

    Args:
        problem: the problem.
        lam: the price of privacy, or "calibrated".
        path: the path of the problem, if it is known already; if it has conditions, how close the mechanisms that meet
            them come to the corner.

    Returns:
        The corner, with its distance from the optimum and a mechanism if one attains it.

    Raises:
        InputError: lam is not a number that is at least 0.

    >>> from bap_lp import Problem, corner
    >>> found = corner(Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]]))
    >>> print(found.risks.bob, found.risks.eve, found.attained)
    1/4 3/4 False
    """
    if problem.misaligned:
        free = path if path is not None and path.conditions is None else lambda_path(problem)
        risks, path = Risks(free.pieces[0].risks.bob, free.pieces[-1].risks.eve), path or free
    else:
        (bob, _), (_, eve) = extremes(problem)
        risks = Risks(public(bob), public(eve))
    try:
        price, undefined = public(lam_of(problem, lam)), False
    except InputError as error:
        if not isinstance(error.value, str) or error.value != "calibrated":
            raise
        price, undefined = public(number(1, "lam")), True
    if price == 0:  # at lam = 0 privacy is worth nothing, and reaching R_B^full shows nothing
        least = risks.bob if path is None or path.conditions is None else path.value(0)
        beyond = corner(problem, 1, path)
        return Corner(risks, price, risks.bob, least - risks.bob, beyond.attained, beyond.mechanism)
    best = path.piece(price) if path is not None else solve(problem, price)
    excess = best.risks.alice(price) - risks.alice(price)
    exact = problem.exact and not isinstance(excess, float)
    attained = bool(excess <= (0 if exact else TOLERANCE * problem.arrays.size(price)))
    if undefined:
        return Corner(risks, None, None, excess, attained, best.mechanism)
    return Corner(risks, price, risks.alice(price), excess, attained, best.mechanism)


@dataclass(frozen=True, eq=False, repr=False)
class DisclosureControl(Displayed):
    """The optimum under a floor on R_E or a cap on R_B.

    `price` is what relaxing the condition would bring: R_B saved per unit of the floor, R_E gained per unit of the cap.
    At a vertex of the frontier every price in `price_interval` (least and largest) supports the optimum; `price` is the
    one of relaxing, and the other end that of tightening (inf where nothing tighter can be had).
    """

    problem: Problem
    risks: Risks
    price: Number
    price_interval: tuple[Number, Number]
    mechanism: Mechanism
    certificate: Certificate

    @property
    def lam(self) -> Number:
        """A lam at which Alice's own criterion chooses this mechanism: the certificate proves it there."""
        return self.certificate.lam


def sdc(
    problem: Problem, *, min_eve_risk: Any = None, max_bob_risk: Any = None, path: Path | None = None
) -> DisclosureControl:
    """Statistical disclosure control: min R_B s.t. R_E >= min_eve_risk, or max R_E s.t. R_B <= max_bob_risk.

    Args:
        problem: the problem.
        min_eve_risk: the floor on R_E; or
        max_bob_risk: the cap on R_B. One of the two.
        path: the path of the problem, if it is known already.

    Returns:
        The best mechanism, its risks, and the shadow price of the limit.

    Raises:
        InputError: both limits or none are given, or the limit cannot be reached.

    >>> from bap_lp import Problem, sdc
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> found = sdc(coin, min_eve_risk="1/2")
    >>> print(found.risks.bob, found.risks.eve)
    3/10 1/2
    """
    if (min_eve_risk is None) == (max_bob_risk is None):
        raise InputError("min_eve_risk", None, "or max_bob_risk must be given, one of the two")
    by_eve = min_eve_risk is not None
    field, given = ("min_eve_risk", min_eve_risk) if by_eve else ("max_bob_risk", max_bob_risk)
    wanted = number(given, field)
    exact = problem.exact and is_exact(wanted)
    path = all_mechanisms(path)
    path = path if path is not None and path.exact == exact else lambda_path(problem, exact=exact)
    if wanted > 10**300:
        raise InputError(field, public(wanted), "must be at most 1e300")
    level = stated(wanted, exact)
    pieces = path.pieces
    levels = [piece.risks.eve if by_eve else piece.risks.bob for piece in pieces]
    slack = 0 if exact else _SAME * float(levels[-1])  # a risk is a sum of terms >= 0: its error is relative to itself
    if by_eve and level > levels[-1] + slack:
        most = "" if problem.misaligned else "the null release is the most private of all, "
        reason = f"cannot be reached: {most}R_E <= {show(levels[-1])}"
        raise InputError(field, level, f"{reason}; floors up to {show(levels[0])} cost Bob nothing")
    if not by_eve and level < levels[0] - slack:
        most = "" if problem.misaligned else "the full release is the most useful of all, "
        reason = f"cannot be reached: {most}R_B >= {show(levels[0])}"
        raise InputError(field, level, f"{reason}; caps from {show(levels[-1])} on allow the largest R_E")
    whole = path.problem

    def found(piece: Piece, low: Number, high: Number, lam: Number) -> DisclosureControl:
        return DisclosureControl(whole, piece.risks, low, (low, high), piece.mechanism, piece.certificate_at(lam))

    if (by_eve and level < levels[0] - slack) or (not by_eve and level > levels[-1] + slack):
        piece = pieces[0 if by_eve else -1]
        return found(piece, 0 * level, 0 * level, piece.start)  # the condition does not bind: it is free at the margin
    k = max(j for j, reached in enumerate(levels) if reached <= level + slack)
    piece = pieces[k]
    if level <= levels[k] + slack:
        last = piece.end == math.inf
        if by_eve:
            return found(piece, piece.start, piece.end, piece.start)
        low = piece.start * 0 if last else 1 / piece.end
        return found(piece, low, 1 / piece.start if piece.start else math.inf, piece.start if last else piece.end)
    share, lam = number((level - levels[k]) / (levels[k + 1] - levels[k]), field), pieces[k + 1].start
    price = lam if by_eve else 1 / lam
    return found(pieces[k + 1].mixed(piece, share), price, price, lam)


@dataclass(frozen=True)
class LamInterval:
    """Closed interval of lam, `end` perhaps inf; empty if `start` is None."""

    start: Number | None
    end: Number | None

    @property
    def empty(self) -> bool:
        return self.start is None

    def __contains__(self, lam: Any) -> bool:
        if self.start is None or self.end is None:
            return False
        return bool(self.start <= public(number(lam, "lam")) <= self.end)


def chooses(problem: Problem, mechanism: Mechanism, path: Path | None = None) -> LamInterval:
    """All lam for which the mechanism is optimal.

    Its excess R_A - V is convex in lam, never negative and linear on every piece. So it vanishes inside a piece only if
    it does at both ends, and its zeros form an interval between two breakpoints (or 0, or inf): exact if both
    arguments are. In floats, zero means within the tolerance of certificates.

    Args:
        problem: the problem.
        mechanism: the mechanism.
        path: the path of the problem, if it is known already.

    Returns:
        The interval of lam; empty if no lam chooses the mechanism.

    Raises:
        InputError: the mechanism has other states than the problem.

    >>> from bap_lp import Mechanism, Problem, chooses
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> chooses(coin, Mechanism([[1, 0], ["3/10", "7/10"]]))
    LamInterval(start=Fraction(1, 10), end=inf)
    """
    exact = problem.exact and mechanism.exact
    path = all_mechanisms(path)
    path = path if path is not None and path.exact == exact else lambda_path(problem, exact=exact)
    own = risks_of(path.problem, mechanism)

    def zero(lam: Number) -> bool:
        slack = 0 if exact else max(TOLERANCE, path.tolerance) * path.problem.arrays.size(lam)
        return bool(own.alice(lam) - path.value(lam) <= slack)

    zeros_at = [piece.start for piece in path.pieces if zero(piece.start)]
    if not zeros_at:
        return LamInterval(None, None)
    last = path.pieces[-1]
    slack = 0 if exact else max(TOLERANCE, path.tolerance) * float(path.problem.E.max())
    endless = zeros_at[-1] == last.start and last.risks.eve - own.eve <= slack
    return LamInterval(zeros_at[0], math.inf if endless else zeros_at[-1])
