"""Study: a table of records, what is published of it, and the Eves who want its secrets.

A record x is a tuple of levels. Bob wants the published columns, one Bob per column with a loss of its own; a
signal is a perturbed record. Eve wants a secret column and knows others. Columns that are neither published, secret
nor known are dropped first; then records with equal levels are one record type, a state of the problem, and p(x) is
fitted to their counts (`bap_sdc.records.data.prior`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from bap_lp.model.reports import SCORES
from bap_lp.support.arguments import text_of
from bap_lp.support.clock import time_limited
from bap_lp.support.display import Displayed, counted
from bap_lp.support.labels import weight_of
from bap_lp.support.rational import Array, InputError, objects, public, show, taken
from bap_sdc.records.agents import Eve, Spy, margins_of, require_different, share_of, target_of, times, wanted_columns
from bap_sdc.records.conditions.stated import StudyConditions
from bap_sdc.records.data.levels import Column, Reading, column_of, positive_numbers
from bap_sdc.records.data.losses import loss_table
from bap_sdc.records.data.models import CHANCES, model_prior
from bap_sdc.records.data.prior import Prior, Sample, held_out, keys, rows_of
from bap_sdc.records.data.tables import as_pandas, check_names
from bap_sdc.records.optimum.program import RecordProgram, TableEve

if TYPE_CHECKING:
    from bap_lp import Conditions, Problem
    from bap_sdc.records.path import StudyPath
    from bap_sdc.records.pricing.workers import Workers
    from bap_sdc.records.solution import StudySolution

MOST_CELLS = 4_000_000  # record types times decisions of an ordinary Problem
MOST_DRAWS = 1000  # of the true shares, which an informed Eve knows
_TOWARD = ("margins", "pooled")


class Study(Displayed):
    """A table of records with what is published and who attacks it.

    Args:
        frame: a pandas DataFrame, a row per record.
        publish: by column, its loss: "0-1", "absolute", "squared" (in ranks divided by levels - 1), a table (row:
            truth, column: published), or a mapping with `loss` and `weight`.
        eves: the Eves.
        smoothing: alpha of the counts, a non-negative number, or "held-out".
        columns: by column, `levels`, or `bands` with `names` if they shall have some, or `merge`; and `missing`.
        holdout: the share of records that are kept from the fit for the audit, the same of every secret.
        conditions: what the release must satisfy: a mapping with `cap`, `floor`, `dp` and `min_cell` in the words of
            columns, and conditions on record types as in `Conditions`.
        toward: what smoothing shrinks to, "margins" or "pooled".
        model: of the prior: "counts", "independent", "loglinear", "conditional" (the secrets given all other columns,
            by a classifier), or "held-out": the one with the largest likelihood of left-out secrets. By default
            "conditional" if records are held out, for then no other model knows the types of all records of the file,
            and otherwise "counts".
        margins: groups of columns whose joint shares a log-linear model keeps; all pairs by default.
        seed: of the split into fitted and held-out records.
        missing: cells that mean a missing one in all columns, such as "?".
        strip: whether blanks around the text of a cell are left out.
        decimal: "," if numbers are written with decimal commas.
        weight: the column of survey weights: p(x) is then the share of type x in their sum.
        title: a name for tables.
        source: what errors call the table.

    Raises:
        InputError: a column, level, loss or number breaks a rule.

    >>> import pandas
    >>> columns = {"age": [1, 1, 2, 2], "ill": ["no", "yes", "no", "no"], "pay": [1, 3, 2, 3]}
    >>> frame = pandas.DataFrame(columns)
    >>> study = Study(frame, publish={"pay": "absolute"}, eves=[Eve("ill", knows=["age"])])
    >>> study
    <Study: 4 records, 4 record types, 3 decisions, 1 Eve>
    """

    def __init__(
        self,
        frame: Any,
        publish: Mapping[str, Any],
        eves: Sequence[Eve],
        *,
        smoothing: Any = 0,
        columns: Mapping[str, Mapping[str, Any]] | None = None,
        holdout: Any = 0,
        conditions: StudyConditions | Conditions | Mapping[str, Any] | None = None,
        toward: str = "margins",
        model: str | None = None,
        margins: Sequence[Sequence[str]] = (),
        seed: int = 0,
        missing: Sequence[Any] = (),
        strip: bool = False,
        decimal: str = ".",
        weight: str | None = None,
        title: str = "",
        source: str = "frame",
    ) -> None:
        frame = _named(frame, source)
        names = list(frame.columns)
        if toward not in _TOWARD:
            raise InputError("toward", toward, f"must be one of {', '.join(_TOWARD)}")
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InputError("seed", seed, "must be a non-negative integer")
        self.title, self.source, self.seed = text_of("title", title), source, seed
        self.conditions = StudyConditions.of(conditions)
        eves = list(eves)
        wanted = wanted_columns(publish, eves, names, columns or {}, source)
        kept = [name for name in names if name in wanted]
        given = columns or {}
        if not isinstance(strip, bool):
            raise InputError("strip", strip, "must be true or false")
        if decimal not in (".", ","):
            raise InputError("decimal", decimal, 'must be "." or ","')
        reading = Reading((), strip, decimal).extended(missing, "missing")
        self.columns: tuple[Column, ...] = tuple(column_of(frame[c], c, given.get(c), source, reading) for c in kept)
        self.names = tuple(kept)
        self.targets = tuple(target_of(name, how, self[name]) for name, how in publish.items())
        self.spies = tuple(self._spy(eve, n) for n, eve in enumerate(eves))
        require_different([spy.name for spy in self.spies])
        self.levels = tuple(len(c) for c in self.columns)
        self.codes = np.column_stack([c.codes(frame[c.name], source) for c in self.columns])
        self.holdout = share_of(holdout)
        secrets = self.secrets
        self.left_out = held_out(keys(self.codes[:, secrets], [self.levels[k] for k in secrets]), self.holdout, seed)
        joined = [[k] for k in range(len(kept))] if toward == "margins" else self._pooled()
        weights = None
        if weight is not None:
            if weight not in names:
                raise InputError("weight", weight, f"is not a column of {source}")
            weights = objects(positive_numbers(frame[weight], reading, f"{source}: column {show(weight)}"))
        file = self.codes if self.left_out.any() else None
        sample = Sample(
            self.codes[~self.left_out], self.levels, self.names, secrets, tuple(map(tuple, joined)),
            smoothing, toward, margins_of(margins, self.names), seed, file, weights, ~self.left_out,
        )  # fmt: skip
        usual = "counts" if file is None else "conditional"
        informed = [spy.informed for spy in self.spies if spy.informed]
        self.prior: Prior = model_prior(sample, usual if model is None else model, informed)
        if self.conditions is not None:
            self.conditions = self.conditions.fitted(self)

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.names.index(name)]

    def _spy(self, eve: Eve, n: int) -> Spy:
        field = f"eves[{n}]"
        table = loss_table(eve.loss, self[eve.secret], f"{field}.loss", eve=True)
        score = eve.loss if isinstance(eve.loss, str) and eve.loss in SCORES else ""
        knows = tuple(sorted({self.names.index(c) for c in eve.knows}))
        name = eve.name or f"Eve{n + 1 if n else ''}"
        draws, weight = eve.informed, weight_of(eve.weight, f"{field}.weight")
        whole = isinstance(draws, int) and not isinstance(draws, bool)
        if draws is not None and not (whole and 1 <= draws <= MOST_DRAWS):
            raise InputError(f"{field}.informed", draws, f"must be an integer from 1 to {MOST_DRAWS}")
        return Spy(name, self.names.index(eve.secret), knows, table, weight, draws or 0, score)

    def _pooled(self) -> list[list[int]]:
        known = {k for spy in self.spies for k in spy.knows}
        groups = [[k for k in range(len(self.names)) if (k in known) == side] for side in (False, True)]
        return [group for group in groups if group]

    def encode(self, frame: Any, source: str = "frame") -> Array:
        """The levels of other records in the kept columns, a row per record."""
        frame = as_pandas(frame)
        if source == "frame":
            source = str(frame.attrs.get("source", source))
        frame = _named(frame, source)
        for name in self.names:
            if name not in frame.columns:
                raise InputError(f"{source}: column", name, "is missing")
        return np.column_stack([c.codes(frame[c.name], source) for c in self.columns])

    @cached_property
    def published(self) -> tuple[int, ...]:
        """Positions of the published columns among the kept ones, in the order of `publish`."""
        return tuple(self.names.index(t.column) for t in self.targets)

    @property
    def secrets(self) -> tuple[int, ...]:
        """Positions of the columns that an Eve wants, in their order."""
        return tuple(sorted({spy.secret for spy in self.spies}))

    @property
    def fitted(self) -> Array:
        """The fitted records as rows of levels, in the order of these, in which a folder has them too."""
        return rows_of(np.sort(keys(self.codes[~self.left_out], self.levels)), self.levels)

    @property
    def rest(self) -> list[int]:
        """Positions of the columns that no Eve wants: their shares are those of the file."""
        return [k for k in range(len(self.names)) if k not in self.secrets]

    @property
    def records(self) -> int:
        """The number of records the prior is fitted to."""
        return self.prior.records

    @property
    def ordered(self) -> Study:
        """The same with its records in the order of their levels, the fitted ones first, as a folder has them.

        What is learned from records depends on their order: in this one it can be learned again from the folder.
        """
        out = copy(self)
        at = np.lexsort((keys(self.codes, self.levels), self.left_out))
        out.codes, out.left_out = self.codes[at], self.left_out[at]
        return out

    @cached_property
    def decisions(self) -> int:
        """The number of Bob's decisions: all combinations of published levels."""
        return prod(self.levels[k] for k in self.published)

    def known(self, types: Array, spy: Spy) -> Array:
        """The joint value of the columns that an Eve knows, as one integer per row of levels."""
        columns = list(spy.knows)
        return keys(types[:, columns], [self.levels[k] for k in columns])

    @cached_property
    def program(self) -> RecordProgram:
        """The compact program, as sums over columns."""
        types, p = self.prior.types, self.prior.p
        losses = [times(t.weight, t.loss) for t in self.targets]
        eves = []
        for spy in self.spies:
            eve = TableEve(spy.name, types[:, spy.secret], self.known(types, spy), spy.loss, spy.weight)
            several = self.chances(spy)
            eves += [eve] if several is None else [replace(eve, chance=chance) for chance in several.T]
        return RecordProgram(p, types[:, list(self.published)], tuple(losses), tuple(eves))

    @property
    def exact(self) -> bool:
        """Whether all its numbers are exact, so that an exact proof can be asked for."""
        return bool(self.program.exact and (self.conditions is None or self.conditions.exact))

    def fractions(self, exact: bool = True) -> RecordProgram:
        """The program in fractions: its own if exact, or those that its nearest floats are."""
        return self.program if exact else self._rounded

    @cached_property
    def _rounded(self) -> RecordProgram:
        return self.program.as_float().lifted()

    def weights(self, exact: bool = True) -> tuple[Any, ...]:
        """The weight of every Eve, a rational: her own if exact, or that of its nearest float."""
        return tuple(taken(spy.weight, exact) for spy in self.spies)

    def chances(self, spy: Spy) -> Array | None:
        """k(omega | x) of an informed Eve, a row per record type, as rationals."""
        if spy.informed < 2:
            return None
        table = self.prior.draws[spy.informed]
        return objects(fmpq(int(v), CHANCES) for v in table.ravel()).reshape(table.shape)

    def by_eve(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Numbers of the Eves of `program`, added up by Eve of the study: an informed one has one per draw."""
        rest = iter(values)
        return tuple(sum((next(rest) for _ in range(max(spy.informed, 1))), start=0) for spy in self.spies)

    def state_names(self, types: Array | None = None) -> list[str]:
        """Record types in words: the labels of their levels."""
        rows = self.prior.types if types is None else types
        return [", ".join(f"{c.name}={c.labels[v]}" for c, v in zip(self.columns, row, strict=True)) for row in rows]

    def problem(self) -> Problem:
        """The study as an ordinary Problem: a state per record type, a Bob per published column.

        Raises:
            InputError: record types times decisions are too many for a table.
        """
        from bap_lp import Agent, Problem
        from bap_lp.model.informed import knowing

        types = self.prior.types
        cells = len(types) * self.decisions
        if cells > MOST_CELLS:
            rule = f"has {len(types)} record types and {self.decisions} decisions: {cells} cells, at most {MOST_CELLS}"
            raise InputError("problem", None, f"{rule} fit an ordinary problem: band or merge levels")
        bobs = [
            Agent(t.loss[types[:, k]], list(self.columns[k].labels), t.column, t.weight)
            for t, k in zip(self.targets, self.published, strict=True)
        ]
        eves = []
        for spy in self.spies:
            labels = self.columns[spy.secret].labels
            what = "report" if spy.score else "guess"
            square = spy.loss.shape[1] == len(labels) and not spy.score
            guesses = labels if square else [f"{what} {j}" for j in range(spy.loss.shape[1])]
            more: dict[str, Any] = {"knows": [str(z) for z in self.known(types, spy)]} if spy.knows else {}
            eve = Agent(spy.loss[types[:, spy.secret]], list(guesses), spy.name, spy.weight, **more)
            chance = self.chances(spy)
            eves.append(eve if chance is None else knowing(eve, chance))
        return Problem(self.prior.p, bobs=bobs, eves=eves, states=self.state_names(), title=self.title)

    def solve(
        self, lam: Any = "calibrated", exact: bool | None = None, *, workers: Workers = None, client: Any = None,
        progress: Any = None, eve_gain: Any = None, time_limit: float | None = None,
    ) -> StudySolution:  # fmt: skip
        """The optimal release.

        Args:
            lam: a non-negative number; "calibrated": no release and the whole record, secrets included, are equally
                good; or "as is": no release and the published columns as they are are equally good.
            exact: True insists on rationals, False works in floats, None follows the numbers given.
            workers: processes for the components; None: this process alone; "all": one per core, for large tables.
            client: a Dask client instead.
            progress: called with the record types solved so far, and all of them.
            eve_gain: instead of lam, such as "2%": the release of least R_B on the path that leaves no Eve better off
                by more than this share of her risk without a release.
            time_limit: seconds after which it gives up. Under conditions a solution in floats is then the best release
                so far: its gap says how far it may be from the optimum, and `method` says that it was stopped.

        Returns:
            The solution: its risks and their proof, and what to do with it.

        Raises:
            InputError: lam is negative or undefined, or the conditions cannot be met or are too large to solve.
            TimeoutError: the time is over before there is a proved optimum.

        >>> import pandas
        >>> frame = pandas.DataFrame({"ill": ["no", "no", "yes"], "pay": ["low", "low", "high"]})
        >>> print(Study(frame, publish={"pay": "0-1"}, eves=[Eve("ill")]).solve(1).value)
        0
        """
        from bap_sdc.records.path import gain_of, lam_within_gain
        from bap_sdc.records.solved import solve_study

        with time_limited(time_limit):
            if eve_gain is not None:
                lam = lam_within_gain(self, eve_gain, workers=workers, client=client)
            found = solve_study(self, lam, exact, workers=workers, client=client, progress=progress)
        return found if eve_gain is None else replace(found, eve_gain=public(gain_of(eve_gain)))

    def path(
        self, *, workers: Workers = None, client: Any = None, progress: Any = None, time_limit: float | None = None
    ) -> StudyPath:
        """The best release for every lam at once: exact pieces, or under conditions certified points.

        Args:
            workers: processes for the components; None: this process alone; "all": one per core, for large tables.
            client: a Dask client instead.
            progress: called with words.
            time_limit: seconds after which it gives up, or under conditions answers with the points it has.

        Returns:
            The path; its `audited` adds what held-out records say.

        Raises:
            InputError: the conditions cannot be met or are too large to solve.

        >>> import pandas
        >>> frame = pandas.DataFrame({"ill": ["no", "no", "yes"], "pay": ["low", "low", "high"]})
        >>> Study(frame, publish={"pay": "0-1"}, eves=[Eve("ill")]).path().breakpoints
        (Fraction(1, 1),)
        """
        from bap_sdc.records.path import study_path

        return study_path(self, workers=workers, client=client, progress=progress, time_limit=time_limit)

    def _lines(self) -> Iterator[str]:
        types = counted(len(self.prior.types), "record type")
        eves = counted(len(self.spies), "Eve")
        yield f"{counted(len(self.codes), 'record')}, {types}, {counted(self.decisions, 'decision')}, {eves}"


def _named(frame: Any, source: str) -> Any:
    """A table of records whose columns have different names of text."""
    frame = as_pandas(frame)
    names = [str(name) for name in frame.columns]
    check_names(names, source)
    if len(frame) == 0:
        raise InputError(source, None, "has no records")
    return frame.set_axis(names, axis=1)
