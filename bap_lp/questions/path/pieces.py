"""The whole path: V(lam) = min over mechanisms of R_B - lam R_E, for all lam >= 0 at once, with its proof.

V is a minimum of lines, one per mechanism, hence concave and piecewise linear; on a piece it is the line of a mechanism
that is optimal there, with slope -R_E. The pieces are the vertices (R_B, R_E) of the efficient edge of all risks that
mechanisms can attain: R_B and R_E both increase from piece to piece, and the lam between two of them is the slope of
the edge that joins them. Its proof is that of its pieces (`piece`).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.engines.driver import Infeasible
from bap_lp.model.calibration import lam_of
from bap_lp.model.evaluation import joint_risks
from bap_lp.model.problem import Problem
from bap_lp.model.reports import reports
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.merging import first_members
from bap_lp.program.bound import Dual
from bap_lp.program.lowering import LoweredProblem, signals_of
from bap_lp.proof.cases import Case
from bap_lp.proof.certificate import Certificate, Verdict
from bap_lp.proof.checking import verify
from bap_lp.questions.optimum.asked import AskedProblem, exactly
from bap_lp.questions.optimum.conditioned import best_channel
from bap_lp.questions.optimum.conflicts import refusal, within_range
from bap_lp.questions.optimum.solving import free_optimum, free_solution
from bap_lp.questions.path.lower_envelope import Stretch, SupportLine, envelope
from bap_lp.questions.path.parametric import Walk
from bap_lp.questions.path.piece import LoweredPiece, Piece
from bap_lp.support.display import Displayed, counted, fraction, kind, risks_line
from bap_lp.support.rational import EXACT, TOLERANCE, UNIT, Array, InputError, floats, public
from bap_lp.support.risks import Number, Risks

_FINISHED = 400  # probabilities of a program whose path in floats is that of the fractions they are, rounded
_PARAMETRIC = 20_000  # losses of a float problem up to which the exact path of the fractions they are is faster
PathProgress = Callable[[int, float], None]  # pieces found so far, lam reached


@dataclass(frozen=True, eq=False, repr=False)
class Path(Displayed):
    """V on [0, inf), exact with tolerance 0. In floats, V(lam) lies at most tolerance * max(B, lam E) below value(lam).

    B and E stand for Bob's and Eve's largest losses.
    """

    problem: Problem
    pieces: tuple[Piece, ...]
    tolerance: float
    method: str
    conditions: Conditions | None = None

    @property
    def exact(self) -> bool:
        return self.problem.exact

    @property
    def breakpoints(self) -> tuple[Number, ...]:
        """Where the optimal mechanism changes: the starts of all pieces but the first."""
        return tuple(piece.start for piece in self.pieces[1:])

    def piece(self, lam: Any = "calibrated") -> Piece:
        """The piece that lam lies on; at a breakpoint, where two mechanisms tie, the one that starts there."""
        at = public(lam_of(self.problem, lam))
        return self.pieces[bisect_right(self.breakpoints, at)]

    def value(self, lam: Any = "calibrated") -> Number:
        """V(lam)."""
        return self.piece(lam).risks.alice(public(lam_of(self.problem, lam)))

    def certificate(self, lam: Any = "calibrated") -> Certificate:
        """The proof that value(lam) is optimal."""
        return self.piece(lam).certificate_at(lam_of(self.problem, lam))

    def verify(self) -> Verdict:
        """Prove the whole path again with arithmetic alone: certificates at both ends of every piece are enough.

        On the last piece value and bound are both linear in lam, so two points settle it; under conditions it is also
        checked that no mechanism has more R_E. Where the conditions are not convex, the certificates themselves are
        solved for again.
        """
        if not self.pieces or self.pieces[0].start != 0 or self.pieces[-1].end != math.inf:
            return Verdict(False, "the pieces must cover lambda from 0 to infinity")
        for k, piece in enumerate(self.pieces):
            if k and piece.start != self.pieces[k - 1].end:
                return Verdict(False, f"piece {k} must start where the one before it ends")
            for lam in (piece.start, piece.start + 1 if piece.end == math.inf else piece.end):
                slack = max(TOLERANCE, self.tolerance) * self.problem.arrays.size(lam)
                try:
                    verdict = verify(self.problem, piece.certificate_at(lam), slack=slack)
                except ArithmeticError as error:
                    verdict = Verdict(False, str(error))
                if not verdict:
                    return Verdict(False, f"at lambda = {lam} on piece {k}: {verdict.reason}")
                stated, found = piece.risks.alice(lam), verdict.value
                if found is None or abs(float(stated - found)) > (0 if self.exact else slack):
                    return Verdict(False, f"at lambda = {lam} on piece {k}: R_A is {found}, not {stated}")
        wrong = self.pieces[-1].slope_wrong()
        if wrong:
            return Verdict(False, f"the slope of the last piece: {wrong}")
        return Verdict(True, f"V is proved on all of [0, inf), in {len(self.pieces)} pieces")

    def to_sympy(self, symbol: Any = None) -> Any:
        """V as a sympy Piecewise in `symbol` (default: a non-negative lambda)."""
        import sympy

        lam = sympy.Symbol("lambda", nonnegative=True) if symbol is None else symbol
        lines = []
        for piece in self.pieces:
            intercept, slope = map(sympy.sympify, piece.line)
            inside = sympy.true if piece.end == math.inf else lam <= sympy.sympify(piece.end)
            lines.append((intercept + slope * lam, inside))
        return sympy.Piecewise(*lines)

    def _lines(self) -> Iterator[str]:
        changes = [fraction(b) for b in self.breakpoints[:4]] + ["..."] * (len(self.pieces) > 5)
        where = f", breakpoints {', '.join(changes)}" if changes else ""
        yield f"{kind(self.exact)}, {counted(len(self.pieces), 'piece')}{where}"
        first, last = self.pieces[0].risks, self.pieces[-1].risks
        yield f"At first {risks_line(first.bob, first.eve)}; in the end {risks_line(last.bob, last.eve)}."
        if self.exact:
            among = "" if self.conditions is None else " among the mechanisms that meet the conditions"
            yield f"Every breakpoint is exact, and every piece is proved optimal{among}."
        else:
            bound = f"{self.tolerance:.2g} max(B, lambda E)"
            yield f"The least R_A lies at most {bound} below this, where B and E are the largest losses."

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The pieces; on each the least R_A is R_B - lambda R_E."""
        return [
            {"piece": k, "lambda from": p.start, "to": p.end, "R_B": p.risks.bob, "R_E": p.risks.eve,
             "signals": len(p.mechanism.signals)}
            for k, p in enumerate(self.pieces[:most], start=1)
        ]  # fmt: skip


def lambda_path(
    problem: Problem,
    exact: bool | None = None,
    progress: PathProgress | None = None,
    conditions: Any = None,
) -> Path:
    """All pieces of V(lam), the least R_A, over all mechanisms or those that satisfy the conditions.

    Args:
        problem: the problem.
        exact: True insists on rationals, False works in floats, None follows the numbers given.
        progress: called with the number of pieces found so far and the lam reached.
        conditions: conditions the mechanism must satisfy.

    Returns:
        The path: its pieces by increasing lam, each with an optimal mechanism, and V at any lam.

    Raises:
        InputError: exact is True and a number is a float, or no mechanism meets the conditions.

    >>> from bap_lp import Problem, lambda_path
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> for piece in lambda_path(coin).pieces:
    ...     print(piece.start, piece.risks.bob, piece.risks.eve)
    0 1/4 0
    1/10 13/40 3/4
    """
    conditions = Conditions.of(conditions or {})
    reporters = [eve.name for eve in problem.eves if reports(eve)]
    if reporters or "max_information" in conditions.given():
        why = f"{reporters[0]} reports probabilities" if reporters else "max_information is no linear condition"
        rule = f"has no path of finitely many pieces: {why}; `sweep` solves at a list of lambdas"
        raise InputError("problem", None, rule)
    if exactly(problem, EXACT.zero, exact, conditions) or problem.misaligned or not conditions.empty:
        return _lowered_path(problem, exact, progress, conditions)
    problem = problem.as_float()
    arrays, index = problem.arrays.merged()
    found: list[Stretch] = []
    drift, tolerance, method = Dual({"eve": arrays.null_replies(arrays.shape[1])}, {}), 0.0, ""
    if arrays.B.size + arrays.E.size <= _PARAMETRIC:
        method = "parametric simplex in exact arithmetic, rounded"
        found, tolerance = _rounded(problem, arrays, index, progress)
    else:
        first = first_members(index)

        def at(lam: float) -> SupportLine:
            best = free_solution(problem, lam, arrays, index, free_optimum(arrays, lam))
            assert best.certificate.channel is not None
            rho, dual = arrays.p[:, None] * floats(best.certificate.channel)[first], best.certificate.dual
            risks = joint_risks(arrays, rho)
            return SupportLine(rho, risks.bob, risks.eve, dual, best.bound)

        blind = arrays.rule_table(np.full(len(arrays.p), (arrays.p @ arrays.B).argmin()))
        null = joint_risks(arrays, blind)
        last = SupportLine(blind, null.bob, null.eve, drift, -null.eve)
        found, tolerance = envelope(arrays, at, last, progress, False)
        method = "lower envelope of float solutions"
    pieces = tuple(
        Piece(problem, arrays, index, start, end, line.risks(len(problem.p)), line.table, duals)
        for start, end, duals, line in _spans(found, drift)
    )
    return Path(problem, pieces, tolerance, method)


def _followed(pieces: Iterator[Stretch], progress: PathProgress | None) -> list[Stretch]:
    found: list[Stretch] = []
    for piece in pieces:
        found.append(piece)
        if progress is not None:
            progress(len(found), float(piece[0]))
    return found


def _rounded(
    problem: Problem, arrays: Arrays, index: Array, progress: PathProgress | None
) -> tuple[list[Stretch], float]:
    """The exact path of float arrays in floats, and its tolerance: the largest gap that rounding leaves."""
    found: list[Stretch] = []
    gaps = [0.0]
    layout = LoweredProblem(problem, (), problem.arrays, arrays.lifted(), index, signals_of(problem, False))
    for start, dual, vertex in Walk(AskedProblem(problem, Conditions(), layout, False)).pieces():
        lam, q = float(start), floats(vertex.table)
        rho = arrays.p[:, None] * (q / q.sum(axis=1, keepdims=True))
        risks = joint_risks(arrays, rho)
        line = SupportLine(rho, risks.bob, risks.eve, dual, None)
        before = found[-1][2] if found else None
        if before is None or (line.bob > before.bob and line.eve > before.eve and lam > found[-1][0]):
            found.append((lam, dual, line))
        elif line.eve > before.eve:  # two pieces are one within rounding: the line that is lower for large lam
            found[-1] = (*found[-1][:2], line)
        best = vertex.at(start)  # what the multipliers of an optimal vertex prove
        gaps.append(float(EXACT.number(float(found[-1][2].at(lam))) - best) / arrays.size(lam))
        if progress is not None:
            progress(len(found), lam)
    most = arrays.extremes()[1][1]  # R_E of the null release: no line falls faster
    gaps.append((most - found[-1][2].eve) / max(float(arrays.E.max()), 1e-300))
    return found, 2 * max(gaps) + 8 * (len(arrays.p) + 40) * UNIT


def _spans(
    found: list[Stretch], drift: Dual, exact: bool = True
) -> Iterator[tuple[Number, Number, tuple[Dual, Dual], SupportLine]]:
    """Start, end, multipliers at both (or the drift) and line of every piece; floats, if the numbers are not exact."""
    number = public if exact else float
    for k, (start, dual, line) in enumerate(found):
        end, onward = (number(found[k + 1][0]), found[k + 1][1]) if k + 1 < len(found) else (math.inf, drift)
        yield number(start), end, (dual, onward), line


def _lowered_path(problem: Problem, exact: bool | None, progress: PathProgress | None, conditions: Conditions) -> Path:
    exact = exactly(problem, EXACT.zero, exact, conditions)
    asked = AskedProblem.of(problem, conditions, exact)
    within_range(asked)
    layout = asked.layout
    cases: tuple[Case, ...] = ()
    if conditions.deterministic or not (exact or len(layout.arrays.p) * len(layout.signals) <= _FINISHED):
        how = "lower envelope of solutions"
        found, tolerance, drift, cases = _enveloped(asked, progress)
    else:  # small floats: the path of the fractions that they are
        how = "parametric simplex in exact arithmetic" + ("" if exact else ", rounded")
        try:
            walk = Walk(asked)
        except Infeasible:
            raise refusal(asked) from None
        found, tolerance = _followed(walk.pieces(), progress), 0.0
        drift = walk.drift
        if not exact:
            near = []
            for lam, dual, line in found:  # channels that floats hold, if some that meet the conditions are near
                sent = layout.sent(asked.on_floats(line.table))
                near.append((lam, dual, replace(line, table=sent.q, bob=sent.told_risk, eve=sent.eve_risk)))
            apart = ((lam, one.at(lam) - line.at(lam)) for (lam, _, one), (_, _, line) in zip(near, found, strict=True))
            found, tolerance = near, 2 * max(float(abs(d)) / layout.arrays.size(lam) for lam, d in apart)
    pieces, own = [], (asked.problem, layout.arrays, layout.index)
    for start, end, duals, line in _spans(found, drift, exact):
        risks = line.risks(1) if exact else Risks.summed(float(line.bob), float(line.eve), 1)
        rho, proof = layout.arrays.p[:, None] * line.table, cases if end == math.inf else ()
        pieces.append(LoweredPiece(*own, start, end, risks, rho, duals, asked, line.table, proof))
    given = None if conditions.empty else conditions
    how += "" if given is None else " under the conditions"
    return Path(asked.problem, tuple(pieces), tolerance, how, given)


def _enveloped(
    asked: AskedProblem, progress: PathProgress | None
) -> tuple[list[Stretch], float, Dual, tuple[Case, ...]]:
    """The pieces and their tolerance, and the multipliers and cases that prove the largest R_E."""

    def at(lam: Any, bob_weight: int = 1) -> tuple[SupportLine, tuple[Case, ...]]:
        best, cases, _ = best_channel(asked, lam, bob_weight)
        sent = asked.layout.sent(best.rho)
        if asked.exact and sent.score(lam, bob_weight)[0] != best.bound:
            rule = f"leave a gap at lambda = {lam}: the search stopped at its limit, so the path is not known"
            raise InputError("conditions", None, rule)
        return SupportLine(best.rho, sent.told_risk, sent.eve_risk, best.dual, best.bound), tuple(cases)

    last, cases = at(EXACT.one, 0)
    found, tolerance = envelope(asked.layout.arrays, lambda lam: at(lam)[0], last, progress, asked.exact)
    return found, tolerance, last.dual, cases


def all_mechanisms(path: Path | None) -> Path | None:
    """The path, refused if it is one under conditions."""
    if path is not None and path.conditions is not None:
        raise InputError("path", None, "has conditions; this question is about all mechanisms and needs a path without")
    return path
