"""What the pages on conditions, services and records promise in their text holds, beyond their examples."""

from __future__ import annotations

import hashlib
import math
import os
import random
import secrets
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bap_lp import Conditions, Mechanism, Problem, evaluate, lambda_path, solve, verify
from bap_lp.model.evaluation import risks
from bap_lp.releases import null
from bap_sdc import Eve, Study
from bap_sdc.records.audit.disclosure import THRESHOLD
from bap_sdc.records.data.prior import CANDIDATES, FOLDS, held_out
from bap_sdc.records.release.alternatives import PRAM_KEPT, RATIOS, SWAPS

ROOT = Path(__file__).parents[1]
WARD = Problem(  # the example of the page on conditions
    ["1/2", "1/4", "1/8", "1/8"], [[0, 2], [1, 1], [3, 0], [4, 0]], [[0, 1], [0, 1], [2, 0], [2, 0]]
)


def page(name: str) -> str:
    """A page as one line, so that it does not matter where its lines end."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_under_maximal_leakage_nobody_guesses_anything_much_more_often() -> None:
    """Guessed is any random function U of the state: with the signal at most 3/2 as often, and for some U exactly."""
    q = solve(WARD, 0, conditions=Conditions(max_leakage="3/2")).mechanism.channel
    assert q.max(axis=0).sum() == Fraction(3, 2)
    rng = random.Random(0)

    def ratio(joint: Any) -> Any:
        """joint: P(x, U = u), a row per state."""
        return joint.T.dot(q).max(axis=0).sum() / joint.sum(axis=0).max()

    for _ in range(300):
        weights = [[Fraction(rng.randint(1, 9) ** 3) for _ in range(rng.randint(1, 6))]] * 4
        drawn = [[w * rng.randint(0, 9) + Fraction(1, 9) for w in row] for row in weights]
        joint = np.array([[p * v / sum(row) for v in row] for p, row in zip(WARD.prior, drawn, strict=True)])
        assert ratio(joint) <= Fraction(3, 2)
    # U tells x and one of p(x) / min p equally likely values: all its values are equally likely
    parts = [(x, k) for x, p in enumerate(WARD.prior) for k in range(int(8 * p))]
    joint = np.array([[Fraction(int(x == y), 8) for y, _ in parts] for x in range(4)])
    assert ratio(joint) == Fraction(3, 2)


def test_the_page_on_conditions_names_every_condition() -> None:
    text = page("docs/conditions.md")
    assert [name for name in Conditions.names() if f"`{name}`" not in text] == []


def test_a_cap_from_below_keeps_a_publication_from_ruling_the_illness_out() -> None:
    """Without the condition a patient with a routine visit has no tuberculosis for certain."""
    free = solve(WARD, 0)
    bound = solve(WARD, 0, conditions=Conditions(posterior_caps=[{"event": [3], "at_least": "1/20"}]))
    least = [min(signal.posterior["3"] for signal in evaluate(WARD, one.mechanism).signals) for one in (free, bound)]
    assert least == [0, Fraction(1, 20)]


def test_the_factor_of_a_belief_may_be_given_by_its_logarithm() -> None:
    asked = [{"event": [2, 3], "exp_epsilon": "3/2"}], [{"event": [2, 3], "epsilon": math.log(1.5)}]
    exact, rough = (solve(WARD, 0, conditions=Conditions(posterior_ratio=one)) for one in asked)
    assert (exact.exact, rough.exact) == (True, False)
    assert rough.value == pytest.approx(float(exact.value), abs=1e-9)


def test_an_attribute_of_which_nothing_may_be_learned_is_told_by_one_event_per_value() -> None:
    """The attribute: healthy, flu or tuberculosis. Its law is the same after every signal, and other data are told."""
    values = [[0, 1], [2], [3]]
    found = solve(WARD, 0, conditions=Conditions(independent_of=values))
    for signal in evaluate(WARD, found.mechanism).signals:
        posterior = list(signal.posterior.values())
        assert [sum(posterior[x] for x in event) for event in values] == [
            Fraction(3, 4),
            Fraction(1, 8),
            Fraction(1, 8),
        ]
    assert found.risks.bob < risks(WARD, null(WARD)).bob


def test_a_floor_on_the_average_leaves_signals_at_which_the_employer_loses_less() -> None:
    found = solve(WARD, 0, conditions=Conditions(min_eve_risk="1/4"))
    assert found.risks.eve == Fraction(1, 4)
    least = []
    for signal in evaluate(WARD, found.mechanism).signals:
        posterior = np.array(list(signal.posterior.values()))
        least.append(min(posterior.dot(WARD.eve_loss)))
    assert min(least) < Fraction(1, 4)


def test_the_method_of_a_stopped_solution_ends_with_the_words_of_the_page() -> None:
    assert 'its `method` ends with "stopped before the optimum"' in page("docs/programs.md")
    rng = np.random.default_rng(0)
    for states, decisions in ((30, 3), (400, 8)):
        problem = Problem(np.full(states, 1 / states), rng.random((states, decisions)), rng.random((states, decisions)))
        for wanted in (None, Conditions(exp_epsilon=2.0)):
            assert solve(problem, 0.7, conditions=wanted, time_limit=0).method.endswith("stopped before the optimum")


def test_floats_far_apart_may_show_two_mechanisms_and_each_is_certified() -> None:
    """The example of the page on large data: `solve` and `lambda_path` differ in floats, and agree exactly."""
    bob = [[0.0, 6e9, 9e-9], [1e-9, 0.0, 2.0], [0.0, 3.0, 8.0]]
    problem = Problem([0.5, 0.2, 0.3], bob, [[6.0], [9e-9], [4e9]])
    path, best = lambda_path(problem), solve(problem, 0.001)
    assert verify(problem, best.certificate)
    assert path.verify()
    assert path.piece(0.001).risks.alice(0.001) == pytest.approx(best.value, rel=1e-9)
    exact = problem.rationalised()
    assert solve(exact, "1/1000").mechanism == lambda_path(exact).piece("1/1000").mechanism


def small_study(**options: Any) -> tuple[Any, Study]:
    import pandas as pd

    frame = pd.DataFrame({"age": [1, 1, 1, 2, 2, 2], "ill": [0, 0, 1, 0, 1, 1], "pay": [1, 2, 3, 1, 3, 3]})
    return frame, Study(frame, {"pay": "absolute"}, [Eve("ill", knows=["age"], loss=[[0, 1], [2, 0]])], **options)


def test_signals_are_drawn_with_integers_of_the_secure_source(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Source:
        def randrange(self, count: int) -> int:
            asked.append(count)
            return count - 1

        def shuffle(self, places: list[int]) -> None:
            """In their order."""

    monkeypatch.setattr(secrets, "SystemRandom", Source)
    assert Mechanism([["1/3", "2/3"], ["1/4", "3/4"]], states=["a", "b"]).release("b") == "1"
    assert asked == [4]
    frame, study = small_study()
    solution = study.solve("1/2")
    random_rows = sum(len(solution.channel.rows(row[None])[1]) > 1 for row in study.encode(frame))
    assert random_rows > 0
    solution.release(frame)
    assert len(asked) == 1 + random_rows  # one integer per record whose signal is not certain


def test_every_integer_that_may_be_drawn_leads_to_a_signal_and_exactly_as_many_as_the_channel_says() -> None:
    class Given:
        def __init__(self, at: int) -> None:
            self.at, self.count = at, 0

        def randrange(self, count: int) -> int:
            self.count = count
            return self.at

    exact = Mechanism([["1/3", "1/4", "5/12"], [0, "2/7", "5/7"]], signals=["a", "b", "c"], states=["x", "y"])
    for state, row in zip(exact.states, exact.channel, strict=True):
        exact.release(state, one := Given(0))
        drawn = [exact.release(state, Given(at)) for at in range(one.count)]
        assert [Fraction(drawn.count(signal), one.count) for signal in exact.signals] == row.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--exp-epsilon", "2"]], ids=["free", "under a condition"])
def test_no_solver_is_imported_to_verify_a_bundle(tmp_path: Path, options: list[str]) -> None:
    run = "import sys; from bap_cli.main import main; main(sys.argv[1:])"
    look = "; print(*sorted(sys.modules), file=sys.stderr)"

    def bap(code: str, *words: str) -> str:
        command, place = [sys.executable, "-c", code, *words], {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, cwd=tmp_path, env=place, capture_output=True, text=True, check=True).stderr

    bap(run, "solve", "coin_toss", *options, "--out", "release")
    loaded = bap(run + look, "verify", "release").split()
    assert "bap_lp.proof.certificate" in loaded
    solvers = ("highspy", "scipy", "cvxpy", "bap_lp.engines.linear", "bap_lp.programs", "bap_lp.engines.many_states")
    assert [name for name in loaded if name.startswith(solvers)] == []


def test_under_conditions_a_new_type_is_drawn_as_the_signals_are_overall() -> None:
    frame, study = small_study(conditions={"min_eve_risk": "1/2"})
    solution = study.solve(0)
    fitted = study.encode(frame)
    new = study.encode(frame.assign(ill=1, pay=2)[:1])
    assert solution.channel.unseen(new).all()
    overall: dict[int, Fraction] = {}
    for record in fitted:  # every record has the probability 1/6
        _, signals, q = solution.channel.rows(record[None])
        for s, v in zip(signals.tolist(), q, strict=True):
            overall[s] = overall.get(s, Fraction(0)) + Fraction(int(v.p), int(v.q)) / 6
    _, signals, q = solution.channel.over(new).rows(new)
    assert {s: Fraction(int(v.p), int(v.q)) for s, v in zip(signals.tolist(), q, strict=True)} == overall


def test_the_split_of_the_records_follows_the_digests_of_the_page() -> None:
    order = sorted(range(101), key=lambda k: hashlib.sha256(f"7:{k}".encode()).digest())
    secrets = np.arange(101) % 3 == 0  # 34 of one secret and 67 of the other
    chosen = [k for k in order if secrets[k]][:11] + [k for k in order if not secrets[k]][:22]
    assert np.flatnonzero(held_out(secrets, Fraction(1, 3), 7)).tolist() == sorted(chosen)
    assert "are of every secret the same share" in page("docs/microdata_reference.md")


def test_the_page_on_records_has_the_numbers_that_are_set() -> None:
    text = page("docs/microdata.md") + page("docs/microdata_reference.md")
    assert f"among powers of two from {CANDIDATES[0]} to {CANDIDATES[-1]} with the largest likelihood" in text
    assert "of left-out records in five folds" in text
    assert FOLDS == 5
    assert [b / a for a, b in pairwise(CANDIDATES)] == [2] * (len(CANDIDATES) - 1)
    assert f"fewer than `--threshold` records ({THRESHOLD} by default)" in text
    assert "swap {}% or {}% of the cells".format(*(int((100 * share).p) for share in SWAPS)) in text
    assert r"k-ary randomised response with $e^\varepsilon$ = {}, {} and {} per column".format(*RATIOS) in text
    assert "the random diagonal (0.8 to 1) is replaced by its mean" in text
    assert PRAM_KEPT * 10 == 9
