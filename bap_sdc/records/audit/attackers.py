"""Learned attackers: what scikit-learn's classifiers learn from a released file.

An attacker is trained on (released record, columns Eve knows) -> secret of the fitted half, as if somebody had
leaked its secrets, and answers with the guess of least expected loss under the probabilities it predicts. It
decides from (signal, z) alone, so on any distribution of records it cannot beat an Eve who knows that distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bap_lp.support.clock import check
from bap_lp.support.rational import Array, InputError


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=500))


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=0)


def _neighbours() -> Any:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(encoder, KNeighborsClassifier(n_neighbors=25, algorithm="brute"))


ATTACKERS: Mapping[str, Callable[[], Any]] = {
    "logistic regression": _logistic,
    "gradient boosting": _boosting,
    "nearest neighbours": _neighbours,
}


def trained(name: str, features: Array, secret: Array, loss: Array) -> Callable[[Array], Array]:
    """Train an attacker.

    Args:
        name: one of ATTACKERS.
        features: (n, d) integers, what the attacker sees of each training record.
        secret: (n,) the secret of each.
        loss: a row per secret, a column per guess, in floats.

    Returns:
        A function from (m, d) features to m guesses.

    Raises:
        InputError: no such attacker, or scikit-learn is missing.

    >>> import numpy as np
    >>> seen, secret = np.array([[0], [0], [1], [1]] * 9), np.array([0, 0, 1, 1] * 9)
    >>> trained("logistic regression", seen, secret, 1.0 - np.eye(2))(np.array([[0], [1]])).tolist()
    [0, 1]
    """
    check()
    if name not in ATTACKERS:
        raise InputError("attackers", name, f"must be one of {', '.join(ATTACKERS)}")
    present = np.unique(secret)
    if len(present) == 1:
        return lambda asked: np.full(len(asked), loss[present[0]].argmin())
    try:
        model = ATTACKERS[name]()
    except ImportError:
        raise InputError("attackers", None, "need scikit-learn: pip install 'bap-lp[microdata]'") from None
    if "kneighborsclassifier" in getattr(model, "named_steps", {}):
        model.set_params(kneighborsclassifier__n_neighbors=min(25, len(secret)))
    from threadpoolctl import threadpool_limits

    # tables of records are small, and threads that wait for each other cost more than they gain
    with threadpool_limits(limits=1):
        model.fit(features, secret)

    def guesses(asked: Array) -> Array:
        likely = np.zeros((len(asked), len(loss)))
        if len(asked):
            with threadpool_limits(limits=1):
                likely[:, model.classes_] = model.predict_proba(asked)
        return (likely @ loss).argmin(axis=1)

    return guesses
