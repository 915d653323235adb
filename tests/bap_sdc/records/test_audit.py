"""The audit: on the fitted records it gives the model's risks, on others no Eve beats the informed one."""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import product

import numpy as np
import pandas as pd
import pytest

from bap_lp import InputError
from bap_lp.support.rational import floats
from bap_sdc import Eve, Study
from bap_sdc.records.audit.attackers import ATTACKERS
from bap_sdc.records.audit.audit import audit_channel, believed, counted_types
from bap_sdc.records.release.alternatives import alternatives
from bap_sdc.records.release.channels import ColumnChannel, sample


def records(n: int, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    ill = generator.integers(0, 2, n)
    pay = np.clip(generator.integers(0, 3, n) + ill, 0, 2)
    return pd.DataFrame(
        {"age": generator.integers(0, 4, n), "ill": ill, "pay": pay, "town": generator.integers(0, 2, n)}
    )


EVES = [Eve("ill", knows=["age"], loss=[[0, 1], [3, 0]], name="one", weight=2), Eve("town", name="two")]


def study_of(frame: pd.DataFrame, eves=EVES[:1], **more) -> Study:
    return Study(frame, {"pay": "absolute", "age": "0-1"}, eves, **more)


@pytest.mark.parametrize("eves", [EVES[:1], EVES])
def test_on_the_fitted_records_an_audit_gives_the_risks_of_the_model(eves):
    frame = records(150, 1)
    found = study_of(frame, eves).solve(1)
    audit = found.audit(frame, attackers=())
    assert audit.unseen == 0
    assert audit.bob.value == pytest.approx(float(found.risks.bob), abs=1e-12)
    assert audit.eve.value == pytest.approx(float(found.risks.eve), abs=1e-12)
    assert audit.informed.value == pytest.approx(float(found.risks.eve), abs=1e-12)
    for eve, risk, null in zip(audit.eves, found.eves, found.nulls, strict=True):
        assert eve.prior.value == pytest.approx(float(risk), abs=1e-12)
        assert eve.null.value == pytest.approx(float(null), abs=1e-12)
    for name, risk in zip(audit.columns, found.columns, strict=True):
        assert audit.columns[name].value == pytest.approx(float(risk), abs=1e-12)
    for name, share in zip(audit.utility.changed, found.changed, strict=True):
        assert audit.utility.changed[name] == pytest.approx(float(share), abs=1e-12)


@pytest.mark.slow
def test_no_attacker_beats_the_informed_eve_on_held_out_records(monkeypatch):
    found = study_of(records(300, 2), holdout="1/2").solve(1)
    some, _ = alternatives(found.study)
    monkeypatch.setattr("bap_sdc.records.release.alternatives.alternatives", lambda study: (some[::4], []))
    comparison = found.compare(attackers=None)
    assert len(comparison.releases) == 1 + len(some[::4])
    for row in comparison.releases:
        assert row.risks.exact
        for eve in row.audit.eves:
            assert set(eve.attackers) == set(ATTACKERS)
            others = [eve.prior, eve.null, *eve.attackers.values()]
            assert min(one.value for one in others) >= eve.informed.value - 1e-12
    best = comparison.releases[0]
    assert best.name == "optimum"
    assert (best.risks.bob, best.alice) == (found.risks.bob, found.value)


def test_the_optimum_comes_first_and_every_release_is_exact():
    found = study_of(records(200, 2), EVES, holdout="1/2").solve("1/2")
    comparison = found.compare(attackers=())
    assert comparison.releases[0].name == "optimum"
    assert comparison.releases[0].alice == found.value
    assert len(comparison.releases) > 10
    for row in comparison.releases:
        assert row.risks.exact
        assert row.alice == row.risks.bob - found.lam * row.risks.eve >= found.value
        assert all(eve.prior.value >= eve.informed.value - 1e-12 for eve in row.audit.eves)
    assert len(comparison.to_frame()) == len(comparison.releases)


def test_risks_and_standard_errors_are_those_of_simulated_releases():
    """The optimum leaves Eve indifferent, so she is simulated with ties broken both ways, and the better one counts."""
    frame = records(240, 3)
    found = study_of(frame, holdout="1/2").solve(1)
    study = found.study
    audit = found.audit(attackers=())
    held = study.codes[study.left_out]
    assert not found.channel.unseen(held).any()
    channel = found.channel
    spy, loss = study.spies[0], floats(study.spies[0].loss)
    fitted, p = study.prior.types, floats(study.program.p)
    z_fit, z = study.known(fitted, spy), study.known(held, spy)
    joint = {
        v: channel.joint(fitted[z_fit == v], p[z_fit == v], fitted[z_fit == v, spy.secret], 2) for v in np.unique(z)
    }
    total = {"first": [], "last": []}
    generator = np.random.default_rng(0)
    for _ in range(300):
        signal = sample(channel, held, generator)
        costs = np.array([joint[v][:, s] @ loss for s, v in zip(signal, z, strict=True)])
        tied = np.isclose(costs, costs.min(axis=1, keepdims=True), rtol=1e-9, atol=0)
        for how, guess in (("first", tied.argmax(axis=1)), ("last", 1 - tied[:, ::-1].argmax(axis=1))):
            total[how].append(loss[held[:, spy.secret], guess])
    best = min(total.values(), key=np.mean)
    assert np.mean(total["first"]) != np.mean(total["last"])
    mean = np.mean(best, axis=0)  # by record, averaged over releases
    assert audit.eves[0].prior.value == pytest.approx(mean.mean(), abs=4 * np.std(best, axis=1).mean() / 300)
    assert audit.eves[0].prior.error == pytest.approx(mean.std(ddof=1) / np.sqrt(len(held)), rel=0.05)


def test_an_eve_who_knows_the_mechanism_decides_by_its_whole_law_and_her_beliefs():
    """Her risk from the law of the release, written out record by record for her counts and for a classifier."""
    frame = records(240, 3)
    found = study_of(frame, holdout="1/2").solve(1)
    study, spy = found.study, found.study.spies[0]
    loss = floats(spy.loss)
    held = study.codes[study.left_out]
    audited = found.audit().eves[0].knowing
    minds = believed(study, None)
    assert list(minds) == list(audited) == ["counts of the fitted half", "logistic regression", "gradient boosting"]
    for name, (rows, shares) in minds.items():
        assert shares.sum() == pytest.approx(1)
        votes = defaultdict(lambda: np.zeros(2))
        for x, s, q in zip(*found.channel.rows(rows), strict=True):
            votes[int(study.known(rows[[x]], spy)[0]), s][rows[x, spy.secret]] += shares[x] * float(q)
        alone = defaultdict(lambda: np.zeros(2))
        for row, z, p in zip(study.prior.types, study.known(study.prior.types, spy), study.prior.p, strict=True):
            alone[int(z)][row[spy.secret]] += float(p)
        costs = np.zeros(len(held))
        for x, s, q in zip(*found.channel.rows(held), strict=True):
            z = int(study.known(held[[x]], spy)[0])
            heard = votes[z, s] if votes[z, s].sum() else alone[z]
            costs[x] += float(q) * loss[held[x, spy.secret], int((heard @ loss).argmin())]
        assert audited[name].value == pytest.approx(costs.mean(), abs=1e-9)
        assert audited[name].error == pytest.approx(costs.std(ddof=1) / np.sqrt(len(held)), abs=1e-9)


def test_the_strongest_eve_is_the_one_with_the_smallest_risk_and_never_the_informed_one():
    audit = study_of(records(240, 3), EVES, holdout="1/2").solve(1).audit(attackers=["logistic regression"])
    for eve in audit.eves:
        kinds = {"the study's own model", "learned from a release: logistic regression"}
        assert set(eve.kinds) == kinds | {f"knows the mechanism, {name}" for name in eve.knowing}
        assert eve.kinds[eve.strongest].value == min(one.value for one in eve.kinds.values()) >= eve.informed.value
    both = [2 * audit.eves[0].kinds[audit.eves[0].strongest].value, audit.eves[1].kinds[audit.eves[1].strongest].value]
    assert audit.strongest.value == pytest.approx(sum(both))
    assert audit.strongest.value <= audit.eve.value


@pytest.mark.slow
def test_an_audit_depends_on_the_types_of_the_records_and_not_on_their_order():
    frame = records(200, 4)
    found = study_of(frame, holdout="1/2").solve(1)
    other = records(100, 5)
    one, two = (found.audit(f, attackers=["logistic regression"]).document() for f in (other, other[::-1]))
    assert one == two


def test_blocks_of_known_values_do_not_change_an_audit(monkeypatch):
    found = study_of(records(200, 6), EVES, holdout="1/3").solve(1)
    whole = found.audit(attackers=["gradient boosting"]).document()
    monkeypatch.setattr("bap_sdc.records.audit.audit._CELLS", 1)
    parts = found.audit(attackers=["gradient boosting"]).document()
    assert str(whole)[:80] == str(parts)[:80]
    np.testing.assert_allclose(whole["eves"][0]["prior"]["value"], parts["eves"][0]["prior"]["value"])
    assert whole["eves"][0]["attackers"] == parts["eves"][0]["attackers"]


def test_disclosure_measures_of_a_table_worked_out_by_hand():
    frame = pd.DataFrame({"z": list("aaabbc"), "ill": [0, 0, 1, 0, 0, 1], "pay": [0, 0, 1, 0, 1, 1]})
    found = Study(frame, {"pay": "0-1"}, [Eve("ill", knows=["z"])]).solve(0)  # lam = 0: as is
    eve = found.audit(frame, attackers=()).eves[0]
    d = eve.disclosure
    assert (d.k, d.unique, d.l, d.reidentified) == (1, 1, 1, 3.0)
    assert d.posterior == 1.0
    assert (d.better, d.worse) == (pytest.approx(1 / 6), 0.0)  # with pay known, the ill one of the three is guessed too
    two = Study(frame[:5], {"pay": "0-1"}, [Eve("ill", knows=["z"])])
    assert two.solve(0).audit(frame[:3], attackers=()).eves[0].disclosure.posterior_null == pytest.approx(2 / 3)


def test_links_are_fewer_if_a_known_column_is_released_perturbed():
    frame = records(300, 7)
    found = study_of(frame).solve(3)
    changed = found.changed[1]
    d = found.audit(frame, attackers=()).eves[0].disclosure
    assert d.reidentified_before == 4
    assert changed == 0 or d.reidentified < 4


@pytest.mark.parametrize("seed", range(6))
def test_expected_links_are_those_of_all_outcomes_of_the_release(seed):
    """Every outcome is listed: Eve picks at random among the records that show what she looks for."""
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({"z": [0, 0, 1, 1, 2], "town": [0, 1, 0, 0, 1], "ill": [0, 1, 1, 0, 1]})
    study = Study(frame, {"z": "0-1"}, [Eve("ill", knows=["z", "town"] if seed % 2 else ["z"])])
    matrix = generator.dirichlet(np.ones(3) / 2, 3)
    channel = ColumnChannel("random", study.published, (matrix,))
    types, counts = counted_types(study.codes, study.levels)
    found = audit_channel(study, channel, types, counts, ()).eves[0].disclosure.reidentified
    z, town = frame["z"], frame["town"] if seed % 2 else [0] * 5
    want = {}  # (what she knows of her target, the word she looks for): expected correct links
    for outcome in product(range(3), repeat=5):
        chance = np.prod([matrix[a, b] for a, b in zip(z, outcome, strict=True)])
        shown = list(zip(outcome, town, strict=True))
        for r in range(5):
            key = (z[r], town[r], outcome[r])
            want[key] = want.get(key, 0.0) + chance / shown.count(shown[r])
    best = {}
    for (level, place, _), links in want.items():
        best[level, place] = max(best.get((level, place), 0.0), links)
    assert found == pytest.approx(sum(best.values()), abs=1e-12)


def test_the_records_that_show_a_word_are_averaged_as_one_over_their_number():
    """Three records a, b, b; a is released as b with probability 1/2: 1/2 for a, and for the two b (1/2 + 1/3) / 2."""
    frame = pd.DataFrame({"z": list("abb"), "ill": [0, 1, 0]})
    study = Study(frame, {"z": "0-1"}, [Eve("ill", knows=["z"])])
    channel = ColumnChannel("half", study.published, (np.array([[0.5, 0.5], [0.0, 1.0]]),))
    found = audit_channel(study, channel, *counted_types(study.codes, study.levels), ()).eves[0].disclosure
    assert found.reidentified == pytest.approx(1 / 2 + 5 / 6, abs=1e-12)


def test_an_audit_needs_scikit_learn_only_for_attackers(monkeypatch):
    frame = records(60, 8)
    found = study_of(frame).solve(1)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for name in list(sys.modules):
        if name.startswith("sklearn."):
            monkeypatch.setitem(sys.modules, name, None)
    assert found.audit(frame, attackers=()) is not None
    with pytest.raises(InputError, match=r"need scikit-learn: pip install 'bap-lp\[microdata\]'"):
        found.audit(frame)


def test_without_held_out_records_there_is_no_audit_and_unknown_attackers_are_refused():
    frame = records(60, 9)
    found = study_of(frame).solve(1)
    assert found.audit() is None
    with pytest.raises(InputError, match="attackers = 'wizard' must be one of"):
        found.audit(frame, attackers=["wizard"])


def test_the_distance_of_margins_is_zero_if_nothing_is_changed():
    frame = records(60, 10)
    study = study_of(frame)
    audit = audit_channel(study, study.solve(0).channel, *counted_types(study.codes, study.levels), ())
    assert max(audit.utility.one_way, audit.utility.two_way) < 1e-15
