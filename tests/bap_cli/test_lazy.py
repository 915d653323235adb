"""A mounted group is imported when it is called, and not before."""

import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bap_cli.lazy import mount

GROUP = """
import typer
app = typer.Typer()
@app.command()
def shout(word: str, times: int = 1) -> None:
    "Say it."
    print(word.upper() * times)
@app.command()
def fail() -> None:
    raise typer.BadParameter("no")
"""


def test_a_mounted_group_is_imported_when_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mounted_group.py").write_text(GROUP)
    monkeypatch.syspath_prepend(tmp_path)
    app = typer.Typer(rich_markup_mode=None)
    app.command()(lambda: None)
    mount(app, "group", "mounted_group", "A group.")
    mount(app, "absent", "no_such_module_anywhere", "Not there.")
    run = CliRunner().invoke
    shown = run(app, ["--help"]).output
    assert "A group." in shown
    assert "absent" not in shown
    assert "mounted_group" not in sys.modules
    assert run(app, ["group", "shout", "a", "--times", "2"]).output == "AA\n"
    assert "Say it." in run(app, ["group", "--help"]).output
    assert run(app, ["group", "fail"]).exit_code == 2
    monkeypatch.delitem(sys.modules, "mounted_group")
