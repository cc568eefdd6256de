/** Lines of merged logs as the server returns them: the request, its lines, and a key for each. */
import { send } from "../api.js";

const GROUP = "/apis/usvc-dev.developer.microsoft.com/v1";
const ESCAPES = /\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g;

/** @typedef {{time: string, name: string, source: string, attempt: number, level: string, message: string, fields: object, line: string, key: string}} LogLine */

/** Returns the path and the query of the merged logs of processes. */
export function requestOf([first, ...others]) {
  const path = `${GROUP}/${first.resource}/${encodeURIComponent(first.name)}/log`;
  return { path, query: { format: "json", source: "all", with: others.map((each) => `${each.resource}/${each.name}`) } };
}

/** @returns {Promise<LogLine[]>} the lines of a request */
export async function readLog(path, query, signal) {
  const response = await send(path, { query, at: "live", signal });
  return numbered((await response.text()).split("\n").filter(Boolean).map(parsed));
}

/** Returns a line of the server without the escape sequences of terminals. */
export function parsed(text) {
  try {
    const line = JSON.parse(text);
    return { ...line, message: (line.message || line.line || "").replace(ESCAPES, "") };
  } catch {
    return { time: "", name: "", source: "", attempt: 1, level: "", message: text, fields: {}, line: text };
  }
}

/** Gives each line a key that is the same in every answer with all lines of its moment. */
function numbered(lines) {
  const repeats = new Map();
  for (const line of lines) line.key = keyOf(line, repeats);
  return lines;
}

export function keyOf(line, repeats) {
  const base = `${line.time} ${line.name} ${line.source} ${line.line}`;
  const count = repeats.get(base) ?? 0;
  repeats.set(base, count + 1);
  return count ? `${base} ${count}` : base;
}
