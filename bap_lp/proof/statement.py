"""What a certificate says, lowered to a program: feasible channels, their value, and what multipliers prove.

The bound is that of the program (`program.bound`). Under determinism it may go case by case, or all maps are tried.
Numbers are rational.

All deterministic mechanisms of a small problem are a map a from states to Bob's decisions each, b^N of them.
R_B = sum_x p(x) B(x,a(x)) and R_E = sum_ig min_j sum_{x: a(x)=i} p(x) E(x,j) are computed for all maps at once, in
floats, state by state. A float result is off by at most k u (sum of the sizes of its terms), so the maps that may be
best are known for certain, and only those are computed exactly. If all terms are integers over one denominator, and
their sums stay below 2^52, floats make no error at all. Of several best maps the one with the largest R_E is chosen (of
several most private ones the one with the least R_B), then the first in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from bap_lp.limits import limit
from bap_lp.model.mechanism import degenerate
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.notions.base import MapTable, Notion
from bap_lp.notions.conditions import Conditions, demands_of_each
from bap_lp.program.bound import Dual, NoProof, Program, compact
from bap_lp.program.lowering import LoweredProblem, SentSignals, Signals
from bap_lp.program.several import (
    Audience,
    scenario_audiences,
    scenario_program,
    tier_audiences,
    tier_program,
    tiers_of,
)
from bap_lp.proof.cases import Case, uncovered
from bap_lp.rational import EXACT, UNIT, Array, InputError, common_denominator, floats

if TYPE_CHECKING:
    from bap_lp.proof.certificate import Certificate


def enumerable(arrays: Arrays, demands: Sequence[Notion]) -> bool:
    """Whether the deterministic mechanisms are few enough to try them all; tuples of decisions are not counted.

    Where they are too many, branch and bound takes over.
    """
    tuples = any(demand.tuples for demand in demands)
    return not tuples and arrays.shape[1] ** min(len(_free(arrays, demands)), 64) <= limit("maps")


def _free(arrays: Arrays, demands: Sequence[Notion]) -> Array:
    """States that a map decides on; the others, of probability zero, follow the first of them."""
    every = not all(demand.null_row for demand in demands)
    return np.array([x for x, mass in enumerate(arrays.p) if every or mass > 0])


def best_deterministic(
    arrays: Arrays, signals: Signals, demands: Sequence[Notion], lam: Any, bob_weight: int = 1
) -> tuple[Any, Array] | None:
    """(value, map) of the deterministic mechanism with the least bob_weight R_B - lam R_E under the conditions.

    bob_weight is 0 or 1. None if no map meets the conditions.
    """
    N, b, _ = arrays.shape
    tables, error, scale, prices = _tables(arrays, lam, bob_weight)
    maps, bob = np.zeros((1, N), dtype=np.int16), np.zeros(1)
    cells = np.zeros((1, b, arrays.shape[2]))
    free = _free(arrays, demands)
    for x in free.tolist():
        count = len(maps)
        maps, bob, cells = np.repeat(maps, b, axis=0), np.repeat(bob, b), np.repeat(cells, b, axis=0)
        choice = np.tile(np.arange(b), count)
        maps[:, x] = choice
        bob += tables[0][x, choice]
        cells[np.arange(len(maps)), choice] += tables[1][x]
    maps[:, np.setdiff1d(np.arange(N), free)] = maps[:, free[:1]]
    eve = sum(cells[:, :, g].min(axis=2).sum(axis=1) for g in arrays.groups)
    rounding = 4 * (N + b + 8) * UNIT
    bob_error, eve_error = (rounding * float(table.max(axis=1).sum()) / scale for table in tables)
    errors = bob_error, len(arrays.groups) * eve_error, rounding
    found = MapTable(maps, bob / scale, eve / scale, *errors)
    value = prices[0] * bob - prices[1] * eve
    slack = error * (prices[0] * found.bob_error + prices[1] * found.eve_error) * scale
    maybe = np.flatnonzero(np.logical_and.reduce([demand.sieve(found) for demand in demands]))
    best: tuple[Any, ...] | None = None
    second = -eve if bob_weight else bob
    for k in maybe[np.lexsort((maybe, second[maybe], value[maybe]))].tolist():
        if best is not None and (slack == 0 or value[k] > value[best[2]] + 2 * slack):
            break  # what follows is worse for certain
        sent = SentSignals(arrays, signals, degenerate(maps[k].tolist(), b))
        if any(demand.broken(sent) for demand in demands):
            continue
        score = (*sent.score(lam, bob_weight), k)
        if best is None or score < best:
            best = score
    return None if best is None else (best[0], maps[best[2]].astype(np.int64))


def _tables(arrays: Arrays, lam: Any, bob_weight: int) -> tuple[list[Array], int, float, tuple[float, float]]:
    """p B and p E times `scale` in floats, whether sums of them are rounded (0 or 1), scale, and the weights of R_A."""
    tables = [arrays.p[:, None] * table for table in (arrays.B, arrays.E)]
    scale = common_denominator(np.hstack(tables))
    tops = [table.max(axis=1).sum() * scale for table in tables]
    if max(tops[0] * lam.q, tops[1] * lam.p, *tops) * len(arrays.groups) < fmpq(2**52):
        return [floats(table * scale) for table in tables], 0, float(scale), (float(bob_weight * lam.q), float(lam.p))
    return [floats(table) for table in tables], 1, 1.0, (float(bob_weight), float(lam))


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
        tried = self._tried()
        if tried is None:
            return least, how
        return max(
            least, value if not tried else tried[0]
        ), "all deterministic mechanisms were tried and none goes below"

    def _tried(self) -> tuple[Any, ...] | None:
        """The value of the best deterministic mechanism, if they are few; empty if there is none."""
        layout = self.layout
        if layout is None or not self.conditions.deterministic or not enumerable(layout.whole, layout.demands):
            return None
        found = best_deterministic(layout.whole, layout.signals, layout.demands, self.lam, self.bob_weight)
        return () if found is None else (found[0],)

    def impossible(self, dual: Dual, cases: Sequence[Case]) -> str:
        """How multipliers prove that nothing is feasible; raises NoProof if they do not."""
        if cases:
            if not (self.conditions.deterministic and all(case.void for case in cases)):
                raise NoProof("a proof by cases needs determinism, and cases that are all void")
            self._by_cases(cases, EXACT.zero)
            return "the multipliers prove, case by case, that no mechanism meets the conditions"
        if self.program.bound(dual) > 0:
            return "the multipliers prove that no mechanism meets the conditions"
        if self._tried() == ():
            return "all deterministic mechanisms were tried and none meets the conditions"
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
    from bap_lp.notions.max_information import information_reporters

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
