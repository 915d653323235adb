// Exact numbers: {n, d} with BigInts, d > 0, in lowest terms; floats stay floats and make floats of what they touch.
const Q = {
  of(n, d) {
    if (d < 0n) { n = -n; d = -d; }
    let a = n < 0n ? -n : n, b = d;
    while (b) [a, b] = [b, a % b];
    return a > 1n ? { n: n / a, d: d / a } : { n, d };
  },
  // One spelling per number: "-13/40", "2"; nothing that only looks like one. Floats are JSON numbers.
  exactly(text) {
    const found = typeof text === "string" && text.length < 50000 ? /^(-?(?:0|[1-9][0-9]*))(?:\/([1-9][0-9]*))?$/.exec(text) : null;
    if (!found) throw new Error(`${String(text).slice(0, 60)} is not a number`);
    return Q.of(BigInt(found[1]), BigInt(found[2] ?? 1));
  },
  read(text) {
    if (typeof text !== "number") return Q.exactly(text);
    if (!Number.isFinite(text)) throw new Error(`${text} is not finite`);
    return text;
  },
  // What somebody types: 1/3, 0.25, 2
  typed(text) {
    const fraction = /^\s*(\d{1,60})\s*(?:\/\s*(\d{1,60}))?\s*$/.exec(text);
    if (fraction) {
      const d = BigInt(fraction[2] ?? 1);
      return d ? Q.of(BigInt(fraction[1]), d) : null;
    }
    const decimal = /^\s*(\d{0,40})[.,](\d{1,40})\s*$/.exec(text);
    return decimal ? Q.of(BigInt(decimal[1] + decimal[2]), 10n ** BigInt(decimal[2].length)) : null;
  },
  exact: (a) => typeof a !== "number",
  float(a) {
    if (!Q.exact(a)) return a;
    const bits = (x) => x.toString(16).length * 4;
    const n = a.n < 0n ? -a.n : a.n;
    // 64 significant bits of the quotient are more than a float holds
    const shift = BigInt(Math.max(0, 64 - bits(n) + bits(a.d)));
    const q = (n << shift) / a.d;
    const cut = BigInt(Math.max(0, bits(q) - 64));
    const power = Number(cut - shift), half = Math.trunc(power / 2);
    const size = Number(q >> cut) * 2 ** half * 2 ** (power - half);
    return a.n < 0n ? -size : size;
  },
  add: (a, b) => (Q.exact(a) && Q.exact(b) ? Q.of(a.n * b.d + b.n * a.d, a.d * b.d) : Q.float(a) + Q.float(b)),
  neg: (a) => (Q.exact(a) ? { n: -a.n, d: a.d } : -a),
  sub: (a, b) => Q.add(a, Q.neg(b)),
  mul: (a, b) => (Q.exact(a) && Q.exact(b) ? Q.of(a.n * b.n, a.d * b.d) : Q.float(a) * Q.float(b)),
  div: (a, b) => (Q.exact(a) && Q.exact(b) ? Q.of(a.n * b.d, a.d * b.n) : Q.float(a) / Q.float(b)),
  cmp(a, b) {
    if (!(Q.exact(a) && Q.exact(b))) return Math.sign(Q.float(a) - Q.float(b));
    const left = a.n * b.d, right = b.n * a.d;
    return left < right ? -1 : left > right ? 1 : 0;
  },
  text: (a) => (!Q.exact(a) ? String(a) : a.d === 1n ? String(a.n) : `${a.n}/${a.d}`),
  decimal: (a) => String(Number(Q.float(a).toPrecision(6))).replace("-", "−"),
  // A fraction somebody might still read, else its decimal
  short(a, longest = 24) {
    const text = Q.exact(a) ? Q.text(a) : null;
    return text !== null && text.length <= longest ? text.replace("-", "−") : (Q.exact(a) ? "≈ " : "") + Q.decimal(a);
  },
  // A number next to a bar: a short fraction with three digits, or three digits alone
  brief(a, alone = false) {
    const exact = Q.text(a), digits = String(Number(Q.float(a).toPrecision(3)));
    if (exact === digits) return digits;
    return exact.length <= 9 ? (alone ? exact : `${exact} (${digits})`) : `≈ ${digits}`;
  },
  equation(name, a) {
    const text = Q.both(a);
    return text.startsWith("≈") ? `${name} ${text}` : `${name} = ${text}`;
  },
  both(a) {
    const short = Q.short(a), decimal = Q.decimal(a);
    return short === decimal || short.startsWith("≈") ? short : `${short} (${decimal})`;
  },
};
