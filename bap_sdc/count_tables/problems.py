"""`counts`: from n people in k cells to Alice's problem, in which tables that nobody can tell apart are merged.

**Cells taken together.** Let the parts be the coarsest partition of the cells such that every set of cells that an
agent asks about, or whose total is public, is a union of parts. Let T(x) be the table of the parts. Replace a mechanism
q(s|x) by the average q(s|t) = E[q(s|x) | T = t]. Losses depend on x through T, so nobody's risk changes, except that of
an Eve who also knows the table y of the others: hers can only grow, since she minimises once for every T(y) instead of
once for every y (docs/proofs/counts.md has the proof). Hence some optimal mechanism depends on x through T. T is again
Dirichlet-multinomial, with the sums of the alphas: the cells are taken together before any table is enumerated.

**Tables that look alike.** Of the tables of the parts, those on which every loss takes the same row form one state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp import Agent, InputError, Mechanism, Problem
from bap_lp.support.display import counted
from bap_lp.support.labels import Numbers
from bap_lp.support.rational import Array, floats, objects
from bap_sdc.count_tables.disclosure import Person
from bap_sdc.count_tables.layout import Layout, Set, atoms, read_layout
from bap_sdc.count_tables.questions import Asked, Face, exact_number, rational_rows, rounded
from bap_sdc.count_tables.reading import read_population, read_questions
from bap_sdc.count_tables.spaces import Population, Space, space_of

_MOST_ENTRIES = 20_000_000  # of all loss tables together
_MANY = 10_000  # labels that are made at once
_EXPANDED = 20_000_000  # entries of a mechanism on all tables


@dataclass(frozen=True)
class CountModel:
    """The parts of a problem about tables: the cells, the people, and what is asked."""

    layout: Layout
    population: Population
    bobs: tuple[Asked, ...]
    eves: tuple[Asked, ...]
    rough: bool  # whether the prior was given in floats

    @property
    def floats(self) -> bool:
        """Whether any number was given as a float."""
        return self.rough or any(asked.floats() for asked in (*self.bobs, *self.eves))

    def place(self, role: str, k: int) -> str:
        """How errors call an agent."""
        several = len(self.bobs if role == "bob" else self.eves) > 1
        return f"{role}[{k}]" if several else role

    def agents(self) -> list[tuple[str, str, Asked]]:
        """(role, place, question) of every agent."""
        groups = (("bob", self.bobs), ("eve", self.eves))
        return [(role, self.place(role, k), asked) for role, group in groups for k, asked in enumerate(group)]

    def sets(self) -> list[Set]:
        """Every set of cells that matters to somebody."""
        found = [s for _, place, asked in self.agents() for s in asked.sets(self.layout, place)]
        return [*found, *(cells for cells, _ in self.population.totals)]

    @cached_property
    def parts(self) -> tuple[Set, ...]:
        """The parts: cells that no question distinguishes are merged."""
        return atoms(self.sets(), self.layout)

    @cached_property
    def cells(self) -> Space:
        """All tables, without merged cells."""
        return space_of(self.population, [frozenset([i]) for i in range(len(self.layout.cells))])


class TableLabels(Numbers):
    """The labels "3|0|5|2" of many tables, made when asked for; "(+4)" if four more tables are in the same state."""

    def __init__(self, tables: Array, more: Array) -> None:
        super().__init__(len(tables))
        self._tables, self._more = tables, more

    def _label(self, k: int) -> str:
        shown = "|".join(map(str, self._tables[k].tolist()))
        return shown if not self._more[k] else f"{shown} (+{self._more[k]})"

    def __getitem__(self, k: Any) -> Any:
        return tuple(map(self._label, self._range[k])) if isinstance(k, slice) else self._label(self._range[k])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        found = self._find(name)
        if found is None:
            raise ValueError(f"{name!r} is not a label")
        return found

    def _find(self, name: str) -> int | None:
        try:
            table = [int(v) for v in name.split(" ")[0].split("|")]
        except ValueError:
            return None
        k = position(self._tables, table)
        return k if k is not None and self._label(k) == name else None

    def __hash__(self) -> int:
        return hash(self._range)


def position(tables: Array, table: Sequence[int]) -> int | None:
    """The row of a table among tables in lexicographic order."""
    if len(table) != tables.shape[1]:
        return None
    low, high = 0, len(tables)
    for a, value in enumerate(table):
        column = tables[low:high, a]
        left, right = (int(np.searchsorted(column, value, side)) for side in ("left", "right"))
        low, high = low + left, low + right
    return low if high > low else None


class TableProblem(Problem):
    """Alice's problem when the data are a table of counts. Its states are the tables that somebody can tell apart.

    `cells` names the entries of a state's label; cells that no question distinguishes are merged. `tables` is the
    number of all tables. `error` bounds how far the rounded losses of a float problem can move (R_B, R_E).
    `counts` makes it.

    Args:
        model: the law of the counts.
        space: the tables, with their weights.
        index: the class of every table.
        count: the number of classes.
        agents: gives the agents for the first table of every class.
        title: a title for people.

    >>> from bap_sdc import counts
    >>> found = counts(4, ["ill", "well"], bob={"cells": "ill", "loss": "0-1", "thresholds": ["1/4"]},
    ...                eve={"cells": "ill", "asks": "small", "below": 2})
    >>> type(found).__name__, found.tables
    ('TableProblem', 5)
    """

    def __init__(self, model: CountModel, space: Space, index: Array, count: int, agents: Any, title: str) -> None:
        order = np.argsort(index, kind="stable")
        starts = np.flatnonzero(np.diff(index[order], prepend=-1))
        sums = np.add.reduceat(space.weights[order], starts)
        first = order[starts]
        more = np.diff(starts, append=len(order)) - 1
        names: Any = TableLabels(space.tables[first], more)
        rank = np.lexsort(space.tables[first].T[::-1])  # classes are numbered by their first table
        assert (rank == np.arange(count)).all()
        prior = objects(fmpq(w, space.total) for w in sums.tolist())
        exact, bobs, eves, error = agents(first)
        super().__init__(
            prior if exact else floats(prior),
            bobs=bobs,
            eves=eves,
            states=names if count > _MANY else names[:],
            title=title,
        )
        self.model, self.error = model, error
        self._space, self._index = space, index
        self.cells = tuple(model.layout.name(part) for part in space.parts)
        self.tables = space.members()
        self._freeze()

    def state_of(self, table: Any) -> str:
        """The label of the state that holds a table, given as the counts of all cells.

        Args:
            table: a list with the number of people in every cell, or a label such as "3|0|5|2".

        Returns:
            The state, whose row of a mechanism is the one to draw from.

        Raises:
            InputError: it is not a table of this problem.
        """
        layout = self.model.layout
        values = table.split("|") if isinstance(table, str) else list(np.ravel(table))
        try:
            x = [int(v) for v in values]
        except ValueError:
            x = []
        if len(x) != len(layout.cells) or min(x) < 0:
            raise InputError("table", table, f"must be {counted(len(layout.cells), 'count')}, one per cell")
        k = position(self._space.tables, [sum(x[i] for i in part) for part in self._space.parts])
        if k is None:
            raise InputError("table", table, f"must have {self.model.population.n} people and the public totals")
        return self.states[int(self._index[k])]

    def expand(self, mechanism: Mechanism) -> Mechanism:
        """A mechanism on the states as one on all tables, labelled "3|0|5|2" with the counts of all cells."""
        if self.tables * len(mechanism.signals) > _EXPANDED:
            raise InputError("tables", f"{self.tables:,}", "are too many to list: use state_of for the one you hold")
        if len(mechanism.q) != len(self.p):
            raise InputError("mechanism", repr(mechanism), f"must have {len(self.p)} states")
        whole = self.model.cells
        parts = np.stack([whole.tables[:, sorted(part)].sum(axis=1) for part in self._space.parts], axis=1)
        both, codes = np.vstack([self._space.tables, parts]).astype(np.int64), None
        for column in both.T:
            seen = column if codes is None else codes * (self.model.population.n + 1) + column
            codes = np.unique(seen, return_inverse=True)[1]
        assert codes is not None
        state = np.empty(codes.max() + 1, dtype=np.int64)
        state[codes[: len(self._space)]] = self._index
        names = TableLabels(whole.tables, np.zeros(len(whole), dtype=np.int64))
        return mechanism.expanded(state[codes[len(self._space) :]], self.p, names[:])

    def _lines(self) -> Iterator[str]:
        yield from super()._lines()
        who = self.model.population
        people = f"{who.n} people in {counted(len(self.model.layout.cells), 'cell')}"
        known = " with the public totals" if who.totals else ""
        yield f"There are {self.tables:,} tables of {people}{known}; they form {counted(len(self.p), 'state')}."


def counts(
    n: int | None = None,
    cells: Any = None,
    *,
    bob: Any,
    eve: Any,
    alpha: Any = 1,
    rows: Any = None,
    columns: Any = None,
    row_totals: Sequence[int] | None = None,
    column_totals: Sequence[int] | None = None,
    totals: Sequence[Mapping[str, Any]] = (),
    merge: bool = True,
    title: str = "",
) -> TableProblem:
    """Alice's problem when she holds a table of counts: n people in k cells, theta ~ Dirichlet(alpha).

    Args:
        n: the number of people; it may be left out if the totals of all rows or of all columns are given.
        cells: the number of cells, which are then called "1", "2", ..., or their names.
        bob: what Bob asks: a question (`bap_sdc.count_tables.questions`), its keys as a dictionary, or a list of these.
        eve: what Eve asks, in the same way.
        alpha: the prior: one positive number for all cells, or a list (of lists, for a two-way table).
        rows: instead of cells, the names (or number) of the rows of a two-way table, whose cells are "row column".
        columns: the names (or number) of its columns.
        row_totals: the totals of the rows, if they are public.
        column_totals: the totals of the columns, if they are public.
        totals: further public totals, each {"cells": names, "total": number}.
        merge: whether tables that nobody can tell apart form one state; the optimum is the same.
        title: a name for tables and pictures.

    Returns:
        The problem. It is exact if all numbers are and if the alphas that a threshold or an absolute loss involves are
        integers; otherwise its losses are floats, and `error` bounds what rounding does to the risks.

    Raises:
        InputError: a number, a name or a total breaks a rule, no table has the totals, or there are too many tables.

    >>> from bap_lp import solve
    >>> from bap_sdc import counts
    >>> problem = counts(10, ["a", "b", "c"], bob={"cells": "a", "loss": "0-1", "thresholds": ["1/4"]},
    ...                  eve={"cells": "b", "asks": "below", "below": 3})
    >>> problem, problem.tables, problem.states[:3]
    (<TableProblem: exact, (N, b, e) = (19, 2, 2)>, 66, ('0|0|10 (+2)', '0|3|7 (+7)', '1|0|9 (+2)'))
    >>> print(solve(problem).value)
    -11212451/92274688
    """
    layout = read_layout(cells, rows, columns)
    population, rough = read_population(layout, n, alpha, row_totals, column_totals, totals)
    bobs, eves = read_questions(bob, "bob"), read_questions(eve, "eve")
    model = CountModel(layout, population, bobs, eves, rough)
    for k, asked in enumerate(bobs):
        if isinstance(asked, Person) and asked.knows == "others":
            raise InputError(f"{model.place('bob', k)}.knows", "others", "is for Eve only")
    parts = model.parts
    space = space_of(population, parts) if merge else model.cells
    faces = _faces(model, space)
    index = np.arange(len(space))
    if merge:
        index = np.zeros(len(space), dtype=np.int64)
        for _, _, found in faces:
            for face in found:
                index = np.unique(index * len(face.rows) + face.codes, return_inverse=True)[1]
        _, first, index = np.unique(index, return_index=True, return_inverse=True)
        index = np.argsort(np.argsort(first))[index]  # by first table
    count = int(index.max()) + 1
    width = sum(len(face.decisions) for _, _, found in faces for face in found)
    if count * width > _MOST_ENTRIES:
        raise InputError(
            "tables",
            None,
            f"are too many: {count:,} with {width} decisions, at most {_MOST_ENTRIES:,} losses are allowed",
        )
    return TableProblem(model, space, index, count, _agents_on(model, faces), title)


Faces = list[tuple[str, Asked, list[Face]]]


def _faces(model: CountModel, space: Space) -> Faces:
    for _, place, asked in model.agents():
        if isinstance(asked, Person) and asked.knows == "others" and len(space) ** 2 * 2 > _MOST_ENTRIES:
            rule = f'= "others" needs a loss for every table and every table of the others: {len(space):,} are too many'
            raise InputError(f"{place}.knows", None, rule)
    return [(role, asked, asked.faces(space, model.layout, place)) for role, place, asked in model.agents()]


def _agents_on(model: CountModel, faces: Faces) -> Any:
    """A function from the first tables of the states to (exact, bobs, eves, error)."""
    exact = not model.floats and all(rational_rows(face.rows) for _, _, found in faces for face in found)

    def agents(first: Array) -> tuple[bool, list[Agent], list[Agent], tuple[float, float]]:
        groups: dict[str, list[Agent]] = {"bob": [], "eve": []}
        errors = {"bob": 0.0, "eve": 0.0}
        before = {"bob": 0, "eve": 0}
        for role, asked, found in faces:
            before[role] += 1
            name = asked.name or role.capitalize() + (str(before[role]) if before[role] > 1 else "")
            for face in found:
                table, error = (face.rows, 0.0) if exact else rounded(face.rows)
                called = f"{name} ({face.note})" if face.note else name
                groups[role].append(Agent(table[face.codes[first]], face.decisions, called, asked.weight))
                errors[role] += error * float(exact_number(asked.weight, "weight"))
        return exact, groups["bob"], groups["eve"], (errors["bob"], errors["eve"])

    return agents
