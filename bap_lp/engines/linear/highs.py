"""LinearProgram -> float solution with basis and duals, by HiGHS.

`run` is the one place where HiGHS works. A long run is `clock.watched`. If an exception ends it, such as a
KeyboardInterrupt, HiGHS is told to stop: the simplex method reads its time limit at every pivot, the other methods ask
a callback, which is installed only then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np

from bap_lp.engines.linear.linear_program import LinearProgram
from bap_lp.support.clock import OutOfTime, check, remaining, watched
from bap_lp.support.rational import Array


@dataclass(frozen=True)
class FloatVertex:
    """A vertex as HiGHS sees it. `basic`: variable numbers of the basis, columns first, then one slack per row.

    `optimal` is the solver's opinion; badly scaled data can leave it with a basis and doubts.
    """

    z: Array
    y: Array
    basic: Array
    optimal: bool
    before_ties: tuple[Array, Array]  # z and basis


@dataclass(frozen=True)
class Start:
    """The variables of a feasible basis, and how many pivots the primal simplex method may take from there.

    otherwise: finds another basis from which it goes on if those are not enough.
    """

    basic: Array | None
    pivots: int | None = None
    otherwise: Callable[[LinearProgram], Array | None] | None = None


_ROUNDS = 60  # of rows that are added
# privacy between all pairs of 1000 states, 20 decisions: 8 s from inside, 160 s by the dual simplex method; a chain of
# 100 states, whose columns are sparse, 6 s against 5 s. The most room under a margin: 0.8 against 10 s at (300, 8, 8),
# 0.08 against 0.3 s at (100, 6, 6)
_LARGE, _FULL = 4000, 30_000  # rows, or entries
_DENSE = 100  # entries of a column
_FEW = 0.01  # of all columns
_BASIC = highspy.HighsBasisStatus.kBasic
PRIMAL = 4  # HiGHS's number of the primal simplex strategy
_TIED = 1e-7  # reduced costs below this, at the scale of `optimum.scaled`, count as zero; the exact check decides
# pivots per row after which the interior point is tried: most programs take up to 3. Under a margin, whole losses take
# 10 at (100, 6, 6), 0.4 against 0.08 s, and more at (300, 8, 8), 14 against 0.6 s
_PER_ROW = 4
_LONG = 10_000  # entries from which a thread, which takes 0.2 ms to start, costs less than a fiftieth of the run
_PERTURBATION = "primal_simplex_bound_perturbation_multiplier"
_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "threads": 1,
    "solver": "simplex",
    "presolve": "off",  # a basis of the program itself, and no start-up cost on small ones
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


class SolverError(RuntimeError):
    """The float solver gave up: the message says on what and with which status."""


def solve_lp(
    lp: LinearProgram,
    ties: Sequence[Array] = (),
    start: Start | None = None,
    lazy: Array | None = None,
) -> FloatVertex:
    """Minimise; A z + s = rhs defines the slacks. Duals of <= rows come out <= 0.

    Without a start, or where that is given up, by the dual simplex method, of which a long run is given up for the
    interior point. lazy: rows that are left out until a solution violates them; most of them never are.

    Each cost in `ties` is then minimised over the face that is left: columns with a reduced cost are fixed at zero and
    rows with a dual made equalities. z and basis are those of the end, y is that of the program's own cost.
    """
    highs = None if start is None else _from_start(lp, start)
    if highs is None:
        highs = _cold(lp, lazy)
    status = highs.getModelStatus()
    z, y = np.array(highs.getSolution().col_value), np.array(highs.getSolution().row_dual)
    if len(z) != lp.shape[1] or len(y) != lp.shape[0]:
        raise SolverError(f"HiGHS found no vertex of a program of shape {lp.shape}: {status}")
    optimal = status == highspy.HighsModelStatus.kOptimal
    first_z, first = z, basic_flags(highs)
    z, flags = _tied_vertex(highs, lp, ties, z, first) if optimal else (z, first)
    slacks = np.arange(lp.shape[1], sum(lp.shape))
    basic, plain = (np.flatnonzero(f) if len(f) else slacks for f in (flags, first))
    return FloatVertex(z, y, basic, optimal, (first_z, plain))


def _from_start(lp: LinearProgram, start: Start) -> highspy.Highs | None:
    """The primal simplex method from one basis or the other; None if both are given up."""
    highs = None if start.basic is None else _by_pivots(lp, start.basic, start.pivots)
    if highs is None and start.otherwise is not None and (basic := start.otherwise(lp)) is not None:
        highs = _by_pivots(lp, basic, None)
    return highs


def _by_pivots(lp: LinearProgram, start: Array, pivots: int | None) -> highspy.Highs | None:
    """The primal simplex method from a basis; None if that takes more pivots.

    A second perturbation of bounds is left out where pivots are counted: a tenth faster, but it may never end.
    """
    limits: dict[str, Any] = {} if pivots is None else {"simplex_iteration_limit": pivots, _PERTURBATION: 0.0}
    highs = loaded_program(lp, simplex_strategy=PRIMAL, **limits)
    set_basis(highs, _flags(start, sum(lp.shape)), regular=pivots is not None)
    run(highs)
    if pivots is not None:
        highs.setOptionValue("simplex_iteration_limit", highspy.kHighsIInf)
        highs.setOptionValue(_PERTURBATION, 1.0)
    return highs if highs.getModelStatus() == highspy.HighsModelStatus.kOptimal or pivots is None else None


def _cold(lp: LinearProgram, lazy: Array | None) -> highspy.Highs:
    """The dual simplex method, from the vertex of the interior point method where a run is long."""
    basis = _from_inside(lp) if lazy is None else _by_rows(lp, lazy)
    highs = loaded_program(lp)
    if basis is not None:
        set_basis(highs, _flags(basis, sum(lp.shape)))
    elif len(lp.value) >= _LONG:
        highs.setOptionValue("simplex_iteration_limit", _PER_ROW * lp.shape[0])
    run(highs)
    if highs.getModelStatus() == highspy.HighsModelStatus.kIterationLimit:
        highs.setOptionValue("simplex_iteration_limit", highspy.kHighsIInf)
        if (inner := interior_basis(lp)) is not None:  # or else it goes on from where it is
            set_basis(highs, _flags(inner, sum(lp.shape)))
        run(highs)
    return highs


def _tied_vertex(
    highs: highspy.Highs, lp: LinearProgram, ties: Sequence[Array], z: Array, flags: Array
) -> tuple[Array, Array]:
    """The vertex that the ties choose on the optimal face, and its basis."""
    for cost in ties:
        size = np.abs(cost).max(initial=0.0) or 1.0  # tolerances are absolute
        if not np.isfinite(size) or not _fix_face(highs, lp, flags):  # too large for floats: the first has to do
            break
        highs.changeColsCost(lp.shape[1], np.arange(lp.shape[1], dtype=np.int32), cost / size)
        highs.setOptionValue("simplex_strategy", PRIMAL)  # the vertex at hand is feasible
        run(highs)
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal or not highs.getBasis().valid:
            break
        z, flags = np.array(highs.getSolution().col_value), basic_flags(highs)
    return z, flags


def _from_inside(lp: LinearProgram) -> Array | None:
    """The basis of a large program with a few dense columns, by the interior point method; None if it is not one."""
    dense = np.count_nonzero(np.diff(lp.start) >= _DENSE)
    if (lp.shape[0] < _LARGE and len(lp.value) < _FULL) or not 0 < dense <= _FEW * lp.shape[1]:
        return None
    return interior_basis(lp)


def _by_rows(lp: LinearProgram, lazy: Array) -> Array | None:
    """The basis of the program, found by adding rows that are violated; None if that does not work out."""
    from scipy.sparse import csc_matrix

    (m, n), inf = lp.shape, highspy.kHighsInf
    matrix = csc_matrix((lp.value, lp.index, lp.start), shape=(m, n)).tocsr()
    inside = np.flatnonzero(~lazy)
    part = matrix[inside].tocsc()
    few = replace(lp, start=part.indptr.astype(np.int64), index=part.indices.astype(np.int64), value=part.data,
                  rhs=lp.rhs[inside], equality=lp.equality[inside], row_kind=lp.row_kind[inside])  # fmt: skip
    highs = loaded_program(few)
    for _ in range(_ROUNDS):
        run(highs)
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None  # the rows left out may be what bounds it
        over = matrix @ np.array(highs.getSolution().col_value) - lp.rhs
        over[inside] = 0.0
        # a row counts as violated relative to its terms, as far as the solver can tell
        violated = np.flatnonzero(over > 1e-9)
        if not len(violated):
            status, basic = highs.getBasicVariables()
            if status != highspy.HighsStatus.kOk:
                return None
            rows = inside[-1 - basic[basic < 0]]
            return np.concatenate([basic[basic >= 0], n + rows, n + np.setdiff1d(np.arange(m), inside)])
        new = matrix[violated]
        bounds = np.full(len(violated), -inf), lp.rhs[violated]
        pattern = new.indptr[:-1].astype(np.int32), new.indices.astype(np.int32), new.data
        highs.addRows(len(violated), *bounds, new.nnz, *pattern)
        inside = np.concatenate([inside, violated])
    return None


def solve_interior(lp: LinearProgram) -> FloatVertex:
    """Minimise by the interior point method with crossover to a vertex: for large programs without a good start."""
    highs = loaded_program(lp, solver="ipm", run_crossover="on", presolve="on")
    run(highs)
    status, flags = highs.getModelStatus(), basic_flags(highs)
    if status != highspy.HighsModelStatus.kOptimal or not len(flags):
        raise SolverError(f"HiGHS found no vertex of a program of shape {lp.shape}: {status}")
    z, y, basic = np.array(highs.getSolution().col_value), np.array(highs.getSolution().row_dual), np.flatnonzero(flags)
    return FloatVertex(z, y, basic, True, (z, basic))


def interior_basis(lp: LinearProgram) -> Array | None:
    """The basis that it finds; None if it finds none."""
    try:
        return solve_interior(lp).basic
    except SolverError:
        return None


def run(highs: highspy.Highs, long: bool = False) -> None:
    """Run within the time that is left, or within a shorter limit of the solver's own; a signal ends it at once.

    long: though the program is small, as one in whole numbers may be. Raises OutOfTime, and whatever a signal handler
    raises.
    """
    check()
    left, own = remaining(), highs.getOptionValue("time_limit")[1]
    if left < own:
        highs.setOptionValue("time_limit", highs.getRunTime() + left)
    if long or highs.getNumNz() >= _LONG:
        watched(highs.run, lambda: _stop(highs))
    else:
        highs.run()
    if left < own and highs.getModelStatus() == highspy.HighsModelStatus.kTimeLimit:
        raise OutOfTime("the time limit was reached before the optimum")


def _stop(highs: highspy.Highs) -> None:
    """Make a run in another thread end."""
    highs.setOptionValue("time_limit", 0.0)
    for asked in (highs.cbIpmInterrupt, highs.cbMipInterrupt):
        asked.subscribe(lambda event: event.interrupt())


def loaded_program(lp: LinearProgram, binary: Array | None = None, **options: object) -> highspy.Highs:
    """HiGHS with the program in it; binary: which columns must be zero or one."""
    inf = highspy.kHighsInf
    most = np.full(len(lp.cost), inf) if binary is None else np.where(binary, 1.0, inf)
    columns, rows = (lp.cost, np.where(lp.free, -inf, 0.0), most), (np.where(lp.equality, lp.rhs, -inf), lp.rhs)
    return loaded(columns, rows, (lp.start, lp.index, lp.value), binary, **options)


def loaded(
    columns: tuple[Array, Array, Array],
    rows: tuple[Array, Array],
    matrix: tuple[Array, Array, Array],
    integer: Array | None = None,
    **options: object,
) -> highspy.Highs:
    """HiGHS with a program in it: cost, least and largest value of the columns, the same of the rows, A by columns.

    integer: which columns must be whole numbers.

    The arrays are handed over as they are: twice as fast as filling a HighsLp. HiGHS refuses numbers that are too large
    for it: then it stays empty, and has no optimum and no basis.
    """
    highs, (start, index, value) = _solver(**options), matrix
    n, m = len(columns[0]), len(rows[0])
    by_column, minimise = int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize)
    kinds = np.zeros(n, dtype=np.int32) if integer is None else integer.astype(np.int32)
    pattern = start.astype(np.int32), index.astype(np.int32), value, kinds
    highs.passModel(n, m, len(value), by_column, minimise, 0.0, *columns, *rows, *pattern)
    return highs


def set_basis(highs: highspy.Highs, basic: Array, regular: bool = False) -> None:
    """Start from a basis: which columns are basic, then which rows (their slacks); regular: known to be one."""
    kinds, out, n = highspy.HighsBasisStatus, highspy.HighsBasis(), highs.getNumCol()
    status = np.array([kinds.kNonbasic, kinds.kBasic], dtype=object)[basic.astype(int)].tolist()
    out.col_status, out.row_status, out.valid = status[:n], status[n:], True
    out.alien = not regular  # an alien basis is factored first, to see whether it is one
    highs.setBasis(out)


def _flags(basic: Array, count: int) -> Array:
    out = np.zeros(count, dtype=bool)
    out[basic] = True
    return out


def basic_flags(highs: highspy.Highs) -> Array:
    """Which columns and slacks are basic; empty if there is no basis.

    `getBasicVariables` reads the factor that the simplex method leaves, in a hundredth of the time that the statuses
    take. After interior point and crossover there is none, and it ends the process (HiGHS 1.15).
    """
    basis, n = highs.getBasis(), highs.getNumCol()
    if not basis.valid:
        return np.zeros(0, dtype=bool)
    if highs.getOptionValue("solver")[1] != "simplex":
        return np.fromiter(map(int, basis.col_status + basis.row_status), dtype=np.int8) == int(_BASIC)
    status, basic = highs.getBasicVariables()
    if status != highspy.HighsStatus.kOk:
        return np.zeros(0, dtype=bool)
    flags = np.zeros(n + highs.getNumRow(), dtype=bool)
    flags[np.where(basic >= 0, basic, n - 1 - basic)] = True  # row r is numbered -1 - r
    return flags


def _fix_face(highs: highspy.Highs, lp: LinearProgram, flags: Array) -> bool:
    """Leave only the optimal face of the last cost; whether it may be more than a point."""
    n = lp.shape[1]
    solution = highs.getSolution()
    column = np.abs(np.array(solution.col_dual)) > _TIED
    row = (np.abs(np.array(solution.row_dual)) > _TIED) | lp.equality
    if not ((~column & ~flags[:n]).any() or (~row & ~flags[n:]).any()):
        return False
    fixed, tight = np.flatnonzero(column).astype(np.int32), np.flatnonzero(row).astype(np.int32)
    if len(fixed):
        highs.changeColsBounds(len(fixed), fixed, np.zeros(len(fixed)), np.zeros(len(fixed)))
    if len(tight):
        highs.changeRowsBounds(len(tight), tight, lp.rhs[tight], lp.rhs[tight])
    return True


def _solver(**changes: object) -> highspy.Highs:
    """HiGHS, quiet and on one thread, with the options this project wants unless they are changed."""
    highs = highspy.Highs()
    for option, setting in {**_OPTIONS, **changes}.items():
        if highs.setOptionValue(option, setting) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refused the option {option} = {setting}")
    return highs
