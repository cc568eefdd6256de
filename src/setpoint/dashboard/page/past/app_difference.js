// The objects that changed between two moments, from the items of the log of revisions. Pure.

// Returns the name of an object in one line, unique in a control plane.
export function keyOf(object) {
  return `${object.resource}/${object.namespace ? `${object.namespace}/` : ""}${object.name}`;
}

// Returns the objects that the items wrote: {object, key, kind, writes, first, last, actors}, sorted by key.
// `items` are in the order of the log. An object that was created and deleted again is "passed".
export function changedObjects(items) {
  const found = new Map();
  for (const item of items) {
    const key = keyOf(item.object);
    const known = found.get(key) ?? { object: item.object, key, types: [], writes: 0, actors: new Set() };
    known.types.push(item.type);
    known.writes += 1;
    known.first ??= Number(item.revision);
    known.last = Number(item.revision);
    known.actors.add(item.cause?.controller || item.actor?.fieldManager || item.actor?.user || "");
    found.set(key, known);
  }
  return [...found.values()]
    .map(({ types, actors, ...rest }) => ({ ...rest, kind: kindOf(types), actors: [...actors].filter(Boolean) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

// Returns true for an object that only the server itself wrote, such as a default role.
export function isOfServer(changed) {
  return changed.actors.every((actor) => actor === "kube-apiserver");
}

function kindOf(types) {
  const created = types[0] === "ADDED";
  const deleted = types.at(-1) === "DELETED";
  if (created && deleted) return "passed";
  return created ? "added" : deleted ? "removed" : "changed";
}
