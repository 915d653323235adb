"""The analyst's posterior: its intervals cover, and without noise it is the Dirichlet posterior of the counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bap_lp import InputError
from bap_lp.rational import floats
from bap_sdc import Eve, Study
from bap_sdc.records.data.prior import keys
from bap_sdc.records.release.channels import sample
from bap_sdc.records.release.mixing import directions, grouped
from bap_sdc.records.release.posterior import sampled


def records(n: int = 400, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    ill = generator.integers(0, 2, n)
    pay = np.clip(generator.integers(0, 3, n) + ill, 0, 2)
    return pd.DataFrame({"age": generator.integers(0, 2, n), "ill": ill, "pay": pay})


@pytest.fixture(scope="module")
def solution():
    return Study(records(), {"pay": "absolute"}, [Eve("ill", knows=["age"])]).solve(1)


def test_without_noise_it_is_the_dirichlet_posterior_of_the_counts():
    frame = records()
    found = Study(frame, {"pay": "0-1"}, [Eve("ill")]).solve(0)
    table = found.posterior(found.release(frame), draws=3000).table("pay")
    share = frame["pay"].value_counts(normalize=True).sort_index()
    error = np.sqrt(share * (1 - share) / len(frame))
    assert (abs(table["mean"].to_numpy() - share.to_numpy()) < 0.15 * error.to_numpy()).all()
    width = (table["high"] - table["low"]).to_numpy() / (2 * 1.96 * error.to_numpy())
    assert (abs(width - 1) < 0.1).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", [300, 30_000])
def test_credible_intervals_cover_as_often_as_they_say(solution, size):
    # theta is drawn from the prior, so that the intervals of a correct sampler cover exactly as often as they say
    study, channel = solution.study, solution.channel
    types = study.prior.types
    row, signal, q = channel.rows(types)
    entries = (row, signal, floats(q))
    told = channel.decode(np.arange(channel.signals))
    generator = np.random.default_rng(11)
    hits = trials = 0
    for k in range(60):
        theta = generator.dirichlet(np.ones(len(types)))
        drawn = types[generator.choice(len(types), size, p=theta)]
        seen = keys(told[sample(channel, drawn, generator)], channel.symbols)
        sent = keys(told[signal], channel.symbols)
        found = sampled(study, types, entries, told, sent, seen, 300, k, concentration=1.0)
        for columns in ("pay", "ill", ("pay", "ill")):
            table = found.table(columns, 0.8)
            at = [study.names.index(c) for c in ([columns] if isinstance(columns, str) else columns)]
            truth = np.bincount(keys(types[:, at], [study.levels[c] for c in at]), theta, len(table))
            hits += int(((table["low"] <= truth) & (truth <= table["high"])).sum())
            trials += len(table)
    # about 11 cells of a file are dependent: the error of 660 trials is that of a few hundred
    assert abs(hits / trials - 0.8) < 4 * np.sqrt(0.16 / 200)


def test_what_a_release_does_not_tell_stays_as_uncertain_as_under_the_prior():
    """Published as it is, pay does not tell who is ill: among people of one pay, their share keeps its prior law."""
    frame = pd.concat([records()] * 50)
    found = Study(frame, {"pay": "0-1"}, [Eve("ill")]).solve(0)
    drawn = found.posterior(found.release(frame), draws=2000, concentration=1.0)
    pay, ill = (found.study.names.index(name) for name in ("pay", "ill"))
    for level in (1, 2):  # pay = 0 has no ill record
        share = drawn.draws[:, (drawn.types[:, pay] == level) & (drawn.types[:, ill] == 1)].sum(axis=1)
        share /= drawn.draws[:, drawn.types[:, pay] == level].sum(axis=1)
        assert abs(share.mean() - 1 / 2) < 4 * np.sqrt(1 / 12 / 2000)
        assert abs(share.var() - 1 / 12) < 4 * np.sqrt(1 / 180 / 2000)  # of the uniform law, Beta(1, 1)


@pytest.mark.parametrize("pure", [0, 3, 6])
@pytest.mark.parametrize("words", [3, 6, 9])
def test_directions_change_no_probability_of_a_word_and_there_are_no_others(pure, words):
    generator = np.random.default_rng(words)
    q = np.round(generator.dirichlet(np.full(words, 0.3), 12), 3)
    q[np.arange(12), q.argmax(axis=1)] += 1 - q.sum(axis=1)
    q[: min(pure, words)] = np.eye(words)[: min(pure, words)]
    q[11] = q[10]  # two types that cannot be told apart
    row, word = np.nonzero(q > 1e-12)
    group, tables = grouped(row, word, q[row, word], 12)
    assert group[10] == group[11]
    assert len(tables) == 11
    found = directions(tables, words, np.ones(11))
    ways = []
    for moves in found:
        some = np.zeros((len(moves.at), 12))
        np.add.at(some, (np.arange(len(some))[:, None], moves.at), moves.slope)
        assert ((some != 0).sum(axis=0) <= 1).all()  # no group in common
        ways += some[:, :11].tolist()
    whole = q[[int(np.flatnonzero(group == g)[0]) for g in range(11)]]
    assert np.abs(np.array(ways) @ whole).max() < 1e-10
    assert len(ways) == np.linalg.matrix_rank(ways) == 11 - np.linalg.matrix_rank(whole)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["square", "no row of the identity", "more words than rows"])
def test_the_chain_has_the_mean_and_spread_of_weighted_draws_from_the_prior(solution, table):
    """Shares drawn from the Dirichlet prior, weighted by the likelihood of the file, are the posterior itself."""
    generator = np.random.default_rng(2)
    words = {"square": 4, "no row of the identity": 2, "more words than rows": 7}[table]
    types = solution.study.prior.types
    n = len(types)
    q = generator.dirichlet(np.full(words, 0.3), n)
    if table == "square":
        q[: words - 1] = np.eye(words)[: words - 1]
    seen = generator.choice(words, 12, p=q.mean(axis=0))
    row, word = np.nonzero(q)
    told = np.zeros((words, 1), dtype=np.int64)
    chain = sampled(solution.study, types, (row, word, q[row, word]), told, word, seen, 6000, 1, concentration=0.7)
    theta = generator.dirichlet(np.full(n, 0.7), 150_000)
    likely = np.exp(np.log(theta @ q)[:, seen].sum(axis=1))
    likely /= likely.sum()
    mean, spread = likely @ theta, likely @ (theta - likely @ theta) ** 2
    size = 1 / (likely**2).sum()
    assert abs(chain.draws.mean(axis=0) - mean).max() < 5 * np.sqrt(spread.max() * (1 / size + 50 / 6000))
    assert abs(chain.draws.var(axis=0) / spread - 1).max() < 0.25


def test_kept_columns_narrow_what_a_record_can_be(solution):
    frame = records()
    bare = solution.posterior(solution.release(frame, seed=1), draws=300)
    kept = solution.posterior(solution.release(frame, keep=["age"], seed=1), draws=300)
    share = (frame["age"] == 1).mean()
    table = kept.table("age")
    assert abs(table["mean"].iloc[1] - share) < 0.02
    widths = [(t["high"] - t["low"]).iloc[1] for t in (bare.table("age"), table)]
    assert widths[1] < 0.5 * widths[0]


def test_eve_believes_what_bayes_rule_says(solution):
    study = solution.study
    types, p = study.prior.types, floats(study.program.p)
    found = solution.posterior(solution.release(records(), seed=0), draws=20)
    found = replace(found, draws=p[None])  # an analyst who is sure of the shares
    q = np.zeros((len(types), solution.channel.signals))
    row, signal, share = solution.channel.rows(types)
    q[row, signal] = floats(share)
    s = int(np.flatnonzero((solution.channel.decode(np.arange(q.shape[1])) == 2).all(axis=1))[0])
    mass = p * q[:, s] * (types[:, study.names.index("age")] == 1)
    truth = mass[types[:, study.names.index("ill")] == 1].sum() / mass.sum()
    assert found.believes("ill", {"pay": 2}, {"age": 1})["1"] == pytest.approx(truth)
    assert sum(found.believes("ill", {"pay": 2}).values()) == pytest.approx(1)


def test_what_is_wrong_is_refused(solution):
    released = solution.release(records(), seed=0)
    found = solution.posterior(released, draws=20)
    assert "20 draws" in repr(found)
    for call, words in (
        (lambda: solution.posterior(released.drop(columns="pay")), "'pay' is missing"),
        (lambda: solution.posterior(released, draws=0), "draws = 0 must be"),
        (lambda: found.table("wage"), "must be one of age, ill, pay"),
        (lambda: found.table(["pay", "ill", "age"]), "one or two columns"),
        (lambda: found.table("pay", 2), "level = 2 must lie between"),
        (lambda: found.believes("ill", {}), "'pay' is missing"),
    ):
        with pytest.raises(InputError, match=words):
            call()
