// The kinds of a control plane, by API group, from aggregated discovery. Pure.

// Returns the groups with their kinds: [{group, kinds: [{plural, kind, group, version, path, namespaced, verbs}]}].
// Each kind appears once, in the preferred version of its group. The core group comes first, then by name.
export function groupsOf(...documents) {
  const groups = new Map();
  for (const { items = [] } of documents) {
    for (const item of items) {
      const group = item.metadata?.name ?? "";
      const kinds = groups.get(group) ?? new Map();
      for (const version of item.versions ?? []) {
        for (const resource of version.resources ?? []) addKind(kinds, group, version.version, resource);
      }
      groups.set(group, kinds);
    }
  }
  return [...groups]
    .map(([group, kinds]) => ({ group, kinds: [...kinds.values()].sort((a, b) => (a.kind < b.kind ? -1 : 1)) }))
    .filter(({ kinds }) => kinds.length)
    .sort((a, b) => (a.group < b.group ? -1 : 1));
}

function addKind(kinds, group, version, resource) {
  if (kinds.has(resource.resource) || !resource.verbs?.includes("list")) return;
  const base = group ? `/apis/${group}/${version}` : `/api/${version}`;
  kinds.set(resource.resource, {
    plural: resource.resource,
    kind: resource.responseKind?.kind || resource.resource,
    group,
    version,
    path: base,
    namespaced: resource.scope === "Namespaced",
    verbs: resource.verbs,
    shortNames: resource.shortNames ?? [],
  });
}

// Returns the name of a resource as in commands: `pods`, `deployments.apps`.
export function resourceName({ plural, group }) {
  return group ? `${plural}.${group}` : plural;
}

export function kindNamed(groups, name) {
  for (const { kinds } of groups) {
    const found = kinds.find((kind) => resourceName(kind) === name);
    if (found) return found;
  }
  return null;
}

export function kindOfObject(groups, apiVersion, kind) {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  const kinds = groups.find((each) => each.group === group)?.kinds ?? [];
  return kinds.find((each) => each.kind === kind) ?? null;
}

// Returns the path of the objects of a kind, or of one object.
export function pathOf(kind, namespace = "", name = "") {
  const place = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${kind.path}${place}/${kind.plural}${name ? `/${encodeURIComponent(name)}` : ""}`;
}
