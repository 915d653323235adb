"""The channel on published columns: what an analyst may know about how a released file was made.

The mechanism q(s|x) depends on the whole record x = (r, y), y its secrets. For some published columns with true levels
t and released levels s,
    C(s|t) = sum over records i with these levels t, and over y, of P(y|r_i) q(s|r_i,y) / their number,
with P of the study's model: held-out secrets take no part. For N_s released and n_t true records
    e_s = N_s - sum_t n_t C(s|t)
has mean zero if the secrets are as P says, and the covariance D + V, where types x have the weight w(x) = n(r) P(y|r):
    D = sum_x w(x) [diag q(.|x) - q(.|x) q(.|x)']                 the draws
    V = sum_x w(x) d(x) d(x)' - sum_r n(r) b(r) b(r)'             the secrets;  d(x) = q(.|x) - C(.|t(x)), b(r) its mean
A model of the shares themselves, fitted to m records, would be off by (k^2 / (n m)) V on k records that it has not
seen; a classifier has fewer parameters, and a quarter of it is what is found on real tables. If no record of the file
is held out, P is its own shares: the secrets add nothing, and the covariance is D.


Shares theta are estimated by G N / n, G the inverse of the channel that is shown. Its rows may be rounded to multiples
of h_t, or say that rare levels stay as they are (h_t = 1). If that is taken for uniform noise, and cells change one by
one by the channel shown, then n^2 var theta^ is
    diag G [M + B] G',      M = sum_t n_t [diag C(.|t) - C(.|t) C(.|t)'],      B = identity * sum_t (n_t h_t)^2 / 12,
which an analyst can work out. The true variances have cov e in place of M, and in place of B what rounding does to the
entries that there are. One number is told besides, `spread`: kappa, the mean over the levels of the ratio of the true
variance to that. Numbers for every level would tell more about single records. All this is stored for every column and
for pairs of columns that are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from bap_lp.support.display import Displayed, counted
from bap_lp.support.rational import Array, InputError, floats
from bap_sdc.records.data.conditional import Conditional
from bap_sdc.records.data.levels import distinct, key_of
from bap_sdc.records.data.prior import Sample, keys, rows_of
from bap_sdc.records.release.channels import TableChannel

if TYPE_CHECKING:
    from bap_sdc.records.study import Study

MOST_LEVELS = 400  # of a pair of columns whose channel is stored
# of the square of what is fixed: an interval needs less than all of it to hold a fixed error, and levels differ
_FIXED = 0.9
_UNIFORM = 12**0.5  # of uniform noise, its range over its standard deviation
_OFF = 0.25  # how far a classifier is off, where 1 would be the shares of the fitted records
_SINGULAR = 1e-9  # a singular value of C below this is zero


@dataclass(frozen=True, eq=False, repr=False)
class PublishedChannel(Displayed):
    """C(s|t) for the published columns and for pairs of them. `StudySolution.published` makes it.

    Attributes:
        levels: by column, the text of its levels as a release writes them, None for missing.
        tables: by columns, a row per combination of true levels and a column per combination of released ones; the last
            of the columns changes fastest.
        steps: by columns, what each row was rounded to multiples of, 0 if it was not; nothing if no table was.
        spreads: by columns, how large the noise is next to that of cells which are changed one by one; see above.

    >>> noise = {"columns": ["ill"], "levels": {"ill": ["no", "yes"]}}
    >>> noise["channel"] = {"ill": [[0.8, 0.2], [0.2, 0.8]]}
    >>> PublishedChannel.from_document(noise)
    <PublishedChannel: 1 column, 0 pairs>
    """

    levels: Mapping[str, tuple[str | None, ...]]
    tables: Mapping[tuple[str, ...], Array]
    steps: Mapping[tuple[str, ...], Array] = field(default_factory=dict)
    spreads: Mapping[tuple[str, ...], float] = field(default_factory=dict)

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

        If rows were rounded, `rounded` has their steps, and `spread` what is told of the noise, by column and pair.
        """
        out: dict[str, Any] = {
            "columns": list(self.columns),
            "levels": {name: list(values) for name, values in self.levels.items()},
            "channel": {group[0]: table.tolist() for group, table in self.tables.items() if len(group) == 1},
        }
        if self.steps:
            out["rounded"] = {group[0]: step.tolist() for group, step in self.steps.items() if len(group) == 1}
        if self.spreads:
            out["spread"] = {group[0]: spread for group, spread in self.spreads.items() if len(group) == 1}
        out["joint"] = [
            {"columns": list(group), "channel": table.tolist()}
            | ({"rounded": self.steps[group].tolist()} if group in self.steps else {})
            | ({"spread": self.spreads[group]} if group in self.spreads else {})
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
            told: dict[tuple[str, ...], Any] = {(str(n),): v for n, v in (document.get("spread") or {}).items()}
            told |= {tuple(map(str, pair["columns"])): pair.get("spread") for pair in document.get("joint") or ()}
            spreads = {group: float(v) for group, v in told.items() if v is not None}
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
        for group, spread in spreads.items():
            if group not in tables or not 0 <= spread < np.inf:
                raise InputError(f"spread of {', '.join(group)}", spread, "must be a non-negative number")
        return PublishedChannel(levels, tables, steps, spreads)

    def _lines(self) -> Iterator[str]:
        yield f"{counted(len(self.columns), 'column')}, {counted(len(self.tables) - len(self.columns), 'pair')}"


@dataclass(frozen=True, eq=False)
class Moments:
    """How many records have each true level t, the channel C, and the covariance of e (above).

    >>> noise = 5 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> half = Moments(np.array([10.0, 10.0]), np.full((2, 2), 0.5), noise)
    >>> half.spread(np.array([0, 1]), np.array([[0.8, 0.2], [0.2, 0.8]]))  # 5 in place of 3.2
    1.5625
    """

    count: Array
    table: Array
    noise: Array

    def spread(self, at: Array, shown: Array, steps: Array | None = None) -> float:
        """Kappa, if the levels `at` are read with the matrix shown, whose rows were rounded to these steps."""
        inverse, _ = inverse_of(shown)
        count, noise, fixed = self.count[at], self.noise[np.ix_(at, at)], np.zeros(len(at))
        if steps is not None:
            own, unit = self.table[np.ix_(at, at)], np.eye(len(at))
            same = (shown == unit).all(axis=1) & (steps > 0)  # rows that say that nothing changes: off by all they hide
            fixed = inverse @ (count * same @ (own - unit))
            off = np.where(same[:, None], 0, np.minimum(own, steps[:, None] / _UNIFORM) * count[:, None]) * (1 - unit)
            noise = noise + np.diag((off**2).sum(axis=0) + (off**2).sum(axis=1)) - off**2 - (off**2).T
        true = np.einsum("ts,su,tu->t", inverse, noise, inverse) + _FIXED * fixed**2
        told = variances(inverse, shown, count, steps)
        changed = told > 1e-9 * max(told.max(initial=0.0), 1.0)
        return float(round((true[changed] / told[changed]).mean(), 9)) if changed.any() else 1.0


def variances(inverse: Array, matrix: Array, count: Array, steps: Array | None = None) -> Array:
    """diag G (M + B) G', the variances of the estimated counts of levels if every cell is changed on its own."""
    spread = inverse**2 @ (count @ matrix) - (inverse @ matrix.T) ** 2 @ count
    return spread if steps is None else spread + (inverse**2).sum(axis=1) * ((count * steps) ** 2).sum() / 12


def inverse_of(matrix: Array) -> tuple[Array, Array]:
    """G, an inverse of the transposed channel, and which levels cannot be told from others."""
    left, size, right = np.linalg.svd(matrix.T)
    lost = size < _SINGULAR
    vague = np.abs(right[lost]).max(axis=0, initial=0.0) > 1e-6  # levels in a direction that changes no phi
    return right[~lost].T @ (left[:, ~lost] / size[~lost]).T, vague


def moments(study: Study, channel: TableChannel, codes: Array | None = None) -> dict[tuple[str, ...], Moments]:
    """The moments of a release of records, those of the study unless codes are given, by published columns."""
    if channel.symbols != tuple(study.levels[k] for k in study.published):
        raise InputError("channel", channel.name, "must release levels of the published columns")
    types, home, chance, records, doubt = _beliefs(study, study.codes if codes is None else codes)
    channel = channel.over(types)
    row, signal, q = channel.rows(types)
    q, told, names = floats(q).astype(float), channel.decode(signal), [target.column for target in study.targets]
    mean = csr_array((chance, (home, np.arange(len(types)))), shape=(len(records), len(types)))
    weight = chance * records[home]

    def of(group: Sequence[int]) -> Moments:
        sizes = [study.levels[study.published[j]] for j in group]
        size = prod(sizes)
        law = csr_array((q, (row, keys(told[:, list(group)], sizes))), shape=(len(types), size))
        truth = keys(types[:, [study.published[j] for j in group]], sizes)
        level = csr_array((np.ones(len(types)), (np.arange(len(types)), truth)), shape=(len(types), size))
        count = level.T @ weight
        joint = (level.T @ (law * weight[:, None])).toarray()
        table = np.where(count[:, None] > 0, joint / np.where(count > 0, count, 1)[:, None], np.eye(size))
        second = (law.T @ (law * weight[:, None])).toarray()
        means, levels = mean @ law, mean @ level
        cross = (means.T @ (levels * records[:, None])).toarray() @ table
        own = table.T @ (levels.T @ (levels * records[:, None])).toarray() @ table
        between = (means.T @ (means * records[:, None])).toarray() - cross - cross.T + own
        draws = np.diag(law.T @ weight) - second
        return Moments(count, table, draws + doubt * (second - (table.T * count) @ table - between))

    groups: list[tuple[int, ...]] = [(j,) for j in range(len(names))]
    for pair in combinations(range(len(names)), 2):
        if prod(study.levels[study.published[j]] for j in pair) <= MOST_LEVELS:
            groups.append(pair)
    return {tuple(names[j] for j in group): of(group) for group in groups}


def same_records(study: Study, codes: Array) -> bool:
    """Whether these are the records of the study, in whatever order."""
    mine, its = (np.sort(keys(rows, study.levels)) for rows in (codes, study.codes))
    return np.array_equal(mine, its)


def _beliefs(study: Study, codes: Array) -> tuple[Array, Array, Array, Array, float]:
    """Types of records, the place of the other columns r of each, P(y|r), the records of each r, and what V counts."""
    prior, size = study.prior, len(codes)
    secrets, rest = study.secrets, study.rest
    sizes = [study.levels[k] for k in rest]
    found, first, records = np.unique(keys(codes[:, rest], sizes), return_index=True, return_counts=True)
    if same_records(study, codes):
        held = keys(prior.types[:, rest], sizes)
        live = np.isin(held, found) & (study.left_out.any() | (prior.counts > 0))
        types, home = prior.types[live], np.searchsorted(found, held[live])
        mass = floats(prior.p if study.left_out.any() else prior.counts).astype(float)[live]
        new = int(study.left_out.sum())
        doubt = (1 + _OFF * new**2 / (size * prior.records)) if new else 0.0
    else:
        levels = [study.levels[k] for k in secrets]
        home = np.repeat(np.arange(len(found)), prod(levels))
        types = codes[first][home]
        types[:, secrets] = np.tile(rows_of(np.arange(prod(levels)), levels), (len(found), 1))
        mass = _foreign(study, types)
        doubt = 1 + _OFF * size / prior.records
    chance = mass / np.bincount(home, mass)[home]
    return types, home, chance, records.astype(float), doubt


def _foreign(study: Study, types: Array) -> Array:
    """In proportion to P(y|r) for types of other records: shares of fitted ones are too sure of a type with few."""
    fitted, secrets = study.fitted, study.secrets
    sample = Sample(fitted, study.levels, study.names, secrets, (), seed=study.seed)
    try:
        return Conditional(sample).given(types)
    except InputError:  # one level only, or no scikit-learn: a record of the overall shares is added to those of each r
        sizes = [study.levels[k] for k in secrets]
        share = np.bincount(keys(fitted[:, secrets], sizes), minlength=prod(sizes)) / len(fitted)
        own, times = np.unique(keys(fitted, study.levels), return_counts=True)
        key = keys(types, study.levels)
        at = np.minimum(np.searchsorted(own, key), len(own) - 1)
        return np.where(own[at] == key, times[at], 0) + share[keys(types[:, secrets], sizes)]


def published_channel(study: Study, channel: TableChannel, codes: Array | None = None) -> PublishedChannel:
    """The channel of a release of records, those of the study unless codes are given."""
    found = moments(study, channel, codes)
    levels = {target.column: study[target.column].values for target in study.targets}
    spreads = {group: one.spread(np.arange(len(one.count)), one.table) for group, one in found.items()}
    return PublishedChannel(levels, {group: one.table for group, one in found.items()}, {}, spreads)
