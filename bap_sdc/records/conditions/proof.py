"""The proof of a study under conditions: certificates for the study, or for its parts, at common prices.

Part k has probability P_k and a problem at the prices w (module `parts`), and its certificate proves bound_k for that.
So every release that meets the conditions has
    R_A >= sum_k P_k bound_k + sum_n w_n f_n + w f - v c = bound,
and the channels of the parts, side by side, are a release whose R_A is the value. That it keeps floors, caps on R_B and
cell sizes is computed from the channels; the rest is checked part by part. In floats the limits are looser by 2^-48 of
their size, as everywhere. min_cell has no part in the bound: there the gap says what a better choice of cells could
still be worth.

A certificate file has {"kind": "parts", "numbers", "lambda", "value", "gap", "prices", "parts"}; prices are {"floor":
{Eve: w_n}, "min_eve_risk": w, "max_bob_risk": v}, a part is {"states", "levels", "certificate"}: record types by their
number, the decisions of every published column, and the ordinary certificate of the part's problem. Where floors and a
cap on R_B are all that is demanded, the study at these prices has no conditions. Then "kind" is "priced", and instead
of parts there is "optimum": the certificate of the study without conditions at these prices. lambda is then 1, or 0 if
no Eve's risk counts; without any price it is the study's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bap_lp import verify
from bap_lp.files.certificates import certificate_document
from bap_lp.model.risks import Number
from bap_lp.notions.base import LOOSE
from bap_lp.program.lowering import SentSignals
from bap_lp.proof.binding import other_demands
from bap_lp.proof.certificate import Certificate, Verdict, reported
from bap_lp.proof.statement import release_statement, statement_of
from bap_lp.rational import EXACT, Array, ReadOnly, is_exact, lifted, public, shown, text
from bap_sdc.records.conditions.parts import Coupling, Prices, StudyPart, coupling, priced_program, study_parts
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.proof import bound_of
from bap_sdc.records.optimum.result import RecordOptimum, joint_table
from bap_sdc.records.optimum.risks import column_risks, eve_risk, risks_of, summed

if TYPE_CHECKING:
    from bap_sdc.records.study import Study

_NEAR = 1e-6  # of R_B without a release and lam R_E: the gap in floats that is called optimal


@dataclass(frozen=True, eq=False)
class StudyProof(ReadOnly):
    """A release of a study under conditions, and what proves how good it is.

    Attributes:
        study: the study.
        lam: the price of privacy.
        prices: of the numbers that couple the parts.
        value: R_A of the release.
        bound: no release that meets the conditions has a smaller R_A.
        gap: value - bound.
        method: how it was found, in words.
    """

    study: Study
    lam: Number
    prices: Prices
    value: Number
    bound: Number
    gap: Number
    method: str

    @classmethod
    def of(cls, study: Study, lam: Any, prices: Prices, method: str, **proof: Any) -> Self:
        """The proof with its value, bound and gap computed."""
        made = cls(study, lam, prices, 0, 0, 0, method, **proof)
        value, bound, gap = reported(*made._ends(), made.exact)
        at = public(EXACT.number(lam)) if made.exact else float(lam)
        return cls(study, at, prices, value, bound, gap, method, **proof)

    @property
    def exact(self) -> bool:
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of parts."""
        raise NotImplementedError

    @cached_property
    def rows(self) -> tuple[Array, Array, Array]:
        """(record type, decision, q) of the release, in order, q rational."""
        raise NotImplementedError

    def _priced(self) -> tuple[Any, Any]:
        """Value and bound at the prices, rational; raises NoProof."""
        raise NotImplementedError

    def _wrong(self) -> str:
        """What is wrong with the certificates, or ""."""
        raise NotImplementedError

    def _inner(self) -> dict[str, Any]:
        """The certificates in the file."""
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
        program = self.study.program.lifted()
        rho = program.p[x] * q
        eves = self.study.by_eve([eve_risk(eve, x, i, rho) for eve in program.eves])
        return column_risks(program.losses, program.codes, x, i, rho), eves

    @cached_property
    def cells(self) -> tuple[Array, Array]:
        """The decisions that are sent, and the probability of each."""
        x, i, q = self.rows
        used, at = np.unique(i, return_inverse=True)
        return used, summed(self.study.program.lifted().p[x] * q, at.ravel(), len(used))

    def _ends(self) -> tuple[Any, Any]:
        """Value and bound, rational."""
        value, bound = self._priced()
        for limit, found in self._limits():
            price = self.prices.of(limit.name)
            value, bound = value - price * found, bound - price * limit.rhs
        return value, bound

    def _limits(self) -> list[tuple[Coupling, Any]]:
        """What couples the parts, with what the release has."""
        columns, eves = self.risks
        bob = sum(columns, EXACT.zero)
        return [(one, one.of(bob, eves)) for one in coupling(self.study, EXACT.zero if self.exact else LOOSE)]

    def verify(self) -> Verdict:
        """Check everything with arithmetic alone."""
        study, asked = self.study, self.study.conditions
        assert asked is not None
        prices = [*self.prices.floors.values(), self.prices.eve, self.prices.bob]
        if self.lam < 0 or any(price < 0 for price in prices):
            return Verdict(False, "a price is negative")
        able = study.program.exact and asked.exact and not isinstance(self.lam, float)
        if self.exact and not able:
            return Verdict(False, "the certificate is exact and the study or a condition is not")
        if wrong := self._wrong():
            return Verdict(False, wrong)
        for limit, found in self._limits():
            if found > limit.rhs:
                return Verdict(False, f"the release breaks {limit.name}")
        if sum(map(bool, prices)) != sum(bool(self.prices.of(limit.name)) for limit, _ in self._limits()):
            return Verdict(False, "there is a price for what is not demanded")
        if asked.min_cell is not None:
            least = EXACT.number(asked.min_cell) / study.records * (1 if self.exact else 1 - LOOSE)
            if (self.cells[1] < least).any():
                return Verdict(False, "the release breaks min_cell")
        value, bound = self._ends()
        if reported(value, bound, self.exact) != (self.value, self.bound, self.gap):
            return Verdict(
                False, f"R_A is {shown(value, not self.exact)} with a bound of {shown(bound, not self.exact)}"
            )
        gap = value - bound
        optimal = gap <= (0 if self.exact else EXACT.number(_NEAR) * self._spread())
        how = "optimal" if optimal else f"within {float(gap):.2g} of optimal"
        reason = f"R_A = {shown(value, not self.exact)} is {how} under the conditions, part by part"
        return Verdict(True, reason, self.value, self.bound, self.gap, bool(optimal))

    def _spread(self) -> Any:
        """What a release can change in R_A, at most."""
        program = self.study.program.lifted()
        bob = sum((table.max() for table in program.losses), EXACT.zero)
        return bob + EXACT.number(self.lam) * sum((eve.weight * eve.loss.max() for eve in program.eves), EXACT.zero)

    def shadow_prices(self) -> dict[str, Number]:
        """How fast R_A falls as the number of a condition is relaxed, by its name; none where R_A jumps."""
        study, asked = self.study, self.study.conditions
        assert asked is not None
        if not asked.convex or asked.min_cell is not None:
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
            "value": _exactly(self.value),
            "gap": _exactly(self.gap),
            "prices": {
                "floor": {names[n]: _exactly(w) for n, w in self.prices.floors.items() if w},
                "min_eve_risk": _exactly(self.prices.eve),
                "max_bob_risk": _exactly(self.prices.bob),
            },
        } | self._inner()


@dataclass(frozen=True, eq=False)
class PartsProof(StudyProof):
    """The certificates of all parts."""

    parts: tuple[StudyPart, ...]
    certificates: tuple[Certificate, ...]

    @property
    def exact(self) -> bool:
        return all(certificate.exact for certificate in self.certificates)

    @property
    def size(self) -> int:
        return len(self.parts)

    @cached_property
    def rows(self) -> tuple[Array, Array, Array]:
        found = []
        for part, certificate in zip(self.parts, self.certificates, strict=True):
            q = certificate.channel
            assert q is not None
            x, s = np.nonzero(q != 0)
            found.append((part.states[x], part.decisions[s], q[x, s] if is_exact(q) else lifted(q[x, s])))
        return sorted_rows(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def _priced(self) -> tuple[Any, Any]:
        value = bound = EXACT.zero
        for part, certificate in zip(self.parts, self.certificates, strict=True):
            problem, _ = part.problem(EXACT.number(self.lam), self.prices)
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
        for k, (part, certificate) in enumerate(zip(self.parts, self.certificates, strict=True)):
            problem, lam = part.problem(EXACT.number(self.lam), self.prices)
            wrong = other_demands(problem, lam, part.conditions(), certificate)
            verdict = None if wrong or certificate.kind != "release" else verify(problem, certificate)
            if not verdict:
                return f"part {k}: {wrong or (verdict.reason if verdict else 'it has no channel')}"
        return ""

    def _shadows(self) -> Iterator[tuple[str, Any]]:
        for part, certificate in zip(self.parts, self.certificates, strict=True):
            problem, _ = part.problem(EXACT.number(self.lam), self.prices)
            problem = (problem if certificate.exact else problem.as_float()).exactly
            layout = release_statement(problem, EXACT.zero, certificate.conditions).layout
            if layout is None or certificate.channel is None:
                continue
            sent, names = SentSignals(layout.whole, layout.signals, certificate.channel), part.labels()
            for demand in layout.demands:
                for label, price in demand.shadow(certificate.dual, sent).items():
                    yield names.get(label, label), part.share * price

    def _inner(self) -> dict[str, Any]:
        return {
            "kind": "parts",
            "parts": [
                {
                    "states": part.states.tolist(),
                    "levels": [list(own) for own in part.levels],
                    "certificate": certificate_document(certificate),
                }
                for part, certificate in zip(self.parts, self.certificates, strict=True)
            ],
        }


@dataclass(frozen=True, eq=False)
class PricedProof(StudyProof):
    """The optimum of the study at the prices, which then has no conditions."""

    best: RecordOptimum

    @property
    def exact(self) -> bool:
        return self.best.exact

    @property
    def size(self) -> int:
        return len(self.best.components)

    @cached_property
    def rows(self) -> tuple[Array, Array, Array]:
        state, decision, rho = joint_table(self.best.components)
        return state, decision, rho / self.best.program.p[state]

    def _priced(self) -> tuple[Any, Any]:
        lam = EXACT.number(self.best.lam)
        *_, bob, eve = risks_of(self.best.program, *joint_table(self.best.components))
        return bob - lam * eve, bound_of(self.best.program, self.best.components, lam)

    def _wrong(self) -> str:
        asked = self.study.conditions
        assert asked is not None
        program, lam = priced_program(self.study, EXACT.number(self.lam), self.prices)
        if not self.exact:
            program = program.as_float().lifted()
        if asked.local or EXACT.number(self.best.lam) != lam or not _same(program, self.best.program):
            return "the certificate is not about the study at these prices"
        verdict = self.best.verify()
        return "" if verdict else verdict.reason

    def _inner(self) -> dict[str, Any]:
        from bap_sdc.records.certificates import proof_document

        return {"kind": "priced", "optimum": proof_document(self.best)}


def _same(one: RecordProgram, other: RecordProgram) -> bool:
    """Whether two programs on the same record types have the same numbers."""
    pairs = [(one.p, other.p), *zip(one.losses, other.losses, strict=True)]
    for a, b in zip(one.eves, other.eves, strict=True):
        pairs += [(a.loss * a.weight, b.loss * b.weight), (a.secret, b.secret), (a.known, b.known)]
        pairs += [] if a.chance is None else [(a.chance, b.chance)]
    return all(a.shape == b.shape and bool((a == b).all()) for a, b in pairs)


def sorted_rows(x: Array, i: Array, q: Array) -> tuple[Array, Array, Array]:
    """Rows by record type, then decision."""
    order = np.lexsort((i, x))
    return x[order], i[order], q[order]


def _exactly(value: Any) -> str:
    return str(text(EXACT.number(value)))
