"""The channel on published columns: what an analyst may know about how a released file was made.

The mechanism q(s|x) depends on the whole record. For some published columns with true levels t and released levels s,
    C(s|t) = sum over x with these levels t of p(x) q(s|x) / p(t)
averages over the rest of the record under the prior. The released file has the shares phi = C^T theta where theta are
the true ones, so C is all that an estimate of theta needs. It is stored for every column and for pairs of columns that
are small. A level that the fitted records do not have is taken to be released as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.model.display import Displayed, counted
from bap_lp.rational import Array, InputError, floats
from bap_sdc.records.data.levels import distinct, key_of
from bap_sdc.records.data.prior import keys
from bap_sdc.records.release.channels import RecordChannel

if TYPE_CHECKING:
    from bap_sdc.records.study import Study

MOST_LEVELS = 400  # of a pair of columns whose channel is stored


@dataclass(frozen=True, eq=False, repr=False)
class PublishedChannel(Displayed):
    """C(s|t) for the published columns and for pairs of them. `StudySolution.published` makes it.

    Attributes:
        levels: by column, the text of its levels as a release writes them, None for missing.
        tables: by columns, a row per combination of true levels and a column per combination of released ones; the last
            of the columns changes fastest.
        steps: by columns, what each row was rounded to multiples of, 0 if it was not; nothing if no table was.

    >>> noise = {"columns": ["ill"], "levels": {"ill": ["no", "yes"]}}
    >>> noise["channel"] = {"ill": [[0.8, 0.2], [0.2, 0.8]]}
    >>> PublishedChannel.from_document(noise)
    <PublishedChannel: 1 column, 0 pairs>
    """

    levels: Mapping[str, tuple[str | None, ...]]
    tables: Mapping[tuple[str, ...], Array]
    steps: Mapping[tuple[str, ...], Array] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The published columns."""
        return tuple(self.levels)

    def codes(self, name: str, cells: Any) -> Array:
        """The level of every released cell of a column.

        Raises:
            InputError: a cell is not one of its levels.
        """
        levels = self.levels[name]
        numeric = len({key_of(v, True) for v in levels}) == len(levels)  # 7 and 07 may be two levels of text
        place = {None if v is None else key_of(v, numeric): k for k, v in enumerate(levels)}
        index, values = distinct(cells, f"released: column {name!r}")
        at = np.array([place.get(None if v is None else key_of(v, numeric), -1) for v in values], dtype=np.int64)
        if (at < 0).any():
            raise InputError(f"released: column {name!r}", str(values[int(at.argmin())]), "is not one of its levels")
        return at[index]

    def document(self) -> dict[str, Any]:
        """As JSON: `columns`, `levels` by column, `channel` by column, and `joint` for pairs of columns.

        If rows were rounded, `rounded` has their steps, by column and in every pair.
        """
        out: dict[str, Any] = {
            "columns": list(self.columns),
            "levels": {name: list(values) for name, values in self.levels.items()},
            "channel": {group[0]: table.tolist() for group, table in self.tables.items() if len(group) == 1},
        }
        if self.steps:
            out["rounded"] = {group[0]: step.tolist() for group, step in self.steps.items() if len(group) == 1}
        out["joint"] = [
            {"columns": list(group), "channel": table.tolist()}
            | ({"rounded": self.steps[group].tolist()} if group in self.steps else {})
            for group, table in self.tables.items()
            if len(group) > 1
        ]
        return out

    @staticmethod
    def from_document(document: Any) -> PublishedChannel:
        """Read what `document` gives.

        Raises:
            InputError: the document is something else, or a row does not sum to one.
        """
        try:
            names = [str(name) for name in document["columns"]]
            levels = {name: tuple(None if v is None else str(v) for v in document["levels"][name]) for name in names}
            given: list[tuple[tuple[str, ...], Any]] = [((name,), document["channel"][name]) for name in names]
            given += [(tuple(map(str, pair["columns"])), pair["channel"]) for pair in document.get("joint") or ()]
            tables = {group: np.array(rows, dtype=float) for group, rows in given}
            rounded: dict[tuple[str, ...], Any] = {
                (str(name),): row for name, row in (document.get("rounded") or {}).items()
            }
            rounded |= {tuple(map(str, pair["columns"])): pair.get("rounded") for pair in document.get("joint") or ()}
            steps = {group: np.array(row, dtype=float) for group, row in rounded.items() if row is not None}
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("channel", None, "must have columns, levels, and a matrix for every column") from None
        for group, table in tables.items():
            size = prod(len(levels.get(name, ())) for name in group)
            where = f"channel of {', '.join(group)}"
            if table.shape != (size, size) or not size:
                raise InputError(where, None, f"has shape {table.shape}, must have {(size, size)}")
            if not ((table >= 0).all() and np.abs(table.sum(axis=1) - 1).max() < 1e-6):
                raise InputError(where, None, "must have rows of probabilities that sum to one")
        for group, step in steps.items():
            if group not in tables or step.shape != tables[group].shape[:1] or not ((step >= 0) & (step <= 1)).all():
                raise InputError(f"rounded of {', '.join(group)}", None, "must be a step from 0 to 1 for every row")
        return PublishedChannel(levels, tables, steps)

    def _headline(self) -> str:
        return f": {counted(len(self.columns), 'column')}, {counted(len(self.tables) - len(self.columns), 'pair')}"


def published_channel(study: Study, channel: RecordChannel) -> PublishedChannel:
    """The channel of a release on its published columns."""
    types, p = study.prior.types, floats(study.prior.p).astype(float)
    names = [target.column for target in study.targets]
    told = channel.decode(np.arange(channel.signals))
    if channel.symbols != tuple(study.levels[k] for k in study.published):
        raise InputError("channel", channel.name, "must release levels of the published columns")

    def table(group: Sequence[int]) -> Array:
        sizes = [study.levels[study.published[j]] for j in group]
        truth = keys(types[:, [study.published[j] for j in group]], sizes)
        joint = channel.joint(types, p, truth, prod(sizes))
        shown = keys(told[:, list(group)], sizes)
        out = np.stack([np.bincount(shown, row, minlength=prod(sizes)) for row in joint])
        total = out.sum(axis=1, keepdims=True)
        return np.where(total > 0, out / np.where(total > 0, total, 1), np.eye(len(out)))

    groups: list[tuple[int, ...]] = [(j,) for j in range(len(names))]
    for pair in combinations(range(len(names)), 2):
        if prod(study.levels[study.published[j]] for j in pair) <= MOST_LEVELS:
            groups.append(pair)
    levels = {name: study[name].values for name in names}
    return PublishedChannel(levels, {tuple(names[j] for j in group): table(group) for group in groups})
