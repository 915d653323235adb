"""The optimum of a program: exactly, or in floats with an exact pair and its stated gap.

Exact: the linear program by its float basis, carried to the rationals (module `linear.optimum`). Floats: the vertex
that HiGHS finds, finished to an exact pair (module `finish`); if the gap is not small, the basis is refined in extended
precision, and at last the program is solved exactly, on the fractions that its floats are.

Ties. Where the optimum is not unique, further costs choose in turn: the first minimises over the optimal face, the next
over what is left, and so on; with a generic last cost one vertex remains, whatever way led to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.exact import optimise
from bap_lp.engines.linear.highs import SolverError, solve_lp
from bap_lp.engines.linear.looks import looked, sharpened
from bap_lp.engines.linear.optimum import Infeasible, optimum, scaled
from bap_lp.engines.linear.program import ProgramBuilder
from bap_lp.model.display import counted
from bap_lp.program.bound import Dual, Observer, Program, Rows, Sparse
from bap_lp.program.finish import NOISE, Pair, best_of, feasible, on_grid, pair_of
from bap_lp.rational import EXACT, Array, floats, lifted

_MANY = 300_000  # products up to which a program is finished in exact arithmetic
_LOOK = 30  # rows from which a look at the basis is cheaper than exact pivots
_BROKEN = 1e-10  # of the sizes of its terms: what rows of a kind may be broken by before they are mixed
_CONSTANT = 1e3  # times the largest difference: constants up to which floats are centred as they are
_ENOUGH = 1e-16  # violations that a float answer does not mind, relative to the largest cost

__all__ = ["Infeasible", "Tie", "exact_point", "inner_channel", "solve_program", "unfeasible"]


@dataclass(frozen=True, eq=False)
class Tie:
    """A further cost: of the table, and of t by observer."""

    table: Array | None = None
    hidden: tuple[tuple[str, Any], ...] = ()

    def cost(self, form: LinearForm) -> Array:
        field = form.lp.field
        table = None if self.table is None else field.array(self.table)
        return form.tie(table, {name: field.number(c) for name, c in self.hidden})


def solve_program(
    program: Program,
    ties: Sequence[Tie] = (),
    *,
    exact: bool = True,
    near: float = 0.0,
    allowed: Array | None = None,
    simple: Sequence[Array] = (),
    hasty: bool = False,
) -> Pair:
    """The optimum as an exact pair; raises Infeasible if nothing is feasible.

    exact: whether the gap must be zero. near: a gap that is small enough otherwise. allowed: which signals each state
    may send. simple: channels that may be strictly feasible. hasty: in floats the bound counts, as in a search, and
    the table may break rows by rounding.
    """
    if exact:
        rho, dual, how = exact_point(program, ties, allowed)
        return Pair(rho, dual, program.value(rho), program.bound(dual, allowed), how)
    return _Floats(program, ties, near, allowed, simple, hasty).solve()


def exact_point(
    program: Program, ties: Sequence[Tie], allowed: Array | None = None, guess: Array | None = None
) -> tuple[Array, Dual, str]:
    """The optimal vertex that the ties choose, its multipliers, and how it was found; all rational.

    guess: the variables of a basis, of the columns that are allowed.
    """
    form = LinearForm.of(program)
    lp, costs, keep = form.lp, [tie.cost(form) for tie in ties], None
    if allowed is not None:
        keep = form.kept(allowed)
        lp, costs = lp.on_columns(keep), [cost[keep] for cost in costs]
    lazy = form.lazy if form.lazy.any() else None
    if guess is None:
        found = optimum(lp, ties=costs, lazy=lazy)
    else:
        found = optimise(lp, guess, costs, refined=lp.shape[0] < _LOOK)
    z = found.z
    if keep is not None:
        z = EXACT.zeros(len(keep))
        z[keep] = found.z
    dual = form.dual(found.y)
    return z[form.rho], dual, found.how


class _Floats:
    """A program solved in floats, step by step, until its gap is small."""

    def __init__(
        self,
        program: Program,
        ties: Sequence[Tie],
        near: float,
        allowed: Array | None,
        simple: Sequence[Array],
        hasty: bool,
    ) -> None:
        self.program, self.ties, self.near, self.allowed = program, ties, EXACT.number(near), allowed
        self.simple, self.looked_for, self.hasty = simple, False, hasty
        self.found: Array | None = None
        self.pairs: list[Pair] = []
        self.form = LinearForm.of(centred(program))
        self.keep = self.form.kept(allowed)
        self.mass = floats(program.mass)[:, None]

    def solve(self) -> Pair:
        whole = bool(self.keep.all())
        lp = self.form.lp if whole else self.form.lp.on_columns(self.keep)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            small, columns, rows = scaled(lp)
            costs = [tie.cost(self.form)[self.keep] * columns for tie in self.ties]
            costs = [cost for cost in costs if np.isfinite(cost).all()]
        lazy = self.form.lazy if self.form.lazy.any() else None
        guess, otherwise = np.arange(lp.shape[1], sum(lp.shape)), None
        try:
            vertex = solve_lp(small, costs, None, lazy)
            guess, (plain_z, plain) = vertex.basic, vertex.before_ties
            otherwise = plain if len(costs) else None
            if vertex.optimal:
                for z in (vertex.z,) if not len(costs) or (vertex.z == plain_z).all() else (vertex.z, plain_z):
                    if self._try(z * columns, vertex.y * rows, "HiGHS simplex"):
                        return best_of(self.pairs)
                if lp.shape[0] >= _LOOK:
                    sharp = sharpened(small, plain)
                    if sharp is not None:
                        how = f"HiGHS simplex, {counted(sharp.number + 1, 'look')}"
                        if self._try(sharp.z * columns, sharp.y * rows, how):
                            return best_of(self.pairs)
                        plain = sharp.basic
                    look = looked(lp, plain, _ENOUGH)
                    if look is not None:
                        how = f"HiGHS simplex, {counted(look.number, 'closer look')}"
                        if self._try(*look.point(), how):
                            return best_of(self.pairs)
                        guess, otherwise = look.basic, None
        except SolverError:
            pass
        if self.pairs and self.program.cost.size * max([1, *(o.columns for o in self.program.observers)]) > _MANY:
            return best_of(self.pairs)
        return self._exactly(guess, otherwise)

    def _try(self, z: Array, y: Array, how: str) -> bool:
        """Finish a float solution; whether its gap is small."""
        wide = np.zeros(len(self.keep))
        wide[self.keep] = z
        q = wide[self.form.rho] / self.mass
        q = q if self.allowed is None else np.where(self.allowed, q, 0.0)
        rho = None if self._far(q) else self._feasible(q)
        if rho is None and self.hasty:
            rho = self.program.mass[:, None] * lifted(on_grid(np.where(q > NOISE, q, 0.0)))
        if rho is None:
            return False
        pair = pair_of(self.program, rho, self.form.dual(y), self.allowed, how)
        self.pairs.append(pair)
        return self.hasty or bool(pair.gap <= self.near)

    def _far(self, q: Array) -> bool:
        """Whether a row is broken by more than rounding, so that no trace of another channel mends it."""
        program, rho = self.program.rounded, self.mass * np.maximum(q, 0.0)
        seen = program.seen(rho)
        sizes = program.sides(rho, seen, sizes=True)
        return any(
            len(side) and side.max() > _BROKEN * sizes[name].max() for name, side in program.sides(rho, seen).items()
        )

    def _feasible(self, q: Array) -> Array | None:
        return feasible(self.program, q, self._inner())

    def _inner(self) -> Iterator[Array]:
        """Channels that may be strictly feasible; the last one is looked for when it is needed, once."""
        yield from self.simple
        if not self.looked_for:
            self.looked_for, self.found = True, inner_channel(self.program, self.allowed)
        if self.found is not None:
            yield self.found

    def _exactly(self, guess: Array, otherwise: Array | None) -> Pair:
        try:
            basis = guess if otherwise is None else otherwise
            rho, dual, _ = exact_point(self.program, self.ties, self.allowed, basis)
        except Infeasible:
            if self.pairs:
                return best_of(self.pairs)
            raise
        how = "HiGHS simplex, finished in exact arithmetic"
        exact = Pair(rho, dual, self.program.value(rho), self.program.bound(dual, self.allowed), how)
        near = self._feasible(floats(rho) / self.mass)
        if near is not None:  # on the grid of floats, if that costs next to nothing
            pair = replace(exact, rho=near, value=self.program.value(near))
            if pair.gap <= self.near:
                return pair
        return exact


def inner_channel(program: Program, allowed: Array | None = None) -> Array | None:
    """A channel that breaks no row and leaves as much room as it can, in floats; None if there is none with room."""
    if not any(map(len, program.silent.rows)):
        return None
    form = LinearForm.of(slack_program(program).rounded)
    keep = form.kept(allowed)
    small, columns, _ = scaled(form.lp.on_columns(keep))
    try:
        z = solve_lp(small).z * columns
    except SolverError:
        return None
    out = np.zeros(len(keep))
    out[keep] = z
    q = np.maximum(out[form.rho], 0.0) / floats(program.mass)[:, None]
    total = q.sum(axis=1, keepdims=True)
    return q / total if (total > 0.5).all() else None


def nearest_table(program: Program, q: Array) -> Array:
    """The table that meets the rows and is nearest to a float channel, exactly: min sum |rho - mass q|."""
    near = program.mass[:, None] * lifted(np.maximum(q, 0.0))

    def apart(make: ProgramBuilder, rho: Array) -> None:
        up, down = (make.columns(rho.size, EXACT.one) for _ in range(2))
        at = np.arange(rho.size)
        entries = [(at, rho.ravel(), EXACT.one), (at, up, -EXACT.one), (at, down, EXACT.one)]
        make.rows(rho.size, entries, near.ravel(), equality=True)

    form = LinearForm.of(program.silent, apart)
    table: Array = optimum(form.lp).z[form.rho]
    return table


def slack_program(program: Program) -> Program:
    """The least largest excess of the rows: below zero some table is strictly feasible, above zero none is feasible."""
    silent = program.silent
    return replace(silent, rows=tuple(replace(rows, worst=True) for rows in silent.rows))


def unfeasible(program: Program, allowed: Array | None = None) -> Dual | None:
    """Multipliers that prove that nothing is feasible; None if something is."""
    _, dual, _ = exact_point(slack_program(program), (), allowed)
    return dual if program.silent.bound(dual, allowed) > 0 else None


def centred(program: Program) -> Program:
    """The same tables and multipliers are optimal with the least cost of every state taken off; in floats.

    Large constants would hide small differences from floats: where they are much larger than these, they are taken off
    in rationals. An observer's least loss of a state may be taken off as well if every row counts all its views alike:
    then it changes the row by a constant.
    """
    small = program.rounded
    tables = [small.cost, *(o.losses for o in small.observers if not isinstance(o.losses, Sparse))]
    tables += [_table(one, small) for one in small.rows if _whole(one, small)]
    narrow = any(_narrow(table) for table in tables if table.size)
    return _centred(program).rounded if narrow else _centred(small)


def _narrow(table: Array) -> bool:
    """Whether the entries of a row differ by much less than their size."""
    with np.errstate(over="ignore", invalid="ignore"):
        least = table.min(axis=1)
        return not np.abs(least).max() <= _CONSTANT * (table - least[:, None]).max()


def _centred(program: Program) -> Program:
    field = program.field
    cost = program.cost - program.cost.min(axis=1)[:, None]
    shifts: dict[str, Array] = {}
    seen = []
    for o in program.observers:
        if isinstance(o.losses, Sparse) or not all(_uniform(rows, o) for rows in program.rows):
            seen.append(o)
            continue
        least = np.minimum.reduceat(o.losses, o.starts, axis=1)
        least[:, [group for group, _ in o.scores]] = field.zero  # reports are not listed
        shifts[o.name] = program.mass.dot(least)  # per group
        seen.append(replace(o, losses=o.losses - least[:, o.group_of]))
    rows = []
    for one in program.rows:
        if not any(term[0] in shifts for term in one.terms) and len(one) > 1:
            rows.append(one)
            continue
        rhs, entries = one.rhs, one.entries
        for name, row, view, group, c in one.terms:
            if name in shifts:
                first = view == 0
                rhs = rhs.copy()
                np.add.at(rhs, row[first], c[first] * shifts[name][group[first]])
        if _whole(one, program):
            table = _table(one, program)
            least = table.min(axis=1)
            x, s = np.indices(cost.shape).reshape(2, -1)
            entries = 0 * x, x, s, (table - least[:, None]).ravel()
            rhs = rhs - program.mass.dot(least)
        rows.append(replace(one, rhs=rhs, entries=entries))
    return Program(program.mass, cost, tuple(seen), tuple(rows))


def _whole(rows: Rows, program: Program) -> bool:
    """Whether it is one row with an entry at every place."""
    return len(rows) == 1 and rows.entries is not None and len(rows.entries[0]) == program.cost.size


def _table(rows: Rows, program: Program) -> Array:
    """The entries of such a row, states x signals."""
    assert rows.entries is not None
    out = program.field.zeros(program.shape)
    out[rows.entries[1], rows.entries[2]] = rows.entries[3]
    return out


def _uniform(rows: Rows, o: Observer) -> bool:
    """Whether every row of a kind counts the groups of an observer alike at all views, or not at all."""
    for name, row, view, group, c in rows.terms:
        if name == o.name:
            table = np.zeros((len(rows), o.views, len(o.starts)), dtype=c.dtype)
            table[row, view, group] = c
            if (table != table[:, :1]).any():
                return False
    return True
