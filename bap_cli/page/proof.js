// The proof at lam, re-done here: rho has the marginals, u >= 0 sums to lam, and what rho attains equals what u bounds.
function repliesAt(piece, proof, lam) {
  const start = Q.read(piece.start), end = piece.end === null ? null : Q.read(piece.end);
  const first = proof.u.map((row) => row.map(Q.read)), onward = proof.onward.map((row) => row.map(Q.read));
  const share = end === null ? Q.sub(lam, start) : Q.div(Q.sub(lam, start), Q.sub(end, start));
  return first.map((row, i) => row.map((u, j) =>
    Q.add(u, Q.mul(share, end === null ? onward[i][j] : Q.sub(onward[i][j], u)))));
}

function checkProof(data, index, lam) {
  const zero = Q.read("0"), least = (list) => list.reduce((a, b) => (Q.cmp(b, a) < 0 ? b : a));
  const { p, B, E, groups, pieces } = data.proof, piece = data.pieces[index];
  const prior = p.map(Q.read), bob = B.map((row) => row.map(Q.read)), eve = E.map((row) => row.map(Q.read));
  const u = repliesAt(piece, pieces[index], lam), decisions = bob[0].length;
  const sums = prior.map(() => zero), losses = u.map(() => eve[0].map(() => zero));
  let attained = zero, signs = true;
  for (const [x, i, value] of pieces[index].rho) {
    const mass = Q.read(value);
    signs = signs && Q.cmp(mass, zero) >= 0;
    sums[x] = Q.add(sums[x], mass);
    attained = Q.add(attained, Q.mul(bob[x][i], mass));
    eve[x].forEach((loss, j) => { losses[i][j] = Q.add(losses[i][j], Q.mul(loss, mass)); });
  }
  let hers = zero;
  for (const row of losses) for (const [a, b] of groups) hers = Q.add(hers, least(row.slice(a, b)));
  const told = attained;
  attained = Q.sub(attained, Q.mul(lam, hers));
  let bound = zero;
  prior.forEach((mass, x) => {
    const margins = [];
    for (let i = 0; i < decisions; i++)
      margins.push(eve[x].reduce((sum, loss, j) => Q.sub(sum, Q.mul(u[i][j], loss)), bob[x][i]));
    bound = Q.add(bound, Q.mul(mass, least(margins)));
  });
  const simplex = u.every((row) => row.every((v) => Q.cmp(v, zero) >= 0) &&
    groups.every(([a, b]) => Q.cmp(row.slice(a, b).reduce(Q.add), lam) === 0));
  const risks = Q.cmp(told, Q.read(piece.bob)) === 0 && Q.cmp(hers, Q.read(piece.eve)) === 0;
  return [
    [signs && sums.every((s, x) => Q.cmp(s, prior[x]) === 0), "The mechanism is one: its joint table has the probabilities of the data."],
    [risks, `It attains ${Q.equation("R_B", told)} and ${Q.equation("R_E", hers)}, so ${Q.equation("R_A", attained)}.`],
    [simplex, "Eve’s replies u are admissible: no entry is negative and every signal’s sum to λ."],
    [Q.cmp(attained, bound) === 0, `They prove that no mechanism goes below ${Q.short(bound)}: the value and the bound ${Q.cmp(attained, bound) === 0 ? "are the same number" : "differ"}.`],
  ];
}
