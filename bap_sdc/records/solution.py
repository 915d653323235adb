"""StudySolution: the optimal release of a study, its risks and proof, and what is done with it.

Without conditions the program splits by what the Eves know and is solved with priced decisions
(`optimum.optimise`); with conditions it is an ordinary Problem on record types. Either way the channel has a row
per record type of the fit, and a rule for all other types: Alice's rule argmin_i B(x,i) - u_i.E(x), or under
conditions the overall distribution of the signals, which tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from bap_lp.model.display import Grid, Tabular, both, counted, equals, fraction, kind, person, risks_line
from bap_lp.model.risks import Number, Risks
from bap_lp.proof.certificate import Certificate, Verdict
from bap_lp.rational import Array, InputError, floats, is_exact, lifted, number, objects, public, text
from bap_sdc.records.data.prior import keys
from bap_sdc.records.optimum.result import RecordOptimum
from bap_sdc.records.release.channel_risks import channel_risks
from bap_sdc.records.release.channels import TableChannel
from bap_sdc.records.study import Study

if TYPE_CHECKING:
    from bap_lp.engines.compact.workers import Workers
    from bap_sdc.records.audit.audit import Audit
    from bap_sdc.records.release.alternatives import ReleaseComparison
    from bap_sdc.records.release.posterior import RecordPosterior


@dataclass(frozen=True, eq=False, repr=False)
class StudySolution(Tabular):
    """An optimal release at lam. `Study.solve` makes it.

    Attributes:
        study: the study.
        lam: the price of privacy.
        value: R_A.
        risks: R_B and R_E.
        bound: no release has a smaller R_A.
        gap: value - bound: 0 if exact, certified and tiny if not.
        columns: every column's own unweighted risk.
        eves: every Eve's own unweighted risk.
        nulls: the Eves' risks if nothing is released.
        fulls: the Eves' risks if the whole record is released.
        components: the number of independent parts of the program.
        method: how it was computed, in words.
        channel: the mechanism: for every record type, the records it may be released as.
        proof: the optimum by components, or a certificate under conditions.

    >>> import pandas
    >>> from bap_sdc import Eve, Study
    >>> columns = {"age": [1, 1, 1, 2, 2, 2], "ill": [0, 0, 1, 0, 1, 1], "pay": [1, 2, 3, 1, 3, 3]}
    >>> frame = pandas.DataFrame(columns)
    >>> eve = Eve("ill", knows=["age"], loss=[[0, 1], [2, 0]])
    >>> Study(frame, publish={"pay": "absolute"}, eves=[eve]).solve("1/2")
    <StudySolution: exact, R_A = -1/24 at lambda = 1/2, R_B = 5/24, R_E = 1/2, 5 record types>
    """

    study: Study
    lam: Number
    value: Number
    risks: Risks
    bound: Number
    gap: Number
    columns: tuple[Number, ...]
    eves: tuple[Number, ...]
    nulls: tuple[Number, ...]
    fulls: tuple[Number, ...]
    components: int
    method: str
    channel: TableChannel
    proof: RecordOptimum | Certificate

    @property
    def exact(self) -> bool:
        return not isinstance(self.value, float)

    def verify(self) -> Verdict:
        """Check the proof with arithmetic alone."""
        if isinstance(self.proof, RecordOptimum):
            verdict = self.proof.verify()
            return verdict if verdict.optimal or not verdict else Verdict(False, verdict.reason)
        from bap_lp import verify
        from bap_lp.files.demands import other_demands

        problem = self.study.problem()
        if wrong := other_demands(problem, self.lam, self.study.conditions, self.proof):
            return Verdict(False, wrong)
        verdict = verify(problem, self.proof)
        if verdict and (verdict.bound, verdict.gap) != (self.bound, self.gap):
            return Verdict(False, "the bound is not the one that the certificate proves")
        return verdict if verdict.optimal else Verdict(False, verdict.reason)

    def release(
        self, frame: Any, keep: Sequence[str] = (), seed: int | None = None, *, keep_order: bool = False
    ) -> Any:
        """Draw the file to publish.

        Args:
            frame: the records, with the columns of the study.
            keep: known columns to publish as they are (banded and merged as in the study); every Eve must know them.
            seed: makes the draws reproducible, for rehearsals only. Without it they are exact and secure.
            keep_order: leave the rows in the order of the records. Never publish such a file if the order of the
                records may tell something about them.

        Returns:
            A DataFrame with the published and kept columns in their order, its rows shuffled, with an index of its own;
            `attrs["log"]` counts what was changed.

        Raises:
            InputError: a column or level is not one of the study.

        >>> import pandas
        >>> from bap_sdc import Eve, Study
        >>> frame = pandas.DataFrame({"ill": ["no", "no", "yes"], "pay": [1, 1, 2]})
        >>> best = Study(frame, publish={"pay": "0-1"}, eves=[Eve("ill")]).solve(0)
        >>> sorted(best.release(frame)["pay"])
        [1, 1, 2]
        """
        from bap_sdc.records.release.drawing import draw_release

        return draw_release(self, frame, keep, seed, keep_order=keep_order)

    def audit(self, frame: Any = None, *, attackers: Sequence[str] | None = None) -> Audit | None:
        """Judge the mechanism on records that were not used to fit it.

        Args:
            frame: the records; by default those the study held out.
            attackers: names of the learned attackers; all of `bap_sdc.records.audit.attackers.ATTACKERS` by default.

        Returns:
            The audit, or None if there is no frame and the study held out no records.

        Raises:
            InputError: a column or level is not one of the study, or scikit-learn is missing.
        """
        from bap_sdc.records.audit.audit import audit_channel, counted_types

        study = self.study
        if frame is None:
            codes = study.codes[study.left_out]
            if not len(codes):
                return None
        else:
            codes = study.encode(frame)
        return audit_channel(study, self.channel, *counted_types(codes, study.levels), attackers)

    def compare(self, attackers: Sequence[str] | None = ("logistic regression",)) -> ReleaseComparison:
        """The optimum next to what people would have used instead, each with exact risks and the same audit.

        Args:
            attackers: learned attackers to train on every release; the quickest by default, all if None.

        Returns:
            The comparison.
        """
        from bap_sdc.records.release.alternatives import compare_releases

        return compare_releases(self, attackers)

    def posterior(
        self, released: Any, draws: int = 1000, seed: int = 0, concentration: float | None = None
    ) -> RecordPosterior:
        """What an analyst who knows the channel learns about the population from a released file.

        Args:
            released: a file drawn with `release`.
            draws: how many draws from the posterior are kept.
            seed: of the Markov chain.
            concentration: a of the Dirichlet prior of the shares; min(1, sqrt(records) / types) by default.

        Returns:
            Draws of the shares of record types, with credible intervals for tables of one or two columns.
        """
        from bap_sdc.records.release.posterior import posterior_of

        return posterior_of(self, released, draws, seed, concentration)

    @cached_property
    def changed(self) -> tuple[Number, ...]:
        """The expected share of changed cells, by published column."""
        types, p = self.study.prior.types, self.study.program.p
        row, signal, q = self.channel.rows(types)
        told = self.channel.decode(signal)
        if not (is_exact(p) and is_exact(q)):
            p, q = floats(p), floats(q)
        mass = p[row] * q
        shares = [mass[told[:, j] != types[row, k]].sum() for j, k in enumerate(self.study.published)]
        return tuple(public(v + fmpq(0)) if is_exact(mass) else float(v) for v in shares)

    def document(self, audit: Audit | None = None) -> dict[str, Any]:
        """The result as one JSON document."""
        study = self.study
        return {
            "exact": self.exact,
            "lambda": text(self.lam),
            "risks": {"bob": text(self.risks.bob), "eve": text(self.risks.eve), "alice": text(self.value)},
            "bound": text(self.bound),
            "gap": text(self.gap),
            "records": study.records,
            "types": len(study.prior.types),
            "decisions": study.decisions,
            "components": self.components,
            "columns": [
                {"name": t.column, "risk": text(risk), "weight": text(t.weight), "changed": text(changed)}
                for t, risk, changed in zip(study.targets, self.columns, self.changed, strict=True)
            ],
            "eves": [
                {"name": s.name, "secret": study.names[s.secret], "knows": [study.names[k] for k in s.knows],
                 "risk": text(risk), "null": text(null), "full": text(full), "weight": text(s.weight)}
                for s, risk, null, full in zip(study.spies, self.eves, self.nulls, self.fulls, strict=True)
            ],
            "audit": None if audit is None else audit.document(),
            "smoothing": text(study.prior.alpha),
            "toward": study.prior.toward,
            "likelihoods": [[text(a), value] for a, value in study.prior.likelihoods],
            "method": self.method,
        }  # fmt: skip

    def summary(self) -> str:
        """The optimum, its proof and every agent's risk, in plain sentences."""
        study = self.study
        lines = [
            f"At {equals('lambda', self.lam)} the least risk of Alice is {equals('R_A', self.value)}.",
            f"A release with {equals('R_B', self.risks.bob)} and {equals('R_E', self.risks.eve)} attains it.",
        ]
        if self.exact and self.gap == 0:
            lines.append("This is proved exactly: no release has a smaller R_A.")
        else:
            lines.append(
                f"This is proved up to {float(self.gap):.2g}: no release has an R_A below {float(self.bound):.12g}."
            )
        for t, risk, changed in zip(study.targets, self.columns, self.changed, strict=True):
            lines.append(f"Column {t.column}: risk {both(risk)}; {float(changed):.1%} of its cells are changed.")
        for s, risk, null, full in zip(study.spies, self.eves, self.nulls, self.fulls, strict=True):
            knows = ", ".join(study.names[k] for k in s.knows) or "nothing"
            lines.append(
                f"{person(s.name, start=True)} wants {study.names[s.secret]} and knows {knows}: risk {both(risk)}, "
                f"{float(null):.6g} without a release, {float(full):.6g} with the whole record."
            )
        return "\n".join(lines)

    def _headline(self) -> str:
        value = equals("R_A", self.value, fraction) + (f" (gap {float(self.gap):.1g})" if self.gap else "")
        at = f"{value} at {equals('lambda', self.lam, fraction)}"
        types = counted(len(self.study.prior.types), "record type")
        return f": {kind(self.exact)}, {at}, {risks_line(self.risks.bob, self.risks.eve)}, {types}"

    def _grid(self, most: int | None = None) -> Grid:
        """Record types with the released records they get, one row per pair."""
        types = self.study.prior.types
        row, signal, q = self.channel.rows(types)
        names, told = self.study.state_names(), self.channel.decode(signal[:most])
        labels = [self.study.columns[k].labels for k in self.study.published]
        cells = [
            (names[x], *(labels[j][v] for j, v in enumerate(record)), share)
            for x, record, share in zip(row[:most].tolist(), told.tolist(), public(q[:most]).tolist(), strict=True)
        ]
        return Grid(("record type", *(t.column for t in self.study.targets), "probability"), cells, len(row))


def solve_study(
    study: Study, lam: Any = "calibrated", exact: bool | None = None, *, workers: Workers = None, client: Any = None,
    progress: Any = None,
) -> StudySolution:  # fmt: skip
    """The optimal release of a study; see `Study.solve`."""
    if study.conditions is not None:
        return _conditioned(study, lam, exact)
    from bap_sdc.records.optimum.optimise import optimise

    return solution_of(study, optimise(study.program, lam, exact, workers, client, progress))


def solution_of(study: Study, best: RecordOptimum) -> StudySolution:
    """The solution with this optimum."""
    row, decision, q = best.rows()
    start = np.searchsorted(row, np.arange(len(study.prior.types) + 1))
    channel = _channel(study, start, decision, working(q), _alices_rule(study, best))
    weights = [t.weight for t in study.targets]
    columns = [v / (public(w) if best.exact else float(w)) for v, w in zip(best.columns, weights, strict=True)]
    return _solution(study, best, Risks(best.bob, best.eve), columns, best.eves, len(best.components), channel, best)


def _channel(study: Study, start: Array, decision: Array, q: Array, rule: Any) -> TableChannel:
    key = keys(study.prior.types, study.levels)
    return TableChannel("optimum", study.levels, study.published, key, start, decision, q, rule)


def _solution(
    study: Study, best: Any, risks: Risks, columns: Any, eves: Any, components: int, channel: TableChannel, proof: Any
) -> StudySolution:
    exact = not isinstance(best.value, float)
    program = study.program if exact else study.program.as_float()
    nulls, fulls = [], []
    for eve in program.eves:
        _, z = np.unique(eve.known, return_inverse=True)
        mass = np.full((z.max() + 1, len(eve.loss)), fmpq(0) if exact else 0.0, dtype=object if exact else float)
        np.add.at(mass, (z, eve.secret), program.p)
        nulls.append(public(mass.dot(eve.loss).min(axis=1).sum()))
        fulls.append(public(mass.sum(axis=0).dot(eve.loss.min(axis=1))))
    return StudySolution(
        study, best.lam, best.value, risks, best.bound, best.gap, tuple(columns), tuple(eves), tuple(nulls),
        tuple(fulls), components, best.method, channel, proof,
    )  # fmt: skip


def working(q: Array) -> Array:
    """Probabilities as working numbers."""
    if not is_exact(q):
        return q
    return objects(number(v, "probability") for v in q.tolist())


def _alices_rule(study: Study, best: RecordOptimum) -> Any:
    one = objects([fmpq(1)]) if best.exact else np.ones(1)

    def rule(types: Array) -> list[tuple[Array, Array]]:
        known = np.column_stack([study.known(types, spy) for spy in study.spies])
        secrets = types[:, [spy.secret for spy in study.spies]]
        codes = types[:, list(study.published)]
        return [(np.array([i], dtype=np.int64), one) for i in best.rules(codes, secrets, known).tolist()]

    return rule


def _conditioned(study: Study, lam: Any, exact: bool | None) -> StudySolution:
    from bap_lp import solve

    if study.conditions is not None and study.conditions.margin is not None:
        rule = "is not available for records: its signals are more than published records"
        raise InputError("conditions.margin", study.conditions.margin, rule)
    try:
        found = solve(study.problem(), lam, exact, conditions=study.conditions)
    except InputError as error:
        wrong = error.field.split("[")[0].split(".")[0] in type(study.conditions).__dataclass_fields__
        raise InputError(f"conditions.{error.field}" if wrong else error.field, error.value, error.rule) from None
    return conditioned_solution(study, found.certificate, found)


def conditioned_solution(study: Study, certificate: Certificate, found: Any) -> StudySolution:
    """The solution with this certificate; `found` has lam, value, bound, gap and method."""
    assert certificate.channel is not None
    q = certificate.channel if certificate.exact else floats(certificate.channel)
    row, decision = np.nonzero(q != 0)
    start = np.searchsorted(row, np.arange(len(q) + 1))
    p = study.program.p if is_exact(q) else floats(study.program.p)
    overall = (p[:, None] * q).sum(axis=0)
    sent = np.flatnonzero(overall != 0)

    def rule(types: Array) -> list[tuple[Array, Array]]:
        return [(sent, overall[sent])] * len(types)

    channel = _channel(study, start, decision, q[row, decision], rule)
    own = channel_risks(study, channel)
    columns = [
        v / (public(t.weight) if own.exact else float(t.weight))
        for v, t in zip(own.columns, study.targets, strict=True)
    ]
    return _solution(study, found, own.risks, columns, own.eves, 1, channel, certificate)


def exact_row(q: Array) -> Array:
    """Probabilities as the rationals they are."""
    return q if is_exact(q) else lifted(q)
