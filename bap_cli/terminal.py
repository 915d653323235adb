"""Text and tables on a terminal: sentences fold between words, numbers never, and a pipe gets whole lines."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from rich.console import Console
from rich.table import Table

from bap_lp.support.display import cell, decimal, fraction
from bap_lp.support.risks import Number

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


def width_of(rows: Sequence[Sequence[str]]) -> int:
    """The width of a table with these rows, if no cell is folded."""
    return sum(
        2 + max(len(line) for cell in column for line in cell.splitlines()) for column in zip(*rows, strict=True)
    )


def short(value: Number, longest: int = _SHORT) -> str:
    """A number of a table: a fraction of at most so many characters, or a decimal."""
    text = fraction(value)
    return text if len(text) <= longest else f"{'' if isinstance(value, float) else '≈ '}{decimal(value)}"


def show_table(out: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> None:
    """A table without lines. Numbers, in the columns on the right, are never folded or cut: a narrow terminal folds."""
    table = Table(box=None, pad_edge=True, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    body, ends, widths = [list(row) for row in rows], set(right), []
    for k, cells in enumerate(zip(columns, *body, strict=True)):
        number = k in ends
        table.add_column(cells[0], overflow="fold", justify="right" if number else "left", no_wrap=number)
        parts = (part for cell in cells for part in (cell.splitlines() if number else cell.split()))
        longest = max(map(len, parts), default=0)
        widths.append(longest if number else min(longest, _WORD))
    for row in body:
        table.add_row(*row)
    needed = sum(widths) + 2 * len(widths)
    if needed > out.width:
        table.width = needed
        for column, least in zip(table.columns, widths, strict=True):
            column.min_width = least
    out.print(table, crop=False)


def fitting(
    out: Console, columns: Sequence[str], form: Callable[[Callable[[Number], str]], list[list[str]]], least: int
) -> tuple[list[list[str]], bool]:
    """The rows that `form` makes of a way to write numbers, the first that fits; and whether they had to be rounded.

    Where fractions do not fit, decimals stand for them: of six digits, or of `least`.
    """
    forms: list[Callable[[Number], str]] = [short, lambda v: short(v, 9), lambda v: f"{float(v):.{least}g}"]
    for way in forms:
        rows = form(way)
        if width_of([columns, *(row[: len(columns)] for row in rows)]) <= out.width:
            break
    return rows, way is forms[-1]


def show_rows(out: Console, rows: Sequence[Mapping[str, Any]], most: int = 40) -> None:
    """The rows of a result as a table; what does not fit is rounded, and what is beyond `most` is counted."""
    columns = list(rows[0])

    def written(way: Callable[[Number], str]) -> list[list[str]]:
        return [[cell(v, way) for v in row.values()] for row in rows[:most]]

    found, rounded = fitting(out, columns, written, 4)
    texts = [name for name in columns if any(isinstance(row[name], str) for row in rows)]
    show_table(out, columns, found, [k for k, name in enumerate(columns) if name not in texts])
    if rounded and any(isinstance(v, Fraction) for row in rows for v in row.values()):
        out.print("Rounded to fit; --json has the fractions.")
    if len(rows) > most:
        out.print(f"... and {len(rows) - most} more (--json gives all)")


def say_lines(out: Console, lines: Iterable[str]) -> None:
    """The sentences of a result."""
    for line in lines:
        say(out, line)
