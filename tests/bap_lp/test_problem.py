"""Reading numbers and building problems: what is exact stays exact, what is wrong is named."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction as F
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sympy
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from bap_lp import Agent, InputError, Mechanism, Problem, minimum_of, solve
from bap_lp.support.labels import joined, joints
from bap_lp.support.rational import number, public

HALF = ["1/2", "1/2"]
FLIP = [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    "value",
    [F(1, 4), "1/4", "0.25", "25e-2", " 1/4 ", Decimal("0.25"), sympy.Rational(1, 4), fmpq(1, 4)],
    ids=repr,
)
def test_exact_numbers_are_read_exactly(value: object) -> None:
    assert public(number(value, "x")) == F(1, 4)
    assert isinstance(public(number(value, "x")), F)


@pytest.mark.parametrize("value", [3, "3", np.int64(3), sympy.Integer(3), Decimal(3)], ids=repr)
def test_integers_of_every_kind_are_exact(value: object) -> None:
    assert public(number(value, "x")) == 3


@pytest.mark.parametrize("value", [0.25, np.float64(0.25), np.float32(0.25)], ids=repr)
def test_floats_stay_floats(value: object) -> None:
    assert type(number(value, "x")) is float


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("1/0", "divides by zero"),
        ("one", "is not a number"),
        ("nan", "must be finite"),
        ("-inf", "must be finite"),
        (float("inf"), "must be finite"),
        (Decimal("NaN"), "must be finite"),
        (True, "truth value"),
        (None, "must be a number"),
        (1j, "must be a number"),
        ("1e999999999", "at most 300 digits"),
        ("9" * 400, "at most 300 digits"),
        (sympy.sqrt(2), "must be a number"),
    ],
    ids=repr,
)
def test_a_bad_number_is_refused_with_its_rule(value: object, rule: str) -> None:
    with pytest.raises(InputError, match=rule) as error:
        number(value, "x")
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prior": ["1/2", "1/3"]}, "sum of prior = 5/6 must be 1"),
        ({"prior": [0.5, 0.4]}, "sum of prior = 0.9 must be 1"),
        ({"prior": ["3/2", "-1/2"]}, "prior[1] = -1/2 must not be negative"),
        ({"prior": []}, "prior must not be empty"),
        ({"prior": "1/2"}, "prior = '1/2' must be a list"),
        ({"prior": [HALF, HALF]}, "prior[0] = ['1/2', '1/2'] must be a number, not a list or table"),
        ({"bob_loss": [[0, 1], [1]]}, "bob_loss[1] has 1 entries, must have 2 like bob_loss[0]"),
        ({"bob_loss": [[0, 1]]}, "bob_loss has 1 rows, must have 2, one per state"),
        ({"bob_loss": [0, 1]}, "bob_loss[0] = 0 must be a list"),
        ({"eve_loss": [[0, float("nan")], [1, 0]]}, "eve_loss[0][1] = nan must be finite"),
        ({"eve_loss": np.array([[0.0, -1.0], [1, 0]])}, "eve_loss[0][1] = -1.0 must not be negative"),
        ({"eve_loss": [[0, 1e300], [1, 0]]}, "eve_loss[0][1] = 1.00000000000000005e+300 must be at most 1e300"),
        ({"eve_loss": [[], []]}, "eve_loss must not be empty"),
        ({"title": b"coin"}, "title must be text, is of type bytes"),
        ({"eve_loss": np.zeros((2, 2, 2))}, "eve_loss has 3 dimensions, must have 2"),
        ({"eve_loss": None}, "eve_loss or eves must be given"),
        ({"states": ["a", "a"]}, "states[1] = 'a' repeats states[0]"),
        ({"states": ["a"]}, "states has 1 labels, must have 2"),
        ({"states": "ab"}, "states = 'ab' must be a list of strings"),
        ({"states": ["a", ""]}, "states[1] = '' must be a non-empty string"),
        ({"bob_decisions": ["x", 3]}, "bob_decisions[1] = 3 must be a non-empty string"),
        ({"eve_loss": None, "eves": []}, "eves must not be empty"),
        ({"eve_loss": None, "eves": [Agent(FLIP, weight=0)]}, "eves[0].weight = 0 must be positive"),
        ({"eve_loss": None, "eves": [Agent(FLIP, name="a"), Agent(FLIP, name="a")]}, "repeats"),
    ],
)
def test_a_bad_problem_is_refused_with_its_rule(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        Problem(**{"prior": HALF, "bob_loss": FLIP, "eve_loss": FLIP, **arguments})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"theta_prior": ["1/2", "1/4"]}, "sum of theta_prior = 3/4 must be 1"),
        ({"likelihood": [[1, 0], ["1/2", "1/3"]]}, "sum of likelihood[1] = 5/6 must be 1"),
        ({"likelihood": [[1, 0]]}, "likelihood has 1 rows, must have 2, one per theta"),
        ({"bob_loss": [[0, 1]]}, "bob_loss has 1 rows, must have 2, one per theta"),
        ({"eve_loss": [[0, 1]]}, "eve_loss has 1 rows, must have 2, one per state"),
    ],
)
def test_a_bad_model_is_refused_with_its_rule(arguments: dict[str, object], message: str) -> None:
    model = {"theta_prior": HALF, "likelihood": [[1, 0], HALF], "bob_loss": FLIP, "eve_loss": FLIP, **arguments}
    with pytest.raises(InputError) as error:
        Problem.from_model(**model)
    assert message in str(error.value)


def test_one_float_makes_a_float_problem() -> None:
    problem = Problem(HALF, FLIP, [[0, 1], [1.0, 0]])
    assert not problem.exact
    assert all(a.dtype == float for a in (problem.p, problem.B, problem.E, problem.prior))
    assert Problem(np.array([1, 1]) / 2, FLIP, FLIP).exact is False
    model = Problem.from_model(HALF, [[1, 0], HALF], FLIP, [[0, 1], [10.0, 0]])
    assert model.theta is not None
    assert model.theta.posterior.dtype == float


def test_inside_exact_numbers_are_rationals_of_flint_and_floats_are_doubles() -> None:
    exact = Problem(["1/3", "2/3"], FLIP, FLIP)
    for problem in (exact, exact.as_float()):
        best = solve(problem, "1/2" if problem.exact else 0.5)
        tables = (problem.p, problem.B, problem.E, best.mechanism.q)
        kinds = {type(v) for table in tables for v in np.ravel(table)}
        assert kinds == ({fmpq} if problem.exact else {np.float64})


def test_a_float_prior_is_normalised_if_it_misses_one_by_rounding_only() -> None:
    assert Problem([0.5, 0.5 + 9e-10], FLIP, FLIP).p.sum() == pytest.approx(1, abs=1e-15)
    for prior, total in (([0.5, 0.5 + 2e-9], "1.000000002"), (["1/2", "1/2000000001"], "")):
        with pytest.raises(InputError, match=f"sum of prior = {total}.* must be 1"):
            Problem(prior, FLIP, FLIP)


def test_a_problem_and_a_mechanism_cannot_be_changed() -> None:
    best = solve(Problem(HALF, FLIP, FLIP), 1)
    for value in (best.problem, best.mechanism, best):
        for name in vars(value):
            with pytest.raises(AttributeError):
                setattr(value, name, None)


def test_several_bobs_act_on_the_product() -> None:
    bobs = [Agent(FLIP, ["a", "b"], "first"), Agent([[0, 2], [3, 0]], ["c", "d"], "second", "1/2")]
    problem = Problem(HALF, bobs=bobs, eve_loss=FLIP)
    assert problem.bob_decisions == ("a, c", "a, d", "b, c", "b, d")
    assert problem.bob_loss[1].tolist() == [F(5, 2), 1, F(3, 2), 0]


def test_merging_keeps_what_differs_and_drops_the_impossible() -> None:
    problem = Problem(
        ["1/4", "1/4", "1/4", 0, "1/4"], [[0, 1], [1, 0], [0, 1], [7, 7], [0, 1]], [[1], [1], [1], [7], [2]]
    )
    merged, index = problem.arrays.merged()
    assert index.tolist() == [0, 1, 0, -1, 2]
    assert list(map(str, merged.p)) == ["1/2", "1/4", "1/4"]


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(states=12, decisions=2, tempers=("zero_one", "small")))
def test_float_merging_agrees_with_exact_merging(problem: Problem) -> None:
    assert problem.arrays.merged()[1].tolist() == problem.as_float().arrays.merged()[1].tolist()


def test_raw_records_merge_into_a_small_problem() -> None:
    n = 12
    records = np.arange(2**n)
    ones = (records[:, None] >> np.arange(n) & 1).sum(axis=1)
    bob = [[int(abs(k - d)) for d in range(0, n + 1, 4)] for k in ones]
    eve = [[int(x & 1), int(1 - (x & 1))] for x in records]
    problem = Problem([F(1, 2**n)] * 2**n, bob, eve)
    assert len(problem.arrays.merged()[0].p) == 2 * n


@pytest.mark.parametrize("half", [0.5, "1/2"])
def test_data_frames_are_read_row_by_row(half: float | str) -> None:
    """A data frame lists its columns when it is iterated over: their names were taken for rows."""
    prior, bob, eve = [half, half], [[0, 1, 2], [3, half, 5]], [[0, 1], [10, 0]]
    framed = Problem(pd.Series(prior), pd.DataFrame(bob, columns=list("abc")), pd.DataFrame(eve, index=["x", "y"]))
    assert framed == Problem(prior, bob, eve)
    assert framed.exact == isinstance(half, str)
    channel = pd.DataFrame([[1, 0], [half, half]])
    assert Mechanism(channel) == Mechanism([[1, 0], [half, half]])


AWKWARD = ["a", "b, c", "a, b", "c", '"a, b"', "a / b", "a /", "/ b", "b", "a > b", "a >", "> b", "a | b", '"']


@pytest.mark.parametrize("by", [", ", " / ", " > ", " | ", " + "])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_joint_labels_are_distinct_whatever_their_parts_are(by: str, count: int) -> None:
    found = joints([AWKWARD] * count, by)
    assert len(set(found)) == len(AWKWARD) ** count
    assert found == [joined(parts, by) for parts in product(*[AWKWARD] * count)]


@given(st.lists(st.text('a",/ >\\', min_size=1, max_size=4), min_size=2, max_size=8, unique=True))
def test_joint_labels_of_any_text_are_distinct(names: list[str]) -> None:
    for by in (", ", " / ", " > "):
        assert len(set(joints([names, names], by))) == len(names) ** 2


def test_ordinary_labels_are_joined_as_they_are() -> None:
    assert joints([["yes/no", "1,5"], ["a>b", 'say "c"']]) == [
        'yes/no, a>b', 'yes/no, say "c"', '1,5, a>b', '1,5, say "c"'
    ]  # fmt: skip
    assert joints([["a, b", "c"]]) == ["a, b", "c"]


def test_what_joint_eves_know_is_told_apart() -> None:
    eves = [
        Agent([[0, 1], [1, 0]], knows=["a", "a, b"], name="one"),
        Agent([[0], [1]], knows=["b, c", "c"], name="two"),
    ]
    assert len(set(minimum_of(eves).knows)) == 2
    named = [Agent([[0, 1], [1, 0]], knows=["b, c", "x"], name="a"), Agent([[0], [1]], knows=["c", "x"], name="a, b")]
    found = Problem(["1/2", "1/2"], [[0], [0]], eves=named)
    assert len(set(found.eve_decisions)) == len(found.eve_decisions)
    assert len({one.name for one in found.attackers}) == 4
