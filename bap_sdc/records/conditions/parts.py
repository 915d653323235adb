"""The parts of a study under conditions, and each of them as an ordinary problem.

Two record types are in one part if some Eve cannot tell them apart by what she knows, or if a condition compares them
(they differ only in a column that has differential privacy). Conditions on record types that speak of all of them at
once, such as privacy between all pairs, leave one part. R_B, R_E, caps and ratios are then sums, or hold, part by part.

A part k has probability P_k, and is the problem with prior p(x) / P_k, the study's Bobs and Eves, and the study's
conditions. Of Bob's decisions it needs only some levels of each published column: let level j' cost at most what j
costs for every record type of the part. Releasing j' where j was released lowers R_B, pools signals, and so keeps every
condition and lowers no Eve's risk.

What couples the parts are numbers: R_n >= f for an Eve, R_E >= f, R_B <= c. With prices w_n, w, v >= 0 for them
    R_A >= (1 + v) R_B - sum_n ((lam + w) weight_n + w_n) R_n + sum_n w_n f_n + w f - v c       for whatever meets them,
and the right side is a constant plus the sum over parts of P_k times R_A of the part's problem *at these prices*: its
Bobs weigh 1 + v times as much, its Eves (lam + w) weight_n + w_n, and lam is one. Without prices it is as the study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp import Agent, Conditions, Problem
from bap_lp.model.informed import knowing
from bap_lp.support.rational import EXACT, Array, InputError, public
from bap_sdc.records.conditions.stated import COUPLING, words_of
from bap_sdc.records.data.prior import keys
from bap_sdc.records.optimum.parts import joined
from bap_sdc.records.optimum.program import RecordProgram

if TYPE_CHECKING:
    from bap_sdc.records.study import Study

MOST = 2_000_000  # probabilities q(i|x) of one part


@dataclass(frozen=True)
class Prices:
    """What the numbers that couple the parts cost: of every Eve's floor, of min_eve_risk and of max_bob_risk."""

    floors: Mapping[int, Any] = field(default_factory=dict)
    eve: Any = EXACT.zero
    bob: Any = EXACT.zero

    def of(self, name: str) -> Any:
        """The price of "floor n", min_eve_risk or max_bob_risk."""
        own = {"min_eve_risk": self.eve, "max_bob_risk": self.bob}
        return own[name] if name in own else self.floors.get(int(name.removeprefix("floor ")), EXACT.zero)

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells these prices from others."""
        return *sorted(self.floors.items()), self.eve, self.bob

    def weights(self, own: Sequence[Any], lam: Any) -> tuple[Sequence[Any], Any]:
        """The weight of every Eve in R_E at these prices, and lam; without prices, her own."""
        if not (self.eve or self.bob or any(self.floors.values())):
            return own, lam
        priced = [(lam + self.eve) * w + self.floors.get(n, EXACT.zero) for n, w in enumerate(own)]
        return (priced, EXACT.one) if any(priced) else (own, EXACT.zero)


def priced_program(study: Study, lam: Any, prices: Prices, exact: bool) -> tuple[RecordProgram, Any]:
    """The study's program in fractions at these prices, and its lam."""
    program, (weights, at) = study.fractions(exact), prices.weights(study.weights(exact), lam)
    per_eve = [w for spy, w in zip(study.spies, weights, strict=True) for _ in range(max(spy.informed, 1))]
    eves = []
    for eve, weight in zip(program.eves, per_eve, strict=True):
        eves.append(replace(eve, weight=public(weight)) if weight else replace(eve, loss=0 * eve.loss, weight=1))
    losses = tuple(table * (1 + prices.bob) for table in program.losses)
    return RecordProgram(program.p, program.codes, losses, tuple(eves)), at


@dataclass(frozen=True, eq=False)
class Coupling:
    """bob R_B - eves.R <= rhs for the whole study: a number that all parts share, and what its price is called."""

    name: str
    bob: int
    eves: tuple[Any, ...]
    rhs: Any

    def of(self, bob: Any, eves: Sequence[Any]) -> Any:
        """The left side, of these risks."""
        return self.bob * bob - sum((w * r for w, r in zip(self.eves, eves, strict=True)), EXACT.zero)


def coupling(study: Study, exact: bool, loose: Any = EXACT.zero) -> list[Coupling]:
    """What couples the parts of a study, its limits looser by this share of their size."""
    asked, zeros, out = study.conditions, [EXACT.zero] * len(study.spies), []
    if asked is None or not asked.convex:
        return []
    floors: dict[int, Any] = {}
    for n, least in asked.floors(study):
        floors[n] = max(floors.get(n, least), least)
    for n, least in floors.items():
        out.append(Coupling(f"floor {n}", 0, (*zeros[:n], EXACT.one, *zeros[n + 1 :]), -(1 - loose) * least))
    given, weights = asked.types.given(), study.weights(exact)
    if "min_eve_risk" in given:
        out.append(Coupling("min_eve_risk", 0, weights, -(1 - loose) * EXACT.number(given["min_eve_risk"])))
    if "max_bob_risk" in given:
        out.append(Coupling("max_bob_risk", 1, tuple(zeros), (1 + loose) * EXACT.number(given["max_bob_risk"])))
    return out


@dataclass(frozen=True, eq=False)
class StudyPart:
    """Some record types of a study (positions), and the levels of every published column that are decisions there."""

    study: Study
    states: Array
    levels: tuple[tuple[int, ...], ...]

    @property
    def share(self) -> Any:
        """P_k, a rational."""
        return EXACT.zero + self.study.program.lifted().p[self.states].sum()

    @property
    def decisions(self) -> Array:
        """The number in the study of every decision of the part, in the order of its problem."""
        grid = np.meshgrid(*map(np.array, self.levels), indexing="ij")
        return np.ravel_multi_index(tuple(g.ravel() for g in grid), self.study.program.levels)

    @property
    def size(self) -> int:
        return len(self.states) * prod(map(len, self.levels))

    def require(self) -> None:
        """Refuse a part that is too large, before anything is built."""
        if self.size > MOST:
            rule = f"have {len(self.states)} record types and {len(self.decisions)} decisions {self.named()}: "
            rule += f"{self.size} probabilities, at most {MOST} can be found at once: band or merge levels"
            raise InputError("conditions", None, rule)

    def named(self) -> str:
        """What the part is called: what the Eves know of its record types, if that is one thing."""
        types = self.study.prior.types[self.states]
        known = sorted({k for spy in self.study.spies for k in spy.knows if (types[:, k] == types[0, k]).all()})
        return words_of(self.study, types[0], known)

    def problem(self, lam: Any, prices: Prices, exact: bool, only: Array | None = None) -> tuple[Problem, Any]:
        """The problem at these prices, and its lam; `only`: some of its decisions, which are then those of one Bob."""
        study, types = self.study, self.study.prior.types[self.states]
        p = study.program.lifted().p[self.states]
        p = p / p.sum()
        scale = 1 + prices.bob
        if only is None:
            bobs = [
                Agent(
                    t.loss[types[:, k]][:, list(own)],
                    [study.columns[k].labels[j] for j in own],
                    t.column,
                    float(t.weight) * float(scale) if isinstance(t.weight, float) else public(t.weight * scale),
                )
                for t, k, own in zip(study.targets, study.published, self.levels, strict=True)
            ]
        else:
            place = study.program.published(self.decisions[only])
            scale = scale if study.program.exact else float(scale)
            joint = [
                table[types[:, k]][:, at] * scale
                for table, k, at in zip(study.program.losses, study.published, place, strict=True)
            ]
            bobs = [Agent(sum(joint[1:], joint[0]))]
        (weights, at), eves = prices.weights(study.weights(exact), lam), []
        for spy, weight in zip(study.spies, weights, strict=True):
            loss = spy.loss[types[:, spy.secret]]
            if not weight:  # her risk counts nothing
                loss, weight = 0 * loss, EXACT.one
            more: dict[str, Any] = {"knows": [str(z) for z in study.known(types, spy)]} if spy.knows else {}
            eve = Agent(loss, None, spy.name, public(weight), **more)
            chance = study.chances(spy)
            eves.append(eve if chance is None else knowing(eve, chance[self.states]))
        problem = Problem(p, bobs=bobs, eves=eves, states=study.state_names(types))
        return problem, public(at)

    def conditions(self) -> Conditions:
        """What the part must satisfy by itself, with record types by their position in the part."""
        study, asked = self.study, self.study.conditions
        assert asked is not None
        given = asked.types.given()
        if asked.convex:
            given = {name: value for name, value in given.items() if name not in COUPLING}
        elif asked.floor:  # there is one Eve
            floor = max(least for _, least in asked.floors(study)) * EXACT.number(study.spies[0].weight)
            given["min_eve_risk"] = public(max(floor, EXACT.number(given.get("min_eve_risk", 0))))
        types = study.prior.types[self.states]
        caps = []
        for k, n, column, level, _ in asked.caps(study):
            event = np.flatnonzero(types[:, column] == level).tolist()
            if event:
                caps.append({"event": event, "at_most": asked.cap[k].at_most, "eve": study.spies[n].name})
        if caps:
            given["posterior_caps"] = [*given.get("posterior_caps", ()), *caps]
        pairs = self.pairs()
        if pairs and not _private(asked.types):  # the first ratio as neighbours, which need fewer rows
            ratio = next(iter(pairs))
            given["exp_epsilon"], given["neighbours"] = ratio, pairs.pop(ratio)
        if pairs:
            tables = [{"exp_epsilon": ratio, "pairs": [([x], [y]) for x, y in own]} for ratio, own in pairs.items()]
            given["pufferfish"] = [*given.get("pufferfish", ()), *tables]
        return Conditions(**given)

    def labels(self) -> dict[str, str]:
        """What the numbers in the part's conditions are called in the study's."""
        study, asked, made = self.study, self.study.conditions, self.conditions()
        assert asked is not None
        types, out = study.prior.types[self.states], {}
        there = [k for k, _, column, level, _ in asked.caps(study) if (types[:, column] == level).any()]
        for at, k in enumerate(there, len(asked.types.posterior_caps or ())):
            out[f"posterior_caps[{at}].at_most"] = f"cap[{k}].at_most"
        ratios = {"exp_epsilon": None if _private(asked.types) else made.exp_epsilon}
        ratios |= {f"pufferfish[{at}]": one.exp_epsilon for at, one in enumerate(made.pufferfish or ())}
        for at in range(len(asked.types.pufferfish or ())):
            del ratios[f"pufferfish[{at}]"]
        for label, ratio in ratios.items():
            for k, one in enumerate(asked.dp):
                if ratio == one.exp_epsilon and label not in out:
                    out[label] = f"dp[{k}].exp_epsilon"
        return out

    def pairs(self) -> dict[Any, list[tuple[int, int]]]:
        """Pairs of record types of the part that differ in one private column only, by their ratio."""
        out: dict[Any, list[tuple[int, int]]] = {}
        assert self.study.conditions is not None
        for column, ratio in self.study.conditions.private(self.study):
            same = _others(self.study, column)[self.states]
            order = np.argsort(same, kind="stable")
            for members in np.split(order, np.flatnonzero(np.diff(same[order])) + 1):
                own = sorted(members.tolist())
                pairs = [(x, y) for at, x in enumerate(own) for y in own[at + 1 :]]
                if pairs:
                    out.setdefault(ratio, []).extend(pairs)
        return out


def _others(study: Study, column: int) -> Array:
    """A number for every record type: equal where all columns but this one are."""
    rest = [k for k in range(len(study.names)) if k != column]
    return keys(study.prior.types[:, rest], [study.levels[k] for k in rest])


def study_parts(study: Study) -> tuple[StudyPart, ...]:
    """The parts in the order of their first record types."""
    asked, types = study.conditions, study.prior.types
    assert asked is not None
    part = np.zeros(len(types), dtype=np.int64)
    if asked.splits:
        known = [study.known(types, spy) for spy in study.spies]
        part = joined([*known, *(_others(study, column) for column, _ in asked.private(study))])
    order = np.argsort(part, kind="stable")
    cuts = np.flatnonzero(np.diff(part[order])) + 1
    every = asked.min_cell is not None  # a cell may be kept for the sake of another part
    return tuple(StudyPart(study, own, _levels(study, own, every)) for own in np.split(order, cuts))


def _levels(study: Study, states: Array, every: bool) -> tuple[tuple[int, ...], ...]:
    """The levels of every published column that no other level replaces in this part."""
    out = []
    for k, t in zip(study.published, study.targets, strict=True):
        there = np.unique(study.prior.types[states, k])
        before = np.ones((t.loss.shape[1], t.loss.shape[1]), dtype=bool)
        for row in t.loss[there]:
            rank = np.unique(row, return_inverse=True)[1]
            before &= rank[:, None] <= rank[None, :]
        first = np.arange(len(before))[:, None] < np.arange(len(before))
        replaced = (before & (~before.T | first) & ~np.eye(len(before), dtype=bool)).any(axis=0)
        kept = np.flatnonzero(~replaced | every).tolist()
        out.append(tuple(kept))
    return tuple(out)


def _private(types: Conditions) -> bool:
    """Whether differential privacy is asked for between record types."""
    return bool({"exp_epsilon", "epsilon"} & {*types.given()})
