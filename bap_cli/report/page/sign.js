// The first screen, for the person who signs: no fraction, no symbol but λ. Where there is a proof that this page checks,
// every number is derived from the checked tables; only whether Bob's loss counts wrong decisions about theta is stated.
const LINES = 7; // pieces of the path that the first screen offers
const figure3 = (value) => String(Number(Math.abs(value).toPrecision(3))).replace(/e([+-])0*(\d+)/, " × 10^$1$2");
function ofHundred(share) {
  const x = 100 * share;
  return x > 0 && x < 0.05 ? "fewer than 0.1" : x > 99.95 && x < 100 ? "more than 99.9" : String(Number(x.toFixed(1)));
}

// An agent's risk at optimum, full and null release, as floats, and whether it is the probability to be wrong
function agentRisks(role, k, index) {
  const said = data.sign[`${role}s`][k], own = model && model[role][k];
  if (own) {
    const { joint, heard } = model.pieces[index], { table, views } = own;
    const binary = table.every((row) => row.every((v) => Q.cmp(v, zero) === 0 || Q.cmp(v, one) === 0));
    const part = table.every((row) => row.every((v) => Q.cmp(v, one) <= 0));
    const best = total(views.flatMap((view) => heard(view).map((row) => least(row))));
    const known = dot(model.p, table.map(least)), blind = total(views.map((view) => least(view[0].map((_, d) => dot(model.p, view.map((row) => row[d]))))));
    demand(joint.length === table.length, "a loss has the wrong shape");
    return { wrong: said.wrong && part && (role === "bob" || binary), best, full: known, null: blind, most: largest(table.flat()) };
  }
  const detail = detailOf(index), alone = data.sign.bobs.length + data.sign.eves.length === 2;
  const place = role === "bob" ? k : data.sign.bobs.length + k;
  const best = detail ? Q.read(detail.agents[place]) : alone && !data.problem[`${role}s`][k].weight ? Q.read(data.pieces[index][role]) : null;
  return { wrong: said.wrong, best, full: Q.read(said.full), null: Q.read(said.null), most: Q.read(said.most) };
}

// How often the signal tells an Eve as much as the data would: one decision is best in every state possible there. On average
// a release can look like none while one of its signals gives the data away.
function certainShare(k, index) {
  const own = model && model.eve[k];
  if (!own) return Q.read(detailOf(index)?.certain[k] ?? "0");
  const { joint } = model.pieces[index], share = (c, z) => (own.known ? own.known[c][z] : one), every = model.p.map((_, c) => c);
  const right = (states) => own.table[0].some((_, d) => states.every((c) => Q.cmp(own.table[c][d], least(own.table[c])) === 0));
  return right(every) ? zero : total(own.views.flatMap((_, z) => joint[0].map((_, i) => {
    const live = every.filter((c) => joint[c][i].n && share(c, z).n);
    return live.length && right(live) ? total(live.map((c) => Q.mul(joint[c][i], share(c, z)))) : zero;
  })));
}
const certainWords = (k, index) => `${ofHundred(Q.float(certainShare(k, index)))} times in 100 the message tells as much as the data would`;
const isCertain = (k, index) => Q.cmp(certainShare(k, index), zero) > 0;

const largest = (values) => values.reduce((a, b) => (Q.cmp(a, b) < 0 ? b : a));
const rounded = ({ wrong, best, full, null: none, most }) => ({ wrong, best: best === null ? null : Q.float(best), full: Q.float(full), null: Q.float(none), most: Q.float(most) });
// How a risk is told: Bob by wrong decisions, Eve by right guesses, either by an expected loss, or by what Alice counts
function toldRisk(role, wrong, risk, harm, reports) {
  if (risk === null) return "not shown";
  if (reports === "log") return risk === 0 ? "knows it for certain" : `misses ${inBits(risk)}`;
  if (harm) return `Alice counts ${figure3(risk)} on average`;
  if (!wrong) return risk === 0 ? "loses nothing" : `loses ${figure3(risk)} on average`;
  return role === "bob" ? `wrong in ${ofHundred(risk)} of 100 decisions` : `right in ${ofHundred(1 - risk)} of 100 guesses`;
}
const inBits = (nats) => `${figure3(nats / Math.LN2)} bits`;
const shortRisk = (role, wrong, risk, reports) => (reports === "log" ? inBits(risk) : !wrong ? figure3(risk) : ofHundred(role === "bob" ? risk : 1 - risk));

// Weights are fractions as text, such as "1/2 (0.5)"; on this screen they are decimals
const weightOf = ({ weight }) => (weight ? weight.split(" ")[0].split("/").map(Number).reduce((a, b) => a / b) : 1);
const several = (role) => (role === "bob" ? "Bobs" : "Eves");
const weighted = (role) => data.problem[`${role}s`].some((agent) => weightOf(agent) !== 1);

function shortCard(role, k, index) {
  const agent = data.problem[`${role}s`][k], risks = rounded(agentRisks(role, k, index)), say = (risk) => shortRisk(role, risks.wrong, risk, agent.reports);
  const span = risks.null - risks.full, done = risks.best === null || span === 0 ? null : Math.min(1, Math.max(0, (risks.null - risks.best) / span));
  const strip = make("div", { class: "bar", role: "img", "aria-label": done === null ? "no scale" : `${figure3(100 * done)}% of the way from no release to the full data` }, make("i"));
  strip.firstElementChild.style.width = `${100 * (done ?? 0)}%`;
  const rest = role === "eve" ? `${say(risks.null)} before the release, ${say(risks.full)} with all the data` : `${say(risks.full)} with all the data, ${say(risks.null)} without a release`;
  const unit = risks.wrong || risks.most === 0 ? [] : [make("p", { class: "exactly" }, `one decision ${agent.harm ? "counts" : "costs"} at most ${figure3(risks.most)}`)];
  if (weightOf(agent) !== 1) unit.push(make("p", { class: "exactly" }, `counts ${figure3(weightOf(agent))} times where the ${several(role)} are added up`));
  if (role === "eve" && isCertain(k, index)) unit.push(make("p", { class: "exactly" }, certainWords(k, index)));
  return make("div", { class: `figure ${role}` }, make("h3", {}, ...person(agent.name, true), make("span", {}, role === "bob" ? " should learn" : " must not learn too much")),
    make("p", { class: "value" }, toldRisk(role, risks.wrong, risks.best, agent.harm, agent.reports)), make("p", { class: "exactly" }, rest), ...unit,
    ...(agent.harm ? [] : [strip, make("p", { class: "scale" }, make("span", {}, "no release"), make("span", {}, "all the data"))])); // harm may lie beyond both ends
}

// The change from one pair of risks to another, of all Bobs and of all Eves together; the one told first starts a sentence
function changes(from, to, first = null) {
  const only = { bob: data.problem.bobs.length === 1 && !data.problem.bobs[0].weight, eve: data.problem.eves.length === 1 && !data.problem.eves[0].weight };
  return ["bob", "eve"].map((role) => {
    const list = data.problem[`${role}s`], single = list.length === 1, change = to[role] - from[role];
    const wrong = only[role] && agentRisks(role, 0, pieceAt(lam)).wrong, start = role === first;
    const name = single ? person(list[0].name, start) : [`${start ? "The" : "the"} ${several(role)} together${weighted(role) ? ", by their weights," : ""}`];
    if (list.some(({ harm }) => harm)) return [`${start ? "What" : "what"} Alice counts for `, ...(single ? person(list[0].name) : [`the ${several(role)}`]),
      Math.abs(change) < 1e-12 ? " is the same" : ` ${change > 0 ? "rises" : "falls"} by ${figure3(change)}`];
    if (Math.abs(change) < 1e-12) return [...name, wrong ? (role === "eve" ? " guesses right as often" : " is wrong as often") : single ? " loses the same" : " lose the same"];
    if (single && list[0].reports === "log") return [...name, ` misses ${inBits(change)} ${change > 0 ? "more" : "less"}`];
    if (!wrong) return [...name, `${single ? " loses" : " lose"} ${figure3(change)} ${change > 0 ? "more" : "less"}`];
    const count = ofHundred(Math.abs(change));
    return role === "bob" ? [...name, ` makes ${count} ${change > 0 ? "more" : "fewer"} wrong decisions in 100`] : [...name, ` makes ${count} ${change > 0 ? "fewer" : "more"} right guesses in 100`];
  });
}

function costCard(index) {
  const best = floats(bestRisks(index)), all = floats(full), [bob, eve] = changes(all, best);
  const lines = [make("p", {}, "Compared with releasing all the data, ", ...bob, ", and ", ...eve, ".")];
  if (data.conditions && data.conditions.cost !== null && Q.cmp(lam, Q.read(data.lambda.wanted)) === 0)
    lines.push(make("p", {}, ...rich(data.conditions.cost === 0 ? "The conditions cost nothing at this λ." : `The conditions raise R_A by ${figure3(data.conditions.cost)} at this λ.`)));
  return make("div", { class: "figure alice" }, make("h3", {}, "What it costs"), ...lines);
}

function releasedWords(index) {
  const detail = detailOf(index);
  if (!detail) return ["The mechanism at this λ is left out, to keep this page small."];
  const cards = detail.cards.map((one) => (model ? { signal: decisionName(one.column), mass: Q.float(meaning(model, index, one.column).mass) } : { signal: one.signal, mass: one.share }));
  const ranked = cards.sort((a, b) => b.mass - a.mass), shown = ranked.slice(0, 4), more = ranked.length - shown.length + detail.hiddenSignals;
  if (ranked.length === 1 && !more) return ["Always the same message, “", quoted(ranked[0].signal), "”: nothing is given away."];
  return [`One of ${ranked.length + detail.hiddenSignals} messages, drawn by a rule that everybody may know: `,
    ...shown.flatMap(({ signal, mass }, k) => [k ? (k === shown.length - 1 && !more ? " or " : ", ") : "", "“", quoted(signal), `” (${ofHundred(mass)} times in 100)`]), more ? (more === 1 ? ", or one other." : `, or one of ${more} others.`) : "."];
}

function severalWords(index) {
  const tie = index > 0 && Q.cmp(starts[index], lam) === 0;
  if (tie) return "Several mechanisms are optimal at this λ: this one, the one of the line above it, and every mixture of the two.";
  return { true: "No other mechanism is as good at this λ.", false: "This is an optimal mechanism; at this λ others are exactly as good." }[data.pieces[index].unique] ?? "This is an optimal mechanism; there may be others that are as good.";
}

function offered(index) {
  const last = data.pieces.length - 1;
  if (last < LINES) return data.pieces.map((_, k) => k);
  const some = Array.from({ length: LINES - 1 }, (_, k) => Math.round((k * last) / (LINES - 2)));
  return [...new Set([...some, index])].sort((a, b) => a - b);
}

const lossWords = (role) => (data.problem[`${role}s`].some(({ harm }) => harm) ? "counted by Alice" : data.problem[`${role}s`].every(({ reports }) => reports === "log") ? "missing, in nats" : data.problem[`${role}s`].some(({ weight }) => weight) ? "weighted loss" : "average loss");

function drawLines(index) {
  const one = (role) => data.problem[`${role}s`].length === 1 && !data.problem[`${role}s`][0].weight && agentRisks(role, 0, index).wrong;
  const [bobWrong, eveWrong] = [one("bob"), one("eve")], name = (role, all, start) => (data.problem[`${role}s`].length === 1 ? person(data.problem[`${role}s`][0].name, start) : [all]);
  const over = (who, what) => make("span", {}, ...who, make("span", { class: "what" }, what));
  const head = ["λ", over(name("bob", "The Bobs", true), bobWrong ? "wrong in 100" : lossWords("bob")), over(name("eve", "The Eves", true), eveWrong ? "right in 100" : lossWords("eve")), "compared with the line above", ""];
  const bob = (risk) => shortRisk("bob", bobWrong, risk), eve = (risk) => shortRisk("eve", eveWrong, risk), shown = offered(index);
  const range = (k) => (data.partial ? figure3(Q.float(lam)) : data.pieces[k].end === null ? `from ${figure3(Q.float(starts[k]))} on` : `${figure3(Q.float(starts[k]))} to ${figure3(Q.float(Q.read(data.pieces[k].end)))}`);
  const rows = shown.map((k, row) => {
    if (provedPiece(k) === false) return { here: k === index, cells: [make("td", {}, range(k)), "not proved", "not proved", make("td", { class: "words first" }, "–"), make("td", { class: "screen" })] };
    const risks = floats(bestRisks(k)), before = row && provedPiece(shown[row - 1]) !== false ? floats(bestRisks(shown[row - 1])) : null, [b, e] = before ? changes(before, risks, "eve") : [];
    return { here: k === index, cells: [make("td", {}, range(k)), bob(risks.bob), eve(risks.eve), before ? make("td", { class: "words" }, ...e, "; ", ...b) : make("td", { class: "words first" }, "–"),
      make("td", { class: "screen" }, k === index ? "shown" : make("button", { type: "button", click: () => move(inside(k)) }, "show"))] };
  });
  if (data.partial) for (const [words, risks] of [["everything is released", full], ["nothing is released", nothing]])
    rows.push({ cells: [make("td", {}, words), bob(floats(risks).bob), eve(floats(risks).eve), make("td", { class: "words" }, "for comparison"), make("td", { class: "screen" })] });
  $("lines").replaceChildren(table(head, rows));
  const hidden = data.pieces.length - shown.length;
  $("lines-more").replaceChildren(...(hidden > 0 ? [`${counted(hidden, "more line")} between these`, make("span", { class: "screen" }, "; the slider below reaches them"), "."] : []));
  $("meaning").replaceChildren("λ is the rate of exchange: at λ = ", figure3(Q.float(lam)), ", ", eveWrong ? "one right guess fewer" : data.problem.eves.some(({ harm }) => harm) ? "one more unit that Alice counts" : "one more unit of loss", " for ", ...name("eve", "the Eves"), " is worth ", figure3(Q.float(lam)), bobWrong ? " more wrong decision" : " more unit", figure3(Q.float(lam)) === "1" ? "" : "s", bobWrong ? " of " : " of loss of ", ...name("bob", "the Bobs"),
    data.partial ? "." : ". Each line is the best release for its range of λ; sign the last one whose step is still worth its price to you.");
}

function drawFirstScreen(index) {
  $("released").replaceChildren(...releasedWords(index));
  $("promises").replaceChildren(...(data.conditions ? [make("p", {}, "The rule keeps these conditions:"),
    make("ul", {}, ...data.conditions.plain.map((words) => make("li", {}, make("bdi", { dir: "auto" }, words))))] : []));
  $("short").replaceChildren(...data.problem.bobs.map((_, k) => shortCard("bob", k, index)), ...data.problem.eves.map((_, k) => shortCard("eve", k, index)), costCard(index));
  drawLines(index);
  $("several").textContent = severalWords(index);
  const best = bestRisks(index), exact = (words, value) => make("li", {}, ...rich(words), " = ", telling(value, 60));
  $("fraction-list").replaceChildren(exact("λ", lam), exact("R_B", best.bob), exact("R_E", best.eve), exact("R_A = R_B − λ R_E", alice(best)), exact("R_B with all the data", full.bob), exact("R_B without a release", nothing.bob),
    exact("R_E with all the data", full.eve), exact("R_E without a release", nothing.eve));
}

function drawOrigin() {
  const { made, bundle } = data, source = bundle ? bundle.source : made && made.source, pairs = [];
  if (made) pairs.push(["report made", `${made.date}, bap-lp ${made.version}`]);
  if (source) pairs.push(["data source", `${source.name}, SHA-256 ${source.sha256}`]);
  if (bundle) pairs.push(["bundle", `made ${bundle.made} by bap-lp ${bundle.version}; SHA-256 of its manifest ${bundle.sha256}`]);
  $("origin").replaceChildren(...pairs.flatMap(([what, words]) => [make("dt", {}, what), make("dd", {}, quotedPlain(words))]));
}
const quotedPlain = (words) => make("bdi", { dir: "auto" }, words);
