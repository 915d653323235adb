"""Hostile files: one clear line at once, whatever they ask for."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq, fmpz
from hypothesis import given, settings
from hypothesis import strategies as st
from tampering import limited, places, refit

from bap_lp import (
    Agent,
    Conditions,
    InputError,
    Problem,
    load_bundle,
    load_certificate,
    load_problem,
    minimum_of,
    save_bundle,
    save_certificate,
    save_problem,
    solve,
    tiers,
    verify,
    verify_standalone,
)
from bap_lp.support import limits
from bap_lp.support.documents import parse_document
from bap_lp.support.limits import DEFAULTS, limit, set_limits
from bap_lp.support.proof_tables import signed_number
from bap_lp.support.rational import number, objects, public, text

EXAMPLES = Path(__file__).parents[2] / "examples"
COIN: dict[str, Any] = {
    "data": {"prior": ["3/4", "1/4"]},
    "bob": {"loss": [["1/3", "2/3"], [1, 0]]},
    "eve": {"loss": [[0, 1], [10, 0]]},
    "alice": {"lambda": "1/3"},
}


@pytest.mark.parametrize(
    "written",
    ["1e9_999_999", "1_000", "1__0", "١/٣", "½", "1 /3", "1/ 3", "1/-3", "--1", "+-1", "1e", "e5", ".", "", " ", "0x1F",
     "1/2/3", "1/2e3", "1,5", "1e5.5", "\u00a01", "1\u200b", "1/3\x00", "nan", "inf", "0b1", "1j", "(1)", "1e+-5"],
)  # fmt: skip
def test_what_only_looks_like_a_number_is_none(written: str) -> None:
    with pytest.raises(InputError):
        number(written, "x")


@pytest.mark.parametrize("written", ["1e301", "1e-301", "1e99999", "9" * 301, "1/" + "3" * 20_001, "1." + "3" * 300])
def test_numbers_have_a_limit_of_digits(written: str) -> None:
    with pytest.raises(InputError, match="must have at most"):
        number(written, "x")


def read(document: Any, folder: Path) -> Any:
    (folder / "p.json").write_text(json.dumps(document))
    return load_problem(folder / "p.json")


def test_a_number_of_many_digits_is_saved_and_read(tmp_path: Path) -> None:
    tiny = number("1/" + "3" * 15_000, "x")
    assert number(text(tiny), "x") == tiny
    loaded = read({**COIN, "alice": {"lambda": "1/" + "7" * 9000}}, tmp_path)
    best = solve(loaded.problem, loaded.lam)
    save_certificate(tmp_path / "c.json", best.certificate)
    again = load_certificate(tmp_path / "c.json")
    assert again.value == best.value
    assert verify(loaded.problem, again)


HUGE = {
    "a million digits": ({**COIN, "alice": {"lambda": "1" * 1_000_000}}, "must be"),
    "a million digits of a fraction": ({**COIN, "alice": {"lambda": "1/" + "1" * 1_000_000}}, "must be"),
    "a metric of 1e9": ({**COIN, "conditions": {"exp_epsilon": 2, "metric": [[0, 10**9], [10**9, 0]]}}, "too large"),
    "a metric of 1e9 in floats": (
        {**COIN, "conditions": {"epsilon": 1.0, "metric": [[0, 1e9], [1e9, 0]]}},
        "too large",
    ),
    "eight Bobs": (
        {**COIN, "bob": [{"name": str(k), "loss": [[0] * 10] * 2} for k in range(8)]},
        "100000000 decisions",
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_short_files_cannot_ask_for_endless_work(name: str, tmp_path: Path) -> None:
    document, rule = HUGE[name]
    with pytest.raises(InputError, match=rule):
        read(document, tmp_path)


TEXTS = {
    "keys": ("{" + ",".join(f'"{k}":1' for k in range(60_000)) + ',"5":2}', True, "more than 10000 keys"),
    "a repeated key": ("{" + ",".join(f'"{k}":1' for k in range(9000)) + ',"5":2}', True, "given twice"),
    "a dotted key": (".".join(["a"] * 20_000) + " = 1", False, "nested too deeply"),
    "a dotted header": ("[" + " . ".join(["'a'"] * 20_000) + "]", False, "nested too deeply"),
    "a deep list": ("[" * 100_000, True, "nested too deeply"),
    "deep tables": ("a=" + "{a=" * 5000 + "1" + "}" * 5000, False, "nested too deeply"),
    "an integer": ("9" * 1_000_000, True, "must have at most 20000 digits"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_bounded_before_they_are_parsed(name: str, tmp_path: Path) -> None:
    content, as_json, rule = TEXTS[name]
    file = tmp_path / ("x.json" if as_json else "x.toml")
    file.write_text(content)
    with pytest.raises(InputError, match=rule):
        load_problem(file)


def test_strings_and_comments_may_have_dots_and_brackets(tmp_path: Path) -> None:
    coin = (EXAMPLES / "coin_toss.toml").read_text()
    (tmp_path / "x.toml").write_text(
        'title = "[[[' + "." * 99 + '"  # ' + "[." * 99 + "\n" + coin.replace("title", "#")
    )
    assert load_problem(tmp_path / "x.toml").problem.title == "[[[" + "." * 99


def test_tuples_of_decisions_are_counted_before_they_are_listed() -> None:
    eves = [Agent([[0] * 10] * 2, name=str(k)) for k in range(7)]
    problem = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=eves)
    with pytest.raises(InputError, match="20000000 signals"):
        solve(problem, 0, conditions=Conditions(margin=0))


def test_limits_are_raised_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError):
        number("1/" + "3" * 20_001, "x")
    set_limits(["digits=20001"])
    try:
        assert number("1/" + "3" * 20_001, "x") > 0
    finally:
        set_limits([f"digits={DEFAULTS['digits']}"])
    for wrong in ("digits", "digits=", "digits=-1", "digits=1e9", "nothing=1", "digits=١"):
        with pytest.raises(ValueError, match="must be NAME=NUMBER"):
            set_limits([wrong])
    assert limit("digits") == DEFAULTS["digits"]


@pytest.mark.slow
def test_limits_come_from_the_environment(tmp_path: Path) -> None:
    code = "from bap_lp.support.limits import limit; print(limit('digits'), limit('keys'))"
    environment = {**os.environ, "BAP_LIMITS": "digits=7, keys=9"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["7", "9"]


@pytest.mark.parametrize("setting", ["digits=x", "digits=-5", "digits", "nothing=5", "digits=" + "9" * 20])
def test_a_wrong_limit_is_one_line_in_the_stand_alone_checker(setting: str, tmp_path: Path) -> None:
    save_bundle(tmp_path, solve(Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[0, 1], [1, 0]])))
    command = [sys.executable, "-m", "bap_lp.verify_standalone", str(tmp_path)]
    done = subprocess.run(
        command, env={**os.environ, "BAP_LIMITS": setting}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "must be NAME=NUMBER" in done.stderr


def test_the_environment_sets_the_limits_of_the_stand_alone_checker(tmp_path: Path) -> None:
    save_bundle(tmp_path, solve(Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[0, 1], [1, 0]])))
    command = [sys.executable, "-m", "bap_lp.verify_standalone", str(tmp_path)]
    for setting, code in (("work=5", 1), ("work=5000,digits=9", 0), ("digits=9,bytes=99", 1)):
        environment = {**os.environ, "BAP_LIMITS": setting}
        assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == code


def test_a_verdict_that_cannot_be_written_is_no_verdict(tmp_path: Path) -> None:
    save_bundle(tmp_path, solve(Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[0, 1], [1, 0]])))
    command = [sys.executable, "-m", "bap_lp.verify_standalone", str(tmp_path)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.slow
def test_a_problem_whose_numbers_have_nothing_in_common_is_not_added_up(tmp_path: Path) -> None:
    draw = random.Random(1)
    prior = [f"1/{fmpz(draw.randrange(10**1999, 10**2000))}" for _ in range(900)]
    losses = {"loss": [[0, 1]] * 900}
    (tmp_path / "p.json").write_text(json.dumps({"data": {"prior": prior}, "bob": losses, "eve": losses}))
    with pytest.raises(InputError, match="takes more than 20000000 steps"):
        load_problem(tmp_path / "p.json")


SEEDS = [json.dumps(COIN), json.dumps({**COIN, "conditions": {"exp_epsilon": 2, "neighbours": [[0, 1]]}})]
SEEDS += [(EXAMPLES / f"{name}.toml").read_text() for name in ("coin_toss", "two_eves")]
bits = st.sampled_from([b"", b"0", b"9" * 50, b"e9", b"_", b'"', b"[", b"{", b"}", b"\x00", b"\xff", b"\xc3\xa9", b"=",
                        b".a", b"[[eve]]\n",
                        b"inf", b"1e999", b"\\ud800", b"null", b"-", b"/0", b"\n", b"#"])  # fmt: skip


@pytest.mark.slow
@settings(max_examples=300)
@given(
    seed=st.sampled_from(SEEDS),
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), bits), min_size=1, max_size=6),
)
def test_changed_bytes_give_a_problem_or_one_line(
    seed: str, changes: list[tuple[float, int, bytes]], tmp_path: Path
) -> None:
    raw = seed.encode()
    for share, length, put in changes:
        at = int(share * len(raw))
        raw = raw[:at] + put + raw[at + length :]
    for name in ("x.json", "x.toml"):
        message = ""
        try:
            (tmp_path / name).write_bytes(raw)
            load_problem(tmp_path / name)
        except InputError as error:
            message = str(error)
        assert message.isprintable()
        assert len(message) < 600


junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
    | st.sampled_from(["1/3", "199/-400", 10**400, "1e300", "0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@cache
def coin_solution(conditions: Conditions | None) -> Any:
    return solve(Problem(COIN["data"]["prior"], COIN["bob"]["loss"], COIN["eve"]["loss"]), "1/3", conditions=conditions)


@pytest.mark.slow
@settings(max_examples=150)
@given(data=st.data())
def test_junk_in_a_certificate_is_refused_or_judged(data: st.DataObject, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    chosen = data.draw(st.sampled_from([None, Conditions(exp_epsilon=2, deterministic=True)]))
    found = coin_solution(chosen)
    save_certificate(file, found.certificate)
    document = json.loads(file.read_text())
    node, key = data.draw(st.sampled_from(places(document)))
    node[key] = data.draw(junk)
    file.write_text(json.dumps(document))
    try:
        reason = verify(found.problem, load_certificate(file)).reason
    except InputError as error:
        reason = str(error)
    assert reason
    assert "\n" not in reason


def test_files_of_nothing_are_refused(tmp_path: Path) -> None:
    for raw in (b"", b" ", b"\xff\xfe", b"{", b"[]", b"null", b"1", b'{"lambda": 1}', b'"x"', b"\x00"):
        (tmp_path / "c.json").write_bytes(raw)
        for load in (load_certificate, load_problem):
            with pytest.raises(InputError):
                load(tmp_path / "c.json")


@pytest.mark.slow
def test_the_work_of_a_check_is_bounded_in_all_and_not_only_per_number(tmp_path: Path) -> None:
    # each number has fewer digits than are allowed; their denominators have nothing in common, so sums have very many
    count, draw = 100, random.Random(1)
    problem = Problem([f"1/{count}"] * count, [[k % 3, 1] for k in range(count)], [[k % 2, 1] for k in range(count)])
    save_bundle(tmp_path, solve(problem, "1/3"))
    for name in ("mechanism.json", "certificate.json"):
        document = json.loads((tmp_path / name).read_text())
        for node, key in places(document):
            if isinstance(node[key], str) and isinstance(node, list) and "states" not in document:
                node[key] = f"1/{draw.randrange(10**3999, 10**4000)}"
        if name == "mechanism.json":
            parts = [fmpq(1, draw.randrange(10**3999, 10**4000)) for _ in range(count)]
            document["channel"] = [[str(v), str(1 - v)] for v in parts]
        (tmp_path / name).write_text(json.dumps(document))
    refit(tmp_path)
    with pytest.raises(InputError, match="takes more than 20000000 steps") as refused:
        load_bundle(tmp_path)
    assert "--limit work=N raises this" in str(refused.value)
    with pytest.raises(verify_standalone.Refused, match="takes more than 20000000 steps"):
        verify_standalone.check(str(tmp_path))
    with pytest.raises(InputError, match="takes more than 20000000 steps"):
        load_certificate(tmp_path / "certificate.json")


def test_a_weight_does_not_make_a_loss_too_large() -> None:
    losses, huge = [[0, 1], [1, 0]], [[0, "9e299"], [1, 0]]
    with pytest.raises(InputError, match="makes a loss larger than 1e300"):
        solve(Problem(["1/2", "1/2"], losses, eves=[Agent(huge, weight="1e200")]), 1)
    coin = Problem(["1/2", "1/2"], losses, losses)
    for weight in (1e308, 10**301, 10**400):
        with pytest.raises(InputError, match="times the largest loss must be at most 1e300"):
            tiers([coin, coin], 1, [weight, 1])


def _read(reader: Any, written: str) -> Any:
    try:
        found = reader(written)
    except (InputError, verify_standalone.Refused):
        return None
    return Fraction(int(found.p), int(found.q)) if isinstance(found, fmpq) else found


def _agree(written: str) -> None:
    assert _read(lambda v: number(v, "x"), written) == _read(verify_standalone.number, written)
    long = _read(lambda v: verify_standalone.number(v, long=True), written)
    assert _read(lambda v: signed_number(v, "x"), written) == long


PADDING = ["", "0" * 5, "0" * 299, "0" * 300, "0" * 301, "9" * 300, "9" * 301]
WRITTEN = [
    *("1e00000", "1e0000", "1e-0300", "1e+0300", "1e00300", "1e-00300", "1e301", "+.5", "-.5", "5.", ".", "+", "-"),
    *("1_000", "١", "1e١", "0x10", " 1", "1 ", "\t1\r\n", "\u00a01", "1 / 3", "1/3", "+1/3", "-1/3", "1/-3", "1/+3"),
    *("1/0", "1/00", "1/3e1", "1.5/3", "1e", "e1", "1e+", "1E5", "--1", "+-1", "", " ", "\n", "inf", "nan", "1.e5"),
    *(".e5", "1\n2", "1\x0b", "+-" + "9" * 400, " +" + "9" * 400 + "\n", "- " + "9" * 400),
    *(s + pad + end for s in ("", "+", "-") for pad in PADDING for end in ("1", "1/3", ".1", "1.", "1e5", " ")),
]  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN, ids=lambda written: repr(written[:12]) + str(len(written)))
def test_both_checkers_read_the_same_numbers(written: str) -> None:
    _agree(written)


def test_both_checkers_count_digits_alike(request: pytest.FixtureRequest) -> None:
    request.addfinalizer(partial(sys.set_int_max_str_digits, sys.get_int_max_str_digits()))
    sys.set_int_max_str_digits(0)
    most = limit("digits")
    for size in (most - 1, most, most + 1):
        for sign in ("", "+", "-"):
            for written in (
                f"{sign}{'9' * size}",
                f"{sign}{'9' * size}/7",
                f"{sign}7/{'9' * size}",
                f" {sign}{'0' * size}/7\n",
            ):
                _agree(written)


@settings(max_examples=300)
@given(st.text("0011.eE+-/ \n_x\u0661", max_size=12) | st.from_regex(verify_standalone.NUMBER, fullmatch=True))
def test_both_checkers_read_the_same_texts_as_numbers(written: str) -> None:
    _agree(written)


UNCLOSED = {
    "json": ('{"a": "' + '\\"' * 500_000, "is not JSON: Unterminated string"),
    "toml": ('a = "' + '\\"' * 500_000, "is not TOML"),
}


@pytest.mark.parametrize("kind", UNCLOSED)
def test_a_string_without_end_is_refused_in_one_pass(tmp_path: Path, kind: str) -> None:
    """To look for the end of a string at each of its quotes would take hours."""
    content, rule = UNCLOSED[kind]
    path = tmp_path / f"long.{kind}"
    path.write_text(content)
    code = "import sys, bap_lp\ntry: bap_lp.load_problem(sys.argv[1])\nexcept bap_lp.InputError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.startswith(f"{path} {rule}")
    assert done.stdout.count("\n") == 1


def test_quotes_inside_of_a_long_string_do_not_end_it() -> None:
    text = 'a = """' + '\\"""' + "[" * 100 + '"""\n'
    assert parse_document(text, "x", False) == {"a": '"""' + "[" * 100}
    with pytest.raises(InputError, match="nested too deeply"):
        parse_document('a = """\\"""""\nb = ' + "[" * 100 + ' # """', "x", False)


def _flip(states: int, **more: Any) -> Agent:
    return Agent([[k % 2, 1 - k % 2] for k in range(states)], **more)


def test_tables_that_multiply_are_refused_before_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    prior, flip = ["1/50"] * 50, [[k % 2, 1 - k % 2] for k in range(50)]
    bobs = [_flip(50, name=str(k)) for k in range(10)]
    known = [_flip(50, name=str(k), knows=list(range(50))) for k in range(10)]
    random_ = Agent(flip, knowledge=[["1/50"] * 50] * 50)
    wordy = [_flip(50, name=str(k), decisions=["a" * 9000, "b" * 9000]) for k in range(6)]
    refused = [
        (lambda: Problem(prior, bobs=bobs, eve_loss=flip), "bobs", "cells"),
        (lambda: Problem(prior, bobs=wordy, eve_loss=flip).bob_decisions, "decisions", "bytes"),
        (lambda: Problem(prior, flip, eves=known), "eves", "cells"),
        (lambda: Problem(prior, flip, eves=[random_]), "eves", "cells"),
        (lambda: minimum_of(bobs), "eves", "cells"),
    ]
    for build, _, _ in refused:
        build()
    monkeypatch.setitem(limits._LIMITS, "cells", 4_000)
    monkeypatch.setitem(limits._LIMITS, "bytes", 300_000)
    for build, field, name in refused:
        with pytest.raises(InputError, match=rf"^{field} have .* \(--limit {name}=N raises this\)$"):
            build()


def test_a_short_file_cannot_ask_for_much_memory(tmp_path: Path) -> None:
    rows = [[0, 1]] * 4500
    agents = {"bob": [{"name": str(k), "loss": rows} for k in range(13)], "eve": {"loss": rows}}
    (tmp_path / "p.json").write_text(json.dumps({"data": {"prior": ["1/4500"] * 4500}, **agents}))
    with pytest.raises(
        InputError, match=r"bob have 8192 decisions together in 4500 states, must have at most 20000000"
    ):
        load_problem(tmp_path / "p.json")


def test_a_model_whose_numbers_have_nothing_in_common_is_not_added_up(tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = [[f"1/{fmpz(draw.randrange(10**5999, 10**6000))}" for _ in range(4)] for _ in range(250)]
    data = {"theta": {"prior": [1]}, "data": {"likelihood": [["1/250"] * 250]}}
    (tmp_path / "p.json").write_text(json.dumps({**data, "bob": {"loss": [[0, 1]]}, "eve": {"loss": rows}}))
    with pytest.raises(InputError, match="takes more than 20000000 steps"):
        load_problem(tmp_path / "p.json")


def test_fractions_that_leave_are_not_reduced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's gcd takes quadratic time."""
    monkeypatch.setattr("math.gcd", lambda *_: pytest.fail("reduced again"))
    found, table = public(fmpq(6, -8)), public(objects([fmpq(2, 6)]))
    monkeypatch.undo()
    for one, same in ((found, Fraction(-3, 4)), (table[0], Fraction(1, 3))):
        assert (type(one), one, hash(one), repr(one)) == (Fraction, same, hash(same), repr(same))
        assert pickle.loads(pickle.dumps(one)) + 1 == same + 1


def test_many_short_numbers_are_not_long_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    save_problem(tmp_path / "p.json", Problem(["1/50"] * 50, [[0, 1]] * 50, [[0, 1]] * 50))
    monkeypatch.setitem(limits._LIMITS, "work", 60)
    assert load_problem(tmp_path / "p.json").problem.shape == (50, 2, 2)


def test_many_bobs_take_memory_in_proportion_to_their_joint_decisions() -> None:
    """65,536 joint decisions, two states: a table of decisions by decisions would take 32 GiB."""
    code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from bap_lp import Agent, Problem, solve
bobs = [Agent([[k, 1], [1, k + 2]], name=f"Bob {k}") for k in range(16)]
problem = Problem(["1/2", "1/2"], bobs=bobs, eves=[Agent([[0, 1], [1, 0]])])
print(solve(problem, "1/3").value, solve(problem, 1 / 3, exact=False).value)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    exact, above = done.stdout.split()
    assert (exact, 15.5 <= float(above) < 15.5 + 1e-14) == ("31/2", True), done.stderr


def test_joint_decisions_that_are_worse_in_every_state_cost_nothing() -> None:
    """8,192 joint decisions, of which 14 are best for some belief; an elimination over all of them takes minutes."""
    bobs = [Agent([[0, k + 1], [1, 0]], name=f"b{k}") for k in range(13)]
    problem = Problem(["1/2", "1/2"], bobs=bobs, eve_loss=[[0, 1], [1, 0]])
    alone = [Problem(["1/2", "1/2"], bob.loss, [[0], [0]]) for bob in bobs]
    for lam in (0, 1):
        found = solve(problem, lam)
        assert found.gap == 0
        assert verify(problem, found.certificate, allow_float=False)
        if not lam:
            assert found.value == sum(solve(one, 0).value for one in alone)


def test_a_long_common_denominator_is_paid_for_before_it_is_used(tmp_path: Path) -> None:
    problem = Problem([1 / 60] * 60, [[k / 7, 1.0, 0.5] for k in range(60)], [[1.0, k / 9] for k in range(60)])
    save_bundle(tmp_path / "b", solve(problem, 0.7))
    document = json.loads((tmp_path / "b" / "certificate.json").read_text())
    document["channel"] = {"over": "7" * 19_999, "rows": document["channel"]}
    (tmp_path / "b" / "certificate.json").write_text(json.dumps(document))
    with limited("work=20000"), pytest.raises(InputError, match=r"takes more than 20000 steps"):
        load_certificate(tmp_path / "b" / "certificate.json")


def test_a_tiny_problem_of_long_numbers_is_solved_at_once_and_a_larger_one_is_refused_at_once() -> None:
    draw = random.Random(0)

    def problem(states: int, decisions: int, digits: int) -> Problem:
        def row() -> list[Fraction]:
            least = 10 ** (digits - 1)
            return [Fraction(draw.randrange(least), draw.randrange(least, 10 * least)) for _ in range(decisions)]

        return Problem([Fraction(1, states)] * states, *([row() for _ in range(states)] for _ in range(2)))

    assert solve(problem(6, 4, 1000), 1).gap == 0
    with pytest.raises(InputError, match=r"problem has exact numbers so long .* integers of \d\.\d million bits: "):
        solve(problem(30, 10, 5000), 1)
