/** Logs of services with their filter. */
import { get } from "../api.js";
import { Problem } from "../problem.js";
import { change, route } from "../route.js";
import { selected } from "../time.js";
import { html, signal, useEffect, useMemo } from "../view.js";
import { LogFilter, filterOf } from "./log_filter.js";
import { LogList } from "./log_list.js";
import { MOST_TARGETS, useTargets } from "./log_targets.js";
import { LogWindow } from "./log_window.js";

/** Returns the time of the selected revision ("" for live, null until known), or the error of its read. */
function useUntil() {
  const at = selected.value;
  const state = useMemo(() => signal({ until: at === "live" ? "" : null, error: null }), [at]);
  useEffect(() => {
    if (at === "live") return undefined;
    const abort = new AbortController();
    const query = { after: Math.max(0, Number(at) - 1), limit: 1 };
    get("/apis/setpoint.dev/v1/revisions", { query, at: "live", signal: abort.signal }).then(
      (list) => (state.value = { until: list.items?.[0]?.time ?? "", error: null }),
      (error) => abort.signal.aborted || (state.value = { until: null, error }),
    );
    return () => abort.abort();
  }, [at]);
  return state.value;
}

/**
 * @param {{parts?: string[], target?: import("./log_targets.js").Target, services?: string[], refresh?: string}} properties
 *   the services (`parts`; none means all), or one process; `services` are offered in the filter; `refresh` changes when
 *   processes may have come or gone
 */
export function LogView({ parts = [], target = null, services = [], refresh = "" }) {
  const filter = filterOf();
  const { until, error: timeError } = useUntil();
  const wanted = parts.length ? parts : filter.services;
  const found = useTargets(wanted, selected.value, refresh);
  const targets = (target ? [target] : (found.targets ?? [])).filter((each) => !each.terminal);
  const { attempt = "", source = "" } = route.value.query;
  const key = JSON.stringify([targets.map((each) => each.uid), filter.grep, filter.ignoreCase, filter.level, filter.since, until, attempt, source]);
  const log = useMemo(() => (targets.length && until !== null ? new LogWindow(targets, { ...filter, until, attempt, source }) : null), [key]);
  useEffect(() => () => log?.close(), [log]);
  useEffect(() => log?.wake(), [log, refresh]);
  const names = useMemo(() => new Map(targets.map((each) => [each.name, each])), [key]);
  const isOnePart = new Set(targets.map((each) => each.part)).size === 1;
  const nameOf = (name) => (isOnePart ? name : (names.get(name)?.part ?? name));
  return html`<section class="log-view" aria-label="Logs">
    <${LogFilter} services=${services} />
    ${timeError && html`<${Problem} error=${timeError} />`}
    ${attempt && targets.length === 1 && html`<p class="row"><span class="badge">Attempt ${attempt} only</span><button onClick=${() => change({ attempt: "" })}>Show all attempts</button></p>`}
    ${!target && found.error && html`<${Problem} error=${found.error} />`}
    ${!target && found.isCut && html`<p class="quiet">The logs of the first ${MOST_TARGETS} processes are shown; choose services to see others.</p>`}
    ${log
      ? html`<${LogList} key=${key} window=${log} nameOf=${nameOf} label="Lines of the log" />`
      : html`<p class="empty" role="status">${found.targets === null && !target ? (found.error ? "" : "Reading …") : targets.length ? "" : "No process with a log"}</p>`}
  </section>`;
}
