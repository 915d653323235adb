"""deterministic: q(s|x) is 0 or 1. These mechanisms are not a convex set: they are searched.

Averaging two equal states would randomise, so states are not merged.
"""

from __future__ import annotations

from collections.abc import Iterator

from bap_lp.model.problem import Problem
from bap_lp.notions.base import Notion
from bap_lp.notions.conditions import Conditions
from bap_lp.program.lowering import SentSignals
from bap_lp.rational import InputError


class Deterministic(Notion):
    name = "deterministic"
    convex = with_reports = several = False
    pure = True
    merges = False

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if not isinstance(given.deterministic, bool):
            raise InputError("deterministic", given.deterministic, "must be true or false")

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> Deterministic | None:
        return cls() if given.deterministic else None

    @classmethod
    def sentences(cls, given: Conditions, problem: Problem) -> Iterator[str]:
        if given.deterministic:
            yield "Nothing is drawn at random: the data decide the message."

    def broken(self, sent: SentSignals) -> str:
        return "" if ((sent.q == 0) | (sent.q == 1)).all() else "the channel is not deterministic"
