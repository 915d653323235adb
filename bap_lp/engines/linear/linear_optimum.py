"""The one way from a linear program to its optimum: scale, solve in floats, and carry the basis to the rationals.

Scaling. With positive row and column factors R, C and positive numbers k, h the program
    min k (C c).z'   s.t.  R A C z' = h R rhs
has the same bases; z = C z' / h and y = R y' / k. Rows and columns of one kind share a factor, chosen such that the
largest entry in every block of one kind of rows and one kind of columns is near one (least squares in logarithms, one
equation per block); then the right-hand side is brought to mean one and the cost to largest entry one. So the float
solver's tolerances mean the same in every program. Factors are powers of two: nothing is rounded. Single rows and
columns are not scaled: equilibrating them needed up to four times as many exact repairs on losses from 1e-9 to 1e9.

Exact programs: the basis of the float solution is solved over the rationals, checked, and repaired where it is wrong.
Float programs: the float solution is returned if the caller accepts it; otherwise the program is solved as the
rationals its floats are, and rounded at the end.

Ties. Where the optimum is not unique, the costs in `ties` choose in turn: the first minimises over the optimal face,
the next over what is left, and so on. With a generic last cost one vertex remains, whatever way led to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from bap_lp.engines.linear.exact_simplex import Infeasible, LongWalk, Optimum, at_vertex, exact_optimum
from bap_lp.engines.linear.highs import SolverError, Start, solve_lp
from bap_lp.engines.linear.iterative_refinement import refine
from bap_lp.engines.linear.linear_program import LinearProgram
from bap_lp.support.display import counted
from bap_lp.support.rational import EXACT, Array, InputError, floats

_MANY_ROWS = 400  # rows from which refinement in extended precision is faster than exact repairs

__all__ = ["Infeasible", "LongWalk", "Optimum", "optimum", "scaled"]


# what is beyond the range of floats is infinite or undefined, is not accepted, and is found in rationals
QUIET = np.errstate(over="ignore", invalid="ignore", divide="ignore")


@QUIET
def optimum(
    lp: LinearProgram,
    *,
    ties: Sequence[Array] = (),
    limit: int | None = None,
    start: Start | None = None,
    lazy: Array | None = None,
) -> Optimum:
    """The optimum of a program, exact if its numbers are.

    ties: further costs, minimised in turn over the optimal face. limit: on the exact steps (LongWalk beyond it). start:
    where the float solver begins. lazy: rows that few solutions violate. Where the float solver
    has doubts, a program of floats is finished in exact arithmetic and rounded. Raises Infeasible if there is no
    feasible point.
    """
    if lp.shape[0] >= _MANY_ROWS and lp.field.exact:
        large = _by_refinement(lp, ties, start, limit, lazy)
        if large is not None:
            return large
    small, columns, rows = scaled(lp.rounded)
    tied = [own for cost in ties if np.isfinite(own := floats(cost) * columns).all()]
    try:
        vertex = solve_lp(small, tied, start, lazy)
        basic, plain, sure = vertex.basic, vertex.before_ties[1], vertex.optimal
    except SolverError:
        basic = plain = np.arange(lp.shape[1], sum(lp.shape))
        sure = False
    # badly scaled data may look tied to floats where they are not: then the basis before the ties is the better guess
    otherwise = plain if len(ties) else None
    if lp.field.exact:
        return _by_simplex(exact_optimum(lp, basic, ties, limit, otherwise))
    if sure:
        return Optimum(vertex.z * columns, vertex.y * rows, basic, 0, "HiGHS simplex", False)
    found = exact_optimum(lp.lifted(), basic, [EXACT.array(cost) for cost in ties], limit, otherwise)
    try:
        z, y = floats(found.z), floats(found.y)
    except OverflowError:
        rule = "has numbers so far apart that its proof is beyond the range of floats: give them exactly"
        raise InputError("problem", None, rule) from None
    return replace(found, z=z, y=y, how="HiGHS simplex, finished in exact arithmetic")


def _by_refinement(
    lp: LinearProgram, ties: Sequence[Array], start: Start | None, limit: int | None, lazy: Array | None
) -> Optimum | None:
    """A large exact program: its own cost and then each tie on the face that is left, refined; one proof at the end.

    The face is read off to 120 bits. A column that is taken for tied by mistake would show in the proof.
    """
    face, number, total = lp, np.arange(sum(lp.shape)), 0
    last: Array | None = None
    for k, cost in enumerate([lp.cost, *ties]):
        m, n = face.shape
        face = replace(face, cost=cost[number[:n]])
        small, _, _ = scaled(face.rounded)
        try:
            vertex = solve_lp(small, (), start, None if k else lazy)
        except SolverError:
            break
        better = refine(face, vertex.basic)
        if better is None or not better.optimal:
            break
        last, total = number[better.basic], total + better.number
        open_ = np.append(better.reduced == 0, ~face.equality & (better.y == 0))
        own = ~face.outside(better.basic)
        if not (open_ & ~own).any() or k == len(ties):
            break
        keep = open_[:n] | own[:n]
        face = face.on_columns(keep, equality=face.equality | (better.y != 0))
        place = np.cumsum(np.append(keep, np.ones(m, dtype=bool))) - 1
        number, start = np.append(number[:n][keep], number[n:]), Start(place[better.basic])
    if last is None:
        return None
    found = exact_optimum(lp, last, (), limit)
    if found.repairs and len(ties):  # slacks that must stay zero may have been basic: the vertex was right
        found = at_vertex(lp, found, last) or found
    return _by_simplex(found, f", {counted(total, 'refinement')}" if total else "")


def _by_simplex(found: Optimum, refined: str = "") -> Optimum:
    return replace(found, how=f"HiGHS simplex{refined}, {found.how}")


@QUIET
def scaled(lp: LinearProgram) -> tuple[LinearProgram, Array, Array]:
    """The float program at ordinary size, and the factors that bring its z and y back."""
    kinds = int(lp.row_kind.max(initial=0)) + 1, int(lp.column_kind.max(initial=0)) + 1
    largest = np.zeros(kinds)
    np.maximum.at(largest.ravel(), lp.row_kind[lp.index] * kinds[1] + lp.column_kind[lp.column_of], np.abs(lp.value))
    r, c = np.nonzero(largest)
    factors = np.exp2(np.round(_balance((largest != 0).tobytes(), kinds) @ -np.log2(largest[r, c])))
    row, column = factors[: kinds[0]][lp.row_kind], factors[kinds[0] :][lp.column_kind]
    cost, rhs = lp.cost * column, lp.rhs * row
    sizes = np.abs(cost).max(initial=0.0), np.abs(rhs).sum() / max(np.count_nonzero(rhs), 1)
    k, h = (_power(1 / size) if size > 0 else 1.0 for size in sizes)
    value = lp.value if (factors == 1).all() else lp.value * row[lp.index] * column[lp.column_of]
    return replace(lp, cost=k * cost, value=value, rhs=h * rhs), column / h, row / k


@lru_cache(maxsize=64)
def _balance(live: bytes, kinds: tuple[int, int]) -> Array:
    """The matrix that gives the logarithms of the factors, of rows and then of columns, by least squares."""
    r, c = np.nonzero(np.frombuffer(live, dtype=bool).reshape(kinds))
    equations = np.zeros((len(r), sum(kinds)))
    equations[np.arange(len(r)), r] = equations[np.arange(len(r)), kinds[0] + c] = 1.0
    return np.linalg.pinv(equations)


def _power(value: float) -> float:
    """The nearest power of two."""
    return float(np.exp2(np.round(np.log2(value))))
