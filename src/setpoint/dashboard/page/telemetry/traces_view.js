/** The list of traces, with filters in the address. */
import { moment, clock } from "../format.js";
import { Problem } from "../problem.js";
import { change, go, route } from "../route.js";
import { Table } from "../table.js";
import { html } from "../view.js";
import { ServiceFilter, TextFilter } from "./filters.js";
import { endOfTime, useTelemetry } from "./reads.js";
import { durationText } from "./waterfall.js";

const LIMIT = 500;
const columns = [
  { name: "name", title: "Trace", value: (trace) => trace.name, width: "minmax(8rem, 3fr)" },
  { name: "service", title: "Service", value: (trace) => trace.service, isWide: true },
  { name: "start", title: "Start", value: (trace) => trace.start, cell: (trace) => html`<span title=${moment(trace.start)}>${clock(trace.start)}</span>` },
  { name: "duration", title: "Duration", value: (trace) => Number(trace.durationNanoseconds), cell: (trace) => durationText(Number(trace.durationNanoseconds)), align: "end" },
  { name: "spans", title: "Spans", value: (trace) => trace.spans, align: "end", isWide: true },
  { name: "errors", title: "Errors", value: (trace) => trace.errors, cell: (trace) => (trace.errors ? html`<span class="badge bad" title=${trace.error}>${trace.errors}</span>` : ""), align: "end" },
];

/** @param {{service?: string}} properties `service` shows the traces of one service, without the filter. */
export function TracesView({ service: fixed = "" }) {
  const { service = "", text = "", minDuration = "", errors = "" } = route.value.query;
  const query = { service: fixed || service, text, minDuration, errors, before: endOfTime(), limit: LIMIT };
  const { value, error, isLoading, reload } = useTelemetry("traces", query);
  return html`<div class="row">
      ${!fixed && html`<${ServiceFilter} />`}
      <${TextFilter} name="text" title="Text" />
      <${TextFilter} name="minDuration" title="Longer than" placeholder="100ms" />
      <label class="row"><input type="checkbox" checked=${errors === "true"} onChange=${(event) => change({ errors: event.target.checked ? "true" : "" }, { replace: true })} /> Only errors</label>
      <button onClick=${reload}>Read again</button>
    </div>
    ${error && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${value && html`<${Table} columns=${columns} rows=${value.items} rowKey=${(trace) => trace.traceId} label="Traces"
      onOpen=${(trace) => go(["telemetry", "trace", trace.traceId])} empty="No trace matches" />`}
    ${isLoading && !value && html`<p class="quiet">Reading the traces …</p>`}`;
}
