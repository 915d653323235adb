"""The verdict on a release, in plain words: is it better than the file as it is, and whom does it make certain?

On held-out records the R_A of two releases is compared record by record, with the strongest Eves of each, so the
standard error is that of the mean difference; the light (`light`) follows from these numbers. An Eve is *certain* at a
released record s and known columns z if the prior leaves one secret there, P(secret | s, z) = 1, although z alone
leaves several. A mean risk does not show this: it may be that of no release and some records may still be given away.
Groups of records that share the published columns are counted in the whole table, before the release and in a
rehearsed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.support.display import counted, percent, person
from bap_lp.support.rational import Array, floats
from bap_sdc.records.audit.attackers import ATTACKERS
from bap_sdc.records.audit.audit import (
    REHEARSAL,
    Audit,
    AuditedRisk,
    Judged,
    believed,
    counted_types,
    difference,
    estimate,
    judged,
)
from bap_sdc.records.audit.light import Gain, Light
from bap_sdc.records.data.prior import keys
from bap_sdc.records.release.channels import ColumnChannel, TableChannel, sample

if TYPE_CHECKING:
    from bap_sdc.records.agents import Spy
    from bap_sdc.records.solution import StudySolution
    from bap_sdc.records.study import Study

_CLEAR = 2.0  # standard errors from which a difference is told as one
_LISTED = 10  # record types at risk


@dataclass(frozen=True)
class Certainty:
    """Of 1: how many records one Eve is certain about, before and after the release; of these, right on held-out ones.

    kept: her risk with the release as a share of her risk without one; informed: the same on held-out records, of an
    Eve who knows their shares. surest: the largest probability of any secret, before and after.
    """

    eve: str
    before: float
    after: float
    right: float | None
    kept: float | None
    informed: float | None
    surest: tuple[float, float]

    def document(self) -> dict[str, Any]:
        return {
            "name": self.eve, "before": self.before, "after": self.after, "right": self.right, "kept": self.kept,
            "informed": self.informed, "surest": {"before": self.surest[0], "after": self.surest[1]},
        }  # fmt: skip


@dataclass(frozen=True)
class Groups:
    """Groups of records that share the published columns: the smallest, records alone, and fewest secrets by column."""

    k: int
    unique: int
    secrets: tuple[tuple[str, int], ...]

    def document(self) -> dict[str, Any]:
        return {"k_anonymity": self.k, "unique_records": self.unique, "l_diversity": dict(self.secrets)}


@dataclass(frozen=True)
class RecordAtRisk:
    """A record type, how many records are of it, and how sure an Eve is of its secret before and after the release."""

    record: str
    count: int
    eve: str
    before: float
    after: float


@dataclass(frozen=True)
class StudyVerdict:
    """What held-out records, the prior and the released columns say about a release; see the module.

    against: by release ("as is", "nothing"), R_A of the optimum minus its R_A on held-out records, with the strongest
    Eves and with informed ones. audit: of the release on held-out records, None if there are none.
    """

    records: int
    light: Light
    audit: Audit | None
    against: dict[str, tuple[AuditedRisk, AuditedRisk]]
    unchanged: bool
    certain: tuple[Certainty, ...]
    before: Groups
    after: Groups
    prior: str
    conditions: bool = False

    def words(self, public: bool = False) -> list[str]:
        """The verdict as sentences, the most important one first; in public without counts of records."""
        certain = [_certain(one, public) for one in self.certain]
        if public:
            return [*self.light.words(public), *self._better("held-out records", public), *certain]
        better = self._better(counted(self.records, "held-out record"))
        return [*self.light.words(), *better, *certain, *self._groups(), self.prior]

    def _better(self, where: str, public: bool = False) -> list[str]:
        same = ["No cell is changed: this release is the file as it is."] if self.unchanged else []
        if not self.against:
            return same
        strongest, informed = (_compared(one, "the file as it is", public) for one in self.against["as is"])
        none, informed_none = (_compared(one, "publishing nothing", public) for one in self.against["nothing"])
        knows = "an Eve who knows the shares of these records it is"
        if same:
            return [*same, f"On {where}, against the strongest Eve, it is {none}; against {knows} {informed_none}."]
        freely = ", whether or not that keeps the conditions" if self.conditions else ""
        return [
            f"On {where}, against the strongest Eve, this release is {strongest}{freely}.",
            f"Against {knows} {informed}.",
            f"It is {none}; against such an Eve it is {informed_none}.",
        ]

    def _groups(self) -> list[str]:
        a, b = self.before, self.after
        secrets = [f"{name} {own} and {then}" for (name, own), (_, then) in zip(a.secrets, b.secrets, strict=True)]
        return [
            f"Of the whole table {a.unique} records are alone with their published columns, {b.unique} in a rehearsed "
            f"release. The smallest group of records that share them has {a.k} before and {b.k} after; the fewest "
            f"different secrets in a group, before and after: {', '.join(secrets)}."
        ]

    def document(self) -> dict[str, Any]:
        """The verdict as a JSON document; nothing in it is about a single record."""
        return {
            "words": self.words(),
            "light": self.light.document(),
            "held_out": {
                name: {"strongest": one.document(), "informed": other.document()}
                for name, (one, other) in self.against.items()
            },
            "certain": [one.document() for one in self.certain],
            "released": {"before": self.before.document(), "after": self.after.document()},
        }


def verdict_of(solution: StudySolution, attackers: Sequence[str] | None = None) -> StudyVerdict:
    """The verdict on the release of a solution; attackers: names of those that are trained, all if None."""
    study, channel = solution.study, solution.channel
    held = study.codes[study.left_out]
    against, unchanged = {}, not any(solution.changed)
    kept: list[float | None] = [None] * len(study.spies)
    light, audit = Light(0, False, (), {}, (0.0, 0.0, float(solution.risks.bob))), None
    if len(held):
        types, counts = counted_types(held, study.levels)
        empty = ColumnChannel("nothing", study.published, tuple(np.ones((study.levels[k], 1)) for k in study.published))
        names, minds = list(ATTACKERS) if attackers is None else list(attackers), believed(study, attackers)
        own, same, none = (judged(study, c, types, counts, names, minds) for c in (channel, as_is(study), empty))
        lam, audit = float(solution.lam), own.audit
        against = {"as is": difference(own, same, lam), "nothing": difference(own, none, lam)}
        unchanged = unchanged and all(one.value == one.error == 0 for one in against["as is"])
        pairs = zip(own.audit.eves, none.audit.eves, strict=True)
        kept = [a.informed.value / b.informed.value if b.informed.value else None for a, b in pairs]
        sides = {name: (one.value, one.error) for name, (one, _) in against.items()}
        stated = audit.bob.value, audit.bob.error, float(solution.risks.bob)
        gains = tuple(_gain(solution, n, own, none) for n in range(len(study.spies)))
        light = Light(len(held), bool(names), gains, sides, stated)
    types, counts = counted_types(study.codes, study.levels)
    over, records = channel.over(types), np.repeat(types, counts, axis=0)  # in an order that a folder has too
    told = over.decode(sample(over, records, np.random.default_rng(REHEARSAL)))
    return StudyVerdict(
        len(held),
        light,
        audit,
        against,
        unchanged,
        tuple(_certainty(solution, n, held, share) for n, share in enumerate(kept)),
        _groups(study, records, records[:, list(study.published)]),
        _groups(study, records, told),
        f"What the prior believes: {study.prior.belief}.",
        study.conditions is not None,
    )


def _gain(solution: StudySolution, n: int, own: Judged, none: Judged) -> Gain:
    """The gain of the n-th Eve where she is strongest, over the best of all who have the known columns alone."""
    eve, before = own.strongest(n), none.strongest(n)
    risk, null = estimate(eve, own.counts).value, estimate(before, own.counts).value
    less, share = estimate(before - eve, own.counts), 1 / null if null else 0.0
    stated_null = float(solution.nulls[n])
    stated = 1 - float(solution.eves[n]) / stated_null if stated_null else 0.0
    allowed = max(stated, 0.0) if solution.eve_gain is None else float(solution.eve_gain)
    one = own.audit.eves[n]
    return Gain(one.name, one.strongest, risk, null, less.value * share, less.error * share, allowed)


def as_is(study: Study) -> TableChannel:
    """The published columns as they are, row by row."""
    types, sizes = study.prior.types, [study.levels[k] for k in study.published]

    def own(records: Array) -> Array:
        return keys(records[:, list(study.published)], sizes)

    def rule(records: Array) -> Sequence[tuple[Array, Array]]:
        return [(np.array([i]), np.ones(1)) for i in own(records).tolist()]

    every = np.arange(len(types) + 1)
    key = keys(types, study.levels)
    return TableChannel("as is", study.levels, study.published, key, every, own(types), np.ones(len(types)), rule)


def _seen(study: Study, spy: Spy, channel: TableChannel, types: Array) -> tuple[Array, Array, Array]:
    """(row, q, what the Eve has: known columns and signal as one key) of every entry of the channel."""
    row, signal, q = channel.rows(types)
    z = np.unique(study.known(types, spy), return_inverse=True)[1]
    return row, floats(q).astype(float), np.unique(z[row] * channel.signals + signal, return_inverse=True)[1]


def _certainty(solution: StudySolution, n: int, held: Array, informed: float | None) -> Certainty:
    study = solution.study
    spy, fitted = study.spies[n], study.prior.types
    p = floats(study.program.p).astype(float)
    types, counts = counted_types(held, study.levels) if len(held) else (fitted[:0], p[:0])
    both = np.vstack([fitted, types])
    channel = solution.channel.over(types) if len(held) else solution.channel
    row, q, seen = _seen(study, spy, channel, both)
    secret, old = both[:, spy.secret], row < len(fitted)
    settled = _settled(seen[old], secret[row[old]], seen.max() + 1)
    z = np.unique(study.known(both, spy), return_inverse=True)[1]
    alone = _settled(z[: len(fitted)], secret[: len(fitted)], z.max() + 1)
    new = (settled[seen] >= 0) & (alone[z[row]] < 0)
    mine = np.append(p, np.zeros(len(types)))[row] * q
    right = None
    if len(held):
        theirs = np.append(np.zeros(len(fitted)), counts)[row] * q
        if theirs[new].sum() > 0:
            right = float(theirs[new & (settled[seen] == secret[row])].sum() / theirs[new].sum())
    before = float(p[alone[z[: len(fitted)]] >= 0].sum())
    null = float(solution.nulls[n])
    kept = float(solution.eves[n]) / null if null else None
    beliefs = z[: len(fitted)], p, secret[: len(fitted)]
    surest = _surest(*beliefs), _surest(seen[old], mine[old], secret[row[old]])
    return Certainty(spy.name, before, float(mine[new].sum()), right, kept, informed, surest)


def _surest(group: Array, mass: Array, secret: Array) -> float:
    """The largest share of one secret in a group; below 1 where the group has two."""
    levels = int(secret.max()) + 1
    whole = np.bincount(group, mass)
    cell, at = np.unique(group * levels + secret, return_inverse=True)
    parts, live = np.bincount(at, mass), whole[cell // levels] > 0
    share = float((parts[live] / whole[cell // levels][live]).max())
    return min(share, 1.0) if (_settled(group, secret, len(whole)) >= 0).any() else min(share, np.nextafter(1.0, 0))


def _settled(group: Array, secret: Array, size: int) -> Array:
    """The only secret of each group, -1 where it has none or several."""
    low, high = np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
    np.minimum.at(low, group, secret)
    np.maximum.at(high, group, secret)
    return np.where(low == high, high, -1)


def records_at_risk(solution: StudySolution, most: int = _LISTED) -> list[RecordAtRisk]:
    """The record types of the table whose secret an Eve of the prior is surest of after the release; confidential.

    Args:
        solution: the solution.
        most: how many are listed.

    Returns:
        They are sorted by what the release adds to Eve's belief in the true secret, then by the belief.
    """
    study = solution.study
    p = floats(study.program.p).astype(float)
    fitted, counts = study.prior.types, study.prior.counts
    found: dict[int, RecordAtRisk] = {}
    names = study.state_names()
    for spy in study.spies:
        row, q, seen = _seen(study, spy, solution.channel, fitted)
        secret = fitted[:, spy.secret]
        levels = len(spy.loss)
        mass = np.bincount(seen * levels + secret[row], p[row] * q, minlength=(seen.max() + 1) * levels)
        mass = mass.reshape(-1, levels)
        after = np.bincount(row, q * mass[seen, secret[row]] / mass[seen].sum(axis=1), minlength=len(fitted))
        z = np.unique(study.known(fitted, spy), return_inverse=True)[1]
        shares = np.bincount(z * levels + secret, p, minlength=(z.max() + 1) * levels).reshape(-1, levels)
        before = shares[z, secret] / shares[z].sum(axis=1)
        for x in np.argsort(-(after - before), kind="stable")[: 4 * most].tolist():
            one = RecordAtRisk(names[x], int(counts[x]), spy.name, float(before[x]), float(after[x]))
            if one.count and (x not in found or one.after - one.before > found[x].after - found[x].before):
                found[x] = one
    return sorted(found.values(), key=lambda one: (one.before - one.after, -one.after))[:most]


def _groups(study: Study, records: Array, told: Array) -> Groups:
    """Groups of records by what is told of them, a row of published levels for each."""
    _, at = np.unique(keys(told, [study.levels[k] for k in study.published]), return_inverse=True)
    size = np.bincount(at)
    secrets = []
    for k in dict.fromkeys(spy.secret for spy in study.spies):
        pairs = np.unique(at * study.levels[k] + records[:, k]) // study.levels[k]
        secrets.append((study.names[k], int(np.bincount(pairs).min())))
    return Groups(int(size.min()), int((size == 1).sum()), tuple(secrets))


def _compared(gain: AuditedRisk, other: str, public: bool) -> str:
    """A difference of R_A as words, in public with three decimals; `gain` is negative where the release is better."""
    if gain.value == 0 and gain.error == 0:
        return f"exactly as good as {other}"
    errors = abs(gain.value) / gain.error if gain.error else float("inf")
    amount = f"{abs(gain.value):.3f}" if public else f"{abs(gain.value):.3g}"
    size = f"R_A {amount} {'lower' if gain.value < 0 else 'higher'}"
    many = f"{errors:.1f} standard errors" if errors < 1000 else "without sampling error"
    if errors < _CLEAR:
        return f"not clearly better or worse than {other} ({size}, {many})"
    return f"{'better' if gain.value < 0 else 'worse'} than {other} ({size}, {many})"


def _certain(one: Certainty, public: bool) -> str:
    """Both sides of the promise: the average, and the records that are given away."""
    who = person(one.eve)
    share = partial(_told, digits=0 if public else 1)
    average = "" if one.kept is None else f"On average {who} keeps {share(one.kept)} of the risk without a release"
    if average and one.informed is not None:
        average += f", and {share(one.informed)} on held-out records if their shares are known"
    average += ". " if average else ""
    settled = f"settles it for {share(one.before)} of the records without any release."
    if one.after == 0 and one.before > 0:
        return f"{average}No released record makes {who} certain of another secret: what {who} knows {settled}"
    if one.after == 0:
        before, after = map(share, one.surest)
        words = f"{average}No released record makes {who} certain of a secret"
        return f"{words}: the surest belief is {after}, and {before} without a release."
    right = (
        f"; on held-out records this is right in {share(one.right or 0)} of the cases" if one.right is not None else ""
    )
    return (
        f"{average}{'Yet' if average else 'But'} in {share(one.after)} of the records the released one, with what "
        f"{who} knows, leaves one secret only: in the model that is certainty{right}. "
        f"What {who} knows {settled if one.before else 'settles none without a release.'}"
    )


def _told(share: float, digits: int) -> str:
    """A share in a sentence."""
    return percent(share, digits).replace(".0%", "%").replace("<", "less than ").replace(">", "more than ")
