/** Structured log records, newest first, with filters by field and links to their traces. */
import { clock, moment } from "../format.js";
import { Problem } from "../problem.js";
import { change, href, route } from "../route.js";
import { readLines } from "../stream.js";
import { isLive } from "../time.js";
import { html, useEffect, useMemo, useState } from "../view.js";
import { VirtualList } from "../virtual_list.js";
import { ServiceFilter, TextFilter } from "./filters.js";
import { matches, merged, recordView, withField } from "./log_records.js";
import { TELEMETRY, endOfTime, useTelemetry } from "./reads.js";

const LIMIT = 500;
const MOST = 5000;
const ROW_HEIGHT = 28;
const MOST_VISIBLE = 20;
const BATCH_MILLISECONDS = 200;
const LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"];

/** @param {{service?: string}} properties `service` shows the records of one service, without the filter. */
export function LogsView({ service: fixed = "" }) {
  const { service = "", severity = "", text = "", traceId = "" } = route.value.query;
  return html`<div class="row">
      ${!fixed && html`<${ServiceFilter} />`}
      <label for="severity">Level</label>
      <select id="severity" value=${severity} onChange=${(event) => change({ severity: event.target.value }, { replace: true })}>
        <option value="">all</option>${LEVELS.map((level) => html`<option key=${level} value=${level}>${level}</option>`)}
      </select>
      <${TextFilter} name="text" title="Text" />
      ${traceId && html`<button onClick=${() => change({ traceId: "" })}>Trace ${traceId.slice(0, 8)} ✕</button>`}
    </div>
    <${LogRecords} query=${{ service: fixed || service, severity, text, traceId }} isFollowed />`;
}

/** @param {{query: object, spanId?: string, isFollowed?: boolean}} properties Records of `spanId` are emphasized. */
export function LogRecords({ query, spanId = "", isFollowed = false }) {
  const before = endOfTime();
  const { value, error, isLoading, reload } = useTelemetry("logs", { ...query, before, limit: LIMIT });
  const added = useFollowed(query, isFollowed && isLive.value);
  const [open, setOpen] = useState(null);
  const filters = useMemo(() => parsed(route.value.query.fields), [route.value.query.fields]);
  const views = useMemo(
    () => merged(value?.items ?? [], added, MOST).map(recordView).filter((view) => matches(view, filters)),
    [value, added, filters],
  );
  const toggle = (name, text) => change({ fields: written(withField(filters, name, text)) }, { replace: true });
  const row = (place) => {
    const view = views[place];
    const marks = `${view.level} ${view === open ? "active" : ""} ${spanId && view.spanId === spanId ? "near" : ""}`;
    return html`<div class=${`log-row ${marks}`} role="listitem" key=${place} onClick=${() => setOpen(view)}>
      <span class="mono" title=${moment(view.time)}>${clock(view.time)}</span><span class=${`level ${view.level}`}>${view.level}</span>
      <span class="wide-only">${view.service}</span>
      <span class="message"><button class="plain" aria-expanded=${view === open} onClick=${() => setOpen(view)}>${view.message || "(fields only)"}</button></span>
      <span class="wide-only quiet mono">${view.fields.slice(0, 4).map(([name, text]) => `${name}=${text}`).join(" ")}</span></div>`;
  };
  return html`${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${filters.length > 0 && html`<p class="row">${filters.map(({ name, value: text }) => html`<button key=${name + text} onClick=${() => toggle(name, text)}>${name}=${text} ✕</button>`)}</p>`}
    ${views.length > 0
      ? html`<div class="logs" style=${{ height: `${Math.min(views.length, MOST_VISIBLE) * ROW_HEIGHT + 4}px` }}>
          <${VirtualList} count=${views.length} rowHeight=${ROW_HEIGHT} row=${row} label="Log records" /></div>`
      : !error && html`<p class="empty">${isLoading ? "Reading the records …" : "No record matches"}</p>`}
    ${open && html`<${Details} view=${open} filters=${filters} onField=${toggle} onClose=${() => setOpen(null)} />`}`;
}

function Details({ view, filters, onField, onClose }) {
  return html`<section class="details" aria-label="Details of the record">
    <h3>${view.message}</h3>
    ${view.traceId && html`<p><a href=${href(["telemetry", "trace", view.traceId], { span: view.spanId })}>Open the trace ${view.traceId.slice(0, 8)}</a></p>`}
    <dl>${[["time", view.time], ["service", view.service], ["severity", String(view.severity ?? "")]].map(([name, text]) => html`<div key=${name}><dt>${name}</dt><dd>${text}</dd></div>`)}
      ${view.fields.map(([name, text]) => html`<div key=${`field ${name}`}><dt>${name}</dt><dd>${text}
        <button class="plain" aria-pressed=${filters.some((each) => each.name === name && each.value === text)} onClick=${() => onField(name, text)} aria-label=${`Only records with ${name}=${text}`}>filter</button></dd></div>`)}</dl>
    <button onClick=${onClose}>Close</button>
  </section>`;
}

/** Returns the records that arrived since the component was shown. */
function useFollowed(query, isOn) {
  const [records, setRecords] = useState([]);
  useEffect(() => {
    setRecords([]);
    if (!isOn) return undefined;
    const abort = new AbortController();
    let waiting = [];
    let timer = 0;
    const show = () => {
      timer = 0;
      const fresh = waiting;
      waiting = [];
      setRecords((old) => merged(old, fresh, MOST));
    };
    readLines(`${TELEMETRY}/logs`, { query: { ...query, watch: "true" }, signal: abort.signal }, (line) => {
      waiting.push(JSON.parse(line));
      timer ||= setTimeout(show, BATCH_MILLISECONDS);
    });
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [JSON.stringify(query), isOn]);
  return records;
}

const parsed = (text = "") => (text ? JSON.parse(text).map(([name, value]) => ({ name, value })) : []);
const written = (filters) => (filters.length ? JSON.stringify(filters.map(({ name, value }) => [name, value])) : "");
