// The relations of an object by ownership: its owners, and the tree of its dependents. Pure.

// Returns the owners in metadata: [{apiVersion, kind, name, uid, controller}].
export function ownersOf(object) {
  return (object?.metadata?.ownerReferences ?? []).map(({ apiVersion, kind, name, uid, controller = false }) => ({
    apiVersion, kind, name, uid, controller,
  }));
}

// Keeps the dependents of an object by the events of the watch of ownership.
export class Dependents {
  constructor(uid) {
    this.uid = uid;
    this.objects = new Map();
    this.complete = false;
  }

  apply({ type, object }) {
    if (type === "BOOKMARK") this.complete = true;
    else if (type === "DELETED") this.objects.delete(object.metadata.uid);
    else if (object?.metadata?.uid) this.objects.set(object.metadata.uid, object);
    return type !== "ERROR";
  }

  // Returns the dependents as rows with their depth, owners before dependents.
  rows() {
    const below = new Map();
    for (const object of this.objects.values()) {
      for (const owner of object.metadata.ownerReferences ?? []) {
        below.set(owner.uid, [...(below.get(owner.uid) ?? []), object]);
      }
    }
    const rows = [];
    const seen = new Set([this.uid]);
    const stack = this.#sorted(below.get(this.uid)).map((object) => ({ object, depth: 0 }));
    while (stack.length) {
      const { object, depth } = stack.pop();
      if (seen.has(object.metadata.uid)) continue;
      seen.add(object.metadata.uid);
      rows.push({ object, depth });
      for (const each of this.#sorted(below.get(object.metadata.uid))) stack.push({ object: each, depth: depth + 1 });
    }
    return rows;
  }

  // Last first: the rows are taken from the end of a stack.
  #sorted(objects = []) {
    const name = (object) => `${object.kind}/${object.metadata.name}`;
    return [...objects].sort((a, b) => (name(a) < name(b) ? 1 : -1));
  }
}
