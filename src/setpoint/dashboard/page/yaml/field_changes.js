/** The fields that differ between two versions of an object, and the patch of a user's changes. */

/** @typedef {{path: (string | number)[], before: any, after: any}} FieldChange `undefined` stands for an absent field */

const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const same = (one, other) => JSON.stringify(ordered(one)) === JSON.stringify(ordered(other));

function ordered(value) {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, ordered(value[key])]));
}

/**
 * Returns the changed fields. Items of lists of the same length are compared one by one; other lists change as a whole.
 * @returns {FieldChange[]}
 */
export function fieldChanges(before, after, path = []) {
  if (isMap(before) && isMap(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => fieldChanges(before[key], after[key], [...path, key]));
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((item, place) => fieldChanges(item, after[place], [...path, place]));
  }
  return same(before, after) ? [] : [{ path, before, after }];
}

/** Returns the changes of a user that touch a field which another client has changed since. */
export function conflicts(mine, theirs) {
  const overlaps = (one, other) => one.path.slice(0, other.path.length).join("\0") === other.path.slice(0, one.path.length).join("\0");
  return mine.filter((change) => theirs.some((other) => overlaps(change, other) && !same(change.after, other.after)));
}

/** Returns a field as in errors of the server: `spec.env[0].value`. */
export const fieldName = (path) =>
  path.reduce((text, part) => (typeof part === "number" ? `${text}[${part}]` : /^[\w-]+$/.test(part) ? `${text}${text && "."}${part}` : `${text}["${part}"]`), "");

/**
 * Returns a JSON patch of changes. Each tests the value that the user saw, so that the server saves nothing if another
 * client has changed the field meanwhile.
 */
export function jsonPatch(changes) {
  return changes.flatMap(({ path, before, after }) => {
    const pointer = `/${path.map((part) => String(part).replace(/~/g, "~0").replace(/\//g, "~1")).join("/")}`;
    const test = before === undefined ? [] : [{ op: "test", path: pointer, value: before }];
    if (after === undefined) return [...test, { op: "remove", path: pointer }];
    return [...test, { op: before === undefined ? "add" : "replace", path: pointer, value: after }];
  });
}
