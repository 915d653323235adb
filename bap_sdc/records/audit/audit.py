"""The audit: a release judged on records that were not used to fit it.

A decision rule d(s, z) of Eve has the risk sum_x h(x) v(x), v(x) = sum_s q(s|x) L(secret(x), d(s, z(x))), where h
is the distribution of the audited records: a mean over records, whose standard error is that of v. Three kinds of
Eve decide:
    prior       by Alice's prior, the Eve of the model; if (s, z) is impossible under it, as without a release
    informed    by h itself: no adversary who sees (s, z) does better on these records
    attackers   learned from the released half that was fitted (`bap_sdc.records.audit.attackers`)
The randomness of the release is averaged out, so "informed" is a lower limit for the other two, without sampling
error. Bob decodes signals by Alice's prior. The null release leaves Eve with z alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bap_lp.engines.game.blas import one_blas_thread
from bap_lp.model.display import Grid, Tabular, counted
from bap_lp.rational import Array, floats
from bap_sdc.records.agents import Spy
from bap_sdc.records.audit.attackers import ATTACKERS, trained
from bap_sdc.records.audit.disclosure import Disclosure, Utility, disclosure, utility
from bap_sdc.records.data.prior import keys, rows_of
from bap_sdc.records.release.channels import RecordChannel, TableChannel, sample
from bap_sdc.records.study import Study

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
    """One Eve on the audited records: her risks by how she decides, and the disclosure measures people know."""

    name: str
    prior: AuditedRisk
    informed: AuditedRisk
    null: AuditedRisk
    attackers: dict[str, AuditedRisk]
    disclosure: Disclosure

    def document(self) -> dict[str, Any]:
        return asdict(self) | {"disclosure": self.disclosure.document()}


@dataclass(frozen=True, repr=False)
class Audit(Tabular):
    """A release on audited records: R_B by column and weighted, R_E by kind of Eve, disclosure and utility."""

    records: int
    unseen: int
    bob: AuditedRisk
    columns: dict[str, AuditedRisk]
    eve: AuditedRisk
    informed: AuditedRisk
    eves: tuple[EveAudit, ...]
    utility: Utility

    def document(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "unseen": self.unseen,
            "bob": self.bob.document(),
            "eve": self.eve.document(),
            "informed": self.informed.document(),
            "columns": [{"name": name, **one.document()} for name, one in self.columns.items()],
            "eves": [one.document() for one in self.eves],
            "utility": self.utility.document(),
        }

    def _headline(self) -> str:
        return f": {counted(self.records, 'record')}, R_B = {self.bob}, R_E = {self.eve}, at least {self.informed}"

    def _grid(self, most: int | None = None) -> Grid:
        rows: list[Any] = [("Bob", "all columns", self.bob.value, self.bob.error)]
        rows += [("Bob", name, one.value, one.error) for name, one in self.columns.items()]
        for eve in self.eves:
            kinds = {"Alice's prior": eve.prior, "informed": eve.informed, "null release": eve.null} | eve.attackers
            rows += [(eve.name, name, one.value, one.error) for name, one in kinds.items()]
        return Grid(("agent", "column, or how she decides", "risk", "standard error"), rows[:most], len(rows))


Judged = tuple[Audit, tuple[Array, Array, Array]]  # and of every type its part in the three risks


def counted_types(codes: Array, levels: Sequence[int]) -> tuple[Array, Array]:
    """The distinct rows of levels and how often each occurs."""
    key, counts = np.unique(keys(codes, levels), return_counts=True)
    return rows_of(key, levels), counts


def audit_channel(
    study: Study, channel: RecordChannel, types: Array, counts: Array, attackers: Sequence[str] | None = None
) -> Audit:
    """Judge a channel on records given as types and counts; attackers: names, all if None."""
    names = list(ATTACKERS) if attackers is None else list(attackers)
    return judged(study, channel, types, counts, names)[0]


def difference(own: Judged, other: Judged, counts: Array, lam: float) -> tuple[AuditedRisk, AuditedRisk]:
    """R_A of a channel minus that of another, record by record: with the Eves of the prior, and with informed ones."""
    (bob, *eves), (bob2, *eves2) = own[1], other[1]
    by_prior, at_least = (_estimate(bob - bob2 - lam * (a - b), counts) for a, b in zip(eves, eves2, strict=True))
    return by_prior, at_least


@one_blas_thread()  # the products are many and small: threads would only wait for each other
def judged(study: Study, channel: RecordChannel, types: Array, counts: Array, names: Sequence[str] = ()) -> Judged:
    """The audit, and of every type its part in R_B, in R_E by the prior, and in R_E of informed Eves."""
    fitted, p = study.prior.types, floats(study.program.p).astype(float)
    unseen = 0
    if isinstance(channel, TableChannel):
        unseen = int(counts[channel.unseen(types)].sum())
        channel = channel.over(types)
    total = np.zeros(len(types))
    columns: dict[str, AuditedRisk] = {}
    for target, k in zip(study.targets, study.published, strict=True):
        loss = floats(target.loss).astype(float)
        read = _decoded(channel, len(columns), channel.joint(fitted, p, fitted[:, k], len(loss)), loss)
        mean = channel.expect(types, types[:, k], loss[:, read])
        columns[target.column] = _estimate(mean, counts)
        total += float(target.weight) * mean
    leaked = _training(study, channel) if names else None
    eves, sums = [], [np.zeros(len(types)), np.zeros(len(types))]
    for spy in study.spies:
        one, parts = _eve(study, channel, spy, types, counts, names, leaked)
        eves.append(one)
        for k, part in enumerate(parts):
            sums[k] += float(spy.weight) * part
    eve, informed = (_estimate(part, counts) for part in sums)
    told = utility(study, channel, types, counts)
    found = Audit(int(counts.sum()), unseen, _estimate(total, counts), columns, eve, informed, tuple(eves), told)
    return found, (total, sums[0], sums[1])


def _decoded(channel: RecordChannel, j: int, joint: Array, loss: Array) -> Array:
    """What Bob reads in column j at every signal: his Bayes decision under the prior.

    If the signal has probability zero under the prior, he takes it literally if its symbols are levels, and
    otherwise decides as without it.
    """
    told = channel.decode(np.arange(channel.signals))[:, j]
    literal = told if channel.symbols[j] == loss.shape[1] else np.full(len(told), (joint.sum(axis=1) @ loss).argmin())
    return np.where(joint.sum(axis=0) > 0, (joint.T @ loss).argmin(axis=1), literal)


def _estimate(value: Array, counts: Array) -> AuditedRisk:
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
    study: Study, channel: RecordChannel, spy: Spy, types: Array, counts: Array, names: Sequence[str], leaked: Any
) -> tuple[EveAudit, list[Array]]:
    h = counts / counts.sum()
    loss = floats(spy.loss).astype(float)
    fitted, p = study.prior.types, floats(study.program.p).astype(float)
    z_fit, z_now = study.known(fitted, spy), study.known(types, spy)
    secret_fit, secret_now = fitted[:, spy.secret], types[:, spy.secret]
    overall = int((np.bincount(secret_fit, p, len(loss)) @ loss).argmin())
    guessers = [_guesser(study, spy, name, loss, *leaked) for name in names]
    parts = [np.zeros(len(types)) for _ in range(3 + len(names))]
    measures = Disclosure.empty()
    values = np.unique(z_now)
    block = max(1, _CELLS // (channel.signals * len(loss)))
    for low in range(0, len(values), block):
        part = values[low : low + block]
        now, old = np.flatnonzero(np.isin(z_now, part)), np.flatnonzero(np.isin(z_fit, part))
        z, z_old = np.searchsorted(part, z_now[now]), np.searchsorted(part, z_fit[old])
        size = (len(part), len(loss))
        group, group_old = z * len(loss) + secret_now[now], z_old * len(loss) + secret_fit[old]
        here = channel.joint(types[now], h[now], group, size[0] * size[1]).reshape(*size, -1)
        model = channel.joint(fitted[old], p[old], group_old, size[0] * size[1]).reshape(*size, -1)
        silent = model.sum(axis=2) @ loss
        alone = np.where(model.sum(axis=(1, 2)) > 0, silent.argmin(axis=1), overall)
        by_prior = np.tensordot(model, loss, axes=(1, 0)).argmin(axis=2)
        by_prior = np.where(model.sum(axis=1) > 0, by_prior, alone[:, None])
        informed = np.tensordot(here, loss, axes=(1, 0)).argmin(axis=2)
        rules = [by_prior, informed, np.broadcast_to(alone[:, None], by_prior.shape)]
        rules += [guess(part, channel, here.sum(axis=1), alone) for guess in guessers]
        for total, rule in zip(parts, rules, strict=True):
            # row (z, secret) of the table: what each signal costs Eve there
            total[now] = channel.expect(types[now], group, _costs(loss, rule))
        measures = measures + disclosure(channel, types[now], h[now], group, model, loss, by_prior, alone)
    prior, informed_risk, null, *learned = (_estimate(part, counts) for part in parts)
    full = measures.completed(study, channel, spy, types, counts)
    return EveAudit(spy.name, prior, informed_risk, null, dict(zip(names, learned, strict=True)), full), parts[:2]


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
