// The page: reads its island, keeps one number, lam, and shows what follows from it. Labels are only ever text nodes.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const WIDE = 5; // signals up to which a mechanism is a table with its zeros
const PRINTED = 8; // decisions up to which a table of losses fits a sheet of paper
const AUTOMATIC = 3000; // products up to which the proof is re-done at every move
let stops, starts, full, nothing, lam, model = null;

function readRisks(pair) { return { bob: Q.read(pair.bob), eve: Q.read(pair.eve) }; }
// Risks of the optimum on a piece: those of the table that is checked, where there is one
const bestRisks = (index) => (model ? provedRisks(model, index) : readRisks(data.pieces[index]));
const automatic = () => model && model.p.length * model.B[0].length * model.E[0].length <= AUTOMATIC;
function readAll() {
  stops = data.stops.map(Q.read);
  starts = data.pieces.map((piece) => Q.read(piece.start));
  lam = Q.read(data.lambda.wanted);
  if (data.proof) model = readModel(data.proof, data.pieces);
  [full, nothing] = model ? extremeRisks(model) : [readRisks(data.full), readRisks(data.null)];
  if (model) agree(data, model, stops, starts, [full, nothing]);
}
const details = new Map(), spans = new Map();
// What a piece's mechanism does; null if it was left out
function detailOf(index) {
  const { detail } = data.pieces[index];
  if (!model || !detail) return detail;
  if (!details.has(index)) details.set(index, agreedDetail(model, data.problem, detail, index));
  return details.get(index);
}
// Whether the mechanism of a piece is shown to be optimal on it, in this browser; null: not looked at
function provedPiece(index) {
  if (!automatic()) return null;
  if (!spans.has(index)) spans.set(index, provedSpan(model, data.pieces, index));
  return spans.get(index);
}
const floats = (risks) => ({ bob: Q.float(risks.bob), eve: Q.float(risks.eve) });
const alice = (risks) => Q.sub(risks.bob, Q.mul(lam, risks.eve));
const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

function make(name, options = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "class") node.className = value;
    else if (key === "click") node.addEventListener("click", value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}
// The page's own words, R_A and its kin set as they are written by hand
function rich(words) {
  return words.split(/R_([ABE])/).flatMap((part, k) => (k % 2 ? ["R", make("sub", {}, part)] : [part]));
}
const write = (id, words) => $(id).replaceChildren(...rich(words));
const quoted = (label) => make("bdi", label.length > 60 ? { dir: "auto", class: "long", title: label } : { dir: "auto" }, label);
// In quotes if a comma in it could be mistaken for one of the sentence
const spoken = (label) => (label.includes(",") ? ["“", quoted(label), "”"] : [quoted(label)]);

// An agent in a sentence: a common noun such as journalist takes an article
const BARE = /^(?:the|a|an|my|our|every|each|one|two|all)\b|^(?:alice|bob|eve)$/;
function person(name, start = false) {
  const first = [...name][0] ?? "", common = first !== first.toUpperCase() && !BARE.test(name);
  return common ? [start ? "The " : "the ", quoted(name)] : [quoted(name)];
}
const people = (agents, last = " and ") => agents.flatMap(({ name }, k) => [k ? (k === agents.length - 1 ? last : ", ") : "", ...person(name)]);

// Items in a sentence, each isolated from the text around it
function listed(labels, last = " and ", more = 0) {
  const out = [];
  labels.forEach((label, k) => {
    if (k) out.push(k === labels.length - 1 && !more ? last : ", ");
    out.push(...spoken(label));
  });
  if (more) out.push(` and ${more} more`);
  return out;
}

function table(head, rows, caption) {
  const body = rows.map((row) => {
    const cells = row.cells ?? row;
    return make("tr", row.here ? { class: "here" } : {}, ...cells.map((cell) => (cell instanceof Node && cell.nodeName === "TD" ? cell : make("td", {}, cell))));
  });
  return make("table", {}, ...(caption ? [make("caption", {}, caption)] : []),
    make("thead", {}, make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, ...(typeof cell === "string" ? rich(cell) : [cell]))))), make("tbody", {}, ...body));
}

function telling(value, longest = 24) { // a number with the whole fraction behind it
  const short = Q.short(value, longest), whole = Q.text(value);
  return short.startsWith("≈") && whole.length < 2000 ? make("span", { title: whole }, short) : short;
}

function drawProblem() {
  const { problem } = data;
  const lines = [];
  const likely = problem.likely.flatMap(([label, share, x], k) => [k ? ", " : "", ...spoken(label), ` (${model ? Q.brief(model.prior[x], true) : share})`]);
  const rest = problem.count - problem.likely.length;
  lines.push(["Alice holds data that are one of ", counted(problem.count, "state"), rest > 0 ? "; the most probable are " : ", with their probabilities: ", ...likely,
    rest > 0 ? `, and ${rest} more.` : "."]);
  if (problem.theta) lines.push(["Behind them is an unknown parameter: ", ...listed(problem.theta.slice(0, 8), " or ", Math.max(problem.theta.length - 8, 0)), "."]);
  for (const [list, why] of [[problem.bobs, ", who should learn from the release,"], [problem.eves, ", who must not learn too much,"]]) {
    for (const agent of list) {
      const some = agent.decisions.slice(0, 8);
      lines.push([...person(agent.name, true), `${why} will ${agent.reports ? "report probabilities of" : "decide"}: `, ...listed(some, " or ", agent.decisions.length - some.length),
        agent.weight ? ` (weight ${agent.weight}).` : "."]);
    }
  }
  lines.push(["Alice publishes one signal, drawn by a mechanism that everybody knows. She wants ", ...people(problem.bobs), " to lose little and ",
    ...people(problem.eves), ` to lose much: of all mechanisms${data.conditions ? " that meet the conditions" : ""}, one with the least R_A = R_B − λ R_E.`]);
  if (data.beliefs) lines.push([`${data.beliefs}. R_B and R_E are what Alice counts under her own probabilities.`]);
  if (data.conditions) lines.push([`The mechanism must meet conditions: ${data.conditions.words}.`, data.conditions.price === null ? "" : ` At λ = ${Q.short(Q.read(data.lambda.wanted), 12)} they cost ${data.conditions.price} in R_A. ${(data.conditions.costs || []).join(" ")}`]);
  if (problem.emptyCount) lines.push(["Of probability zero: ", ...listed(problem.empty, " and ", problem.emptyCount - problem.empty.length), ". They are left out of the optimisation."]);
  $("words").replaceChildren(...lines.map((line) => make("p", {}, ...line.flatMap((part) => (typeof part === "string" ? rich(part) : [part])))));
  const checked = (role, k) => (row, x) => (!model ? row : model.index[x] < 0 ? row.map(() => "–") : model[role][k].table[model.index[x]].map((v) => Q.text(v)));
  const tables = [...problem.bobs.map((a, k) => [a, "expected loss of ", checked("bob", k)]), ...problem.eves.map((a, k) => [a, "loss of ", checked("eve", k)])].filter(([agent]) => agent.loss).map(([agent, what, own]) =>
    table(["data", "probability", ...agent.decisions.map(quoted)], agent.loss.map((row, x) => [quoted(problem.states[x]), model ? Q.text(model.prior[x]) : problem.prior[x], ...own(row, x)]),
      make("span", {}, what, ...person(agent.name), " for each decision")));
  for (const agent of [...problem.bobs, ...problem.eves]) {
    const own = (agent.prior || agent.harm) ? agent.harm || agent.loss : null;
    if (own) tables.push(table(["data", "believed probability", ...agent.decisions.map(quoted)], own.map((row, x) => [quoted(problem.states[x]), (agent.prior || problem.prior)[x], ...row]),
      make("span", {}, "what Alice counts for ", ...person(agent.name), ", and what that agent believes about the data")));
  }
  $("loss-tables").replaceChildren(...tables);
  if (problem.count > problem.states.length) $("loss-tables").append(make("p", {}, `${problem.count - problem.states.length} more states are not listed.`));
}

function drawMarks() {
  const box = $("marks"), ends = [[], []];
  box.replaceChildren();
  const width = box.clientWidth;
  for (const mark of [...data.marks].sort((a, b) => b.kinds.length - a.kinds.length || Number(a.kinds[0] === "change") - Number(b.kinds[0] === "change"))) {
    const place = stops.length > 1 ? mark.at / (stops.length - 1) : 0, kind = mark.kinds.find((k) => k !== "change") ?? "change";
    const tick = make("i", { class: kind });
    tick.style.left = `${100 * place}%`;
    box.append(tick);
    const words = { calibrated: "calibrated ", start: "chosen ", change: "" }[mark.kinds.includes("calibrated") ? "calibrated" : kind];
    const button = make("button", { type: "button", tabindex: "-1", class: kind, click: () => move(stops[mark.at]) }, words + Q.short(stops[mark.at], 9));
    box.append(button);
    const half = button.offsetWidth / 2, centre = Math.min(Math.max(place * width, half - 6), width - half + 6);
    const row = ends.findIndex((taken) => taken.every(([a, b]) => centre + half < a || centre - half > b));
    if (row < 0) { button.remove(); continue; }
    ends[row].push([centre - half - 4, centre + half + 4]);
    button.style.left = `${centre}px`;
    if (row) button.classList.add("second");
  }
}

const pieceAt = (price) => Math.max(0, starts.filter((start) => Q.cmp(start, price) <= 0).length - 1);

// A share of the whole in words; one that is neither nothing nor all is not shown as such
function percent(part, whole) {
  if (Q.cmp(whole, zero) === 0) return null;
  if (Q.cmp(part, zero) <= 0) return "0%";
  if (Q.cmp(part, whole) >= 0) return "100%";
  const share = 100 * Q.float(Q.div(part, whole));
  return share < 0.05 ? "less than 0.1%" : share > 99.95 ? "more than 99.9%" : `${Number(share.toPrecision(3))}%`;
}

function drawFigures(index) {
  const best = bestRisks(index), value = alice(best);
  for (const [name, number] of [["bob", best.bob], ["eve", best.eve], ["alice", value]]) {
    $(name).replaceChildren(telling(number));
    $(name).classList.toggle("lengthy", $(name).textContent.length > 13);
    $(`${name}-decimal`).textContent = Q.exact(number) && !Q.short(number).startsWith("≈") && number.d !== 1n ? `= ${Q.decimal(number)}` : "\u00a0";
  }
  const own = data.beliefs !== null;
  const useful = own ? null : percent(Q.sub(nothing.bob, best.bob), Q.sub(nothing.bob, full.bob));
  const hidden = own ? null : percent(Q.sub(best.eve, full.eve), Q.sub(nothing.eve, full.eve));
  $("bob-kept").textContent = own ? `full release ${Q.both(full.bob)}, null release ${Q.both(nothing.bob)}` : useful === null ? "Bob gains nothing even from the full data." : `${useful} of what the full data are worth to Bob`;
  $("eve-kept").textContent = own ? `full release ${Q.both(full.eve)}, null release ${Q.both(nothing.eve)}` : hidden === null ? "Eve gains nothing even from the full data." : `${hidden} of the privacy of releasing nothing, on average`;
  const piece = data.pieces[index];
  const tie = index > 0 && Q.cmp(starts[index], lam) === 0;
  const spanned = !model || provedPiece(index) !== false;
  $("range").textContent = data.partial || !spanned ? "" : `This mechanism is optimal for λ from ${Q.short(starts[index])} ${piece.end === null ? "on" : `to ${Q.short(Q.read(piece.end))}`}.`;
  $("gist").textContent = (useful === null || hidden === null ? "" :
    `At this price ${data.conditions ? "an optimal release that meets the conditions" : "an optimal release"} keeps ${useful} of the usefulness of the full data and, on average, ${hidden} of the privacy of releasing nothing.`) +
    data.problem.eves.map(({ name }, k) => (own || !isCertain(k, index) ? "" : ` But ${certainWords(k, index)}${data.problem.eves.length > 1 ? ` to \u2068${name}\u2069` : ""}.`)).join("") +
    (tie ? " Here the mechanism changes: this one and the one before it are equally good." : "");
  const named = Q.cmp(lam, Q.read(data.lambda.wanted)) === 0 && data.lambda.choice ? `, ${data.lambda.choice}` :
    data.lambda.calibrated !== null && Q.cmp(lam, Q.read(data.lambda.calibrated)) === 0 ? ", calibrated: full and null release are equally good" : "";
  write("now", `${Q.equation("λ", lam)}${named}:  ${Q.equation("R_A", value)}`);
  $("slider").setAttribute("aria-valuetext", `lambda ${Q.both(lam)}${named}, R_A ${Q.both(value)}`);
}

function shaded(node, share) {
  node.style.backgroundColor = `rgba(0, 158, 115, ${(0.45 * share).toFixed(3)})`;
  return node;
}

// A wide mechanism without its zeros: the same rows together, of each the signals that it may send
function sparseList(names, rows) {
  const kinds = new Map();
  for (const { row, shares } of rows) {
    const key = JSON.stringify(shares), kind = kinds.get(key);
    if (kind) { kind.states.push(...row.states); kind.more += row.more; } else kinds.set(key, { states: [...row.states], more: row.more, shares });
  }
  const ordered = [...kinds.values()].sort((a, b) => b.states.length + b.more - a.states.length - a.more);
  return table(["data", "signals that may be drawn"], ordered.map(({ states, more, shares }) => {
    const sentThen = shares.map(([words, share], k) => [share, words, names[k]]).filter(([share]) => share > 0).sort((a, b) => b[0] - a[0]), first = states.slice(0, 6);
    return [make("td", {}, ...listed(first, ", ", more + states.length - first.length)), make("td", { class: "chips" }, ...sentThen.map(([share, words, label]) => shaded(make("span", { class: "chip" }, quoted(label), " ", make("b", {}, words)), share)))];
  }));
}

function drawMechanism(index) {
  const detail = detailOf(index);
  if (!detail) {
    $("mechanism").replaceChildren(make("p", {}, "Left out, to keep this page small. The command at its end prints it."));
    $("cards").replaceChildren();
    $("privacy").textContent = "";
    return;
  }
  const cells = (row) => (!model ? row.cells : detail.columns.map((i) => {
    const share = sent(model, index, row.at[0], i);
    return [Q.brief(share, true), Q.float(share)];
  }));
  const names = model ? detail.columns.map(decisionName) : detail.signals;
  const rows = detail.rows.map((row) => ({ row, shares: cells(row) }));
  $("mechanism").replaceChildren(names.length > WIDE ? sparseList(names, rows) : table(["data", ...names.map(quoted)], rows.map(({ row, shares }) =>
    [make("td", {}, ...listed(row.states, ", ", row.more)), ...shares.map(([words, share]) => shaded(make("td", share ? {} : { class: "zero" }, words), share))])));
  $("mechanism-words").textContent = names.length > WIDE ? "Each row has a state of the data, and then the signals that may be drawn, with their probabilities. States with the same row are shown together." : "Each row is a state of the data. Each column shows how likely that signal is to be drawn in this state.";
  $("unique").textContent = severalWords(index);
  const left = [detail.hiddenRows ? counted(detail.hiddenRows, "more kind") + " of states" : "", detail.hiddenSignals ? counted(detail.hiddenSignals, "more signal") : ""].filter(Boolean);
  if (left.length) $("mechanism").append(make("p", {}, `Not shown: ${left.join(" and ")}. \`bap solve --out\` writes all.`));
  const epsilon = model ? ratioWords(largestRatio(model, index)) : detail.epsilon;
  $("privacy").textContent = epsilon === null ? "Differential privacy: none; some signal rules out some data." :
    `Differential privacy: ε = log ${epsilon[0]} = ${Q.decimal(epsilon[1])}.`;
  $("cards").replaceChildren(...detail.cards.map((one) => card(model ? derivedCard(index, one) : one)));
}

const ratioWords = (ratio) => (ratio === null ? null : [Q.text(ratio).length <= 40 ? Q.text(ratio) : Q.short(ratio), Math.log(Q.float(ratio))]);

// The name of Bob's decision i, of several Bobs their decisions in order
function decisionName(i) {
  const names = data.problem.bobs.reduce((all, { decisions }) => all.flatMap((a) => decisions.map((d) => (a === null ? d : `${a}, ${d}`))), [null]);
  return names[i];
}

// A card with the numbers that follow from the checked tables; only labels, and theta, are the page's own
function derivedCard(index, { column, data: posterior, theta }) {
  const found = meaning(model, index, column);
  const share = ([label, , , x]) => {
    const value = found.posterior(x);
    return [label, Q.brief(value), Q.float(value), x];
  };
  const decided = (agents, best) => agents.flatMap(({ name, decisions, views }, k) => best[k].flatMap((own, z) =>
    (own === null ? [] : [[views ? views[z] : name, own.slice(0, 6).map((d) => decisions[d]), Math.max(own.length - 6, 0)]])));
  return { signal: decisionName(column), probability: Q.both(found.mass), theta, data: { ...posterior, listed: posterior.listed.map(share) },
    bob: decided(data.problem.bobs, found.bob), eve: decided(data.problem.eves, found.eve) };
}

function card({ signal, probability, data: posterior, theta, bob, eve }) {
  const shares = (title, { listed: items, others }) => [make("p", { class: "about" }, title),
    ...items.map(([label, words, share]) => {
      const strip = make("div", { class: "bar", role: "img", "aria-label": words }, make("i"));
      strip.firstElementChild.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
      return make("div", { class: "share" }, quoted(label), make("span", {}, strip, make("span", {}, words)));
    }), ...(others ? [make("p", { class: "often" }, others === 1 ? "or one other" : `or one of ${others} others`)] : [])];
  const decides = (role) => ([name, best, more]) => make("p", { class: `agent ${role}` }, ...person(name, true),
    ...(best.length + more === 1 ? [" decides ", make("b", {}, quoted(best[0])), "."] :
      [data.exact ? " is exactly indifferent between " : " is indifferent, up to rounding, between ", ...listed(best, " and ", more), "."]));
  return make("article", { class: "card" }, make("h4", {}, "“", quoted(signal), "”"), make("p", { class: "often" }, `sent with probability ${probability}`),
    ...shares("Then the data are", posterior), ...(theta ? shares("and the parameter is", theta) : []), ...bob.map(decides("bob")), ...eve.map(decides("eve")));
}

function releasesNow() {
  return data.releases.map(({ name, fixed, pieces }) => {
    const piece = pieces.filter((p) => Q.cmp(Q.read(p.start), lam) <= 0).at(-1);
    return { name, fixed, parameter: piece.parameter, meets: piece.meets, ...readRisks(piece) };
  });
}

function drawReleases(index, releases) {
  const best = bestRisks(index), value = alice(best);
  const rows = releases.map((r) => ({ ...r, alice: alice(r) })).sort((a, b) => Q.cmp(a.alice, b.alice));
  const line = (name, parameter, r, here) => ({ here, cells: [make("td", {}, name, parameter ? make("span", { class: "hint" }, ` (${parameter})`) : ""), ...(data.conditions ? [r.meets ? "yes" : "no"] : []),
    telling(r.bob, 12), telling(r.eve, 12), telling(r.alice, 12), telling(Q.sub(r.alice, value)), Q.decimal(Q.sub(r.alice, value))] });
  $("releases").replaceChildren(table(["release", ...(data.conditions ? ["meets the conditions"] : []), "R_B", "R_E", "R_A", "above the optimum", "decimal"],
    [line("optimum", null, { ...best, alice: value, meets: true }, true), ...rows.map((r) => line(r.name, r.parameter && r.parameter + (r.fixed ? `, best for λ = ${Q.short(Q.read(data.lambda.wanted), 9)}` : ""), r, false))]));
  const worst = rows.at(-1), first = rows[0];
  write("releases-words", data.conditions ? "A release with a lower R_A than the optimum breaks the conditions." : !first ? "" : Q.cmp(first.alice, value) === 0 ? `At this price ${first.name === "full" || first.name === "null" ? `the ${first.name} release` : `“${first.name}”`} is as good as the optimum.` :
    `The best of the usual releases at this price, “${first.name}”, is ${Q.both(Q.sub(first.alice, value))} above the optimum; the worst, “${worst.name}”, is ${Q.both(Q.sub(worst.alice, value))} above it.`);
}

function drawPieces(index) {
  $("pieces-words").textContent = data.partial && reported() ? "Where probabilities are reported the mechanism may change with every λ; this page shows the one at the chosen λ." : data.conditions && data.partial ? "Under these conditions this page shows the optimum at the chosen λ only." :
    data.partial ? "There are too many to list; this page shows the one at the chosen λ." :
    `${data.pieces.length === 1 ? "One mechanism is optimal at every price." : `As λ grows, ${data.pieces.length} mechanisms are optimal one after the other. They are the corners of the frontier.`}`;
  const rows = data.pieces.map((piece, k) => ({ here: k === index, cells: [
    make("td", {}, data.partial ? Q.short(starts[k]) : `${Q.short(starts[k])} to ${piece.end === null ? "∞" : Q.short(Q.read(piece.end))}`), ...pieceRisks(k),
    make("td", {}, data.partial ? "" : make("button", { type: "button", click: () => move(inside(k)) }, "show"))] }));
  $("pieces").replaceChildren(table(["λ", "R_B", "R_E", ""], rows));
  const here = $("pieces").querySelector("tr.here");
  $("pieces").scrollTop = here.offsetTop - $("pieces").clientHeight / 2;
}

const reported = () => data.problem.eves.some(({ reports }) => reports);

// Risks of the mechanism of a piece, unless this browser finds that it is not optimal there
function pieceRisks(k) {
  if (provedPiece(k) === false) return ["not proved", "not proved"];
  const { bob, eve } = bestRisks(k);
  return [telling(bob), telling(eve)];
}

function inside(k) { // a stop in the middle of a piece
  const own = stops.filter((stop) => pieceAt(stop) === k);
  return own.length ? own[Math.floor(own.length / 2)] : starts[k];
}

function drawProof(index) {
  const best = bestRisks(index), value = alice(best);
  $("proof").replaceChildren(make("p", {}, ...rich(data.partial && data.tolerance > 0 ?
    `The value ${Q.both(value)} is at most ${data.tolerance.toExponential(1)} above a bound that is proved for all mechanisms${data.conditions ? " that meet the conditions" : ""}.` : data.exact ?
    `${data.beliefs ? "Prices of the agents’ obedience bound" : "A table of Eve’s replies bounds"} R_A of every mechanism${data.conditions ? " that meets the conditions" : ""} from below, and the bound is ${Q.both(value)}, the value itself. The proof is arithmetic with fractions; no solver has to be trusted.` :
    `The numbers of this problem are floats. The values are optimal up to a proved tolerance of ${data.tolerance.toExponential(1)}, relative to the largest loss (times λ for Eve’s).`)));
  const price = Q.text(lam);
  $("commands").textContent = data.bundle ? `bap verify ${data.file}` : `bap solve ${data.file} --lambda ${price} --out proof\nbap verify proof`;
  $("checks").replaceChildren();
  $("check").hidden = $("covered").hidden = !model;
  if (automatic()) showChecks(index);
  else banner(model ? "open" : "none");
}

function showChecks(index = pieceAt(lam)) {
  const checks = checkProof(model, data.pieces, index, lam);
  $("checks").replaceChildren(...checks.map(([good, words]) => make("li", good ? {} : { class: "bad" }, ...rich(words))));
  banner(holds(checks) ? "good" : "bad");
}

// The banner says what this browser has checked, not what the file claims
function banner(state, words = "") {
  const among = `among all mechanisms${data.conditions ? " that meet the conditions" : ""}`;
  const said = data.exact && (!data.partial || data.tolerance === 0) ? `Claimed to be optimal ${among}, in exact fractions` : `Claimed to be optimal ${among} up to rounding, with a proved tolerance`;
  $("verdict").textContent = {
    good: `Proved optimal ${among}, in exact fractions: this browser has checked it at this λ.`,
    open: `${said}. Not yet checked here: `,
    none: `${said}. This page carries no proof that a browser can check; the command at its end checks it.`,
    bad: "The check failed: what this page shows is not proved. Do not rely on it.",
    broken: `This page is damaged and shows nothing that can be relied on: ${words}.`,
  }[state];
  if (state === "open") $("verdict").append(make("button", { type: "button", click: () => showChecks() }, "check the proof in this browser"), ".");
  $("sign").hidden = state === "bad" || state === "broken";
  $("verdict").className = `verdict${{ good: "", open: " float", none: " float" }[state] ?? " bad"}`;
}

function drawPicture(index, releases) {
  const best = bestRisks(index);
  drawMap($("map"), {
    full: floats(full), null: floats(nothing), best: floats(best), lam: Q.float(lam), region: data.region,
    frontier: data.frontier, corner: data.corner ? floats(readRisks(data.corner)) : { bob: floats(full).bob, eve: floats(nothing).eve },
    releases: releases.filter(({ name }) => name !== "full" && name !== "null").map((r) => ({ name: r.name, ...floats(r) })),
    words: `Risk-utility map. The optimum has utility ${Q.decimal(Q.neg(best.bob))} and disclosure risk ${Q.decimal(Q.neg(best.eve))}; the full release ${Q.decimal(Q.neg(full.bob))} and ${Q.decimal(Q.neg(full.eve))}; the null release ${Q.decimal(Q.neg(nothing.bob))} and ${Q.decimal(Q.neg(nothing.eve))}.`,
  });
}

function draw() {
  try { drawAll(); } catch (error) { banner("broken", error.message); $("checks").replaceChildren(make("li", { class: "bad" }, error.message)); }
}

function drawAll() {
  const index = pieceAt(lam), releases = releasesNow();
  drawFirstScreen(index);
  drawFigures(index);
  drawMechanism(index);
  drawReleases(index, releases);
  drawPieces(index);
  drawProof(index);
  drawPicture(index, releases);
  $("lambda").value = Q.text(lam);
  $("lambda").size = Math.min(Math.max(Q.text(lam).length, 8), 30);
  let near = 0;
  stops.forEach((stop, k) => { if (Math.abs(Q.float(stop) - Q.float(lam)) < Math.abs(Q.float(stops[near]) - Q.float(lam))) near = k; });
  $("slider").value = near;
  const changes = starts.slice(1);
  $("previous").disabled = !changes.some((s) => Q.cmp(s, lam) < 0);
  $("next").disabled = !changes.some((s) => Q.cmp(s, lam) > 0);
}

function move(price) {
  lam = price;
  $("lambda-error").textContent = "";
  draw();
}

function set() {
  const typed = Q.typed($("lambda").value);
  if (!typed) { $("lambda-error").textContent = "λ must be a number that is not negative, such as 1/3 or 0.25"; return; }
  move(data.exact ? typed : Q.float(typed));
}

function legend() {
  const swatch = (draw) => { const box = svg("svg", { width: 26, height: 12, "aria-hidden": "true" }); draw(box); return box; };
  const stroke = (attributes) => swatch((box) => svg("line", { x1: 1, x2: 25, y1: 6, y2: 6, ...attributes }, box));
  const items = [
    [swatch((box) => svg("rect", { x: 1, y: 1, width: 24, height: 10, fill: COLOURS.region, stroke: COLOURS.edge }, box)), data.whole ? "attainable: some mechanism does this" : "attainable, and perhaps more above"],
    [stroke({ stroke: COLOURS.frontier, "stroke-width": 3.2 }), !data.conditions ? "frontier: nothing is better" : data.partial ? "frontier without the conditions" : "frontier under the conditions"],
    [stroke({ stroke: COLOURS.grey, "stroke-width": 1.8 }), "calibration line through full and null"],
    [stroke({ stroke: COLOURS.green, "stroke-width": 1.8, "stroke-dasharray": "7 3" }), data.conditions ? "mechanisms on it have the optimum’s R_A" : "mechanisms on it have the least R_A"],
    [swatch((box) => svg("polygon", { points: star(13, 6.5, 6.5), fill: COLOURS.green, stroke: COLOURS.ink }, box)), "optimum"],
    [swatch((box) => svg("rect", { x: -3.5, y: -3.5, width: 7, height: 7, fill: COLOURS.release, stroke: COLOURS.ink, "stroke-width": 0.8, transform: "translate(13 6) rotate(45)" }, box)), "usual release"],
    [swatch((box) => svg("circle", { cx: 13, cy: 6, r: 4.2, fill: COLOURS.paper, stroke: COLOURS.ink }, box)), data.beliefs ? "corner: the least R_B with the largest R_E" : "corner: full’s utility with null’s privacy"],
  ];
  $("legend").replaceChildren(...items.map(([box, words]) => make("li", {}, box, ...rich(words))));
}

function start() {
  const title = data.title || "A release";
  document.title = `${title} – release report`;
  $("title").replaceChildren(quoted(title));
  $("map-words").textContent = "Every mechanism is a point: the further right, the more Bob learns; the further up, the more Eve learns. Alice wants to go right and down.";
  $("omitted").replaceChildren(...data.omitted.map(([name, reason]) => make("p", { class: "hint" }, `Left out: ${name}, because `, quoted(reason), ".")));
  if (data.conditions) $("least").textContent = "least of those that meet the conditions";
  if (data.bundle) {
    const { made, how, source, files } = data.bundle, lines = Object.entries(files).map(([name, digest]) => `${digest}  ${name}`);
    $("bundle").replaceChildren(make("p", {}, `Of a bundle made ${made}${source ? ` from ${source.name}` : ""}${how ? `: ${how}` : ""}. SHA-256 of its files:`), make("pre", { tabindex: "0" }, lines.join("\n")));
  }
  $("about").textContent = `Made by bap-lp (${data.method}). This file is complete: it loads nothing and sends nothing.`;
  const slider = $("slider");
  slider.max = stops.length - 1;
  slider.addEventListener("input", () => move(stops[Number(slider.value)]));
  for (const part of document.querySelectorAll(".control .screen, .price .screen")) part.hidden = data.partial;
  $("exact-lambda").addEventListener("submit", (event) => { event.preventDefault(); set(); });
  $("lambda").addEventListener("change", set);
  const wanted = Q.read(data.lambda.wanted), calibrated = data.lambda.calibrated === null ? null : Q.read(data.lambda.calibrated);
  $("to-start").textContent = `as chosen: ${Q.short(wanted, 12)}`;
  $("to-start").addEventListener("click", () => move(wanted));
  $("to-calibrated").hidden = calibrated === null || Q.cmp(calibrated, wanted) === 0;
  $("to-calibrated").addEventListener("click", () => move(calibrated));
  $("previous").addEventListener("click", () => move(starts.slice(1).filter((s) => Q.cmp(s, lam) < 0).at(-1)));
  $("next").addEventListener("click", () => move(starts.slice(1).find((s) => Q.cmp(s, lam) > 0)));
  $("check").addEventListener("click", () => showChecks());
  if (!data.exact) {
    $("fractions").firstElementChild.textContent = "The numbers";
    $("follows").textContent = "everything below follows.";
  }
  drawOrigin();
  legend();
  drawProblem();
  draw();
  drawMarks();
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    drawMarks();
    drawPicture(pieceAt(lam), releasesNow());
  });
  window.addEventListener("beforeprint", () => {
    $("fractions").open = true;
    $("losses").open = [...data.problem.bobs, ...data.problem.eves].every(({ decisions }) => decisions.length <= PRINTED); // else the sheet would be shrunk
  });
}

try {
  readAll();
  start();
} catch (error) {
  banner("broken", error.message);
  document.querySelectorAll("main > section, .control").forEach((part) => { part.hidden = true; });
}
