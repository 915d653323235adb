"""Agents with beliefs and losses of their own: what they do at a signal, and what Alice counts.

Agent a believes pi_a(x), minimises L_a(x,d), and Alice counts H_a(x,d) under her own p(x). At signal s
    the agent plays  d in argmin_d sum_x pi_a(x) q(s|x) L_a(x,d),      Alice counts  sum_x p(x) q(s|x) H_a(x,d).
Without a prior or harm of his own pi_a = p and H_a = L_a, and he is aligned: then both lines have one minimum.

Ties are broken for Alice. Among his best decisions a Bob takes the one with the least counted loss and an Eve the one
with the largest. A signal that he believes impossible, sum_x pi_a(x) q(s|x) = 0, leaves every decision equally good to
him, so that this rule covers it as well. R_A is a sum over the agents: the choice needs no lam. Whether two decisions
tie is decided exactly, with floats read as the fractions they are: the smallest preference moves R_A by a jump.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bap_lp.model.sums.signal_sums import near_least, signal_losses, weighted_sums
from bap_lp.support.rational import Array, InputError, ReadOnly, floats, is_exact, lifted

if TYPE_CHECKING:
    from bap_lp.model.agents import Agent
    from bap_lp.model.problem import Problem


@dataclass(frozen=True, eq=False)
class Belief(ReadOnly):
    """What one agent acts on: pi(x) and pi(x) w (L(x,d) - min_d L(x,d)); and w H(x,d), what Alice counts.

    w is the agent's weight. The least loss of a state is the same whatever he decides: he acts on the differences, and
    in floats a large least loss must not hide them.
    """

    name: str
    role: str
    mass: Array
    act: Array
    counted: Array

    def best(self, q: Array) -> Array:
        """Which decisions are best for the agent at every signal of a channel: signals x decisions, true or false.

        `act` is in rationals. If q is in floats, they decide where they can.
        """
        if is_exact(q):
            losses = signal_losses(q, self.act)
            return np.array(losses == losses.min(axis=1, keepdims=True), dtype=bool)
        best = near_least(q, floats(self.act), np.zeros(self.act.shape[1], dtype=int))
        for s in np.flatnonzero(best.sum(axis=1) > 1).tolist():
            near = np.flatnonzero(best[s])
            losses = weighted_sums(lifted(q[:, s]), self.act[:, near])
            best[s, near] = losses == losses.min()
        return best

    def played(self, q: Array, rho: Array) -> tuple[Array, Array, Array]:
        """The decision at every signal, with ties broken for Alice, what Alice counts for it, and all best ones."""
        harms, best = signal_losses(rho, self.counted), self.best(q)
        scores = harms if self.role == "bob" else -harms
        chosen = [
            min((score, d) for d, (score, open_) in enumerate(zip(row, at, strict=True)) if open_)[1]
            for row, at in zip(scores.tolist(), best.tolist(), strict=True)
        ]
        own = np.array(chosen, dtype=int)
        return own, harms[np.arange(len(own)), own], best


def beliefs_of(problem: Problem) -> tuple[Belief, ...]:
    """One per Bob, then one per group of Eve's columns: an Eve who knows z acts on pi(x) k(z|x)."""

    def belief(agent: Agent, role: str, name: str, share: Array | None) -> Belief:
        mass = problem.p if agent.prior is None else agent.prior
        loss, harm = agent.weight * agent.loss, agent.weight * (agent.loss if agent.harm is None else agent.harm)
        loss = loss - loss.min(axis=1)[:, None]
        if share is not None:
            mass, harm = mass * share, harm * share[:, None]
        return Belief(name, role, mass, mass[:, None] * loss, harm)

    shares = problem.eve_shares
    eves = (
        belief(problem.eves[n], "eve", problem.view_name(n, z), None if z is None or shares is None else shares[:, k])
        for k, (n, z) in enumerate(problem.eve_views)
    )
    return *(belief(bob, "bob", bob.name, None) for bob in problem.bobs), *eves


def replies(problem: Problem, q: Array, rho: Array) -> list[tuple[Array, Array, Array]]:
    """What every agent plays at the signals of a channel, in the order of `beliefs`; see `Belief.played`."""
    return [belief.played(q, rho) for belief in problem.exactly.beliefs]


def joint_decision(problem: Problem, played: list[Array]) -> Array:
    """The position of the Bobs' decisions among the joint ones."""
    sizes = tuple(len(bob.decisions or ()) for bob in problem.bobs)
    return np.ravel_multi_index(tuple(played[: len(sizes)]), sizes)


def shared(problem: Problem, what: str) -> None:
    """Refuse a problem whose agents have beliefs or losses of their own."""
    if problem.misaligned:
        names = ", ".join(a.name for a in (*problem.bobs, *problem.eves) if a.harm is not None or a.prior is not None)
        raise InputError(what, None, f"needs agents who share Alice's prior and count: {names} has harm or prior")
