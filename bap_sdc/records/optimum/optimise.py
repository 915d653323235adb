"""The optimal release of a table of records: parts, solved one by one or on workers, with one certificate.

Records that no Eve can use are released at Bob's best decision. A part with one Eve of two guesses is a
transportation problem (`paired_parts`); any other part is solved by pricing columns. Parts do not
depend on each other, and the certificate of the whole is their concatenation.

Record types that nobody can tell apart have the same losses in every column, and the same for every Eve. Exchanging
two such types in a release changes no risk, so some optimum treats them alike: they are merged first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.engines.ties import weight_at
from bap_lp.program.finish import on_grid
from bap_lp.support.rational import (
    EXACT,
    TOLERANCE,
    Array,
    InputError,
    field_of,
    floats,
    is_exact,
    lifted,
    public,
    tree_sum,
)
from bap_sdc.records.optimum.columns import all_decisions
from bap_sdc.records.optimum.paired_parts import PairedTask, PartAnswer
from bap_sdc.records.optimum.parts import Parts, parts_of, spreads_of
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.proof import bound_of, spread_of
from bap_sdc.records.optimum.result import RecordComponent, RecordOptimum, TabledReplies, conclude_records
from bap_sdc.records.optimum.risks import record_lam, summed
from bap_sdc.records.pricing.workers import Workers
from bap_sdc.records.pricing.workers import answers as solved_parts

RecordProgress = Callable[[int, int], None]  # record types solved, of how many
_HOW = "components with priced decisions"
_AGAIN = 200_000  # record types times decisions up to which a wide gap of floats is closed exactly, in seconds
TINY = 1e-300
_PAIRS = True  # whether parts with one Eve of two guesses are solved by pairs; tests compare the two ways


def optimise(
    program: RecordProgram,
    lam: Any = "calibrated",
    exact: bool | None = None,
    workers: Workers = None,
    client: Any = None,
    progress: RecordProgress | None = None,
) -> RecordOptimum:
    """Minimise R_A = R_B - lam R_E over all releases of the records.

    Args:
        program: the records.
        lam: a non-negative number, or "calibrated": full and null release are equally good (after the null release
            every Eve still has the columns that she knows).
        exact: True insists on rationals, False works in floats, None follows the numbers given.
        workers: processes to solve components in; None: this process alone; "all": one per core, for large tables.
        client: a Dask client to solve components on instead.
        progress: called with the number of record types solved so far, and of all.

    Returns:
        The optimum with its certificate.

    Raises:
        InputError: lam is negative or undefined, or an exact solution of floats is asked for.

    >>> import numpy as np
    >>> from bap_sdc import RecordProgram, TableEve, optimise
    >>> eve = TableEve("neighbour", np.array([0, 1, 0]), np.array([0, 0, 1]), [[0, 1], [1, 0]])
    >>> records = np.array([[0], [1], [1]])
    >>> table = RecordProgram(["1/2", "1/4", "1/4"], records, ([[0, 1], [1, 0]],), (eve,))
    >>> found = optimise(table, lam=2)
    >>> print(found.value, found.bob, found.eve, bool(found.verify()))
    -1/4 1/4 1/4 True
    """
    price = record_lam(program, lam)
    if exact is None:
        exact = program.exact and is_exact(price)
    if exact and not (program.exact and is_exact(price)):
        rule = 'must be exact, such as "1/3", for an exact solution'
        raise InputError("lam" if program.exact else "program", public(price) if program.exact else None, rule)
    if exact:
        parts, bound = _solved(program, price, workers, client, progress)
        return conclude_records(program, price, parts, bound, f"{_HOW}, exact")
    rough, price = program.as_float(), float(price)
    whole, lam = rough.lifted(), EXACT.number(price)
    parts, _ = _solved(rough, price, workers, client, progress)
    found = _finished(whole, price, parts, f"{_HOW}, in floats")
    if len(whole.p) * whole.decisions <= _AGAIN and not found.gap <= TOLERANCE * float(spread_of(whole, lam)):
        parts, _ = _solved(whole, lam, None, None, None)
        return _finished(whole, price, parts, f"{_HOW}, exact optimum in floats")
    return found


def _finished(program: RecordProgram, lam: float, parts: list[RecordComponent], how: str) -> RecordOptimum:
    """Parts in fractions: channel and replies are rounded to multiples of 2^-52 and 2^-52 lam with the right sums."""
    done, guesses = [], [eve.loss.shape[1] for eve in program.eves]
    for part in parts:
        order = np.argsort(part.row, kind="stable")
        row, decision, rho = part.row[order], part.decision[order], part.rho[order]
        mass = program.p[part.states][row]
        channel = rows_on_grid(row, floats(rho / (mass if is_exact(rho) else floats(mass))))
        kept = np.flatnonzero(channel)
        replies = None
        if part.replies is not None:
            u, which = np.unique(floats(part.replies_of(program)), axis=0, return_inverse=True)
            cuts = np.cumsum([guesses[n] for n, _ in part.groups])[:-1]
            shares = [on_grid(own / np.maximum(own.sum(axis=1, keepdims=True), 1e-300)) for own in np.hsplit(u, cuts)]
            replies = TabledReplies(lifted(np.hstack(shares)) * EXACT.number(lam), which.ravel())
        rho = mass[kept] * lifted(channel[kept])
        done.append(RecordComponent(part.states, row[kept], decision[kept], rho, part.groups, replies))
    return conclude_records(program, lam, done, bound_of(program, done, EXACT.number(lam)), how, False)


def rows_on_grid(row: Array, q: Array) -> Array:
    """Probabilities of sorted rows in multiples of 2^-52, so that every row sums to one exactly."""
    place = np.arange(len(row)) - np.searchsorted(row, row)
    wide = np.zeros((int(row.max()) + 1, int(place.max()) + 1))
    wide[row, place] = q
    return on_grid(wide / np.maximum(wide.sum(axis=1, keepdims=True), TINY))[row, place]


def _solved(
    program: RecordProgram, price: Any, workers: Workers, client: Any, progress: RecordProgress | None
) -> tuple[list[RecordComponent], Any]:
    """The parts of the optimum in the numbers of the program, and the bound that is proved where these are exact."""
    small, index = merged_records(program)
    parts = parts_of(small)
    plans = [plan(small, parts, members, price) for members in parts.members]
    done, total = len(parts.free), len(small.p)
    tell = progress or (lambda *_: None)
    tell(done, total)
    answers: list[Any] = [None] * len(plans)
    for k, answer in solved_parts([task for task, _, _ in plans], workers, client):
        answers[k] = answer
        done += len(plans[k][1])
        tell(done, total)
    found = [RecordComponent(parts.free, *_free_rows(small, parts.free), (), None)]
    bound = tree_sum(small.p * base_of(small, parts, np.arange(len(small.p)), price))
    for (_, states, groups), a in zip(plans, answers, strict=True):
        bound = bound + tree_sum(small.p[states] * a.v)
        found.append(RecordComponent(states, a.row, a.decision, a.rho, groups, a.replies))
    return [expanded(program, small, index, part) for part in found if len(part.states)], bound


def base_of(program: RecordProgram, parts: Parts, states: Array, lam: Any) -> Array:
    """min_i B(x,i) - lam sum_n min_j E_n(x,j): v of a record that no Eve can use."""
    out = field_of(program.p).zeros(len(states))
    for k, table in enumerate(program.losses):
        out = out + table.min(axis=1)[program.codes[states, k]]
    for rows, eve in zip(parts.eves, program.eves, strict=True):
        out = out - eve.heard((rows.least * lam)[eve.secret[states]], states)
    return out


def _free_rows(program: RecordProgram, states: Array) -> tuple[Array, Array, Array]:
    """Records that no Eve can use, at Bob's best decision; the fixed weights choose among several."""
    best = [(table <= table.min(axis=1)[:, None])[program.codes[states, k]] for k, table in enumerate(program.losses)]
    row, decision = all_decisions(best, program.levels)
    weight = weight_at(states[row] * program.decisions + decision)
    order = np.lexsort((weight, row))
    first = order[np.flatnonzero(np.diff(row[order], prepend=-1))]
    return row[first], decision[first], program.p[states[row[first]]]


def plan(
    program: RecordProgram, parts: Parts, members: Array, lam: Any
) -> tuple[Any, Array, tuple[tuple[int, int], ...]]:
    """The task of a part, its records in the order of the task, and its groups."""
    touching = [n for n, rows in enumerate(parts.eves) if (rows.group[members] >= 0).any()]
    groups = tuple(
        (n, int(z))
        for n in touching
        for z in np.unique(program.eves[n].known[members[parts.eves[n].group[members] >= 0]])
    )
    n = touching[0]
    if _PAIRS and len(groups) == 1 and parts.eves[n].guesses == 2 and program.eves[n].chance is None:
        spread, side = spreads_of(parts.eves[n])
        secret = program.eves[n].secret[members]
        states = members[np.argsort(side[secret], kind="stable")]
        secret = program.eves[n].secret[states]
        cut = int((side[secret] == 0).sum())
        places = states * program.decisions
        task = PairedTask(
            parts.tables(program, n), cut, program.codes[states], secret, program.p[states], spread[secret], places, lam
        )
        return task, states, groups
    return _priced_task(program, parts, members, groups, lam), members, groups


@dataclass(frozen=True, eq=False)
class PricedTask:
    """What a worker needs to solve a part with several Eves or with more than two guesses: by pricing columns."""

    p: Array
    codes: Array
    losses: tuple[Array, ...]
    group: Array
    loss: Array
    widths: Array
    lam: Any
    places: Array
    kept: Array | None = None  # the decisions that may be sent; v and the replies are then of no use

    @property
    def effort(self) -> float:
        return float(len(self.p)) ** 2 * 100

    def solve(self) -> PartAnswer:
        from bap_sdc.records.pricing.master import PricedProgram
        from bap_sdc.records.pricing.priced import solve_priced

        levels = tuple(table.shape[1] for table in self.losses)
        relative = [table - table.min(axis=1)[:, None] for table in self.losses]
        table = laid_out([floats(part) for part in relative], self.codes)
        kept = np.arange(table.shape[1]) if self.kept is None else self.kept
        table = table[:, kept]
        base = field_of(self.p).zeros(len(self.p))  # the least loss that is left, where decisions are missing

        def entries(x: Array, i: Array) -> Array:
            out = -base[x]
            for k, level in enumerate(np.unravel_index(kept[i], levels)):
                out = out + relative[k][self.codes[x, k], level]
            return out

        if self.kept is not None:
            base = entries(np.arange(len(table)), table.argmin(axis=1))
            table = table - table.min(axis=1)[:, None]
        program = PricedProgram(self.p, table, entries, self.group, self.loss, self.widths, self.lam, self.places)
        found = solve_priced(program)
        inside = np.arange(self.loss.shape[2]) < self.widths[:, None]
        replies = TabledReplies(found.u[:, inside], np.arange(len(found.u)))
        return PartAnswer(found.state, kept[found.decision], found.rho, found.v, replies)


def laid_out(tables: list[Array], codes: Array) -> Array:
    """The sum over columns for every record and every decision, in floats."""
    out = np.zeros((len(codes), 1))
    for k, table in enumerate(tables):
        out = (out[:, :, None] + table[codes[:, k]][:, None, :]).reshape(len(codes), -1)
    return out


def _priced_task(
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


def merged_records(program: RecordProgram) -> tuple[RecordProgram, Array]:
    """The program of the classes, in the order of their first members, and the class of every record type."""
    keys = [_alike(table)[program.codes[:, k]] for k, table in enumerate(program.losses)]
    for eve in program.eves:
        level = _alike(eve.loss)[eve.secret]
        idle = (eve.loss == 0).all(axis=1)[eve.secret]  # then it does not matter what she knows
        keys += [level, np.where(idle, -1, eve.known)]
        if eve.chance is not None:
            keys.append(_alike(eve.chance[:, None]))
    _, first, place = np.unique(np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True)
    place = place.ravel()
    if len(first) == len(program.p):
        return program, np.arange(len(program.p))
    order = np.argsort(first)
    index = np.argsort(order)[place]
    chosen = first[order]
    p = summed(program.p, index, len(chosen))
    eves = tuple(eve.among(chosen) for eve in program.eves)
    return RecordProgram(p, program.codes[chosen], program.losses, eves), index


def _alike(table: Array) -> Array:
    """The first row that equals each row."""
    rows = [tuple(row) for row in (table.tolist() if is_exact(table) else floats(table).tolist())]
    seen: dict[tuple[object, ...], int] = {}
    return np.array([seen.setdefault(row, k) for k, row in enumerate(rows)])


def expanded(program: RecordProgram, small: RecordProgram, index: Array, part: RecordComponent) -> RecordComponent:
    """A part of the merged program on the record types themselves: every member has the row of its class."""
    if len(small.p) == len(program.p):
        return part
    order = np.argsort(index, kind="stable")
    starts = np.searchsorted(index[order], np.arange(len(small.p) + 1))
    members = [order[starts[c] : starts[c + 1]] for c in part.states]
    sizes = np.array([len(m) for m in members])
    states = np.concatenate(members)
    offset = np.concatenate([[0], np.cumsum(sizes)])
    count = sizes[part.row]
    entry = np.repeat(np.arange(len(part.row)), count)
    within = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count)
    row = offset[part.row[entry]] + within
    share = program.p[states[row]] / small.p[part.states[part.row[entry]]]
    replies = part.replies
    return RecordComponent(states, row, part.decision[entry], part.rho[entry] * share, part.groups, replies)


def with_release(
    program: RecordProgram, best: RecordOptimum, x: Array, i: Array, q: Array
) -> tuple[RecordComponent, ...]:
    """The parts of an optimum with another release; in floats its probabilities are multiples of 2^-52."""
    if not best.exact:
        q = lifted(rows_on_grid(x, floats(q)))
    parts = []
    home, place = np.empty(len(program.p), dtype=np.int64), np.empty(len(program.p), dtype=np.int64)
    for k, part in enumerate(best.components):
        home[part.states], place[part.states] = k, np.arange(len(part.states))
    for k, part in enumerate(best.components):
        mine = np.flatnonzero((home[x] == k) & (q != 0))
        rows = {"row": place[x[mine]], "decision": i[mine], "rho": program.p[x[mine]] * q[mine]}
        parts.append(replace(part, **rows))
    return tuple(parts)
