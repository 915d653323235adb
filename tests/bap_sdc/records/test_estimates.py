"""What an analyst estimates from a released file: coverage on real tables and closed forms, and nothing else."""

from __future__ import annotations

import json
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from statsmodels.datasets import fair, randhie
from statsmodels.stats.proportion import proportion_confint

from bap_cli.main import main
from bap_lp import InputError
from bap_lp.rational import floats
from bap_sdc import Eve, PublishedChannel, Study, estimates
from bap_sdc.records.release.channels import sample
from bap_sdc.records.release.estimates import solved_shares


def survey() -> tuple[pd.DataFrame, dict]:
    table = fair.load_pandas().data
    table["affair"] = (table.affairs > 0).map({True: "yes", False: "no"})
    table["age"], table["children"] = np.digitize(table.age, [25, 35]), np.digitize(table.children, [1, 3])
    eve = Eve("affair", ["age", "children"], [[0, 1], [3, 0]])
    publish = {"rate_marriage": "absolute", "religious": "absolute"}
    more = {"publish": publish, "eves": [eve], "columns": {"affair": {"levels": ["no", "yes"]}}}
    return table[["rate_marriage", "religious", "affair", "age", "children"]], more


def insurance() -> tuple[pd.DataFrame, dict]:
    raw = randhie.load_pandas().data
    table = pd.DataFrame({"visits": np.minimum(raw.mdvis, 4), "diseases": np.digitize(raw.disea, [5, 10, 15, 20])})
    table["poor"], table["limited"] = (raw.hlthf + raw.hlthp > 0).astype(int), (raw.physlm > 0).astype(int)
    table["plan"] = np.digitize(raw.lncoins, [1, 3])
    eve = Eve("poor", ["limited", "plan"], [[0, 1], [6, 0]])
    return table, {"publish": {"visits": "absolute", "diseases": "absolute"}, "eves": [eve]}


@pytest.mark.slow
@pytest.mark.parametrize(("table", "rounds"), [(survey, 25), (insurance, 15)])
def test_intervals_cover_the_shares_of_a_real_population(table, rounds: int) -> None:
    """Records drawn from a real table, half of them fitted, all released: how often are the table's shares covered?"""
    whole, more = table()
    names = list(more["publish"])
    population = {name: whole[name].value_counts(normalize=True).sort_index().to_numpy() for name in names}
    generator = np.random.default_rng(1)
    hits, naive, total = 0, 0, 0
    for _ in range(rounds):
        frame = whole.iloc[generator.integers(0, len(whole), 2000)].reset_index(drop=True)
        solution = Study(frame, holdout="1/2", **more).solve()
        channel = solution.channel.over(solution.study.codes)
        told = channel.decode(sample(channel, solution.study.codes, generator))
        released = pd.DataFrame({n: np.array(solution.study[n].values)[told[:, j]] for j, n in enumerate(names)})
        found = estimates(PublishedChannel.from_document(solution.published.document()), released)
        for name in names:
            shown, truth = found.table(name), population[name]
            low, high = proportion_confint(shown.raw * 2000, 2000, method="wilson")
            hits += int(((shown.low <= truth) & (truth <= shown.high)).sum())
            naive += int(((low <= truth) & (truth <= high)).sum())
            total += len(truth)
    assert hits >= binom.ppf(1e-3, total, 0.93)  # cells of a file are dependent
    if table is survey:
        assert naive < 0.85 * total  # intervals of the raw shares do not cover: 5% of these cells were changed


def test_an_unchanged_column_has_the_binomial_interval_of_its_raw_share() -> None:
    counts = np.array([0, 3, 57, 140])
    share, low, high, worth = solved_shares(np.eye(4), counts, 0.9)
    assert np.allclose(share, counts / 200)
    assert np.allclose(worth, 1)
    expected = proportion_confint(counts, 200, alpha=0.1, method="wilson")
    assert np.allclose([low, high], expected, atol=1e-12)


def test_a_column_that_is_hardly_changed_has_hardly_a_longer_interval() -> None:
    matrix = 0.99 * np.eye(4) + 0.01 / 4
    counts = np.array([400, 300, 200, 100])
    _, low, high, _ = solved_shares(matrix, counts, 0.95)
    alone = proportion_confint(counts, 1000, method="wilson")
    assert ((high - low) / (alone[1] - alone[0]) < 1.04).all()


def test_randomised_response_has_the_variance_of_warner() -> None:
    """Warner (1965): with truth told with probability P, var = [pi (1 - pi) + P (1 - P) / (2 P - 1)^2] / n."""
    P, n = 0.8, 10_000
    yes = 3800
    share, low, high, _ = solved_shares(np.array([[P, 1 - P], [1 - P, P]]), np.array([n - yes, yes]), 0.95)
    pi = (yes / n + P - 1) / (2 * P - 1)
    error = np.sqrt((pi * (1 - pi) + P * (1 - P) / (2 * P - 1) ** 2) / n)
    assert share[1] == pytest.approx(pi)
    assert (high - low)[1] / 2 == pytest.approx(1.959964 * error, rel=0.01)


def test_levels_that_the_release_does_not_tell_apart_have_all_that_is_possible() -> None:
    merged = np.array([[1.0, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    share, low, high, worth = solved_shares(merged, np.array([500, 260, 240]), 0.95)
    assert worth[0] == pytest.approx(1, abs=0.01)
    assert (worth[1:] == 0).all()
    assert (low[1:] < 0.01).all()
    assert (np.abs(high[1:] - 0.5) < 0.06).all()
    assert share.sum() == pytest.approx(1)
    suppressed = np.full((3, 3), 1 / 3)
    _, low, high, _ = solved_shares(suppressed, np.array([30, 40, 30]), 0.95)
    assert (low == 0).all()
    assert np.allclose(high, 1)


def test_estimates_are_distributions_also_where_the_inverse_is_not() -> None:
    matrix = np.array([[0.6, 0.4], [0.4, 0.6]])
    share, low, high, _ = solved_shares(matrix, np.array([90, 10]), 0.95)  # more than 60% is impossible
    assert share.tolist() == [1, 0]
    assert 0 <= low[0] <= 1 == high[0]


def records(n: int = 400) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    ill = generator.integers(0, 2, n)
    pay = np.clip(generator.integers(0, 3, n) + ill, 0, 2)
    job = np.array(["clerk", "smith", None], dtype=object)[generator.integers(0, 3, n)]
    return pd.DataFrame({"age": generator.integers(0, 2, n), "ill": ill, "pay": pay, "job": job})


@pytest.fixture(scope="module")
def solution():
    return Study(records(), {"pay": "absolute", "job": "0-1"}, [Eve("ill", knows=["age"])]).solve(2)


def test_the_channel_on_published_columns_is_the_average_over_the_rest(solution) -> None:
    study, channel = solution.study, solution.channel
    types, p = study.prior.types, floats(study.prior.p).astype(float)
    row, signal, q = channel.rows(types)
    joint = np.zeros((3, 3))
    told = channel.decode(signal)
    np.add.at(joint, (types[row, 2], told[:, 0]), p[row] * floats(q).astype(float))
    assert np.allclose(solution.published.tables["pay",], joint / joint.sum(axis=1, keepdims=True))
    assert not np.allclose(solution.published.tables["pay",], np.eye(3))
    whole = solution.published.tables["pay", "job"]
    assert np.allclose(whole.sum(axis=1), 1)
    again = PublishedChannel.from_document(json.loads(json.dumps(solution.published.document())))
    assert again.levels == solution.published.levels
    assert np.array_equal(again.tables["pay", "job"], whole)


def test_tables_of_one_and_two_columns_agree(solution) -> None:
    released = solution.release(records(), keep=["age"], seed=3)
    found = solution.posterior(released)
    pair, swapped = found.table(["pay", "job"]), found.table(["job", "pay"])
    assert np.allclose(pair.share.unstack().to_numpy(), swapped.share.unstack().to_numpy().T)
    assert pair.share.sum() == pytest.approx(1)
    assert "(missing)" in found.table("job").index
    age = found.table("age")  # kept as it is: the raw share
    assert np.allclose(age.share, age.raw)
    assert "400 records" in repr(found)


def test_the_shares_of_the_file_itself_are_met(solution) -> None:
    """Many copies of the fitted records: only the noise of the release is left, and it averages out."""
    frame = pd.concat([records()] * 60, ignore_index=True)
    shown = solution.posterior(solution.release(frame, seed=5)).table("pay")
    truth = records().pay.value_counts(normalize=True).sort_index().to_numpy()
    assert np.abs(shown.share - truth).max() < 0.006
    assert np.abs(shown.raw - truth).max() > 0.01


def test_eve_believes_what_bayes_rule_says(solution) -> None:
    study = solution.study
    types, p = study.prior.types, study.prior.p
    row, signal, q = solution.channel.rows(types)
    told = solution.channel.decode(signal)
    mine = (told[:, 0] == 2) & (told[:, 1] == 1) & (types[row, 0] == 1)
    ill = [sum(p[x] * v for x, v in zip(row[mine & (types[row, 1] == k)], q[mine & (types[row, 1] == k)], strict=True))
           for k in (0, 1)]  # fmt: skip
    job = study["job"].labels[1]
    got = solution.believes("ill", {"pay": 2, "job": job}, {"age": 1})
    assert got["1"] == F(str(ill[1] / (ill[0] + ill[1])))
    assert sum(solution.believes("ill", {"pay": 2, "job": None}).values()) == 1


def test_what_is_wrong_is_refused(solution) -> None:
    released = solution.release(records(), seed=0)
    found = solution.posterior(released)
    for call, words in (
        (lambda: solution.posterior(released.drop(columns="pay")), "column = 'pay' is missing"),
        (lambda: solution.posterior(released.iloc[:0]), "has no records"),
        (lambda: solution.posterior(released.assign(pay=9)), "'9' is not one of its levels"),
        (lambda: found.table("ill"), "columns = 'ill' is not a released column: these are pay, job"),
        (lambda: found.table(["pay", "job", "pay"]), "one or two columns"),
        (lambda: found.table("pay", 2), "level = 2 must lie between"),
        (lambda: solution.believes("ill", {}), "'pay' is missing"),
        (lambda: solution.believes("wage", {}), "column = 'wage' must be one of"),
        (lambda: PublishedChannel.from_document({"columns": ["a"]}), "channel must have columns"),
        (lambda: PublishedChannel.from_document({"columns": ["a"], "levels": {"a": ["x"]}, "channel": {"a": [[2]]}}),
         "rows of probabilities"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            call()


def test_the_command_needs_the_channel_and_the_released_file_only(solution, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    solution.release(records(), seed=2).to_csv("released.csv", index=False)
    (tmp_path / "channel.json").write_text(json.dumps(solution.published.document()))
    assert main(["microdata", "estimate", "channel.json", "released.csv", "--columns", "pay,job", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["tables"][0]
    expected = solution.posterior(solution.release(records(), seed=2)).table(["pay", "job"])
    assert np.allclose([row["share"] for row in shown["rows"]], expected.share)
    assert main(["microdata", "estimate", ".", "released.csv"]) == 0
    assert "(missing)" in capsys.readouterr().out
    assert main(["microdata", "estimate", ".", "released.csv", "--columns", "ill"]) == 2
    assert "is not a released column" in capsys.readouterr().err
