"""How results show themselves: numbers and labels as text, one line as repr, a small table in a notebook.

Labels are other people's text: control characters are spelled out, long labels are cut, and nothing in them is markup.
A result has `summary()`, which says why, and `rows()` if it is a table; both are what the terminal prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from html import escape
from math import isfinite
from typing import Any

from bap_lp.support.risks import Number, Risks

LISTED = 6  # items of a list inside a sentence
READABLE = 24  # characters of a fraction that somebody might still read
_LABEL = 80
_BARE = re.compile(r"(?:the|a|an|my|our|every|each|one|two|all)\b|(?:alice|bob|eve)$")  # names that take no article
_ROWS, _COLUMNS = 20, 12  # of a table in a notebook
_SHOWN = (str, bool, int, float, Fraction, Risks)  # fields of a headline


def printable(text: str) -> str:
    """Text whose controls, separators and marks of direction are spelled out; a line keeps its end."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def clean(label: str, width: int = _LABEL) -> str:
    """A label as one printable piece of text."""
    text = printable(label[: width + 1]).replace("\n", "\\n")
    return text if len(text) <= width else text[: width - 1] + "…"


def fraction(value: Number) -> str:
    """An exact number as a fraction if it is short enough to read, anything else as a decimal."""
    if isinstance(value, float):
        return decimal(value)
    if value.denominator.bit_length() + abs(value.numerator).bit_length() > 4 * READABLE:
        return f"≈ {decimal(value)}"
    text = str(value)
    return text if len(text) <= READABLE else f"≈ {decimal(value)}"


def decimal(value: Number) -> str:
    return f"{float(value):.6g}"


def both(value: Number) -> str:
    """Fraction and decimal: 13/40 (0.325)."""
    first, second = fraction(value), decimal(value)
    return first if first == second or first.startswith("≈") else f"{first} ({second})"


def equals(name: str, value: Number, shown: Callable[[Number], str] = both) -> str:
    """R_A = 3/40 (0.075), or R_A ≈ 0.075 for a fraction that is too long."""
    text = shown(value)
    return f"{name} {text}" if text.startswith("≈") else f"{name} = {text}"


def percent(share: Number, digits: int = 1) -> str:
    """12.3%; a share that is neither nothing nor all is not shown as such: <0.1%, >99.9%."""
    least = 10.0**-digits
    x = 100 * float(share)
    if 0 < share < 1 and not least / 2 < x < 100 - least / 2:
        return f"<{least:g}%" if x < 50 else f">{100 - least:g}%"
    return f"{round(x, digits) + 0.0:.{digits}f}%"


def counted(count: int, what: str) -> str:
    """1 state, 2 states."""
    return f"{count} {what}" + ("" if count == 1 else "s")


def listed(names: Sequence[str], last: str = ", ") -> str:
    """Labels in a sentence; the rest of a long list is counted."""
    if len(names) > LISTED:
        return ", ".join(map(clean, names[:LISTED])) + f" and {len(names) - LISTED} more"
    shown = [clean(n) for n in names]
    return ", ".join(shown[:-1]) + last + shown[-1] if len(shown) > 1 else shown[0]


def person(name: str, start: bool = False) -> str:
    """An agent in a sentence: a common noun such as "journalist" takes an article."""
    told = clean(name)
    if not told[:1].islower() or _BARE.match(told):
        return told
    return f"{'The' if start else 'the'} {told}"


def people(names: Iterable[str]) -> str:
    """Agents in a sentence, one after the other."""
    return listed([person(name) for name in names], " and ")


REPORTS = "reports probabilities: "  # how the decision of an agent begins who reports them


def decided(agent: str, decisions: Sequence[str], exact: bool) -> str:
    """One sentence: what an agent decides, or between what it is indifferent."""
    if len(decisions) == 1 and decisions[0].startswith(REPORTS):
        return f"{person(agent, start=True)} {clean(decisions[0])}."
    if len(decisions) == 1:
        return f"{person(agent, start=True)} decides {clean(decisions[0])}."
    how = "exactly indifferent" if exact else "indifferent, up to rounding,"
    return f"{person(agent, start=True)} is {how} between {listed(decisions, ' and ')}."


def titled(name: str, line: str) -> str:
    """A headline that begins with a name, if there is one."""
    return f"{clean(name, 40)!r}, {line}" if name else line


def kind(exact: bool) -> str:
    return "exact" if exact else "float"


def risks_line(bob: Number, eve: Number) -> str:
    return f"{equals('R_B', bob, fraction)}, {equals('R_E', eve, fraction)}"


class Displayed:
    """What says itself in sentences (`_lines`, of which the first is the headline), and may be a table (`rows`)."""

    def _lines(self) -> Iterator[str]:
        """By default one line: the fields that are numbers, risks or short texts, and the results among them."""
        parts = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        yield ", ".join(f"{name} = {cell(v)}" for name, v in parts if isinstance(v, _SHOWN))

    def summary(self) -> str:
        """What this is, and why, in plain sentences."""
        return "\n".join(self._lines())

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The table, or its first rows, each of them by column; empty if there is none."""
        return []

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame; exact numbers stay Fractions."""
        import pandas

        return pandas.DataFrame(self.rows())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {next(iter(self._lines()))}>"

    def _repr_html_(self) -> str:
        rows = self.rows(_ROWS + 1)
        table = [list(rows[0]), *(row.values() for row in rows[:_ROWS])] if rows else []
        cells = ("".join(f"<td>{escape(cell(v))}</td>" for v in list(line)[:_COLUMNS]) for line in table)
        body = "".join(f"<tr>{line}</tr>" for line in cells)
        wide = bool(table) and len(table[0]) > _COLUMNS
        more = "<p>more is not shown</p>" if len(rows) > _ROWS or wide else ""
        return f"<p>{escape(repr(self))}</p>" + (f"<table>{body}</table>{more}" if rows else "")


def column_name(name: str, labels: Iterable[str]) -> str:
    """The name of a column next to columns that are called by labels."""
    taken = set(labels)
    while name in taken:
        name += "_"
    return name


def cell(value: Any, number: Callable[[Number], str] = fraction) -> str:
    """What a table shows."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Risks):
        return f"({risks_line(value.bob, value.eve)})"
    if isinstance(value, (str, int, Displayed)):
        return clean(str(value))
    return str(value) if isinstance(value, float) and not isfinite(value) else number(value)


def distribution(values: Mapping[str, Number]) -> str:
    """Probabilities of labels, the largest first: tails 10/11 (0.909091), heads 1/11 (0.0909091)."""
    ranked = sorted(((v, k) for k, v in values.items() if v > 0), key=lambda pair: -pair[0])
    parts = [f"{quoted_label(label)} {both(v)}" for v, label in ranked[:LISTED]]
    if len(ranked) == 1:
        return f"{quoted_label(ranked[0][1])} for certain"
    rest = len(ranked) - len(parts)
    others = "or one other" if rest == 1 else f"or one of {rest} others"
    return ", ".join(parts) + (f", {others}" if rest else "")


def quoted_label(label: str) -> str:
    """A label, in quotes if its commas or digits could be mistaken for those of the sentence."""
    return f"“{clean(label)}”" if any(c == "," or c.isdigit() for c in label) else clean(label)
