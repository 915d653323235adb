"""Problem: a finite data space with p(x), Bob's posterior-averaged loss B(x,i) and Eve's loss E(x,j).

A model with a parameter is reduced once and for all: p(x) = sum_theta pi(theta) p(x|theta) and
B(x,i) = sum_theta pi(theta|x) L_B(theta,i). Several Eves stand side by side as groups of columns of E, each already
multiplied by its weight; several Bobs act on the product of their decision spaces, their weighted losses added.
An agent may minimise another loss than the one that Alice counts, or hold another prior (`beliefs`): B and E are what
Alice counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bap_lp.model.agents import (
    Agent,
    agent_numbers,
    changed_agent,
    counted_loss,
    expanded_losses,
    float_agent,
    product_loss,
    read_agents,
    require_views,
    shares_of,
    values_of,
)
from bap_lp.model.beliefs import Belief, beliefs_of
from bap_lp.model.reports import Reporter, reports
from bap_lp.model.sums.arrays import Arrays, groups_of
from bap_lp.support.arguments import text_of
from bap_lp.support.display import Displayed, both, clean, counted, kind, listed, person, titled
from bap_lp.support.labels import joints, labels, probability, quoted
from bap_lp.support.rational import (
    Array,
    InputError,
    ReadOnly,
    array,
    field_of,
    floats,
    is_exact,
    lifted,
    number,
    objects,
    public,
    same_kind,
)


@dataclass(frozen=True, eq=False)
class Theta(ReadOnly):
    """The parameter behind the data: its labels and pi(theta|x), a row per state."""

    labels: tuple[str, ...]
    posterior: Array


class Problem(ReadOnly, Displayed):
    """Alice's problem, without lam. Immutable; exact unless any number was given as a float.

    `p`, `B`, `E` are the working arrays (fmpq or float64; E weighted, Eves side by side in `eve_groups`);
    `prior`, `bob_loss`, `eve_loss` are the same numbers as Fractions or floats. `from_model` starts from a parameter.

    Args:
        prior: p(x), one number per state, with the sum 1.
        bob_loss: B(x,i), a row per state and a column per decision of Bob.
        eve_loss: E(x,j), a row per state and a column per decision of Eve.
        states: a label per state.
        bob_decisions: a label per decision of Bob.
        eve_decisions: a label per decision of Eve.
        bobs: several Bobs, or one with more to say, instead of bob_loss.
        eves: several Eves, instead of eve_loss.
        title: a title for people.
        theta: the parameter behind the data; `from_model` sets it.

    Raises:
        InputError: an entry is not a number, a probability is negative, a sum is not 1, or a table does not fit.

    >>> from bap_lp import Problem, solve
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]],
    ...                states=["tails", "heads"])
    >>> coin.shape, coin.exact
    ((2, 2, 2), True)
    >>> Problem(["3/4", "1/3"], [[0], [0]], [[0], [0]])
    Traceback (most recent call last):
    bap_lp.support.rational.InputError: sum of prior = 13/12 must be 1
    """

    of_floats = False  # whether these rationals are what floats are
    report_tables: tuple[Array, ...] | None = None  # what Eves who report probabilities choose from

    def __init__(
        self,
        prior: Any,
        bob_loss: Any = None,
        eve_loss: Any = None,
        *,
        states: Sequence[str] | None = None,
        bob_decisions: Sequence[str] | None = None,
        eve_decisions: Sequence[str] | None = None,
        bobs: Sequence[Agent] | None = None,
        eves: Sequence[Agent] | None = None,
        title: str = "",
        theta: Theta | None = None,
    ) -> None:
        p = probability(prior, "prior")
        self.title = text_of("title", title)
        self.states = labels(states, "states", len(p))
        groups = (
            read_agents(bobs, bob_loss, bob_decisions, "bob", len(p)),
            read_agents(eves, eve_loss, eve_decisions, "eve", len(p)),
        )
        numbers = (part for group in groups for agent in group for part in agent_numbers(agent))
        self.exact = is_exact(p) and all(map(is_exact, numbers))
        if not self.exact:
            p = probability(floats(p), "prior")
            groups = tuple(float_agent(a) for a in groups[0]), tuple(float_agent(a) for a in groups[1])
            theta = theta and Theta(theta.labels, floats(theta.posterior))
        self.bobs, self.eves = groups
        self.theta = theta
        self.p = p
        require_views(self.eves)
        shares = [shares_of(a.knows, a.knowledge, len(p), field_of(p)) for a in self.eves]
        self.eve_views = tuple(
            (n, z) for n, a in enumerate(self.eves) for z in values_of(a.knows, a.knowledge) or (None,)
        )
        self.eve_shares = None if all(z is None for _, z in self.eve_views) else np.hstack(shares)
        self.reporting = any(map(reports, self.eves))
        _ = self.B  # which refuses too many joint decisions, before they get names
        self.bob_decisions = tuple(joints([a.decisions or () for a in self.bobs]))
        if not self.reporting:
            _ = self.E, self.eve_groups, self.eve_decisions
        if self.reporting and self.misaligned:
            raise InputError("eves", None, "must not report probabilities if an agent has harm or a prior of his own")
        self._freeze()

    @cached_property
    def B(self) -> Array:
        """What Bob loses, weighted, a column per decision of all Bobs together."""
        return product_loss(self.bobs)

    @cached_property
    def E(self) -> Array:
        """Eve's losses, weighted; an Eve who reports probabilities has them for a list of reports only."""
        found, tables = [], iter(self._listed())
        for n, agent in enumerate(self.eves):
            own = [k for k, (m, _) in enumerate(self.eve_views) if m == n]
            if reports(agent):
                found += [self.reporters[k].losses(next(tables)) for k in own]
            else:
                share = shares_of(agent.knows, agent.knowledge, len(self.p), field_of(self.p))
                found.append(expanded_losses(counted_loss(agent), share))
        return found[0] if len(found) == 1 else np.hstack(found)

    @cached_property
    def eve_groups(self) -> tuple[slice, ...]:
        """The columns of E of every Eve, at every value that she may know."""
        tables = iter(self._listed())
        agents = (self.eves[n] for n, _ in self.eve_views)
        return groups_of([len(next(tables)) if reports(a) else a.loss.shape[1] for a in agents])

    @cached_property
    def eve_decisions(self) -> tuple[str, ...]:
        out: list[str] = []
        alone = len(self.eve_views) == 1
        for (n, z), group in zip(self.eve_views, self.eve_groups, strict=True):
            own = self.eves[n].decisions or [f"report {k + 1}" for k in range(group.stop - group.start)]
            out += own if alone and z is None else [f"{quoted(self.view_name(n, z), ': ')}: {d}" for d in own]
        return tuple(out)

    @cached_property
    def reporters(self) -> dict[int, Reporter]:
        """The Eves who report probabilities, by the number of their view."""
        out = {}
        for k, (n, z) in enumerate(self.eve_views):
            eve, field_ = self.eves[n], field_of(self.p)
            if reports(eve):
                shares = self.eve_shares
                share = field_.full(len(self.p), 1) if z is None or shares is None else shares[:, k]
                labels_ = self.states if eve.secret is None else eve.secret
                out[k] = Reporter.of(eve.loss, labels_, self.p * share, field_.number(eve.weight) * share)
        return out

    def reported(self, tables: Sequence[Array]) -> Problem:
        """The exact problem whose reporting Eves choose from lists of reports: a table each, reports x values."""
        out = object.__new__(Problem)
        dropped = ("E", "eve_groups", "eve_decisions", "arrays", "eve_loss")
        vars(out).update({name: value for name, value in vars(self).items() if name not in dropped})
        vars(out)["report_tables"] = tuple(tables)
        return out

    def _listed(self) -> tuple[Array, ...]:
        """The lists of reports."""
        if self.reporting and self.report_tables is None:
            name = next(a.name for a in self.eves if reports(a))
            raise InputError("problem", None, f"needs Eves with tables of losses here: {name} reports probabilities")
        return self.report_tables or ()

    def _freeze(self) -> None:
        super()._freeze()
        for agent in (*self.bobs, *self.eves):
            for part in agent_numbers(agent):
                if isinstance(part, np.ndarray):
                    part.flags.writeable = False

    def view_name(self, eve: int, known: str | None) -> str:
        """An Eve at one value of what she knows: "neighbour, age=3"."""
        return self.eves[eve].name if known is None else f"{quoted(self.eves[eve].name)}, {known}"

    @cached_property
    def attackers(self) -> tuple[Agent, ...]:
        """One agent without knowledge per group of columns of E: an Eve at z has the losses k(z|x) E(x,j)."""
        if self.eve_shares is None:
            return self.eves
        out = []
        for k, (n, z) in enumerate(self.eve_views):
            eve, share = self.eves[n], self.eve_shares[:, [k]]
            loss, name = expanded_losses(eve.loss, share), self.view_name(n, z)
            harm = None if eve.harm is None else expanded_losses(eve.harm, share)
            out.append(replace(eve, loss=loss, harm=harm, name=name, knows=None, knowledge=None))
        return tuple(out)

    def _identity(self) -> tuple[Any, ...]:
        """What makes two problems equal, besides the arrays: labels, agents and parameter, but not the title."""
        agents = [
            (
                a.name,
                tuple(a.decisions or ()),
                a.weight,
                a.knows,
                a.secret,
                a.loss if reports(a) else "",
                *(own is None for own in (a.harm, a.prior, a.knowledge)),
            )
            for a in (*self.bobs, *self.eves)
        ]
        return type(self), self.exact, self.shape, len(self.bobs), *agents, self.theta and self.theta.labels

    def _tables(self) -> list[Array]:
        parameter = [] if self.theta is None else [self.theta.posterior]
        own = [part for a in (*self.bobs, *self.eves) for part in agent_numbers(a) if isinstance(part, np.ndarray)]
        return [self.p, *own, *parameter]

    def __eq__(self, other: object) -> bool:
        """Whether two problems have the same numbers and labels; their titles do not count."""
        if not isinstance(other, Problem):
            return NotImplemented
        same = self._identity() == other._identity() and self.states == other.states
        return same and all(map(np.array_equal, self._tables(), other._tables()))

    def __hash__(self) -> int:
        return hash((self._identity(), *self.p.tolist()))

    @classmethod
    def from_model(
        cls,
        theta_prior: Any,
        likelihood: Any,
        bob_loss: Any = None,
        eve_loss: Any = None,
        *,
        thetas: Sequence[str] | None = None,
        states: Sequence[str] | None = None,
        bob_decisions: Sequence[str] | None = None,
        eve_decisions: Sequence[str] | None = None,
        bobs: Sequence[Agent] | None = None,
        eves: Sequence[Agent] | None = None,
        title: str = "",
    ) -> Problem:
        """From pi(theta), p(x|theta) (row: theta, column: x), L_B (row: theta) and L_E (row: x).

        Args:
            theta_prior: pi(theta), with the sum 1.
            likelihood: p(x|theta), a row per theta, each with the sum 1.
            bob_loss: L_B(theta,i), a row per theta.
            eve_loss: L_E(x,j), a row per state.
            thetas: a label per theta.
            states: a label per state.
            bob_decisions: a label per decision of Bob.
            eve_decisions: a label per decision of Eve.
            bobs: several Bobs, instead of bob_loss; their tables have a row per theta.
            eves: several Eves, instead of eve_loss.
            title: a title for people.

        Returns:
            The problem with p(x) = sum_theta pi(theta) p(x|theta) and B(x,i) = sum_theta pi(theta|x) L_B(theta,i).

        Raises:
            InputError: an entry is not a number, a sum is not 1, or a table does not fit.

        >>> from bap_lp import Problem
        >>> coin = Problem.from_model(["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]],
        ...                           bob_loss=[[0, 1], [1, 0]], eve_loss=[[0, 1], [10, 0]])
        >>> print(*coin.prior, *coin.bob_loss[0])
        3/4 1/4 1/3 2/3
        """
        prior = probability(theta_prior, "theta_prior")
        channel = array(likelihood, "likelihood", 2)
        names = labels(thetas, "thetas", len(prior))
        if len(channel) != len(prior):
            raise InputError("likelihood", None, f"has {len(channel)} rows, must have {len(prior)}, one per theta")
        channel = np.array([probability(row, f"likelihood[{k}]") for k, row in enumerate(channel)])
        models = read_agents(bobs, bob_loss, bob_decisions, "bob", len(prior), "theta")
        harms = [a.loss if a.harm is None else a.harm for a in models]
        prior, channel, *tables = same_kind(prior, channel, *(a.loss for a in models), *harms)
        joint = prior[:, None] * channel  # theta, x
        p = joint.sum(axis=0)
        # a state of probability zero has no posterior: its rows are zero and never used
        posterior = np.array([j / total if total > 0 else j for j, total in zip(joint.T, p, strict=True)])
        tables = [posterior.dot(table) for table in tables]
        losses, harms = tables[: len(models)], tables[len(models) :]
        return cls(
            prior=p,
            bobs=[
                replace(a, loss=loss, harm=None if a.harm is None else harm)
                for a, loss, harm in zip(models, losses, harms, strict=True)
            ],
            eve_loss=eve_loss,
            eves=eves,
            states=states,
            eve_decisions=eve_decisions,
            title=title,
            theta=Theta(tuple(names), posterior),
        )

    @cached_property
    def arrays(self) -> Arrays:
        """The numbers that computations work on."""
        return Arrays(self.p, self.B, self.E, self.eve_groups, self.eve_shares)

    @cached_property
    def beliefs(self) -> tuple[Belief, ...]:
        """What every agent acts on and what Alice counts: one per Bob, then one per group of Eve's columns."""
        return beliefs_of(self)

    @cached_property
    def misaligned(self) -> bool:
        """Whether an agent's harm differs from his loss, or his prior from p(x)."""
        return any(
            (a.harm is not None and not np.array_equal(a.harm, a.loss))
            or (a.prior is not None and not np.array_equal(a.prior, self.p))
            for a in (*self.bobs, *self.eves)
        )

    @cached_property
    def prior(self) -> Array:
        return public(self.p)

    @cached_property
    def bob_loss(self) -> Array:
        return public(self.B)

    @cached_property
    def eve_loss(self) -> Array:
        return public(self.E)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(N, b, e): states, Bob's decisions, Eve's decisions (of all Eves together), or values that they report."""
        bobs = self.B.shape[1]
        if self.reporting and self.report_tables is None:
            views = enumerate(self.eve_views)
            own = [len(self.reporters[k].values if k in self.reporters else self.eves[n].loss.T) for k, (n, _) in views]
            return len(self.p), bobs, sum(own)
        return len(self.p), bobs, self.E.shape[1]

    @cached_property
    def null_states(self) -> tuple[str, ...]:
        """States of probability zero: they cannot matter, and any row of a channel is optimal there."""
        return tuple(s for s, mass in zip(self.states, self.p, strict=True) if mass == 0)

    def as_float(self) -> Problem:
        """The same problem in floats."""
        theta = self.theta and Theta(self.theta.labels, floats(self.theta.posterior))
        return self if not self.exact else self._with(floats(self.p), self.bobs, self.eves, theta)

    @cached_property
    def exactly(self) -> Problem:
        """The same problem in rationals: floats are the fractions they are, and probabilities sum to one exactly.

        It is what a solution in floats is about. Weights multiply losses here, without rounding.
        """
        if self.exact:
            return self
        out = self._in_rationals(lifted, None)
        out.of_floats = True
        return out

    def rationalised(self) -> Problem:
        """The same problem with every float read as the decimal it prints as (0.1 becomes 1/10).

        Probabilities whose decimals do not quite sum to one are scaled.
        """

        def read(values: Array) -> Array:
            if is_exact(values):
                return values
            return objects(number(repr(v), "number") for v in values.ravel().tolist()).reshape(values.shape)

        return self._in_rationals(read, self.theta and Theta(self.theta.labels, read(self.theta.posterior)))

    def _in_rationals(self, read: Callable[[Array], Array], theta: Theta | None) -> Problem:
        """The same problem with its numbers read like this, and probabilities that sum to one exactly."""

        def scaled(values: Any) -> Any:
            """A probability vector, or one per row; anything else is left as it is."""
            if not isinstance(values, np.ndarray):
                return values
            exact = read(values)
            total = exact.sum(axis=-1, keepdims=True)
            return exact if (total == 1).all() else exact / total

        def agents(group: tuple[Agent, ...]) -> list[Agent]:
            laws = [{name: scaled(getattr(a, name)) for name in ("prior", "knowledge")} for a in group]
            weights = [read(np.array([a.weight]))[0] for a in group]
            pairs = zip(group, weights, laws, strict=True)
            return [replace(changed_agent(a, read), weight=weight, **law) for a, weight, law in pairs]

        return self._with(scaled(self.p), agents(self.bobs), agents(self.eves), theta)

    def _with(self, p: Array, bobs: Sequence[Agent], eves: Sequence[Agent], theta: Theta | None) -> Problem:
        return Problem(p, bobs=bobs, eves=eves, states=self.states, title=self.title, theta=theta)

    def _lines(self) -> Iterator[str]:
        yield titled(self.title, f"{kind(self.exact)}, (N, b, e) = {self.shape}")
        likeliest = int(self.p.argmax())
        share = both(public(self.p[likeliest]))
        given = "" if self.theta is None else f", given one of {counted(len(self.theta.labels), 'parameter value')}"
        yield (
            f"The data are in one of {counted(len(self.p), 'state')}{given}; "
            f"the most probable is {clean(self.states[likeliest])}, with probability {share}."
        )
        for agent in (*self.bobs, *self.eves):
            values = values_of(agent.knows, agent.knowledge)
            knows = "" if values is None else f" She already knows which of {counted(len(values), 'case')} holds."
            if reports(agent):
                what = "the data" if agent.secret is None else counted(len(set(agent.secret)), "value")
                score = {"log": "logarithmic", "brier": "Brier"}[agent.loss]
                yield f"{person(agent.name, start=True)} reports probabilities of {what}, with the {score} loss.{knows}"
                continue
            yield f"{person(agent.name, start=True)} decides between {listed(agent.decisions or (), ' and ')}.{knows}"
        if self.misaligned:
            yield f"{own_beliefs(self)}."
        if self.null_states and not self.misaligned:
            zero = listed(self.null_states)
            yield f"Of probability zero: {zero}; left out of the optimisation, given the null row in the mechanism."

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The states, their probabilities and all losses."""
        agents = (*self.bobs, *self.eves)
        columns = [f"{a.name}: {d}" for a in agents for d in (("secret",) if reports(a) else a.decisions or ())]
        losses = [
            [[v] for v in (a.secret or self.states)[:most]] if reports(a) else public(a.loss[:most]).tolist()
            for a in agents
        ]
        table = zip(self.states[:most], public(self.p[:most]).tolist(), *losses, strict=True)
        names = ("data", "probability", *columns)
        return [
            dict(zip(names, (state, share, *(v for part in parts for v in part)), strict=True))
            for state, share, *parts in table
        ]


def own_beliefs(problem: Problem) -> str:
    """Which agents act on a prior or loss of their own, and how ties are broken."""
    parts = []
    for agent in (*problem.bobs, *problem.eves):
        own = ["own prior"] * (agent.prior is not None) + ["own loss, counted as harm"] * (agent.harm is not None)
        if own:
            parts.append(f"{person(agent.name)} ({' and '.join(own)})")
    return f"Acting on beliefs of their own: {', '.join(parts)}; ties are broken for Alice"
