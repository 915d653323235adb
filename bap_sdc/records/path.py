"""StudyPath: the frontier of a study: its best release for every lam, in the model and on held-out records.

V(lam) = min R_B - lam R_E is concave and piecewise linear. Without conditions every piece is exact
(`optimum.part_paths`): a release that is optimal from lam = start to end. Under conditions, and with an informed Eve,
whose path has very many pieces, the optimum is proved at single points; between two of them V lies above their chord
and below both of their lines.

Eve's gain is measured by her risk without a release: R_E^n = (1 - gain) null_n. On the path R_B grows with lam, and the
last piece leaves every Eve her risk without a release. So the first piece on which no Eve gains more than g is the
release of the path with the least R_B among those that promise g.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bap_lp.support.clock import OutOfTime, time_limited
from bap_lp.support.display import Displayed, counted, fraction, risks_line
from bap_lp.support.rational import EXACT, InputError, number, public, simplest, text
from bap_lp.support.risks import Number, Risks
from bap_sdc.records.optimum.risks import extremes_of, record_lam

if TYPE_CHECKING:
    from bap_sdc.records.audit.audit import Audit
    from bap_sdc.records.pricing.workers import Workers
    from bap_sdc.records.solution import StudySolution
    from bap_sdc.records.study import Study

_POINTS = 17  # optima, if not every piece is found
_SEEN = Fraction(1, 500)  # of R_B without a release: nearer than this, two frontiers are one line in a picture
_JUDGED = 12  # lines that are always judged on held-out records; more, if the table is small
_WORK = 40_000  # record types times lines
_LARGEST, _ROUNDING = 4**15, 1e-9  # of lam that is searched for, and of the risks in floats on the way

Progress = Callable[[str], None]


@dataclass(frozen=True)
class StudyLine:
    """One line of the path: the release that is optimal from lam = start to end.

    Attributes:
        start: where it starts.
        end: where the next one starts, infinite for the last; equal to start for a single point.
        risks: R_B and R_E.
        eves: every Eve's own risk.
        audit: its audit on held-out records, without learned attackers, if it was asked for.
        solution: the solution at a single point, which need not be found again.
    """

    start: Number
    end: Number
    risks: Risks
    eves: tuple[Number, ...]
    audit: Audit | None = None
    solution: StudySolution | None = field(default=None, repr=False, compare=False)

    @property
    def lam(self) -> Number:
        """A short fraction inside the line: the price at which to solve for it."""
        if self.start == self.end:
            return self.start
        low = EXACT.number(self.start)
        if self.end == math.inf:
            return public(EXACT.number(math.floor(self.start) + 1))
        high = EXACT.number(self.end)
        return public(simplest(low + (high - low) / 4, high - (high - low) / 4))


@dataclass(frozen=True, eq=False, repr=False)
class StudyPath(Displayed):
    """The lines of a study by increasing lam. `Study.path` makes it.

    Attributes:
        study: the study.
        lines: its lines; R_B and R_E increase from line to line.
        nulls: the Eves' risks if nothing is released.
        width: how far V may lie below the lines: 0 if every piece is exact.
        whole: whether the lines cover every lam, or are single points.

    >>> import pandas
    >>> from bap_sdc import Eve, Study
    >>> frame = pandas.DataFrame({"ill": ["no", "no", "yes"], "pay": ["low", "low", "high"]})
    >>> path = Study(frame, publish={"pay": "0-1"}, eves=[Eve("ill")]).path()
    >>> path
    <StudyPath: 2 lines, changes at lambda = 1>
    >>> print(path.lines[0].risks.eve, path.lines[1].risks.eve, path.within_gain("10%").risks.bob)
    0 1/3 1/3
    """

    study: Study
    lines: tuple[StudyLine, ...]
    nulls: tuple[Number, ...]
    width: Number = 0
    whole: bool = True

    @property
    def pieces(self) -> tuple[StudyLine, ...]:
        """The lines, by the name that a path of any problem has for them."""
        return self.lines

    @property
    def breakpoints(self) -> tuple[Number, ...]:
        """The starts of all lines but the first."""
        return tuple(line.start for line in self.lines[1:])

    def line(self, lam: Any) -> StudyLine:
        """The line that lam lies on; where two meet, the one that starts there. Of points, the last one up to lam."""
        return self.lines[bisect_right(self.breakpoints, public(record_lam(self.study.program, lam)))]

    def gains(self, line: StudyLine) -> tuple[Number, ...]:
        """By how much every Eve is better off than without a release, as a share of her risk without one."""
        return tuple(1 - risk / null if null else 0 * risk for risk, null in zip(line.eves, self.nulls, strict=True))

    def within_gain(self, gain: Any) -> StudyLine:
        """The line of least R_B on which no Eve gains more than this share, such as "2%".

        Args:
            gain: a share from 0 to 1, or a percentage.

        Returns:
            The line.

        Raises:
            InputError: the share is not one, or no point under the conditions keeps it.
        """
        share = public(gain_of(gain))
        for line in self.lines:
            if all(risk >= (1 - share) * null for risk, null in zip(line.eves, self.nulls, strict=True)):
                return line
        raise InputError("eve_gain", gain, "is kept by no release of the path")

    def offered(self, most: int, always: Collection[int] = ()) -> list[int]:
        """Numbers of lines spread over the path, at most so many, and some that are always among them."""
        last = len(self.lines) - 1
        some = range(last + 1) if last < most else (round(k * last / (most - 1)) for k in range(most))
        return sorted({*some, *always})

    def audited(self, chosen: Collection[int] | None = None, progress: Progress = lambda _: None) -> StudyPath:
        """The same path with audits of its lines on held-out records.

        Args:
            chosen: numbers of the lines to judge; by default all of them, or some if the table is large.
            progress: called with words.

        Returns:
            The path; unchanged if no records were held out.
        """
        study = self.study
        if not study.left_out.any():
            return self
        if chosen is None:
            chosen = self.offered(max(_JUDGED, _WORK // len(study.prior.types)))
        from bap_sdc.records.audit.audit import audit_channel, believed, counted_types

        held, minds = counted_types(study.codes[study.left_out], study.levels), believed(study, None)
        lines = list(self.lines)
        for count, k in enumerate(sorted(chosen)):
            progress(f"held-out records: line {count + 1} of {len(chosen)}")
            found = lines[k].solution or study.solve(lines[k].lam)
            lines[k] = replace(lines[k], audit=audit_channel(study, found.channel, *held, (), minds))
        return replace(self, lines=tuple(lines))

    def document(self) -> dict[str, Any]:
        """The path as one JSON document; "to" of the last piece is null."""
        tie = {name: _tie(self.study, name) for name in ("calibrated", "as is")}
        lines = [
            {
                **(
                    {"from": text(line.start), "to": None if line.end == math.inf else text(line.end)}
                    if self.whole
                    else {}
                ),
                "lambda": text(line.lam),
                "risks": {"bob": text(line.risks.bob), "eve": text(line.risks.eve)},
                "eves": [
                    {"name": spy.name, "risk": text(risk), "gain": float(gain)}
                    for spy, risk, gain in zip(self.study.spies, line.eves, self.gains(line), strict=True)
                ],
                "held_out": None if line.audit is None else _held_out(line.audit),
            }
            for line in self.lines
        ]
        return {
            "exact": not isinstance(self.width, float) and self.width == 0,
            ("pieces" if self.whole else "points"): lines,
            "width": text(self.width),
            "calibrated": None if tie["calibrated"] is None else text(tie["calibrated"]),
            "as_is": None if tie["as is"] is None else text(tie["as is"]),
            "eves": [
                {"name": spy.name, "null": text(null)} for spy, null in zip(self.study.spies, self.nulls, strict=True)
            ],
        }

    def _lines(self) -> Iterator[str]:
        changes = [fraction(b) for b in self.breakpoints[:4]] + ["..."] * (len(self.lines) > 5)
        where = f", changes at lambda = {', '.join(changes)}" if changes and self.whole else ""
        yield f"{counted(len(self.lines), 'line' if self.whole else 'point')}{where}"

        first, last = self.lines[0].risks, self.lines[-1].risks
        yield f"At first {risks_line(first.bob, first.eve)}; in the end {risks_line(last.bob, last.eve)}."

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The lines: how much better off Eve is at most, and if they were audited the risks on held-out records."""
        audited, rows = any(line.audit for line in self.lines), []
        for k, line in enumerate(self.lines[:most], start=1):
            row: dict[str, Any] = {"line": k, "lambda from": line.start, "R_B": line.risks.bob, "R_E": line.risks.eve}
            row["Eve gains"] = max(self.gains(line))
            if audited:
                held = (None,) * 3 if line.audit is None else _three(line.audit)
                row |= dict(zip(("R_B held-out", "R_E held-out", "R_E informed"), held, strict=True))
            rows.append(row)
        return rows


def gain_of(value: Any) -> Any:
    """A share from 0 to 1, given as a number or as a percentage."""
    share = repr(value) if isinstance(value, float) else value
    if isinstance(value, str) and value.strip().endswith("%"):
        share = number(value.strip()[:-1].strip() or "?", "eve_gain") / 100
    share = EXACT.number(number(share, "eve_gain"))
    if not 0 <= share <= 1:
        raise InputError("eve_gain", value, 'must be a share from 0 to 1, such as "2%" or "1/50"')
    return share


def study_path(
    study: Study, *, workers: Workers = None, client: Any = None, progress: Progress | None = None,
    time_limit: float | None = None,
) -> StudyPath:  # fmt: skip
    """The path of a study; see `Study.path`."""
    tell = progress or (lambda _: None)
    with time_limited(time_limit):
        if study.conditions is not None or any(spy.informed > 1 for spy in study.spies):
            return _points(study, tell, workers, client)
        from bap_sdc.records.optimum.part_paths import record_path

        program = study.program.lifted()
        pieces = record_path(
            program, workers, client, lambda done, total: tell(f"every lambda: {done} of {total} record types")
        )
    weights = [eve.weight for eve in program.eves]
    ends = [*(public(piece.start) for piece in pieces[1:]), math.inf]
    lines = tuple(
        StudyLine(
            public(piece.start),
            end,
            Risks(public(sum(piece.columns)), public(sum(w * v for w, v in zip(weights, piece.eves, strict=True)))),
            study.by_eve(list(map(public, piece.eves))),
        )
        for piece, end in zip(pieces, ends, strict=True)
    )
    return StudyPath(study, lines, study.by_eve(list(map(public, extremes_of(program)[1][1]))))


def lam_within_gain(
    study: Study, gain: Any, *, workers: Workers = None, client: Any = None, progress: Progress | None = None
) -> Any:
    """A lam at which no Eve gains more than this share: the first of the path.

    With an informed Eve, or under conditions, lam is searched for by bisection, and is at most a twentieth larger than
    one that does not keep the share.

    Args:
        study: the study.
        gain: a share from 0 to 1, or a percentage.
        workers: processes for the parts.
        client: a Dask client instead.
        progress: called with a sentence.

    Returns:
        lam.

    Raises:
        InputError: the share is not one, or no release under the conditions keeps it.
    """
    if study.conditions is None and all(spy.informed < 2 for spy in study.spies):
        return study.path(workers=workers, client=client, progress=progress).within_gain(gain).lam
    share, tell = public(gain_of(gain)), progress or (lambda _: None)
    exact = False if study.conditions is None else None

    def kept(lam: Fraction) -> bool:
        tell(f"looking for lambda: {float(lam):.3g}")
        found = study.solve(lam, exact, workers=workers, client=client)
        pairs = zip(found.eves, found.nulls, strict=True)
        return all(float(risk) >= float(1 - share) * float(null) * (1 - _ROUNDING) for risk, null in pairs)

    low, high = Fraction(0), Fraction(1)
    if kept(low):
        return low
    while not kept(high):
        low, high = high, 4 * high
        if high > _LARGEST:
            raise InputError("eve_gain", gain, f"is kept by no release up to lambda = {low}")
    while low < Fraction(20, 21) * high and high > Fraction(1, _LARGEST):
        middle = Fraction(f"{float(low * high) ** 0.5:.3g}") if low else high / 4
        if not low < middle < high:
            break
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


def _points(study: Study, tell: Progress, workers: Workers, client: Any) -> StudyPath:
    """Optima at some lam, refined where V is known least, until nobody sees it, or the time or the number is up."""
    enough = float(_SEEN * public(EXACT.number(extremes_of(study.program)[1][0])))
    tie = _tie(study, "calibrated") or _tie(study, "as is") or 1
    found: dict[Any, StudySolution] = {}
    wanted = [0 * tie, tie, 4 * tie]
    width: Any = 0
    while len(found) < _POINTS:
        try:
            for lam in wanted:
                tell(f"every lambda: optimum {len(found) + 1} of at most {_POINTS}")
                found[lam] = study.solve(lam, workers=workers, client=client)
        except OutOfTime:
            if len(found) < 2:
                raise
            break
        width, lam = max((_unknown(found[a], found[b]) for a, b in pairwise(sorted(found))), key=lambda pair: pair[0])
        lam = Fraction(f"{float(lam):.6g}")
        if width <= enough or lam in found:
            break
        wanted = [lam]
    lines = [StudyLine(lam, lam, one.risks, one.eves, None, one) for lam, one in sorted(found.items())]
    nulls = next(iter(found.values())).nulls
    width = max(_unknown(found[a], found[b])[0] for a, b in pairwise(sorted(found)))
    return StudyPath(study, tuple(lines), nulls, width, whole=False)


def _unknown(left: StudySolution, right: StudySolution) -> tuple[Any, Any]:
    """How far V may lie below the lines of two optima, and where: at their crossing, down to their chord."""
    a, b, rise = left.risks, right.risks, right.risks.eve - left.risks.eve
    if rise <= 0:
        return 0 * left.value, left.lam
    lam = min(max((b.bob - a.bob) / rise, left.lam), right.lam)
    share = (lam - left.lam) / (right.lam - left.lam)
    return a.alice(lam) - (1 - share) * left.bound - share * right.bound, lam


def _tie(study: Study, name: str) -> Number | None:
    try:
        return public(record_lam(study.program, name))
    except InputError:
        return None


def _three(audit: Audit) -> tuple[float, float, float]:
    return audit.bob.value, audit.strongest.value, audit.informed.value


def _held_out(audit: Audit) -> dict[str, Any]:
    names = {"bob": audit.bob, "eve": audit.eve, "strongest": audit.strongest, "informed": audit.informed}
    own = [
        {
            "name": e.name, "prior": e.prior.document(), "strongest": e.kinds[e.strongest].document(),
            "informed": e.informed.document(), "null": e.null.document(),
        }
        for e in audit.eves
    ]  # fmt: skip
    return {name: one.document() for name, one in names.items()} | {"eves": own}
