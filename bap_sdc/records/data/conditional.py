"""The secrets given all other columns, from a classifier, on the shares of those columns.

    p(x) = share(other columns) * P(first secret | other columns) * P(second secret | other columns, first secret) ...
The classifier is the one of LEARNERS with the largest likelihood of left-out records. Its log-probabilities are
multiplied by one number, the one with the largest likelihood of the same left-out records: if the classifier is too
sure of itself, the number is below one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from bap_lp.rational import Array, InputError
from bap_sdc.records.data.prior import MOST_TYPES, Sample, keys

_INNER = 3  # folds
_LEAST = 1e-9  # the smallest probability of a level of a secret


class Conditional:
    """Shares of the other columns as they are, and each secret given those columns and the secrets before it."""

    def __init__(self, sample: Sample) -> None:
        if not sample.rest:
            raise InputError("model", "conditional", "cannot be fitted: it needs a column that is not secret")
        self.sample = sample
        self.present = [np.unique(sample.rows[:, k]) for k in sample.secrets]
        for k, levels in zip(sample.secrets, self.present, strict=True):
            if len(levels) < 2:
                rule = f"cannot be fitted: the fitted records have only one level of the secret {sample.names[k]!r}"
                raise InputError("model", "conditional", rule)
        found, first, self.cell = np.unique(
            sample.key(sample.rows, sample.rest), return_index=True, return_inverse=True
        )
        size = len(found) * prod(map(len, self.present))
        if size > MOST_TYPES:
            rule = (
                f"gives {size} record types positive probability, at most {MOST_TYPES} are allowed: use bands or merge"
            )
            raise InputError("model", "conditional", f"{rule} levels")
        index = np.indices((len(found), *map(len, self.present))).reshape(1 + len(self.present), -1)
        rows = sample.rows[first[index[0]]]
        for k, levels, at in zip(sample.secrets, self.present, index[1:], strict=True):
            rows[:, k] = levels[at]
        order = np.argsort(keys(rows, sample.levels), kind="stable")
        self.types, self.home = rows[order], index[0][order]
        self.steps = [
            _chosen_step(sample, k, [*sample.rest, *sample.secrets[:j]], levels)
            for j, (k, levels) in enumerate(zip(sample.secrets, self.present, strict=True))
        ]

    def shares(self, amounts: Array) -> Array:
        out = (np.bincount(self.cell, amounts) / amounts.sum())[self.home]
        return out * self._given(self.types, amounts)

    def given(self, rows: Array) -> Array:
        return self._given(rows, self.sample.counts)

    def _given(self, rows: Array, amounts: Array) -> Array:
        out = np.ones(len(rows))
        for step in self.steps:
            table = step.predicted(self.sample, amounts, rows)
            out = out * table[np.arange(len(rows)), np.searchsorted(step.present, rows[:, step.secret])]
        return out


def _logistic(C: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, max_iter=2000)


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=60, learning_rate=0.05, early_stopping=False, random_state=0)


LEARNERS: tuple[tuple[bool, Callable[[], Any]], ...] = (  # whether it takes indicators of levels, or levels
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
    present: Array
    learner: tuple[bool, Callable[[], Any]]
    factor: float = 1.0

    def predicted(self, sample: Sample, amounts: Array, rows: Array) -> Array:
        """Probabilities of the levels that occur, a row per record."""
        from threadpoolctl import threadpool_limits

        live = np.flatnonzero(amounts > 0)
        y, w = np.searchsorted(self.present, sample.rows[live, self.secret]), amounts[live].astype(float)
        share = np.bincount(y, w, minlength=len(self.present)) / w.sum()
        out = np.tile(share, (len(rows), 1))
        if np.count_nonzero(share) > 1:
            model = self.learner[1]()
            with threadpool_limits(limits=1):
                model.fit(self._features(sample, sample.rows[live]), y, sample_weight=w)
                out[:, model.classes_] = model.predict_proba(self._features(sample, rows))
        out = np.maximum(out, _LEAST) ** self.factor
        return out / out.sum(axis=1, keepdims=True)

    def _features(self, sample: Sample, rows: Array) -> Array:
        if not self.learner[0]:
            return rows[:, self.columns]
        return np.hstack([np.eye(sample.levels[k])[rows[:, k]] for k in self.columns])


def _chosen_step(sample: Sample, secret: int, columns: list[int], present: Array) -> _Step:
    """The learner with the largest likelihood of left-out records, calibrated on the same records."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        rule = "cannot be fitted without scikit-learn: pip install 'bap-lp[microdata]'"
        raise InputError("model", "conditional", rule) from None
    folds = [(out, sample.counts - out) for out in sample.folds(_INNER) if (sample.counts > out).any()]
    best: tuple[float, _Step, Array, Array] | None = None
    for learner in LEARNERS:
        step, tables, weights = _Step(secret, columns, present, learner), [], []
        for out, seen in folds:
            rows = sample.rows[out > 0]
            table = np.log(step.predicted(sample, seen, rows))
            own = np.searchsorted(present, rows[:, secret])
            tables.append(table - table[np.arange(len(rows)), own][:, None])  # log-odds against the truth
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
