"""A condition: how it is read, what it demands by definition, and how it is lowered to the program.

It is a file. It derives from `Condition` and says how it is made from what the user wrote (`of`), what it demands of
a channel (`broken`, a sentence of the law evaluated on the channel, without the program), and which rows and observers
it adds to the program (`lower`). The table of all conditions is `table.TABLE`. All numbers are rational: floats are
the fractions they are, and where they are floats limits are read a little looser (`limit`).

The program of a problem under conditions is in the channel's own variables: mass one, cost p(x) B(x,i_s), and the Eves
as one observer with losses p(x) E(x,j), whose price is lam.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from bap_lp.conditions.events import all_exact, plain
from bap_lp.conditions.given import Conditions
from bap_lp.model.problem import Problem
from bap_lp.program.bound import Dual
from bap_lp.program.lowering import Lowering, SentSignals
from bap_lp.support.rational import EXACT, Array

LOOSE = EXACT.number(2.0**-48)  # of its size: how much looser a limit is read where numbers are floats


def limit(value: Any, looser: int, problem: Problem) -> Any:
    """A limit as a rational; in floats, where it may be an attainable extreme, rounded, looser by 2^-48 of its size."""
    found = EXACT.number(value)
    return found + looser * LOOSE * abs(found) if problem.of_floats else found


class Condition:
    """One demand on the states of a problem, in rationals."""

    name: ClassVar[str]  # in the table, and of its rows
    numbers: ClassVar[dict[str, int]] = {}  # fields of Conditions that are numbers, and the least value of each
    convex: ClassVar[bool] = True  # whether it has rows; if not, only deterministic channels meet it
    tuples: ClassVar[bool] = False  # whether it needs tuples of decisions as signals
    several: ClassVar[bool] = True  # whether scenarios and tiers can be asked for it
    merges: bool = False  # whether states with equal losses and `features` may be merged
    null_row: bool = False  # whether a state of probability zero may be given the null row sum_x p(x) q(.|x)

    @classmethod
    def read(cls, given: dict[str, Any]) -> None:
        """Read its fields among those that are set, in place; their numbers are read before."""
        if cls.name in given:
            given[cls.name] = cls.stated(given[cls.name])

    @classmethod
    def stated(cls, value: Any) -> Any:
        """What the user wrote in the field of this name, read and checked."""
        return value

    @classmethod
    def is_exact(cls, given: Conditions) -> bool:
        return all(all_exact(getattr(given, name, None)) for name in (cls.name, *cls.numbers))

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> Condition | None:
        """The demand on an exact problem, None if there is none."""
        raise NotImplementedError

    @classmethod
    def label(cls, k: int, one: Any) -> str:
        """What entry k of its list is called."""
        return f"{cls.name}[{k}]"

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        """The fields of Conditions that state it."""
        return (cls.name,)

    @classmethod
    def written(cls, name: str, value: Any) -> Any:
        """A field as the file has it."""
        return plain(value)

    @classmethod
    def sentences(cls, given: Conditions, problem: Problem) -> Iterator[str]:
        """What is promised, in words for the person who signs: decimals, and no names of keys."""
        value = getattr(given, cls.name, None)
        for one in value if isinstance(value, tuple) else () if value is None or value is False else (value,):
            yield cls.sentence(one, problem)

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        """The same of the field of this name, or of an entry of its list."""
        raise NotImplementedError

    def features(self) -> Array | None:
        """Numbers of every state of the problem (a row each) that merged states must share; None if there are none."""
        return None

    def on(self, index: Array, count: int) -> Condition:
        """The demand on merged states: state x of the problem is index[x], or left out if that is -1."""
        return self

    def broken(self, sent: SentSignals) -> str:
        """Which demand a channel breaks, by definition, or ""."""
        raise NotImplementedError

    def lower(self, program: Lowering) -> None:
        """Add rows and observers to the program."""

    def expanded(self, dual: Dual, index: Array, share: Array) -> Dual:
        """Its part of the multipliers of merged states, on the problem's own; share: p(x) over that of its class."""
        return dual

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        """How fast R_A falls as a number of the demand is relaxed, by the number's name; none by default."""
        return {}
