import assert from "node:assert/strict";
import { test } from "node:test";

import { changedObjects, isOfServer } from "../../../src/setpoint/dashboard/page/past/app_difference.js";
import { blameOf, writerOf } from "../../../src/setpoint/dashboard/page/past/blame.js";
import { timelineLayout } from "../../../src/setpoint/dashboard/page/past/critical_path.js";
import { patched } from "../../../src/setpoint/dashboard/page/past/json_patch.js";
import { masked } from "../../../src/setpoint/dashboard/page/past/secret_mask.js";
import { countOf, differenceOf } from "../../../src/setpoint/dashboard/page/past/tree_difference.js";
import { yamlLines } from "../../../src/setpoint/dashboard/page/past/yaml_lines.js";

test("a patch changes a copy", () => {
  const tree = { data: { a: "1" }, list: [1, 2, 3] };
  const now = patched(tree, [
    { op: "replace", path: "/data/a", value: "2" },
    { op: "add", path: "/data/a~1b~0c", value: "3" },
    { op: "remove", path: "/list/1" },
    { op: "add", path: "/list/-", value: 4 },
    { op: "add", path: "/list/0", value: 0 },
    { op: "copy", from: "/data/a", path: "/copied" },
    { op: "move", from: "/copied", path: "/moved" },
  ]);
  assert.deepEqual(now, { data: { a: "2", "a/b~c": "3" }, list: [0, 1, 3, 4], moved: "2" });
  assert.deepEqual(tree, { data: { a: "1" }, list: [1, 2, 3] });
});

test("a patch of the whole object creates and removes the object", () => {
  assert.deepEqual(patched(null, [{ op: "add", path: "", value: { a: 1 } }]), { a: 1 });
  assert.equal(patched({ a: 1 }, [{ op: "remove", path: "" }]), null);
});

test("a patch of a missing field names the field", () => {
  assert.throws(() => patched({}, [{ op: "add", path: "/spec/a", value: 1 }]), /names a/);
});

test("the difference names fields and named items", () => {
  const old = { spec: { replicas: 1, ports: [{ name: "a", port: 1 }, { name: "b", port: 2 }] } };
  const now = { spec: { replicas: 2, ports: [{ name: "b", port: 2 }, { name: "a", port: 3 }], paused: true } };
  assert.deepEqual(
    differenceOf(old, now).map(({ path, kind, old: before, new: after }) => [path, kind, before, after]),
    [
      ["spec.paused", "added", undefined, true],
      ["spec.ports[a].port", "changed", 1, 3],
      ["spec.replicas", "changed", 1, 2],
    ],
  );
});

test("records of every write are no difference, and times are noise", () => {
  const old = { metadata: { resourceVersion: "1", managedFields: [] }, status: { lastProbeTime: "a" } };
  const now = { metadata: { resourceVersion: "2" }, status: { lastProbeTime: "b", state: "Running" } };
  const found = differenceOf(old, now);
  assert.deepEqual(found.map((change) => change.path), ["status.state", "status.lastProbeTime"]);
  assert.equal(countOf(found), 1);
});

test("an object that exists on one side only has all of its fields added or removed", () => {
  const tree = { spec: { a: 1, list: [{ name: "x", b: 2 }] } };
  assert.deepEqual(differenceOf(null, tree).map((change) => change.path), ["spec.a", "spec.list[x].b", "spec.list[x].name"]);
  assert.ok(differenceOf(tree, null).every((change) => change.kind === "removed"));
  assert.deepEqual(differenceOf(tree, structuredClone(tree)), []);
});

test("lines of YAML have the path of their field", () => {
  const lines = yamlLines({ metadata: { managedFields: [1] }, spec: { "a.b": "on", list: [{ name: "x", v: 1 }], text: "1\n2\n" } });
  assert.deepEqual(lines.map((line) => line.text), [
    "metadata: {}", "spec:", "  a.b: \"on\"", "  list:", "  - name: x", "    v: 1", "  text: |", "    1", "    2",
  ]);
  assert.equal(lines[2].path, "spec[a.b]");
  assert.equal(lines[5].path, "spec.list[x].v");
  assert.ok(lines[1].holds);
});

test("strings that a reader would take for other values are quoted", () => {
  const texts = ["true", "1", "", "null", "- a", "a: b", "a #b", "plain text", "{a}", "~", "0x1", "é"];
  const lines = yamlLines({ list: texts }).slice(1).map((line) => line.text.slice(2));
  assert.deepEqual(lines.filter((line) => !line.startsWith('"')), ["plain text"]);
});

const HISTORY = [
  { revision: "9", actor: { user: "me", fieldManager: "kubectl" }, patch: [{ op: "replace", path: "/spec/a", value: 2 }] },
  { revision: "7", actor: { user: "c" }, cause: { controller: "web", verified: true }, patch: [{ op: "add", path: "/status", value: { s: "ok" } }] },
  { revision: "5", actor: { user: "you" }, patch: [{ op: "add", path: "", value: { spec: { a: 1, b: 1 } } }] },
];

test("every field has the last write that changed its value", () => {
  const lines = new Map(blameOf(HISTORY).map((line) => [line.path, line.item?.revision]));
  assert.deepEqual(Object.fromEntries(lines), { spec: undefined, "spec.a": "9", "spec.b": "5", status: undefined, "status.s": "7" });
  assert.deepEqual(HISTORY.map(writerOf), ["kubectl", "web", "you"]);
});

test("an item that moves within its list keeps its writer", () => {
  const items = [
    { revision: "2", patch: [{ op: "add", path: "/l/0", value: { name: "n", v: 2 } }] },
    { revision: "1", patch: [{ op: "add", path: "", value: { l: [{ name: "o", v: 1 }] } }] },
  ];
  const found = new Map(blameOf(items).map((line) => [line.path, line.item?.revision]));
  assert.equal(found.get("l[o].v"), "1");
  assert.equal(found.get("l[n].v"), "2");
});

test("a cut history leaves the fields of its base without a writer", () => {
  const [line] = blameOf([], { a: 1 });
  assert.equal(line.item, null);
  assert.equal(writerOf(line.item), "");
});

test("a cause that a user claims is shown as a claim", () => {
  assert.equal(writerOf({ cause: { controller: "web", claimedBy: "alice" } }), "alice (claimed: web)");
});

test("values of secrets and of variables with telling names are masked", () => {
  const secret = masked({ kind: "Secret", data: { k: "djE=" }, metadata: { name: "s" } });
  assert.deepEqual(secret.data, { k: "***" });
  assert.equal(secret.metadata.name, "s");
  const pod = masked({ kind: "Pod", spec: { env: [{ name: "DB_PASSWORD", value: "x" }, { name: "HOST", value: "http://u:p@h" }] } });
  assert.deepEqual(pod.spec.env.map((each) => each.value), ["***", "http://u:***@h"]);
});

const write = (revision, type, name) => ({ revision: String(revision), type, object: { kind: "A", resource: "as", name }, actor: { user: "me" } });

test("the app's difference has each object once, with the sum of its writes", () => {
  const found = changedObjects([write(1, "ADDED", "new"), write(2, "MODIFIED", "old"), write(3, "MODIFIED", "new"), write(4, "ADDED", "short"), write(5, "DELETED", "short"), write(6, "DELETED", "gone")]);
  assert.deepEqual(found.map((each) => [each.key, each.kind, each.writes]), [
    ["as/gone", "removed", 1], ["as/new", "added", 2], ["as/old", "changed", 1], ["as/short", "passed", 2],
  ]);
  assert.deepEqual(found[1].actors, ["me"]);
  assert.deepEqual([{ actors: ["kube-apiserver"] }, { actors: ["kube-apiserver", "me"] }].map(isOfServer), [true, false]);
});

const at = (seconds) => new Date(1e12 + seconds * 1000).toISOString();

test("the timeline has a row for each object and marks the critical path", () => {
  const items = [
    { object: { kind: "E", name: "web" }, state: "Waiting", from: at(0), to: at(6), waitsFor: ["E/db"] },
    { object: { kind: "E", name: "db" }, state: "Progressing", from: at(0), to: at(5) },
    { object: { kind: "E", name: "db" }, state: "Ready", from: at(5) },
    { object: { kind: "E", name: "web" }, state: "Ready", from: at(6) },
    { object: { kind: "E", name: "other" }, state: "Ready", from: at(1) },
  ];
  const layout = timelineLayout({ items, criticalPath: [{ object: "E/db", from: at(0), to: at(5) }, { object: "E/web", from: at(5), to: at(6) }] }, 1e12 + 10000);
  assert.deepEqual(layout.rows.map((row) => [row.name, row.critical, row.bars.length]), [["E/web", true, 2], ["E/db", true, 2], ["E/other", false, 1]]);
  const db = layout.rows[1];
  assert.deepEqual(db.bars.map((bar) => [bar.left, bar.width, bar.critical]), [[0, 0.5, true], [0.5, 0.5, false]]);
  assert.deepEqual(layout.links, [{ from: 1, to: 0, at: 0.5 }]);
  assert.deepEqual(timelineLayout({}, 5).rows, []);
});
