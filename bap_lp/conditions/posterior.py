"""Conditions on what anybody believes about events after any signal, and on Eve's risk there.

    posterior_caps    P(A|s) <= at_most, P(A|s) >= at_least      g(x) = p(x) (1_A(x) - c),  p(x) (c - 1_A(x))
    posterior_ratio   P(A) / K <= P(A|s) <= K P(A)               g(x) = p(x) (1_A(x) - K P(A)),  p(x) (P(A) - K 1_A(x))
    independent_of    P(A|s) = P(A)                              g(x) = p(x) (1_A(x) - P(A)) and its negative
    signal_floor      E_g[L(x,j)|s,z] >= f for every j of Eve g and all she may know
                                                                 g(x) = p(x) k(z|x) (f - L(x,j))

each multiplied by P(s), which makes it linear (module `cone`). In this order, demand by demand: at_most before
at_least, above before below, decisions of the first Eve before those of the second, and of her first value z before the
next. An event of probability zero has
posterior zero at every signal. The losses of signal_floor are an Eve's own, without her weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bap_lp.conditions.cone import ConeRow, SignalCone
from bap_lp.conditions.events import (
    Event,
    RatioBound,
    indicator,
    listed,
    named,
    read_event,
    read_number,
    rows_of,
)
from bap_lp.model.knowledge import shares_of
from bap_lp.rational import Array, Field, InputError

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem


@dataclass(frozen=True)
class PosteriorCap:
    """P(event | signal) <= at_most and >= at_least, whatever the signal."""

    event: Event
    at_most: Any = None
    at_least: Any = None
    required: ClassVar[str] = "event"

    def read(self, field: str) -> None:
        object.__setattr__(self, "event", read_event(self.event, f"{field}.event"))
        if self.at_most is None and self.at_least is None:
            raise InputError(field, None, "needs at_most or at_least")
        for name in ("at_most", "at_least"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_number(getattr(self, name), f"{field}.{name}", 0, 1))
        if self.at_most is not None and self.at_least is not None and self.at_least > self.at_most:
            raise InputError(f"{field}.at_least", self.at_least, f"must not be above at_most = {self.at_most}")

    def __str__(self) -> str:
        low = "" if self.at_least is None else f"{self.at_least} <= "
        high = "" if self.at_most is None else f" <= {self.at_most}"
        return f"{low}P({named(self.event)} | signal){high}"


@dataclass(frozen=True)
class PosteriorRatio(RatioBound):
    """P(event | signal) / P(event) between 1/K and K, whatever the signal."""

    event: Event = ()
    required: ClassVar[str] = "event"

    def read(self, field: str) -> None:
        object.__setattr__(self, "event", read_event(self.event, f"{field}.event"))
        super().read(field)

    def __str__(self) -> str:
        return f"P({named(self.event)} | signal) within a factor {self.stated} of P({named(self.event)})"


def _cone(kind: type[SignalCone], rows: list[tuple[Array, ConeRow]], problem: Problem, field: Field) -> Any:
    p = field.array(problem.p)
    g = field.zeros((len(rows), len(p)))
    for k, (vector, _) in enumerate(rows):
        g[k] = vector
    return kind(g, tuple(row for _, row in rows), p)


class PosteriorCaps(SignalCone):
    name = "posterior_caps"

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if given.posterior_caps is not None:
            object.__setattr__(given, cls.name, rows_of(PosteriorCap, given.posterior_caps, cls.name))

    @classmethod
    def is_exact(cls, given: Conditions) -> bool:
        return not any(isinstance(c, float) for cap in given.posterior_caps or () for c in (cap.at_most, cap.at_least))

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> SignalCone | None:
        if given.posterior_caps is None:
            return None
        p, rows = field.array(problem.p), []
        for k, cap in enumerate(given.posterior_caps):
            inside = indicator(problem, cap.event, f"{cls.name}[{k}].event", field)
            for name, sign in (("at_most", 1), ("at_least", -1)):
                if getattr(cap, name) is not None:
                    c = field.number(getattr(cap, name))
                    words = f"P({named(cap.event)} | signal) must be {name.replace('_', ' ')} {getattr(cap, name)}"
                    limit = field.one if sign > 0 else field.zero
                    rows.append((sign * p * (inside - c), ConeRow(f"{cls.name}[{k}].{name}", words, p, c, sign, limit)))
        return _cone(cls, rows, problem, field)


class PosteriorRatios(SignalCone):
    name = "posterior_ratio"

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if given.posterior_ratio is not None:
            object.__setattr__(given, cls.name, rows_of(PosteriorRatio, given.posterior_ratio, cls.name))

    @classmethod
    def is_exact(cls, given: Conditions) -> bool:
        return all(one.exact for one in given.posterior_ratio or ())

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> SignalCone | None:
        if given.posterior_ratio is None:
            return None
        p, rows = field.array(problem.p), []
        for k, one in enumerate(given.posterior_ratio):
            inside, K = indicator(problem, one.event, f"{cls.name}[{k}].event", field), one.ratio(field)
            whole, label, words = p.dot(inside), f"{cls.name}[{k}]", f"{one}"
            limit = K * field.number(10**6)
            rows.append((p * (inside - K * whole), ConeRow(label, words, p * whole, K, 1, limit)))
            rows.append((p * (whole - K * inside), ConeRow(label, words, p * inside, K, 1, limit)))
        return _cone(cls, rows, problem, field)


class Independence(SignalCone):
    name = "independent_of"

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if given.independent_of is not None:
            events = listed(given.independent_of, cls.name, "must be a list of events, each a list of states")
            read = tuple(read_event(event, f"{cls.name}[{k}]") for k, event in enumerate(events))
            object.__setattr__(given, cls.name, read)

    @classmethod
    def is_exact(cls, given: Conditions) -> bool:
        return True

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> SignalCone | None:
        if given.independent_of is None:
            return None
        p, rows = field.array(problem.p), []
        for k, event in enumerate(given.independent_of):
            inside = indicator(problem, event, f"{cls.name}[{k}]", field)
            vector = p * (inside - p.dot(inside))
            row = ConeRow(f"{cls.name}[{k}]", f"it must not depend on {named(event)}")
            rows += [(vector, row), (-vector, row)]
        return _cone(cls, rows, problem, field)


class SignalFloor(SignalCone):
    name = "signal_floor"

    @classmethod
    def validate(cls, given: Conditions) -> None:
        value = given.signal_floor
        if value is None:
            return
        if isinstance(value, (Mapping, tuple, list)):
            pairs = list(value.items() if isinstance(value, Mapping) else value)
            if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
                raise InputError(cls.name, value, "must be a number, or a table of numbers by Eve's name")
            read = tuple((str(name), read_number(floor, f"{cls.name}.{name}", 0)) for name, floor in pairs)
            if not read:
                raise InputError(cls.name, None, "must name at least one Eve")
            object.__setattr__(given, cls.name, read)
        else:
            object.__setattr__(given, cls.name, read_number(value, cls.name, 0))

    @classmethod
    def is_exact(cls, given: Conditions) -> bool:
        floors = given.signal_floor
        return not any(
            isinstance(f, float) for f in ([f for _, f in floors] if isinstance(floors, tuple) else [floors])
        )

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> SignalCone | None:
        if given.signal_floor is None:
            return None
        if problem.misaligned:
            raise InputError(cls.name, None, "is not defined for agents who act on beliefs of their own")
        names = [eve.name for eve in problem.eves]
        floors = (
            given.signal_floor if isinstance(given.signal_floor, tuple) else [(n, given.signal_floor) for n in names]
        )
        for name, floor in floors:
            if name not in names:
                raise InputError(f"{cls.name}.{name}", floor, f"names no Eve: there is {', '.join(names)}")
        wanted, p, rows = dict(floors), field.array(problem.p), []
        for eve in problem.eves:
            if eve.name in wanted:
                floor = field.number(wanted[eve.name])
                label = f"{cls.name}.{eve.name}" if isinstance(given.signal_floor, tuple) else cls.name
                words = f"the risk of {eve.name} given a signal must be at least {wanted[eve.name]}"
                for share in shares_of(eve.knows, eve.knowledge, len(p), field).T:  # of every value that she may know
                    row = ConeRow(label, words, p * share, floor, -1, field.zero)
                    rows += [(p * share * (floor - loss), row) for loss in field.array(eve.loss).T]
        return _cone(cls, rows, problem, field)
