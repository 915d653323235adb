"""`bap microdata estimate`: the shares that a file had before its release, from what was released and the channel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bap_cli.app import Json
from bap_cli.outputs import print_json
from bap_cli.terminal import console, say, show_table
from bap_lp.support.display import clean, counted
from bap_lp.support.documents import located, read_document, source_name
from bap_lp.support.rational import InputError


def estimate_command(
    channel: Annotated[
        Path,
        typer.Argument(metavar="CHANNEL", help="channel.json, a folder that has it, or the folder of a solved study."),
    ],
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The released file, CSV or Parquet; of a kit its own.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", metavar="A,B", help="A column, or a pair; repeated. All columns by default."),
    ] = None,
    level: Annotated[float, typer.Option(help="How often an interval covers.")] = 0.95,
    as_json: Json = False,
) -> None:
    """Estimate shares from a released file and the channel on its columns, with intervals."""
    from bap_sdc import estimates, read_table

    found = estimates(_channel(channel), read_table(_released(channel) if file is None else file))
    asked = [tuple(part.strip() for part in one.split(",")) for one in columns or found.codes]
    tables = {names: found.table(list(names), level) for names in asked}
    if as_json:
        print_json({"records": found.records, "level": level, "tables": [_document(*pair) for pair in tables.items()]})
        return
    out = console()
    say(out, f"{counted(found.records, 'released record')}; intervals cover {level:.3g} of the time")
    for names, table in tables.items():
        out.print()
        columns = [*map(clean, names), "share", "low", "high", "in the file"]
        rows = [
            [*(clean(str(v)) for v in (index if isinstance(index, tuple) else (index,))), *(f"{v:.4f}" for v in row)]
            for index, row in table.iterrows()
        ]
        show_table(out, columns, rows, range(len(names), 8))
        for words in table.attrs["warnings"]:
            say(out, words)


def _released(kit: Path) -> Path:
    """The released file of a kit."""
    found = sorted(kit.glob("released.*")) if kit.is_dir() else []
    if len(found) != 1:
        raise InputError("FILE", None, f"is missing: {source_name(kit)} is not a kit with one released file")
    return found[0]


def _channel(path: Path) -> Any:
    from bap_sdc import PublishedChannel

    if path.is_dir() and not (path / "channel.json").exists():
        from bap_sdc.records.bundle import load_solution

        return load_solution(path).published
    file = path / "channel.json" if path.is_dir() else path
    document = read_document(file)
    with located(source_name(file)):
        return PublishedChannel.from_document(document)


def _document(names: tuple[str, ...], table: Any) -> dict[str, Any]:
    rows = [
        {"levels": [str(v) for v in (index if isinstance(index, tuple) else (index,))], **row.to_dict()}
        for index, row in table.iterrows()
    ]
    return {"columns": list(names), "rows": rows, "warnings": table.attrs["warnings"]}
