"""LinearProgram -> float solution with basis and duals, by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from bap_lp.program import LinearProgram
from bap_lp.rational import Array


@dataclass(frozen=True)
class FloatVertex:
    """A vertex as HiGHS sees it. `basic`: variable numbers of the basis, columns first, then one slack per row."""

    z: Array
    y: Array
    value: float
    basic: Array


class SolverError(RuntimeError):
    """The float solver gave up: the message says on what and with which status."""


def solve_lp(lp: LinearProgram) -> FloatVertex:
    """Minimise by the dual simplex method; A z + s = rhs defines the slacks. Duals of <= rows come out <= 0."""
    highs = _load(lp)
    highs.run()
    status = highs.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverError(f"HiGHS ended with {highs.modelStatusToString(status)} on a program of shape {lp.shape}")
    solution, basis = highs.getSolution(), highs.getBasis()
    kBasic = highspy.HighsBasisStatus.kBasic
    status_of = [s == kBasic for s in (*basis.col_status, *basis.row_status)]
    return FloatVertex(
        np.array(solution.col_value),
        np.array(solution.row_dual),
        highs.getInfo().objective_function_value,
        np.flatnonzero(status_of),
    )


def _load(lp: LinearProgram) -> highspy.Highs:
    highs = highspy.Highs()
    for option, setting in {"output_flag": False, "threads": 1, "solver": "simplex", "presolve": "off"}.items():
        if highs.setOptionValue(option, setting) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refused the option {option} = {setting}")
    highs.passModel(model(lp))
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
