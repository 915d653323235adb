"""How far the usual releases fall short: each with its best parameter at lam, next to the optimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bap_lp.model.calibration import lam_of
from bap_lp.model.evaluation import risks
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number, Risks
from bap_lp.programs.solution import Solution
from bap_lp.programs.solving import solve
from bap_lp.rational import InputError, public
from bap_lp.releases.families import randomised_response_family
from bap_lp.releases.library import RELEASES, _text, truncated_geometric

RATIOS = tuple(Fraction(k, 20) for k in range(1, 20))  # of the truncated geometric releases that `compare` tries
# `compare` builds a states x states channel up to this many states. The geometric one spans ratio^(1 - N), and
# 20^199 = 1e259 is still a float.
_MOST_STATES = {"full": 2000, "synthetic data": 500, "randomised response": 500, "truncated geometric": 200}


def best_randomised_response(problem: Problem, lam: Any) -> tuple[str, Mechanism]:
    """The exact minimiser of R_A over w in [0, (N - 1)/N], from the full release to the null one."""
    best = randomised_response_family(problem).minimise(lam)
    return f"w = {_text(best.w)}", best.mechanism


def best_truncated_geometric(problem: Problem, lam: Any) -> tuple[str, Mechanism]:
    """The best of RATIOS. The channel is no affine function of the ratio, so this is a choice from a stated set.

    Floats discard the ratios that are clearly worse; those within rounding of the best are compared in the problem's
    own numbers, and a tie goes to the larger R_E.
    """
    price, rough = public(lam_of(problem, lam)), problem.as_float()
    weight = float(price)
    scores = {a: risks(rough, truncated_geometric(rough, a)).alice(weight) for a in RATIOS}
    slack = 1e-9 * (rough.B.max() + weight * rough.E.max())
    near = [a for a in RATIOS if scores[a] <= min(scores.values()) + slack]
    found = {a: risks(problem, truncated_geometric(problem, a)) for a in near}
    ratio = min(near, key=lambda a: (found[a].alice(price), -found[a].eve))
    return f"ratio = {_text(ratio)}", truncated_geometric(problem, ratio)


Best = Callable[[Problem, Any], tuple[str, Mechanism]]
BEST: dict[str, Best] = {
    "randomised response": best_randomised_response,
    "truncated geometric": best_truncated_geometric,
}


@dataclass(frozen=True)
class Row:
    """One release: its risks, R_A at the table's lam, its epsilon, and how far it stays above the optimum."""

    name: str
    parameter: str | None
    risks: Risks
    alice: Number
    epsilon: float
    excess: Number


@dataclass(frozen=True)
class Comparison:
    """Releases by increasing R_A. `omitted` says which ones do not apply to the problem, and why."""

    lam: Number
    optimum: Solution
    rows: tuple[Row, ...]
    omitted: tuple[tuple[str, str], ...]

    def __getitem__(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)


def compare(
    problem: Problem,
    lam: Any = "calibrated",
    solution: Solution | None = None,
    *,
    mechanisms: Sequence[Mechanism] = (),
) -> Comparison:
    """The optimum at lam next to RELEASES, the best members of BEST, and any further mechanisms of the caller."""
    weight = public(lam_of(problem, lam))
    optimum = solve(problem, weight) if solution is None else solution
    if float(optimum.lam) != float(weight):
        raise InputError("solution.lam", optimum.lam, f"must be the table's lam, {weight}")
    found: list[tuple[str, str | None, Mechanism]] = [("optimum", None, optimum.mechanism)]
    omitted = []
    for name in (*RELEASES, *BEST):
        try:
            if len(problem.states) > _MOST_STATES.get(name, len(problem.states)):
                raise InputError("states", None, f"are {len(problem.states)}, more than {_MOST_STATES[name]}")
            best = BEST[name](problem, weight) if name in BEST else (None, RELEASES[name](problem))
            found.append((name, *best))
        except InputError as reason:
            omitted.append((name, str(reason)))
    found += [(m.name or f"mechanism {k}", None, m) for k, m in enumerate(mechanisms)]
    rows = []
    for name, parameter, mechanism in found:
        r = risks(problem, mechanism)
        alice = r.alice(weight)
        rows.append(Row(name, parameter, r, alice, mechanism.epsilon, alice - optimum.value))
    return Comparison(weight, optimum, tuple(sorted(rows, key=lambda row: row.alice)), tuple(omitted))
