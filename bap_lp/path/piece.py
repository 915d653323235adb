"""A piece of V: one mechanism that is optimal from one breakpoint to the next, and its proof at every lam between.

The proof needs Eve's replies u at the breakpoints only. The dual function (see `certificate`) is concave in u and V is
linear on a piece, so replies interpolated between both ends of a piece prove V all along it. On the last piece let u
move from its start along Eve's reply j0 to the null release, the same at all signals: every B(x,i) - u_i.E(x,.) then
falls by (lam - start) E(x,j0), so the bound falls at rate R_E^null, which is the slope there.

Under conditions V is the minimum over the mechanisms that satisfy them, and all of this holds with their multipliers:
the bound is concave and positively homogeneous in (beta, lam, u, w), see `conditions.base`. On the last piece they move
along the multipliers that prove that no mechanism has more R_E (beta = 0, lam = 1). Where the conditions are not convex
a proof inside a piece is a solution again; V is concave all the same, so proofs at both ends settle a piece.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bap_lp.notions.conditions import Conditions
from bap_lp.conditions.lagrangian import Multipliers
from bap_lp.model.arrays import Arrays
from bap_lp.model.display import Displayed, fraction, risks_line
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number, Risks
from bap_lp.programs.conditioned import mechanism_of
from bap_lp.programs.constrained import ChannelLayout
from bap_lp.programs.solution import on_states, published
from bap_lp.programs.solving import solve
from bap_lp.proof.branches import Branch
from bap_lp.proof.certificate import Certificate
from bap_lp.proof.conditional import ConditionedProblem, Proof
from bap_lp.rational import EXACT, Array, InputError, ReadOnly, is_exact, number, public


@dataclass(frozen=True, eq=False, repr=False)
class Piece(ReadOnly, Displayed):
    """From lam = start to end (inf on the last piece) one mechanism is optimal, with these risks."""

    problem: Problem
    arrays: Arrays
    index: Array  # class of each state
    start: Number
    end: Number
    risks: Risks
    rho: Array  # the joint table on merged states
    duals: tuple[Multipliers, Multipliers]  # optimal at start and at end (on the last piece: at start, and their drift)

    def _headline(self) -> str:
        to = "infinity" if self.end == math.inf else fraction(self.end)
        return f": lambda from {fraction(self.start)} to {to}, {risks_line(self.risks.bob, self.risks.eve)}"

    @property
    def line(self) -> tuple[Number, Number]:
        """Intercept and slope of V: (R_B, -R_E)."""
        return self.risks.bob, -self.risks.eve

    @property
    def replies(self) -> tuple[Array, Array]:
        """Eve's, at start and at end (on the last piece: at start, and their drift)."""
        return self.duals[0].u, self.duals[1].u

    @cached_property
    def mechanism(self) -> Mechanism:
        return published(self.problem, self.arrays, self.index, self.rho, self.problem.bob_decisions)

    @property
    def certificate(self) -> Certificate:
        """The proof in the middle of the piece (one past the start of the last)."""
        return self.certificate_at(self.start + 1 if self.end == math.inf else (self.start + self.end) / 2)

    def certificate_at(self, lam: Any, rho: Array | None = None) -> Certificate:
        """The proof at any lam of the piece, for its own joint table or another that is optimal there."""
        at = number(lam, "lam")
        if not self.start <= public(at) <= self.end:
            raise InputError("lam", public(at), f"must be between {self.start} and {self.end}")
        if self.problem.exact and not is_exact(at):
            raise InputError("lam", at, 'is a float; an exact proof needs an exact number such as "1/3"')
        at = self.arrays.field.number(at)
        start, (first, second) = self.arrays.field.number(self.start), self.duals
        if self.end == math.inf:
            dual = first.plus(second, self.arrays.field.one, at - start)
        else:
            share = (at - start) / (self.arrays.field.number(self.end) - start)
            dual = first.plus(second, 1 - share, share)
        return self._proof(public(at), dual, rho)

    def _proof(self, lam: Number, dual: Multipliers, rho: Array | None) -> Certificate:
        table = on_states(self.problem, self.arrays, self.index, self.rho if rho is None else rho)
        return Certificate(lam, self.risks.alice(lam), table, dual.u)


@dataclass(frozen=True, eq=False, repr=False)
class ConditionedPiece(Piece):
    """A piece under conditions, with the channel on the program's states; on the last piece, what proves its slope."""

    layout: ChannelLayout
    conditions: Conditions
    channel: Array
    branches: tuple[Branch, ...] = ()

    @cached_property
    def mechanism(self) -> Mechanism:
        return mechanism_of(self.layout, self.layout.rows(self.channel))

    def _proof(self, lam: Number, dual: Multipliers, rho: Array | None) -> Certificate:
        rows = self.layout.rows(self.channel)
        branches: tuple[Branch, ...] = ()
        if self.conditions.combinatorial:
            again = solve(self.problem, lam, self.problem.exact, conditions=self.conditions).certificate
            assert again.proof is not None
            dual, branches = Multipliers(again.u, again.proof.prices), again.proof.branches
        proof = Proof(self.conditions, rows, dual.prices, branches)
        return Certificate(lam, self.risks.alice(lam), self.problem.p[:, None] * rows, dual.u, proof)

    def mixed(self, other: ConditionedPiece, share: Any) -> ConditionedPiece:
        """Both mechanisms, signal by signal: this one with probability `share`; optimal where both pieces are.

        Obedience and convex conditions survive mixing, and told risks are linear in the channel.
        """
        part, back = public(share), public(1 - share)
        own, its = self.risks, other.risks
        errors = own.bob_error + its.bob_error, own.eve_error + its.eve_error
        risks = Risks(part * own.bob + back * its.bob, part * own.eve + back * its.eve, *errors)
        channel = share * self.channel + (1 - share) * other.channel
        return replace(self, channel=channel, rho=self.arrays.p[:, None] * channel, risks=risks)

    def slope_wrong(self) -> str:
        """Why it is not proved that no mechanism under the conditions has more R_E; "" if it is."""
        asked, field = ConditionedProblem.of(self.problem, self.conditions), self.arrays.field
        wrong = self._slope_wrong(asked)
        if wrong and not field.exact:  # as with certificates, fractions decide where floats cannot tell
            lifted = ConditionedProblem.lifted(self.problem, self.conditions, EXACT.number(field.tolerance))
            wrong = self._slope_wrong(lifted)
        return wrong

    def _slope_wrong(self, asked: ConditionedProblem) -> str:
        field = asked.arrays.field
        eve, slack = field.number(self.risks.eve), asked.unit * asked.arrays.E.max()
        dual = self.duals[1].in_field(field)
        wrong, bound, _ = asked.least(dual, self.branches, field.one, -eve, slack, 0)
        return wrong or ("" if -eve - bound <= slack else f"R_E = {eve} is below what the multipliers allow, {-bound}")
