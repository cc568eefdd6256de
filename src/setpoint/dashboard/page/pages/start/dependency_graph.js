/** The dependencies between the parts of the app as a graph: each node is a link, its colour is the state. */
import { countOf, serviceHref } from "../../summaries.js";
import { html, useMemo } from "../../view.js";
import { layout } from "./layered_layout.js";

// A larger graph is not readable; the table shows all parts.
export const MOST_NODES = 150;
const LONGEST_NAME = 17;

const idOf = (kind, name) => `${kind}/${name}`;

/** @param {{summaries: object[]}} properties */
export function DependencyGraph({ summaries }) {
  const { nodes, edges } = useMemo(() => graphOf(summaries), [summaries]);
  const shape = nodes.map((node) => node.id).join() + edges.map((edge) => `${edge.from}>${edge.to}`).join();
  const { places, width, height, node: size } = useMemo(() => layout(nodes, edges), [shape]);
  if (nodes.length > MOST_NODES) return html`<p class="quiet">The app has more than ${MOST_NODES} parts, too many for a graph.</p>`;
  if (!edges.length) return html`<p class="quiet">No part depends on another.</p>`;
  return html`<div class="graph" tabindex="0" role="group" aria-label="Graph of dependencies">
    <svg width=${width + 4} height=${height + 4} viewBox=${`-2 -2 ${width + 4} ${height + 4}`}>
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" class="arrow" /></marker></defs>
      ${edges.map((edge) => {
        const [from, to] = [places.get(edge.from), places.get(edge.to)];
        const [x1, y1, x2, y2] = [from.x + size.width, from.y + size.height / 2, to.x - 2, to.y + size.height / 2];
        const bend = Math.max(24, (x2 - x1) / 2);
        return html`<path key=${`${edge.from} ${edge.to}`} class=${`edge ${edge.met ? "" : "unmet"}`} marker-end="url(#arrow)"
          d=${`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}><title>${edge.title}</title></path>`;
      })}
      ${nodes.map(({ id, summary }) => {
        const { x, y } = places.get(id);
        const { name } = summary.object;
        return html`<a key=${id} href=${serviceHref(summary)} aria-label=${`${name}, ${summary.state}${dependsText(summary)}`} class=${`node ${summary.state}`}>
          <title>${`${name}: ${summary.state}`}</title>
          <rect x=${x} y=${y} width=${size.width} height=${size.height} rx="5" />
          <circle cx=${x + 14} cy=${y + size.height / 2} r="4.5" />
          <text x=${x + 26} y=${y + size.height / 2 + 5}>${name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name}</text>
          ${countOf(summary) && html`<text class="count" text-anchor="end" x=${x + size.width - 8} y=${y + size.height / 2 + 5}>${countOf(summary)}</text>`}
        </a>`;
      })}
    </svg>
  </div>`;
}

const dependsText = ({ dependsOn = [] }) => (dependsOn.length ? `, depends on ${dependsOn.map((each) => each.name).join(", ")}` : "");

/** Returns the parts that depend on others or that others depend on, and their dependencies. */
function graphOf(summaries) {
  const known = new Map();
  for (const summary of summaries) {
    known.set(idOf(summary.object.kind, summary.object.name), summary);
    if (!known.has(summary.object.name)) known.set(summary.object.name, summary);
  }
  const keyOf = (summary) => idOf(summary.object.kind, summary.object.name);
  const edges = [];
  for (const summary of summaries) {
    for (const each of summary.dependsOn ?? []) {
      const from = known.get(idOf(each.kind, each.name)) ?? known.get(each.name);
      const title = `${summary.object.name} waits until ${each.name} is ${each.condition}${each.met ? "" : " (not yet)"}`;
      if (from && from !== summary) edges.push({ from: keyOf(from), to: keyOf(summary), met: each.met, title });
    }
  }
  const linked = new Set(edges.flatMap((edge) => [edge.from, edge.to]));
  return { nodes: summaries.filter((each) => linked.has(keyOf(each))).map((summary) => ({ id: keyOf(summary), summary })), edges };
}
