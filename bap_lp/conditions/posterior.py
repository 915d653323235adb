"""Conditions on what anybody believes about events after any signal, and on Eve's risk there.

    posterior_caps    P(A|s) <= at_most, P(A|s) >= at_least      g(x) = p(x) (1_A(x) - c),  p(x) (c - 1_A(x))
    posterior_ratio   P(A) / K <= P(A|s) <= K P(A)               g(x) = p(x) (1_A(x) - K P(A)),  p(x) (P(A) - K 1_A(x))
    independent_of    P(A|s) = P(A)                              g(x) = p(x) (1_A(x) - P(A)) and its negative
    signal_floor      E_g[L(x,j)|s,z] >= f for every j of Eve g and all she may know
                                                                 g(x) = p(x) k(z|x) (f - L(x,j))

each multiplied by P(s), which makes it linear (module `cone`). In this order, demand by demand: at_most before
at_least, above before below, decisions of the first Eve before those of the second, and of her first value z before the
next. An event of probability zero has posterior zero at every signal. The losses of signal_floor are an Eve's own,
without her weight. Where agents act on beliefs of their own, her risk is the harm that Alice counts, and a signal
prescribes what she does: then the row of decision j is only about the signals that prescribe j to her.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bap_lp.conditions.cone import ConeRow, SignalCone
from bap_lp.conditions.events import Event, RatioBound, indicator, listed, named, read_event, read_number
from bap_lp.rational import Array, Field, InputError

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


@dataclass(frozen=True)
class PosteriorRatio(RatioBound):
    """P(event | signal) / P(event) between 1/K and K, whatever the signal."""

    event: Event = ()
    required: ClassVar[str] = "event"

    def read(self, field: str) -> Self:
        return replace(super().read(field), event=read_event(self.event, f"{field}.event"))

    def __str__(self) -> str:
        return f"P({named(self.event)} | signal) within a factor {self.stated} of P({named(self.event)})"


def _shares(p: Array, inside: Array) -> tuple[Any, Any]:
    """P(A) and 1 - P(A), each as a sum, so that floats that do not quite sum to one have no effect."""
    return p.dot(inside), p.dot(1 - inside)


class PosteriorCaps(SignalCone):
    name = "posterior_caps"
    kind = PosteriorCap

    @classmethod
    def vectors(cls, stated: Any, problem: Problem, field: Field) -> Iterator[tuple[Array, ConeRow]]:
        p = field.array(problem.p)
        for k, cap in enumerate(stated):
            inside = indicator(problem, cap.event, f"{cls.name}[{k}].event", field)
            for name, sign, limit in (("at_most", 1, field.one), ("at_least", -1, field.zero)):
                if getattr(cap, name) is not None:
                    c = field.number(getattr(cap, name))
                    words = f"P({named(cap.event)} | signal) must be {name.replace('_', ' ')} {getattr(cap, name)}"
                    yield sign * p * (inside - c), ConeRow(f"{cls.name}[{k}].{name}", words, p, c, sign, limit)


class PosteriorRatios(SignalCone):
    name = "posterior_ratio"
    kind = PosteriorRatio

    @classmethod
    def vectors(cls, stated: Any, problem: Problem, field: Field) -> Iterator[tuple[Array, ConeRow]]:
        p = field.array(problem.p)
        for k, one in enumerate(stated):
            inside, K = indicator(problem, one.event, f"{cls.name}[{k}].event", field), one.ratio(field)
            (whole, rest), label, words = _shares(p, inside), f"{cls.name}[{k}]", f"{one}"
            limit, more = K * field.number(10**6), (K - 1) * whole
            high = np.where(inside > 0, rest - more, -K * whole)
            low = np.where(inside > 0, -more - K * rest, whole)
            terms = p * np.where(inside > 0, rest + more, field.zero)
            yield p * high, ConeRow(label, words, p * whole, K, 1, limit, terms=terms)
            yield p * low, ConeRow(label, words, p * inside, K, 1, limit)


class Independence(SignalCone):
    name = "independent_of"

    @classmethod
    def stated(cls, value: Any) -> tuple[Event, ...]:
        events = listed(value, cls.name, "must be a list of events, each a list of states")
        return tuple(read_event(event, f"{cls.name}[{k}]") for k, event in enumerate(events))

    @classmethod
    def vectors(cls, stated: Any, problem: Problem, field: Field) -> Iterator[tuple[Array, ConeRow]]:
        p = field.array(problem.p)
        for k, event in enumerate(stated):
            inside = indicator(problem, event, f"{cls.name}[{k}]", field)
            whole, rest = _shares(p, inside)
            vector = p * np.where(inside > 0, rest, -whole)
            row = ConeRow(f"{cls.name}[{k}]", f"it must not depend on {named(event)}")
            yield vector, row
            yield -vector, row


class SignalFloor(SignalCone):
    name = "signal_floor"

    @classmethod
    def stated(cls, value: Any) -> Any:
        """One floor for all Eves, or pairs of an Eve's name and her floor."""
        if not isinstance(value, (Mapping, tuple, list)):
            return read_number(value, cls.name, 0)
        pairs = list(value.items() if isinstance(value, Mapping) else value)
        if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
            raise InputError(cls.name, value, "must be a number, or a table of numbers by Eve's name")
        if not pairs:
            raise InputError(cls.name, None, "must name at least one Eve")
        return tuple((str(name), read_number(floor, f"{cls.name}.{name}", 0)) for name, floor in pairs)

    @classmethod
    def vectors(cls, stated: Any, problem: Problem, field: Field) -> Iterator[tuple[Array, ConeRow]]:
        names, by_name = [eve.name for eve in problem.eves], isinstance(stated, tuple)
        wanted = dict(stated) if by_name else dict.fromkeys(names, stated)
        for name, floor in wanted.items():
            if name not in names:
                raise InputError(f"{cls.name}.{name}", floor, f"names no Eve: there is {', '.join(names)}")
        p = field.array(problem.p)
        for group, ((n, _), columns) in enumerate(zip(problem.eve_views, problem.eve_groups, strict=True)):
            eve = problem.eves[n]
            if eve.name in wanted:
                floor, counted = field.number(wanted[eve.name]), eve.loss if eve.harm is None else eve.harm
                label = f"{cls.name}.{eve.name}" if by_name else cls.name
                words = f"the risk of {eve.name} given a signal must be at least {wanted[eve.name]}"
                here = p if problem.eve_shares is None else p * field.array(problem.eve_shares[:, group])
                for j, loss in enumerate(field.array(counted).T):
                    told = (group, columns.start + j) if problem.misaligned else None
                    terms = here * (floor + loss)
                    yield here * (floor - loss), ConeRow(label, words, here, floor, -1, field.zero, told, terms)
