"""Conditions the mechanism must satisfy, as users write them: a field each, which an entry of the table reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bap_lp.conditions.events import read_number
from bap_lp.model.problem import Problem
from bap_lp.support.display import clean
from bap_lp.support.labels import gone, nearest
from bap_lp.support.rational import InputError

if TYPE_CHECKING:
    from bap_lp.conditions.base import Condition


class Conditions:
    """Conditions the mechanism must satisfy; all may be combined. Numbers become Fractions if exact, floats if not.

    Args:
        **given: what is listed here, or a condition of your own that was registered (`conditions.table.register`).
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

    def __init__(self, **given: Any) -> None:
        wanted = {name: value for name, value in given.items() if value is not None}
        vars(self)["_given"] = _read(wanted) if wanted else {}

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Every field, in the order of the table."""
        return tuple(_owners())

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

    def __getattr__(self, name: str) -> Any:
        """What is set in a field of the table, None if nothing is."""
        given = vars(self).get("_given", {})
        if name not in given and (name.startswith("_") or name not in _owners()):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return given.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conditions) and self.given() == other.given()

    def __hash__(self) -> int:
        return hash(tuple(self.given().items()))

    def __repr__(self) -> str:
        return f"Conditions({', '.join(f'{name}={value!r}' for name, value in self.given().items())})"

    @property
    def empty(self) -> bool:
        return not self.given()

    @property
    def exact(self) -> bool:
        """Whether every number is exact."""
        return all(kind.is_exact(self) for kind in self.kinds().values())

    def given(self) -> dict[str, Any]:
        """The conditions that are set, by name."""
        return dict(vars(self)["_given"])

    def kinds(self) -> dict[str, type[Condition]]:
        """The entry of the table that each condition that is set belongs to."""
        given = vars(self)["_given"]
        owners = _owners() if given else {}
        return {name: owners[name] for name in given}

    def demanded(self) -> dict[str, Conditions]:
        """Its single demands by label, each alone: what one kind of condition asks for, or one entry of its list."""
        given, out = self.given(), dict[str, Conditions]()
        for kind in dict.fromkeys(self.kinds().values()):
            own = {name: given[name] for name in kind.fields() if name in given}
            first = next(iter(own))
            entries = own[first] if len(own) == 1 and isinstance(own[first], tuple) else ()
            alone = {kind.label(k, one): _alone({first: (one,)}) for k, one in enumerate(entries)}
            out |= alone or {first: _alone(own)}
        return out

    @classmethod
    def joined(cls, parts: Iterable[Conditions]) -> Conditions:
        """All these demands of one table together."""
        out: dict[str, Any] = {}
        for part in parts:
            for name, value in part.given().items():
                out[name] = out[name] + value if isinstance(out.get(name), tuple) else value
        return _alone(out)

    def written(self) -> dict[str, Any]:
        """The [conditions] table of a file that says the same."""
        given = self.given()
        return {name: kind.written(name, given[name]) for name, kind in self.kinds().items()}

    def words(self) -> str:
        """What is set, as a file has it, in a line."""
        found = {name: value if isinstance(value, str) else json.dumps(value) for name, value in self.written().items()}
        return ", ".join(name if text == "true" else f"{name} = {clean(text, 200)}" for name, text in found.items())

    def demands(self, problem: Problem) -> tuple[Condition, ...]:
        """What is demanded of an exact problem, an object per entry of the table; refuses what does not fit it."""
        if self.empty and not problem.misaligned:
            return ()
        from bap_lp.conditions.table import TABLE

        found = (kind.of(self, problem) for kind in TABLE.values())
        return tuple(demand for demand in found if demand is not None)


def _alone(given: dict[str, Any]) -> Conditions:
    """Conditions of fields that are read already."""
    out = Conditions()
    vars(out)["_given"] = given
    return out


def _owners() -> dict[str, type[Condition]]:
    """Every field with its entry of the table: twenty files that a problem without conditions does not need."""
    from bap_lp.conditions.table import TABLE

    out: dict[str, type[Condition]] = {}
    for kind in TABLE.values():
        for name in kind.fields():
            out.setdefault(name, kind)  # of several, the first
    return out


def _read(given: dict[str, Any]) -> dict[str, Any]:
    """The fields that are set, read by their entries of the table and in its order; refuses an unknown name."""
    owners = _owners()
    for name in given:
        if name not in owners:
            near = nearest(name, [*owners])
            rule = f"did you mean {near}?" if near else f"there are {', '.join(owners)}"
            raise InputError(name, None, gone(name) or f"is not a condition: {rule}")
    out = {name: given[name] for name in owners if name in given}
    kinds = dict.fromkeys(owners[name] for name in out)
    for name, low in ((name, low) for kind in kinds for name, low in kind.numbers.items() if name in out):
        out[name] = read_number(out[name], name, low)
    for kind in kinds:
        kind.read(out)
    return {name: value for name, value in out.items() if value is not False}


def conditions_of_each(given: Any, count: int) -> tuple[Conditions, ...]:
    """The conditions of each of several problems: the same for all, or a list with one each; () if there are none."""
    rows = list(given) if isinstance(given, (list, tuple)) else [given] * count
    if len(rows) != count:
        raise InputError("conditions", None, f"has {len(rows)} entries, must have {count}, one per problem")
    each = isinstance(given, (list, tuple))
    out = tuple(Conditions.of(row or {}, f"conditions[{k}]" if each else "conditions") for k, row in enumerate(rows))
    return () if all(read.empty for read in out) else out


def demands_of_each(conditions: Sequence[Conditions], problems: Sequence[Problem]) -> list[tuple[Condition, ...]]:
    """The demands on exact problems that share their signals; refuses those that need signals of their own."""
    out: list[tuple[Condition, ...]] = [() for _ in problems]
    for k, (own, problem) in enumerate(zip(conditions, problems, strict=True) if conditions else ()):
        for name, kind in own.kinds().items():
            if not kind.several:
                raise InputError(f"problems[{k}]: {name}", None, "is a condition for one problem, not for several")
        out[k] = own.demands(problem)
    return out
