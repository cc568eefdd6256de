/** The latest results of the probes of a service. */
import { aboutPath } from "../../api.js";
import { useRead } from "../../collection.js";
import { age, duration } from "../../format.js";
import { Problem } from "../../problem.js";
import { registerPanel } from "../../registry.js";
import { Table } from "../../table.js";
import { now } from "../../ticking.js";
import { isLive } from "../../time.js";
import { html, useEffect } from "../../view.js";
import { ofReplica } from "./replica_choice.js";
import { RUNNING_KINDS } from "./running_kinds.js";

const REFRESH_MILLISECONDS = 3000;

const columns = [
  { name: "name", title: "Probe", value: (row) => row.name },
  { name: "type", title: "Type", value: (row) => row.type, width: "6rem", isWide: true },
  { name: "result", title: "Result", value: (row) => row.result, cell: Result, width: "8rem" },
  { name: "time", title: "Last", value: (row) => row.time ?? "", cell: (row) => age(row.time, now.value), width: "5rem" },
  { name: "duration", title: "Took", value: (row) => row.durationMilliseconds ?? 0, cell: (row) => (row.durationMilliseconds === undefined ? "" : duration(row.durationMilliseconds / 1000)), width: "5rem", isWide: true },
  { name: "message", title: "Message", value: (row) => row.message ?? "", width: "minmax(0, 3fr)" },
];

function Result(row) {
  const state = { Succeeded: "Ready", Failed: "Failed" }[row.result] ?? "Unknown";
  return html`<span class=${`state ${state}`}>${row.result || "Unknown"}</span>`;
}

/** Reads again while the page is visible and live. */
export function useRefresh(reload, milliseconds) {
  useEffect(() => {
    if (!isLive.value) return undefined;
    const timer = setInterval(() => document.visibilityState === "visible" && reload(), milliseconds);
    return () => clearInterval(timer);
  }, [isLive.value]);
}

function ProbePanel(place) {
  const { value, error, reload } = useRead(aboutPath(place, "probes"));
  useRefresh(reload, REFRESH_MILLISECONDS);
  if (error && !value) return html`<${Problem} error=${error} />`;
  return html`<${Table} columns=${columns} rows=${value?.items ?? []} rowKey=${(row) => `${row.replica ?? ""}/${row.name}`} label="Probes" empty=${value ? "No probes" : "Reading …"} />`;
}

registerPanel({ place: "service", name: "probes", title: "Probes", order: 30, applies: RUNNING_KINDS, component: ofReplica(ProbePanel) });
