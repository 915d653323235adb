"""Who takes part in a study, as its author writes them and as it reads them: Eves, and columns that Bob wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bap_lp.support.labels import weight_of
from bap_lp.support.rational import Array, InputError, floats, is_exact, number, public, show
from bap_sdc.records.data.levels import Column
from bap_sdc.records.data.losses import loss_table


@dataclass(frozen=True)
class Eve:
    """One Eve: the column she wants, the columns she has, and what her guesses cost her.

    Args:
        secret: the column she wants, published or not.
        knows: the columns she already has.
        loss: "0-1", "absolute", "squared", or a table with a row per level of the secret and a column per guess; "log"
            or "brier" if she reports probabilities of the levels, one report of a long list.
        name: what results call her.
        weight: what R_E counts of her risk.
        informed: she also knows which of this many draws of the true shares is true.

    Raises:
        InputError: when a `Study` is made with an Eve whose columns or losses do not fit it.

    >>> Eve("affair", knows=["age"], loss=[[0, 1], [3, 0]])
    Eve(secret='affair', knows=('age',), loss=[[0, 1], [3, 0]], name='', weight=1, informed=None)
    """

    secret: str
    knows: Sequence[str] = ()
    loss: Any = "0-1"
    name: str = ""
    weight: Any = 1
    informed: int | None = None

    def __post_init__(self) -> None:
        knows = (self.knows,) if isinstance(self.knows, str) else tuple(self.knows)
        object.__setattr__(self, "knows", knows)


@dataclass(frozen=True, eq=False)
class Target:
    """A published column: its loss table and its weight in R_B."""

    column: str
    loss: Array
    weight: Any


@dataclass(frozen=True, eq=False)
class Spy:
    """An Eve as the study reads her: positions of her columns among the kept ones, and her loss table."""

    name: str
    secret: int
    knows: tuple[int, ...]
    loss: Array
    weight: Any
    informed: int = 0
    score: str = ""  # "log" or "brier" if the columns of the loss are reports of probabilities


def wanted_columns(
    publish: Any, eves: Sequence[Eve], names: Sequence[str], columns: Mapping[str, Any], source: str
) -> set[str]:
    """The columns that are published, secret or known; all of them are in the table."""
    if not isinstance(publish, Mapping) or not publish:
        raise InputError("publish", None, "must name at least one column")
    if not eves:
        raise InputError("eves", None, "must not be empty")
    fields = [(f"publish.{name}", name) for name in publish]
    for n, eve in enumerate(eves):
        if not isinstance(eve, Eve):
            raise InputError(f"eves[{n}]", eve, "must be an Eve")
        if eve.secret in eve.knows:
            raise InputError(f"eves[{n}].secret", eve.secret, "is among the columns she knows already")
        fields += [(f"eves[{n}].secret", eve.secret), *((f"eves[{n}].knows", c) for c in eve.knows)]
    fields += [(f"columns.{name}", name) for name in columns]
    for field, name in fields:
        if name not in names:
            listed = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
            raise InputError(field, None, f"names column {show(name)}, which {source} does not have: it has {listed}")
    return {name for field, name in fields if not field.startswith("columns.")}


def require_different(names: Sequence[str]) -> None:
    for n, name in enumerate(names):
        if name in names[:n]:
            raise InputError(f"eves[{n}].name", name, "is the name of another Eve")


def target_of(name: str, how: Any, column: Column) -> Target:
    options = dict(how) if isinstance(how, Mapping) else {"loss": how}
    for key in options:
        if key not in ("loss", "weight"):
            raise InputError(f"publish.{name}.{key}", None, "is not a known key: a column may have loss, weight")
    table = loss_table(options.get("loss", "0-1"), column, f"publish.{name}.loss")
    if table.shape[1] != len(column):
        rule = f"has {table.shape[1]} columns, must have {len(column)}, one per level"
        raise InputError(f"publish.{name}.loss", None, rule)
    return Target(name, table, weight_of(options.get("weight", 1), f"publish.{name}.weight"))


def margins_of(given: Any, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Groups of columns as positions."""
    rule = 'must be a list of lists of columns, such as [["age", "ill"]]'
    if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence):
        raise InputError("margins", given, rule)
    out = []
    for k, group in enumerate(given):
        if isinstance(group, (str, Mapping)) or not isinstance(group, Sequence) or not group:
            raise InputError(f"margins[{k}]", group, rule)
        for name in group:
            if name not in names:
                listed = ", ".join(map(repr, names))
                raise InputError(f"margins[{k}]", None, f"names column {show(name)}, which is not one of {listed}")
        out.append(tuple(sorted({names.index(name) for name in group})))
    return tuple(out)


def times(weight: Any, table: Array) -> Array:
    if weight == 1:
        return table
    return weight * table if is_exact(weight) and is_exact(table) else float(weight) * floats(table)


def share_of(holdout: Any) -> Fraction:
    value = number(repr(holdout) if isinstance(holdout, float) else holdout, "holdout")
    if not 0 <= value < 1:
        raise InputError("holdout", public(value), "must be at least 0 and below 1")
    return Fraction(public(value))
