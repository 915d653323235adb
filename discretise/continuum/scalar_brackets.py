"""[lower, upper] around the least R_A over all mechanisms of a scalar model, and the rule that attains upper.

    lower = D(u) - error  <=  inf over all mechanisms of R_A  <=  R_A(rule) + error = upper
Both ends are integrals or sums over the data (module optimum), not over the cells of the gridded problem. Suppose
that Eve may decide any number between her decisions, that her loss has the Lipschitz constant K there, and that h is
the largest gap between decisions. Then her Bayes risk at a signal falls by at most K h/2: lower still holds, and upper
rises by lam K h/2. If Bob may decide any number, upper still holds, and lower falls by K h/2. The proofs are in
docs/proofs/brackets.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp import InputError, Risks
from bap_lp.support.display import Displayed
from discretise.continuum.continuum_optimum import DataLaw, RuleOptimum, optimise_rule
from discretise.continuum.densities import law_of_data
from discretise.continuum.scalar_rules import ScalarRule
from discretise.losses import Asymmetric, Loss, names
from discretise.models import GriddedProblem, ScalarModel
from gaussian.optimum.gaussian_brackets import AttainedBracket, price_of
from gaussian.real_arrays import Array


@dataclass(frozen=True, eq=False, repr=False)
class ModelBracket(AttainedBracket, Displayed):
    """The optimum of R_A = R_B - lam R_E over all mechanisms of a scalar model, proved to lie in [lower, upper].

    Attributes:
        model: prior, likelihood and losses.
        lam: the price of privacy.
        lower: no mechanism has a smaller R_A.
        upper: R_A of `rule`, which attains it.
        bob: R_B of the rule.
        eve: R_E of the rule, the weighted sum over the Eves.
        error: of the integrals; it is included in both ends.
        u: u[signal, decision], the dual solution that proves lower.
        rule: the mechanism.
        full: the risks of releasing everything.
        null: the risks of releasing nothing.

    >>> from scipy import stats
    >>> from discretise import bracket, model, zero_one
    >>> cases = model(stats.gamma(3), stats.poisson, zero_one(2), zero_one(3), bob_decisions=[0, 1],
    ...               eve_decisions=[0, 1])
    >>> bracket(cases)
    <ModelBracket: 0.1424778 <= R_A <= 0.1424778 at lam = 0.263048, release 1 when x > 1, else 0>
    """

    model: ScalarModel
    lam: float
    lower: float
    upper: float
    bob: float
    eve: float
    error: float
    u: Array
    rule: ScalarRule
    full: Risks
    null: Risks

    def _lines(self) -> Iterator[str]:
        text = self.describe()
        text = text if len(text) < 70 else text[:67] + "..."
        yield f"{self.lower:.7f} <= R_A <= {self.upper:.7f} at lam = {self.lam:.6g}, {text}"
        yield f"The optimum over all mechanisms lies between {self.lower:.9f} and {self.upper:.9f}."
        yield f"Both ends are integrals or sums over the data; numerical errors of {self.error:.1e} are included."
        share = self.null.alice(self.lam)
        yield f"Releasing nothing has R_A = {share:.6f}, releasing everything {self.full.alice(self.lam):.6f}."
        yield f"The rule that attains the upper end: {self.describe()}."

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The rule."""
        return self.rule.rows(most)

    @property
    def problem(self) -> GriddedProblem:
        """The model on cells."""
        return self.model.problem

    def describe(self) -> str:
        """The rule in one sentence."""
        return self.rule.describe()

    def document(self) -> dict[str, Any]:
        """The result as plain JSON values."""
        rule = self.rule
        key = "x" if rule.discrete else "x_upto"
        places = rule.edges.tolist() if rule.discrete else [*rule.edges.tolist(), None]
        return {
            "lambda": self.lam,
            "lower": self.lower,
            "upper": self.upper,
            "width": self.width,
            "bob": self.bob,
            "eve": self.eve,
            "error": self.error,
            "full": {"bob": self.full.bob, "eve": self.full.eve},
            "null": {"bob": self.null.bob, "eve": self.null.eve},
            "description": self.describe(),
            "signals": list(rule.signals),
            "rule": [
                {key: x, "probabilities": row} for x, row in zip(places, rule.probabilities.tolist(), strict=True)
            ],
            "eves": [{"decisions": names(e.decisions), "weight": e.weight} for e in self.model.eves],
            "u": self.u.tolist(),
        }


def model_bracket(
    model: ScalarModel, lam: Any = "calibrated", bob_lipschitz: Any = None, eve_lipschitz: Any = None,
    progress: Callable[[str], None] | None = None,
) -> ModelBracket:  # fmt: skip
    """`discretise.bracket` of a scalar model."""
    tell = progress or (lambda _: None)
    law = law_of_data(model, tell)
    full, null = law.extremes()
    spare = _spare(model, bob_lipschitz, eve_lipschitz)
    weight, _ = price_of(lam, lambda: _calibrated(law, full, null))
    found = optimise_rule(law, weight, tell)
    error = law.errors(weight)
    rule, sent = _rule(model, law, found)
    b = law.decisions
    bob = float(sent[np.arange(b), 1 + np.arange(b)].sum())
    eve = float(law.eve_part(sent[:, 1 + b :]).sum())
    value = bob - weight * eve
    lower = found.bound - error - spare[0]
    upper = value + error + weight * spare[1]
    if not lower <= upper:  # not a number is no end either
        text = f"exceeds the upper end {upper:.17g} by more than the error {error:.1e}: nothing is claimed"
        raise InputError("lower end", f"{lower:.17g}", text)
    one_error = law.errors(0.0), law.errors(1.0)
    u = found.u.copy()
    u.flags.writeable = False
    return ModelBracket(
        model, weight, lower, upper, bob, eve, error, u, rule, Risks(*full, *one_error), Risks(*null, *one_error)
    )


def _calibrated(law: DataLaw, full: tuple[float, float], null: tuple[float, float]) -> float:
    """(R_B^null - R_B^full) / (R_E^null - R_E^full), refused if the denominator may be zero."""
    bob, eve = null[0] - full[0], null[1] - full[1]
    if eve <= 2 * (law.errors(1.0) - law.errors(0.0)) + 1e-14 * null[1]:
        rule = (
            f"is undefined: Eve does no better with the data than without (R_E = {null[1]:.6g} for both, within errors)"
        )
        raise InputError("lam", "calibrated", rule)
    return max(bob, 0.0) / eve if bob > 2 * law.errors(0.0) else 0.0


def _rule(model: ScalarModel, law: DataLaw, found: RuleOptimum) -> tuple[ScalarRule, Array]:
    """The rule as intervals of x or atoms."""
    table, panels = found.table, law.panels
    if panels is None:
        return ScalarRule(model, law.atoms, table.rows, True, found.sent), found.sent
    end = np.where(
        table.right >= 1,
        panels.high[table.panel],
        (panels.low[table.panel] + panels.high[table.panel]) / 2 + panels.half[table.panel] * table.right,
    )
    rows, sent = table.rows, found.sent
    change = np.flatnonzero(np.append((rows[1:] != rows[:-1]).any(axis=1), True))
    return ScalarRule(model, end[change[:-1]], rows[change], False, sent), sent


def _spare(model: ScalarModel, bob: Any, eve: Any) -> tuple[float, float]:
    """What decisions between those of the grids could gain: Bob's R_B, Eves' weighted R_E."""
    (loss, grid), eves = model.bob, model.eves
    given: Sequence[Any] = eve if isinstance(eve, (list, tuple)) else [eve] * len(eves)
    if len(given) != len(eves):
        raise InputError("eve_lipschitz", None, f"has {len(given)} entries, must have {len(eves)}, one per Eve")
    mine = _gain(loss, grid, bob, "bob_lipschitz")
    theirs = [e.weight * _gain(e.loss, e.decisions, k, "eve_lipschitz") for e, k in zip(eves, given, strict=True)]
    return mine, sum(theirs)


def _gain(loss: Loss, grid: Array, constant: Any, field: str) -> float:
    if constant is None:
        return 0.0
    if constant == "auto":
        if not isinstance(loss, Asymmetric):
            raise InputError(field, "auto", "is known for absolute and asymmetric losses only: give a number")
        constant = max(loss.over, loss.under)
    if isinstance(constant, bool) or not isinstance(constant, (int, float)) or not 0 <= constant < math.inf:
        raise InputError(field, constant, 'must be a number, not negative, or "auto"')
    gaps = np.diff(np.sort(grid))
    return float(constant * gaps.max(initial=0.0) / 2)
