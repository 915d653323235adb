"""Conditions of a study as people write them, in the words of its columns.

cap        P(secret = level | released record, what Eve knows) <= at_most, for every Eve who wants the secret (or the
           one who is named), every released record and everything that she may know
floor      the risk of an Eve is at least at_least
dp         for any two record types that differ in this column only, q(i|x) <= exp_epsilon q(i|x') for every released
           record i: whoever knows all the other columns changes the odds of two levels by this factor at most
min_cell   a combination of published levels is never released, or it is expected for at least so many of the fitted
           records: n P(i) = 0 or n P(i) >= min_cell
All survive pooling: if i is released as i' instead, posteriors and ratios at i' are averages, no Eve's risk falls, and
P(i') grows. So a signal for every decision of Bob is enough, as without conditions. What is not one of these four is a
condition on record types, as in problem files (`bap_lp.Conditions`).

A cap is met by some release if and only if it is met by the null release, because posteriors average to the prior
given what she knows; a floor if and only if it is at most her risk without a release. So the cell that makes a
condition impossible is known before anything is solved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bap_lp import Conditions
from bap_lp.conditions.base import LOOSE
from bap_lp.conditions.events import all_exact, figure, hundred, plain, read_number, rows_of
from bap_lp.support.display import person
from bap_lp.support.rational import EXACT, Array, InputError, public, show
from bap_sdc.records.data.levels import Column
from bap_sdc.records.data.levels import key_of as level_key
from bap_sdc.records.optimum.risks import extremes_of, summed

if TYPE_CHECKING:
    from bap_sdc.records.study import Study

COUPLING = ("min_eve_risk", "max_bob_risk")  # one number that all parts share
_SPLIT = {*COUPLING, "signal_floor", "deterministic"}  # conditions on record types that hold part by part


class _OnColumns:
    """A condition in the words of columns: `names` are fields with a name, `needed` must be given, and the last of
    these is a number in `within`."""

    names: ClassVar[tuple[str, ...]]
    needed: ClassVar[tuple[str, ...]]
    within: ClassVar[tuple[int, ...]]

    def read(self, field: str) -> Any:
        for name in self.names:
            if not isinstance(getattr(self, name), str | None):
                raise InputError(f"{field}.{name}", getattr(self, name), "must be a name")
        for name in self.needed:
            if getattr(self, name) is None:
                raise InputError(f"{field}.{name}", None, "is missing")
        number = self.needed[-1]
        found = read_number(getattr(self, number), f"{field}.{number}", *self.within)
        return replace(self, **{number: found})  # type: ignore[type-var]

    @property
    def exact(self) -> bool:
        return not isinstance(getattr(self, self.needed[-1]), float)


@dataclass(frozen=True)
class Cap(_OnColumns):
    """P(secret = level | released record, what she knows) <= at_most."""

    secret: str
    level: Any = None
    at_most: Any = None
    eve: str | None = None
    required: ClassVar[str] = "secret"
    names, needed, within = ("secret", "eve"), ("level", "at_most"), (0, 1)


@dataclass(frozen=True)
class Floor(_OnColumns):
    """The risk of this Eve is at least at_least; without a name, of the only one."""

    eve: str | None = None
    at_least: Any = None
    required: ClassVar[str] = "at_least"
    names, needed, within = ("eve",), ("at_least",), (0,)


@dataclass(frozen=True)
class ColumnPrivacy(_OnColumns):
    """q(i|x) <= exp_epsilon q(i|x') for record types that differ in this column only."""

    column: str
    exp_epsilon: Any = None
    required: ClassVar[str] = "column"
    names, needed, within = ("column",), ("exp_epsilon",), (1,)


_KINDS: dict[str, type] = {"cap": Cap, "floor": Floor, "dp": ColumnPrivacy}


@dataclass(frozen=True)
class StudyConditions:
    """What a release must satisfy: on columns, and on record types (`types`)."""

    types: Conditions
    cap: tuple[Cap, ...] = ()
    floor: tuple[Floor, ...] = ()
    dp: tuple[ColumnPrivacy, ...] = ()
    min_cell: Any = None
    on_columns: ClassVar[tuple[str, ...]] = (*_KINDS, "min_cell")

    @classmethod
    def of(cls, given: Any) -> StudyConditions | None:
        """Conditions from a mapping, or from Conditions on record types; None if there are none."""
        if given is None or isinstance(given, StudyConditions):
            return given
        if isinstance(given, Conditions):
            return None if given.empty else cls(given)
        if not isinstance(given, Mapping):
            raise InputError("conditions", given, "must be a table")
        own = {name: given[name] for name in cls.on_columns if given.get(name) is not None}
        rest = Conditions.of({name: value for name, value in given.items() if name not in cls.on_columns})
        try:
            read: dict[str, Any] = {
                name: rows_of(kind, own[name], name) for name, kind in _KINDS.items() if name in own
            }
            if "min_cell" in own:
                read["min_cell"] = read_number(own["min_cell"], "min_cell", 0)
        except InputError as error:
            raise InputError(f"conditions.{error.field}", error.value, error.rule) from None
        found = cls(rest, **read)
        return None if found == cls(Conditions()) else found

    @property
    def exact(self) -> bool:
        return self.types.exact and all_exact((*self.cap, *self.floor, *self.dp, self.min_cell))

    @property
    def convex(self) -> bool:
        """Whether mixtures of releases that meet the conditions on record types meet them too."""
        return not self.types.deterministic

    @property
    def splits(self) -> bool:
        """Whether the conditions hold for a study if they hold for its parts, up to numbers that all parts share."""
        coupled = self.floor or any(name in self.types.given() for name in COUPLING)
        return {*self.types.given()} <= _SPLIT and (self.convex or not coupled)

    @property
    def local(self) -> bool:
        """Whether there is more than numbers that couple the parts, and min_cell, which the bound does not know."""
        return bool(self.cap or self.dp or not self.by_rows)

    @property
    def by_rows(self) -> bool:
        """Whether caps and ratios are all that holds part by part."""
        return not {*self.types.given()} - {*COUPLING}

    def document(self) -> dict[str, Any]:
        """The [conditions] table that says the same."""
        own = {name: plain(getattr(self, name)) for name in self.on_columns}
        return {name: value for name, value in own.items() if value} | self.types.written()

    # on the columns of a study

    def caps(self, study: Study) -> Iterator[tuple[int, int, int, int, Any]]:
        """(number of the cap, Eve, column, level, at_most); refuses names that the study does not have."""
        for k, cap in enumerate(self.cap):
            field = f"conditions.cap[{k}]"
            column = _column(study, cap.secret, f"{field}.secret")
            level = level_of(study.columns[column], cap.level, f"{field}.level")
            wanting = [n for n, spy in enumerate(study.spies) if spy.secret == column]
            if cap.eve is not None:
                wanting = [_eve(study, cap.eve, f"{field}.eve")]
            elif not wanting:
                raise InputError(f"{field}.secret", cap.secret, "is wanted by no Eve: name one with eve")
            for n in wanting:
                yield k, n, column, level, EXACT.number(cap.at_most)

    def floors(self, study: Study) -> list[tuple[int, Any]]:
        """(Eve, at_least); refuses names that the study does not have."""
        out = []
        for k, floor in enumerate(self.floor):
            if floor.eve is None and len(study.spies) > 1:
                raise InputError(f"conditions.floor[{k}].eve", None, "is missing: there are several Eves")
            eve = 0 if floor.eve is None else _eve(study, floor.eve, f"conditions.floor[{k}].eve")
            out.append((eve, EXACT.number(floor.at_least)))
        return out

    def private(self, study: Study) -> list[tuple[int, Any]]:
        """(column, exp_epsilon); refuses names that the study does not have."""
        return [
            (_column(study, one.column, f"conditions.dp[{k}].column"), one.exp_epsilon) for k, one in enumerate(self.dp)
        ]

    def fitted(self, study: Study) -> StudyConditions:
        """The same with levels by their labels and Eves by their names; refuses what does not fit a study."""
        if self.types.margin is not None:
            rule = "is not available for records: its signals are more than published records"
            raise InputError("conditions.margin", self.types.margin, rule)
        self.private(study)
        labels = {k: study.columns[column].labels[level] for k, _, column, level, _ in self.caps(study)}
        names = [study.spies[n].name for n, _ in self.floors(study)]
        if names and not self.convex and len(study.spies) > 1:
            rule = "cannot be combined with deterministic where there are several Eves"
            raise InputError("conditions.floor", None, rule)
        counted = [spy.name for spy in study.spies if spy.score]  # the best report of a list is not the best of all
        for k, name in enumerate(names):
            if name in counted:
                rule = "reports probabilities: her risk is known up to a list of reports, so it cannot have a floor"
                raise InputError(f"conditions.floor[{k}].eve", name, rule)
        for limit in ("min_eve_risk", "signal_floor"):
            if counted and getattr(self.types, limit) is not None:
                rule = f"is not available where {counted[0]} reports probabilities: use a cap"
                raise InputError(f"conditions.{limit}", None, rule)
        cap = tuple(replace(one, level=labels[k]) for k, one in enumerate(self.cap))
        floor = tuple(replace(one, eve=name) for one, name in zip(self.floor, names, strict=True))
        return replace(self, cap=cap, floor=floor)

    def require(self, study: Study) -> None:
        """Refuse what no release can meet: the error names the cell."""
        types, exact = study.prior.types, EXACT.array(study.program.p)
        loose = EXACT.zero if study.program.exact and self.exact else LOOSE
        for k, n, column, level, most in self.caps(study):
            spy = study.spies[n]
            chance, inside = study.chances(spy), types[:, column] == level
            masses = [exact] if chance is None else [exact * own for own in chance.T]
            _, z = np.unique(study.known(types, spy), return_inverse=True)
            z, count = z.ravel(), int(z.max()) + 1
            for mass in masses:
                total, part = summed(mass, z, count), summed(mass[inside], z[inside], count)
                worst = max(range(count), key=lambda at: part[at] / total[at] if total[at] else EXACT.zero)
                share = part[worst] / total[worst]
                if share > most + loose * most:
                    place = words_of(study, types[int(np.argmax(z == worst))], spy.knows)
                    cell = f"{study.names[column]}={study.columns[column].labels[level]}"
                    rule = f"cannot be met: without any release {cell} has probability {_shown(share)} {place}"
                    raise InputError(f"conditions.cap[{k}].at_most", self.cap[k].at_most, rule)
        nulls = study.by_eve(extremes_of(study.program)[1][1])
        for k, (n, least) in enumerate(self.floors(study)):
            if least - loose * least > EXACT.number(nulls[n]):
                rule = f"cannot be met: without any release the risk of {study.spies[n].name} is {_shown(nulls[n])}"
                raise InputError(f"conditions.floor[{k}].at_least", self.floor[k].at_least, rule)
        if (least := self.types.min_eve_risk) is not None:
            whole = sum(
                (EXACT.number(s.weight) * EXACT.number(v) for s, v in zip(study.spies, nulls, strict=True)), EXACT.zero
            )
            if EXACT.number(least) * (1 - loose) > whole:
                raise InputError(
                    "conditions.min_eve_risk", least, f"cannot be met: without any release R_E is {_shown(whole)}"
                )
        if self.min_cell is not None and self.min_cell > study.records:
            rule = f"cannot be met: the prior is fitted to {study.records} records"
            raise InputError("conditions.min_cell", self.min_cell, rule)

    def disclosed(self, study: Study, threshold: int) -> dict[str, Any]:
        """What of the [conditions] table may be public: nothing on record types, no level that fewer records have."""
        out = {name: value for name, value in self.document().items() if name in self.on_columns}
        for k, _, column, level, _ in self.caps(study):
            out["cap"][k]["level"] = _level_shown(study, column, level, threshold)
        return out

    def sentences(self, study: Study, threshold: int = 0) -> list[str]:
        """What is promised, in words for the person who signs; no level that fewer records than threshold have."""
        out = []
        for _, n, column, level, most in self.caps(study):
            spy, name = study.spies[n], study.names[column]
            knows = " and ".join(study.names[k] for k in spy.knows)
            told = f", who knows {knows}," if knows else ""
            out.append(
                f"Whatever is released, {person(spy.name)}{told} gives {name} = "
                f"{_level_shown(study, column, level, threshold)} a probability of at most {hundred(public(most))} "
                "in 100."
            )
        for n, least in self.floors(study):
            out.append(f"The risk of {person(study.spies[n].name)} is at least {figure(public(least))}.")
        for one in self.dp:
            K, log = figure(one.exp_epsilon), math.log(one.exp_epsilon)
            out.append(
                f"For two records that differ only in {one.column}, every released record is at most {K} times as "
                f"likely for one as for the other: differential privacy of this column with ε = {log:.3g}."
            )
        if self.min_cell is not None:
            names = ", ".join(t.column for t in study.targets)
            out.append(
                f"Every combination of {names} that is ever released is expected for at least {figure(self.min_cell)} "
                f"of {study.records} records."
            )
        if "min_eve_risk" in self.types.given():
            out.append(f"R_E is at least {figure(self.types.min_eve_risk)}.")
        if "max_bob_risk" in self.types.given():
            out.append(f"R_B is at most {figure(self.types.max_bob_risk)}.")
        others = [name for name in self.types.given() if name not in COUPLING]
        return out + ([f"On record types: {', '.join(others)}."] if others else [])


def level_of(column: Column, level: Any, field: str) -> int:
    """The position of a level, by its label, or by the cell that has it."""
    text = str(level).lower() if isinstance(level, bool) else str(level)
    for names in (column.labels, column.values):
        if text in names:
            return names.index(text)
    if column.numeric and not column.bands:
        key = level_key(level, True)
        for at, value in enumerate(column.values):
            if value is not None and level_key(value, True) == key:
                return at
    some = ", ".join(map(show, column.labels[:12])) + (", ..." if len(column) > 12 else "")
    raise InputError(field, level, f"is not a level of {column.name}: it has {some}")


def words_of(study: Study, row: Array, columns: Sequence[int]) -> str:
    """Some columns of a record type in words: "among records with age=30, city=Ulm"."""
    told = ", ".join(f"{study.names[k]}={study.columns[k].labels[int(row[k])]}" for k in columns)
    return f"among records with {told}" if told else "among all records"


def _level_shown(study: Study, column: int, level: int, threshold: int) -> str:
    rare = int((study.codes[:, column] == level).sum()) < threshold
    return f"(a level of fewer than {threshold} records)" if rare else study.columns[column].labels[level]


def _shown(value: Any) -> str:
    found = public(value)
    return str(found) if not isinstance(found, float) and len(str(found)) < 12 else f"{float(found):.4g}"


def _column(study: Study, name: str, field: str) -> int:
    if name not in study.names:
        raise InputError(field, name, f"is not a column of the study: it has {', '.join(study.names)}")
    return study.names.index(name)


def _eve(study: Study, name: str, field: str) -> int:
    names = [spy.name for spy in study.spies]
    if name not in names:
        raise InputError(field, name, f"names no Eve: there is {', '.join(names)}")
    return names.index(name)
