"""LinearProgram -> float solution with basis and duals, by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from bap_lp.linear.program import LinearProgram
from bap_lp.rational import Array


@dataclass(frozen=True)
class FloatVertex:
    """A vertex as HiGHS sees it. `basic`: variable numbers of the basis, columns first, then one slack per row.

    `optimal` is the solver's opinion; badly scaled data can leave it with a basis and doubts.
    """

    z: Array
    y: Array
    value: float
    basic: Array
    optimal: bool


_OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "solver": "simplex",
    "presolve": "off",  # a basis of the program itself, and no start-up cost on small ones
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


class SolverError(RuntimeError):
    """The float solver gave up: the message says on what and with which status."""


def solve_lp(lp: LinearProgram) -> FloatVertex:
    """Minimise by the dual simplex method; A z + s = rhs defines the slacks. Duals of <= rows come out <= 0."""
    highs = solver()
    highs.passModel(model(lp))
    highs.run()
    solution, basis = highs.getSolution(), highs.getBasis()
    kBasic = highspy.HighsBasisStatus.kBasic
    flags = [s == kBasic for s in (*basis.col_status, *basis.row_status)]
    if len(solution.col_value) != lp.shape[1] or len(solution.row_dual) != lp.shape[0]:
        raise SolverError(f"HiGHS found no vertex of a program of shape {lp.shape}: {highs.getModelStatus()}")
    return FloatVertex(
        np.array(solution.col_value),
        np.array(solution.row_dual),
        highs.getInfo().objective_function_value,
        np.flatnonzero(flags) if basis.valid else np.arange(lp.shape[1], sum(lp.shape)),
        highs.getModelStatus() == highspy.HighsModelStatus.kOptimal,
    )


def solver(**changes: object) -> highspy.Highs:
    """HiGHS, quiet and on one thread, with the options this project wants unless they are changed."""
    highs = highspy.Highs()
    for option, setting in {**_OPTIONS, **changes}.items():
        if highs.setOptionValue(option, setting) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refused the option {option} = {setting}")
    return highs


def model(lp: LinearProgram) -> highspy.HighsLp:
    """The program in HiGHS's own structure, arrays passed whole."""
    rows, columns = lp.shape
    inf = highspy.kHighsInf
    out = highspy.HighsLp()
    out.num_col_, out.num_row_ = columns, rows
    out.col_cost_ = lp.cost
    out.col_lower_ = np.where(lp.free, -inf, 0.0)
    out.col_upper_ = np.full(columns, inf)
    out.row_lower_ = np.where(lp.equality, lp.rhs, -inf)
    out.row_upper_ = lp.rhs
    out.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    out.a_matrix_.start_ = lp.start.astype(np.int32)
    out.a_matrix_.index_ = lp.index.astype(np.int32)
    out.a_matrix_.value_ = lp.value
    return out
