"""Pictures say what the numbers say, labels keep apart at any size, and no label breaks a picture."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")

from matplotlib import pyplot as plt
from matplotlib.text import Text

from bap_lp import (
    Conditions,
    InputError,
    Mechanism,
    Problem,
    evaluate,
    lambda_path,
    load_problem,
    plots,
    randomised_response_family,
    solve,
)
from bap_lp.plots.channel_pictures import drawn_channel
from bap_lp.plots.placed_labels import Labels, _leader, drawable, short
from bap_lp.releases import full, null, randomised_response

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ["coin_toss", "district", "income_brackets", "medical_test", "two_eves", "warner_survey", "ties"]
HOSTILE = Problem(
    ["1/4"] * 4,
    [[0, 1], [1, 0], [0, 2], [2, 1]],
    [[0, 1], [2, 0], [3, 0], [0, 1]],
    states=["$x_1$ and $", "<b>\\alpha</b> \\$5", "👩\u200d👧 مرحبا \x00", "z" * 200],
    bob_decisions=["$\\frac{", "long " * 40],
    title="$\\unknown{ 100% & _^ 🎉",
)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def example(name: str) -> tuple[Problem, Any]:
    loaded = load_problem(EXAMPLES / f"{name}.toml")
    return loaded.problem, loaded.lam


def boxes(ax: Any) -> list[Any]:
    ax.figure.canvas.draw()
    artists = [artist for artist in ax.get_children() if isinstance(artist, Labels)]
    return [Text.get_window_extent(t) for labels in artists for t in labels.texts if t.get_visible()]


def apart(found: list[Any]) -> bool:
    return not any(a.overlaps(b) for a, b in combinations(found, 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_labels_of_the_map_never_overlap_and_stay_inside(name: str) -> None:
    problem, lam = example(name)
    ax = plots.risk_utility_map(problem, lam)
    count = len(boxes(ax))
    assert count >= 3
    for width, height, dpi in ((7.2, 6.4, 100), (5.6, 4.5, 60), (12.0, 4.0, 150)):
        ax.figure.set_size_inches(width, height)
        ax.figure.set_dpi(dpi)
        found = boxes(ax)
        assert apart(found)
        frame = ax.get_window_extent()
        for box in found:
            assert frame.x0 <= box.x0
            assert box.x1 <= frame.x1
            assert frame.y0 <= box.y0
            assert box.y1 <= frame.y1
    ax.figure.set_size_inches(7.2, 6.4)
    assert len(boxes(ax)) == count


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_labels_of_the_path_never_overlap(name: str) -> None:
    problem, lam = example(name)
    path = lambda_path(problem)
    ax = plots.value_of_lambda(path, lam)
    found = boxes(ax)
    assert len(found) == len({*path.breakpoints}) + 1
    assert apart(found)


def test_the_map_of_the_coin_toss_shows_frontier_and_releases() -> None:
    problem, lam = example("coin_toss")
    ax = plots.risk_utility_map(problem, lam)
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    assert lines["frontier: nothing is better"].tolist() == [[-0.25, 0.0], [-0.325, -0.75]]
    assert lines["calibration line: full and null equal"].tolist() == [[-0.25, 0.0], [-0.5, -0.75]]
    level = lines["least $R_A$: 3/40"]
    assert level[:, 0] - level[:, 1] / 3 == pytest.approx([-0.075, -0.075])
    family = randomised_response_family(problem)
    at = [[-float(family.bob(w)), -float(family.eve(w))] for w in ("0", "3/13", "1/2")]
    assert [row in lines["randomised response"].tolist() for row in at] == [True] * 3
    assert [c.tolist() for c in ax.patches[0].get_xy()[:3]] == [[-0.25, 0.0], [-0.325, -0.75], [-0.5, -0.75]]
    assert (ax.get_xlabel()[:7], ax.get_ylabel()[:10]) == ("utility", "disclosure")


def test_the_path_is_drawn_through_its_breakpoints() -> None:
    problem, _ = example("medical_test")
    path = lambda_path(problem)
    line = next(line for line in plots.value_of_lambda(path).lines if "V" in line.get_label())
    xs, ys = line.get_xydata().T
    assert [*map(float, path.breakpoints)] == xs[1:-1].tolist()
    assert ys == pytest.approx([float(path.value(Fraction(x))) for x in xs])


@pytest.mark.parametrize("draw", range(4))
def test_every_function_draws_on_the_axes_it_is_given(draw: int) -> None:
    problem, lam = example("coin_toss")
    best = solve(problem, lam)
    figure, ax = plt.subplots()
    calls = [
        lambda: plots.risk_utility_map(problem, lam, ax=ax),
        lambda: plots.value_of_lambda(lambda_path(problem), lam, ax=ax),
        lambda: plots.channel_heatmap(best.mechanism, problem.prior, ax=ax),
        lambda: plots.signal_cards(problem, best.mechanism, ax=ax),
    ]
    assert calls[draw]() is ax
    assert plt.get_fignums() == [figure.number]


@pytest.mark.slow
@pytest.mark.parametrize("problem", [HOSTILE, HOSTILE.as_float()], ids=["exact", "float"])
def test_hostile_labels_are_drawn_as_text(problem: Problem) -> None:
    best = solve(problem, 1)
    for ax in (
        plots.risk_utility_map(problem, 1),
        plots.channel_heatmap(best.mechanism, problem.prior),
        plots.signal_cards(problem, best.mechanism),
    ):
        ax.figure.canvas.draw()
    labels = [t.get_text() for t in plots.channel_heatmap(best.mechanism, problem.prior).get_yticklabels()]
    assert labels[0] == "$x_1$ and $"
    assert max(len(line) for label in labels for line in label.split("\n")) <= 22


@pytest.mark.slow
def test_the_heat_map_has_channel_and_posterior() -> None:
    problem, lam = example("coin_toss")
    ax = plots.channel_heatmap(solve(problem, lam).mechanism, problem.prior)
    numbers = [t.get_text() for t in ax.texts]
    assert [n for n in numbers if "(" not in n] == ["1", "0", "3/10", "7/10", "10/11", "0", "1/11", "1"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["tails", "heads"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("signals", [5, 20])
def test_a_large_heat_map_drops_no_state_and_no_signal(signals: int) -> None:
    generator = np.random.default_rng(signals)
    table = generator.integers(0, 3, (40, signals)) + np.eye(40, signals, dtype=int)
    table[:, 0] += table.sum(axis=1) == 0
    q = [[Fraction(int(v), int(row.sum())) for v in row] for row in table]
    mechanism = Mechanism([*q, *q, *q])  # every row three times
    weights = generator.integers(1, 9, 120)
    prior = [Fraction(int(w), int(weights.sum())) for w in weights]
    found = drawn_channel(mechanism, prior)
    assert len(found.rows) <= 24
    assert len(found.columns) <= 12
    assert (found.channel.sum(axis=1) == 1).all()
    assert (found.posterior.sum(axis=0) == 1).all()
    named = sum(2 + int(name.split("; ")[2].split()[0]) for name in found.rows)
    assert named == 120
    mass = np.array(prior) @ np.array([*q, *q, *q])
    assert sum(1 for name in found.columns if "other signals" in name) == (signals > 12)
    if signals == 5:  # Bayes: p(x|s) P(s) = p(x) q(s|x), summed over a kind of states
        firsts = [list(mechanism.states).index(name.split("; ")[0]) for name in found.rows[:-1]]
        for r, x in enumerate(firsts):
            members = [y for y in range(120) if (mechanism.q[y] == mechanism.q[x]).all()]
            weight = sum(prior[y] for y in members)
            assert [found.posterior[r, s] * mass[s] for s in range(5)] == [weight * q[x % 40][s] for s in range(5)]
    plots.channel_heatmap(mechanism, prior).figure.canvas.draw()


@pytest.mark.slow
def test_degenerate_problems_have_pictures() -> None:
    nothing_to_gain = Problem(["1/2", "1/2"], [[0], [0]], [[0], [0]])
    one_state = Problem([1], [[0, 1]], [[1, 0]])
    for problem in (nothing_to_gain, one_state):
        path = lambda_path(problem)
        plots.risk_utility_map(problem, 1).figure.canvas.draw()
        plots.risk_utility_map(problem, 0).figure.canvas.draw()
        plots.value_of_lambda(path, 1).figure.canvas.draw()


def region(problem: Problem) -> Any:
    """The corners (-R_B, -R_E) of the region that is drawn."""
    (polygon,) = plots.risk_utility_map(problem, 1).patches
    return polygon.get_xy()


def place(problem: Problem, mechanism: Mechanism) -> tuple[float, float]:
    found = evaluate(problem, mechanism)
    return -float(found.bob), -float(found.eve)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coin_toss", "medical_test", "income_brackets", "two_eves"])
def test_the_region_holds_every_mechanism_and_its_corners_are_attained(name: str) -> None:
    problem, _ = example(name)
    corners, rng = region(problem), np.random.default_rng(0)
    made = [full(problem), null(problem), randomised_response(problem, Fraction(1, 5))]
    made += [Mechanism(rng.dirichlet(np.full(3, 0.3), len(problem.states))) for _ in range(30)]
    steps = np.diff(corners, axis=0, append=corners[:1])
    for point in [place(problem, mechanism) for mechanism in made]:
        away = np.asarray(point) - corners
        sides = steps[:, 0] * away[:, 1] - steps[:, 1] * away[:, 0]
        assert sides.min() >= -1e-9 or sides.max() <= 1e-9
    mirrored = Problem(problem.p, bobs=problem.eves, eves=problem.bobs, states=problem.states)
    attained = [place(problem, piece.mechanism) for piece in lambda_path(problem).pieces]
    if len(problem.eves) == 1:
        attained += [place(problem, piece.mechanism) for piece in lambda_path(mirrored).pieces]
        attained += [place(problem, release(problem)) for release in (full, null)]
        for corner in corners:
            assert min(np.abs(np.subtract(corner, point)).max() for point in attained) < 1e-12


def test_another_optimum_can_be_marked() -> None:
    problem, lam = example("coin_toss")
    best = solve(problem, lam, conditions=Conditions(exp_epsilon=2))
    ax = plots.risk_utility_map(problem, lam, optimum=best.risks)
    assert [-float(best.risks.bob), -float(best.risks.eve)] in [line.get_xydata()[0].tolist() for line in ax.lines]
    assert f"least $R_A$: {short(best.value)}" in [line.get_label() for line in ax.lines]


def test_a_prior_of_other_states_is_refused() -> None:
    with pytest.raises(InputError, match="prior has 1 entries, must have 2, one per state"):
        plots.channel_heatmap(Mechanism([[1, 0], [0, 1]]), [1])


def test_text_is_made_drawable() -> None:
    assert drawable("a  b\n c") == "a b c"
    assert drawable("🎉\u202e") == "□□"
    assert drawable("word " * 40).count("\n") == 2
    assert drawable("word " * 40).endswith("…")
    assert drawable("   ") == "□"
    assert (short(Fraction(13, 40)), short(Fraction(10**9, 3)), short(0.5)) == ("13/40", "3.33e+08", "0.5")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 13, 28, 36, 44])
def test_no_label_covers_a_marker_and_no_line_runs_through_the_marker_of_another(seed: int) -> None:
    points = np.round(0.5 + 0.09 * np.random.default_rng(seed).standard_normal((11, 2)), 2)
    ax = plt.subplots(figsize=(5, 4), layout="constrained")[1]
    labels = Labels(ax, points[:7], [f"the label of {k}" for k in range(7)], room=6.0, others=points[7:])
    found, centres = boxes(ax), ax.transData.transform(points)
    assert len(found) == 7
    assert not any(box.contains(*centre) for box in found for centre in centres)
    lines = [k for k, text in enumerate(labels.texts) if text.arrow_patch.get_visible()]
    assert lines
    for k in lines:
        line = _leader(centres[k], found[k].min, found[k].max)
        assert min(np.hypot(*(line - other).T).min() for other in np.delete(centres, k, axis=0)) > 4
