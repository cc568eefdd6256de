/** The number of error lines of each service since its logs were last seen. */
import { readLines } from "../../stream.js";
import { effect, signal, useEffect } from "../../view.js";
import { session } from "../../session.js";

const GROUP = "/apis/usvc-dev.developer.microsoft.com/v1";
// Older lines are not searched: the server would have to read whole logs for a number on a badge.
const LONGEST_MILLISECONDS = 10 * 60_000;
const BATCH_MILLISECONDS = 300;
const RETRY_MILLISECONDS = 3000;
const LONGEST_RETRY_MILLISECONDS = 60_000;
const MOST_COUNTED = 99;

/** @type {import("../../view.js").Signal<Record<string, number>>} */
export const unread = signal({});
const started = Date.now();
/** The times at which logs were seen, by service. */
let seen = {};
effect(() => {
  if (session.value?.app !== undefined) seen = stored();
});

const key = () => `setpoint-seen-${session.peek()?.app ?? ""}`;

function stored() {
  try {
    return JSON.parse(localStorage.getItem(key()) ?? "{}");
  } catch {
    return {};
  }
}

/** Records that the viewer sees the log of a service now. */
export function markSeen(part) {
  seen = { ...seen, [part]: Date.now() };
  if (unread.peek()[part]) unread.value = { ...unread.peek(), [part]: 0 };
  try {
    localStorage.setItem(key(), JSON.stringify(seen));
  } catch {
    // The times last until the page is closed.
  }
}

const since = (part) => Math.max(seen[part] ?? 0, started - LONGEST_MILLISECONDS);

/** Counts the errors of processes while a component is shown. */
export function useUnread(targets) {
  const logged = targets.filter((target) => !target.terminal);
  useEffect(() => {
    if (!logged.length) return undefined;
    const abort = new AbortController();
    count(logged, abort.signal);
    return () => abort.abort();
  }, [logged.map((target) => target.uid).join()]);
}

async function count(targets, abort) {
  const [first, ...others] = targets;
  const parts = new Map(targets.map((target) => [target.name, target.part]));
  let from = Math.min(...targets.map((target) => since(target.part)));
  let added = {};
  let timer = 0;
  let delay = RETRY_MILLISECONDS;
  const publish = () => {
    const counts = { ...unread.peek() };
    for (const [part, number] of Object.entries(added)) counts[part] = Math.min(MOST_COUNTED, (counts[part] ?? 0) + number);
    unread.value = counts;
    added = {};
    timer = 0;
  };
  abort.addEventListener("abort", () => clearTimeout(timer));
  unread.value = { ...unread.peek(), ...Object.fromEntries(targets.map((target) => [target.part, 0])) };
  while (!abort.aborted) {
    const query = {
      format: "json", fields: "-", level: "error", source: "all", follow: "true", since_time: new Date(from).toISOString(),
      with: others.map((target) => `${target.resource}/${target.name}`),
    };
    await readLines(`${GROUP}/${first.resource}/${encodeURIComponent(first.name)}/log`, { query, signal: abort }, (text) => {
      const line = JSON.parse(text);
      const part = parts.get(line.name);
      const time = Date.parse(line.time);
      if (!part || time <= Math.max(since(part), from)) return;
      added[part] = (added[part] ?? 0) + 1;
      timer ||= setTimeout(publish, BATCH_MILLISECONDS);
    });
    from = Date.now();
    // The stream ends when all processes have ended; then it is opened less and less often.
    if (!abort.aborted) await new Promise((resolve) => setTimeout(resolve, delay));
    delay = Math.min(delay * 2, LONGEST_RETRY_MILLISECONDS);
  }
}
