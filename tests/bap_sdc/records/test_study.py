"""Studies: the prior is exact, the optimum is that of the undivided program, and what is wrong is refused."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from record_programs import undivided

from bap_cli.main import main
from bap_lp import Conditions, InputError, solve, verify_standalone
from bap_lp.support.rational import public
from bap_sdc import Eve, Study
from bap_sdc.records.bundle import load_solution
from bap_sdc.records.data.prior import held_out
from bap_sdc.records.release.channel_risks import channel_risks


@st.composite
def frames(draw: st.DrawFn, most: int = 14) -> pd.DataFrame:
    n = draw(st.integers(2, most))
    sizes = {"age": 2, "job": 2, "ill": 2, "pay": 3, "town": 2}
    cells = {name: draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)) for name, k in sizes.items()}
    return pd.DataFrame({name: pd.Categorical(v, categories=list(range(sizes[name]))) for name, v in cells.items()})


EVES = [
    Eve("ill", knows=["age"], loss=[[0, 1], [3, 0]], name="one"),
    Eve("job", knows=["age", "town"], name="two", weight=2),
]


# in floats all decisions tie for a record of this survey, at a score of zero that is left of terms of order one
TIED = pd.DataFrame(
    [[0, 0, 0, 0, 0]] * 8 + [[1, 0, 0, 2, 1], [1, 0, 0, 1, 0]] + [[1, 1, 1, 0, 1]] * 2,
    columns=["age", "job", "ill", "pay", "town"],
)


def study_of(frame: pd.DataFrame, **more) -> Study:
    levels = {"columns": {c: {"levels": sorted(set(range(3 if c == "pay" else 2)))} for c in frame}}
    publish = {"pay": "absolute", "town": {"loss": "0-1", "weight": 2}}
    return Study(frame, publish, more.pop("eves", EVES), **levels, **more)


@pytest.mark.slow
@settings(max_examples=30)
@given(frames(), st.sampled_from([F(0), F(1, 2), F(1), F(7, 3)]), st.sampled_from([slice(0, 1), slice(0, 2)]))
def test_the_optimum_is_that_of_the_undivided_program(frame, lam, some):
    study = study_of(frame, eves=EVES[some])
    found = study.solve(lam)
    reference = solve(undivided(study.program), lam)
    assert found.value == found.bound == reference.value
    assert found.verify()
    recomputed = channel_risks(study, found.channel)
    assert (recomputed.bob, recomputed.eve) == (found.risks.bob, found.risks.eve)
    assert recomputed.eves == found.eves
    assert found.risks.alice(lam) == found.value
    weights = [F(public(t.weight)) for t in study.targets]
    assert sum(w * r for w, r in zip(weights, found.columns, strict=True)) == found.risks.bob


@pytest.mark.slow
@settings(max_examples=20)
@given(frames(), st.sampled_from([F(0), F(1, 2), F(7, 3)]), st.sampled_from([slice(0, 1), slice(0, 2)]), st.booleans())
@example(TIED, F(7, 3), slice(0, 2), False)
def test_alices_rule_for_many_records_is_that_for_each(frame, lam, some, exact):
    study = study_of(frame, eves=EVES[some])
    best = study.solve(lam, exact).unconstrained
    types = np.array(list(product(*map(range, study.levels))))
    secrets = types[:, [s.secret for s in study.spies]]
    known = np.column_stack([study.known(types, s) for s in study.spies])
    codes = types[:, list(study.published)]
    one_by_one = [best.rule(*map(list, record)) for record in zip(codes, secrets, known, strict=True)]
    assert best.rules(codes, secrets, known).tolist() == one_by_one


def test_the_prior_is_the_counts_over_n_exactly():
    frame = pd.DataFrame({"a": ["x", "x", "y", "x"], "b": ["1", "2", "1", "1"], "dropped": [1, 2, 3, 4]})
    study = Study(frame, {"a": "0-1"}, [Eve("b")])
    assert study.names == ("a", "b")
    shares = dict(zip(study.state_names(), public(study.prior.p).tolist(), strict=True))
    assert shares == {"a=x, b=1": F(1, 2), "a=x, b=2": F(1, 4), "a=y, b=1": F(1, 4)}


@settings(max_examples=25)
@given(frames(), st.sampled_from(["1/3", 2, "17/4"]), st.sampled_from(["margins", "pooled"]))
def test_smoothing_is_exact_and_shrinks_to_products_of_shares(frame, alpha, toward):
    study = study_of(frame, smoothing=alpha, toward=toward)
    prior, n, a = study.prior, len(frame), F(alpha)
    assert sum(public(prior.p)) == 1
    known = [study.names.index(name) for name in ("age", "town")]
    others = [study.names.index(name) for name in ("job", "ill", "pay")]
    groups = [[k] for k in range(len(study.names))] if toward == "margins" else [known, others]
    for row, count, p in zip(prior.types, prior.counts, public(prior.p), strict=True):
        m = F(1)
        for group in groups:
            m *= F(int((study.codes[:, group] == row[group]).all(axis=1).sum()), n)
        assert p == (F(int(count)) + a * m) / (n + a)
        assert count == (study.codes == row).all(axis=1).sum()


def test_held_out_smoothing_takes_the_candidate_with_the_largest_likelihood():
    generator = np.random.default_rng(3)
    frame = pd.DataFrame({c: generator.integers(0, 3, 200) for c in "abcd"})
    study = Study(frame, {"a": "0-1"}, [Eve("b", knows=["c", "d"])], smoothing="held-out")
    scores = dict(study.prior.likelihoods)
    assert study.prior.alpha == max(scores, key=lambda a: scores[a])
    assert study.prior.alpha >= 8  # the columns are independent: shrinking to the margins is right


def test_the_split_is_deterministic_exact_and_depends_on_the_seed():
    secrets = np.random.default_rng(0).integers(0, 3, 101)
    first = held_out(secrets, F(1, 3), 0)
    assert first.sum() == 33
    assert (first == held_out(secrets, F(1, 3), 0)).all()
    assert (first != held_out(secrets, F(1, 3), 1)).any()


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.fractions(0, 1, max_denominator=12).filter(lambda share: share < 1),
    st.integers(0, 9),
)
def test_every_secret_is_held_out_in_the_same_share_and_none_completely(secrets, share, seed):
    secrets = np.array(secrets)
    out = held_out(secrets, share, seed)
    assert out.sum() <= int(share * len(secrets))
    for one in np.unique(secrets):
        count, held = int((secrets == one).sum()), int(out[secrets == one].sum())
        assert abs(held - share * count) < 1
        assert held < count


def test_the_halves_of_a_study_agree_in_every_combination_of_its_secrets():
    generator = np.random.default_rng(4)
    frame = pd.DataFrame({c: generator.integers(0, k, 403) for c, k in (("ill", 2), ("job", 3), ("pay", 3))})
    study = Study(frame, {"pay": "0-1"}, [Eve("ill"), Eve("job")], holdout="1/2")
    out = pd.Series(study.left_out)
    assert out.sum() == 201
    assert (out.groupby([frame.ill, frame.job]).mean() - 0.5).abs().max() < 1 / 40
    alone = Study(frame[frame.ill == 1], {"pay": "0-1"}, [Eve("job")], holdout="1/2", seed=1)
    assert (alone.left_out != out[frame.ill == 1].to_numpy()).any()


@pytest.mark.slow
def test_conditions_go_through_the_ordinary_problem():
    generator = np.random.default_rng(6)
    frame = pd.DataFrame({c: generator.integers(0, 2, 40) for c in ("age", "ill", "pay")})
    eves = [Eve("ill", knows=["age"])]
    free = Study(frame, {"pay": "0-1"}, eves).solve(0)
    floor = (free.eves[0] + free.nulls[0]) / 2
    found = Study(frame, {"pay": "0-1"}, eves, conditions=Conditions(min_eve_risk=floor)).solve(0)
    assert free.eves[0] < floor <= found.eves[0]
    assert found.gap == 0
    assert found.verify()
    assert len(found.release(frame)) == 40
    with pytest.raises(InputError, match=r"conditions.margin .* is not available for records"):
        Study(frame, {"pay": "0-1"}, eves, conditions={"margin": "1/10"}).solve()
    big = pd.DataFrame({c: generator.integers(0, 60, 4000) for c in ("age", "ill", "pay", "town")})
    wide = Study(big, {"pay": "0-1", "town": "0-1"}, eves, conditions={"exp_epsilon": 2})
    with pytest.raises(InputError, match="probabilities, at most 2000000 can be found at once"):
        wide.solve()


def test_floats_stay_floats():
    frame = pd.DataFrame({"ill": [0, 0, 1, 1, 1], "pay": [0, 1, 1, 1, 0]})
    found = Study(frame, {"pay": [[0, 0.5], [1, 0]]}, [Eve("ill")]).solve(1)
    assert not found.exact
    assert found.gap < 1e-9
    exact = Study(frame, {"pay": "0-1"}, [Eve("ill")])
    assert not exact.solve(1, exact=False).exact
    with pytest.raises(InputError, match="times Eve's largest loss must be below 1e300"):
        exact.solve(10**400)


FRAME = pd.DataFrame({"a": [1, 2, 1], "b": ["x", "y", "x"], "one": [1, 1, 1]})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"publish": {}}, "publish must name at least one column"),
        ({"publish": {"z": "0-1"}}, "publish.z names column 'z', which frame does not have: it has 'a', 'b', 'one'"),
        ({"publish": {"one": "0-1"}}, "column 'one' has only one level"),
        ({"publish": {"a": "cubic"}}, "publish.a.loss = 'cubic' must be one of"),
        ({"publish": {"a": [[0, 1, 2], [1, 0, 2]]}}, "has 3 columns, must have 2"),
        ({"publish": {"a": {"loss": "0-1", "wait": 1}}}, "publish.a.wait is not a known key"),
        ({"publish": {"a": {"weight": 0}}}, "publish.a.weight"),
        ({"eves": []}, "eves must not be empty"),
        ({"eves": [Eve("b", knows=["b"])]}, "eves[0].secret = 'b' is among the columns she knows already"),
        ({"eves": [Eve("z")]}, "eves[0].secret names column 'z'"),
        ({"eves": [Eve("b", knows=["q"])]}, "eves[0].knows names column 'q'"),
        ({"eves": [Eve("b", loss=[[0, 1]])]}, "eves[0].loss has 1 rows, must have 2"),
        ({"eves": [Eve("b", name="n"), Eve("b", name="n")]}, "is the name of another Eve"),
        ({"smoothing": -1}, "smoothing = -1 must be"),
        ({"smoothing": "much"}, "smoothing = 'much' is not a number"),
        ({"holdout": 1}, "holdout = 1 must be at least 0 and below 1"),
        ({"toward": "x"}, "toward = 'x' must be one of margins, pooled"),
        ({"seed": -1}, "seed = -1 must be"),
        ({"title": 3}, "title must be text"),
        ({"columns": {"q": {"levels": [1]}}}, "columns.q names column 'q'"),
        ({"frame": FRAME[:0]}, "frame has no records"),
        ({"frame": pd.DataFrame([[1, 2]], columns=["a", "a"])}, "column = 'a' is given 2 times"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(change, words):
    given = {"frame": FRAME, "publish": {"a": "0-1"}, "eves": [Eve("b")]} | change
    with pytest.raises(InputError) as error:
        Study(**given)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_record_with_weight_three_counts_as_three_records(tmp_path):
    generator = np.random.default_rng(0)
    ill, times = generator.integers(0, 2, 40), generator.integers(1, 5, 40)
    frame = pd.DataFrame({"age": generator.integers(0, 3, 40), "ill": ill, "pay": ill + generator.integers(0, 2, 40)})
    publish, eves = {"pay": "absolute"}, [Eve("ill", ["age"], [[0, 1], [2, 0]])]
    half = [
        f" {t / 2:.1f}".replace(".", ",") for t in times
    ]  # weights that need not be integers, as some files have them
    weighted = Study(frame.assign(w=half), publish, eves, weight="w", decimal=",").solve(1)
    repeated = Study(frame.loc[frame.index.repeat(times)], publish, eves).solve(1)
    assert public(weighted.study.prior.p).tolist() == public(repeated.study.prior.p).tolist()
    assert (weighted.value, weighted.risks) == (repeated.value, repeated.risks)
    assert weighted.study.records == 40
    frame.assign(w=times).to_csv(tmp_path / "t.csv", index=False)
    text = 'data = "t.csv"\nweight = "w"\n[publish.pay]\n[[eve]]\nsecret = "ill"\nknows = ["age"]\n'
    (tmp_path / "s.toml").write_text(text)
    for command in (["microdata", "solve", str(tmp_path / "s.toml"), "--out"], ["verify"]):
        assert main([*command, str(tmp_path / "D")]) == 0
    assert verify_standalone.check(str(tmp_path / "D"))
    assert load_solution(tmp_path / "D").study.prior.model == "weights"


def test_survey_weights_are_shares_of_the_whole_file_and_count_in_the_fit_of_the_secret():
    """Who is ill stands for five people. The secrets of the held-out half are not looked at."""
    generator = np.random.default_rng(1)
    ill = generator.integers(0, 2, 400)
    frame = pd.DataFrame({"age": generator.integers(0, 3, 400), "ill": ill, "pay": generator.integers(0, 2, 400)})
    frame["w"] = 1 + 4 * ill
    publish, eves = {"pay": "absolute"}, [Eve("ill", ["age"])]
    found = Study(frame, publish, eves, weight="w", holdout="1/2").solve(1)
    study = found.study
    assert study.prior.model == "weighted conditional"
    weight, whole = frame["w"].to_numpy(), int(frame["w"].sum())
    for age, pay in product(range(3), range(2)):
        mine = [t[0] == age and t[2] == pay for t in study.prior.types.tolist()]
        at = (frame.age == age) & (frame.pay == pay)
        assert sum(public(study.prior.p[mine])) == F(int(weight[at].sum()), whole)
    yes = float(sum(study.prior.p[study.prior.types[:, 1] == 1]))
    fitted = ~study.left_out
    assert yes == pytest.approx(weight[fitted] @ ill[fitted] / weight[fitted].sum(), abs=0.02)
    assert abs(yes - ill.mean()) > 0.25
    assert found.verify()
    assert found.audit(attackers=()).records == 200
    equal = Study(frame.assign(w=7), publish, eves, weight="w", holdout="1/2")
    assert public(equal.prior.p).tolist() == public(Study(frame, publish, eves, holdout="1/2").prior.p).tolist()


@pytest.mark.parametrize(
    ("weight", "more", "words"),
    [
        ([1, 0, 1], {}, "column 'w', record 2 = '0' must be positive"),
        ([1, 2, None], {}, "column 'w', record 3 must be positive"),
        (["1", "x", "2"], {}, "record 2 = 'x' must be positive"),
        ([1, 2, 3], {"smoothing": 1}, 'weight is for model = "counts" without smoothing and "conditional"'),
        ([1, 2, 3], {"model": "loglinear"}, "weight is for model = "),
        ([1, 2, 3], {"weight": "v"}, "weight = 'v' is not a column of frame"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weight, more, words):
    frame = pd.DataFrame({"ill": [0, 1, 0], "pay": [1, 2, 2], "w": weight})
    with pytest.raises(InputError) as error:
        Study(frame, {"pay": "0-1"}, [Eve("ill")], **{"weight": "w"} | more)
    assert words in str(error.value)
