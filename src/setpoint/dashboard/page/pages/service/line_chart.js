/** A small chart of lines over time as SVG, with a table for screen readers in its description. */
import { clock } from "../../format.js";
import { html } from "../../view.js";

const WIDTH = 640;
const HEIGHT = 150;
const LEFT = 64;
const BOTTOM = 20;

/** Returns a round number that is not below a value. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= value) ?? value;
}

/**
 * @param {{title: string, series: {name: string, points: [number, number][]}[], format: (value: number) => string}} properties
 *   points are milliseconds since the epoch and values, in the order of time
 */
export function LineChart({ title, series, format }) {
  const points = series.flatMap((each) => each.points);
  if (!points.length) return html`<figure class="chart"><figcaption>${title}</figcaption><p class="empty">No samples</p></figure>`;
  const from = Math.min(...points.map(([time]) => time));
  const to = Math.max(from + 1, ...points.map(([time]) => time));
  const top = roundUp(Math.max(...points.map(([, value]) => value), Number.MIN_VALUE));
  const x = (time) => LEFT + ((time - from) / (to - from)) * (WIDTH - LEFT - 8);
  const y = (value) => 8 + (1 - value / top) * (HEIGHT - BOTTOM - 8);
  const last = series.map((each) => `${each.name}: ${format(each.points.at(-1)?.[1] ?? 0)}`).join(", ");
  return html`<figure class="chart">
    <figcaption>${title} <span class="quiet">${last}</span></figcaption>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`${title} from ${clock(from)} to ${clock(to)}; now ${last}`}>
      ${[0, 0.5, 1].map((part) => html`<g key=${part}><line x1=${LEFT} x2=${WIDTH - 8} y1=${y(top * part)} y2=${y(top * part)} class="grid-line" />
        <text x=${LEFT - 6} y=${y(top * part) + 4} text-anchor="end">${format(top * part)}</text></g>`)}
      <text x=${LEFT} y=${HEIGHT - 4}>${clock(from).slice(0, 8)}</text><text x=${WIDTH - 8} y=${HEIGHT - 4} text-anchor="end">${clock(to).slice(0, 8)}</text>
      ${series.map((each, place) => html`<polyline key=${each.name} class=${`chart-line colour-${place % 8}`} points=${each.points.map(([time, value]) => `${x(time).toFixed(1)},${y(value).toFixed(1)}`).join(" ")} />`)}
    </svg>
  </figure>`;
}
