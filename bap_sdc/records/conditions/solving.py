"""The optimal release of a study under conditions: parts solved one by one, joined by a master program.

Without numbers that couple the parts, each part is solved by itself and the parts side by side are the optimum. A
floor or a cap on R_B couples them. The releases of a part are then the *columns* of a master program with a variable
for the share of each: minimise R_A of the mixture subject to the floors and caps. Its multipliers are prices; every
part is solved at these prices, which gives a new column and, with all parts, a bound (module `parts`). When bound and
value meet, the mixture is optimal. A mixture keeps every condition, since they are convex, and no Eve's risk is below
the mean of her risks: mixing two releases without saying which one was used pools their signals.

The columns of a part start with its optimum without prices and the null release, which meets every condition but a cap
on R_B. For that the least R_B is found first, in the same way, with lam = 0.

min_cell. A combination that is released too rarely is either forbidden, or it must be released often enough: a row of
the program of the whole study, if that is small. The choice is made by how often it is released, with several
thresholds, and single choices are then tried the other way round. The bound is that of the study without min_cell,
whatever the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp import Conditions, ConflictError, Problem, solve
from bap_lp.clock import check
from bap_lp.engines.solve import Infeasible, solve_program
from bap_lp.model.display import counted
from bap_lp.notions.base import LOOSE
from bap_lp.program.bound import Dual, Program, Rows
from bap_lp.program.finish import STOPPED, on_grid
from bap_lp.program.lowering import LoweredProblem
from bap_lp.proof.certificate import Certificate, reported
from bap_lp.proof.statement import statement_of
from bap_lp.rational import EXACT, Array, InputError, floats, is_exact, lifted, public, stated, taken
from bap_sdc.records.conditions.parts import Coupling, Prices, StudyPart, coupling, priced_program, study_parts
from bap_sdc.records.conditions.proof import PartsProof, PricedProof, StudyProof, sorted_rows
from bap_sdc.records.conditions.stated import COUPLING, StudyConditions
from bap_sdc.records.optimum.optimise import optimise
from bap_sdc.records.optimum.proof import bound_of
from bap_sdc.records.optimum.result import RecordOptimum, joint_table
from bap_sdc.records.optimum.risks import column_risks, eve_risk, record_lam, risks_of, summed

if TYPE_CHECKING:
    from bap_sdc.records.study import Study

Tell = Callable[[int, int], None]
_NEAR = 1e-10  # of what a release can change: a gap in floats that is not worth another round
_ROUNDS = 200  # of the master program
_SHARES = (EXACT.number("1/2"), EXACT.one, EXACT.zero)  # of min_cell, from which a rare combination is made frequent
_SMALL = 20_000  # probabilities of a study that is solved at once where combinations must be frequent
_BACK = 24  # choices that are tried the other way round


@dataclass(frozen=True, eq=False)
class _Column:
    """A release of a part as rows (record type, decision, q), with R_B and every Eve's risk there."""

    rows: tuple[Array, Array, Array]
    bob: Any
    eves: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class _Round:
    """Every part at some prices: releases, certificates, and the sum of the bounds; or a mixture of releases."""

    prices: Prices
    mix: list[_Column]
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
    task = _Task(study, asked, study_parts(study), price, exact, progress or (lambda *_: None))
    return task.optimum() if asked.min_cell is None else task.with_cells()


class _Excluded(InputError):
    """Conditions that exclude each other."""


class _Task:
    def __init__(
        self, study: Study, asked: StudyConditions, parts: Sequence[StudyPart], lam: Any, exact: bool, tell: Tell
    ) -> None:
        self.study, self.asked, self.parts, self.lam, self.exact, self.tell = study, asked, parts, lam, exact, tell
        self.program = study.program.lifted()
        self.weights = tuple(EXACT.number(spy.weight) for spy in study.spies)
        self.free = not asked.local
        if not self.free:
            self._sized()
        self.columns: list[list[_Column]] = [[] for _ in parts]
        # in floats a limit may be an attainable extreme, rounded; half of what the check allows is left for rounding
        self.limits = coupling(study, EXACT.zero if exact else LOOSE / 2)
        self.kept: Array | None = None  # decisions of the study that may be sent
        self.least = EXACT.zero if asked.min_cell is None else EXACT.number(asked.min_cell) / study.records
        self.stopped = False

    def _sized(self) -> None:
        """Refuse parts that are too large, before anything is built."""
        for part in self.parts:
            part.require()

    @cached_property
    def conditions(self) -> list[Conditions]:
        return [part.conditions() for part in self.parts]

    # one round: every part at some prices

    def _solved(self, lam: Any, prices: Prices) -> _Round:
        """The optimum of every part at these prices; its release becomes a column."""
        free = self.free and self.kept is None
        found = self._by_record(lam, prices) if free else self._by_part(lam, prices)
        for own, column in zip(self.columns, found.mix, strict=True):
            if all((old.bob, old.eves) != (column.bob, column.eves) for old in own):
                own.append(column)
        return found

    def _by_record(self, lam: Any, prices: Prices) -> _Round:
        """All parts at once, if nothing but prices binds them."""
        check()
        program, at = priced_program(self.study, lam, prices)
        best = optimise(program, at, self.exact, progress=self.tell)
        state, decision, rho = joint_table(best.components)
        q = rho / best.program.p[state]
        home = np.empty(len(best.program.p), dtype=np.int64)
        for k, part in enumerate(self.parts):
            home[part.states] = k
        order = np.argsort(home[state], kind="stable")
        cuts = np.searchsorted(home[state][order], np.arange(1, len(self.parts)))
        mix = [self._column(k, state[mine], decision[mine], q[mine]) for k, mine in enumerate(np.split(order, cuts))]
        return _Round(prices, mix, best, EXACT.number(best.bound))

    def _by_part(self, lam: Any, prices: Prices) -> _Round:
        """Part by part; where the optimum without conditions keeps them, it is the optimum with them."""
        alike = self.kept is None and self.asked.by_rows and not any(spy.informed > 1 for spy in self.study.spies)
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
                weights, at = prices.weights(self.study, lam)
                one = unbound.mix[k]
                eve = sum((w * r for w, r in zip(weights, one.eves, strict=True) if w), EXACT.zero)
                bound = bound + part.share * ((1 + prices.bob) * one.bob - at * eve)
                mix.append(one)
                certificates.append(unbound.certificates)
                continue
            only = np.arange(len(part.decisions)) if self.kept is None else self._allowed(part)
            problem, at = part.problem(lam, prices, None if self.kept is None else only)
            try:
                found = solve(problem, at, self.exact, conditions=self.conditions[k])
            except ConflictError as error:
                raise InputError(*self._named(error, part)) from None
            self.stopped = self.stopped or STOPPED in found.method
            q = found.certificate.channel
            assert q is not None
            x, s = np.nonzero(q != 0)
            mix.append(self._column(k, part.states[x], part.decisions[only[s]], EXACT.array(q[x, s])))
            certificates.append(found.certificate)
            bound = bound + part.share * EXACT.number(found.bound)
            self.tell(done, total)
        return _Round(prices, mix, certificates, bound)

    def _kept_by(self, part: StudyPart, one: _Column) -> bool:
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

    def _allowed(self, part: StudyPart) -> Array:
        """The decisions of a part that may be sent."""
        every = part.decisions
        return np.arange(len(every)) if self.kept is None else np.flatnonzero(np.isin(every, self.kept))

    def _column(self, k: int, state: Array, decision: Array, q: Array) -> _Column:
        rho = self.program.p[state] / self.parts[k].share * q
        bob = sum(column_risks(self.program.losses, self.program.codes, state, decision, rho), EXACT.zero)
        eves = self.study.by_eve([eve_risk(eve, state, decision, rho) for eve in self.program.eves])
        return _Column((state, decision, q), bob, eves)

    def _null(self, k: int) -> None:
        """The release of a part that always sends the decision that is best for Bob."""
        part = self.parts[k]
        p, types = self.program.p[part.states], self.study.prior.types[part.states]
        cost = EXACT.zeros(1)
        for table, column, own in zip(self.program.losses, self.study.published, part.levels, strict=True):
            cost = (cost[:, None] + p.dot(table[types[:, column]][:, list(own)])).ravel()
        best = min(self._allowed(part).tolist(), key=lambda i: cost[i])
        sent = np.full(len(p), part.decisions[best])
        self.columns[k].append(self._column(k, part.states, sent, EXACT.full(len(p), 1)))

    def _named(self, error: ConflictError, part: StudyPart) -> tuple[str, Any, str]:
        field = part.labels().get(error.field, error.field)
        return f"conditions.{field}", error.value, f"{error.rule} ({part.named()})"

    # the master program

    def optimum(self) -> StudyProof:
        """The optimum with its proof."""
        return self._proof(self._best())

    def _best(self) -> _Round:
        """The optimum; refuses a cap on R_B that the other conditions exclude."""
        for cap in (limit for limit in self.limits if limit.bob):
            last = self._joined(EXACT.zero, [limit for limit in self.limits if not limit.bob])
            least = sum((part.share * one.bob for part, one in zip(self.parts, last.mix, strict=True)), EXACT.zero)
            if least > cap.rhs:
                rule = "cannot be met: under the other conditions R_B is at least "
                rule += str(public(least)) if self.exact and len(str(least)) < 24 else f"{float(least):.9g}"
                raise _Excluded(f"conditions.{cap.name}", self.asked.types.max_bob_risk, rule)
        return self._joined(self.lam, self.limits)

    def _joined(self, lam: Any, limits: Sequence[Coupling]) -> _Round:
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

    def _master(self, lam: Any, limits: Sequence[Coupling]) -> tuple[list[_Column], Prices, Any]:
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
            found = solve_program(Program(EXACT.full(shape[0], 1), cost, (), tuple(rows)), allowed=allowed)
        except Infeasible:
            raise _Excluded("conditions", None, "cannot be met together") from None
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
            mix.append(self._column(k, place[:, 0], place[:, 1], summed(q, at.ravel(), len(place))))
        return mix, prices, found.value

    def _enough(self) -> Any:
        return EXACT.zero if self.exact else self._near()

    def _near(self) -> Any:
        """A gap in floats that is small."""
        bob = sum((table.max() for table in self.program.losses), EXACT.zero)
        eve = sum((eve.weight * eve.loss.max() for eve in self.program.eves), EXACT.zero)
        return EXACT.number(_NEAR) * (bob + self.lam * eve)

    def _proof(self, last: _Round, mix: Sequence[_Column] | None = None) -> StudyProof:
        """The certificates at the prices, with the releases of the mixture in place of their own."""
        mix = mix or last.mix
        how = f"{'exact' if self.exact else 'in floats'}{f', {STOPPED}' if self.stopped else ''}"
        if isinstance(last.certificates, RecordOptimum):
            best = _mixed(last.certificates, mix)
            method = f"components with priced decisions, at the prices of the conditions, {how}"
            return PricedProof.of(self.study, self.lam, last.prices, method, best=best)
        made = []
        for k, (part, certificate, one) in enumerate(zip(self.parts, last.certificates, mix, strict=True)):
            place, (x, i, q) = np.argsort(part.decisions), one.rows
            channel = EXACT.zeros((len(part.states), len(part.decisions)))
            row = np.argsort(part.states)[np.searchsorted(np.sort(part.states), x)]
            channel[row, place[np.searchsorted(part.decisions[place], i)]] = q
            problem, at = part.problem(self.lam, last.prices)
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
        return PartsProof.of(self.study, self.lam, last.prices, method, **proof)

    def _certificate(self, k: int, problem: Problem, lam: Any, best: RecordOptimum) -> Certificate:
        """The replies of the optimum without conditions in a part: they prove the same bound with conditions."""
        decisions, knows = self.parts[k].decisions, [bool(spy.knows) for spy in self.study.spies]
        tables = [best.replies_at(decisions, n, int(z) if knows[n] and z else 0) for n, z in problem.eve_views]
        at, zero = (lam if self.exact else float(lam)), public(EXACT.zero)
        dual = Dual({"eve": np.hstack(tables)}, {})
        return Certificate((at,), zero, zero, None, dual, self.exact, self.conditions[k])

    def with_cells(self) -> StudyProof:
        """The release in which no combination is rarer than min_cell, with the bound of the study without it."""
        relaxed = self._best()
        first = self._proof(relaxed)
        if not self._rare(first):
            return first
        self._sized()
        tried = [self._decided(relaxed, first, {}, share) for share in _SHARES]
        known = [one for one in tried if one is not None]
        if not known:
            rule = "is not met by any choice of cells that was tried, together with the other conditions"
            raise InputError("conditions.min_cell", self.asked.min_cell, rule)
        best, choice = min(known, key=lambda one: one[0].value)
        left, todo = _BACK, list(reversed(choice))
        while todo and left:
            cell, left = todo.pop(0), left - 1
            other = self._decided(relaxed, first, {**choice, cell: not choice[cell]}, _SHARES[0])
            if other is not None and other[0].value < best.value:
                best, choice = other
                todo = [i for i in choice if i != cell]
        return best

    def _rare(self, found: StudyProof) -> dict[int, Any]:
        """The combinations that are sent too rarely, and how often they are, the rarest first."""
        used, mass = found.cells
        rare = [(m, i) for m, i in zip(mass, used.tolist(), strict=True) if m < self.least]
        return {i: m for m, i in sorted(rare, key=lambda pair: (float(pair[0]), pair[1]))}

    def _decided(
        self, relaxed: _Round, found: StudyProof, choice: dict[int, bool], share: Any
    ) -> tuple[StudyProof, dict[int, bool]] | None:
        """A release without rare combinations, and the choice for each: often enough (true), or never.

        choice: what is chosen already. Others are sent often enough if they have this share of it.
        """
        choice, made = dict(choice), None if choice else found
        while made is None or self._rare(made):
            rare = [(i, m) for i, m in self._rare(made).items() if i not in choice] if made is not None else []
            if made is not None and not rare:
                return None
            for i, m in rare[: (len(rare) + 1) // 2]:  # the others may become frequent, or rarer
                choice[i] = self.small and bool(m >= share * self.least)
            made = self._on_cells(relaxed, choice)
            if made is None:
                return None
        return made, choice

    def _on_cells(self, relaxed: _Round, choice: dict[int, bool]) -> StudyProof | None:
        """The optimum under a choice, with the bound of all; None if the other conditions exclude it."""
        never = [i for i, often in choice.items() if not often]
        self.kept = np.setdiff1d(np.arange(self.study.decisions), never)
        self.columns = [[] for _ in self.parts]
        try:
            mix = self._at_once([i for i, often in choice.items() if often]) if self.small else self._best().mix
            return self._proof(relaxed, mix)
        except (_Excluded, Infeasible):
            return None

    @property
    def small(self) -> bool:
        """Whether the whole study fits one program, in which combinations can be made frequent."""
        return len(self.study.prior.types) * self.study.decisions <= _SMALL

    def _at_once(self, often: Sequence[int]) -> list[_Column]:
        """The optimum of the whole study in one program, with a row for every combination that must be frequent."""
        check()
        study, given = self.study, self.asked.types.given()
        levels = tuple(tuple(range(n)) for n in self.program.levels)
        whole = StudyPart(study, np.arange(len(study.prior.types)), levels)
        limits = {name: value for name, value in given.items() if name in COUPLING}
        asked = replace(whole.conditions(), **limits)
        problem = whole.problem(self.lam, Prices())[0]
        problem = (problem if self.exact else problem.as_float()).exactly
        layout = LoweredProblem.of(problem, asked.demands(problem))
        program, rows = layout.whole_program(self.lam), []
        signals, eves = np.arange(program.shape[1]), np.array([n for n, _ in problem.eve_views])
        for limit in (one for one in self.limits if one.name.startswith("floor ")):
            n = int(limit.name.removeprefix("floor "))
            s, g = (own.ravel() for own in np.meshgrid(signals, np.flatnonzero(eves == n)))
            terms = ("eve", 0 * s, s, g, EXACT.full(len(s), 1 / self.weights[n]))
            rows.append(Rows(limit.name, EXACT.full(1, limit.rhs), None, (terms,)))
        states = np.arange(program.shape[0])
        for i in often:
            entries = 0 * states, states, 0 * states + i, -problem.p
            rows.append(Rows(f"cell {i}", EXACT.full(1, -self.least), entries))
        assert self.kept is not None
        allowed = np.broadcast_to(np.isin(signals, self.kept), program.shape)
        full = replace(program, rows=(*program.rows, *rows))
        q = solve_program(full, exact=self.exact, near=float(self._near()), allowed=allowed).rho
        out = []
        for k, part in enumerate(self.parts):
            x, s = np.nonzero(q[part.states] != 0)
            out.append(self._column(k, part.states[x], s, q[part.states][x, s]))
        return out


def _mixed(best: RecordOptimum, mix: Sequence[_Column]) -> RecordOptimum:
    """An optimum with another release, which is one too; in floats its probabilities are multiples of 2^-52."""
    x, i, q = sorted_rows(*(np.concatenate([one.rows[at] for one in mix]) for at in range(3)))
    if not best.exact:
        place = np.arange(len(x)) - np.searchsorted(x, x)
        wide = np.zeros((len(best.program.p), int(place.max()) + 1))
        wide[x, place] = floats(q)
        q = lifted(on_grid(wide)[x, place])
    program, parts = best.program, []
    home, place = np.empty(len(program.p), dtype=np.int64), np.empty(len(program.p), dtype=np.int64)
    for k, part in enumerate(best.components):
        home[part.states], place[part.states] = k, np.arange(len(part.states))
    for k, part in enumerate(best.components):
        mine = np.flatnonzero((home[x] == k) & (q != 0))
        rows = {"row": place[x[mine]], "decision": i[mine], "rho": program.p[x[mine]] * q[mine]}
        parts.append(replace(part, **rows))
    lam = EXACT.number(best.lam)
    bound = EXACT.number(best.bound) if best.exact else bound_of(program, parts, lam)
    columns, eves, bob, eve = risks_of(program, *joint_table(parts))
    value, least, gap = reported(bob - lam * eve, bound, best.exact)
    told: dict[str, Any] = {"bob": stated(bob, best.exact), "eve": stated(eve, best.exact)}
    told |= {name: tuple(stated(v, best.exact) for v in own) for name, own in (("eves", eves), ("columns", columns))}
    return replace(best, components=tuple(parts), value=value, bound=least, gap=gap, **told)
