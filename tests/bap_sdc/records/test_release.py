"""Released files: columns, order and types, levels of new records, missing cells, and what is refused."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from bap_lp import InputError
from bap_lp.support.rational import public
from bap_sdc import Eve, Study, read_table
from bap_sdc.records.data.proposals import proposal
from bap_sdc.records.data.tables import table_bytes


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
    out = solution.release(frame, keep_order=True)
    assert list(out.columns) == ["pay", "town", "score", "member"]
    assert all(out[c].dtype == frame[c].dtype for c in out if c != "town")
    assert set(out["town"].cat.categories) == {"n", "s"}
    log = out.attrs["log"]
    for name in out:
        both_missing = out[name].isna() & frame[name].isna()
        assert log.changed[name] == int(((out[name] != frame[name]) & ~both_missing).sum())
    assert log.dropped == ("id", "age", "ill")
    assert log.touched > 0


def test_a_parquet_file_of_a_release_does_not_say_what_was_changed(solution, tmp_path):
    import pyarrow.parquet

    solution.release(records()).to_parquet(tmp_path / "out.parquet")
    written = b"".join(pyarrow.parquet.read_metadata(tmp_path / "out.parquet").metadata.values())
    assert not any(word in written for word in (b"changed", b"touched", b"dropped", b'"ill"'))


def test_known_columns_are_kept_if_every_eve_knows_them(solution):
    frame = records()
    out = solution.release(frame, keep=["age"], keep_order=True)
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


def test_a_record_of_a_new_type_is_drawn_from_all_releases_whatever_it_is(solution):
    """Which tells nothing about it: the law is the same at every such record, and that of the others on average."""
    frame = records(400, seed=9)
    codes = solution.study.encode(frame)
    new = solution.channel.unseen(codes)
    assert new.sum() > 100
    assert solution.release(frame, seed=1).attrs["log"].unseen == new.sum()
    types = np.unique(codes[new], axis=0)
    assert len(np.unique(types[:, solution.study.names.index("ill")])) == 2
    channel = solution.channel.over(types)
    row, signal, q = channel.rows(types)
    share = np.zeros((len(types), channel.signals), dtype=object)
    share[row, signal] = public(q)
    own, sent, chance = channel.rows(solution.study.prior.types)
    overall = np.zeros(channel.signals, dtype=object)
    np.add.at(overall, sent, public(solution.study.prior.p)[own] * public(chance))
    assert sum(overall) == 1
    assert all((law == overall).all() for law in share)
    drawn = pd.concat([solution.release(frame[new], seed=k) for k in range(40)])["member"].mean()
    wanted = sum(
        overall[channel.decode(np.arange(channel.signals))[:, 3] == solution.study["member"].labels.index("True")]
    )
    assert drawn == pytest.approx(float(wanted), abs=4 * 0.5 / np.sqrt(40 * new.sum()))


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
    out = study.solve(0).release(frame, keep_order=True)
    assert set(out["age"]) == {"20", "21-30"}
    assert ((frame["age"] < 21) == (out["age"] == "20")).all()


KINDS = {
    "dates": [date(2020, 1, 1), date(2021, 1, 1), date(2022, 1, 1)],
    "times": [time(1), time(2), time(3)],
    "durations": [pd.Timedelta(k, "h") for k in range(3)],
    "instants": [pd.Timestamp(2020, 1, 1 + k, tz="UTC") for k in range(3)],
    "decimals": [Decimal("1.10"), Decimal(2), Decimal("3.5")],
    "truth values with holes": [True, False, None],
    "instants at midnight": [pd.Timestamp(2020, 1, 1 + k) for k in range(3)],
    "texts": ["a\rb", "'=c", "=d"],
    "numbers as categories": pd.Categorical([2, 1, 0], categories=[2, 1, 0]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_one_level_is_released_with_its_type_and_read_from_text_as_it_was(kind, tmp_path):
    values = KINDS[kind]
    cells = values.take([0, 1, 2] * 20) if isinstance(values, pd.Categorical) else pd.Series(list(values) * 20)
    frame = pd.DataFrame({"ill": ["yes", "no", "no"] * 20, "cell": cells})
    solution = Study(frame, {"cell": "0-1"}, [Eve("ill")]).solve(20)  # so dear that Eve must not learn anything
    for part in (frame, frame[:1]):
        out = solution.release(part)["cell"]
        assert out.dtype == part["cell"].dtype or out.dtype == "category"
        assert set(out.dropna()) <= set(frame["cell"].dropna())
        out.to_frame().to_parquet(tmp_path / "out.parquet")  # one type of cells, or Parquet refuses them
        (tmp_path / "out.csv").write_bytes(table_bytes(out.to_frame(), tmp_path / "out.csv"))
        read, channel = read_table(tmp_path / "out.csv")["cell"], solution.published
        assert channel.codes("cell", read).tolist() == channel.codes("cell", out).tolist()


def test_cells_that_are_lists_are_refused_and_not_proposed():
    frame = pd.DataFrame({"a": [[1], [2]], "b": ["x", "y"], "c": [1, 2], "d": [b"x", b"y"]})
    with pytest.raises(InputError, match="column 'a' must be text, a number, a truth value or a date"):
        Study(frame, {"a": "0-1"}, [Eve("b")])
    text = proposal(frame, "t.parquet")
    assert "publish.a" not in text
    assert "publish.d" not in text
    assert '# "a": no levels' in text


def test_two_eves_of_one_name_are_refused():
    frame = records(20)
    with pytest.raises(InputError, match=r"eves\[1\]\.name = 'a' is the name of another Eve"):
        Study(frame, {"pay": "0-1"}, [Eve("ill", name="a"), Eve("member", name="a")])
