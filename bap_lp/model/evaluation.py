"""What a mechanism does: R_B, R_E and, signal by signal, what each agent believes and decides.

At signal s an agent with loss L plays argmin_d sum_x p(x) q(s|x) L(x,d): dividing by P(s) cannot move the argmin.
R = sum_s min_d sum_x p(x) q(s|x) L(x,d), so no posterior is needed for the risks, only for the explanation.
Agents with beliefs or losses of their own play their own best decisions, with ties broken for Alice (see `beliefs`).

A release is Bob-invariant if at every signal some decision d of Bob's is best in every state that sends it. What Bob
loses by not seeing the data, R_B - R_B^full = sum_s min_d sum_x p(x) q(s|x) (B(x,d) - min_i B(x,i)), is a sum of terms
that are not negative. So it is zero if and only if the release is Bob-invariant, and such a d is optimal at the signal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.model.agents import Agent
from bap_lp.model.beliefs import Belief, replies, shared
from bap_lp.model.evaluated import AgentDecisions, Evaluation, Signal
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.merging import class_sums
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.support.display import LISTED, REPORTS
from bap_lp.support.labels import probability
from bap_lp.support.rational import (
    EXACT,
    Array,
    InputError,
    array,
    by_rows,
    field_of,
    is_exact,
    public,
    same_kind,
    tree_sum,
)
from bap_lp.support.risks import Risks

_LISTED = 1e-9  # of the largest loss: decisions of a float problem that are listed as equally good, at the same risk


def joint(problem: Problem, mechanism: Mechanism) -> tuple[Array, Array]:
    """P(X = x, signal = s) and p, as floats if either side is."""
    if len(mechanism.q) != len(problem.p):
        raise InputError("channel", None, f"has {len(mechanism.q)} rows, must have {len(problem.p)}, one per state")
    p, q = same_kind(problem.p, mechanism.q)
    return by_rows(np.multiply, q, p), p


def risks(problem: Problem, mechanism: Mechanism) -> Risks:
    """R_B and R_E of a mechanism, recomputed from its channel."""
    rho, _ = joint(problem, mechanism)
    if problem.misaligned:
        return _own_risks(problem, mechanism, rho)[0]
    return _shared_risks(problem, rho)[0] if problem.reporting else joint_risks(problem.arrays, rho)


def _shared_risks(problem: Problem, rho: Array) -> tuple[Risks, list[Any], list[Array | None]]:
    """Risks of agents who share Alice's prior and count, each weighted risk, and the losses of decisions at signals.

    Bobs on the product of their decision spaces each decide for themselves, and so do the Eves: weighted risks add up.
    Who reports probabilities has no decisions. A log risk is a float within the error that is stated.
    """
    field_, bobs = field_of(rho), len(problem.bobs)
    tables = [*(signal_losses(rho, bob.loss) for bob in problem.bobs), *_heard(problem, rho)]
    weights = [bob.weight for bob in problem.bobs] + [problem.eves[n].weight for n, _ in problem.eve_views]
    own = [
        field_.zero if t is None else field_.number(weight) * tree_sum(t.min(axis=1))
        for t, weight in zip(tables, weights, strict=True)
    ]
    found = Risks.summed(sum(own[:bobs]), sum(own[bobs:]), len(rho))
    if not problem.reporting:
        return found, own, tables
    eve, error, whole = found.eve, found.eve_error, EXACT.array(rho)
    for k, one in problem.exactly.reporters.items():
        low, high = one.risk_ends(whole)
        risk = low if is_exact(rho) and one.kind == "brier" else float((low + high) / 2)
        own[bobs + k], eve = risk, eve + public(risk)
        if isinstance(risk, float):
            error += _log_error(low, high, EXACT.number(weights[bobs + k]), rho)
    return replace(found, eve=eve, eve_error=error), own, tables


def _log_error(low: Any, high: Any, weight: Any, rho: Array) -> float:
    """How far a float between the two ends of a log risk may be off.

    Masses with a relative error d change sum m log(M/m) by at most d times itself and twice the mass.
    """
    units = 4 if is_exact(rho) else len(rho) + 8
    return float(high - low) + units * 2.0**-52 * float(high + 2 * weight)


def is_bob_invariant(problem: Problem, mechanism: Mechanism) -> bool:
    """Whether every signal leads every Bob to a decision that is as good as with the data, in every state."""
    rho, _ = joint(problem, mechanism)
    played = [own for own, _, _ in replies(problem, mechanism.q, rho)] if problem.misaligned else []
    return _bob_invariant(problem, rho, played)


def _bob_invariant(problem: Problem, rho: Array, played: Sequence[Array]) -> bool:
    """played: what the agents decide at the signals, if they act on beliefs of their own. Floats may be off by _LISTED.

    A Bob with harm of his own must do what he would with the data: his best decision there, with ties broken for Alice.
    """
    exact = is_exact(rho)
    for k, bob in enumerate(problem.bobs):
        if played:
            own = problem.exactly.bobs[k]
            harm = own.loss if own.harm is None else own.harm
            best = own.loss == own.loss.min(axis=1)[:, None]
            least = EXACT.list(row[kept].min() for row, kept in zip(harm, best, strict=True))
            good = bool((best & (harm == least[:, None]))[:, played[k]][rho != 0].all())
        else:
            regret = signal_losses(rho, bob.loss - bob.loss.min(axis=1)[:, None]).min(axis=1)
            good = bool((regret <= (0 if exact else _LISTED * signal_losses(rho, bob.loss).max(axis=1))).all())
        if not good:
            return False
    return True


def _own_risks(
    problem: Problem, mechanism: Mechanism, rho: Array
) -> tuple[Risks, list[Any], list[tuple[Array, Array]]]:
    """Risks with agents who act on their own beliefs, each weighted risk, what each plays and what is as good."""
    found = replies(problem, mechanism.q, rho)
    risks, bobs = [tree_sum(counted) for _, counted, _ in found], len(problem.bobs)
    played = [(own, best) for own, _, best in found]
    return Risks.summed(sum(risks[:bobs]), sum(risks[bobs:]), len(rho)), risks, played


def joint_risks(arrays: Arrays, rho: Array) -> Risks:
    """The risks of a joint table whose receivers decide for themselves, with the rounding error of a float one."""
    return Risks.summed(*arrays.risks(rho), len(rho))


def evaluate(problem: Problem, mechanism: Any, *, eve_prior: Any = None, eve_acts_on: Any = None) -> Evaluation:
    """Risks of any channel and, per signal, probability, posteriors and all optimal decisions of each agent.

    A misaligned Eve holds her own prior (`eve_prior`) or pursues her own loss (`eve_acts_on`): she plays her Bayes
    rule, and Alice scores it under p and L_E. Her risk is then never below the aligned R_E. Among her own ties she
    is given the one that hurts Alice most.

    A problem whose agents have a prior or harm of their own (`Agent`) is evaluated with their own best decisions, ties
    for Alice: the decision that is taken is listed first, and `agents` are the risks that Alice counts.

    Args:
        problem: the problem.
        mechanism: any channel from its states, optimal or not: a `Mechanism`, or its rows of numbers.
        eve_prior: what Eve believes about the states, instead of p.
        eve_acts_on: the table that Eve minimises, of the shape of eve_loss, instead of L_E.

    Returns:
        The risks, and what happens at every signal.

    Raises:
        InputError: the mechanism has other states than the problem, or a table does not fit.

    >>> from bap_lp import Mechanism, Problem, evaluate
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> found = evaluate(coin, Mechanism([[1, 0], ["3/10", "7/10"]]))
    >>> print(found.bob, found.eve, *(signal.probability for signal in found.signals))
    13/40 3/4 33/40 7/40
    >>> print(evaluate(coin, Mechanism([[1, 0], ["3/10", "7/10"]]), eve_prior=["1/2", "1/2"]).eve)
    3/4
    """
    mechanism = mechanism if isinstance(mechanism, Mechanism) else Mechanism(mechanism, states=problem.states)
    rho, _ = joint(problem, mechanism)
    if eve_prior is not None or eve_acts_on is not None:
        if problem.reporting:
            raise InputError("eve_prior", None, "and eve_acts_on need Eves with tables of losses")
        shared(problem, "eve_prior or eve_acts_on")
        return _misaligned(problem, mechanism, rho, eve_prior, eve_acts_on)
    group = (*problem.bobs, *problem.eves)
    owners = [*range(len(problem.bobs)), *(len(problem.bobs) + n for n, _ in problem.eve_views)]
    deciders, field_ = [group[owner] for owner in owners], field_of(rho)
    actions: list[Array] = []
    if problem.misaligned:
        found, own, played = _own_risks(problem, mechanism, rho)
        actions = [first for first, _ in played]
        decisions = [
            [_ordered(agent, int(first[s]), best[s]) for agent, (first, best) in zip(deciders, played, strict=True)]
            for s in range(len(mechanism.signals))
        ]
    else:
        found, own, tables = _shared_risks(problem, rho)
        heard = list(zip(tables, deciders, strict=True))
        signals = range(len(mechanism.signals))
        decisions = [[() if t is None else _best(t[s], agent) for t, agent in heard] for s in signals]
    agents = {}
    for n, a in enumerate(group):
        risk = sum(risk for risk, k in zip(own, owners, strict=True) if k == n)
        agents[a.name] = public(risk / (float(a.weight) if isinstance(risk, float) else field_.number(a.weight)))
    told = _signals(problem, mechanism, rho, decisions)
    gained = _information(problem, rho)
    return Evaluation(
        found.bob, found.eve, found.bob_error, found.eve_error, told, agents,
        {name: value for name, (value, _) in gained.items()}, {name: error for name, (_, error) in gained.items()},
        _bob_invariant(problem, rho, actions),
    )  # fmt: skip


def _information(problem: Problem, rho: Array) -> dict[str, tuple[float, float]]:
    """I(A;S|Z) = H(A|Z) - H(A|S,Z) of every Eve with the log loss, in nats, and its error."""
    whole = EXACT.array(rho)
    before = whole.sum(axis=1)[:, None]
    out: dict[str, tuple[float, float]] = {}
    for k, one in problem.exactly.reporters.items():
        agent = problem.eves[problem.eve_views[k][0]]
        if one.kind == "log":
            (low, high), (left, most) = one.risk_ends(before), one.risk_ends(whole)
            weight = EXACT.number(agent.weight)
            error = _log_error(low, high, weight, rho) + _log_error(left, most, weight, rho)
            value, sofar = out.get(agent.name, (0.0, 0.0))
            out[agent.name] = value + float((low + high - left - most) / 2 / weight), sofar + error / float(weight)
    return {name: (max(value, 0.0), error) for name, (value, error) in out.items()}


def _share(problem: Problem, k: int, rho: Array) -> Array:
    """k(z|x) of a group of Eve's columns, in the numbers of rho."""
    assert problem.eve_shares is not None
    return field_of(rho).array(problem.eve_shares[:, k])


def _heard(problem: Problem, rho: Array) -> list[Array | None]:
    """sum_x rho[x,s] k(z|x) E(x,j), unweighted, for every Eve and every value that she may know; None: she reports."""
    out: list[Array | None] = []
    for k, (n, z) in enumerate(problem.eve_views):
        loss = problem.eves[n].loss
        if k in problem.reporters:
            out.append(None)
        elif z is None:
            out.append(signal_losses(rho, loss))
        else:
            share = _share(problem, k, rho)
            live = np.flatnonzero(share != 0)
            out.append(signal_losses(rho[live] * share[live, None], loss[live]))
    return out


def _ordered(agent: Agent, first: int, best: Array) -> tuple[str, ...]:
    """The best decisions of an agent at a signal, the one that is taken first."""
    names = agent.decisions or ()
    return (names[first], *(names[d] for d in np.flatnonzero(best).tolist() if d != first))


def _signals(
    problem: Problem, mechanism: Mechanism, rho: Array, decisions: list[list[tuple[str, ...]]]
) -> tuple[Signal, ...]:
    """decisions: the best ones at every signal, of every Bob and then of every Eve at every value that she may know."""
    out, bobs = [], len(problem.bobs)
    for s, name in enumerate(mechanism.signals):
        mass = rho[:, s].sum()
        if mass == 0:
            continue
        posterior = rho[:, s] / mass
        theta = None
        if problem.theta is not None:
            theta = _named_shares(problem.theta.labels, posterior.dot(field_of(rho).array(problem.theta.posterior)))
        pairs = zip(problem.bobs, decisions[s][:bobs], strict=True)
        told = [AgentDecisions(bob.name, "bob", own) for bob, own in pairs]
        for k, ((n, z), own) in enumerate(zip(problem.eve_views, decisions[s][bobs:], strict=True)):
            seen = rho[:, s] if z is None else rho[:, s] * _share(problem, k, rho)
            reporter, total, report = problem.reporters.get(k), seen.sum(), None
            if reporter is not None and total > 0:
                sums = class_sums(seen, reporter.where, len(reporter.values))
                report = _named_shares(reporter.values, sums / total)
            own = own if report is None else (_words(report),)
            if z is None:
                told.append(AgentDecisions(problem.eves[n].name, "eve", own, report=report))
            elif total > 0:
                belief = _named_shares(problem.states, seen / total)
                name_, chance = problem.view_name(n, z), public(total / mass)
                told.append(AgentDecisions(name_, "eve", own, z, chance, belief, report))
        out.append(Signal(name, public(mass), _named_shares(problem.states, posterior), theta, tuple(told)))
    return tuple(out)


def _named_shares(names: Sequence[str], shares: Array) -> dict[str, Any]:
    return dict(zip(names, map(public, shares.tolist()), strict=True))


def _words(report: dict[str, Any]) -> str:
    """A report as a decision: the most probable values first."""
    order = sorted(report, key=lambda value: -report[value])
    shown = ", ".join(f"{value} {float(report[value]):.4g}" for value in order[:LISTED])
    return REPORTS + shown + (f" and {len(order) - LISTED} more" if len(order) > LISTED else "")


def _best(losses: Array, agent: Agent) -> tuple[str, ...]:
    """All decisions that minimise the loss at a signal; in floats they are listed if they differ by 10^-9."""
    low = losses.min()
    slack = 0 if is_exact(losses) else _LISTED * losses.max()
    assert agent.decisions is not None
    return tuple(d for d, v in zip(agent.decisions, losses, strict=True) if v <= low + slack)


def _misaligned(problem: Problem, mechanism: Mechanism, rho: Array, eve_prior: Any, eve_acts_on: Any) -> Evaluation:
    if len(problem.eves) != 1:
        raise InputError("eve_prior", None, "and eve_acts_on need a problem with one Eve")
    if problem.eve_shares is not None:
        raise InputError("eve_prior", None, "and eve_acts_on need an Eve without knowledge besides the signal")
    eve = problem.eves[0]
    belief = problem.p if eve_prior is None else probability(eve_prior, "eve_prior")
    desire = eve.loss if eve_acts_on is None else array(eve_acts_on, "eve_acts_on", 2)
    if len(belief) != len(problem.p):
        raise InputError("eve_prior", None, f"has {len(belief)} entries, must have {len(problem.p)}")
    if desire.shape != eve.loss.shape:
        raise InputError("eve_acts_on", None, f"has shape {desire.shape}, must have {eve.loss.shape}")
    belief, desire = EXACT.array(belief), EXACT.array(desire)
    act = belief[:, None] * (desire - desire.min(axis=1)[:, None])
    # ties are broken as for a Bob, by the least that is counted: that hurts Alice most
    played, chosen, _ = Belief(eve.name, "bob", belief, act, eve.weight * eve.loss).played(mechanism.q, rho)
    aligned = evaluate(problem, mechanism)
    names = eve.decisions or ()
    signals = dict(zip(mechanism.signals, played.tolist(), strict=True))
    return Evaluation(
        aligned.bob,
        public(chosen.sum()),
        aligned.bob_error,
        aligned.eve_error,
        tuple(
            replace(s, decisions=(*s.decisions[:-1], AgentDecisions(eve.name, "eve", (names[signals[s.signal]],))))
            for s in aligned.signals
        ),
        aligned.agents,
        bob_invariant=aligned.bob_invariant,
    )
