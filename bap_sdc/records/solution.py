"""StudySolution: the optimal release of a study, its risks and proof, and what is done with it.

The channel has a row per record type of the fit, and a rule for all other types (`solved`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from bap_lp.proof.certificate import Verdict
from bap_lp.support.display import (
    Displayed,
    both,
    column_name,
    counted,
    equals,
    fraction,
    kind,
    percent,
    person,
    risks_line,
)
from bap_lp.support.rational import EXACT, float_above, float_below, public, stated, text, tree_sum
from bap_lp.support.risks import Number, Risks
from bap_sdc.records.conditions.proof import ComponentsProof, StudyProof
from bap_sdc.records.optimum.result import RecordOptimum
from bap_sdc.records.release.channel_risks import fresh_risk, reported_risks
from bap_sdc.records.release.channels import TableChannel
from bap_sdc.records.study import Study

if TYPE_CHECKING:
    from bap_sdc.records.audit.audit import Audit
    from bap_sdc.records.audit.light import Light
    from bap_sdc.records.audit.verdict import StudyVerdict
    from bap_sdc.records.bundle import ReadFolder
    from bap_sdc.records.release.alternatives import ReleaseComparison
    from bap_sdc.records.release.estimates import ReleaseEstimates
    from bap_sdc.records.release.published import PublishedChannel


@dataclass(frozen=True, eq=False, repr=False)
class StudySolution(Displayed):
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
        proof: the certificates of its parts.
        eve_gain: the gain of an Eve that was asked for, if lam was chosen by it.
        folder: the files that it was read from, if it was.

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
    proof: StudyProof
    eve_gain: Number | None = None
    folder: ReadFolder | None = None

    @property
    def exact(self) -> bool:
        return not isinstance(self.value, float)

    def verify(self) -> Verdict:
        """Check the proof with arithmetic alone."""
        verdict = self.proof.verify()
        if verdict.optimal or not verdict or self.proof.chosen:
            return verdict
        return Verdict(False, verdict.reason)

    @cached_property
    def shadow_prices(self) -> dict[str, Number]:
        """How fast R_A falls as the number of a condition is relaxed, by its name; none without conditions."""
        return self.proof.shadow_prices()

    @cached_property
    def unconstrained(self) -> RecordOptimum:
        """The optimum at this lam without the conditions."""
        from bap_sdc.records.optimum.optimise import optimise

        if self.study.conditions is None and isinstance(self.proof, ComponentsProof):
            return self.proof.optimum
        return optimise(self.study.program, self.lam)

    @property
    def price_of_conditions(self) -> Number:
        """What the conditions cost in R_A."""
        return self.value - self.unconstrained.value

    @property
    def promises(self) -> list[str]:
        """What the conditions promise and what they cost, in sentences; none without conditions."""
        return self.promised(0)

    def promised(self, threshold: int) -> list[str]:
        """The promises without the name of a level that fewer records have."""
        asked = self.study.conditions
        if asked is None:
            return []
        free, out = self.unconstrained, asked.sentences(self.study, threshold)
        cost = f"This costs {float(self.price_of_conditions):.3g} of R_A"
        out.append(f"{cost}: R_B is {float(self.risks.bob):.3g}, and {float(free.bob):.3g} without the conditions.")
        if asked.min_cell is not None and self.gap > 0:
            out.append(f"Another choice of what is never released may be better, by at most {float(self.gap):.3g}.")
        return out

    def release(
        self, frame: Any, keep: Sequence[str] = (), seed: int | None = None, *, keep_order: bool = False,
        ledger: str | PathLike[str] | None = None, again: bool = False, although: str | None = None,
    ) -> Any:  # fmt: skip
        """Draw the file to publish.

        A draw for publication is noted in a ledger, so that the same records give the same file again: that of the
        folder that the solution was read from, or of the folder `ledger`. Any other draw is a rehearsal.

        Args:
            frame: the records, with the columns of the study.
            keep: known columns to publish as they are (banded and merged as in the study); every Eve must know them.
            seed: makes the draws reproducible, for rehearsals only. Without it they are exact and secure.
            keep_order: leave the rows in the order of the records. Never publish such a file if the order of the
                records may tell something about them.
            ledger: an existing folder of yours, where `ledger.jsonl` remembers the draws.
            again: draw anew what is in the ledger, which leaves Eve less risk than one draw.
            although: why a release is published whose light is red; the ledger keeps it.

        Returns:
            A DataFrame with the published and kept columns in their order, its rows shuffled, with an index of its own;
            `attrs["log"]` counts what was changed, and `attrs["rehearsal"]` is true if no ledger has the draw.

        Raises:
            InputError: a column or level is not one of the study, the ledger cannot be written, the records were drawn
                from another mechanism, or the light is red and there is no reason.

        >>> import pandas
        >>> from bap_sdc import Eve, Study
        >>> frame = pandas.DataFrame({"ill": ["no", "no", "yes"], "pay": [1, 1, 2]})
        >>> best = Study(frame, publish={"pay": "0-1"}, eves=[Eve("ill")]).solve(0)
        >>> sorted(best.release(frame)["pay"])
        [1, 1, 2]
        """
        from bap_sdc.records.release.drawing import release

        return release(self, frame, keep, seed, keep_order, ledger, again, although)

    def law(self, frame: Any) -> Any:
        """Every released combination that each row of a frame may become, with its probability.

        Args:
            frame: records with the columns of the study. A secret may be any level of its column, also one that no
                record has together with the other columns.

        Returns:
            A DataFrame: `row`, the position in the frame; the published columns with their levels as they are released;
            `probability`, whose sum is one for every row.

        Raises:
            InputError: a column is missing, a cell is no level, or a row whose other columns no record of the study's
                file has: the mechanism was made for that file.

        >>> import pandas
        >>> from bap_sdc import Eve, Study
        >>> frame = pandas.DataFrame({"ill": ["no", "no", "yes"], "pay": [1, 1, 2]})
        >>> best = Study(frame, publish={"pay": "0-1"}, eves=[Eve("ill")]).solve(2)
        >>> best.law(frame).values.tolist()
        [[0.0, 1.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 1.0]]
        """
        from bap_sdc.records.release.law import law_of

        return law_of(self, frame)

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
        from bap_sdc.records.audit.audit import audit_channel, believed, counted_types

        study = self.study.ordered
        codes = study.codes[study.left_out] if frame is None else study.encode(frame)
        if not len(codes):
            return None
        minds = believed(study, attackers, None if frame is None else codes)
        return audit_channel(study, self.channel, *counted_types(codes, study.levels), attackers, minds)

    def compare(self, attackers: Sequence[str] | None = ("logistic regression",)) -> ReleaseComparison:
        """The optimum next to what people would have used instead, each with exact risks and the same audit.

        Args:
            attackers: learned attackers to train on every release; the quickest by default, all if None.

        Returns:
            The comparison.
        """
        from bap_sdc.records.release.alternatives import compare_releases

        return compare_releases(self, attackers)

    @cached_property
    def published(self) -> PublishedChannel:
        """The channel on published columns: what an analyst may know about how a released file was made."""
        from bap_sdc.records.release.published import published_channel

        return published_channel(self.study, self.channel)

    def posterior(self, released: Any) -> ReleaseEstimates:
        """What an analyst who knows the channel on published columns estimates of the file before the release.

        Args:
            released: what `release` gave. From a file it is taken to be a release of the study's own records.

        Returns:
            Estimates of the shares of levels of one or two columns, with intervals.

        Raises:
            InputError: a published column is missing, or a cell is not one of its levels.

        >>> import pandas
        >>> from bap_sdc import Eve, Study
        >>> frame = pandas.DataFrame({"ill": ["no", "no", "yes"], "pay": [1, 1, 2]})
        >>> best = Study(frame, publish={"pay": "0-1"}, eves=[Eve("ill")]).solve(0)
        >>> best.posterior(best.release(frame)).table("pay").round(3).values.tolist()
        [[0.667, 0.667, 0.667, 0.667], [0.333, 0.333, 0.333, 0.333]]
        """
        from bap_sdc.records.release.estimates import estimates

        log = getattr(released, "attrs", {}).get("log")
        return estimates(getattr(log, "channel", None) or self.published, released)

    def believes(
        self, column: str, released: Mapping[str, Any], known: Mapping[str, Any] | None = None
    ) -> dict[str, Number]:
        """What an Eve with the prior of the study believes about a column of one record.

        Args:
            column: the column she wants.
            released: the released cells of the record, by published column.
            known: the cells she knows, by column.

        Returns:
            The probability of every level.

        Raises:
            InputError: no such column or level, or no fitted record type is possible.

        >>> import pandas
        >>> from bap_sdc import Eve, Study
        >>> frame = pandas.DataFrame({"ill": ["no", "no", "yes"], "pay": [1, 1, 2]})
        >>> best = Study(frame, publish={"pay": "0-1"}, eves=[Eve("ill")]).solve(0)
        >>> print(best.believes("ill", {"pay": 2})["yes"])
        1
        """
        from bap_sdc.records.release.beliefs import believed

        return believed(self, column, released, known or {})

    @cached_property
    def fresh(self) -> tuple[float | None, ...]:
        """The risk of each informed Eve if she knows other draws of the true shares than those the release hides.

        As many draws, made in the same way. If it is well below her risk in `eves`, she needs more draws.
        """
        return tuple(fresh_risk(self.study, self.channel, spy) for spy in self.study.spies)

    @cached_property
    def changed(self) -> tuple[Number, ...]:
        """The expected share of changed cells, by published column."""
        types, p = self.study.prior.types, self.study.fractions(self.exact).p
        row, signal, q = self.channel.rows(types)
        told = self.channel.decode(signal)
        mass = p[row] * EXACT.array(q)
        shares = [tree_sum(mass[told[:, j] != types[row, k]]) for j, k in enumerate(self.study.published)]
        return tuple(stated(v, self.exact) for v in shares)

    @cached_property
    def reported(self) -> tuple[float | None, ...]:
        """The risk of each Eve who reports probabilities if she may report any, rounded down; None of other Eves.

        It is a little below her risk in `eves`, which is that of the best report of a list. In nats for the log loss.
        """
        return tuple(None if v is None else float_below(v) for v in self._reported)

    @cached_property
    def _reported(self) -> tuple[Any, ...]:
        return reported_risks(self.study, self.channel, self.exact)

    @property
    def reported_value(self) -> Number:
        """R_A, rounded up, where Eves who report probabilities may report any; `bound` stays a bound of it."""
        spies = zip(self.study.spies, self.eves, self._reported, strict=True)
        less = [EXACT.number(s.weight) * (EXACT.number(risk) - v) for s, risk, v in spies if v is not None]
        if not less:
            return self.value
        return float_above(EXACT.number(self.value) + EXACT.number(self.lam) * sum(less))

    @property
    def reported_gap(self) -> Number:
        """reported_value - bound: how far the release may be from the optimum against such Eves."""
        if self.reported_value is self.value:
            return self.gap
        return max(0.0, float_above(EXACT.number(self.reported_value) - EXACT.number(self.bound)))

    def verdict(self, attackers: Sequence[str] | None = None) -> StudyVerdict:
        """Whether the promise holds on held-out records, against the strongest Eve, and whom the release makes certain.

        Args:
            attackers: names of the learned attackers; all of `bap_sdc.records.audit.attackers.ATTACKERS` by default.

        Returns:
            The verdict: its `light.colour` is green, amber or red, its `words` are sentences.

        Raises:
            InputError: scikit-learn is missing.
        """
        from bap_sdc.records.audit.verdict import verdict_of

        return verdict_of(replace(self, study=self.study.ordered), attackers)

    @cached_property
    def light(self) -> Light:
        """The light of the verdict: that in the folder that the solution was read from, or that of `verdict`."""
        from bap_sdc.records.audit.light import Light

        found = None if self.folder is None else self.folder.document("result.json")["verdict"]
        return self.verdict().light if found is None else Light.of_document(found["light"])

    def document(self, audit: Audit | None = None, verdict: StudyVerdict | None = None) -> dict[str, Any]:
        """The result as one JSON document."""
        study = self.study
        return {
            "light": None if verdict is None else verdict.light.colour,
            "verdict": None if verdict is None else verdict.document(),
            "exact": self.exact,
            "lambda": text(self.lam),
            "eve_gain": None if self.eve_gain is None else text(self.eve_gain),
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
                 "risk": text(risk), "null": text(null), "full": text(full), "weight": text(s.weight),
                 "informed": s.informed, "fresh": fresh, "score": s.score or None, "reported": told}
                for s, risk, null, full, fresh, told in zip(
                    study.spies, self.eves, self.nulls, self.fulls, self.fresh, self.reported, strict=True
                )
            ],
            "conditions": self._conditions_document(),
            "audit": None if audit is None else audit.document(),
            "model": study.prior.model,
            "scores": [list(pair) for pair in study.prior.scores],
            "smoothing": text(study.prior.alpha),
            "toward": study.prior.toward,
            "likelihoods": [[text(a), value] for a, value in study.prior.likelihoods],
            "method": self.method,
        }  # fmt: skip

    def _conditions_document(self) -> dict[str, Any] | None:
        if self.study.conditions is None:
            return None
        free = self.unconstrained
        return {
            "promises": self.promises,
            "price": text(self.price_of_conditions),
            "without": {"bob": text(free.bob), "eve": text(free.eve), "alice": text(free.value)},
            "shadow_prices": {name: text(price) for name, price in self.shadow_prices.items()},
        }

    def _lines(self) -> Iterator[str]:
        value = equals("R_A", self.value, fraction) + (f" (gap {float(self.gap):.1g})" if self.gap else "")
        at = f"{value} at {equals('lambda', self.lam, fraction)}"
        types = counted(len(self.study.prior.types), "record type")
        yield f"{kind(self.exact)}, {at}, {risks_line(self.risks.bob, self.risks.eve)}, {types}"
        study = self.study
        if self.exact and self.gap == 0:
            yield f"This is proved exactly: no release has a smaller R_A; {equals('value = bound', self.value)}."
        else:
            ends = f"value {float(self.value):.12g}, lower bound {float(self.bound):.12g}"
            yield f"This is proved up to {float(self.gap):.2g}: {ends}."
        for t, risk, changed in zip(study.targets, self.columns, self.changed, strict=True):
            yield f"Column {t.column}: risk {both(risk)}; {percent(changed)} of its cells are changed."
        for s, risk, null, full in zip(study.spies, self.eves, self.nulls, self.fulls, strict=True):
            knows = ", ".join(study.names[k] for k in s.knows) or "nothing"
            yield (
                f"{person(s.name, start=True)} wants {study.names[s.secret]} and knows {knows}: risk {both(risk)}, "
                f"{float(null):.6g} without a release, {float(full):.6g} with the whole record."
            )
        yield from self.reports_in_words()
        yield from self.promises

    def reports_in_words(self) -> list[str]:
        """What Eves who report probabilities lose with all reports, and how near to the optimum the release then is."""
        out = []
        for s, risk in zip(self.study.spies, self.reported, strict=True):
            if risk is not None:
                bits = f", {risk / math.log(2):.6g} bits" if s.score == "log" else ""
                name, count = person(s.name, start=True), s.loss.shape[1]
                what = f"{name} reports one of {count} distributions"
                out.append(f"{what}; if she may report any, she loses {risk:.6g}{bits}.")
        if out:
            ends = f"R_A is then at most {float(self.reported_value):.9g}, and no release has one"
            out.append(f"{ends} below {float(self.bound):.9g}.")
        return out

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """Record types with the released records they get, one row per pair."""
        row, signal, q = self.channel.rows(self.study.prior.types)
        names, records = self.study.state_names(), self.channel.decode(signal[:most])
        labels = [self.study.columns[k].labels for k in self.study.published]
        columns = [t.column for t in self.study.targets]
        types, chance = column_name("record type", columns), column_name("probability", columns)
        return [
            {types: names[x], **{c: labels[j][v] for j, (c, v) in enumerate(zip(columns, one, strict=True))}, chance: p}
            for x, one, p in zip(row[:most].tolist(), records.tolist(), public(q[:most]).tolist(), strict=True)
        ]
