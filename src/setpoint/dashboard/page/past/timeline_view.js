/** The timeline of the app: the states of every part over time, with the critical path. */
import { useRead } from "../collection.js";
import { clock, duration } from "../format.js";
import { Problem } from "../problem.js";
import { route } from "../route.js";
import { html, useMemo } from "../view.js";
import { timelineLayout } from "./critical_path.js";

const TIMELINE = "/apis/setpoint.dev/v1/timeline";
const ROW = 26;

export function TimelineView() {
  const { from = "", to = "" } = route.value.query;
  const { value, error, isLoading, reload } = useRead(TIMELINE, { from, to }, { at: "live" });
  const layout = useMemo(() => value && timelineLayout(value, Date.now()), [value]);
  if (error) return html`<${Problem} error=${error} onRetry=${reload} />`;
  if (isLoading && !value) return html`<p class="quiet">Reading the timeline …</p>`;
  if (!layout?.rows.length) return html`<p class="empty">No states are known for this time.</p>`;
  const critical = layout.rows.filter((row) => row.critical);
  return html`${critical.length > 0 && html`<p>Critical path: ${critical.map((row, place) => html`${place ? " → " : ""}<strong>${row.name}</strong>`)}</p>`}
    <div class="timeline" role="table" aria-label="States over time">${layout.rows.map((row) => html`<${Row} key=${row.name} row=${row} />`)}
      <svg class="timeline-links" viewBox=${`0 0 1000 ${layout.rows.length * ROW}`} preserveAspectRatio="none" aria-hidden="true">${layout.links.map(
        (link, place) => html`<path key=${place} d=${`M${link.at * 1000} ${(link.from + 0.5) * ROW}V${(link.to + 0.5) * ROW}`} vector-effect="non-scaling-stroke" />`,
      )}</svg>
    </div>
    <p class="timeline-axis quiet"><span>${clock(layout.first)}</span><span>${duration((layout.last - layout.first) / 1000)}</span><span>${clock(layout.last)}</span></p>
    <p class="row">${["Ready", "Progressing", "Waiting", "Failed", "Stopped"].map((state) => html`<span key=${state} class=${`state ${state}`}>${state}</span>`)}</p>`;
}

function Row({ row }) {
  return html`<div class=${`timeline-row ${row.critical ? "critical" : ""}`} role="row">
    <div class="timeline-name" role="rowheader" title=${row.name}>${row.name.split("/").at(-1)}</div>
    <div class="timeline-track" role="cell">${row.bars.map((bar, place) => {
      const text = `${bar.state} for ${duration(bar.milliseconds / 1000)}${bar.waitsFor.length ? `, waits for ${bar.waitsFor.join(", ")}` : ""}`;
      const style = { insetInlineStart: `${bar.left * 100}%`, width: `max(2px, ${bar.width * 100}%)` };
      return html`<span key=${place} class=${`timeline-bar ${bar.state} ${bar.critical ? "critical" : ""}`} style=${style} title=${text}><span class="hidden-text">${text}</span></span>`;
    })}</div>
  </div>`;
}
