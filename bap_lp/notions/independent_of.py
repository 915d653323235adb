"""independent_of: P(A|s) = P(A) for every signal s and each of several events A.

Multiplied by P(s) these are two rows of a cone, g(x) = p(x) (1_A(x) - P(A)) and its negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bap_lp.model.display import clean
from bap_lp.model.problem import Problem
from bap_lp.notions.conditions import Conditions
from bap_lp.notions.cone import ConeRow, SignalCone
from bap_lp.notions.reading import Event, event_named, indicator, listed, named, read_event
from bap_lp.rational import Array


class Independence(SignalCone):
    name = "independent_of"

    @classmethod
    def stated(cls, value: Any) -> tuple[Event, ...]:
        events = listed(value, cls.name, "must be a list of events, each a list of states")
        return tuple(read_event(event, f"{cls.name}[{k}]") for k, event in enumerate(events))

    @classmethod
    def words(cls, name: str, value: Any) -> str:
        return "signals independent of " + "; of ".join(clean(named(event)) for event in value)

    @classmethod
    def sentences(cls, given: Conditions, problem: Problem) -> Iterator[str]:
        for event in given.independent_of or ():
            yield f"The messages tell nothing about whether the data are {event_named(event)}."

    @classmethod
    def vectors(cls, stated: Any, problem: Problem) -> Iterator[tuple[Array, ConeRow]]:
        for k, event in enumerate(stated):
            inside = indicator(problem, event, f"{cls.name}[{k}]")
            vector = problem.p * (inside - problem.p.dot(inside))
            row = ConeRow(f"{cls.name}[{k}]", f"it must not depend on {named(event)}")
            yield vector, row
            yield -vector, row
