"""A piece of V: one mechanism that is optimal from one breakpoint to the next, and its proof at every lam between.

The proof needs Eve's replies u at the breakpoints only. The dual function (see `certificate`) is concave in u and V is
linear on a piece, so replies interpolated between both ends of a piece prove V all along it. On the last piece let u
move from its start along Eve's reply j0 to the null release, the same at all signals: every B(x,i) - u_i.E(x,.) then
falls by (lam - start) E(x,j0), so the bound falls at rate R_E^null, which is the slope there.

Under conditions V is the minimum over the mechanisms that satisfy them, and all of this holds with their multipliers:
the bound is concave and positively homogeneous in (beta, lam, u, w), see `program.bound`. On the last piece they move
along the multipliers that prove that no mechanism has more R_E (beta = 0, lam = 1). Where the conditions are not convex
a proof inside a piece is a solution again; V is concave all the same, so proofs at both ends settle a piece.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import Dual, NoProof
from bap_lp.program.finish import Pair
from bap_lp.proof.cases import Case
from bap_lp.proof.certificate import Certificate, ends_of, reported, settled
from bap_lp.proof.statement import Statement
from bap_lp.questions.optimum.asked import AskedProblem
from bap_lp.questions.optimum.conditioned import conclude, mechanism_of
from bap_lp.questions.optimum.solution import channel_of, published
from bap_lp.questions.optimum.solving import solve
from bap_lp.support.display import Displayed
from bap_lp.support.rational import EXACT, Array, InputError, ReadOnly, field_of, is_exact, number, public, stated
from bap_lp.support.risks import Number, Risks


@dataclass(frozen=True, eq=False, repr=False)
class Piece(ReadOnly, Displayed):
    """From lam = start to end (inf on the last piece) one mechanism is optimal, with these risks. In floats."""

    problem: Problem
    arrays: Arrays
    index: Array  # class of each state
    start: Number
    end: Number
    risks: Risks
    rho: Array  # the joint table on merged states
    duals: tuple[Dual, Dual]  # optimal at start and at end (on the last piece: at start, and their drift)

    def __repr__(self) -> str:
        return f"<Piece: {next(iter(self._lines()))}>"

    @property
    def line(self) -> tuple[Number, Number]:
        """Intercept and slope of V: (R_B, -R_E)."""
        return self.risks.bob, -self.risks.eve

    @property
    def replies(self) -> tuple[Array, Array]:
        """Eve's, at start and at end (on the last piece: at start, and their drift)."""
        first, second = (dual.replies["eve"] for dual in self.duals)
        return first, second

    @cached_property
    def mechanism(self) -> Mechanism:
        return self._published[0]

    @cached_property
    def _published(self) -> tuple[Mechanism, Array]:
        q = channel_of(self.arrays, self.rho)
        return published(self.problem, self.arrays, self.index, q, self.problem.bob_decisions)

    @property
    def certificate(self) -> Certificate:
        """The proof in the middle of the piece (one past the start of the last)."""
        return self.certificate_at(self.start + 1 if self.end == math.inf else (self.start + self.end) / 2)

    def certificate_at(self, lam: Any) -> Certificate:
        """The proof at any lam of the piece."""
        at = number(lam, "lam")
        if not self.start <= public(at) <= self.end:
            raise InputError("lam", public(at), f"must be between {self.start} and {self.end}")
        if self.problem.exact and not is_exact(at):
            raise InputError("lam", at, 'is a float; an exact proof needs an exact number such as "1/3"')
        price, start = EXACT.number(at), EXACT.number(self.start)
        first, second = (dual.each(EXACT.array) for dual in self.duals)
        if self.end == math.inf:
            dual = first.plus(second, EXACT.one, price - start)
        else:
            share = (price - start) / (EXACT.number(self.end) - start)
            dual = first.plus(second, 1 - share, share)
        return self._proof(price, dual)

    def _proof(self, lam: Any, dual: Dual) -> Certificate:
        at, channel = float(lam), self._published[1]
        dual = settled(self.problem, at, dual.replies["eve"])
        value, bound = ends_of(self.problem, at, channel, dual)[2:]
        found, _, gap = reported(value, bound, False)
        return Certificate((at,), found, gap, channel, dual, False, prior=self.problem.p)

    def mixed(self, other: Self, share: Any) -> Self:
        """Both mechanisms, signal by signal: this one with probability `share`; optimal where both pieces are.

        There R_B and R_E are the mixtures: R_B is at most and R_E at least that, and R_A is the least. Obedience and
        convex conditions survive mixing.
        """
        part, back, weight = public(share), public(1 - share), field_of(self.rho).number(share)
        own, its = self.risks, other.risks
        errors = own.bob_error + its.bob_error, own.eve_error + its.eve_error
        risks = Risks(part * own.bob + back * its.bob, part * own.eve + back * its.eve, *errors)
        return replace(self, rho=weight * self.rho + (1 - weight) * other.rho, risks=risks)

    def slope_wrong(self) -> str:
        """Why it is not proved that no mechanism has more R_E on the last piece; "" if it is: the null release has."""
        return ""


@dataclass(frozen=True, eq=False, repr=False)
class LoweredPiece(Piece):
    """A piece in exact numbers or under conditions: its channel on merged states, and what proves the last slope."""

    asked: AskedProblem
    channel: Array
    cases: tuple[Case, ...] = ()

    @cached_property
    def mechanism(self) -> Mechanism:
        return mechanism_of(self.asked, self.asked.layout.rows(self.channel))

    def _proof(self, lam: Any, dual: Dual) -> Certificate:
        if self.asked.conditions.deterministic:
            at = stated(lam, self.asked.exact)
            return solve(self.problem, at, self.asked.exact, conditions=self.asked.conditions).certificate
        return conclude(self.asked, lam, Pair(self.channel, dual, EXACT.zero, None)).certificate

    def mixed(self, other: Self, share: Any) -> Self:
        weight = EXACT.number(share)
        channel = weight * self.channel + (1 - weight) * other.channel
        return replace(super().mixed(other, share), channel=channel)

    def slope_wrong(self) -> str:
        """Why it is not proved that no mechanism under the conditions has more R_E; "" if it is."""
        layout = self.asked.layout
        program = layout.whole_program(EXACT.one, 0)
        statement = Statement(program, layout, self.asked.conditions, EXACT.one, 0)
        most = -statement.value(layout.rows(self.channel))
        try:
            bound = statement.bound(self.asked.whole_dual(program, self.duals[1]), self.cases, -most)[0]
        except NoProof as error:
            return str(error)
        near = 0 if self.asked.exact else EXACT.number(_SLOPE * float(layout.arrays.E.max()))
        return "" if -most - bound <= near else f"R_E = {public(most)} is below what the multipliers allow, {-bound}"


_SLOPE = 1e-9  # of Eve's largest loss: what a path in floats may leave of the last slope
