"""Conditions that nothing meets are refused with a conflict and its proof.

Every condition but max_bob_risk and margin is met by the null release, if anything meets it: posteriors average to the
prior and Eve's risks at the signals to at most her risk without a release. So a conflict is a demand out of its own
range, or one that involves max_bob_risk or margin. Only agents with beliefs of their own may need a release to reach a
floor.

The conflict is found by a deletion filter: leave out one demand after the other, and keep it out if the rest is still
impossible.

Deterministic mechanisms are no convex set: there the proof goes case by case, with the parts of the search.
The deletion filter then leaves out determinism as well, and a condition stays in the conflict
if the search without it was given up, at its limit of nodes or of time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from bap_lp.conditions.events import plain
from bap_lp.conditions.given import Conditions
from bap_lp.engines.driver import Infeasible, unfeasible
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.highs import SolverError
from bap_lp.engines.linear.linear_optimum import optimum
from bap_lp.model.calibration import extremes
from bap_lp.model.problem import Problem
from bap_lp.program.bound import Dual, Program
from bap_lp.program.lowering import LoweredProblem
from bap_lp.proof.cases import Case
from bap_lp.proof.certificate import Certificate, ConflictError
from bap_lp.proof.checking import verify
from bap_lp.questions.optimum.asked import AskedProblem
from bap_lp.questions.optimum.search import NothingFound, searched
from bap_lp.support.clock import OutOfTime
from bap_lp.support.rational import EXACT, InputError, public, show, stated

One = TypeVar("One")
_NOTHING = Dual({}, {})
_RANGES = {"min_eve_risk": True, "max_bob_risk": False}  # whether the limit is on Eve's risk


def within_range(asked: AskedProblem) -> None:
    """Refuse a floor above the null release's R_E or a cap below the full release's R_B."""
    layout, conditions = asked.layout, asked.conditions
    if layout.problem.misaligned:
        return  # others may be more useful than the full release, or more private than the null release

    limits = {d.name: d.limit for d in layout.demands if d.name in _RANGES}
    for name, eve in _RANGES.items():
        if name not in limits:
            continue
        full, null = (risks[eve] for risks in extremes(layout.problem))
        if limits[name] > null if eve else limits[name] < full:
            low, high = stated(full, asked.exact), stated(null, asked.exact)
            risk, more = ("R_E", ", which is the most private of all") if eve else ("R_B", "")
            rule = f"is not attainable: {risk} lies between {low} (full release) and {high} (null release){more}"
            raise _with(ConflictError(name, getattr(conditions, name), rule), (name,), asked)


def _with(error: ConflictError, conflict: tuple[str, ...], asked: AskedProblem) -> ConflictError:
    error.conflict = conflict
    error.proof = proved_conflict(asked)
    return error


def proved_conflict(asked: AskedProblem, cases: tuple[Case, ...] = ()) -> Certificate | None:
    """The multipliers that prove the conflict, if there are any."""
    layout = asked.layout
    program = layout.whole_program(EXACT.zero, 0)
    dual = program.completed(_NOTHING)
    if not cases:
        try:
            found = unfeasible(layout.program(EXACT.zero, 0))
        except (ArithmeticError, InputError):
            found = None
        if found is not None:
            dual = asked.whole_dual(program, found)
    zero = public(EXACT.zero)
    proof = Certificate((zero,), zero, zero, None, dual, asked.exact, asked.conditions, cases, "conflict")
    return proof if verify(asked.problem, proof) else None


def refusal(asked: AskedProblem, decimals: bool = False) -> ConflictError:
    """Why the conditions cannot hold together.

    Floats are explained in fractions, by the decimals they print as: floats cannot decide feasibility at an end
    of a range.
    """
    layout, conditions = asked.layout, asked.conditions
    if not asked.exact:
        twin = rational(conditions)
        if twin.exact:
            try:
                best = refusal(AskedProblem.of(asked.problem.rationalised(), twin, True), decimals=True)
            except (InputError, Infeasible):
                best = None
            if best is not None and best.conflict:
                return _with(best, best.conflict, asked)
    demands = {label: own for label, own in conditions.demanded().items() if not own.deterministic}
    conflict = least_conflict([*demands], lambda some: not _any(asked.under(_joined(demands, some))))
    return _with(_explained(layout, conflict, demands, decimals), tuple(conflict), asked)


def _joined(demands: dict[str, Conditions], labels: Sequence[str]) -> Conditions:
    return Conditions.joined(demands[label] for label in labels)


def _any(asked: AskedProblem) -> bool:
    return any_channel(asked.layout.program(EXACT.zero, 0))


def least_conflict(conflict: list[One], impossible: Callable[[list[One]], bool]) -> list[One]:
    """The deletion filter: what is left if one after the other is left out where the rest is still impossible."""
    for one in list(conflict):
        fewer = [other for other in conflict if other is not one]
        if impossible(fewer):
            conflict = fewer
    return conflict


def rational(conditions: Conditions) -> Conditions:
    """The conditions with every float read as the decimal it prints as, and epsilon as exp_epsilon."""

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            out = {name: read(v) for name, v in value.items()}
            if "epsilon" in out:
                out["exp_epsilon"] = repr(math.exp(float(Fraction(out.pop("epsilon")))))
            if "priors" in out:  # decimals need not quite sum to one
                rows = [[Fraction(v) for v in row] for row in out["priors"]]
                out["priors"] = [[v / sum(row) for v in row] for row in rows]
            return out
        if isinstance(value, (list, tuple)):
            return [read(v) for v in value]
        return repr(value) if isinstance(value, float) else value

    return Conditions(**read({name: plain(value) for name, value in conditions.given().items()}))


def _explained(
    layout: LoweredProblem, conflict: Sequence[str], demands: dict[str, Conditions], decimals: bool
) -> ConflictError:
    """The line that says it."""
    if len(conflict) != 1:
        return ConflictError("conditions", None, f"cannot be met together: {', '.join(conflict)}")
    [label], rule = conflict, "cannot be met"
    value = _number(label, demands[label])
    value = None if value is None else stated(EXACT.number(value), not decimals)
    if label == "margin":
        told = "no mechanism makes every agent prefer his decision by that much"
        if not layout.problem.misaligned:
            sides = (public(margin_of(layout.problem, null)) for null in (False, True))
            full, null = (f"{float(v):.9g}" if decimals else show(v) for v in sides)
            told = f"full release leaves a margin of {full}, null release {null}, no mechanism that much"
        rule = f"is not attainable: {told}"
    return ConflictError(label, value, rule)


def _number(label: str, demand: Conditions) -> Any:
    """The number that a label is about, if it is about one."""
    value = next(iter(demand.given().values()))
    one = value[0] if isinstance(value, tuple) else value
    found = one[1] if isinstance(one, tuple) else getattr(one, label.rpartition(".")[2], one)
    return found if isinstance(found, (Fraction, float)) else None


def any_channel(program: Program) -> bool:
    """Whether any channel meets the rows: without a cost every feasible vertex is an optimum."""
    lp = LinearForm.of(program).lp
    try:
        optimum(replace(lp, cost=lp.field.zeros(len(lp.cost))))
    except Infeasible:
        return False
    return True


def margin_of(problem: Problem, null: bool) -> Any:
    """The smallest margin by which a decision is preferred at a signal of the null or the full release."""
    whole, shares = problem.arrays.field.full(len(problem.p), 1), problem.eve_shares
    weights = [whole] + [whole if shares is None else shares[:, k] for k in range(len(problem.eve_groups))]
    out = []
    for table, share in zip(problem.arrays.tables, weights, strict=True):
        live = (problem.p > 0) & (share > 0)
        rows = [problem.p.dot(table) / problem.p.dot(share)] if null and live.any() else []
        rows = rows if null else [row / part for row, part in zip(table[live], share[live], strict=True)]
        for row in rows:
            best = sorted(row)
            if len(best) > 1:
                out.append(best[1] - best[0])
    return min(out, default=0 * problem.p[0])


def searched_refusal(asked: AskedProblem, lam: Any, bob_weight: int, cases: tuple[Case, ...]) -> ConflictError:
    """Why no deterministic mechanism meets the conditions; the cases prove it."""
    demands = asked.conditions.demanded()
    labels = least_conflict(
        [*demands], lambda some: not _possible(asked.under(_joined(demands, some)), lam, bob_weight)
    )
    name = next((label for label in labels if demands[label].deterministic), labels[0])
    others = ", ".join(label for label in labels if label != name)
    rule = f"cannot be met together with {others}" if others else "cannot be met"
    error = ConflictError(name, demands[name].given().get(name), rule)
    error.conflict = tuple(labels)
    error.proof = proved_conflict(asked, cases)
    return error


def _possible(fewer: AskedProblem, lam: Any, bob_weight: int) -> bool:
    try:
        relaxed = fewer.relaxed(lam, bob_weight)
        if fewer.deterministic:
            searched(fewer, lam, relaxed, bob_weight)
    except (Infeasible, NothingFound):
        return False
    except (OutOfTime, SolverError):
        return True  # for all we know
    return True
