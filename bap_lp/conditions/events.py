"""Events, and the numbers that come with them, as users write them.

An event is a list of states (labels or positions); P(A) is its probability. A demand about events is a small table,
such as {event, at_most}. Here it is read into a frozen value, so that conditions can be compared, printed and saved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from numbers import Integral
from typing import Any, Self

import numpy as np

from bap_lp.model.problem import Problem
from bap_lp.support.display import clean, people, person
from bap_lp.support.rational import EXACT, Array, InputError, float_below, number, public, text

Event = tuple[Any, ...]  # labels or positions of states
_READABLE = 24  # characters of a rational
LARGEST_LOG = 600.0  # of a likelihood ratio: beyond it floats cannot follow


def listed(values: Any, field: str, rule: str) -> Sequence[Any]:
    """A list, tuple or array; strings and tables are refused."""
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, (Sequence, np.ndarray)):
        raise InputError(field, values, rule)
    return values  # type: ignore[return-value]


def read_event(value: Any, field: str) -> Event:
    states = tuple(listed(value, field, "must be a list of states"))
    if not states:
        raise InputError(field, None, "must name at least one state")
    for state in states:
        if isinstance(state, bool) or not isinstance(state, (str, int, np.integer)):
            raise InputError(field, state, "must be labels or positions of states")
    return tuple(s if isinstance(s, str) else int(s) for s in states)


def position(problem: Problem, state: Any, field: str) -> int:
    """The position of a state that is named by its label or its position."""
    if isinstance(state, str):
        if state not in problem.states:
            raise InputError(field, state, "is not a state")
        return problem.states.index(state)
    if isinstance(state, bool) or not isinstance(state, Integral) or not 0 <= int(state) < len(problem.states):
        raise InputError(field, state, f"must be a label or a position between 0 and {len(problem.states) - 1}")
    return int(state)


def mask(problem: Problem, event: Event, field: str) -> Array:
    """Which states of the problem belong to the event."""
    out = np.zeros(len(problem.p), dtype=bool)
    where = {label: x for x, label in enumerate(problem.states)}
    for state in event:
        out[where[state] if state in where else position(problem, state, field)] = True
    return out


def indicator(problem: Problem, event: Event, field: str) -> Array:
    """One on the states of the event, zero elsewhere."""
    inside = mask(problem, event, field)
    return np.where(inside, EXACT.full(len(inside), 1), EXACT.zeros(len(inside)))


def read_number(value: Any, field: str, low: int, high: int | None = None) -> Any:
    """A number of a demand, Fraction or float, within its range."""
    found = number(value, field)
    if found < low:
        raise InputError(field, found, f"must be at least {low}")
    if high is not None and found > high:
        raise InputError(field, found, f"must be at most {high}")
    if high is None and found > 10**300:
        raise InputError(field, found, "must be at most 1e300")
    return public(found)


def exponential_below(power: Any, base: Any = None) -> Any:
    """The largest float that is at most e^power, or base^power, as a rational; e^0 = 1.

    Decimals of sixty digits are correctly rounded: they decide on which side of a float an irrational number lies.
    """
    if power == 0:
        return EXACT.one
    with localcontext() as context:
        context.prec = 60

        def decimal(value: Any) -> Decimal:
            top, bottom = value.as_integer_ratio()
            return Decimal(top) / Decimal(bottom)

        exponent = decimal(power) * (1 if base is None else decimal(base).ln())
        return EXACT.number(float_below(EXACT.number(Fraction(exponent.exp()))))


@dataclass(frozen=True)
class RatioBound:
    """exp_epsilon, exact, or epsilon, in floats: one of the two."""

    exp_epsilon: Any = None
    epsilon: Any = None

    def read(self, field: str) -> Self:
        """The same with its numbers checked, as Fractions or floats."""
        if (self.exp_epsilon is None) == (self.epsilon is None):
            raise InputError(field, None, "needs exp_epsilon or epsilon, one of the two")
        name, low = ("exp_epsilon", 1) if self.epsilon is None else ("epsilon", 0)
        value = read_number(getattr(self, name), f"{field}.{name}", low)
        log = value if name == "epsilon" else math.log(value)
        if log > LARGEST_LOG:
            raise InputError(f"{field}.epsilon", log, f"must be at most {LARGEST_LOG:.0f}")
        return replace(self, **{name: value})

    @property
    def exact(self) -> bool:
        """epsilon is not exact (unless 0), as its exponential is irrational."""
        return not isinstance(self.exp_epsilon, float) and self.epsilon in (None, 0)

    @property
    def ratio(self) -> Any:
        """K = exp(eps); an irrational one is rounded down."""
        return exponential_below(self.epsilon) if self.exp_epsilon is None else EXACT.number(self.exp_epsilon)


def rows_of(kind: type, values: Any, field: str) -> tuple[Any, ...]:
    """Demands of one kind from a list of tables (or of values read before)."""
    rows = enumerate(listed(values, field, "must be a list of tables"))
    return tuple(row if isinstance(row, kind) else table(kind, row, f"{field}[{k}]") for k, row in rows)


def table(kind: type, row: Any, field: str) -> Any:
    """A demand from its table; unknown and missing keys are refused."""
    names = [f.name for f in fields(kind)]
    if not isinstance(row, Mapping):
        raise InputError(field, row, f"must be a table with {', '.join(names)}")
    for key in row:
        if key not in names:
            raise InputError(f"{field}.{key}", None, f"is not a known key: it may have {', '.join(names)}")
    needed = kind.required  # type: ignore[attr-defined]
    if needed not in row:
        raise InputError(f"{field}.{needed}", None, "is missing")
    return kind(**row).read(field)


def plain(value: Any) -> Any:
    """A demand as the file would have it: tables, lists, and numbers as text."""
    if hasattr(value, "__dataclass_fields__"):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        return {name: plain(part) for name, part in parts.items() if part is not None}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return value if value is None or isinstance(value, (str, bool, int)) else text(value)


def all_exact(value: Any) -> bool:
    """Whether no number of a demand, or of a tuple of demands, is a float."""
    if isinstance(value, tuple):
        return all(map(all_exact, value))
    return bool(getattr(value, "exact", not isinstance(value, float)))


def named(event: Event) -> str:
    return " or ".join(str(state) for state in event[:6]) + (" or ..." if len(event) > 6 else "")


def event_named(event: Event) -> str:
    """An event in a sentence for people."""
    return f"“{clean(named(event), 120)}”"


def told(value: Any) -> str:
    """A rational in a message: itself if it is short enough to read, else the nearest float with all its digits."""
    exact = str(value)
    return exact if len(exact) <= _READABLE else repr(float(value))


def figure(value: Any) -> str:
    return f"{float(value):.4g}"


def hundred(value: Any) -> str:
    """A probability as a number of 100."""
    return f"{100 * float(value):.4g}"


def factor(one: Any) -> str:
    """K of anything with exp_epsilon or epsilon."""
    return figure(one.exp_epsilon if one.exp_epsilon is not None else math.exp(float(one.epsilon)))


def together(agents: Sequence[Any]) -> str:
    """Who loses, in words."""
    if len(agents) == 1:
        return f"{person(agents[0].name)} loses"
    return f"{people(agent.name for agent in agents)} together, by their weights, lose"
