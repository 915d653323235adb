"""The ledger of a folder: the same input gives the same release, a new draw is asked for and its risk is said."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bap_cli.records import commands
from bap_lp import InputError, Mechanism, composed, evaluate
from bap_lp.files.ledger import LEDGER, SecretSource, open_ledger
from bap_sdc import Eve, Study, load_study, read_table
from bap_sdc.records.bundle import load_solution
from bap_sdc.records.release import composition
from bap_sdc.records.release.composition import composed_risk

Run = Callable[..., tuple[int, str, str]]
STUDY = """
data = "t.csv"
[publish.pay]
[[eve]]
secret = "ill"
loss = [[0, 1], [3, 0]]
[alice]
lambda = 2
"""


def lines(folder: str = "D") -> list[dict]:
    return [json.loads(line) for line in Path(folder, LEDGER).read_text().splitlines()]


@pytest.fixture
def solved(run: Run) -> Run:
    """Of 120 records the 30 of the ill are drawn at random."""
    rows = ["no,1", "no,1", "no,2", "yes,2"] * 30
    Path("t.csv").write_text("\n".join(["ill,pay", *rows]) + "\n")
    Path("study.toml").write_text(STUDY)
    assert run("microdata", "solve", "study.toml", "--out", "D", "--no-attackers")[0] == 0
    return lambda *more: run("microdata", "release", "D", *more)


def test_the_same_records_are_released_as_the_same_file_however_they_are_ordered_and_spelled(solved: Run) -> None:
    (warning,) = solved("t.csv", "-o", "a.csv")[2].splitlines()
    assert "AMBER" in warning
    code, _, err = solved("t.csv", "-o", "b.csv")
    assert code == 0
    assert "the same draw as on 20" in err
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    header, *rows = Path("t.csv").read_text().splitlines()
    Path("u.csv").write_text("\n".join([f"{header},more", *(row.replace(",", ", ") + ".0,x" for row in rows[::-1])]))
    assert solved("u.csv", "-o", "c.csv")[0] == 0
    assert Path("c.csv").read_bytes() == Path("a.csv").read_bytes()
    assert solved("t.csv", "-o", "d.parquet")[0] == 0  # the same draw, in another format
    assert pd.read_parquet("d.parquet")["pay"].tolist() == pd.read_csv("a.csv")["pay"].tolist()
    assert len({line["seed"] for line in lines()}) == 1
    assert [line["count"] for line in lines()] == [120] * 4
    assert Path("D", LEDGER).stat().st_mode & 0o777 == 0o600


def test_a_new_draw_is_asked_for_and_says_what_all_draws_leave(solved: Run) -> None:
    solved("t.csv", "-o", "a.csv")
    code, _, err = solved("t.csv", "-o", "b.csv", "--again")
    assert code == 0
    # only the ill are changed: 2 becomes 1 with probability 2/3. Both draws 1: 3 * 1/4 * 4/9 = 1/3 (1/2 are well); one
    # of each: ill for certain, 0; both 2: 3 * 1/4 * 1/9 = 1/12 (1/4 are well); together 5/12
    assert "2 draws of the same records can say more than one: Eve's risk falls from 3/4 (0.75) to 5/12" in err
    assert Path("a.csv").read_bytes() != Path("b.csv").read_bytes()
    assert "the same draw" in solved("t.csv", "-o", "c.csv")[2]
    assert Path("c.csv").read_bytes() == Path("b.csv").read_bytes()  # the latest one
    Path("t.csv").write_text(Path("t.csv").read_text() + "no,1\n")
    code, _, err = solved("t.csv", "-o", "d.csv")
    assert code == 0
    assert "3 draws of a record that is in all tables released from this folder" in err


def test_a_rehearsal_is_not_noted_and_needs_no_ledger(solved: Run) -> None:
    assert solved("t.csv", "-o", "a.csv", "--seed", "1")[0] == 0
    assert not Path("D", LEDGER).exists()
    code, _, err = solved("t.csv", "-o", "a.csv", "--seed", "1", "--again")
    assert (code, "--again must not be given with --seed" in err) == (2, True)


def test_what_is_refused_leaves_no_line_and_no_file(solved: Run) -> None:
    Path("bad.csv").write_text("ill,pay\nno,7\n")
    assert solved("bad.csv", "-o", "a.csv")[0] == 2
    assert solved("t.csv", "-o", "a.csv", "--keep", "ill")[0] == 2
    assert not Path("D", LEDGER).exists()
    assert not Path("a.csv").exists()


def test_a_run_that_is_killed_before_the_file_is_there_is_repeated(
    solved: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("bap_cli.records.commands.write_files", stop)
        assert solved("t.csv", "-o", "a.csv")[0] != 0
    assert not Path("a.csv").exists()
    (noted,) = lines()
    assert solved("t.csv", "-o", "a.csv")[0] == 0
    assert hashlib.sha256(Path("a.csv").read_bytes()).hexdigest() == noted["output"]


def test_a_ledger_that_was_cut_is_refused_and_keeps_what_it_has(solved: Run) -> None:
    assert solved("t.csv", "-o", "a.csv")[0] == 0
    place = Path("D", LEDGER)
    for cut in (place.read_bytes()[:-1], place.read_bytes()[:40]):
        place.write_bytes(cut)
        code, out, err = solved("t.csv", "-o", "b.csv")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "ledger.jsonl: line 1 has no end" in err
        assert place.read_bytes() == cut
    assert not Path("b.csv").exists()


def test_what_is_noted_is_the_mechanism_that_was_drawn_from(
    solved: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = hashlib.sha256(Path("D/mechanism.json").read_bytes()).hexdigest()
    real = commands.proved_solution

    def slow(*arguments: object) -> object:
        found = real(*arguments)
        Path("study.toml").write_text(STUDY.replace("lambda = 2", "lambda = 0"))
        assert run("microdata", "solve", "study.toml", "--out", "D", "--no-attackers")[0] == 0
        return found

    with monkeypatch.context() as patch:
        patch.setattr(commands, "proved_solution", slow)
        assert solved("t.csv", "-o", "a.csv")[0] == 0
    assert hashlib.sha256(Path("D/mechanism.json").read_bytes()).hexdigest() != own
    assert [line["mechanism"] for line in lines()] == [own]
    code, _, err = solved("t.csv", "-o", "b.csv")
    assert (code, "from another mechanism" in err) == (2, True)


def test_python_draws_from_the_ledger_of_the_folder_or_says_that_it_is_a_rehearsal(solved: Run, tmp_path: Path) -> None:
    frame, best = read_table("t.csv"), load_solution("D")
    first, second = best.release(frame), best.release(frame)
    assert first.equals(second)
    assert "rehearsal" not in first.attrs
    assert not first.attrs["log"].document()["rehearsal"]
    assert [line["count"] for line in lines()] == [120, 120]
    assert "the same draw as on 20" in solved("t.csv", "-o", "a.csv")[2]
    assert Path("a.csv").read_text() == first.to_csv(index=False)
    assert not best.release(frame, again=True).equals(first)
    with pytest.raises(InputError, match="must be left out"):
        best.release(frame, ledger=".")

    own = load_study("study.toml").study.solve(2)
    with pytest.raises(InputError, match="again = True needs a ledger"):
        own.release(frame, again=True)
    for rehearsal in (own.release(frame), own.release(frame, seed=1), best.release(frame, seed=1)):
        assert rehearsal.attrs["rehearsal"] is True
        assert rehearsal.attrs["log"].document()["rehearsal"]
    (place := tmp_path / "office").mkdir()
    noted = own.release(frame, ledger=place)
    assert "rehearsal" not in noted.attrs
    assert own.release(frame, ledger=place).equals(noted)
    assert {line["mechanism"] for line in lines(str(place))} == {lines()[0]["mechanism"]}
    odd = frame.assign(pay=frame["pay"].map({"1": "NA", "2": "b"}))
    odd = Study(odd, {"pay": "0-1"}, [Eve("ill")]).solve(0).release(odd, ledger=place)  # a level that CSV cannot hold
    assert set(odd["pay"]) == {"NA", "b"}


def test_a_new_draw_is_not_written_before_it_is_known_what_all_draws_leave(
    solved: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert solved("t.csv", "-o", "a.csv")[0] == 0

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bap_sdc.records.release.composition.composed_risk", stop)
    assert solved("t.csv", "-o", "b.csv", "--again")[0] == 130
    assert not Path("b.csv").exists()


def test_records_that_another_mechanism_released_are_not_drawn_again_by_accident(solved: Run, run: Run) -> None:
    solved("t.csv", "-o", "a.csv")
    Path("study.toml").write_text(STUDY.replace("lambda = 2", "lambda = 0"))
    assert run("microdata", "solve", "study.toml", "--out", "D", "--no-attackers")[0] == 0
    code, _, err = solved("t.csv", "-o", "b.csv")
    assert (code, "from another mechanism, and two releases tell more than one" in err) == (2, True)
    assert not Path("b.csv").exists()
    code, _, err = solved("t.csv", "-o", "b.csv", "--again")
    assert (code, "1 draw from another mechanism may tell more" in err) == (0, True)


@pytest.mark.parametrize("kind", ["open", "link", "garbage", "short seed", "huge", "folder"])
def test_a_ledger_that_others_could_have_written_is_refused(
    solved: Run, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved("t.csv", "-o", "a.csv")
    place = Path("D", LEDGER)
    if kind == "open":
        place.chmod(0o644)
    elif kind == "link":
        place.rename("elsewhere")
        place.symlink_to(Path("elsewhere").resolve())
    elif kind == "garbage":
        place.write_text("[1, 2]\n")
    elif kind == "short seed":
        place.write_text(json.dumps(lines()[0] | {"seed": "00"}) + "\n")
    elif kind == "huge":
        place.write_text(json.dumps(lines()[0] | {"count": 10.5}) + "\n")
    else:
        place.unlink()
        place.mkdir()
    code, out, err = solved("t.csv", "-o", "b.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert LEDGER in err
    assert not Path("b.csv").exists()


def test_a_bundle_gives_the_same_signals_for_the_same_states(run: Run) -> None:
    assert run("solve", "coin_toss", "--out", "d")[0] == 0
    states = ["heads", "tails"] * 40
    Path("s.csv").write_text("\n".join(states) + "\n")
    first = run("release", "d", "--from", "s.csv")
    again = run("release", "d", "--from", "s.csv")
    assert first[1] == again[1]
    assert "the same signals as on 20" in again[2]
    other = run("release", "d", "--from", "s.csv", "--again")
    assert other[1] != first[1]
    assert "2 signals about the same data can say more than one: Eve's risk falls from 3/4 (0.75) to 9/40" in other[2]
    one = run("release", "d", "heads")
    three = run("release", "d", "heads", "--count", "3")  # goes on where the first ended
    assert three[1].splitlines()[0] == one[1].strip()
    assert "3 signals about the same data" in three[2]
    assert run("release", "d", "heads", "--count", "3")[1] == three[1]
    assert "4 signals about the same data" in run("release", "d", "heads", "--again")[2]
    assert {line["draws"] for line in lines("d")} == {1, 3}
    assert run("verify", "d")[0] == 0
    code, _, err = run("release", "d", "heads", "--log", "d/ledger.jsonl")
    assert (code, "--log = 'd/ledger.jsonl' must not be a file that is read" in err) == (2, True)


@pytest.mark.parametrize("header", [True, False])
def test_a_file_of_states_that_changed_is_refused_where_it_differs(run: Run, header: bool) -> None:
    assert run("solve", "coin_toss", "--out", "d")[0] == 0
    more = ["--column", "side"] if header else []

    def signals(states: list[str], *again: str) -> tuple[int, str, str]:
        Path("s.csv").write_text("\n".join(["side"] * header + states) + "\n")
        return run("release", "d", "--from", "s.csv", *more, *again)

    states = ["heads", "heads", "tails"] * 10
    first = signals(states)
    changed, swapped = states.copy(), states.copy()
    changed[4] = "tails"
    swapped[1:3] = swapped[2:0:-1]
    for other, line in ((changed, 5), (swapped, 2), (states[:-1], 30), ([*states, "heads"], 31)):
        code, out, err = signals(other)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"s.csv: line {line + header}" in err
        assert "is not as in the file that was drawn on 20" in err
    assert len(lines("d")) == 1
    assert signals(states)[1] == first[1]
    assert signals(changed, "--again")[0] == 0
    assert signals(changed)[0] == signals(states)[0] == 0  # both were drawn
    assert run("release", "d", "heads")[0] == 0  # one state is no file


def test_a_tier_that_is_released_later_fits_the_one_before(run: Run) -> None:
    names = ("file_public", "file_research")
    assert run("tiers", *names, "--out", "d")[0] == 0
    state = json.loads(Path("d/mechanism.json").read_text())["states"][0]
    first = run("release", "d/mechanism-1.json", state)[1].strip()
    both = run("release", "d", state)[1].splitlines()
    assert both[0] == first
    assert run("release", "d/mechanism-2.json", state)[1].strip() == both[1]


def test_integers_from_a_seed_are_uniform_and_do_not_repeat() -> None:
    source = SecretSource("07" * 32)
    draws = np.array([source.randrange(6) for _ in range(12_000)])
    counts = np.bincount(draws, minlength=6)
    assert abs(counts - 2000).max() < 5 * np.sqrt(12_000 * 5 / 36)
    assert 0.45 < np.mean([source.random() for _ in range(2000)]) < 0.55
    assert source.getrandbits(300).bit_length() > 250
    other = SecretSource("08" * 32)
    assert [other.randrange(2**64) for _ in range(3)] != [SecretSource("07" * 32).randrange(2**64) for _ in range(3)]


def test_a_ledger_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    seen: list[str] = []

    def wait() -> None:
        with open_ledger(tmp_path) as ledger:
            seen.append(f"second after {len(ledger.entries)}")

    with open_ledger(tmp_path) as ledger:
        other = threading.Thread(target=wait)
        other.start()
        ledger.note("m", "x", ledger.draw("m", "x"), b"", 1)
        seen.append("first")
    other.join()
    assert seen == ["first", "second after 1"]


@pytest.mark.parametrize("draws", [1, 2, 3])
@pytest.mark.parametrize("exact", [True, False])
def test_the_risk_of_several_draws_of_a_record_is_that_of_the_composed_mechanism(draws: int, exact: bool) -> None:
    generator = np.random.default_rng(3)
    ill = generator.integers(0, 2, 60)
    frame = pd.DataFrame({"age": generator.integers(0, 2, 60), "ill": ill, "pay": ill + generator.integers(0, 2, 60)})
    eves = [Eve("ill", ["age"], [[0, 1], [2, 0]], weight=2), Eve("ill", loss=[[0, 2], [3, 0]], name="other")]
    solution = Study(frame, {"pay": "0-1"}, eves).solve("1/2", exact)
    study = solution.study
    row, signal, q = solution.channel.rows(study.prior.types)
    assert len(q) > len(study.prior.types)  # some rows are drawn at random
    channel = np.zeros((len(study.prior.types), study.decisions), dtype=object)
    for x, s, v in zip(row.tolist(), signal.tolist(), q.tolist(), strict=True):
        channel[x, solution.channel.used[s]] = Fraction(int(v.p), int(v.q)) if exact else Fraction(v)
    mechanism = Mechanism((channel if exact else channel.astype(float)).tolist(), states=study.state_names())
    want = evaluate(study.problem(), composed(mechanism, draws)).risks.eve
    found, whole = composed_risk(solution, draws)
    assert whole
    assert found == (want if exact else pytest.approx(float(want)))
    assert draws > 1 or found == (solution.risks.eve if exact else pytest.approx(solution.risks.eve))


def test_too_many_draws_have_a_lower_bound_for_every_number_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"ill": [0, 0, 0, 1], "pay": [1, 1, 2, 2]})
    best = Study(frame, {"pay": "0-1"}, [Eve("ill", loss=[[0, 1], [3, 0]])]).solve(2)
    risks = [composed_risk(best, k)[0] for k in (1, 2, 5, 9)]
    monkeypatch.setattr(composition, "_MOST", 0)
    bound, whole = composed_risk(best, 2)
    assert not whole
    assert sorted(risks, reverse=True) == risks
    assert bound <= risks[-1] < bound + Fraction(1, 50)
