"""Losses L(target, decision), vectorised over both, with the targets at which they jump or bend.

    0-1             1{target != decision};  with thresholds c_1 < ... < c_k the decision i in 0..k claims that exactly i
                    of them lie below the target, so that one threshold is the test of target > c
    squared         (target - decision)^2
    absolute        |target - decision|
    asymmetric      over * (decision - target)+  +  under * (target - decision)+
Any other non-negative function of (target, decision) that broadcasts is a loss too; give its jumps as edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bap_lp import InputError
from gaussian.real_arrays import Array

Loss = Callable[[Array, Array], Any]


@dataclass(frozen=True)
class ZeroOne:
    """1 if the decision is not the number of thresholds below the target or, without thresholds, not the target."""

    thresholds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        t = self.thresholds
        if any(not math.isfinite(c) for c in t) or any(a >= b for a, b in pairwise(t)):
            raise InputError("thresholds", t, "must be finite and increasing")

    def __call__(self, target: Array, decision: Array) -> Array:
        truth = np.searchsorted(self.thresholds, target, side="left") if self.thresholds else np.asarray(target)
        return np.asarray(truth != decision, dtype=float)

    def jumps(self) -> tuple[float, ...]:
        """The targets at which the loss jumps."""
        return self.thresholds


@dataclass(frozen=True)
class Asymmetric:
    """over per unit of overestimation, under per unit of underestimation. `absolute` has 1 and 1.

    Args:
        over: loss per unit by which the decision exceeds the target.
        under: loss per unit by which it falls short.

    Raises:
        InputError: over or under is negative or not finite.

    >>> import numpy as np
    >>> from discretise import absolute
    >>> absolute(np.array([1.0, 2.0]), np.array([3.0, 5.0])).tolist()
    [2.0, 3.0]
    """

    over: float = 1.0
    under: float = 1.0

    def __post_init__(self) -> None:
        for field, value in (("over", self.over), ("under", self.under)):
            if not 0 <= value < math.inf:
                raise InputError(field, value, "must be finite and not negative")

    def __call__(self, target: Array, decision: Array) -> Array:
        excess = decision - target
        return np.where(excess > 0, self.over * excess, -self.under * excess)


def zero_one(*thresholds: float) -> ZeroOne:
    """0-1 loss.

    Args:
        *thresholds: increasing numbers c_1 < ... < c_k. Decision i in 0..k claims that i of them are below the target,
            so that zero_one(c) is the test of target > c. Without thresholds the decision claims the target itself.

    Returns:
        The loss function.

    Raises:
        InputError: the thresholds are not finite and increasing.

    >>> import numpy as np
    >>> zero_one(0.0)(np.array([-1.0, 2.0]), np.array([0, 0])).tolist()
    [0.0, 1.0]
    """
    return ZeroOne(tuple(numbers_of(thresholds, "thresholds", "must be finite and increasing").tolist()))


def squared(target: Array, decision: Array) -> Array:
    """Squared loss.

    Args:
        target: true values.
        decision: estimates.

    Returns:
        (target - decision)^2, elementwise.

    Raises:
        ValueError: the shapes of target and decision do not fit together.

    >>> import numpy as np
    >>> squared(np.array([1.0, 2.0]), np.array([3.0, 2.0])).tolist()
    [4.0, 0.0]
    """
    return np.asarray((target - decision) ** 2)


absolute = Asymmetric()


def asymmetric(over: float, under: float) -> Asymmetric:
    """Piecewise linear loss. Its Bayes decision is the under/(over + under) quantile.

    Args:
        over: loss per unit by which the decision exceeds the target.
        under: loss per unit by which it falls short.

    Returns:
        The loss function.

    Raises:
        InputError: over or under is negative or not finite.

    >>> import numpy as np
    >>> asymmetric(3, 1)(np.array([0.0, 0.0]), np.array([2.0, -2.0])).tolist()
    [6.0, 2.0]
    """
    rule = "must be finite and not negative"
    return Asymmetric(*(float(numbers_of([v], name, rule)[0]) for name, v in (("over", over), ("under", under))))


_NAMES: dict[str, Loss] = {"0-1": ZeroOne(), "squared": squared, "absolute": absolute}


def loss_of(loss: Any, field: str) -> Loss:
    """A loss given by name or as a function."""
    if isinstance(loss, str):
        if loss not in _NAMES:
            raise InputError(field, loss, "must be a function or one of " + ", ".join(map(repr, _NAMES)))
        return _NAMES[loss]
    found: Loss = loss
    return found


def numbers_of(values: Any, field: str, rule: str = "must be finite numbers") -> Array:
    """A list of finite numbers."""
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(field, values, rule) from None
    if found.ndim != 1 or not np.isfinite(found).all():
        raise InputError(field, values, rule)
    return found


def decisions_of(decisions: Any, field: str) -> Array:
    """A grid of decisions: finite, distinct numbers."""
    rule = "must be a list of distinct finite numbers"
    grid = numbers_of(decisions, field, rule)
    if not len(grid) or len(np.unique(grid)) < len(grid):
        raise InputError(field, decisions, rule)
    return grid


def loss_table(loss: Loss, target: Array, decisions: Array, field: str) -> Array:
    """The table L(target_k, decision_i); an entry that is not finite or is negative is refused."""
    out = np.asarray(loss(target[:, None], decisions[None, :]), dtype=float)
    if out.shape != (len(target), len(decisions)):
        shape = (len(target), len(decisions))
        raise InputError(field, None, f"gave shape {out.shape} for targets and decisions, must give {shape}")
    bad = ~(np.isfinite(out) & (out >= 0))
    if bad.any():
        k, i = np.argwhere(bad)[0]
        raise InputError(f"{field}({target[k]:.6g}, {decisions[i]:.6g})", out[k, i], "must be finite and not negative")
    return out


def jumps(loss: Loss) -> Array:
    """The targets at which a built-in loss jumps."""
    return np.asarray(loss.jumps() if isinstance(loss, ZeroOne) else (), dtype=float)


def bends(loss: Loss, decisions: Array) -> Array:
    """The targets at which a built-in loss jumps or bends, where a quadrature must be cut."""
    return np.concatenate([jumps(loss), decisions if isinstance(loss, Asymmetric) else decisions[:0]])


@dataclass(frozen=True, eq=False)
class EveTask:
    """What one Eve decides, what she loses, and her weight in R_E."""

    loss: Loss
    decisions: Array
    weight: float = 1.0
    name: str = "Eve"

    @property
    def bounded(self) -> bool:
        """Whether the loss is known to be at most 1."""
        return isinstance(self.loss, ZeroOne)


def eve_tasks(loss: Any, decisions: Any, weights: Any = None) -> tuple[EveTask, ...]:
    """One Eve, or several if `loss` is a list: then `decisions` is a list of grids, and `weights` one number each."""
    if not isinstance(loss, (list, tuple)):
        if weights is not None:
            raise InputError("eve_weights", weights, "needs a list of losses, one per Eve")
        return (EveTask(loss_of(loss, "eve_loss"), decisions_of(decisions, "eve_decisions")),)
    if not loss:
        raise InputError("eve_loss", None, "must not be empty")
    try:
        grids = list(decisions)
        shares = [1.0] * len(loss) if weights is None else [float(w) for w in weights]
    except (TypeError, ValueError):
        raise InputError("eve_decisions and eve_weights", None, "must be lists with one entry per Eve") from None
    for field, found in (("eve_decisions", grids), ("eve_weights", shares)):
        if len(found) != len(loss):
            raise InputError(field, None, f"has {len(found)} entries, must have {len(loss)}, one per Eve")
    for k, share in enumerate(shares):
        if not 0 < share < math.inf:
            raise InputError(f"eve_weights[{k}]", share, "must be positive and finite")
    return tuple(
        EveTask(
            loss_of(one, f"eve_loss[{k}]"), decisions_of(grid, f"eve_decisions[{k}]"), share, f"Eve{k + 1 if k else ''}"
        )
        for k, (one, grid, share) in enumerate(zip(loss, grids, shares, strict=True))
    )


def eve_table(eves: tuple[EveTask, ...], target: Array) -> Array:
    """The weighted losses of all Eves side by side, a row per target."""
    return np.hstack([eve.weight * loss_table(eve.loss, target, eve.decisions, "eve_loss") for eve in eves])


def eve_slices(eves: tuple[EveTask, ...]) -> tuple[slice, ...]:
    """The columns of `eve_table` that belong to each Eve."""
    ends = np.cumsum([0, *(len(eve.decisions) for eve in eves)]).tolist()
    return tuple(slice(a, b) for a, b in pairwise(ends))


def names(decisions: Array) -> list[str]:
    """Labels of a grid of decisions: six digits if they are then distinct, else all digits."""
    short = [f"{d:.6g}" for d in decisions]
    return short if len(set(short)) == len(short) else [repr(float(d)) for d in decisions]
