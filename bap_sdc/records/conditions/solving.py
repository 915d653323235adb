"""The optimal release of a study under conditions: parts solved one by one, joined by a master program.

Without numbers that couple the parts, each part is solved by itself and the parts side by side are the optimum. A
floor or a cap on R_B couples them. The releases of a part are then the *columns* of a master program with a variable
for the share of each: minimise R_A of the mixture subject to the floors and caps. Its multipliers are prices; every
part is solved at these prices, which gives a new column and, with all parts, a bound (module `parts`). When bound and
value meet, the mixture is optimal. A mixture keeps every condition, since they are convex, and no Eve's risk is below
the mean of her risks: mixing two releases without saying which one was used pools their signals.

The columns of a part start with its optimum without prices and the null release, which meets every condition but a cap
on R_B. For that the least R_B is found first, in the same way, with lam = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp import Conditions, ConflictError, Problem, solve
from bap_lp.conditions.base import LOOSE
from bap_lp.engines.driver import Infeasible
from bap_lp.engines.driver import optimise as optimal_pair
from bap_lp.program.bound import Dual, Program, Rows
from bap_lp.program.finish import STOPPED
from bap_lp.proof.certificate import Certificate, reported
from bap_lp.proof.statement import statement_of
from bap_lp.support.clock import check
from bap_lp.support.display import counted
from bap_lp.support.rational import EXACT, Array, InputError, is_exact, public, taken
from bap_sdc.records.conditions.parts import Coupling, Prices, StudyPart, coupling, priced_program, study_parts
from bap_sdc.records.conditions.proof import ComponentsProof, PartsProof, StudyProof, sorted_rows
from bap_sdc.records.conditions.stated import StudyConditions
from bap_sdc.records.optimum.kept import KeptDecisions
from bap_sdc.records.optimum.optimise import optimise, with_release
from bap_sdc.records.optimum.result import RecordOptimum, joint_table
from bap_sdc.records.optimum.risks import column_risks, eve_risk, record_lam, summed

if TYPE_CHECKING:
    from bap_sdc.records.study import Study

Tell = Callable[[int, int], None]
_NEAR = 1e-10  # of what a release can change: a gap in floats that is not worth another round
_ROUNDS = 200  # of the master program


@dataclass(frozen=True, eq=False)
class PartRelease:
    """A release of a part as rows (record type, decision, q), with R_B and every Eve's risk there."""

    rows: tuple[Array, Array, Array]
    bob: Any
    eves: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Round:
    """Every part at some prices: releases, certificates, and the sum of the bounds; or a mixture of releases."""

    prices: Prices
    mix: list[PartRelease]
    certificates: list[Certificate | RecordOptimum] | RecordOptimum
    bound: Any


def solve_parts(study: Study, lam: Any, exact: bool | None, progress: Tell | None = None) -> StudyProof:
    """The optimal release under the study's conditions, with its proof."""
    asked = study.conditions
    assert asked is not None
    price = record_lam(study.program, lam)
    able = study.program.exact and is_exact(price) and asked.exact
    if exact and not able:
        wrong = "conditions" if study.program.exact and is_exact(price) else "lam" if study.program.exact else "program"
        raise InputError(wrong, None, 'must be exact, such as "1/3", for an exact solution')
    asked.require(study)
    exact = able if exact is None else exact
    price = taken(price, exact)
    if asked.types.signal_floor is not None and asked.floor and price == 0 and len(study.spies) > 1:
        rule = "cannot be combined with a floor at lambda = 0 where there are several Eves: their losses have no weight"
        raise InputError("conditions.signal_floor", None, rule)
    task = StudyTask(study, asked, study_parts(study), price, exact, progress or (lambda *_: None))
    if asked.min_cell is None:
        return task.proof(task.best())
    from bap_sdc.records.conditions.cells import with_cells

    return with_cells(task)


class Excluded(InputError):
    """Conditions that exclude each other."""


class StudyTask:
    """A study to solve part by part, with the releases of its parts that are known."""

    def __init__(
        self, study: Study, asked: StudyConditions, parts: Sequence[StudyPart], lam: Any, exact: bool, tell: Tell
    ) -> None:
        self.study, self.asked, self.parts, self.lam, self.exact, self.tell = study, asked, parts, lam, exact, tell
        self.program = study.program.lifted()
        self.weights = study.weights(exact)
        self.free = not asked.local
        if not self.free:
            self.sized()
        self.columns: list[list[PartRelease]] = [[] for _ in parts]
        # in floats a limit may be an attainable extreme, rounded; half of what the check allows is left for rounding
        self.limits = coupling(study, exact, EXACT.zero if exact else LOOSE / 2)
        self.kept: Array | None = None  # decisions of the study that may be sent
        self._found: dict[Any, tuple[list[list[tuple[set[int], PartRelease]]], KeptDecisions | None]] = {}
        self.stopped = False

    def sized(self) -> None:
        """Refuse parts that are too large, before anything is built."""
        for part in self.parts:
            part.require()

    @cached_property
    def conditions(self) -> list[Conditions]:
        return [part.conditions() for part in self.parts]

    # one round: every part at some prices

    def _solved(self, lam: Any, prices: Prices) -> Round:
        """The optimum of every part at these prices; its release becomes a column."""
        if self.kept is not None:
            found = self._on_kept(lam, prices, self.kept)
        else:
            found = self._by_record(lam, prices) if self.free else self._by_part(lam, prices)
        for own, column in zip(self.columns, found.mix, strict=True):
            if all((old.bob, old.eves) != (column.bob, column.eves) for old in own):
                own.append(column)
        return found

    def _by_record(self, lam: Any, prices: Prices) -> Round:
        """All parts at once, if nothing but prices binds them."""
        check()
        program, at = priced_program(self.study, lam, prices, self.exact)
        best = optimise(program, at, self.exact, progress=self.tell)
        state, decision, rho = joint_table(best.components)
        q = rho / best.program.p[state]
        mix = self._by_home(state, decision, q)
        return Round(prices, [mix[k] for k in range(len(self.parts))], best, EXACT.number(best.bound))

    def _by_home(self, state: Array, decision: Array, q: Array) -> dict[int, PartRelease]:
        """Rows of a release, part by part."""
        order = np.argsort(self.home[state], kind="stable")
        there, first = np.unique(self.home[state][order], return_index=True)
        own = zip(there.tolist(), np.split(order, first[1:]), strict=True)
        return {k: self.release(k, state[mine], decision[mine], q[mine]) for k, mine in own}

    @cached_property
    def home(self) -> Array:
        """The part of every record type."""
        out = np.empty(len(self.program.p), dtype=np.int64)
        for k, part in enumerate(self.parts):
            out[part.states] = k
        return out

    def _on_kept(self, lam: Any, prices: Prices, kept: Array) -> Round:
        """All parts with the decisions that may be sent; a release for more of them that sends no other stays best."""
        never, name = {*np.setdiff1d(np.arange(self.study.decisions), kept).tolist()}, (lam, prices.key)
        if name not in self._found:
            program, at = priced_program(self.study, lam, prices, self.exact) if self.free else (None, None)
            free = None if program is None else KeptDecisions(program if self.exact else program.as_float(), at)
            self._found[name] = [[] for _ in self.parts], free
        known, records = self._found[name]
        mix: dict[int, PartRelease] = {}
        for k, own in enumerate(known):
            good = (one for without, one in own if without <= never and never.isdisjoint(one.rows[1].tolist()))
            if (one := next(good, None)) is not None:
                mix[k] = one
        late = [k for k in range(len(known)) if k not in mix]
        if records is not None and late:
            found = self._by_home(*records.rows(kept, np.isin(self.home, late)))
        else:
            found = {k: self._solved_part(k, lam, prices, self.allowed(self.parts[k]))[0] for k in late}
        for k, one in found.items():
            known[k].append((never, one))
        releases = [mix[k] if k in mix else found[k] for k in range(len(known))]
        bound = sum(
            (self.told(part, prices, lam, one) for part, one in zip(self.parts, releases, strict=True)), EXACT.zero
        )
        return Round(prices, releases, [], bound)

    def told(self, part: StudyPart, prices: Prices, lam: Any, one: PartRelease) -> Any:
        """R_A of a release at these prices, times the probability of its part."""
        weights, at = prices.weights(self.weights, lam)
        eve = sum((w * r for w, r in zip(weights, one.eves, strict=True) if w), EXACT.zero)
        return part.share * ((1 + prices.bob) * one.bob - at * eve)

    def _solved_part(
        self, k: int, lam: Any, prices: Prices, only: Array | None = None
    ) -> tuple[PartRelease, Certificate, Any]:
        """The optimum of a part, its certificate and its bound; only: the decisions of the part that may be sent."""
        part = self.parts[k]
        problem, at = part.problem(lam, prices, self.exact, only)
        try:
            found = solve(problem, at, self.exact, conditions=self.conditions[k])
        except ConflictError as error:
            raise InputError(*self._named(error, part)) from None
        self.stopped = self.stopped or STOPPED in found.method
        q = found.certificate.channel
        assert q is not None
        x, s = np.nonzero(q != 0)
        sent = part.decisions[s if only is None else only[s]]
        return self.release(k, part.states[x], sent, EXACT.array(q[x, s])), found.certificate, found.bound

    def _by_part(self, lam: Any, prices: Prices) -> Round:
        """Part by part; where the optimum without conditions keeps them, it is the optimum with them."""
        alike = self.asked.by_rows and not any(spy.informed > 1 for spy in self.study.spies)
        unbound = self._by_record(lam, prices) if alike else None
        done, total, mix = 0, len(self.study.prior.types), []
        certificates: list[Certificate | RecordOptimum] = []
        bound = EXACT.zero
        self.tell(0, total)
        for k, part in enumerate(self.parts):
            if self.exact:
                check()  # a solution in floats is the best pair that there was time for
            done += len(part.states)
            if unbound is not None and self._kept_by(part, unbound.mix[k]):
                assert isinstance(unbound.certificates, RecordOptimum)
                bound = bound + self.told(part, prices, lam, unbound.mix[k])
                mix.append(unbound.mix[k])
                certificates.append(unbound.certificates)
                continue
            one, certificate, least = self._solved_part(k, lam, prices)
            mix.append(one)
            certificates.append(certificate)
            bound = bound + part.share * EXACT.number(least)
            self.tell(done, total)
        return Round(prices, mix, certificates, bound)

    def _kept_by(self, part: StudyPart, one: PartRelease) -> bool:
        """Whether a release of a part keeps caps and ratios, by definition."""
        state, decision, q = one.rows
        if not np.isin(decision, part.decisions).all():
            return False
        mass, types = self.program.p[state] * q, self.study.prior.types
        for _, n, column, level, most in self.asked.caps(self.study):
            known = self.study.known(types[state], self.study.spies[n])
            seen, at = np.unique(np.stack([known, decision], axis=1), axis=0, return_inverse=True)
            inside = np.flatnonzero(types[state, column] == level)
            whole, event = (summed(mass[own], at.ravel()[own], len(seen)) for own in (np.arange(len(mass)), inside))
            if (event > most * whole).any():
                return False
        rows: dict[int, dict[int, Any]] = {}
        for x, i, v in zip(state.tolist(), decision.tolist(), q.tolist(), strict=True):
            rows.setdefault(x, {})[i] = v
        for ratio, pairs in part.pairs().items():
            K = EXACT.number(ratio)
            for pair in pairs:
                a, b = (rows[int(part.states[x])] for x in pair)
                if a.keys() != b.keys() or any(v > K * b[i] or b[i] > K * v for i, v in a.items()):
                    return False
        return True

    def allowed(self, part: StudyPart) -> Array:
        """The decisions of a part that may be sent."""
        every = part.decisions
        return np.arange(len(every)) if self.kept is None else np.flatnonzero(np.isin(every, self.kept))

    def release(self, k: int, state: Array, decision: Array, q: Array) -> PartRelease:
        rho = self.program.p[state] / self.parts[k].share * q
        bob = sum(column_risks(self.program.losses, self.program.codes, state, decision, rho), EXACT.zero)
        eves = self.study.by_eve([eve_risk(eve, state, decision, rho) for eve in self.program.eves])
        return PartRelease((state, decision, q), bob, eves)

    def _null(self, k: int) -> None:
        """The release of a part that always sends the decision that is best for Bob."""
        part = self.parts[k]
        p, types = self.program.p[part.states], self.study.prior.types[part.states]
        cost = EXACT.zeros(1)
        for table, column, own in zip(self.program.losses, self.study.published, part.levels, strict=True):
            cost = (cost[:, None] + p.dot(table[types[:, column]][:, list(own)])).ravel()
        best = min(self.allowed(part).tolist(), key=lambda i: cost[i])
        sent = np.full(len(p), part.decisions[best])
        self.columns[k].append(self.release(k, part.states, sent, EXACT.full(len(p), 1)))

    def _named(self, error: ConflictError, part: StudyPart) -> tuple[str, Any, str]:
        field = part.labels().get(error.field, error.field)
        return f"conditions.{field}", error.value, f"{error.rule} ({part.named()})"

    # the master program

    def best(self) -> Round:
        """The optimum; refuses a cap on R_B that the other conditions exclude."""
        for cap in (limit for limit in self.limits if limit.bob):
            last = self._joined(EXACT.zero, [limit for limit in self.limits if not limit.bob])
            least = sum((part.share * one.bob for part, one in zip(self.parts, last.mix, strict=True)), EXACT.zero)
            if least > cap.rhs:
                rule = "cannot be met: under the other conditions R_B is at least "
                rule += str(public(least)) if self.exact and len(str(least)) < 24 else f"{float(least):.9g}"
                raise Excluded(f"conditions.{cap.name}", self.asked.types.max_bob_risk, rule)
        return self._joined(self.lam, self.limits)

    def _joined(self, lam: Any, limits: Sequence[Coupling]) -> Round:
        """The best mixture of the releases of the parts, with the prices and certificates that prove it."""
        last = self._solved(lam, Prices())
        if not limits:
            return last
        for k in range(len(self.parts)):
            self._null(k)
        for _ in range(_ROUNDS):
            mix, prices, value = self._master(lam, limits)
            if prices != last.prices:
                last = self._solved(lam, prices)
            last = replace(last, mix=mix)
            bound = last.bound - sum((prices.of(limit.name) * limit.rhs for limit in limits), EXACT.zero)
            if value - bound <= self._enough() or self.stopped:
                break
        return last

    def _master(self, lam: Any, limits: Sequence[Coupling]) -> tuple[list[PartRelease], Prices, Any]:
        count = max(map(len, self.columns))
        shape = len(self.parts), count
        cost, allowed = EXACT.zeros(shape), np.zeros(shape, dtype=bool)
        sides = [EXACT.zeros(shape) for _ in limits]
        for k, own in enumerate(self.columns):
            share = self.parts[k].share
            for c, column in enumerate(own):
                allowed[k, c] = True
                eve = sum((w * r for w, r in zip(self.weights, column.eves, strict=True)), EXACT.zero)
                cost[k, c] = share * (column.bob - lam * eve)
                for side, limit in zip(sides, limits, strict=True):
                    side[k, c] = share * limit.of(column.bob, column.eves)
        part, column_at = np.indices(shape).reshape(2, -1)
        rows = [
            Rows(limit.name, EXACT.full(1, limit.rhs), (0 * part, part, column_at, side.ravel()))
            for limit, side in zip(limits, sides, strict=True)
        ]
        try:
            found = optimal_pair(Program(EXACT.full(shape[0], 1), cost, (), tuple(rows)), allowed=allowed)
        except Infeasible:
            raise Excluded("conditions", None, "cannot be met together") from None
        weights = {name: w[0] for name, w in found.dual.weights.items()}
        floors = {int(name[6:]): w for name, w in weights.items() if name.startswith("floor ")}
        prices = Prices(floors, weights.get("min_eve_risk", EXACT.zero), weights.get("max_bob_risk", EXACT.zero))
        mix = []
        for k, own in enumerate(self.columns):
            live = np.flatnonzero(found.rho[k] != 0).tolist()
            if len(live) == 1:
                mix.append(own[live[0]])
                continue
            x, i, q = (np.concatenate([own[c].rows[at] for c in live]) for at in range(3))
            q = q * np.concatenate([np.full(len(own[c].rows[0]), found.rho[k][c], dtype=object) for c in live])
            place, at = np.unique(np.stack([x, i], axis=1), axis=0, return_inverse=True)
            mix.append(self.release(k, place[:, 0], place[:, 1], summed(q, at.ravel(), len(place))))
        return mix, prices, found.value

    def _enough(self) -> Any:
        return EXACT.zero if self.exact else self.near()

    def near(self) -> Any:
        """A gap in floats that is small."""
        bob = sum((table.max() for table in self.program.losses), EXACT.zero)
        eve = sum((eve.weight * eve.loss.max() for eve in self.program.eves), EXACT.zero)
        return EXACT.number(_NEAR) * (bob + self.lam * eve)

    def proof(self, last: Round, mix: Sequence[PartRelease] | None = None) -> StudyProof:
        """The certificates at the prices, with the releases of the mixture in place of their own."""
        mix = mix or last.mix
        how = f"{'exact' if self.exact else 'in floats'}{f', {STOPPED}' if self.stopped else ''}"
        if isinstance(last.certificates, RecordOptimum):
            rows = sorted_rows(*(np.concatenate([one.rows[at] for one in mix]) for at in range(3)))
            program = priced_program(self.study, self.lam, last.prices, self.exact)[0]
            components = with_release(program, last.certificates, *rows)
            method = f"components with priced decisions, at the prices of the conditions, {how}"
            return ComponentsProof.of(self.study, self.lam, last.prices, method, self.exact, parts=components)
        made = []
        for k, (part, certificate, one) in enumerate(zip(self.parts, last.certificates, mix, strict=True)):
            place, (x, i, q) = np.argsort(part.decisions), one.rows
            channel = EXACT.zeros((len(part.states), len(part.decisions)))
            row = np.argsort(part.states)[np.searchsorted(np.sort(part.states), x)]
            channel[row, place[np.searchsorted(part.decisions[place], i)]] = q
            problem, at = part.problem(self.lam, last.prices, self.exact)
            if isinstance(certificate, RecordOptimum):
                certificate = self._certificate(k, problem, at, certificate)
            statement = statement_of([problem], certificate)
            dual = statement.program.completed(certificate.dual)
            value = statement.value(channel)
            bound = statement.bound(dual, certificate.cases, value)[0]
            value, _, gap = reported(value, bound, self.exact)
            made.append(replace(certificate, channel=channel, dual=dual, value=value, gap=gap))
        method = f"{counted(len(made), 'part')} under conditions, {how}"
        proof = {"parts": tuple(self.parts), "certificates": tuple(made)}
        return PartsProof.of(self.study, self.lam, last.prices, method, self.exact, **proof)

    def _certificate(self, k: int, problem: Problem, lam: Any, best: RecordOptimum) -> Certificate:
        """The replies of the optimum without conditions in a part: they prove the same bound with conditions."""
        decisions, knows = self.parts[k].decisions, [bool(spy.knows) for spy in self.study.spies]
        tables = [best.replies_at(decisions, n, int(z) if knows[n] and z else 0) for n, z in problem.eve_views]
        at, zero = (lam if self.exact else float(lam)), public(EXACT.zero)
        dual = Dual({"eve": np.hstack(tables)}, {})
        return Certificate((at,), zero, zero, None, dual, self.exact, self.conditions[k])
