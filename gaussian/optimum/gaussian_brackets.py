"""[lower, upper] around the least R_A over all mechanisms of the Gaussian model, and the mechanism that attains upper.

    lower = D(u) - error  <=  inf over all mechanisms of R_A  <=  R_A(rule) + error = upper
Module reduction gives u and the rule, module dual evaluates both on the continuous model. Where a theorem of module
closed_forms applies and is sharper, its value replaces them. The proofs are in docs/proofs/brackets.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bap_lp.support.rational import InputError, number
from gaussian.evaluate import calibrate
from gaussian.eves import cell_words, questions
from gaussian.model import Eve, GaussianModel, standard_form
from gaussian.optimum.cells import cell_law
from gaussian.optimum.closed_forms import applicable_theorem
from gaussian.optimum.dual import dual_value, split_risks
from gaussian.optimum.reduction import allocate
from gaussian.optimum.regions import DataRegion, describe_rule, rule_regions
from gaussian.optimum.rules import BracketRule
from gaussian.real_arrays import Array
from gaussian.releases import NAMES, OneBit
from gaussian.risk_tables import TableRow, table
from gaussian.tuning import optimise


class AttainedBracket:
    """lower <= inf R_A <= upper, and the rule that attains upper."""

    lower: float
    upper: float
    rule: Any

    @property
    def width(self) -> float:
        """upper - lower, which includes the errors of both."""
        return self.upper - self.lower

    @property
    def mechanism(self) -> Any:
        """The mechanism that attains upper, which is Alice's rule."""
        return self.rule

    def release(self, x: ArrayLike, generator: Any = None) -> NDArray[Any]:
        """What is released for each data set, from the secure source unless a generator or a seed is given."""
        return self.rule.release(x, generator)

    def simulate(self, size: int = 1_000_000, seed: int = 0) -> Any:
        """Out-of-sample risks of the rule when Bob and Eve reply with their Bayes decisions."""
        return self.rule.simulate(size, seed)


@dataclass(frozen=True, eq=False)
class Bracket(AttainedBracket):
    """The optimum of R_A = R_B - lam R_E over all mechanisms, proved to lie in [lower, upper].

    If price < lam, Eve errs as often as without a release, and a larger lam has the same optimal rule.

    Attributes:
        model: the Gaussian model.
        adversary: what Eve tests.
        lam: the price of privacy.
        lower: no mechanism has a smaller R_A.
        upper: R_A of `rule`, which attains it.
        bob: R_B of the rule.
        eve: R_E of the rule.
        error: what rounding and quadrature add to the width.
        thresholds: the t of 1{xbar > t} in every cell of Eve's events.
        u: u[signal, cell], the dual solution that proves lower: lam times the probability that Eve bets against a cell.
        price: Bob's marginal cost of Eve's risk at the rule.
        theorem: the closed form that applies; None if only the general theorem does.

    >>> from gaussian import GaussianModel, MeanEve
    >>> from gaussian.optimum.gaussian_brackets import bracket
    >>> bracket(GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0), MeanEve(0.5))
    <Bracket: -0.1854200 <= R_A <= -0.1854200 at lam = 1.12993, release 1 when xbar > -0.416415, else 0>
    """

    model: GaussianModel
    adversary: Eve
    lam: float
    lower: float
    upper: float
    bob: float
    eve: float
    error: float
    thresholds: Array
    u: Array
    price: float
    theorem: str | None

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ArithmeticError(
                f"lower = {self.lower!r} and upper = {self.upper!r} contradict each other for {self.model}, "
                f"{self.adversary}, lam = {self.lam:.6g}: nothing is claimed"
            )

    def __repr__(self) -> str:
        bounds = f"{self.lower:.7f} <= R_A <= {self.upper:.7f}"
        return f"<Bracket: {bounds} at lam = {self.lam:.6g}, {self.describe()}>"

    @cached_property
    def rule(self) -> BracketRule:
        """Alice's rule: a function from data to the probability of releasing 1."""
        return BracketRule.from_thresholds(self.model, self.adversary, self.thresholds)

    @cached_property
    def regions(self) -> tuple[DataRegion, ...]:
        """The rule as regions of the data space."""
        return rule_regions(self.model, self.adversary, self.thresholds.tolist())

    def describe(self) -> str:
        """The rule in one sentence."""
        return describe_rule(self.model, self.adversary, self.thresholds.tolist())

    @cached_property
    def best_parametric(self) -> TableRow:
        """The best of the six parametric releases at the same lam."""
        bit = optimise(self.model, self.adversary, OneBit, lam=self.lam)
        found = float(bit.risks.alice(self.lam))
        error = bit.risks.alice_error(self.lam)
        if found - error <= self.upper:
            # no release is below lower, so a bit whose R_A is upper within its error is the best of the six
            return TableRow(NAMES[OneBit], bit.parameter, bit.risks, found, error, bit.kind, bit.threshold)
        return min(table(self.model, self.adversary, lam=self.lam).releases, key=lambda row: row.alice)

    def document(self) -> dict[str, Any]:
        """The result as plain JSON values."""
        return {
            "lambda": self.lam,
            "lower": self.lower,
            "upper": self.upper,
            "bob": self.bob,
            "eve": self.eve,
            "error": self.error,
            "best_parametric": self.best_parametric.document(),
            "description": self.describe(),
            "regions": [region.document() for region in self.regions],
            "cells": list(cell_words(questions(self.adversary))),
            "u": self.u.tolist(),
            "price": self.price,
            "theorem": self.theorem,
        }


def bracket(model: GaussianModel, eve: Eve, lam: Any = "calibrated") -> Bracket:
    """`discretise.bracket` of a Gaussian model whose Eves reduce to one statistic."""
    form = standard_form(model, eve)
    law = cell_law(form.model, form.eve)
    weight, calibrated = price_of(lam, lambda: calibrate(model, eve))
    found = allocate(law, weight)
    primal = split_risks(law, found.thresholds, weight)
    dual = dual_value(law, found.u, weight)
    value = primal.bob - weight * primal.eve
    lower, upper = dual.value - dual.error, value + primal.error
    theorem = applicable_theorem(model, eve, weight, calibrated)
    if theorem is not None:
        lower, upper = max(lower, theorem.value - theorem.error), min(upper, theorem.value + theorem.error)
    return Bracket(
        model=model,
        adversary=eve,
        lam=weight,
        lower=lower,
        upper=upper,
        bob=primal.bob,
        eve=primal.eve,
        error=max(primal.error, dual.error),
        thresholds=_frozen(form.back(found.thresholds)),
        u=_frozen(found.u),
        price=found.price,
        theorem=None if theorem is None else theorem.theorem,
    )


def price_of(lam: Any, calibrated: Callable[[], float]) -> tuple[float, bool]:
    """lam, and whether it is "calibrated": else a finite number >= 0, a float, an integer, a fraction or "1/3"."""
    if isinstance(lam, str) and lam.strip().lower() == "calibrated":
        return calibrated(), True
    value = float(number(lam, "lam"))
    if value < 0:
        raise InputError("lam", value, "must not be negative")
    return value, False


def _frozen(values: Array) -> Array:
    values = np.array(values)
    values.flags.writeable = False
    return values
