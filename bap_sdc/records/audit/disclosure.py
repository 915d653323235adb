"""What statistical offices measure: disclosure on the columns Eve knows, and utility of the released cells.

Of the audited records, with z the known columns and s the released record:
    k              the smallest number of records that share a z; `unique` counts records that are alone with theirs
    l              the smallest number of different secrets among records that share a z
    reidentified   the expected number of records an intruder links correctly if she picks at random among those that
                   share z: one per value of z. Known columns that are published too are linked by what was released:
                   the intruder takes the released value that names her target most often, in expectation
    posterior      the largest probability of any secret given (z, s), under Alice's prior; `null` is given z alone
    better, worse  the share of records whose secret the Eve of the model guesses at less, or more, cost than without
                   a release
Small cells: combinations of known columns that few records share.
Utility: the share of changed cells by column, and the total variation distance of one- and two-way margins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from bap_lp.support.display import counted, person
from bap_lp.support.rational import Array
from bap_sdc.records.agents import Spy
from bap_sdc.records.data.prior import keys, rows_of
from bap_sdc.records.release.channels import RecordChannel
from bap_sdc.records.study import Study

THRESHOLD = 10  # records: a number about fewer of them is about few people
_PAIRS = 30  # two-way margins that are measured
_TABLE = 4_000_000
_NODES = 12  # of a panel: the integral is right to 1e-10


@dataclass(frozen=True)
class Disclosure:
    """Disclosure measures for one Eve; see the module."""

    k: int
    unique: int
    l: int
    reidentified: float
    reidentified_before: float
    posterior: float
    posterior_null: float
    better: float
    worse: float

    @classmethod
    def empty(cls) -> Disclosure:
        return cls(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def __add__(self, other: Disclosure) -> Disclosure:
        """Measures of two blocks of records with different z: posteriors are maxima, shares add up."""
        return replace(
            self,
            posterior=max(self.posterior, other.posterior),
            posterior_null=max(self.posterior_null, other.posterior_null),
            better=self.better + other.better,
            worse=self.worse + other.worse,
        )

    def completed(self, study: Study, channel: RecordChannel, spy: Spy, types: Array, counts: Array) -> Disclosure:
        """With the measures that are counted over all records."""
        z = study.known(types, spy)
        value, at = np.unique(z, return_inverse=True)
        size = np.bincount(at, counts).astype(int)
        secrets = np.unique(np.column_stack([at, types[:, spy.secret]]), axis=0)[:, 0]
        return replace(
            self,
            k=int(size.min()),
            unique=int((size == 1).sum()),
            l=int(np.bincount(secrets).min()),
            reidentified_before=float(len(value)),
            reidentified=_linked(study, channel, spy, types, counts),
        )

    def document(self) -> dict[str, Any]:
        return {
            "k_anonymity": self.k,
            "unique_records": self.unique,
            "l_diversity": self.l,
            "reidentified": {"before": self.reidentified_before, "after": known(self.reidentified)},
            "largest_posterior": {"null": self.posterior_null, "after": self.posterior},
            "guessed_better": self.better,
            "guessed_worse": self.worse,
        }


def disclosure(
    channel: RecordChannel, types: Array, h: Array, group: Array, model: Array, loss: Array, rule: Array, alone: Array
) -> Disclosure:
    """The measures of one block; model[z, secret, s] is the joint distribution under the prior."""
    mass, shares = model.sum(axis=1), model.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        after = np.nanmax(np.where(mass[:, None] > 0, model / mass[:, None], 0.0), initial=0.0)
        none = np.nanmax(
            np.where(shares.sum(axis=1)[:, None] > 0, shares / shares.sum(axis=1)[:, None], 0.0), initial=0.0
        )
    costs = loss[:, rule].transpose(1, 0, 2)  # z, secret, signal
    silent = loss[:, alone].T[:, :, None]
    near = 1e-12 * max(float(loss.max()), 1e-300)
    share = [
        float(h @ channel.expect(types, group, table.reshape(-1, rule.shape[1]).astype(float)))
        for table in (costs < silent - near, costs > silent + near)
    ]
    return replace(
        Disclosure.empty(), posterior=float(after), posterior_null=float(none), better=share[0], worse=share[1]
    )


def _linked(study: Study, channel: RecordChannel, spy: Spy, types: Array, counts: Array) -> float:
    """Expected correct links: sum over z of max_w sum_{x in z} n_x f(w|x) E[1 / N_w], N_w the records that show w, her
    own included.

    w has the true values of the known columns that are not published, and the released symbols of those that are. The
    other records show w independently, with probabilities f, so N_w - 1 has the generating function
    g(t) = prod (1 - f + f t), and E[1 / N_w] is the integral of g from 0 to 1.
    """
    z = study.known(types, spy)
    values, at = np.unique(z, return_inverse=True)
    shown = [j for j, k in enumerate(study.published) if k in spy.knows]
    hidden = [k for k in spy.knows if k not in study.published]
    if not shown:
        return float(len(values))
    symbols = [channel.symbols[j] for j in shown]
    told = keys(channel.decode(np.arange(channel.signals))[:, shown], symbols)
    words, word = np.unique(told, return_inverse=True)
    if len(types) * len(words) > _TABLE:
        return float("nan")
    shows = np.zeros((len(types), len(words)))
    step = max(1, _TABLE // channel.signals)
    for low in range(0, len(types), step):
        block = np.arange(low, min(low + step, len(types)))
        joint = channel.joint(types[block], np.ones(len(block)), block - low, len(block))
        np.add.at(shows[block[0] : block[-1] + 1].T, word, joint.T)
    shows = np.clip(shows, 0.0, 1.0)
    t, weight = _graded(int(counts.sum()))
    linked = np.zeros((len(values), len(words)))
    home = np.unique(keys(types[:, hidden], [study.levels[k] for k in hidden]), return_inverse=True)[1]
    for mine in np.split(np.argsort(home, kind="stable"), np.cumsum(np.bincount(home))[:-1]):
        for w in range(len(words)):
            able = mine[shows[mine, w] > 0]
            apart = np.log1p(-shows[able, w, None] * (1.0 - t))
            others = np.exp(counts[able] @ apart - apart)  # all records but one of the type
            np.add.at(linked[:, w], at[able], counts[able] * shows[able, w] * (others @ weight))
    return float(linked.max(axis=1).sum())


def _graded(records: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1], with panels that halve towards 1: g is large within 1 / records of it."""
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    ends = np.r_[0.0, 2.0 ** np.arange(-int(records).bit_length() - 2, 1)]
    half = np.diff(ends)[:, None] / 2
    return 1.0 - (ends[:-1, None] + half * (1 + node)).ravel(), (half * weight).ravel()


@dataclass(frozen=True)
class Utility:
    """Changed cells by column, and the mean distance of one- and two-way margins before and after the release."""

    changed: dict[str, float]
    one_way: float
    two_way: float

    def document(self) -> dict[str, Any]:
        changed = {name: known(share) for name, share in self.changed.items()}
        return {"changed": changed, "one_way": known(self.one_way), "two_way": known(self.two_way)}


def utility(study: Study, channel: RecordChannel, types: Array, counts: Array) -> Utility:
    """Utility of the expected release; columns whose symbols are not levels are compared where they can be."""
    h = counts / counts.sum()
    signals = channel.decode(np.arange(channel.signals))
    sent = channel.joint(types, h, np.zeros(len(types), dtype=np.int64), 1)[0]
    comparable = [j for j, k in enumerate(study.published) if channel.symbols[j] == study.levels[k]]
    changed = {}
    for j, target in enumerate(study.targets):
        k = study.published[j]
        if j in comparable:
            levels = np.arange(study.levels[k])
            table = (signals[None, :, j] != levels[:, None]).astype(float)
            changed[target.column] = float(h @ channel.expect(types, types[:, k], table))
        else:
            changed[target.column] = 1.0 if channel.symbols[j] == 1 else float("nan")

    def distance(columns: tuple[int, ...]) -> float:
        sizes = [study.levels[study.published[j]] for j in columns]
        true = keys(types[:, [study.published[j] for j in columns]], sizes)
        told = keys(signals[:, list(columns)], sizes)
        size = int(np.prod(sizes))
        return float(abs(np.bincount(true, h, size) - np.bincount(told, sent, size)).sum() / 2)

    one = [distance((j,)) for j in comparable]
    two = [distance(pair) for pair in list(combinations(comparable, 2))[:_PAIRS]]
    return Utility(changed, _mean(one), _mean(two))


def known(value: float) -> float | None:
    """None where a measure is not defined, because JSON has no NaN."""
    return None if np.isnan(value) else value


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


@dataclass(frozen=True)
class SmallCells:
    """The cells of one Eve's known columns with fewer records than a threshold, the smallest first."""

    eve: str
    threshold: int
    cells: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        named = "; ".join(f"{name} ({count})" for name, count in self.cells[:3])
        more = f" and {len(self.cells) - 3} more" if len(self.cells) > 3 else ""
        cells = f"{counted(len(self.cells), 'combination')} of the columns that {person(self.eve)} knows"
        return f"{cells} with fewer than {self.threshold} records: {named}{more}"


def small_cells(study: Study, threshold: int = THRESHOLD) -> tuple[SmallCells, ...]:
    """For every Eve with knowledge, the cells with fewer fitted records than the threshold, if there are any."""
    codes = study.codes[~study.left_out]
    out = []
    for spy in study.spies:
        if not spy.knows:
            continue
        value, counts = np.unique(study.known(codes, spy), return_counts=True)
        rows = rows_of(value, [study.levels[k] for k in spy.knows])
        few = sorted(np.flatnonzero(counts < threshold).tolist(), key=lambda k: int(counts[k]))
        cells = tuple(
            (
                ", ".join(
                    f"{study.names[c]}={study.columns[c].labels[v]}" for c, v in zip(spy.knows, rows[k], strict=True)
                ),
                int(counts[k]),
            )
            for k in few
        )
        if cells:
            out.append(SmallCells(spy.name, threshold, cells))
    return tuple(out)
