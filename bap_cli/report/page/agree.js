// What the island says besides the proof must follow from the proof, or it is refused: counts, weights, spans, and which label
// belongs to which row. Labels themselves are the words of the problem, and nothing can check them.
const distinct = (list) => new Set(list).size === list.length;

function agree(island, model, stops, starts, [full, nothing]) {
  const { problem, pieces, lambda } = island, count = model.prior.length, empty = model.prior.filter((mass) => Q.cmp(mass, zero) === 0).length;
  demand(island.exact === true && island.partial === false && !island.conditions && island.beliefs === null, "a proof is given where this page cannot check one");
  demand(stops.every(Q.exact), "a λ of the slider is rounded, and so would be its check");
  demand(Array.isArray(problem.states) && problem.states.length <= count && problem.states.every((label) => typeof label === "string"), "the states are not labels");
  const place = (x) => Number.isInteger(x) && x >= 0 && x < count;
  problem.count = count;
  problem.emptyCount = empty;
  if (problem.states.length === count) problem.empty = problem.states.filter((_, x) => Q.cmp(model.prior[x], zero) === 0).slice(0, 6);
  demand(problem.empty.length <= empty, "states of probability zero are none");
  demand(problem.likely.every(([, , x]) => place(x)) && distinct(problem.likely.map(([, , x]) => x)), "a probability belongs to no state");
  problem.likely = problem.likely.map(([label, share, x]) => [problem.states[x] ?? label, share, x]);
  if (problem.likely.length) {
    const few = least(problem.likely.map(([, , x]) => model.prior[x])), shown = new Set(problem.likely.map(([, , x]) => x));
    demand(model.prior.every((mass, x) => shown.has(x) || Q.cmp(mass, few) <= 0), "a more probable state is not shown");
  }
  for (const role of ["bob", "eve"]) {
    const list = problem[`${role}s`];
    demand(Array.isArray(list) && list.length === model[role].length && island.sign[`${role}s`].length === list.length, "there are not as many agents as in the proof");
    list.forEach((agent, k) => {
      const own = model[role][k];
      demand(agent.decisions.length === own.table[0].length && agent.loss.length === problem.states.length && !agent.prior && !agent.harm, "an agent is not the one of the proof");
      demand(own.known ? Array.isArray(agent.views) && agent.views.length === own.views.length : agent.views === null, "what an agent knows is not in the proof");
      agent.weight = list.length > 1 ? Q.both(Q.exactly(island.proof[`${role}s`][k].weight)) : null;
    });
  }
  pieces.forEach((piece, k) => {
    const end = piece.end === null ? null : Q.exactly(piece.end), next = starts[k + 1];
    demand(next === undefined ? end === null || Q.cmp(starts[k], end) < 0 : end !== null && Q.cmp(end, next) === 0 && Q.cmp(starts[k], next) < 0, "the pieces do not follow each other");
  });
  const tie = lambda.calibrated === null ? null : Q.exactly(lambda.calibrated), wanted = Q.exactly(lambda.wanted);
  const [bob, eve] = ["bob", "eve"].map((role) => Q.sub(nothing[role], full[role]));
  demand(tie === null || (Q.cmp(eve, zero) > 0 && Q.cmp(Q.mul(tie, eve), bob) === 0), "λ is stated to be calibrated, but it is not");
  demand(!/calibrated/.test(lambda.choice) || (tie !== null && Q.cmp(tie, wanted) === 0), "λ is stated to be calibrated, but it is not");
  const named = { calibrated: tie === null ? [] : [tie], start: [wanted], change: starts };
  demand(island.marks.every(({ at, kinds }) => stops[at] !== undefined && kinds.every((kind) => named[kind].some((value) => Q.cmp(value, stops[at]) === 0))), "a mark of the slider is at another λ");
}

// What a mechanism does, with the counts and the labels that the checked tables have
function agreedDetail(model, problem, detail, k) {
  const { joint } = model.pieces[k], { index, prior } = model, used = model.B[0].map((_, i) => joint.some((row) => row[i].n !== 0n));
  const { columns } = detail, named = (x, label) => problem.states[x] ?? label, single = index.length <= problem.states.length;
  demand(distinct(columns) && columns.every((i) => used[i]), "a signal that is shown is never sent");
  demand(distinct(detail.cards.map(({ column }) => column)) && detail.cards.length === columns.length && detail.cards.every(({ column }) => columns.includes(column)), "the signals are not those of the mechanism");
  const keys = new Map(), sizes = new Map(), keyOf = (x) => {
    if (!keys.has(index[x])) keys.set(index[x], columns.map((i) => Q.text(sent(model, k, x, i))).join(" "));
    return keys.get(index[x]);
  };
  index.forEach((_, x) => sizes.set(keyOf(x), (sizes.get(keyOf(x)) ?? 0) + 1));
  const rows = detail.rows.map((row) => {
    demand(row.at.length > 0 && distinct(row.at) && row.at.every((x) => Number.isInteger(x) && index[x] !== undefined) && (!single || row.at.length === 1), "a row belongs to no state");
    demand(row.at.every((x) => keyOf(x) === keyOf(row.at[0])), "states of one row send different signals");
    return { ...row, states: row.at.map((x, n) => named(x, row.states[n])), more: single ? 0 : sizes.get(keyOf(row.at[0])) - row.at.length };
  });
  demand(distinct(rows.map(({ at }) => (single ? at[0] : keyOf(at[0])))), "a row is shown twice");
  const cards = detail.cards.map((card) => {
    const may = index.filter((c, x) => c >= 0 && joint[c][card.column].n !== 0n && prior[x].n !== 0n).length, { listed } = card.data;
    demand(distinct(listed.map(([, , , x]) => x)) && listed.every(([, , , x]) => index[x] >= 0 && joint[index[x]][card.column].n !== 0n && prior[x].n !== 0n), "a share belongs to no state");
    return { ...card, data: { listed: listed.map(([label, words, share, x]) => [named(x, label), words, share, x]), others: may - listed.length } };
  });
  return { ...detail, rows, cards, hiddenRows: (single ? index.length : sizes.size) - rows.length, hiddenSignals: used.filter(Boolean).length - columns.length };
}
