"""What `bap microdata` prints: the optimum in sentences, and tables of columns, Eves and the audit."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

from bap_cli.show import risk_table
from bap_cli.terminal import console, paragraph, say, say_lines, show_rows, show_table
from bap_lp.support.display import clean, counted, equals, percent, person
from bap_sdc.records.audit.anonymeter import Attacked
from bap_sdc.records.audit.audit import Audit
from bap_sdc.records.release.alternatives import ReleaseComparison
from bap_sdc.records.solution import StudySolution
from bap_sdc.records.study import Study

AGREE = 0.01  # of her risk without a release: risks on given and on fresh draws that differ by less agree
UNCHANGED = "unchanged"  # a measure of what Eve knows anyway


def show_solution(solution: StudySolution, source: str, choice: str, verdict: Sequence[str] = ()) -> None:
    """The light, the verdict, the optimum and its proof; `choice` says how lambda was chosen."""
    study = solution.study
    out = console()
    for light in verdict[:1]:
        say(out, light)
    say(out, clean(study.title or source, 200))
    out.print()
    bullets(verdict[1:], out)
    kind = "exact arithmetic" if solution.exact else "float arithmetic"
    types = counted(len(study.prior.types), "record type")
    say(
        out,
        f"{counted(study.records, 'record')} of {types}; {counted(study.decisions, 'possible release')} for each; "
        f"{counted(solution.components, 'independent part')}; {kind}",
    )
    _show_scores(out, study)
    say(out, f"{equals('lambda', solution.lam)}, {choice}")
    out.print()
    risk_table(out, solution.risks, solution.lam)
    out.print()
    say_lines(out, (clean(line, 1000) for line in solution.summary().splitlines()[1:]))
    say_lines(out, informed_words(solution))
    rates = {name: price for name, price in solution.shadow_prices.items() if price} if solution.promises else {}
    if rates:
        shown = ", ".join(f"{clean(name)} {float(price):.3g}" for name, price in rates.items())
        say(out, f"R_A falls, per unit by which a number is relaxed, at the rate: {shown}.")
    out.print(f"Method: {solution.method}.")


def _show_scores(out: Any, study: Study) -> None:
    if not study.prior.scores:
        return
    rows = [
        [name, "cannot be fitted" if score is None else f"{score:.4f}", "chosen" * (name == study.prior.model)]
        for name, score in study.prior.scores
    ]
    show_table(out, ("model of the prior", "log-likelihood of left-out secrets", ""), rows, (1,))


def informed_words(solution: StudySolution) -> list[str]:
    """For every informed Eve, whether the draws that she was given stand for those she was not given."""
    out = []
    for spy, risk, null, fresh in zip(solution.study.spies, solution.eves, solution.nulls, solution.fresh, strict=True):
        if fresh is not None:
            words = (
                f"{person(spy.name, start=True)} knows which of {spy.informed} draws of the true shares is true. "
                f"On fresh draws her risk is {fresh:.4f}, on those she was given {float(risk):.4f}"
            )
            far = abs(float(risk) - fresh) > AGREE * float(null)
            out.append(words + (": these do not agree, so raise `informed`." if far else ", which agree."))
    return out


def probability(value: float) -> str:
    """Three decimals; what is not certain is not shown as such."""
    return ">0.999" if 0.9995 <= value < 1 else f"{value:.3f}"


def bullets(lines: Sequence[str], out: Any) -> None:
    """Sentences, one paragraph each."""
    for line in lines:
        paragraph(out, clean(line, 1000), "- ", "  ")
    if lines:
        out.print()


def show_releases(comparison: ReleaseComparison, title: str, choice: str) -> None:
    """The optimum next to the alternatives, in the model and on held-out records."""
    out = console()
    say(out, clean(title, 200))
    say(out, f"{equals('lambda', comparison.lam)}, {choice}")
    out.print()
    rows = comparison.rows()
    for row in rows:
        if row.get("cells changed") is not None:
            row["cells changed"] = percent(row["cells changed"])
    show_rows(out, rows)
    for name, why in comparison.omitted:
        say(out, f"Left out: {clean(name)}, because {clean(why, 200)}.")


def show_audit(audit: Audit) -> None:
    """The audit as tables."""
    out = console()
    say(out, f"Audit on {counted(audit.records, 'record')}, {audit.unseen} of types without a probability")
    out.print()
    show_rows(out, audit.rows())
    out.print()
    say(out, "Disclosure, given the columns Eve knows")
    out.print()
    shown = []
    for eve in audit.eves:
        d = eve.disclosure
        rows: list[tuple[str, Any, Any]] = [
            ("k-anonymity", d.k, UNCHANGED),
            ("l-diversity", d.l, UNCHANGED),
            ("records alone with what she knows", d.unique, UNCHANGED),
            ("expected correct links", f"{d.reidentified_before:.1f}", f"{d.reidentified:.1f}"),
            ("largest posterior of a secret", probability(d.posterior_null), probability(d.posterior)),
            ("records guessed at less cost", "", percent(d.better)),
            ("records guessed at more cost", "", percent(d.worse)),
        ]
        for k, (name, before, after) in enumerate(rows):
            shown.append([clean(eve.name) if not k else "", name, str(before), str(after)])
    show_table(out, ("Eve", "measure", "without release", "with release"), shown, (2, 3))
    out.print()
    u = audit.utility
    changed = ", ".join(f"{clean(name)} {percent(share)}" for name, share in u.changed.items())
    pairs = "" if isnan(u.two_way) else f", two-way {u.two_way:.4f}"  # one column has no pairs
    say(out, f"Changed cells: {changed}. Distance of margins: one-way {u.one_way:.4f}{pairs}.")


def show_anonymeter(found: Sequence[Attacked]) -> None:
    """The attacks of anonymeter as a table."""
    out = console()
    out.print()
    say(out, "Attacks of anonymeter: what they do better on fitted records than on the audited ones, from 0 to 1")
    out.print()
    rows = [[one.attack, clean(one.eve or ""), *(f"{v:.3f}" for v in (one.risk, one.low, one.high))] for one in found]
    show_table(out, ("attack", "Eve", "risk", "low", "high"), rows, (2, 3, 4))
