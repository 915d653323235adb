"""Channels on records: joint tables, means, exact risks and draws agree with the whole table q(s|x)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from flint import fmpq
from record_programs import undivided

from bap_lp import Mechanism, evaluate
from bap_lp.support.rational import floats, is_exact, objects, public
from bap_sdc import Eve, Study
from bap_sdc.records.release.alternatives import alternatives, invariant
from bap_sdc.records.release.channel_risks import channel_risks
from bap_sdc.records.release.channels import ColumnChannel, KeyedChannel, TableChannel, sample
from bap_sdc.records.release.drawing import draw_signals


def table(n: int = 70, seed: int = 2) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    ill = generator.integers(0, 2, n)
    pay = np.clip(generator.integers(0, 3, n) + ill, 0, 2)
    town = generator.choice(["n", "s", None], n)
    return pd.DataFrame(
        {"age": generator.integers(0, 3, n), "ill": ill, "pay": pay, "town": town, "job": generator.integers(0, 2, n)}
    )


@pytest.fixture(scope="module")
def study() -> Study:
    eves = [
        Eve("ill", knows=["age"], loss=[[0, 1], [3, 0]], name="one"),
        Eve("job", knows=["town"], name="two", weight="3/2"),
        Eve("ill", name="three"),
    ]
    return Study(table(), {"pay": "absolute", "town": {"loss": "0-1", "weight": 2}}, eves)


@pytest.fixture(scope="module")
def channels(study: Study) -> dict:
    eve = Eve("ill", knows=["age"], loss=[[0, 1], [3, 0]])
    single = Study(table(), {"pay": "absolute", "town": {"loss": "0-1", "weight": 2}}, [eve])
    best = single.solve(1).channel
    found = {channel.name: channel for channel in alternatives(study)[0]}
    assert not alternatives(study)[1]
    types = study.prior.types
    keep = [study.names.index(name) for name in single.names]
    # the optimum against one Eve, as a channel of the study with three
    rows = [best.rows(x[None, keep]) for x in types]
    start = np.cumsum([0, *(len(r[1]) for r in rows)])
    decision = np.concatenate([np.ravel_multi_index(best.decode(s).T, best.symbols) for _, s, _ in rows])
    from bap_sdc.records.data.prior import keys

    found["optimum"] = TableChannel(
        "optimum", study.levels, study.published, keys(types, study.levels), start, decision,
        np.concatenate([q for _, _, q in rows]), lambda types: [(np.array([0]), objects([fmpq(1)]))] * len(types),
    )  # fmt: skip
    return found


NAMES = [
    "as is", "suppress all", "suppress pay", "suppress town", "generalise", "swap 5%", "swap 20%", "PRAM",
    "randomised response e^eps = 2", "randomised response e^eps = 20", "synthetic",
    "synthetic given known columns", "optimum",
]  # fmt: skip


def whole(channel, types) -> np.ndarray:
    """q(s|x), types x signals, from the definition of each channel."""
    out = np.full((len(types), channel.signals), fmpq(0), dtype=object)
    if isinstance(channel, KeyedChannel):
        out = channel.matrices[0][channel.place(types)]
    elif isinstance(channel, ColumnChannel):
        for x, record in enumerate(types):
            for s, symbols in enumerate(product(*map(range, channel.symbols))):
                value = fmpq(1)
                for k, m, symbol in zip(channel.published, channel.matrices, symbols, strict=True):
                    value *= m[record[k], symbol]
                out[x, s] = value
    else:
        row, signal, q = channel.rows(types)
        out[row, signal] = q
    return out


@pytest.mark.parametrize("name", NAMES)
def test_exact_risks_are_those_of_an_ordinary_problem(study, channels, name):
    channel = channels[name]
    found = channel_risks(study, channel)
    reference = evaluate(undivided(study.program), Mechanism(whole(channel, study.prior.types)))
    assert found.exact
    assert (found.bob, found.eve) == (reference.bob, reference.eve)
    assert sum(found.columns) == found.bob


@pytest.mark.parametrize("name", NAMES)
def test_joint_tables_and_means_agree_with_the_whole_channel(study, channels, name):
    channel, types = channels[name], study.prior.types
    q = floats(whole(channel, types)).astype(float)
    generator = np.random.default_rng(0)
    weights, group = generator.random(len(types)), generator.integers(0, 4, len(types))
    wanted = np.zeros((4, channel.signals))
    np.add.at(wanted, group, weights[:, None] * q)
    np.testing.assert_allclose(channel.joint(types, weights, group, 4), wanted, atol=1e-13)
    values = generator.random((4, channel.signals))
    np.testing.assert_allclose(channel.expect(types, group, values), (q * values[group]).sum(axis=1), atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_draws_have_the_probabilities_of_the_channel(study, channels, name):
    channel, x = channels[name], study.prior.types[3]
    n = 4000
    drawn = sample(channel, np.tile(x, (n, 1)), np.random.default_rng(1))
    q = floats(whole(channel, x[None]))[0].astype(float)
    share = np.bincount(drawn, minlength=channel.signals) / n
    assert abs(share - q).max() < 5 * np.sqrt(0.25 / n)
    assert (share[q == 0] == 0).all()
    if isinstance(channel, TableChannel):
        from random import Random, SystemRandom

        exact = np.bincount(draw_signals(channel, np.tile(x, (n, 1)), Random(4)), minlength=channel.signals) / n
        assert abs(exact - q).max() < 5 * np.sqrt(0.25 / n)
        assert len(draw_signals(channel, np.tile(x, (9, 1)), SystemRandom())) == 9


def test_float_priors_give_float_risks_near_the_exact_ones(study, channels):
    rough = Study(
        table(),
        {"pay": "absolute", "town": {"loss": "0-1", "weight": 2.0}},
        [Eve("ill", knows=["age"], loss=[[0, 1.0], [3, 0]])],
    )
    same = [channel for channel in alternatives(rough)[0] if "known" not in channel.name]
    for channel in same:
        found = channel_risks(rough, channel)
        assert not found.exact
        assert found.bob == pytest.approx(float(channel_risks(study, channels[channel.name]).bob), abs=1e-12)


def test_large_numbers_do_not_overflow(study, channels):
    channel = channels["swap 5%"]
    odd = [
        m * fmpq(1, 10**18 + 9) + fmpq(10**18 + 8, 10**18 + 9) * np.tile(m[0], (len(m), 1)) for m in channel.matrices
    ]
    wide = ColumnChannel("odd", channel.published, tuple(odd))
    reference = evaluate(undivided(study.program), Mechanism(whole(wide, study.prior.types)))
    found = channel_risks(study, wide)
    assert (found.bob, found.eve) == (reference.bob, reference.eve)


@pytest.mark.parametrize("margin", [["1/2", "1/3", "1/6"], ["1", "0", "0"], ["1/4", "0", "3/4"]])
def test_pram_keeps_the_margin_and_its_rows_are_distributions(margin):
    p = objects(fmpq(*map(int, [*v.split("/"), "1"][:2])) for v in margin)
    matrix = invariant(p)
    assert is_exact(matrix)
    assert (p.dot(matrix) == p).all()
    assert (matrix.sum(axis=1) == 1).all()
    assert (matrix >= 0).all()


def test_pram_is_half_of_the_two_steps_of_sdcmicro_and_half_of_nothing():
    """P has 9/10 on its diagonal, Q is its Bayes inverse under the margin, and the cell is redrawn by (P Q + I) / 2."""
    even = invariant(objects([fmpq(1, 2)] * 2))
    assert even.tolist() == [[fmpq(91, 100), fmpq(9, 100)], [fmpq(9, 100), fmpq(91, 100)]]
    odd = invariant(objects([fmpq(3, 4), fmpq(1, 4)]))
    # P = [[9, 1], [1, 9]] / 10 sends 28/40 and 12/40, Q = [[27/28, 1/28], [3/12, 9/12]]
    there = fmpq(9, 10) * fmpq(1, 28) + fmpq(1, 10) * fmpq(3, 4)
    assert odd[0, 1] == there / 2
    assert odd[1, 0] == 3 * there / 2


def test_types_never_fitted_get_the_rule_and_old_rows_stay(study, channels):
    channel = channels["optimum"]
    types = np.array(list(product(*map(range, study.levels))))
    wider = channel.over(types)
    assert wider.unseen(types).sum() == 0
    assert channel.unseen(types).any()
    row, signal, q = wider.rows(study.prior.types)
    old_row, old_signal, old_q = channel.rows(study.prior.types)
    assert (row == old_row).all()
    assert (wider.decode(signal) == channel.decode(old_signal)).all()
    assert public(q).tolist() == public(old_q).tolist()
    new = types[channel.unseen(types)]
    assert (wider.decode(wider.rows(new)[1]) == 0).all()
