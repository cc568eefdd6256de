/** The filter of logs: its fields are parameters of the address. */
import { change, route } from "../route.js";
import { html, useEffect, useRef, useState } from "../view.js";

export const LEVELS = ["trace", "debug", "info", "warning", "error", "fatal"];
const SPANS = [["", "All"], ["1m", "Last minute"], ["5m", "Last 5 minutes"], ["15m", "Last 15 minutes"], ["1h", "Last hour"], ["24h", "Last day"]];
// Typing changes the address when it pauses.
const TYPING_MILLISECONDS = 300;

/** Returns the filter in the address. */
export function filterOf(query = route.value.query) {
  return {
    grep: query.grep ?? "",
    ignoreCase: query.case !== "exact",
    level: LEVELS.includes(query.level) ? query.level : "",
    since: SPANS.some(([value]) => value === query.since) ? (query.since ?? "") : "",
    services: (query.services ?? "").split(",").filter(Boolean),
  };
}

const set = (values) => change(values, { replace: true });

/** @param {{services?: string[]}} properties the names of services to choose from; none shows no choice */
export function LogFilter({ services = [] }) {
  const filter = filterOf();
  return html`<form class="row log-filter" role="search" aria-label="Filter of the log" onSubmit=${(event) => event.preventDefault()}>
    <${Pattern} value=${filter.grep} />
    <label><input type="checkbox" checked=${!filter.ignoreCase} onChange=${(event) => set({ case: event.target.checked ? "exact" : "" })} /> Match case</label>
    <label>Level <select value=${filter.level} onChange=${(event) => set({ level: event.target.value })}>
      <option value="">All</option>
      ${LEVELS.map((level) => html`<option key=${level} value=${level}>${level === "fatal" ? level : `${level} and above`}</option>`)}
    </select></label>
    <label>Since <select value=${filter.since} onChange=${(event) => set({ since: event.target.value })}>
      ${SPANS.map(([value, title]) => html`<option key=${value} value=${value}>${title}</option>`)}
    </select></label>
    ${services.length > 1 && html`<${Services} all=${services} chosen=${filter.services} />`}
  </form>`;
}

function Pattern({ value }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const onInput = (event) => {
    const typed = event.target.value;
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set({ grep: typed }), TYPING_MILLISECONDS);
  };
  return html`<input class="grow" type="search" aria-label="Regular expression" placeholder="Regular expression" value=${text} onInput=${onInput} spellcheck=${false} />`;
}

function Services({ all, chosen }) {
  const toggle = (name) => set({ services: (chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]).join(",") });
  const title = chosen.length === 0 ? "All services" : chosen.length === 1 ? chosen[0] : `${chosen.length} services`;
  return html`<details class="picker">
    <summary>${title}</summary>
    <div class="picker-list" role="group" aria-label="Services">
      <button type="button" class="plain" onClick=${() => set({ services: "" })}>All services</button>
      ${all.map((name) => html`<label key=${name}><input type="checkbox" checked=${chosen.includes(name)} onChange=${() => toggle(name)} /> ${name}</label>`)}
    </div>
  </details>`;
}
