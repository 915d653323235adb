"""The stand-alone checker and the library agree on bundles that somebody changed, and accept nothing that is false."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tampering import both, change, edit

from bap_lp import Agent, Conditions, PriorSet, Problem, robust, save_bundle, solve, tiers
from bap_lp import verify_standalone as alone
from bap_lp.program.bound import Dual
from bap_lp.proof.cases import Case, uncovered
from bap_lp.proof.certificate import reported

COIN = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
THREE = Problem(["1/2", "1/3", "1/6"], [[0, 1, 2], [1, 0, 1], [2, 2, 0]], [[0, 1], [2, 0], [1, 1]])
LOSS = [[0, 1], [2, 0], [1, 1]]


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


@pytest.mark.parametrize("records", [False, True], ids=["bundles", "records"])
@pytest.mark.slow
def test_mutations_are_judged_alike_and_none_is_wrongly_accepted(records: bool) -> None:
    from benchmarks.trust import run

    count = 500
    tally = run(count, seed=count, records=records)
    assert tally.wrong == []
    assert tally.counts["accepted"] > count // 50  # mutations that change nothing of what is proved
    assert tally.counts["refused"] > count // 2


def _others(document: Any) -> None:
    document["scenarios"][1]["data"]["labels"] = ["x", "y"]


def _fewer(document: Any) -> None:
    one = document["scenarios"][1]
    one["data"] = {"labels": ["0", "1"], "prior": ["1/2", "1/2"]}
    for agent in (*one["bob"], *one["eve"]):
        agent["loss"] = agent["loss"][:2]


def _searched() -> Any:
    return solve(THREE, "1/3", conditions=Conditions(deterministic=True, min_eve_risk="1/2"))


CHANGED: dict[str, tuple[Callable[[], Any], str, Callable[[Any], None]]] = {
    "scenarios on states of other names": (lambda: robust([COIN, COIN], "1/3"), "problem", _others),
    "scenarios on fewer states": (lambda: robust([THREE, THREE], "1/3"), "problem", _fewer),
    "conditions of a certificate of scenarios": (
        lambda: robust([COIN, COIN], "1/3"),
        "certificate",
        lambda d: d.update(conditions={"max_bob_risk": "9"}),
    ),
    "weights of a certificate that has no tiers": (
        lambda: solve(COIN, "1/3"),
        "certificate",
        lambda d: d.update(weights_of_tiers=["1"]),
    ),
    "other weights of tiers": (
        lambda: tiers([COIN, COIN], "1/3"),
        "certificate",
        lambda d: d.update(weights_of_tiers=["1", "2"]),
    ),
    "a channel of one dimension": (
        lambda: solve(COIN, "1/3"),
        "certificate",
        lambda d: d.update(channel={"shape": [2], "at": []}),
    ),
    "a channel of one dimension beside cases": (
        _searched,
        "certificate",
        lambda d: d.update(channel={"shape": [3], "at": []}),
    ),
    "an empty list of cases": (lambda: solve(COIN, "1/3"), "certificate", lambda d: d.update(cases=[])),
    "a case that is missing": (
        _searched,
        "certificate",
        lambda d: d["cases"].pop(),
    ),
    "a case of a state that sends nothing": (
        _searched,
        "certificate",
        lambda d: d["cases"][0].update(states=[[0, []]]),
    ),
    "a case of a signal that is not there": (
        _searched,
        "certificate",
        lambda d: d["cases"][0].update(states=[[0, [3]]]),
    ),
    "a void case that is not empty": (
        _searched,
        "certificate",
        lambda d: d["cases"][0].update(void=True, replies={"eve": [["0"] * 2] * 3}, weights={}),
    ),
    "a reply that is missing": (
        lambda: solve(COIN, "1/3"),
        "certificate",
        lambda d: d.update(replies={}),
    ),
    "replies of somebody else": (
        lambda: solve(COIN, "1/3"),
        "certificate",
        lambda d: d["replies"].update(top=d["replies"]["eve"]),
    ),
    "a negative weight": (
        lambda: solve(THREE, "1/3", conditions=Conditions(max_bob_risk="1/9")),
        "certificate",
        lambda d: d["weights"].update(max_bob_risk={"shape": [1], "at": [[0, "-1"]]}),
    ),
    "a weight of no row": (
        lambda: solve(COIN, "1/3", conditions=Conditions(exp_epsilon=3)),
        "certificate",
        lambda d: d["weights"]["privacy"].update(shape=[3]),
    ),
    "a weight that is there twice": (
        lambda: solve(COIN, "1/3", conditions=Conditions(exp_epsilon=3)),
        "certificate",
        lambda d: d["weights"]["privacy"].update(at=[[0, "0"], [0, "0"]]),
    ),
    "a float in a proof": (
        lambda: solve(COIN, "1/3"),
        "certificate",
        lambda d: d["replies"]["eve"][0].__setitem__(0, 0.0),
    ),
    "a gap below zero": (lambda: solve(COIN, "1/3"), "certificate", lambda d: d.update(gap="-1/99")),
    "a condition that is written otherwise": (
        lambda: solve(COIN, "1/3", conditions=Conditions(min_eve_risk="1/2")),
        "certificate",
        lambda d: d["conditions"].update(min_eve_risk=0.5),
    ),
}


def _brier() -> Any:
    return solve(Problem(["1/2", "1/3", "1/6"], LOSS, eves=[Agent("brier", secret=["a", "b", "a"])]), "1/3")


def _everywhere(name: str, value: Any) -> Callable[[Any], None]:
    return lambda d: d.setdefault(name, {}).update(value)


# these were judged by one of the two alone: what is changed in problem.json, certificate.json and manifest.json alike
JUDGED_ALIKE: dict[str, tuple[Callable[[], Any], Callable[[Any], None], tuple[str, ...]]] = {
    "determinism beside reports": (
        _brier,
        _everywhere("conditions", {"deterministic": True}),
        ("problem", "certificate", "manifest"),
    ),
    "a Bob who reports": (
        lambda: solve(COIN, "1/3"),
        lambda d: d["bob"][0].update(loss="brier"),
        ("problem",),
    ),
    "a secret of Bob": (
        lambda: solve(COIN, "1/3"),
        lambda d: d["bob"][0].update(secret=["a", "b"]),
        ("problem",),
    ),
    "a subdivision of Bob's reports": (
        lambda: solve(COIN, "1/3"),
        lambda d: d.update(splits=["."]),
        ("certificate",),
    ),
    "decisions of an Eve who reports": (
        _brier,
        lambda d: d["eve"][0].update(decisions=["a", "b"]),
        ("problem",),
    ),
    "a box of truth values": (
        lambda: solve(THREE, "1/3", priors=PriorSet.box([0, 0, 0], [1, 1, 1])),
        _everywhere("priors", {"lower": [False] * 3}),
        ("problem", "certificate"),
    ),
}


@pytest.mark.parametrize("name", JUDGED_ALIKE)
def test_what_one_checker_refuses_the_other_refuses(tmp_path: Path, name: str) -> None:
    found, alter, files = JUDGED_ALIKE[name]
    save_bundle(tmp_path, found())
    assert both(tmp_path) == (True, True)
    for file in files:
        document = read(tmp_path, f"{file}.json")
        alter(document)
        (tmp_path / f"{file}.json").write_text(json.dumps(document))
        if file != "manifest":
            change(tmp_path, f"{file}.json")
    assert both(tmp_path) == (False, False)


PROOFS: dict[str, Callable[[], Any]] = {
    "release": lambda: solve(COIN, "1/3"),
    "conditions": lambda: solve(COIN, "1/3", conditions=Conditions(exp_epsilon=3)),
    "a search": _searched,
    "an Eve who reports": _brier,
    "scenarios": lambda: robust([COIN, COIN], "1/3"),
    "tiers": lambda: tiers([COIN, COIN], "1/3", conditions=[{"exp_epsilon": 3}, None]),
    "box": lambda: solve(THREE, "1/3", priors=PriorSet.box([0, 0, 0], [1, 1, 1])),
    "total variation": lambda: solve(THREE, "1/3", priors=PriorSet.total_variation("1/8")),
    "Wasserstein": lambda: solve(THREE, "1/3", priors=PriorSet.wasserstein("1/8", [[0, 1, 2], [1, 0, 1], [2, 1, 0]])),
    "polytope": lambda: solve(THREE, "1/3", priors=PriorSet.polytope([[1, 0, 0], [0, 1, 0]], ["1/2", "1/2"])),
}
USED = {
    "a search": "cases",
    "an Eve who reports": "reports",
    "tiers": "weights_of_tiers",
}
UNUSED: dict[str, list[Any]] = {
    "weights_of_tiers": [[], ["1"]],
    "reports": [[], [[["1"]]]],
    "cases": [[], [{"replies": {}, "weights": {}}]],
    "witness": [[], [[]], *({"shape": [0, n], "at": []} for n in range(4)), [["-1", "0", "0"]]],
    "conditions": [[], {}, [{}], [{}, {}], None],
    "conflict": [[], ["exp_epsilon"]],
}


@pytest.mark.parametrize("name", PROOFS)
def test_both_checkers_refuse_what_is_empty_or_not_used(tmp_path: Path, name: str) -> None:
    save_bundle(tmp_path, PROOFS[name]())
    assert both(tmp_path) == (True, True)
    before = read(tmp_path, "certificate.json")
    for key, values in UNUSED.items():
        for value in values if key != USED.get(name) else values[:1]:
            edit(tmp_path, "certificate.json", lambda d, key=key, value=value: d.update({key: value}))
            assert both(tmp_path) == (False, False), (key, value)
            (tmp_path / "certificate.json").write_text(json.dumps(before))


@pytest.mark.parametrize("bound", [0, -(10**400)], ids=["near", "beyond floats"])
def test_a_value_with_logarithms_is_a_float_whatever_the_bound(bound: int) -> None:
    value, _, gap = reported(fmpq(2, 3), fmpq(bound), True, rounded=True)
    assert value == alone.rounded_up(alone.F(2, 3)) == alone.F(float(value)) > alone.F(2, 3)
    assert gap == alone.rounded_up(alone.F(value) - bound)


def test_labels_are_not_numbers_however_many_digits_they_have(tmp_path: Path) -> None:
    eve = Agent("log", secret=["a", "9" * 25_000, "a"])
    save_bundle(tmp_path, solve(Problem(["1/2", "1/3", "1/6"], LOSS, eves=[eve]), "1/9"))
    assert both(tmp_path) == (True, True)


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_bundle_is_refused_by_both(tmp_path: Path, name: str) -> None:
    found, file, alter = CHANGED[name]
    save_bundle(tmp_path, found())
    assert both(tmp_path) == (True, True)
    edit(tmp_path, f"{file}.json", alter)
    assert both(tmp_path) == (False, False)


@pytest.mark.parametrize("demand", [{"neighbours": [["zzz", 0]]}, {"neighbours": [[0, 7]]}, {"metric": [[0, 1]]}])
def test_pairs_of_states_are_read_also_where_delta_asks_nothing(tmp_path: Path, demand: dict[str, Any]) -> None:
    save_bundle(tmp_path, solve(THREE, "1/3", conditions=Conditions(exp_epsilon=2, delta=1, neighbours=[(0, 1)])))
    assert both(tmp_path) == (True, True)
    asked = {"exp_epsilon": "2", "delta": "1", **demand}
    for name in ("problem.json", "certificate.json", "manifest.json"):
        change(tmp_path, name, conditions=asked)
    assert both(tmp_path) == (False, False)


@pytest.mark.parametrize("lam", ["1/7", "1/3", "1/2", "5/7"])
def test_float_mechanisms_that_name_what_eve_decides_are_accepted_by_both(tmp_path: Path, lam: str) -> None:
    """The bound of a finer mechanism was rounded, and the mechanism refused."""
    for problem in (COIN, THREE):
        save_bundle(tmp_path, solve(problem, lam, exact=False, formulation="paper"))
        assert both(tmp_path, allow=True) == (True, True)


@pytest.mark.parametrize("exact", [True, False])
def test_tables_of_a_proof_may_have_any_of_their_forms(tmp_path: Path, exact: bool) -> None:
    save_bundle(tmp_path, solve(COIN, "1/3", exact, conditions=Conditions(exp_epsilon=3)))
    document = read(tmp_path, "certificate.json")
    rows = [["1", "0"], ["0", "1"]]
    for table in (
        rows,
        {"over": "1/2", "rows": [["1/2", 0], [0, "0.5"]]},
        {"shape": [2, 2], "at": [[1, 1, 1], [0, 0, "2/2"]]},
    ):
        assert alone.proof_table(table, 2) == ((2, 2), {(0, 0): 1, (1, 1): 1})
    shape, entries = alone.proof_table(document["channel"], 2)
    sparse = {"shape": list(shape), "at": [[*place, str(v)] for place, v in entries.items()]}
    over = {"over": "7", "rows": [[str(7 * entries.get((x, s), 0)) for s in range(shape[1])] for x in range(shape[0])]}
    for channel in (sparse, over, [[str(entries.get((x, s), 0)) for s in range(shape[1])] for x in range(shape[0])]):
        change(tmp_path, "certificate.json", channel=channel)
        assert both(tmp_path, allow=True) == (True, True)


def test_a_bundle_of_an_older_form_is_refused_in_one_line(tmp_path: Path) -> None:
    save_bundle(tmp_path, solve(COIN, "1/3"))
    change(tmp_path, "manifest.json", format="bap-lp bundle 1")
    done = subprocess.run(
        [sys.executable, "-m", "bap_lp.verify_standalone", tmp_path], capture_output=True, text=True, check=False
    )
    rule = "it is of the form 'bap-lp bundle 1', not 'bap-lp bundle 2': solve the problem again"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"not proved: {rule}\n")


def test_the_gap_of_a_worse_mechanism_is_told(tmp_path: Path) -> None:
    """Any mechanism may be stated with the gap that its multipliers leave, and with no smaller one."""
    save_bundle(tmp_path, solve(COIN, "1/3"))
    full = [["1", "0"], ["0", "1"]]
    change(tmp_path, "mechanism.json", channel=full)
    change(tmp_path, "certificate.json", channel=full, value="1/4", gap="7/40")
    assert alone.check(tmp_path) == "R_A = 1/4 is within 0.175 of optimal"
    assert both(tmp_path) == (True, True)
    change(tmp_path, "certificate.json", gap="6/40")
    assert both(tmp_path) == (False, False)


def test_limits_are_loosened_in_floats_and_only_there(tmp_path: Path) -> None:
    for exact, loose in ((True, 0), (False, alone.F(1, 2**48))):
        save_bundle(tmp_path, solve(COIN, "1/3", exact, conditions=Conditions(min_eve_risk="3/4")))
        assert both(tmp_path, allow=True) == (True, True)
        game = alone.Game(read(tmp_path, "problem.json"), alone.F if exact else alone.rounded, 2)
        [(_, _, rhs)] = alone.Release(game, {"min_eve_risk": "3/4"}, 0).program.rows["min_eve_risk"]
        assert -rhs == alone.F(3, 4) * (1 - loose)


signal_sets = st.sets(st.integers(0, 2), min_size=1)


def covers(boxes: list[list[int]]) -> bool:
    try:
        alone.covered([7] * 3, boxes)
    except alone.Refused:
        return False
    return True


@given(st.lists(st.lists(signal_sets, min_size=3, max_size=3), max_size=6))
def test_cases_cover_exactly_the_maps_that_follow_one_of_them(boxes: list[list[set[int]]]) -> None:
    maps = product(range(3), repeat=3)
    covered = all(any(all(s in few for s, few in zip(m, box, strict=True)) for box in boxes) for m in maps)
    assert covers([[sum(1 << s for s in few) for few in box] for box in boxes]) == covered
    cases = [Case(Dual({}, {}), tuple((x, tuple(few)) for x, few in enumerate(box))) for box in boxes]
    assert (uncovered(cases, 3, 3) == "") == covered


def test_distances_that_others_imply_need_no_rows() -> None:
    chain = {(x, y): alone.F(abs(x - y), 3) for x, y in product(range(5), repeat=2) if x != y}
    assert alone.needed(chain) == [(x, y) for x, y in sorted(chain) if abs(x - y) == 1]
    assert alone.needed({(0, 1): alone.F(0), (1, 2): alone.F(1), (0, 2): alone.F(1)}) == [(0, 1), (0, 2), (1, 2)]


def test_an_irrational_ratio_is_rounded_down() -> None:
    for eps in (alone.F(7, 10), alone.F(1, 10**9), alone.F(500)):
        K = alone.exponential(eps)
        above = alone.F(alone.math.nextafter(float(K), alone.math.inf))
        with alone.localcontext() as context:
            context.prec = 200
            exact = alone.F((alone.Decimal(eps.numerator) / eps.denominator).exp())
        assert K < exact < above
    assert alone.exponential(alone.F(0)) == 1


def _huge_over(document: Any) -> None:
    document["replies"]["eve"] = {"over": "9" * 19_000, "rows": [["1"] * 60] * 60}


def _huge_shape(document: Any) -> None:
    document["channel"] = {"shape": [1, 20_000_000], "at": []}


@pytest.mark.parametrize(
    ("ask", "rule"),
    [
        (_huge_over, "takes more than 20000000 steps"),
        (_huge_shape, "another shape|too few signals"),
    ],
)
def test_a_short_proof_cannot_ask_for_endless_work(tmp_path: Path, ask: Callable[[Any], None], rule: str) -> None:
    count = 60
    problem = Problem([f"1/{count}"] * count, *([[k % n, 1] for k in range(count)] for n in (2, 3)))
    save_bundle(tmp_path, solve(problem, "1/3", conditions=Conditions(max_leakage=1)))
    assert both(tmp_path) == (True, True)
    document = read(tmp_path, "certificate.json")
    ask(document)
    change(tmp_path, "certificate.json", **document)
    with pytest.raises(alone.Refused, match=rule):
        alone.check(tmp_path)


def test_joint_decisions_are_counted_before_they_are_named(tmp_path: Path) -> None:
    save_bundle(tmp_path, solve(COIN, "1/3"))
    problem = read(tmp_path, "problem.json")
    bob = problem["bob"][0]
    change(tmp_path, "problem.json", bob=[bob | {"name": str(k)} for k in range(30)])
    change(tmp_path, "certificate.json", channel={"shape": [2, 2**20], "at": []})
    assert both(tmp_path) == (False, False)


def test_long_powers_of_a_metric_are_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = [[0 if x == y else 1_500 + x + 2 * y for y in range(12)] for x in range(12)]
    problem = Problem(["1/12"] * 12, [[k % 2, 1 - k % 2] for k in range(12)], [[k % 3, 1] for k in range(12)])
    save_bundle(tmp_path, solve(problem, "1/3", conditions=Conditions(exp_epsilon="1001/1000", metric=far)))
    assert alone.check(tmp_path)
    monkeypatch.setattr(alone, "weigh", lambda _: vars(alone.EFFORT).update(left=30_000, unit=1))
    with pytest.raises(alone.Refused, match="takes more than"):
        alone.check(tmp_path)


def test_what_asks_for_nothing_may_be_written(tmp_path: Path) -> None:
    """`deterministic = false` was refused by one of the two where several problems have conditions."""
    save_bundle(tmp_path, robust([COIN, COIN], "1/3", conditions=Conditions(exp_epsilon=3)))
    problem = read(tmp_path, "problem.json")
    problem["scenarios"][1]["conditions"]["deterministic"] = False
    tables = [one["conditions"] for one in problem["scenarios"]]
    change(tmp_path, "problem.json", **problem)
    for name in ("certificate.json", "manifest.json"):
        change(tmp_path, name, conditions=tables)
    assert both(tmp_path) == (True, True)


def test_cases_that_are_not_needed_are_judged_by_neither(tmp_path: Path) -> None:
    save_bundle(tmp_path, solve(COIN, 0, conditions=Conditions(deterministic=True)))
    edit(tmp_path, "certificate.json", lambda d: d.update(cases=[{"void": True, "replies": {}, "weights": {}}]))
    assert both(tmp_path) == (True, True)
