"""How results show themselves: numbers and labels as text, one line as repr, a small table in a notebook.

Labels are other people's text: control characters are spelled out, long labels are cut, and nothing in them is markup.
A class that shows itself defines `_headline`, one line without its own name, and `_grid` if it has a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from bap_lp.model.risks import Number

LISTED = 6  # items of a list inside a sentence
READABLE = 24  # characters of a fraction that somebody might still read
_LABEL = 80
_BARE = re.compile(r"(?:the|a|an|my|our|every|each|one|two|all)\b|(?:alice|bob|eve)$")  # names that take no article
_ROWS, _COLUMNS = 20, 12  # of a table in a notebook


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
    """A headline under a name, if there is one."""
    return f"{clean(name, 40)!r}: {line}" if name else f": {line}"


def kind(exact: bool) -> str:
    return "exact" if exact else "float"


def risks_line(bob: Number, eve: Number) -> str:
    return f"{equals('R_B', bob, fraction)}, {equals('R_E', eve, fraction)}"


class Grid(NamedTuple):
    """A table: column names, rows whose first entry is their label, and how many rows there are in all."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int


class Displayed:
    """A result with a one-line repr and, in a notebook, that line as text."""

    def _headline(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        line = self._headline()
        return f"<{type(self).__name__}{line if line.startswith(':') else ' ' + line}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


class Tabular(Displayed):
    """A result that is a table: small in a notebook, whole as a pandas DataFrame."""

    def _grid(self, most: int | None = None) -> Grid:
        """The table, or its first `most` rows."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """The whole table as a pandas DataFrame, a row per label; exact numbers stay Fractions."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install 'bap-lp[pandas]'") from None
        columns, rows, _ = self._grid()
        index = pandas.Index([row[0] for row in rows], name=columns[0])
        return pandas.DataFrame([row[1:] for row in rows], index=index, columns=list(columns[1:]))

    def _repr_html_(self) -> str:
        columns, rows, total = self._grid(_ROWS)
        head = "".join(f"<th>{escape(_cell(name))}</th>" for name in columns[:_COLUMNS])
        lines = []
        for label, *cells in rows:
            values = "".join(f"<td>{escape(_cell(value))}</td>" for value in cells[: _COLUMNS - 1])
            lines.append(f"<tr><th>{escape(_cell(label))}</th>{values}</tr>")
        hidden = [
            f"{count} more {what}"
            for count, what in ((total - len(rows), "rows"), (len(columns) - _COLUMNS, "columns"))
            if count > 0
        ]
        more = f"<p>{' and '.join(hidden)} not shown</p>" if hidden else ""
        return (
            f"{super()._repr_html_()}<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"
        )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return clean(value)
    return str(value) if isinstance(value, (bool, int)) else fraction(value)
