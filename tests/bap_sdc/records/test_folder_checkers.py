"""Folders of records are checked by two programs that share no code: the package, and one file without it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tampering import edit, put

from bap_cli.main import main
from bap_lp import verify_standalone
from bap_lp.support.writing import write_bundle
from bap_sdc import Eve, Study
from bap_sdc.records.audit.light import Light
from bap_sdc.records.bundle import bundle_texts

ILL = Eve("ill", ["age"], [[0, 1], [3, 0]])
CASES: dict[str, dict[str, Any]] = {
    "counts": {},
    "smoothed": {"smoothing": 5},
    "pooled": {"smoothing": "1/3", "toward": "pooled"},
    "held-out records": {"holdout": "1/3"},
    "a float": {"smoothing": 0.7},
    "shares that floats lose beside others": {"smoothing": 1e-20},
    "float losses": {"publish": {"a": {"loss": "squared", "weight": 0.3}, "b": "0-1"}},
    "weights": {"publish": {"a": {"loss": "absolute", "weight": "3/7"}}},
    "two Eves": {"eves": [ILL, Eve("job", ["b"], name="boss", weight=2)]},
    "nobody can use it": {"eves": [Eve("ill", ["age"], [[0], [3]])]},
    "an informed Eve": {"eves": [Eve("ill", ["age"], [[0, 1], [3, 0]], informed=3)], "smoothing": 2},
    "a model": {"model": "independent"},
    "a floor in floats": {"conditions": {"min_eve_risk": 0.4}, "exact": False},
    "a cap in floats": {"conditions": {"cap": [{"secret": "ill", "level": "yes", "at_most": 0.75}]}, "exact": False},
    "a price in floats": {"conditions": {"max_bob_risk": 0.01}, "lam": 5},
    "a ratio in floats": {"conditions": {"epsilon": 1.5}},
    "probabilities": {"eves": [Eve("ill", ["age"], "log")]},
    "an informed Eve under a cap": {
        "eves": [Eve("ill", ["age"], informed=3)],
        "conditions": {"cap": [{"secret": "ill", "level": "yes", "at_most": "3/4"}]},
        "smoothing": 2,
    },
}


def table(seed: int, count: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": random.integers(0, 3, count),
            "b": random.integers(0, 2, count),
            "ill": random.choice(["no", "yes"], count, p=[0.7, 0.3]),
            "job": random.integers(0, 3, count),
            "age": random.integers(0, 3, count),
        }
    )


def folder(place: Path, exact: bool | None = None, lam: Any = "1/2", **more: Any) -> Path:
    settings = {"publish": {"a": "absolute", "b": "0-1"}, "eves": [ILL]} | more
    solution = Study(table(1), **settings).solve(lam, exact)
    write_bundle(place, bundle_texts(solution, solution.document()))
    return place


@pytest.mark.parametrize("name", CASES)
def test_both_checkers_accept_what_was_solved(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = folder(tmp_path / "D", **CASES[name])
    assert "is optimal" in (words := verify_standalone.check(str(place))) or "within" in words
    assert main(["verify", str(place)]) == 0
    assert "To sign: SHA-256 of manifest.json" in capsys.readouterr().out


def test_floats_of_an_exact_study_must_be_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = folder(tmp_path / "D", exact=False)
    assert "R_A = -0.2" in verify_standalone.check(str(place), True)
    with pytest.raises(verify_standalone.Refused, match="the study is exact and its proof in floats"):
        verify_standalone.check(str(place))
    assert main(["verify", str(place)]) == 1
    assert main(["verify", str(place), "--allow-float"]) == 0
    assert "floats (--allow-float accepts it)" in capsys.readouterr().err


def test_risks_of_an_informed_eve_are_added_before_they_are_rounded(tmp_path: Path) -> None:
    place = folder(tmp_path / "D", False, 0.3, **CASES["an informed Eve"])
    verify_standalone.check(str(place), True)


def test_the_checker_needs_no_package(tmp_path: Path) -> None:
    place = folder(tmp_path / "D")
    copy = tmp_path / "checker.py"
    copy.write_text(Path(verify_standalone.__file__).read_text())
    done = subprocess.run([sys.executable, "-I", "-S", str(copy), str(place)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("verified: R_A = ")


def _worse(rows: list[Any]) -> None:
    """Publish everything as it is."""
    for row in rows:
        row[-1] = "1" if row[-1] == "1" else row[-1]
    mixed = next(row for row in rows if row[-1] != "1")
    mixed[1] = (mixed[1] + 1) % 3


def _renamed(document: Any) -> None:
    for key in ("labels", "values"):
        document["columns"][0][key][1] = document["columns"][0][key][0]


def _group(document: Any) -> Any:
    return next(part for part in document["parts"] if part["groups"])["groups"][0]


LONG = "1e99999999"
FORGERIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a count beyond all files": ("prior.json", lambda d: d["fitted"][0].__setitem__(-1, 10**11)),
    "a level of nobody": ("prior.json", lambda d: d["fitted"][0].__setitem__(0, 10**6)),
    "a likelihood that is long": ("prior.json", lambda d: d.update(likelihoods=[[LONG, 0.5]])),
    "a share that is long": ("study.json", lambda d: d.update(holdout=LONG)),
    "a band that is long": ("study.json", lambda d: d["columns"][0].update(bands=["0", LONG])),
    "labels of other levels": ("study.json", lambda d: d["columns"][1]["labels"].reverse()),
    "a record type of nobody": ("mechanism.json", put("rows", -1, 0, to=10**6)),
    "a level that is none": ("mechanism.json", put("rows", -1, 1, to=10**6)),
    "a probability above one": ("mechanism.json", put("rows", -1, -1, to=10**6)),
    "a probability in floats": ("mechanism.json", put("rows", -1, -1, to=0.25)),
    "another value": ("certificate.json", lambda d: d.update(value="-1")),
    "states of nobody": ("certificate.json", put("parts", -1, "states", -1, to=10**6)),
    "a reply that is none": ("certificate.json", lambda d: _group(d)["reply_of"].__setitem__(-1, 10**6)),
    "an Eve who is none": ("certificate.json", lambda d: _group(d).update(eve=7)),
    "replies that are short": ("certificate.json", lambda d: _group(d).update(replies=[["1/2"]])),
    "a prior that the counts do not give": ("prior.json", lambda d: d["fitted"][0].__setitem__(-1, 40)),
    "another prior": ("prior.json", lambda d: d["p"][0].__setitem__(slice(0, 2), d["p"][0][1::-1])),
    "another mechanism": ("mechanism.json", lambda d: _worse(d["rows"])),
    "a mechanism that is none": ("mechanism.json", lambda d: d["rows"].pop()),
    "a level that no integer of a machine holds": ("mechanism.json", lambda d: d["rows"][0].__setitem__(1, 10**30)),
    "a level below the first": ("mechanism.json", lambda d: d["rows"][0].__setitem__(1, -1)),
    "a level in words": ("mechanism.json", lambda d: d["rows"][0].__setitem__(1, "x")),
    "a row without its level": ("mechanism.json", lambda d: d["rows"][0].pop(1)),
    "an empty row": ("mechanism.json", lambda d: d["rows"].__setitem__(0, [])),
    "other levels": ("mechanism.json", lambda d: d["levels"]["a"].reverse()),
    "another loss": ("study.json", lambda d: d["eves"][0]["loss"][1].__setitem__(0, "4")),
    "less knowledge": ("study.json", lambda d: d["eves"][0].update(knows=[])),
    "another weight": ("study.json", lambda d: d["publish"][0].update(weight="2")),
    "a key nobody knows": ("study.json", lambda d: d["eves"][0].update(armed=True)),
    "another lambda": ("certificate.json", lambda d: d.update({"lambda": "1/3"})),
    "replies to somebody else": ("certificate.json", lambda d: _group(d)["reply_of"].reverse()),
    "too large replies": ("certificate.json", lambda d: _group(d)["replies"].__setitem__(0, ["1/2", "1/2"])),
    "replies of nobody": ("certificate.json", lambda d: _group(d).update(known=99)),
    "no component": ("certificate.json", lambda d: d["parts"].pop()),
    "no parts": ("certificate.json", lambda d: d.update(parts=[])),
    "a group twice": ("certificate.json", lambda d: d["parts"].append({"states": [], "groups": [_group(d)]})),
    "a position that is no whole number": (
        "certificate.json",
        lambda d: _group(d)["reply_of"].__setitem__(0, _group(d)["reply_of"][0] + 1e-9),
    ),
    "more than a certificate has": ("certificate.json", lambda d: d.update(harm="0")),
    "another bound": ("certificate.json", lambda d: d.update(bound="9")),
    "a price of what is not demanded": ("certificate.json", lambda d: d["prices"].update(max_bob_risk="1")),
    "a price of nobody": ("certificate.json", lambda d: d["prices"]["floor"].update(nobody="1")),
    "a negative price": ("certificate.json", lambda d: d["prices"].update(min_eve_risk="-1")),
    "a number of another kind": ("certificate.json", lambda d: d.update(gap=0.0)),
    "a part of another form": ("certificate.json", lambda d: d["parts"][0].update(levels=[])),
    "a method that is no text": ("result.json", lambda d: d.update(method=[])),
    "two levels of one name": ("study.json", _renamed),
    "a loss with a row too many": ("study.json", lambda d: d["publish"][1]["loss"].append(["0", "1"])),
    "one number written otherwise": ("study.json", lambda d: d["publish"][1].update(weight="2/2")),
    "no conditions": ("study.json", lambda d: d.update(conditions=False)),
    "another risk": ("result.json", lambda d: d["risks"].update(eve="1")),
    "another gap": ("result.json", lambda d: d.update(gap="1/7")),
    "another null": ("result.json", lambda d: d["eves"][0].update(null="1")),
    "fewer changes": ("result.json", lambda d: d["columns"][0].update(changed="0")),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_both_checkers_refuse_a_changed_folder(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = folder(tmp_path / "D")
    assert json.loads((place / "result.json").read_text())["columns"][0]["changed"] != "0"
    edit(place, *FORGERIES[name])
    with pytest.raises(verify_standalone.Refused):
        verify_standalone.check(str(place))
    assert main(["verify", str(place)]) == (2 if name == "a count beyond all files" else 1)
    assert len(capsys.readouterr().err.splitlines()) == 1


def _green(document: Any) -> None:
    """A light that follows from its own numbers."""
    verdict = document["verdict"]
    verdict["light"]["eves"][0] |= {"gain": 0.0, "error": 0.0}
    verdict["light"]["against"]["nothing"]["value"] = verdict["light"]["against"]["as is"]["value"] = -1.0
    verdict["light"]["bob"]["value"] = verdict["light"]["bob"]["stated"]
    light = Light.of_document(verdict["light"])
    verdict["words"][: len(verdict["light"]["words"])] = light.words()
    verdict["light"]["words"], document["light"] = light.words(), light.colour
    assert light.colour == "green"


MEASUREMENTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a colour": ("result.json", lambda d: d.update(light="green")),
    "a light that follows from other numbers": ("result.json", _green),
    "no audit": ("result.json", lambda d: d.update(audit=None)),
    "a verdict and no audit": ("result.json", lambda d: d.update(audit=None, light=None)),
    "another verdict": ("result.json", put("verdict", "words", 0, to="GREEN: all is well.")),
    "other words": ("result.json", put("verdict", "words", -1, to="All is well.")),
    "another promise": ("result.json", put("verdict", "light", "eves", 0, "allowed", to=0.9)),
    "another number of records": ("result.json", put("verdict", "light", "records", to=7)),
    "a smaller risk": ("result.json", put("audit", "bob", "value", to=0.125)),
    "an attacker fewer": ("result.json", lambda d: d["audit"]["eves"][0]["attackers"].popitem()),
    "attackers who were not tried": ("result.json", lambda d: d["verdict"]["light"].update(attacked=False)),
    "a key of nobody": ("result.json", lambda d: d.update(approved=True)),
    "a key of nobody in the verdict": ("result.json", put("verdict", "approved", to=True)),
    "a key of nobody in the audit": ("result.json", put("audit", "approved", to=True)),
    "nothing held out": ("study.json", lambda d: d.update(holdout="0")),
    "a larger share": ("study.json", lambda d: d.update(holdout="2/3")),
    "no share": ("study.json", lambda d: d.update(holdout="7/3")),
    "no held-out records": ("prior.json", lambda d: d.update(held_out=[])),
    "held-out records of another secret": ("prior.json", lambda d: d["held_out"][0].__setitem__(-1, 9)),
}
ALONE = ("a key of nobody", "nothing held out", "a larger share", "no share", "no held-out records")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings: dict[str, Any] = {"publish": {"a": "absolute", "b": "0-1"}, "eves": [ILL], "holdout": "1/3"}
    solution = Study(table(1, 300), **settings).solve("1/2")
    verdict = solution.verdict()
    write_bundle(
        place := tmp_path_factory.mktemp("judged") / "D",
        bundle_texts(solution, solution.document(verdict.audit, verdict)),
    )
    return place


def test_what_was_measured_is_measured_again_from_the_folder(
    judged: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = json.loads((judged / "result.json").read_text())
    assert verify_standalone.check(str(judged)).endswith("the light, the audit and the verdict are not checked here")
    assert main(["verify", str(judged)]) == 0
    words = f"The light is {result['light']}: the audit was measured again on the 100 held-out records of the folder"
    assert words in " ".join(capsys.readouterr().out.split())
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for name in [name for name in sys.modules if name.startswith("sklearn.")]:
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["verify", str(judged)]) == 0
    assert "Not checked: what the audit measured" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_a_forged_light_or_share_of_held_out_records_is_refused(
    judged: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(judged, place := tmp_path / "D")
    edit(place, *MEASUREMENTS[name])
    assert main(["verify", str(place)]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    if name in ALONE:
        with pytest.raises(verify_standalone.Refused):
            verify_standalone.check(str(place))


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("study.json", put("conditions", "min_eve_risk", to="3/5")),
        ("study.json", put("conditions", "max_bob_risk", to="9")),
        ("certificate.json", put("prices", "min_eve_risk", to="1/7")),
        ("result.json", put("bound", to="-9")),
    ],
)
def test_both_checkers_refuse_other_conditions_than_those_that_were_proved(
    tmp_path: Path, file: str, change: Callable[[Any], Any]
) -> None:
    place = folder(tmp_path / "D", lam=0, conditions={"min_eve_risk": "1/3"})
    edit(place, file, change)
    with pytest.raises(verify_standalone.Refused):
        verify_standalone.check(str(place))
    assert main(["verify", str(place)]) == 1


def test_zero_has_no_sign_in_a_folder(tmp_path: Path) -> None:
    """-0.0 is another number than 0.0 in a file: one of the two checkers took it for the same."""
    place = folder(tmp_path / "D", exact=False, lam=0)
    assert json.loads((place / "result.json").read_text())["risks"]["bob"] == 0
    verify_standalone.check(str(place), True)
    edit(place, "result.json", lambda d: d["risks"].update(bob=-0.0))
    with pytest.raises(verify_standalone.Refused, match="another risks"):
        verify_standalone.check(str(place), True)
    assert main(["verify", str(place), "--allow-float"]) == 1


def test_a_part_writes_its_conditions_as_the_study_does(tmp_path: Path) -> None:
    place = folder(tmp_path / "D", conditions={"cap": [{"secret": "ill", "level": "yes", "at_most": "3/4"}]})
    verify_standalone.check(str(place))

    def rewritten(document: Any) -> None:
        [cap] = document["parts"][0]["certificate"]["conditions"]["posterior_caps"]
        cap["at_most"] = "6/8"

    edit(place, "certificate.json", rewritten)
    with pytest.raises(verify_standalone.Refused, match="other conditions"):
        verify_standalone.check(str(place))
    assert main(["verify", str(place)]) == 1


def test_a_folder_of_the_older_form_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = folder(tmp_path / "D")
    (place / "manifest.json").unlink()
    assert main(["verify", str(place)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "'bap microdata 4'" in error
    with pytest.raises(verify_standalone.Refused, match="'bap microdata 4'"):
        verify_standalone.check(str(place))


def test_the_digest_to_sign_says_nothing_about_the_records(tmp_path: Path) -> None:
    one, other = (folder(tmp_path / name, exact=None) for name in "DE")
    raw = [{p.name: p.read_bytes() for p in place.iterdir()} for place in (one, other)]
    manifests = [json.loads(files.pop("manifest.json")) for files in raw]
    assert raw[0] == raw[1]
    assert manifests[0].pop("nonce") != manifests[1].pop("nonce")
    assert manifests[0] | {"made": ""} == manifests[1] | {"made": ""}
    for nonce in ("", "0" * 63, "0" * 65, "G" * 64, 7, None):
        manifest = manifests[0] | ({} if nonce is None else {"nonce": nonce})
        (one / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(verify_standalone.Refused):
            verify_standalone.check(str(one))
        assert main(["verify", str(one)]) != 0


def test_a_score_is_that_of_the_losses(tmp_path: Path) -> None:
    place = folder(tmp_path / "D", eves=[Eve("ill", ["age"], "brier")])
    edit(place, "study.json", lambda d: d["eves"][0].update(score="log"))
    with pytest.raises(verify_standalone.Refused, match="another score"):
        verify_standalone.check(str(place))
    assert main(["verify", str(place)]) == 1


def test_a_level_may_be_blank(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["", "x", "y", "x"] * 5, "b": ["u", "v", "w", "v"] * 5})
    found = Study(frame, {"a": "0-1"}, [Eve("b", [])]).solve("1/2")
    write_bundle(tmp_path / "D", bundle_texts(found, found.document()))
    assert main(["verify", str(tmp_path / "D")]) == 0
    assert "is optimal" in verify_standalone.check(str(tmp_path / "D"))


def test_a_huge_constant_in_the_losses_hides_no_false_risk(tmp_path: Path) -> None:
    """One slack for all claims let a loss of 1e15 hide a risk of 1/2 for 1/3."""
    loss = [[10**15 + (i != j) for j in range(3)] for i in range(3)]
    place = folder(tmp_path / "D", publish={"a": loss}, exact=False)
    verify_standalone.check(str(place), True)
    risk = json.loads((place / "result.json").read_text())["risks"]["eve"]
    edit(place, "result.json", lambda d: d["risks"].update(eve=risk * 1.5))
    with pytest.raises(verify_standalone.Refused, match=r"result\.json has another risks"):
        verify_standalone.check(str(place), True)
    assert main(["verify", str(place), "--allow-float"]) == 1


def test_a_study_without_conditions_is_proved_by_its_components(tmp_path: Path) -> None:
    cap = {"cap": [{"secret": "ill", "level": "yes", "at_most": "1"}]}
    other = json.loads((folder(tmp_path / "C", conditions=cap) / "certificate.json").read_text())
    place = folder(tmp_path / "D")
    edit(place, "certificate.json", lambda d: d.update(parts=other["parts"]))
    with pytest.raises(verify_standalone.Refused, match="by its components"):
        verify_standalone.check(str(place))
    assert main(["verify", str(place)]) == 1


def test_levels_of_caps_and_pairs_of_record_types_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cap read all cells of its column again, and all pairs were written down before they were counted."""
    monkeypatch.setattr(verify_standalone, "EFFORT", SimpleNamespace(left=10**5, unit=1))
    cells = [f"{k}/{10**4000 + k}" for k in range(1000)]
    rules: Any = object.__new__(verify_standalone.StudyRules)
    rules.columns, rules.cells = [{"labels": [], "values": cells, "numeric": True, "bands": []}], {}
    with pytest.raises(verify_standalone.Refused, match="steps"):
        rules.level(0, "1.0")
    rules.records = SimpleNamespace(types=[[k] for k in range(3000)], names=["a"], spies=[])
    rules.types, rules.least, rules.cap, rules.convex = {}, {}, [], True
    rules.dp = [{"column": "a", "exp_epsilon": "2"}]
    with pytest.raises(verify_standalone.Refused, match="steps"):
        rules.part(range(3000))
