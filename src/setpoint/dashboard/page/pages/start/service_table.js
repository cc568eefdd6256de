/** A table of summaries with their actions. */
import { ActionButtons } from "../../action_buttons.js";
import { age } from "../../format.js";
import { countOf, openService, rankOf, reasonOf, serviceHref, titleOf } from "../../summaries.js";
import { Table } from "../../table.js";
import { now } from "../../ticking.js";
import { html } from "../../view.js";
import { unread } from "./unread_errors.js";

const columns = [
  { name: "name", title: "Name", value: titleOf, cell: Name, width: "minmax(7rem, 1.1fr)" },
  { name: "state", title: "State", value: rankOf, cell: State, width: "minmax(7.2rem, 0.7fr)" },
  { name: "reason", title: "Reason", value: reasonOf, cell: Reason, isWide: true, width: "minmax(0, 2.2fr)" },
  { name: "addresses", title: "Addresses", value: (row) => row.addresses?.[0] ?? "", cell: Addresses, isWide: true, width: "minmax(0, 1.3fr)" },
  { name: "since", title: "Since", value: (row) => row.since ?? "", cell: (row) => age(row.since, now.value), isWide: true, width: "4.5rem" },
  { name: "restarts", title: "Restarts", value: (row) => row.restarts ?? 0, cell: (row) => row.restarts || "", isWide: true, width: "4.8rem", align: "end" },
  { name: "actions", title: "Actions", value: (row) => (row.actions ?? []).join(), cell: (row) => html`<${ActionButtons} summary=${row} />`, width: "8rem" },
];

function Name(row) {
  const errors = unread.value[row.object.name] ?? 0;
  return html`<a href=${serviceHref(row)}>${titleOf(row)}</a>${errors > 0 && html` <a class="badge bad" href=${serviceHref(row, { level: "error" })} title="Errors in the log that you have not seen"
    aria-label=${`${errors} unread errors of ${row.object.name}`}>${errors}</a>`}`;
}

function State(row) {
  return html`<span class=${`state ${row.state}`}>${row.state}${countOf(row) && html` <span>${countOf(row)}</span>`}</span>`;
}

function Reason(row) {
  return html`<span title=${reasonOf(row)} class=${row.state === "Failed" ? "bad-text" : ""}>${reasonOf(row)}</span>`;
}

/** The addresses of a part; only those of HTTP are links. */
export function Addresses({ addresses }) {
  return (addresses ?? []).map((address, place) => [
    place ? " " : "",
    /^https?:\/\//.test(address) ? html`<a key=${address} href=${address} target="_blank" rel="noreferrer noopener">${address}</a>` : html`<span class="mono" key=${address}>${address}</span>`,
  ]);
}

/** Columns that are left out when no part has a value for them. */
const OPTIONAL = ["addresses", "restarts"];

/** @param {{rows: object[], all: object[], label: string}} properties `all` decides on the columns, for tables alike */
export function ServiceTable({ rows, all, label }) {
  const shown = columns.filter((column) => !OPTIONAL.includes(column.name) || all.some(column.value));
  return html`<${Table} columns=${shown} rows=${rows} rowKey=${(row) => row.metadata.uid} label=${label} onOpen=${openService} rowClass=${(row) => row.state} />`;
}
