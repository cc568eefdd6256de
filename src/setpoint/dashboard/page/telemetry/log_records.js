// The view of structured log records: level, message, fields and links to traces. Pure.

const LEVELS = [["FATAL", 21], ["ERROR", 17], ["WARN", 13], ["INFO", 9], ["DEBUG", 5], ["TRACE", 1]];

// Returns a level by the name or the number (1 to 24) of a severity of OpenTelemetry; "" if unknown.
export function levelOf(severity) {
  if (typeof severity === "number") return LEVELS.find(([, least]) => severity >= least)?.[0] ?? "";
  const name = String(severity ?? "").toUpperCase();
  if (/^(WARNING|WARN)/.test(name)) return "WARN";
  if (/^(CRITICAL|PANIC|EMERG|ALERT|FATAL)/.test(name)) return "FATAL";
  return LEVELS.find(([level]) => name.startsWith(level))?.[0] ?? "";
}

// Returns a record with its level, its message and its fields as pairs, nested ones with dots in their names.
export function recordView(item) {
  const isText = typeof item.body === "string";
  const fields = [...(isText ? [] : pairs(item.body)), ...pairs(item.attributes)];
  const message = isText ? item.body : String(item.body?.message ?? item.body?.msg ?? "");
  return { ...item, level: levelOf(item.severity), message, fields };
}

// Returns the fields of a tree as [name, text], in its order.
export function pairs(tree, path = "") {
  if (tree === undefined || (tree === null && !path)) return [];
  if (tree === null || typeof tree !== "object") return [[path || "value", String(tree)]];
  if (Array.isArray(tree)) return [[path, JSON.stringify(tree)]];
  return Object.entries(tree).flatMap(([key, value]) => pairs(value, path ? `${path}.${key}` : key));
}

// Returns the filters with a field added, or removed if they contained the field with that value.
export function withField(filters, name, value) {
  const same = filters.some((each) => each.name === name && each.value === value);
  const others = filters.filter((each) => each.name !== name || each.value !== value);
  return same ? others : [...others, { name, value }];
}

export function matches(view, filters) {
  return filters.every(({ name, value }) => view.fields.some(([own, text]) => own === name && text === value));
}

// Returns the new records together with those known, newest first, at most `most` of them and each once.
export function merged(known, added, most) {
  const seen = new Set(known.map(identity));
  const fresh = added.filter((item) => !seen.has(identity(item)));
  return [...fresh, ...known].sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0)).slice(0, most);
}

function identity(item) {
  return item.id ?? `${item.time} ${item.service} ${item.spanId ?? ""} ${JSON.stringify(item.body)}`;
}
