// The layout of a timeline: a row for each object, a bar for each state, and the critical path. Pure.

// Returns rows with bars in fractions of the whole time, and the links of the critical path between bars.
// `items` are {object, state, from, to, waitsFor}, with times in RFC 3339; an item without `to` lasts until `now`.
// `criticalPath` are names of objects, or {object, from, to}, in the order of time.
export function timelineLayout({ items = [], criticalPath = [] }, now) {
  const spans = items.map((item) => ({ ...item, start: Date.parse(item.from), end: endOf(item, now) }));
  const first = Math.min(...spans.map((span) => span.start));
  const last = Math.max(...spans.map((span) => span.end));
  if (!spans.length) return { rows: [], first: now, last: now, links: [] };
  const whole = last - first || 1;
  const critical = criticalPath.map((step) => ({ name: nameOf(step.object ?? step), ...step }));
  const names = new Set(critical.map((step) => step.name));
  const rows = new Map();
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const name = nameOf(span.object);
    const row = rows.get(name) ?? { name, object: span.object, critical: names.has(name), bars: [] };
    row.bars.push({
      state: span.state,
      left: (span.start - first) / whole,
      width: Math.max(0, span.end - span.start) / whole,
      milliseconds: span.end - span.start,
      waitsFor: (span.waitsFor ?? []).map(nameOf),
      critical: critical.some((step) => step.name === name && covers(step, span)),
    });
    rows.set(name, row);
  }
  const places = new Map([...rows.keys()].map((name, place) => [name, place]));
  const path = critical.map((step) => step.name).filter((name, place, all) => name !== all[place - 1]);
  return { rows: [...rows.values()], first, last, links: linksOf(path, rows, places) };
}

export function nameOf(object) {
  if (typeof object === "string") return object;
  const kind = object.kind || object.resource || "";
  return kind ? `${kind}/${object.name}` : object.name;
}

function endOf(item, now) {
  return item.to ? Date.parse(item.to) : now;
}

// A step without times covers the whole row.
function covers(step, span) {
  if (!step.from) return true;
  return span.start < Date.parse(step.to ?? step.from) && span.end > Date.parse(step.from);
}

function linksOf(path, rows, places) {
  const links = [];
  for (let place = 1; place < path.length; place += 1) {
    const [before, after] = [rows.get(path[place - 1]), rows.get(path[place])];
    if (before && after) {
      const at = readyAt(before);
      links.push({ from: places.get(before.name), to: places.get(after.name), at });
    }
  }
  return links;
}

// Returns the moment at which an object became ready; otherwise the end of its first state.
function readyAt(row) {
  const ready = row.bars.find((bar) => ["Ready", "Finished"].includes(bar.state));
  return ready ? ready.left : row.bars[0].left + row.bars[0].width;
}
