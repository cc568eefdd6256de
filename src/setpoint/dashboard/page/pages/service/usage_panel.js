/** CPU and memory of a service over time, a line for each replica. */
import { aboutPath } from "../../api.js";
import { useRead } from "../../collection.js";
import { bytes } from "../../format.js";
import { Problem } from "../../problem.js";
import { registerPanel } from "../../registry.js";
import { html } from "../../view.js";
import { LineChart } from "./line_chart.js";
import { useRefresh } from "./probe_panel.js";
import { ofReplica } from "./replica_choice.js";
import { RUNNING_KINDS } from "./running_kinds.js";

const REFRESH_MILLISECONDS = 5000;
const cores = (millicores) => (millicores >= 1000 ? `${Number((millicores / 1000).toFixed(2))} cores` : `${Math.round(millicores)} m`);

function seriesOf(items, field, fallback) {
  const byReplica = new Map();
  for (const item of items) {
    const name = String(item.replica ?? fallback);
    if (item[field] === undefined || item[field] === null) continue;
    if (!byReplica.has(name)) byReplica.set(name, []);
    byReplica.get(name).push([Date.parse(item.time), item[field]]);
  }
  return [...byReplica].map(([name, points]) => ({ name, points }));
}

function UsagePanel(place) {
  const { value, error, reload } = useRead(aboutPath(place, "samples"));
  useRefresh(reload, REFRESH_MILLISECONDS);
  if (error && !value) return html`<${Problem} error=${error} />`;
  if (!value) return html`<p class="empty" role="status">Reading …</p>`;
  return html`<div class="charts">
    <${LineChart} title="CPU" series=${seriesOf(value.items, "cpuMillicores", place.name)} format=${cores} />
    <${LineChart} title="Memory" series=${seriesOf(value.items, "memoryBytes", place.name)} format=${bytes} />
  </div>`;
}

registerPanel({ place: "service", name: "usage", title: "CPU and memory", order: 70, applies: RUNNING_KINDS, component: ofReplica(UsagePanel) });
