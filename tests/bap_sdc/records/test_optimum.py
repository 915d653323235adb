"""The optimum of a table of records against the ordinary problem, exactly; its rows, its rule and its proof."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp import Agent, InputError, Problem, calibrate, solve
from bap_lp.model.calibration import extremes
from bap_lp.support.rational import EXACT, public
from bap_sdc import RecordOptimum, RecordProgram, TableEve, optimise
from bap_sdc.records.optimum import optimise as module
from bap_sdc.records.optimum.kept import KeptDecisions
from bap_sdc.records.optimum.result import TabledReplies
from bap_sdc.records.optimum.risks import risks_of

LOSSES = {
    "absolute": lambda n: [[Fraction(abs(i - j), max(n - 1, 1)) for j in range(n)] for i in range(n)],
    "0-1": lambda n: [[int(i != j) for j in range(n)] for i in range(n)],
    "squared": lambda n: [[Fraction((i - j) ** 2, max(n - 1, 1) ** 2) for j in range(n)] for i in range(n)],
}


@st.composite
def record_programs(draw: st.DrawFn, eves: int = 2, guesses: int = 3) -> RecordProgram:
    """Small tables: two published columns, up to `eves` Eves with secrets and knowledge of their own."""
    levels = draw(st.lists(st.integers(2, 3), min_size=2, max_size=2))
    count = draw(st.integers(1, eves))
    secrets = [draw(st.integers(2, guesses)) for _ in range(count)]
    values = [draw(st.integers(1, 3)) for _ in range(count)]
    sizes = [*levels, *secrets, *values]
    kinds = st.tuples(*(st.integers(0, n - 1) for n in sizes))
    types = np.array(sorted(draw(st.sets(kinds, min_size=2, max_size=10))))
    weights = draw(st.lists(st.integers(1, 9), min_size=len(types), max_size=len(types)))
    losses = tuple(LOSSES[draw(st.sampled_from(sorted(LOSSES)))](n) for n in levels)
    agents = []
    for k, n in enumerate(secrets):
        plain = draw(st.booleans())
        loss = LOSSES["0-1"](n) if plain else [[draw(st.integers(0, 3)) for _ in range(n)] for _ in range(n)]
        secret, known = types[:, 2 + k], types[:, 2 + count + k]
        agents.append(TableEve(f"Eve {k}", secret, known, loss, draw(st.integers(1, 2))))
    return RecordProgram([Fraction(w, sum(weights)) for w in weights], types[:, :2], losses, tuple(agents))


def ordinary(program: RecordProgram) -> Problem:
    """The same problem with all tables written out."""
    bob = EXACT.zeros((len(program.p), 1))
    for k, table in enumerate(program.losses):
        bob = (bob[:, :, None] + table[program.codes[:, k]][:, None, :]).reshape(len(bob), -1)
    eves = [Agent(e.loss[e.secret], name=e.name, weight=e.weight, knows=e.known.tolist()) for e in program.eves]
    return Problem(program.p, bob, eves=eves)


def channel(found: RecordOptimum) -> np.ndarray:
    out = np.full((found.types, found.decisions), Fraction(0), dtype=object)
    state, decision, share = found.triples()
    out[state, decision] = share
    return out


def mechanism_of(problem: Problem, lam: Fraction) -> np.ndarray:
    best = solve(problem, lam)
    out = np.full(problem.shape[:2], Fraction(0), dtype=object)
    for s, name in enumerate(best.mechanism.signals):
        out[:, problem.bob_decisions.index(name)] = public(best.mechanism.q)[:, s]
    return out


@pytest.mark.slow
@given(record_programs(), st.fractions(0, 3, max_denominator=4))
@settings(max_examples=60)
def test_records_and_the_ordinary_problem_have_one_answer(program: RecordProgram, lam: Fraction) -> None:
    found, problem = optimise(program, lam), ordinary(program)
    best = solve(problem, lam)
    assert (found.value, found.bob, found.eve) == (best.value, best.risks.bob, best.risks.eve)
    assert found.gap == 0
    assert found.verify()
    assert (channel(found) == mechanism_of(problem, lam)).all()
    assert sum(found.columns) == found.bob


@given(record_programs(), st.fractions(0, 3, max_denominator=4))
@settings(max_examples=25)
def test_pairs_and_priced_columns_are_two_ways_to_one_release(program: RecordProgram, lam: Fraction) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PAIRS", False)
        priced = optimise(program, lam)
    found = optimise(program, lam)
    assert found.value == priced.value
    assert (channel(found) == channel(priced)).all()
    assert priced.verify()


@given(record_programs(), st.fractions(0, 3, max_denominator=4), st.data())
@settings(max_examples=60, deadline=None)
def test_on_some_decisions_the_best_release_is_that_of_the_problem_which_has_only_these(
    program: RecordProgram, lam: Fraction, data: st.DataObject
) -> None:
    kept = np.array(sorted(data.draw(st.sets(st.integers(0, program.decisions - 1), min_size=1))))
    whole = ordinary(program)
    best = solve(Problem(program.p, EXACT.array(whole.bob_loss)[:, kept], eves=whole.eves), lam)
    for numbers in (program, program.as_float()):
        priced = EXACT.number(lam) if numbers.exact else float(lam)
        state, decision, q = KeptDecisions(numbers, priced).rows(kept, np.ones(len(program.p), dtype=bool))
        assert set(decision.tolist()) <= set(kept.tolist())
        *_, bob, eve = risks_of(program, state, decision, program.p[state] * q)
        above = bob - EXACT.number(lam) * eve - EXACT.number(best.value)
        assert above == 0 if numbers.exact else abs(float(above)) < 1e-9


@given(record_programs(), st.fractions(0, 3, max_denominator=4))
@settings(max_examples=25)
def test_floats_come_with_a_certified_gap(program: RecordProgram, lam: Fraction) -> None:
    exact, found = optimise(program, lam), optimise(program, lam, exact=False)
    assert not found.exact
    assert found.bound <= exact.value + 1e-12
    assert abs(found.value - exact.value) < 1e-9
    assert 0 <= found.gap < 1e-9
    assert found.verify()


@given(record_programs(), st.fractions(0, 3, max_denominator=4))
@settings(max_examples=25)
def test_the_rule_releases_seen_records_as_the_optimum_does(program: RecordProgram, lam: Fraction) -> None:
    found = optimise(program, lam)
    for x in range(found.types):
        sent, share = found.row(x)
        assert share.sum() == 1
        i = found.rule(program.codes[x], [e.secret[x] for e in program.eves], [e.known[x] for e in program.eves])
        scores = [score(found, x, int(k)) for k in (i, *sent)]
        assert len(set(scores)) == 1  # the rule's decision is as good as every decision that is sent


def score(found: RecordOptimum, x: int, i: int) -> Fraction:
    program = found.program
    out = sum(
        public(t)[program.codes[x, k], lv]
        for k, (t, lv) in enumerate(zip(program.losses, program.published(i), strict=True))
    )
    for n, eve in enumerate(program.eves):
        u = found.replies(i, n, int(eve.known[x]))
        assert u.sum() == found.lam
        out -= Fraction(str(eve.weight)) * u.dot(public(eve.loss)[eve.secret[x]])
    return out


@given(record_programs())
@settings(max_examples=25)
def test_full_null_and_the_calibrated_lambda_are_those_of_the_problem(program: RecordProgram) -> None:
    problem = ordinary(program)
    (bob_full, eve_full), (bob_null, eve_null) = (tuple(map(public, pair)) for pair in extremes(problem))
    found = optimise(program, 1)
    weights = [Fraction(str(e.weight)) for e in program.eves]
    assert (found.full[0], found.null[0]) == (bob_full, bob_null)
    assert sum(w * r for w, r in zip(weights, found.full[1], strict=True)) == eve_full
    assert sum(w * r for w, r in zip(weights, found.null[1], strict=True)) == eve_null
    if eve_full < eve_null:
        assert optimise(program).lam == calibrate(problem)
    else:
        with pytest.raises(InputError, match="is undefined"):
            optimise(program)


def table(seed: int = 0, values: int = 4) -> RecordProgram:
    random = np.random.default_rng(seed)
    types = np.unique(np.stack([random.integers(0, n, 80) for n in (4, 3, 2, values)], axis=1), axis=0)
    counts = random.integers(1, 20, len(types))
    eve = TableEve("neighbour", types[:, 2], types[:, 3], [[0, 1], [3, 0]])
    losses = (LOSSES["absolute"](4), LOSSES["0-1"](3))
    return RecordProgram([Fraction(int(c), int(counts.sum())) for c in counts], types[:, :2], losses, (eve,))


def test_processes_give_the_same_release() -> None:
    program = table()
    here, there = optimise(program, "1/2"), optimise(program, "1/2", workers=2)
    assert (channel(here) == channel(there)).all()
    assert there.verify()


def test_long_numbers_stay_exact() -> None:
    program = table(3)
    odd = [[Fraction(abs(i - j), 10**18 + 9) + Fraction(i != j, 7) for j in range(4)] for i in range(4)]
    long = replace(program, losses=(odd, program.losses[1]))
    found = optimise(long, Fraction(10**20 + 39, 10**20))
    assert found.value == solve(ordinary(long), found.lam).value
    assert found.verify()


def test_progress_ends_with_all_records() -> None:
    seen: list[tuple[int, int]] = []
    optimise(table(), 1, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] == len(table().p)
    assert seen == sorted(seen)


def test_a_false_proof_is_refused() -> None:
    found = optimise(table(), "1/2")
    part = found.components[-1]
    u = part.replies_of(found.program)
    turned = replace(part, replies=TabledReplies(u[:, ::-1], np.arange(len(u))))
    assert "the optimum claims" in replace(found, components=(*found.components[:-1], turned)).verify().reason
    louder = replace(part, replies=TabledReplies(u * 2, np.arange(len(u))))
    assert "their price is 1/2" in replace(found, components=(*found.components[:-1], louder)).verify().reason
    moved = replace(part, decision=(part.decision + 1) % found.decisions)
    assert not replace(found, components=(*found.components[:-1], moved)).verify()
    short = replace(part, rho=part.rho / 2)
    assert "does not sum" in replace(found, components=(*found.components[:-1], short)).verify().reason


def test_a_record_never_seen_is_released_by_the_rule() -> None:
    found = optimise(table(), "1/2")
    assert 0 <= found.rule([0, 0], [1], [-1]) < found.decisions
    with pytest.raises(InputError, match=r"codes\[0\] = 9 must be a level from 0 to 3"):
        found.rule([9, 0], [1], [0])


BAD = [
    ({"p": ["1/2"] * 2}, "codes has shape"),
    ({"losses": ()}, "losses must not be empty"),
    ({"eves": ()}, "eves must not be empty"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_a_bad_program_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(table(), **change)


def test_codes_outside_the_tables_are_refused() -> None:
    program = table()
    with pytest.raises(InputError, match=r"codes\[:, 1\]\[0\] = 7 must be below 3"):
        replace(program, codes=np.column_stack([program.codes[:, 0], np.full(len(program.p), 7)]))
    with pytest.raises(InputError, match="lam = -1 must not be negative"):
        optimise(program, -1)
    with pytest.raises(InputError, match="must be exact"):
        optimise(program.as_float(), 1, exact=True)


@pytest.mark.parametrize("lam", [1e-9, 1.0, 1e6])
def test_hostile_floats_still_have_a_certified_gap(lam: float) -> None:
    random = np.random.default_rng(0)
    types = np.unique(random.integers(0, [4, 3, 2, 5], (200, 4)), axis=0)
    p = 10.0 ** random.uniform(-12, 0, len(types))
    losses = (1e6 * np.abs(np.subtract.outer(np.arange(4), np.arange(4))), 1e-6 * (1 - np.eye(3)))
    first = TableEve("first", types[:, 2], types[:, 3], np.array([[0, 1e3], [2e-3, 0]]))
    second = TableEve("second", types[:, 1], types[:, 0], np.array([[0, 1, 0.3], [2e-3, 0, 1], [1, 0.2, 0]]))
    found = optimise(RecordProgram(p / p.sum(), types[:, :2], losses, (first, second)), lam)
    assert found.verify()
    size = 3e6 + lam * 1e3
    assert 0 <= found.gap <= 1e-9 * size


def test_a_number_that_is_none_proves_nothing() -> None:
    found = optimise(table(), 0.5, exact=False)
    assert not replace(found, value=float("nan")).verify()


@given(
    record_programs(eves=1), st.lists(st.integers(0, 5), min_size=30, max_size=30), st.sampled_from(["0", "2/3", "2"])
)
@settings(max_examples=40)
def test_one_eve_per_value_of_a_random_knowledge_is_an_eve_who_knows_it(
    program: RecordProgram, raw: list[int], lam: str
) -> None:
    """Against the ordinary problem with the table k(z, omega | x)."""
    eve, N = program.eves[0], len(program.p)
    weights = np.array(raw[: 3 * N]).reshape(N, -1)
    weights = np.where(weights.sum(axis=1)[:, None] > 0, weights, 1)
    kernel = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
    split = [replace(eve, name=f"{k}", chance=[row[k] for row in kernel]) for k in range(weights.shape[1])]
    found = optimise(RecordProgram(program.p, program.codes, program.losses, tuple(split)), lam)
    values = np.unique(eve.known).tolist()
    knowledge = [[v * (z == mine) for z in values for v in row] for mine, row in zip(eve.known, kernel, strict=True)]
    one = Agent(eve.loss[eve.secret], weight=eve.weight, knowledge=knowledge)
    best = solve(Problem(program.p, ordinary(program).bob_loss, eves=[one]), lam)
    assert (found.value, found.bound) == (best.value, best.value)
    assert found.verify()
    assert sum(found.eves) * public(eve.weight) == found.eve
    floated = optimise(found.program.as_float(), float(Fraction(lam)))
    assert abs(floated.value - float(best.value)) < 1e-9
    assert floated.verify()
