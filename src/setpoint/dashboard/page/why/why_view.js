/** The explanation of an object: its causes as a diagram, with the details of the selected one. */
import { aboutPath } from "../api.js";
import { useRead } from "../collection.js";
import { addressOf } from "../objects/discovery.js";
import { Problem } from "../problem.js";
import { registerPage, registerPanel } from "../registry.js";
import { href, route, change } from "../route.js";
import { html } from "../view.js";
import { factsOf, firstOrigin } from "./causes.js";
import { Diagram } from "./diagram.js";

// The server accepts one to six; six is its default.
const DEPTHS = [1, 2, 3, 4, 5, 6];

/** @param {{reference: {resource: string, namespace: string, name: string}}} properties */
export function WhyView({ reference }) {
  const { field = "", depth = "", node = "" } = route.value.query;
  const { value: graph, error, isLoading, reload } = useRead(aboutPath(reference, "why"), { field, depth });
  if (error) return html`<${Problem} error=${error} onRetry=${reload} />`;
  if (isLoading && !graph) return html`<p class="quiet">Searching for the causes …</p>`;
  if (!graph?.nodes?.length) return html`<p class="empty">No cause is known: the history of this object is not kept.</p>`;
  const current = graph.nodes.find((each) => each.id === node) ?? graph.nodes.find((each) => each.id === graph.symptom) ?? graph.nodes[0];
  const origin = firstOrigin(graph);
  const select = (id) => change({ node: id }, { replace: true });
  return html`<div class="row">
      <label for="depth">Depth</label>
      <select id="depth" value=${depth || "6"} onChange=${(event) => change({ depth: event.target.value }, { replace: true })}>
        ${DEPTHS.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
      </select>
      <button onClick=${() => select(origin)} disabled=${origin === null}>Go to the origin</button>
      ${graph.truncated && html`<span class="badge">Earlier causes are left out</span>`}
    </div>
    ${graph.hints?.length > 0 && html`<ul class="hints">${graph.hints.map((hint) => html`<li key=${hint}>${hint}</li>`)}</ul>`}
    <div class="aside-layout">
      <${Diagram} graph=${graph} current=${current.id} onSelect=${select} />
      <${Details} node=${current} />
    </div>`;
}

function Details({ node }) {
  const { object } = node;
  const reference = object && { resource: object.resource, namespace: object.namespace ?? "", name: object.name };
  const at = node.revision ? { at: String(node.revision) } : {};
  return html`<aside class="details" aria-label="Details of the selected cause" aria-live="polite">
    <h2>${node.title}</h2>
    ${node.detail && html`<pre>${typeof node.detail === "string" ? node.detail : JSON.stringify(node.detail, null, 1)}</pre>`}
    <dl>
      ${factsOf(node).map(([name, value]) => row(name, value))}
      ${row("Object", object && html`<a href=${href(addressOf(reference), at)}>${object.kind} ${object.name}</a>`)}
    </dl>
    ${reference && html`<p><a href=${href(["why", reference.resource, reference.namespace || "-", reference.name], at)}>Why was this object so?</a></p>`}
    ${node.revision && html`<p><button onClick=${() => change(at)}>Show the page at this moment</button></p>`}
  </aside>`;
}

const row = (name, value) => value && html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`;

function WhyPage({ resource, namespace, name }) {
  const reference = { resource, namespace: namespace === "-" ? "" : namespace, name };
  return html`<h1 tabindex="-1">Why is ${name} so?</h1>
    <p><a href=${href(addressOf(reference))}>Open the object</a></p>
    <${WhyView} reference=${reference} />`;
}

registerPage({ name: "why", title: "Why", pattern: "why/:resource/:namespace/:name", component: WhyPage, order: 30 });
registerPanel({
  place: "service", name: "why", title: "Why", order: 40,
  component: ({ resource, group = "", namespace = "", name }) =>
    html`<${WhyView} reference=${{ resource: group && !resource.includes(".") ? `${resource}.${group}` : resource, namespace, name }} />`,
});
