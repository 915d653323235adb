"""`bap path --over epsilon`: what differential privacy costs, as a table or a JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bap_cli import inputs, outputs
from bap_cli.progress import Progress
from bap_cli.show import conditions_in_words, console, heading, plain_table, put, say, short
from bap_lp.files.problems import conditions_document
from bap_lp.model.display import counted, equals
from bap_lp.notions.conditions import Conditions
from bap_lp.path.epsilon import EpsilonPath, epsilon_path
from bap_lp.rational import InputError, text

if TYPE_CHECKING:
    from bap_lp.files.problems import ProblemFile

_ROWS = 20


def run(loaded: ProblemFile, lam: str | None, tolerance: str | None, use_floats: bool, as_json: bool) -> None:
    """Compute the path and print it."""
    price = inputs.number(loaded, lam)
    asked: dict[str, Any] = {} if tolerance is None else {"tolerance": tolerance}
    try:
        with inputs.named(loaded, lam), Progress("every epsilon") as progress:
            exact = False if use_floats else None
            found = epsilon_path(
                loaded.problem, price, conditions=loaded.conditions, exact=exact, progress=progress, **asked
            )
    except InputError as error:
        if error.field == "tolerance":
            raise InputError("--tolerance", error.value, error.rule) from None
        raise
    if as_json:
        outputs.print_json(epsilon_document(found))
    else:
        _show(loaded, found, inputs.choice(loaded, lam))


def epsilon_document(path: EpsilonPath) -> dict[str, Any]:
    """What `bap path --over epsilon --json` prints; between two points R_A lies from the next bound to the value."""
    stated = {} if path.conditions is None else {"conditions": conditions_document(path.conditions)}
    return stated | {
        "over": "epsilon",
        "exact": path.exact,
        "lambda": text(path.lam),
        "points": [
            {
                "exp_epsilon": text(p.exp_epsilon),
                "epsilon": p.epsilon,
                "value": text(p.value),
                "bound": text(p.bound),
                "risks": {"bob": text(p.risks.bob), "eve": text(p.risks.eve)},
            }
            for p in path.points
        ],
        "free": text(path.free),
        "width": text(path.width),
        "impossible": None if path.impossible is None else text(path.impossible),
    }


def _show(loaded: ProblemFile, path: EpsilonPath, choice: str) -> None:
    out = console()
    heading(out, path.problem, path.exact)
    say(out, f"{equals('lambda', path.lam)}, {choice}")
    if path.conditions is not None:
        kept = _others(path.conditions)
        say(out, f"Conditions besides epsilon: {kept}" if kept else "Between all pairs of states")
    out.print()
    table = plain_table("exp(epsilon)", "epsilon", "R_A", "R_B", "R_E", right=range(5))
    step = max(1, -(-len(path.points) // _ROWS))
    shown = [*path.points[:-1:step], path.points[-1]]
    for p in shown:
        risks = (p.value, p.risks.bob, p.risks.eve)
        table.add_row(short(p.exp_epsilon), f"{p.epsilon:.4g}", *(short(v) for v in risks))
    put(out, table)
    if len(shown) < len(path.points):
        out.print(f"... and {counted(len(path.points) - len(shown), 'more value')} between them (--json gives all)")
    out.print()
    if path.impossible is not None:
        say(out, f"At exp(epsilon) = {path.impossible} or less the other conditions cannot be met.")
    say(out, f"Without differential privacy {equals('R_A', path.free)}.")
    proved = "proved exactly" if path.exact else "proved up to rounding"
    between = f"between two neighbouring epsilons R_A lies between their values, known up to {float(path.width):.2g}"
    say(out, f"Every value is {proved}; {between}.")
    say(out, "A picture: bap plot FILE --kind epsilon -o epsilon.svg")


def _others(conditions: Conditions) -> str:
    from dataclasses import replace

    given = replace(conditions, exp_epsilon=2, epsilon=None)
    return ", ".join(part for part in conditions_in_words(given).split(", ") if part != "exp_epsilon = 2")
