import assert from "node:assert/strict";
import { test } from "node:test";

import { groupsOf as controllerGroups, isBad, keyOf, latencyOf, rateOf, stateOf } from "../../../src/setpoint/dashboard/page/objects/controller_rows.js";
import { groupsOf, kindNamed, kindOfObject, pathOf, resourceName } from "../../../src/setpoint/dashboard/page/objects/kinds.js";
import { Dependents, ownersOf } from "../../../src/setpoint/dashboard/page/objects/relations.js";
import { machineOf } from "../../../src/setpoint/dashboard/page/objects/state_machine.js";
import { TableRows, orderedRows, shownColumns } from "../../../src/setpoint/dashboard/page/objects/table_rows.js";

const resource = (name, kind, scope = "Namespaced", verbs = ["list", "watch"]) => ({ resource: name, responseKind: { kind }, scope, verbs });
const CORE = { items: [{ versions: [{ version: "v1", resources: [resource("pods", "Pod"), resource("bindings", "Binding", "Namespaced", ["create"]), resource("nodes", "Node", "Cluster")] }] }] };
const OTHERS = {
  items: [
    { metadata: { name: "apps" }, versions: [{ version: "v2", resources: [resource("deployments", "Deployment")] }, { version: "v1", resources: [resource("deployments", "Deployment"), resource("daemonsets", "DaemonSet")] }] },
    { metadata: { name: "authentication.k8s.io" }, versions: [{ version: "v1", resources: [resource("tokenreviews", "TokenReview", "Cluster", ["create"])] }] },
  ],
};

test("kinds are grouped, each once in the preferred version, without those that cannot be listed", () => {
  const groups = groupsOf(CORE, OTHERS);
  assert.deepEqual(groups.map(({ group, kinds }) => [group, kinds.map((kind) => `${kind.version} ${kind.kind}`)]), [["", ["v1 Node", "v1 Pod"]], ["apps", ["v1 DaemonSet", "v2 Deployment"]]]);
});

test("a kind is found by resource and by the object's kind, and has paths", () => {
  const groups = groupsOf(CORE, OTHERS);
  const deployments = kindNamed(groups, "deployments.apps");
  assert.equal(resourceName(deployments), "deployments.apps");
  assert.equal(kindOfObject(groups, "apps/v1", "Deployment"), deployments);
  assert.equal(kindOfObject(groups, "v1", "Gone"), null);
  assert.equal(kindNamed(groups, "gone"), null);
  assert.equal(pathOf(deployments, "a b", "c"), "/apis/apps/v2/namespaces/a%20b/deployments/c");
  assert.equal(pathOf(deployments), "/apis/apps/v2/deployments");
  assert.equal(pathOf(kindNamed(groups, "nodes"), "ignored", "n"), "/api/v1/nodes/n");
});

const row = (name, ...cells) => ({ cells: [name, ...cells], object: { metadata: { name, namespace: "n", uid: name, labels: { a: "b" } } } });

test("events of a watch add, replace and delete rows", () => {
  const table = new TableRows();
  table.addPage({ columnDefinitions: [{ name: "Name" }], metadata: { resourceVersion: "5" }, rows: [row("a", 1), row("b", 1)] });
  assert.ok(table.apply({ type: "MODIFIED", object: { metadata: {}, rows: [row("a", 2)] } }));
  assert.ok(table.apply({ type: "DELETED", object: { rows: [row("b", 1)] } }));
  assert.ok(table.apply({ type: "ADDED", object: { rows: [row("c", 1)] } }));
  assert.ok(table.apply({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } }));
  assert.deepEqual([...table.rows.values()].map(({ name, cells }) => [name, cells[1]]), [["a", 2], ["c", 1]]);
  assert.equal(table.resourceVersion, "9");
  assert.equal(table.apply({ type: "ERROR", object: { code: 410 } }), false);
  assert.equal(table.columns.length, 1);
});

test("ten thousand rows keep only cells and identity", () => {
  const table = new TableRows();
  table.addPage({ rows: Array.from({ length: 10000 }, (_, place) => row(`pod-${place}`, place)) });
  assert.equal(table.rows.size, 10000);
  assert.deepEqual(Object.keys(table.rows.get("n/pod-7")), ["key", "name", "namespace", "uid", "cells"]);
});

test("rows are in the order of the server, of numbers within names, of ages, or of numbers", () => {
  const rows = [["pod-10", "2h", 3], ["pod-2", "5m", 20], ["pod-1", "3d4h", 1]].map(([name, age, count]) => ({ key: `n/${name}`, name, cells: [name, age, count] }));
  const names = (order) => orderedRows(rows, order).map((each) => each.name);
  assert.deepEqual(names({}), ["pod-1", "pod-10", "pod-2"]);
  assert.deepEqual(names({ column: 0 }), ["pod-1", "pod-2", "pod-10"]);
  assert.deepEqual(names({ column: 1 }), ["pod-2", "pod-10", "pod-1"]);
  assert.deepEqual(names({ column: 2, descending: true }), ["pod-2", "pod-10", "pod-1"]);
  assert.deepEqual(names({ text: "2H" }), ["pod-10"]);
});

test("wide columns are shown only on request", () => {
  const columns = [{ name: "A", priority: 0 }, { name: "B", priority: 1 }, { name: "C" }];
  assert.deepEqual(shownColumns(columns, false).map((column) => [column.name, column.place]), [["A", 0], ["C", 2]]);
  assert.equal(shownColumns(columns, true).length, 3);
});

test("the current state is the first one that did not pass", () => {
  const status = (type, value, reason) => ({ type, status: value, reason });
  const machine = machineOf({ status: { conditions: [status("Ready", "False"), status("KeyIssued", "True"), status("Provisioned", "False", "Ordered"), status("ChildrenReady", "Unknown")] } });
  assert.deepEqual(machine.states.map((state) => [state.type, state.current]), [["KeyIssued", false], ["Provisioned", true], ["ChildrenReady", false]]);
  assert.equal(machine.ready.status, "False");
  assert.equal(machine.suspended, false);
  assert.equal(machineOf({ status: {} }), null);
});

const dependent = (uid, ...owners) => ({ kind: "Pod", metadata: { uid, name: uid, ownerReferences: owners.map((owner) => ({ uid: owner })) } });

test("dependents form a tree, also with two owners or a cycle", () => {
  const found = new Dependents("root");
  for (const object of [dependent("b", "a"), dependent("a", "root"), dependent("c", "root", "a"), dependent("x", "y"), dependent("a2", "c", "a2")]) found.apply({ type: "ADDED", object });
  assert.deepEqual(found.rows().map(({ object, depth }) => [object.metadata.uid, depth]), [["a", 0], ["b", 1], ["c", 1], ["a2", 2]]);
  found.apply({ type: "DELETED", object: dependent("b") });
  found.apply({ type: "BOOKMARK", object: {} });
  assert.equal(found.rows().length, 3);
  assert.ok(found.complete);
});

test("owners are read from the metadata", () => {
  assert.deepEqual(ownersOf({ metadata: { ownerReferences: [{ apiVersion: "v1", kind: "A", name: "n", uid: "u" }] } }), [{ apiVersion: "v1", kind: "A", name: "n", uid: "u", controller: false }]);
  assert.deepEqual(ownersOf({}), []);
});

test("controllers of the app come before the built-in ones, with states and notes in one line", () => {
  const builtIn = { name: "shop", module: "", state: "Running", note: "", reconcilesPerSecond: 0.12345 };
  const own = { name: "shop", module: "shop.py", state: "Failed", note: "shop.py:3: NameError" };
  assert.deepEqual(controllerGroups([own, builtIn]).map(({ label, rows }) => [label, rows]), [["Controllers of the app", [own]], ["Built-in controllers", [builtIn]]]);
  assert.deepEqual(controllerGroups([builtIn]).map(({ title }) => title), ["Built in"]);
  assert.deepEqual(controllerGroups([]), []);
  assert.notEqual(keyOf(own), keyOf(builtIn));
  assert.deepEqual([stateOf(own), isBad(own), isBad(builtIn), rateOf(builtIn), rateOf(own)], ["Failed: shop.py:3: NameError", true, false, 0.12, 0]);
  assert.deepEqual([latencyOf(own, "p50"), latencyOf({ recorded: 2, latencySeconds: { p50: 0.002 } }, "p50")], ["–", "2 ms"]);
});
