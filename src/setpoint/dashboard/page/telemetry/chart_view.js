/** A chart of lines. The values at a time are shown for the pointer and for the arrow keys, and as a table. */
import { clock } from "../format.js";
import { html, useLayoutEffect, useMemo, useRef, useState } from "../view.js";
import { chartOf, nearest } from "./chart.js";
import { valueText } from "./scales.js";

const COLOURS = 6;
const MOST_SERIES = 24;
const HEIGHT = 220;

/** @param {{series: {name: string, points: [number, number][]}[], unit?: string, label: string, height?: number}} properties */
export function Chart({ series, unit = "", label, height = HEIGHT }) {
  const shown = series.slice(0, MOST_SERIES);
  const element = useRef(null);
  const [width, setWidth] = useState(600);
  const [time, setTime] = useState(null);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.round(entry.contentRect.width))));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  const chart = useMemo(() => chartOf(shown, { width, height }), [series, width, height]);
  const hasPoints = chart.yTicks.length > 0;
  const timeAt = (x) => chart.firstTime + ((x - chart.left) / (chart.right - chart.left)) * (chart.lastTime - chart.firstTime);
  const point = (event) => setTime(timeAt(event.clientX - event.currentTarget.getBoundingClientRect().left));
  const onKey = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !hasPoints) return;
    event.preventDefault();
    const distance = (chart.lastTime - chart.firstTime) / 40;
    const now = time ?? chart.lastTime;
    setTime(Math.min(chart.lastTime, Math.max(chart.firstTime, now + step * distance)));
  };
  return html`<div class="chart" ref=${element}>
    <svg width=${width} height=${height} role="img" aria-label=${`${label}, ${shown.length} series`} tabindex="0" onKeyDown=${onKey}
      onPointerMove=${hasPoints ? point : undefined} onPointerLeave=${() => setTime(null)}>
      ${chart.yTicks.map((tick) => html`<g key=${tick.value} class="tick"><line x1=${chart.left} x2=${chart.right} y1=${tick.y} y2=${tick.y} /><text x=${chart.left - 6} y=${tick.y + 4} text-anchor="end">${valueText(tick.value, unit)}</text></g>`)}
      ${chart.xTicks.map((tick) => html`<text key=${tick.time} class="axis" x=${tick.x} y=${height - 5} text-anchor="middle">${clock(tick.time).slice(0, 8)}</text>`)}
      ${chart.paths.map((path, place) => html`<path key=${place} class=${`line series-${place % COLOURS}`} d=${path} />`)}
      ${time !== null && hasPoints && html`<line class="cursor" x1=${chart.x(time)} x2=${chart.x(time)} y1=${chart.top} y2=${chart.bottom} />`}
    </svg>
    ${!hasPoints && html`<p class="empty">No values in this time</p>`}
    <ul class="legend-list" aria-live="off">${shown.map((each, place) => {
      const at = time === null ? each.points.at(-1) : nearest(each.points, time);
      return html`<li key=${place}><span class=${`legend series-${place % COLOURS}`}>${each.name}</span> <strong>${at ? valueText(at[1], unit) : ""}</strong> <span class="quiet">${at && time !== null ? clock(at[0]) : ""}</span></li>`;
    })}</ul>
    ${series.length > MOST_SERIES && html`<p class="quiet">${series.length - MOST_SERIES} further series are not shown.</p>`}
  </div>`;
}
