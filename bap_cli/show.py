"""Results for people: tables with fractions and decimals, and each signal in plain words."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console

from bap_cli.terminal import console, paragraph, say, say_lines, show_rows, show_table
from bap_lp.model.evaluated import certainty_in_words
from bap_lp.model.reports import reports
from bap_lp.support.display import both, clean, counted, decimal, equals, fraction
from bap_lp.support.rational import InputError, public
from bap_lp.support.risks import Number, Risks

if TYPE_CHECKING:
    from bap_lp.files.problems import ProblemFile
    from bap_lp.model.evaluated import Evaluation
    from bap_lp.model.mechanism import Mechanism
    from bap_lp.model.problem import Problem
    from bap_lp.proof.certificate import Certificate
    from bap_lp.questions.optimum.solution import Solution
    from bap_lp.releases import Comparison

_ROWS = 12  # states, signals or releases shown before the rest is only counted
_WIDE = 100
_COMPARED = 100  # states up to which `bap solve` adds the comparison of `bap compare`


def small_comparison(solution: Solution, progress: Callable[[str], None]) -> Comparison | None:
    """The comparison that `bap solve` adds where there are few states."""
    if len(solution.problem.states) > _COMPARED:
        return None
    from bap_lp.releases import compare

    progress("comparing")
    return compare(solution.problem, solution.lam, solution)


def show_solution(
    solution: Solution,
    comparison: Comparison | None,
    words: str,
    rounded: bool,
    choice: str,
    written: str,
    bits: bool = False,
) -> None:
    """What `bap solve` prints: `words` is the summary; `rounded` says that exact numbers were solved in floats."""
    out = console()
    heading(out, solution.problem)
    say(out, f"{equals('lambda', solution.lam)}, {choice}")
    out.print()
    risk_table(out, solution.risks, solution.lam, bits)
    out.print()
    channel(out, solution.mechanism, "An optimal mechanism")
    if comparison is not None:
        out.print()
        show_rows(out, comparison.rows())
    out.print()
    say_lines(out, words.splitlines()[1:])
    out.print(f"Method: {solution.method}.")
    if written:
        names = "problem.json, mechanism.json, certificate.json and manifest.json"
        say(out, f"Wrote {names} to {clean(written, 500)}.")
    out.print(check_command(written, rounded, solution.exact), soft_wrap=True)


def check_command(written: str, rounded: bool, exact: bool) -> str:
    """The command that checks a bundle; exact numbers can be longer than what is read from strangers."""
    raised: list[str] = []
    if written and exact:
        from bap_lp.files.bundles import limits_for

        raised = [part for setting in limits_for(written) for part in ("--limit", setting)]
    command = shlex.join(["bap", *raised, "verify", written or "DIR", *(["--allow-float"] if rounded else [])])
    return f"Check it:  {clean(command, 500)}" + ("" if written else "   (after --out DIR)")


def show_conflict(loaded: ProblemFile, conflict: Certificate, source: str) -> None:
    """What `bap verify` prints about a proof that conditions cannot be met; the exit code is 1 if it does not hold."""
    import typer

    verdict = conflict.verify(loaded.problem)
    if not verdict:
        print(f"bap: {source} does not prove a conflict: {clean(verdict.reason, 500)}", file=sys.stderr)
        raise typer.Exit(1)
    out = console()
    out.print(f"{clean(loaded.problem.title or loaded.source, 200)}: verified, no mechanism meets the conditions.")
    paragraph(out, f"Conditions: {conflict.conditions.words()}.")


def show_evaluation(
    problem: Problem, mechanism: Mechanism, evaluation: Evaluation, lam: Number, choice: str, bits: bool = False
) -> None:
    """What `bap evaluate` prints."""
    out = console()
    heading(out, problem)
    say(out, f"{equals('lambda', lam)}, {choice}")
    out.print()
    risk_table(out, evaluation, lam, bits)
    if len(evaluation.agents) > 2:
        for name, risk in evaluation.agents.items():
            out.print(f"  {clean(name)} alone: {both(risk)}")
    out.print()
    channel(out, mechanism, "The mechanism")
    out.print()
    say_lines(out, [*mechanism.summary().splitlines()[1:], *evaluation.summary().splitlines()[1:]])
    say_lines(out, certainty_in_words(problem, mechanism))


def show_comparison(problem: Problem, comparison: Comparison, choice: str) -> None:
    """What `bap compare` prints."""
    out = console()
    heading(out, problem)
    say(out, f"{equals('lambda', comparison.lam)}, {choice}")
    out.print()
    show_rows(out, comparison.rows())
    say_lines(out, comparison.summary().splitlines()[1:])


def show_verdict(
    problem: Problem,
    source: str,
    certificate: Certificate,
    reason: str,
    more: Iterable[str] = (),
) -> None:
    """What `bap verify` prints when the proof holds."""
    out = console()
    at = " and ".join(dict.fromkeys(equals("lambda", lam) for lam in certificate.lams))
    say(out, f"{clean(problem.title or source, 200)}: verified at {at}.")
    if not certificate.exact or len(reason) < 200:
        say(out, f"{reason}.")
    else:
        say(out, f"{equals('R_A', certificate.value)} is optimal: no mechanism goes below.")
    if not certificate.conditions.empty:
        say(out, f"Conditions: {certificate.conditions.words()}.")
    for line in more:
        say(out, line)


def heading(out: Console, problem: Problem) -> None:
    """The title and who decides what; whether the numbers are exact."""
    if problem.title:
        say(out, clean(problem.title, 200))
    say_lines(out, [*problem.summary().splitlines()[1:], f"In {'exact' if problem.exact else 'float'} arithmetic:"])


def require_bits(problem: Problem) -> None:
    """Refuse to tell R_E in bits where it is no entropy."""
    if not all(reports(eve) and eve.loss == "log" for eve in problem.eves):
        raise InputError("--bits", None, "needs Eves who all have the log loss: R_E is no entropy")


def risk_table(out: Console, risks: Risks, lam: Number, bits: bool = False) -> None:
    """R_B, R_E and R_A, with what each of them is; bits: whether R_E is an entropy that is told in bits."""
    as_floats = isinstance(risks.bob, float)
    eve, unit = (risks.eve / math.log(2), " in bits") if bits else (risks.eve, "")
    lines = (
        ("R_B", "Bob's, wanted low", risks.bob),
        ("R_E", f"Eve's{unit}, wanted high", eve),
        ("R_A", f"Alice's = R_B - lambda R_E{', in nats' if bits else ''}", risks.alice(lam)),
    )
    ways = [fraction] if as_floats else [fraction, decimal]
    columns = ("risk", "", *(("value",) if as_floats else ("fraction", "decimal")))
    show_table(out, columns, [[name, what, *(way(value) for way in ways)] for name, what, value in lines])


def channel(out: Console, mechanism: Mechanism, what: str) -> None:
    """A mechanism as a table, or line by line if it is wide."""
    signals, states = mechanism.signals, mechanism.states
    rows = [[fraction(v) for v in row] for row in public(mechanism.q[:_ROWS]).tolist()]
    cells = [max(len(clean(name, 20)), *(len(row[s]) for row in rows)) for s, name in enumerate(signals)]
    out.print(f"{what}: probability of each signal, given the data")
    out.print()
    if sum(cells) + 3 * len(cells) + 20 <= out.width:
        body = [[clean(state), *row] for state, row in zip(states, rows, strict=False)]
        show_table(out, ("data", *(clean(s) for s in signals)), body)
    else:
        for state, row in zip(states, rows, strict=False):
            parts = [f"“{clean(s)}” {v}" for s, v in zip(signals, row, strict=True) if v != "0"]
            paragraph(out, f"{clean(state)} → {', '.join(parts)}")
    if len(states) > _ROWS:
        out.print(f"... and {counted(len(states) - _ROWS, 'more state')} (--json or --out gives all)")


def show_bracket(
    found: Any, title: str, choice: str, ends: Iterable[tuple[str, str]], notes: Iterable[str] = ()
) -> None:
    """The bracket `found`; `ends` are lines of a name and what it is, `notes` follow, indented ones unfolded."""
    out = console()
    if title:
        say(out, clean(title, 200))
    say(out, f"{equals('lambda', float(found.lam))}, {choice}")
    out.print()
    risk_table(out, Risks(float(found.bob), float(found.eve)), float(found.lam))
    out.print()
    say(out, f"The rule: {found.describe()}")
    for name, words in ends:
        say(out, f"{name:20} {words}")
    for line in notes:
        if line and not line.startswith(" "):
            say(out, line)
        else:
            out.print(line, soft_wrap=True)


def played_line(size: int, value: float, error: float) -> str:
    """What a simulation says."""
    return f"played on {size} simulated samples: R_A = {value:.6f} +- {error:.6f} (standard error)"
