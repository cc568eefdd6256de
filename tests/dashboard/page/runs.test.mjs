import assert from "node:assert/strict";
import { test } from "node:test";

import { chosenRuns, durationOf, endOf, fieldsOf, foldedText, outcomeOf, startOf } from "../../../src/setpoint/dashboard/page/past/runs.js";

const current = { number: 5, current: true };
const runs = [current, { number: 4, current: false }, { number: 2, current: false }];

test("the last ended run is compared with the current one by default", () => {
  assert.deepEqual(chosenRuns(runs, {}), { from: 4, to: 5 });
  assert.deepEqual(chosenRuns([current], {}), { from: 5, to: 5 });
  assert.deepEqual(chosenRuns(runs.slice(1), {}), { from: 2, to: 4 });
});

test("the address chooses the runs", () => {
  assert.deepEqual(chosenRuns(runs, { run: "2", other: "4" }), { from: 2, to: 4 });
  assert.deepEqual(chosenRuns(runs, { run: "77" }), { from: 77, to: 5 });
  assert.deepEqual(chosenRuns(runs, { run: "none", other: "" }), { from: 4, to: 5 });
});

test("the end and the duration of a run are words", () => {
  assert.deepEqual([current, { end: "Crashed" }, { end: "TerminalGone" }, { end: "Other" }].map(endOf), ["running", "crashed", "terminal gone", "Other"]);
  const run = { started: "2026-01-31T12:00:00Z", ended: "2026-01-31T12:03:20Z" };
  assert.equal(durationOf(run, 0), "3 min");
  assert.equal(durationOf({ ...run, current: true, ended: "" }, Date.parse("2026-01-31T12:00:05Z")), "5 s");
  assert.equal(durationOf({ ...run, ended: "" }, 0), "");
});

test("the start of a run has its date on other days", () => {
  const run = { started: "2026-01-31T12:00:00.250Z" };
  const start = Date.parse(run.started);
  assert.match(startOf(run, start), /^\d\d:\d\d:00$/);
  assert.match(startOf(run, start + 2 * 86400e3), /^2026-\d\d-\d\d \d\d:\d\d:00$/);
});

test("the outcome of a part has its state, time to ready, restarts and exit code", () => {
  const parts = [
    { state: "Ready", reason: "Healthy", readySeconds: 1.234, wanted: 1, ready: 1 },
    { state: "Ready", readySeconds: 0.5, wanted: 2, ready: 1, restarts: 1 },
    { state: "Failed", reason: "Exited", readySeconds: 2, restarts: 3, exitCode: 1 },
    null,
    { purged: true },
  ];
  assert.deepEqual(parts.map(outcomeOf), ["Ready in 1.2 s", "Ready in 500 ms, 1 of 2 ready, 1 restart", "Failed (Exited), 3 restarts, exit code 1", "absent", "purged"]);
});

test("the counted differences are one sentence", () => {
  assert.equal(foldedText({}), "");
  assert.equal(foldedText({ times: 1, identities: 2 }), "Not shown, because each run has new ones: times, process ids and counts of probes in 1 field; UIDs and generated names of 2 objects.");
});

test("changed fields are added, removed or changed", () => {
  const found = fieldsOf([{ path: "a", new: 1 }, { path: "b", old: null }, { path: "c", old: 1, new: 2 }]);
  assert.deepEqual(found.map((each) => each.kind), ["added", "removed", "changed"]);
});
