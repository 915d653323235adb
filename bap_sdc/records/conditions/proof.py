"""The proof of a study: certificates of its parts, at common prices of the conditions that couple them.

Part k has probability P_k and a problem at the prices w (module `parts`), and its certificate proves bound_k for that.
So every release that meets the conditions has
    R_A >= sum_k P_k bound_k + sum_n w_n f_n + w f - v c = bound,
and the channels of the parts, side by side, are a release whose R_A is the value. That it keeps floors, caps on R_B and
cell sizes is computed from the channels; the rest is checked part by part. In floats the limits are looser by 2^-48 of
their size, as everywhere. min_cell has no part in the bound: there the gap says what a better choice of cells could
still be worth.

A certificate file has {"numbers", "lambda", "value", "bound", "gap", "prices", "parts"}; prices are {"floor": {Eve:
w_n}, "min_eve_risk": w, "max_bob_risk": v}. A part under conditions is {"states", "levels", "certificate"}: record
types by their number, the decisions of every published column, and the ordinary certificate of the part's problem.
Where floors and a cap on R_B are all that is demanded, or nothing is, the study at the prices has no conditions. Then a
part is a component of it, {"states", "groups"}, and a group {"eve", "known", "replies", "reply_of"}: her number, that
of what she knows, her distinct replies, and which of them each decision has. Its cost is a sum over columns and its
channel that of mechanism.json: neither is written, nor is a reply for every decision. Measured on 30,000 records with
240 decisions, the certificate is 5 times shorter than with ordinary certificates, and checked 12 to 20 times faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bap_lp import verify
from bap_lp.conditions.base import LOOSE
from bap_lp.files.certificates import certificate_document
from bap_lp.program.bound import NoProof
from bap_lp.program.lowering import SentSignals
from bap_lp.proof.binding import other_demands
from bap_lp.proof.certificate import Certificate, Verdict, reported
from bap_lp.proof.statement import release_statement, statement_of
from bap_lp.support.proof_tables import proof_table
from bap_lp.support.rational import EXACT, Array, ReadOnly, is_exact, lifted, objects, public, shown, stated, text
from bap_lp.support.risks import Number
from bap_sdc.records.conditions.parts import Coupling, Prices, StudyPart, coupling, priced_program, study_parts
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.proof import spread_of, whole_bound
from bap_sdc.records.optimum.result import RecordComponent, RecordOptimum, joint_table
from bap_sdc.records.optimum.risks import column_risks, eve_risk, risks_of, summed

if TYPE_CHECKING:
    from bap_sdc.records.study import Study

_NEAR = 1e-6  # of R_B without a release and lam R_E: the gap in floats that is called optimal


@dataclass(frozen=True, eq=False)
class StudyProof(ReadOnly):
    """A release of a study, and what proves how good it is.

    Attributes:
        study: the study.
        lam: the price of privacy.
        prices: of the numbers that couple the parts.
        value: R_A of the release.
        bound: no release that meets the conditions has a smaller R_A.
        gap: value - bound.
        method: how it was found, in words.
        exact: whether the numbers are those of the study, or floats near to them.
        parts: the parts that are proved one by one.
    """

    study: Study
    lam: Number
    prices: Prices
    value: Number
    bound: Number
    gap: Number
    method: str
    exact: bool
    parts: tuple[Any, ...]

    @classmethod
    def of(cls, study: Study, lam: Any, prices: Prices, method: str, exact: bool, **proof: Any) -> Self:
        """The proof with its value, bound and gap computed."""
        at = stated(EXACT.number(lam), exact)
        ends = reported(*cls(study, at, prices, 0, 0, 0, method, exact, **proof)._ends(), exact)
        return cls(study, at, prices, *ends, method, exact, **proof)

    @cached_property
    def rows(self) -> tuple[Array, Array, Array]:
        """(record type, decision, q) of the release, in order, q rational."""
        raise NotImplementedError

    def _sums(self, paid: Any) -> tuple[Any, Any]:
        """R_A, and the sum of the bounds at the prices, rational; raises NoProof. paid: prices times what they buy."""
        raise NotImplementedError

    def _wrong(self) -> str:
        """What is wrong with the certificates of parts, or ""."""
        return ""

    def _parts(self) -> list[dict[str, Any]]:
        """The parts in the file."""
        raise NotImplementedError

    def _shadows(self) -> Iterator[tuple[str, Any]]:
        """Shadow prices of conditions that hold part by part."""
        yield from ()

    @property
    def chosen(self) -> bool:
        """Whether the cells were chosen one after the other, so that the gap need not be small."""
        return self.study.conditions is not None and self.study.conditions.min_cell is not None

    @cached_property
    def risks(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """What every published column adds to R_B if released records are taken at their word, and every Eve's own
        risk; rational."""
        x, i, q = self.rows
        program = self.study.fractions(self.exact)
        rho = program.p[x] * q
        eves = self.study.by_eve([eve_risk(eve, x, i, rho) for eve in program.eves])
        return column_risks(program.losses, program.codes, x, i, rho), eves

    @cached_property
    def totals(self) -> tuple[Any, Any]:
        """R_B and R_E, rational."""
        columns, eves = self.risks
        weighted = (w * r for w, r in zip(self.study.weights(self.exact), eves, strict=True))
        return sum(columns, EXACT.zero), sum(weighted, EXACT.zero)

    @cached_property
    def cells(self) -> tuple[Array, Array]:
        """The decisions that are sent, and the probability of each."""
        x, i, q = self.rows
        used, at = np.unique(i, return_inverse=True)
        return used, summed(self.study.fractions(self.exact).p[x] * q, at.ravel(), len(used))

    def _ends(self) -> tuple[Any, Any]:
        """Value and bound, rational."""
        priced = [(self.prices.of(limit.name), limit.rhs, found) for limit, found in self._limits()]
        value, bound = self._sums(sum((price * found for price, _, found in priced), EXACT.zero))
        return value, bound - sum((price * rhs for price, rhs, _ in priced), EXACT.zero)

    def _limits(self) -> list[tuple[Coupling, Any]]:
        """What couples the parts, with what the release has."""
        found = coupling(self.study, self.exact, EXACT.zero if self.exact else LOOSE)
        return [(one, one.of(self.totals[0], self.risks[1])) for one in found]

    def verify(self) -> Verdict:
        """Check everything with arithmetic alone."""
        study, asked = self.study, self.study.conditions
        prices = [*self.prices.floors.values(), self.prices.eve, self.prices.bob]
        if self.lam < 0 or any(price < 0 for price in prices):
            return Verdict(False, "a price is negative")
        if self.exact and not (study.exact and not isinstance(self.lam, float)):
            return Verdict(False, "the certificate is exact and the study or a condition is not")
        if wrong := self._wrong():
            return Verdict(False, wrong)
        for limit, found in self._limits():
            if found > limit.rhs:
                return Verdict(False, f"the release breaks {limit.name}")
        if sum(map(bool, prices)) != sum(bool(self.prices.of(limit.name)) for limit, _ in self._limits()):
            return Verdict(False, "there is a price for what is not demanded")
        if asked is not None and asked.min_cell is not None:
            least = EXACT.number(asked.min_cell) / study.records * (1 if self.exact else 1 - LOOSE)
            if (self.cells[1] < least).any():
                return Verdict(False, "the release breaks min_cell")
        try:
            value, bound = self._ends()
        except NoProof as error:
            return Verdict(False, str(error))
        if reported(value, bound, self.exact) != (self.value, self.bound, self.gap):
            return Verdict(
                False, f"R_A is {shown(value, not self.exact)} with a bound of {shown(bound, not self.exact)}"
            )
        gap = value - bound
        optimal = gap <= (0 if self.exact else EXACT.number(_NEAR) * self._spread())
        how = "optimal" if optimal else f"within {float(gap):.2g} of optimal"
        how += ": rho attains it and u proves that no release goes below" * bool(optimal and asked is None)
        how += " under the conditions, part by part" * (asked is not None)
        return Verdict(
            True, f"R_A = {shown(value, not self.exact)} is {how}", self.value, self.bound, self.gap, bool(optimal)
        )

    def _spread(self) -> Any:
        """What a release can change in R_A, at most."""
        program = self.study.fractions(self.exact)
        if self.study.conditions is None:
            return spread_of(program, EXACT.number(self.lam))
        bob = sum((table.max() for table in program.losses), EXACT.zero)
        return bob + EXACT.number(self.lam) * sum((eve.weight * eve.loss.max() for eve in program.eves), EXACT.zero)

    def shadow_prices(self) -> dict[str, Number]:
        """How fast R_A falls as the number of a condition is relaxed, by its name; none where R_A jumps."""
        study, asked = self.study, self.study.conditions
        if asked is None or not asked.convex or asked.min_cell is not None:
            return {}
        out: dict[str, Any] = {}
        for k, (n, _) in enumerate(asked.floors(study)):
            out[f"floor[{k}].at_least"] = self.prices.floors.get(n, EXACT.zero)
        out |= {
            name: price
            for name, price in (("min_eve_risk", self.prices.eve), ("max_bob_risk", self.prices.bob))
            if name in asked.types.given()
        }
        for label, price in self._shadows():
            out[label] = out.get(label, EXACT.zero) + price
        return {name: public(v + EXACT.zero) if self.exact else float(v) for name, v in out.items()}

    def document(self) -> dict[str, Any]:
        """The certificate file."""
        names = [spy.name for spy in self.study.spies]
        return {
            "numbers": "exact" if self.exact else "floats",
            "lambda": _exactly(self.lam),
            **{name: _exactly(getattr(self, name)) for name in ("value", "bound", "gap")},
            "prices": {
                "floor": {names[n]: _exactly(w) for n, w in self.prices.floors.items() if w},
                "min_eve_risk": _exactly(self.prices.eve),
                "max_bob_risk": _exactly(self.prices.bob),
            },
            "parts": self._parts(),
        }


@dataclass(frozen=True, eq=False)
class PartsProof(StudyProof):
    """The certificates of all parts."""

    parts: tuple[StudyPart, ...]
    certificates: tuple[Certificate, ...]

    @cached_property
    def rows(self) -> tuple[Array, Array, Array]:
        found = []
        for part, certificate in zip(self.parts, self.certificates, strict=True):
            q = certificate.channel
            assert q is not None
            x, s = np.nonzero(q != 0)
            found.append((part.states[x], part.decisions[s], q[x, s] if is_exact(q) else lifted(q[x, s])))
        return sorted_rows(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def _sums(self, paid: Any) -> tuple[Any, Any]:
        value, bound = -paid, EXACT.zero
        for part, certificate in zip(self.parts, self.certificates, strict=True):
            problem, _ = part.problem(EXACT.number(self.lam), self.prices, self.exact)
            statement, channel = statement_of([problem], certificate), certificate.channel
            assert channel is not None
            own = statement.value(channel if is_exact(channel) else lifted(channel))
            value = value + part.share * own
            bound = bound + part.share * statement.bound(certificate.dual, certificate.cases, own)[0]
        return value, bound

    def _wrong(self) -> str:
        wanted = study_parts(self.study)
        if [(p.states.tolist(), p.levels) for p in wanted] != [(p.states.tolist(), p.levels) for p in self.parts]:
            return "the parts are not those of the study"
        if any(certificate.exact != self.exact for certificate in self.certificates):
            return "some parts have numbers of another kind"
        for k, (part, certificate) in enumerate(zip(self.parts, self.certificates, strict=True)):
            problem, lam = part.problem(EXACT.number(self.lam), self.prices, self.exact)
            wrong = other_demands(problem, lam, part.conditions(), certificate)
            verdict = None if wrong or certificate.kind != "release" else verify(problem, certificate)
            if not verdict:
                return f"part {k}: {wrong or (verdict.reason if verdict else 'it has no channel')}"
        return ""

    def _shadows(self) -> Iterator[tuple[str, Any]]:
        for part, certificate in zip(self.parts, self.certificates, strict=True):
            problem, _ = part.problem(EXACT.number(self.lam), self.prices, self.exact)
            problem = (problem if certificate.exact else problem.as_float()).exactly
            layout = release_statement(problem, EXACT.zero, certificate.conditions).layout
            if layout is None or certificate.channel is None:
                continue
            sent, names = SentSignals(layout.whole, layout.signals, certificate.channel), part.labels()
            for demand in layout.demands:
                for label, price in demand.shadow(certificate.dual, sent).items():
                    yield names.get(label, label), part.share * price

    def _parts(self) -> list[dict[str, Any]]:
        return [
            {
                "states": part.states.tolist(),
                "levels": [list(own) for own in part.levels],
                "certificate": certificate_document(certificate),
            }
            for part, certificate in zip(self.parts, self.certificates, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class ComponentsProof(StudyProof):
    """The components of the study at the prices, which then has no conditions."""

    parts: tuple[RecordComponent, ...]

    @cached_property
    def rows(self) -> tuple[Array, Array, Array]:
        state, decision, rho = joint_table(self.parts)
        return state, decision, rho / self.study.fractions(self.exact).p[state]

    def _sums(self, paid: Any) -> tuple[Any, Any]:
        (bob, eve), (program, lam) = self.totals, self.priced
        return bob - EXACT.number(self.lam) * eve, whole_bound(program, self.parts, EXACT.number(lam))

    @cached_property
    def priced(self) -> tuple[RecordProgram, Any]:
        """The study's program at the prices, and its lam."""
        return priced_program(self.study, EXACT.number(self.lam), self.prices, self.exact)

    @cached_property
    def optimum(self) -> RecordOptimum:
        """The optimum at the prices as `optimise` returns it, with what is stated."""
        program, lam = self.priced
        columns, eves, *totals = risks_of(program, *joint_table(self.parts))
        (bob, eve), *own = ([stated(v, self.exact) for v in side] for side in (totals, eves, columns))
        by_eve, by_column = map(tuple, own)
        return RecordOptimum(
            program, stated(EXACT.number(lam), self.exact), self.value, bob, eve, self.bound, self.gap, by_eve,
            by_column, self.parts, self.method, self.exact,
        )  # fmt: skip

    def _wrong(self) -> str:
        local = self.study.conditions is not None and self.study.conditions.local
        return "these conditions are proved part by part" if local else ""

    def _parts(self) -> list[dict[str, Any]]:
        program = self.priced[0]
        return [{"states": part.states.tolist(), "groups": _groups(program, part)} for part in self.parts]


def _groups(program: RecordProgram, part: RecordComponent) -> list[dict[str, Any]]:
    """The groups of a component in the file."""
    if not part.groups:
        return []
    out, low, u = [], 0, part.replies_of(program)
    for eve, known in part.groups:
        high = low + program.eves[eve].loss.shape[1]
        place: dict[tuple[Any, ...], int] = {}
        which = [place.setdefault(tuple(row), len(place)) for row in u[:, low:high].tolist()]
        table = objects(v for row in place for v in row).reshape(len(place), -1)
        out.append({"eve": int(eve), "known": int(known), "replies": proof_table(table), "reply_of": which})
        low = high
    return out


def sorted_rows(x: Array, i: Array, q: Array) -> tuple[Array, Array, Array]:
    """Rows by record type, then decision."""
    order = np.lexsort((i, x))
    return x[order], i[order], q[order]


def _exactly(value: Any) -> str:
    return str(text(EXACT.number(value)))
