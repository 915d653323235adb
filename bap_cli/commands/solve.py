"""`bap solve`, `bap evaluate` and `bap compare`: optima and mechanisms of one problem, for people or as JSON."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated, Literal

import typer

import bap_lp
from bap_cli import inputs, show
from bap_cli.app import Condition, File, Floats, Folder, Json, Lambda
from bap_cli.progress import Progress

Bits = Annotated[bool, typer.Option("--bits", help="Tell R_E in bits, if every Eve has the log loss.")]


def solve(
    file: File,
    lam: Lambda = None,
    use_floats: Floats = False,
    as_json: Json = False,
    out: Folder = None,
    formulation: Annotated[
        Literal["compact", "paper"], typer.Option(help="The linear program to solve; both have the same value.")
    ] = "compact",
    min_eve_risk: Annotated[str | None, typer.Option(metavar="R", help="R_E must be at least this.")] = None,
    max_bob_risk: Annotated[str | None, typer.Option(metavar="R", help="R_B must be at most this.")] = None,
    epsilon: Annotated[str | None, typer.Option(metavar="E", help="Differential privacy, in floats.")] = None,
    exp_epsilon: Annotated[
        str | None, typer.Option(metavar="R", help="Differential privacy by its ratio exp(epsilon), exact.")
    ] = None,
    deterministic: Annotated[bool | None, typer.Option(help="No randomisation.")] = None,
    total_variation: Annotated[
        str | None,
        typer.Option(metavar="R", help="The worst case over priors within R of the file's own: 1/20 is 5 points."),
    ] = None,
    condition: Condition = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", help="End after S seconds; floats then give the best answer so far.")
    ] = None,
    bits: Bits = False,
) -> None:
    """Find an optimal mechanism and prove it.

    It minimises R_A = R_B - lambda R_E over all mechanisms, or over those that meet the conditions of the file and of
    the options below. An option replaces the file's condition of the same name, or its set of priors.
    """
    options = {
        "min_eve_risk": min_eve_risk,
        "max_bob_risk": max_bob_risk,
        "epsilon": epsilon,
        "exp_epsilon": exp_epsilon,
        "deterministic": deterministic,
    }
    asked = inputs.asked_conditions(options, condition or ())
    if out is not None or as_json:
        from bap_cli import outputs

        outputs.check_folder(out)
    loaded = inputs.load(file, sets=True)
    if bits:
        show.require_bits(loaded.problem)
    proof_of_conflict = nullcontext() if out is None else outputs.conflict_in(out)
    with proof_of_conflict, inputs.named(loaded, lam, asked), Progress() as progress:
        price, wanted = inputs.wanted(loaded, lam), inputs.conditions(loaded, asked)
        exact = False if use_floats else None
        near = total_variation
        priors = loaded.priors if near is None else bap_lp.PriorSet.total_variation(near)
        solution = bap_lp.solve(
            loaded.problem, price, exact, formulation, progress, wanted, time_limit=time_limit, priors=priors
        )
        words = "" if as_json else solution.summary()
        comparison = None if as_json or priors is not None else show.small_comparison(solution, progress)
    written = outputs.write_folder(out, solution, loaded, price, file) if out is not None else ""
    if as_json:
        from bap_cli import json_documents as documents

        evaluation = bap_lp.evaluate(loaded.problem, solution.mechanism)
        costs = () if wanted is None else solution.costs()
        outputs.print_json(documents.solution_document(solution, evaluation, costs))
    else:
        rounded = use_floats and loaded.problem.exact
        show.show_solution(solution, comparison, words, rounded, inputs.choice(loaded, lam), written, bits)


def evaluate(
    file: File,
    mechanism: Annotated[str, typer.Argument(metavar="MECHANISM", help="Mechanism file (JSON or TOML).")],
    lam: Lambda = None,
    as_json: Json = False,
    bits: Bits = False,
) -> None:
    """Explain a given mechanism.

    Its risks and its epsilon, and what each agent believes and decides at every signal.
    """
    from bap_cli import json_documents as documents
    from bap_cli import outputs
    from bap_lp.files.mechanisms import load_mechanism

    loaded = inputs.load(file, sets=True)
    if bits:
        show.require_bits(loaded.problem)
    channel = load_mechanism(mechanism, loaded.problem.states)
    price = inputs.number(loaded, lam)
    with Progress("evaluating"):
        evaluation = bap_lp.evaluate(loaded.problem, channel)
    if as_json:
        outputs.print_json(documents.evaluation_document(loaded.problem, channel, evaluation, price))
    else:
        show.show_evaluation(loaded.problem, channel, evaluation, price, inputs.choice(loaded, lam), bits)


def compare(file: File, lam: Lambda = None, as_json: Json = False, condition: Condition = None) -> None:
    """Put the optimum next to the usual releases; FILE may also be a study of records, or its folder.

    Under conditions it is the optimum among the mechanisms that meet them, and every release is checked. An option
    replaces the file's condition of the same name.
    """
    from bap_cli import json_documents as documents
    from bap_cli import outputs

    asked = inputs.asked_conditions({}, condition or ())
    if inputs.is_study(file, asked):
        from bap_cli.records.explore import compare_study

        compare_study(file, lam, as_json)
        return
    loaded = inputs.asking(inputs.load(file), asked)
    price = inputs.number(loaded, lam)
    with inputs.named(loaded, lam, asked), Progress("comparing"):
        comparison = bap_lp.compare(loaded.problem, price, conditions=loaded.conditions)
    if as_json:
        outputs.print_json(documents.comparison_document(comparison))
    else:
        show.show_comparison(loaded.problem, comparison, inputs.choice(loaded, lam))
