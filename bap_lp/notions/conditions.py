"""Conditions the mechanism must satisfy, as users write them: a field each, whose notion reads and states it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any

from bap_lp.model.labels import gone, nearest
from bap_lp.model.problem import Problem
from bap_lp.notions.reading import read_number
from bap_lp.rational import InputError

if TYPE_CHECKING:
    from bap_lp.notions.base import Notion


def _known_names(kind: type[Any]) -> type[Any]:
    """The class, which refuses an unknown keyword with the nearest known one."""
    initialise, known = kind.__init__, [f.name for f in fields(kind)]

    @wraps(initialise)
    def refusing(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name not in known:
                near = nearest(name, known)
                rule = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
                raise InputError(name, None, gone(name) or f"is not a condition: {rule}")
        initialise(self, *args, **given)

    setattr(kind, "__init__", refusing)  # noqa: B010
    return kind


@_known_names
@dataclass(frozen=True)
class Conditions:
    """Conditions the mechanism must satisfy; all may be combined. Numbers become Fractions if exact, floats if not.

    Args:
        min_eve_risk: R_E is at least this.
        max_bob_risk: R_B is at most this.
        exp_epsilon: q(s|x) is at most this number times q(s|x'): differential privacy, with exp(epsilon) as a rational.
        epsilon: the logarithm of exp_epsilon, in floats; one of the two.
        neighbours: pairs of states (labels or positions) between which differential privacy holds.
        metric: d(x,x') row by row, None or inf where nothing is asked. With neither, it holds between all pairs.
        deterministic: whether the signal must be a function of the data.
        margin: every agent's decision is better than any other by at least this, at every signal.
        delta: sum_s max(0, q(s|x) - exp(eps) q(s|x')) may be up to delta, with exp_epsilon or epsilon.
        posterior_caps: a list of {"event": states, "at_most": c, "at_least": c}: one or both bound P(event | signal);
            with "eve": her name, P(event | signal, what she knows).
        posterior_ratio: a list of {"event": states, "exp_epsilon": K}: P(event | signal) / P(event) between 1/K and K.
        signal_floor: every Eve's risk given any signal is at least this; or a table of floors by Eve's name.
        max_leakage: sum_s max_x q(s|x) is at most this.
        max_information: the signal tells at most so many bits about the state; or a list of {"at_most": c, "secret":
            labels} or {"at_most": c, "eve": name} about something else.
        pufferfish: {"pairs": [[event, event], ...], "exp_epsilon": K, "priors": [...]}, or a list of such tables.
        independent_of: a list of events that the signal must not depend on.

    Raises:
        InputError: a number is outside its range, or a table is not of its form.

    >>> from bap_lp import Conditions, Problem, solve
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> found = solve(coin, conditions=Conditions(exp_epsilon=3))
    >>> print(found.value, found.price_of_conditions)
    1/8 1/20
    """

    min_eve_risk: Any = None
    max_bob_risk: Any = None
    exp_epsilon: Any = None
    epsilon: Any = None
    neighbours: Any = None
    metric: Any = None
    deterministic: bool = False
    margin: Any = None
    delta: Any = None
    posterior_caps: Any = None
    posterior_ratio: Any = None
    signal_floor: Any = None
    max_leakage: Any = None
    max_information: Any = None
    pufferfish: Any = None
    independent_of: Any = None

    @classmethod
    def of(cls, given: Any, name: str = "conditions") -> Conditions:
        """Conditions as they are, or from a table of their names, whose errors call the fields conditions.*."""
        if isinstance(given, Conditions):
            return given
        if not isinstance(given, Mapping):
            raise InputError(name, given, "must be a table")
        try:
            return cls(**{str(key): value for key, value in given.items()})
        except InputError as error:
            raise InputError(f"{name}.{error.field}", error.value, error.rule) from None

    def __post_init__(self) -> None:
        for name, low in ((name, low) for kind in self._kinds() for name, low in kind.numbers.items()):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_number(getattr(self, name), name, low))
        for kind in self._kinds():
            kind.validate(self)

    def _kinds(self) -> Iterable[type[Notion]]:
        """The notions that these fields may state; none if nothing is asked for."""
        if all(getattr(self, f.name) is f.default for f in fields(self)):
            return ()
        from bap_lp.notions.table import TABLE  # twenty files that a problem without conditions does not need

        return TABLE.values()

    @property
    def private(self) -> bool:
        """Whether differential privacy is asked for."""
        return self.exp_epsilon is not None or self.epsilon is not None

    @property
    def empty(self) -> bool:
        return not self.given()

    @property
    def exact(self) -> bool:
        """Whether every number is exact."""
        return all(kind.is_exact(self) for kind in self._kinds())

    def given(self) -> dict[str, Any]:
        """The conditions that are set, by name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: v for name, v in values.items() if v is not None and v is not False}

    def kinds(self) -> dict[str, type[Notion]]:
        """The notion that each condition that is set belongs to."""
        owner = {name: kind for kind in reversed([*self._kinds()]) for name in kind.fields()}
        return {name: owner[name] for name in self.given()}

    def written(self) -> dict[str, Any]:
        """The [conditions] table of a file that says the same."""
        given = self.given()
        return {name: kind.written(name, given[name]) for name, kind in self.kinds().items()}

    def words(self) -> str:
        """What is set, in a line."""
        given = self.given()
        return ", ".join(kind.words(name, given[name]) for name, kind in self.kinds().items())

    def demands(self, problem: Problem) -> tuple[Notion, ...]:
        """One object per notion demanded of an exact problem; refuses what does not fit it."""
        if self.empty and not problem.misaligned:
            return ()
        from bap_lp.notions.table import TABLE

        found = (kind.of(self, problem) for kind in TABLE.values())
        return tuple(demand for demand in found if demand is not None)


def conditions_of_each(given: Any, count: int) -> tuple[Conditions, ...]:
    """The conditions of each of several problems: the same for all, or a list with one each; () if there are none."""
    rows = list(given) if isinstance(given, (list, tuple)) else [given] * count
    if len(rows) != count:
        raise InputError("conditions", None, f"has {len(rows)} entries, must have {count}, one per problem")
    each = isinstance(given, (list, tuple))
    out = tuple(Conditions.of(row or {}, f"conditions[{k}]" if each else "conditions") for k, row in enumerate(rows))
    return () if all(read.empty for read in out) else out


def demands_of_each(conditions: Sequence[Conditions], problems: Sequence[Problem]) -> list[tuple[Notion, ...]]:
    """The demands on exact problems that share their signals; refuses those that need signals of their own."""
    out: list[tuple[Notion, ...]] = [() for _ in problems]
    for k, (own, problem) in enumerate(zip(conditions, problems, strict=True) if conditions else ()):
        for name, kind in own.kinds().items():
            if not kind.several:
                raise InputError(f"problems[{k}]: {name}", None, "is a condition for one problem, not for several")
        out[k] = own.demands(problem)
    return out
