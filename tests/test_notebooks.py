"""Each notebook is executed again; the text it prints must be the text that is committed.

Words, fractions and integers must agree exactly. A decimal may differ by two units of its last printed digit, and a
number in scientific notation, which here is always an error or a width near rounding, by a factor of ten.
"""

import json
import math
import re
from pathlib import Path

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = ["1_coin_toss", "2_gaussian", "3_records", "4_bits_and_wrong_shares", "5_your_model"]
LARGEST = 600_000  # bytes

TINY = re.compile(r"-?\d+(?:\.\d+)?e[-+]\d+")
DECIMAL = re.compile(r"-?\d+\.(\d+)")
NUMBER = re.compile(f"{TINY.pattern}|{DECIMAL.pattern}")


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def texts(notebook):
    """The printed text and the kinds of the other outputs, cell by cell."""
    out = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            printed = "".join(o.text for o in cell.outputs if o.output_type == "stream")
            shown = [o.data for o in cell.outputs if o.output_type in ("display_data", "execute_result")]
            out.append((printed, [(sorted(d), "" if "image/png" in d else d.get("text/plain", "")) for d in shown]))
    return out


def same(found, wanted):
    """Equal up to the last digits of decimals. Blanks are ignored, because a sign or a digit shifts a column."""

    def parts(text):
        return ["".join(word.split()) for word in NUMBER.sub("#", text).split("#")]

    if parts(found) != parts(wanted):
        return False
    pairs = zip(NUMBER.finditer(found), NUMBER.finditer(wanted), strict=True)
    return all(close(a.group(), b.group()) for a, b in pairs)


def close(a, b):
    x, y = float(a), float(b)
    if TINY.fullmatch(a) or TINY.fullmatch(b):
        return x == y or (x * y > 0 and abs(math.log10(x / y)) <= 1)
    digits = [len(DECIMAL.fullmatch(text)[1]) for text in (a, b)]
    return digits[0] == digits[1] and abs(x - y) <= 2.000001 * 10.0 ** -digits[0]


@pytest.mark.parametrize(
    ("found", "wanted", "equal"),
    [
        ("R_A = 3/40", "R_A = 3/40", True),
        ("R_A = 3/40", "R_A = 3/41", False),
        ("R_A = 3/40", "R_B = 3/40", False),
        ("0.1234 and 7", "0.1235 and 7", True),
        ("0.1234 and 7", "0.1237 and 7", False),
        ("0.1234 and 7", "0.1234 and 8", False),
        ("0.1234", "0.123", False),
        ("width 2e-15", "width 9e-15", True),
        ("width 2e-15", "width 9e-13", False),
        (" -0.0000", "  0.0001", True),
    ],
)
def test_texts_are_equal_up_to_the_last_digit_of_decimals(found, wanted, equal):
    assert same(found, wanted) == equal


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_committed_notebook_is_complete_and_small(name):
    path = FOLDER / f"{name}.ipynb"
    notebook = read(name)
    nbformat.validate(notebook)
    assert path.stat().st_size < LARGEST
    assert "You will learn" in notebook.cells[0].source
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        assert not any(o.output_type == "error" or o.get("name") == "stderr" for o in cell.outputs)
    assert not any("NaN" in text for _, shown in texts(notebook) for _, text in shown)  # what is missing is left empty
    words = json.dumps([{**cell, "outputs": texts(notebook)} for cell in notebook.cells])
    for place in ("/home/", "/root/", "/tmp/", "/usr/", "site-packages"):
        assert place not in words


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_links_of_a_notebook_lead_to_files(name):
    for cell in read(name).cells:
        for target in re.findall(r"\]\(([^)#]+\.(?:ipynb|md))\)", cell.source):
            assert (FOLDER / target).is_file(), target


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_run_again_prints_what_is_committed(name, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    committed, again = read(name), read(name)
    for cell in again.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbclient.NotebookClient(
        again, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    for k, ((printed, shown), (wanted, wanted_shown)) in enumerate(zip(texts(again), texts(committed), strict=True), 1):
        assert same(printed, wanted), f"cell {k} printed\n{printed}\ninstead of\n{wanted}"
        assert [kinds for kinds, _ in shown] == [kinds for kinds, _ in wanted_shown], f"cell {k}"
        for (_, text), (_, wanted_text) in zip(shown, wanted_shown, strict=True):
            assert same(text, wanted_text), f"cell {k} shows\n{text}\ninstead of\n{wanted_text}"


# formulas: $...$ inside a line, $$...$$ on its own, as Jupyter reads them; code is left out first
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$\w])\$(?!\s)([^$\n]+(?:\n(?!\n)[^$\n]+)*?)(?<!\s)\$(?![\d$])", re.DOTALL)


def formulas(name):
    out = []
    for cell in read(name).cells:
        if cell.cell_type == "markdown":
            out += [block or inline for block, inline in FORMULA.findall(CODE.sub("", cell.source))]
    return out


def broken(formula):
    """Why a formula cannot be drawn, or None: brackets, docutils, then matplotlib, which knows other words."""
    from docutils.utils.math.latex2mathml import tex2mathml
    from matplotlib.mathtext import MathTextParser

    plain = re.sub(r"\\[{}]", "", formula)
    if re.search(r"frac\s*\d", plain):
        return "a fraction without braces is read differently by different renderers"
    for opened, closed in (("{", "}"), (r"\\begin\b", r"\\end\b"), (r"\\left\b", r"\\right\b")):
        if len(re.findall(opened, plain)) != len(re.findall(closed, plain)):
            return f"{opened} without {closed}"
    try:
        drawn = tex2mathml(formula, as_block="\\\\" in formula)
        return None if "<math" in drawn and "merror" not in drawn else drawn
    except Exception as error:
        first = str(error)
    try:
        MathTextParser("agg").parse(f"${formula}$")
    except Exception:
        return first
    return None


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_formula_of_a_notebook_can_be_drawn(name):
    found = formulas(name)
    assert found or "model" in name
    assert [(formula, why) for formula in found if (why := broken(formula))] == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_dollar_sign_is_left_over_and_no_formula_is_split_by_a_table(name):
    for cell in read(name).cells:
        if cell.cell_type == "markdown":
            left = FORMULA.sub("", CODE.sub("", cell.source)).replace("\\$", "")
            assert "$" not in left, left


@pytest.mark.parametrize(
    "formula", [r"\frac{1", r"\unknowncommand{x}", r"x^{2", r"\begin{cases} 1 \\ 0", r"\left( x", r"}{"]
)
def test_a_broken_formula_is_found(formula):
    assert broken(formula)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_pictures_of_a_notebook_are_wide_enough_to_read_and_not_wider_than_the_page(name):
    """At 80 to 110 dots per inch a notebook's column is about 950 points wide."""
    import base64
    import struct

    seen = 0
    for cell in read(name).cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                width, height = struct.unpack(">II", base64.b64decode(output.data["image/png"])[16:24])
                assert 300 <= width <= 1200, (name, width)
                assert height <= 1400
                seen += 1
    assert seen
