"""RecordOptimum: an optimal release of records with its risks, its channel row by row, its rule and its proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bap_lp.model.risks import Number
from bap_lp.proof.certificate import Verdict
from bap_lp.rational import Array, ReadOnly
from microdata.records import RecordProgram


@dataclass(frozen=True, eq=False)
class RecordComponent(ReadOnly):
    """One independent part: its record types, the joint table on them, and Eve's replies.

    states: (n,) record types. row, decision, rho: the non-zero entries of the joint table, row counted within states.
    groups: the pairs (Eve, z) it contains. active: (d,) decisions with replies of their own. replies: (d, sum of guesses of
    the groups), in lam times the simplex for each group.
    """

    states: Array
    row: Array
    decision: Array
    rho: Array
    groups: tuple[tuple[int, int], ...]
    active: Array
    replies: Array


@dataclass(frozen=True, eq=False)
class RecordOptimum:
    """The optimum of a RecordProgram at lam.

    value = bob - lam * eve; bound: no release has a smaller R_A; gap = value - bound, 0 if exact. eves: the unweighted
    risk of each Eve; columns: the part of each published column in Bob's risk, weights included.
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

    @property
    def used(self) -> Array:
        """The decisions that are sent with positive probability, in order."""
        raise NotImplementedError

    def row(self, x: int) -> tuple[Array, Array]:
        """The channel at record type x: decisions, and their probabilities (Fractions or floats, summing to one)."""
        raise NotImplementedError

    def rows(self) -> tuple[Array, Array, Array]:
        """The whole channel as triples (record type, decision, probability), sorted by record type, then decision."""
        raise NotImplementedError

    def replies(self, decision: int, eve: int, known: int) -> Array:
        """u of an Eve who knows z = `known` and sees this decision: non-negative numbers that sum to lam."""
        raise NotImplementedError

    def rule(self, codes: Sequence[int], secrets: Sequence[int], known: Sequence[int]) -> int:
        """Alice's rule argmin_i B(x,i) - u_i.E(x) for any record, also one never seen; the first decision if tied.

        codes: true level of each published column. secrets, known: one entry per Eve; a value of known columns that the fit
        has not seen (or -1) is allowed: that Eve is then taken to reply as without knowledge and without a release.
        """
        raise NotImplementedError

    def verify(self) -> Verdict:
        """Check the optimum with arithmetic alone: marginals, replies, and value = bound (to rounding in floats)."""
        raise NotImplementedError
