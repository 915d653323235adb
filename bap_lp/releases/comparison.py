"""How far the usual releases fall short: each with its best parameter at lam, next to the optimum.

Under conditions the optimum is the best mechanism that meets them, and every release is checked by the definitions on
its own signals: a release that breaks a condition may have a smaller R_A than the optimum.

Agents who act on beliefs of their own play their own best decisions at the signals of every release, with ties broken
for Alice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.arguments import checked
from bap_lp.model.beliefs import joint_decision
from bap_lp.model.beliefs import replies as own_replies
from bap_lp.model.calibration import lam_of
from bap_lp.model.display import Displayed, Grid, Tabular, both, clean, equals, fraction
from bap_lp.model.evaluation import joint, risks
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number, Risks
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.notions.conditions import Conditions
from bap_lp.program.finish import on_simplex
from bap_lp.program.lowering import SentSignals, Signals
from bap_lp.questions.optimum.solution import Solution
from bap_lp.questions.optimum.solving import solve
from bap_lp.rational import EXACT, Array, InputError, public
from bap_lp.releases.library import RELEASES, Parameter
from bap_lp.releases.tuned import BEST

# `compare` builds a states x states channel up to this many states. The geometric one spans ratio^(1 - N), and
# 20^199 = 1e259 is still a float.
_TRACE = EXACT.number(1) / 10**9
_MOST_STATES = {"full": 2000, "synthetic data": 500, "randomised response": 500, "truncated geometric": 200}


@checked
def meets(problem: Problem, mechanism: Mechanism, conditions: Conditions) -> str:
    """Which condition a mechanism breaks, in words, or "" if it meets them all.

    The definitions are applied to the mechanism's own signals, with each agent's best decision at every signal. Exact
    numbers are compared exactly. A float release counts as one that meets a condition if 10^-9 of the null release
    makes it so, and limits are read a little looser.

    Args:
        problem: the problem.
        mechanism: any channel on its states.
        conditions: the conditions to check.

    Returns:
        The first condition that is broken, or the empty string.

    >>> from bap_lp import Conditions, Problem, releases
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> releases.meets(coin, releases.null(coin), Conditions(exp_epsilon=2))
    ''
    >>> releases.meets(coin, releases.full(coin), Conditions(min_eve_risk="1/2"))
    'R_E = 0 is below min_eve_risk = 1/2'
    """
    exact = problem.exact and mechanism.exact and conditions.exact
    whole, q = (problem if exact else problem.as_float()).exactly, on_simplex(mechanism.q)
    rho, _ = joint(whole, Mechanism.of(q, mechanism.signals, whole.states))
    replies: Array | None = None
    if whole.misaligned:
        played = [own for own, _, _ in own_replies(whole, q, rho)]
        bob, eves = joint_decision(whole, played), played[len(whole.bobs) :]
        replies = np.stack([own + g.start for own, g in zip(eves, whole.eve_groups, strict=True)], axis=1)
    elif whole.forecasting:  # no condition that holds with such a Bob speaks of his decisions
        bob = np.zeros(rho.shape[1], dtype=int)
    else:
        bob = signal_losses(rho, whole.B).argmin(axis=1)
        if not whole.reporting:
            replies = whole.arrays.reply_columns(signal_losses(rho, whole.E))
    signals = Signals(bob.astype(int), None if replies is None else replies.astype(int), mechanism.signals)
    if whole.reporting:
        from bap_lp.questions.optimum.reported import with_placeholders  # with the solver of cones

        whole = with_placeholders(whole, conditions)
    channels = [q]
    if not exact:  # what was rounded may stand at the edge of a condition: then a trace of the null release decides
        channels.append((1 - _TRACE) * q + _TRACE * whole.p.dot(q))
    arrays = whole.without_bob if whole.forecasting else whole.arrays
    scores = tuple((k, one.on(np.arange(len(whole.p)), whole.p)) for k, one in whole.reporters.items())
    sent = [SentSignals(arrays, signals, q, scores) for q in channels]
    for demand in conditions.demands(whole):
        wrong = [demand.broken(one) for one in sent]
        if all(wrong):
            return wrong[0]
    return ""


@dataclass(frozen=True, repr=False)
class Row(Displayed):
    """One release: its risks, R_A at the table's lam, its epsilon, and how far it is above the optimum.

    `breaks` says which condition the release breaks: "" if none, None if there are no conditions.
    """

    name: str
    parameter: Parameter | None
    risks: Risks
    alice: Number
    epsilon: float
    excess: Number
    breaks: str | None = None

    @property
    def meets_conditions(self) -> bool | None:
        """Whether the release meets the conditions; None if there are none."""
        return None if self.breaks is None else not self.breaks

    def _headline(self) -> str:
        above = f"{fraction(self.excess)} above the optimum"
        return f"{clean(self.name, 40)!r}: {equals('R_A', self.alice, fraction)}, {above}"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """Releases by increasing R_A. `omitted` says which ones do not apply to the problem, and why."""

    lam: Number
    optimum: Solution
    rows: tuple[Row, ...]
    omitted: tuple[tuple[str, str], ...]
    conditions: Conditions | None = None

    def __getitem__(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)

    def summary(self) -> str:
        """The optimum and how far the best and the worst release are above it, in plain sentences."""
        optimum = f"At {equals('lambda', self.lam)} the optimum has {equals('R_A', self.optimum.value)}."
        others = [row for row in self.rows if row.name != "optimum" and row.breaks in (None, "")]
        if not others:
            return f"{optimum}\nNo other release meets the conditions." if self.conditions else optimum
        among = "" if self.conditions is None else " that meets the conditions"
        best, worst = (f"{clean(r.name)}, is {both(r.excess)} above it" for r in (others[0], others[-1]))
        return f"{optimum}\nThe best other release{among}, {best}; the worst, {worst}."

    def _headline(self) -> str:
        optimum = equals("optimum R_A", self.optimum.value, fraction)
        return f": {equals('lambda', self.lam, fraction)}, {len(self.rows)} releases, {optimum}"

    def _grid(self, most: int | None = None) -> Grid:
        columns = ["release", "parameter", "R_B", "R_E", "R_A", "above the optimum", "epsilon"]
        rows = [[r.name, r.parameter, r.risks.bob, r.risks.eve, r.alice, r.excess, r.epsilon] for r in self.rows[:most]]
        if self.conditions is not None:
            columns.append("meets the conditions")
            rows = [[*row, "no" if r.breaks else "yes"] for row, r in zip(rows, self.rows, strict=False)]
        return Grid(columns, rows, len(self.rows))


@checked
def compare(
    problem: Problem,
    lam: Any = "calibrated",
    solution: Solution | None = None,
    *,
    mechanisms: Sequence[Mechanism] = (),
    conditions: Conditions | None = None,
) -> Comparison:
    """The optimum at lam next to RELEASES, the best members of BEST, and any further mechanisms of the caller.

    Args:
        problem: the problem.
        lam: a non-negative number, or "calibrated".
        solution: the optimum at lam, if it is known already; its conditions are then the table's.
        mechanisms: further mechanisms to list, under their names.
        conditions: what the optimum must satisfy, and what every release is checked for.

    Returns:
        The releases by increasing R_A, with their excess over the optimum.

    Raises:
        InputError: if `solution` is the optimum at another lam or under other conditions.

    >>> from bap_lp import Problem, compare
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> compare(coin, "1/3")
    <Comparison: lambda = 1/3, 6 releases, optimum R_A = 3/40>
    """
    weight = public(lam_of(problem, lam))
    wanted = None if conditions is None or conditions.empty else conditions
    optimum = solve(problem, weight, conditions=wanted) if solution is None else solution
    proved = optimum.conditions
    if float(optimum.lam) != float(weight):
        raise InputError("solution.lam", optimum.lam, f"must be the table's lam, {weight}")
    if wanted is not None and wanted != proved:
        raise InputError("solution", None, "must be the optimum under the same conditions")
    found: list[tuple[str, Parameter | None, Mechanism]] = []
    omitted = []
    for name in (*RELEASES, *BEST):
        try:
            if len(problem.states) > _MOST_STATES.get(name, len(problem.states)):
                raise InputError("states", None, f"are {len(problem.states)}, more than {_MOST_STATES[name]}")
            found.append((name, *(BEST[name](problem, weight) if name in BEST else (None, RELEASES[name](problem)))))
        except InputError as reason:
            omitted.append((name, str(reason)))
    found += [(m.name or f"mechanism {k}", None, m) for k, m in enumerate(mechanisms)]

    def row(name: str, parameter: Parameter | None, mechanism: Mechanism, own: Risks) -> Row:
        alice = own.alice(weight)
        breaks = None if proved is None else meets(problem, mechanism, proved)
        excess: Number = alice - optimum.value
        if problem.reporting and abs(float(excess)) <= own.alice_error(weight):
            excess = 0.0  # the value of the optimum is rounded up
        return Row(name, parameter, own, alice, mechanism.epsilon, excess, breaks)

    rows = [row("optimum", None, optimum.mechanism, optimum.risks)]
    rows += [row(name, parameter, m, risks(problem, m)) for name, parameter, m in found]
    return Comparison(weight, optimum, tuple(sorted(rows, key=lambda r: r.alice)), tuple(omitted), proved)
