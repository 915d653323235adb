"""What a mechanism does: R_B, R_E and, signal by signal, what each agent believes and decides.

At signal s an agent with loss L plays argmin_d sum_x p(x) q(s|x) L(x,d): dividing by P(s) cannot move the argmin.
R = sum_s min_d sum_x p(x) q(s|x) L(x,d), so no posterior is needed for the risks, only for the explanation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bap_lp.model.arrays import Arrays, signal_losses, signal_minima
from bap_lp.model.labels import probability
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Agent, Problem
from bap_lp.model.risks import Number, Risks
from bap_lp.rational import (
    Array,
    InputError,
    array,
    floats,
    is_exact,
    objects,
    public,
    tree_sum,
)

_LONG = 200  # bits
_TIE = 1e-9  # two decisions of a float problem tie when their risks at a signal differ by less than this, relatively


@dataclass(frozen=True)
class Signal:
    """One signal: its probability, the posteriors it leaves, and all optimal decisions of each agent."""

    signal: str
    probability: Number
    posterior: dict[str, Number]
    theta_posterior: dict[str, Number] | None
    bob: list[str]
    eve: list[str]
    bob_indifferent: bool
    eve_indifferent: bool


@dataclass(frozen=True)
class Evaluation(Risks):
    """Risks of a mechanism with their explanation. `agents` gives every Bob's and Eve's own unweighted risk."""

    signals: tuple[Signal, ...] = ()
    agents: dict[str, Number] = field(default_factory=dict)

    @property
    def risks(self) -> Risks:
        return Risks(self.bob, self.eve, self.bob_error, self.eve_error)


def joint(problem: Problem, mechanism: Mechanism) -> tuple[Array, Array]:
    """P(X = x, signal = s) and p, as floats if either side is."""
    if len(mechanism.q) != len(problem.p):
        raise InputError("channel", None, f"has {len(mechanism.q)} rows, must have {len(problem.p)}, one per state")
    if problem.exact and mechanism.exact:
        return problem.p[:, None] * mechanism.q, problem.p
    p = floats(problem.p)
    return p[:, None] * floats(mechanism.q), p


def risks(problem: Problem, mechanism: Mechanism) -> Risks:
    """R_B and R_E of a mechanism, recomputed from its channel."""
    return joint_risks(problem.arrays, joint(problem, mechanism)[0])


def joint_risks(arrays: Arrays, rho: Array) -> Risks:
    """The risks of a joint table whose receivers decide for themselves, with the rounding error of a float one."""
    if is_exact(rho) and arrays.integers is not None:
        told, heard = arrays.signal_tables(rho)
        bob, eve = told.min(axis=1).sum(), sum(heard[:, g].min(axis=1).sum() for g in arrays.groups)
    else:
        bob = tree_sum(signal_minima(rho, arrays.B))
        eve = sum(signal_minima(rho, arrays.E[:, g]).sum() for g in arrays.groups)
    if is_exact(rho):
        return Risks(public(bob), public(eve))
    # a sum of N non-negative products is off by at most about (N + 2) ulp of itself
    rounding = (len(rho) + 2) * float(np.finfo(float).eps)
    return Risks(float(bob), float(eve), rounding * float(bob), rounding * float(eve))


def evaluate(problem: Problem, mechanism: Mechanism, *, eve_prior: Any = None, eve_acts_on: Any = None) -> Evaluation:
    """Risks of any channel and, per signal, probability, posteriors and all optimal decisions of each agent.

    A misaligned Eve holds her own prior (`eve_prior`) or pursues her own loss (`eve_acts_on`, a table like eve_loss):
    she plays her Bayes rule, and Alice scores it under p and L_E. Her risk is then never below the aligned R_E.
    Among her own ties she is given the one that hurts Alice most.
    """
    rho, _ = joint(problem, mechanism)
    if eve_prior is not None or eve_acts_on is not None:
        return _misaligned(problem, mechanism, rho, eve_prior, eve_acts_on)
    base = risks(problem, mechanism)
    bob_tables = [signal_losses(rho, a.loss) for a in problem.bobs]
    eve_tables = [signal_losses(rho, a.loss) for a in problem.eves]
    return Evaluation(
        base.bob,
        base.eve,
        base.bob_error,
        base.eve_error,
        _signals(problem, mechanism, rho, bob_tables, eve_tables),
        {
            a.name: public(t.min(axis=1).sum())
            for a, t in zip((*problem.bobs, *problem.eves), (*bob_tables, *eve_tables), strict=True)
        },
    )


def _signals(
    problem: Problem, mechanism: Mechanism, rho: Array, bob_tables: list[Array], eve_tables: list[Array]
) -> tuple[Signal, ...]:
    out = []
    for s, name in enumerate(mechanism.signals):
        mass = rho[:, s].sum()
        if mass == 0:
            continue
        posterior = rho[:, s] / mass
        theta = None
        if problem.theta is not None:
            table = problem.theta.posterior if is_exact(rho) else floats(problem.theta.posterior)
            theta = dict(zip(problem.theta.labels, map(public, posterior.dot(table).tolist()), strict=True))
        bobs = [_best(t[s], a) for t, a in zip(bob_tables, problem.bobs, strict=True)]
        eves = [_best(t[s], a) for t, a in zip(eve_tables, problem.eves, strict=True)]
        out.append(
            Signal(
                name,
                public(mass if is_exact(rho) else float(mass)),
                dict(zip(problem.states, map(public, posterior.tolist()), strict=True)),
                theta,
                _named(bobs, problem.bobs),
                _named(eves, problem.eves),
                any(len(d) > 1 for d in bobs),
                any(len(d) > 1 for d in eves),
            )
        )
    return tuple(out)


def _best(losses: Array, agent: Agent) -> list[str]:
    """All decisions that minimise the loss at a signal (within rounding for floats)."""
    low = losses.min()
    slack = 0 if is_exact(losses) else _TIE * losses.max()
    assert agent.decisions is not None
    return [d for d, v in zip(agent.decisions, losses, strict=True) if v <= low + slack]


def _named(decisions: list[list[str]], agents: tuple[Agent, ...]) -> list[str]:
    if len(agents) == 1:
        return decisions[0]
    return [f"{a.name}: {d}" for a, best in zip(agents, decisions, strict=True) for d in best]


def _misaligned(problem: Problem, mechanism: Mechanism, rho: Array, eve_prior: Any, eve_acts_on: Any) -> Evaluation:
    if len(problem.eves) != 1:
        raise InputError("eve_prior", None, "and eve_acts_on need a problem with one Eve")
    eve = problem.eves[0]
    belief = problem.p if eve_prior is None else probability(eve_prior, "eve_prior")
    desire = eve.loss if eve_acts_on is None else array(eve_acts_on, "eve_acts_on", 2)
    if len(belief) != len(problem.p):
        raise InputError("eve_prior", None, f"has {len(belief)} entries, must have {len(problem.p)}")
    if desire.shape != eve.loss.shape:
        raise InputError("eve_acts_on", None, f"has shape {desire.shape}, must have {eve.loss.shape}")
    hers = (
        belief[:, None] * mechanism.q
        if is_exact(belief) and mechanism.exact
        else (floats(belief)[:, None] * floats(mechanism.q))
    )
    if is_exact(hers) and not is_exact(desire):
        hers = floats(hers)
    wishes = signal_losses(hers, desire)
    harms = signal_losses(rho, eve.weight * eve.loss)
    played = []
    for s, row in enumerate(wishes):
        slack = 0 if is_exact(row) else _TIE * row.max()
        choices = [d for d, v in enumerate(row) if v <= row.min() + slack]
        played.append(min(choices, key=lambda d: harms[s, d]))
    chosen = objects(harms[s, d] for s, d in enumerate(played))
    aligned = evaluate(problem, mechanism)
    names = eve.decisions or ()
    signals = dict(zip(mechanism.signals, played, strict=True))
    return Evaluation(
        aligned.bob,
        public(chosen.sum()),
        aligned.bob_error,
        aligned.eve_error,
        tuple(
            Signal(**{**vars(s), "eve": [names[signals[s.signal]]], "eve_indifferent": False}) for s in aligned.signals
        ),
        aligned.agents,
    )
