"""Cells become levels and levels become cells: orders, bands, merged and missing levels, and what is refused."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bap_lp import InputError
from bap_lp.support.rational import public
from bap_sdc.records.data.bands import banding
from bap_sdc.records.data.levels import Reading, column_of
from bap_sdc.records.data.losses import loss_table


def column(values, given=None, dtype=None):
    cells = pd.Series(values, dtype=dtype)
    return column_of(cells, "c", given, "t.csv"), cells


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([3, 1, 2, 1], ("1", "2", "3")),
        ([10.5, -1.0, 2.0], ("-1", "2", "10.5")),
        (["10", "9", "1e1", "010"], ("9", "10")),
        (["b", "a", "b"], ("b", "a")),
        ([True, False], ("False", "True")),
        (["b", None, "a"], ("b", "a", "(missing)")),
        ([2.0, np.nan, 1.0], ("1", "2", "(missing)")),
        (["(missing)", None, "a"], ("(missing)", "a", "((missing))")),
    ],
)
def test_numbers_sort_by_value_and_text_as_it_appears_and_missing_comes_last(values, labels):
    assert column(values)[0].labels == labels


def test_categories_keep_their_order_and_dates_sort_by_value():
    cells = pd.Series(pd.Categorical(["lo", "hi", "lo"], categories=["hi", "mid", "lo"]))
    assert column_of(cells, "c", None, "t").labels == ("hi", "lo")
    days = pd.Series(pd.to_datetime(["2024-02-01", "2023-01-01"]))
    made = column_of(days, "c", None, "t")
    assert made.labels[0].startswith("2023")
    assert made.cells(made.codes(days, "t"), days).equals(days)


def test_levels_that_are_given_fix_the_order_and_may_mix_numbers_and_text():
    made, cells = column(["3+", "1", "2"], {"levels": [1, 2, "3+"]})
    assert made.labels == ("1", "2", "3+")
    assert made.codes(cells, "t").tolist() == [2, 0, 1]


def test_bands_are_closed_below_and_the_last_one_above_too():
    made, cells = column(["0", "24.9", "25", "100", None], {"bands": [0, 25, 35, 100]})
    assert made.labels == ("0 to 25", "25 to 35", "35 to 100", "(missing)")
    assert made.codes(cells, "t").tolist() == [0, 0, 1, 2, 3]
    assert made.cells(np.array([0, 3]), cells[:2]).tolist()[0] == "0 to 25"


def test_merged_cells_share_a_level():
    made, cells = column(["a", "b", "c", "d"], {"merge": {"other": ["b", "d"]}})
    assert made.labels == ("a", "other", "c")
    assert made.codes(cells, "t").tolist() == [0, 1, 2, 1]
    numbers, cells = column([4, 1, 2, 9], {"merge": {"many": [4, 9]}})
    assert numbers.labels == ("1", "2", "many")
    assert numbers.codes(cells, "t").tolist() == [2, 0, 1, 2]


def test_a_merged_level_named_by_a_number_is_the_level_of_that_number_however_it_is_spelled():
    found, cells = column(["1.0", "2", "3", "4"], {"merge": {"1": ["2"], "01": ["3"]}})
    assert found.labels == ("1", "4")
    assert found.codes(cells, "t.csv").tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "Float32"])
def test_a_float_is_the_decimal_that_is_printed_for_it_whatever_its_width(dtype):
    found, cells = column([0.1, 0.7], dtype=dtype)
    assert found.labels == ("0.1", "0.7")
    assert found.cells(np.array([1, 0]), cells).tolist() == cells[::-1].tolist()
    banded, _ = column([0.1, 0.7, 0.3], {"bands": [0.1, 0.7, 1]}, dtype=dtype)
    assert banded.codes(cells, "t.csv").tolist() == [0, 1]


@pytest.mark.parametrize(
    ("values", "given", "words"),
    [
        ([1, 1], None, "only one level"),
        ([None, None], None, "only one level"),
        (["1", "x"], None, "mixes numbers such as '1' and text such as 'x'"),
        (list(range(5000)), None, "has 5000 levels, at most 1000"),
        ([1, 2], {"bands": [0, float("nan"), 3]}, "bands[1] = nan must be finite"),
        ([1, 2], {"bands": [0, 0, 3]}, "bands[1] = 0 must be larger than 0"),
        ([1, 2], {"bands": [0, 3]}, "at least three"),
        ([1, 9], {"bands": [0, 2, 3]}, "'9' must lie between 0 and 3"),
        (["a", "b"], {"bands": [0, 2, 3]}, "'a' must be a number"),
        (["a", "b"], {"levels": ["a"]}, "'b' is not one of columns.c.levels"),
        (["a", "b"], {"levels": ["a", "b", "a"]}, "'a' is given twice"),
        (["a", "b"], {"levels": "ab"}, "must be a list"),
        (["a", "b"], {"merge": {"o": ["z"]}}, "'z' is not in the table"),
        (["a", "b"], {"merge": {"o": ["a"], "p": ["a"]}}, "merged twice"),
        (["a", "b"], {"band": [1]}, "columns.c.band is not a known key"),
        (["a", "b"], {"bands": [1, 2, 3], "levels": ["a"]}, "levels or bands, not both"),
        ([(1,), (2,)], None, "must be text, a number"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(values, given, words):
    with pytest.raises(InputError) as error:
        column(values, given)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_level_names_column_record_value_and_levels():
    made, _ = column(["a", "b"])
    with pytest.raises(InputError, match=r"new.csv: column 'c', record 2 = 'z' must be one of the levels 'a', 'b'"):
        made.codes(pd.Series(["a", "z"]), "new.csv")
    with pytest.raises(InputError, match="record 1 is missing"):
        made.codes(pd.Series([None, "a"]), "new.csv")


@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=2),
    st.sampled_from(["Int64", "float64", "str", "object"]),
)
def test_codes_and_cells_are_inverse_and_keep_the_type(values, dtype):
    texts = [None if v is None else str(v) for v in values] if dtype == "str" else values
    cells = pd.Series(texts, dtype=dtype)
    if cells.nunique(dropna=False) < 2:
        return
    made = column_of(cells, "c", None, "t")
    again = made.cells(made.codes(cells, "t"), cells)
    assert again.dtype == cells.dtype
    assert [None if pd.isna(v) else v for v in again] == [None if pd.isna(v) else v for v in cells]


def test_a_missing_cell_makes_integers_nullable():
    made, _ = column([1, 2, None], dtype="Int64")
    out = made.cells(np.array([0, 2]), pd.Series([1, 2], dtype="int64"))
    assert out.dtype == "Int64"
    assert out.isna().tolist() == [False, True]


def test_named_losses_are_ranks_over_the_largest_difference():
    made, _ = column([10, 20, 40])
    assert public(loss_table("absolute", made, "f")).tolist() == [
        [0, F(1, 2), 1],
        [F(1, 2), 0, F(1, 2)],
        [1, F(1, 2), 0],
    ]
    assert public(loss_table("squared", made, "f"))[0].tolist() == [0, F(1, 4), 1]
    assert public(loss_table("0-1", made, "f"))[0].tolist() == [0, 1, 1]
    holed, _ = column([10, 20, None, 40])
    assert public(loss_table("absolute", holed, "f"))[3].tolist() == [1, 1, 1, 0]
    assert public(loss_table("absolute", holed, "f"))[0].tolist() == [0, F(1, 2), 1, 1]
    with pytest.raises(InputError, match="one per level of c: 10, 20, 40"):
        loss_table([[0, 1]], made, "f")
    with pytest.raises(InputError, match="'cubic' must be one of"):
        loss_table("cubic", made, "f")


@pytest.mark.slow
@given(st.lists(st.fractions(-5, 5), min_size=3, max_size=6, unique=True), st.data())
def test_a_band_is_found_exactly_also_next_to_its_ends(ends, data):
    ends = sorted(ends)
    inside = st.fractions(ends[0], ends[-1]) | st.sampled_from(ends)
    value = data.draw(inside)
    tiny = F(data.draw(st.sampled_from([-1, 0, 1])), 10**40)
    at = min(max(value + tiny, ends[0]), ends[-1])
    place = banding(tuple(ends), "t.csv")(at)
    assert ends[place] <= at
    assert at < ends[place + 1] or at == ends[-1] == ends[place + 1]


def test_cells_may_be_larger_than_floats():
    with pytest.raises(InputError, match="must lie between 0 and 9"):
        column([1, 10**400], {"bands": [0, 5, 9]}, dtype=object)


def test_narrow_bands_have_names_of_their_own():
    narrow = column([0, 1.00000015, 1.00000025], {"bands": [0, 1.0000001, 1.0000002, 1.0000003, 2]})[0]
    assert len(set(narrow.labels)) == 4


def test_bands_of_integers_name_the_integers_they_hold():
    made, cells = column(["4", "5", "19", "20", "-3"], {"bands": [-5, 4, 5, 20, 30]})
    assert made.labels == ("-5 to 3", "4", "5-19", "20-30")
    assert made.codes(cells, "t").tolist() == [1, 2, 2, 3, 0]
    with pytest.raises(InputError, match=r"'4\.5' must be an integer"):
        made.codes(pd.Series(["4.5"]), "t")
    assert column([4, 4.5, 20], {"bands": [4, 5, 20]})[0].labels == ("4 to 5", "5 to 20")


def test_bands_may_be_named():
    made, cells = column([1, 30, 70, None], {"bands": [0, 25, 60, 99], "names": ["young", "middle", "old"]})
    assert made.labels == ("young", "middle", "old", "(missing)")
    assert made.cells(made.codes(cells, "t"), cells).tolist()[:3] == ["young", "middle", "old"]
    for names in (["a", "b"], ["a", "b", "a"], "abc", ["a", "b", ""], [1, 2, 3]):
        with pytest.raises(InputError, match="must be a list of 3 different names"):
            column([1, 30, 70], {"bands": [0, 25, 60, 99], "names": names})
    with pytest.raises(InputError, match=r"columns\.c\.names needs bands"):
        column([1, 30, 70], {"names": ["a", "b"]})


def test_codes_for_missing_cells_and_blanks_are_read_as_what_they_mean():
    reading = Reading(strip=True).extended(["?", "n/a", 99], "missing")
    cells = pd.Series(["a", " a", "?", " n/a ", "b", None, "  "])
    made = column_of(cells, "c", None, "t", reading)
    assert made.labels == ("a", "b", "(missing)")
    assert made.codes(cells, "t").tolist() == [0, 0, 2, 2, 1, 2, 2]
    numbers = pd.Series([1, 99, 2, 99.0])
    assert column_of(numbers, "c", {"missing": [99]}, "t").codes(numbers, "t").tolist() == [0, 2, 1, 2]
    with pytest.raises(InputError, match=r"columns\.c\.missing = '\?' must be a list"):
        column(["a", "?"], {"missing": "?"})


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_losses_in_ranks_are_refused_for_text_without_an_order(loss):
    school = ["bachelor", "highschool", "ged", "none"]
    with pytest.raises(InputError, match=r"needs an order, and text has none \(bachelor, highschool, ged, none\)"):
        loss_table(loss, column(school)[0], "publish.c.loss")
    assert len(loss_table(loss, column(school, {"levels": school[::-1]})[0], "f")) == 4
    assert len(loss_table(loss, column(["no", "yes", None])[0], "f")) == 3  # two levels need no order
    for ordered in (True, False):  # categories have an order if they say so
        made = column_of(pd.Series(pd.Categorical(school, ordered=ordered)), "c", None, "t")
        assert made.ordered == ordered


def test_numbers_beyond_floats_are_levels_and_very_long_ones_are_text_or_refused_in_one_line():
    made, cells = column(["1e899", "2", "3"])
    assert made.codes(cells, "t").tolist() == [2, 0, 1]
    assert made.labels == ("2", "3", "1E+899")
    assert column(["1" * 5000, "x"])[0].labels == ("1" * 5000, "x")
    for mixed in (["1" * 5000, "2"], [10**5000, 1, 2]):
        with pytest.raises(InputError) as error:
            column(mixed, dtype=object)
        assert len(str(error.value)) < 400


def test_levels_may_be_numbers_of_numpy():
    levels = list(np.array([1.5, 2.5]))
    found, cells = column([1.5, 2.5, 1.5], {"levels": levels})
    assert found.labels == ("1.5", "2.5")
    assert found.codes(cells, "t.csv").tolist() == [0, 1, 0]
