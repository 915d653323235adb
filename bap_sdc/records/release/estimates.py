"""What an analyst estimates from a released file and the channel on its columns: shares of levels, with intervals.

What is estimated is the file before the release: its shares theta. The released shares phi are C^T theta but for noise
(`published`), so theta^ = G phi^ with G an inverse of C^T, projected to the simplex. The variance is that of cells that
are changed on their own, as in randomised response, and of rows of C that were rounded, times the spread that the
channel states: it holds the secrets over which C averages, and what the model of these is off by. A column that is
released as it is has the shares of the file, without an error.

Where C^T has no inverse, some levels cannot be told apart whatever the number of records. Their intervals hold every
theta that agrees with the intervals of phi: two linear programs each. No prior takes part anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from statistics import NormalDist
from typing import Any

import numpy as np

from bap_lp.support.display import Displayed, counted, percent
from bap_lp.support.rational import Array, InputError
from bap_sdc.records.data.levels import distinct
from bap_sdc.records.data.prior import keys, rows_of
from bap_sdc.records.data.tables import as_pandas, pandas_module
from bap_sdc.records.release.published import PublishedChannel, inverse_of, variances

_ROUNDING = 1e-12  # of sums in floats
_FAINT = 0.1  # of the records: if fewer unchanged ones would tell as much, a warning says so


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseEstimates(Displayed):
    """Estimates from a released file. `estimates` and `StudySolution.posterior` make it.

    Attributes:
        channel: the channel on published columns.
        codes: by column, the levels of the released records.
        kept: columns of the file that were released as they are.

    >>> import pandas
    >>> from bap_sdc import PublishedChannel, estimates
    >>> noise = {"columns": ["ill"], "levels": {"ill": ["no", "yes"]}}
    >>> noise["channel"] = {"ill": [[0.8, 0.2], [0.2, 0.8]]}
    >>> released = pandas.DataFrame({"ill": ["no"] * 62 + ["yes"] * 38})
    >>> estimates(PublishedChannel.from_document(noise), released)
    <ReleaseEstimates: 100 records, columns ill>
    """

    channel: PublishedChannel
    codes: dict[str, Array]
    kept: dict[str, tuple[Any, ...]]

    @property
    def records(self) -> int:
        """The number of released records."""
        return len(next(iter(self.codes.values())))

    def table(self, columns: str | Sequence[str], level: float = 0.95) -> Any:
        """Shares of the levels of one column, or of pairs of levels of two published columns.

        Args:
            columns: one or two columns of the released file.
            level: how often an interval covers the share that the file had before the release.

        Returns:
            A DataFrame with a row per cell: `share`, `low` and `high`, and `raw`, the share in the released file.
            `attrs["warnings"]` says in words where the file tells little.

        Raises:
            InputError: the file has no such column, there is no channel for the pair, or level is outside (0, 1).
        """
        names = [columns] if isinstance(columns, str) else list(columns)
        if not 0 < level < 1:
            raise InputError("level", level, "must lie between 0 and 1")
        if not 1 <= len(names) <= 2 or len(set(names)) < len(names):
            raise InputError("columns", ", ".join(map(str, names)), "must be one or two columns")
        for name in names:
            if name not in self.codes:
                rule = f"is not a released column: these are {', '.join(self.codes)}"
                raise InputError("columns", name, rule)
        values = [self.kept.get(name) or self.channel.levels[name] for name in names]
        sizes = [len(v) for v in values]
        matrix, steps, spread = self._matrix(names, sizes)
        counts = np.bincount(keys(np.column_stack([self.codes[name] for name in names]), sizes), minlength=prod(sizes))
        share, low, high, worth = solved_shares(matrix, counts, level, steps, spread)
        pandas = pandas_module()
        at = rows_of(np.arange(prod(sizes)), sizes)
        labels = [["(missing)" if v[k] is None else v[k] for k in at[:, j]] for j, v in enumerate(values)]
        index = (
            pandas.MultiIndex.from_arrays(labels, names=names)
            if len(names) == 2
            else pandas.Index(labels[0], name=names[0])
        )
        raw = counts / max(counts.sum(), 1)
        out = pandas.DataFrame({"share": share, "low": low, "high": high, "raw": raw}, index=index)
        out.attrs["warnings"] = _warnings([" and ".join(map(str, row)) for row in zip(*labels, strict=True)], worth)
        return out

    def _matrix(self, names: list[str], sizes: list[int]) -> tuple[Array, Array | None, float]:
        """The matrix, the steps of its rows, and its spread."""
        if len(names) == 1 and names[0] in self.kept:
            return np.eye(sizes[0]), None, 1.0
        group, order, channel = tuple(names), np.arange(prod(sizes)), self.channel
        if group not in channel.tables:
            group, order = group[::-1], order.reshape(sizes[::-1]).T.ravel()
        if group not in channel.tables:
            rule = "have no channel of their own as a pair: ask for one at a time"
            raise InputError("columns", ", ".join(names), rule)
        steps = channel.steps[group][order] if group in channel.steps else None
        return channel.tables[group][np.ix_(order, order)], steps, channel.spreads.get(group, 1.0)

    def _lines(self) -> Iterator[str]:
        yield f"{counted(self.records, 'record')}, columns {', '.join(self.codes)}"


def estimates(channel: PublishedChannel, released: Any) -> ReleaseEstimates:
    """Estimates from a released file and the channel on its published columns: nothing else is needed.

    Args:
        channel: the channel, from `StudySolution.published` or from the file channel.json.
        released: a DataFrame of released records. Columns that the channel does not have were released as they are.

    Returns:
        The estimates; ask for a table of one or two columns.

    Raises:
        InputError: a published column is missing, a cell is not one of its levels, or there are no records.

    >>> import pandas
    >>> from bap_sdc import PublishedChannel, estimates
    >>> noise = {"columns": ["ill"], "levels": {"ill": ["no", "yes"]}}
    >>> noise["channel"] = {"ill": [[0.8, 0.2], [0.2, 0.8]]}
    >>> released = pandas.DataFrame({"ill": ["no"] * 62 + ["yes"] * 38})
    >>> estimates(PublishedChannel.from_document(noise), released).table("ill").share.round(2).tolist()
    [0.7, 0.3]
    """
    released = as_pandas(released, "released")
    released = released.set_axis([str(name) for name in released.columns], axis=1)
    if len(released) == 0:
        raise InputError("released", None, "has no records")
    codes, kept = {}, {}
    for name in channel.columns:
        if name not in released.columns:
            raise InputError("released: column", name, "is missing")
    for name in released.columns:
        if name in channel.levels:
            codes[name] = channel.codes(name, released[name])
        else:
            codes[name], values = distinct(released[name], f"released: column {name!r}")
            kept[name] = tuple(values)
    return ReleaseEstimates(channel, codes, kept)


def solved_shares(
    matrix: Array, counts: Array, level: float, steps: Array | None = None, spread: float = 1.0
) -> tuple[Array, Array, Array, Array]:
    """Shares, the ends of their intervals, and how much of the file they are worth: 0 if levels cannot be told apart.

    Args:
        matrix: C, a row per true level, a column per released one.
        counts: of the released levels.
        level: of the intervals.
        steps: what the rows of C were rounded to multiples of, if they were.
        spread: kappa, the size of the noise next to that of cells changed on their own.
    """
    n, z = int(counts.sum()), NormalDist().inv_cdf((1 + level) / 2)
    inverse, vague = inverse_of(matrix)
    plain = inverse @ (counts / n)
    share = _simplex(plain)
    variance = spread * variances(inverse, matrix, n * share, steps)
    errors = np.sqrt(np.where(variance > 1e-9, variance, 0)) / n
    middle = np.clip(plain, 0, 1)
    low, high = middle - z * errors - _ROUNDING, middle + z * errors + _ROUNDING
    width = np.clip(share, 0.5 / n, 1 - 0.5 / n)
    worth = 1 / (1 + n * errors**2 / (width * (1 - width)))
    if vague.any():
        worth = np.where(vague, 0.0, worth)
        low[vague], high[vague] = _possible(matrix, counts, np.flatnonzero(vague), level)
    low, high = np.minimum(np.clip(low, 0, 1), share), np.maximum(np.clip(high, 0, 1), share)
    unit = np.eye(len(matrix))
    # a level that stays and gets nothing
    alone = (matrix == unit).all(axis=1) & (matrix == unit).all(axis=0) & (errors == 0)
    share[alone] = low[alone] = high[alone] = counts[alone] / n
    return share, low, high, worth


def wilson(share: Array, n: Array, z: float) -> tuple[Array, Array]:
    """Wilson's interval of a binomial share."""
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def _simplex(point: Array) -> Array:
    """The nearest distribution: all entries less a number, or zero."""
    falling = np.sort(point)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(point) + 1)
    out = np.maximum(point - excess[np.flatnonzero(falling > excess)[-1]], 0)
    return out / out.sum()


def _possible(matrix: Array, counts: Array, levels: Array, level: float) -> tuple[Array, Array]:
    """The least and largest theta_t such that every phi_s lies in its interval, all together at the given level."""
    from scipy.optimize import linprog

    n, signals = int(counts.sum()), len(counts)
    z = NormalDist().inv_cdf(1 - (1 - level) / (2 * signals))
    low, high = wilson(counts / n, np.full(signals, float(n)), z)
    inside = np.vstack([matrix.T, -matrix.T]), np.concatenate([high, -low])
    ends = np.array([[0.0, 1.0]] * len(levels)).T
    for k, t in enumerate(levels):
        for j, sign in enumerate((1, -1)):
            aim = np.zeros(len(matrix))
            aim[t] = sign
            found = linprog(aim, *inside, A_eq=np.ones((1, len(matrix))), b_eq=[1], bounds=(0, 1))
            if found.status == 0:
                ends[j, k] = sign * found.fun
    return ends[0], ends[1]


def _warnings(names: Sequence[str], worth: Array) -> list[str]:
    """Where the file tells little, in words."""
    out = []
    if vague := [name for name, w in zip(names, worth, strict=True) if w == 0]:
        out.append(
            f"The release does not tell these levels apart from others: {', '.join(vague)}. Their intervals hold all "
            "that is possible, and their shares are a choice among equals."
        )
    faint = [(name, w) for name, w in zip(names, worth, strict=True) if 0 < w < _FAINT]
    out += [f"About {name} the file tells as much as {percent(w)} of its records, unchanged." for name, w in faint]
    return out
