// The IDs of traces in lines of plain output. Pure.

// Words of 32 lower-case hexadecimal digits, also inside of JSON and of W3C's `traceparent`.
const WORDS = /(?<![0-9A-Za-z_])[0-9a-f]{32}(?![0-9A-Za-z_])/g;
const FIELDS = ["trace_id", "traceId", "otelTraceID", "TraceId", "traceid"];
const ANY = /[\da-f]{32}/i;
const IN_FIELD = /^[\da-f]{32}$/i;
const NONE = "0".repeat(32);
// A line with more IDs is no line of a trace.
const MOST = 4;

/** Returns whether a line may name a trace, at the least cost. */
export const mayNameTrace = ({ line = "" }) => ANY.test(line);

/** Returns the IDs that a line may name, those of fields first, in lower case and each once. */
export function traceIdsIn({ line = "", fields = {} }) {
  const named = FIELDS.map((name) => fields?.[name]).filter((value) => typeof value === "string" && IN_FIELD.test(value));
  const found = [...named.map((value) => value.toLowerCase()), ...(line.match(WORDS) ?? [])];
  return [...new Set(found)].filter((id) => id !== NONE).slice(0, MOST);
}
