// The writer of every field of an object, from the items of its history. Pure.

import { patched } from "./json_patch.js";
import { below, identifierOf, isMap, itemPath } from "./field_paths.js";
import { masked } from "./secret_mask.js";
import { identical } from "./tree_difference.js";
import { yamlLines } from "./yaml_lines.js";

// Returns the masked lines of the object at its last revision, each with the item of the history that set its value.
// `items` are those of an ObjectHistory, newest first. `base` is the object before the oldest of them, for a history
// that was not read to its beginning; its fields have no writer.
export function blameOf(items, base = null) {
  let tree = base;
  let values = new Map();
  const writers = new Map();
  for (const item of [...items].reverse()) {
    if (!item.patch) continue;
    tree = patched(tree, item.patch);
    const now = valuesOf(tree ?? {});
    for (const path of writers.keys()) if (!now.has(path)) writers.delete(path);
    for (const [path, value] of now) {
      if (!values.has(path) || !identical(values.get(path), value)) writers.set(path, item);
    }
    values = now;
  }
  const shown = yamlLines(masked(tree ?? {}));
  return shown.map((line) => ({ ...line, item: line.holds ? null : (writers.get(line.path) ?? null) }));
}

// Returns a short name of the writer, as the command line shows it: the controller or the user.
export function writerOf(item) {
  if (!item) return "";
  const { controller, verified, claimedBy } = item.cause ?? {};
  if (controller && claimedBy && !verified) return `${claimedBy} (claimed: ${controller})`;
  return controller || item.actor?.fieldManager || item.actor?.user || "";
}

// Returns every value that has a line of its own, by the path of that line.
function valuesOf(tree) {
  const found = new Map();
  collect(tree, "", found);
  return found;
}

function collect(value, path, found) {
  if (isMap(value) && Object.keys(value).length) {
    for (const [key, item] of Object.entries(value)) collect(item, below(path, key), found);
  } else if (Array.isArray(value) && value.length) {
    const identifier = identifierOf(value);
    value.forEach((item, place) => collect(item, itemPath(path, item, place, identifier), found));
  } else {
    found.set(path, value);
  }
}
