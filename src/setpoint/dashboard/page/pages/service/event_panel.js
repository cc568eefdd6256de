/** The events about an object. */
import { useCollection } from "../../collection.js";
import { age, moment } from "../../format.js";
import { Problem } from "../../problem.js";
import { registerPanel } from "../../registry.js";
import { Table } from "../../table.js";
import { now } from "../../ticking.js";
import { html, useMemo } from "../../view.js";

const timeOf = (event) => event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp;

const columns = [
  { name: "time", title: "Last", value: timeOf, cell: (row) => html`<span title=${moment(timeOf(row))}>${age(timeOf(row), now.value)}</span>`, width: "4.5rem" },
  { name: "type", title: "Type", value: (row) => row.type, cell: (row) => html`<span class=${row.type === "Warning" ? "bad-text" : ""}>${row.type}</span>`, width: "5.5rem", isWide: true },
  { name: "reason", title: "Reason", value: (row) => row.reason, width: "minmax(6rem, 0.7fr)" },
  { name: "message", title: "Message", value: (row) => row.message, cell: (row) => html`<span title=${row.message}>${row.message}</span>`, width: "minmax(0, 3fr)" },
  { name: "count", title: "Count", value: (row) => row.series?.count ?? row.count ?? 1, width: "4rem", align: "end", isWide: true },
];

function EventPanel({ object }) {
  const events = useCollection("/api/v1/events", { fieldSelector: `involvedObject.uid=${object.metadata.uid}` });
  const version = events.version.value;
  const rows = useMemo(() => [...events.items.values()], [version, events]);
  if (events.error.value) return html`<${Problem} error=${events.error.value} />`;
  return html`<${Table} columns=${columns} rows=${rows} rowKey=${(row) => row.metadata.uid} label="Events" order=${{ name: "time", isReversed: true }} empty=${events.state.value === "loading" ? "Reading …" : "No events"} />`;
}

registerPanel({ place: "service", name: "events", title: "Events", order: 60, component: EventPanel });
