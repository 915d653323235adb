"""The report of a study: one HTML file for the person who signs, complete in itself.

Nothing of a table becomes markup: every label is escaped. A content security policy lets nothing
load, and no script run but that of the slider, which only the internal page has. The public page has no prior, no
counts below the threshold and no exact fractions: its numbers are rounded to three decimals. It names no level that
fewer records have than the threshold, and lists the levels of text by the alphabet: the order in which they appear in
the table is that of its first records.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from html import escape
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from bap_cli.records.first_screen import first_screen, symbols
from bap_cli.records.lines import lines_section, offered_path
from bap_cli.records.tables import UNCHANGED, probability
from bap_cli.report.html import MADE, island, policy
from bap_lp.files.ledger import LEDGER, entries_of
from bap_lp.support.display import both, clean, percent, printable
from bap_lp.support.documents import source_name
from bap_sdc.records.audit.audit import Audit, AuditedRisk
from bap_sdc.records.audit.disclosure import small_cells
from bap_sdc.records.audit.verdict import StudyVerdict, records_at_risk
from bap_sdc.records.bundle import ReadFolder, mechanism_digest
from bap_sdc.records.release.alternatives import ReleaseComparison
from bap_sdc.records.solution import StudySolution
from bap_sdc.records.study import Study

_CSS = Path(__file__).parents[1] / "report" / "page" / "page.css"
_MORE = """
table { width: auto; } thead th { color: var(--soft); white-space: normal; } :is(td, th).t { text-align: left; }
td.t { white-space: normal; }
tbody th { font-weight: 500; background: none; max-width: 24rem; } tbody th.short { white-space: nowrap; }
tr.best :is(td, th) { background: var(--good-wash); font-weight: 600; }
.picture { display: block; margin: .6rem 0; background: #fff; border-radius: 4px; }
.picture img { max-width: 100%; height: auto; display: block; }
.strip { display: block; width: 100%; height: 12px; border-radius: 6px; }
.strip .track { fill: var(--track); } .bob .done { fill: var(--bob); } .eve .done { fill: var(--eve); }
ul { padding-left: 1.2rem; } li { margin: .25rem 0; }
.secret { background: var(--bad-wash); border-left: 5px solid var(--bad); padding: .5rem .8rem; }
@media print { details::details-content { content-visibility: visible; }
.picture { break-inside: avoid; } .picture img { max-width: 15cm; } }
"""
_LISTED = 40
_SHORT = 36  # characters of a row's name that are kept on one line

Rows = Sequence[Sequence[Any]]


def _although(solution: StudySolution) -> str | None:
    """Why the mechanism was last released against its light, as the ledger of its folder says."""
    folder = solution.folder
    if folder is None or not (folder.path / LEDGER).is_file():
        return None
    path, key = folder.path / LEDGER, mechanism_digest(solution)
    with path.open("rb") as file:
        said = [e.although for e in entries_of(file, source_name(path)) if e.mechanism == key and e.although]
    return said[-1] if said else None


def report_page(
    solution: StudySolution,
    *,
    public: bool,
    threshold: int,
    attackers: bool,
    progress: Callable[[str], None],
) -> str:
    """The page of a solved study; the internal page has the SHA-256 of the manifest that it was read with."""
    progress("auditing")
    verdict = solution.verdict(None if attackers else ())
    audit = verdict.audit
    progress("alternatives")
    comparison = solution.compare(("logistic regression",) if attackers else ())
    path = None if public else offered_path(solution, progress)
    lines, document = ("", None) if path is None else lines_section(path, solution.lam)
    progress("drawing")
    body = [
        first_screen(solution, verdict, public, solution.folder, _although(solution), threshold),
        lines,
        _columns(solution, threshold if public else 0),
        _released(solution, audit, public),
        _attack(solution, audit, public),
        _alternatives(comparison),
        _disclosure(audit, verdict, threshold, public),
        _mechanism(solution, threshold, public),
        _proof(solution, public),
        _limits(solution, audit),
        "" if public else _confidential(solution, threshold),
        _leaving(solution.folder, public),
    ]
    body = [printable(part) for part in body]  # what comes from the table shows, and does nothing else
    style = _CSS.read_text(encoding="utf-8") + _MORE
    script = "" if document is None else '"use strict";\n' + _CSS.with_name("lines.js").read_text(encoding="utf-8")
    if script:
        body.append(f'<script type="application/json" id="data">{island(document)}</script><script>{script}</script>')
    title = escape(clean(solution.study.title or "Release of records", 200))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script, "img-src data:; ")}">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta name="generator" content="{MADE}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


def _number(value: Any, digits: int = 4) -> str:
    """A number of a table; what rounds to zero has no sign. The exact fractions are on the first screen."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}".replace("-", "−")


def _share(value: float) -> str:
    return percent(value, 0) if value else "·"


def _estimate(one: AuditedRisk, digits: int) -> str:
    return f"{one.value:.{digits}f} ± {one.error:.{digits}f}"


def _table(headings: Sequence[str], rows: Rows, best: int | None = None, texts: int = 1, words: str = "Table") -> str:
    """A table; the first `texts` columns are text."""
    head = "".join(f"<th{_kind(k < texts)}>{symbols(h)}</th>" for k, h in enumerate(headings))
    lines = []
    for k, (first, *rest) in enumerate(rows):
        cells = "".join(f"<td{_kind(j + 1 < texts)}>{escape(str(c))}</td>" for j, c in enumerate(rest))
        mark = ' class="best"' if k == best else ""
        label = str(first)
        short = ' class="short"' if len(label) <= _SHORT else ""
        lines.append(f'<tr{mark}><th scope="row"{short}>{symbols(label)}</th>{cells}</tr>')
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(words)}"><table>{body}</table></div>'


def _kind(text: bool) -> str:
    return ' class="t"' if text else ""


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def _words(text: str) -> str:
    return f"<p>{symbols(clean(text, 2000))}</p>"


def shown_levels(study: Study, k: int, threshold: int) -> list[int]:
    """The levels of a column that a page may name: those that enough fitted records have, text by the alphabet."""
    column = study.columns[k]
    count = np.bincount(study.codes[~study.left_out][:, k], minlength=len(column))
    often = [v for v in range(len(column)) if count[v] >= threshold]
    return sorted(often, key=lambda v: column.labels[v]) if not column.ordered else often


def _columns(solution: StudySolution, threshold: int) -> str:
    """Every column that is used: its part in the study, and how its cells became levels."""
    study = solution.study
    rows = []
    for k, column in enumerate(study.columns):
        parts = ["published"] if k in study.published else []
        parts += [f"secret for {s.name}" for s in study.spies if s.secret == k]
        parts += [f"known to {s.name}" for s in study.spies if k in s.knows]
        how = "banded" if column.bands else "some levels merged" if column.merged else "as in the table"
        often = shown_levels(study, k, threshold)
        shown = ", ".join(column.labels[v] for v in often[:12]) + (", ..." if len(often) > 12 else "")
        if len(often) < len(column):
            shown += f"{'; ' if shown else ''}and levels with fewer than {threshold} records"
        rows.append([column.name, "; ".join(parts), shown, how])
    return _section("The columns", _table(["column", "part", "levels", "recoding"], rows, texts=4))


def _released(solution: StudySolution, audit: Audit | None, public: bool) -> str:
    study, digits = solution.study, 3 if public else 4
    rows = []
    for t, risk, changed in zip(study.targets, solution.columns, solution.changed, strict=True):
        row = [t.column, _number(risk, digits), percent(changed)]
        if audit is not None:
            row += [_estimate(audit.columns[t.column], digits), percent(audit.utility.changed[t.column])]
        rows.append(row)
    more = ["risk, held-out", "cells changed, held-out"] if audit is not None else []
    text = "Each released record is a record of the same columns. Risk is the mean loss of an analyst who reads it."
    return _section("Column by column", _words(text), _table(["column", "risk", "cells changed", *more], rows))


def _attack(solution: StudySolution, audit: Audit | None, public: bool) -> str:
    study, digits = solution.study, 3 if public else 4
    rows = []
    for s, risk, null, full in zip(study.spies, solution.eves, solution.nulls, solution.fulls, strict=True):
        knows = ", ".join(study.names[k] for k in s.knows) or "nothing"
        rows.append([s.name, study.names[s.secret], knows, *(_number(v, digits) for v in (risk, null, full))])
    parts = [
        _words("A larger risk means that the adversary loses more. In the model it is largest without a release."),
        _table(
            ["adversary", "wants", "knows", "risk with the release", "without a release", "whole record"], rows, texts=3
        ),
    ]
    if audit is not None:
        seen = "" if public else f", {audit.unseen} of types without a probability"
        records = f"{audit.records} records{seen}" if not public else "records that were not used to fit the mechanism"
        parts.append(_words(f"On {records}, with standard errors:"))
        lines = []
        for eve in audit.eves:
            limits = {
                "knows the held-out distribution: a limit": eve.informed,
                "without a release": eve.null,
            }
            lines += [[eve.name, how, _estimate(one, digits)] for how, one in (eve.kinds | limits).items()]
        parts.append(_table(["adversary", "how she decides", "risk"], lines, texts=2))
        parts.append(_picture("eves", audit, "The risks of the table above, with two standard errors"))
    else:
        parts.append(_words("No records were held out, so nothing was audited: these are the numbers of the model."))
    return _section("Who attacks, and what she learns", *parts)


def _alternatives(comparison: ReleaseComparison) -> str:
    rows = []
    for release, *cells in (row.items() for row in comparison.rows()):
        shown = ["" if v is None or v != v else percent(v) if h == "cells changed" else _number(v, 3) for h, v in cells]
        rows.append([release[1], *shown])
    best = next(k for k, row in enumerate(comparison.releases) if row.name == "optimum")
    text = "Other releases at the same lambda: the smaller R_A, the better."
    left = [_words(f"Left out: {name}, because {why}.") for name, why in comparison.omitted]
    picture = _picture("map", comparison, "Map of the releases in the table below")
    return _section("Alternatives", _words(text), picture, _table(list(comparison.rows()[0]), rows, best), *left)


def _disclosure(audit: Audit | None, verdict: StudyVerdict, threshold: int, public: bool) -> str:
    def few(value: int) -> str:
        return f"fewer than {threshold}" if public and value < threshold else str(value)

    a, b = verdict.before, verdict.after
    groups: list[Any] = [
        ["records alone with their published columns", few(a.unique), few(b.unique)],
        ["smallest group that shares the published columns (k)", few(a.k), few(b.k)],
    ]
    for (name, own), (_, then) in zip(a.secrets, b.secrets, strict=True):
        groups.append([f"fewest different values of {name} in such a group (l)", own, then])
    title = "Measures of disclosure control"
    whole = _table(["of the whole table", "as it is", "in a rehearsed release"], groups)
    if audit is None:
        return _section(title, whole)
    rows: list[Any] = []
    for eve in audit.eves:
        d = eve.disclosure
        links = "" if d.reidentified != d.reidentified else f"{d.reidentified:.1f}"
        rows += [
            [f"{eve.name}: smallest group that shares what she knows (k)", few(d.k), UNCHANGED],
            [f"{eve.name}: records alone with what she knows", few(d.unique), UNCHANGED],
            [f"{eve.name}: fewest different secrets in a group (l)", d.l, UNCHANGED],
            [f"{eve.name}: expected correct links", f"{d.reidentified_before:.1f}", links],
            [f"{eve.name}: largest posterior of a secret", probability(d.posterior_null), probability(d.posterior)],
            [f"{eve.name}: records whose secret is guessed at less cost", "0%", percent(d.better)],
            [f"{eve.name}: records whose secret is guessed at more cost", "0%", percent(d.worse)],
        ]
    u = audit.utility
    rows += [
        ["distance of one-way margins", "", f"{u.one_way:.3f}"],
        ["distance of two-way margins", "", "" if isnan(u.two_way) else f"{u.two_way:.3f}"],
    ]
    return _section(title, whole, _table(["on held-out records", "without release", "with it"], rows))


def _mechanism(solution: StudySolution, threshold: int, public: bool) -> str:
    """By column, how often each true level is released as each level."""
    study = solution.study
    parts = [
        _words("By column, how often a true level (row) is released as each level (column), averaged over the records.")
    ]
    for target, k in zip(study.targets, study.published, strict=True):
        labels, table = study.columns[k].labels, solution.published.tables[target.column,]
        often = shown_levels(study, k, threshold if public else 0)
        rare = ["levels with few records"] if len(often) < len(labels) else []
        often = often[:_LISTED]
        rows = []
        for v in (v for v in often if (study.prior.types[:, k] == v).any()):
            rest = [1 - table[v, often].sum()] if rare else []
            rows.append([labels[v], *(_share(max(x, 0.0)) for x in (*table[v, often], *rest))])
        heads = ["", *(labels[v] for v in often), *rare]
        parts.append(f'<h3 class="sub">{escape(clean(target.column))}</h3>' + _table(heads, rows))
    return _section("The mechanism", *parts)


def _proof(solution: StudySolution, public: bool) -> str:
    verdict = solution.verify()
    reason = "the proof holds" if public else verdict.reason
    words = f"Checked with arithmetic alone when this page was written: {reason}."
    rows: list[Any] = [
        ["R_A of this release", _number(solution.value, 3) if public else both(solution.value)],
        ["no release goes below", _number(solution.bound, 3) if public else both(solution.bound)],
        ["gap", "0" if solution.exact and solution.gap == 0 else f"{float(solution.gap):.1e}"],
        ["independent parts", solution.components],
        ["method", solution.method],
    ]
    more = _words("The exact proof contains the prior. Those who may see the prior can ask for it.") if public else ""
    return _section("Proof", _words(words), _table(["", ""], rows, texts=2), more)


def _limits(solution: StudySolution, audit: Audit | None) -> str:
    study = solution.study
    known = "The model takes the shares of the records for those that an adversary knows. "
    if study.left_out.any():
        known = "The model has the shares of the whole file, but the secrets of the fitted records only. "
    points = [
        "The promise is about the adversaries described here. Somebody who knows more about a person may learn more.",
        known + ("Nothing was held out, so this was not checked." if audit is None else "The audit checks this."),
        "Records are protected one by one. Each is drawn separately, and relations between persons are not considered.",
        "Changed cells distort raw tables: to estimate relations between columns, use the published mechanism.",
    ]
    if audit is not None and audit.bob.value > 1.5 * float(solution.risks.bob) + 2 * audit.bob.error:
        points.append("Held-out records are changed more than the model says: it is fitted to too few records.")
    if study.prior.model == "counts" and study.prior.alpha == 0 and len(study.prior.types) > study.records / 5:
        points.append(
            "There are few records per record type: smooth, or use bands or merged levels, for a more reliable model."
        )
    return _section("What this does not promise", "<ul>" + "".join(f"<li>{escape(p)}</li>" for p in points) + "</ul>")


def _leaving(folder: ReadFolder | None, public: bool) -> str:
    """What may leave the house, what to sign, and what not to show."""
    if public:
        words = (
            "The office keeps the proof and the table. What it gives to analysts is the released file with its kit: "
        )
        return _section("What leaves the house", _words(words + "codebook, channel, risks and a manifest of them."))
    kit = "The released file, the kit that bap microdata publish makes of it, and the public version of this page."
    never = (
        "This page, prior.json and certificate.json: they tell how many records of each kind there are. "
        "mechanism.json lists record types that occur, and ledger.jsonl has the seed of the draws. Never show two "
        "draws of the same records: together they tell more than one."
    )
    sign = "The SHA-256 of manifest.json, which names every file of the folder by its own. bap verify checks them all"
    if folder is not None:
        sign += f" and prints it: {folder.digest}"
    rows = (("May leave", kit), ("To sign", f"{sign}."), ("Not to be shown", never))
    items = "".join(f"<dt>{escape(what)}</dt><dd>{symbols(words)}</dd>" for what, words in rows)
    return f'<section id="leaving"><h2>What leaves the house</h2><dl>{items}</dl></section>'


def _confidential(solution: StudySolution, threshold: int) -> str:
    study = solution.study
    parts = ['<p class="secret">This part shows counts of records. It must not leave the office.</p>']
    for cells in small_cells(study, threshold):
        parts.append(_words(f"Warning: {cells}."))
    parts.append(
        _words("Records most at risk: how likely their secret is to an adversary before and after the release.")
    )
    risky = [[o.record, o.count, o.eve, percent(o.before, 0), percent(o.after, 0)] for o in records_at_risk(solution)]
    parts.append(_table(["record type", "records", "adversary", "before", "after"], risky))
    types, counts = study.prior.types, study.prior.counts
    order = np.argsort(-counts, kind="stable")[:_LISTED]
    p = study.program.p
    rows = [
        [*(c.labels[v] for c, v in zip(study.columns, types[x], strict=True)), int(counts[x]), _number(p[x])]
        for x in order
    ]
    parts.append(_table([*study.names, "records", "probability"], rows, texts=len(study.names)))
    if len(types) > _LISTED:
        parts.append(_words(f"{len(types) - _LISTED} more record types are in prior.json."))
    if study.prior.likelihoods:
        chosen = [[str(a), f"{v:.4f}"] for a, v in study.prior.likelihoods]
        parts.append(_words("Smoothing was chosen by the mean log-likelihood of left-out records:"))
        parts.append(_table(["smoothing", "log-likelihood"], chosen))
    return _section("The prior", *parts)


def _drawn(kind: str, what: Any, narrow: bool) -> Any:
    """A picture, for a wide screen or for a phone."""
    import matplotlib.pyplot as plt

    from bap_sdc.records import plots

    many = 5.8 if kind == "map" else 0.6 + 0.36 * len(what.rows())
    ax = plt.subplots(figsize=(4.1, many), layout="constrained")[1] if narrow else None
    return plots.release_map(what, ax=ax) if kind == "map" else plots.eves_of_audit(what, ax=ax)


def _picture(kind: str, what: Any, words: str) -> str:
    from bap_cli.pictures import drawing

    images = []
    for narrow in (False, True):
        with drawing():
            from matplotlib import pyplot

            figure = _drawn(kind, what, narrow).figure
            out = io.BytesIO()
            figure.savefig(out, format="png", dpi=200 if narrow else 150, metadata={"Software": None})
            pyplot.close(figure)
        images.append("data:image/png;base64," + base64.b64encode(out.getvalue()).decode())
    wide, phone = images
    image = f'<source media="screen and (max-width: 40rem)" srcset="{phone}"><img alt="{words}" src="{wide}">'
    return f'<picture class="picture">{image}</picture>'
