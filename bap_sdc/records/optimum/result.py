"""RecordOptimum: an optimal release of records with its risks, its channel row by row, its rule and its proof.

For every part, decision i and group g the proof has replies u[i,g] >= 0 that sum to lam; `proof` has what they prove.
Numbers are rational inside. Where the program or lam is in floats, they are the fractions that the floats are, the
channel is in multiples of 2^-52, and value, bound and gap are told in floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from bap_lp.proof.certificate import Verdict, reported
from bap_lp.support.display import Displayed, counted, equals, fraction, kind, risks_line
from bap_lp.support.rational import EXACT, Array, InputError, ReadOnly, field_of, floats, public, stated, tree_sum
from bap_lp.support.risks import Number
from bap_sdc.records.optimum.parts import EveRows, eve_rows
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.risks import extremes_of, risks_of, summed
from bap_sdc.records.optimum.summed import SummedCost


class Replies(Protocol):
    """Eve's replies in a part, for every decision: they are worked out when they are asked for."""

    def of(self, program: RecordProgram, decision: Array) -> Array:
        """u of these decisions: one row each, the groups of the part side by side."""


@dataclass(frozen=True, eq=False)
class TabledReplies(ReadOnly):
    """Replies in a table: decision i has its row place[i]."""

    table: Array
    place: Array

    def of(self, program: RecordProgram, decision: Array) -> Array:
        return self.table[self.place[decision]]


@dataclass(frozen=True, eq=False)
class RecordComponent(ReadOnly):
    """One independent part: its record types, the joint table on them, and its proof.

    states: (n,) record types. row, decision, rho: the non-zero entries of the joint table, row counted within states.
    groups: the pairs (Eve, z) in it. replies: gives u for any decisions.
    """

    states: Array
    row: Array
    decision: Array
    rho: Array
    groups: tuple[tuple[int, int], ...]
    replies: Replies | None

    def replies_of(self, program: RecordProgram) -> Array:
        """u of all decisions, worked out once."""
        if "_u" not in vars(self):
            assert self.replies is not None
            object.__setattr__(self, "_u", self.replies.of(program, np.arange(program.decisions)))
        u: Array = vars(self)["_u"]
        return u


@dataclass(frozen=True, eq=False, repr=False)
class RecordOptimum(Displayed):
    """The optimum of a RecordProgram at lam. `optimise` makes it.

    Attributes:
        program: the program, in fractions.
        lam: the price of privacy.
        value: R_A = bob - lam * eve.
        bob: R_B.
        eve: R_E.
        bound: no release has a smaller R_A.
        gap: how far below the value other releases could be, at most; 0 if exact.
        eves: the unweighted risk of each Eve.
        columns: the part of each published column in Bob's risk, weights included.
        components: the parts into which the program falls. The first may hold the records that no Eve can use; it
            has no groups.
        method: how it was computed, in words.
        exact: whether the numbers are those that were given, or floats near to them.

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
    exact: bool = True

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
        return self._told(extremes_of(self.program)[0])

    @cached_property
    def null(self) -> tuple[Number, tuple[Number, ...]]:
        """Bob's risk and each Eve's unweighted risk if nothing is released: she still has the columns she knows."""
        return self._told(extremes_of(self.program)[1])

    def _told(self, risks: tuple[Any, Sequence[Any]]) -> tuple[Number, tuple[Number, ...]]:
        return stated(risks[0], self.exact), tuple(stated(v, self.exact) for v in risks[1])

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
        return self._table[1][cut], self._shares(self._table[2][cut] / self.program.p[x])

    def triples(self) -> tuple[Array, Array, Array]:
        """The whole channel as triples (record type, decision, probability), sorted by record type, then decision."""
        state, decision, rho = self._table
        return state, decision, self._shares(rho / self.program.p[state])

    def _shares(self, q: Array) -> Array:
        return public(q) if self.exact else floats(q)  # which hold multiples of 2^-52

    def replies(self, decision: int, eve: int, known: int) -> Array:
        """u of an Eve who knows z = `known` and sees this decision: non-negative numbers that sum to lam.

        A value of the known columns that the program does not have is allowed: she then replies as without knowledge
        and without a release.
        """
        return public(self.replies_at(np.array([decision]), eve, known)[0])

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

    def replies_at(self, decision: Array, eve: int, known: int) -> Array:
        """u of an Eve who knows this at several decisions, a row each, in working numbers."""
        rows, field = self._rows[eve], field_of(self.program.p)
        home = self._homes.get((eve, known))
        if home is not None:
            part, start = home
            return part.replies_of(self.program)[decision, start : start + rows.guesses]
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
        return [EXACT.one if eve.chance is None else tree_sum(eve.heard(p)) for eve in self.program.eves]

    @property
    def _lam(self) -> Any:
        return EXACT.number(self.lam)

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
        for k, (table, code) in enumerate(zip(self.program.losses, codes, strict=True)):
            if not 0 <= code < len(table):
                raise InputError(f"codes[{k}]", int(code), f"must be a level from 0 to {len(table) - 1}")
        for n, (eve, secret) in enumerate(zip(self.program.eves, secrets, strict=True)):
            if not 0 <= secret < len(eve.loss):
                raise InputError(f"secrets[{n}]", int(secret), f"must be a level from 0 to {len(eve.loss) - 1}")
        return int(self.rules(*(np.array([part]) for part in (codes, secrets, known)))[0])

    def rules(self, codes: Array, secrets: Array, known: Array) -> Array:
        """Alice's rule for many records, a row each."""
        out, every = np.empty(len(codes), dtype=np.int64), np.arange(self.decisions)
        values, group = np.unique(known, axis=0, return_inverse=True)
        tables = [chance * eve.loss * eve.weight for chance, eve in zip(self._chances, self.program.eves, strict=True)]
        for g, row in enumerate(values.tolist()):
            mine = np.flatnonzero(group.ravel() == g)
            u = np.hstack([self.replies_at(every, n, z) for n, z in enumerate(row)])
            losses = np.hstack([table[secrets[mine, n]] for n, table in enumerate(tables)])
            out[mine] = SummedCost(self.program.losses, codes[mine]).least(losses, u)[1]
        return out

    def verify(self) -> Verdict:
        """Check the optimum with arithmetic alone: marginals, replies, value, bound and the gap between them."""
        from bap_sdc.records.optimum.proof import verify_records

        return verify_records(self)

    def _lines(self) -> Iterator[str]:
        value = equals("R_A", self.value, fraction) + (f" (gap {float(self.gap):.1g})" if self.gap else "")
        parts = counted(len(self.components), "component")
        yield (
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


def conclude_records(
    program: RecordProgram, lam: Any, parts: Sequence[RecordComponent], bound: Any, method: str, exact: bool = True,
) -> RecordOptimum:  # fmt: skip
    """Put the parts together: risks from the joint table, and a proved bound, attained if exact."""
    columns, eves, bob, eve = risks_of(program, *joint_table(parts))
    value = bob - EXACT.number(lam) * eve
    if exact and value != bound:
        raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {bound}")
    told = reported(value, bound, exact)
    return RecordOptimum(
        program, public(lam), told[0], stated(bob, exact), stated(eve, exact), *told[1:],
        tuple(stated(v, exact) for v in eves), tuple(stated(v, exact) for v in columns), tuple(parts), method, exact,
    )  # fmt: skip
