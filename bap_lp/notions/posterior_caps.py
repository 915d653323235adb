"""posterior_caps: P(A|s) <= at_most and P(A|s) >= at_least for every signal s.

Multiplied by P(s) these are rows of a cone, g(x) = p(x) (1_A(x) - c) and p(x) (c - 1_A(x)); demand by demand, at_most
before at_least. An event of probability zero has posterior zero at every signal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bap_lp.notions.base import limit
from bap_lp.notions.cone import ConeRow, SignalCone
from bap_lp.notions.reading import Event, indicator, named, read_event, read_number
from bap_lp.rational import EXACT, Array, InputError

if TYPE_CHECKING:
    from bap_lp.model.problem import Problem


@dataclass(frozen=True)
class PosteriorCap:
    """P(event | signal) <= at_most and >= at_least, whatever the signal."""

    event: Event
    at_most: Any = None
    at_least: Any = None
    required: ClassVar[str] = "event"

    def read(self, field: str) -> PosteriorCap:
        """The same, checked."""
        event, ends = read_event(self.event, f"{field}.event"), {"at_most": self.at_most, "at_least": self.at_least}
        ends = {name: read_number(c, f"{field}.{name}", 0, 1) for name, c in ends.items() if c is not None}
        if not ends:
            raise InputError(field, None, "needs at_most or at_least")
        if len(ends) == 2 and ends["at_least"] > ends["at_most"]:
            raise InputError(f"{field}.at_least", ends["at_least"], f"must not be above at_most = {ends['at_most']}")
        return PosteriorCap(event, **ends)

    @property
    def exact(self) -> bool:
        return not any(isinstance(c, float) for c in (self.at_most, self.at_least))

    def __str__(self) -> str:
        low = "" if self.at_least is None else f"{self.at_least} <= "
        high = "" if self.at_most is None else f" <= {self.at_most}"
        return f"{low}P({named(self.event)} | signal){high}"


class PosteriorCaps(SignalCone):
    name = "posterior_caps"
    kind = PosteriorCap

    @classmethod
    def vectors(cls, stated: Any, problem: Problem) -> Iterator[tuple[Array, ConeRow]]:
        p = problem.p
        for k, cap in enumerate(stated):
            inside = indicator(problem, cap.event, f"{cls.name}[{k}].event")
            for name, sign, end in (("at_most", 1, EXACT.one), ("at_least", -1, EXACT.zero)):
                if getattr(cap, name) is not None:
                    c = limit(getattr(cap, name), sign, problem)
                    words = f"P({named(cap.event)} | signal) must be {name.replace('_', ' ')} {getattr(cap, name)}"
                    yield sign * p * (inside - c), ConeRow(f"{cls.name}[{k}].{name}", words, p, c, sign, end)
