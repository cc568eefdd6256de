/** The connection to the server, as the page has seen it last. */
import { computed, signal } from "./view.js";

/** The number of watches that cannot reach the server at the moment. */
const waiting = signal(new Set());
/** The reason of the last request that could not reach the server; empty after one that could. */
const unreachable = signal("");

/** "connected", or "lost". */
export const connection = computed(() => (waiting.value.size || unreachable.value ? "lost" : "connected"));

export function reached() {
  unreachable.value = "";
}

export function failed(reason) {
  unreachable.value = reason;
}

/** Records that a watch, identified by any value, waits for the server or no longer does. */
export function setWaiting(watch, isWaiting) {
  if (waiting.peek().has(watch) === isWaiting) return;
  const changed = new Set(waiting.peek());
  if (isWaiting) changed.add(watch);
  else changed.delete(watch);
  waiting.value = changed;
}
