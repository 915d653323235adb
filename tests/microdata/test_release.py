"""Released files: columns, order and types, levels of new records, missing cells, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bap_lp import InputError
from microdata import Eve, Study


def records(n: int = 200, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    ill = generator.integers(0, 2, n)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "age": generator.integers(20, 23, n),
            "ill": np.where(ill, "yes", "no"),
            "pay": (generator.integers(0, 3, n) + ill).astype("int16"),
            "town": pd.Categorical(generator.choice(["n", "s"], n), categories=["s", "n"]),
            "score": np.where(generator.random(n) < 0.1, np.nan, generator.integers(1, 3, n) / 2),
            "member": generator.random(n) < 0.5,
        }
    )


PUBLISH = {"member": "0-1", "pay": "absolute", "town": "0-1", "score": "absolute"}


@pytest.fixture(scope="module")
def solution():
    return Study(records(), PUBLISH, [Eve("ill", knows=["age"])]).solve(2)


def test_a_release_has_the_published_columns_in_their_order_with_their_types(solution):
    frame = records()
    out = solution.release(frame)
    assert list(out.columns) == ["pay", "town", "score", "member"]
    assert all(out[c].dtype == frame[c].dtype for c in out)
    assert out.index.equals(frame.index)
    log = out.attrs["log"]
    for name in out:
        both_missing = out[name].isna() & frame[name].isna()
        assert log.changed[name] == int(((out[name] != frame[name]) & ~both_missing).sum())
    assert log.dropped == ("id", "age", "ill")
    assert log.touched > 0


def test_known_columns_are_kept_if_every_eve_knows_them(solution):
    frame = records()
    out = solution.release(frame, keep=["age"])
    assert list(out.columns) == ["age", "pay", "town", "score", "member"]
    assert (out["age"] == frame["age"]).all()
    for name, words in (("ill", "would tell"), ("pay", "published already"), ("id", "is not a column")):
        with pytest.raises(InputError, match=words):
            solution.release(frame, keep=[name])
    two = Study(frame, {"pay": "0-1"}, [Eve("ill", knows=["age"], name="a"), Eve("member", knows=["town"], name="b")])
    with pytest.raises(InputError, match="keep = 'age' would tell b more"):
        two.solve(1, exact=False).release(frame, keep=["age"])


def test_a_seed_repeats_a_rehearsal_and_without_one_draws_differ(solution):
    frame = pd.concat([records()] * 5)
    assert solution.release(frame, seed=1).equals(solution.release(frame, seed=1))
    assert not solution.release(frame).equals(solution.release(frame))


def test_records_of_new_types_are_released_by_alices_rule(solution):
    frame = records(400, seed=9)
    out = solution.release(frame)
    assert out.attrs["log"].unseen > 0
    again = solution.release(frame)
    codes = solution.study.encode(frame)
    new = solution.channel.unseen(codes)
    assert out[new].equals(again[new])  # the rule involves no chance
    best = solution.proof
    x = codes[np.flatnonzero(new)[0]]
    study = solution.study
    known = [int(study.known(x[None], s)[0]) for s in study.spies]
    chosen = best.rule([int(x[k]) for k in study.published], [int(x[s.secret]) for s in study.spies], known)
    told = study.program.published(chosen)
    first = out[new].iloc[0]
    assert [str(study[t.column].labels[v]) for t, v in zip(study.targets, told, strict=True)][1] == str(first["pay"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.drop(columns="pay"), "column = 'pay' is missing"),
        (lambda f: f.assign(pay=99), "column 'pay', record 1 = '99' must be one of the levels"),
        (lambda f: f.assign(town=None), "column 'town', record 1 is missing"),
        (lambda f: f[:0], "has no records"),
    ],
)
def test_files_that_do_not_fit_are_refused_in_one_line(solution, change, words):
    with pytest.raises(InputError) as error:
        solution.release(change(records()))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_the_other_types_of_a_column_are_read_too(solution):
    frame = records()
    texts = frame.astype({"pay": "str", "member": "str", "age": "float64"})
    out = solution.release(texts, seed=3)
    assert (out["pay"].astype(int) == solution.release(frame, seed=3)["pay"]).all()


def test_banded_columns_are_released_as_bands():
    frame = records()
    study = Study(frame, {"age": "absolute", "pay": "0-1"}, [Eve("ill")], columns={"age": {"bands": [20, 21, 30]}})
    out = study.solve(0).release(frame)
    assert set(out["age"]) == {"20 to 21", "21 to 30"}
    assert ((frame["age"] < 21) == (out["age"] == "20 to 21")).all()
