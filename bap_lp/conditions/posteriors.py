"""What a signal may say about events A: posteriors, multiplied by P(s), are rows of a cone (module `cone`).

posterior_caps: P(A|s) <= at_most and P(A|s) >= at_least for every signal s; or P(A|s,z), for what an Eve knows. The
rows are g(x) = p(x) (1_A(x) - c) and p(x) (c - 1_A(x)); demand by demand, at_most before at_least. Where an Eve is
named, P(A|s,z) is limited for every z that she may know: multiplied by P(s,z) it has p(x) k(z|x) in place of p(x), for
her first z and then for the next. An event of probability zero has posterior zero at every signal.
posterior_ratio: P(A) / K <= P(A|s) <= K P(A), g(x) = p(x) (1_A(x) - K P(A)) and p(x) (P(A) - K 1_A(x)).
independent_of: P(A|s) = P(A), g(x) = p(x) (1_A(x) - P(A)) and its negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from bap_lp.conditions.base import limit
from bap_lp.conditions.cone import ConeRow, SignalCone
from bap_lp.conditions.events import (
    Event,
    RatioBound,
    event_named,
    factor,
    hundred,
    indicator,
    listed,
    read_event,
    read_number,
)
from bap_lp.model.problem import Problem
from bap_lp.support.display import person
from bap_lp.support.rational import Array, InputError


@dataclass(frozen=True)
class PosteriorCap:
    """P(event | signal) <= at_most and >= at_least, whatever the signal, and whatever the Eve who is named knows."""

    event: Event
    at_most: Any = None
    at_least: Any = None
    eve: str | None = None
    required: ClassVar[str] = "event"

    def read(self, field: str) -> PosteriorCap:
        event, ends = read_event(self.event, f"{field}.event"), {"at_most": self.at_most, "at_least": self.at_least}
        ends = {name: read_number(c, f"{field}.{name}", 0, 1) for name, c in ends.items() if c is not None}
        if not ends:
            raise InputError(field, None, "needs at_most or at_least")
        if len(ends) == 2 and ends["at_least"] > ends["at_most"]:
            raise InputError(f"{field}.at_least", ends["at_least"], f"must not be above at_most = {ends['at_most']}")
        if self.eve is not None and not isinstance(self.eve, str):
            raise InputError(f"{field}.eve", self.eve, "must be the name of an Eve")
        return PosteriorCap(event, **ends, eve=self.eve)

    @property
    def exact(self) -> bool:
        return not any(isinstance(c, float) for c in (self.at_most, self.at_least))

    def masses(self, problem: Problem, field: str) -> list[Array]:
        """p(x), or p(x) k(z|x) for every z that the Eve may know."""
        if self.eve is None:
            return [problem.p]
        names = [eve.name for eve in problem.eves]
        if self.eve not in names:
            raise InputError(f"{field}.eve", self.eve, f"names no Eve: there is {', '.join(names)}")
        views = [k for k, (n, _) in enumerate(problem.eve_views) if names[n] == self.eve]
        return [problem.p if problem.eve_shares is None else problem.p * problem.eve_shares[:, k] for k in views]


class PosteriorCaps(SignalCone):
    name = "posterior_caps"
    kind = PosteriorCap

    @classmethod
    def label(cls, k: int, one: PosteriorCap) -> str:
        ends = [name for name in ("at_most", "at_least") if getattr(one, name) is not None]
        return ".".join([super().label(k, one), *(ends if len(ends) == 1 else [])])

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        ends = {"at most": value.at_most, "at least": value.at_least}
        words = " and ".join(f"{name} {hundred(c)}" for name, c in ends.items() if c is not None)
        who = "" if value.eve is None else f" for {person(value.eve)}, whatever she knows,"
        return f"After every message,{who} the probability of {event_named(value.event)} is {words} in 100."

    @classmethod
    def vectors(cls, stated: Any, problem: Problem) -> Iterator[tuple[Array, ConeRow]]:
        for k, cap in enumerate(stated):
            inside = indicator(problem, cap.event, f"{cls.name}[{k}].event")
            masses = cap.masses(problem, f"{cls.name}[{k}]")
            for name, sign in (("at_most", 1), ("at_least", -1)):
                if getattr(cap, name) is not None:
                    c = limit(getattr(cap, name), sign, problem)
                    for here in masses:
                        yield sign * here * (inside - c), ConeRow(f"{cls.name}[{k}].{name}", here, c)


@dataclass(frozen=True)
class PosteriorRatio(RatioBound):
    """P(event | signal) / P(event) between 1/K and K, whatever the signal."""

    event: Event = ()
    required: ClassVar[str] = "event"

    def read(self, field: str) -> Self:
        return replace(super().read(field), event=read_event(self.event, f"{field}.event"))


class PosteriorRatios(SignalCone):
    name = "posterior_ratio"
    kind = PosteriorRatio

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        event = event_named(value.event)
        return f"No message changes the probability of {event} by more than a factor of {factor(value)}."

    @classmethod
    def vectors(cls, stated: Any, problem: Problem) -> Iterator[tuple[Array, ConeRow]]:
        p = problem.p
        for k, one in enumerate(stated):
            inside, K = indicator(problem, one.event, f"{cls.name}[{k}].event"), one.ratio
            share, label = p.dot(inside), f"{cls.name}[{k}]"
            yield p * (inside - K * share), ConeRow(label, p * share, K)
            yield p * (share - K * inside), ConeRow(label, p * inside, K)


class Independence(SignalCone):
    name = "independent_of"

    @classmethod
    def stated(cls, value: Any) -> tuple[Event, ...]:
        events = listed(value, cls.name, "must be a list of events, each a list of states")
        return tuple(read_event(event, f"{cls.name}[{k}]") for k, event in enumerate(events))

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        return f"The messages tell nothing about whether the data are {event_named(value)}."

    @classmethod
    def vectors(cls, stated: Any, problem: Problem) -> Iterator[tuple[Array, ConeRow]]:
        for k, event in enumerate(stated):
            inside = indicator(problem, event, f"{cls.name}[{k}]")
            vector = problem.p * (inside - problem.p.dot(inside))
            row = ConeRow(f"{cls.name}[{k}]")
            yield vector, row
            yield -vector, row
