// JSON Patch (RFC 6902), as the history of an object uses it. Pure: the given tree stays as it is.

// Returns the tree after the operations. Raises an error that names the path which does not exist.
export function patched(tree, operations) {
  return operations.reduce((now, operation) => applied(now, operation), tree);
}

// Returns the keys of a JSON pointer.
export function keysOf(pointer) {
  if (pointer === "") return [];
  return pointer.slice(1).split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function applied(tree, { op, path, from, value }) {
  const keys = keysOf(path);
  if (op === "add") return changed(tree, keys, (holder, key) => inserted(holder, key, value), value);
  if (op === "replace") return changed(tree, keys, (holder, key) => replaced(holder, key, value), value);
  if (op === "remove") return changed(tree, keys, removed, null);
  if (op === "copy") return applied(tree, { op: "add", path, value: valueAt(tree, from) });
  if (op === "move") {
    const moved = valueAt(tree, from);
    return applied(applied(tree, { op: "remove", path: from }), { op: "add", path, value: moved });
  }
  return tree;
}

function valueAt(tree, pointer) {
  return keysOf(pointer).reduce((value, key) => value[key], tree);
}

// Returns a copy of the tree, in which only the containers on the way are new.
function changed(tree, keys, change, whole) {
  if (keys.length === 0) return whole;
  if (tree === null || typeof tree !== "object") throw new Error(`the patch names ${keys[0]}, which does not exist`);
  const copy = Array.isArray(tree) ? [...tree] : { ...tree };
  const [key, ...rest] = keys;
  if (rest.length === 0) return change(copy, key);
  copy[key] = changed(copy[key] ?? null, rest, change, whole);
  return copy;
}

function inserted(holder, key, value) {
  if (Array.isArray(holder)) holder.splice(key === "-" ? holder.length : Number(key), 0, value);
  else holder[key] = value;
  return holder;
}

function replaced(holder, key, value) {
  holder[key] = value;
  return holder;
}

function removed(holder, key) {
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
  return holder;
}
