"""The program with observers who report probabilities, as a cone program for Clarabel.

Such an observer's least loss at view v is a concave function of the masses of her values (`model.reports`), so
    t[v] <= sum_a h[a,v],       m_a exp(h_a / m_a) <= M              (log: h_a = m_a log(M / m_a))
    t[v] <= M - w[v],           |(2 m, M - w)| <= M + w              (Brier: w = sum_a m_a^2 / M)
with m[a,v] = sum_{x: a(x) = a} weight(x) rho[x,v] and M[v] = sum_a m[a,v]; the rest is the linear form. Her reports are
in the multipliers of the cones, also at views that are never sent, where there is no posterior: those of an exponential
cone with the price P are (-P, v, w) with w = P r(a), and those of a second-order cone have -P r(a) at 2 m_a.

All here are floats. What they prove is found in rationals afterwards.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.engines.centring import centred
from bap_lp.engines.form import LinearForm
from bap_lp.model.reports import Reporter
from bap_lp.program.bound import Dual, Observer, Program, Sparse
from bap_lp.support.clock import OutOfTime, check, remaining, watched
from bap_lp.support.rational import Array, floats

_TIGHT = 1e-14  # asked of Clarabel, which then goes on until floats do not get closer
_USUAL = 1e-4, 100.0  # factors that Clarabel takes as they are: gaps were 1e-14 at 50, 4e-8 at 5000, 2e-10 at 5e-6
_LEAST = 1e-200  # a report, so that its logarithm is finite


class NoMechanism(ArithmeticError):
    """The cone program has no solution: the conditions cannot be met."""


@dataclass(frozen=True, eq=False)
class ConicPoint:
    """A float solution: the table, multipliers of rows and finite groups, and by observer and group prices and reports.

    reports are views x values.
    """

    rho: Array
    dual: Dual
    reports: dict[tuple[str, int], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class _Score:
    """A group that reports: its t, and where its further variables and its cones begin."""

    observer: Observer
    group: int
    reporter: Reporter
    M: int
    further: int

    @property
    def unit(self) -> float:
        """Of her masses, t and further variables: the largest factor of her losses if it is far from one."""
        return _unit(self.reporter)

    @property
    def shape(self) -> tuple[int, int]:
        """Values and views."""
        return len(self.reporter.values), self.observer.views


def conic_point(program: Program, scale: float | None = 1.0, balanced: bool = True) -> ConicPoint:
    """The optimum of a program whose costs have this scale; raises NoMechanism if there is none.

    scale: None for the largest cost. balanced: whether Clarabel scales rows and columns, which seldom loses digits
    both ways.
    """
    import clarabel
    from scipy import sparse

    rounded = centred(program).rounded
    form = LinearForm.of(rounded)
    lp, scores, count = form.lp, [], form.lp.shape[1]
    keep = np.ones(len(lp.rhs), dtype=bool)  # columns that stand for reports have no rows
    for o in rounded.observers:
        keep[form.replies[o.name]] = np.tile(~np.isin(o.group_of, [g for g, _ in o.scores]), o.views)
        for g, reporter in o.scores:
            scores.append(_Score(o, g, reporter, count, count + o.views))
            count += o.views + o.views * (len(reporter.values) if reporter.kind == "log" else 1)
    rows = np.flatnonzero(keep)
    A = sparse.csc_matrix((lp.value, lp.index, lp.start), shape=lp.shape).tocsr()[rows]
    A.resize(len(rows), count)
    unit = np.ones(count)  # of the columns: t of a finite group is as large as its losses
    for o in rounded.observers:
        if not isinstance(o.losses, Sparse):
            largest = np.maximum.reduceat(abs(o.losses).max(axis=0), o.starts)
            largest[[g for g, _ in o.scores]] = [_unit(reporter) for _, reporter in o.scores]
            unit[form.t[o.name]] = np.where(largest > 0, largest, 1.0)
    A = A @ sparse.diags(unit)
    size = np.maximum(abs(A).max(axis=1).toarray().ravel(), 1e-300)
    A, rhs, equal = sparse.diags(1 / size).tocsr() @ A, lp.rhs[rows] / size, lp.equality[rows]
    bounded = np.flatnonzero(~lp.free)
    below = sparse.csr_matrix((-np.ones(len(bounded)), (np.arange(len(bounded)), bounded)), shape=(len(bounded), count))
    defined, capped, curved, cones = [], [], [], []
    for one in scores:
        total, cap, cone = _rows(one, form, count)
        defined.append(total)
        capped.append(cap)
        curved.append(cone)
        V, S = one.shape
        own = clarabel.ExponentialConeT() if one.reporter.kind == "log" else clarabel.SecondOrderConeT(V + 2)
        cones += [own] * (V * S if one.reporter.kind == "log" else S)
    blocks = [A[equal], *defined, A[~equal], below, *capped, *curved]
    matrix = sparse.vstack(blocks).tocsc()
    zeros = int(equal.sum()) + sum(block.shape[0] for block in defined)
    signs = int((~equal).sum()) + len(bounded) + sum(block.shape[0] for block in capped)
    right = np.zeros(matrix.shape[0])
    right[: int(equal.sum())] = rhs[equal]
    right[zeros : zeros + int((~equal).sum())] = rhs[~equal]
    cost = np.append(lp.cost, np.zeros(count - lp.shape[1])) * unit
    scale = scale or float(np.abs(cost).max(initial=0.0)) or 1.0
    cost /= scale
    kinds = [clarabel.ZeroConeT(zeros), clarabel.NonnegativeConeT(signs), *cones]
    x, z = _solved(cost, matrix, right, kinds, balanced)

    y = np.zeros(len(lp.rhs))
    with np.errstate(over="ignore"):  # rows of almost nothing
        y[rows[equal]] = z[: int(equal.sum())] / size[equal]
        y[rows[~equal]] = np.maximum(z[zeros : zeros + int((~equal).sum())], 0.0) / size[~equal]
        dual = form.dual(-scale * y)
    reports, first, last = {}, zeros + int((~equal).sum()) + len(bounded), zeros + signs
    for one in scores:
        V, S = one.shape
        price, first = np.maximum(z[first : first + S], 0.0), first + S
        width = 3 * V * S if one.reporter.kind == "log" else (V + 2) * S
        own, last = z[last : last + width], last + width
        reports[one.observer.name, one.group] = scale / one.unit * price, _reports(one, price, own)
    return ConicPoint(x[form.rho], dual, reports)


def _unit(reporter: Reporter) -> float:
    largest = float(floats(reporter.factor).max(initial=0.0))
    return 1.0 if _USUAL[0] <= largest <= _USUAL[1] else largest or 1.0


def _rows(one: _Score, form: LinearForm, count: int) -> tuple[Any, Any, Any]:
    """Rows M - sum m = 0, those that cap t, and those of the cones, cone by cone."""
    from scipy import sparse

    (V, S), live = one.shape, np.flatnonzero(one.reporter.where >= 0)
    N, signals = len(live), np.arange(len(one.observer.sees))
    view = np.tile(one.observer.sees, N)
    value = np.repeat(one.reporter.where[live], len(signals))
    weight = np.repeat(floats(one.reporter.factor)[live] / one.unit, len(signals))
    column = form.rho[live].ravel()
    views, M = np.arange(S), one.M + np.arange(S)

    def table(height: int, *entries: tuple[Any, Any, Any]) -> Any:
        row, at, amount = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        return sparse.csr_matrix((amount, (row, at)), shape=(height, count))

    ones = np.ones(S)
    total = table(S, (view, column, -weight), (views, M, ones))
    t = form.t[one.observer.name][:, one.group]
    if one.reporter.kind == "log":  # cone (a, v): h, m, M
        place = np.arange(V * S)
        h = one.further + place
        cap = table(S, (views, t, ones), (np.tile(views, V), h, -np.ones(V * S)))
        cone = table(
            3 * V * S,
            (3 * place, h, -np.ones(V * S)),
            (3 * (value * S + view) + 1, column, -weight),
            (3 * place + 2, np.tile(M, V), -np.ones(V * S)),
        )
        return total, cap, cone
    w = one.further + views  # cone v: M + w, 2 m, M - w
    cap = table(S, (views, t, ones), (views, M, -ones), (views, w, ones))
    first, last = (V + 2) * views, (V + 2) * views + V + 1
    cone = table(
        (V + 2) * S,
        (first, M, -ones),
        (first, w, -ones),
        ((V + 2) * view + 1 + value, column, -2.0 * weight),
        (last, M, -ones),
        (last, w, ones),
    )
    return total, cap, cone


def _solved(cost: Array, matrix: Any, right: Array, kinds: list[Any], balanced: bool) -> tuple[Array, Array]:
    import clarabel
    from scipy import sparse

    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TIGHT
    settings.tol_ktratio, settings.equilibrate_enable = 1e-12, balanced
    check()
    if remaining() < np.inf:
        settings.time_limit = max(remaining(), 1e-3)
    nothing = sparse.csc_matrix((len(cost), len(cost)))
    solver, unwanted = clarabel.DefaultSolver(nothing, cost, matrix, right, kinds, settings), threading.Event()
    solver.set_termination_callback(lambda _: unwanted.is_set())  # asked at every step
    found = watched(solver.solve, unwanted.set)
    status, x, z = str(found.status), np.array(found.x), np.array(found.z)
    if "Infeasible" in status:
        raise NoMechanism(status)
    if status == "MaxTime":
        raise OutOfTime("the time limit was reached before the optimum")
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        raise ArithmeticError(f"the cone program was not solved: {status}")
    return x, z


def _reports(one: _Score, price: Array, own: Array) -> Array:
    """Views x values, from the multipliers of the cones."""
    V, S = one.shape
    if one.reporter.kind == "log":
        found = np.maximum(own.reshape(V, S, 3)[:, :, 2].T, _LEAST)
        return np.maximum(found / found.sum(axis=1)[:, None], _LEAST)
    found = -own.reshape(S, V + 2)[:, 1:-1]
    safe = np.where(price > 1e-12, price, 1.0)[:, None]
    return np.where(price[:, None] > 1e-12, found / safe, 1.0 / V)
