"""Eve's questions about the data: is a statistic T(x) above a threshold c?

    mean, maximum, median (of an even number of values: the mean of the two middle ones), and the value of one record.
Her loss is (miss, false alarm): what she loses if she says "no" and T > c, and if she says "yes" and T <= c; (1, 1) is
0-1 loss. Several Eves either reply separately and their risks are added with weights, or are one Eve for whom it is
enough to be right about one of the questions ("either" is a breach): her loss is the least of the losses. Whatever a
single Eve decides, she loses on one cell of her events only: she bets against it, at the cell's loss. The same holds
for "either": she loses only if she is wrong about every question, which names one cell, and its loss is the least.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from inspect import cleandoc
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gaussian import _checks
from gaussian.real_arrays import Array

UNIT_LOSS = (1.0, 1.0)


class ShortRepr:
    """A dataclass whose repr leaves out optional fields that have their default."""

    def __repr__(self) -> str:
        shown: list[str] = []
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if not item.metadata.get("optional") or value != item.default:
                shown.append(f"{item.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _lean(self) -> None:
        """Leave optional fields that have their default to the class: `vars` of a plain Eve are her thresholds."""
        for item in fields(self):  # type: ignore[arg-type]
            if item.metadata.get("optional") and vars(self).get(item.name) == item.default:
                object.__delattr__(self, item.name)


def optional(default: Any) -> Any:
    """A field that the repr shows only if it differs from its default."""
    return field(default=default, metadata={"optional": True})


class SharedSections:
    """Subclasses without sections of their own have those of the class above them, before their examples."""

    def __init_subclass__(cls) -> None:
        above, own = (cleandoc(vars(one).get("__doc__") or "") for one in (cls.__mro__[1], cls))
        if "Args:" in above and "Args:" not in own:
            words, prompt, example = own.partition(">>>")
            cls.__doc__ = f"{words}{above[above.index('Args:') :].rstrip()}\n\n{prompt}{example}"


@dataclass(frozen=True, repr=False)
class ThresholdEve(ShortRepr, SharedSections):
    """Eve tests a statistic of the data against a threshold; the base of the Eves with one question.

    Args:
        threshold: the value that she compares with.
        loss: what she loses by a miss and by a false alarm.

    Raises:
        ValueError: threshold is not a finite number, or a loss is not positive.
    """

    threshold: float
    loss: tuple[float, float] = optional(UNIT_LOSS)

    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", _checks.real("threshold", self.threshold))
        object.__setattr__(self, "loss", _checks.loss_pair("loss", self.loss))
        self._lean()

    @property
    def label(self) -> str:
        """The statistic in a sentence such as "max > 2"."""
        return self.name

    def statistic(self, x: Array) -> Array:
        """T of each data set; the last axis of x holds its values."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class MeanEve(ThresholdEve):
    """Eve tests xbar > threshold.

    >>> MeanEve(0.5), MeanEve(0.5, loss=(2, 1))
    (MeanEve(threshold=0.5), MeanEve(threshold=0.5, loss=(2.0, 1.0)))
    """

    name: ClassVar[str] = "mean"

    @property
    def label(self) -> str:
        return "xbar"

    def statistic(self, x: Array) -> Array:
        return np.asarray(x.mean(-1))


@dataclass(frozen=True, repr=False)
class MaxEve(ThresholdEve):
    """Eve tests max_i x_i > threshold.

    >>> MaxEve(2.0)
    MaxEve(threshold=2.0)
    """

    name: ClassVar[str] = "max"

    def statistic(self, x: Array) -> Array:
        return np.asarray(x.max(-1))


@dataclass(frozen=True, repr=False)
class MedianEve(ThresholdEve):
    """Eve tests the sample median; of an even number of values it is the mean of the two middle ones.

    >>> MedianEve(0.3)
    MedianEve(threshold=0.3)
    """

    name: ClassVar[str] = "median"

    def statistic(self, x: Array) -> Array:
        return np.asarray(np.median(x, axis=-1))


@dataclass(frozen=True, repr=False)
class RecordEve(ThresholdEve):
    """Eve tests the value of one record.

    Args:
        threshold: the value that she compares with.
        loss: what she loses by a miss and by a false alarm.
        record: the number of the record, from 1.

    Raises:
        ValueError: threshold is not a finite number, a loss is not positive, or record is not a positive integer.

    >>> RecordEve(1.0, record=3)
    RecordEve(threshold=1.0, record=3)
    """

    record: int = optional(1)

    name: ClassVar[str] = "record"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "record", _checks.count("record", self.record))

    @property
    def label(self) -> str:
        return f"x_{self.record}"

    def statistic(self, x: Array) -> Array:
        if self.record > x.shape[-1]:
            raise ValueError(f"record = {self.record} must be at most n = {x.shape[-1]}")
        return np.asarray(x[..., self.record - 1])


@dataclass(frozen=True, repr=False)
class BothEves(ShortRepr):
    """Eve tests xbar > mean_threshold and max_i x_i > max_threshold, and loses only if she is wrong about both.

    Args:
        mean_threshold: the value that she compares the mean with.
        max_threshold: the value that she compares the maximum with.
        mean_loss: what she loses by a miss and by a false alarm about the mean.
        max_loss: the same for the maximum.

    Raises:
        ValueError: a threshold is not a finite number, or a loss is not positive.

    >>> BothEves(0.5, 2.0).members
    (MeanEve(threshold=0.5), MaxEve(threshold=2.0))
    """

    mean_threshold: float
    max_threshold: float
    mean_loss: tuple[float, float] = optional(UNIT_LOSS)
    max_loss: tuple[float, float] = optional(UNIT_LOSS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean_threshold", _checks.real("mean_threshold", self.mean_threshold))
        object.__setattr__(self, "max_threshold", _checks.real("max_threshold", self.max_threshold))
        object.__setattr__(self, "mean_loss", _checks.loss_pair("mean_loss", self.mean_loss))
        object.__setattr__(self, "max_loss", _checks.loss_pair("max_loss", self.max_loss))
        self._lean()

    @property
    def members(self) -> tuple[MeanEve, MaxEve]:
        """The two questions."""
        return MeanEve(self.mean_threshold, self.mean_loss), MaxEve(self.max_threshold, self.max_loss)


@dataclass(frozen=True, repr=False)
class GaussianEves(ShortRepr):
    """Several Eves: with weights they reply separately, with either=True they are one who needs to be right only once.

    Args:
        members: the Eves, at least one.
        weights: what each Eve's risk counts, one positive number per Eve; 1 each by default.
        either: combine them into one Eve whose loss is the least of the losses; weights must not be given.

    Raises:
        ValueError: there is no Eve, or a weight is missing or not positive, or either is combined with weights.

    >>> GaussianEves((MeanEve(0.5), RecordEve(2.0)), either=True)
    GaussianEves(members=(MeanEve(threshold=0.5), RecordEve(threshold=2.0)), either=True)
    """

    members: tuple[ThresholdEve, ...]
    weights: tuple[float, ...] | None = optional(None)
    either: bool = optional(False)

    def __post_init__(self) -> None:
        members = tuple(self.members) if isinstance(self.members, Iterable) else (self.members,)
        if not members:
            raise ValueError("members = () must hold at least one Eve")
        for member in members:
            if not isinstance(member, ThresholdEve):
                raise ValueError(f"members = {member!r} must be Eves with one question, such as MeanEve(0.5)")
        object.__setattr__(self, "members", members)
        if self.weights is not None:
            if self.either:
                raise ValueError(f"weights = {self.weights} must not be given with either = True: there is one Eve")
            weights = tuple(_checks.positive("weights", w) for w in self.weights)
            if len(weights) != len(members):
                raise ValueError(f"weights = {weights} must have one entry for each of the {len(members)} Eves")
            object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "either", bool(self.either))


Eve = ThresholdEve | BothEves | GaussianEves


def questions(eve: Eve) -> tuple[ThresholdEve, ...]:
    """The single questions of Eve, in order."""
    return (eve,) if isinstance(eve, ThresholdEve) else eve.members


def separate(eve: Eve) -> tuple[tuple[Eve, float], ...]:
    """Eves who reply separately, each with the weight of her risk; a single Eve has weight one."""
    if not isinstance(eve, GaussianEves) or eve.either:
        return ((eve, 1.0),)
    return tuple(zip(eve.members, eve.weights or (1.0,) * len(eve.members), strict=True))


def betting_weights(eve: Eve) -> Array:
    """What Eve loses in each cell if she bets against it: the least of her losses there, a false alarm or a miss."""
    return np.array([min(cell) for cell in product(*((q.loss[1], q.loss[0]) for q in questions(eve)))])


def cell_index(asked: Iterable[ThresholdEve], x: Array) -> NDArray[np.intp]:
    """The cell of each data set: the answers to Eve's questions as a binary number, the first question first."""
    index = np.zeros(x.shape[:-1], dtype=np.intp)
    for question in asked:
        index = 2 * index + (question.statistic(x) > question.threshold)
    return index


def cell_words(asked: Iterable[ThresholdEve]) -> tuple[str, ...]:
    """The cells in words, in the order of `cell_index`."""
    pairs = [(f"{q.label} <= {q.threshold:.6g}", f"{q.label} > {q.threshold:.6g}") for q in asked]
    return tuple(", ".join(parts) for parts in product(*pairs))
