"""RecordOptimum: an optimal release of records with its risks, its channel row by row, its rule and its proof.

The proof is the one of the compact program. Every part has v(x) for its records and, for every decision i and group
g, replies u[i,g] >= 0 that sum to lam, with B(x,i) - sum_g u[i,g].E_g(x) >= v(x) for all x and i; so sum_x p(x) v(x)
bounds R_A of every release from below, and the joint table attains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from bap_lp.model.display import Displayed, counted, equals, fraction, kind, risks_line
from bap_lp.model.risks import Number
from bap_lp.proof.certificate import Verdict
from bap_lp.rational import UNIT, Array, InputError, ReadOnly, field_of, number, public, tree_sum
from bap_sdc.records.optimum.parts import EveRows, eve_rows
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.risks import column_risks, eve_risk, extremes_of, summed, weighted_risk


class Replies(Protocol):
    """Eve's replies in a part, for every decision: they are worked out when they are asked for."""

    def of(self, program: RecordProgram, decision: Array) -> Array:
        """u of these decisions: one row each, the groups of the part side by side."""


@dataclass(frozen=True, eq=False)
class RoundedReplies(ReadOnly):
    """Replies that were found in rationals and rounded: a row per decision."""

    table: Array

    def of(self, program: RecordProgram, decision: Array) -> Array:
        return self.table[decision]


@dataclass(frozen=True, eq=False)
class RecordComponent(ReadOnly):
    """One independent part: its record types, the joint table on them, and its proof.

    states: (n,) record types. row, decision, rho: the non-zero entries of the joint table, row counted within states.
    v: (n,) the least B - u.E of each. groups: the pairs (Eve, z) in it. replies: gives u for any decisions.
    """

    states: Array
    row: Array
    decision: Array
    rho: Array
    v: Array
    groups: tuple[tuple[int, int], ...]
    replies: Replies | None


@dataclass(frozen=True, eq=False, repr=False)
class RecordOptimum(Displayed):
    """The optimum of a RecordProgram at lam. `optimise` makes it.

    Attributes:
        program: the program.
        lam: the price of privacy.
        value: R_A = bob - lam * eve.
        bob: R_B.
        eve: R_E.
        bound: no release has a smaller R_A.
        gap: value - bound, 0 if exact.
        eves: the unweighted risk of each Eve.
        columns: the part of each published column in Bob's risk, weights included.
        components: the parts into which the program falls. The first may hold the records that no Eve can use; it
            has no groups.
        method: how it was computed, in words.

    >>> import numpy as np
    >>> from bap_sdc import TableEve, RecordProgram, optimise
    >>> eve = TableEve("neighbour", np.array([0, 1, 1]), np.zeros(3, int), [[0, 1], [1, 0]])
    >>> records = np.array([[0], [0], [1]])
    >>> program = RecordProgram(["1/2", "1/4", "1/4"], records, ([[0, 1], [1, 0]],), (eve,))
    >>> best = optimise(program, "1/2")
    >>> print(best.value, best.gap, bool(best.verify()))
    -1/8 0 True
    """

    program: RecordProgram
    lam: Number
    value: Number
    bob: Number
    eve: Number
    bound: Number
    gap: Number
    eves: tuple[Number, ...]
    columns: tuple[Number, ...]
    components: tuple[RecordComponent, ...]
    method: str

    @property
    def exact(self) -> bool:
        return self.program.exact

    @property
    def types(self) -> int:
        """The number of record types."""
        return len(self.program.p)

    @property
    def decisions(self) -> int:
        """The number of Bob's decisions, used or not."""
        return self.program.decisions

    @cached_property
    def used(self) -> Array:
        """The decisions that are sent with positive probability, in order."""
        return np.unique(self._table[1])

    @cached_property
    def full(self) -> tuple[Number, tuple[Number, ...]]:
        """Bob's risk and each Eve's unweighted risk if the records are released as they are."""
        bob, eves = extremes_of(self.program)[0]
        return public(bob), tuple(map(public, eves))

    @cached_property
    def null(self) -> tuple[Number, tuple[Number, ...]]:
        """Bob's risk and each Eve's unweighted risk if nothing is released: she still has the columns she knows."""
        bob, eves = extremes_of(self.program)[1]
        return public(bob), tuple(map(public, eves))

    @cached_property
    def _table(self) -> tuple[Array, Array, Array]:
        return joint_table(self.components)

    @cached_property
    def _starts(self) -> Array:
        return np.searchsorted(self._table[0], np.arange(self.types + 1))

    def row(self, x: int) -> tuple[Array, Array]:
        """The channel at record type x: decisions, and their probabilities (Fractions or floats, summing to one)."""
        if not 0 <= x < self.types:
            raise InputError("x", x, f"must be a record type from 0 to {self.types - 1}")
        cut = slice(self._starts[x], self._starts[x + 1])
        return self._table[1][cut], public(self._table[2][cut] / self.program.p[x])

    def rows(self) -> tuple[Array, Array, Array]:
        """The whole channel as triples (record type, decision, probability), sorted by record type, then decision."""
        state, decision, rho = self._table
        return state, decision, public(rho / self.program.p[state])

    def replies(self, decision: int, eve: int, known: int) -> Array:
        """u of an Eve who knows z = `known` and sees this decision: non-negative numbers that sum to lam.

        A value of the known columns that the program does not have is allowed: she then replies as without knowledge
        and without a release.
        """
        return public(self._replies(np.array([decision]), eve, known)[0])

    @cached_property
    def _rows(self) -> tuple[EveRows, ...]:
        return eve_rows(self.program)

    @cached_property
    def _homes(self) -> dict[tuple[int, int], tuple[RecordComponent, int]]:
        """The component of every group, and where its columns start there."""
        out = {}
        for part in self.components:
            start = 0
            for eve, known in part.groups:
                out[eve, known] = (part, start)
                start += self._rows[eve].guesses
        return out

    @cached_property
    def _cache(self) -> dict[int, Array]:
        return {}

    def _all_replies(self, part: RecordComponent) -> Array:
        assert part.replies is not None
        key = id(part)
        if key not in self._cache:
            self._cache[key] = part.replies.of(self.program, np.arange(self.decisions))
        return self._cache[key]

    def _replies(self, decision: Array, eve: int, known: int) -> Array:
        rows, field = self._rows[eve], field_of(self.program.p)
        home = self._homes.get((eve, known))
        if home is not None:
            part, start = home
            return self._all_replies(part)[decision, start : start + rows.guesses]
        out = field.zeros((len(decision), rows.guesses))
        seen = 0 <= known < len(rows.settled)
        guess = int(rows.settled[known]) if seen else -1
        if guess < 0:
            theirs = self.program.eves[eve]
            prior = summed(theirs.heard(self.program.p), theirs.secret, len(theirs.loss))
            guess = int(prior.dot(theirs.loss).argmin())
        out[:, guess] = field.number(self._lam)
        return out

    @cached_property
    def _chances(self) -> list[Any]:
        """The overall chance of each Eve, which a record never seen is given."""
        p = self.program.p
        return [1 if eve.chance is None else tree_sum(eve.heard(p)) for eve in self.program.eves]

    @property
    def _lam(self) -> Any:
        return self.lam if isinstance(self.lam, float) else number(self.lam, "lam")

    def rule(self, codes: Sequence[int], secrets: Sequence[int], known: Sequence[int]) -> int:
        """Alice's rule argmin_i B(x,i) - u_i.E(x) for any record, also one never seen; the first decision if tied.

        Args:
            codes: the true level of each published column.
            secrets: the level of the secret, for each Eve.
            known: the value of the columns that each Eve knows; a value that the program does not have (such as -1) is
                allowed: that Eve is then taken to reply as without knowledge and without a release.

        Returns:
            The number of the decision.

        Raises:
            InputError: a code is not a level.
        """
        program, field = self.program, field_of(self.program.p)
        score = field.zeros(1)
        for k, (table, code) in enumerate(zip(program.losses, codes, strict=True)):
            if not 0 <= code < len(table):
                raise InputError(f"codes[{k}]", int(code), f"must be a level from 0 to {len(table) - 1}")
            score = (score[:, None] + table[int(code)]).ravel()
        everything, size = np.arange(self.decisions), abs(score).max()  # rounding is judged on the terms of the score
        for n, (eve, secret, z) in enumerate(zip(program.eves, secrets, known, strict=True)):
            if not 0 <= secret < len(eve.loss):
                raise InputError(f"secrets[{n}]", int(secret), f"must be a level from 0 to {len(eve.loss) - 1}")
            if self._lam:
                prices = self._replies(everything, n, int(z)).dot(eve.loss[int(secret)] * eve.weight) * self._chances[n]
                score, size = score - prices, size + abs(prices).max()
        slack = 0 if self.exact else 1e-12 * (float(size) + 1e-300)
        return int(np.flatnonzero(score <= score.min() + slack)[0])

    def verify(self) -> Verdict:
        """Check the optimum with arithmetic alone: marginals, replies, and value = bound (to rounding in floats)."""
        from bap_sdc.records.optimum.proof import verify_records

        return verify_records(self)

    def _headline(self) -> str:
        value = equals("R_A", self.value, fraction) + (f" (gap {float(self.gap):.1g})" if self.gap else "")
        parts = counted(len(self.components), "component")
        return (
            f": {kind(self.exact)}, {value} at {equals('lambda', self.lam, fraction)}, "
            f"{risks_line(self.bob, self.eve)}, {counted(self.types, 'record type')} in {parts}"
        )


def joint_table(parts: Sequence[RecordComponent]) -> tuple[Array, Array, Array]:
    """(record type, decision, rho) of all parts, sorted by record type, then decision."""
    state = np.concatenate([part.states[part.row] for part in parts])
    decision = np.concatenate([part.decision for part in parts])
    rho = np.concatenate([part.rho for part in parts])
    order = np.lexsort((decision, state))
    return state[order], decision[order], rho[order]


def conclude_records(program: RecordProgram, lam: Any, parts: Sequence[RecordComponent], method: str) -> RecordOptimum:
    """Put the parts together: risks from the joint table, the bound from v."""
    state, decision, rho = joint_table(parts)
    columns = column_risks(program, state, decision, rho)
    eves = [eve_risk(eve, state, decision, rho) for eve in program.eves]
    bob, eve = sum(columns[1:], columns[0]), weighted_risk(program, eves)
    bound = sum((tree_sum(program.p[part.states] * part.v) for part in parts), field_of(program.p).zero)
    value = bob - lam * eve
    if program.exact:
        if value != bound:
            raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {bound}")
    else:
        size = max(abs(bob) + lam * abs(eve), 1e-300)
        bound = min(bound - 8 * (len(program.p) + 20) * UNIT * size, value)
    return RecordOptimum(
        program,
        public(lam),
        public(value),
        public(bob),
        public(eve),
        public(bound),
        public(value) - public(bound),
        tuple(map(public, eves)),
        tuple(map(public, columns)),
        tuple(parts),
        method,
    )
