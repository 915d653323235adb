"""Tables of the releases, each family at its best parameter, and curves of the risks along a family.

The corner R_A* = 2 R_B^full - min(pi, 1 - pi) bounds every release from below once lam is calibrated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bap_lp.support.display import Displayed
from bap_lp.support.risks import Risks
from gaussian.corners import corner
from gaussian.evaluate import calibrate, risks
from gaussian.laws.mean import mean_bob_law, mean_eve_law
from gaussian.laws.noisy_full import CURVE, Effort
from gaussian.model import BothEves, Eve, GaussianModel, MaxEve, MeanEve, StandardForm, standard_form
from gaussian.numerics.masses import bit_risk
from gaussian.real_arrays import Array
from gaussian.releases import NAMES, Full, NoisyFull, NoisyMean, NoisyMedian, Null, OneBit, ReleaseFamily
from gaussian.tuning import optimise

FAMILIES: tuple[ReleaseFamily, ...] = (NoisyFull, NoisyMean, NoisyMedian, OneBit)


def computed_families(model: GaussianModel, eve: Eve) -> tuple[ReleaseFamily, ...]:
    """The families whose risks are computed against this Eve: all four if she tests mean, maximum or both."""
    simple = standard_form(model, eve).eve
    if isinstance(simple, (MeanEve, MaxEve, BothEves)):
        return FAMILIES
    return NoisyMean, OneBit


@dataclass(frozen=True)
class TableRow:
    """One release of a table; for full and null the parameter and the kind of optimum are None.

    Attributes:
        mechanism: the name of the release.
        parameter: its best parameter.
        risks: R_B and R_E.
        alice: R_A at the table's lam.
        error: the error of R_A.
        kind: "interior", "end point" or "plateau edge".
        threshold: the t of the one-bit release 1{xbar > t}, whose parameter tau may be 0 or 1 to the last digit.

    >>> from gaussian import GaussianModel, MeanEve, table
    >>> row = table(GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0), MeanEve(0.5)).releases[-1]
    >>> row.mechanism, round(row.alice, 6)
    ('one-bit', -0.18542)
    """

    mechanism: str
    parameter: float | None
    risks: Risks
    alice: float
    error: float
    kind: str | None
    threshold: float | None = None

    @property
    def rounded(self) -> bool:
        """Whether the parameter tau of a bit has lost digits of its threshold: it is within 1e-9 of 0 or 1."""
        inner = self.threshold is not None and math.isfinite(self.threshold)
        return inner and self.parameter is not None and not 1e-9 < self.parameter < 1 - 1e-9

    def document(self) -> dict[str, object]:
        """The row as plain JSON values; the threshold in xbar is added where tau does not determine it."""
        out: dict[str, object] = {
            "mechanism": self.mechanism,
            # JSON has no infinity; sigma = inf is the null release as the limit of a family.
            "parameter": "inf" if self.parameter == math.inf else self.parameter,
            "bob": float(self.risks.bob),
            "eve": float(self.risks.eve),
            "alice": self.alice,
            "error": self.error,
        }
        return {**out, "threshold": self.threshold} if self.rounded else out


@dataclass(frozen=True, repr=False)
class Table(Displayed):
    """All releases against one Eve.

    Attributes:
        lam: the price of privacy.
        releases: one row each.
        corner: R_A*, below which no release goes.

    >>> from gaussian import GaussianModel, MeanEve, table
    >>> table(GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0), MeanEve(0.5))
    <Table: 6 releases at lam = 1.12993, least R_A = -0.18542 (one-bit)>
    """

    lam: float
    releases: tuple[TableRow, ...]
    corner: float

    def _lines(self) -> Iterator[str]:
        best = min(self.releases, key=lambda row: row.alice)
        least = f"least R_A = {best.alice:.6g} ({best.mechanism})"
        yield f"{len(self.releases)} releases at lam = {self.lam:.6g}, {least}"

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The releases."""
        names = ("release", "parameter", "R_B", "R_E", "R_A", "error")
        cells = ((r.mechanism, r.parameter, r.risks.bob, r.risks.eve, r.alice, r.error) for r in self.releases[:most])
        return [dict(zip(names, own, strict=True)) for own in cells]

    def document(self) -> dict[str, object]:
        """The table as plain JSON values."""
        rows = [row.document() for row in self.releases]
        return {"lambda": self.lam, "rows": rows, "corner": self.corner}


def table(
    model: GaussianModel, eve: Eve, lam: float | None = None, progress: Callable[[str], None] | None = None
) -> Table:
    """Every release at its best parameter.

    Args:
        model: the Gaussian model.
        eve: what Eve tests.
        lam: the weight of Eve's risk; the calibrated one if None.
        progress: called in words with each family and each parameter that is tried.

    Returns:
        The six rows, lam, and the corner, which bounds R_A of every release at the calibrated lam. Against an Eve who
        tests something other than the mean, the maximum or mean and maximum, the noisy full and the noisy median
        release are left out.

    Raises:
        ValueError: lam is negative, or it is None and Eve's risk is 0 under every release.

    >>> from gaussian import GaussianModel, MeanEve
    >>> table(GaussianModel(n=5), MeanEve(0.5))
    <Table: 6 releases at lam = 1.12993, least R_A = -0.18542 (one-bit)>
    """
    weight = calibrate(model, eve) if lam is None else lam

    def row(name: str, parameter: float | None, found: Risks, kind: str | None, t: float | None = None) -> TableRow:
        return TableRow(name, parameter, found, float(found.alice(weight)), found.alice_error(weight), kind, t)

    rows = [row(NAMES[type(r)], None, risks(model, eve, r), None) for r in (Full(), Null())]
    for family in computed_families(model, eve):
        if progress:
            progress(NAMES[family])
        best = optimise(model, eve, family, lam=weight, progress=progress)
        rows.append(row(NAMES[family], best.parameter, best.risks, best.kind, best.threshold))
    return Table(weight, tuple(rows), corner(model))


@dataclass(frozen=True)
class Curve:
    """Risks along a family, with one entry per parameter in each array.

    Attributes:
        family: the family of releases.
        parameter: its parameters.
        bob: R_B.
        eve: R_E.
        bob_error: the error of each R_B.
        eve_error: the error of each R_E.

    >>> from gaussian import GaussianModel, MeanEve, OneBit, curve
    >>> curve(GaussianModel(n=5), MeanEve(0.5), OneBit, [0.2, 0.5])
    <Curve: one-bit, 2 parameters, 0.2 to 0.5>
    """

    family: ReleaseFamily
    parameter: Array
    bob: Array
    eve: Array
    bob_error: Array
    eve_error: Array

    def __repr__(self) -> str:
        ends = f"{self.parameter.min():.6g} to {self.parameter.max():.6g}" if self.parameter.size else "none"
        return f"<Curve: {NAMES[self.family]}, {self.parameter.size} parameters, {ends}>"

    def alice(self, lam: float) -> Array:
        """R_B - lam R_E along the curve."""
        return self.bob - lam * self.eve


def curve(
    model: GaussianModel, eve: Eve, family: ReleaseFamily, parameters: ArrayLike, effort: Effort = CURVE
) -> Curve:
    """Risks along a family of releases.

    Args:
        model: the Gaussian model.
        eve: what Eve tests.
        family: NoisyFull, NoisyMean, NoisyMedian or OneBit.
        parameters: values of sigma, or of tau for OneBit.
        effort: how much work to spend on each noisy full release.

    Returns:
        R_B and R_E with their errors, one entry per parameter.

    Raises:
        ValueError: a sigma is negative, or a tau is outside [0, 1].

    >>> from gaussian import GaussianModel, MeanEve, NoisyMean
    >>> curve(GaussianModel(n=5), MeanEve(0.5), NoisyMean, [0.0, 1.0, 2.0]).bob.round(4).tolist()
    [0.1339, 0.2645, 0.3555]
    """
    values = np.atleast_1d(np.asarray(parameters, dtype=float))
    for value in values:
        family(float(value))
    if family is OneBit:
        form = standard_form(model, eve)
        return _bit_curve(form, values, form.model.bit_threshold(values))
    each = [risks(model, eve, family(float(value)), effort) for value in values]
    columns = [[float(getattr(r, name)) for r in each] for name in ("bob", "eve", "bob_error", "eve_error")]
    return Curve(family, values, *[np.array(column) for column in columns])


def _bit_curve(form: StandardForm, tau: Array, t: Array) -> Curve:
    (bob, bob_error), (found, error) = (
        bit_risk(law, t) for law in (mean_bob_law(form.model), mean_eve_law(form.model, form.eve))
    )
    return Curve(OneBit, tau, bob, found, np.full_like(bob, bob_error), np.full_like(bob, error))


def bit_curve(model: GaussianModel, eve: Eve, thresholds: ArrayLike) -> Curve:
    """Risks of the bits 1{xbar > t}, whose tau may be 0 or 1 to the last digit."""
    form, t = standard_form(model, eve), np.atleast_1d(np.asarray(thresholds, dtype=float))
    return _bit_curve(form, model.bob_posterior(t), form.there(t))
