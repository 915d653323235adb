"""`bap microdata`: from a table of records to an optimal release, its audit and its report."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bap_cli.app import Floats, Group, Json, TimeLimit
from bap_cli.draws import Again, risk_left, say_repeated
from bap_cli.outputs import check_folder, command_line, print_json
from bap_cli.pictures import check_file
from bap_cli.progress import Progress, limited
from bap_cli.records.estimate import estimate_command
from bap_cli.records.exchange import compare_command, publish_command
from bap_cli.records.explore import path_command
from bap_cli.records.opening import Gain, Price, Workers, asked, audited, called
from bap_lp.support.display import clean, counted, equals
from bap_lp.support.documents import document_of, source_name
from bap_lp.support.rational import InputError
from bap_lp.support.writing import write_bundle, write_files

app = typer.Typer(
    cls=Group, help="A table of records: optimal release, audit, report.", no_args_is_help=True, rich_markup_mode=None
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `bap microdata solve --out` wrote.")]
Table = Annotated[Path, typer.Argument(metavar="FILE", help="A table of records, CSV or Parquet.")]
Attackers = Annotated[bool, typer.Option(help="Train scikit-learn's classifiers as attackers.")]
AllowFloat = Annotated[bool, typer.Option("--allow-float", help="Accept a float proof although the study is exact.")]
Threshold = Annotated[
    int, typer.Option(min=0, metavar="K", help="Warn about combinations of known columns with fewer records than this.")
]


@app.command("init")
def init_command(
    file: Table,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="STUDY", help="Write it to this new file, ready to be edited.")
    ] = None,
    secret: Annotated[str | None, typer.Option(metavar="C", help="The column that Eve wants.")] = None,
    knows: Annotated[str | None, typer.Option(metavar="C,C", help="The columns that she has already.")] = None,
    publish: Annotated[str | None, typer.Option(metavar="C,C", help="The columns to publish.")] = None,
    weight: Annotated[str | None, typer.Option(metavar="C", help="The column of survey weights.")] = None,
    drop: Annotated[str | None, typer.Option(metavar="C,C", help="The columns that are left out.")] = None,
) -> None:
    """Print a commented study file: what was seen in the columns. Those without a role are left to be decided."""
    from bap_sdc.records.data.proposals import SEEN, proposal
    from bap_sdc.records.data.tables import read_table

    given: dict[str, Any] = {
        "secret": secret,
        "knows": _names(knows, "--knows"),
        "publish": _names(publish, "--publish"),
        "weight": weight,
        "drop": _names(drop, "--drop"),
    }
    data = str(file)
    if out is not None:
        check_file(out)
        if out.exists():
            raise InputError("--out", str(out), "is there already, and may have been edited")
        data = os.path.relpath(file, out.parent)  # a study names its table as seen from its own folder
    with Progress("reading") as progress:
        frame = read_table(file)
        frame.attrs["source"] = source_name(file)
        progress("looking at the columns")
        text = proposal(frame, data, **given)
    if out is None:
        sys.stdout.write(text)
        return
    write_files({out: text})
    for line in text.split("\n"):
        if line.lstrip().startswith(SEEN):
            print(clean(line.lstrip().removeprefix("# "), 500))
    left = len(document_of(text.encode(), out).get("undecided", ()))
    edit = f"decide {counted(left, 'column')}" if left else "edit it"
    print(f"Wrote {source_name(out)}: {edit}, then  bap microdata solve {shlex.quote(str(out))} --out DIR")


def _names(given: str | None, option: str) -> list[str]:
    """The columns of a list with commas."""
    if given is None:
        return []
    names = [name.strip() for name in given.split(",")]
    if not all(names):
        raise InputError(option, given, "must be names of columns, with commas between them")
    return names


@app.command("solve")
def solve_command(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (TOML).")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write mechanism, proof and result there.")] = None,
    lam: Price = None,
    eve_gain: Gain = None,
    use_floats: Floats = False,
    workers: Workers = None,
    time_limit: TimeLimit = None,
    attackers: Attackers = True,
    threshold: Threshold = 10,
    as_json: Json = False,
) -> None:
    """Find the optimal release of a table, prove it, and audit it on held-out records."""
    from bap_cli.records.tables import show_audit, show_solution
    from bap_cli.terminal import console, say
    from bap_lp.program.finish import STOPPED
    from bap_sdc.records.audit.disclosure import small_cells
    from bap_sdc.records.bundle import bundle_texts
    from bap_sdc.records.files import load_study

    check_folder(out, "bap microdata")
    with limited(time_limit), Progress("reading") as progress:
        loaded = load_study(file)
        found = asked(loaded, lam, eve_gain)
        with called(loaded.source, lam):
            solution = found.solved(
                progress, exact=False if use_floats else None, workers="all" if workers is None else workers
            )
        progress("auditing")
        verdict = audited(partial(solution.verdict, None if attackers else ()))
    audit = verdict.audit
    result = solution.document(audit, verdict)
    if out is not None:
        how = command_line(f"bap microdata solve {file}")
        write_bundle(out, bundle_texts(solution, result, loaded.keep, file, how), private=True)
    if as_json:
        print_json(result)
    else:
        show_solution(solution, loaded.source, found.choice, verdict.words())
        if audit is not None:
            print()
            show_audit(audit)
        if out is not None:
            secret = "prior.json and certificate.json are as confidential as the table"
            say(console(), f"Wrote {clean(str(out), 500)}: {secret}.")
    if STOPPED in solution.method:
        words = "the search stopped before the optimum was proved: `release` will refuse it"
        print(f"bap: warning: {words}", file=sys.stderr)
    elif out is not None and not solution.exact and loaded.study.exact:
        print("bap: the study is exact and this proof is in floats: `release` needs --allow-float", file=sys.stderr)
    for cells in small_cells(loaded.study, threshold):
        print(f"bap: warning: {clean(str(cells), 500)}", file=sys.stderr)


app.command("path")(path_command)
app.command("compare")(compare_command)
app.command("publish")(publish_command)
app.command("estimate")(estimate_command)


@app.command("release")
def release_command(
    folder: Folder,
    file: Table,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to publish, CSV or Parquet.")],
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A known column to publish as it is; may be repeated.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="S", help="Reproducible draws, for rehearsals: never for publication.")
    ] = None,
    again: Again = False,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Leave the records in their order, which may tell their secrets.")
    ] = False,
    although: Annotated[
        str | None, typer.Option(metavar="REASON", help="Why it is released if its light is red; the ledger keeps it.")
    ] = None,
    allow_float: AllowFloat = False,
    as_json: Json = False,
) -> None:
    """Draw the file to publish: every record is replaced by a draw from the mechanism, and the records are shuffled."""
    from bap_sdc.records.audit.light import AMBER
    from bap_sdc.records.data import tables
    from bap_sdc.records.data.tables import is_parquet
    from bap_sdc.records.release.drawing import Red, draw_release, noted_release

    if again and seed is not None:
        raise InputError("--again", None, "must not be given with --seed, whose draws are not noted")
    if although is not None and seed is not None:
        raise InputError("--although", None, "must not be given with --seed, whose draws are not noted")
    tables.check_ending(out, "--out")
    check_file(out)
    if out.exists() and file.exists() and out.samefile(file):
        raise InputError("--out", str(out), "must not be the table itself")
    with Progress("reading") as progress:
        solution = proved_solution(folder, progress, allow_float)
        kept = solution.folder.keep if keep is None else tuple(keep)
        frame = tables.read_table(file)
        frame.attrs["source"] = source_name(file)
        progress("drawing")
        names = {"keep": "--keep" if keep is not None else f"{folder / 'study.json'}: keep"}

        def written(released: Any) -> bytes:
            released = released.copy(deep=False)
            released.attrs.clear()  # what pandas would write into a Parquet file
            if is_parquet(out) and not is_parquet(file):
                released = tables.typed_table(released)
            return tables.table_bytes(released, out, frame.attrs.get("separator", ","))

        left: list[str] = []
        with called("", None, names):
            if seed is not None:
                released = draw_release(solution, frame, kept, seed, keep_order=keep_order)
                content = written(released)
            else:
                more: dict[str, Any] = {"again": again, "keep_order": keep_order, "written": written}
                try:
                    noted = noted_release(solution, frame, kept, folder, although=although, **more)
                except Red:
                    print(f"bap: {clean(' '.join(solution.light.words()), 2000)}", file=sys.stderr)
                    print('bap: nothing was drawn: --although "REASON" releases it all the same', file=sys.stderr)
                    raise typer.Exit(3) from None
                released, content = noted.frame, noted.content
                left = [] if noted.draw.made is not None else list(_left(solution, *noted.drawn))
        write_files({out: content})
    log = released.attrs["log"]
    if seed is None:
        say_repeated(noted.draw, "draw")
        for words in left:
            print(f"bap: warning: {words}", file=sys.stderr)
    if keep_order:
        words = "the records are in the order of the table: if they were sorted, their places tell what is hidden"
        print(f"bap: warning: {words}", file=sys.stderr)
    if seed is not None:
        print("bap: warning: drawn with a seed, for a rehearsal: do not publish this file", file=sys.stderr)
    light = solution.light
    if light.colour == AMBER:
        print(f"bap: warning: {clean(' '.join(light.words()), 2000)}", file=sys.stderr)
    if as_json:
        print_json(log.document() | {"light": light.colour})
        return
    cells = ", ".join(f"{clean(name)} {count}" for name, count in log.changed.items())
    from bap_cli.terminal import console, say

    paper = console()
    say(paper, light.words()[0])
    say(paper, f"Wrote {clean(str(out), 500)}: {log.records} records, {log.touched} with changed cells.")
    say(paper, f"Changed cells: {cells}. Records of types without a probability: {log.unseen}.")
    if log.dropped:
        say(paper, f"Columns left out: {clean(', '.join(log.dropped), 500)}.")
    if quoted := [] if is_parquet(out) else tables.quoted_columns(released):
        words = "an apostrophe in front, which is no part of the level, where a spreadsheet would see a formula"
        say(paper, f"Cells of {clean(', '.join(quoted), 500)} have {words}.")


def _left(solution: Any, mine: int, total: int, elsewhere: int) -> Iterator[str]:
    """What all draws of the ledger leave of Eve's risk, about a record that is in all of them."""
    from bap_sdc.records.release.composition import composed_risk

    if elsewhere:
        yield f"{counted(elsewhere, 'draw')} from another mechanism may tell more about the same records"
    if total > 1:
        said = f"{total} draws of the same records"
        if mine < total:
            said = f"{total} draws of a record that is in all tables released from this folder"
        yield risk_left(said, composed_risk(solution, 1)[0], *composed_risk(solution, total))


@app.command("audit")
def audit_command(
    folder: Folder, file: Table, attackers: Attackers = True,
    anonymeter: Annotated[
        bool, typer.Option("--anonymeter", help="Also run the attacks of anonymeter, which must be installed.")
    ] = False,
    allow_float: AllowFloat = False, as_json: Json = False,
) -> None:  # fmt: skip
    """Judge the mechanism of a solved study on other records."""
    from bap_cli.records.tables import show_anonymeter, show_audit
    from bap_sdc.records.audit.anonymeter import anonymeter_audit
    from bap_sdc.records.data.tables import read_table

    with Progress("reading") as progress:
        solution = proved_solution(folder, progress, allow_float)
        frame = read_table(file)
        frame.attrs["source"] = source_name(file)
        progress("auditing")
        audit = solution.audit(frame, attackers=None if attackers else ())
        attacked = None
        if anonymeter:
            progress("anonymeter")
            attacked = anonymeter_audit(solution, solution.study.encode(frame), solution.folder.keep)
    assert audit is not None
    if as_json:
        more = {} if attacked is None else {"anonymeter": [one.document() for one in attacked]}
        print_json(audit.document() | more)
        return
    show_audit(audit)
    if attacked is not None:
        show_anonymeter(attacked)


@app.command("report")
def report_command(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="HTML", help="Where to write the page.")] = Path(
        "report.html"
    ),
    public: Annotated[bool, typer.Option("--public", help="Without the prior and without exact fractions.")] = False,
    threshold: Threshold = 10,
    attackers: Attackers = True,
    allow_float: AllowFloat = False,
) -> None:
    """Write a page for the person who signs: the release, its risks and their proof, the audit, the alternatives."""
    from bap_cli.records.page import report_page
    from bap_cli.terminal import console, say
    from bap_lp.files.bundles import MANIFEST
    from bap_lp.files.ledger import LEDGER
    from bap_sdc.records.audit.disclosure import small_cells
    from bap_sdc.records.bundle import FILES

    check_file(out, reads=[folder / name for name in (*FILES, MANIFEST, LEDGER)], own=True)
    with Progress("reading") as progress:
        solution = proved_solution(folder, progress, allow_float)
        page = report_page(solution, public=public, threshold=threshold, attackers=attackers, progress=progress)
    write_files({out: page}, private=not public)
    kind = "without the prior" if public else "internal: it shows the prior"
    say(console(), f"Wrote {clean(str(out), 500)} ({kind}): open it in a browser.")
    if not public:
        for cells in small_cells(solution.study, threshold):
            print(f"bap: warning: {clean(str(cells), 500)}", file=sys.stderr)


def verify_folder(folder: Path, allow_float: bool) -> None:
    """What `bap verify` prints of a folder of records whose proof holds and whose light is that of its records."""
    from bap_cli.commands.verify import refuse
    from bap_cli.terminal import console, say
    from bap_lp.files.bundles import MANIFEST
    from bap_sdc.records.bundle import repeated

    with Progress("reading") as progress:
        solution, reason = _checked(folder, progress, allow_float)
        progress("auditing")
        try:
            wrong, unchecked = repeated(solution), ""
        except InputError as error:
            wrong, unchecked = "", str(error)
    if wrong:
        refuse(f"{source_name(folder)}: {wrong}")
    manifest, study, out = solution.folder.document(MANIFEST), solution.study, console()
    say(out, f"{clean(study.title or str(folder), 200)}: verified at {equals('lambda', solution.lam)}.")
    say(out, f"{reason}.")
    origin = manifest["source"]["name"] if manifest["source"] else manifest["how"] or "a study in Python"
    say(out, "Prior, mechanism and result are those that are proved, and the files are those of the manifest.")
    say(out, _measured(solution, unchecked))
    say(out, clean(f"Made {manifest['made']} from {origin}.", 300))
    say(out, f"To sign: SHA-256 of manifest.json {solution.folder.digest}.")


def _measured(solution: Any, unchecked: str) -> str:
    """What was checked of the light and of the audit."""
    result = solution.folder.document("result.json")
    if result["audit"] is None and result["light"] is None:
        return "There is no light and no audit."
    light = f"The light is {result['light']}" if result["light"] else "There is no light"
    if unchecked:
        return f"{light}. Not checked: what the audit measured ({clean(unchecked, 200)})."
    held = int(solution.study.left_out.sum())
    if not held:
        return f"{light}: nothing was held out."
    asked = "" if solution.eve_gain is None else " Not checked: that lambda is the one of the gain that was asked for."
    more = f"measured again on the {counted(held, 'held-out record')} of the folder, with the same outcome"
    return f"{light}: the audit was {more}.{asked} Not checked: which records were held out."


def proved_solution(folder: Path, progress: Progress, allow_float: bool) -> Any:
    """The solution of a folder, whose proof holds: in fractions if the study is exact, unless floats are allowed."""
    return _checked(folder, progress, allow_float)[0]


def _checked(folder: Path, progress: Progress, allow_float: bool) -> tuple[Any, str]:
    """The solution of a folder, and why its proof holds."""
    from bap_sdc.records import bundle

    try:
        solution, verdict = bundle.proved_solution(folder, allow_float, progress)
    except bundle.Unproved as error:
        print(f"bap: {clean(str(error), 600)}", file=sys.stderr)
        raise typer.Exit(1) from None
    return solution, verdict.reason
