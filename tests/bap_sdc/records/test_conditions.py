"""Conditions in the words of columns: against a program of its own, the definitions on the channel, and brute force."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from fractions import Fraction as F
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import LinearConstraint, linprog, milp
from tampering import put, refit

from bap_cli.main import main
from bap_lp import Conditions, InputError, solve, verify_standalone
from bap_lp.support.writing import write_bundle
from bap_sdc import Eve, Study
from bap_sdc.records.bundle import bundle_texts, disagreement, load_solution
from bap_sdc.records.conditions.parts import study_parts
from bap_sdc.records.files import load_study

NEIGHBOUR = Eve("ill", knows=["age"], loss=[[0, 1], [3, 0]], name="neighbour")
INSURER = Eve("sex", knows=["age", "ill"], name="insurer")
PUBLISH = {"pay": "absolute", "sex": "0-1"}
LEVELS = {"pay": {"levels": [1, 2, 3]}, "ill": {"levels": ["no", "yes"]}}


def table(seed: int, records: int = 40) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    columns = {"age": list("abc"), "ill": ["no", "yes"], "pay": [1, 2, 3], "sex": ["x", "y"]}
    return pd.DataFrame({name: draw.choice(values, records) for name, values in columns.items()})


def study(conditions: Any, seed: int = 0, eves: Any = (NEIGHBOUR,), **more: Any) -> Study:
    return Study(table(seed), PUBLISH, list(eves), columns=LEVELS, conditions=conditions, **more)


def program_of(one: Study, lam: float) -> tuple[Any, ...]:
    """The whole program of a study in scipy's words, written without the library: q[x,i] >= 0, then t[n,z,i]."""
    types, p = one.prior.types, np.array([float(v) for v in one.prior.p])
    sizes = [one.levels[k] for k in one.published]
    signals = list(product(*map(range, sizes)))
    N, S = len(types), len(signals)
    cost = np.zeros((N, S))
    for t, (j, k) in zip(one.targets, enumerate(one.published), strict=True):
        loss = np.array([[float(v) for v in row] for row in t.loss])
        cost += float(t.weight) * loss[types[:, k]][:, [s[j] for s in signals]]
    views = []
    for n, spy in enumerate(one.spies):
        for z in np.unique(one.known(types, spy)):
            views.append((n, one.known(types, spy) == z))
    c = np.concatenate([(p[:, None] * cost).ravel(), np.zeros(len(views) * S)])
    rows, rhs = [], []

    def row(rho: Any, t: Any = None, most: float = 0.0) -> None:
        out = np.zeros(len(c))
        out[: N * S] = np.asarray(rho).ravel()
        out[N * S :] += 0 if t is None else np.asarray(t).ravel()
        rows.append(out)
        rhs.append(most)

    for v, (n, inside) in enumerate(views):
        spy = one.spies[n]
        loss = np.array([[float(u) for u in r] for r in spy.loss])[types[:, spy.secret]]
        c[N * S + v * S : N * S + (v + 1) * S] = -lam * float(spy.weight)
        for s, j in product(range(S), range(loss.shape[1])):
            rho, t = np.zeros((N, S)), np.zeros((len(views), S))
            rho[:, s], t[v, s] = -p * inside * loss[:, j], 1
            row(rho, t)
    asked = one.conditions
    for k, n, column, level, _ in asked.caps(one):
        for m, inside in views:
            for s in range(S) if m == n else ():
                rho = np.zeros((N, S))
                rho[:, s] = p * inside * ((types[:, column] == level) - float(asked.cap[k].at_most))
                row(rho)
    for n, least in asked.floors(one):
        t = np.zeros((len(views), S))
        t[[m == n for m, _ in views]] = -1
        row(np.zeros((N, S)), t, -float(least))
    if asked.types.max_bob_risk is not None:
        row(p[:, None] * cost, None, float(asked.types.max_bob_risk))
    for column, ratio in asked.private(one):
        for x, y in product(range(N), repeat=2):
            if (types[x] != types[y]).sum() == 1 and types[x, column] != types[y, column]:
                for s in range(S):
                    rho = np.zeros((N, S))
                    rho[x, s], rho[y, s] = 1, -float(ratio)
                    row(rho)
    sums = np.zeros((N, len(c)))
    for x in range(N):
        sums[x, x * S : (x + 1) * S] = 1
    bounds = [(0, 1)] * (N * S) + [(None, None)] * (len(views) * S)
    return c, np.array(rows), np.array(rhs), sums, bounds, p, S


def plain_optimum(one: Study, lam: float) -> float:
    c, rows, rhs, sums, bounds, *_ = program_of(one, lam)
    found = linprog(c, rows, rhs, sums, np.ones(len(sums)), bounds)
    assert found.status == 0
    return float(found.fun)


FLOOR = {"eve": "neighbour", "at_least": "1/2"}
CASES: dict[str, tuple[Any, Any]] = {
    "a cap": ({"cap": [{"secret": "ill", "level": "yes", "at_most": "3/5"}]}, [NEIGHBOUR]),
    "a floor": ({"floor": [FLOOR]}, [NEIGHBOUR]),
    "differential privacy of the secret": ({"dp": [{"column": "ill", "exp_epsilon": "5/4"}]}, [NEIGHBOUR]),
    "differential privacy of a known column": ({"dp": [{"column": "age", "exp_epsilon": 2}]}, [NEIGHBOUR]),
    "two floors": ({"floor": [FLOOR, {"eve": "insurer", "at_least": "1/5"}]}, [NEIGHBOUR, INSURER]),
    "a cap and a floor": (
        {"cap": [{"secret": "sex", "level": "x", "at_most": "4/5", "eve": "neighbour"}], "floor": [FLOOR]},
        [NEIGHBOUR, INSURER],
    ),
    "two ratios": (
        {"dp": [{"column": "ill", "exp_epsilon": 2}, {"column": "pay", "exp_epsilon": 3}], "max_bob_risk": "1/2"},
        [NEIGHBOUR],
    ),
    "a floor and a cap on R_B": ({"floor": [FLOOR], "max_bob_risk": "1/3"}, [NEIGHBOUR]),
}


def holds(one: Study, found: Any) -> None:
    """Every promise, by its definition on the channel."""
    types, p, asked = one.prior.types, [F(str(v)) for v in one.prior.p], one.conditions
    row, signal, q = found.channel.rows(types)
    rho = np.zeros((len(types), found.channel.signals), dtype=object) + F(0)
    for x, s, v in zip(row.tolist(), signal.tolist(), q.tolist(), strict=True):
        rho[x, s] = p[x] * F(str(v))
    assert [sum(r) for r in rho] == p
    for k, n, column, level, _ in asked.caps(one):
        known = one.known(types, one.spies[n])
        for z, s in product(set(known.tolist()), range(rho.shape[1])):
            inside = sum(rho[(known == z) & (types[:, column] == level), s], F(0))
            assert inside <= asked.cap[k].at_most * sum(rho[known == z, s], F(0))
    for n, least in asked.floors(one):
        spy, risk = one.spies[n], F(0)
        known = one.known(types, spy)
        for z, s in product(set(known.tolist()), range(rho.shape[1])):
            here = np.flatnonzero(known == z).tolist()
            guesses = range(spy.loss.shape[1])
            risk += min(sum(rho[x, s] * F(str(spy.loss[types[x, spy.secret], j])) for x in here) for j in guesses)
        assert risk >= F(str(least))
        assert found.eves[n] == risk
    for column, ratio in asked.private(one):
        for x, y in product(range(len(types)), repeat=2):
            if (types[x] != types[y]).sum() == 1 and types[x, column] != types[y, column]:
                assert all(rho[x, s] / p[x] <= ratio * rho[y, s] / p[y] for s in range(rho.shape[1]))
    if asked.min_cell is not None:
        totals = [sum(rho[:, s], F(0)) * one.records for s in range(rho.shape[1])]
        assert min(totals) >= asked.min_cell


@pytest.mark.parametrize("lam", [F(0), F(1, 4)])
@pytest.mark.parametrize("name", CASES)
def test_parts_and_prices_find_the_optimum_of_the_whole_program(name, lam):
    conditions, eves = CASES[name]
    one = study(conditions, 1, eves)
    found = one.solve(lam)
    assert found.exact
    assert found.gap == 0
    assert found.value == found.risks.bob - lam * found.risks.eve
    assert float(found.value) == pytest.approx(plain_optimum(one, float(lam)), abs=1e-7)
    assert found.verify().optimal
    holds(one, found)
    near = one.solve(lam, exact=False)
    assert near.verify().optimal
    assert float(near.value) == pytest.approx(float(found.value), abs=1e-8)


def test_a_study_of_parts_has_exactly_the_value_of_one_ordinary_problem():
    for seed in range(3):
        one = study({"cap": [{"secret": "ill", "level": "yes", "at_most": "9/10"}]}, seed)
        column, level = one.names.index("ill"), one["ill"].labels.index("yes")
        event = np.flatnonzero(one.prior.types[:, column] == level).tolist()
        cap = Conditions(posterior_caps=[{"event": event, "at_most": "9/10", "eve": "neighbour"}])
        whole, found = solve(one.problem(), "1/4", conditions=cap), one.solve("1/4")
        assert found.components == 3
        assert (found.value, found.price_of_conditions) == (whole.value, whole.price_of_conditions)
        floor = F(found.nulls[0]) * F(9, 10)
        priced = study({"floor": [{"at_least": floor}]}, seed).solve("1/10")
        whole = solve(one.problem(), "1/10", conditions=Conditions(min_eve_risk=floor))
        assert priced.value == whole.value
        assert priced.shadow_prices["floor[0].at_least"] == whole.certificate.floor_price


def test_conditions_on_all_record_types_at_once_leave_one_part():
    for conditions in ({"exp_epsilon": 3}, {"max_leakage": "3/2", "min_eve_risk": "2/5"}):
        one = study(conditions, 2)
        found, whole = one.solve("1/4"), solve(one.problem(), "1/4", conditions=Conditions(**conditions))
        assert found.components == 1
        assert found.value == whole.value
        assert found.verify().optimal


@pytest.mark.parametrize("least", [3, 7, 40])
def test_a_rare_combination_is_never_released_and_the_bound_is_below_the_best_choice_of_cells(least):
    one = study({"min_cell": least, "cap": [{"secret": "ill", "level": "yes", "at_most": "4/5"}]}, 3)
    found = one.solve("1/10")
    holds(one, found)
    assert found.verify()
    c, rows, rhs, sums, bounds, p, S = program_of(one, 0.1)
    # u[s] = 1 if signal s is sent: least / n u[s] <= P(s) <= u[s]
    wide = np.zeros((2 * S, len(c) + S))
    for s in range(S):
        total = np.zeros(len(c))
        total[np.arange(len(p)) * S + s] = p
        wide[2 * s, : len(c)], wide[2 * s, len(c) + s] = total, -1
        wide[2 * s + 1, : len(c)], wide[2 * s + 1, len(c) + s] = -total, least / one.records
    limits = [
        LinearConstraint(np.hstack([rows, np.zeros((len(rows), S))]), -np.inf, rhs),
        LinearConstraint(np.hstack([sums, np.zeros((len(sums), S))]), 1, 1),
        LinearConstraint(wide, -np.inf, 0),
    ]
    ends = np.array([[-np.inf if a is None else a, np.inf if b is None else b] for a, b in bounds] + [[0, 1]] * S)
    best = milp(
        np.concatenate([c, np.zeros(S)]),
        constraints=limits,
        bounds=(ends[:, 0], ends[:, 1]),
        integrality=[0] * len(c) + [1] * S,
    )
    assert best.status == 0
    assert float(found.bound) - 1e-7 <= best.fun <= float(found.value) + 1e-7


@pytest.mark.parametrize("exact", [True, False])
def test_a_limit_at_an_attainable_extreme_is_met(exact):
    null, one = study(None, 1).solve(0).nulls[0], study(None, 1)
    known, ill = one.known(one.prior.types, one.spies[0]), one.prior.types[:, one.names.index("ill")] == 1
    p = np.array([F(str(v)) for v in one.prior.p])
    most = max(sum(p[(known == z) & ill]) / sum(p[known == z]) for z in set(known.tolist()))
    near = (lambda v: v) if exact else float
    for conditions in (
        {"floor": [{"at_least": near(null)}]},
        {"cap": [{"secret": "ill", "level": "yes", "at_most": near(most)}]},
    ):
        found = study(conditions, 1).solve("1/4")
        assert found.exact == exact
        assert found.verify().optimal


def test_an_eve_who_reports_probabilities_may_have_a_cap_and_no_floor():
    reporter = Eve("ill", knows=["age"], loss="log", name="reporter")
    assert study({"cap": [{"secret": "ill", "level": "yes", "at_most": "9/10"}]}, 1, [reporter]).solve(0).verify()
    with pytest.raises(InputError, match=r"reports probabilities: .* cannot have a floor"):
        study({"floor": [{"at_least": "1/10"}]}, 1, [reporter])


def test_differential_privacy_of_a_column_holds_for_records_never_seen():
    frame = pd.DataFrame({"ill": [0, 0, 1, 1, 2, 0], "age": [0, 0, 0, 1, 1, 1], "pay": [0, 1, 1, 0, 1, 1]})
    one = Study(
        frame, {"pay": "0-1"}, [Eve("ill", knows=["age"])], conditions={"dp": [{"column": "ill", "exp_epsilon": 2}]}
    )
    found = one.solve(0)
    every = np.array(list(product(*map(range, one.levels))))
    row, sent, q = found.channel.over(every).rows(every)
    table = np.zeros((len(every), sent.max() + 1), dtype=object) + F(0)
    for x, s, v in zip(row.tolist(), sent.tolist(), q.tolist(), strict=True):
        table[x, s] = F(str(v))
    assert [sum(r) for r in table] == [1] * len(every)
    column = one.names.index("ill")
    for x, y in product(range(len(every)), repeat=2):
        if (every[x] != every[y]).sum() == 1 and every[x, column] != every[y, column]:
            assert all(a <= 2 * b for a, b in zip(table[x], table[y], strict=True))


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ({"cap": [{"secret": "ill", "level": "yes", "at_most": "1/5"}]},
         r"cap\[0\].at_most = 1/5 cannot be met: without any release ill=yes has .* among records with age="),
        ({"floor": [{"at_least": 2}]}, r"floor\[0\].at_least = 2 cannot be met: .* the risk of neighbour is"),
        ({"min_cell": 41}, r"min_cell = 41 cannot be met: the prior is fitted to 40 records"),
        ({"floor": [FLOOR], "max_bob_risk": 0}, r"max_bob_risk = 0 cannot be met: .* R_B is at least"),
        ({"min_eve_risk": 5}, r"min_eve_risk = 5 cannot be met: without any release R_E is"),
        ({"cap": [{"secret": "ill", "level": "maybe", "at_most": 1}]}, r"cap\[0\].level = 'maybe' is not a level"),
        ({"cap": [{"secret": "pay", "level": 2, "at_most": 1}]}, r"cap\[0\].secret = 'pay' is wanted by no Eve"),
        ({"cap": [{"secret": "ill", "level": "yes", "at_most": 2}]}, r"cap\[0\].at_most = 2 must be at most 1"),
        ({"cap": [{"secret": "ill", "level": "yes"}]}, r"cap\[0\].at_most is missing"),
        ({"cap": {"secret": "ill"}}, r"cap .*must be a list of tables"),
        ({"floor": [{"eve": "nobody", "at_least": 1}]}, r"floor\[0\].eve = 'nobody' names no Eve"),
        ({"dp": [{"column": "height", "exp_epsilon": 2}]}, r"dp\[0\].column = 'height' is not a column of the study"),
        ({"dp": [{"column": "ill", "exp_epsilon": "1/2"}]}, r"dp\[0\].exp_epsilon = 1/2 must be at least 1"),
        ({"dp": [{"column": "ill", "epsilon": 1}]}, r"dp\[0\].epsilon is not a known key"),
        ({"min_cel": 4}, "min_cel is not a condition"),
        (["cap"], "conditions = .* must be a table"),
    ],
)  # fmt: skip
def test_what_cannot_be_met_or_read_is_refused_in_one_line(conditions, words):
    with pytest.raises(InputError, match=words) as caught:
        study(conditions, 1).solve("1/4")
    assert "\n" not in str(caught.value)


def test_a_level_may_be_written_as_its_label_or_as_a_number():
    for level in (2, "2", "2.0", 2.0):
        conditions = {"cap": [{"secret": "pay", "level": level, "at_most": 1, "eve": "neighbour"}]}
        [cap] = study(conditions).conditions.caps(study(conditions))
        assert cap[3] == 1


def test_a_part_keeps_only_decisions_that_no_other_replaces():
    frame = pd.DataFrame({"z": [0, 0, 1, 1], "s": [0, 1, 0, 1], "v": [0, 1, 3, 4]})
    for loss, kept in (("absolute", [(0, 1), (2, 3)]), ("0-1", [(0, 1), (2, 3)])):
        one = Study(
            frame,
            {"v": loss},
            [Eve("s", knows=["z"])],
            conditions={"cap": [{"secret": "s", "level": 1, "at_most": "2/3"}]},
        )
        assert [part.levels[0] for part in study_parts(one)] == kept


@pytest.mark.parametrize("kind", ["parts", "priced"])
def test_a_folder_under_conditions_verifies_and_a_forged_one_does_not(tmp_path, kind):
    cap = [{"secret": "ill", "level": "yes", "at_most": "3/5"}] if kind == "parts" else []
    found = study({"floor": [FLOOR], "cap": cap}, 1).solve("1/10")
    write_bundle(tmp_path / "D", bundle_texts(found, found.document()))
    back = load_solution(tmp_path / "D")
    assert back.verify().optimal
    assert disagreement(back) == ""
    assert back.promises == found.promises
    document = json.loads((tmp_path / "D" / "certificate.json").read_text())
    assert ("certificate" in document["parts"][0]) == (kind == "parts")
    from bap_sdc.records.certificates import proof_from_document

    levels = back.study.program.levels
    mechanism = json.loads((tmp_path / "D" / "mechanism.json").read_text())
    rows = [(r[0], int(np.ravel_multi_index(tuple(r[1:-1]), levels)), r[-1]) for r in mechanism["rows"]]
    forged = [
        put("value", to="-9"),
        put("gap", to="1"),
        put("prices", "floor", "neighbour", to="9"),
        put("prices", "floor", "neighbour", to="-1"),
        put("prices", "max_bob_risk", to="1"),
        put("lambda", to="1/9"),
    ]
    if kind == "parts":
        forged += [
            put("parts", to=lambda parts: parts[1:]),
            put("parts", 0, "levels", 0, to=lambda own: own[1:]),
            put("parts", 0, "certificate", "conditions", "posterior_caps", 0, "at_most", to="1"),
            put("parts", to=lambda parts: [*parts, parts[0]]),
        ]
    assert "optimal" in verify_standalone.check(str(tmp_path / "D"))
    for change in forged:
        change(one := json.loads(json.dumps(document)))
        (tmp_path / "D" / "certificate.json").write_text(json.dumps(one))
        refit(tmp_path / "D")
        with pytest.raises(verify_standalone.Refused):
            verify_standalone.check(str(tmp_path / "D"))
        try:
            verdict = proof_from_document(back.study, one, rows, "forged").verify()
        except (ValueError, ArithmeticError, LookupError):
            continue
        assert not verdict


@pytest.mark.parametrize(
    "name", [*CASES, "cells", "deterministic", "all pairs", "pufferfish", "a floor for every signal"]
)
def test_the_checker_in_one_file_proves_what_the_library_proves(tmp_path, name):
    state = [0, 1]
    more = {
        "cells": {"min_cell": 7, **CASES["a cap"][0]},
        "deterministic": {"deterministic": True, **CASES["a cap"][0]},
        "all pairs": {"exp_epsilon": 3, "min_eve_risk": "1/2", **CASES["differential privacy of the secret"][0]},
        "pufferfish": {"pufferfish": [{"pairs": [[[0], [1]]], "exp_epsilon": 2}], "dp": CASES["two ratios"][0]["dp"]},
        "a floor for every signal": {"signal_floor": "1/10", "posterior_caps": [{"event": state, "at_most": "1/2"}]},
    }
    conditions, eves = CASES.get(name) or (more[name], [NEIGHBOUR])
    found = study(conditions, 1, eves).solve("1/4")
    write_bundle(tmp_path / "D", bundle_texts(found, found.document()))
    within = "within" if found.gap else "is optimal"
    assert within in verify_standalone.check(str(tmp_path / "D"))


STUDY = """
data = "table.csv"
min_cell = 2

[publish.pay]
loss = "absolute"

[publish.sex]

[[eve]]
name = "neighbour"
secret = "ill"
knows = ["age"]
loss = [[0, 1], [3, 0]]

[[cap]]
secret = "ill"
level = "yes"
at_most = "3/5"

[[floor]]
eve = "neighbour"
at_least = "2/5"

[[dp]]
column = "age"
exp_epsilon = 4

[columns]
pay = { levels = [1, 2, 3] }
"""


BAP = [sys.executable, "-m", "bap_cli.main"]


def test_a_study_file_with_conditions_is_solved_verified_and_released(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(1).to_csv("table.csv", index=False)
    Path("study.toml").write_text(STUDY)
    assert main(["microdata", "solve", "study.toml", "--lambda", "1/4", "--out", "D", "--no-attackers"]) == 0
    assert "gives ill = yes a probability of at most 60 in 100" in " ".join(capsys.readouterr().out.split())
    assert main(["microdata", "release", "D", "table.csv", "-o", "out.csv"]) == 0
    assert main(["microdata", "report", "D", "--no-attackers", "-o", "page.html"]) == 0
    assert '<ul id="promises"><li>Whatever is released, the neighbour' in Path("page.html").read_text()
    capsys.readouterr()
    Path("study.toml").write_text(STUDY.replace('"3/5"', '"1/10"'))
    assert main(["microdata", "solve", "study.toml", "--lambda", "1/4"]) == 2
    assert "study.toml: cap[0].at_most = 1/10 cannot be met" in capsys.readouterr().err
    Path("study.toml").write_text(STUDY.replace("at_most", "at_mots"))
    assert main(["microdata", "solve", "study.toml"]) == 2
    assert "study.toml: cap[0].at_mots is not a known key" in capsys.readouterr().err


def large(folder: Any) -> None:
    """A study whose differential privacy takes minutes."""
    draw = np.random.default_rng(0)
    columns = {"age": 10, "ill": 6, "pay": 10, "town": 8}
    pd.DataFrame({name: draw.integers(0, n, 3000) for name, n in columns.items()}).to_csv(folder / "t.csv", index=False)
    lines = ['data = "t.csv"', "[publish.pay]", 'loss = "absolute"', "[publish.town]", "[[eve]]", 'secret = "ill"']
    (folder / "study.toml").write_text("\n".join([*lines, "[conditions]", "exp_epsilon = 3"]))


def test_a_time_limit_ends_a_study_under_conditions_in_one_line(tmp_path):
    large(tmp_path)
    command = [*BAP, "microdata", "solve", "study.toml", "--lambda", "1/4", "--time-limit", "0.5"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "time limit" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_interrupt_ends_a_study_under_conditions(tmp_path):
    large(tmp_path)
    one = load_study(tmp_path / "study.toml").study
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            one.solve("1/4")
    finally:
        timer.cancel()


def test_a_cap_on_a_survey_is_kept_and_priced():
    data = pytest.importorskip("statsmodels.datasets").fair.load_pandas().data
    data["affair"] = (data["affairs"] > 0).map({True: "yes", False: "no"})
    columns = {
        "affair": {"levels": ["no", "yes"]},
        "age": {"bands": [0, 25, 35, 100]},
        "children": {"bands": [0, 1, 3, 6]},
    }
    eve = Eve("affair", knows=["age", "children"], loss=[[0, 1], [3, 0]], name="neighbour")
    cap = {"cap": [{"secret": "affair", "level": "yes", "at_most": "1/2"}]}
    one = Study(data, {"rate_marriage": "absolute", "religious": "absolute"}, [eve], columns=columns, conditions=cap)
    found = one.solve("1/4")
    assert found.components == 9
    assert found.verify().optimal
    holds(one, found)
    assert found.price_of_conditions > 0
    assert found.shadow_prices["cap[0].at_most"] > 0


@pytest.mark.parametrize("exact", [None, False])
def test_a_large_study_sends_no_rare_combination_and_proves_how_good_that_is(monkeypatch, exact):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(0, 3, 120) for name in ("ill", "age", "pay", "job")})
    eve = Eve("ill", knows=["age"])
    one = Study(frame, {"pay": "absolute", "job": "0-1"}, [eve], conditions={"min_cell": 14})
    monkeypatch.setattr("bap_sdc.records.conditions.cells._SMALL", 0)
    found = one.solve("1/4", exact)
    used, mass = found.proof.cells
    assert 0 < len(used) < 9
    assert min(mass) * 120 >= 14 if exact is None else float(min(mass)) * 120 > 14 - 1e-9
    assert found.verify()
    assert found.bound <= found.value
