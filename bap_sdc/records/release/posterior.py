"""The analyst's posterior: what a released file says about the population, given that the channel is public.

A released record s_k comes from a record of unknown type x_k with shares theta over the types. Data augmentation
alternates
    x_k | theta, s_k    with probabilities proportional to theta_x q(s_k|x)
    theta | x           Dirichlet(a + counts of the x_k)
Released records with the same signal (and the same kept columns) are exchangeable, so the first step is one
multinomial draw per distinct released record. A third step moves theta along what the released file cannot tell
(`bap_sdc.records.release.mixing`): without it the chain of a large file would not leave its start there. The
shares of types given (s, z) that the draws imply are also what an Eve with this analyst's prior believes. By
default a = min(1, sqrt(n) / types), so the prior weighs at most as much as sqrt(n) of the n records, the weight
that is minimax for the shares of a multinomial.

What the released columns do not identify stays as uncertain as under the prior. An example is a secret that is not
published, unless the channel depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.model.display import Displayed, counted
from bap_lp.rational import Array, InputError, ReadOnly, floats
from bap_sdc.records.data.prior import keys, rows_of
from bap_sdc.records.data.tables import pandas_module
from bap_sdc.records.release.mixing import directions, grouped, wandered

if TYPE_CHECKING:
    from bap_sdc.records.solution import StudySolution
    from bap_sdc.records.study import Study

_MOST = 400_000_000  # draws times types
_EM = 30  # steps from equal shares towards the mode: the chain starts where it will stay


@dataclass(frozen=True, eq=False, repr=False)
class RecordPosterior(ReadOnly, Displayed):
    """Draws of the shares of record types.

    types: (N, columns) levels. draws: (D, N). records: the released records used. unexplained: released records
    that no fitted type can be released as; they are left out.
    """

    study: Study
    types: Array
    draws: Array
    entries: tuple[Array, Array, Array]
    told: Array
    records: int
    unexplained: int

    def table(self, columns: str | Sequence[str], level: float = 0.95) -> Any:
        """Shares of the levels of one column, or of pairs of levels of two, with credible intervals.

        Args:
            columns: one or two columns of the study, published or not.
            level: the probability that an interval contains the share.

        Returns:
            A DataFrame with a row per cell: its mean, and low and high ends of the central interval.

        Raises:
            InputError: no such column, or a level outside (0, 1).
        """
        names = [columns] if isinstance(columns, str) else list(columns)
        if not 0 < level < 1:
            raise InputError("level", level, "must lie between 0 and 1")
        if not 1 <= len(names) <= 2 or len(set(names)) < len(names):
            raise InputError("columns", ", ".join(names), "must be one or two columns")
        at = [self._position(name) for name in names]
        sizes = [self.study.levels[k] for k in at]
        cell = keys(self.types[:, at], sizes)
        count = int(np.prod(sizes))
        shares = np.zeros((len(self.draws), count))
        for k in np.unique(cell):
            shares[:, k] = self.draws[:, cell == k].sum(axis=1)
        low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2], axis=0)
        pandas = pandas_module()
        labels = [
            [self.study.columns[k].labels[v] for v in rows_of(np.arange(count), sizes)[:, j]] for j, k in enumerate(at)
        ]
        index = (
            pandas.MultiIndex.from_arrays(labels, names=names)
            if len(names) == 2
            else pandas.Index(labels[0], name=names[0])
        )
        return pandas.DataFrame({"mean": shares.mean(axis=0), "low": low, "high": high}, index=index)

    def believes(
        self, column: str, released: Mapping[str, Any], known: Mapping[str, Any] | None = None
    ) -> dict[str, float]:
        """What an Eve with these draws believes about a column of one record.

        Args:
            column: the column she wants.
            released: the released cells of the record, by published column.
            known: the cells she knows, by column.

        Returns:
            The probability of every level.

        Raises:
            InputError: no such column or level, or no fitted record type is possible.
        """
        pandas = pandas_module()
        study, at = self.study, self._position(column)
        wanted = []
        for target in study.targets:
            if target.column not in released:
                raise InputError("released", target.column, "is missing")
            wanted.append(int(study[target.column].codes(pandas.Series([released[target.column]]), "released")[0]))
        possible = np.ones(len(self.types), dtype=bool)
        for name, cell in (known or {}).items():
            k = self._position(name)
            possible &= self.types[:, k] == study.columns[k].codes(pandas.Series([cell]), "known")[0]
        row, signal, q = self.entries
        match = (self.told == np.array(wanted)).all(axis=1)
        weight = np.zeros(len(self.types))
        use = match[signal] & possible[row]
        np.add.at(weight, row[use], q[use])
        joint = self.draws * weight
        total = joint.sum(axis=1, keepdims=True)
        if not (total > 0).any():
            raise InputError(
                "released", str(dict(released)), "cannot come from any fitted record type with these known cells"
            )
        joint = joint[total[:, 0] > 0] / total[total[:, 0] > 0]
        mean = joint.mean(axis=0)
        labels = study.columns[at].labels
        return {label: float(mean[self.types[:, at] == v].sum()) for v, label in enumerate(labels)}

    def _position(self, name: str) -> int:
        if name not in self.study.names:
            raise InputError("column", name, f"must be one of {', '.join(self.study.names)}")
        return self.study.names.index(name)

    def _headline(self) -> str:
        types = counted(len(self.types), "record type")
        return f": {counted(len(self.draws), 'draw')}, {types}, {counted(self.records, 'record')}"


def posterior_of(
    solution: StudySolution, released: Any, draws: int = 1000, seed: int = 0, concentration: float | None = None
) -> RecordPosterior:
    """The posterior given a released file; see `StudySolution.posterior`."""
    study, channel = solution.study, solution.channel
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise InputError("draws", draws, "must be a positive integer")
    if concentration is not None and not 0 < concentration < np.inf:
        raise InputError("concentration", concentration, "must be positive and finite")
    names = [str(name) for name in released.columns]
    told = []
    for target in study.targets:
        if target.column not in names:
            raise InputError("released: column", target.column, "is missing")
        told.append(_released_codes(study, target.column, released))
    kept = [name for name in study.names if name in names and name not in [t.column for t in study.targets]]
    types = study.prior.types
    row, signal, q = channel.rows(types)
    marks = [study.names.index(name) for name in kept]
    extra = [_released_codes(study, name, released) for name in kept]
    sizes = [*channel.symbols, *(study.levels[k] for k in marks)]
    seen = keys(np.column_stack([*told, *extra]), sizes)
    sent = keys(np.column_stack([channel.decode(signal), types[row][:, marks]]), sizes)
    entries = (row, signal, floats(q).astype(float))
    signals = channel.decode(np.arange(channel.signals))
    return sampled(study, types, entries, signals, sent, seen, draws, seed, concentration)


def _released_codes(study: Study, name: str, released: Any) -> Array:
    column, cells = study[name], released[name]
    if not column.recoded:
        return column.codes(cells, "released")
    place = {value: k for k, value in enumerate(column.values) if value is not None}
    codes = np.array([column.missing if cell is None or cell != cell else place.get(str(cell), -1) for cell in cells])
    if (codes < 0).any():
        raise InputError(
            f"released: column {name!r}", str(cells.iloc[int((codes < 0).argmax())]), "is not one of its levels"
        )
    return codes.astype(np.int64)


def _padded(tables: list[tuple[Array, Array]], words: int) -> tuple[Array, Array]:
    """For every word the groups that may show it and how likely, side by side, padded with probability zero."""
    group = np.repeat(np.arange(len(tables)), [len(own) for own, _ in tables])
    word, q = (np.concatenate([table[k] for table in tables]) for k in (0, 1))
    order = np.argsort(word, kind="stable")
    start = np.searchsorted(word[order], np.arange(words + 1))
    length = np.diff(start)
    step = np.arange(int(length.max(initial=1)))
    inside = step < length[:, None]
    entry = order[np.minimum(start[:-1, None] + step, len(order) - 1)]
    return group[entry], np.where(inside, q[entry], 0.0)


def sampled(
    study: Study, types: Array, entries: tuple[Array, Array, Array], told: Array, sent: Array, seen: Array, draws: int,
    seed: int, concentration: float | None = None,
) -> RecordPosterior:  # fmt: skip
    """The chain. `sent`: what each entry of the channel shows in a file; `seen`: what each released record shows."""
    if draws * len(types) > _MOST:
        raise InputError("draws", draws, f"times {len(types)} record types must be at most {_MOST}")
    row, _, q = entries
    shown, counts = np.unique(seen, return_counts=True)
    possible = np.isin(shown, sent)
    unexplained = int(counts[~possible].sum())
    shown, counts = shown[possible], counts[possible]
    # words that nobody released count as one: no more than their sum is in the likelihood
    at = np.searchsorted(shown, sent)
    word = np.where(shown[np.minimum(at, len(shown) - 1)] == sent, at, len(shown)) if len(shown) else 0 * at
    group, tables = grouped(row, word, q, len(types))
    a = min(1.0, float(np.sqrt(len(seen))) / len(types)) if concentration is None else concentration
    weight = a * np.bincount(group, minlength=len(tables))
    ways = directions(tables, len(shown) + 1, weight)
    source, chance = _padded(tables, len(shown))
    generator = np.random.default_rng(seed)
    theta = weight / weight.sum()

    def shares() -> Array:
        table = theta[source] * chance + np.finfo(float).tiny * (chance > 0)  # a share may underflow to zero
        return table / table.sum(axis=1, keepdims=True)

    for _ in range(_EM):
        theta = weight + np.bincount(source.ravel(), (shares() * counts[:, None]).ravel(), len(tables))
        theta /= theta.sum()
    out = np.empty((draws, len(types)), dtype=np.float64)
    burn = max(draws // 4, 20)
    for k in range(-burn, draws):
        split = generator.multinomial(counts, shares()) if len(counts) else np.zeros(source.shape)
        gamma = generator.standard_gamma(weight + np.bincount(source.ravel(), split.ravel(), len(tables)))
        theta = gamma / gamma.sum()
        theta = wandered(theta, ways, generator)
        if k >= 0:
            part = generator.standard_gamma(a, len(types)) + np.finfo(float).tiny
            out[k] = theta[group] * part / np.bincount(group, part)[group]
    return RecordPosterior(study, types, out, entries, told, int(counts.sum()), unexplained)
