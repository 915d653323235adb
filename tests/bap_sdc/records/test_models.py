"""Models of the prior against closed forms and other people's fits, and Eves who know draws of the true shares."""

from __future__ import annotations

import json
from fractions import Fraction as F
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from bap_cli.main import main
from bap_lp import InputError, solve
from bap_lp.support.rational import floats, public
from bap_sdc import Eve, Study, load_study
from bap_sdc.records.bundle import load_solution
from bap_sdc.records.data import models
from bap_sdc.records.data.models import CHANCES, chances
from bap_sdc.records.path import lam_within_gain

SMALL = 2.0**-38  # what rounding a probability to 2^-40 may change


def table(n: int = 400, seed: int = 3) -> pd.DataFrame:
    """ill depends on pay and age through a logistic model without interactions; town is noise."""
    g = np.random.default_rng(seed)
    age, pay, town = (g.integers(0, k, n) for k in (2, 3, 2))
    ill = g.random(n) < truth(age, pay)
    return pd.DataFrame({"age": age, "pay": pay, "town": town, "ill": ill.astype(int)})


def truth(age: np.ndarray, pay: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(1 - 0.8 * age - 0.6 * (pay - 1)))


def study_of(frame: pd.DataFrame, informed: int | None = None, **more: object) -> Study:
    eve = Eve("ill", knows=["age"], loss=[[0, 1], [2, 1]], informed=informed)
    return Study(frame, {"pay": "absolute", "town": "0-1"}, [eve], **more)


def shares(study: Study) -> np.ndarray:
    out = np.zeros(study.levels)
    np.add.at(out, tuple(study.prior.types.T), floats(study.prior.p).astype(float))
    return out


def test_the_independence_model_is_the_product_of_the_margins() -> None:
    frame = table()
    got = shares(study_of(frame, model="independent"))
    margins = [np.bincount(frame[c]) / len(frame) for c in frame]
    expected = np.einsum("a,b,c,d->abcd", *margins)
    assert np.abs(got - expected).max() < SMALL


@pytest.mark.parametrize("margins", [(), [["age", "ill"], ["pay", "ill"]], [["age", "pay", "town"]]])
def test_the_log_linear_model_is_the_poisson_regression_on_its_margins(margins: list[list[str]]) -> None:
    import statsmodels.api as sm
    from scipy.linalg import orth

    frame = table()
    got = shares(study_of(frame, model="loglinear", margins=margins))
    counts = np.zeros(got.shape)
    np.add.at(counts, tuple(frame[c].to_numpy() for c in frame), 1)
    alone = [counts.sum(axis=tuple(a for a in range(4) if a != k)) / len(frame) for k in range(4)]
    counts = counts + np.einsum("a,b,c,d->abcd", *alone)  # one record of the independence model
    names = list(frame)
    groups = [tuple(map(names.index, m)) for m in margins] or list(combinations(range(4), 2))
    groups += [(k,) for k in range(4) if not any(k in group for group in groups)]
    cells = np.indices(counts.shape).reshape(4, -1)
    blocks = []
    for group in groups:
        for levels in product(*(range(counts.shape[k]) for k in group)):
            blocks.append(np.all([cells[k] == v for k, v in zip(group, levels, strict=True)], axis=0))
    design = orth(np.column_stack(blocks).astype(float))  # the indicators of the margins, without repetitions
    fit = sm.GLM(counts.ravel(), design, family=sm.families.Poisson()).fit(tol=1e-13)
    assert np.abs(got.ravel() - fit.fittedvalues / counts.sum()).max() < 1e-9


def test_the_conditional_model_keeps_the_other_columns_and_learns_the_secret() -> None:
    frame = table(3000)
    study = study_of(frame, model="conditional")
    got = shares(study)
    others = np.zeros(got.shape[:3])
    np.add.at(others, tuple(frame[c].to_numpy() for c in ("age", "pay", "town")), 1 / len(frame))
    assert np.abs(got.sum(axis=3) - others).max() < SMALL
    age, pay, _ = np.indices(got.shape[:3])
    crude = shares(study_of(frame))
    off = [np.sqrt(((p[..., 1] / p.sum(axis=3) - truth(age, pay)) ** 2).mean()) for p in (got, crude)]
    assert off[0] < min(0.035, 0.8 * off[1])


def test_both_answers_exist_wherever_the_other_columns_do() -> None:
    frame = table(40)
    types = study_of(frame, model="conditional").prior.types
    cells = {tuple(row[:3]) for row in types.tolist()}
    assert {tuple(row) for row in types.tolist()} == {(*cell, ill) for cell in cells for ill in (0, 1)}
    assert len(study_of(frame).prior.types) < len(types)


def test_two_secrets_are_modelled_one_after_the_other() -> None:
    frame = table(300)
    eves = [Eve("ill", knows=["age"]), Eve("town", knows=["age"])]
    study = Study(frame, {"pay": "0-1"}, eves, model="conditional")
    got, p = shares(study), floats(study.prior.p).astype(float)
    assert len(p) == 2 * 3 * 2 * 2
    assert p.sum() == pytest.approx(1)
    own = np.array([((frame.age == a) & (frame.pay == b)).mean() for a, b in product(range(2), range(3))])
    assert np.allclose(got.sum(axis=(2, 3)).ravel(), own)


def test_left_out_secrets_choose_the_model() -> None:
    frame = table(600)
    prior = study_of(frame, model="held-out").prior
    scores = dict(prior.scores)
    assert list(scores) == list(models.MODELS)
    assert prior.model == max(scores, key=lambda name: scores[name])
    assert scores[prior.model] > scores["independent"] + 0.01
    loss = [-frame.ill.mean(), frame.ill.mean() - 1] @ np.log([frame.ill.mean(), 1 - frame.ill.mean()])
    assert scores["independent"] == pytest.approx(-loss, abs=0.005)  # the entropy of the secret


def test_the_score_of_counts_is_what_a_loop_over_records_gives() -> None:
    frame = table(60)
    sample = models.replace(_sample(study_of(frame)), alpha=F(2))
    rows = np.array([[0, 1, 1, 1], [1, 2, 0, 0]])
    codes = sample.codes
    n = len(codes)

    def smoothed(row: np.ndarray) -> float:
        return float((codes == row).all(axis=1).sum()) + 2 * np.prod([(codes[:, k] == row[k]).mean() for k in range(4)])

    for row, got in zip(rows, models._counts_given(sample, rows), strict=True):
        both = [smoothed(np.array([*row[:3], ill])) for ill in (0, 1)]
        assert got == pytest.approx(both[row[3]] / sum(both))
    assert n == 60


def _sample(study: Study) -> models.Sample:
    joined = tuple((k,) for k in range(len(study.names)))
    return models.Sample(study.codes, study.levels, study.names, (study.spies[0].secret,), joined)


@pytest.mark.parametrize("model", ["counts", "loglinear", "conditional"])
def test_an_informed_eve_is_the_eve_with_that_knowledge_of_the_ordinary_problem(model: str) -> None:
    study = study_of(table(60), informed=3, model=model)
    found = study.solve("3/2")
    best = solve(study.problem(), "3/2")
    assert (found.value, found.gap) == (best.value, 0)
    assert found.verify()
    assert found.risks.eve == found.eves[0]
    path = study.path()
    assert path.nulls == found.nulls
    assert found.value <= min(line.risks.alice(F(3, 2)) for line in path.lines) <= found.value + path.width
    plain = study_of(table(60), model=model).solve("3/2")
    assert found.nulls[0] <= plain.nulls[0]
    assert found.value >= plain.value  # she is harder to fool
    compared = {row.name: row for row in found.compare().releases}
    assert min(row.alice for row in compared.values()) == found.value


def test_eves_with_draws_of_their_own_are_added_up() -> None:
    eves = [Eve("ill", ["age"], informed=2, name="a", weight=2), Eve("town", ["age"], name="b"),
            Eve("ill", [], informed=4, name="c")]  # fmt: skip
    study = Study(table(50), {"pay": "absolute"}, eves)
    found = study.solve(1)
    assert found.value == solve(study.problem(), 1).value
    assert len(study.program.eves) == 2 + 1 + 4
    assert found.risks.eve == 2 * found.eves[0] + found.eves[1] + found.eves[2]
    assert [one is None for one in found.fresh] == [False, True, False]
    path = study.path()
    assert path.nulls == found.nulls
    assert found.value <= min(line.risks.alice(1) for line in path.lines) <= found.value + path.width
    frame = table(50, seed=9)
    assert len(found.release(frame, seed=1)) == 50  # also types that were never fitted


def test_fresh_draws_are_judged_by_definition() -> None:
    study = study_of(table(80), informed=5)
    found = study.solve(1)
    types, p = study.prior.types, floats(study.prior.p).astype(float)
    row, signal, q = found.channel.rows(types)
    total = 0.0
    for chance in study.prior.fresh[5].T / CHANCES:
        heard = np.zeros((2, found.channel.signals, 2))
        np.add.at(heard, (types[row, 0], signal, types[row, 3]), (p * chance)[row] * floats(q).astype(float))
        total += (heard @ np.array([[0, 1], [2, 1]])).min(axis=2).sum()
    assert found.fresh[0] == pytest.approx(total, abs=1e-12)


def test_draws_of_counts_have_the_spread_of_the_dirichlet_posterior() -> None:
    study = study_of(table(200), informed=400)
    k = study.prior.draws[400] / CHANCES * 400  # draws divided by their mean
    n_x = study.prior.counts
    assert np.allclose(k.mean(axis=1), 1)
    assert np.allclose(k.std(axis=1), np.sqrt(1 / n_x), rtol=0.25)


def test_chances_are_distributions_also_where_all_draws_vanish() -> None:
    got = chances(np.array([[0.0, 0.0, 0.0], [1e-300, 0, 0], [1, 1, 1]]))
    assert (got.sum(axis=1) == CHANCES).all()
    assert got.min() >= 0
    assert got[1].tolist() == [CHANCES, 0, 0]


STUDY = """
data = "t.csv"
[publish.pay]
loss = "absolute"
[[eve]]
secret = "ill"
knows = ["age"]
informed = 3
[prior]
model = "conditional"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(80).to_csv("t.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_a_folder_has_the_prior_as_it_was_fitted(folder, capsys, monkeypatch) -> None:
    assert main(["microdata", "solve", "study.toml", "--out", "out", "--no-attackers"]) == 0
    shown = capsys.readouterr().out
    assert "the secrets follow a classifier" in shown
    assert "knows which of 3 draws" in shown
    fitted = load_study("study.toml").study.prior
    monkeypatch.setattr(models, "fitted_model", None)  # nothing is fitted again
    read = load_solution("out")
    assert read.verify()
    assert (read.study.prior.p == fitted.p).all()
    assert all((fitted.draws[3] == table).all() for table in (read.study.prior.draws[3], _unpacked(folder)))
    assert main(["microdata", "release", "out", "t.csv", "-o", "released.csv"]) == 0
    result = json.loads((folder / "out" / "result.json").read_text())
    assert result["model"] == "conditional"
    assert result["eves"][0]["informed"] == 3
    assert result["eves"][0]["fresh"] == read.fresh[0]


def _unpacked(folder) -> np.ndarray:
    return np.array(json.loads((folder / "out" / "prior.json").read_text())["draws"]["3"])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("informed = 3", "informed = 0", "study.toml: eve[0].informed = 0 must be an integer from 1 to 1000"),
        ("informed = 3", 'informed = "many"', "study.toml: eve[0].informed = 'many' must be an integer"),
        ('"conditional"', '"boosting"', "study.toml: prior.model = 'boosting' must be one of counts, independent"),
        ('"conditional"', '"loglinear"\nmargins = [["age", "wage"]]', "prior.margins[0] names column 'wage', which is"),
        ('"conditional"', '"loglinear"\nmargins = ["age"]', "study.toml: prior.margins[0] = 'age' must be a list"),
        ('"conditional"', '"counts"\nmargins = [["age"]]', 'prior.margins are for model = "loglinear"'),
        ('"conditional"', '"conditional"\nsmoothing = 2', 'prior.smoothing = 2 is for model = "counts"'),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, capsys, old: str, new: str, words: str) -> None:
    (folder / "study.toml").write_text(STUDY.replace(old, new))
    assert main(["microdata", "solve", "study.toml", "--out", "out"]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.strip().splitlines()) == 1
    assert not (folder / "out").exists()


@pytest.mark.parametrize("more", [*({"model": m} for m in (*models.MODELS[:3], models.CHOOSE)), {"smoothing": 1}])
def test_with_held_out_records_only_a_model_that_knows_their_types_is_accepted(more: dict[str, object]) -> None:
    """The others are shares of the fitted records: 0 for a held-out record of a type that none of them has."""
    frame = table(60)
    study = study_of(frame, holdout="1/2")
    assert study.prior.model == "conditional"
    types = {tuple(row) for row in study.prior.types.tolist()}
    everybody = {tuple(row) for row in study.codes.tolist()}
    assert everybody <= types
    assert not everybody <= {tuple(row) for row in study.codes[~study.left_out].tolist()}
    study_of(frame, **more)  # without held-out records all are
    with pytest.raises(InputError, match=r'hold none out|is for model = "counts", not for "conditional"'):
        study_of(frame, holdout="1/2", **more)


def test_with_held_out_records_the_other_columns_have_the_shares_of_the_whole_file() -> None:
    """Exactly; and the probability of the secret is that of the model fitted to the other half alone."""
    frame = table(120)
    study = study_of(frame, holdout="1/2")
    others = [study.names.index(name) for name in ("age", "pay", "town")]
    for row in np.unique(study.codes[:, others], axis=0):
        own = sum(public(study.prior.p[(study.prior.types[:, others] == row).all(axis=1)]))
        assert own == F(int((study.codes[:, others] == row).all(axis=1).sum()), 120)
    half = study_of(frame[~study.left_out], model="conditional")
    whole, alone = shares(study), shares(half)
    both = (whole.sum(axis=3) > 0) & (alone.sum(axis=3) > 0)
    assert both.sum() > 8
    given = [table[both] / table[both].sum(axis=1, keepdims=True) for table in (whole, alone)]
    assert np.abs(given[0] - given[1]).max() < 1e-8


def test_a_model_that_cannot_be_fitted_says_why() -> None:
    frame, both = table(40).assign(ill=0), {"columns": {"ill": {"levels": [0, 1]}}}  # a secret that nobody here has
    with pytest.raises(InputError, match="only one level of the secret 'ill'"):
        Study(frame, {"pay": "0-1"}, [Eve("ill")], model="conditional", **both)
    chosen = Study(frame, {"pay": "0-1"}, [Eve("ill")], model="held-out", **both).prior
    assert dict(chosen.scores)["conditional"] is None
    alone = Study(table(2000), {"ill": "0-1"}, [Eve("ill")], model="conditional").prior  # no column to learn from
    assert floats(alone.p).astype(float) == pytest.approx(np.bincount(table(2000).ill) / 2000, abs=0.02)
    wide = pd.DataFrame({f"c{k}": np.arange(60) for k in range(4)})
    with pytest.raises(InputError, match="model gives 12960000 record types"):
        Study(wide, {"c0": "0-1"}, [Eve("c1", knows=["c2", "c3"])], model="independent")


def test_lambda_is_searched_for_if_an_informed_eve_may_gain_little() -> None:
    study = study_of(table(80), informed=3)
    lam = lam_within_gain(study, "5%")
    assert study.solve(lam).eves[0] >= F(95, 100) * study.solve(lam).nulls[0]
    assert study.solve(lam * F(19, 21)).eves[0] < F(95, 100) * study.solve(lam).nulls[0]
    assert lam_within_gain(study_of(table(80)), "5%") == study_of(table(80)).path().within_gain("5%").lam
    assert lam_within_gain(study, "100%") == 0
