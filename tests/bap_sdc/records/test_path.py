"""The path of a study is that of the undivided problem, and its names for lambda mean what they say."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_cli.main import main
from bap_lp import InputError, lambda_path
from bap_lp.support.clock import OutOfTime
from bap_lp.support.rational import public
from bap_sdc import Eve, Study
from bap_sdc.records.optimum.risks import record_lam
from bap_sdc.records.release.alternatives import alternatives
from bap_sdc.records.release.channel_risks import channel_risks

EVES = [
    Eve("ill", knows=["age"], loss=[[0, 1], [3, 0]], name="one"),
    Eve("job", knows=["age", "town"], name="two", weight=2),
]


def records(n: int = 40, seed: int = 0) -> pd.DataFrame:
    sizes = {"age": 2, "job": 3, "ill": 2, "pay": 3, "town": 2}
    draws = np.random.default_rng(seed)
    frame = pd.DataFrame({name: draws.integers(0, k, n) for name, k in sizes.items()})
    frame["pay"] = (frame["pay"] + frame["ill"] + frame["job"]) % 3
    return frame


def telling(n: int) -> pd.DataFrame:
    """Records whose pay tells enough about the illness to be learned from half of them."""
    frame = records(n)
    return frame.assign(pay=frame["ill"] + np.random.default_rng(9).integers(0, 2, n))


def study_of(frame: pd.DataFrame, eves=EVES, **more) -> Study:
    levels = {"job": 3, "pay": 3}
    columns = {c: {"levels": list(range(levels.get(c, 2)))} for c in frame}
    publish = {"pay": "absolute", "town": {"loss": "0-1", "weight": 2}}
    return Study(frame, publish, eves, columns=columns, **more)


@settings(max_examples=12)
@given(st.integers(3, 14), st.integers(0, 10_000), st.sampled_from([EVES[:1], EVES[1:], EVES]))
def test_the_path_is_that_of_the_undivided_problem(n, seed, eves):
    study = study_of(records(n, seed), eves)
    path, whole = study.path(), lambda_path(study.problem())
    assert path.breakpoints == whole.breakpoints
    assert [line.risks for line in path.lines] == [piece.risks for piece in whole.pieces]


@pytest.mark.parametrize("eves", [EVES[:1], EVES])
def test_a_line_is_what_solve_finds_inside_it_and_where_it_starts(eves):
    study = study_of(records(), eves)
    path = study.path()
    assert len(path.lines) > 2
    for line in path.lines:
        for lam in (line.start, line.lam):
            found = study.solve(lam)
            assert found.risks == line.risks
            assert found.eves == line.eves
        assert line.start < line.lam < line.end or line.start == line.lam == 0
    assert path.lines[-1].eves == path.nulls


def test_the_chosen_gain_is_kept_by_every_eve_and_costs_bob_least():
    study = study_of(records())
    path = study.path()
    for gain in (0, "1%", "1/20", 0.1, 1):
        share = F(1, 100) if gain == "1%" else F(str(gain))
        kept = [line for line in path.lines if all(g <= share for g in path.gains(line))]
        chosen = path.within_gain(gain)
        assert chosen.risks.bob == min(line.risks.bob for line in kept)
        best = study.solve(eve_gain=gain)
        assert best.risks == chosen.risks
        assert all(r >= (1 - share) * null for r, null in zip(best.eves, best.nulls, strict=True))
        assert best.verify()


def test_a_path_in_floats_is_that_of_the_fractions_they_are():
    exact = study_of(records(), EVES[:1])
    floats = study_of(records(), [Eve("ill", knows=["age"], loss=[[0.0, 1.0], [3.0, 0.0]], name="one")])
    assert floats.path().breakpoints == exact.path().breakpoints


def test_as_is_makes_no_release_as_good_as_the_published_columns_unchanged():
    study = study_of(records())
    lam = public(record_lam(study.program, " As Is "))
    channels = {channel.name: channel_risks(study, channel) for channel in alternatives(study)[0]}
    unchanged, nothing = (channels[name].risks for name in ("as is", "suppress all"))
    assert unchanged.alice(lam) == nothing.alice(lam)
    assert lam > public(record_lam(study.program, "calibrated"))  # the secrets tell Eve more


def test_as_is_says_when_it_is_undefined():
    frame = pd.DataFrame({"ill": [0, 1, 0, 1], "pay": [0, 0, 1, 1]})
    study = Study(frame, {"pay": "0-1"}, [Eve("ill")])
    with pytest.raises(InputError, match="undefined: Eve does no better with the published columns as they are"):
        study.solve("as is")
    assert study.path().within_gain(0).risks.bob == 0  # which a gain is not: the file as it is tells nothing


@pytest.mark.parametrize("gain", ["-1%", "101%", "2", "%", "much", True, 1.5])
def test_a_gain_that_is_no_share_is_refused(gain):
    with pytest.raises(InputError, match="eve_gain"):
        study_of(records()).solve(eve_gain=gain)


def test_held_out_records_judge_every_line_or_some_of_many():
    study = study_of(telling(60), EVES[:1], holdout="1/2")
    path = study.path()
    assert len(path.lines) > 2
    every = path.audited()
    for line in every.lines:
        assert line.audit.bob == study.solve(line.lam).audit(attackers=()).bob
    assert sum(line.audit is not None for line in path.audited([0, 2]).lines) == 2
    assert study_of(records(60)).path().audited().lines[0].audit is None


def test_under_conditions_the_points_are_optima_and_the_width_holds():
    study = study_of(records(12), EVES[:1], conditions={"exp_epsilon": 100})
    path = study.path()
    assert not path.whole
    for line in path.lines:
        assert study.solve(line.lam).risks == line.risks
    exact = lambda_path(study.problem(), conditions=study.conditions.types)
    assert len(path.lines) > 3
    for lam in (F(1, 7), F(1, 3), F(5, 8)):
        nearest = min(line.risks.alice(lam) for line in path.lines)
        if lam < path.lines[-1].start:
            assert nearest - path.width <= exact.value(lam) <= nearest


def test_under_conditions_a_gain_is_searched_for_to_within_a_twentieth():
    study = study_of(records(12), EVES[:1], conditions={"exp_epsilon": 100})
    found = study.solve(eve_gain="5%")
    assert found.eves[0] >= F(95, 100) * found.nulls[0]
    before = study.solve(found.lam * F(20, 21))
    assert before.eves[0] <= found.eves[0]
    assert before.risks.bob <= found.risks.bob
    assert study.solve(found.lam / 2).eves[0] < F(95, 100) * found.nulls[0]


def test_a_path_stops_at_its_time_limit():
    with pytest.raises(OutOfTime):
        study_of(records()).path(time_limit=0)


STUDY = """
data = "a.csv"
[publish.pay]
loss = "absolute"
[[eve]]
name = "boss"
secret = "ill"
knows = ["age"]
[audit]
holdout = "1/2"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    telling(200).to_csv("a.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_the_file_chooses_lambda_by_eves_gain_or_by_name(folder, capsys):
    for words, said in (('eve_gain = "5%"', "more than 5% better off"), ('lambda = "as is"', "published columns")):
        (folder / "named.toml").write_text(STUDY + f"[alice]\n{words}\n")
        assert main(["microdata", "solve", "named.toml", "--no-attackers"]) == 0
        assert said in " ".join(capsys.readouterr().out.split())
    (folder / "both.toml").write_text(STUDY + '[alice]\nlambda = 1\neve_gain = "5%"\n')
    assert main(["microdata", "solve", "both.toml"]) == 2
    assert "alice.eve_gain = '5%' chooses lambda" in capsys.readouterr().err
    (folder / "bad.toml").write_text(STUDY + '[alice]\neve_gain = "x"\n')
    assert main(["microdata", "solve", "bad.toml"]) == 2
    assert "bad.toml: alice.eve_gain = 'x'" in capsys.readouterr().err


def test_the_path_of_a_file_is_that_of_its_folder(folder, capsys):
    assert main(["microdata", "solve", "study.toml", "--no-attackers", "--out", "solved"]) == 0
    capsys.readouterr()
    assert main(["microdata", "path", "study.toml", "--json"]) == 0
    of_file = capsys.readouterr().out
    assert main(["microdata", "path", "solved", "--json"]) == 0
    assert capsys.readouterr().out == of_file
    assert main(["microdata", "path", "solved"]) == 0
    assert "no Eve gains more than 2%" in capsys.readouterr().out
