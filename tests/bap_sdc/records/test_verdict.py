"""The verdict: what it counts is counted again by hand, and its sentences say both sides."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bap_sdc import Eve, Study
from bap_sdc.records.audit.audit import counted_types, difference, judged
from bap_sdc.records.audit.verdict import as_is, records_at_risk
from bap_sdc.records.release.channels import ColumnChannel


def table(n: int = 400, seed: int = 1) -> pd.DataFrame:
    draws = np.random.default_rng(seed)
    ill = draws.random(n) < 0.3
    return pd.DataFrame(
        {
            "age": draws.integers(0, 3, n),
            "pay": np.clip(draws.integers(0, 4, n) - ill, 0, 3),
            "town": draws.integers(0, 2, n),
            "ill": np.where(ill, "yes", "no"),
        }
    )


def study_of(frame: pd.DataFrame, **more) -> Study:
    eve = Eve("ill", knows=["age"], loss=[[0, 1], [2, 0]], name="boss")
    return Study(frame, {"pay": "absolute", "town": "0-1"}, [eve], columns={"ill": {"levels": ["no", "yes"]}}, **more)


@pytest.fixture(scope="module")
def solved():
    return study_of(table(), holdout="1/2").solve(1)


def test_the_difference_to_the_file_as_it_is_is_that_of_two_audits(solved):
    rows = {row.name: row.audit for row in solved.compare(()).releases}
    lam = float(solved.lam)
    for name, other in (("as is", "as is"), ("nothing", "suppress all")):
        own, theirs = rows["optimum"], rows[other]
        strongest, informed = solved.verdict(()).against[name]
        gap = own.strongest.value - theirs.strongest.value
        assert strongest.value == pytest.approx(own.bob.value - theirs.bob.value - lam * gap)
        gap = own.informed.value - theirs.informed.value
        assert informed.value == pytest.approx(own.bob.value - theirs.bob.value - lam * gap)


def test_value_and_standard_error_are_those_of_the_records_one_by_one():
    """The file as it is against nothing, written out for every one of 200 records that were not counted."""
    study = study_of(table()[:200])
    held = study.encode(table()[200:])
    age, ill, pay, town = (study.names.index(name) for name in ("age", "ill", "pay", "town"))
    loss = np.array([[0, 1], [2, 0]])
    votes = defaultdict(lambda: np.zeros(2))
    for record in study.codes:
        votes[record[age], record[pay], record[town]][record[ill]] += 1
        votes[record[age]][record[ill]] += 1
    middle = min(range(4), key=lambda level: np.abs(study.codes[:, pay] - level).sum())
    usual = int(np.bincount(study.codes[:, town]).argmax())
    values = {0: [], 1: []}
    for tie in values:  # which of two guesses of equal cost she takes: the better one counts
        for record in held:
            told = votes.get((record[age], record[pay], record[town]), votes[record[age]])
            costs = [told @ loss, votes[record[age]] @ loss]
            guesses = [tie if cost[0] == cost[1] else int(cost.argmin()) for cost in costs]
            told, alone = (loss[record[ill], guess] for guess in guesses)
            bob = -abs(record[pay] - middle) / 3 - (record[town] != usual)
            values[tie].append((told, bob - 0.7 * (told - alone)))
    best = [value for _, value in min(values.values(), key=lambda pairs: np.mean(pairs, axis=0)[0])]
    nothing = ColumnChannel("nothing", study.published, (np.ones((4, 1)), np.ones((2, 1))))
    types, counts = counted_types(held, study.levels)
    found, _ = difference(*(judged(study, c, types, counts) for c in (as_is(study), nothing)), 0.7)
    assert found.value == pytest.approx(np.mean(best))
    assert found.error == pytest.approx(np.std(best, ddof=1) / np.sqrt(len(best)))


@pytest.mark.parametrize("holdout", [0, "1/2"])
def test_certainty_is_counted_as_by_hand(holdout):
    """A model of the secrets leaves both possible everywhere, and counts do not."""
    solved = study_of(table()[:200] if holdout == 0 else table(), holdout=holdout).solve(1)
    study = solved.study
    channel, types = solved.channel, study.prior.types
    age, ill = study.names.index("age"), study.names.index("ill")
    possible, alone = defaultdict(set), defaultdict(set)
    beliefs, released = defaultdict(lambda: np.zeros(2)), defaultdict(lambda: np.zeros(2))
    p = [float(v) for v in study.program.p]
    row, signal, q = channel.rows(types)
    for x, s, share in zip(row.tolist(), signal.tolist(), q.tolist(), strict=True):
        possible[types[x, age], s].add(types[x, ill])
        alone[types[x, age]].add(types[x, ill])
        released[types[x, age], s][types[x, ill]] += p[x] * float(share)
    for x, mass in enumerate(p):
        beliefs[types[x, age]][types[x, ill]] += mass
    share = sum(
        p[x] * float(v)
        for x, s, v in zip(row.tolist(), signal.tolist(), q.tolist(), strict=True)
        if len(possible[types[x, age], s]) == 1 and len(alone[types[x, age]]) > 1
    )
    found = solved.verdict(()).certain[0]
    assert found.after == pytest.approx(share)
    for surest, masses in zip(found.surest, (beliefs, released), strict=True):
        assert surest == pytest.approx(max(mass.max() / mass.sum() for mass in masses.values()))
    as_it_is = study.solve(0).verdict(()).certain[0].after
    assert (as_it_is >= share > 0) if holdout == 0 else (as_it_is == share == 0)
    assert (found.surest[1] == 1) == (holdout == 0)


def test_a_huge_lambda_has_finite_standard_errors():
    found = study_of(table(), holdout="1/2").solve(1e200).verdict()
    assert all(0 <= one.error < 1e201 for pair in found.against.values() for one in pair)


def test_groups_of_the_published_columns_are_those_of_pandas():
    frame = table(60)
    verdict = study_of(frame).solve(0).verdict()
    sizes = frame.groupby(["pay", "town"])["ill"].agg(["size", "nunique"])
    for groups in (verdict.before, verdict.after):  # at lambda = 0 nothing is changed
        assert groups.k == sizes["size"].min()
        assert groups.unique == (sizes["size"] == 1).sum()
        assert dict(groups.secrets)["ill"] == sizes["nunique"].min()


def test_records_at_risk_are_those_whose_secret_becomes_likelier(solved):
    listed = records_at_risk(solved, 5)
    assert len(listed) == 5
    rises = [one.after - one.before for one in listed]
    assert rises == sorted(rises, reverse=True)
    assert all(0 <= one.before <= 1 and 0 <= one.after <= 1 and one.count > 0 for one in listed)
    everything = records_at_risk(study_of(table()).solve(0), 5)
    assert everything[0].after == 1


def test_public_words_have_three_decimals_and_no_counts(solved):
    verdict = solved.verdict(())
    loose = replace(verdict, light=replace(verdict.light, bob=(0.05512, 0.00123, 0.05001)))
    internal, public = (" ".join(loose.words(public)) for public in (False, True))
    assert "loses 0.05512 (give or take 0.00246), where 0.05001" in internal
    assert "loses 0.055 (give or take 0.002), where 0.050" in public
    assert re.findall(r"\d\.\d{4,}", public) == []
    assert "200 held-out records" in internal
    assert "200" not in public
