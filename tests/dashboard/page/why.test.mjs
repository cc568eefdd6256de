import assert from "node:assert/strict";
import { test } from "node:test";

import { factsOf, firstOrigin, subtitleOf } from "../../../src/setpoint/dashboard/page/why/causes.js";
import { layoutOf, neighbour } from "../../../src/setpoint/dashboard/page/why/graph_layout.js";

const DIAMOND = {
  symptom: "crash",
  nodes: ["file", "write", "config", "crash"].map((id) => ({ id })),
  edges: [
    { from: "file", to: "write" },
    { from: "file", to: "config" },
    { from: "write", to: "crash" },
    { from: "config", to: "crash" },
  ],
};

const placeOf = (layout, id) => layout.nodes.find((node) => node.id === id);

test("the symptom is on top and every cause is below its effects", () => {
  const layout = layoutOf(DIAMOND);
  assert.deepEqual(layout.layers.map((layer) => layer.length), [1, 2, 1]);
  assert.deepEqual(layout.layers[0], ["crash"]);
  for (const { from, to } of DIAMOND.edges) assert.ok(placeOf(layout, from).y > placeOf(layout, to).y);
});

test("a cause with a direct and an indirect way is below the indirect one", () => {
  const edges = [...DIAMOND.edges, { from: "file", to: "crash" }];
  assert.equal(placeOf(layoutOf({ ...DIAMOND, edges }), "file").layer, 2);
});

test("nodes of a layer do not overlap and stay inside the drawing", () => {
  const nodes = Array.from({ length: 9 }, (_, place) => ({ id: `n${place}` }));
  const edges = nodes.slice(1).map(({ id }) => ({ from: id, to: "n0" }));
  const layout = layoutOf({ nodes, edges, symptom: "n0" });
  const row = layout.nodes.filter((node) => node.layer === 1).sort((a, b) => a.x - b.x);
  row.slice(1).forEach((node, place) => assert.ok(node.x >= row[place].x + layout.box.width));
  assert.ok(row[0].x >= 0 && row.at(-1).x + layout.box.width <= layout.width);
});

test("edges cross less after the layers are ordered", () => {
  const nodes = ["s", "a", "b", "x", "y"].map((id) => ({ id }));
  const edges = [["a", "s"], ["b", "s"], ["x", "b"], ["y", "a"]].map(([from, to]) => ({ from, to }));
  const layout = layoutOf({ nodes, edges, symptom: "s" });
  const left = (id) => placeOf(layout, id).x;
  assert.equal(left("a") < left("b"), left("y") < left("x"));
});

test("a cycle and an edge to a missing node end the layout with all nodes", () => {
  const edges = [["a", "b"], ["b", "a"], ["a", "a"], ["gone", "a"]].map(([from, to]) => ({ from, to }));
  const layout = layoutOf({ nodes: [{ id: "a" }, { id: "b" }], edges, symptom: "a" });
  assert.equal(layout.nodes.length, 2);
  assert.equal(layout.edges.length, 2);
  assert.notEqual(placeOf(layout, "a").layer, placeOf(layout, "b").layer);
});

test("a chain of three thousand causes is laid out without recursion", () => {
  const nodes = Array.from({ length: 3000 }, (_, place) => ({ id: place }));
  const edges = nodes.slice(1).map(({ id }) => ({ from: id, to: id - 1 }));
  assert.equal(layoutOf({ nodes, edges, symptom: 0 }).layers.length, 3000);
});

test("an empty graph has no layers", () => {
  assert.deepEqual(layoutOf({ nodes: [], edges: [] }).layers, []);
  assert.equal(neighbour(layoutOf({ nodes: [], edges: [] }), "a", "ArrowDown"), null);
});

test("arrow keys follow edges down to causes and up to effects", () => {
  const layout = layoutOf(DIAMOND);
  const first = layout.layers[1][0];
  assert.equal(neighbour(layout, "crash", "ArrowDown"), first);
  assert.equal(neighbour(layout, first, "ArrowRight"), layout.layers[1][1]);
  assert.equal(neighbour(layout, first, "ArrowDown"), "file");
  assert.equal(neighbour(layout, "file", "ArrowDown"), "file");
  assert.equal(neighbour(layout, "file", "Home"), "crash");
  assert.equal(neighbour(layout, "crash", "End"), "file");
  assert.equal(neighbour(layout, first, "ArrowUp"), "crash");
});

test("the details of a saved file have its path and time, and no empty rows", () => {
  const node = { type: "file", title: "web.py was saved", path: "web.py", time: "2026-03-01T14:00:05.000000Z", actor: "", revision: "" };
  assert.deepEqual(factsOf(node).map(([name]) => name), ["Type", "File", "Time"]);
  assert.equal(factsOf(node)[1][1], "web.py");
  assert.match(subtitleOf(node), /^\d\d:00:05\.000 · file$/);
  assert.deepEqual(factsOf({ type: "write", actor: "jane", revision: "7", path: "" }), [["Type", "write"], ["Actor", "jane"], ["Revision", "7"]]);
});

test("a graph without origins has no first origin", () => {
  assert.equal(firstOrigin({ origins: ["file:1", "request:2"] }), "file:1");
  assert.equal(firstOrigin({}), null);
});
