"""Models of the shares of record types, behind one interface: amounts of records in, probabilities of types out.

counts        (n_x + alpha m_x) / (n + alpha), see `prior`
independent   the product of the one-way shares
loglinear     of all tables with the chosen margins the one of largest entropy, by iterative proportional fitting. One
              record in the proportions of the independence model is added to the margins, so that a pair of levels that
              nobody happens to have is rare, not impossible
conditional   the shares of all columns but the secrets in the whole file, times P(secrets | those columns) from a
              classifier, so that every secret has every level everywhere (`conditional`)
The others are shares of the fitted records: they have nothing to say about a held-out record of a type that was not
fitted, so a study with held-out records is conditional.
A draw of the true shares is the same function of other amounts, those of the Bayesian bootstrap: n_x is replaced by a
Gamma(n_x) variable. For counts this is the Dirichlet posterior, with parameters n_x + alpha m_x.

Models are compared by the mean log P(secrets | other columns) of left-out records: it is these probabilities that a
release hides, and that counts overfit.

Probabilities are rounded to integers over their sum, at least one each, so that the program is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np
from flint import fmpq

from bap_lp.support.rational import Array, InputError, floats, number, objects, public
from bap_sdc.records.data.conditional import Conditional
from bap_sdc.records.data.prior import MOST_TYPES, Prior, Sample, fit, keys, times_seen
from bap_sdc.records.optimum.risks import summed

MODELS = ("counts", "independent", "loglinear", "conditional")
WEIGHTED = {"counts": "weights", "conditional": "weighted conditional"}  # by survey weights instead of records
CHOOSE = "held-out"
CHANCES = 1 << 16  # the common denominator of k(omega | x)
_ONE = 1 << 40  # the probability 1 before rounding
_SWEEPS, _CLOSE = 500, 1e-11  # of iterative proportional fitting
_MOST_CHANCES = 4_000_000  # record types times draws


class Model(Protocol):
    """A model fitted to a sample: the types that it gives positive probability, in the order of their keys."""

    types: Array

    def shares(self, amounts: Array) -> Array:
        """Probabilities of the types, if the sample's types had these amounts of records."""

    def rational(self, amounts: Array) -> Array:
        """The same as rationals, all of them positive."""

    def given(self, rows: Array) -> Array:
        """P(secrets | other columns) of these records, from the sample's own counts."""


class Loglinear:
    """The log-linear model on all combinations of levels that occur; margins of single columns: independence."""

    def __init__(self, sample: Sample, margins: Sequence[Sequence[int]]) -> None:
        self.sample = sample
        self.present = [np.unique(sample.rows[:, k]) for k in range(len(sample.levels))]
        self.shape = tuple(map(len, self.present))
        if prod(self.shape) > MOST_TYPES:
            rule = f"gives {prod(self.shape)} record types positive probability, at most {MOST_TYPES} are allowed"
            raise InputError("model", None, f'{rule}: use bands or merge levels, or model = "conditional"')
        covered = {k for margin in margins for k in margin}
        alone = [(k,) for k in range(len(self.shape)) if k not in covered]
        self.margins = [tuple(margin) for margin in (*margins, *alone)]
        index = np.indices(self.shape).reshape(len(self.shape), -1)
        self.types = np.stack([levels[at] for levels, at in zip(self.present, index, strict=True)], axis=1)
        self.cell = self._cells(sample.rows)

    def _cells(self, rows: Array) -> Array:
        at = [np.searchsorted(levels, rows[:, k]) for k, levels in enumerate(self.present)]
        return np.ravel_multi_index(at, self.shape)

    def shares(self, amounts: Array) -> Array:
        flat: Array = np.bincount(self.cell, amounts / amounts.sum(), minlength=prod(self.shape))
        table = flat.reshape(self.shape)
        share = 1 / (1 + float(self.sample.counts.sum()))
        axes = range(len(self.shape))
        alone: Array = np.ones(())
        for k in axes:
            alone = np.multiply.outer(alone, table.sum(axis=tuple(a for a in axes if a != k)))
        table = (1 - share) * table + share * alone
        wanted = [
            (outside := tuple(a for a in axes if a not in margin), table.sum(axis=outside, keepdims=True))
            for margin in self.margins
        ]
        out = alone
        for _ in range(_SWEEPS):
            off = 0.0
            for outside, margin in wanted:
                has = out.sum(axis=outside, keepdims=True)
                off = max(off, float(np.abs(has - margin).max()))
                out = out * np.divide(margin, has, out=np.zeros_like(has), where=has > 0)
            if off < _CLOSE:
                break
        return out.ravel() / out.sum()

    @cached_property
    def _own(self) -> tuple[Array, Array]:
        table = self.shares(self.sample.counts).reshape(self.shape)
        rest = table.sum(axis=self.sample.secrets, keepdims=True)
        return table.ravel(), np.broadcast_to(rest, self.shape).ravel()

    def rational(self, amounts: Array) -> Array:
        return _whole(self.shares(amounts))

    def given(self, rows: Array) -> Array:
        cell = self._cells(rows)
        return self._own[0][cell] / self._own[1][cell]


def _normal(p: Array) -> Array:
    return p / p.sum()


def fitted_model(sample: Sample, model: str) -> Model:
    """The model of this name, fitted."""
    if model == "independent":
        return Loglinear(sample, ())
    if model == "loglinear":
        count = len(sample.levels)
        pairs = [(j, k) for k in range(count) for j in range(k)]
        return Loglinear(sample, sample.margins or pairs)
    return Conditional(sample)


def model_prior(sample: Sample, model: str, draws: Sequence[int] = ()) -> Prior:
    """The prior of a model, with draws of the true shares.

    Args:
        sample: the records.
        model: one of MODELS, or "held-out": the one with the largest likelihood of left-out secrets.
        draws: the numbers of draws that Eves know.

    Returns:
        The prior.

    Raises:
        InputError: no such model, or it cannot be fitted.
    """
    if model not in (*MODELS, CHOOSE):
        raise InputError("model", model, f"must be one of {', '.join((*MODELS, CHOOSE))}")
    if sample.alpha != "held-out":
        sample = replace(sample, alpha=public(number(sample.alpha, "smoothing")))
        if sample.alpha < 0:
            raise InputError("smoothing", sample.alpha, 'must be "held-out" or a non-negative number')
    if model not in ("counts", CHOOSE) and sample.alpha != 0:
        raise InputError("smoothing", sample.alpha, f'is for model = "counts", not for "{model}"')
    if model not in ("loglinear", CHOOSE) and sample.margins:
        raise InputError("margins", None, f'are for model = "loglinear", not for "{model}"')
    if model != "conditional" and sample.file is not None:
        rule = "says nothing about held-out records of a type that was not fitted: leave it out, or hold none out"
        raise InputError("model", model, rule)
    if model != "conditional" and sample.weights is not None:
        if model != "counts" or sample.alpha != 0 or draws:
            rule = 'is for model = "counts" without smoothing and "conditional", and no Eve of counts who is informed'
            raise InputError("weight", None, rule)
        p = summed(
            sample.weights, np.unique(keys(sample.codes, sample.levels), return_inverse=True)[1], len(sample.rows)
        )
        prior = listed_prior(sample.codes, sample.levels, sample.rows, p / p.sum(), WEIGHTED[model])
        return replace(prior, toward=sample.toward)
    scores: tuple[tuple[str, float | None], ...] = ()
    if model == CHOOSE:
        sample = replace(sample, alpha=_alpha(sample))
        scores = held_out_scores(sample)
        model = max((pair for pair in scores if pair[1] is not None), key=lambda pair: pair[1] or -np.inf)[0]
    if model == "counts":
        prior = fit(sample.codes, sample.levels, sample.alpha, sample.toward, sample.joined, sample.seed)
        law: Callable[[np.random.Generator], Array] = _dirichlet(prior)
    else:
        found = fitted_model(sample, model)
        name = model if sample.weights is None else WEIGHTED[model]
        prior = listed_prior(sample.codes, sample.levels, found.types, found.rational(sample.amounts), name)
        prior = replace(prior, toward=sample.toward, margins=sample.margins)
        law = lambda generator: found.shares(generator.gamma(sample.amounts) + np.finfo(float).tiny)  # noqa: E731
    known, fresh = _drawn(law, len(prior.types), draws, sample.seed)
    return replace(prior, scores=scores, draws=known, fresh=fresh)


def listed_prior(codes: Array, levels: Sequence[int], types: Array, p: Array, model: str) -> Prior:
    """The prior with these probabilities of types, which are in the order of their keys and hold every record."""
    counts = np.zeros(len(types), dtype=np.int64)
    own, times = np.unique(keys(codes, levels), return_counts=True)
    key = keys(types, levels)
    place = np.searchsorted(key, own)
    if (np.diff(key) <= 0).any() or (place >= len(key)).any() or (key[place] != own).any():
        raise ValueError("the types of a prior must be in order and hold every record")
    counts[place] = times
    return Prior(types, counts, p, model=model)


def _whole(p: Array) -> Array:
    """Probabilities as rationals: integers over their sum, at least one each."""
    whole = np.maximum(np.rint(p * _ONE), 1).astype(np.int64)
    total = int(whole.sum())
    return objects(fmpq(int(w), total) for w in whole)


def _alpha(sample: Sample) -> Any:
    """The smoothing with which counts take part in the comparison: the given one, or the best."""
    if sample.alpha not in (0, "held-out"):
        return sample.alpha
    return fit(sample.codes, sample.levels, "held-out", sample.toward, sample.joined, sample.seed).alpha


def held_out_scores(sample: Sample) -> tuple[tuple[str, float | None], ...]:
    """The mean log P(secrets | other columns) of a left-out record by model; None for a model that cannot be fitted.

    Records with a level that the others do not have are not counted.
    """
    totals: dict[str, float | None] = dict.fromkeys(MODELS, 0.0)
    counted = 0
    for out, seen in sample.folds():
        part = replace(sample, codes=np.repeat(sample.rows, seen, axis=0))
        if not len(part.rows):
            continue
        known = [np.isin(sample.rows[:, k], part.rows[:, k]) for k in range(len(sample.levels))]
        left = (out > 0) & np.all(known, axis=0)
        rows, weight = sample.rows[left], out[left]
        counted += int(weight.sum())
        for name in MODELS:
            total = totals[name]
            if total is not None and len(rows):
                try:
                    given = _counts_given(part, rows) if name == "counts" else fitted_model(part, name).given(rows)
                    totals[name] = total + float(np.log(np.maximum(given, np.finfo(float).tiny)) @ weight)
                except InputError:
                    totals[name] = None
    return tuple((name, None if total is None else total / max(counted, 1)) for name, total in totals.items())


def _counts_given(sample: Sample, rows: Array) -> Array:
    """(n_x + alpha m_x) / (n_rest + alpha m_rest)."""
    alpha, n = float(sample.alpha), float(sample.counts.sum())

    def amount(columns: Sequence[int]) -> Array:
        return times_seen(rows, sample.codes, columns, sample.levels)

    def smoothed(columns: Sequence[int]) -> Array:
        groups = [[k for k in group if k in columns] for group in sample.joined]
        return amount(columns) + alpha * prod((amount(group) / n for group in groups), start=np.ones(len(rows)))

    bottom = smoothed(sample.rest)
    top = smoothed(range(len(sample.levels)))
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), amount(sample.secrets) / n)


def _dirichlet(prior: Prior) -> Callable[[np.random.Generator], Array]:
    shape = floats(prior.p).astype(float) * (prior.records + float(prior.alpha))
    return lambda generator: generator.gamma(shape)


def _drawn(
    law: Callable[[np.random.Generator], Array], types: int, counts: Sequence[int], seed: int
) -> list[dict[int, Array]]:
    """Tables k(omega | x) of the draws that Eves know, and as many fresh ones, by their number."""
    most = max(counts, default=0)
    if most * types > _MOST_CHANCES:
        rule = f"times {types} record types must be at most {_MOST_CHANCES}"
        raise InputError("informed", most, rule)
    out = []
    for part in (0, 1):
        generator = np.random.default_rng([seed, part])
        raw = [_normal(law(generator)) for _ in range(most)]
        out.append({count: chances(np.stack(raw[:count], axis=1)) for count in sorted(set(counts))})
    return out


def chances(draws: Array) -> Array:
    """k(omega | x) = d_omega(x) / sum of the draws, in units of 1 / CHANCES; the largest takes what rounding leaves."""
    total = draws.sum(axis=1, keepdims=True)
    k = np.divide(draws, total, out=np.full_like(draws, 1 / draws.shape[1]), where=total > 0)
    out = np.rint(k * CHANCES).astype(np.int64)
    out[np.arange(len(out)), out.argmax(axis=1)] += CHANCES - out.sum(axis=1)
    return out
