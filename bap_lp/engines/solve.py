"""The one driver: a program goes in, its optimum comes out as a feasible table with multipliers that prove a bound.

Exact: the basis of a float solution, carried to the rationals. Where one observer stands without rows, as in the free
problem, its structure leaves a small system (module `structured`); elsewhere the whole basis is solved (`linear`).

Floats: the vertex of a float solution, finished to an exact pair (module `finish`); if the gap is not small, the basis
is refined, and at last the program is solved exactly, on the fractions that its floats are. A program that is itself
one of floats, that of a large free problem, is answered with a pair of floats whose bound has its rounding taken off.

Ties. Where the optimum is not unique, further costs choose in turn: the first minimises over the optimal face, the next
over what is left, and so on; with a generic last cost one vertex remains, whatever way led to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from bap_lp.clock import OutOfTime, SolveProgress
from bap_lp.engines.form import LinearForm
from bap_lp.engines.game.solver import solve_game
from bap_lp.engines.linear.exact_simplex import exact_optimum
from bap_lp.engines.linear.highs import FloatVertex, SolverError, Start, interior_basis, solve_lp
from bap_lp.engines.linear.iterative_refinement import refine, refine_in_floats
from bap_lp.engines.linear.optimum import Infeasible, optimum, scaled
from bap_lp.engines.linear.program import LinearProgram, ProgramBuilder
from bap_lp.engines.start import best_release, choose, release_basis
from bap_lp.engines.structured import exact_vertex
from bap_lp.engines.substitution import Substitution
from bap_lp.engines.ties import Tie
from bap_lp.model.display import counted
from bap_lp.program.bound import Dual, Observer, Program, Rows, Sparse, compact
from bap_lp.program.finish import NOISE, STOPPED, Pair, best_of, feasible, on_grid, pair_of
from bap_lp.rational import EXACT, Array, floats, lifted

_MANY = 300_000  # products up to which a program is finished in exact arithmetic
_REFINED = 30  # rows from which refinement is cheaper than exact pivots
_BROKEN = 1e-10  # of the sizes of its terms: what rows of a kind may be broken by before they are mixed
_CONSTANT = 1e3  # times the largest difference: constants up to which floats are centred as they are
_NARROW = 1e6  # times the largest difference: constants that hide it from floats
_NOISE, _MORE_PRIVATE = 1e-5, 1e-3  # of the largest cost, and of lam
_CHOSEN = 1000  # probabilities of a float program up to which the weights choose among its most private optima
_ENOUGH = 1e-16  # violations that a float answer does not mind, relative to the largest cost

__all__ = ["Infeasible", "Tie", "inner_channel", "optimise", "unfeasible"]


def optimise(
    program: Program,
    ties: Sequence[Tie] = (),
    *,
    exact: bool = True,
    near: float = 0.0,
    allowed: Array | None = None,
    simple: Sequence[Array] = (),
    hasty: bool = False,
    progress: SolveProgress | None = None,
) -> Pair:
    """The optimum as a pair; raises Infeasible if nothing is feasible.

    exact: whether the gap must be zero. near: a gap that is small enough otherwise. allowed: which signals each state
    may send. simple: channels that may be strictly feasible. hasty: in floats the bound counts, as in a search, and
    the table may break rows by rounding. progress: of a large free problem.
    """
    if exact:
        return exact_pair(program, ties, allowed, progress=progress)
    if not program.field.exact:
        return _free_pair(program, ties, near, progress)
    return _Floats(program, ties, near, allowed, simple, hasty).solve()


def exact_pair(
    program: Program,
    ties: Sequence[Tie] = (),
    allowed: Array | None = None,
    guess: Array | None = None,
    progress: SolveProgress | None = None,
) -> Pair:
    """The optimal vertex that the ties choose, with its multipliers. guess: a basis of the columns that are allowed."""
    if program.free is not None and allowed is None and guess is None:
        return _structured_pair(program, ties, progress)
    small = _Rounded(program, ties, allowed)
    form = LinearForm.of(program)
    lp, costs = form.lp, [tie.cost(form) for tie in ties]
    if allowed is not None:
        lp, costs = lp.on_columns(small.keep), [cost[small.keep] for cost in costs]
    if guess is None:
        start = small.start if small.substitution is None else Start(small.vertex(ties=()).basic)
        found = optimum(lp, ties=costs, start=start, lazy=small.lazy)
    else:
        found = exact_optimum(lp, guess, costs, refined=lp.shape[0] < _REFINED)
    z = EXACT.zeros(len(small.keep))
    z[small.keep] = found.z
    rho, dual = z[form.rho], form.dual(found.y)
    return Pair(rho, dual, program.value(rho), program.bound(dual, allowed), found.how)


class _Rounded:
    """A program in floats as HiGHS gets it: its linear form, the columns kept, and where the simplex method starts."""

    def __init__(
        self, program: Program, ties: Sequence[Tie], allowed: Array | None, progress: SolveProgress | None = None
    ) -> None:
        self.program, self.ties, self.allowed, self.progress = program, ties, allowed, progress

    @cached_property
    def form(self) -> LinearForm:
        return LinearForm.of(self.program.rounded)

    @cached_property
    def keep(self) -> Array:
        return self.form.kept(self.allowed)

    @cached_property
    def lp(self) -> LinearProgram:
        return self.form.lp if self.keep.all() else self.form.lp.on_columns(self.keep)

    @cached_property
    def lazy(self) -> Array | None:
        return self.form.lazy if self.form.lazy.any() else None

    @cached_property
    def scaled(self) -> tuple[LinearProgram, Array, Array]:
        return scaled(self.lp)

    @cached_property
    def weight(self) -> Array:
        """The last tie's, of every probability."""
        last = self.ties[-1].table if self.ties else None
        return np.zeros(self.program.shape) if last is None else floats(last)

    @cached_property
    def start(self) -> Start | None:
        """The basis of the best usual release, and what takes over from there."""
        choice = choose(self.program)
        sent = best_release(self.program, self.allowed, self.weight) if choice.pivots else None
        basic = None
        if sent is not None:
            flags = ~self.form.lp.outside(release_basis(self.program, self.form, sent))
            basic = np.flatnonzero(flags[np.append(self.keep, np.ones(len(self.lp.rhs), dtype=bool))])
        others = {"states": lambda _: self.many_states()[2], "interior": interior_basis, "dual": None}
        return Start(basic, choice.pivots, others[choice.then])

    def vertex(self, basic: Array | None = None, ties: Sequence[Tie] | None = None) -> FloatVertex:
        """From the start or from a basis, with all ties or some of them."""
        lp, columns, rows = self.scaled
        costs = [tie.cost(self.form)[self.keep] for tie in (self.ties if ties is None else ties)]
        smaller = self.substitution if basic is None else None
        if smaller is None:
            start = self.start if basic is None else Start(basic)
            return solve_lp(lp, [own for cost in costs if np.isfinite(own := cost * columns).all()], start, self.lazy)
        small, wide, tall = scaled(smaller.lp)
        costs = [own for cost in costs if np.isfinite(own := (smaller.T.T @ cost) * wide).all()]
        found = solve_lp(small, costs)
        z, plain = (smaller.T @ (v * wide) / columns for v in (found.z, found.before_ties[0]))
        y, before = smaller.whole(found.y * tall, found.before_ties[1])
        return FloatVertex(z, y / rows, smaller.whole(found.y * tall, found.basic)[1], found.optimal, (plain, before))

    @cached_property
    def substitution(self) -> Substitution | None:
        return Substitution.of(self.program.rounded, self.form) if self.allowed is None else None

    def perturbed(self) -> Array:
        """The basis of a free problem with costs perturbed as the ties choose: most often the vertex they lead to.

        By the weights, and lam a little more, since R_E comes before them. Losses of few values are coarser than that,
        and the solver sees differences of 1e-9. It was the vertex in 142 of 144 such problems, and in 118 with 1e-6.
        """
        lp, weight = self.scaled[0], self.weight.ravel()
        noise = np.append(_NOISE * 2.0**-32 * weight, _MORE_PRIVATE * lp.cost[weight.size :])
        return solve_lp(replace(lp, cost=lp.cost + noise), (), self.start, self.lazy).basic

    def many_states(self, stoppable: bool = False) -> tuple[Array, Array, Array | None, str]:
        """rho, u and the basis of a free problem of many states; an interrupt leaves the best pair without a basis."""
        small = self.program.rounded.free
        assert small is not None
        game = solve_game(
            small.p, small.B, small.E, small.groups, float(self.program.observers[0].price),
            progress=self.progress, stoppable=stoppable, noise=self.weight * 2.0**-32,
        )  # fmt: skip
        how = "many states" + (f", {STOPPED}" if game.interrupted else "")
        if not game.vertex:
            return game.rho, game.u, None, how
        flags = [game.basic_columns.ravel(), game.basic_t.ravel(), np.zeros(len(small.p), dtype=bool)]
        return game.rho, game.u, np.flatnonzero(np.concatenate([*flags, game.basic_slack.ravel()])), how


def _structured_pair(program: Program, ties: Sequence[Tie], progress: SolveProgress | None) -> Pair:
    """The free problem by its structure, from the bases that `_bases` tries; exact pivots from the last of them."""
    plain = _centred(program) if _narrow(program) else program
    small, costs = _Rounded(plain, ties, None, progress), [_column_cost(plain, tie) for tie in ties]
    tried: list[tuple[Array, Any]] = []
    for basic, how in _bases(small, tried):
        found = exact_vertex(plain, basic, costs)
        tried.append((basic, found))
        if found is not None and found.chosen:
            rho, dual = found.rho, Dual({program.observers[0].name: found.u}, {})
            ends = (found.value,) * 2 if plain is program else (program.value(rho), program.bound(dual))
            return Pair(rho, dual, *ends, f"{how}, exact basis")
    form = LinearForm.of(plain)
    guesses = [basic for basic, _ in tried] or [np.arange(form.lp.shape[1], sum(form.lp.shape))]
    refined = len(tried) > 2 or form.lp.shape[0] < _REFINED
    end = exact_optimum(form.lp, guesses[-1], [tie.cost(form) for tie in ties], None, guesses[0], refined=refined)
    rho, dual = end.z[form.rho], form.dual(end.y)
    return Pair(rho, dual, program.value(rho), program.bound(dual), f"HiGHS simplex, {end.how}")


def _bases(small: _Rounded, tried: list[Any]) -> Iterator[tuple[Array, str]]:
    """Bases that may be optimal and the one that the ties choose: what is tried next depends on what was found."""
    first, how = None, "HiGHS simplex"
    try:
        if choose(small.program).pivots == 0:
            *_, first, how = small.many_states()
        elif small.ties:
            first = small.perturbed()
        if first is not None:
            yield first, how
        vertex = small.vertex(first)
    except SolverError:
        return
    yield vertex.basic, how
    if tried[-1][1] is None:
        plain = vertex.before_ties[1]
        if len(plain) == len(vertex.basic) and (plain != vertex.basic).any():
            yield plain, how
        for cold in (False, True) if small.lp.shape[0] >= _REFINED else ():  # it may lose its way from one of them
            if tried[-1][1] is None:
                better = refine(LinearForm.of(small.program).lp, solve_lp(small.scaled[0]).basic if cold else plain)
                if better is not None:
                    yield better.basic, f"{how}, {counted(better.number, 'refinement')}"


def _column_cost(program: Program, tie: Tie) -> Array:
    """The cost of a tie on all columns of a free problem, in floats that hold it."""
    (N, S), groups = program.shape, len(program.observers[0].starts)
    table = np.zeros((N, S)) if tie.table is None else floats(tie.table)
    return np.append(table, np.full(S * groups, sum(float(c) for _, c in tie.hidden)))


def _free_pair(program: Program, ties: Sequence[Tie], near: float, progress: SolveProgress | None) -> Pair:
    """A free problem of floats: a pair of floats, of which the bound holds and the table is near to feasible.

    Floats are rationals too: where the data outrun the solver's tolerances, they are solved exactly and rounded.
    """
    small, basic = _Rounded(program, ties, None, progress), None
    try:
        if choose(program).pivots == 0:
            rho, u, basic, how = small.many_states(stoppable=True)
        else:
            vertex = small.vertex(ties=ties[: len(ties) if program.cost.size < _CHOSEN else -1])
            _, columns, rows = small.scaled
            rho, basic, how = (vertex.z * columns)[small.form.rho], vertex.basic, "HiGHS simplex"
            u = small.form.dual(vertex.y * rows).replies["eve"]
    except OutOfTime:
        return _usual_pair(program)
    except SolverError:
        return _rounded_pair(program, ties, near, "HiGHS simplex")
    found = _float_pair(program, rho, u, how)
    if basic is None or found.gap <= near or _close(program, found, near):
        return found
    try:
        return _rounded_pair(program, ties, near, how)
    except OutOfTime:
        return replace(found, how=f"{how}, {STOPPED}")


def _rounded_pair(program: Program, ties: Sequence[Tie], near: float, how: str) -> Pair:
    """The optimum of the fractions that the floats are, rounded; the replies only if the gap stays small."""
    exact, how = exact_pair(_lifted(program), ties), f"{how}, finished in exact arithmetic"
    found = _float_pair(program, floats(exact.rho), floats(exact.dual.replies["eve"]), how, 0.0)
    return found if found.gap <= near or _close(program, found, near) else replace(found, dual=exact.dual)


def _lifted(program: Program) -> Program:
    assert program.free is not None
    return compact(program.free.lifted(), EXACT.number(program.observers[0].price))


def _float_pair(program: Program, rho: Array, u: Array, how: str, noise: float = NOISE) -> Pair:
    """A float table and replies with the sums they must have; the bound has its rounding taken off.

    Probabilities up to `noise` are zero, and a row that the solver lost follows the rule of u.
    """
    free, lam = program.free, program.observers[0].price
    assert free is not None
    u, p = free.on_simplex(u, lam), free.p
    rho = np.where(rho > noise * p[:, None], rho, 0.0)
    lost = np.flatnonzero(rho.sum(axis=1) < 1e-9 * p)
    rho[lost] = 0.0
    rho[lost, (free.B[lost] - free.E[lost] @ u.T).argmin(axis=1)] = p[lost]
    rho *= (p / rho.sum(axis=1))[:, None]
    return Pair(rho, Dual({"eve": u}, {}), free.value(rho, lam), free.bound(u), how)


def _close(program: Program, found: Pair, near: float) -> bool:
    """Whether a float gap is near but for its own rounding; in small programs the one of rationals decides."""
    free, lam = program.free, program.observers[0].price
    assert free is not None
    if not free.close(found.gap, lam):
        return False
    if free.B.size * free.shape[2] > _MANY:
        return True
    exact, rho = _lifted(program), lifted(found.rho)
    rho = rho * (exact.mass / rho.sum(axis=1))[:, None]
    return bool(pair_of(exact, rho, found.dual).gap <= 10 * EXACT.number(near))


def _usual_pair(program: Program) -> Pair:
    """The better usual release, with the better of Eve's best replies to it and to the null release."""
    free, lam, sent = program.free, program.observers[0].price, best_release(program)
    assert free is not None
    assert sent is not None
    rho, seen = free.rule_table(sent), np.zeros(free.shape[1:])
    seen[np.arange(len(seen))[:, None], free.reply_columns(rho.T @ free.E)] = lam
    u = max(lam * free.null_replies(len(seen)), seen, key=free.bound)
    return Pair(rho, Dual({"eve": u}, {}), free.value(rho, lam), free.bound(u), STOPPED)


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
        self.simple, self.searched, self.hasty = simple, False, hasty
        self.found: Array | None = None
        self.pairs: list[Pair] = []
        self.small = _Rounded(centred(program), ties, allowed)
        self.mass = floats(program.mass)[:, None]

    def solve(self) -> Pair:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            guess = self._in_floats()
        if guess is None:
            return best_of(self.pairs)
        if self.pairs and self.program.cost.size * max([1, *(o.columns for o in self.program.observers)]) > _MANY:
            return best_of(self.pairs)
        return self._exactly(guess)

    def _in_floats(self) -> Array | None:
        """The basis from which exact arithmetic goes on; None if the gap is small."""
        small, columns, rows = self.small.scaled
        slacks = np.arange(small.shape[1], sum(small.shape))
        try:
            vertex = self.small.vertex()
            plain_z, plain = vertex.before_ties
            if not vertex.optimal:
                return plain
            for z in (vertex.z,) if (vertex.z == plain_z).all() else (vertex.z, plain_z):
                if self._try(z * columns, vertex.y * rows, "HiGHS simplex"):
                    return None
            if small.shape[0] < _REFINED:
                return plain
            sharp = refine_in_floats(small, plain)
            if sharp is not None:
                if self._try(sharp.z * columns, sharp.y * rows, "HiGHS simplex, refined in floats"):
                    return None
                plain = sharp.basic
            better = refine(self.small.lp, plain, _ENOUGH)
            if better is not None:
                if self._try(*better.point(), f"HiGHS simplex, {counted(better.number, 'refinement')}"):
                    return None
                plain = better.basic
            return plain
        except SolverError:
            return slacks

    def _try(self, z: Array, y: Array, how: str) -> bool:
        """Finish a float solution; whether its gap is small."""
        wide, form = np.zeros(len(self.small.keep)), self.small.form
        wide[self.small.keep] = z
        q = wide[form.rho] / self.mass
        q = q if self.allowed is None else np.where(self.allowed, q, 0.0)
        rho = None if self._far(q) else self._feasible(q)
        if rho is None and self.hasty:
            rho = self.program.mass[:, None] * lifted(on_grid(np.where(q > NOISE, q, 0.0)))
        if rho is None:
            return False
        pair = pair_of(self.program, rho, form.dual(y), self.allowed, how)
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
        """Channels that may be strictly feasible; the last one is searched for when it is needed, once."""
        yield from self.simple
        if not self.searched:
            self.searched, self.found = True, inner_channel(self.program, self.allowed)
        if self.found is not None:
            yield self.found

    def _exactly(self, guess: Array) -> Pair:
        try:
            exact = exact_pair(self.program, self.ties, self.allowed, guess)
        except Infeasible:
            if self.pairs:
                return best_of(self.pairs)
            raise
        exact = replace(exact, how="HiGHS simplex, finished in exact arithmetic")
        near = self._feasible(floats(exact.rho) / self.mass)
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
    dual = exact_pair(slack_program(program), (), allowed).dual
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
    narrow = any(_constant(table, _CONSTANT) for table in tables if table.size)
    return _centred(program).rounded if narrow else _centred(small)


def _narrow(program: Program) -> bool:
    """Whether losses of a free problem differ within a row by so little of their size that floats lose it."""
    free = program.rounded.free
    return free is not None and any(_constant(table, _NARROW) for table in free.tables)


def _constant(table: Array, times: float) -> bool:
    """Whether the entries of a row differ by much less than their size."""
    with np.errstate(over="ignore", invalid="ignore"):
        least = table.min(axis=1)
        return not np.abs(least).max() <= times * (table - least[:, None]).max()


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
