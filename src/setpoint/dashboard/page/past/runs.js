// The texts and the choice of the view of runs. Pure.

import { clock, duration, moment } from "../format.js";

const ENDS = {
  Stopped: "stopped",
  TerminalGone: "terminal gone",
  Signal: "ended by a signal",
  DirectoryDeleted: "its directory was deleted",
  Crashed: "crashed",
};

// Returns the two numbers to compare: those of the query, or else the last ended run and the newest one. The query names
// the current run by its number as well. Numbers that are not in the list are kept: the server names them in an error.
export function chosenRuns(runs, { run = "", other = "" }) {
  const newest = runs[0]?.number ?? 0;
  const ended = runs.find((each) => !each.current && each.number !== newest)?.number ?? newest;
  return { from: Number(run) || ended, to: Number(other) || newest };
}

export const titleOf = (run) => (run.current ? `run ${run.number} (now)` : `run ${run.number}`);

export const endOf = (run) => (run.current ? "running" : (ENDS[run.end] ?? run.end));

// Returns the time of day of the start, with the date if that is not today.
export function startOf(run, now) {
  const isToday = new Date(run.started).toDateString() === new Date(now).toDateString();
  return (isToday ? clock(run.started) : moment(run.started)).split(".")[0];
}

// Returns the duration of a run; empty if the end is unknown.
export function durationOf(run, now) {
  const ended = run.current ? now : Date.parse(run.ended);
  return Number.isNaN(ended) ? "" : duration(Math.max(0, (ended - Date.parse(run.started)) / 1000));
}

// Returns the outcome of a part, such as "Ready in 1.2 s, 2 of 2 ready".
export function outcomeOf(part) {
  if (!part || part.purged) return part ? "purged" : "absent";
  const isReady = ["Ready", "Finished"].includes(part.state) && part.readySeconds !== undefined;
  const words = [isReady ? `${part.state} in ${duration(part.readySeconds)}` : stateOf(part)];
  if ((part.wanted ?? 0) > 1) words.push(`${part.ready ?? 0} of ${part.wanted} ready`);
  if (part.restarts) words.push(part.restarts === 1 ? "1 restart" : `${part.restarts} restarts`);
  if (part.exitCode) words.push(`exit code ${part.exitCode}`);
  return words.join(", ");
}

const stateOf = ({ state, reason }) => (reason ? `${state} (${reason})` : state);

// Returns the sentence about the differences that are counted only; empty without any.
export function foldedText({ times = 0, ports = 0, identities = 0 }) {
  const counted = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
  const found = [
    times && `times, process ids and counts of probes in ${counted(times, "field")}`,
    ports && `allocated ports in ${counted(ports, "field")}`,
    identities && `UIDs and generated names of ${counted(identities, "object")}`,
  ].filter(Boolean);
  return found.length ? `Not shown, because each run has new ones: ${found.join("; ")}.` : "";
}

// Returns the changed fields of an object in the form of the table of changes.
export const fieldsOf = (changes) =>
  changes.map((each) => ({ ...each, noise: false, kind: !("old" in each) ? "added" : !("new" in each) ? "removed" : "changed" }));
