// The layout of a graph of causes: layers from the symptom, on top, down to the origins. Pure.
//
// An edge points from a cause to its effect. The layer of a node is the length of the longest path from the symptom,
// so that every cause is below all of its effects. Edges that would close a cycle are ignored for the layers.

const SWEEPS = 4;

// Returns the nodes with their layers and places, the edges with their points, and the size of the drawing.
export function layoutOf(graph, size = {}) {
  const box = { width: 260, height: 56, gapX: 24, gapY: 48, margin: 8, ...size };
  const nodes = graph.nodes ?? [];
  const known = new Set(nodes.map((node) => node.id));
  const edges = (graph.edges ?? []).filter(
    (edge) => known.has(edge.from) && known.has(edge.to) && edge.from !== edge.to,
  );
  const layers = orderedLayers(nodes, edges, graph.symptom);
  const widest = Math.max(1, ...layers.map((layer) => layer.length));
  const full = widest * box.width + (widest - 1) * box.gapX;
  const placed = new Map();
  layers.forEach((layer, row) => {
    const width = layer.length * box.width + (layer.length - 1) * box.gapX;
    layer.forEach((id, column) => {
      const x = box.margin + (full - width) / 2 + column * (box.width + box.gapX);
      placed.set(id, { layer: row, column, x, y: box.margin + row * (box.height + box.gapY) });
    });
  });
  return {
    width: full + 2 * box.margin,
    height: layers.length * (box.height + box.gapY) - (layers.length ? box.gapY : 0) + 2 * box.margin,
    box,
    layers,
    nodes: nodes.map((node) => ({ ...node, ...placed.get(node.id) })),
    edges: edges.map((edge) => ({ ...edge, ...curve(placed.get(edge.from), placed.get(edge.to), box) })),
  };
}

// Returns the id of the node that an arrow key leads to; the same id if there is none in that direction.
// Down follows an edge to the first cause, Up to the first effect; Left and Right move within the layer.
export function neighbour(layout, id, key) {
  const nodes = new Map(layout.nodes.map((node) => [node.id, node]));
  const node = nodes.get(id);
  if (!node) return layout.layers[0]?.[0] ?? null;
  if (key === "ArrowLeft") return layout.layers[node.layer][node.column - 1] ?? id;
  if (key === "ArrowRight") return layout.layers[node.layer][node.column + 1] ?? id;
  if (key === "Home") return layout.layers[0][0];
  if (key === "End") return layout.layers.at(-1)[0];
  const down = key === "ArrowDown";
  if (!down && key !== "ArrowUp") return id;
  const found = layout.edges
    .filter((edge) => (down ? edge.to : edge.from) === id)
    .map((edge) => nodes.get(down ? edge.from : edge.to))
    .sort((a, b) => distance(a, node) - distance(b, node) || a.column - b.column);
  return found[0]?.id ?? id;
}

function distance(a, b) {
  return Math.abs(a.layer - b.layer) * 1000 + Math.abs(a.x - b.x) / 1000;
}

function orderedLayers(nodes, edges, symptom) {
  const layerOf = layersOf(nodes, edges, symptom);
  const layers = [];
  for (const node of nodes) (layers[layerOf.get(node.id)] ??= []).push(node.id);
  // Unconnected nodes may leave a layer empty.
  const filled = Array.from(layers, (layer) => layer ?? []).filter((layer) => layer.length);
  const linked = new Map(nodes.map((node) => [node.id, []]));
  for (const edge of edges) {
    linked.get(edge.from).push(edge.to);
    linked.get(edge.to).push(edge.from);
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    const rows = down ? [...filled.keys()].slice(1) : [...filled.keys()].slice(0, -1).reverse();
    for (const row of rows) sortByNeighbours(filled, row, down ? row - 1 : row + 1, linked);
  }
  return filled;
}

function layersOf(nodes, edges, symptom) {
  const causes = new Map(nodes.map((node) => [node.id, []]));
  for (const edge of edges) causes.get(edge.to).push(edge.from);
  const order = [];
  const state = new Map();
  const roots = [...nodes].sort((a, b) => (b.id === symptom) - (a.id === symptom));
  const dropped = new Set();
  for (const root of roots) depthFirst(root.id, causes, state, order, dropped);
  const layers = new Map(nodes.map((node) => [node.id, 0]));
  for (const id of order.reverse()) {
    for (const cause of causes.get(id)) {
      if (!dropped.has(`${cause} ${id}`)) layers.set(cause, Math.max(layers.get(cause), layers.get(id) + 1));
    }
  }
  return layers;
}

// Appends the nodes in postorder, without recursion: a chain of causes may be long.
function depthFirst(root, causes, state, order, dropped) {
  if (state.has(root)) return;
  const stack = [[root, 0]];
  state.set(root, "open");
  while (stack.length) {
    const top = stack.at(-1);
    const [id, next] = top;
    const below = causes.get(id)[next];
    if (below === undefined) {
      state.set(id, "done");
      order.push(id);
      stack.pop();
      continue;
    }
    top[1] += 1;
    if (state.get(below) === "open") dropped.add(`${below} ${id}`);
    else if (!state.has(below)) {
      state.set(below, "open");
      stack.push([below, 0]);
    }
  }
}

function sortByNeighbours(layers, row, fixedRow, linked) {
  const places = new Map(layers[fixedRow].map((id, place) => [id, place]));
  const mean = new Map();
  layers[row].forEach((id, place) => {
    const found = linked.get(id).map((other) => places.get(other)).filter((other) => other !== undefined);
    mean.set(id, found.length ? found.reduce((sum, each) => sum + each, 0) / found.length : place);
  });
  layers[row].sort((a, b) => mean.get(a) - mean.get(b));
}

// Returns the path of an edge from the cause, below, to the effect, above, and the place of its label.
function curve(from, to, box) {
  const x1 = from.x + box.width / 2;
  const x2 = to.x + box.width / 2;
  const y1 = from.y >= to.y ? from.y : from.y + box.height;
  const y2 = from.y >= to.y ? to.y + box.height : to.y;
  const middle = (y1 + y2) / 2;
  return {
    path: `M ${x1} ${y1} C ${x1} ${middle}, ${x2} ${middle}, ${x2} ${y2}`,
    labelX: (x1 + x2) / 2,
    labelY: middle,
  };
}
