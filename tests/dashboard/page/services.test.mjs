import assert from "node:assert/strict";
import { test } from "node:test";
import { layout } from "../../../src/setpoint/dashboard/page/pages/start/layered_layout.js";
import { referencesOf, referrersOf } from "../../../src/setpoint/dashboard/page/pages/service/references.js";

const nodes = (...names) => names.map((id) => ({ id }));

test("every part is to the right of the parts that it depends on", () => {
  const edges = [["db", "migrate"], ["migrate", "api"], ["db", "api"], ["api", "web"]].map(([from, to]) => ({ from, to }));
  const { places } = layout(nodes("web", "api", "migrate", "db"), edges);
  for (const { from, to } of edges) assert.ok(places.get(from).x < places.get(to).x, `${from} ${to}`);
});

test("parts never overlap, and a cycle has a layout too", () => {
  const edges = [["a", "b"], ["b", "c"], ["c", "a"], ["a", "d"], ["a", "e"]].map(([from, to]) => ({ from, to }));
  const { places } = layout(nodes("a", "b", "c", "d", "e"), edges);
  assert.equal(new Set([...places.values()].map(({ x, y }) => `${x} ${y}`)).size, 5);
});

const api = {
  kind: "Executable",
  metadata: { name: "api", uid: "1" },
  spec: {
    dependsOn: [{ kind: "Task", name: "migrate", condition: "Succeeded" }],
    serves: [{ service: "api-http" }],
    env: [{ name: "DB", value: '{{ hostFor "db-main" }}:{{ portFor "db-main" }}' }, { name: "PASSWORD", value: '{{ secret "shop" "password" }}' }],
  },
};
const web = { kind: "Executable", metadata: { name: "web", uid: "2", ownerReferences: [{ kind: "ExecutableReplicaSet", name: "set" }] }, spec: { args: ['{{ urlFor "api-http" }}'] } };

test("references are the dependencies, addresses, secrets and services of an object", () => {
  assert.deepEqual(referencesOf(api), [
    { kind: "Task", name: "migrate", how: "waits until Succeeded" },
    { kind: "Service", name: "api-http", how: "serves" },
    { kind: "Service", name: "db-main", how: "address in spec.env[DB]" },
    { kind: "Secret", name: "shop", how: "password in spec.env[PASSWORD]" },
  ]);
});

test("an object is referred to by its services and by its name", () => {
  assert.deepEqual(referrersOf(api, [api, web]), [{ kind: "Executable", name: "web", how: "address in spec.args[0] (api-http)" }]);
  const set = { kind: "ExecutableReplicaSet", metadata: { name: "set", uid: "3" }, spec: {} };
  assert.deepEqual(referrersOf(set, [api, web]), [{ kind: "Executable", name: "web", how: "is owned by" }]);
});
