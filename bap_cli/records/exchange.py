"""`bap microdata compare` and `publish`: what others made, and what others get."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer

from bap_cli.app import AllowFloat, Json, Lambda
from bap_cli.outputs import check_folder, print_json
from bap_cli.progress import Progress
from bap_cli.records.opening import StudyOrFolder, called, opened
from bap_lp.support.display import clean, equals, listed
from bap_lp.support.documents import read_bytes, source_name
from bap_lp.support.rational import InputError
from bap_lp.support.writing import write_bundle


def compare_command(
    file: StudyOrFolder,
    channel: Annotated[
        list[str] | None,
        typer.Option(metavar="[COLUMN=]CSV", help="A PRAM matrix, as pram(pd = ) of sdcMicro takes it; repeat it."),
    ] = None,
    lam: Lambda = None,
    as_json: Json = False,
) -> None:
    """Put the optimum next to the usual releases, or next to a release by PRAM matrices of yours."""
    from bap_cli.records.explore import compare_study

    if not channel:
        return compare_study(str(file), lam, as_json)
    from bap_cli.terminal import console, say, show_table
    from bap_sdc.records.release.pram import foreign_release

    with Progress("reading") as progress:
        found = opened(file, progress, lam)
        matrices = _matrices(found.study, channel)
        with called(found.source, lam):
            solution = found.solved(progress)
        progress("comparing")
        given = foreign_release(solution, matrices)
    if as_json:
        return print_json(given.document())
    out = console()
    say(out, f"{clean(found.study.title or found.source, 200)} at {equals('lambda', solution.lam)}.")
    each = {"optimum": (solution.risks, solution.value), "given": (given.risks, given.alice)}
    rows = [[name, *(f"{float(v):.6f}" for v in (own.bob, own.eve, alice))] for name, (own, alice) in each.items()]
    show_table(out, ("release", "R_B", "R_E", "R_A"), rows, range(1, 4))
    kind = "exactly" if given.risks.exact and solution.exact else "in floats"
    least = "No release is better than the given one by more" if given.distance else "No release is better"
    distance = equals("", given.distance).strip().removeprefix("= ")
    say(out, f"{least}: the distance to the proved bound is {distance} ({kind}).")
    return None


def publish_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `bap microdata solve --out` wrote.")],
    released: Annotated[
        Path, typer.Option("--released", metavar="FILE", help="What `bap microdata release` drew from this folder.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="KIT", help="The folder to give to analysts.")],
    records: Annotated[
        Path | None, typer.Option("--records", metavar="FILE", help="The table that was released, if not the study's.")
    ] = None,
    threshold: Annotated[
        int, typer.Option(min=0, metavar="K", help="Nothing is said about levels that fewer records have.")
    ] = 10,
    allow_float: AllowFloat = False,
) -> None:
    """Write the kit for analysts: the released file, codebook, channel and risks, and nothing confidential."""
    from bap_cli.records.commands import proved_solution
    from bap_cli.terminal import console, say
    from bap_lp.files.bundles import MANIFEST, digest_of
    from bap_lp.files.ledger import open_ledger
    from bap_sdc.records.bundle import mechanism_digest
    from bap_sdc.records.data.tables import check_ending, read_table
    from bap_sdc.records.release.drawing import input_digest
    from bap_sdc.records.release.kit import kit_files

    check_folder(out)
    if folder.resolve() in (out.resolve(), *out.resolve().parents):
        raise InputError("--out", str(out), "must not be in the folder of the study, which is confidential")
    check_ending(released, "--released")
    with Progress("reading") as progress:
        solution = proved_solution(folder, progress, allow_float)
        content = read_bytes(released)
        key, read = mechanism_digest(solution), solution.folder
        with open_ledger(folder) as ledger:
            drawn = [e for e in ledger.entries if (e.mechanism, e.output) == (key, sha256(content).hexdigest())]
        if not drawn:
            rule = f"was not drawn from {source_name(folder)}, or was changed: `bap microdata release` draws it"
            raise InputError("--released", source_name(released), rule)
        study, table = solution.study, None
        if records is not None:
            table = read_table(records)
            table.attrs["source"] = source_name(records)
        if drawn[-1].input != input_digest(study, study.codes if table is None else study.encode(table)):
            rule = "must be the table that was released: the draw in the ledger is of other records"
            raise InputError("--records", None if records is None else str(records), rule)
        progress("writing")
        frame, audit = read_table(released), read.document("result.json")["audit"]
        kept = [name for name in map(str, frame.columns) if name in {*read.keep, *_known(solution.study)}]
        more = {"records": table, "kept": kept, "audit": audit, "threshold": threshold, "signed": read.raw[MANIFEST]}
        files = kit_files(solution, content, frame, ending=released.suffix.lower(), **more)
    if others := _others(out, files):
        rule = f"must hold nothing else, because a kit is given away whole, and has {listed(others)}"
        raise InputError("--out", str(out), rule)
    write_bundle(out, files)
    paper = console()
    say(paper, f"Wrote {clean(str(out), 500)}: {', '.join(files)}.")
    say(paper, "Nothing in it is confidential: no prior, no proof, no record types, and no counts below the threshold.")
    say(paper, f"To announce: SHA-256 of its manifest.json {digest_of(files)}.")


def verify_kit(folder: Path) -> None:
    """What `bap verify` says of a kit: its files are those of the manifest. It has no proof, which is confidential."""
    from bap_cli.commands.verify import refuse
    from bap_cli.terminal import console, say
    from bap_lp.files.bundles import MANIFEST, Mismatch
    from bap_sdc.records.release.kit import check_kit

    try:
        manifest, digest = check_kit(folder)
    except Mismatch as error:
        refuse(str(error))
    out = console()
    say(out, f"{clean(str(folder), 500)}: a whole kit, whose files are those of its manifest.")
    if others := _others(folder, (*manifest["files"], MANIFEST)):
        say(out, clean(f"The manifest says nothing about {listed(others)}.", 1000))
    say(out, f"It says that it was made {clean(manifest['made'], 80)}; this is not checked.")
    if manifest["source"]:
        kept = f"SHA-256 {clean(manifest['source']['sha256'], 80)}"
        say(
            out,
            f"It says that the office has the proof in a folder whose manifest has the {kept}; this is not checked.",
        )
    say(out, "Whoever exchanges files can fit the manifest to them. Compare with what the publisher announces:")
    say(out, f"SHA-256 of manifest.json {digest}.")


def _others(folder: Path, names: Collection[str]) -> list[str]:
    """What a folder holds besides these files."""
    there = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(name for name in there if name not in names)


def _known(study: Any) -> set[str]:
    """Columns that every Eve knows: a release may keep them."""
    return {study.names[k] for k in set.intersection(*(set(spy.knows) for spy in study.spies))}


def _matrices(study: Any, given: list[str]) -> dict[str, Any]:
    """The matrix of each column; without a name the file is that of the only published column."""
    from bap_sdc.records.release.pram import read_pram

    published = [target.column for target in study.targets]
    out: dict[str, Any] = {}
    for option in given:
        name = next((c for c in sorted(published, key=len, reverse=True) if option.startswith(f"{c}=")), None)
        if name is None and len(published) > 1:
            listed = ", ".join(published)
            raise InputError("--channel", option, f"must be COLUMN=CSV with one of the published columns {listed}")
        column = name or published[0]
        if column in out:
            raise InputError("--channel", option, "is the second matrix of this column")
        out[column] = read_pram(Path(option[len(name) + 1 :] if name else option), study[column])
    return out
