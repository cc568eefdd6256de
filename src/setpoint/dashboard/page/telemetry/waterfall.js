// The layout of a trace: its spans as rows, parents before their children, and bars in fractions of the whole. Pure.
//
// Times of spans are RFC 3339 with up to nanoseconds, or numbers of nanoseconds. A span whose parent is missing is a
// root; spans that name each other as parents are roots as well.

// Returns {rows, start, nanoseconds, services}. A row has the depth, the number of spans below, and `path`: true on the
// path of the spans that ended last, which decided the duration of the trace.
export function waterfallOf(spans, collapsed = new Set()) {
  if (!spans.length) return { rows: [], start: 0n, nanoseconds: 0, services: [] };
  const known = spans.map((span) => ({ span, begin: nanoseconds(span.start), end: nanoseconds(span.end) }));
  const start = known.reduce((least, { begin }) => (begin < least ? begin : least), known[0].begin);
  const last = known.reduce((most, { end }) => (end > most ? end : most), known[0].end);
  const whole = Number(last - start) || 1;
  const tree = treeOf(known);
  const rows = [];
  for (const root of tree.roots) append(rows, root, tree, collapsed);
  const path = latest(tree);
  return {
    start,
    nanoseconds: Number(last - start),
    services: [...new Set(spans.map((span) => span.service))].sort(),
    rows: rows.map(({ node, depth, below, open }) => ({
      span: node.span,
      depth,
      below,
      open,
      path: path.has(node.span.spanId),
      left: Number(node.begin - start) / whole,
      width: Number(node.end - node.begin) / whole,
      nanoseconds: Number(node.end - node.begin),
      error: isError(node.span),
    })),
  };
}

// Returns a time as a bigint of nanoseconds: a number of JavaScript is too small for them.
export function nanoseconds(time) {
  if (typeof time === "bigint") return time;
  if (typeof time === "number" || /^\d+$/.test(time)) return BigInt(time);
  const [, seconds, fraction = "", zone = "Z"] = /^([^.]*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?$/.exec(time) ?? [];
  const milliseconds = Date.parse(`${seconds}${zone}`);
  if (Number.isNaN(milliseconds)) return 0n;
  return BigInt(milliseconds) * 1000000n + BigInt(fraction.padEnd(9, "0").slice(0, 9));
}

// Returns a duration with three digits: 850 ns, 12.3 µs, 4.56 ms, 1.20 s, 2 min 5 s.
export function durationText(value) {
  if (value < 1000) return `${Math.round(value)} ns`;
  for (const [unit, size] of [["µs", 1e3], ["ms", 1e6]]) {
    if (value < size * 999.5) return `${(value / size).toPrecision(3)} ${unit}`;
  }
  const seconds = value / 1e9;
  if (seconds < 60) return `${seconds.toPrecision(3)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export function isError(span) {
  const status = typeof span.status === "object" ? span.status?.code : span.status;
  return ["error", "2", "status_code_error"].includes(String(status ?? "").toLowerCase());
}

function treeOf(known) {
  const byId = new Map(known.map((node) => [node.span.spanId, node]));
  const children = new Map();
  const roots = [];
  for (const node of known) {
    const parent = byId.get(node.span.parentSpanId);
    if (!parent || inCycle(node, byId)) roots.push(node);
    else children.set(parent, [...(children.get(parent) ?? []), node]);
  }
  const order = (a, b) => (a.begin < b.begin ? -1 : a.begin > b.begin ? 1 : 0);
  roots.sort(order);
  for (const nodes of children.values()) nodes.sort(order);
  return { roots, children };
}

function inCycle(node, byId) {
  const seen = new Set();
  for (let each = byId.get(node.span.parentSpanId); each; each = byId.get(each.span.parentSpanId)) {
    if (each === node) return true;
    if (seen.has(each)) return false;
    seen.add(each);
  }
  return false;
}

// Appends a root and the spans below, without recursion: a trace may be deep.
function append(rows, root, { children }, collapsed) {
  const stack = [{ node: root, depth: 0 }];
  while (stack.length) {
    const { node, depth } = stack.pop();
    const nodes = children.get(node) ?? [];
    const open = !collapsed.has(node.span.spanId);
    rows.push({ node, depth, below: nodes.length, open });
    if (open) for (const child of [...nodes].reverse()) stack.push({ node: child, depth: depth + 1 });
  }
}

function latest({ roots, children }) {
  const found = new Set();
  let nodes = roots;
  while (nodes?.length) {
    const last = nodes.reduce((most, node) => (node.end > most.end ? node : most));
    if (found.has(last.span.spanId)) break;
    found.add(last.span.spanId);
    nodes = children.get(last);
  }
  return found;
}
