"""Results for people: tables with fractions and decimals, and each signal in plain words."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from bap_cli.terminal import console, fitting, paragraph, say, show_table, told
from bap_lp.model.agents import values_of
from bap_lp.model.display import LISTED, both, clean, counted, decided, decimal, equals, fraction, listed, person
from bap_lp.model.evaluated import certainty_in_words, invariance
from bap_lp.model.reports import reports
from bap_lp.model.risks import Number, Risks
from bap_lp.rational import InputError, public

if TYPE_CHECKING:
    from bap_lp.files.problems import ProblemFile
    from bap_lp.model.evaluated import Evaluation
    from bap_lp.model.mechanism import Mechanism
    from bap_lp.model.problem import Problem
    from bap_lp.proof.certificate import Certificate
    from bap_lp.questions.optimum.conditioned import ConditionCost
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
    evaluation: Evaluation,
    comparison: Comparison | None,
    rounded: bool,
    choice: str,
    written: str,
    costs: Sequence[ConditionCost] = (),
    described: Iterable[str] = (),
    bits: bool = False,
) -> None:
    """What `bap solve` prints; `rounded` says that exact numbers were solved in floats."""
    out = console()
    heading(out, solution.problem, solution.exact)
    for line in described:
        say(out, line)
    say(out, f"{equals('lambda', solution.lam)}, {choice}")
    out.print()
    _set_of_priors(out, solution)
    risk_table(out, solution.risks, solution.lam, bits)
    for line in [*learned(evaluation, bits), *certainty_in_words(solution.problem, solution.mechanism)]:
        paragraph(out, line)
    out.print()
    channel(out, solution.mechanism, "An optimal mechanism")
    if solution.priors is not None:
        out.print()
        say(out, "At every signal, with the shares as they are stated:")
    _signals(out, evaluation, solution.exact)
    if comparison is not None:
        out.print()
        _releases(out, comparison)
    out.print()
    among = _among(out, solution, costs)
    if not solution.attained:
        paragraph(out, f"{equals('Value', solution.value)} is an upper end: no prior of the set has a larger R_A.")
    if solution.exact and solution.gap == 0:
        say(out, f"Proved optimal among all mechanisms{among}: {equals('value = bound', solution.value)}.")
        if both(solution.value).startswith("≈"):
            out.print("≈ stands for an exact fraction too long to read; --json gives it.")
    else:
        gap = f"up to {float(solution.gap):.2g}"
        ends = f"value {float(solution.value):.12g}, lower bound {float(solution.bound):.12g}"
        say(out, f"Optimal among all mechanisms{among} {gap}: {ends}.")
    out.print(f"Method: {solution.method}.")
    if written:
        names = "problem.json, mechanism.json, certificate.json and manifest.json"
        say(out, f"Wrote {names} to {clean(written, 500)}.")
    out.print(check_command(written, rounded, solution.exact), soft_wrap=True)


def _set_of_priors(out: Console, solution: Solution) -> None:
    """What a set of priors means, and the worst prior of it."""
    if solution.priors is None or solution.worst_prior is None:
        return
    paragraph(
        out,
        f"Even if {solution.priors.words()}: the mechanism has the least worst R_A. Bob does what the signal says, "
        "whatever the shares are, and Eve knows them.",
    )
    shares = dict(zip(solution.problem.states, solution.worst_prior.tolist(), strict=True))
    paragraph(out, f"The worst shares for it, and its risks there: {_distribution(shares)}.")
    out.print()


def check_command(written: str, rounded: bool, exact: bool) -> str:
    """The command that checks a bundle; exact numbers can be longer than what is read from strangers."""
    raised: list[str] = []
    if written and exact:
        from bap_lp.files.bundles import limits_for

        raised = [part for setting in limits_for(written) for part in ("--limit", setting)]
    command = shlex.join(["bap", *raised, "verify", written or "DIR", *(["--allow-float"] if rounded else [])])
    return f"Check it:  {clean(command, 500)}" + ("" if written else "   (after --out DIR)")


def _among(out: Console, solution: Solution, costs: Sequence[ConditionCost]) -> str:
    """The conditions and their cost, if there are any; and how to speak of the mechanisms that meet them."""
    proof = solution.certificate
    if solution.conditions is None:
        return ""
    stated = proof.conditions.words()
    paragraph(out, f"Conditions: {stated}. Releases listed before the optimum break them.")
    if solution.price_of_conditions is not None:
        parts = [f"They cost {both(solution.price_of_conditions)} in R_A"]
        if proof.floor_price:
            parts.append(f"the floor's shadow price is {both(proof.floor_price)}")
        if proof.cap_price:
            parts.append(f"the cap's is {both(proof.cap_price)}")
        if solution.price_of_determinism:
            parts.append(f"of that {both(solution.price_of_determinism)} because nothing is drawn at random")
        paragraph(out, "; ".join(parts) + ".")
        for line in costs_in_words(costs):
            paragraph(out, line)
    return " that meet the conditions"


def costs_in_words(costs: Sequence[ConditionCost]) -> list[str]:
    """What each of several conditions costs alone, and the shadow prices that are not zero.

    A condition without which R_A is the same may have a price: that of making it stricter. Relaxing it gains nothing.
    """
    out = []
    for one in costs:
        lower = f"{both(one.cost)} lower" if one.cost else "the same"
        alone = f"Without {one.name} R_A would be {lower}" if len(costs) > 1 else ""
        prices = [f"{both(price)} per unit of {label}" for label, price in one.shadow_prices.items() if price]
        if one.name in ("min_eve_risk", "max_bob_risk") or not one.cost:
            prices = []  # told already, or nothing to gain
        own = "its" if alone else "The"
        rates = f"{own} shadow price is {', '.join(prices)}" if prices else ""
        if alone or rates:
            out.append("; ".join(filter(None, (alone, rates))) + ".")
    return out


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
    exact = problem.exact and mechanism.exact
    heading(out, problem, exact)
    say(out, f"{equals('lambda', lam)}, {choice}")
    out.print()
    risk_table(out, evaluation, lam, bits)
    if len(evaluation.agents) > 2:
        for name, risk in evaluation.agents.items():
            out.print(f"  {clean(name)} alone: {both(risk)}")
    for line in [
        invariance(evaluation.bob_invariant),
        *learned(evaluation, bits),
        *certainty_in_words(problem, mechanism),
    ]:
        paragraph(out, line)
    ratio = mechanism.max_ratio
    out.print()
    out.print(
        "Differential privacy: none (epsilon is infinite)"
        if ratio == math.inf
        else f"Differential privacy: epsilon = log({fraction(ratio)}) = {mechanism.epsilon:.6g}"
    )
    out.print()
    channel(out, mechanism, "The mechanism")
    _signals(out, evaluation, exact)


def show_comparison(problem: Problem, comparison: Comparison, choice: str) -> None:
    """What `bap compare` prints."""
    out = console()
    heading(out, problem, comparison.optimum.exact)
    say(out, f"{equals('lambda', comparison.lam)}, {choice}")
    out.print()
    _releases(out, comparison)
    same = [row.name for row in comparison.rows if row.bob_invariant]
    names = listed(same, " and ") if same else "none of them"
    paragraph(out, f"Bob-invariant (Bob decides as well as with the data): {names}.")
    if comparison.conditions is not None:
        paragraph(out, f"Conditions: {comparison.conditions.words()}.")
        for row in comparison.rows:
            if row.breaks:
                paragraph(out, f"{clean(row.name)} breaks them: {clean(row.breaks, 200)}.")
    for name, reason in comparison.omitted:
        say(out, f"Left out: {name}, because {clean(reason, 200)}.")


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


def heading(out: Console, problem: Problem, exact: bool) -> None:
    if problem.title:
        say(out, clean(problem.title, 200))
    states, b, e = problem.shape
    eves = "Eve" if len(problem.eves) == 1 else f"{len(problem.eves)} Eves"
    bobs = "Bob" if len(problem.bobs) == 1 else f"{len(problem.bobs)} Bobs"
    theta = f"{counted(len(problem.theta.labels), 'parameter value')}, " if problem.theta is not None else ""
    kind = "exact arithmetic" if exact else "float arithmetic"
    say(out, f"{theta}{counted(states, 'state')}, {counted(b, 'decision')} for {bobs}, {e} for {eves}; {kind}")
    if problem.misaligned:
        say(out, own_beliefs(problem))
    for eve in problem.eves:
        if values := values_of(eve.knows, eve.knowledge):
            say(out, f"{person(eve.name, start=True)} already knows which of {counted(len(values), 'case')} holds")
    if problem.null_states and not problem.misaligned:
        zero = listed(problem.null_states)
        say(out, f"Of probability zero: {zero}; left out of the optimisation, given the null row in the mechanism")


def own_beliefs(problem: Problem) -> str:
    """Which agents act on a prior or loss of their own, and how ties are broken."""
    parts = []
    for agent in (*problem.bobs, *problem.eves):
        own = ["own prior"] * (agent.prior is not None) + ["own loss, counted as harm"] * (agent.harm is not None)
        if own:
            parts.append(f"{person(agent.name)} ({' and '.join(own)})")
    return f"Acting on beliefs of their own: {', '.join(parts)}; ties are broken for Alice"


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


def learned(evaluation: Evaluation, bits: bool = False) -> list[str]:
    """What agents with the log loss learn, in bits; bits: whether their risks are told in bits too."""
    out = []
    for name, gained in evaluation.information.items():
        found, left, error = (
            float(v) / math.log(2) for v in (gained, evaluation.agents[name], evaluation.information_error[name])
        )
        told = f"{person(name, start=True)} learns {found:.4g} bits from the signal; {left:.4g} bits stay hidden"
        more = f" (I(A;S) and H(A|S), each within {error:.1g} bits)." if bits else ". The risk is in nats."
        out.append(told + more)
    return out


def _signals(out: Console, evaluation: Evaluation, exact: bool) -> None:
    for signal in evaluation.signals[:_ROWS]:
        out.print()
        out.print(f"Signal “{clean(signal.signal)}”, sent with probability {both(signal.probability)}")
        lines = [f"The data: {_distribution(signal.posterior)}."]
        if signal.theta_posterior is not None:
            lines.append(f"The parameter: {_distribution(signal.theta_posterior)}.")
        lines += [decided(d.agent, d.decisions, exact) for d in signal.decisions]
        for line in lines:
            paragraph(out, line)
    if len(evaluation.signals) > _ROWS:
        out.print()
        out.print(f"... and {counted(len(evaluation.signals) - _ROWS, 'more signal')} (--json gives all)")


def _distribution(posterior: dict[str, Number]) -> str:
    ranked = sorted(((v, k) for k, v in posterior.items() if v > 0), key=lambda pair: -pair[0])
    parts = [f"{told(label)} {both(v)}" for v, label in ranked[:LISTED]]
    if len(ranked) == 1:
        return f"{told(ranked[0][1])} for certain"
    rest = len(ranked) - len(parts)
    others = "or one other" if rest == 1 else f"or one of {rest} others"
    return ", ".join(parts) + (f", {others}" if rest else "")


def _releases(out: Console, comparison: Comparison) -> None:
    """The table of a comparison."""
    asked = comparison.conditions is not None
    names, numbers, epsilons = [], [], []
    for row in comparison.rows:
        name = clean(row.name)
        if row.parameter is not None:
            parameter = equals(row.parameter.name, row.parameter.value, fraction)
            name += f" ({parameter})" if out.width >= _WIDE else f"\n  {parameter}"
        names.append(name)
        numbers.append((row.risks.bob, row.risks.eve, row.alice, row.excess))
        epsilons.append("inf" if row.epsilon == math.inf else f"{row.epsilon:.4g}")
    headings = ["release", "R_B", "R_E", "R_A", "above opt.", "epsilon", *(["met"] if asked else [])]

    def written(way: Callable[[Number], str]) -> list[list[str]]:
        return [
            [name, *map(way, own), epsilon, *([("no" if row.breaks else "yes")] if asked else [])]
            for name, own, epsilon, row in zip(names, numbers, epsilons, comparison.rows, strict=True)
        ]

    rows, rounded = fitting(out, headings, written, 4)
    show_table(out, headings, rows, range(1, 6))
    if rounded and comparison.optimum.exact:
        out.print("Rounded to fit; --json has the fractions.")


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
