"""solve over a set of priors: the mechanism with the least worst R_A, where Bob follows the signal and Eve knows p.

A tuple t of Eve's replies asks that v >= p.c_t for all priors of the set at once (`program.worst_prior`). The inner
maximum is written by its dual (`credal.DualForm`), v >= base.c_t + cost.y with rows.y >= forms.c_t, and c_t is linear
in q: a block of rows. Few tuples bind. The program over some of them has the value v and a channel q; the replies to
the worst prior of q are a further tuple, until no prior makes R_A(p, q) larger than v. Floats find the tuples, and the
exact program over them ends at a gap of zero. The multiplier of v's row is the weight of the tuple, and those of the
other rows are its prior, a point of the set by construction. Where the exact program would be too large, the float
channel is published as the fractions it is, and the gap, an exact number, is stated.

The vertices of a hull are scenarios of one program, and those that count are listed. support(c) of a general polytope
is a linear program for each c, and every multiplier y that proves a support is kept, for the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.engines.driver import inner_channel, nearest_table, optimise
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.exact_simplex import Infeasible
from bap_lp.engines.linear.highs import SolverError, Start, basic_flags, loaded_program, run, set_basis
from bap_lp.engines.linear.linear_optimum import optimum
from bap_lp.engines.linear.linear_program import LinearProgram, ProgramBuilder
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import Dual, Program
from bap_lp.program.credal import Credal, Extreme, Hull, Polytope, Transport
from bap_lp.program.finish import STOPPED, feasible, priced
from bap_lp.program.lowering import signals_of
from bap_lp.program.prior_set import PriorSet
from bap_lp.program.worst_prior import (
    NODES,
    ROWS,
    Oracle,
    Search,
    conditions_program,
    listed_program,
    most_nodes,
    replies_at,
    risks_under,
    told,
)
from bap_lp.proof.certificate import Certificate, reported
from bap_lp.proof.prior_proofs import refuse_beliefs
from bap_lp.questions.optimum.asked import AskedProblem, exactly
from bap_lp.questions.optimum.conflicts import refusal
from bap_lp.questions.optimum.solution import Solution, mechanism_on
from bap_lp.support.clock import OutOfTime, SolveProgress
from bap_lp.support.display import counted
from bap_lp.support.rational import EXACT, Array, InputError, field_of, float_above, floats, lifted, public, taken
from bap_lp.support.rational import stated as as_stated
from bap_lp.support.risks import Risks

_MOST_ENTRIES = 400_000  # of the exact program over tuples
_MOST_TABLE = 200_000  # probabilities of the channel
_FEW = 2000  # probabilities up to which an exact program finds the nearest channel that meets the conditions
_ROUNDS = 400
_CLOSE = 1e-11  # of the losses: a violation that floats do not see
_NODES = 20_000  # of a search in floats
_LAST = 5_000  # nodes of a search after the time is over
_LEAST = 1e-12  # weights of tuples below this are rounding
_FIRST, _MORE = 8, 3  # vertices of a hull to start with, and that are added at a time
_TIGHT = 1e-9  # of a row of a polytope: what is closer to its limit is at it
NO_ROOM = "leave no room for rounding over this set of priors: give exact numbers, or looser conditions"


def solve_over_priors(
    problem: Problem,
    lam: Any,
    exact: bool | None,
    conditions: Conditions,
    priors: PriorSet,
    progress: SolveProgress | None = None,
) -> Solution:
    """Minimise the worst R_A over the priors of a set, over all mechanisms or those that satisfy the conditions."""
    refuse_beliefs(problem, conditions)
    if exact and not priors.exact:
        raise InputError("priors", None, 'must be exact, such as "1/20", for an exact solution')
    exact = exactly(problem, lam, None if exact is None and not priors.exact else exact, conditions) and priors.exact
    problem = problem if exact else problem.as_float()
    price, credal = taken(lam, exact), priors.on(problem.exactly.p, exact)
    N, b, _ = problem.shape
    if N * b > _MOST_TABLE:
        raise InputError("priors", None, f"need {N} x {b} probabilities, more than {_MOST_TABLE}")
    _require_losses(problem, credal)
    best = _Task.of(problem, price, conditions, credal, exact).solution(priors, progress)
    if conditions.empty:
        return best
    free = _Task.of(problem, price, Conditions(), credal, exact)
    return replace(best, without=free.solution(priors, progress).value)


def _require_losses(problem: Problem, credal: Credal) -> None:
    """Refuse a state that a prior of the set may have and whose losses are not defined."""
    if problem.theta is None:
        return
    _some_prior(credal)
    for x in np.flatnonzero(problem.exactly.p == 0).tolist():
        one = EXACT.zeros(len(problem.p))
        one[x] = EXACT.one
        if _ExactOracle(credal)(one)[0] > 0:
            rule = f"reach state {problem.states[x]}, which has probability zero and so no posterior of the parameter"
            raise InputError("priors", None, rule)


# support(c)


def _program(A: Array, b: Array) -> LinearProgram:
    """p >= 0 with sum 1 and A p <= b; minimise 0."""
    make, (m, N) = ProgramBuilder(field_of(A)), A.shape
    p = make.columns(N)
    make.rows(1, [(0 * p, p, field_of(A).one)], field_of(A).one, equality=True)
    make.rows(m, [(np.arange(m)[:, None], p, A)], b)
    return make.build()


class _ExactOracle:
    """support in rationals; `proofs` are the multipliers of a polytope, by the text of them."""

    def __init__(self, credal: Credal) -> None:
        self.credal, self.proofs = credal, dict[str, Array]()
        self.lp = _program(credal.A, credal.b) if isinstance(credal, Polytope) else None

    def __call__(self, c: Array) -> Extreme:
        if self.lp is None:
            return self.credal.support(c)
        found = optimum(self.lp.on_columns(np.ones(len(c), dtype=bool), -c))
        y = -found.y[1:]
        self.proofs[str(y.tolist())] = y
        return c.dot(found.z), found.z, None


def _float_oracle(credal: Credal) -> Oracle:
    if not isinstance(credal, Polytope):
        return credal.support
    highs, x = loaded_program(_program(credal.A, credal.b)), np.arange(credal.states, dtype=np.int32)

    def support(c: Array) -> Extreme:
        highs.changeColsCost(len(x), x, -c)
        run(highs)
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise ArithmeticError("HiGHS found no worst prior of the polytope")
        p = np.maximum(np.array(highs.getSolution().col_value), 0.0)
        p = p / p.sum()
        return p.dot(c), p, None

    return support


def _some_prior(credal: Credal) -> Array:
    """A prior of the set; refuses an empty polytope."""
    try:
        p = _ExactOracle(credal)(EXACT.zeros(credal.states))[1]
    except Infeasible:
        raise InputError("priors.polytope", None, "is empty: no distribution meets A p <= b") from None
    assert p is not None
    return p


def _near(credal: Credal, p: Array, moved: Array | None) -> tuple[Array, Array | None]:
    """The prior of the set, in rationals, that floats mean.

    Of a polytope it is a point of the face of the rows that are tight there: there alone their sum is largest.
    """
    if not isinstance(credal, Polytope):
        return credal.near(np.maximum(p, 0.0), None if moved is None else np.maximum(moved, 0.0))
    A, b = floats(credal.A), floats(credal.b)
    sizes = np.abs(A).max(axis=1, initial=0.0) + (A == 0).all(axis=1)
    tight = A @ p >= b - _TIGHT * sizes
    inward = (A[tight] / sizes[tight, None]).sum(axis=0) - (p <= _TIGHT)
    found = _ExactOracle(credal)(lifted(inward))[1]
    assert found is not None
    return found, None


# tuples


@dataclass(frozen=True, eq=False)
class _Weighed:
    """A prior of the set with its weight, how mass is moved to it, if that is told, and replies of Eve."""

    weight: Any
    prior: Array
    moved: Array | None
    replies: Array


@dataclass(frozen=True, eq=False)
class _Found:
    """A channel, multipliers of the conditions, and priors of the set with their weights and Eve's replies."""

    q: Array
    dual: Dual
    listed: list[_Weighed]
    value: Any = None
    how: str = ""
    stopped: bool = False


class _Tuples:
    """The least v over tuples of replies, in the numbers of the arrays, and the tuples that are worse."""

    def __init__(self, base: Program, arrays: Arrays, lam: Any, credal: Credal, oracle: Oracle) -> None:
        self.base, self.arrays, self.lam, self.credal, self.oracle = base, arrays, lam, credal, oracle
        self.dual, self.least = credal.dual_form(), EXACT.zero if base.field.exact else _LEAST
        self.replies: list[Array] = []
        self.found: _Found | None = None
        self.rounds = 0
        self.basis: tuple[Array, Array] | None = None

    def run(self, replies: Sequence[Array], close: Any, progress: Callable[[int, Any, Any], None]) -> bool:
        """Whether v is the least worst R_A but for `close`."""
        self.replies = [*replies]
        for self.rounds in range(1, _ROUNDS + 1):
            self.found = found = self._solve()
            search = Search(self.arrays, self.lam, found.q, self.oracle, found.listed[0].prior, self.credal)
            ends = search.climb(one.prior for one in found.listed)
            if not search.best > found.value + close:
                search.run(nodes=NODES if self.base.field.exact else _NODES)
                ends = [(search.best, search.prior)]
            progress(self.rounds, found.value, search.best)
            if not search.best > found.value + close:
                return True
            more = [replies_at(self.arrays, p, found.q) for value, p in ends[:_MORE] if value > found.value + close]
            new = {t.tobytes(): t for t in more if not any((t == own).all() for own in self.replies)}
            if not new:
                return False  # rounding
            self.replies += new.values()
        return False

    def _solve(self) -> _Found:
        places: list[tuple[slice, slice]] = []

        def blocks(make: ProgramBuilder, rho: Array) -> None:
            dual, s, one = self.dual, np.arange(rho.shape[1]), self.base.field.one
            (row, x, value), (at, of, amount) = dual.forms, dual.rows
            v = make.columns(1, one, free=True)
            for t in self.replies:
                losses = told(self.arrays, self.lam, t)
                y = np.append(make.columns(dual.free, free=True), make.columns(len(dual.cost) - dual.free))
                top = make.rows(1, [(0, rho, dual.base[:, None] * losses), (0, y, dual.cost), (0, v, -one)])
                forms = row[:, None], rho[x[:, None], s], value[:, None] * losses[x]
                places.append((top, make.rows(dual.count, [forms, (at, y[of], -amount)])))

        form = LinearForm.of(self.base, blocks)
        z, y, how = self._optimum(form.lp)
        listed = []
        for t, (top, rows) in zip(self.replies, places, strict=True):
            weight, own = -y[top][0], -y[rows]
            if weight > self.least:
                moved = own.reshape(self.dual.base.shape * 2) / weight if isinstance(self.credal, Transport) else None
                listed.append(_Weighed(weight, self.dual.prior(own, weight), moved, t))
        if not listed:
            raise SolverError("no tuple weighs anything")
        q = z[form.rho]
        if not self.base.field.exact:
            q = np.maximum(q, 0.0)
            q = q / q.sum(axis=1, keepdims=True)
        value = form.lp.cost.dot(z)
        return _Found(q, form.dual(y), sorted(listed, key=lambda one: -one.weight), value, how)

    def _optimum(self, lp: LinearProgram) -> tuple[Array, Array, str]:
        """From the last basis: a tuple adds columns, and rows that are basic."""
        (m, n), start = lp.shape, None
        if self.basis is not None:
            columns, rows = self.basis
            more = np.zeros(n - len(columns), dtype=bool), np.ones(m - len(rows), dtype=bool)
            start = np.concatenate([columns, more[0], rows, more[1]])
        if lp.field.exact:
            if len(lp.value) > _MOST_ENTRIES:
                raise SolverError("the program over the tuples is too large to be solved exactly")
            found = optimum(lp, start=None if start is None else Start(np.flatnonzero(start)))
            flags = ~lp.outside(found.basic)
            self.basis = flags[:n], flags[n:]
            return found.z, found.y, found.how
        highs = loaded_program(lp)
        if start is not None:
            set_basis(highs, start)
        run(highs)
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise SolverError("HiGHS found no optimum over the tuples")
        flags, point = basic_flags(highs), highs.getSolution()
        self.basis = (flags[:n], flags[n:]) if len(flags) else None
        return np.array(point.col_value), np.array(point.row_dual), "HiGHS simplex"


def _sized(arrays: Arrays, lam: Any) -> tuple[Arrays, float, float]:
    """Losses in floats, shifted to start at zero and scaled such that Bob's, and lam times Eve's, are about one.

    Also the numbers that bring R_A back: the scale, and what is then added. A shift of all losses of an agent changes
    R_A by a constant, whatever the prior is.
    """
    E = arrays.E.copy()
    for g in arrays.groups:
        E[:, g] = E[:, g] - E[:, g].min()
    B = arrays.B - arrays.B.min()
    scale = max(B.max(), lam * E.max())
    scale = scale if scale > 0 else EXACT.one
    own = Arrays(floats(arrays.p), floats(B / scale), floats(lam * E / scale), arrays.groups)
    shift = arrays.B.min() - lam * sum((arrays.E[:, g].min() for g in arrays.groups), EXACT.zero)
    return own, float(scale), float(shift)


@dataclass(frozen=True, eq=False)
class _Task:
    problem: Problem
    arrays: Arrays
    lam: Any
    conditions: Conditions
    credal: Credal
    exact: bool
    base: Program

    @classmethod
    def of(cls, problem: Problem, lam: Any, conditions: Conditions, credal: Credal, exact: bool) -> _Task:
        whole = problem.exactly
        base = conditions_program(whole.arrays, signals_of(whole, False), conditions.demands(whole))
        return cls(problem, whole.arrays, lam, conditions, credal, exact, base)

    def solution(self, priors: PriorSet, progress: SolveProgress | None) -> Solution:
        if any(len(rows) for rows in self.base.rows):
            try:
                optimise(self.base, exact=False, near=1.0)
            except Infeasible:
                raise refusal(AskedProblem.of(self.problem, self.conditions, self.exact)) from None
        found = self._over_vertices(self.credal.vertices) if isinstance(self.credal, Hull) else self._found(progress)
        return self.conclude(found, priors)

    def _over_vertices(self, vertices: Array) -> _Found:
        """A hull has finitely many vertices, scenarios of one program; those that count are few, and are added."""
        near = EXACT.zero if self.exact else EXACT.number(1e-10 * float(self.arrays.spread(self.lam)))
        used = list(range(min(len(vertices), _FIRST)))
        while True:
            program = listed_program(self.base, self.arrays, self.lam, vertices[used])
            pair = optimise(program, exact=self.exact, near=float(near))
            risks = (risks_under(self.arrays, p, pair.rho) for p in vertices)
            values = [bob - self.lam * eve for bob, eve in risks]
            worse = [k for k, value in enumerate(values) if k not in used and value > pair.value + near]
            if not worse:
                break
            used += sorted(worse, key=lambda k: -values[k])[:_MORE]
        replies, weights = dict(pair.dual.replies), dict(pair.dual.weights)
        shares = weights.pop(ROWS).tolist()
        listed = [_Weighed(shares[k], vertices[x], None, replies.pop(f"eve {k}")) for k, x in enumerate(used)]
        return _Found(pair.rho, Dual(replies, weights), listed, how=pair.how)

    def _found(self, progress: SolveProgress | None) -> _Found:
        start, flat = _some_prior(self.credal), self.credal.rounded
        arrays, scale, shift = _sized(self.arrays, self.lam)
        rough = _Tuples(self.base.rounded, arrays, 1.0, flat, _float_oracle(flat))
        uniform = np.full(self.base.shape, 1 / self.base.shape[1])

        def shown(rounds: int, low: float, high: float) -> None:
            if progress is not None:
                progress(rounds, scale * low + shift, scale * high + shift)

        found: _Found | None = None
        stopped = False
        try:
            if not self._ended(rough, [replies_at(arrays, floats(start), uniform)], _CLOSE, shown) or self.exact:
                found = self._closed(rough)
        except OutOfTime:
            if self.exact or rough.found is None:  # an exact optimum has nothing to show before the end
                raise
            stopped = True
        return self._bracketed(rough, scale, stopped) if found is None else found

    def _ended(self, tuples: _Tuples, *how: Any) -> bool:
        try:
            return tuples.run(*how)
        except (SolverError, ArithmeticError):
            return False

    def _closed(self, rough: _Tuples) -> _Found | None:
        """The exact optimum over the tuples; None if it is too large."""
        tuples = _Tuples(self.base, self.arrays, self.lam, self.credal, _ExactOracle(self.credal))
        tuples.basis = rough.basis
        if not self._ended(tuples, rough.replies, 0, lambda *_: None) or tuples.found is None:
            return None
        found = tuples.found
        listed = [replace(one, replies=self._paid(one.replies, one.weight)) for one in found.listed]
        return replace(found, listed=listed, how=f"{counted(len(tuples.replies), 'tuple')} of replies, {found.how}")

    def _paid(self, replies: Array, weight: Any) -> Array:
        """The table of replies, signals x columns, with lam times the weight on the chosen ones."""
        out = EXACT.zeros((self.base.shape[1], self.arrays.E.shape[1]))
        out[np.arange(len(out))[:, None], replies] = self.lam * weight
        return out

    def _bracketed(self, rough: _Tuples, scale: float, stopped: bool) -> _Found:
        """The float channel and the tuples that weigh, as fractions."""
        found = rough.found
        q = None if found is None else feasible(self.base, found.q, map(inner_channel, (self.base,)))
        if found is not None and q is None and found.q.size <= _FEW:  # conditions at their edge leave no room
            q = nearest_table(self.base, found.q)
        if found is None or q is None:
            raise InputError("conditions", None, NO_ROOM)
        shares = [EXACT.number(float(one.weight)) for one in found.listed]
        total = sum(shares, EXACT.zero)
        listed = [
            _Weighed(w / total, *_near(self.credal, one.prior, one.moved), self._paid(one.replies, w / total))
            for w, one in zip(shares, found.listed, strict=True)
        ]
        how = f"{counted(rough.rounds, 'round')} of tuples" + (f", {STOPPED}" if stopped else "")
        return _Found(q, found.dual.each(lambda table: scale * table), listed, how=how, stopped=stopped)

    def _worst(self, found: _Found) -> tuple[Search, Any, Array | None]:
        """The worst prior of the channel, what is proved to be above all, and the proofs of a polytope."""
        nodes, timed = most_nodes(self.credal), not found.stopped
        nodes = nodes if timed else min(nodes, _LAST)
        start = max(found.listed, key=lambda one: one.weight)
        prior, moved = start.prior, start.moved
        while True:  # a check starts at the worst prior
            oracle = _ExactOracle(self.credal)
            search = Search(self.arrays, self.lam, found.q, oracle, prior, self.credal)
            search.moved = moved
            search.climb()
            top = search.run(nodes=nodes, timed=timed) if search.prior is prior else None
            if search.prior is prior:
                break
            prior, moved = search.prior, search.moved
        return search, top, np.array(list(oracle.proofs.values())) if isinstance(self.credal, Polytope) else None

    def conclude(self, found: _Found, priors: PriorSet) -> Solution:
        """The solution with its certificate: both ends in rationals, from the channel and the listed priors."""
        search, top, proofs = self._worst(found)
        parts = [_Weighed(EXACT.zero, search.prior, search.moved, 0 * found.listed[0].replies)]
        for one in found.listed:
            k = next((k for k, other in enumerate(parts) if (other.prior == one.prior).all()), None)
            if k is not None:
                own = parts[k]
                parts[k] = replace(own, weight=own.weight + one.weight, replies=own.replies + one.replies)
            elif one.weight:
                parts.append(one)
        listed = np.array([one.prior for one in parts])
        program = listed_program(self.base, self.arrays, self.lam, listed)
        replies = {f"eve {k}": one.replies for k, one in enumerate(parts)}
        weights = EXACT.list(one.weight for one in parts)
        dual = Dual({**found.dual.replies, **replies}, {**found.dual.weights, ROWS: weights})
        dual = priced(program, program.completed(dual))
        bound, exact = program.bound(dual), self.exact
        attained = bool(top == search.best)
        if not attained and not exact:
            top = EXACT.number(float_above(top))
        value, least, gap = reported(top, bound, exact)
        bob, eve = (v if exact else float(v) for v in risks_under(self.arrays, search.prior, found.q))
        moves = [one.moved for one in parts if one.moved is not None]
        problem, at = self.problem, as_stated(self.lam, exact)
        certificate = Certificate(
            (at,), value, gap, found.q, dual, exact, self.conditions, kind="priors", prior=problem.exactly.p,
            priors=priors, listed=listed, witness=np.concatenate(moves) if moves else proofs,
        )  # fmt: skip
        mechanism = mechanism_on(found.q, problem.bob_decisions, problem.states, "smallest worst case", exact)
        return Solution(
            problem, at, value, mechanism, Risks.summed(bob, eve, 1), least, gap,
            f"worst prior of a set, {found.how}", certificate,
            worst_prior=public(search.prior if exact else floats(search.prior)), attained=attained,
        )  # fmt: skip
