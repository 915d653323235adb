"""R_A = R_B - lam * R_E: the three numbers every mechanism is judged by, and how far they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bap_lp.support.rational import is_exact, public

Number = Fraction | float


@dataclass(frozen=True)
class Risks:
    """Bob's and Eve's integrated Bayes risks under one mechanism.

    Exact risks are Fractions with zero errors; a numerical method states the error bound or estimate of each risk.

    Attributes:
        bob: R_B.
        eve: R_E.
        bob_error: how far R_B may be off.
        eve_error: how far R_E may be off.

    >>> from fractions import Fraction
    >>> from bap_lp import Risks
    >>> print(Risks(Fraction(13, 40), Fraction(3, 4)).alice(Fraction(1, 3)))
    3/40
    """

    bob: Number
    eve: Number
    bob_error: float = 0.0
    eve_error: float = 0.0

    @staticmethod
    def summed(bob: Any, eve: Any, terms: int) -> Risks:
        """Risks that are sums of so many products >= 0; float sums are off by about (terms + 2) ulp of themselves."""
        if is_exact(bob):
            return Risks(public(bob), public(eve))
        rounding = (terms + 2) * 2.0**-52
        return Risks(float(bob), float(eve), rounding * float(bob), rounding * float(eve))

    def alice(self, lam: Number) -> Number:
        """Alice's risk R_B - lam * R_E."""
        return self.bob - lam * self.eve

    def alice_error(self, lam: Number) -> float:
        """Error of alice(lam): the two errors can only add up."""
        return self.bob_error + float(lam) * self.eve_error
