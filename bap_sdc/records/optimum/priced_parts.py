"""Parts with several Eves or with more than two guesses: solved by pricing columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.engines.compact.master import PricedProgram
from bap_lp.engines.compact.priced import solve_priced
from bap_lp.rational import Array, field_of, floats
from bap_sdc.records.optimum.paired_parts import PartAnswer
from bap_sdc.records.optimum.parts import Parts
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.result import TabledReplies


@dataclass(frozen=True, eq=False)
class PricedTask:
    """What a worker needs to solve one part."""

    p: Array
    codes: Array
    losses: tuple[Array, ...]
    group: Array
    loss: Array
    widths: Array
    lam: Any
    places: Array

    @property
    def effort(self) -> float:
        return float(len(self.p)) ** 2 * 100

    def solve(self) -> PartAnswer:
        levels = tuple(table.shape[1] for table in self.losses)
        relative = [table - table.min(axis=1)[:, None] for table in self.losses]

        def entries(x: Array, i: Array) -> Array:
            out = field_of(self.p).zeros(len(x))
            for k, level in enumerate(np.unravel_index(i, levels)):
                out = out + relative[k][self.codes[x, k], level]
            return out

        table = np.zeros((len(self.p), 1))
        for k, part in enumerate(relative):
            table = (table[:, :, None] + floats(part)[self.codes[:, k]][:, None, :]).reshape(len(table), -1)
        program = PricedProgram(self.p, table, entries, self.group, self.loss, self.widths, self.lam, self.places)
        found = solve_priced(program)
        inside = np.arange(self.loss.shape[2]) < self.widths[:, None]
        replies = TabledReplies(found.u[:, inside], np.arange(len(found.u)))
        return PartAnswer(found.state, found.decision, found.rho, found.v, replies)


def priced_task(
    program: RecordProgram, parts: Parts, members: Array, groups: tuple[tuple[int, int], ...], lam: Any
) -> PricedTask:
    """The task of a part: group numbers within the part, and rows of E' padded to the largest number of guesses."""
    number = {pair: k for k, pair in enumerate(groups)}
    eves = sorted({n for n, _ in groups})
    width = max(parts.eves[n].guesses for n in eves)
    group = np.full((len(members), len(eves)), -1)
    loss = field_of(program.p).zeros((len(members), len(eves), width))
    for s, n in enumerate(eves):
        rows, eve = parts.eves[n], program.eves[n]
        live = np.flatnonzero(rows.group[members] >= 0)
        group[live, s] = [number[n, int(z)] for z in eve.known[members[live]]]
        relative = rows.relative[eve.secret[members[live]]]
        chance = None if eve.chance is None else eve.chance[members[live], None]
        loss[live, s, : rows.guesses] = relative if chance is None else relative * chance
    widths = np.array([parts.eves[n].guesses for n, _ in groups])
    places = members * program.decisions
    return PricedTask(program.p[members], program.codes[members], program.losses, group, loss, widths, lam, places)
