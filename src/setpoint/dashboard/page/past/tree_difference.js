// The difference of two JSON trees, as a list of fields. Pure.
//
// Named items of a list are compared by name, so that a moved item is no change. Metadata of every write, and fields
// such as the time of the last probe, are marked as noise, which the page hides unless asked.

import { below, identifierOf, isMap, itemPath } from "./field_paths.js";

const LEFT_OUT = new Set(["managedFields", "resourceVersion", "generation", "selfLink"]);
const NOISE = new Set([
  "lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "lastProbeTime", "lastSeen", "lastTimestamp",
  "observedGeneration", "renewTime", "timestamp", "executionID", "finishTimestamp", "identityTime",
  "nextRestartTime", "pid", "startupTimestamp", "stdErrFile", "stdOutFile",
]);

// Returns the changed fields: {path, kind: "added" | "removed" | "changed", old, new, noise}, significant ones first.
export function differenceOf(old, now) {
  const found = [];
  if (old === null || old === undefined) leaves("", now, found, "added");
  else if (now === null || now === undefined) leaves("", old, found, "removed");
  else compare("", old, now, found);
  return found.sort((a, b) => a.noise - b.noise);
}

// Returns the number of significant changes.
export function countOf(changes) {
  return changes.filter((change) => !change.noise).length;
}

export function identical(a, b) {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, place) => identical(item, b[place]));
  }
  if (!isMap(a) || !isMap(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && identical(a[key], b[key]));
}

function compare(path, old, now, found) {
  if (isMap(old) && isMap(now)) {
    const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
    for (const key of keys) {
      if (!(path === "metadata" && LEFT_OUT.has(key))) compareOne(below(path, key), old[key], now[key], found);
    }
    return;
  }
  const identifier = Array.isArray(old) && Array.isArray(now) ? identifierOf(old, now) : "";
  if (identifier) {
    const before = new Map(old.map((item) => [item[identifier], item]));
    const after = new Map(now.map((item) => [item[identifier], item]));
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      compareOne(`${path}[${name}]`, before.get(name), after.get(name), found);
    }
  } else if (!identical(old, now)) {
    found.push({ path, kind: "changed", old, new: now, noise: isNoise(path) });
  }
}

function compareOne(path, old, now, found) {
  if (old === undefined) leaves(path, now, found, "added");
  else if (now === undefined) leaves(path, old, found, "removed");
  else compare(path, old, now, found);
}

// Adds every field of an added or removed value.
function leaves(path, value, found, kind) {
  if (isMap(value) && Object.keys(value).length) {
    for (const key of Object.keys(value).sort()) {
      if (!(path === "metadata" && LEFT_OUT.has(key))) leaves(below(path, key), value[key], found, kind);
    }
  } else if (Array.isArray(value) && value.length && identifierOf(value)) {
    const identifier = identifierOf(value);
    value.forEach((item, place) => leaves(itemPath(path, item, place, identifier), item, found, kind));
  } else {
    found.push({ path, kind, [kind === "added" ? "new" : "old"]: value, noise: isNoise(path) });
  }
}

function isNoise(path) {
  return NOISE.has(path.slice(path.lastIndexOf(".") + 1));
}
