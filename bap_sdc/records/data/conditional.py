"""The secrets given all other columns, from a classifier, on the shares of those columns in the whole file.

    p(x) = share(other columns) * P(first secret | other columns) * P(second secret | other columns, first secret) ...
The file that is released is known: the shares are its counts, exactly, also of records whose secrets are held out. Only
P is estimated, from the fitted records, and every level of a secret has a positive probability everywhere. So no record
of the file is of a type without a probability.
The classifier is the one of LEARNERS with the largest likelihood of left-out records. Its log-probabilities are
multiplied by one number, the one with the largest likelihood of the same left-out records: if the classifier is too
sure of itself, the number is below one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.support.rational import Array, InputError, floats, objects
from bap_sdc.records.data.prior import MOST_TYPES, Sample, keys
from bap_sdc.records.optimum.risks import summed

_INNER = 3  # folds
_ONE = 1 << 32  # the probability 1 of a secret before rounding
_LEAST = 1e-9  # the smallest probability of a level of a secret


class Conditional:
    """Shares of the other columns as they are, and each secret given those columns and the secrets before it."""

    def __init__(self, sample: Sample, learners: Sequence[Learner] | None = None) -> None:
        self.sample = sample
        for k in sample.secrets:
            if len(np.unique(sample.rows[:, k])) < 2:
                rule = f"cannot be fitted: the fitted records have only one level of the secret {sample.names[k]!r}"
                raise InputError("model", "conditional", rule)
        file = sample.codes if sample.file is None else sample.file
        found, first, home = np.unique(sample.key(file, sample.rest), return_index=True, return_inverse=True)
        sizes = [sample.levels[k] for k in sample.secrets]
        size = len(found) * prod(sizes)
        if size > MOST_TYPES:
            rule = (
                f"gives {size} record types positive probability, at most {MOST_TYPES} are allowed: use bands or merge"
            )
            raise InputError("model", "conditional", f"{rule} levels")
        self.share = _shares(home.ravel(), len(found), sample.weights)
        index = np.indices((len(found), *sizes)).reshape(1 + len(sizes), -1)
        rows = file[first[index[0]]]
        for k, at in zip(sample.secrets, index[1:], strict=True):
            rows[:, k] = at
        order = np.argsort(keys(rows, sample.levels), kind="stable")
        self.types, self.home = rows[order], index[0][order]
        self.steps = [
            _chosen_step(sample, k, [*sample.rest, *sample.secrets[:j]], learners or LEARNERS)
            for j, k in enumerate(sample.secrets)
        ]

    def shares(self, amounts: Array) -> Array:
        return floats(self.share).astype(float)[self.home] * self._given(self.types, amounts)

    def rational(self, amounts: Array) -> Array:
        """The shares as rationals: P in units of 1 / _ONE, and what rounding leaves to the likeliest secrets."""
        whole = np.maximum(np.rint(self._given(self.types, amounts) * _ONE), 1).astype(np.int64)
        order = np.lexsort((whole, self.home))
        last = np.flatnonzero(np.append(np.diff(self.home[order]), 1))
        whole[order[last]] += _ONE - np.bincount(self.home, whole).astype(np.int64)
        return objects(self.share[g] * fmpq(w, _ONE) for g, w in zip(self.home.tolist(), whole.tolist(), strict=True))

    def given(self, rows: Array) -> Array:
        return self._given(rows, self.sample.amounts)

    def _given(self, rows: Array, amounts: Array) -> Array:
        out = np.ones(len(rows))
        for step in self.steps:
            table = step.predicted(self.sample, amounts, rows)
            out = out * table[np.arange(len(rows)), rows[:, step.secret]]
        return out


def _shares(home: Array, count: int, weights: Array | None) -> Array:
    """The share of the file, or of its weights, in every group, as rationals."""
    if weights is None:
        return objects(fmpq(int(n), len(home)) for n in np.bincount(home, minlength=count))
    mass = summed(weights, home, count)
    return mass / mass.sum()


def _logistic(C: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, max_iter=2000)


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=60, learning_rate=0.05, early_stopping=False, random_state=0)


Learner = tuple[bool, Callable[[], Any]]  # whether it takes indicators of levels, or levels
LEARNERS: tuple[Learner, ...] = (
    (True, lambda: _logistic(0.03)),
    (True, lambda: _logistic(0.3)),
    (True, lambda: _logistic(3.0)),
    (False, _boosting),
)


@dataclass(frozen=True, eq=False)
class _Step:
    """One secret given some columns: the learner, and the factor of its log-probabilities."""

    secret: int
    columns: list[int]
    learner: Learner
    factor: float = 1.0

    def predicted(self, sample: Sample, amounts: Array, rows: Array) -> Array:
        """Probabilities of the levels, a row per record."""
        from threadpoolctl import threadpool_limits

        live = np.flatnonzero(amounts > 0)
        y, w = sample.rows[live, self.secret], amounts[live].astype(float)
        share = np.bincount(y, w, minlength=sample.levels[self.secret]) / w.sum()
        out = np.tile(share, (len(rows), 1))
        if np.count_nonzero(share) > 1 and self.columns:
            model = self.learner[1]()
            with threadpool_limits(limits=1):
                model.fit(self._features(sample, sample.rows[live]), y, sample_weight=w)
                out[:] = 0
                out[:, model.classes_] = model.predict_proba(self._features(sample, rows))
        out = np.maximum(out, _LEAST) ** self.factor
        return out / out.sum(axis=1, keepdims=True)

    def _features(self, sample: Sample, rows: Array) -> Array:
        if not self.learner[0]:
            return rows[:, self.columns]
        return np.hstack([np.eye(sample.levels[k])[rows[:, k]] for k in self.columns])


def _chosen_step(sample: Sample, secret: int, columns: list[int], learners: Sequence[Learner]) -> _Step:
    """The learner with the largest likelihood of left-out records, calibrated on the same records."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        rule = "cannot be fitted without scikit-learn: pip install 'bap-lp[microdata]'"
        raise InputError("model", "conditional", rule) from None
    folds = [(out, seen) for out, seen in sample.folds(_INNER) if seen.any()]
    best: tuple[float, _Step, Array, Array] | None = None
    for learner in learners:
        step, tables, weights = _Step(secret, columns, learner), [], []
        for out, seen in folds:
            rows = sample.rows[out > 0]
            table = np.log(step.predicted(sample, seen, rows))
            tables.append(table - table[np.arange(len(rows)), rows[:, secret]][:, None])  # log-odds against the truth
            weights.append(out[out > 0])
        if not tables:
            return step
        odds, weight = np.vstack(tables), np.concatenate(weights).astype(float)
        score = _likelihood(1.0, odds, weight)
        if best is None or score > best[0]:
            best = score, step, odds, weight
    from scipy.optimize import minimize_scalar

    assert best is not None
    _, step, odds, weight = best
    found = minimize_scalar(lambda t: -_likelihood(t, odds, weight), bounds=(0.1, 3.0), method="bounded")
    return replace(step, factor=float(found.x))


def _likelihood(factor: float, odds: Array, weight: Array) -> float:
    from scipy.special import logsumexp

    return float(-(logsumexp(factor * odds, axis=1) @ weight) / weight.sum())
