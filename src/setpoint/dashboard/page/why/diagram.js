/** The diagram of causes: the symptom on top, the origins below. Arrow keys follow the edges. */
import { html, useEffect, useMemo, useRef } from "../view.js";
import { subtitleOf } from "./causes.js";
import { layoutOf, neighbour } from "./graph_layout.js";

// The number of characters in the width of a node.
const LINE = 32;

/** @param {{graph: object, current: string, onSelect: (id: string) => void}} properties */
export function Diagram({ graph, current, onSelect }) {
  const layout = useMemo(() => layoutOf(graph), [graph]);
  const element = useRef(null);
  const moved = useRef(false);
  useEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    const node = element.current?.querySelector('[tabindex="0"]');
    node?.focus();
    node?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current]);
  const onKey = (event) => {
    const next = neighbour(layout, current, event.key);
    if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    moved.current = true;
    if (next !== null) onSelect(next);
  };
  const { box } = layout;
  const origins = new Set(graph.origins ?? []);
  return html`<div class="diagram">
    <svg ref=${element} width=${layout.width} height=${layout.height} viewBox=${`0 0 ${layout.width} ${layout.height}`} role="listbox"
      aria-label="Causes; arrow keys follow them" onKeyDown=${onKey}>
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
      ${layout.edges.map(
        (edge) => html`<g key=${`${edge.from}-${edge.to}`} class=${`edge ${[edge.from, edge.to].includes(current) ? "near" : ""}`} aria-hidden="true">
          <path d=${edge.path} marker-end="url(#arrow)" />
          ${edge.label && html`<text x=${edge.labelX} y=${edge.labelY} text-anchor="middle">${cut(edge.label)}</text>`}
        </g>`,
      )}
      ${layout.nodes.map(
        (node) => html`<g key=${node.id} role="option" class=${classOf(node, graph.symptom, origins)} aria-selected=${node.id === current}
          tabindex=${node.id === current ? 0 : -1} aria-description=${descriptionOf(node, graph.symptom, origins)} transform=${`translate(${node.x} ${node.y})`}
          onClick=${() => onSelect(node.id)}>
          <rect width=${box.width} height=${box.height} rx="5" />
          <text x="10" y="22" class="title">${cut(node.title)}</text>
          <text x="10" y="42" class="detail">${cut(subtitleOf(node))}</text>
        </g>`,
      )}
    </svg>
  </div>`;
}

const cut = (text = "") => (text.length > LINE + 2 ? `${text.slice(0, LINE)}…` : text);
const classOf = (node, symptom, origins) => `node ${node.type} ${node.id === symptom ? "symptom" : ""} ${origins.has(node.id) ? "origin" : ""}`;

/** The name of a node is its visible text, which may be cut; the description has the whole title. */
function descriptionOf(node, symptom, origins) {
  const part = node.id === symptom ? "symptom: " : origins.has(node.id) ? "origin: " : "";
  return `${part}${node.title}`;
}
