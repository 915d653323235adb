"""`bap verify`, and how `bap release` and `bap report` treat a bundle: what is not proved is not used."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from bap_cli import inputs, show
from bap_cli.app import AllowFloat, Lambda
from bap_cli.progress import Progress
from bap_lp.files.bundles import FILES, MANIFEST, Bundle, Mismatch, load_bundle
from bap_lp.files.certificates import load_certificate
from bap_lp.files.ledger import LEDGER
from bap_lp.files.mechanisms import load_mechanism
from bap_lp.files.problems import ProblemFile, problem_document
from bap_lp.model.mechanism import Mechanism
from bap_lp.proof.binding import not_demanded, other_demands, other_priors
from bap_lp.proof.certificate import Certificate
from bap_lp.proof.checking import verify as verify_certificate
from bap_lp.support.display import clean, equals
from bap_lp.support.documents import source_name
from bap_lp.support.rational import InputError


def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A bundle (directory), or a problem file or name.")],
    certificate: Annotated[
        str | None, typer.Argument(metavar="[CERTIFICATE]", help="certificate.json, or a bundle; with a problem file.")
    ] = None,
    lam: Lambda = None,
    mechanism: Annotated[
        str | None, typer.Option(metavar="MECHANISM", help="Also check that the proof is about this mechanism.")
    ] = None,
    as_claimed: Annotated[
        bool, typer.Option("--as-claimed", help="Check what the certificate claims, for its own lambda and conditions.")
    ] = False,
    allow_float: AllowFloat = False,
) -> None:
    """Check a proof with arithmetic alone.

    `bap verify DIR` checks a bundle; `bap verify FILE CERTIFICATE` a certificate for the lambda and the conditions of
    the file. The exit code is 1 if the optimum that is asked for is not proved.
    """
    if Path(file).is_dir() and certificate is None:
        for option, given in (("--lambda", lam), ("--mechanism", mechanism), ("--as-claimed", as_claimed)):
            if given:
                raise ValueError(f"{option} needs a problem file and a certificate: a bundle has its own")
        if _is_of_records(file):
            from bap_cli.records.commands import verify_folder

            return verify_folder(Path(file), allow_float)
        if (Path(file) / "channel.json").exists() and not (Path(file) / "problem.json").exists():
            from bap_cli.records.exchange import verify_kit

            return verify_kit(Path(file))
        bundle = proved_bundle(file, allow_float)
        verdict = bundle.verify(allow_float)
        source = bundle.manifest["source"]
        origin = source["name"] if source else bundle.manifest["how"] or "a problem in Python"
        made = f"Made {bundle.manifest['made']} from {origin}."
        more = ["The mechanism is the one that is proved, and the files are those of the manifest.", clean(made, 300)]
        more.append(f"To sign: SHA-256 of manifest.json {bundle.digest}.")
        show.show_verdict(bundle.problem, bundle.path, bundle.certificate, verdict.reason, more)
        return
    if certificate is None:
        raise ValueError("a certificate must be given with a problem file (or give a bundle, which is a directory)")
    loaded = inputs.load(file, sets=True)
    if Path(certificate).is_dir():
        proof, mechanism = _certificate_of(loaded, certificate, mechanism, allow_float)
        certificate = str(Path(certificate) / "certificate.json")
    else:
        proof = load_certificate(certificate)
        if proof.kind == "conflict":
            if not as_claimed:
                wrong = not_demanded(loaded.problem, loaded.conditions, proof.conditions)
                if wrong:
                    refuse(f"{source_name(certificate)} is not about the conditions of {loaded.source}: {wrong}")
            show.show_conflict(loaded, proof, source_name(certificate))
            return
        if proof.kind not in ("release", "priors"):
            raise InputError(source_name(certificate), None, f"is about {proof.kind}, not about one problem")
    channel = None if mechanism is None else load_mechanism(mechanism, loaded.problem.states)
    reason = _check(loaded, proof, channel, lam, as_claimed, allow_float, source_name(certificate))
    more = [] if channel is None else ["The mechanism is the one that is proved."]
    if as_claimed:
        more += _notes(loaded, proof)
    show.show_verdict(loaded.problem, loaded.source, proof, reason, more)


def _check(
    loaded: ProblemFile,
    proof: Certificate,
    channel: Mechanism | None,
    lam: str | None,
    as_claimed: bool,
    allow_float: bool,
    name: str,
) -> str:
    """Why the certificate proves what is asked for; ends the command if it does not."""
    wanted: Any = proof.lam if as_claimed and lam is None else inputs.number(loaded, lam)
    own = proof.conditions
    with Progress("checking"):
        wrong = other_demands(loaded.problem, wanted, own if as_claimed else loaded.conditions, proof)
        wrong = wrong or ("" if as_claimed else other_priors(loaded.priors, proof))
        if wrong and not as_claimed:
            wrong += " (--as-claimed checks the certificate for its own lambda and conditions)"
        allowed = allow_float or isinstance(wanted, float)
        verdict = verify_certificate(loaded.problem, proof, None if wrong else channel, allowed)
    if not verdict.optimal or wrong:
        refuse(f"{name} does not prove the optimum of {loaded.source}: {wrong or verdict.reason}")
    return verdict.reason


def _certificate_of(loaded: ProblemFile, folder: str, mechanism: str | None, allow: bool) -> tuple[Certificate, str]:
    """The certificate and mechanism of a bundle that is about the problem of a file."""
    bundle = proved_bundle(folder, allow)
    if bundle.robust or bundle.tiered:
        kind = "tiers" if bundle.tiered else "scenarios"
        raise InputError(source_name(folder), None, f"is about several {kind}: give it without a problem file")
    ours, theirs = (problem_document(p) | {"title": ""} for p in (loaded.problem, bundle.problem))
    if ours != theirs:
        refuse(f"{source_name(folder)} does not prove the optimum of {loaded.source}: it is about another problem")
    return bundle.certificate, mechanism or str(Path(folder) / "mechanism.json")


def _notes(loaded: ProblemFile, proof: Certificate) -> list[str]:
    """What the file asks for where the certificate is about something else."""
    out = []
    if loaded.conditions is not None and loaded.conditions != proof.conditions:
        out.append(f"Note: the file asks for other conditions: {loaded.conditions.words()}.")
    if loaded.lam != "calibrated" and loaded.lam != proof.lam:
        out.append(f"Note: the file asks for {equals('lambda', loaded.lam)}.")
    return out


def proved_bundle(folder: str, allow_float: bool) -> Bundle:
    """A bundle that verifies; ends the command if it does not."""
    if _is_of_records(folder):
        rule = "is the folder of a study of records: `bap microdata release` and `bap microdata report` read it"
        raise InputError(source_name(folder), None, rule)
    try:
        bundle = load_bundle(folder)
    except Mismatch as error:
        refuse(str(error))
    with Progress("checking"):
        verdict = bundle.verify(allow_float)
    if not verdict:
        hint = " (--allow-float accepts it)" if "are floats" in verdict.reason else ""
        refuse(f"{source_name(folder)} does not verify: {verdict.reason}{hint}")
    if not verdict.optimal:
        refuse(f"{source_name(folder)} does not prove an optimum: {verdict.reason}")
    return bundle


def _is_of_records(folder: str) -> bool:
    return (Path(folder) / "study.json").exists() and not (Path(folder) / "problem.json").exists()


def refuse(reason: str) -> NoReturn:
    print(f"bap: {clean(reason, 500)}", file=sys.stderr)
    raise typer.Exit(1)


def report(folder: str, lam: str | None, allow_float: bool, out: Path) -> None:
    """The page of a bundle."""
    from bap_cli.pictures import check_file, write_bundle_report

    if lam is not None:
        raise ValueError("--lambda cannot be given with a bundle, which is about one lambda")
    check_file(out, reads=[Path(folder) / name for name in (*FILES, MANIFEST, LEDGER)], own=True)
    bundle = proved_bundle(folder, allow_float)
    if bundle.robust or bundle.tiered:
        kind = "tiers" if bundle.tiered else "scenarios"
        raise InputError(source_name(folder), None, f"is about several {kind}; a report shows one problem")
    if bundle.certificate.priors is not None:
        raise InputError(source_name(folder), None, "is about a set of priors; a report shows one prior")
    write_bundle_report(bundle, folder, out)
