/** The metrics of the services: names, and the chart of the selected one. */
import { Problem } from "../problem.js";
import { change, route } from "../route.js";
import { html, useMemo, useState } from "../view.js";
import { Chart } from "./chart_view.js";
import { ServiceFilter, TextFilter } from "./filters.js";
import { isCounter, seriesOf } from "./metric_series.js";
import { endOfTime, useTelemetry } from "./reads.js";

// Minutes before the shown time.
const SINCE = [["5", "5 minutes"], ["15", "15 minutes"], ["60", "1 hour"], ["360", "6 hours"], ["1440", "1 day"]];

export function MetricsView({ service: fixed = "" }) {
  const { service = "", text = "", metric = "" } = route.value.query;
  const { value, error, isLoading, reload } = useTelemetry("metrics", { service: fixed || service });
  const items = (value?.items ?? []).filter((item) => item.name.toLowerCase().includes(text.toLowerCase()));
  const current = items.find((item) => item.name === metric) ?? items[0];
  return html`<div class="row">${!fixed && html`<${ServiceFilter} />`}<${TextFilter} name="text" title="Metric" /></div>
    ${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${isLoading && !value && html`<p class="quiet">Reading the metrics …</p>`}
    ${value && items.length === 0 && html`<p class="empty">No metric matches</p>`}
    ${current && html`<div class="aside-layout reversed">
      <ul class="metric-names" aria-label="Metrics">${items.map(
        (item) => html`<li key=${`${item.service} ${item.name}`}><button class="plain" aria-pressed=${item === current} onClick=${() => change({ metric: item.name }, { replace: true })}>${item.name}</button></li>`,
      )}</ul>
      <${Metric} key=${current.name} item=${current} service=${fixed || service} />
    </div>`}`;
}

function Metric({ item, service }) {
  const { since = "15" } = route.value.query;
  const [round, setRound] = useState(0);
  const end = endOfTime();
  const begin = useMemo(() => new Date((end ? Date.parse(end) : Date.now()) - Number(since) * 60_000).toISOString(), [since, end, round]);
  const { value, error, reload } = useTelemetry(`metrics/${encodeURIComponent(item.name)}`, { service, since: begin });
  const series = useMemo(() => until(seriesOf(value?.series ?? [], item), end), [value, item, end]);
  return html`<section aria-label=${item.name} class="grow">
    <h2>${item.name}</h2>
    <p class="row"><span class="quiet">${[item.type, item.unit, item.description].filter(Boolean).join(" · ")}</span>
      <label for="since">Time</label>
      <select id="since" value=${since} onChange=${(event) => change({ since: event.target.value }, { replace: true })}>${SINCE.map(([name, title]) => html`<option key=${name} value=${name}>${title}</option>`)}</select>
      <button onClick=${() => setRound(round + 1)}>Read again</button></p>
    ${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${value && html`<${Chart} series=${series} unit=${isCounter(item) ? `${item.unit && item.unit !== "1" ? item.unit : ""}/s` : item.unit} label=${item.name} />`}
  </section>`;
}


/** Returns the lines without the points after the shown time. */
function until(lines, end) {
  if (!end) return lines;
  const last = Date.parse(end);
  return lines.map((line) => ({ ...line, points: line.points.filter(([time]) => time <= last) }));
}
