"""How far the usual releases fall short: each with its best parameter at lam, next to the optimum.

Under conditions the optimum is the best mechanism that meets them, and every release is checked by the definitions on
its own signals: a release that breaks a condition may have a smaller R_A than the optimum.
Agents who act on beliefs of their own play their own best decisions at the signals of every release, with ties broken
for Alice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.model.beliefs import joint_decision
from bap_lp.model.beliefs import replies as own_replies
from bap_lp.model.calibration import lam_of
from bap_lp.model.evaluation import is_bob_invariant, joint, risks
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.program.finish import on_simplex
from bap_lp.program.lowering import SentSignals, Signals
from bap_lp.questions.optimum.solution import Solution
from bap_lp.questions.optimum.solving import solve
from bap_lp.releases.families import lower_envelope, randomised_response_family
from bap_lp.releases.library import RELEASES, Parameter, full, randomised_response, truncated_geometric
from bap_lp.support.display import Displayed, both, clean, equals, fraction, listed
from bap_lp.support.rational import EXACT, Array, InputError, public
from bap_lp.support.risks import Number, Risks

_MOST_ENTRIES = 1_000_000  # of the channels that are tried for agents with beliefs of their own
_BESIDE = 2.0**-40  # far above the rounding of a w at which somebody changes his decision
RATIOS = tuple(Fraction(k, 20) for k in range(1, 20))  # of the truncated geometric releases that `compare` tries


def best_randomised_response(problem: Problem, lam: Any) -> tuple[Parameter, Mechanism]:
    """The exact minimiser of R_A over w in [0, (N - 1)/N], from the full release to the null one."""
    if problem.misaligned:
        return _own_randomised_response(problem, public(lam_of(problem, lam)))
    best = randomised_response_family(problem).minimise(lam)
    return Parameter("w", best.w), best.mechanism


def _own_randomised_response(problem: Problem, lam: Number) -> tuple[Parameter, Mechanism]:
    """The same with agents who act on beliefs of their own.

    Between two w at which somebody changes his decision the counted risks are linear in w. At such a w the agents are
    indifferent, which can only help Alice. So one of these w, or an end, is best.
    """
    count = len(problem.states)
    if count < 2:
        raise InputError("states", None, "are one: randomised response needs two")
    top = problem.arrays.field.number(f"{count - 1}/{count}" if problem.exact else (count - 1) / count)
    ends = full(problem), randomised_response(problem, public(top))
    switches = {0 * top, top}
    for belief in problem.beliefs:
        low, high = (signal_losses(end.q, belief.act) for end in ends)
        for heights, slopes in zip(low.tolist(), ((high - low) / top).tolist(), strict=True):
            switches |= {t for t, _ in lower_envelope(heights, slopes, top)}
    if not problem.exact:  # a float is rarely the tie itself: what it gives Alice is nearly had on one of its sides
        switches |= {min(top, w * (1 + side)) for w in switches for side in (-_BESIDE, _BESIDE)}
    if len(switches) * count**2 > _MOST_ENTRIES:
        raise InputError("states", None, f"are {count}: too many for randomised response to agents with own beliefs")
    built = {w: randomised_response(problem, public(w)) for w in sorted(switches)}
    found = {w: risks(problem, mechanism) for w, mechanism in built.items()}
    w = min(built, key=lambda w: (found[w].alice(lam), -found[w].eve))
    return Parameter("w", public(w)), built[w]


def best_truncated_geometric(problem: Problem, lam: Any) -> tuple[Parameter, Mechanism]:
    """The best of RATIOS. The channel is not an affine function of the ratio, so this is a choice from a stated set.

    Floats discard the ratios that are clearly worse; those within rounding of the best are compared in the problem's
    own numbers, and a tie goes to the larger R_E.
    """
    price = public(lam_of(problem, lam))
    built = {a: truncated_geometric(problem, a) for a in (RATIOS if problem.misaligned else _near_best(problem, price))}
    found = {a: risks(problem, mechanism) for a, mechanism in built.items()}
    ratio = min(built, key=lambda a: (found[a].alice(price), -found[a].eve))
    return Parameter("ratio", ratio), built[ratio]


def _near_best(problem: Problem, lam: Number) -> list[Fraction]:
    """The ratios that floats cannot tell from the best."""
    rough, weight = problem.as_float(), float(lam)
    rho = rough.p[:, None] * np.hstack([truncated_geometric(rough, a).q for a in RATIOS])  # all signals side by side
    bob = signal_losses(rho, rough.B).min(axis=1)
    eve = rough.arrays.least_replies(signal_losses(rho, rough.E)).sum(axis=1)
    scores = (bob - weight * eve).reshape(len(RATIOS), -1).sum(axis=1)
    slack = 1e-9 * (rough.B.max() + weight * rough.E.max())
    return [a for a, score in zip(RATIOS, scores.tolist(), strict=True) if score <= scores.min() + slack]


Best = Callable[[Problem, Any], tuple[Parameter, Mechanism]]
BEST: dict[str, Best] = {
    "randomised response": best_randomised_response,
    "truncated geometric": best_truncated_geometric,
}


# `compare` builds a states x states channel up to this many states. The geometric one spans ratio^(1 - N), and
# 20^199 = 1e259 is still a float.
_TRACE = EXACT.number(1) / 10**9
_MOST_STATES = {"full": 2000, "synthetic data": 500, "randomised response": 500, "truncated geometric": 200}


def meets(problem: Problem, mechanism: Mechanism, conditions: Any) -> str:
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
    conditions = Conditions.of(conditions)
    exact = problem.exact and mechanism.exact and conditions.exact
    whole, q = (problem if exact else problem.as_float()).exactly, on_simplex(mechanism.q)
    rho, _ = joint(whole, Mechanism.of(q, mechanism.signals, whole.states))
    replies: Array | None = None
    if whole.misaligned:
        played = [own for own, _, _ in own_replies(whole, q, rho)]
        bob, eves = joint_decision(whole, played), played[len(whole.bobs) :]
        replies = np.stack([own + g.start for own, g in zip(eves, whole.eve_groups, strict=True)], axis=1)
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
    scores = tuple((k, one.on(np.arange(len(whole.p)), whole.p)) for k, one in whole.reporters.items())
    sent = [SentSignals(whole.arrays, signals, q, scores) for q in channels]
    for demand in conditions.demands(whole):
        wrong = [demand.broken(one) for one in sent]
        if all(wrong):
            return wrong[0]
    return ""


@dataclass(frozen=True, repr=False)
class Row(Displayed):
    """One release: its risks, R_A at the table's lam, its epsilon, and how far it is above the optimum.

    `breaks` says which condition the release breaks: "" if none, None if there are no conditions. `bob_invariant`:
    whether every signal leads Bob to a decision that is as good as with the data.
    """

    name: str
    parameter: Parameter | None
    risks: Risks
    alice: Number
    epsilon: float
    excess: Number
    bob_invariant: bool
    breaks: str | None = None

    @property
    def meets_conditions(self) -> bool | None:
        """Whether the release meets the conditions; None if there are none."""
        return None if self.breaks is None else not self.breaks


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Displayed):
    """Releases by increasing R_A. `omitted` says which ones do not apply to the problem, and why."""

    lam: Number
    optimum: Solution
    releases: tuple[Row, ...]
    omitted: tuple[tuple[str, str], ...]
    conditions: Conditions | None = None

    def __getitem__(self, name: str) -> Row:
        return next(row for row in self.releases if row.name == name)

    def _lines(self) -> Iterator[str]:
        optimum = equals("optimum R_A", self.optimum.value, fraction)
        yield f"{equals('lambda', self.lam, fraction)}, {len(self.releases)} releases, {optimum}"
        others = [row for row in self.releases if row.name != "optimum" and row.breaks in (None, "")]
        if others:
            best, worst = (f"{clean(r.name)}, is {both(r.excess)} above the optimum" for r in (others[0], others[-1]))
            among = "" if self.conditions is None else " that meets the conditions"
            yield f"The best other release{among}, {best}; the worst, {worst}."
        same = listed([row.name for row in self.releases if row.bob_invariant] or ["none of them"], " and ")
        yield f"Bob-invariant (Bob decides as well as with the data): {same}."
        if self.conditions is not None:
            yield f"Conditions: {self.conditions.words()}."
        for row in self.releases:
            if row.breaks:
                yield f"{clean(row.name)} breaks them: {clean(row.breaks, 200)}."
        for name, reason in self.omitted:
            yield f"Left out: {name}, because {clean(reason, 200)}."

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The releases."""
        rows, adjusted = [], any(one.parameter for one in self.releases)
        for one in self.releases[:most]:
            at = "" if one.parameter is None else equals(one.parameter.name, one.parameter.value, fraction)
            row: dict[str, Any] = {
                "release": one.name,
                **({"parameter": at} if adjusted else {}),
                "R_B": one.risks.bob,
                "R_E": one.risks.eve,
                "R_A": one.alice,
                "above opt.": one.excess,
                "epsilon": one.epsilon,
            }
            rows.append(row if one.breaks is None else {**row, "met": not one.breaks})
        return rows


def compare(
    problem: Problem,
    lam: Any = "calibrated",
    solution: Solution | None = None,
    *,
    mechanisms: Sequence[Mechanism] = (),
    conditions: Any = None,
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
    asked = Conditions.of(conditions or {})
    wanted = None if asked.empty else asked
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
        return Row(name, parameter, own, alice, mechanism.epsilon, excess, is_bob_invariant(problem, mechanism), breaks)

    rows = [row("optimum", None, optimum.mechanism, optimum.risks)]
    rows += [row(name, parameter, m, risks(problem, m)) for name, parameter, m in found]
    return Comparison(weight, optimum, tuple(sorted(rows, key=lambda r: r.alice)), tuple(omitted), proved)
