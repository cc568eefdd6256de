/** One reconcile: its causes, its reads and its writes. */
import { useRead } from "../collection.js";
import { duration, moment } from "../format.js";
import { Problem } from "../problem.js";
import { registerPage } from "../registry.js";
import { href } from "../route.js";
import { html } from "../view.js";

function ReconcilePage({ name, id }) {
  const path = `/apis/setpoint.dev/v1/controllers/${encodeURIComponent(name)}/reconciles/${encodeURIComponent(id)}`;
  const { value, error, reload } = useRead(path, {}, { at: "live" });
  return html`<h1 tabindex="-1">Reconcile ${id.slice(0, 8)}</h1>
    <p><a href=${href(["controllers", name])}>${name}</a></p>
    ${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${value && html`<p>${value.of} ${value.object} · ${moment(value.began)} · ${duration(value.seconds)} · <span class=${value.error ? "bad" : ""}>${value.error || value.result}</span></p>
      <${Section} title="Causes" items=${value.because} empty="The controller stated no cause." />
      <${Section} title="Reads" items=${value.reads} empty="The reconcile read no object." />
      <${Section} title="Writes" items=${value.writes} empty="The reconcile wrote no object." />`}`;
}

function Section({ title, items = [], empty }) {
  return html`<h2>${title}</h2>
    ${items.length ? html`<ul>${items.map((item, place) => html`<li key=${place}>${textOf(item)}</li>`)}</ul>` : html`<p class="empty">${empty}</p>`}`;
}

function textOf(item) {
  if (typeof item === "string") return item;
  return Object.entries(item)
    .filter(([, value]) => value !== "" && value !== null && value !== false)
    .map(([name, value]) => html`<span key=${name} class="pair"><span class="quiet">${name}</span> ${typeof value === "object" ? JSON.stringify(value) : String(value)} </span>`);
}

registerPage({ name: "reconcile", title: "Reconcile", pattern: "controllers/:name/:id", component: ReconcilePage, order: 52 });
