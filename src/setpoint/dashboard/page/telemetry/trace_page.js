/** One trace as a waterfall, with the details of the selected span and its logs. */
import { Problem } from "../problem.js";
import { registerPage } from "../registry.js";
import { change, href, route } from "../route.js";
import { html, useMemo, useState, useRef, useEffect } from "../view.js";
import { VirtualList } from "../virtual_list.js";
import { LogRecords } from "./logs_view.js";
import { pairs } from "./log_records.js";
import { PlainLines } from "./plain_lines.js";
import { useTelemetry } from "./reads.js";
import { durationText, isError, waterfallOf } from "./waterfall.js";

const ROW_HEIGHT = 30;
const MOST_VISIBLE = 20;
const COLOURS = 6;

function TracePage({ id }) {
  const { value, error, isLoading, reload } = useTelemetry(`traces/${encodeURIComponent(id)}`);
  return html`<h1 tabindex="-1">Trace ${id.slice(0, 8)}</h1>
    <p><a href=${href(["telemetry"])}>All traces</a></p>
    ${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${isLoading && !value && html`<p class="quiet">Reading the trace …</p>`}
    ${value && html`<${Trace} id=${id} spans=${value.spans ?? []} />`}`;
}

function Trace({ id, spans }) {
  const [collapsed, setCollapsed] = useState(new Set());
  const layout = useMemo(() => waterfallOf(spans, collapsed), [spans, collapsed]);
  const { span: named = "" } = route.value.query;
  const found = layout.rows.findIndex((row) => row.span.spanId === named);
  const current = Math.max(0, found);
  const element = useRef(null);
  useEffect(() => {
    const list = element.current;
    if (!list) return;
    const top = current * ROW_HEIGHT;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
  }, [current]);
  const select = (place) => change({ span: layout.rows[place]?.span.spanId }, { replace: true });
  const fold = (row, isOpen) => {
    const changed = new Set(collapsed);
    if (isOpen) changed.delete(row.span.spanId);
    else changed.add(row.span.spanId);
    setCollapsed(changed);
  };
  const onKey = (event) => {
    const row = layout.rows[current];
    const moves = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: layout.rows.length - 1 };
    if (event.key in moves) select(Math.min(layout.rows.length - 1, Math.max(0, moves[event.key])));
    else if (event.key === "ArrowLeft" && row.below) fold(row, false);
    else if (event.key === "ArrowRight" && row.below) fold(row, true);
    else return;
    event.preventDefault();
  };
  if (!layout.rows.length) return html`<p class="empty">No span of this trace is kept.</p>`;
  const colour = (service) => `series-${layout.services.indexOf(service) % COLOURS}`;
  const row = (place) => html`<${Row} key=${layout.rows[place].span.spanId} row=${layout.rows[place]} place=${place} isCurrent=${place === current}
    colour=${colour(layout.rows[place].span.service)} onSelect=${() => select(place)} onFold=${fold} />`;
  return html`<p class="row">${durationText(layout.nanoseconds)} · ${spans.length} spans ${layout.services.map((service) => html`<span key=${service} class=${`legend ${colour(service)}`}>${service}</span>`)}</p>
    <div class="waterfall" style=${{ height: `${Math.min(layout.rows.length, MOST_VISIBLE) * ROW_HEIGHT + 4}px` }}>
      <${VirtualList} elementRef=${element} count=${layout.rows.length} rowHeight=${ROW_HEIGHT} row=${row} label="Spans" role="tree" onKeyDown=${onKey}
        aria-activedescendant=${`span-${current}`} />
    </div>
    <${SpanDetails} span=${layout.rows[current].span} nanoseconds=${layout.rows[current].nanoseconds} />
    <h2>Logs of this trace</h2>
    <${LogRecords} query=${{ traceId: id }} spanId=${named} />
    <${PlainLines} id=${id} spans=${spans} />`;
}

function Row({ row, place, isCurrent, colour, onSelect, onFold }) {
  const { span, depth, below, open } = row;
  const bar = { insetInlineStart: `${row.left * 100}%`, width: `max(2px, ${row.width * 100}%)` };
  return html`<div class=${`waterfall-row ${isCurrent ? "active" : ""}`} role="treeitem" id=${`span-${place}`} aria-level=${depth + 1} aria-selected=${isCurrent}
    aria-expanded=${below ? open : undefined} onClick=${onSelect}>
    <div class="waterfall-name" style=${{ paddingInlineStart: `${Math.min(depth, 12) * 0.8}rem` }}>
      ${below ? html`<button class="plain" tabindex="-1" aria-hidden="true" onClick=${(event) => (event.stopPropagation(), onFold(row, !open))}>${open ? "▾" : "▸"}</button>` : html`<span class="leaf" />`}
      ${row.error && html`<span class="error-mark" aria-hidden="true">!</span><span class="hidden-text">error in </span>`}${span.name}<span class="hidden-text"> of ${span.service}</span>
    </div>
    <div class="waterfall-track"><div class=${`bar ${colour} ${row.error ? "error" : ""} ${row.path ? "path" : ""}`} style=${bar} /></div>
    <div class="waterfall-time">${durationText(row.nanoseconds)}</div>
  </div>`;
}

function SpanDetails({ span, nanoseconds }) {
  const status = typeof span.status === "object" ? [span.status.code, span.status.message].filter(Boolean).join(": ") : span.status;
  return html`<section aria-label="Details of the selected span" class="details">
    <h2>${span.name}</h2>
    <dl>${[["Service", span.service], ["Kind", span.kind], ["Status", status], ["Duration", durationText(nanoseconds)], ["Span", span.spanId], ...pairs(span.attributes)].map(
      ([name, value]) => value !== undefined && value !== "" && html`<div key=${name} class=${name === "Status" && isError(span) ? "bad" : ""}><dt>${name}</dt><dd>${value}</dd></div>`,
    )}</dl>
    ${span.events?.length > 0 && html`<h3>Events</h3><ul>${span.events.map((event, place) => html`<li key=${place}>${event.name} ${pairs(event.attributes).map(([name, value]) => html`<code>${name}=${value}</code> `)}</li>`)}</ul>`}
  </section>`;
}

registerPage({ name: "trace", title: "Trace", pattern: "telemetry/trace/:id", component: TracePage, order: 61 });
