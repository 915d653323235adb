// The proof, re-done here. What the page shows of the optimum is derived from the tables that are checked, from nothing else.
const zero = Q.read("0"), one = Q.read("1");
const total = (list) => list.reduce(Q.add, zero), least = (list) => list.reduce((a, b) => (Q.cmp(b, a) < 0 ? b : a));
const dot = (a, b) => a.reduce((sum, v, k) => Q.add(sum, Q.mul(v, b[k])), zero);

function demand(good, words) { if (!good) throw new Error(words); }

function readTable(rows, height, width, words) {
  demand(Array.isArray(rows) && rows.length === height && rows.every((row) => Array.isArray(row) && (width === null ? row.length > 0 && row.length === rows[0].length : row.length === width)), `${words} has the wrong shape`);
  const table = rows.map((row) => row.map(Q.exactly));
  demand(table.every((row) => row.every((v) => Q.cmp(v, zero) >= 0)), `${words} has a negative number`);
  return table;
}

// Probabilities of the classes of states, everybody's losses, and the joint table and replies of every piece
function readModel({ index, prior: given, bobs, eves, pieces }, spans) {
  const classes = 1 + Math.max(...index), own = readTable([given], 1, index.length, "the prior")[0];
  demand(index.every((c) => Number.isInteger(c) && c >= -1) && classes > 0, "the classes of states are not numbers");
  demand(Q.cmp(total(own), one) === 0, "the prior does not sum to one");
  const p = Array.from({ length: classes }, () => zero);
  index.forEach((c, x) => {
    demand(c >= 0 || Q.cmp(own[x], zero) === 0, "a state that can occur is in no class");
    if (c >= 0) p[c] = Q.add(p[c], own[x]);
  });
  demand(p.every((mass) => Q.cmp(mass, zero) > 0), "a class of states cannot occur");
  const agents = (list, words) => list.map(({ weight, loss, shares }) => {
    const factor = Q.exactly(weight), table = readTable(loss, classes, null, words), weigh = (rows) => rows.map((row) => row.map((v) => Q.mul(factor, v)));
    demand(Q.cmp(factor, zero) > 0, "a weight is not positive");
    // an Eve who already knows z, drawn from k(z|x), is one Eve per z with the losses k(z|x) E(x,j)
    const known = shares ? readTable(shares, classes, null, "what an Eve knows") : null;
    demand(!known || known.every((row) => Q.cmp(total(row), one) === 0), "what an Eve knows does not sum to one");
    const views = known ? known[0].map((_, z) => table.map((row, c) => row.map((v) => Q.mul(known[c][z], v)))) : [table];
    return { table, weighted: weigh(table), known, views, weightedViews: views.map(weigh) };
  });
  const bob = agents(bobs, "Bob’s loss"), eve = agents(eves, "Eve’s loss"), groups = [];
  const B = p.map((_, c) => bob.slice(1).reduce((sums, agent) => sums.flatMap((a) => agent.weighted[c].map((b) => Q.add(a, b))), bob[0].weighted[c]));
  const E = p.map((_, c) => eve.flatMap((agent) => agent.weightedViews.flatMap((view) => view[c])));
  eve.flatMap(({ views }) => views).reduce((start, view) => { groups.push([start, start + view[0].length]); return start + view[0].length; }, 0);
  demand(pieces.length === spans.length, "there are not as many proofs as pieces");
  return { prior: own, index, p, B, E, groups, bob, eve, pieces: pieces.map((piece) => readPiece(piece, B, E)) };
}

function readPiece({ rho, u, onward }, B, E) {
  const joint = B.map((row) => row.map(() => zero));
  for (const [c, i, value] of rho) {
    demand(joint[c]?.[i] !== undefined, "the joint table has the wrong shape");
    joint[c][i] = Q.add(joint[c][i], Q.exactly(value));
    demand(Q.cmp(joint[c][i], zero) >= 0, "the joint table has a negative number");
  }
  const shape = [B[0].length, E[0].length];
  const first = readTable(u, ...shape, "u"), next = readTable(onward, ...shape, "u");
  const heard = (losses) => B[0].map((_, i) => losses[0].map((_, d) => total(joint.map((row, c) => (row[i].n ? Q.mul(row[i], losses[c][d]) : zero)))));
  return { joint, u: first, onward: next, heard, eve: heard(E) };
}

function provedRisks(model, k) {
  const { joint, eve } = model.pieces[k];
  const bob = total(joint.map((row, c) => dot(row, model.B[c])));
  return { bob, eve: total(eve.flatMap((row) => model.groups.map(([a, b]) => least(row.slice(a, b))))) };
}

// Risks when everything or nothing is released
function extremeRisks({ p, B, E, groups }) {
  const parts = groups.map(([a, b]) => E.map((row) => row.slice(a, b)));
  // of a table k(z|x) E(x,j) the least entry of a row is k(z|x) times that of E, so the full release is a sum over z as well
  const known = (table) => dot(p, table.map(least)), blind = (table) => least(table[0].map((_, d) => dot(p, table.map((row) => row[d]))));
  return [known, blind].map((risk) => ({ bob: risk(B), eve: total(parts.map(risk)) }));
}

// Replies are linear in lam on a piece
function repliesAt(span, { u, onward }, lam) {
  const start = Q.exactly(span.start), end = span.end === null ? null : Q.exactly(span.end);
  const share = end === null ? Q.sub(lam, start) : Q.div(Q.sub(lam, start), Q.sub(end, start));
  return u.map((row, i) => row.map((v, j) => Q.add(v, Q.mul(share, end === null ? onward[i][j] : Q.sub(onward[i][j], v)))));
}

function checkProof(model, spans, k, lam) {
  const { p, B, E, groups } = model, piece = model.pieces[k], u = repliesAt(spans[k], piece, lam);
  const risks = provedRisks(model, k), attained = Q.sub(risks.bob, Q.mul(lam, risks.eve));
  const bound = dot(p, p.map((_, c) => least(B[c].map((loss, i) => Q.sub(loss, dot(u[i], E[c]))))));
  const simplex = u.every((row) => row.every((v) => Q.cmp(v, zero) >= 0) &&
    groups.every(([a, b]) => Q.cmp(total(row.slice(a, b)), lam) === 0));
  const same = Q.cmp(attained, bound) === 0;
  return [
    [p.every((mass, c) => Q.cmp(total(piece.joint[c]), mass) === 0), "The joint table is a mechanism: its rows have the probabilities of the data."],
    [Q.cmp(lam, zero) >= 0, `It attains ${Q.equation("R_B", risks.bob)} and ${Q.equation("R_E", risks.eve)}, so ${Q.equation("R_A", attained)}.`],
    [simplex, "Eve’s replies u are admissible: no entry is negative, and those to one signal sum to λ."],
    [same, `They prove that no mechanism goes below ${Q.short(bound)}: the value and the bound ${same ? "are the same number" : "differ"}.`],
  ];
}
const holds = (checks) => checks.every(([good]) => good);

// An optimum at both ends of a piece is one on all of it: value and bound are linear and concave in lam
function provedSpan(model, spans, k) {
  const start = Q.exactly(spans[k].start), end = spans[k].end === null ? Q.add(start, one) : Q.exactly(spans[k].end);
  return Q.cmp(start, end) < 0 && [start, end].every((lam) => holds(checkProof(model, spans, k, lam)));
}

// The probability of signal i in the states at x, and what a signal tells
const sent = (model, k, x, i) => {
  const c = model.index[x], { joint } = model.pieces[k];
  return c < 0 ? total(joint.map((row) => row[i])) : Q.div(joint[c][i], model.p[c]);
};
function meaning(model, k, i) {
  const { joint, heard } = model.pieces[k], mass = total(joint.map((row) => row[i]));
  demand(Q.cmp(mass, zero) > 0, "a signal that is shown is never sent");
  // the best decisions of an agent at this signal, one list per value that the agent may know; null: it does not occur here
  const best = (agents) => agents.map(({ views, known }) => views.map((view, z) => {
    if (known && Q.cmp(total(joint.map((row, c) => Q.mul(row[i], known[c][z]))), zero) === 0) return null;
    const losses = heard(view)[i], low = least(losses);
    return losses.flatMap((v, d) => (Q.cmp(v, low) === 0 ? [d] : []));
  }));
  const posterior = (x) => (model.index[x] < 0 ? zero : Q.div(Q.mul(Q.div(joint[model.index[x]][i], model.p[model.index[x]]), model.prior[x]), mass));
  return { mass, posterior, bob: best(model.bob), eve: best(model.eve) };
}
// The largest ratio of the probabilities of a signal, null if one of them is zero
function largestRatio(model, k) {
  const { joint } = model.pieces[k];
  let ratio = one;
  for (let i = 0; i < model.B[0].length; i++) {
    const column = joint.map((row, c) => Q.div(row[i], model.p[c])), low = least(column), high = Q.neg(least(column.map(Q.neg)));
    if (Q.cmp(high, zero) === 0) continue;
    if (Q.cmp(low, zero) === 0) return null;
    if (Q.cmp(Q.div(high, low), ratio) > 0) ratio = Q.div(high, low);
  }
  return ratio;
}
