// The names of fields and list items. An item with an identifying field stays the same item at any position. Pure.

const IDENTIFIERS = ["name", "type", "probeName", "key", "uid", "id", "containerPort", "port"];

// Returns the field that identifies the items of all the lists; "" if there is none.
export function identifierOf(...lists) {
  return IDENTIFIERS.find((field) => lists.every((items) => identifies(items, field))) ?? "";
}

function identifies(items, field) {
  const names = items.map((item) => (isMap(item) ? item[field] : undefined));
  const valid = names.filter((name) => name !== "" && ["string", "number"].includes(typeof name));
  return valid.length === items.length && new Set(valid).size === items.length;
}

export function isMap(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

// Returns the path of a field below another: `spec.ports`, `data[a.b]`.
export function below(path, key) {
  if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(key)) return `${path}[${key}]`;
  return path ? `${path}.${key}` : key;
}

// Returns the path of a list item, by its identifying field or by its position.
export function itemPath(path, item, place, identifier) {
  return `${path}[${identifier ? item[identifier] : place}]`;
}
