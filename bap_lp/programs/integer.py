"""Deterministic mechanisms and few signals: the program with binary variables.

    deterministic   q[x,s] in {0, 1}
    max_signals k   q[x,s] <= z[s], sum_s z[s] <= k, z in {0, 1}
Small cases are settled by trying everything: all maps from states to decisions, all sets of k signals with the exact
optimum on each. Otherwise HiGHS branches and bounds in floats; its mechanism is evaluated exactly, and the gap to its
bound, less its tolerance, is reported as it is. A float solution that misses a condition in exact arithmetic is cut off
and the search repeated.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any

import highspy
import numpy as np

from bap_lp.conditions.conditions import Conditions
from bap_lp.linear.highs import SolverError, model, solver
from bap_lp.linear.program import LinearProgram, from_entries
from bap_lp.model.mechanism import degenerate
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.programs.conclusion import conclude
from bap_lp.programs.conditional_optimum import Infeasible, Point, bound_of, optimum, program_of, risk_pair, view
from bap_lp.programs.constrained import Data
from bap_lp.programs.solution import Solution
from bap_lp.proof.certificate import TOLERANCE
from bap_lp.proof.conditional import Branch
from bap_lp.proof.enumeration import best_deterministic, enumerable
from bap_lp.proof.feasibility import check_conditions
from bap_lp.rational import Array, InputError, public, zeros

_SUBSETS = 64  # sets of signals that are tried before branch and bound takes over
_CUTS = 100
_OPTIONS = {
    "solver": "choose",
    "presolve": "choose",
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-10,
    "mip_feasibility_tolerance": 1e-9,
    "time_limit": 600.0,
}


def combinatorial(
    problem: Problem, data: Data, index: Array, lam: Any, conditions: Conditions, relaxed: Point
) -> Solution:
    """The best deterministic mechanism, or the best with few signals, under all conditions of `data`."""
    limits = data.limits
    bound: Number | None
    branches: tuple[Branch, ...] = ()
    if limits.deterministic and enumerable(problem, limits):
        found = best_deterministic(data.p, data.B, data.E, data.groups, lam, limits)
        if found is None:
            raise _hopeless(conditions)
        q, bound = degenerate(found[1].tolist(), len(data.signals), data.exact), public(found[0])
        how = f"all {data.B.shape[1]}^{len(data.p)} deterministic mechanisms tried"
    elif not limits.deterministic and comb(len(data.signals), limits.max_signals or 1) <= _SUBSETS:
        q, bound, branches = _best_subset(problem, data, index, lam, conditions)
        how = f"all sets of {limits.max_signals} signals tried"
    else:
        q, bound, how = _branch(data, lam, conditions)
    point = replace(relaxed, q=q, how=how)
    solution = conclude(problem, data, index, lam, conditions, point, relaxed)
    if branches:
        assert solution.certificate.proof is not None
        proof = replace(solution.certificate.proof, branches=branches)
        solution = replace(solution, certificate=replace(solution.certificate, proof=proof))
    # the relaxation's bound is proved; a better one comes from the search
    best = solution.bound if bound is None else max(solution.bound, min(bound, solution.value))
    return replace(solution, bound=best, gap=solution.value - best)


def _best_subset(
    problem: Problem, data: Data, index: Array, lam: Any, conditions: Conditions
) -> tuple[Array, Number, tuple[Branch, ...]]:
    """The best channel, its value, and the proof by branches if the conditions can be met on every set of signals."""
    best: tuple[Any, Array, Point] | None = None
    branches: list[Branch] = []
    sets = list(combinations(range(len(data.signals)), data.limits.max_signals or 1))
    for keep in sets:
        found = _on(data, keep, lam)
        if found is None:
            continue
        point = found[2]
        _, (u, proof) = bound_of(problem, data.only(keep), lam, point, index)
        prices = {"floor_price": public(point.floor_price), "cap_price": public(point.cap_price)}
        branches.append(Branch(keep, u, replace(proof, conditions=conditions, **prices)))
        if best is None or found[0] < best[0]:
            best = found
    if best is None:
        raise _hopeless(conditions)
    return best[1], public(best[0]), tuple(branches) if len(branches) == len(sets) else ()


def _on(data: Data, keep: tuple[int, ...], lam: Any) -> tuple[Any, Array, Point] | None:
    """(value, channel, point) of the optimum on some signals; None if they cannot meet the conditions."""
    part = data.only(keep)
    try:
        point = optimum(part, lam)
    except Infeasible:
        return None
    bob, eve = risk_pair(part, point.q)
    wide = zeros((len(point.q), len(data.signals)), data.exact)
    wide[:, list(keep)] = point.q
    return bob - lam * eve, wide, point


def _branch(data: Data, lam: Any, conditions: Conditions) -> tuple[Array, Number | None, str]:
    limits, S, N = data.limits, len(data.signals), len(data.p)
    lp, _ = program_of(data, lam)
    scale = (float(data.B.max()) or 1.0) / N  # of the objective
    # a bound found in floats holds up to their tolerances
    slack = TOLERANCE * max(float(data.B.max()), float(lam) * float(data.E.max()))
    binary = np.zeros(lp.shape[1], dtype=bool)
    binary[: N * S] = limits.deterministic
    if limits.max_signals is not None and limits.max_signals < S:
        lp = _counted(lp, N, S, limits.max_signals)
        binary = np.append(binary, np.ones(S, dtype=bool))
    for _ in range(_CUTS):
        z, low, done = _run(lp, binary)
        if z is None:
            raise _hopeless(conditions)
        table = z[: N * S].reshape(N, S)
        how = "HiGHS branch and bound in floats" + ("" if done else ", stopped at its time limit")
        if limits.deterministic:
            q = degenerate(table.argmax(axis=1).tolist(), S, data.exact)
            chosen = np.flatnonzero(table.ravel() > 0.5)
            if not check_conditions(view(data), limits, data.signals, q, 0 if data.exact else 1e-9):
                return q, low * scale - slack, how
        else:
            used = np.flatnonzero(z[-S:] > 0.5)
            found = _on(data, tuple(used.tolist()), lam)
            if found is not None:
                return found[1], low * scale - slack, how
            chosen = lp.shape[1] - S + used
        lp = _cut(lp, chosen)
    raise SolverError(f"branch and bound met no mechanism that satisfies the conditions exactly in {_CUTS} attempts")


def _counted(lp: LinearProgram, N: int, S: int, most: int) -> LinearProgram:
    """Columns z[s] and rows q[x,s] <= z[s], sum z <= most."""
    m, n = lp.shape
    q = np.arange(N * S)
    rows = np.concatenate([m + q, m + q, np.full(S, m + N * S)])
    columns = np.concatenate([q, n + q % S, n + np.arange(S)])
    values = np.concatenate([np.ones(N * S), -np.ones(N * S), np.ones(S)])
    return _with_rows(lp, S, rows, columns, values, np.append(np.zeros(N * S), float(most)))


def _cut(lp: LinearProgram, chosen: Array) -> LinearProgram:
    """Not all of these binaries may be one."""
    row = np.full(len(chosen), lp.shape[0])
    return _with_rows(lp, 0, row, chosen, np.ones(len(chosen)), np.array([len(chosen) - 1.0]))


def _with_rows(lp: LinearProgram, more: int, rows: Array, columns: Array, values: Array, rhs: Array) -> LinearProgram:
    return from_entries(
        np.append(lp.cost, np.zeros(more)),
        np.concatenate([lp.index, rows]),
        np.concatenate([lp.column_of, columns]),
        np.concatenate([lp.value, values]),
        np.append(lp.rhs, rhs),
        np.append(lp.equality, np.zeros(len(rhs), dtype=bool)),
        np.append(lp.free, np.zeros(more, dtype=bool)),
    )


def _run(lp: LinearProgram, binary: Array) -> tuple[Array | None, float, bool]:
    """Best point found, lower bound, and whether the search was completed; no point if there is none."""
    highs = solver(**_OPTIONS)
    program = model(lp)
    program.col_upper_ = np.where(binary, 1.0, highspy.kHighsInf)
    kinds = highspy.HighsVarType
    program.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in binary]
    highs.passModel(program)
    highs.run()
    status, info = highs.getModelStatus(), highs.getInfo()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None, 0.0, True
    done = status == highspy.HighsModelStatus.kOptimal
    z = np.array(highs.getSolution().col_value)
    if not done and (status != highspy.HighsModelStatus.kTimeLimit or not np.isfinite(info.objective_function_value)):
        raise SolverError(f"HiGHS found no mechanism for a program of shape {lp.shape} with binaries: {status}")
    return z, float(info.mip_dual_bound), done


def _hopeless(conditions: Conditions) -> InputError:
    if conditions.deterministic:
        return InputError("deterministic", True, "cannot be met together with the other conditions")
    return InputError("max_signals", conditions.max_signals, "cannot be met together with the other conditions")
