/** The references between objects: dependencies, addresses in templates, services, owners. Pure functions. */

const ADDRESS = /\b(?:urlFor|addressFor|portFor|hostFor)\s+"([^"]+)"/g;
const SECRET = /\bsecret\s+"([^"]+)"\s+"([^"]+)"/g;

/** @typedef {{kind: string, name: string, how: string, resource?: string}} Reference */

/** Returns the objects that an object names in its fields. */
export function referencesOf(object) {
  const found = new Map();
  const add = (kind, name, how) => found.set(`${kind}/${name}`, { kind, name, how: [...new Set([...(found.get(`${kind}/${name}`)?.how.split(", ") ?? []), how])].join(", ") });
  const spec = templateOf(object);
  for (const each of spec.dependsOn ?? []) add(each.kind, each.name, `waits until ${each.condition ?? "Ready"}`);
  for (const each of spec.serves ?? []) add("Service", each.service, "serves");
  for (const owner of object.metadata.ownerReferences ?? []) add(owner.kind, owner.name, "is owned by");
  for (const [path, text] of texts(object.spec ?? {}, "spec")) {
    for (const [, name] of text.matchAll(ADDRESS)) add("Service", name, `address in ${path}`);
    for (const [, name, key] of text.matchAll(SECRET)) add("Secret", name, `${key} in ${path}`);
  }
  return [...found.values()];
}

/** Returns the specification of the program: that of the template for replica sets and tasks. */
export function templateOf({ spec = {} }) {
  const { template } = spec;
  return { ...spec, ...(template?.spec ?? template?.executable ?? template?.container) };
}

/** Yields the texts of an object with their fields; items with a name are called by it. */
function* texts(value, path) {
  if (typeof value === "string") yield [path, value];
  else if (Array.isArray(value)) for (const [place, each] of value.entries()) yield* texts(each, `${path}[${each?.name ?? place}]`);
  else if (value) for (const [key, each] of Object.entries(value)) yield* texts(each, key === "value" && path.endsWith("]") ? path : `${path}.${key}`);
}

/** Returns the objects of a list that name an object, directly or by a Service that it serves. */
export function referrersOf(object, others) {
  const names = new Set([`${object.kind}/${object.metadata.name}`]);
  for (const each of templateOf(object).serves ?? []) names.add(`Service/${each.service}`);
  return others
    .filter((other) => other.metadata.uid !== object.metadata.uid)
    .flatMap((other) => {
      const how = referencesOf(other).filter((reference) => names.has(`${reference.kind}/${reference.name}`) && reference.how !== "serves");
      return how.length ? [{ kind: other.kind, name: other.metadata.name, how: how.map((each) => `${each.how}${each.kind === "Service" && object.kind !== "Service" ? ` (${each.name})` : ""}`).join(", ") }] : [];
    });
}
