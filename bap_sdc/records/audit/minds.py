"""Beliefs of Eves who know the mechanism: what they take the distribution of the records of the file to be.

Such an Eve has the mechanism, the columns of the file that are not secret, and the secrets of the fitted half. At a
released record s and known columns z she believes
    P(secret | s, z)  ~  sum over records with z of share(record) q(s | record),
with the whole law q of the mechanism, also for records that were not fitted. What she does not know is the secret of a
record given its other columns; for this she has
    counts of the fitted half      the fitted records as they are
    logistic regression, gradient boosting    a classifier of the fitted half, on the shares of the whole file
and the model of the study itself, which is the Eve of the certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bap_lp.support.rational import Array, InputError
from bap_sdc.records.data.conditional import Conditional
from bap_sdc.records.data.prior import Sample

if TYPE_CHECKING:
    from bap_sdc.records.study import Study

Belief = tuple[Array, Array]  # record types, a row of levels each, and their probabilities in floats
COUNTS = "counts of the fitted half"


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=0.1, max_iter=2000)


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=80, learning_rate=0.05, max_leaf_nodes=8, min_samples_leaf=30, l2_regularization=5.0,
        early_stopping=False, random_state=0,
    )  # fmt: skip


CLASSIFIERS = {"logistic regression": (True, _logistic), "gradient boosting": (False, _boosting)}


def beliefs(study: Study, file: Array, learned: bool) -> Mapping[str, Belief]:
    """By name, what an Eve who knows the mechanism believes of a file given as rows of levels.

    learned: also those who train a classifier. One that cannot be fitted, as there are too many types or only one
    secret, is left out.
    """
    joined = tuple((k,) for k in range(len(study.names)))
    sample = Sample(study.fitted, study.levels, study.names, study.secrets, joined, seed=study.seed, file=file)
    out = {COUNTS: (sample.rows, sample.counts / sample.counts.sum())}
    for name, learner in CLASSIFIERS.items() if learned else ():
        try:
            model = Conditional(sample, [learner])
        except InputError:
            continue
        out[name] = model.types, model.shares(sample.amounts)
    return out
