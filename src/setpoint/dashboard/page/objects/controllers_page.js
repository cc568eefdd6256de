/** The controllers: the depth of their queues, rates, latencies, errors, and their last reconciles. */
import { useRead } from "../collection.js";
import { clock, duration } from "../format.js";
import { Problem } from "../problem.js";
import { registerPage } from "../registry.js";
import { go, href } from "../route.js";
import { Table } from "../table.js";
import { isLive } from "../time.js";
import { html, useEffect } from "../view.js";

const CONTROLLERS = "/apis/setpoint.dev/v1/controllers";
const INTERVAL_MILLISECONDS = 3000;

const columns = [
  { name: "name", title: "Controller", value: (row) => row.name, width: "minmax(8rem, 2fr)" },
  { name: "queue", title: "Queue", value: (row) => row.queueDepth ?? 0, align: "end" },
  { name: "rate", title: "Per second", value: (row) => row.reconcilesPerSecond ?? 0, cell: (row) => Number((row.reconcilesPerSecond ?? 0).toPrecision(2)), align: "end", isWide: true },
  { name: "p50", title: "Median", value: (row) => row.latencySeconds?.p50 ?? 0, cell: (row) => duration(row.latencySeconds?.p50), align: "end", isWide: true },
  { name: "p99", title: "99th percentile", value: (row) => row.latencySeconds?.p99 ?? 0, cell: (row) => duration(row.latencySeconds?.p99), align: "end", isWide: true },
  { name: "errors", title: "Errors", value: (row) => row.errors ?? 0, cell: (row) => (row.errors ? html`<span class="badge bad">${row.errors}</span>` : 0), align: "end" },
];

/** Reads the controllers again while the page is live and visible: their figures have no watch. */
export function useControllers() {
  const found = useRead(CONTROLLERS, {}, { at: "live" });
  useEffect(() => {
    if (!isLive.value) return undefined;
    const timer = setInterval(() => document.hidden || found.reload(), INTERVAL_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isLive.value]);
  return found;
}

function ControllersPage() {
  const { value, error, reload } = useControllers();
  return html`<h1 tabindex="-1">Controllers</h1>
    ${!isLive.value && html`<p class="quiet">Figures of controllers are those of now; their reconciles of the past are in the history of the objects.</p>`}
    ${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${value && html`<${Table} columns=${columns} rows=${value.items} rowKey=${(row) => row.name} label="Controllers" onOpen=${(row) => go(["controllers", row.name])} empty="No controllers run" />`}`;
}

const ofReconcile = [
  { name: "key", title: "Object", value: (row) => row.key, width: "minmax(8rem, 2fr)" },
  { name: "started", title: "Started", value: (row) => row.started, cell: (row) => clock(row.started) },
  { name: "seconds", title: "Took", value: (row) => row.seconds, cell: (row) => duration(row.seconds), align: "end" },
  { name: "result", title: "Result", value: (row) => row.error || row.result, cell: (row) => html`<span class=${row.error ? "bad" : ""}>${row.error || row.result}</span>`, isWide: true },
];

function ControllerPage({ name }) {
  const { value, error, reload } = useControllers();
  const found = value?.items.find((row) => row.name === name);
  return html`<h1 tabindex="-1">${name}</h1>
    <p><a href=${href(["controllers"])}>All controllers</a></p>
    ${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${value && !found && html`<p>No controller of this name runs.</p>`}
    ${found && html`<dl class="figures">
        ${figure("Queue", found.queueDepth ?? 0)} ${figure("Per second", Number((found.reconcilesPerSecond ?? 0).toPrecision(2)))}
        ${figure("Median", duration(found.latencySeconds?.p50))} ${figure("99th percentile", duration(found.latencySeconds?.p99))} ${figure("Errors", found.errors ?? 0)}
      </dl>
      <h2>Reconciles</h2>
      <${Table} columns=${ofReconcile} rows=${found.reconciles ?? []} rowKey=${(row) => row.id} label="Reconciles" onOpen=${(row) => go(["controllers", name, row.id])} empty="No reconcile is remembered" />`}`;
}

const figure = (name, value) => html`<div><dt>${name}</dt><dd>${value === "" ? "–" : value}</dd></div>`;

registerPage({ name: "controllers", title: "Controllers", pattern: "controllers", component: ControllersPage, order: 50, isLinked: true, keys: "g c" });
registerPage({ name: "controller", title: "Controller", pattern: "controllers/:name", component: ControllerPage, order: 51 });
