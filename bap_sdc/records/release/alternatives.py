"""What people would have used instead of the optimum, each as a channel with exact risks.

as is           the published columns unchanged
suppress        nothing, or one column left out
generalise      neighbouring levels of every column joined in pairs; the missing level stays alone
swap            every cell is exchanged with that of a random record with probability 1/20 or 1/5. In a large table the
                new value is a draw from the column's margin, independent of the record
PRAM            invariant post-randomisation. With P_ii = 9/10, the rest equally likely (sdcMicro's default draws P_ii
                from 0.8 to 1), and Q the Bayes inverse of P under the margin p, R = a P Q + (1 - a) I with its default
                a = 1/2; p R = p, so that margins are kept in expectation
randomised      k-ary randomised response in every column: the truth has e^eps times the probability of any other level
synthetic       a record drawn from the prior: it depends on nothing, so nobody learns anything about this record
synthetic | z   a record drawn from the prior given the columns that some Eve knows
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from bap_lp.support.display import Displayed, counted
from bap_lp.support.rational import EXACT, Array, is_exact, objects, public, text
from bap_lp.support.risks import Number
from bap_sdc.records.audit.audit import Audit, audit_channel, believed, counted_types
from bap_sdc.records.data.levels import Column
from bap_sdc.records.data.prior import keys
from bap_sdc.records.optimum.risks import summed
from bap_sdc.records.release.channel_risks import ChannelRisks, channel_risks
from bap_sdc.records.release.channels import ColumnChannel, KeyedChannel, RecordChannel, identity
from bap_sdc.records.study import Study

if TYPE_CHECKING:
    from bap_sdc.records.solution import StudySolution

SWAPS = (fmpq(1, 20), fmpq(1, 5))
RATIOS = (2, 5, 20)  # e^eps of randomised response
PRAM_KEPT, PRAM_MIXED = fmpq(9, 10), fmpq(1, 2)
_SYNTHETIC = 2_000_000  # cells of the table of a synthetic release


@dataclass(frozen=True, repr=False)
class ComparedRelease:
    """A release with its risks under the prior, R_A at lam, and its audit if records were held out."""

    name: str
    risks: ChannelRisks
    alice: Number
    audit: Audit | None


@dataclass(frozen=True, repr=False)
class ReleaseComparison(Displayed):
    """The optimum next to what people would have used instead, the best R_A first; `omitted` names the rest and why.

    `weights` are those of the Eves in R_E.
    """

    lam: Number
    releases: tuple[ComparedRelease, ...]
    omitted: tuple[tuple[str, str], ...] = ()
    weights: tuple[Number, ...] = ()

    def document(self) -> dict[str, Any]:
        return {
            "lambda": text(self.lam),
            "releases": [
                {
                    "name": row.name,
                    "exact": row.risks.exact,
                    "risks": {"bob": text(row.risks.bob), "eve": text(row.risks.eve), "alice": text(row.alice)},
                    "audit": None if row.audit is None else row.audit.document(),
                }
                for row in self.releases
            ],
            "omitted": [list(pair) for pair in self.omitted],
        }

    def _lines(self) -> Iterator[str]:
        best = self.releases[0]
        yield f"{counted(len(self.releases), 'release')}, the best is {best.name!r} with R_A = {float(best.alice):.6g}"

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The releases; of those that were audited also the risks on held-out records."""
        audits = [one.audit for one in self.releases if one.audit]
        names = list(audits[0].eves[0].attackers) if audits else []
        more = ("R_B audited", "R_E audited", "R_E strongest", "R_E informed", *(f"R_E {name}" for name in names))
        rows = []
        for one in self.releases[:most]:
            row: dict[str, Any] = {"release": one.name} | dict(
                zip(("R_B", "R_E", "R_A"), map(float, (one.risks.bob, one.risks.eve, one.alice)), strict=True)
            )
            if audits:
                row |= dict.fromkeys((*more, "cells changed"))
            if one.audit is not None:
                risks = [v.value for v in (one.audit.bob, one.audit.eve, one.audit.strongest, one.audit.informed)]
                risks += [_weighted(one.audit, name, self.weights) for name in names]
                row |= dict(zip(more, risks, strict=True))
                row["cells changed"] = float(np.mean(list(one.audit.utility.changed.values())))
            rows.append(row)
        return rows


def _weighted(audit: Audit, attacker: str, weights: Sequence[Number]) -> float:
    """R_E, the weighted sum over the Eves, when each of them uses this attacker."""
    each = zip(weights or [1] * len(audit.eves), audit.eves, strict=True)
    return float(sum(float(weight) * eve.attackers[attacker].value for weight, eve in each))


def compare_releases(solution: StudySolution, attackers: Sequence[str] | None = ()) -> ReleaseComparison:
    """The optimum and all alternatives at the lam of the solution."""
    study, lam = solution.study, solution.lam
    codes = study.codes[study.left_out]
    held = counted_types(codes, study.levels) if len(codes) else None
    minds = {} if held is None else believed(study, attackers)
    channels, omitted = alternatives(study)
    rows = []
    everything: list[RecordChannel] = [solution.channel, *channels]
    for channel in everything:
        own = channel is solution.channel
        risks = _solved(solution) if own else channel_risks(study, channel)
        price = lam if risks.exact and not isinstance(lam, float) else float(lam)
        audit = None if held is None else audit_channel(study, channel, *held, attackers, minds)
        rows.append(ComparedRelease(channel.name, risks, risks.bob - price * risks.eve, audit))
    rows.sort(key=lambda row: (float(row.alice), row.name != "optimum"))
    return ReleaseComparison(lam, tuple(rows), tuple(omitted), tuple(public(s.weight) for s in study.spies))


def _solved(solution: StudySolution) -> ChannelRisks:
    return ChannelRisks(solution.risks.bob, solution.risks.eve, solution.columns, solution.eves)


def alternatives(study: Study) -> tuple[list[RecordChannel], list[tuple[str, str]]]:
    """The channels of the alternatives, and those that are left out with the reason."""
    columns = [study.columns[k] for k in study.published]
    margins = [_margin(study, k) for k in study.published]
    same = [identity(len(c)) for c in columns]
    empty = [EXACT.full((len(c), 1), 1) for c in columns]

    def channel(name: str, matrices: Sequence[Array]) -> ColumnChannel:
        return ColumnChannel(name, study.published, tuple(matrices))

    out: list[RecordChannel] = [channel("as is", same), channel("suppress all", empty)]
    if len(columns) > 1:
        for j, column in enumerate(columns):
            left = [empty[i] if i == j else same[i] for i in range(len(columns))]
            out.append(channel(f"suppress {column.name}", left))
    out.append(channel("generalise", [_joined(c) for c in columns]))
    for rate in SWAPS:
        mixed = [(1 - rate) * one + rate * np.tile(m, (len(m), 1)) for one, m in zip(same, margins, strict=True)]
        out.append(channel(f"swap {float(rate):.0%}", mixed))
    out.append(channel("PRAM", [invariant(m) for m in margins]))
    for ratio in RATIOS:
        tables = [_response(len(c), fmpq(ratio)) for c in columns]
        out.append(channel(f"randomised response e^eps = {ratio}", tables))
    omitted = []
    known = tuple(sorted({k for spy in study.spies for k in spy.knows}))
    for name, given in (("synthetic", ()), ("synthetic given known columns", known)):
        if name == "synthetic" or known:
            cells = len(np.unique(_key(study, study.prior.types, given))) * study.decisions
            if cells > _SYNTHETIC:
                omitted.append((name, f"its table has {cells} cells, at most {_SYNTHETIC} are made"))
            else:
                out.append(_synthetic(study, name, given))
    return out, omitted


def _margin(study: Study, k: int) -> Array:
    return summed(study.program.lifted().p, study.prior.types[:, k], study.levels[k])


def _joined(column: Column) -> Array:
    """Levels in pairs; an odd last level joins the pair before it, and missing stays alone."""
    ranked = len(column) - (column.missing is not None)
    pairs = max(ranked // 2, 1)
    group = np.minimum(np.arange(ranked) // 2, pairs - 1).tolist()
    if column.missing is not None:
        group.append(pairs)
    return objects(fmpq(int(g == s)) for g in group for s in range(max(group) + 1)).reshape(len(group), -1)


def invariant(margin: Array) -> Array:
    """The invariant PRAM matrix of a margin: margin . R = margin."""
    size = len(margin)
    live = [i for i in range(size) if margin[i] != 0]
    out = identity(size)
    if len(live) < 2:
        return out
    kept = PRAM_KEPT
    other = (1 - kept) / (len(live) - 1)
    first = {(i, j): kept if i == j else other for i in live for j in live}
    reached = {s: sum((margin[i] * first[i, s] for i in live), fmpq(0)) for s in live}
    back = {(s, j): margin[j] * first[j, s] / reached[s] for s in live for j in live}
    for i in live:
        for j in live:
            mixed = sum((first[i, s] * back[s, j] for s in live), fmpq(0))
            out[i, j] = PRAM_MIXED * mixed + (1 - PRAM_MIXED) * int(i == j)
    return out


def _response(size: int, ratio: fmpq) -> Array:
    total = ratio + size - 1
    return objects((ratio if i == j else fmpq(1)) / total for i in range(size) for j in range(size)).reshape(size, size)


def _key(study: Study, types: Array, columns: Sequence[int]) -> Array:
    return keys(types[:, list(columns)], [study.levels[k] for k in columns])


def _synthetic(study: Study, name: str, given: tuple[int, ...]) -> KeyedChannel:
    types, p = study.prior.types, study.program.p
    exact = is_exact(p)
    told = keys(types[:, list(study.published)], [study.levels[k] for k in study.published])
    key, at = np.unique(_key(study, types, given), return_inverse=True)
    table = np.full((len(key) + 1, study.decisions), fmpq(0) if exact else 0.0, dtype=object if exact else float)
    np.add.at(table, (at, told), p)
    np.add.at(table[-1], told, p)  # the last row is for values never seen: the whole population
    return KeyedChannel(name, study.published, (table / table.sum(axis=1)[:, None],), study.levels, given, key)
