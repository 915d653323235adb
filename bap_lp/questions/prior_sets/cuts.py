"""The float phase: priors on demand. A prior p and replies t of Eve give the cut v >= sum_x p(x) c_t(x), linear in q.

The master has the cuts so far; its value is a lower end. The worst prior is looked for not at the master's own channel
but at 0.3 master + 0.7 best, where best is the channel with the least worst case so far (in-out separation): asked at
the vertices themselves, degenerate optima stall. Losses are shifted and scaled to size one first; a shift of all losses
of an agent changes R_A by a constant, whatever the prior is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np

from bap_lp.clock import OutOfTime
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.highs import loaded_program, run
from bap_lp.engines.linear.program import ProgramBuilder
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import Dual, Program
from bap_lp.program.credal import Credal
from bap_lp.program.worst_prior import Oracle, Search, replies_at, told
from bap_lp.rational import EXACT, Array, InputError, floats

_ROUNDS = 400
_CLOSE = 1e-11  # of the losses: a gap at which cuts end
_INNER = 0.3  # share of the master in the channel that is asked about
_NODES = 20_000
_FEW = 300  # nodes of a search that need not be whole
_STARTS = 12  # priors of cuts from which the worst one is looked for
_BINDING = 1e-6  # of the losses: how near a cut may be to the value of the best channel
NO_ROOM = "leave no room for rounding over this set of priors: give exact numbers, or looser conditions"
_STALE = 60  # rounds without a better gap by a tenth


@dataclass
class Cuts:
    """What the float phase knows: priors, replies of Eve and weights of the cuts, the best channel, and its ends."""

    priors: list[Array] = field(default_factory=list)
    moved: list[Array | None] = field(default_factory=list)
    replies: list[Array] = field(default_factory=list)
    weights: Array = field(default_factory=lambda: np.zeros(0))
    q: Array | None = None
    low: float = -np.inf
    high: float = np.inf
    dual: Dual | None = None
    rounds: int = 0
    stopped: bool = False

    def active(self, arrays: Arrays, lam: Any) -> list[Array]:
        """The replies, each once, of cuts that weigh or that nearly bind at the best channel."""
        assert self.q is not None
        out: dict[bytes, Array] = {}
        for k, (p, t) in enumerate(zip(self.priors, self.replies, strict=True)):
            side = p.dot((self.q * told(arrays, lam, t)).sum(axis=1))
            if side >= self.high - _BINDING or (k < len(self.weights) and self.weights[k] > 0):
                out.setdefault(t.tobytes(), t)
        return list(out.values())


def sized(arrays: Arrays, lam: Any) -> tuple[Arrays, float, float]:
    """Losses in floats, shifted to start at zero and scaled such that Bob's, and lam times Eve's, are about one.

    Also the numbers that bring R_A back: the scale, and what is then added.
    """
    E = arrays.E.copy()
    for g in arrays.groups:
        E[:, g] = E[:, g] - E[:, g].min()
    B = arrays.B - arrays.B.min()
    scale = max(B.max(), lam * E.max())
    scale = scale if scale > 0 else EXACT.one
    own = Arrays(floats(arrays.p), floats(B / scale), floats(lam * E / scale), arrays.groups)
    shift = arrays.B.min() - lam * sum((arrays.E[:, g].min() for g in arrays.groups), EXACT.zero)
    return own, float(scale), float(shift)


def by_cuts(
    base: Program,
    arrays: Arrays,
    credal: Credal,
    oracle: Oracle,
    start: Array,
    feasible: Array | None,
    progress: Callable[[int, float, float], None],
) -> Cuts:
    """Solve in floats, at lam = 1 and losses of size one; where HiGHS cannot, `feasible` is the best channel."""
    (N, S), out = base.shape, Cuts()
    place: dict[str, Any] = {}

    def more(make: ProgramBuilder, rho: Array) -> None:
        place["v"] = int(make.columns(1, 1.0, free=True)[0])

    form = LinearForm.of(base.rounded, more)
    highs = loaded_program(form.lp)
    columns = np.append(form.rho.ravel(), place["v"]).astype(np.int32)
    rows = form.lp.shape[0]

    def add(p: Array, moved: Array | None, t: Array) -> None:
        out.priors.append(p)
        out.moved.append(moved)
        out.replies.append(t)
        values = np.append((p[:, None] * told(arrays, 1.0, t)).ravel(), -1.0)
        live = values != 0
        highs.addRow(-highspy.kHighsInf, 0.0, int(live.sum()), columns[live], values[live])

    def cut(search: Search, master: Array) -> bool:
        """Add the cut of a worst prior; whether it cuts the master off."""
        t = replies_at(arrays, search.prior, search.q)
        add(search.prior, search.moved, t)
        return bool(search.prior.dot((master * told(arrays, 1.0, t)).sum(axis=1)) > out.low + _CLOSE)

    def confirm() -> Search:
        """The worst prior of the best channel, by a whole search."""
        if out.q is None:
            if feasible is None:
                raise InputError("conditions", None, NO_ROOM)
            out.q, out.dual = feasible, Dual({}, {})
        search = Search(arrays, 1.0, out.q, oracle, out.priors[-1], credal)
        search.moved = out.moved[-1]
        search.climb()
        out.high = search.run(nodes=_NODES)
        return search

    uniform = np.full((N, S), 1 / S)
    first = replies_at(arrays, start, uniform)
    _, prior, moved = oracle((uniform * told(arrays, 1.0, first)).sum(axis=1))
    assert prior is not None
    add(prior, moved, first)
    stale, last = 0, np.inf
    try:
        for out.rounds in range(1, _ROUNDS + 1):
            run(highs)
            if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                break
            found = highs.getSolution()
            z, y = np.array(found.col_value), np.array(found.row_dual)
            out.low, out.weights = float(z[place["v"]]), np.maximum(-y[rows:], 0.0)
            out.dual = form.dual(y[:rows])
            master = np.maximum(z[form.rho], 0.0)
            master /= master.sum(axis=1, keepdims=True)
            asked = master if out.q is None else _INNER * master + (1 - _INNER) * out.q
            starts = [out.priors[k] for k in np.argsort(-out.weights)[:_STARTS] if out.weights[k] > 0]
            cutting = False
            for q in (asked, master) if out.q is not None else (master,):
                search = Search(arrays, 1.0, q, oracle, out.priors[-1], credal)
                search.moved = out.moved[-1]
                search.climb(starts)
                search.run(nodes=_FEW)
                if search.best < out.high:
                    out.high, out.q = search.best, q
                cutting = cut(search, master)
                if cutting:
                    break
            gap = out.high - out.low
            progress(out.rounds, out.low, out.high)
            if gap <= _CLOSE or not cutting:  # climbing may miss the worst prior
                before, after = out.high, confirm()
                if not cut(after, master) and before - out.low <= _CLOSE:
                    break
            stale, last = (0, gap) if gap < 0.9 * last else (stale + 1, last)
            if stale > _STALE:
                break
        worst = confirm()
        if not len(out.weights):
            cut(worst, worst.q)
    except OutOfTime:
        out.stopped = True
        if out.q is None:
            raise
    return out
