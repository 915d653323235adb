"""PriorSet: the priors that are possible, as users write them; `on` gives the polytope around a problem's own p(x).

vertices          the mixtures of some priors
box               lower(x) <= p(x) <= upper(x)
total_variation   sum_x |p(x) - p0(x)| / 2 <= radius
polytope          A p <= b
wasserstein       p is p0 with mass moved at a total cost sum_xy moved(x,y) d(x,y) <= radius
Each is a part of the simplex. In floats, numbers are the fractions their floats are, and the limits lower, upper and b
are looser by 2^-48 of their size, so that a set that is one point stays one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.support.display import Displayed, fraction
from bap_lp.support.labels import exact_distribution, nearest, probability
from bap_lp.support.rational import (
    EXACT,
    Array,
    InputError,
    ReadOnly,
    array,
    common_denominator,
    field_of,
    floats,
    is_exact,
    public,
    same_kind,
    sized_number,
    text,
)

if TYPE_CHECKING:
    from bap_lp.program.credal import Credal

_LOOSE = EXACT.number(2.0**-48)
PRIOR_KEYS = ("total_variation", "lower", "upper", "vertices", "polytope", "wasserstein")
_KEYS = "total_variation, lower and upper, vertices, polytope or wasserstein"
_MOST_METRIC = 2_000  # states up to which the triangle inequality is checked, a table at a time


@dataclass(frozen=True, eq=False, repr=False)
class PriorSet(ReadOnly, Displayed):
    """The priors that are possible. One of the five class methods makes it; `solve(problem, lam, priors=...)` takes it.

    Args:
        kind: which of the five it is.
        numbers: its numbers by name: working arrays, exact unless one was given as a float.

    >>> from bap_lp import PriorSet, Problem, solve
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> best = solve(coin, "1/3", priors=PriorSet.total_variation("1/20"))
    >>> print(best.value, best.gap, *best.worst_prior)
    12/115 0 7/10 3/10
    """

    kind: str
    numbers: Mapping[str, Array]

    @classmethod
    def vertices(cls, priors: Any) -> PriorSet:
        """The mixtures of some priors, a row each: what several surveys say, for example."""
        rows = array(priors, "vertices", 2)
        read = [probability(row, f"vertices[{k}]") for k, row in enumerate(rows)]
        return cls("vertices", {"vertices": np.array(same_kind(*read))})

    @classmethod
    def box(cls, lower: Any = None, upper: Any = None) -> PriorSet:
        """Between two limits for every state: intervals of the shares."""
        given = (("lower", lower), ("upper", upper))
        own = {name: array(values, name, 1) for name, values in given if values is not None}
        if not own:
            raise InputError("lower", None, "or upper must be given")
        if len(own) > 1:
            low, top = own.values()
            if len(low) != len(top):
                raise InputError("upper", None, f"has {len(top)} entries, must have {len(low)}")
            for x in np.flatnonzero(EXACT.array(low) > EXACT.array(top)).tolist():
                raise InputError(f"lower[{x}]", public(low[x]), f"must be at most upper[{x}]")
        for name, values in own.items():
            sign, words = (1, "at most") if name == "lower" else (-1, "at least")
            if sign * (_loosened(EXACT.array(values), -sign, is_exact(values)).sum() - 1) > 0:
                rule = f"must be {words} 1, or the box holds no distribution"
                raise InputError(f"sum of {name}", values.sum(), rule)
        return cls("box", own)

    @classmethod
    def total_variation(cls, radius: Any) -> PriorSet:
        """Shares that are wrong by at most `radius` in total: the largest error of the probability of any event."""
        found = sized_number(radius, "total_variation")
        if found > 1:
            raise InputError("total_variation", found, "must be at most 1")
        return cls("total_variation", {"radius": field_of(found).list([found])})

    @classmethod
    def polytope(cls, A: Any, b: Any) -> PriorSet:
        """The distributions with A p <= b, a row per condition: known margins, orderings, bounds on means."""
        rows, limits = array(A, "polytope.A", 2, signed=True), array(b, "polytope.b", 1, signed=True)
        if len(rows) != len(limits):
            raise InputError("polytope.b", None, f"has {len(limits)} entries, must have {len(rows)}, one per row of A")
        return cls("polytope", {"A": rows, "b": limits})

    @classmethod
    def wasserstein(cls, radius: Any, metric: Any) -> PriorSet:
        """Mass moved from p0 at a cost of at most `radius`, d(x,y) = metric[x][y] per unit of mass."""
        d = array(metric, "wasserstein.metric", 2)
        _require_metric(d)
        far = sized_number(radius, "wasserstein.radius")
        return cls("wasserstein", {"radius": field_of(far).list([far]), "metric": d})

    @classmethod
    def of(cls, given: Any, name: str = "priors") -> PriorSet:
        """A set as it is, or from the table of a file, whose errors call the fields priors.*."""
        if isinstance(given, PriorSet):
            return given
        if not isinstance(given, Mapping):
            raise InputError(name, given, "must be a table")
        try:
            return cls._from_table(dict(given))
        except InputError as error:
            field = f"sum of {name}.{error.field[7:]}" if error.field[:7] == "sum of " else f"{name}.{error.field}"
            raise InputError(field, error.value, error.rule) from None

    @classmethod
    def _from_table(cls, given: dict[str, Any]) -> PriorSet:
        for key in given:
            if key not in PRIOR_KEYS:
                near = nearest(str(key), PRIOR_KEYS)
                raise InputError(str(key), None, f"is not known: {f'did you mean {near}?' if near else _KEYS}")
        ways = {"box" if key in ("lower", "upper") else str(key) for key in given}
        if len(ways) != 1:
            raise InputError(" and ".join(map(str, given)) or "table", None, f"must be one set: {_KEYS}")
        [way] = ways
        make, wanted = getattr(cls, way), {"polytope": ("A", "b"), "wasserstein": ("radius", "metric")}.get(way)
        if way == "box":
            return make(**given)
        if wanted is None:
            return make(given[way])
        if not isinstance(given[way], Mapping) or set(given[way]) != set(wanted):
            raise InputError(way, None, f"must be a table with {wanted[0]} and {wanted[1]}")
        return make(**given[way])

    def document(self) -> dict[str, Any]:
        """The [priors] table that says the same."""

        def plain(values: Array) -> Any:
            return [plain(row) for row in values] if values.ndim > 1 else [text(v) for v in values.tolist()]

        own: dict[str, Any] = {name: plain(values) for name, values in self.numbers.items()}
        if "radius" in own:
            [own["radius"]] = own["radius"]
        nested = {"total_variation": own.get("radius"), "polytope": own, "wasserstein": own}
        return {self.kind: nested[self.kind]} if self.kind in nested else own

    @property
    def exact(self) -> bool:
        return all(map(is_exact, self.numbers.values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PriorSet) and self.document() == other.document()

    def __hash__(self) -> int:
        return hash((self.kind, *(str(v) for values in self.numbers.values() for v in values.ravel())))

    def on(self, prior: Array, exact: bool = True) -> Credal:
        """The polytope, in rationals, around a prior in rationals; refuses numbers that do not fit its states."""
        from bap_lp.program.credal import Ball, Box, Hull, Polytope, Transport  # most problems have one prior

        count = len(prior)
        for name, values in self.numbers.items():
            long = values.shape[-1] if name not in ("radius", "b") else count
            if long != count:
                place = {"A": "polytope.A[0]", "metric": "wasserstein.metric[0]", "vertices": "vertices[0]"}
                rule = f"has {long} entries, must have {count}, one per state"
                raise InputError(f"priors.{place.get(name, name)}", None, rule)
        own = {name: EXACT.array(values if exact else floats(values)) for name, values in self.numbers.items()}
        if self.kind == "vertices":
            return Hull(np.array([exact_distribution(row) for row in own["vertices"]]))
        if self.kind == "box":
            lower = _loosened(own.get("lower", EXACT.zeros(count)), -1, exact)
            upper = _loosened(own.get("upper", EXACT.full(count, 1)), 1, exact)
            return Box(lower, np.minimum(upper, EXACT.one))
        if self.kind == "total_variation":
            return Ball(prior, own["radius"][0])
        if self.kind == "polytope":
            return Polytope(own["A"], _loosened(own["b"], 1, exact))
        return Transport(prior, own["radius"][0], own["metric"])

    def words(self) -> str:
        """What may be wrong, in words that follow "even if"."""
        own = self.numbers
        match self.kind:
            case "total_variation":
                points = f"{float(100 * own['radius'][0]):.6g}"
                return f"the shares are wrong by {points} percentage point{'' if points == '1' else 's'} in total"
            case "vertices":
                return f"the shares are any mixture of {len(own['vertices'])} given priors"
            case "box":
                return "every share lies anywhere between its limits"
            case "polytope":
                return f"the shares are any that meet {len(own['b'])} linear conditions"
        return f"mass is moved between states at a cost of {fraction(public(own['radius'][0]))} in total"

    def _lines(self) -> Iterator[str]:
        yield f"even if {self.words()}"


def _loosened(values: Array, sign: int, exact: bool) -> Array:
    """Limits in rationals, those of floats looser by a stated part of their size."""
    return values if exact else values + sign * _LOOSE * abs(values)


def _require_metric(d: Array) -> None:
    field, count = "wasserstein.metric", len(d)
    if d.shape != (count, count):
        rule = f"has {count} rows and {d.shape[1]} columns, must be square: one per state"
        raise InputError(field, None, rule)
    for x in np.flatnonzero(d.diagonal() != 0).tolist():
        raise InputError(f"{field}[{x}][{x}]", public(d[x, x]), "must be 0: no cost to stay")
    for x, y in np.argwhere(d != d.T).tolist():
        raise InputError(f"{field}[{x}][{y}]", public(d[x, y]), f"must be metric[{y}][{x}], as a metric is symmetric")
    if count > _MOST_METRIC:
        raise InputError(field, None, f"has {count} states, more than {_MOST_METRIC}")
    whole: Array = d * common_denominator(d) if is_exact(d) else d
    if is_exact(d) and all(v.p < 2**52 for v in whole.ravel()):
        whole = floats(whole)  # integers, and sums of two of them, that floats hold
    slack = 0 if is_exact(d) else 1e-12 * float(d.max())
    for z in range(count):
        for x, y in np.argwhere(whole > whole[:, [z]] + whole[z] + slack).tolist():
            rule = f"is longer than the way over state {z}: a metric obeys the triangle inequality"
            raise InputError(f"{field}[{x}][{y}]", public(d[x, y]), rule)
