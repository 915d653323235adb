"""Formulas and docstrings of the site, rendered when it is built: a page asks no other host for anything.

A formula in TeX becomes MathML, which browsers draw themselves. A docstring is written for people who read it in a
terminal: `name` stands for code, and signs such as | and * for themselves. Here it becomes reStructuredText.
"""

from __future__ import annotations

import re
from types import UnionType
from typing import Any, get_args

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject

COLON = "\ue000"  # stands for a colon until Napoleon has read the docstring
CODE = re.compile(r"``[^`]+``|`[^`]+`")
SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Yields):$")
SPECIAL = re.compile(r"([\\*|_])")
OPENING = re.compile(r"[(\[\u201c]+$")
CLOSING = re.compile(r"^[.,;:)\]?!\u2019\u201d]+")
REDRAWN = {
    # the macron of \bar touches its letter in most fonts, the overbar does not
    "\N{MODIFIER LETTER MACRON}": "\N{MACRON}",
    # a browser takes the bars of \lvert and \rvert for relations, with spaces, unless they are said to open and close
    '<mo class="mathopen">|</mo>': '<mo form="prefix" stretchy="false">|</mo>',
    "<mo>|</mo>": '<mo form="postfix" stretchy="false">|</mo>',
    # a browser spaces the / of 1/2 as it spaces a relation; TeX sets it without spaces
    '<mo stretchy="false">/</mo>': '<mo stretchy="false" lspace="0" rspace="0">/</mo>',
}


def mathml(node: nodes.math | nodes.math_block, block: bool) -> str:
    """A formula for the browser, with what docutils leaves open."""
    drawn = str(tex2mathml(node.astext(), as_block=block))
    for written, meant in REDRAWN.items():
        drawn = drawn.replace(written, meant)
    return drawn


def inline_math(writer: Any, node: nodes.math) -> None:
    before, after = node.get("before", ""), node.get("after", "")
    drawn = before + mathml(node, block=False) + after
    writer.body.append(f'<span class="together">{drawn}</span>' if before or after else drawn)
    raise nodes.SkipNode


def display_math(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{mathml(node, block=True)}</div>')
    raise nodes.SkipNode


def restructured(text: str) -> str:
    """A line of a docstring with code between double backticks and every other special sign escaped."""
    parts, at = [], 0
    for found in CODE.finditer(text):
        parts += [SPECIAL.sub(r"\\\1", text[at : found.start()]), f"``{found[0].strip('`')}``"]
        at = found.end()
    return "".join([*parts, SPECIAL.sub(r"\\\1", text[at:])])


def argument(line: str) -> tuple[str, str]:
    """`name: what it is` of a section keeps its name as it is."""
    name, colon, rest = line.partition(": ")
    plain = bool(colon) and re.fullmatch(r" {4}\*{0,2}[\w.]+(, \*{0,2}\w+)*", name) is not None
    return (name + colon, rest) if plain else ("", line)


def rewrite(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Before Napoleon reads a docstring. Examples (from >>> to an empty line) stay as they are."""
    if isinstance(obj, UnionType):  # its docstring is that of all unions
        names = [f"``{kind.__name__}``" for kind in get_args(obj)]
        lines[:] = [f"A type that stands for {', '.join(names[:-1])} or {names[-1]}."]
        return
    out: list[str] = []
    example, section = False, ""
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if example or not line.strip():
            out.append(line)
            continue
        starts = SECTION.match(line)
        section = starts[1] if starts else section if line.startswith(" ") else ""
        head, rest = argument(line) if section else ("", line)
        text = restructured(rest)
        out.append(head + (text.replace(":", COLON) if section in ("Returns", "Yields") and not starts else text))
    lines[:] = out
    if what in ("attribute", "property"):
        app.env.temp_data["sentence"] = out


def restore(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Napoleon takes what stands before a colon for a type; in a property or a result it is part of the sentence."""
    if what in ("attribute", "property"):
        lines[:] = app.env.temp_data.pop("sentence")
    lines[:] = [line.replace(COLON, ":") for line in lines]


def trim(app: Sphinx, doctree: nodes.document) -> None:
    """An example ends with an empty line for doctest, which nobody has to see. Sphinx colours a block only if its
    source is its text."""
    for block in doctree.findall(nodes.literal_block):
        block.rawsource = block.astext().rstrip()
        block[:] = [nodes.Text(block.rawsource)]


def keep_together(app: Sphinx, doctree: nodes.document) -> None:
    """A browser may break a line on either side of a formula: signs that touch it become part of it."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        at = parent.index(formula)
        if at and isinstance(parent[at - 1], nodes.Text) and (found := OPENING.search(parent[at - 1])):
            formula["before"] = found[0]
            parent[at - 1] = nodes.Text(parent[at - 1][: found.start()])
        if at + 1 < len(parent) and isinstance(parent[at + 1], nodes.Text) and (found := CLOSING.match(parent[at + 1])):
            formula["after"] = found[0]
            parent[at + 1] = nodes.Text(parent[at + 1][found.end() :])


def setup(app: Sphinx) -> dict[str, bool]:
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"  # as the section of the docstring is called
    app.add_html_math_renderer("mathml", (inline_math, None), (display_math, None))
    app.connect("doctree-read", trim)
    app.connect("doctree-read", keep_together)
    app.connect("autodoc-process-docstring", rewrite, priority=100)  # Napoleon comes at 500
    app.connect("autodoc-process-docstring", restore, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
