"""What is told about a mechanism: its risks and, signal by signal, what each agent believes and decides.

On average a release can look like none while one of its signals gives the data away. A signal tells an Eve as much as
the data would if one of her decisions is best in every state that is possible there: it makes her certain. An Eve who
has such a decision without any signal gains nothing from the data, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import log
from typing import Any, NamedTuple

import numpy as np

from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.support.display import (
    Displayed,
    both,
    clean,
    column_name,
    counted,
    decided,
    distribution,
    equals,
    fraction,
    person,
    risks_line,
)
from bap_lp.support.rational import field_of, public
from bap_lp.support.risks import Number, Risks

_NAMED = 3
_SHOWN = 12  # signals


@dataclass(frozen=True)
class AgentDecisions:
    """All optimal decisions of one agent at a signal; `role` is "bob" or "eve".

    An Eve who knows something decides for every value z that is possible at the signal: `known` is z, `probability` its
    probability given the signal, `posterior` what she believes about the data. Who reports probabilities has a
    `report`, and one decision that says the same in words.
    """

    agent: str
    role: str
    decisions: tuple[str, ...]
    known: str | None = None
    probability: Number | None = None
    posterior: dict[str, Number] | None = None
    report: dict[str, Number] | None = None


@dataclass(frozen=True, repr=False)
class Signal(Displayed):
    """One signal: its probability, the posteriors it leaves, and all optimal decisions of each agent."""

    signal: str
    probability: Number
    posterior: dict[str, Number]
    theta_posterior: dict[str, Number] | None
    decisions: tuple[AgentDecisions, ...]

    @property
    def bob(self) -> list[str]:
        """Bob's optimal decisions; with several Bobs each is preceded by its agent's name."""
        return self._named("bob")

    @property
    def eve(self) -> list[str]:
        """Eve's optimal decisions; with several Eves each is preceded by its agent's name."""
        return self._named("eve")

    @property
    def bob_indifferent(self) -> bool:
        """Whether a Bob has more than one optimal decision."""
        return any(len(d.decisions) > 1 for d in self.decisions if d.role == "bob")

    @property
    def eve_indifferent(self) -> bool:
        """Whether an Eve has more than one optimal decision."""
        return any(len(d.decisions) > 1 for d in self.decisions if d.role == "eve")

    def _named(self, role: str) -> list[str]:
        group = [d for d in self.decisions if d.role == role]
        alone = len(group) == 1 and group[0].known is None
        return [d if alone else f"{one.agent}: {d}" for one in group for d in one.decisions]

    def _lines(self) -> Iterator[str]:
        acts = [
            f"{clean(d.agent, 20)}: {' or '.join(clean(name, 20) for name in d.decisions[:3])}" for d in self.decisions
        ]
        yield f"{clean(self.signal, 40)!r}: {equals('probability', self.probability, fraction)}; {'; '.join(acts[:4])}"


@dataclass(frozen=True, repr=False)
class Evaluation(Displayed, Risks):
    """Risks of a mechanism with their explanation.

    Attributes:
        bob: R_B.
        eve: R_E.
        bob_error: how far R_B may be off; 0 if exact.
        eve_error: how far R_E may be off; 0 if exact.
        signals: every signal that is sent, with its probability, the posterior and the decisions of all agents.
        agents: every Bob's and Eve's own unweighted risk, by name; with the log loss it is H(A|S), in nats.
        information: I(A;S) in nats, by the names of the agents with the log loss; given what they know, if they do.
        information_error: how far each of these, and the agent's own risk H(A|S), may be off.
        bob_invariant: whether every signal leads every Bob to a decision that is as good as with the data, in every
            state that sends it; in floats up to 10^-9 of what he loses at the signal.

    >>> from bap_lp import Mechanism, Problem, evaluate
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> evaluate(coin, Mechanism([[1, 0], ["3/10", "7/10"]]))
    <Evaluation: R_B = 13/40, R_E = 3/4, 2 signals>
    """

    signals: tuple[Signal, ...] = ()
    agents: dict[str, Number] = field(default_factory=dict)
    information: dict[str, Number] = field(default_factory=dict)
    information_error: dict[str, float] = field(default_factory=dict)
    bob_invariant: bool = False

    @property
    def risks(self) -> Risks:
        return Risks(self.bob, self.eve, self.bob_error, self.eve_error)

    def _lines(self) -> Iterator[str]:
        yield f"{risks_line(self.bob, self.eve)}, {counted(len(self.signals), 'signal')}"
        for name, gained in self.information.items():
            left = float(self.agents[name]) / log(2)
            yield f"{person(name, True)} learns {float(gained) / log(2):.6g} bits, and {left:.6g} bits stay hidden."
        for s in self.signals[:_SHOWN]:
            exact = not isinstance(s.probability, float)
            theta = "" if s.theta_posterior is None else f" The parameter: {distribution(s.theta_posterior)}."
            acts = " ".join(decided(d.agent, d.decisions, exact) for d in s.decisions)
            sent = f"Signal “{clean(s.signal)}”, probability {both(s.probability)}. The data: "
            yield f"{sent}{distribution(s.posterior)}.{theta} {acts}"
        if len(self.signals) > _SHOWN:
            yield f"There are {counted(len(self.signals) - _SHOWN, 'more signal')}."
        yield (
            "Bob-invariant: every signal leads Bob to a decision that is as good as with the data."
            if self.bob_invariant
            else "Not Bob-invariant: some signal leads Bob to a decision that is worse than with the data."
        )

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The signals, and the decisions of every agent: an Eve who knows something has a column per value."""
        agents = list(dict.fromkeys(d.agent for s in self.signals for d in s.decisions))
        signal, probability = column_name("signal", agents), column_name("probability", agents)
        rows = []
        for s in self.signals[:most]:
            own = {d.agent: ", ".join(d.decisions) for d in s.decisions}  # at some signals a value may be impossible
            rows.append({signal: s.signal, probability: s.probability} | {name: own.get(name, "") for name in agents})
        return rows


class CertainEve(NamedTuple):
    """The signals that tell an Eve as much as the data would, and how often one of them is sent."""

    eve: str
    probability: Number
    signals: tuple[str, ...]

    def words(self) -> str:
        names = ", ".join(f"“{clean(name)}”" for name in self.signals[:_NAMED])
        more = f" and {len(self.signals) - _NAMED} more" if len(self.signals) > _NAMED else ""
        often = f"With probability {both(self.probability)}" if self.probability != 1 else "Always"
        return f"{often} the signal tells {person(self.eve)} as much as the data would: {names}{more}."


def certainties(problem: Problem, mechanism: Mechanism) -> list[CertainEve]:
    """One for every Eve with a table of losses; none where agents act on beliefs of their own."""
    if problem.misaligned or problem.reporting:
        return []
    p, field = problem.p, field_of(problem.p)
    occurs, sent = np.asarray(p != 0), np.asarray(mechanism.q != 0)
    found: dict[int, tuple[Number, list[str]]] = {n: (public(field.zero), []) for n in range(len(problem.eves))}
    for k, (n, _) in enumerate(problem.eve_views):
        losses = np.asarray(problem.eves[n].loss)
        right = np.asarray(losses == losses.min(axis=1)[:, None])
        share = None if problem.eve_shares is None else problem.eve_shares[:, k]
        seen = occurs if share is None else occurs & np.asarray(share != 0)
        if right[occurs].all(axis=0).any():
            continue
        for s, name in enumerate(mechanism.signals):
            live = np.flatnonzero(seen & sent[:, s])
            if len(live) and right[live].all(axis=0).any():
                mass = p[live] * field.array(mechanism.q[live, s])
                total, names = found[n]
                found[n] = total + public((mass if share is None else mass * share[live]).sum()), [*names, name]
    return [CertainEve(problem.eves[n].name, v, tuple(dict.fromkeys(names))) for n, (v, names) in found.items()]


def certainty_in_words(problem: Problem, mechanism: Mechanism) -> list[str]:
    """What the average does not say: one sentence for every Eve whom some signal makes certain."""
    return [one.words() for one in certainties(problem, mechanism) if one.signals]
