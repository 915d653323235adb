"""Problem: a finite data space with p(x), Bob's posterior-averaged loss B(x,i) and Eve's loss E(x,j).

A model with a parameter is reduced once and for all: p(x) = sum_theta pi(theta) p(x|theta) and
B(x,i) = sum_theta pi(theta|x) L_B(theta,i). Several Eves stand side by side as groups of columns of E, each already
multiplied by its weight; several Bobs act on the product of their decision spaces, their weighted losses added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.rational import Array, InputError, array, floats, is_exact, number, objects, public, same_kind, zeros
from bap_lp.risks import Number

_SUM_TOLERANCE = 1e-9  # a float prior may miss one by this much; it is then normalised


@dataclass(frozen=True)
class Agent:
    """One Bob or one Eve: a loss table (row per state, or per theta for a Bob of a model; column per decision)."""

    loss: Any
    decisions: Sequence[str] | None = None
    name: str = ""
    weight: Any = 1


@dataclass(frozen=True)
class Theta:
    """The parameter behind the data: its labels and pi(theta|x), a row per state."""

    labels: tuple[str, ...]
    posterior: Array


class Problem:
    """Alice's problem, without lam. Immutable; exact unless any number was given as a float.

    `p`, `B`, `E` are the working arrays (fmpq or float64; E weighted, Eves side by side in `eve_groups`);
    `prior`, `bob_loss`, `eve_loss` are the same numbers as Fractions or floats.
    """

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
        self.title = title
        self.theta = theta
        self.states = labels(states, "states", len(p))
        self.bobs = _agents(bobs, bob_loss, bob_decisions, "bob", len(p))
        self.eves = _agents(eves, eve_loss, eve_decisions, "eve", len(p))
        agents = (*self.bobs, *self.eves)
        self.exact = is_exact(p) and all(is_exact(a.loss) and is_exact(a.weight) for a in agents)
        if not self.exact:
            p = floats(p)
            p = p / p.sum()
            self.bobs, self.eves = (tuple(_as_float(a) for a in group) for group in (self.bobs, self.eves))
            self.theta = theta and Theta(theta.labels, floats(theta.posterior))
        self.p = p
        self.B = _product_loss(self.bobs)
        self.E = np.hstack([a.weight * a.loss for a in self.eves])
        ends = np.cumsum([0] + [a.loss.shape[1] for a in self.eves])
        self.eve_groups = tuple(slice(int(s), int(t)) for s, t in pairwise(ends))
        self.bob_decisions = tuple(", ".join(names) for names in product(*(a.decisions or () for a in self.bobs)))
        self.eve_decisions = tuple(
            d if len(self.eves) == 1 else f"{a.name}: {d}" for a in self.eves for d in a.decisions or ()
        )
        for a in (self.p, self.B, self.E):
            a.flags.writeable = False

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
        """From pi(theta), p(x|theta) (row: theta, column: x), L_B (row: theta) and L_E (row: x)."""
        prior = probability(theta_prior, "theta_prior")
        channel = array(likelihood, "likelihood", 2)
        names = labels(thetas, "thetas", len(prior))
        if len(channel) != len(prior):
            raise InputError("likelihood", None, f"has {len(channel)} rows, must have {len(prior)}, one per theta")
        channel = np.array([probability(row, f"likelihood[{k}]") for k, row in enumerate(channel)])
        models = _agents(bobs, bob_loss, bob_decisions, "bob", len(prior), "theta")
        prior, channel, *losses = same_kind(prior, channel, *(a.loss for a in models))
        joint = prior[:, None] * channel  # theta, x
        p = joint.sum(axis=0)
        # a state of probability zero has no posterior: its rows are zero and never used
        posterior = np.array([j / total if total > 0 else j for j, total in zip(joint.T, p, strict=True)])
        return cls(
            prior=p,
            bobs=[
                Agent(posterior.dot(loss), a.decisions, a.name, a.weight)
                for a, loss in zip(models, losses, strict=True)
            ],
            eve_loss=eve_loss,
            eves=eves,
            states=states,
            eve_decisions=eve_decisions,
            title=title,
            theta=Theta(names, posterior),
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
        """(N, b, e): states, Bob's decisions, Eve's decisions (of all Eves together)."""
        return len(self.p), self.B.shape[1], self.E.shape[1]

    @cached_property
    def null_states(self) -> tuple[str, ...]:
        """States of probability zero: they cannot matter, and any row of a channel is optimal there."""
        return tuple(s for s, mass in zip(self.states, self.p, strict=True) if mass == 0)

    def as_float(self) -> Problem:
        """The same problem in floats."""
        theta = self.theta and Theta(self.theta.labels, floats(self.theta.posterior))
        return self if not self.exact else self._with(floats(self.p), self.bobs, self.eves, self.states, theta)

    def rationalised(self) -> Problem:
        """The same problem with every float read as the decimal it prints as (0.1 becomes 1/10)."""

        def read(values: Array) -> Array:
            if is_exact(values):
                return values
            return objects(number(repr(v), "number") for v in values.ravel().tolist()).reshape(values.shape)

        def agents(group: tuple[Agent, ...]) -> list[Agent]:
            return [Agent(read(a.loss), a.decisions, a.name, number(str(a.weight), "weight")) for a in group]

        theta = self.theta and Theta(self.theta.labels, read(self.theta.posterior))
        return self._with(read(self.p), agents(self.bobs), agents(self.eves), self.states, theta)

    def merged(self) -> MergedProblem:
        """Merge states with identical loss rows and drop those of probability zero: nobody can use the difference.

        Swapping such states in any mechanism changes neither agent's losses, so averaging over the swaps (convexity)
        leaves an optimum that treats them alike; `expand` gives every member the row of its class.
        """
        index, count = merge_index(self.p, np.hstack([self.B, self.E]))
        return MergedProblem(self, index, count)

    def _with(
        self, p: Array, bobs: Sequence[Agent], eves: Sequence[Agent], states: Sequence[str], theta: Theta | None
    ) -> Problem:
        return Problem(p, bobs=bobs, eves=eves, states=states, title=self.title, theta=theta)

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "float"
        return f"<Problem {self.title!r}: {kind}, (N, b, e) = {self.shape}>"


class MergedProblem(Problem):
    """A problem whose states are classes of another's; `index[x]` is the class of state x, or -1 where p(x) = 0."""

    def __init__(self, origin: Problem, index: Array, count: int) -> None:
        members: list[list[int]] = [[] for _ in range(count)]
        for x, k in enumerate(index.tolist()):
            if k >= 0:
                members[k].append(x)
        first = np.array([m[0] for m in members])
        p = class_sums(origin.p, index, count)
        theta = None
        if origin.theta is not None:
            weighted = class_sums(origin.theta.posterior * origin.p[:, None], index, count)
            theta = Theta(origin.theta.labels, weighted / p[:, None])

        def reduced(group: tuple[Agent, ...]) -> list[Agent]:
            return [Agent(a.loss[first], a.decisions, a.name, a.weight) for a in group]

        names = [" | ".join(origin.states[x] for x in m[:4]) + (" | ..." if len(m) > 4 else "") for m in members]
        names = names if len(set(names)) == len(names) else [f"{k}: {name}" for k, name in enumerate(names)]
        super().__init__(
            p, bobs=reduced(origin.bobs), eves=reduced(origin.eves), states=names, title=origin.title, theta=theta
        )
        self.origin = origin
        self.index = index
        self.members = tuple(tuple(m) for m in members)

    def expand(self, mechanism: Any) -> Any:
        """The mechanism on the original states; rows of probability zero get the null row (they always get one)."""
        return mechanism.expanded(self.index, self.p, self.origin.states)


def merge_index(p: Array, rows: Array) -> tuple[Array, int]:
    """Class of each state (by first appearance) under equality of rows, -1 where p = 0; and the number of classes."""
    live = np.flatnonzero(p > 0) if not is_exact(p) else np.array([x for x, mass in enumerate(p) if mass > 0])
    index = np.full(len(p), -1)
    # hash each row to one word: equal rows have equal hashes, so only rows behind a shared hash need comparing
    words = np.ascontiguousarray(floats(rows)[live] + 0.0).view(np.uint64)
    odd = np.random.default_rng(0).integers(0, 2**63, words.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    key = ((words ^ (words >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    group = first[group]  # the first state with this hash
    doubtful = np.flatnonzero(group != np.arange(len(live)))
    same = (rows[live[doubtful]] == rows[live[group[doubtful]]]).all(axis=1)
    seen: dict[tuple[Any, ...], int] = {}
    for x in doubtful[~same].tolist():  # one hash, different rows: rationals closer than floats can tell
        group[x] = seen.setdefault(tuple(rows[live[x]].tolist()), x)
    heads, order = np.unique(group, return_inverse=True)
    index[live] = order
    return index, len(heads)


def class_sums(values: Array, index: Array, count: int) -> Array:
    """Sum the rows of `values` over each class."""
    out = zeros((count, *values.shape[1:]), is_exact(values))
    live = index >= 0
    np.add.at(out, index[live], values[live])
    return out


def probability(values: Any, field: str) -> Array:
    """Read a probability vector: non-negative, summing to one (exactly, or within rounding for floats)."""
    p = array(values, field, 1)
    total = p.sum()
    if total != 1 and (is_exact(p) or abs(total - 1) > _SUM_TOLERANCE):
        raise InputError(f"sum of {field}", total, "must be 1")
    return p if is_exact(p) else p / total


def labels(names: Sequence[str] | None, field: str, count: int) -> tuple[str, ...]:
    """Read labels: distinct non-empty strings, one per item; default "0", "1", ..."""
    if names is None:
        return tuple(str(k) for k in range(count))
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InputError(field, names, "must be a list of strings")
    for k, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InputError(f"{field}[{k}]", name, "must be a non-empty string")
    if len(names) != count:
        raise InputError(field, None, f"has {len(names)} labels, must have {count}")
    seen: dict[str, int] = {}
    for k, name in enumerate(names):
        if seen.setdefault(name, k) != k:
            raise InputError(f"{field}[{k}]", name, f"repeats {field}[{seen[name]}]")
    return tuple(names)


def weight_of(value: Any, field: str) -> Any:
    weight = number(value, field)
    if weight <= 0:
        raise InputError(field, weight, "must be positive")
    return weight


def _agents(
    agents: Sequence[Agent] | None, loss: Any, decisions: Any, role: str, rows: int, per: str = "state"
) -> tuple[Agent, ...]:
    if (agents is None) == (loss is None):
        raise InputError(f"{role}_loss", None, f"or {role}s must be given, one of the two")
    alone = agents is None
    out = []
    for k, agent in enumerate([Agent(loss, decisions)] if agents is None else agents):
        field = f"{role}_loss" if alone else f"{role}s[{k}].loss"
        table = array(agent.loss, field, 2)
        if len(table) != rows:
            raise InputError(field, None, f"has {len(table)} rows, must have {rows}, one per {per}")
        where = f"{role}_decisions" if alone else f"{role}s[{k}].decisions"
        names = labels(agent.decisions, where, table.shape[1])
        weight = weight_of(agent.weight, f"{role}s[{k}].weight")
        out.append(Agent(table, names, agent.name or (role.capitalize() + (str(k + 1) if k else "")), weight))
    if not out:
        raise InputError(f"{role}s", None, "must not be empty")
    labels([a.name for a in out], f"names of {role}s", len(out))
    return tuple(out)


def _as_float(agent: Agent) -> Agent:
    return Agent(floats(agent.loss), agent.decisions, agent.name, float(agent.weight))


def _product_loss(bobs: tuple[Agent, ...]) -> Array:
    total = bobs[0].weight * bobs[0].loss
    for bob in bobs[1:]:
        total = (total[:, :, None] + (bob.weight * bob.loss)[:, None, :]).reshape(len(total), -1)
    return total


def calibrated_lam(problem: Problem) -> Number:
    """The lam at which full and null releases tie: (R_B^null - R_B^full) / (R_E^null - R_E^full)."""
    (bob_full, eve_full), (bob_null, eve_null) = extremes(problem)
    if eve_null == eve_full or (not problem.exact and abs(eve_null - eve_full) <= 1e-15 * abs(eve_null)):
        raise InputError(
            "lam",
            "calibrated",
            "is undefined: Eve does no better with the data than without (R_E = "
            f"{public(eve_null)} for both full and null release)",
        )
    return public((bob_null - bob_full) / (eve_null - eve_full))


def extremes(problem: Problem) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """(R_B, R_E) of the full and of the null release, in working numbers."""
    p, losses = problem.p, [problem.B, *(problem.E[:, g] for g in problem.eve_groups)]
    full = [p.dot(loss.min(axis=1)) for loss in losses]
    null = [p.dot(loss).min() for loss in losses]
    zero = fmpq(0) if problem.exact else 0.0
    return (full[0], sum(full[1:], zero)), (null[0], sum(null[1:], zero))


def lam_of(problem: Problem, lam: Any) -> Any:
    """Read lam: "calibrated" or a non-negative number; returns a working number."""
    if isinstance(lam, str) and lam.strip().lower() == "calibrated":
        value = number(calibrated_lam(problem), "lam")
    else:
        value = number(lam, "lam")
    if value < 0:
        raise InputError("lam", value, "must not be negative")
    return value
