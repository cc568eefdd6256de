/** The controllers: the depth of their queues, rates, latencies, errors, and their last reconciles. */
import { useRead } from "../collection.js";
import { clock, duration } from "../format.js";
import { Problem } from "../problem.js";
import { registerPage } from "../registry.js";
import { go, href } from "../route.js";
import { Table } from "../table.js";
import { isLive } from "../time.js";
import { html, useEffect } from "../view.js";
import { groupsOf, isBad, keyOf, latencyOf, rateOf, stateOf } from "./controller_rows.js";

const CONTROLLERS = "/apis/setpoint.dev/v1/controllers";
const INTERVAL_MILLISECONDS = 3000;

const columns = [
  { name: "name", title: "Controller", value: (row) => row.name, width: "minmax(6.5rem, 2fr)" },
  { name: "state", title: "State", value: stateOf, cell: (row) => html`<span class=${isBad(row) ? "bad" : ""} title=${row.note}>${stateOf(row)}</span>`, width: "minmax(5rem, 2fr)" },
  { name: "queue", title: "Queue", value: (row) => row.queueDepth ?? 0, align: "end", width: "minmax(4rem, 1fr)" },
  { name: "rate", title: "Per second", value: (row) => row.reconcilesPerSecond ?? 0, cell: rateOf, align: "end", isWide: true },
  { name: "p50", title: "Median", value: (row) => row.latencySeconds?.p50 ?? 0, cell: (row) => latencyOf(row, "p50"), align: "end", isWide: true },
  { name: "p99", title: "99th percentile", value: (row) => row.latencySeconds?.p99 ?? 0, cell: (row) => latencyOf(row, "p99"), align: "end", isWide: true, width: "minmax(9.5rem, 1fr)" },
  { name: "errors", title: "Errors", value: (row) => row.errors ?? 0, cell: (row) => (row.errors ? html`<span class="badge bad">${row.errors}</span>` : 0), align: "end", width: "minmax(4rem, 1fr)" },
];

/** Reads a path again while the page is live and visible: figures of controllers have no watch. */
function useRepeated(path) {
  const found = useRead(path, {}, { at: "live" });
  useEffect(() => {
    if (!isLive.value || !path) return undefined;
    const timer = setInterval(() => document.hidden || found.reload(), INTERVAL_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isLive.value, path]);
  return found;
}

function ControllersPage() {
  const { value, error, reload } = useRepeated(CONTROLLERS);
  const groups = groupsOf(value?.items ?? []);
  return html`<h1 tabindex="-1">Controllers</h1>
    ${!isLive.value && html`<p class="quiet">Figures of controllers are those of now; their reconciles of the past are in the history of the objects.</p>`}
    ${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${value && !groups.length && html`<p class="empty">No controllers run</p>`}
    ${groups.map(
      ({ title, label, rows }) => html`<section key=${title}><h2>${title}</h2>
        <${Table} columns=${columns} rows=${rows} rowKey=${keyOf} label=${label} onOpen=${(row) => go(["controllers", row.name])} />
      </section>`,
    )}`;
}

const ofReconcile = [
  { name: "key", title: "Object", value: (row) => row.key, width: "minmax(8rem, 2fr)" },
  { name: "started", title: "Started", value: (row) => row.started, cell: (row) => clock(row.started) },
  { name: "seconds", title: "Took", value: (row) => row.seconds, cell: (row) => duration(row.seconds), align: "end" },
  { name: "result", title: "Result", value: (row) => row.error || row.result, cell: (row) => html`<span class=${row.error ? "bad" : ""}>${row.error || row.result}</span>`, isWide: true },
];

function ControllerPage({ name }) {
  const { value, error, reload } = useRepeated(CONTROLLERS);
  const found = value?.items.filter((row) => row.name === name) ?? [];
  return html`<h1 tabindex="-1">${name}</h1>
    <p><a href=${href(["controllers"])}>All controllers</a></p>
    ${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${value && !found.length && html`<p>No controller of this name runs.</p>`}
    ${found.map((row) => html`<${Figures} key=${keyOf(row)} row=${row} />`)}
    ${found.length > 0 && html`<h2>Reconciles</h2><${Reconciles} name=${name} isRead=${found.some((row) => row.recorded)} />`}`;
}

function Figures({ row }) {
  return html`<p>${row.kind} <span class="quiet">${row.module || "built in"}</span> · <span class=${isBad(row) ? "bad" : ""}>${stateOf(row)}</span></p>
    <dl class="figures">
      ${figure("Queue", row.queueDepth ?? 0)} ${figure("Longest wait", row.lagSeconds ? duration(row.lagSeconds) : 0)} ${figure("Per second", rateOf(row))}
      ${figure("Median", latencyOf(row, "p50"))} ${figure("99th percentile", latencyOf(row, "p99"))} ${figure("Errors", row.errors ?? 0)}
    </dl>`;
}

/** A controller without reconciles, such as one that cannot be loaded, is not asked for them. */
function Reconciles({ name, isRead }) {
  const { value, error, reload } = useRepeated(isRead ? `${CONTROLLERS}/${encodeURIComponent(name)}/reconciles` : "");
  return html`${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${(value || !isRead) && html`<${Table} columns=${ofReconcile} rows=${value?.items ?? []} rowKey=${(row) => row.id} label="Reconciles"
      onOpen=${(row) => go(["controllers", name, row.id])} empty="No reconcile is remembered" />`}`;
}

const figure = (name, value) => html`<div><dt>${name}</dt><dd>${value === "" ? "–" : value}</dd></div>`;

registerPage({ name: "controllers", title: "Controllers", pattern: "controllers", component: ControllersPage, order: 50, isLinked: true, keys: "g c" });
registerPage({ name: "controller", title: "Controller", pattern: "controllers/:name", component: ControllerPage, order: 51 });
