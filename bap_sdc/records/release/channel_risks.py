"""R_B and R_E of a channel on records under the prior, exact.

With J[s, g] the probability of signal s and group g,
    R_B = sum_k w_k sum_s min_i sum_l J[s, x_k = l] L_k(l, i)        every Bob decides for himself at every signal
    R_E = sum_n w_n sum_{s,z} min_j sum_v J[s, (z, secret = v)] L_n(v, j).
For columns perturbed independently the sums are done in integers over a common denominator: 64 bits where a bound
on the largest sum allows it, unlimited ones else, and floats where that would take too long.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.model.reports import least_risk
from bap_lp.support.rational import EXACT, Array, common_denominator, floats, is_exact, objects, public, tree_sum
from bap_lp.support.risks import Number, Risks
from bap_sdc.records.agents import Spy
from bap_sdc.records.data.models import CHANCES
from bap_sdc.records.optimum.program import TableEve
from bap_sdc.records.optimum.risks import eve_risk
from bap_sdc.records.release.channels import ColumnChannel, RecordChannel, TableChannel, contracted
from bap_sdc.records.study import Study

_SAFE = 2**62
_CELLS = 2_000_000  # of a joint table that is made at once
_LONG = 20_000_000  # steps with unlimited integers, about ten seconds


@dataclass(frozen=True)
class ChannelRisks:
    """The risks of a channel: weighted sums, each column's part of R_B (weighted), and each Eve's own risk."""

    bob: Number
    eve: Number
    columns: tuple[Number, ...]
    eves: tuple[Number, ...]

    @property
    def exact(self) -> bool:
        return not isinstance(self.bob, float)

    @property
    def risks(self) -> Risks:
        return Risks(self.bob, self.eve)


def channel_risks(study: Study, channel: RecordChannel) -> ChannelRisks:
    """The risks of a channel under the prior of a study."""
    program = study.program
    columns = [
        _least(study, channel, program.p, np.zeros(len(program.p), dtype=np.int64), program.codes[:, k], loss)
        for k, loss in enumerate(program.losses)
    ]
    eves = [_least(study, channel, eve.heard(program.p), eve.known, eve.secret, eve.loss) for eve in program.eves]
    if any(isinstance(v, float) for v in (*columns, *eves)):
        columns, eves = [float(v) for v in columns], [float(v) for v in eves]
        weights: list[Any] = [float(eve.weight) for eve in program.eves]
        total = float(sum(w * v for w, v in zip(weights, eves, strict=True)))
        return ChannelRisks(float(sum(columns)), total, tuple(columns), study.by_eve(eves))
    total = sum((eve.weight * v for eve, v in zip(program.eves, eves, strict=True)), fmpq(0))
    bob = sum(columns, fmpq(0))
    return ChannelRisks(public(bob), public(total), tuple(map(public, columns)), study.by_eve(list(map(public, eves))))


def reported_risks(study: Study, channel: TableChannel, exact: bool) -> tuple[Any, ...]:
    """What every Eve who reports probabilities loses with all reports, unweighted and rounded down; None of others."""
    program = study.fractions(exact)
    row, decision, q = channel.rows(study.prior.types)
    mass = program.p[row] * EXACT.array(q)
    out: list[Any] = []
    owners = [spy for spy in study.spies for _ in range(max(spy.informed, 1))]
    for spy, eve in zip(owners, program.eves, strict=True):
        if not spy.score:
            out.append(None)
            continue
        _, z = np.unique(eve.known, return_inverse=True)
        cell, at = np.unique(z[row] * channel.signals + decision, return_inverse=True)
        table = EXACT.zeros((len(eve.loss), len(cell)))
        np.add.at(table, (eve.secret[row], at), eve.heard(mass, row))
        out.append(tree_sum(least_risk(spy.score, table)))
    rest = iter(out)
    groups = [[next(rest) for _ in range(max(spy.informed, 1))] for spy in study.spies]
    return tuple(sum(own, EXACT.zero) if spy.score else None for spy, own in zip(study.spies, groups, strict=True))


def fresh_risk(study: Study, channel: RecordChannel, spy: Spy) -> float | None:
    """The unweighted risk of an informed Eve who knows draws of the true shares that the mechanism was not made for."""
    table = study.prior.fresh.get(spy.informed)
    if table is None:
        return None
    types = study.prior.types
    known, wanted = study.known(types, spy), types[:, spy.secret]
    p = floats(study.program.p) * table.T / CHANCES
    return float(sum(_least(study, channel, part, known, wanted, spy.loss) for part in p))


def _least(study: Study, channel: RecordChannel, p: Array, known: Array, wanted: Array, loss: Array) -> Any:
    """sum_{s,z} min_j sum_v J[s, (z, v)] L(v, j), in working numbers, where p are the masses of the record types."""
    if isinstance(channel, TableChannel):
        row, signal, q = channel.rows(study.prior.types)
        if not all(map(is_exact, (p, loss, q))):
            p, q, loss = floats(p).astype(float), floats(q).astype(float), floats(loss).astype(float)
        return eve_risk(TableEve("", wanted, known, loss), row, signal, p[row] * q)
    assert isinstance(channel, ColumnChannel)
    levels, z = np.unique(known, return_inverse=True)
    exact = all(map(is_exact, (p, loss, *channel.matrices)))
    values = len(loss)
    block = max(1, _CELLS // (max(channel.signals, prod(channel.levels)) * values))
    total: Any = fmpq(0) if exact else 0.0
    for low in range(0, len(levels), block):
        mine = np.flatnonzero((z >= low) & (z < low + block))
        group = (z[mine] - low) * values + wanted[mine]
        count = min(block, len(levels) - low)
        part = _block(study, channel, p, mine, group, count, loss, exact)
        if isinstance(part, float) and not isinstance(total, float):
            total = float(total)
        total = total + (float(part) if isinstance(total, float) else part)
    return total


def _block(
    study: Study, channel: ColumnChannel, p: Array, mine: Array, group: Array, count: int, loss: Array, exact: bool
) -> Any:
    types, values = study.prior.types[mine], len(loss)
    groups = count * values
    if exact:
        given = (p[mine], loss, *channel.matrices)
        scales = [common_denominator(t) for t in given]
        weights, costs, *tables = (_integers(t, s) for t, s in zip(given, scales, strict=True))
        # every row of an integer matrix sums to its scale, so the largest sum is the whole mass times all scales
        bound = int(sum(weights)) * prod(int(s.p) for s in scales[2:]) * int(max(costs.ravel()))
        small = bound < _SAFE
        steps = groups * channel.signals * sum(channel.levels)
        if small or steps <= _LONG:
            kind = np.int64 if small else object
            joint = _joint(channel, types, weights.astype(kind), group, groups, [t.astype(kind) for t in tables])
            losses = _losses(joint, costs.astype(kind), count)
            return fmpq(int(losses.min(axis=2).sum())) / prod(scales, start=fmpq(1))
    joint = channel.joint(types, floats(p[mine]).astype(float), group, groups)
    return float(_losses(joint, floats(loss).astype(float), count).min(axis=2).sum())


def _integers(table: Array, scale: fmpq) -> Array:
    return objects(int((v * scale).p) for v in table.ravel().tolist()).reshape(table.shape)


def _joint(
    channel: ColumnChannel, types: Array, weights: Array, group: Array, groups: int, tables: list[Array]
) -> Array:
    mass = np.zeros(groups * prod(channel.levels), dtype=weights.dtype)
    np.add.at(mass, group * prod(channel.levels) + channel.place(types), weights)
    return contracted(mass.reshape(groups, *channel.levels), tables)


def _losses(joint: Array, loss: Array, count: int) -> Array:
    """Expected losses by (z, signal, guess)."""
    return np.tensordot(joint.reshape(count, len(loss), -1), loss, axes=(1, 0))
