/** The places of the nodes of a dependency graph: layers from left to right, so that arrows point in one direction. */

const COLUMN = 190;
const ROW = 52;
const NODE = { width: 150, height: 36 };
// Rounds of ordering that reduce crossings; more rounds change little.
const ROUNDS = 4;

/**
 * @param {{id: string}[]} nodes
 * @param {{from: string, to: string}[]} edges from a dependency to the dependent
 * @returns {{places: Map<string, {x: number, y: number}>, width: number, height: number, node: {width: number, height: number}}}
 */
export function layout(nodes, edges) {
  const before = new Map(nodes.map((node) => [node.id, []]));
  for (const { from, to } of edges) before.get(to)?.push(from);
  const layers = layersOf(nodes, before);
  for (let round = 0; round < ROUNDS; round += 1) order(layers, before);
  const tallest = Math.max(1, ...layers.map((layer) => layer.length));
  const places = new Map();
  for (const [column, layer] of layers.entries()) {
    const top = ((tallest - layer.length) * ROW) / 2;
    for (const [row, id] of layer.entries()) places.set(id, { x: column * COLUMN, y: top + row * ROW });
  }
  return { places, width: layers.length * COLUMN - (COLUMN - NODE.width), height: tallest * ROW - (ROW - NODE.height), node: NODE };
}

/** Returns the layers: a node is one layer after its last dependency. In a cycle, a dependency is left out. */
function layersOf(nodes, before) {
  const depth = new Map();
  const visiting = new Set();
  const depthOf = (id) => {
    if (depth.has(id)) return depth.get(id);
    if (visiting.has(id)) return -1;
    visiting.add(id);
    const found = Math.max(-1, ...(before.get(id) ?? []).filter((each) => before.has(each)).map(depthOf)) + 1;
    visiting.delete(id);
    depth.set(id, found);
    return found;
  };
  const layers = [];
  for (const { id } of nodes) (layers[depthOf(id)] ??= []).push(id);
  return Array.from(layers, (layer) => layer ?? []);
}

/** Moves nodes near the middle of their dependencies. */
function order(layers, before) {
  for (const [index, layer] of layers.entries()) {
    if (index === 0) continue;
    const rows = new Map(layers.slice(0, index).flatMap((each) => each.map((id, row) => [id, row])));
    const middle = (id) => {
      const found = (before.get(id) ?? []).map((each) => rows.get(each)).filter((row) => row !== undefined);
      return found.length ? found.reduce((sum, row) => sum + row, 0) / found.length : layer.indexOf(id);
    };
    const keys = new Map(layer.map((id) => [id, middle(id)]));
    layer.sort((one, other) => keys.get(one) - keys.get(other));
  }
}
