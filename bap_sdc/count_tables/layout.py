"""The cells of a table and how people speak of them: a cell, a row, a column, or several of these together.

A one-way table has named cells. A two-way table has a cell "row column" for every row and column, in this order, and
the name of a row or column stands for all its cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bap_lp import InputError
from bap_lp.support.labels import labels
from bap_lp.support.rational import show

Set = frozenset[int]


@dataclass(frozen=True)
class Layout:
    """The names of the cells and, for a two-way table, of its rows and columns."""

    cells: tuple[str, ...]
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @cached_property
    def groups(self) -> Mapping[str, Set]:
        """Every name and the positions of its cells."""
        wide = len(self.columns)
        out = {name: frozenset([i]) for i, name in enumerate(self.cells)}
        out |= {name: frozenset(range(r * wide, (r + 1) * wide)) for r, name in enumerate(self.rows)}
        return out | {name: frozenset(range(c, len(self.cells), wide)) for c, name in enumerate(self.columns)}

    @property
    def everything(self) -> Set:
        return frozenset(range(len(self.cells)))

    def read(self, names: Any, field: str) -> Set:
        """The cells that a name, or a list of names, stands for; "all" stands for all of them."""
        if isinstance(names, frozenset) and names <= self.everything and names:
            return names
        if isinstance(names, (str, int)) and not isinstance(names, bool):
            names = [names]
        if not isinstance(names, Sequence):
            raise InputError(field, names, "must be the name of a cell or a list of names")
        if not names:
            raise InputError(field, None, "must not be empty")
        found: Set = frozenset()
        for k, name in enumerate(names):
            place = field if len(names) == 1 else f"{field}[{k}]"
            key = str(name) if isinstance(name, int) else name
            if key == "all" and "all" not in self.groups:
                more = self.everything
            elif not isinstance(key, str) or key not in self.groups:
                known = ", ".join(map(show, list(self.groups)[:6])) + (", ..." if len(self.groups) > 6 else "")
                raise InputError(place, name, f"is not a cell: the table has {known}")
            else:
                more = self.groups[key]
            if found & more:
                twice = self.cells[min(found & more)]
                raise InputError(place, name, f"repeats the cell {show(twice)}")
            found |= more
        return found

    def name(self, cells: Iterable[int]) -> str:
        """A short name of a set of cells: that of the row or column, or the cells joined by "+"."""
        wanted = frozenset(cells)
        known = next((name for name, group in self.groups.items() if group == wanted), None)
        return known if known is not None else "+".join(self.cells[i] for i in sorted(wanted))


def read_layout(cells: Any, rows: Any, columns: Any) -> Layout:
    """A layout from what the user gave: a number or names of cells, or names (or numbers) of rows and columns."""
    if (rows is None) != (columns is None):
        raise InputError("columns" if columns is None else "rows", None, "is missing: a two-way table has both")
    if (cells is None) == (rows is None):
        raise InputError("cells", None, "or rows and columns must be given, one of the two")
    if rows is None:
        return Layout(_names(cells, "cells", ""))
    across, down = _names(columns, "columns", "column "), _names(rows, "rows", "row ")
    if len(down) * len(across) > _MOST_CELLS:
        rule = f"and columns make {len(down) * len(across):,} cells, at most {_MOST_CELLS:,} are allowed"
        raise InputError("rows", None, rule)
    joined = tuple(f"{r} {c}" for r in down for c in across)
    labels([*down, *across, *joined], "names of rows, columns and cells", len(down) + len(across) + len(joined))
    return Layout(joined, down, across)


def _names(names: Any, field: str, prefix: str) -> tuple[str, ...]:
    if isinstance(names, int) and not isinstance(names, bool):
        if not 1 <= names <= _MOST_CELLS:
            raise InputError(field, names, f"must be between 1 and {_MOST_CELLS}")
        return tuple(f"{prefix}{k + 1}" for k in range(names))
    if not isinstance(names, Sequence) or isinstance(names, str):
        raise InputError(field, names, "must be a number or a list of names")
    if not names:
        raise InputError(field, None, "must not be empty")
    if len(names) > _MOST_CELLS:
        raise InputError(field, None, f"has {len(names)} names, must have at most {_MOST_CELLS}")
    return tuple(labels(names, field, len(names)))


_MOST_CELLS = 1000


def atoms(sets: Iterable[Set], layout: Layout) -> tuple[Set, ...]:
    """The coarsest partition of the cells such that every set is a union of its parts, by first cell."""
    wanted = list(dict.fromkeys(sets))
    found: dict[tuple[bool, ...], list[int]] = {}
    for i in range(len(layout.cells)):
        found.setdefault(tuple(i in s for s in wanted), []).append(i)
    return tuple(frozenset(group) for group in found.values())
