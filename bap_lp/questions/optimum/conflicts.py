"""What is attainable: conditions that nothing meets are refused with a conflict, the nearest numbers, and the proof.

Every condition but max_bob_risk and margin is met by the null release, if anything meets it: posteriors average to the
prior and Eve's risks at the signals to at most her risk without a release. So a conflict is a demand out of its own
range, or one that involves max_bob_risk or margin. Only agents with beliefs of their own may need a release to reach a
floor.

The conflict is found by a deletion filter: leave out one demand after the other, and keep it out if the rest is still
impossible. The nearest number of a demand, given all others, may be a root of a polynomial. It is enclosed by exact
programs to nine digits, and the simplest fraction there is named if the others allow it: a number that is attainable,
while nothing nearer is, up to the ninth digit.

Deterministic mechanisms, and those with few signals, are no convex set: there the proof goes case by case, with the
parts of the search, or tries all maps if they are few. The deletion filter then leaves out
determinism and the limit on signals as well, and a condition stays in the conflict if the search without it was given
up, at its limit of nodes or of time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from flint import fmpq

from bap_lp.clock import OutOfTime
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.highs import SolverError
from bap_lp.engines.linear.optimum import optimum
from bap_lp.engines.solve import Infeasible, solve_program, unfeasible
from bap_lp.model.calibration import extremes
from bap_lp.model.problem import Problem
from bap_lp.notions.base import Notion, Part
from bap_lp.notions.conditions import Conditions
from bap_lp.notions.reading import plain
from bap_lp.program.bound import Dual, Program
from bap_lp.program.lowering import LoweredProblem
from bap_lp.proof.cases import Case
from bap_lp.proof.certificate import Certificate, ConflictError
from bap_lp.proof.checking import verify
from bap_lp.questions.optimum.asked import AskedProblem
from bap_lp.questions.optimum.search import NothingFound, searched
from bap_lp.rational import EXACT, InputError, public, show, stated

One = TypeVar("One")
_NOTHING = Dual({}, {})
_FINE = 10**9  # digits of a nearest number
_STEPS = 80  # programs for a nearest number
_SEARCHED = 4000  # probabilities of a program up to which nearest numbers are looked for
_RULES = {
    "max_bob_risk": "cannot be met: under the other conditions R_B is at least {}",
    "min_eve_risk": "cannot be met: under the other conditions R_E is at most {}",
}


def within_range(asked: AskedProblem) -> None:
    """Refuse a floor above the null release's R_E or a cap below the full release's R_B."""
    layout, conditions = asked.layout, asked.conditions
    if layout.problem.misaligned:
        return  # others may be more useful than the full release, or more private than the null release

    limits = {d.name: d.limit for d in layout.demands if d.name in _RULES}
    for name, eve in (("min_eve_risk", True), ("max_bob_risk", False)):
        if name not in limits:
            continue
        full, null = (risks[eve] for risks in extremes(layout.problem))
        if limits[name] > null if eve else limits[name] < full:
            low, high = stated(full, asked.exact), stated(null, asked.exact)
            risk, more = ("R_E", ", which is the most private of all") if eve else ("R_B", "")
            rule = f"is not attainable: {risk} lies between {low} (full release) and {high} (null release){more}"
            alone = len(conditions.given()) == 1
            found = {name: high if eve else low} if alone else _allowed(asked, name)
            raise _with(ConflictError(name, getattr(conditions, name), rule), (name,), found, asked)


def _allowed(asked: AskedProblem, name: str) -> dict[str, Any]:
    """The nearest number of a limit on a risk that the other conditions allow; empty if there is none, or in doubt."""
    if asked.conditions.combinatorial or asked.layout.program(EXACT.zero).cost.size > _SEARCHED:
        return {}
    if not asked.exact:
        twin = rational(asked.conditions)
        if not twin.exact:
            return {}
        found = _allowed(AskedProblem.of(asked.problem.rationalised(), twin, True), name)
        return {label: float(value) for label, value in found.items()}
    parts = _parts(asked.layout)
    return _nearest_numbers(asked.layout, parts, [part for part in parts if part.label == name])


def _parts(layout: LoweredProblem) -> list[Part]:
    return [p for demand in layout.demands if demand.convex for p in demand.parts(layout.whole, layout.signals)]


def _with(error: ConflictError, conflict: tuple[str, ...], near: dict[str, Any], asked: AskedProblem) -> ConflictError:
    error.conflict = conflict
    error.__dict__["nearest"] = near
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
    """Why the conditions cannot hold together, and which number of one of them could.

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
                rounded = {name: float(value) for name, value in best.attainable.items()}
                return _with(best, best.conflict, rounded, asked)
    parts = _parts(layout)
    conflict = least_conflict(parts, lambda some: not is_feasible(laid(layout, [p.at(p.value) for p in some])))
    labels = tuple(part.label for part in conflict)
    near: dict[str, Any] = {}
    alone: dict[str, Any] = {}
    if asked.exact and len(layout.arrays.p) * len(layout.signals) <= _SEARCHED:
        if conditions.combinatorial:
            # what is computed with randomness and all signals is a bound on the risks, but perhaps not attainable
            bounds = _nearest_numbers(layout, parts, [part for part in conflict if part.label in _RULES][:1])
            return _with(_explained(layout, conflict, bounds, alone, decimals), labels, near, asked)
        near = _nearest_numbers(layout, parts, conflict)
        alone = near or _nearest_numbers(layout, conflict, conflict)
    return _with(_explained(layout, conflict, near, alone, decimals), labels, near, asked)


def least_conflict(conflict: list[One], impossible: Callable[[list[One]], bool]) -> list[One]:
    """The deletion filter: what is left if one after the other is left out where the rest is still impossible."""
    for one in list(conflict):
        fewer = [other for other in conflict if other is not one]
        if impossible(fewer):
            conflict = fewer
    return conflict


def _nearest_numbers(layout: LoweredProblem, parts: list[Part], conflict: list[Part]) -> dict[str, Any]:
    """The nearest number of every demand in the conflict that `parts` allow."""
    found = {part.label: nearest(layout, parts, part) for part in conflict if part.value is not None}
    return {label: public(value) for label, value in found.items() if value is not None}


def _several(conflict: list[Part], alone: dict[str, Any], decimals: bool) -> ConflictError:
    """No single number resolves it, as there is a further conflict; what would resolve this one."""
    one = " or ".join(f"{name} = {_said(value, decimals)}" for name, value in alone.items())
    more = f"; with {one} there is still another conflict" if alone else ""
    if len(conflict) == 1:
        value = None if conflict[0].value is None else _given(conflict[0], decimals)
        return ConflictError(conflict[0].label, value, f"cannot be met{more}")
    return ConflictError("conditions", None, f"cannot be met together: {', '.join(p.label for p in conflict)}{more}")


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
    layout: LoweredProblem, conflict: list[Part], near: dict[str, Any], alone: dict[str, Any], decimals: bool
) -> ConflictError:
    """The line that says it: the limits on risks first, as they are what everything else conflicts with."""

    def said(value: Any) -> str:
        return _said(value, decimals)

    values = {part.label: part.value for part in conflict}
    together = "" if len(conflict) < 2 else f"; in conflict: {', '.join(values)}"
    if "margin" in values and len(values) == 1:
        most = f", the largest is {said(near['margin'])}" if "margin" in near else ""
        if layout.problem.misaligned:
            rule = "is not attainable: no mechanism makes every agent prefer his decision by that much"
            return ConflictError("margin", _given(conflict[0], decimals), rule + most)
        full, null = (said(public(margin_of(layout.problem, kind))) for kind in (False, True))
        rule = f"is not attainable: full release leaves a margin of {full}, null release {null}, no mechanism that much"
        return ConflictError("margin", _given(conflict[0], decimals), rule + most)
    order = [*(name for name in _RULES if name in near), *near]
    if order:
        label = order[0]
        part = next(part for part in conflict if part.label == label)
        end = "least" if part.looser > 0 else "largest"
        rule = _RULES.get(label, f"cannot be met: the {end} that the other conditions allow is {{}}")
        others = [f"{name} = {said(value)}" for name, value in near.items() if name != label]
        instead = f"; or with {' or '.join(others)}" if others else ""
        return ConflictError(label, _given(part, decimals), rule.format(said(near[label])) + together + instead)
    return _several(conflict, alone, decimals)


def _said(value: Any, decimals: bool) -> str:
    return f"{float(value):.9g}" if decimals else show(value)


def _given(part: Part, decimals: bool) -> Any:
    return stated(part.value, not decimals)


def laid(layout: LoweredProblem, demands: list[Notion]) -> LoweredProblem:
    """The layout with these demands; those of one notion become one."""
    kept = (demand.kept() for demand in layout.demands)
    return layout.demanding(together([demand for demand in kept if demand is not None], demands))


def together(kept: Sequence[Notion], demands: Sequence[Notion]) -> tuple[Notion, ...]:
    """Demands with further ones; those of one notion become one."""
    by_name: dict[str, Notion] = {demand.name: demand for demand in kept}
    for demand in demands:
        by_name[demand.name] = by_name[demand.name].joined(demand) if demand.name in by_name else demand
    return tuple(by_name.values())


def is_feasible(layout: LoweredProblem) -> bool:
    """Whether any channel meets the conditions."""
    return any_channel(layout.program(EXACT.zero, 0))


def any_channel(program: Program) -> bool:
    """Whether any channel meets the rows: without a cost every feasible vertex is an optimum."""
    lp = LinearForm.of(program).lp
    try:
        optimum(replace(lp, cost=lp.field.zeros(len(lp.cost))))
    except Infeasible:
        return False
    return True


def nearest(layout: LoweredProblem, parts: list[Part], part: Part) -> Any:
    """The number of a demand nearest to the one given that the others allow; None if there is none."""
    if part.label in _RULES:  # the least R_B and the largest R_E are optima themselves
        rest = laid(layout, [p.at(p.value) for p in parts if p is not part])
        try:
            if part.label == "max_bob_risk":
                return solve_program(rest.program(EXACT.zero)).value
            return -solve_program(rest.program(EXACT.one, 0)).value
        except Infeasible:
            return None

    def feasible(value: Any) -> bool:
        return is_feasible(laid(layout, [p.at(value if p is part else p.value) for p in parts]))

    no, yes, short = part.value, part.limit, None
    if not feasible(yes):
        return None
    for _ in range(_STEPS):
        if abs(yes - no) * _FINE <= max(abs(no), abs(yes)):
            break
        low, high = min(no, yes), max(no, yes)
        last, short = short, simplest(low, high)
        if short == last != no:  # it may be the number itself: then the next number beyond it is not feasible
            if feasible(short):
                beyond = short + (no - short) / abs(no - short) * max(abs(no), abs(short)) / (2 * _FINE)
                if abs(beyond - short) >= abs(no - short) or not feasible(beyond):
                    return short
                yes = beyond
            else:
                no = short
            continue
        if high > 4 * low > 0:  # from 2 to a million: by factors
            middle = fmpq(*Fraction(math.sqrt(low * high)).limit_denominator(1000).as_integer_ratio())
        else:
            middle = simplest(low + (high - low) / 3, high - (high - low) / 3)
        if feasible(middle):
            yes = middle
        else:
            no = middle
    short = simplest(min(no, yes), max(no, yes))
    return short if feasible(short) else yes


def simplest(low: fmpq, high: fmpq) -> fmpq:
    """The fraction with the least denominator from low to high, by the Stern-Brocot tree."""
    if low < 0 < high or low == 0:
        return fmpq(0)
    if high < 0:
        return -simplest(-high, -low)
    whole = low.p // low.q
    if whole == low:
        return fmpq(whole)
    if whole + 1 <= high:
        return fmpq(whole + 1)
    return whole + 1 / simplest(1 / (high - whole), 1 / (low - whole))


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
    """Why no deterministic mechanism, or none with so few signals, meets the conditions; the cases prove it."""
    layout = asked.layout
    conflict: list[tuple[str, Notion]] = []
    for demand in layout.demands:
        if demand.convex:
            conflict += [(part.label, part.at(part.value)) for part in demand.parts(layout.whole, layout.signals)]
        else:
            conflict.append((demand.name, demand))
    conflict = least_conflict(
        conflict, lambda some: not _possible(asked, [demand for _, demand in some], lam, bob_weight)
    )
    labels = [label for label, _ in conflict]
    name = next((label for label, demand in conflict if not demand.convex), labels[0])
    others = ", ".join(label for label in labels if label != name)
    rule = f"cannot be met together with {others}" if others else "cannot be met"
    error = ConflictError(name, getattr(asked.conditions, name, None), rule)
    error.conflict = tuple(labels)
    error.proof = proved_conflict(asked, cases)
    return error


def _possible(asked: AskedProblem, demands: list[Notion], lam: Any, bob_weight: int) -> bool:
    fewer = asked.demanding(laid(asked.layout, demands))
    try:
        relaxed = fewer.relaxed(lam, bob_weight)
        if fewer.deterministic or fewer.most is not None:
            searched(fewer, lam, relaxed, bob_weight)
    except (Infeasible, NothingFound):
        return False
    except (OutOfTime, SolverError):
        return True  # for all we know
    return True
