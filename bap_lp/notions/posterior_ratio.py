"""posterior_ratio: P(A) / K <= P(A|s) <= K P(A) for every signal s.

Multiplied by P(s) these are rows of a cone, g(x) = p(x) (1_A(x) - K P(A)) and p(x) (P(A) - K 1_A(x)); demand by demand,
above before below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from bap_lp.model.problem import Problem
from bap_lp.notions.conditions import Conditions
from bap_lp.notions.cone import ConeRow, SignalCone
from bap_lp.notions.reading import Event, RatioBound, event_named, factor, indicator, named, read_event
from bap_lp.rational import Array


@dataclass(frozen=True)
class PosteriorRatio(RatioBound):
    """P(event | signal) / P(event) between 1/K and K, whatever the signal."""

    event: Event = ()
    required: ClassVar[str] = "event"

    def read(self, field: str) -> Self:
        return replace(super().read(field), event=read_event(self.event, f"{field}.event"))

    def __str__(self) -> str:
        return f"P({named(self.event)} | signal) within a factor {self.stated} of P({named(self.event)})"


class PosteriorRatios(SignalCone):
    name = "posterior_ratio"
    kind = PosteriorRatio

    @classmethod
    def sentences(cls, given: Conditions, problem: Problem) -> Iterator[str]:
        for one in given.posterior_ratio or ():
            event = event_named(one.event)
            yield f"No message changes the probability of {event} by more than a factor of {factor(one)}."

    @classmethod
    def vectors(cls, stated: Any, problem: Problem) -> Iterator[tuple[Array, ConeRow]]:
        p = problem.p
        for k, one in enumerate(stated):
            inside, K = indicator(problem, one.event, f"{cls.name}[{k}].event"), one.ratio
            share, label, words = p.dot(inside), f"{cls.name}[{k}]", f"{one}"
            yield p * (inside - K * share), ConeRow(label, words, p * share, K, 1, K * 10**6)
            yield p * (share - K * inside), ConeRow(label, words, p * inside, K, 1, K * 10**6)
