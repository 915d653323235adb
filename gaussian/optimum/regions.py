"""The regions of the data space on which a rule with one threshold per cell releases 1, and the rule in words.

Against the mean, the values of xbar that release 1 are a union of intervals: each cell contributes the part of its
support above its threshold, and adjacent parts are joined. Against the maximum, or another statistic T that xbar does
not decide, there are two such unions, one for data with T <= c and one for data with T > c.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gaussian.eves import ThresholdEve, questions
from gaussian.laws.statistics import cell_ranges, statistic_law
from gaussian.model import BothEves, Eve, GaussianModel, MaxEve, MeanEve, standard_form

XbarInterval = tuple[float, float]
_LINE: list[XbarInterval] = [(-math.inf, math.inf)]


@dataclass(frozen=True)
class DataRegion:
    """Data that release `release`: xbar_above < xbar <= xbar_upto and, if given, max > max_above or max <= max_upto.

    Attributes:
        release: the signal.
        xbar_above: the mean is above this.
        xbar_upto: the mean is at most this.
        max_above: the maximum is above this.
        max_upto: the maximum is at most this.
        statistic: what Eve tests if it is not the maximum; its bounds are above and upto.
        above: the statistic is above this.
        upto: the statistic is at most this.

    >>> from discretise import Region
    >>> Region(1, -0.5, float("inf")).document()["xbar_above"]
    -0.5
    """

    release: int
    xbar_above: float
    xbar_upto: float
    max_above: float | None = None
    max_upto: float | None = None
    statistic: str | None = None
    above: float | None = None
    upto: float | None = None

    def document(self) -> dict[str, float | int | str | None]:
        """The region as plain JSON values; null means that there is no bound."""
        low, high = (end if math.isfinite(end) else None for end in (self.xbar_above, self.xbar_upto))
        out: dict[str, float | int | str | None] = {
            "release": self.release,
            "xbar_above": low,
            "xbar_upto": high,
            "max_above": self.max_above,
            "max_upto": self.max_upto,
        }
        if self.statistic is None:
            return out
        return {**out, "statistic": self.statistic, "above": self.above, "upto": self.upto}


def _split(model: GaussianModel, eve: Eve) -> ThresholdEve | None:
    """The question that splits the description of the rule, because xbar does not decide it; never that of the mean."""
    form = standard_form(model, eve)
    for question, simple in zip(questions(eve), questions(form.eve), strict=True):
        if not isinstance(question, MeanEve) and (isinstance(eve, BothEves) or not _by_mean(model.n, simple)):
            return question
    for question in questions(eve):
        if isinstance(question, MaxEve):
            return question  # of one observation
    return None


def _by_mean(n: int, question: ThresholdEve) -> bool:
    return statistic_law(n, question).decided


def intervals(model: GaussianModel, eve: Eve, thresholds: Sequence[float]) -> list[list[XbarInterval]]:
    """The values of xbar that release 1: one union of intervals, or one for T <= c and one for T > c."""
    form = standard_form(model, eve)
    ends = [form.back(support).tolist() for support in cell_ranges(form.model.n, form.eve)]
    supports = [(float(low), float(high)) for low, high in ends]
    asked, split = questions(eve), _split(model, eve)
    groups: list[list[int]] = [list(range(len(supports)))]
    if split is not None:
        bit = len(asked) - 1 - asked.index(split)
        groups = [[s for s in range(len(supports)) if (s >> bit) % 2 == answer] for answer in (0, 1)]
    unions: list[list[XbarInterval]] = []
    for group in groups:
        parts = sorted((max(supports[s][0], thresholds[s]), supports[s][1]) for s in group)
        joined: list[XbarInterval] = []
        for low, high in parts:
            if low >= high:
                continue
            if joined and joined[-1][1] >= low:
                joined[-1] = joined[-1][0], max(high, joined[-1][1])
            else:
                joined.append((low, high))
        unions.append(joined)
    if not isinstance(split, MaxEve):
        return unions
    # no data have max <= c < xbar, and for n = 1 none have xbar <= c < max: there the unions may be chosen freely
    (few, many), c = unions, split.threshold
    if few == [(low, min(high, c)) for low, high in many if low < c]:
        return [many, many]
    if model.n == 1 and many == [(max(low, c), high) for low, high in few if high > c]:
        return [few, few]
    return [[(low, math.inf if high == c else high) for low, high in few], many]


def _complement(parts: list[XbarInterval]) -> list[XbarInterval]:
    edges = [-math.inf, *[end for part in parts for end in part], math.inf]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(low, high) for low, high in pairs if low < high]


def rule_regions(model: GaussianModel, eve: Eve, thresholds: Sequence[float]) -> tuple[DataRegion, ...]:
    """The regions of both signals, those of signal 1 first."""
    unions = intervals(model, eve, thresholds)
    out = []
    for signal in (1, 0):
        sets = unions if signal else [_complement(parts) for parts in unions]
        if len(sets) == 1 or sets[0] == sets[1]:
            out += [DataRegion(signal, *part) for part in sets[0]]
        else:
            split = _split(model, eve)
            assert split is not None
            c, name = split.threshold, split.label
            if isinstance(split, MaxEve):
                out += [DataRegion(signal, *part, max_above=c) for part in sets[1]]
                out += [DataRegion(signal, *part, max_upto=c) for part in sets[0]]
            else:
                out += [DataRegion(signal, *part, statistic=name, above=c) for part in sets[1]]
                out += [DataRegion(signal, *part, statistic=name, upto=c) for part in sets[0]]
    return tuple(out)


def interval_words(name: str, low: float, high: float) -> str:
    """Where a number called `name` is above low and at most high."""
    if low == -math.inf:
        return f"any {name}" if high == math.inf else f"{name} <= {high:.6g}"
    return f"{name} > {low:.6g}" if high == math.inf else f"{low:.6g} < {name} <= {high:.6g}"


def _means(parts: list[XbarInterval], nested: bool = False) -> str:
    text = " or ".join(interval_words("xbar", *part) for part in parts)
    return f"({text})" if nested and len(parts) > 1 else text


def describe_rule(model: GaussianModel, eve: Eve, thresholds: Sequence[float]) -> str:
    """The rule in one sentence."""
    unions = intervals(model, eve, thresholds)
    if all(parts == _LINE for parts in unions) or not any(unions):
        return "release the same signal whatever the data"
    if len(unions) == 1 or unions[0] == unions[1]:
        return f"release 1 when {_means(unions[0])}, else 0"
    split = _split(model, eve)
    assert split is not None
    few, many = unions
    over, under = (f"{split.label} {sign} {split.threshold:.6g}" for sign in (">", "<="))
    if many == _LINE:
        text = f"{_means(few)} or {over}" if few else over
    elif few == _LINE:
        text = f"{under} or {_means(many)}" if many else under
    elif not few or not many:
        text = f"{over} and {_means(many, True)}" if many else f"{under} and {_means(few, True)}"
    else:
        text = f"{under} and {_means(few, True)}, or {over} and {_means(many, True)}"
    return f"release 1 when {text}, else 0"
