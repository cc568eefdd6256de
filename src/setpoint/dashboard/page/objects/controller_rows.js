// The rows of controllers: those of the app before those of the control plane, with states and notes. Pure.
import { duration } from "../format.js";

const BAD = new Set(["Failed", "Blocked", "Stopped"]);

// Returns the controllers of the app and those of the control plane, each in the order of the server.
export function groupsOf(items) {
  const app = items.filter((row) => row.module);
  const builtIn = items.filter((row) => !row.module);
  const groups = [{ title: "Of the app", label: "Controllers of the app", rows: app }, { title: "Built in", label: "Built-in controllers", rows: builtIn }];
  return groups.filter(({ rows }) => rows.length);
}

// A controller of the app may have the name of a built-in one.
export const keyOf = (row) => `${row.module ?? ""} ${row.name}`;

export const isBad = (row) => BAD.has(row.state) || Boolean(row.note);

// Returns the state with its note, in one line.
export const stateOf = (row) => [row.state, row.note].filter(Boolean).join(": ");

// Returns a quantile of the latency; a dash before the first reconcile.
export const latencyOf = (row, quantile) => (row.recorded ? duration(row.latencySeconds?.[quantile] ?? 0) : "–");

// Returns a rate with two significant digits.
export const rateOf = (row) => Number((row.reconcilesPerSecond ?? 0).toPrecision(2));
