// The rows of a table of objects, kept up to date by the events of a watch. Pure, except that a table changes itself.
//
// Only the cells and the identity of an object are kept, so that ten thousand rows stay small.

export class TableRows {
  constructor() {
    this.columns = [];
    this.resourceVersion = "";
    this.rows = new Map();
  }

  // Adds a page of a list.
  addPage(table) {
    if (table.columnDefinitions?.length) this.columns = table.columnDefinitions;
    this.resourceVersion = table.metadata?.resourceVersion ?? this.resourceVersion;
    for (const row of table.rows ?? []) this.#put(row);
  }

  // Applies an event of a watch. Returns false for an event that ends the watch.
  apply({ type, object }) {
    if (type === "ERROR") return false;
    const version = object?.metadata?.resourceVersion || object?.rows?.[0]?.object?.metadata?.resourceVersion;
    if (version) this.resourceVersion = version;
    if (type === "BOOKMARK") return true;
    if (object?.columnDefinitions?.length) this.columns = object.columnDefinitions;
    for (const row of object?.rows ?? []) {
      if (type === "DELETED") this.rows.delete(identityOf(row));
      else this.#put(row);
    }
    return true;
  }

  #put(row) {
    const { name = "", namespace = "", uid = "" } = row.object?.metadata ?? {};
    this.rows.set(identityOf(row), { key: identityOf(row), name, namespace, uid, cells: row.cells });
  }
}

function identityOf(row) {
  const { namespace = "", name = "" } = row.object?.metadata ?? {};
  return `${namespace}/${name}`;
}

// Returns the columns to show: those of priority 0, or all.
export function shownColumns(columns, wide) {
  return columns.map((column, place) => ({ ...column, place })).filter((column) => wide || !column.priority);
}

// Returns the rows that contain a text, in the order of a column (an index into the cells), or of namespace and name.
// The server lists objects in the order of their keys: comparing these as plain strings leaves a sorted list as it is,
// after one comparison for each row.
export function orderedRows(rows, { text = "", column = null, descending = false } = {}) {
  const wanted = text.toLowerCase();
  const found = wanted
    ? rows.filter((row) => row.key.includes(wanted) || row.cells.some((cell) => String(cell).toLowerCase().includes(wanted)))
    : [...rows];
  const compare = column === null ? byKey : (a, b) => compareCells(a.cells[column], b.cells[column]) || compareCells(a.key, b.key);
  found.sort(compare);
  return descending ? found.reverse() : found;
}

const byKey = (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

// Numbers in texts are compared as numbers: `pod-2` comes before `pod-10`, and `5m` before `2h`.
export function compareCells(a, b) {
  const [x, y] = [ageOf(a), ageOf(b)];
  if (x !== null && y !== null) return x - y;
  return collator.compare(String(a ?? ""), String(b ?? ""));
}

const collator = new Intl.Collator("en", { numeric: true });
const UNITS = { y: 31536000, d: 86400, h: 3600, m: 60, s: 1 };

function ageOf(cell) {
  if (typeof cell === "number") return cell;
  if (typeof cell !== "string" || !/^(\d+[ydhms])+$/.test(cell)) return null;
  return [...cell.matchAll(/(\d+)([ydhms])/g)].reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit], 0);
}
