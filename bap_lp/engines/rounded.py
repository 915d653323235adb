"""A program in floats, as the linear solver gets it, and the vertex that it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.highs import FloatVertex, SolverError, Start, interior_basis, solve_lp
from bap_lp.engines.linear.linear_optimum import QUIET, scaled
from bap_lp.engines.linear.linear_program import LinearProgram
from bap_lp.engines.start import best_release, choose, release_basis
from bap_lp.engines.ties import Tie
from bap_lp.program.bound import Program
from bap_lp.program.finish import STOPPED
from bap_lp.support.clock import SolveProgress
from bap_lp.support.rational import Array, floats

if TYPE_CHECKING:
    from bap_lp.engines.substitution import Substitution

_CHOSEN = 1000  # probabilities of a float program up to which the weights choose among its most private optima
_NOISE, _MORE_PRIVATE = 1e-5, 1e-3  # of the largest cost, and of lam


class RoundedProgram:
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

    @property
    def first_ties(self) -> Sequence[Tie]:
        """What chooses in floats: in large programs the weights would take most of the time, and float ties are few."""
        return self.ties if self.program.cost.size < _CHOSEN else self.ties[:-1]

    @cached_property
    def weight(self) -> Array:
        """The last tie's, of every probability."""
        last = self.ties[-1].table if self.ties else None
        return np.zeros(self.program.shape) if last is None else floats(last)

    @cached_property
    @QUIET
    def start(self) -> Start | None:
        """The basis of the best usual release, and what takes over from there; with half the rows, of that optimum."""
        if self.substitution is not None:
            try:
                return Start(self.vertex(ties=()).basic)
            except SolverError:
                return None
        choice = choose(self.program)
        sent = best_release(self.program, self.allowed, self.weight) if choice.pivots else None
        basic = None
        if sent is not None:
            flags = ~self.form.lp.outside(release_basis(self.program, self.form, sent))
            basic = np.flatnonzero(flags[np.append(self.keep, np.ones(len(self.lp.rhs), dtype=bool))])
        others = {"states": lambda _: self.many_states()[2], "interior": interior_basis, "dual": None}
        return Start(basic, choice.pivots, others[choice.then])

    @QUIET
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
        if self.allowed is not None or not self.program.rows:
            return None
        from bap_lp.engines.substitution import Substitution

        return Substitution.of(self.program.rounded, self.form)

    @QUIET
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
        from bap_lp.engines.many_states import solve_game  # with an interior point of its own

        assert self.program.free is not None
        small = self.program.free.rounded
        game = solve_game(
            small.p, small.B, small.E, small.groups, float(self.program.observers[0].price),
            progress=self.progress, stoppable=stoppable, noise=self.weight * 2.0**-32,
        )  # fmt: skip
        how = "many states" + (f", {STOPPED}" if game.interrupted else "")
        if not game.vertex:
            return game.rho, game.u, None, how
        flags = [game.basic_columns.ravel(), game.basic_t.ravel(), np.zeros(len(small.p), dtype=bool)]
        return game.rho, game.u, np.flatnonzero(np.concatenate([*flags, game.basic_slack.ravel()])), how
