"""The audit: a release judged on records that were not used to fit it.

A decision rule d(s, z) of Eve has the risk sum_x h(x) v(x), v(x) = sum_s q(s|x) L(secret(x), d(s, z(x))), where h
is the distribution of the audited records: a mean over records, whose standard error is that of v. Four kinds of
Eve decide:
    prior       by Alice's prior, the Eve of the model, with ties broken both ways; if (s, z) is impossible under it, as
                without a release
    knowing     by the whole law of the mechanism and beliefs of their own (`minds`)
    attackers   learned from the released half that was fitted (`bap_sdc.records.audit.attackers`)
    informed    by h itself: no adversary who sees (s, z) does better on these records
The first three have no secret of an audited record, and `strongest` is the one of them with the smallest risk: what a
release promises is judged by her. The randomness of the release is averaged out, so "informed" is a lower limit for
the others, without sampling error. Bob decodes signals by Alice's prior. The null release leaves Eve with z alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from bap_lp.engines.blas import one_blas_thread
from bap_lp.support.clock import check
from bap_lp.support.display import Displayed, counted
from bap_lp.support.rational import Array, floats
from bap_sdc.records.agents import Spy
from bap_sdc.records.audit.attackers import ATTACKERS, trained
from bap_sdc.records.audit.disclosure import Disclosure, Utility, disclosure, utility
from bap_sdc.records.audit.minds import Belief, beliefs
from bap_sdc.records.data.prior import keys, rows_of
from bap_sdc.records.release.channels import RecordChannel, TableChannel, sample
from bap_sdc.records.study import Study

PRIOR, KNOWS, LEARNED = "the study's own model", "knows the mechanism", "learned from a release"
_TIED = 1e-9  # of the largest loss: replies nearer than this are a tie but for rounding
_CELLS = 4_000_000  # of a joint table that is made at once
_ASKED = 60_000  # pairs (s, z) an attacker answers; the rest, the rarest, are answered as without a release
REHEARSAL = 20_260_101  # the seed of the release that attackers are trained on: it is never published


@dataclass(frozen=True)
class AuditedRisk:
    """A mean over records and its standard error."""

    value: float
    error: float

    def document(self) -> dict[str, float]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.error:.4f}"


@dataclass(frozen=True)
class EveAudit:
    """One Eve on the audited records: her risks by how she decides, and the disclosure measures people know.

    knowing: of those who know the mechanism, by what they believe.
    """

    name: str
    prior: AuditedRisk
    informed: AuditedRisk
    null: AuditedRisk
    knowing: dict[str, AuditedRisk]
    attackers: dict[str, AuditedRisk]
    disclosure: Disclosure

    @property
    def kinds(self) -> dict[str, AuditedRisk]:
        """Her risks by how she decides, of those who have no secret of an audited record."""
        knowing = {f"{KNOWS}, {name}": risk for name, risk in self.knowing.items()}
        return {PRIOR: self.prior} | knowing | {f"{LEARNED}: {name}": risk for name, risk in self.attackers.items()}

    @property
    def strongest(self) -> str:
        """The kind with the smallest risk."""
        return min(self.kinds, key=lambda kind: self.kinds[kind].value)

    def document(self) -> dict[str, Any]:
        return asdict(self) | {"disclosure": self.disclosure.document(), "strongest": self.strongest}


@dataclass(frozen=True, repr=False)
class Audit(Displayed):
    """A release on audited records: R_B by column and weighted, R_E by kind of Eve, disclosure and utility."""

    records: int
    unseen: int
    bob: AuditedRisk
    columns: dict[str, AuditedRisk]
    eve: AuditedRisk
    strongest: AuditedRisk
    informed: AuditedRisk
    eves: tuple[EveAudit, ...]
    utility: Utility

    def document(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "unseen": self.unseen,
            "bob": self.bob.document(),
            "eve": self.eve.document(),
            "strongest": self.strongest.document(),
            "informed": self.informed.document(),
            "columns": [{"name": name, **one.document()} for name, one in self.columns.items()],
            "eves": [one.document() for one in self.eves],
            "utility": self.utility.document(),
        }

    def _lines(self) -> Iterator[str]:
        yield (
            f": {counted(self.records, 'record')}, R_B = {self.bob}, R_E = {self.strongest}, at least {self.informed}"
        )

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """Every agent's risks, by column or by how she decides."""
        rows: list[Any] = [("Bob", "all columns", self.bob.value, self.bob.error)]
        rows += [("Bob", name, one.value, one.error) for name, one in self.columns.items()]
        for eve in self.eves:
            kinds = eve.kinds | {"informed": eve.informed, "null release": eve.null}
            rows += [(eve.name, name, one.value, one.error) for name, one in kinds.items()]
        names = ("agent", "column, or how she decides", "risk", "standard error")
        return [dict(zip(names, row, strict=True)) for row in rows[:most]]


@dataclass(frozen=True, eq=False)
class Judged:
    """An audit with what every audited type adds to its risks: R_B, and by Eve and kind her own unweighted risk.

    informed: the risk of the informed Eves, added up by their weights.
    """

    audit: Audit
    counts: Array
    bob: Array
    eves: tuple[Mapping[str, Array], ...]
    informed: Array
    weights: tuple[float, ...]

    def strongest(self, n: int) -> Array:
        """What every type adds to the risk of the n-th Eve as she is strongest."""
        return self.eves[n][self.audit.eves[n].strongest]

    @property
    def eve(self) -> Array:
        """What every type adds to R_E with the strongest Eves."""
        return sum_of(weight * self.strongest(n) for n, weight in enumerate(self.weights))


def sum_of(parts: Iterable[Array]) -> Array:
    """The sum of at least one array."""
    first, *rest = parts
    return sum(rest, first)


def counted_types(codes: Array, levels: Sequence[int]) -> tuple[Array, Array]:
    """The distinct rows of levels and how often each occurs."""
    key, counts = np.unique(keys(codes, levels), return_counts=True)
    return rows_of(key, levels), counts


def audit_channel(
    study: Study, channel: RecordChannel, types: Array, counts: Array, attackers: Sequence[str] | None = None,
    minds: Mapping[str, Belief] | None = None,
) -> Audit:  # fmt: skip
    """Judge a channel on records given as types and counts; attackers: names, all if None. minds: `believed`."""
    names = list(ATTACKERS) if attackers is None else list(attackers)
    return judged(study, channel, types, counts, names, minds or {}).audit


def believed(study: Study, attackers: Sequence[str] | None, file: Array | None = None) -> Mapping[str, Belief]:
    """What Eves who know the mechanism believe of a file, by default the study's; classifiers only with attackers."""
    return beliefs(study, study.codes if file is None else file, attackers is None or bool(attackers))


def difference(own: Judged, other: Judged, lam: float) -> tuple[AuditedRisk, AuditedRisk]:
    """R_A of a channel minus that of another, record by record: with the strongest Eves of each, and informed ones."""
    sides = ((own.eve, other.eve), (own.informed, other.informed))
    by_strongest, at_least = (estimate(own.bob - other.bob - lam * (a - b), own.counts) for a, b in sides)
    return by_strongest, at_least


@one_blas_thread()  # the products are many and small: threads would only wait for each other
def judged(
    study: Study, channel: RecordChannel, types: Array, counts: Array, names: Sequence[str] = (),
    minds: Mapping[str, Belief] = MappingProxyType({}),
) -> Judged:  # fmt: skip
    """The audit, and of every type its part in the risks."""
    fitted, p = study.prior.types, floats(study.program.p).astype(float)
    unseen = 0
    if isinstance(channel, TableChannel):
        unseen = int(counts[channel.unseen(types)].sum())
        channel = channel.over(np.vstack([types, *(rows for rows, _ in minds.values())]))
    total = np.zeros(len(types))
    columns: dict[str, AuditedRisk] = {}
    for target, k in zip(study.targets, study.published, strict=True):
        loss = floats(target.loss).astype(float)
        read = _decoded(channel, len(columns), channel.joint(fitted, p, fitted[:, k], len(loss)), loss)
        mean = channel.expect(types, types[:, k], loss[:, read])
        columns[target.column] = estimate(mean, counts)
        total += float(target.weight) * mean
    leaked = _training(study, channel) if names else None
    eves, parts, by_prior, informed = [], [], np.zeros(len(types)), np.zeros(len(types))
    weights = tuple(float(spy.weight) for spy in study.spies)
    for spy, weight in zip(study.spies, weights, strict=True):
        one, kinds, limit = _eve(study, channel, spy, types, counts, names, leaked, minds)
        eves.append(one)
        parts.append(kinds)
        by_prior += weight * kinds[PRIOR]
        informed += weight * limit
    strongest = sum_of(w * part[eve.strongest] for w, part, eve in zip(weights, parts, eves, strict=True))
    found = Audit(
        int(counts.sum()), unseen, estimate(total, counts), columns, estimate(by_prior, counts),
        estimate(strongest, counts), estimate(informed, counts), tuple(eves), utility(study, channel, types, counts),
    )  # fmt: skip
    return Judged(found, counts, total, tuple(parts), informed, weights)


def _decoded(channel: RecordChannel, j: int, joint: Array, loss: Array) -> Array:
    """What Bob reads in column j at every signal: his Bayes decision under the prior.

    If the signal has probability zero under the prior, he takes it literally if its symbols are levels, and
    otherwise decides as without it.
    """
    told = channel.decode(np.arange(channel.signals))[:, j]
    literal = told if channel.symbols[j] == loss.shape[1] else np.full(len(told), (joint.sum(axis=1) @ loss).argmin())
    return np.where(joint.sum(axis=0) > 0, (joint.T @ loss).argmin(axis=1), literal)


def estimate(value: Array, counts: Array) -> AuditedRisk:
    """The mean over the records of numbers by type, and its standard error."""
    n = int(counts.sum())
    mean = float(value @ counts) / n
    away = value - mean
    size = float(abs(away).max()) or 1.0  # a square of it may be beyond floats
    spread = float(((away / size) ** 2) @ counts)
    return AuditedRisk(mean, size * float(np.sqrt(spread / max(n - 1, 1) / n)))


def _training(study: Study, channel: RecordChannel) -> tuple[Array, Array]:
    """The fitted records, and a rehearsed release of them, symbol by symbol."""
    records = np.repeat(study.prior.types, study.prior.counts, axis=0)
    generator = np.random.default_rng(REHEARSAL)
    return records, channel.decode(sample(channel, records, generator))


def _eve(
    study: Study, channel: RecordChannel, spy: Spy, types: Array, counts: Array, names: Sequence[str], leaked: Any,
    minds: Mapping[str, Belief],
) -> tuple[EveAudit, dict[str, Array], Array]:  # fmt: skip
    """Her audit, and what every type adds to her risk by kind, and to that of the informed one."""
    h = counts / counts.sum()
    loss = floats(spy.loss).astype(float)
    own = study.prior.types, floats(study.program.p).astype(float)
    overall = int((np.bincount(own[0][:, spy.secret], own[1], len(loss)) @ loss).argmin())
    held = [(study.known(rows, spy), rows, p) for rows, p in (own, *minds.values())]
    z_now, secret_now = study.known(types, spy), types[:, spy.secret]
    guessers = [_guesser(study, spy, name, loss, *leaked) for name in names]
    parts = [np.zeros(len(types)) for _ in range(4 + len(minds) + len(names))]
    measures = Disclosure.empty()
    values = np.unique(z_now)
    block = max(1, _CELLS // (channel.signals * len(loss)))
    for low in range(0, len(values), block):
        check()
        part = values[low : low + block]
        now = np.flatnonzero(np.isin(z_now, part))
        z = np.searchsorted(part, z_now[now])
        size = (len(part), len(loss))
        group = z * len(loss) + secret_now[now]
        here = channel.joint(types[now], h[now], group, size[0] * size[1]).reshape(*size, -1)
        tables = []
        for z_old, rows, p in held:
            old = np.flatnonzero(np.isin(z_old, part))
            at = np.searchsorted(part, z_old[old]) * len(loss) + rows[old, spy.secret]
            tables.append(channel.joint(rows[old], p[old], at, size[0] * size[1]).reshape(*size, -1))
        model = tables[0]
        alone = np.where(model.sum(axis=(1, 2)) > 0, (model.sum(axis=2) @ loss).argmin(axis=1), overall)
        by_prior = _replies(model, loss, alone)
        rules = [by_prior, _replies(model, loss, alone, last=True), *(_replies(t, loss, alone) for t in tables[1:])]
        rules += [guess(part, channel, here.sum(axis=1), alone) for guess in guessers]
        rules += [np.tensordot(here, loss, axes=(1, 0)).argmin(axis=2), np.broadcast_to(alone[:, None], by_prior.shape)]
        for total, rule in zip(parts, rules, strict=True):
            # row (z, secret) of the table: what each signal costs Eve there
            total[now] = channel.expect(types[now], group, _costs(loss, rule))
        measures = measures + disclosure(channel, types[now], h[now], group, model, loss, by_prior, alone)
    first, last, *others, limit, silent = parts
    full = measures.completed(study, channel, spy, types, counts)
    prior = min(first, last, key=lambda one: float(one @ counts))
    risks = [estimate(one, counts) for one in others]
    found = EveAudit(
        spy.name, estimate(prior, counts), estimate(limit, counts), estimate(silent, counts),
        dict(zip(minds, risks, strict=False)), dict(zip(names, risks[len(minds) :], strict=True)), full,
    )  # fmt: skip
    return found, dict(zip(found.kinds, (prior, *others), strict=True)), limit


def _replies(joint: Array, loss: Array, alone: Array, last: bool = False) -> Array:
    """The best reply to every (z, signal) of a joint table over (z, secret, signal).

    Of replies that tie but for rounding, the first or the last one; where the signal is impossible, as without it.
    """
    cost = np.tensordot(joint, loss, axes=(1, 0))
    mass = joint.sum(axis=1)
    tied = cost <= cost.min(axis=2, keepdims=True) + _TIED * mass[:, :, None] * loss.max()
    reply = cost.shape[2] - 1 - tied[:, :, ::-1].argmax(axis=2) if last else tied.argmax(axis=2)
    return np.where(mass > 0, reply, alone[:, None])


def _costs(loss: Array, rule: Array) -> Array:
    """loss[secret, rule[z, s]] as a table with a row per (z, secret)."""
    return loss[:, rule].transpose(1, 0, 2).reshape(-1, rule.shape[1])


def _guesser(study: Study, spy: Spy, name: str, loss: Array, records: Array, told: Array) -> Callable[..., Array]:
    """Train an attacker; the function answers for the values of z in a block, where `mass` is positive."""
    columns = list(spy.knows)
    sizes = [study.levels[k] for k in columns]
    answer = trained(name, np.hstack([told, records[:, columns]]), records[:, spy.secret], loss)

    def guess(values: Array, channel: RecordChannel, mass: Array, alone: Array) -> Array:
        out = np.repeat(alone[:, None], mass.shape[1], axis=1)
        z, s = np.nonzero(mass > 0)
        if len(z) > _ASKED:
            often = np.argsort(-mass[z, s], kind="stable")[:_ASKED]
            z, s = z[often], s[often]
        out[z, s] = answer(np.hstack([channel.decode(s), rows_of(values[z], sizes)]))
        return out

    return guess
