"""Junk anywhere in a problem file gives an InputError of one line or a problem; never another exception.

And what the reader accepts, the published schema accepts.
"""

import copy
import datetime
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp import InputError
from bap_lp.files.problems import SCHEMA, problem_from_dict

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCUMENTS = [tomllib.loads((EXAMPLES / f"{name}.toml").read_text()) for name in ("coin_toss", "two_eves")]
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

numbers = st.sampled_from([
    0, 1, 2, -1, True, 0.5, -0.0, 1e300, 1e-320, float("nan"), float("inf"), 10**400, "1/3", " 1/3 ", "+1/3", "0.25",
    ".5", "5.", "1e5", "1E-3", "1_000", "1/0", "-1/3", "1/3/4", "0x10", "½", "", " ", "nan", "-0", "1e400", "1/1_0",
])  # fmt: skip
words = st.text(st.characters(codec="ascii"), max_size=4)
scalars = numbers | st.none() | words | st.integers() | st.just(datetime.date(2020, 1, 1))
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    for key, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        found += places(child, (*path, key))
    return found


@pytest.mark.slow
@settings(max_examples=400)
@given(st.data())
def test_junk_is_read_as_a_problem_or_refused_in_one_line(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from(places(document)))
        node = document
        for key in way:
            node = node[key]
        match data.draw(st.sampled_from(["replace", "delete", "add"])):
            case "replace":
                node[last] = data.draw(junk)
            case "delete":
                del node[last]
            case "add" if isinstance(node, dict):
                node[data.draw(words)] = data.draw(junk)
            case _:
                node.append(data.draw(junk))
    try:
        problem_from_dict(document, "file")
    except InputError as error:
        message = str(error)
        assert message.startswith("file: ")
        assert message.isprintable()
        assert len(message) < 400
    else:
        VALIDATOR.validate(document)
