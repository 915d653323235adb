"""Signals that give the data away are named beside the average that looks like privacy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import channels, knowing_problems

from bap_cli.main import main
from bap_lp import Problem
from bap_lp.model.agents import shares_of
from bap_lp.model.evaluated import certainties
from bap_lp.rational import EXACT, public


@given(data=st.data(), problem=knowing_problems())
def test_a_signal_tells_as_much_as_the_data_where_the_risk_is_that_of_knowing_them(
    data: st.DataObject, problem: Problem
) -> None:
    mechanism = data.draw(channels(problem))
    joint = problem.p[:, None] * EXACT.array(mechanism.q)
    for eve, found in zip(problem.eves, certainties(problem, mechanism), strict=True):
        loss, often = EXACT.array(eve.loss), 0
        gains = problem.p.dot(loss).min() > problem.p.dot(loss.min(axis=1))
        for share in shares_of(eve.knows, eve.knowledge, len(problem.p), EXACT).T if gains else ():
            for weight in (joint * share[:, None]).T:
                if weight.sum() > 0 and weight.dot(loss).min() == weight.dot(loss.min(axis=1)):
                    often += weight.sum()
        assert found.probability == public(EXACT.number(often))
        assert bool(found.signals) == (often > 0)


@pytest.mark.parametrize("command", [["solve", "coin_toss"], ["explain"]])
def test_the_average_does_not_hide_it(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "With probability 7/40 (0.175) the signal tells Eve as much as the data would: “fair”." in said
