"""Mechanism: a channel q(s|x), states x signals; how it is drawn from, and how differentially private it is."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
from flint import fmpz

from bap_lp.support.display import Displayed, column_name, counted, fraction, kind, titled
from bap_lp.support.labels import Numbers, labels, nearest, probability
from bap_lp.support.rational import (
    EXACT,
    FLOAT,
    Array,
    InputError,
    ReadOnly,
    array,
    floats,
    is_exact,
    number,
    public,
    show,
)

_SEARCHED = 10_000  # labels among which the nearest is looked for


class Generator(Protocol):
    """What `release` needs of a caller's generator: `random.Random` has it."""

    def randrange(self, stop: int, /) -> int: ...


class Mechanism(ReadOnly, Displayed):
    """A release mechanism: row x of `channel` is the distribution of the signal when the data are x.

    `q` is the working array (fmpq or float64); `channel` the same numbers as Fractions or floats.

    Args:
        channel: q(s|x), a row per state and a column per signal.
        signals: a label per signal.
        states: a label per state.
        name: what comparisons call it.

    Raises:
        InputError: a row is not a distribution, or the labels do not fit.

    >>> from bap_lp import Mechanism
    >>> channel = [[1, 0], ["3/10", "7/10"]]
    >>> hide = Mechanism(channel, signals=["fixed", "fair"], states=["tails", "heads"])
    >>> print(hide.channel[1, 1], hide.exact)
    7/10 True
    """

    def __init__(
        self, channel: Any, *, signals: Sequence[str] | None = None, states: Sequence[str] | None = None, name: str = ""
    ) -> None:
        q = array(channel, "channel", 2)
        total = q.sum(axis=1)
        for x in np.flatnonzero(total != 1).tolist():
            q[x] = probability(q[x], f"channel[{x}]")
        self.q = q
        self.exact = is_exact(q)
        self.states = labels(states, "states", q.shape[0])
        self.signals = tuple(labels(signals, "signals", q.shape[1]))
        self.name = name
        self._freeze()

    @classmethod
    def of(cls, q: Array, signals: Sequence[str], states: Sequence[str], name: str = "") -> Mechanism:
        """From a working array that is a channel by construction: nothing is read or checked again."""
        self = cls.__new__(cls)
        self.q, self.exact, self.name = q, is_exact(q), name
        self.states, self.signals = states, tuple(signals)
        q.setflags(write=False)
        return self

    def __eq__(self, other: object) -> bool:
        """Whether two mechanisms have the same numbers, states and signals; their names do not count."""
        if not isinstance(other, Mechanism):
            return NotImplemented
        same = self.exact == other.exact and self.signals == other.signals and self.states == other.states
        return same and np.array_equal(self.q, other.q)

    def __hash__(self) -> int:
        return hash((self.exact, self.signals, *self.q.ravel().tolist()))

    @cached_property
    def channel(self) -> Array:
        return public(self.q)

    def as_float(self) -> Mechanism:
        return Mechanism(floats(self.q), signals=self.signals, states=self.states, name=self.name)

    @cached_property
    def max_ratio(self) -> Any:
        """Largest q(s|x) / q(s|x') over signals and state pairs: exp(epsilon), exact for an exact channel, or inf."""
        best: Any = Fraction(1) if self.exact else 1.0
        for column in self.q.T:
            low, high = column.min(), column.max()
            if high > 0:
                if low == 0:
                    return math.inf
                best = max(best, public(high / low) if self.exact else float(high) / float(low))
        return best

    @property
    def epsilon(self) -> float:
        """The differential privacy of the channel if all pairs of states are neighbours: log of `max_ratio`."""
        ratio = self.max_ratio
        if isinstance(ratio, Fraction) and ratio > 10**300:  # larger numbers cannot be represented as floats
            return math.log(ratio.numerator) - math.log(ratio.denominator)
        return math.log(ratio) if ratio != math.inf else math.inf

    @cached_property
    def _place(self) -> Mapping[str, int] | None:
        """The position of every label; None if the labels are the positions."""
        return None if isinstance(self.states, Numbers) else {name: x for x, name in enumerate(self.states)}

    def state_index(self, state: str | int) -> int:
        """Index of a state given by its label or, as an integer, by its position; anything else is refused."""
        if isinstance(state, str):
            if state not in (self.states if self._place is None else self._place):
                raise InputError("state", state, self._not_a_state(state))
            return self.states.index(state) if self._place is None else self._place[state]
        if isinstance(state, bool) or not isinstance(state, (int, np.integer)):
            raise InputError("state", state, "must be a label or a position" + ", not null" * (state is None))
        if not 0 <= state < len(self.states):
            raise InputError("state", state, f"must be between 0 and {len(self.states) - 1}")
        return int(state)

    def _not_a_state(self, label: str) -> str:
        near = nearest(label, self.states[:_SEARCHED], 0.5)
        if near is not None:
            return f"is not a state; the nearest is {show(near)}"
        return "is not one of " + ", ".join(map(show, self.states[:8])) + ", ..." * (len(self.states) > 8)

    def release(self, x: str | int, generator: Generator | None = None) -> str:
        """Draw a signal for state x.

        The row is written over its least common denominator d and a uniform integer below d picks the signal, so an
        exact channel is drawn from exactly; the integer comes from the operating system's secure source unless the
        caller passes a generator.

        Args:
            x: the label of the state, or its position as an integer.
            generator: for rehearsals, such as random.Random(1).

        Returns:
            The signal.

        Raises:
            InputError: x is not a state.

        >>> from bap_lp import Mechanism
        >>> channel = [[1, 0], ["3/10", "7/10"]]
        >>> some = Mechanism(channel, signals=["hide", "tell"], states=["heads", "tails"])
        >>> some.release("heads")
        'hide'
        """
        return self.release_many([self.state_index(x)], generator)[0]

    def release_many(self, states: Iterable[str | int], generator: Generator | None = None) -> list[str]:
        """Draw one signal for each of many states, independently, as `release` does.

        All states are looked up before the first draw, so that a wrong one leaves nothing half released.

        Args:
            states: labels or positions, in any order; a state may occur any number of times.
            generator: for rehearsals, such as random.Random(1).

        Returns:
            The signals in the order of the states.

        Raises:
            InputError: one of them is not a state; the message names its place.

        >>> from bap_lp import Mechanism
        >>> mechanism = Mechanism([[1, 0], [0, 1]], signals=["low", "high"], states=["3", "8"])
        >>> mechanism.release_many(["3", "8", "8"])
        ['low', 'high', 'high']
        """
        if isinstance(states, (str, bytes)) or not isinstance(states, Iterable):
            raise InputError("states", states, "must be a list of states")
        rows = []
        for k, state in enumerate(states):
            try:
                rows.append(self.state_index(state))
            except InputError as error:
                raise InputError(f"states[{k}]", error.value, error.rule) from None
        import secrets  # loads hashes that only a draw needs

        source = secrets.SystemRandom() if generator is None else generator
        wheels = {x: self._wheel(x) for x in set(rows)}
        drawn = ((wheels[x][1], source.randrange(wheels[x][0])) for x in rows)
        return [self.signals[bisect_right(tops, draw)] for tops, draw in drawn]

    def _wheel(self, x: int) -> tuple[int, list[int]]:
        row = [number(v, "channel") for v in (self.q[x] if self.exact else map(Fraction, self.q[x].tolist()))]
        denominator = fmpz(1)
        for v in row:
            denominator = denominator * v.q // denominator.gcd(v.q)
        parts = [int(v.p * (denominator // v.q)) for v in row]
        # float rows may miss one by rounding: the draw is below the sum of the row
        return sum(parts), list(accumulate(parts))

    def expanded(self, index: Array, prior: Array, states: Sequence[str]) -> Mechanism:
        """The channel on finer states: state x gets row index[x]; where index is -1, the null row (signal marginal)."""
        rows = self.q[index]
        if (index < 0).any():
            p = prior if self.exact == is_exact(prior) else floats(prior)
            rows[index < 0] = p.dot(self.q)
        return Mechanism.of(rows, self.signals, states, self.name)

    def _lines(self) -> Iterator[str]:
        yield titled(self.name, f"{kind(self.exact)}, {len(self.states)} states, {len(self.signals)} signals")
        fixed = int((self.q == 1).any(axis=1).sum())
        yield f"{fixed} of {counted(len(self.states), 'state')} always send the same signal."
        if self.max_ratio == math.inf:
            yield "Differential privacy: none (epsilon is infinite), since some signal excludes some state."
        else:
            yield f"Differential privacy: epsilon = log({fraction(self.max_ratio)}) = {self.epsilon:.6g}."

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The states, and the probability of every signal."""
        data = column_name("data", self.signals)
        rows = zip(self.states[:most], public(self.q[:most]).tolist(), strict=True)
        return [{data: state, **dict(zip(self.signals, row, strict=True))} for state, row in rows]


def without_unused(q: Array, signals: Sequence[str], p: Array | None = None) -> tuple[Array, list[str]]:
    """Drop signals that no state sends, or none of positive probability if p is given."""
    sent = q if p is None else q[p > 0]
    if is_exact(q):
        used = [s for s, column in enumerate(sent.T.tolist()) if any(column)]
    else:
        used = np.flatnonzero((sent > 0).any(axis=0)).tolist()
    return q if len(used) == q.shape[1] else q[:, used], [signals[s] for s in used]


def degenerate(assignment: Sequence[int], signals: int, exact: bool = True) -> Array:
    """The deterministic channel that sends state x to signal assignment[x]."""
    q = (EXACT if exact else FLOAT).zeros((len(assignment), signals))
    q[np.arange(len(assignment)), list(assignment)] += 1
    return q
