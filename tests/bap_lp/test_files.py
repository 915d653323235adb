"""Problem files: what they mean, what is refused and in which words, and that nothing is lost on the way to disk."""

from __future__ import annotations

import copy
import datetime
import json
import tomllib
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tampering import places

from bap_lp import InputError, load_problem, save_problem, solve
from bap_lp.files.problems import SCHEMA, problem_from_dict

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(
    path for path in FOLDER.glob("*.toml") if "\n[table]\n" not in path.read_text()
)  # no tables of counts
COIN = (Path(__file__).parents[2] / "examples" / "coin_toss.toml").read_text()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

THETA = '[theta]\nlabels = ["fixed", "fair"]\nprior = ["1/2", "1/2"]'
LIKELIHOOD = 'likelihood = [[1, 0], ["1/2", "1/2"]]'
ROWS = '[[1, 0], ["1/2", "1/2"]]'
BOB = "loss = [[0, 1], [1, 0]]"
EVE = "loss = [[0, 1], [10, 0]]"
STATES = 'labels = ["tails", "heads"]'
DECISIONS = 'decisions = ["tails", "heads"]'
LAMBDA = 'lambda = "calibrated"'
TWO_EVES = '[[eve]]\nname = "a"\nloss = [[0, 1], [1, 0]]\n[[eve]]\n'

TOP = "is not a known key: the file may have title, theta, data, bob, eve, alice, conditions, priors"
AGENT = "may have name, weight, decisions, loss, harm, prior"
EVE_KEYS = "may have name, weight, decisions, loss, harm, prior, knows, knowledge, secret"
PRICE = 'must be "calibrated" or a non-negative finite number'
S = "schema"  # the published schema alone must refuse it too

# old text, new text, the whole message
BAD = [
    ("[alice]", "[alce]", f"alce {TOP}; did you mean alice?", S),
    ("[eve]", "[eves]", f"eves {TOP}; did you mean eve?", S),
    (BOB, "los = 1", f"bob.los is not a known key: [bob] {AGENT}; did you mean loss?", S),
    ("[alice]", '["a\\nb\\u001b"]', rf"'a\nb\x1b' {TOP}", S),
    (LAMBDA, "lam = 1", "alice.lam is not a known key: [alice] may have lambda; did you mean lambda?", S),
    (EVE, "", "eve.loss is missing", S),
    (THETA, "theta = 3", "theta = 3 must be a table", S),
    (THETA, '[theta]\nlabels = ["a", "b"]', "theta.prior is missing", S),
    (THETA, "", "data.likelihood needs a [theta] table with a prior (or give data.prior instead)", S),
    (LIKELIHOOD, "", "data.likelihood is missing: p(x|theta), a row per theta", S),
    (LIKELIHOOD, "prior = [1, 0]\n" + LIKELIHOOD, "data.prior must not be given with [theta], which implies it", S),
    (THETA, THETA.replace('["1/2", ', '["1/3", '), "sum of theta.prior = 5/6 must be 1", ""),
    (THETA, THETA.replace('["1/2", ', '["1/0", '), "theta.prior[0] = '1/0' divides by zero", S),
    (THETA, THETA.replace("fair", "fixed"), "theta.labels[1] = 'fixed' repeats theta.labels[0]", S),
    (THETA, THETA.replace('"1/2"]', '"1/4", "1/4"]'), "theta.labels has 2 labels, must have 3", ""),
    (LIKELIHOOD, "likelihood = [[1, 1], [1, 0]]", "sum of data.likelihood[0] = 2 must be 1", ""),
    (ROWS, "[[1], [0, 1]]", "data.likelihood[1] has 2 entries, must have 1 like data.likelihood[0]", ""),
    (LIKELIHOOD, "likelihood = [[1, 0]]", "data.likelihood has 1 rows, must have 2, one per theta", ""),
    (LIKELIHOOD, "likelihood = {a = 1}", "data.likelihood = {'a': 1} must be a list", S),
    (STATES, 'labels = ["tails", "tails"]', "data.labels[1] = 'tails' repeats data.labels[0]", S),
    (STATES, 'labels = ["tails", ""]', "data.labels[1] = '' must be a non-empty string", S),
    (STATES, 'labels = ["tails", 3]', "data.labels[1] = 3 must be a non-empty string", S),
    (STATES, 'labels = ["tails"]', "data.labels has 1 labels, must have 2", ""),
    (STATES, 'labels = "tails"', "data.labels = 'tails' must be a list", S),
    (BOB, "loss = [[0, 1], [-1, 0]]", "bob.loss[1][0] = -1 must not be negative", S),
    (BOB, 'loss = [[0, 1], ["-1/3", 0]]', "bob.loss[1][0] = -1/3 must not be negative", S),
    (BOB, "loss = [[0, 1], [nan, 0]]", "bob.loss[1][0] = nan must be finite", ""),
    (BOB, "loss = [[0, 1], [inf, 0]]", "bob.loss[1][0] = inf must be finite", S),
    (BOB, "loss = [[0, 1], [1e999, 0]]", "bob.loss[1][0] = inf must be finite", S),
    (BOB, 'loss = [[0, 1], ["inf", 0]]', "bob.loss[1][0] = 'inf' must be finite", S),
    (BOB, 'loss = [[0, 1], ["1e400", 0]]', "bob.loss[1][0] = '1e400' must have at most 300 digits", ""),
    (BOB, "loss = [[0, 1], [1]]", "bob.loss[1] has 1 entries, must have 2 like bob.loss[0]", ""),
    (BOB, "loss = [[0, 1]]", "bob.loss has 1 rows, must have 2, one per theta", ""),
    (BOB, "loss = [[0, 1], [true, 0]]", "bob.loss[1][0] = True must be a number, not a truth value", S),
    (BOB, "loss = [[0, 1], [[1], 0]]", "bob.loss[1][0] = [1] must be a number, not a list or table", S),
    (BOB, 'loss = [[0, 1], ["one", 0]]', "bob.loss[1][0] = 'one' is not a number", S),
    (BOB, "loss = [0, 1]", "bob.loss[0] = 0 must be a list", S),
    (BOB, "loss = []", "bob.loss must not be empty", S),
    (BOB, "loss = [[], []]", "bob.loss must not be empty", S),
    (BOB, "loss = 3", "bob.loss = 3 must be a list", S),
    (EVE, "loss = [[0, 1], [10, 0], [1, 1]]", "eve.loss has 3 rows, must have 2, one per state", ""),
    (DECISIONS, 'decisions = ["x", "x"]', "eve.decisions[1] = 'x' repeats eve.decisions[0]", S),
    ("[eve]", "[eve]\nweight = -1", "eve.weight = -1 must be positive", S),
    ("[eve]", "[eve]\nweight = 0", "eve.weight = 0 must be positive", ""),
    ("[eve]", '[eve]\nname = ""', "eve.name = '' must be a non-empty string", S),
    ("[eve]", "[eve]\nname = 3", "eve.name = 3 must be a string", S),
    ("[eve]", TWO_EVES + 'name = "a"', "eve[1].name = 'a' repeats eve[0].name", ""),
    ("[eve]", TWO_EVES + "weight = 0", "eve[1].weight = 0 must be positive", ""),
    ("[eve]", TWO_EVES + "colour = 0", f"eve[1].colour is not a known key: [eve[1]] {EVE_KEYS}", S),
    ("[bob]", "[[bob]]\nloss = [[1]]\n[[bob]]", "bob[0].loss has 1 rows, must have 2, one per theta", ""),
    (LAMBDA, "lambda = -1", "alice.lambda = -1 must not be negative", S),
    (LAMBDA, 'lambda = "often"', f"alice.lambda = 'often' {PRICE}", S),
    (LAMBDA, "lambda = inf", f"alice.lambda = inf {PRICE}", S),
    (LAMBDA, "lambda = true", f"alice.lambda = True {PRICE}", S),
    (LAMBDA, "lambda = [1]", f"alice.lambda = [1] {PRICE}", S),
    (LAMBDA, 'lambda = "1/0"', "alice.lambda = '1/0' divides by zero", S),
    ('title = "Coin toss"', "title = 3", "title = 3 must be a string", S),
]


@pytest.mark.parametrize(("old", "new", "message", "judge"), BAD, ids=[case[2][:60] for case in BAD])
def test_a_bad_file_is_refused_in_its_own_words(old: str, new: str, message: str, judge: str) -> None:
    assert COIN.count(old) == 1
    document = tomllib.loads(COIN.replace(old, new))
    with pytest.raises(InputError) as refused:
        problem_from_dict(document, "coin.toml")
    assert str(refused.value) == f"coin.toml: {message}"
    if judge == "schema":
        assert not VALIDATOR.is_valid(document)


AGENTS = b', "bob": {"loss": [[1]]}, "eve": {"loss": [[1]]}}'
BAD_BYTES = {
    "empty.toml": (b" \n", "is empty"),
    "binary.toml": (bytes(range(256)), "is not UTF-8 text: byte 0x80 at position 128"),
    "latin.toml": ('title = "é"'.encode("latin1"), "is not UTF-8 text: byte 0xe9 at position 9"),
    "null.toml": (b"\0\0", "is not TOML: Invalid statement (at line 1, column 1)"),
    "syntax.toml": (b"a = [1,", "is not TOML: Invalid value (at end of document)"),
    "comment.toml": (b"# nothing\n", ": data is missing"),
    "deep.toml": (b"a = " + b"[" * 5000, "is nested too deeply"),
    "deep.json": (b"[" * 100_000, "is nested too deeply"),
    "twice.json": (b'{"bob": {"loss": 1, "loss": 2}}', ": key = 'loss' is given twice in one table"),
    "list.json": (b"[1]", ": the whole file = [1] must be a table"),
    "null.json": (b"null", ": the whole file must be a table, not null"),
    "half.json": (b'{"title": "\\ud800"}', "holds half a surrogate pair, which is not text"),
    "syntax.json": (b'{"title": }', "is not JSON: Expecting value: line 1 column 11 (char 10)"),
    "toml_inside.json": (COIN.encode(), "is not JSON: Expecting value: line 1 column 1 (char 0)"),
    "sniffed": (b'{"data": 1}', ": bob is missing"),
    "nan.json": (b'{"data": {"prior": [NaN]}' + AGENTS, ": data.prior[0] = nan must be finite"),
    "nolabels.json": (b'{"data": {"prior": [1], "labels": null}' + AGENTS, ": data.labels must be a list, not null"),
    "noeves.json": (b'{"data": {"prior": [1]}, "bob": {"loss": [[1]]}, "eve": []}', ": eve must not be empty"),
}


@pytest.mark.parametrize("name", BAD_BYTES)
def test_bytes_that_are_not_text_are_refused(tmp_path: Path, name: str) -> None:
    content, message = BAD_BYTES[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        load_problem(path)
    line = str(refused.value)
    assert line == f"{path}{message}" if message.startswith(":") else line == f"{path} {message}"


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.toml cannot be read: No such file or directory$"):
        load_problem(tmp_path / "nowhere.toml")
    with pytest.raises(InputError, match=r"cannot be read: Is a directory$"):
        load_problem(tmp_path)
    with pytest.raises(InputError, match=r"cannot be read: embedded null byte$"):
        load_problem("a\0b")


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p.stem == "raw_records")) for p in EXAMPLES]
)
def test_json_says_the_same_as_toml(tmp_path: Path, path: Path) -> None:
    document = tomllib.loads(path.read_text())
    VALIDATOR.validate(document)
    copy = tmp_path / "copy.json"
    copy.write_text(json.dumps(document), encoding="utf-8-sig")
    first, second = load_problem(path), load_problem(copy)
    assert first.lam == second.lam
    for name in ("prior", "bob_loss", "eve_loss"):
        assert getattr(first.problem, name).tolist() == getattr(second.problem, name).tolist()


def test_a_bare_decimal_is_a_float_and_a_quoted_one_is_not() -> None:
    document = {"data": {"prior": ["0.25", "3/4"]}, "bob": {"loss": [[0], [1]]}, "eve": {"loss": [[0], [1]]}}
    problem = problem_from_dict(document).problem
    assert problem.exact
    assert problem.prior[0] == Fraction(1, 4)
    document["data"] = {"prior": [0.25, "3/4"]}
    assert not problem_from_dict(document).problem.exact
    for lam, expected in (("0.1", Fraction(1, 10)), (2, Fraction(2)), (0.1, 0.1)):
        found = problem_from_dict({**document, "alice": {"lambda": lam}}).lam
        assert found == expected
        assert type(found) is type(expected)


def test_several_agents_are_read_with_names_and_weights() -> None:
    left = '[[eve]]\nname = "left"\nweight = "1/2"\nloss = [[0, 1], [1, 0]]\n'
    text = COIN.replace("[eve]", left + '[[eve]]\nname = "right"')
    problem = problem_from_dict(tomllib.loads(text)).problem
    assert [e.name for e in problem.eves] == ["left", "right"]
    assert problem.eve_decisions == ("left: 0", "left: 1", "right: tails", "right: heads")
    assert problem.eve_loss.tolist() == [[0, Fraction(1, 2), 0, 1], [Fraction(1, 2), 0, 10, 0]]


def test_the_name_of_a_file_says_how_it_is_read(tmp_path: Path) -> None:
    text = json.dumps(tomllib.loads(COIN))
    for name, content in (("a.json", text), ("A.JSON", text), ("a", "\n " + text), ("b", COIN), ("b.txt", COIN)):
        (tmp_path / name).write_text(content)
        assert load_problem(tmp_path / name).problem.title == "Coin toss"
    for name, content, kind in (("a.toml", text, "TOML"), ("b.json", COIN, "JSON")):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=f"is not {kind}"):
            load_problem(tmp_path / name)
    save_problem(tmp_path / "c.npz", load_problem(tmp_path / "a").problem)
    assert load_problem(tmp_path / "c.npz").problem.title == "Coin toss"


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", ["coin_toss", "two_eves", "two_bobs", "income_brackets"])
def test_a_problem_survives_its_file(name: str, tmp_path: Path) -> None:
    loaded = load_problem(EXAMPLES[0].with_name(f"{name}.toml"))
    for problem in (loaded.problem, loaded.problem.as_float()):
        save_problem(tmp_path / "problem.json", problem, loaded.lam)
        again = load_problem(tmp_path / "problem.json")
        VALIDATOR.validate(json.loads((tmp_path / "problem.json").read_text()))
        assert again.problem.exact == problem.exact
        assert again.problem.states == problem.states
        assert again.problem.bob_decisions == problem.bob_decisions
        assert (again.problem.bob_loss == problem.bob_loss).all()
        assert (again.problem.eve_loss == problem.eve_loss).all()
        assert solve(again.problem, again.lam).value == solve(problem, loaded.lam).value


DOCUMENTS = [tomllib.loads((FOLDER / f"{name}.toml").read_text()) for name in ("coin_toss", "two_eves")]

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


@pytest.mark.slow
@settings(max_examples=400)
@given(st.data())
def test_junk_is_read_as_a_problem_or_refused_in_one_line(data: st.DataObject) -> None:
    """And what the reader accepts, the published schema accepts."""
    document = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        node, last = data.draw(st.sampled_from(places(document)))
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
