"""Draws of a probabilistic program, from ArviZ InferenceData or its netCDF files, as a simulator with posterior draws.

PyMC, Stan and NumPyro write the same groups. `prior` and `prior_predictive` of one file are joint draws (theta, x). A
file with `posterior` and `observed_data` holds posterior draws of theta for one data set x. A lower end needs them
for every data set that is used: run the program on data sets of the prior predictive, and give one file for each.
They are found by the data they observed. Without such files B is estimated from neighbours, and only the upper end is
claimed.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from bap_lp import InputError
from bap_lp.model.display import Displayed
from gaussian.arrays import Array


class StoredDraws(Displayed):
    """Joint draws (theta, x) handed out in order, each once, and posterior draws found by the data they belong to.

    It is a simulator for `sample`, which takes the first draws for the fit; `bracket` takes the ones after them.

    Args:
        theta: what Bob wants to know, a number per draw.
        x: the data, a row per draw.
        posterior: the posterior draws, by the bytes of the data set.

    >>> import numpy as np
    >>> from discretise import StoredDraws
    >>> StoredDraws(np.array([0.1, 0.4]), np.array([1.0, 2.0]), {})
    <StoredDraws: 2 joint draws, posterior draws for 0 data sets>
    """

    def __init__(self, theta: Array, x: Array, posterior: dict[bytes, Array]) -> None:
        self.theta, self.x, self.posterior = theta, x, posterior

    def _headline(self) -> str:
        return f": {len(self.theta)} joint draws, posterior draws for {len(self.posterior)} data sets"

    def __len__(self) -> int:
        return len(self.theta)

    def __call__(self, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        """The first draws; `sample` asks for rows instead."""
        return self.rows(0, size)

    def rows(self, start: int, size: int) -> tuple[Array, Array]:
        """Draws start, start + 1, ..."""
        if start + size > len(self.theta):
            rule = f"are too few: {start + size} are needed, for the fit and for fresh draws together"
            raise InputError("stored draws", len(self.theta), rule)
        return self.theta[start : start + size], self.x[start : start + size]

    def posterior_draws(self, x: Array, rng: np.random.Generator, size: int) -> Array:
        """`size` posterior draws for one data set, without replacement if there are enough."""
        found = self.posterior.get(_key(x))
        if found is None:
            raise InputError("x", None, "is a data set for which no posterior draws are stored")
        return rng.choice(found, size, replace=size > len(found))


def from_arviz(
    joint: Any, theta: str, data: str, posteriors: Iterable[Any] = (), posterior_data: str | None = None
) -> StoredDraws:
    """Draws of a probabilistic program as a simulator for `sample`. Needs the extra `arviz`.

    Args:
        joint: InferenceData with the groups `prior` and `prior_predictive`, or the path of its netCDF file.
        theta: the variable that Bob wants to know, one number.
        data: the variable of the data.
        posteriors: for data sets of the prior predictive, InferenceData (or paths) with the groups `posterior` and
            `observed_data`, one for each data set. Draws whose data set has none are then left out.
        posterior_data: the variable of the data in `observed_data`, if it has another name.

    Returns:
        The draws. Give them to `sample` as its simulator, and their `posterior_draws` if there are posteriors.

    Raises:
        InputError: a group or variable is missing, or theta is not one number.
        ImportError: arviz is not installed.

    >>> import arviz, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.gamma(3, size=(1, 500))
    >>> joint = arviz.from_dict(prior={"rate": rate}, prior_predictive={"cases": rng.poisson(rate)})
    >>> from_arviz(joint, "rate", "cases")
    <StoredDraws: 500 joint draws, posterior draws for 0 data sets>
    """
    source = _opened(joint, "joint")
    drawn = _values(source, "prior", theta)
    x = _values(source, "prior_predictive", data)
    if drawn.ndim != 1:
        raise InputError(f"prior[{theta!r}]", None, f"has shape {drawn.shape[1:]} in each draw, must be one number")
    if len(drawn) != len(x):
        raise InputError(f"prior_predictive[{data!r}]", None, f"has {len(x)} draws, the prior has {len(drawn)}")
    posterior: dict[bytes, Array] = {}
    for k, one in enumerate(posteriors):
        file = _opened(one, f"posteriors[{k}]")
        observed = _variable(file, "observed_data", posterior_data or data).to_numpy()
        found = _values(file, "posterior", theta)
        if found.ndim != 1:
            raise InputError(f"posteriors[{k}]: posterior[{theta!r}]", None, "must be one number in each draw")
        posterior[_key(observed)] = found
    if posterior:
        known = np.array([_key(row) in posterior for row in x])
        if not known.any():
            raise InputError("posteriors", None, "observed no data set of the prior predictive")
        drawn, x = drawn[known], x[known]
    return StoredDraws(drawn, x, posterior)


def _key(x: Any) -> bytes:
    # adding zero turns -0.0 into 0.0, so that equal data have equal bytes
    return (np.ascontiguousarray(np.squeeze(np.asarray(x, dtype=float))) + 0.0).tobytes()


def _opened(source: Any, field: str) -> Any:
    if not isinstance(source, (str, os.PathLike)):
        return source
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about its own next version
            import arviz
    except ImportError:
        raise ImportError("from_arviz needs arviz: pip install 'bap-lp[arviz]'") from None
    try:
        return arviz.from_netcdf(os.fspath(source))
    except (OSError, ValueError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise InputError(field, os.fspath(source), f"cannot be read: {reason}") from None


def _variable(source: Any, group: str, name: str) -> Any:
    table = getattr(source, group, None)
    if table is None:
        raise InputError(group, None, "is a group that the InferenceData does not have")
    if name not in table:
        raise InputError(f"{group}[{name!r}]", None, f"is not there: it has {', '.join(map(str, table.data_vars))}")
    return table[name]


def _values(source: Any, group: str, name: str) -> Array:
    """A variable with one row per draw: chains one after the other."""
    variable = _variable(source, group, name)
    stacked = variable.stack(sample=("chain", "draw")).transpose("sample", ...)
    return np.asarray(stacked.to_numpy(), dtype=float)
