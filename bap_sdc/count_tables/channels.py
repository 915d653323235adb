"""The risks of a release that changes every cell on its own, without ever writing down its channel.

At the published table s an agent loses min_d sum_x P(x) q_1(s_1|x_1) ... q_k(s_k|x_k) L(x,d), and the risk is the sum
over s: `sums`. An agent who knows the table y of the others carries y along as one more coordinate.

All cells have to be carried along, also those that nobody asks about: their published values say something about the
others, because the counts sum to n and because the shares are uncertain. Cells that no question distinguishes, however,
form one part. The law of what they show depends only on its total.

In floats every term is non-negative, so after k sums of at most n + 1 products each number is off by at most about
k (n + 4) ulp of itself.

Let A be such a part, with x_A people. Given x_A the counts inside are independent of everything else, so what the
cells of A show, s_A, depends on the table through x_A. With w_i(m) = (a_i)_m / m!,

    q_A(s_A | m)  is proportional in s_A to  the coefficient of z^m in prod_{i in A} f_{i,s_i}(z),
    f_{i,o}(z) = sum_m w_i(m) q(o|m) z^m.

Two outputs s_A whose products are proportional say the same about x_A and are taken together; among cells with equal
alphas the order of what they show never matters. So a part is one cell, with fewer outputs than its cells together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpz, fmpz_poly

from bap_lp import InputError, Risks
from bap_lp.support.rational import EXACT, Array, common_denominator, floats, objects, public
from bap_sdc.count_tables.disclosure import Person
from bap_sdc.count_tables.layout import Set
from bap_sdc.count_tables.problems import CountModel
from bap_sdc.count_tables.protections import Protection
from bap_sdc.count_tables.questions import exact_number, rational_rows, rounded
from bap_sdc.count_tables.spaces import Population, Space, space_of, urn_weights
from bap_sdc.count_tables.sums import TooLarge, exact_risks, forwards, passes, pooled, scaled

_MOST_PRODUCTS = 300_000  # of polynomials of degree n: some ten seconds for n = 40


def part_law(population: Population, part: Set, law: Array) -> Array:
    """q_A(o|m) for m = 0..n from the law of a single cell."""
    if len(part) == 1:
        return law
    n, (whole, _) = population.n, scaled(law)
    known: dict[tuple[fmpz, ...], fmpz] = {(fmpz(1),): fmpz(1)}
    left = _MOST_PRODUCTS
    for i in sorted(part):
        weights = urn_weights(population.alpha[i], n)
        shown = [fmpz_poly((weights * column).tolist()) for column in whole.T]
        left -= len(known) * len(shown)
        if left < 0:
            raise TooLarge
        following: dict[tuple[fmpz, ...], fmpz] = {}
        for coefficients, times in known.items():
            before = fmpz_poly(list(coefficients))
            for factor in shown:
                product = before.mul_low(factor, n + 1)
                if not product.is_zero():
                    content = product.content()
                    key = tuple((product // content).coeffs())
                    following[key] = following.get(key, fmpz(0)) + times * content
        known = following
    out = EXACT.zeros((n + 1, len(known)))
    for o, (coefficients, times) in enumerate(known.items()):
        out[: len(coefficients), o] = [fmpq(c * times) for c in coefficients]
    return out / out.sum(axis=1)[:, None]


_MOST_PEOPLE = 2000  # of a law with a row for every count
_MOST_EXACT = 4_000_000  # losses, of all tables and decisions, that are kept as integers
_DENSE_MOST, _DENSE_WORK = 20_000_000, 2e10  # entries of a tensor of all published tables, and products


_Agent = tuple[str, Any, Array, Array]  # role, weight, rows of losses, the row that holds in each case


@dataclass(frozen=True, eq=False)
class _Cases:
    """Agents with the same knowledge: a row for every possible case, with P(x) L(x,d), and the columns of each agent.

    `codes` has a number for every cell; `known` is what the agents know besides. If they know the table y of the
    others, the code of a cell is 2 y_i for a count of y_i and 2 y_i + 1 for y_i + 1, otherwise it is the count itself.
    """

    known: Array
    codes: Array
    aware: bool
    rough: Array  # P(x) L(x,d) in floats
    values: Array | None  # times unit, in integers, if exact
    unit: Any
    agents: list[tuple[str, Any, slice]]


class Evaluator:
    """Evaluates releases of the tables of a model; what they share is computed once."""

    def __init__(self, model: CountModel, exact: bool) -> None:
        self.model = model
        self.parts = space_of(model.population, model.parts)
        self.exact = exact and not model.floats
        self.error = {"bob": 0.0, "eve": 0.0}
        self.relative = (len(model.layout.cells) * (model.population.n + 4) + 100) * 2.0**-52
        self._cases = list(self._all_cases())

    def risks(self, protection: Protection) -> Risks:
        """R_B and R_E: exact if the model is and published tables are not too many, else floats with their error."""
        if self.model.population.n > _MOST_PEOPLE:
            raise InputError(
                protection.title, None, f"{self.model.population.n:,} people are more than {_MOST_PEOPLE:,}"
            )
        law = protection.matrix(self.model.population.n)
        try:
            laws = [self._laws(cases, law) for cases in self._cases]
            if self.exact:
                try:
                    return self._exact(laws)
                except TooLarge:
                    pass
            return self._rounded(laws)
        except TooLarge:
            rule = "the tables have too many published versions to be summed"
            raise InputError(protection.title, None, rule) from None

    def _exact(self, laws: list[list[Array]]) -> Risks:
        total = {"bob": fmpq(0), "eve": fmpq(0)}
        for cases, q in zip(self._cases, laws, strict=True):
            steps = list(passes(cases.known, cases.codes, q, True))
            scale = fmpq(math.prod(int(scaled(step.chances)[1]) for step in steps))
            columns = [where for _, _, where in cases.agents]
            assert cases.values is not None
            found = exact_risks(steps, cases.rough, cases.values, columns, self.relative)
            for (role, weight, _), risk in zip(cases.agents, found, strict=True):
                total[role] += weight * fmpq(risk) / (cases.unit * scale)
        return Risks(public(total["bob"]), public(total["eve"]))

    def _rounded(self, laws: list[list[Array]]) -> Risks:
        total = {"bob": 0.0, "eve": 0.0}
        for cases, q in zip(self._cases, laws, strict=True):
            if not cases.aware and self._dense(q, cases.rough.shape[1]):
                found = list(self._by_tensors(cases, [floats(part) for part in q]))
            else:
                table = forwards(passes(cases.known, cases.codes, q, False), cases.rough)
                found = [float(table[:, where].min(axis=1).sum()) for _, _, where in cases.agents]
            for (role, weight, _), risk in zip(cases.agents, found, strict=True):
                total[role] += float(weight) * risk
        errors = {role: self.relative * total[role] + self.error[role] for role in total}
        return Risks(total["bob"], total["eve"], errors["bob"], errors["eve"])

    def _laws(self, cases: _Cases, law: Array) -> list[Array]:
        """For every cell or part the law of what it shows, a row for every code, equivalent outputs taken together.

        An agent who knows the others compares only two counts of a cell, y_i and y_i + 1.
        """
        if not cases.aware:
            out = []
            for column, part in zip(cases.codes.T, self.model.parts, strict=True):
                counts = np.unique(column)
                few = pooled(part_law(self.model.population, part, law)[counts])
                out.append(EXACT.zeros((len(law), few.shape[1])))
                out[-1][counts] = few
            return out
        pairs = [pooled(law[[m, m + 1]]) for m in range(len(law) - 1)]
        both = EXACT.zeros((2 * len(pairs), max(few.shape[1] for few in pairs)))
        for m, few in enumerate(pairs):
            both[2 * m : 2 * m + 2, : few.shape[1]] = few
        return [both] * cases.codes.shape[1]

    def _dense(self, q: list[Array], decisions: int) -> bool:
        """Whether most published tables may occur, and a tensor of all of them is small enough."""
        shape, work, largest = [float(len(part)) for part in q], 0.0, 0.0
        for j, part in enumerate(q):
            work += decisions * math.prod(shape) * part.shape[1]
            shape[j] = part.shape[1]
            largest = max(largest, math.prod(shape))
        filled = sum(np.count_nonzero(part != 0) for part in q) > 0.4 * sum(part.size for part in q)
        return largest <= _DENSE_MOST and work <= _DENSE_WORK and bool(filled)

    def _by_tensors(self, cases: _Cases, q: list[Array]) -> Iterator[float]:
        tables, values = cases.codes, cases.rough
        for _, _, columns in cases.agents:
            least = None
            for d in range(columns.start, columns.stop):
                tensor = np.zeros(tuple(len(part) for part in q))
                tensor[tuple(tables.T)] = values[:, d]
                for part in q:  # the first axis goes, and comes back as the last one
                    tensor = np.tensordot(tensor, part, axes=(0, 0))
                least = tensor if least is None else np.minimum(least, tensor)
            assert least is not None
            yield float(least.sum())

    def _all_cases(self) -> Iterator[_Cases]:
        layout, shared = self.model.layout, []
        for role, place, asked in self.model.agents():
            weight = exact_number(asked.weight, f"{place}.weight")
            if isinstance(asked, Person) and asked.knows == "others":
                space = self.model.cells
                y, x, i, losses = asked.placed(space, layout, place)
                codes = 2 * space.tables[x]
                codes[np.arange(len(x)), i] -= 1  # 2 y_i + 1
                yield self._case(space, y, x, codes, [(role, weight, losses, np.arange(len(x)))])
            else:
                (face,) = asked.faces(self.parts, layout, place)
                self.exact = self.exact and rational_rows(face.rows)
                shared.append((role, weight, face.rows, face.codes))
        if shared:
            yield self._case(self.parts, None, np.arange(len(self.parts)), self.parts.tables, shared)

    def _case(self, space: Space, others: Array | None, table: Array, codes: Array, agents: list[_Agent]) -> _Cases:
        known = np.zeros(len(table), dtype=np.int64) if others is None else others
        widths = np.cumsum([0, *(rows.shape[1] for _, _, rows, _ in agents)]).tolist()
        places = [(role, w, slice(widths[k], widths[k + 1])) for k, (role, w, _, _) in enumerate(agents)]
        tables = []
        for role, weight, rows, which in agents:
            near, error = rounded(rows)
            tables.append(near[which])
            self.error[role] += float(weight) * error
        rough = floats(space.prior)[table][:, None] * np.hstack(tables)
        if not self.exact or rough.size > _MOST_EXACT:
            self.exact = False
            return _Cases(known, codes, others is not None, rough, None, 1, places)
        scale = fmpq(math.lcm(*(int(common_denominator(rows).p) for _, _, rows, _ in agents)))
        whole = [
            objects((v * scale).p for v in rows.ravel()).reshape(rows.shape)[which] for _, _, rows, which in agents
        ]
        values = space.weights[table][:, None] * np.hstack(whole)
        return _Cases(known, codes, others is not None, rough, values, scale * space.total, places)


def recovered(model: CountModel, protection: Protection) -> tuple[Any, Any]:
    """P(some count is suppressed), and P(one that is suppressed follows from what is published and public)."""
    space = model.cells
    shown = np.argmax(floats(protection.matrix(model.population.n)), axis=1)[space.tables]
    codes = np.zeros(len(space), dtype=np.int64)
    for column in shown.T:
        codes = np.unique(codes * (int(shown.max()) + 1) + column, return_inverse=True)[1]
    hidden = shown == 0
    follows = np.zeros(len(space), dtype=bool)
    for count, gone in zip(space.tables.T, hidden.T, strict=True):
        low, high = np.full(codes.max() + 1, count.max()), np.zeros(codes.max() + 1, dtype=count.dtype)
        np.minimum.at(low, codes, count)
        np.maximum.at(high, codes, count)
        follows |= gone & (low == high)[codes]

    def chance(which: Array) -> Any:
        return public(fmpq(space.weights[which].sum() if which.any() else 0, space.total))

    return chance(hidden.any(axis=1)), chance(follows)
