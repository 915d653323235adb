"""The optimum in floats: a float solution finished to an exact pair with its stated gap.

If the gap is not small, the basis is refined, and at last the program is solved exactly, on the fractions that its
floats are. A program that is itself one of floats, that of a free problem, is answered with a pair of floats whose
bound has its rounding taken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bap_lp.engines.centring import centred
from bap_lp.engines.exactly import exact_pair
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.exact_simplex import FEW_ROWS, Infeasible
from bap_lp.engines.linear.highs import SolverError, solve_lp
from bap_lp.engines.linear.iterative_refinement import refine, refine_in_floats
from bap_lp.engines.linear.linear_optimum import QUIET, scaled
from bap_lp.engines.rounded import RoundedProgram
from bap_lp.engines.start import best_release, choose
from bap_lp.engines.ties import Tie
from bap_lp.program.bound import Dual, Program, compact
from bap_lp.program.finish import NOISE, STOPPED, Pair, best_of, feasible, on_grid, pair_of
from bap_lp.support.clock import OutOfTime, SolveProgress
from bap_lp.support.display import counted
from bap_lp.support.rational import EXACT, Array, floats, lifted

_MANY = 300_000  # products up to which a program is finished in exact arithmetic
_BROKEN = 1e-10  # of the sizes of its terms: what rows of a kind may be broken by before they are mixed
_ENOUGH = 1e-16  # violations that a float answer does not mind, relative to the largest cost


def free_pair(program: Program, ties: Sequence[Tie], near: float, progress: SolveProgress | None) -> Pair:
    """A free problem of floats: a pair of floats, of which the bound holds and the table is near to feasible.

    Floats are rationals too: where the data outrun the solver's tolerances, they are solved exactly and rounded.
    """
    small, basic = RoundedProgram(program, ties, None, progress), None
    try:
        if choose(program).pivots == 0:
            rho, u, basic, how = small.many_states(stoppable=True)
        else:
            vertex = small.vertex(ties=small.first_ties)
            _, columns, rows = small.scaled
            rho, basic, how = (vertex.z * columns)[small.form.rho], vertex.basic, "HiGHS simplex"
            u = small.form.dual(vertex.y * rows).replies["eve"]
    except OutOfTime:
        return _usual_pair(program)
    except SolverError:
        return _lifted_pair(program, ties, near, "HiGHS simplex")
    found = _float_pair(program, rho, u, how)
    if basic is None or found.gap <= near or _close(program, found, near):
        return found
    try:
        return _lifted_pair(program, ties, near, how)
    except OutOfTime:
        return replace(found, how=f"{how}, {STOPPED}")


def _lifted_pair(program: Program, ties: Sequence[Tie], near: float, how: str) -> Pair:
    """The optimum of the fractions that the floats are, rounded; the replies only if the gap stays small."""
    exact, how = exact_pair(_lifted(program), ties), f"{how}, finished in exact arithmetic"
    found = _float_pair(program, floats(exact.rho), floats(exact.dual.replies["eve"]), how, 0.0)
    return found if found.gap <= near or _close(program, found, near) else replace(found, dual=exact.dual)


def _lifted(program: Program) -> Program:
    assert program.free is not None
    return compact(program.free.lifted(), EXACT.number(program.observers[0].price))


def _float_pair(program: Program, rho: Array, u: Array, how: str, noise: float = NOISE) -> Pair:
    """A float table and replies with the sums they must have; the bound has its rounding taken off.

    Probabilities up to `noise` are zero, a row that the solver lost follows the rule of u, and signals that Bob would
    disobey are pooled with those he prefers, which can only lower R_A.
    """
    free, lam = program.free, program.observers[0].price
    assert free is not None
    u, p = free.on_simplex(u, lam), free.p
    rho = np.where(rho > noise * p[:, None], rho, 0.0)
    lost = np.flatnonzero(rho.sum(axis=1) < 1e-9 * p)
    rho[lost] = 0.0
    rho[lost, (free.B[lost] - free.E[lost] @ u.T).argmin(axis=1)] = p[lost]
    rho = free.obedient(rho * (p / rho.sum(axis=1))[:, None])
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


class FloatSolver:
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
        self.small = RoundedProgram(centred(program), ties, allowed)
        self.mass = floats(program.mass)[:, None]

    def solve(self) -> Pair:
        guess = self._in_floats()
        if guess is None:
            return best_of(self.pairs)
        if self.pairs and self.program.cost.size * max([1, *(o.columns for o in self.program.observers)]) > _MANY:
            return best_of(self.pairs)
        return self._exactly(guess)

    @QUIET
    def _in_floats(self) -> Array | None:
        """The basis from which exact arithmetic goes on; None if the gap is small."""
        small, columns, rows = self.small.scaled
        slacks = np.arange(small.shape[1], sum(small.shape))
        try:
            vertex = self.small.vertex(ties=self.small.first_ties)
            plain_z, plain = vertex.before_ties
            if not vertex.optimal:
                return plain
            for z in (vertex.z,) if (vertex.z == plain_z).all() else (vertex.z, plain_z):
                if self._try(z * columns, vertex.y * rows, "HiGHS simplex"):
                    return None
            if small.shape[0] < FEW_ROWS:
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


def slack_program(program: Program) -> Program:
    """The least largest excess of the rows: below zero some table is strictly feasible, above zero none is feasible."""
    silent = program.silent
    return replace(silent, rows=tuple(replace(rows, worst=True) for rows in silent.rows))
