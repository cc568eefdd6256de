/** The lines of a log window as a virtual list that follows the end and reads on at both ends. */
import { Dialog } from "../dialog.js";
import { clock, moment } from "../format.js";
import { Panels } from "../panels.js";
import { Problem } from "../problem.js";
import { href } from "../route.js";
import { VirtualList } from "../virtual_list.js";
import { knownTraces } from "./known_traces.js";
import { mayNameTrace, traceIdsIn } from "./trace_ids.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../view.js";

const ROW_HEIGHT = 21;
const NEAR = 60;
const COLOURS = 8;

/**
 * @param {{window: import("./log_window.js").LogWindow | import("./line_range.js").LineRange, nameOf: (name: string) => string, label: string, hasTraces?: boolean}} properties
 *   without `hasTraces`, rows have no links to traces
 */
export function LogList({ window: log, nameOf, label, hasTraces = true }) {
  const state = log.shown.value;
  const { lines, hasOlder, isAtEnd } = state;
  const element = useRef(null);
  const added = useRef(state.added);
  const [isFollowing, setFollowing] = useState(true);
  const [shown, setShown] = useState(null);
  const [active, setActive] = useState(null);
  const count = lines.length;
  useLayoutEffect(() => {
    // Lines before the visible ones must not move them.
    const shift = (state.added - added.current) * ROW_HEIGHT;
    added.current = state.added;
    if (isFollowing && isAtEnd) element.current.scrollTop = element.current.scrollHeight;
    else if (shift) element.current.scrollTop += shift;
  }, [state, isFollowing]);
  const readOn = ({ first, last }) => {
    if (first < NEAR) log.older();
    if (last > count - NEAR) log.newer();
  };
  useEffect(() => {
    // The position counts, not its changes: it may have returned to an end before its change was seen.
    const { scrollTop, clientHeight } = element.current;
    readOn({ first: scrollTop / ROW_HEIGHT, last: (scrollTop + clientHeight) / ROW_HEIGHT });
  }, [state]);
  const place = active === null ? -1 : lines.indexOf(active);
  const onWheel = (event) => event.deltaY < 0 && setFollowing(false);
  const atEnd = () => element.current.scrollTop + element.current.clientHeight > element.current.scrollHeight - ROW_HEIGHT;
  const onKey = (event) => {
    if (event.key === "Enter" && place >= 0) return setShown(active);
    const page = Math.floor(element.current.clientHeight / ROW_HEIGHT) - 1;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count }[event.key];
    if (!step || !count) return undefined;
    event.preventDefault();
    const next = Math.max(0, Math.min(count - 1, (place < 0 ? count : place) + step));
    setActive(lines[next]);
    setFollowing(next === count - 1 && isAtEnd);
    const top = next * ROW_HEIGHT;
    const box = element.current;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + ROW_HEIGHT > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW_HEIGHT - box.clientHeight;
    return undefined;
  };
  const end = () => {
    setFollowing(true);
    setActive(null);
    if (!isAtEnd) log.open();
  };
  const row = (index) => {
    const line = lines[index];
    const part = nameOf(line.name);
    return html`<div role="listitem" key=${line.key} class=${`log-line ${line.level} ${line === active ? "active" : ""}`} onClick=${() => (setActive(line), setShown(line))}>
      <time>${clock(line.time)}</time><span class=${`log-name colour-${colourOf(part)}`} title=${line.name}>${part}</span><span class="log-text">${line.level && html`<span class="hidden-text">${line.level}: </span>`}${line.message}${fieldsOf(line)}</span>${hasTraces && mayNameTrace(line) && html`<${TraceLink} line=${line} />`}
    </div>`;
  };
  const { value: error } = log.error;
  return html`<div class="log">
    ${error && html`<${Problem} error=${error} onRetry=${() => log.open()} />`}
    <div class="log-box" onWheel=${onWheel} onTouchMove=${() => setFollowing(false)} onPointerUp=${() => setFollowing(atEnd())}>
      <${VirtualList} elementRef=${element} count=${count} rowHeight=${ROW_HEIGHT} row=${row} label=${label} onScroll=${readOn} onKeyDown=${onKey} />
      ${count === 0 && !error && html`<p class="empty" role="status">${log.isBusy.value ? "Reading …" : "No lines"}</p>`}
    </div>
    <p class="quiet log-foot">
      <span>${count} lines${hasOlder ? ", earlier ones when scrolling up" : ""}</span>
      ${!(isFollowing && isAtEnd) && html`<button onClick=${end}>Go to the end</button>`}
    </p>
    ${shown && html`<${Line} line=${shown} part=${nameOf(shown.name)} onClose=${() => setShown(null)} />`}
  </div>`;
}

function fieldsOf(line) {
  const entries = Object.entries(line.fields ?? {});
  if (!entries.length) return null;
  return html`<span class="quiet">${entries.slice(0, 12).map(([name, value]) => ` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)}</span>`;
}

/** Returns a colour for a name, the same every time. */
function colourOf(name) {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) % 65_521;
  return sum % COLOURS;
}

/** Returns the known trace that a line names, or null; asks the server for IDs that are not known yet. */
function useTrace(line) {
  const ids = useMemo(() => traceIdsIn(line), [line]);
  useEffect(() => knownTraces.want(ids), [ids]);
  return knownTraces.firstOf(ids);
}

/** The link of a row. The keyboard reaches the one in the details of the line. */
function TraceLink({ line }) {
  const trace = useTrace(line);
  if (!trace) return null;
  return html`<a class="log-trace" tabindex="-1" href=${href(["telemetry", "trace", trace.id])} title=${`Open the trace ${trace.name}`} onClick=${(event) => event.stopPropagation()}>trace</a>`;
}

function Line({ line, part, onClose }) {
  const [copied, setCopied] = useState(false);
  const trace = useTrace(line);
  const copy = () => navigator.clipboard.writeText(line.line).then(() => setCopied(true));
  useEffect(() => setCopied(false), [line]);
  return html`<${Dialog} title=${`Line of ${part}`} onClose=${onClose} isWide=${true}>
    <dl class="facts">
      <div><dt>Time</dt><dd>${moment(line.time)}</dd></div>
      <div><dt>Process</dt><dd>${line.name}, ${line.source}, attempt ${line.attempt}</dd></div>
      ${line.level && html`<div><dt>Level</dt><dd>${line.level}</dd></div>`}
      ${Object.entries(line.fields ?? {}).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="mono">${typeof value === "string" ? value : JSON.stringify(value)}</dd></div>`)}
    </dl>
    <pre tabindex="0">${line.message}</pre>
    ${trace && html`<p><a href=${href(["telemetry", "trace", trace.id])} onClick=${onClose}>Open the trace ${trace.name}</a></p>`}
    <${Panels} place="log-line" line=${line} part=${part} />
    <footer><button onClick=${copy}>${copied ? "Copied" : "Copy the line"}</button></footer>
  <//>`;
}
