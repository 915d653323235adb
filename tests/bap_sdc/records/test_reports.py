"""Eves of a study who report probabilities: a list of reports proves the bound, and the true risk is stated."""

import json
import math
from fractions import Fraction

import numpy as np
import pandas
import pytest

from bap_cli.main import main
from bap_lp import InputError
from bap_lp.model.reports import report_losses
from bap_sdc import Eve, Study
from bap_sdc.records.bundle import _study, load_solution
from bap_sdc.records.data.losses import report_list

FRAME = pandas.DataFrame(
    {
        "age": [1, 1, 1, 1, 2, 2, 2, 2, 2, 1],
        "ill": ["no", "yes", "no", "no", "no", "yes", "yes", "no", "yes", "no"],
        "pay": [1, 3, 2, 3, 1, 3, 3, 2, 2, 1],
    }
)


def study(loss: str, **more) -> Study:
    return Study(FRAME, publish={"pay": "absolute"}, eves=[Eve("ill", knows=["age"], loss=loss)], **more)


def entropy(best) -> float:
    """H(ill | released pay, age) of a solution, by the definition."""
    types, p = best.study.prior.types, best.study.prior.p.astype(float)
    row, signal, q = best.channel.rows(types)
    cells: dict = {}
    for x, s, share in zip(row, signal, q, strict=True):
        age, ill = (types[x, best.study.names.index(c)] for c in ("age", "ill"))
        cells.setdefault((age, s), [0.0, 0.0])[ill] += p[x] * float(share)
    return sum(-m * math.log(m / sum(own)) for own in cells.values() for m in own if m)


@pytest.mark.parametrize("kind", ["log", "brier"])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_reports_of_the_list_are_distributions_and_lose_no_less_than_their_loss(kind, size):
    rows = report_list(kind, size)
    assert (rows.sum(axis=1) == 1).all()
    assert (rows >= 0).all()
    assert len({tuple(row) for row in rows}) == len(rows)
    table = report_losses(kind, rows).astype(float)
    r = rows.astype(float)
    true = -np.log(r).T if kind == "log" else (1 - 2 * r + (r * r).sum(axis=1)[:, None]).T
    assert np.abs(table - true).max() < 1e-12


@pytest.mark.parametrize("kind", ["log", "brier"])
def test_with_two_levels_the_list_costs_eve_little_at_every_posterior(kind):
    mu = np.linspace(0, 1, 2001)
    table = report_losses(kind, report_list(kind, 2)).astype(float)
    listed = np.minimum.reduce((1 - mu)[:, None] * table[0] + mu[:, None] * table[1], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = -np.nan_to_num(mu * np.log(mu)) - np.nan_to_num((1 - mu) * np.log(1 - mu))
    true = own if kind == "log" else 2 * mu * (1 - mu)
    assert (listed >= true - 1e-12).all()
    assert (listed - true).max() < 5e-4


def test_the_risk_with_all_reports_is_the_conditional_entropy():
    best = study("log").solve("1/2")
    assert best.verify()
    assert best.gap == 0
    assert abs(best.reported[0] - entropy(best)) < 1e-12
    assert best.reported[0] <= float(best.eves[0])
    true = float(best.risks.bob) - entropy(best) / 2
    assert float(best.bound) <= true <= best.reported_value + 1e-12
    assert 0 <= best.reported_gap < 5e-4
    assert f"{best.reported[0] / math.log(2):.6g} bits" in best.summary()
    [eve] = best.document()["eves"]
    assert (eve["score"], eve["reported"]) == ("log", best.reported[0])


def test_no_release_is_below_the_bound():
    table, draw = study("log", smoothing=1), np.random.default_rng(0)
    best = table.solve("1/3")
    types, p = table.prior.types, table.prior.p.astype(float)
    pay, ill, age = (types[:, table.names.index(c)] for c in ("pay", "ill", "age"))
    for sharp in (0.1, 1, 10):
        for _ in range(30):
            q = draw.dirichlet([sharp] * 3, len(p))
            bob = (p[:, None] * q * np.abs(pay[:, None] - np.arange(3)) / 2).sum()
            mass = np.array([[(p * (age == z) * (ill == a)) @ q for a in range(2)] for z in range(2)])
            eve = -(mass * np.log(mass / mass.sum(axis=1, keepdims=True))).sum()
            assert bob - eve / 3 >= float(best.bound) - 1e-12


def test_a_folder_keeps_what_the_eve_reports(tmp_path, capsys):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "study.toml").write_text(
        'data = "t.csv"\n[publish.pay]\nloss = "absolute"\n[[eve]]\nsecret = "ill"\nknows = ["age"]\nloss = "brier"\n'
    )
    folder = tmp_path / "release"
    assert main(["microdata", "solve", str(tmp_path / "study.toml"), "--lambda", "1/2", "--out", str(folder)]) == 0
    assert "Eve reports one of 65 distributions; if she may report any, she loses" in capsys.readouterr().out
    again = load_solution(folder)
    assert again.study.spies[0].score == "brier"
    assert again.reported == study("brier").solve("1/2").reported
    assert again.verify()
    document = json.loads((folder / "study.json").read_text())
    document["eves"][0]["score"] = "log"
    with pytest.raises(ValueError, match="a score must be that of the losses"):
        _study(document, json.loads((folder / "prior.json").read_text()))


def test_held_out_records_judge_an_eve_who_reports():
    audit = study("log", holdout="1/5").solve("1/2").audit(attackers=[])
    assert audit is not None
    assert audit.eves[0].informed.value <= audit.eves[0].prior.value + 1e-12


def test_other_eves_have_no_reports():
    best = study("0-1").solve("1/2")
    assert best.reported == (None,)
    assert (best.reported_value, best.reported_gap) == (best.value, Fraction(0))


def test_a_published_column_has_no_reports():
    with pytest.raises(InputError, match="'log' must be one of 0-1, absolute, squared, or a table"):
        Study(FRAME, publish={"pay": "log"}, eves=[Eve("ill")])
    with pytest.raises(InputError, match=r"must be one of 0-1, absolute, squared, log, brier, or a table$"):
        study("lgo")
