"""max_information: I(A;S) <= c bits, for A = a(x): the state itself, what an Eve wants, or any label of the states.

I(A;S) = H(A) - H(A|S), and H(A|S) is the risk of an observer who reports probabilities of A with the log loss: one row,
-sum_s t[s] <= c log 2 - H(A), on an observer whose price is zero. Pooling signals lowers I(A;S), and so does averaging
states with the same a(x): one signal per decision of Bob is enough. In the row logarithms are rounded to the loose
side, so that it loses no mechanism; by definition they are rounded to the strict side. Rounded logarithms cannot tell
whether I(A;S) is c or a little more, so c is read larger by 2^-100 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from bap_lp.conditions.base import Condition, limit
from bap_lp.conditions.events import all_exact, figure, read_number, rows_of
from bap_lp.conditions.given import Conditions
from bap_lp.model.problem import Problem
from bap_lp.model.reports import Reporter, reports
from bap_lp.model.sums.merging import class_sums, first_members
from bap_lp.program.bound import Dual
from bap_lp.program.lowering import Lowering, SentSignals
from bap_lp.support.labels import state_labels
from bap_lp.support.logarithms import log_above, log_below
from bap_lp.support.rational import EXACT, Array, InputError

_TRACE = EXACT.number(2.0**-100)  # bits


@dataclass(frozen=True)
class InformationLimit:
    """At most so many bits about the secret (a label per state), that of an Eve, or without either the state itself."""

    at_most: Any
    secret: Any = None
    eve: str | None = None
    required: ClassVar[str] = "at_most"

    def read(self, field: str) -> InformationLimit:
        most = read_number(self.at_most, f"{field}.at_most", 0)
        if most == 0:
            raise InputError(f"{field}.at_most", most, "must be positive: independent_of asks for no information")
        if self.secret is not None and self.eve is not None:
            raise InputError(f"{field}.eve", self.eve, "must not be given with secret: one of the two")
        if self.eve is not None and not isinstance(self.eve, str):
            raise InputError(f"{field}.eve", self.eve, "must be the name of an Eve")
        secret = self.secret
        if secret is not None:
            secret = state_labels(secret, f"{field}.secret", len(secret) if hasattr(secret, "__len__") else 0)
        return replace(self, at_most=most, secret=secret)

    @property
    def exact(self) -> bool:
        return all_exact(self.at_most)

    def labels(self, problem: Problem, field: str) -> Any:
        """a(x) of every state."""
        if self.secret is not None:
            return state_labels(self.secret, f"{field}.secret", len(problem.p))
        if self.eve is None:
            return problem.states
        found = [a for a in problem.eves if a.name == self.eve and reports(a)]
        if not found:
            raise InputError(f"{field}.eve", self.eve, "names no Eve who reports probabilities of a secret")
        return problem.states if found[0].secret is None else found[0].secret


def information_reporters(conditions: Conditions, problem: Problem) -> list[Reporter]:
    """Who would report the secrets of max_information, with p(x) for weights."""
    one = EXACT.full(len(problem.p), 1)
    out = []
    for k, each in enumerate(conditions.max_information or ()):
        labels = each.labels(problem, f"max_information[{k}]")
        out.append(Reporter.of("log", labels, problem.p, one).on(np.arange(len(problem.p)), problem.p))
    return out


@dataclass(frozen=True, eq=False)
class MaxInformation(Condition):
    """Limits in bits, who would report each secret, and the reports that are listed (none before they are known)."""

    limits: tuple[Any, ...]
    reporters: tuple[Reporter, ...]
    tables: tuple[Array, ...]
    name = "max_information"
    several = False
    merges = null_row = True

    @classmethod
    def stated(cls, value: Any) -> tuple[InformationLimit, ...]:
        if isinstance(value, (str, Real)) and not isinstance(value, bool):
            value = [{"at_most": value}]
        rows = rows_of(InformationLimit, [value] if isinstance(value, Mapping) else value, cls.name)
        if not rows:
            raise InputError(cls.name, None, "must not be empty")
        return rows

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> MaxInformation | None:
        if given.max_information is None:
            return None
        if problem.misaligned:
            raise InputError(cls.name, None, "needs agents who share Alice's prior and count")
        listed = problem.report_tables or ()
        limits = tuple(limit(each.at_most, 1, problem) + _TRACE for each in given.max_information)
        return cls(limits, tuple(information_reporters(given, problem)), listed[len(problem.reporters) :])

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        what = "the data" if value.secret is None and value.eve is None else "the secret"
        return f"On average the messages tell at most {figure(value.at_most)} bits about {what}."

    def features(self) -> Array:
        """The value of every state; that of a state without probability is -1."""
        return np.array([[EXACT.number(int(v)) for v in one.where] for one in self.reporters], dtype=object).T

    def on(self, index: Array, count: int) -> MaxInformation:
        first = first_members(index)
        sums = [class_sums(one.factor, index, count) for one in self.reporters]
        pairs = zip(self.reporters, sums, strict=True)
        return replace(self, reporters=tuple(replace(one, where=one.where[first], factor=p) for one, p in pairs))

    def broken(self, sent: SentSignals) -> str:
        for most, one in zip(self.limits, self.reporters, strict=True):
            told = _entropy(one)[1] - one.risk(sent.q).sum()
            if told > most * log_below(EXACT.number(2)):
                bits = float(told / log_below(EXACT.number(2)))
                return f"I(A;S) = {bits:.12g} bits is above max_information = {float(most):.12g}"
        return ""

    def lower(self, program: Lowering) -> None:
        if len(self.tables) != len(self.reporters):
            raise InputError(self.name, None, "is not possible here: `solve` takes it, for one problem")
        losses = [one.losses(table) for one, table in zip(self.reporters, self.tables, strict=True)]
        starts = np.cumsum([0, *(table.shape[1] for table in losses[:-1])])
        scores = tuple(enumerate(self.reporters))
        program.observe(self.name, np.hstack(losses), starts, scores=scores)
        two = log_above(EXACT.number(2))
        rhs = EXACT.list(c * two - _entropy(one)[0] for c, one in zip(self.limits, self.reporters, strict=True))
        s, k = np.indices((len(program.signals), len(losses))).reshape(2, -1)
        program.demand(self.name, rhs, terms=[(self.name, k, s, k, EXACT.full(len(s), 1))])

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        """Per bit."""
        two, weights = log_below(EXACT.number(2)), dual.weights[self.name]
        if len(weights) == 1:
            return {self.name: two * weights[0]}
        return {f"{self.name}[{k}].at_most": two * w for k, w in enumerate(weights)}


def _entropy(one: Reporter) -> tuple[Any, Any]:
    """Rationals below and above H(A)."""
    return one.risk_ends(EXACT.full((len(one.where), 1), 1))
