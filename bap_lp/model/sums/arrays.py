"""Arrays: the numbers p(x), B(x,i), E(x,j) that every computation works on, and what they say about a joint table.

rho[x,s] = P(X = x, signal = s). At signal s Eve g plays min_{j in g} sum_x E(x,j) rho[x,s], so with Bob told i_s
    R_A(rho) = sum_xs B(x,i_s) rho[x,s] - lam sum_sg min_{j in g} sum_x E(x,j) rho[x,s].
Any u >= 0 whose entries for signal i and Eve g sum to lam bounds it from below, for all mechanisms at once:
    bound(u) = sum_x p(x) min_i (B(x,i) - sum_j u[i,j] E(x,j)).
One code path serves rationals and floats; in floats `bound` is lowered by more than its rounding error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.model.sums.merging import class_sums, first_members, merge_index, repeated
from bap_lp.model.sums.signal_sums import least_sums, signal_losses
from bap_lp.support.display import Displayed, kind
from bap_lp.support.rational import (
    EXACT,
    FEW,
    FLOAT,
    UNIT,
    Array,
    Field,
    ReadOnly,
    common_denominator,
    floats,
    is_exact,
    lifted,
    tree_sum,
)

_TINY = 1e-290  # covers underflow in a float filter
_BLOCK = 1 << 16
_HUGE = 2**256  # common denominators from which integers are too long for floats
_FIRST, _BITS, _NEAR = 4, 24, 2.0**-26  # rows whose denominator is tried; of small integers; distance from them
_MANY = 20_000  # float states from which they are sorted only if a sample shows that this pays


@dataclass(frozen=True, eq=False, repr=False)
class Arrays(ReadOnly, Displayed):
    """p (N), B (N x b) and E (N x e, one slice of `groups` per Eve, weighted): fmpq or float64, never mixed.

    Where an Eve knows z, she has a group per z, whose columns are k(z|x) E(x,j); `shares` (N x groups) has k(z|x).
    """

    p: Array
    B: Array
    E: Array
    groups: tuple[slice, ...]
    shares: Array | None = None

    def _lines(self) -> Iterator[str]:
        yield f"{kind(self.exact)}, (N, b, e) = {self.shape}"

    @property
    def exact(self) -> bool:
        return is_exact(self.p)

    @property
    def field(self) -> Field:
        return EXACT if self.exact else FLOAT

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.p), self.B.shape[1], self.E.shape[1]

    @cached_property
    def group_of(self) -> Array:
        """The Eve that each column of E belongs to."""
        out = np.repeat(np.arange(len(self.groups)), [g.stop - g.start for g in self.groups])
        out.flags.writeable = False
        return out

    @property
    def tables(self) -> list[Array]:
        """Bob's losses, then those of each Eve."""
        return [self.B, *(self.E[:, g] for g in self.groups)]

    @cached_property
    def rounded(self) -> Arrays:
        """The same numbers as the nearest floats."""
        return self if not self.exact else self._each(floats)

    def lifted(self) -> Arrays:
        return self if self.exact else self._each(lifted)

    def states(self, which: Any) -> Arrays:
        """Some of the states; their probabilities may sum to less than one."""
        return self._each(lambda table: table[which])

    def _each(self, change: Callable[[Array], Array]) -> Arrays:
        shares = None if self.shares is None else change(self.shares)
        return Arrays(change(self.p), change(self.B), change(self.E), self.groups, shares)

    def merged(self, further: Array | None = None) -> tuple[Arrays, Array]:
        """States that nobody can tell apart are merged; the arrays, and the class of each state (-1 where p = 0).

        further: more numbers of every state that must be equal within a class.
        """
        tables = [self.B, self.E] if further is None else [self.B, self.E, further]
        small = None
        if self.exact and self.B.size > FEW:
            small = np.hstack([self.rounded.B, self.rounded.E, *map(floats, tables[2:])])
        if not self.exact and len(self.p) > _MANY and self.p.all() and not repeated(tables):
            return self, np.arange(len(self.p))
        index, count = merge_index(self.p, tables, small)
        if count == len(index):
            return self, index
        first = first_members(index)
        out = replace(self.states(first), p=class_sums(self.p, index, count))
        if small is not None:  # losses that were rounded, or seen to be integers, need not be looked at again
            vars(out)["rounded"] = replace(self.rounded.states(first), p=floats(out.p))
            whole = self.integers
            vars(out)["integers"] = None if whole is None else (whole[0], whole[1][first], whole[2][first])
        return out, index

    def size(self, lam: Any) -> float:
        """The scale on which a float gap is judged: the largest loss that enters R_A."""
        return max(float(self.B.max()), float(lam) * float(self.E.max()), 1e-300)

    def extremes(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        losses, zero = self.tables, self.field.zero
        full = [self.p.dot(reduce(np.minimum, loss.T)) for loss in losses]  # by column, since rows are short
        null = [(signal_losses(self.p[:, None], loss) if self.exact else self.p.dot(loss)).min() for loss in losses]
        return (full[0], sum(full[1:], zero)), (null[0], sum(null[1:], zero))

    @cached_property
    def spreads(self) -> tuple[Any, Any]:
        """R_B and R_E of the null release less those of the full release: what the data are worth to Bob and to Eve."""
        (bob, eve), (null_bob, null_eve) = self.extremes()
        return null_bob - bob, null_eve - eve

    def range(self, lam: Any) -> Any:
        """What the decisions can change: the mean over x of max_i B - min_i B, plus lam times the same for the Eves.

        At most 2^30 times the spread, if there is one: the rounding of a huge loss that nobody need have is no excuse
        for a gap that is a part of what the release can change.
        """
        means = [self.p.dot(loss.max(axis=1) - loss.min(axis=1)) for loss in self.tables]
        widest, spread = means[0] + lam * sum(means[1:], self.field.zero), self.spread(lam)
        return 2**30 * spread if 0 < spread < widest / 2**30 else widest

    def spread(self, lam: Any) -> Any:
        """No two sensible mechanisms differ by more in R_A: what Bob gains from the data plus lam times what Eve gains.

        It is the scale on which a float certificate is judged. Adding a constant to the losses of a state changes R_A
        of all mechanisms alike, and does not change the spread.
        """
        bob, eve = self.spreads
        return bob + lam * eve

    def close(self, gap: float, lam: float) -> bool:
        """Whether a float gap is a tenth of what a certificate may have, up to the rounding of value and bound."""
        rounding = 2 * (sum(self.shape) + 40) * UNIT * self.size(lam)
        return bool(gap <= 0.1 * FLOAT.tolerance * float(self.spread(lam)) + rounding)

    # what a joint table does

    def least_replies(self, losses: Array) -> Array:
        """The minimum over each Eve's decisions of a table signals x Eves' decisions: signals x Eves."""
        if len(self.groups) == 1:
            return losses.min(axis=1, keepdims=True)
        return np.stack([losses[:, g].min(axis=1) for g in self.groups], axis=1)

    def reply_columns(self, losses: Array) -> Array:
        """The columns of E that attain `least_replies`: signals x Eves."""
        return np.stack([g.start + losses[:, g].argmin(axis=1) for g in self.groups], axis=1)

    def rule_table(self, sent: Array) -> Array:
        """The joint table of the rule that sends sent[x] at x."""
        rho = self.field.zeros((len(self.p), self.B.shape[1]))
        rho[np.arange(len(rho)), sent] = self.p
        return rho

    def risks(self, rho: Array) -> tuple[Any, Any]:
        """R_B and R_E, the latter summed over the Eves, if everybody decides for himself at every signal."""
        if rho.shape[1] > len(rho):  # signals that are never sent add nothing to a risk
            rho = rho[:, (rho != 0).any(axis=0)]
        if not is_exact(rho):
            return signal_losses(rho, self.B).min(axis=1).sum(), self.eve_risk(rho)
        if rho.size <= FEW:
            return sum(map(min, signal_losses(rho, self.B).tolist())), self.eve_risk(rho)
        loss, rounded = (np.hstack([data.B, data.E]) for data in (self, self.rounded))
        bob, *eves = least_sums(rho, loss, rounded, np.append(np.zeros(self.B.shape[1], dtype=int), 1 + self.group_of))
        return bob, sum(eves)

    def eve_risk(self, rho: Array) -> Any:
        if not is_exact(rho):
            return self.least_replies(signal_losses(rho, self.E)).sum()
        if rho.size <= FEW:
            return sum([min(row[g]) for row in signal_losses(rho, self.E).tolist() for g in self.groups])
        return least_sums(rho, self.E, self.rounded.E, self.group_of).sum()

    def told_risk(self, rho: Array, told: Array | None = None) -> Any:
        """Bob's risk if he decides told[s] at signal s; by default signal s says decision s."""
        losses = self.B if told is None else self.B[:, told]
        if not self.exact:
            return float(np.vdot(losses, rho))
        x, s = np.nonzero(rho != 0)
        return tree_sum(losses[x, s] * rho[x, s])

    def value(self, rho: Array, lam: Any) -> Any:
        """R_A of a joint table whose signal i tells Bob to decide i."""
        return self.told_risk(rho) - lam * self.eve_risk(rho)

    def followed(self, rho: Array) -> Array:
        """What Bob does at each signal i, i itself unless he prefers another decision by more than rounding."""
        sent, out = np.flatnonzero((rho != 0).any(axis=0)), np.arange(rho.shape[1])
        losses = signal_losses(rho[:, sent], self.B)
        slack = 0 if self.exact else 1e-12 * losses.max(initial=0.0)
        obeyed = losses[np.arange(len(sent)), sent] <= losses.min(axis=1) + slack
        out[sent] = np.where(obeyed, sent, losses.argmin(axis=1))
        return out

    def obedient(self, rho: Array) -> Array:
        """Signals that Bob would disobey, pooled with the one he prefers: that can only lower R_A."""
        return pooled(rho, self.followed(rho))

    # what Eve's replies prove

    def on_simplex(self, u: Array, total: Any) -> Array:
        """Float replies moved to entries >= 0 that sum to `total` (a number, or one per signal and Eve)."""
        u, totals = np.maximum(u, 0.0), np.broadcast_to(total, (len(u), len(self.groups)))
        for k, g in enumerate(self.groups):
            sums, goal = u[:, g].sum(axis=1, keepdims=True), totals[:, k : k + 1]
            u[:, g] = np.where(sums > 0, u[:, g] * (goal / np.where(sums > 0, sums, 1.0)), goal / (g.stop - g.start))
        return u

    def bound(self, u: Array) -> float:
        """sum_x p(x) min_i (B(x,i) - sum_j u[i,j] E(x,j)), below R_A of every mechanism, in floats."""
        total = 0.0
        for cut in blocks(len(self.p)):
            margins = [self.B[cut, i] - self.E[cut] @ u[i] for i in range(len(u))]
            total += float((self.p[cut] * reduce(np.minimum, margins)).sum())
        # e + 2 roundings of a margin, 17 + log2(block) of a pairwise sum, one per block: at twice their size
        size = float(self.B.max()) + float((u @ self.E.max(axis=0)).max())  # of any margin; the prior sums to one
        return total - (self.E.shape[1] + 40 + len(self.p) // _BLOCK) * float(np.finfo(float).eps) * size

    @cached_property
    def integers(self) -> tuple[fmpq, Array, Array] | None:
        """A number d such that d B and d E are small integers, and these as floats; None if there is none.

        A loss p / q with q < 2^24 is an integer over d, or d p / q is 2^-24 away from all integers. Below 2^24 the
        float of it is off by at most 2^-27.
        """
        if not self.exact:
            return None
        unit, out = common_denominator(np.append(self.B[:_FIRST], self.E[:_FIRST])), []
        if unit >= _HUGE:
            return None
        for table, small in ((self.B, self.rounded.B), (self.E, self.rounded.E)):
            whole = np.rint(small * float(unit))
            if whole.max() >= 2.0**_BITS or np.abs(small * float(unit) - whole).max() > _NEAR:
                return None
            if max(map(fmpq.height_bits, table.ravel().tolist())) > _BITS:
                return None
            out.append(whole)
        return unit, *out

    def whole_margins(self, u: Array) -> tuple[fmpq, Array] | None:
        """A number c > 0 and the integers c (B(x,i) - u_i.E(x)) as floats, without rounding; None if they are too long.

        Every partial sum is an integer below 2^53.
        """
        if self.integers is None:
            return None
        unit, B, E = self.integers
        scale = common_denominator(u)
        if scale >= _HUGE:
            return None
        long = floats(u * scale)
        if float(scale) * B.max() + np.abs(long).sum(axis=1).max() * E.max() >= 2.0**53:
            return None
        return unit * scale, float(scale) * B - E @ long.T

    def near_minimum(self, u: Array) -> tuple[Array, Array]:
        """The (x, i) at which B(x,i) - u_i.E(x) may be the minimum over i, by a float filter.

        With k = e + 4 operations on each term the float value is off by at most k ulp of |B| + |u|.|E|; doubling covers
        the rounding of the bound itself.
        """
        B, E, u = self.rounded.B, self.rounded.E, floats(u)
        margins = B - E @ u.T
        error = 2 * (E.shape[1] + 4) * UNIT * (np.abs(B) + E @ np.abs(u).T) + _TINY
        x, i = np.nonzero(margins - error <= (margins + error).min(axis=1, keepdims=True))
        return x, i

    def null_replies(self, signals: int) -> Array:
        """Eve's best decisions when nothing is released, the same at every signal, as a row of zeros and ones each."""
        u = self.field.zeros((signals, self.E.shape[1]))
        u[:, self.reply_columns(self.p.dot(self.E)[None])] = self.field.one
        return u


def blocks(count: int) -> Iterator[slice]:
    """Slices that cover range(count): passes over many states need no second copy of them."""
    return (slice(k, k + _BLOCK) for k in range(0, count, _BLOCK))


def pooled(table: Array, to: Array) -> Array:
    """A channel or joint table in which signal s sends to[s] instead."""
    same = (to == np.arange(len(to))).all()
    return table if same else class_sums(table.T, to, len(to)).T


def groups_of(widths: Sequence[int]) -> tuple[slice, ...]:
    """Consecutive slices of these widths."""
    ends = np.cumsum([0, *widths]).tolist()
    return tuple(slice(a, b) for a, b in pairwise(ends))
