"""What is written comes back equal, exact digits included; and a file is there whole or not at all."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp import (
    InputError,
    Mechanism,
    Problem,
    load_certificate,
    load_mechanism,
    save_certificate,
    save_mechanism,
    solve,
    verify,
)
from bap_lp.support.documents import dumps, parse_document

COIN = Problem.from_model(
    ["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], [[0, 1], [1, 0]], [[0, 1], [10, 0]], states=["tails", "heads"]
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=50)
@given(json_values)
def test_dumps_is_json(document: object) -> None:
    assert json.loads(dumps(document)) == document


def test_a_channel_reads_as_a_table() -> None:
    assert dumps({"channel": [["1", "0"], ["3/10", "7/10"]]}) == (
        '{\n  "channel": [\n    ["1", "0"],\n    ["3/10", "7/10"]\n  ]\n}\n'
    )


label = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@settings(max_examples=50)
@given(st.data())
def test_a_mechanism_survives_its_file(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    exact = data.draw(st.booleans())
    states = data.draw(st.lists(label, min_size=1, max_size=4, unique=True))
    signals = data.draw(st.lists(label, min_size=1, max_size=4, unique=True))
    weights = st.lists(st.integers(1, 10**40), min_size=len(signals), max_size=len(signals))
    rows = [[Fraction(w, sum(row)) for w in row] for row in (data.draw(weights) for _ in states)]
    mechanism = Mechanism(rows if exact else np.array(rows, dtype=float), states=states, signals=signals)
    path = tmp_path_factory.mktemp("round") / "mechanism.json"
    save_mechanism(path, mechanism)
    again = load_mechanism(path, states)
    assert (again.states, again.signals, again.exact) == (tuple(states), tuple(signals), exact)
    if exact:
        assert again.channel.tolist() == mechanism.channel.tolist()
    else:  # reading normalises the rows once more
        np.testing.assert_allclose(again.q, mechanism.q, rtol=1e-15)


@pytest.mark.parametrize("exact", [True, False])
def test_a_certificate_survives_its_file(tmp_path: Path, exact: bool) -> None:
    solution = solve(COIN, exact=exact)
    save_certificate(tmp_path / "c.json", solution.certificate)
    again = load_certificate(tmp_path / "c.json")
    assert again.exact is solution.exact
    assert (again.lam, again.value) == (solution.certificate.lam, solution.certificate.value)
    assert verify(COIN, again) == verify(COIN, solution.certificate)
    save_certificate(tmp_path / "d.json", again)
    assert (tmp_path / "d.json").read_bytes() == (tmp_path / "c.json").read_bytes()


def test_fractions_longer_than_python_prints_are_read(tmp_path: Path) -> None:
    tiny = fmpq(1, 3) ** 20_000
    mechanism = Mechanism([[tiny, 1 - tiny], [1, 0]])
    save_mechanism(tmp_path / "m.json", mechanism)
    assert load_mechanism(tmp_path / "m.json").q[0, 0] == tiny


TRUTH = {"channel": [[1, 0], [0, 1]]}
BAD_MECHANISMS = [
    ({"channel": [[1, 0]]}, "channel has 1 rows, must have 2, one per state"),
    ({"channel": [[1, 0], [1]]}, "channel[1] has 1 entries, must have 2 like channel[0]"),
    ({"channel": [["1/2", "1/3"], [1, 0]]}, "sum of channel[0] = 5/6 must be 1"),
    ({"channel": [["3/2", "-1/2"], [1, 0]]}, "channel[0][1] = -1/2 must not be negative"),
    ({"channel": [1, 2]}, "channel[0] = 1 must be a list"),
    ({"channel": 1}, "channel = 1 must be a list"),
    ({}, "channel is missing"),
    (
        {"chanel": 1},
        "chanel is not a known key: the file may have name, states, signals, channel; did you mean channel?",
    ),
    ({**TRUTH, "signals": ["a", "a"]}, "signals[1] = 'a' repeats signals[0]"),
    ({**TRUTH, "states": ["heads", "tails"]}, "states[0] = 'heads' must be 'tails', the problem's states[0]"),
    ({**TRUTH, "states": ["tails"]}, "states has 1 labels, must have 2"),
]


@pytest.mark.parametrize(("document", "message"), BAD_MECHANISMS, ids=[m for _, m in BAD_MECHANISMS])
def test_a_bad_mechanism_is_refused_with_its_rule(tmp_path: Path, document: object, message: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError) as refused:
        load_mechanism(path, COIN.states)
    assert str(refused.value) == f"{path}: {message}"


BAD_CERTIFICATES: list[tuple[dict[str, object], str]] = [
    ({"value": "x"}, "value = 'x' is not a number"),
    ({"value": None}, "value must be a number"),
    ({"more": 1}, "more is not a known key"),
]


@pytest.mark.parametrize(("changed", "message"), BAD_CERTIFICATES, ids=[m for _, m in BAD_CERTIFICATES])
def test_a_bad_certificate_is_refused_with_its_rule(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    path = tmp_path / "c.json"
    save_certificate(path, solve(COIN).certificate)
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    with pytest.raises(InputError) as refused:
        load_certificate(path)
    assert str(refused.value).startswith(f"{path}: {message}")


def test_a_mechanism_may_be_toml_without_labels(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text('channel = [[1, 0], ["0.3", "0.7"]]')
    mechanism = load_mechanism(tmp_path / "m.toml", COIN.states)
    assert mechanism.states == ("tails", "heads")
    assert mechanism.channel.tolist() == [[1, 0], [Fraction(3, 10), Fraction(7, 10)]]


def test_a_huge_integer_is_read_up_to_the_limit() -> None:
    assert parse_document("9" * 5000, "x", True) == 10**5000 - 1
    with pytest.raises(
        InputError, match=r"x: number = .* must have at most 20000 digits \(--limit digits=N raises this\)"
    ):
        parse_document("9" * 20_001, "x", True)
