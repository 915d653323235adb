// The risk-utility map as SVG: U = -R_B to the right, R = -R_E upwards. Labels go to the first free place.
const SVG = "http://www.w3.org/2000/svg";
const COLOURS = Object.fromEntries(["frontier", "edge", "green", "release", "grey", "ink", "paper", "region", "grid", "soft", "good"].map((name) => [name, `var(--c-${name})`]));

function svg(name, attributes, parent) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (parent) parent.append(node);
  return node;
}

function subscripts(words) {
  return words.split(/_([BE])/).map((part, k) => {
    const span = svg("tspan", k ? { dy: k % 2 ? 3 : -3, "font-size": k % 2 ? 9 : 12.5 } : {});
    span.textContent = part;
    return span;
  });
}

function star(x, y, size) {
  const points = [];
  for (let k = 0; k < 10; k++) {
    const r = k % 2 ? size * 0.42 : size, angle = -Math.PI / 2 + (k * Math.PI) / 5;
    points.push(`${(x + r * Math.cos(angle)).toFixed(2)},${(y + r * Math.sin(angle)).toFixed(2)}`);
  }
  return points.join(" ");
}

function roundTicks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(Number((k * step).toPrecision(12)));
  return out;
}

// Liang and Barsky's rule for one line U - lam R = c inside the frame
function levelEnds(lam, c, [x0, y0, x1, y1]) {
  if (lam === 0) return c >= x0 && c <= x1 ? [[c, y0], [c, y1]] : null;
  const low = Math.max(x0, c + lam * y0), high = Math.min(x1, c + lam * y1);
  return low < high ? [[low, (low - c) / lam], [high, (high - c) / lam]] : null;
}

// state: full, null, corner, best {bob, eve}; region, frontier [[bob, eve]]; releases [{name, bob, eve}]; lam; all floats
function drawMap(host, state) {
  const width = Math.max(280, Math.min(host.clientWidth || 640, 860)), height = Math.round(Math.max(330, width * 0.66));
  const edge = { left: 58, right: 14, top: 12, bottom: 46 };
  const at = (risk) => [-risk.bob, -risk.eve];
  const [fx, fy] = at(state.full), [nx, ny] = at(state.null);
  const [cx, cy] = at(state.corner); // with agents who act on beliefs of their own, full and null are no extremes
  const us = [fx, nx, cx, ...state.frontier.map(([b]) => -b)], rs = [fy, ny, cy, ...state.frontier.map(([, e]) => -e)];
  const low = [Math.min(...us), Math.min(...rs)], high = [Math.max(...us), Math.max(...rs)];
  const padX = 0.14 * (high[0] - low[0]) || 0.5, padY = 0.14 * (high[1] - low[1]) || 0.5;
  const frame = [low[0] - padX, low[1] - padY, high[0] + padX, high[1] + padY];
  const X = (u) => edge.left + ((u - frame[0]) / (frame[2] - frame[0])) * (width - edge.left - edge.right);
  const Y = (r) => height - edge.bottom - ((r - frame[1]) / (frame[3] - frame[1])) * (height - edge.top - edge.bottom);
  const path = (points) => points.map(([u, r]) => `${X(u).toFixed(2)},${Y(r).toFixed(2)}`).join(" ");
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "font-size": 12.5, "font-family": "inherit" });
  root.setAttribute("aria-label", state.words);
  host.replaceChildren(root);
  const inked = [];
  const line = (points, attributes) => {
    svg("polyline", { points: path(points), fill: "none", ...attributes }, root);
    for (let k = 1; k < points.length; k++) for (let t = 0; t <= 60; t++) {
      const mix = (a, b) => a + ((b - a) * t) / 60;
      inked.push([mix(X(points[k - 1][0]), X(points[k][0])), mix(Y(points[k - 1][1]), Y(points[k][1]))]);
    }
  };
  for (const u of roundTicks(frame[0], frame[2], width < 420 ? 4 : 6)) {
    svg("line", { x1: X(u), x2: X(u), y1: edge.top, y2: height - edge.bottom, stroke: COLOURS.grid }, root);
    svg("text", { x: X(u), y: height - edge.bottom + 16, "text-anchor": "middle", fill: COLOURS.soft }, root).textContent = Q.decimal(u);
  }
  for (const r of roundTicks(frame[1], frame[3], 5)) {
    svg("line", { x1: edge.left, x2: width - edge.right, y1: Y(r), y2: Y(r), stroke: COLOURS.grid }, root);
    svg("text", { x: edge.left - 6, y: Y(r) + 4, "text-anchor": "end", fill: COLOURS.soft }, root).textContent = Q.decimal(r);
  }
  svg("text", { x: (edge.left + width - edge.right) / 2, y: height - 8, "text-anchor": "middle", fill: COLOURS.ink }, root).append(
    ...subscripts("utility  U = −R_B   (better for Bob →)"));
  const side = svg("text", { transform: `translate(13 ${(height - edge.bottom + edge.top) / 2}) rotate(-90)`, "text-anchor": "middle", fill: COLOURS.ink }, root);
  side.append(...subscripts("disclosure risk  R = −R_E   (better for Eve →)"));
  if (state.region.length > 2)
    svg("polygon", { points: path(state.region.map(([b, e]) => [-b, -e])), fill: COLOURS.region, stroke: COLOURS.edge }, root);
  line([[fx, fy], [nx, ny]], { stroke: COLOURS.grey, "stroke-width": 1.8 });
  if (cx === fx && cy === ny) for (const end of [[fx, fy], [nx, ny]]) line([end, [cx, cy]], { stroke: COLOURS.grey, "stroke-dasharray": "1.5 3" });
  const frontier = state.frontier.map(([b, e]) => [-b, -e]);
  line(frontier, { stroke: COLOURS.frontier, "stroke-width": 3.2, "stroke-linejoin": "round" });
  if (frontier.length < 60) for (const [u, r] of frontier) svg("circle", { cx: X(u), cy: Y(r), r: 3.6, fill: COLOURS.frontier }, root);
  const [bx, by] = at(state.best);
  const level = levelEnds(state.lam, bx - state.lam * by, frame);
  if (level) line(level, { stroke: COLOURS.green, "stroke-width": 1.8, "stroke-dasharray": "8 4", id: "level" });
  svg("circle", { cx: X(cx), cy: Y(cy), r: 5, fill: COLOURS.paper, stroke: COLOURS.ink, "stroke-width": 1.4 }, root);
  for (const release of state.releases) {
    const [u, r] = at(release);
    svg("rect", { x: -4.2, y: -4.2, width: 8.4, height: 8.4, fill: COLOURS.release, stroke: COLOURS.ink, "stroke-width": 0.8, transform: `translate(${X(u)} ${Y(r)}) rotate(45)` }, root);
  }
  for (const [u, r] of [[fx, fy], [nx, ny]]) svg("rect", { x: X(u) - 4.5, y: Y(r) - 4.5, width: 9, height: 9, fill: COLOURS.ink }, root);
  svg("polygon", { points: star(X(bx), Y(by), 12), fill: COLOURS.green, stroke: COLOURS.ink, id: "star" }, root);
  const named = [["optimum", bx, by, true], ["full", fx, fy], ["null", nx, ny], ...state.releases.map((r) => [r.name, ...at(r)]), ["corner", cx, cy]];
  placeLabels(root, shareLabels(named.map(([name, u, r, bold]) => ({ lines: [name], x: X(u), y: Y(r), bold }))), inked,
    [edge.left + 2, edge.top, width - edge.right, height - edge.bottom - 2]);
}

function shareLabels(labels) {
  const out = [];
  for (const label of labels) {
    const same = out.find((other) => Math.hypot(other.x - label.x, other.y - label.y) < 3);
    if (same) same.lines.push(...label.lines);
    else out.push(label);
  }
  return out;
}

function placeLabels(root, labels, inked, [left, top, right, bottom]) {
  const taken = labels.map(({ x, y, bold }) => (bold ? [x - 13, y - 13, x + 13, y + 13] : [x - 8, y - 8, x + 8, y + 8])), placed = [], leaders = [];
  const inside = ([x, y], a) => x > a[0] && x < a[2] && y > a[1] && y < a[3];
  // points of the line from a label to what it names, from outside the marker on
  const leader = (label, area) => {
    const x = Math.min(Math.max(label.x, area[0]), area[2]), y = Math.min(Math.max(label.y, area[1]), area[3]);
    return Array.from({ length: 12 }, (_, k) => [label.x + ((x - label.x) * (k + 1)) / 12, label.y + ((y - label.y) * (k + 1)) / 12]);
  };
  const radii = [9, 14, 20, 28, 40, 56, 76, 100];
  for (const label of labels) {
    const text = svg("text", { fill: label.bold ? COLOURS.good : COLOURS.ink, class: "label" }, root);
    if (label.bold) text.setAttribute("font-weight", "700");
    label.lines.forEach((line, k) => { svg("tspan", { x: 0, dy: k ? 14 : 0 }, text).textContent = line; });
    const box = text.getBBox(), w = box.width, h = box.height;
    let best = null, least = Infinity;
    for (const radius of radii) {
      for (let k = 0; k < 16; k++) {
        const cos = Math.cos((k * Math.PI) / 8), sin = Math.sin((k * Math.PI) / 8);
        const cx = label.x + cos * radius + (Math.sign(Math.round(cos * 1e6)) * w) / 2;
        const cy = label.y + sin * radius + (Math.sign(Math.round(sin * 1e6)) * h) / 2;
        const area = [cx - w / 2 - 1, cy - h / 2 - 1, cx + w / 2 + 1, cy + h / 2 + 1];
        if (area[0] < left || area[1] < top || area[2] > right || area[3] > bottom) continue;
        if (taken.some((t) => area[0] < t[2] && area[2] > t[0] && area[1] < t[3] && area[3] > t[1])) continue;
        if (leaders.some((point) => inside(point, area))) continue;
        if (radius > 26 && leader(label, area).some((point) => placed.some((other) => inside(point, other)))) continue;
        const covered = inked.filter((point) => inside(point, area)).length;
        const cost = covered + radius / 4;
        if (cost < least) { best = { cx, cy, area, radius }; least = cost; }
      }
      if (best && least <= radius / 4) break;
    }
    if (!best) { text.remove(); continue; }
    taken.push(best.area);
    text.setAttribute("transform", `translate(${(best.cx - w / 2 - box.x).toFixed(2)} ${(best.cy - h / 2 - box.y).toFixed(2)})`);
    placed.push(best.area);
    if (best.radius > 26) {
      const points = leader(label, best.area), [x, y] = points.at(-1);
      leaders.push(...points);
      svg("line", { x1: label.x, y1: label.y, x2: x, y2: y, stroke: COLOURS.grey, "stroke-width": 0.8 }, root);
    }
  }
}
