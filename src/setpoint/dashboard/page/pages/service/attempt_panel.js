/** The runs of a service, each with its end and a link to its part of the log. */
import { aboutPath } from "../../api.js";
import { useRead } from "../../collection.js";
import { duration, moment } from "../../format.js";
import { Problem } from "../../problem.js";
import { registerPanel } from "../../registry.js";
import { change } from "../../route.js";
import { Table } from "../../table.js";
import { html, useEffect } from "../../view.js";
import { ofReplica } from "./replica_choice.js";
import { RUNNING_KINDS } from "./running_kinds.js";

const lasted = (row) => (row.ended && row.started ? (Date.parse(row.ended) - Date.parse(row.started)) / 1000 : NaN);

const columns = (hasLog) => [
  { name: "attempt", title: "Attempt", value: (row) => row.attempt, width: "5rem" },
  { name: "replica", title: "Replica", value: (row) => row.replica ?? "", isWide: true },
  { name: "started", title: "Started", value: (row) => row.started ?? "", cell: (row) => moment(row.started), width: "14rem" },
  { name: "lasted", title: "Lasted", value: lasted, cell: (row) => (row.ended ? duration(lasted(row)) : "running"), width: "5rem" },
  { name: "exit", title: "Exit code", value: (row) => row.exitCode ?? "", cell: (row) => html`<span class=${row.exitCode ? "bad-text" : ""}>${row.exitCode ?? ""}</span>`, width: "5.5rem" },
  { name: "reason", title: "Reason", value: (row) => row.reason ?? "", width: "minmax(0, 2fr)", isWide: true },
  ...(hasLog ? [{ name: "log", title: "Log", value: () => "", width: "4rem", cell: (row) => html`<button class="plain" onClick=${() => change({ tab: "", attempt: row.attempt })}>Log</button>` }] : []),
];

function AttemptPanel({ object, ...place }) {
  const { value, error, reload } = useRead(aboutPath(place, "attempts"));
  useEffect(() => void (value && reload()), [object?.metadata.resourceVersion]);
  if (error && !value) return html`<${Problem} error=${error} />`;
  const hasLog = ["executables", "containers"].includes(place.summary.object.resource);
  return html`<${Table} columns=${columns(hasLog)} rows=${value?.items ?? []} rowKey=${(row) => `${row.replica ?? ""}/${row.attempt}`} label="Attempts" empty=${value ? "No attempts" : "Reading …"} />`;
}

registerPanel({ place: "service", name: "attempts", title: "Attempts", order: 50, applies: RUNNING_KINDS, component: ofReplica(AttemptPanel) });
