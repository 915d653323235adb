"""Text and tables on a terminal: sentences fold between words, numbers never, and a pipe gets whole lines."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import NoReturn

from rich.console import Console
from rich.table import Table

from bap_lp.model.display import clean, decimal, fraction
from bap_lp.model.risks import Number

_SHORT = 12  # characters of a fraction in a table
_WORD = 12  # characters of a word that a column of text must hold
_QUOTED, _JOIN = re.compile("“[^“”]{1,30}”"), "\x01"  # labels have no control characters


class _Paper(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def console() -> Console:
    out = _Paper(force_jupyter=False, markup=False, emoji=False, highlight=False)
    if not out.width:  # COLUMNS=0, which says that nobody knows
        out.width = 80
    return out


def say(out: Console, text: str) -> None:
    """A sentence: folded between words on a terminal, one line in a pipe."""
    if out.is_terminal or os.environ.get("COLUMNS"):
        paragraph(out, text, "", "  ")
    else:
        out.print(text, soft_wrap=True)


def paragraph(out: Console, text: str, first: str = "  ", further: str = "    ") -> None:
    whole = _QUOTED.sub(lambda quote: quote[0].replace(" ", _JOIN), text)  # a short quote stays on one line
    lines = textwrap.fill(whole, out.width, initial_indent=first, subsequent_indent=further, break_on_hyphens=False)
    out.print(lines.replace(_JOIN, " "), soft_wrap=True)


def told(label: str) -> str:
    """A label, in quotes if its commas or digits could be mistaken for those of the sentence."""
    return f"“{clean(label)}”" if any(c == "," or c.isdigit() for c in label) else clean(label)


def width_of(rows: Sequence[Sequence[str]]) -> int:
    """The width of a table with these rows, if no cell is folded."""
    return sum(
        2 + max(len(line) for cell in column for line in cell.splitlines()) for column in zip(*rows, strict=True)
    )


def short(value: Number, longest: int = _SHORT) -> str:
    """A number of a table: a fraction of at most so many characters, or a decimal."""
    text = fraction(value)
    return text if len(text) <= longest else f"{'' if isinstance(value, float) else '≈ '}{decimal(value)}"


def put(out: Console, table: Table) -> None:
    """Print a table. Numbers are never cut: a terminal that is too narrow for them folds whole lines instead."""
    widths = []
    for column in table.columns:
        cells = [str(cell) for cell in (column.header, *column.cells)]
        parts = (part for cell in cells for part in (cell.splitlines() if column.no_wrap else cell.split()))
        longest = max(map(len, parts), default=0)
        widths.append(longest if column.no_wrap else min(longest, _WORD))
    needed = sum(widths) + 2 * len(widths)
    if needed > out.width:
        table.width = needed
        for column, least in zip(table.columns, widths, strict=True):
            column.min_width = least
    out.print(table, crop=False)


def plain_table(*columns: str, right: Iterable[int] = ()) -> Table:
    """A table without lines; numbers, on the right of their columns, are never folded."""
    table = Table(box=None, pad_edge=True, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    ends = set(right)
    for k, name in enumerate(columns):
        number = k in ends
        table.add_column(name, overflow="fold", justify="right" if number else "left", no_wrap=number)
    return table
