"""Conditions that no mechanism meets, refused with what is in conflict, what could be reached, and the proof.

With cost and prices zero the bound of the program lies below zero for every channel that meets the conditions. If it is
positive, there is no such channel. The proof is a certificate of kind "conflict", which `verify` checks.
"""

from __future__ import annotations

from typing import Any

from bap_lp.proof.certificate import Certificate
from bap_lp.rational import InputError


class ConflictError(InputError):
    """Conditions that no mechanism meets.

    `attainable` has, for the conditions with a number, the number nearest to the one demanded that the others allow.
    `proof` has the multipliers that prove the conflict; it is None in the rare cases where the multipliers found in
    floats do not prove it.

    Args:
        field: the condition that is named first.
        value: the number demanded.
        rule: why it cannot be met.

    Attributes:
        conflict: the labels of conditions that cannot hold together, while they can if any of them is left out.
            Where deterministic or max_signals is given, a condition is also listed if the search without it was given
            up, at its limit of nodes or of time.

    >>> from bap_lp import Conditions, ConflictError, Problem, solve, verify
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> try:
    ...     solve(coin, conditions=Conditions(min_eve_risk="3/4", max_bob_risk="3/10"))
    ... except ConflictError as error:
    ...     print(error.conflict, bool(verify(coin, error.proof)))
    ('min_eve_risk', 'max_bob_risk') True
    """

    conflict: tuple[str, ...] = ()
    proof: Certificate | None = None

    @property
    def attainable(self) -> dict[str, Any]:
        return dict(self.__dict__.get("nearest", {}))
