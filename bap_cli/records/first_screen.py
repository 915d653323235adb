"""The first screen of a study's report: what is released, what it costs, and what Eve gains, without a fraction.

With the loss 0 for a right and 1 for a wrong guess a risk is the probability to be wrong, so it is told as right
guesses of 100. Of another loss it is told as what Eve loses on average. A cell that is not changed is right, so every
column is told by the cells that are changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from bap_cli.report.sign import is_zero_one, origin
from bap_lp.files.bundles import MANIFEST
from bap_lp.support.display import clean, counted, equals, listed, percent, person
from bap_lp.support.rational import floats
from bap_sdc.records.audit.audit import Audit
from bap_sdc.records.audit.verdict import StudyVerdict
from bap_sdc.records.bundle import ReadFolder
from bap_sdc.records.solution import StudySolution

_CARDS = 6  # columns or Eves with a card of their own; the tables below have all


def first_screen(
    solution: StudySolution, verdict: StudyVerdict, public: bool, folder: ReadFolder | None,
    although: str | None = None, threshold: int = 0,
) -> str:  # fmt: skip
    """Title, light, cards, the meaning of lambda, and where the numbers come from; although: why it was released."""
    study, audit = solution.study, verdict.audit
    plain = verdict.words(public)[1:]
    title = clean(study.title or "Release of records", 200)
    parts = [
        f'<header><p class="kicker">{"Public report" if public else "Internal report: confidential"}</p>'
        f"<h1>{escape(title)}</h1>{_light(verdict, although)}{_verdict(solution)}</header>",
        f'<section id="plain"><h2>In plain words</h2><ul>{_items(plain)}</ul></section>' if plain else "",
        '<section id="sign"><h2>What is released</h2>',
        f'<p class="released">{symbols(_released(solution, public))}</p>',
        _promises(solution, threshold if public else 0),
        f'<div class="figures" id="short">{_columns(solution, audit, public)}{_eves(solution, audit, public)}</div>',
        f'<h3 class="sub">What λ means</h3><p id="meaning">{symbols(_meaning(solution, public))}</p>',
        _origin(folder, public),
        "" if public else _fractions(solution),
        "</section>",
    ]
    return "".join(parts)


def _items(lines: Sequence[str]) -> str:
    return "".join(f"<li>{symbols(clean(line, 1000))}</li>" for line in lines)


def of_hundred(share: float) -> str:
    """A probability as a number of cases in 100: 12.3, or "fewer than 0.1"."""
    told = percent(share).removesuffix("%").removesuffix(".0")
    return told.replace("<", "fewer than ").replace(">", "more than ")


def _figure(value: Any, public: bool) -> str:
    """Three digits; in public three decimals at most."""
    if value == 0:
        return "0"
    return f"{float(value):.3f}" if public else f"{float(value):.3g}"


def counts_wrong(loss: Any) -> bool:
    """Whether the risk of this loss is the probability of a wrong guess."""
    return is_zero_one(floats(loss))


def _light(verdict: StudyVerdict, although: str | None) -> str:
    """The light, which is what a person who signs sees first; the proof is a line below it."""
    words = f'<p class="light {verdict.light.colour}" id="light">{escape(verdict.light.words()[0])}</p>'
    if although is None:
        return words
    return (
        f'{words}<p id="although">Released although it is {verdict.light.colour}: {escape(clean(although, 1000))}</p>'
    )


def _verdict(solution: StudySolution) -> str:
    among = "of these columns" + ("" if solution.study.conditions is None else " that meets the conditions")
    gap = float(solution.gap)
    if solution.exact and gap == 0:
        words = f"Proved optimal in exact fractions: at this λ no release {among} is better (has a smaller R_A)."
    else:
        words = f"Proved optimal up to {gap:.1g}: at this λ no release {among} has an R_A that is smaller by more."
    kind = "verdict" if solution.exact and gap == 0 else "verdict float"
    return f'<p class="{kind}" id="verdict">{symbols(words)}</p>'


def symbols(words: str) -> str:
    """Words as markup: R_A, R_B and R_E with their index below."""
    return re.sub(r"\bR_([ABE])\b", r"R<sub>\1</sub>", escape(words))


def _released(solution: StudySolution, public: bool) -> str:
    study = solution.study
    columns = listed([f"“{t.column}”" for t in study.targets], " and ")
    secrets = listed([f"“{name}”" for name in dict.fromkeys(study.names[s.secret] for s in study.spies)], " and ")
    if public:
        size = f"The rule was made from {round(study.records, -2) or 'at most 50'} records, rounded to hundreds."
    else:
        types = counted(len(study.prior.types), "record type")
        size = f"The rule was made from {counted(study.records, 'record')} of {types}. The prior: {study.prior.belief}."
    cells = "column" if len(study.targets) == 1 else "columns"
    how = (
        "Some cells are changed at random, by a rule that everybody may know, so that less can be learned"
        if any(solution.changed)
        else "No cell is changed: at this λ that is best, whatever can be learned"
    )
    return f"Every record, with the {cells} {columns}. {how} about {secrets}. {size}"


def _promises(solution: StudySolution, threshold: int) -> str:
    """What the conditions promise and cost."""
    if not (promised := solution.promised(threshold)):
        return ""
    rows = "".join(f"<li>{symbols(clean(words, 500))}</li>" for words in promised)
    return f'<h3 class="sub">What is promised</h3><ul id="promises">{rows}</ul>'


def _card(role: str, name: str, what: str, value: str, rest: Sequence[str], done: float | None, ends: str) -> str:
    """A card like those of `bap report`: who, what in words, what it could have been, and a bar between the two."""
    label = "no scale" if done is None else f"{100 * done:.3g}% of the way"
    # the policy of the page allows no style attribute: the bar is a drawing
    bar = (
        f'<svg class="strip" role="img" aria-label="{label}" viewBox="0 0 100 6" preserveAspectRatio="none">'
        f'<rect class="track" width="100" height="6"/><rect class="done" width="{100 * (done or 0):.3g}" height="6"/>'
        "</svg>"
    )
    scale = "".join(f"<span>{escape(end)}</span>" for end in ends.split("|"))
    lines = "".join(f'<p class="exactly">{escape(line)}</p>' for line in rest if line)
    return (
        f'<div class="figure {role}"><h3><bdi>{escape(clean(name, 80))}</bdi> <span>{escape(what)}</span></h3>'
        f'<p class="value">{escape(value)}</p>{lines}{bar}<p class="scale">{scale}</p></div>'
    )


def _columns(solution: StudySolution, audit: Audit | None, public: bool) -> str:
    cards = []
    told = zip(solution.study.targets, solution.columns, solution.changed, strict=True)
    for target, risk, changed in list(told)[:_CARDS]:
        share = float(changed)
        most = f"{float(floats(target.loss).max()):.3g}"
        lost = f"an analyst who reads it loses {_figure(risk, public)} on average, at most {most} for one cell"
        if counts_wrong(target.loss):
            lost = "an analyst who reads it is wrong where a cell is changed"
        held = "" if audit is None else f"held-out records: {of_hundred(audit.utility.changed[target.column])} of 100"
        value = f"{of_hundred(share)} of 100 cells changed"
        cards.append(_card("bob", target.column, "is published", value, (lost, held), share, "no cell|every cell"))
    return "".join(cards) + _more("bob", len(solution.columns), "column")


def _eves(solution: StudySolution, audit: Audit | None, public: bool) -> str:
    study, cards = solution.study, []
    risks = zip(study.spies, solution.eves, solution.nulls, solution.fulls, strict=True)
    for n, (spy, *numbers) in enumerate(list(risks)[:_CARDS]):
        best, null, full = map(float, numbers)
        knows = f" and knows {listed([study.names[k] for k in spy.knows], ' and ')}" if spy.knows else ""
        wrong = counts_wrong(spy.loss)
        value = (
            f"right in {of_hundred(1 - best)} of 100 guesses" if wrong else f"loses {_figure(best, public)} on average"
        )
        tell: Callable[[float], str] = (lambda x: of_hundred(1 - x)) if wrong else (lambda x: _figure(x, public))
        rest = f"{tell(null)} before the release, {tell(full)} with the whole record"
        if not wrong:
            rest += f"; one guess costs at most {float(floats(spy.loss).max()):.3g}"
        span = null - full
        done = None if span <= 0 else float(np.clip((null - best) / span, 0, 1))
        lines = (rest, "" if audit is None else _held_out(audit, n, tell, wrong))
        wants = f"wants {study.names[spy.secret]}{knows}"
        cards.append(_card("eve", person(spy.name, start=True), wants, value, lines, done, "no release|whole record"))
    return "".join(cards) + _more("eve", len(study.spies), "adversary")


def _held_out(audit: Audit, n: int, tell: Callable[[float], str], wrong: bool) -> str:
    """What the best attacker does on records that were not used for the mechanism, and the limit of all attackers."""
    eve = audit.eves[n]
    best = eve.kinds[eve.strongest]
    return (
        f"held-out records: {tell(eve.null.value)} before, {tell(best.value)} for the best attacker tried, "
        f"at {'most' if wrong else 'least'} {tell(eve.informed.value)} for one who knows their shares"
    )


def _more(role: str, count: int, what: str) -> str:
    if count <= _CARDS:
        return ""
    many = "adversaries" if what == "adversary" else f"{what}s"
    return f'<div class="figure {role}"><p>{count - _CARDS} more {many} are in the tables below.</p></div>'


def _meaning(solution: StudySolution, public: bool) -> str:
    study, lam = solution.study, _figure(solution.lam, public)
    one, alone = study.spies[0], len(study.spies) == 1 and study.spies[0].weight == 1
    gain = "one right guess fewer" if alone and counts_wrong(one.loss) else "one more unit of loss"
    equal = all(spy.weight == 1 for spy in study.spies)
    many = "the adversaries together" if equal else "the adversaries together, by their weights,"
    whom = person(one.name) if len(study.spies) == 1 else many
    cells = len(study.targets) == 1 and study.targets[0].weight == 1 and counts_wrong(study.targets[0].loss)
    end = "" if lam == "1" else "s"
    price = f"{lam} more changed cell{end}" if cells else f"{lam} more unit{end} of the analyst's loss"
    said = f"λ is the rate of exchange: at λ = {lam}, {gain} for {whom} is worth {price}."
    return f"{said} The larger λ is, the less the adversaries learn and the more the analyst loses."


def _fractions(solution: StudySolution) -> str:
    study = solution.study
    numbers = [
        ("λ", solution.lam),
        ("R_B", solution.risks.bob),
        ("R_E", solution.risks.eve),
        ("R_A = R_B − λ R_E", solution.value),
        *((f"risk of {t.column}", risk) for t, risk in zip(study.targets, solution.columns, strict=True)),
    ]
    for spy, *risks in zip(study.spies, solution.eves, solution.nulls, solution.fulls, strict=True):
        whens = ("with the release", "without a release", "with the whole record")
        numbers += [(f"risk of {spy.name} {when}", risk) for when, risk in zip(whens, risks, strict=True)]
    items = "".join(f"<li>{symbols(equals(clean(name, 120), value))}</li>" for name, value in numbers)
    title = "The exact fractions" if solution.exact else "The numbers"
    return f'<details id="fractions"><summary>{title}</summary><ul id="fraction-list">{items}</ul></details>'


def _origin(folder: ReadFolder | None, public: bool) -> str:
    made = origin(None)
    pairs = [("report made", f"{made['date']}, bap-lp {made['version']}")]
    if public:
        pairs.append(("proof", "kept by the office together with the table; it is shown to those who may see both"))
    elif folder is not None:
        pairs.append((MANIFEST, f"SHA-256 {folder.digest}, which binds all other files"))
    rows = "".join(f"<dt>{escape(what)}</dt><dd><bdi>{escape(words)}</bdi></dd>" for what, words in pairs)
    return f'<dl id="origin">{rows}</dl>'
