"""What a certificate says, lowered to a program: feasible channels, their value, and what multipliers prove.

The bound is that of the program (`program.bound`). Under determinism it may go case by case.
Numbers are rational.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bap_lp.conditions.given import Conditions, demands_of_each
from bap_lp.model.problem import Problem
from bap_lp.program.bound import Dual, NoProof, Program, compact
from bap_lp.program.lowering import LoweredProblem
from bap_lp.program.several import (
    Audience,
    scenario_audiences,
    scenario_program,
    tier_audiences,
    tier_program,
    tiers_of,
)
from bap_lp.proof.cases import Case, uncovered
from bap_lp.support.rational import EXACT, Array, InputError

if TYPE_CHECKING:
    from bap_lp.proof.certificate import Certificate


_NONE = Conditions()
PRICES = "the prices prove that no mechanism{} goes below"
_NO_PROOF = "the multipliers do not prove that the conditions cannot be met"


@dataclass(frozen=True, eq=False)
class Statement:
    """What a certificate is about, lowered: its program, and what the channel must satisfy by definition."""

    program: Program
    layout: LoweredProblem | None = None
    conditions: Conditions = _NONE
    lam: Any = EXACT.zero
    bob_weight: int = 1
    audiences: tuple[Audience, ...] = ()

    def broken(self, channel: Array) -> str:
        """What is wrong with a channel, if anything."""
        if channel.shape != self.program.shape:
            return f"the channel has shape {channel.shape}, must have {self.program.shape}"
        if (channel < 0).any() or (channel.sum(axis=1) != 1).any():
            x = next(x for x, row in enumerate(channel) if (row < 0).any() or row.sum() != 1)
            return f"channel[{x}] is not a distribution"
        row = self.program.broken(self.program.mass[:, None] * channel)
        parts = self.audiences if self.layout is None else (self.layout,)
        sent = [(part.sent_whole(channel), part.demands) for part in parts if part.demands]
        told = next(filter(None, (demand.broken(own) for own, demands in sent for demand in demands)), "")
        if told:
            return str(told)
        return "" if row is None else f"the channel breaks row {row[1]} of {row[0]}"

    def value(self, channel: Array) -> Any:
        return self.program.value(self.program.mass[:, None] * channel)

    def bound(self, dual: Dual, cases: Sequence[Case] = (), value: Any = None) -> tuple[Any, str]:
        """What multipliers prove, and how in words; raises NoProof. value: the least that is of interest."""
        least, how = self.program.bound(dual), PRICES
        if not self.conditions.deterministic or (value is not None and least >= value):
            return least, how
        if cases:
            return max(least, self._by_cases(cases, value)), f"the prices prove, case by case, {how[17:]}"
        return least, how

    def impossible(self, dual: Dual, cases: Sequence[Case]) -> str:
        """How multipliers prove that nothing is feasible; raises NoProof if they do not."""
        if cases:
            if not (self.conditions.deterministic and all(case.void for case in cases)):
                raise NoProof("a proof by cases needs determinism, and cases that are all void")
            self._by_cases(cases, EXACT.zero)
            return "the multipliers prove, case by case, that no mechanism meets the conditions"
        if self.program.bound(dual) > 0:
            return "the multipliers prove that no mechanism meets the conditions"
        raise NoProof(_NO_PROOF)

    def _by_cases(self, cases: Sequence[Case], value: Any) -> Any:
        try:
            wrong = uncovered(cases, *self.program.shape)
        except InputError as error:
            wrong = str(error)
        if wrong:
            raise NoProof(wrong)
        for k, case in enumerate(cases):
            try:
                program = self.program.silent if case.void else self.program
                bound = program.bound(case.dual, case.allowed(program.shape))
            except NoProof as error:
                raise NoProof(f"cases[{k}]: {error}") from None
            if case.void and not bound > 0:
                raise NoProof(f"cases[{k}]: {_NO_PROOF}")
            value = value if case.void else bound if value is None else min(value, bound)
        return value


def release_statement(problem: Problem, lam: Any, conditions: Conditions, bob_weight: int = 1) -> Statement:
    """The statement about one exact problem; raises InputError if the conditions do not fit."""
    if conditions.empty and not problem.misaligned and not problem.reporting and bob_weight == 1:
        return Statement(compact(problem.arrays, lam), lam=lam)
    layout = LoweredProblem.of(problem, conditions.demands(problem))
    program = layout.whole_program(lam, bob_weight)
    return Statement(program, layout, conditions, lam, bob_weight)


def numbers_of(problems: Sequence[Problem], certificate: Certificate) -> list[Problem]:
    """The problems in rationals, as the certificate reads them."""
    return [problem.exactly if certificate.exact else problem.as_float().exactly for problem in problems]


def statement_of(problems: Sequence[Problem], certificate: Certificate) -> Statement:
    numbers = numbers_of(problems, certificate)
    lams = [EXACT.number(lam) for lam in certificate.lams]
    if certificate.tier_weights:
        tiers_of(problems, 0, None)  # refuses too many tuples of decisions
        audiences = tier_audiences(numbers, demands_of_each(certificate.conditions_of, numbers))
        program = tier_program(audiences, lams, [EXACT.number(w) for w in certificate.tier_weights])
    elif certificate.kind == "scenarios" or certificate.conditions_of:
        audiences = scenario_audiences(numbers, demands_of_each(certificate.conditions_of, numbers))
        program = scenario_program(audiences, lams)
    else:
        audiences = []
    if audiences:
        return Statement(program.silent if certificate.kind == "conflict" else program, audiences=tuple(audiences))
    if certificate.kind == "conflict":
        return release_statement(numbers[0], EXACT.zero, certificate.conditions, 0)
    return release_statement(listing(numbers[0], certificate), lams[0], certificate.conditions)


def listing(problem: Problem, certificate: Certificate) -> Problem:
    """The problem with the lists of reports of a certificate; raises NoProof if they prove nothing."""
    from bap_lp.conditions.max_information import information_reporters

    reporters = [*problem.reporters.values(), *information_reporters(certificate.conditions, problem)]
    if len(certificate.reports) != len(reporters):
        raise NoProof(f"there are {len(certificate.reports)} lists of reports, must be {len(reporters)}")
    if not reporters:
        return problem
    for reporter, table in zip(reporters, certificate.reports, strict=True):
        if wrong := reporter.flaw(table):
            raise NoProof(wrong)
    return problem.reported(certificate.reports)


def rounds(program: Program) -> bool:
    """Whether the value has logarithms, which are rounded."""
    return any(reporter.kind == "log" for o in program.observers if o.price != 0 for _, reporter in o.scores)
