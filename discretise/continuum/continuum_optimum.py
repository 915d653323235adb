"""The best rule on the data themselves: replies u of Eve that bound every mechanism, and a rule that attains the bound.

For replies u (rows of each Eve on lam times a simplex) and a rule q(i|x)
    D(u) = int min_i (beta_i - sum_j u_ij eta_j)  <=  inf R_A
        <=  sum_i int q(i|x) beta_i - lam sum_ig min_j int q(i|x) eta_j = R_A of the rule.
Data with atoms are a finite game. Data with a density are cut into cells; the game on cells gives u, the switches of
the integrand at u cut the cells again, and so on. The error of u on cells of width h near a switch is of order h, and
that of D(u) of order h^2, because D is concave and has its maximum there. D(u) is evaluated on the line (module
envelope) and not on the cells, so that any u is a proof. The rule is the switches at u, or the mechanism on cells if
that is better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from bap_lp.engines.many_states import solve_game
from bap_lp.model.sums.arrays import Arrays
from discretise.continuum.envelope import lower_envelope
from discretise.continuum.panels import PanelLaw
from discretise.continuum.tidy import RuleTable, gathered
from discretise.pace import wait
from gaussian.real_arrays import Array

_ROUNDS = 14
_CLOSE = 3e-13  # of the losses: no further cut
_LIGHT = 1e-17  # cells of less mass are left out of the game
_FIRST = 4  # cells in each panel of the first game
_MOST_CELLS = 30_000
_GOOD = 1e-5  # of the losses: a bracket this narrow is stated as it is
_WORK = (
    8e6  # ... if the next game has more cells times replies: 40 x 40 decisions and more, which take ten seconds each
)
_HEAVY = 1e-15  # of the losses: a cell in which less is at stake is not cut
_PARTS = 6  # parts of a cell next to a switch
_NEAT = 2e-12  # of the losses: a rule with fewer parts may be worse by this
_SMALL = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)  # masses below which parts are gathered, the first that may
_UNSEEN = (1e-8, 1e-10, 1e-16)  # masses below which a signal is left out of what is gathered, likewise


@dataclass(frozen=True, eq=False)
class RuleOptimum:
    """u and D(u), and a rule with its value; `sent[signal, function]` are the integrals over what sends each signal."""

    u: Array
    bound: float
    value: float
    table: RuleTable
    sent: Array


@dataclass(frozen=True, eq=False)
class DataLaw:
    """The functions p, beta_1..b, eta_1..e of the data: on panels, or (panels None) their values at atoms."""

    panels: PanelLaw | None
    atoms: Array
    values: Array
    wrong: Array
    decisions: int
    groups: tuple[slice, ...]

    @property
    def totals(self) -> Array:
        """The integral of each function over all data."""
        return self.values.sum(axis=0) if self.panels is None else self.panels.totals

    def errors(self, u_total: float) -> float:
        """A bound on the errors of int min_i (beta_i - u_i . eta) and of R_A of a rule, if rows of u sum to lam."""
        wrong = self.wrong if self.panels is None else self.panels.error
        b = self.decisions
        eve = sum(wrong[:, 1 + b :][:, g].max(axis=1).sum() for g in self.groups)
        size = self.totals[1 : 1 + b].max() + u_total * sum(self.totals[1 + b :][g].max() for g in self.groups)
        return float(wrong[:, 1 : 1 + b].max(axis=1).sum() + u_total * eve + 1e-15 * size)

    def eve_part(self, sent: Array) -> Array:
        """min_j over each Eve's decisions, signals x Eves, of integrals of eta."""
        return np.stack([sent[:, g].min(axis=1) for g in self.groups], axis=1)

    def least(self, columns: slice) -> float:
        """The integral of the least of some functions."""
        if self.panels is None:
            return float(self.values[:, columns].min(axis=1).sum())
        coefs = self.panels.coefs[:, columns]
        found = lower_envelope(coefs, self.panels.half)
        whole = self.panels.integrals(found.panel, found.left, found.right)[:, columns]
        return float(whole[np.arange(len(whole)), found.choice].sum())

    def extremes(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """(R_B, R_E) of the full and of the null release."""
        b, totals = self.decisions, self.totals
        full = self.least(slice(1, 1 + b)), sum(self.least(slice(1 + b + g.start, 1 + b + g.stop)) for g in self.groups)
        null = float(totals[1 : 1 + b].min()), sum(float(totals[1 + b :][g].min()) for g in self.groups)
        return full, null


def optimise_rule(law: DataLaw, lam: float, tell: Callable[[str], None] = lambda _: None) -> RuleOptimum:
    """The best u and the best rule that were found."""
    return _on_atoms(law, lam) if law.panels is None else _on_panels(law, law.panels, lam, tell)


def _game(law: DataLaw, masses: Array, lam: float) -> tuple[Array, Array]:
    """u and the rows q(i|c) of the game on cells with these integrals; light cells send Bob's best decision at u."""
    b = law.decisions
    heavy = masses[:, 0] > _LIGHT
    some = masses[heavy]
    p = some[:, 0]
    B, E = np.maximum(some[:, 1 : 1 + b], 0.0) / p[:, None], np.maximum(some[:, 1 + b :], 0.0) / p[:, None]
    found = solve_game(p / p.sum(), B, E, law.groups, lam, progress=lambda *_: wait(), stoppable=False)
    u = Arrays(p, B, E, law.groups).on_simplex(found.u, lam)
    rows = np.zeros((len(masses), b))
    best = (masses[:, 1 : 1 + b] - masses[:, 1 + b :] @ u.T).argmin(axis=1)
    rows[np.arange(len(rows)), best] = 1.0
    share = np.where(found.rho > 1e-11 * found.rho.max(axis=1, keepdims=True), found.rho, 0.0)
    rows[heavy] = share / share.sum(axis=1, keepdims=True)
    return u, rows


def _value(law: DataLaw, table: RuleTable, lam: float) -> tuple[float, Array]:
    """R_A if Bob obeys the signal, and the integrals of all functions over what sends each signal."""
    sent = table.rows.T @ table.masses
    b = law.decisions
    bob = float(sent[np.arange(b), 1 + np.arange(b)].sum())
    return bob - lam * float(law.eve_part(sent[:, 1 + b :]).sum()), sent


def _on_atoms(law: DataLaw, lam: float) -> RuleOptimum:
    u, rows = _game(law, law.values, lam)
    b = law.decisions
    bound = float((law.values[:, 1 : 1 + b] - law.values[:, 1 + b :] @ u.T).min(axis=1).sum())
    empty = np.zeros(0)
    table = RuleTable(np.zeros(0, np.intp), empty, empty, rows, law.values)
    value, sent = _value(law, table, lam)
    return RuleOptimum(u, bound, value, table, sent)


def _on_panels(law: DataLaw, panels: PanelLaw, lam: float, tell: Callable[[str], None]) -> RuleOptimum:
    b = law.decisions
    cuts = [np.linspace(-1, 1, _FIRST + 1) for _ in panels.low]
    scale = float(law.totals[1 : 1 + b].max()) + lam * sum(float(law.totals[1 + b :][g].max()) for g in law.groups)
    gaps: list[float] = []
    best, rules = (
        (-np.inf, np.zeros((0, 0))),
        [RuleOptimum(np.zeros((0, 0)), -np.inf, np.inf, _nowhere(), np.zeros((0, 0)))] * 2,
    )
    for _ in range(_ROUNDS):
        wait()
        table = _table(panels, *_cells(cuts))
        tell(f"a game on {len(table.panel)} cells" + (f", bracket of width {gaps[-1]:.1e}" if gaps else ""))
        u, rows = _game(law, table.masses, lam)
        bound, switched = _dual(law, panels, u)
        if bound > best[0]:
            best = bound, u
        coarse = RuleTable(table.panel, table.left, table.right, rows, table.masses)
        for k, one in enumerate((switched, coarse)):
            value, sent = _value(law, one, lam)
            if value < rules[k].value:
                rules[k] = RuleOptimum(u, bound, value, one, sent)
        least = min(rule.value for rule in rules)
        gaps.append(least - best[0])
        stalled = len(gaps) > 3 and gaps[-1] > 0.7 * gaps[-3]
        if gaps[-1] <= _CLOSE * scale or stalled or len(table.panel) > _MOST_CELLS:
            break
        cuts = _cut_again(cuts, switched, coarse, _stakes(law, panels, u, coarse) > _HEAVY * scale)
        if gaps[-1] <= _GOOD * scale and sum(len(cut) - 1 for cut in cuts) * u.size > _WORK:
            break
    least = min(rule.value for rule in rules)
    # the rule by switches has the fewest parts
    chosen = rules[0] if rules[0].value <= least + _NEAT * scale else rules[1]
    for small, light in product(_SMALL, _UNSEEN):
        tidy = _table(panels, *gathered(chosen.table, small, light))
        value, sent = _value(law, tidy, lam)
        if value <= least + _NEAT * scale:
            return RuleOptimum(best[1], best[0], value, tidy, sent)
    return RuleOptimum(best[1], best[0], chosen.value, chosen.table, chosen.sent)


def _nowhere() -> RuleTable:
    empty = np.zeros(0)
    return RuleTable(np.zeros(0, np.intp), empty, empty, np.zeros((0, 0)), np.zeros((0, 0)))


def _cells(cuts: Sequence[Array]) -> tuple[NDArray[np.intp], Array, Array]:
    panel = np.repeat(np.arange(len(cuts)), [len(c) - 1 for c in cuts])
    return panel, np.concatenate([c[:-1] for c in cuts]), np.concatenate([c[1:] for c in cuts])


def _table(
    panels: PanelLaw, panel: NDArray[np.intp], left: Array, right: Array, rows: Array | None = None
) -> RuleTable:
    masses = panels.integrals(panel, left, right)
    return RuleTable(panel, left, right, np.zeros((len(panel), 0)) if rows is None else rows, masses)


def _dual(law: DataLaw, panels: PanelLaw, u: Array) -> tuple[float, RuleTable]:
    """D(u) on the line, and the rule that attains the minimum everywhere."""
    b = law.decisions
    coefs = panels.coefs[:, 1 : 1 + b] - np.einsum("ij,pjk->pik", u, panels.coefs[:, 1 + b :])
    found = lower_envelope(coefs, panels.half)
    rows = np.eye(b)[found.choice]
    table = _table(panels, found.panel, found.left, found.right, rows)
    reduced = table.masses[:, 1 : 1 + b] - table.masses[:, 1 + b :] @ u.T
    return float(reduced[np.arange(len(rows)), found.choice].sum()) - found.slack, table


def _stakes(law: DataLaw, panels: PanelLaw, u: Array, table: RuleTable) -> Array:
    """What the signal can change on each place, at the replies u: the spread at its ends times the width."""
    b = law.decisions
    ends = [panels.at(table.panel, t) for t in (table.left, table.right)]
    spread = [np.ptp(f[:, 1 : 1 + b] - f[:, 1 + b :] @ u.T, axis=1) for f in ends]
    return np.asarray(np.maximum(*spread) * (table.right - table.left) * panels.half[table.panel])


def _cut_again(cuts: list[Array], switched: RuleTable, coarse: RuleTable, matters: NDArray[np.bool_]) -> list[Array]:
    """Cells cut at the switches, and into parts where they touch a switch or the game mixes."""
    mixed = coarse.rows.max(axis=1) < 1 - 1e-9
    choice = coarse.rows.argmax(axis=1)
    turn = np.append(False, choice[1:] != choice[:-1])
    # a switch of the game is at the left end of a cell: the cells on both sides of it are cut
    split = mixed | turn | np.append(turn[1:], False)
    split &= matters
    switch = (switched.left > -1) & np.append(False, switched.panel[1:] == switched.panel[:-1])
    out = []
    for k, cut in enumerate(cuts):
        here = coarse.panel == k
        left, right, chosen = coarse.left[here], coarse.right[here], split[here]
        inner = switched.left[switch & (switched.panel == k)]
        touched = [(left <= t) & (t <= right) & matters[here] for t in inner]
        inner = inner[[bool(near.any()) for near in touched]] if len(inner) else inner
        chosen = np.any([chosen, *touched], axis=0) & (right - left > 1e-12)
        fine = [np.linspace(a, c, _PARTS + 1)[1:-1] for a, c in zip(left[chosen], right[chosen], strict=True)]
        out.append(np.unique(np.concatenate([cut, inner, *fine])))
    return out
