"""What an analyst estimates from a released file and the channel on its columns: shares of levels, with intervals.

The released shares phi = C^T theta (`published`), so theta^ = G phi^ with G the inverse of C^T, projected to the
simplex. A released record s contributes G[t,s], so
    n var theta^_t = var G[t,S] = theta_t (1 - theta_t) + E var(G[t,S] | true level),
the binomial variance of the share among n records, and what the release adds. With n' = theta (1 - theta) / var, the
number of unchanged records that tell as much, the interval is Wilson's for n' records. A column that the release leaves
as it is has n' = n: the interval of the raw share. C averages over the rest of the record; var(G[t,S] | true level)
contains the variance of that average, so the interval covers also if C was fitted to a part of the same records.

Where C^T has no inverse, some levels cannot be told apart whatever the number of records. Their intervals hold every
theta that agrees with the intervals of phi: two linear programs each. No prior takes part anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from statistics import NormalDist
from typing import Any

import numpy as np

from bap_lp.model.display import Displayed, counted, percent
from bap_lp.rational import Array, InputError
from bap_sdc.records.data.levels import distinct
from bap_sdc.records.data.prior import keys, rows_of
from bap_sdc.records.data.tables import as_pandas, pandas_module
from bap_sdc.records.release.published import PublishedChannel

_SINGULAR = 1e-9  # a singular value of C below this is zero
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
            level: how often an interval covers the share in the population that the records are drawn from.

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
        matrix = np.eye(sizes[0]) if names[0] in self.kept and len(names) == 1 else self._matrix(names, sizes)
        counts = np.bincount(keys(np.column_stack([self.codes[name] for name in names]), sizes), minlength=prod(sizes))
        share, low, high, worth = solved_shares(matrix, counts, level)
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

    def _matrix(self, names: list[str], sizes: list[int]) -> Array:
        tables = self.channel.tables
        if tuple(names) in tables:
            return tables[tuple(names)]
        if tuple(names[::-1]) in tables:
            order = np.arange(prod(sizes)).reshape(sizes[::-1]).T.ravel()
            return tables[tuple(names[::-1])][np.ix_(order, order)]
        raise InputError("columns", ", ".join(names), "have no channel of their own as a pair: ask for one at a time")

    def _headline(self) -> str:
        return f": {counted(self.records, 'record')}, columns {', '.join(self.codes)}"


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


def solved_shares(matrix: Array, counts: Array, level: float) -> tuple[Array, Array, Array, Array]:
    """Shares, the ends of their intervals, and n' / n of each: 0 where levels cannot be told apart.

    Args:
        matrix: C, a row per true level, a column per released one.
        counts: of the released levels.
        level: of the intervals.
    """
    n, z = int(counts.sum()), NormalDist().inv_cdf((1 + level) / 2)
    left, size, right = np.linalg.svd(matrix.T)
    lost = np.append(size, np.zeros(matrix.shape[0] - len(size))) < _SINGULAR
    vague = np.abs(right[lost]).max(axis=0, initial=0.0) > 1e-6  # levels in a direction that changes no phi
    inverse = right[~lost].T @ (left[:, : len(lost)][:, ~lost] / size[~lost[: len(size)]]).T
    phi = (counts + 0.5) / (n + 0.5 * len(counts))
    plain = inverse @ (counts / n)
    theta = np.clip(inverse @ phi, 0.5 / n, 1 - 0.5 / n)
    spread = np.maximum(inverse**2 @ phi - (inverse @ phi) ** 2, 1e-300)
    worth = np.minimum(theta * (1 - theta) / spread, 1.0)
    low, high = wilson(np.clip(plain, 0, 1), n * worth, z)
    share = _simplex(plain)
    if vague.any():
        worth = np.where(vague, 0.0, worth)
        low[vague], high[vague] = _possible(matrix, counts, np.flatnonzero(vague), level)
    return share, np.minimum(low, share), np.maximum(high, share), worth


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
