/** The objects of a kind, with the columns of the server. */
import { Problem } from "../problem.js";
import { registerPage } from "../registry.js";
import { change, go, route } from "../route.js";
import { Table } from "../table.js";
import { isLive } from "../time.js";
import { html, useMemo } from "../view.js";
import { addressOf, problem, readKinds, useKind } from "./discovery.js";
import { pathOf } from "./kinds.js";
import { useLiveTable } from "./live_table.js";
import { compareCells, orderedRows, shownColumns } from "./table_rows.js";

function TablePage({ resource }) {
  const kind = useKind(resource);
  if (problem.value) return html`<h1 tabindex="-1">${resource}</h1><${Problem} error=${problem.value} onRetry=${readKinds} />`;
  if (kind === undefined) return html`<h1 tabindex="-1">${resource}</h1><p class="quiet">Reading the kinds …</p>`;
  if (kind === null) return html`<h1 tabindex="-1">${resource}</h1><p>The control plane has no kind of this name${isLive.value ? "" : " now"}.</p>`;
  return html`<${Rows} kind=${kind} resource=${resource} />`;
}

function Rows({ kind, resource }) {
  const { namespace = "", filter = "", wide = "" } = route.value.query;
  const live = useLiveTable(pathOf(kind, namespace));
  const version = live.version.value;
  const all = useMemo(() => [...live.table.rows.values()], [live, version]);
  const rows = useMemo(() => orderedRows(all, { text: filter }), [all, filter]);
  const columns = useMemo(() => columnsOf(live.table.columns, kind.namespaced && !namespace, wide), [live.table.columns, namespace, wide]);
  const isFirst = live.state.value === "loading" && all.length === 0;
  const error = live.error.value;
  const set = (name) => (event) => change({ [name]: event.target.value }, { replace: true });
  return html`<h1 tabindex="-1">${kind.kind}</h1>
    <div class="row">
      <label for="filter">Filter</label><input id="filter" type="search" value=${filter} onInput=${set("filter")} />
      ${kind.namespaced && html`<label for="namespace">Namespace</label>
        <input id="namespace" type="search" value=${namespace} placeholder="all" onChange=${set("namespace")} />`}
      <button aria-pressed=${Boolean(wide)} onClick=${() => change({ wide: wide ? "" : "1" }, { replace: true })}>All columns</button>
      <span class="quiet" role="status">${isFirst ? "Reading …" : `${rows.length} of ${all.length}`}</span>
    </div>
    ${error && html`<${Problem} error=${error} />`}
    ${!isFirst && columns.length > 0 && html`<${Table} columns=${columns} rows=${rows} rowKey=${(row) => row.key} label=${kind.kind}
      onOpen=${(row) => go(addressOf({ ...row, resource }))} empty="No objects" />`}`;
}

function columnsOf(definitions, withNamespace, wide) {
  const found = shownColumns(definitions, wide).map((column, index) => ({
    name: column.name,
    title: column.name,
    value: (row) => row.cells[column.place],
    compare: compareCells,
    isWide: index > 2,
    width: column.name === "Name" ? "minmax(8rem, 2fr)" : undefined,
  }));
  return withNamespace ? [{ name: "namespace", title: "Namespace", value: (row) => row.namespace, isWide: true }, ...found] : found;
}

registerPage({ name: "table", title: "Objects of a kind", pattern: "objects/:resource", component: TablePage, order: 41 });
