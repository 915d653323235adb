"""The optimum next to what offices do: every release with its R_B and R_E, in the table and on the map of `compare`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp import Conditions, InputError, Risks, Solution, solve
from bap_lp.model.calibration import extremes, lam_of
from bap_lp.model.evaluation import risks
from bap_lp.releases import Comparison, Row, bob_decision
from bap_lp.support.display import both
from bap_lp.support.rational import Array, floats, public
from bap_sdc.count_tables.channels import Evaluator, recovered
from bap_sdc.count_tables.problems import TableProblem
from bap_sdc.count_tables.protections import USUAL, Geometric, Protection
from bap_sdc.count_tables.questions import exact_number

_MOST_STATES = 100_000  # up to which Bob's decision is evaluated
_SPARE = 1e-9  # of R_B without a release: what a Bob of a float problem may lose and be told to lose nothing
_MOST_SIGNS = 12  # cells up to which the largest distance between two tables is looked for


@dataclass(frozen=True, repr=False)
class TableComparison(Comparison):
    """Releases of a table by increasing R_A. `notes` say in words what suppression does not hide."""

    notes: tuple[str, ...] = ()


def compare_tables(
    problem: TableProblem,
    lam: Any = "calibrated",
    solution: Solution | None = None,
    *,
    protections: Sequence[Protection] = USUAL,
    conditions: Conditions | None = None,
    progress: Callable[[str], None] | None = None,
) -> TableComparison:
    """The optimum at lam next to full, null, Bob's decision and the ways in which offices protect tables.

    Args:
        problem: a problem made by `counts`.
        lam: a non-negative number, or "calibrated".
        solution: the optimum at lam, if it is known already; a float one asks for floats.
        protections: the releases to compare with, see `bap_sdc.count_tables.protections`.
        conditions: min_eve_risk and max_bob_risk, which the optimum must and the releases should satisfy.
        progress: called with the name of every release before it is evaluated.

    Returns:
        The releases by increasing R_A. A risk is a Fraction if it is exact, a float with its error otherwise.

    Raises:
        InputError: there are conditions that cannot be checked for these releases.

    >>> from bap_sdc import counts
    >>> from bap_sdc.count_tables.protections import Rounding
    >>> problem = counts(6, 3, bob={"cells": "1", "loss": "0-1", "thresholds": ["1/3"]},
    ...                  eve={"cells": "2", "asks": "empty"})
    >>> table = compare_tables(problem, protections=[Rounding(3)])
    >>> print(", ".join(f"{row.name} {row.risks.eve}" for row in table.releases))
    optimum 1/4, Bob's decision 1/4, rounding 3 1/7, full 0, null 1/4
    """
    weight = public(lam_of(problem, lam))
    wanted = None if conditions is None or conditions.empty else conditions
    extra = sorted(set(wanted.given()) - {"min_eve_risk", "max_bob_risk"}) if wanted is not None else []
    if extra:
        raise InputError(
            f"conditions.{extra[0]}", None, "cannot be checked for releases of tables (`bap solve` keeps it)"
        )
    best = solve(problem, weight, conditions=wanted) if solution is None else solution
    exact = problem.exact and best.exact
    found: list[tuple[str, Risks, float]] = []
    omitted: list[tuple[str, str]] = []
    notes = []
    base = problem if exact else problem.as_float()
    full, null = (Risks(*map(public, pair)) for pair in extremes(base))
    found += [("full", full, math.inf if len(problem.p) > 1 else 0.0), ("null", null, 0.0)]
    if len(problem.p) <= _MOST_STATES:
        told = bob_decision(base)
        found.append(("Bob's decision", risks(base, told), told.epsilon))
    else:
        omitted.append(("Bob's decision", f"states are {len(problem.p)}, more than {_MOST_STATES}"))
    evaluator = None
    try:
        evaluator = Evaluator(problem.model, exact)
    except InputError as reason:  # too many tables for an Eve who knows the others
        omitted += [(protection.title, str(reason)) for protection in protections]
    for protection in protections if evaluator is not None else ():
        if progress is not None:
            progress(protection.title)
        try:
            assert evaluator is not None
            found.append((protection.title, evaluator.risks(protection), _epsilon(problem, protection)))
        except InputError as reason:
            omitted.append((protection.title, reason.rule))
            continue
        if protection.hidden:
            notes.append(_hiding(problem, protection))

    def row(name: str, own: Risks, epsilon: float) -> Row:
        alice = own.alice(weight)
        spare = 0 if exact else _SPARE * null.bob  # a Bob who loses nothing decides as well as with the data
        return Row(
            name, None, own, alice, epsilon, alice - best.value, own.bob <= full.bob + spare, _breaks(own, wanted)
        )

    rows = [row("optimum", best.risks, best.mechanism.epsilon), *(row(*entry) for entry in found)]
    ranked = tuple(sorted(rows, key=lambda r: (r.alice, r.name != "optimum")))
    return TableComparison(weight, best, ranked, tuple(omitted), wanted, tuple(notes))


def _breaks(own: Risks, conditions: Conditions | None) -> str | None:
    if conditions is None:
        return None
    for name, what, value, sign in (
        ("min_eve_risk", "R_E", own.eve, 1),
        ("max_bob_risk", "R_B", own.bob, -1),
    ):
        limit = conditions.given().get(name)
        if limit is None:
            continue
        limit, error = public(exact_number(limit, name)), own.eve_error if sign > 0 else own.bob_error
        if sign * (value - limit) < -error:
            return f"{what} = {value} is {'below' if sign > 0 else 'above'} {name} = {limit}"
    return ""


def _epsilon(problem: TableProblem, protection: Protection) -> float:
    """log of the largest ratio between the chances of one published table under two tables, inf if there is none.

    For geometric noise it is D log(1/a), with D the largest sum of |x_i - x'_i| over two tables.
    """
    model = problem.model
    n, tables = model.population.n, _tables(problem)
    if tables is None or not model.population.totals:
        counts = [np.arange(n + 1) if len(model.layout.cells) > 1 else np.array([n])] * len(model.layout.cells)
    else:
        counts = [np.unique(column) for column in tables.T]
    if isinstance(protection, Geometric) and exact_number(protection.ratio, "ratio") > 0:
        return -_distance(problem, tables) * math.log(float(exact_number(protection.ratio, "ratio")))
    q = floats(protection.matrix(n))
    # the other releases are either constant on the counts that occur or exclude some of them
    return 0.0 if all((q[part] == q[part[0]]).all() for part in counts) else math.inf


def _distance(problem: TableProblem, tables: Array | None) -> int:
    """The largest sum of |x_i - x'_i|, which is the largest range of sum_i +-x_i over all signs; 2 n bounds it."""
    n, cells = problem.model.population.n, len(problem.model.layout.cells)
    if not problem.model.population.totals:
        return 2 * n if cells > 1 else 0
    if tables is None or cells > _MOST_SIGNS:
        return 2 * n
    found = 0
    for signs in range(2 ** (cells - 1)):
        line = tables @ np.array([1 if signs >> i & 1 else -1 for i in range(cells)])
        found = max(found, int(line.max() - line.min()))
    return found


def _tables(problem: TableProblem) -> Array | None:
    """All tables, if they are not too many."""
    try:
        return problem.model.cells.tables
    except InputError:
        return None


def _hiding(problem: TableProblem, protection: Protection) -> str:
    if _tables(problem) is None:
        return f"{protection.title}: the tables are too many to say what can be computed from the published ones."
    some, follows = recovered(problem.model, protection)
    known = "n and the public totals" if problem.model.population.totals else "n"
    if not some:
        return f"{protection.title} never suppresses a count."
    return (
        f"{protection.title} suppresses a count with probability {both(some)}; with probability {both(follows)} "
        f"a suppressed count follows from the published ones and {known}."
    )
