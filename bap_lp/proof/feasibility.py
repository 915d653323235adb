"""Whether a channel satisfies conditions, by their definitions; exact for exact numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.conditions.conditions import Limits, Signals
from bap_lp.model.arrays import signal_losses
from bap_lp.model.problem import Problem
from bap_lp.rational import Array


def check_conditions(problem: Problem, limits: Limits, signals: Signals, q: Array, unit: Any) -> str:
    """Which condition a channel breaks, in words, or "" if none; `unit` is the relative tolerance, 0 for exact ones."""
    for x, row in enumerate(q):
        if (row < 0).any() or abs(row.sum() - 1) > unit:
            return f"channel[{x}] is not a distribution"
    rho = problem.p[:, None] * q
    eve = signal_losses(rho, problem.E)
    bob = signal_losses(rho, problem.B)
    risk = sum((eve[:, g].min(axis=1).sum() for g in problem.eve_groups), start=0 * problem.p[0])
    if limits.floor is not None and risk < limits.floor - unit * problem.E.max():
        return f"R_E = {risk} is below min_eve_risk = {limits.floor}"
    told = bob[np.arange(len(signals)), signals.bob]
    if limits.cap is not None and told.sum() > limits.cap + unit * problem.B.max():
        return f"R_B = {told.sum()} is above max_bob_risk = {limits.cap}"
    if limits.ratio is not None:
        for s, column in enumerate(q.T):
            if column.max() > limits.ratio * column.min() + unit * column.max():
                return f"signal {s} breaks differential privacy: {column.max()} against {column.min()}"
    if limits.pairs is not None and len(limits.pairs.x):
        more, less = q[limits.pairs.x], q[limits.pairs.other] * limits.pairs.ratio[:, None]
        broken = np.argwhere(more > less + unit * more)
        if len(broken):
            k, s = broken[0]
            ends = f"{limits.pairs.x[k]} and {limits.pairs.other[k]}"
            return f"signal {s} breaks differential privacy between states {ends}"
    if limits.deterministic and not ((q == 0) | (abs(q - 1) <= unit)).all():
        return "the channel is not deterministic"
    if limits.max_signals is not None and int((q > 0).any(axis=0).sum()) > limits.max_signals:
        return f"the channel sends more than {limits.max_signals} signals"
    return "" if limits.margin is None else _margins(problem, limits.margin, signals, rho, bob, eve, unit)


def _margins(problem: Problem, margin: Any, signals: Signals, rho: Array, bob: Array, eve: Array, unit: Any) -> str:
    assert signals.eve is not None
    for s, mass in enumerate(rho.sum(axis=0)):
        agents = [(bob[s], int(signals.bob[s]), "Bob", problem.B)]
        agents += [
            (eve[s, g], int(signals.eve[s, k]) - g.start, problem.eves[k].name, problem.E)
            for k, g in enumerate(problem.eve_groups)
        ]
        for losses, own, name, table in agents:
            for other, loss in enumerate(losses):
                if other != own and losses[own] + margin * mass > loss + unit * table.max():
                    return f"at signal {s} {name} prefers its decision by less than the margin"
    return ""
