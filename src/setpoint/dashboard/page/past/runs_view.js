/** The runs of the app: a table with pins and names, and the differences of two runs. */
import { note } from "../announce.js";
import { patch } from "../api.js";
import { useRead } from "../collection.js";
import { moment } from "../format.js";
import { Problem } from "../problem.js";
import { change, href, route } from "../route.js";
import { isReadOnly } from "../session.js";
import { html, useEffect, useState } from "../view.js";
import { Changes } from "./changes.js";
import { chosenRuns, durationOf, endOf, fieldsOf, foldedText, outcomeOf, startOf, titleOf } from "./runs.js";

const RUNS = "/apis/setpoint.dev/v1/runs";
// Objects are open at first if there are at most this many.
const MOST_OPEN = 5;
const TYPES = { added: "created", removed: "deleted", changed: "changed" };

export function RunsView() {
  const { value, error, isLoading, reload } = useRead(RUNS, {}, { at: "live" });
  const { run = "", other = "" } = route.value.query;
  if (error && !value) return html`<${Problem} error=${error} onRetry=${reload} />`;
  if (isLoading) return html`<p class="quiet">Reading the runs …</p>`;
  const runs = value.items;
  if (!runs.length) return html`<p class="empty">No run is recorded. A run begins with <code>setpoint up</code>, and is recorded at its end.</p>`;
  const { from, to } = chosenRuns(runs, { run, other });
  const choose = (query) => change({ run: from, other: to, ...query }, { replace: true });
  return html`<div class="scroll"><table class="plain-table runs">
      <thead><tr>
        <th scope="col">From</th><th scope="col">To</th><th scope="col">Run</th><th scope="col">Started</th><th scope="col">Duration</th>
        <th scope="col">End</th><th scope="col">Failed</th><th scope="col">Pinned</th><th scope="col">Name</th>
      </tr></thead>
      <tbody>${runs.map((each) => html`<${Row} key=${each.number} run=${each} from=${from} to=${to} choose=${choose} reload=${reload} />`)}</tbody>
    </table></div>
    <${Difference} from=${from} to=${to} runs=${runs} />`;
}

function Row({ run, from, to, choose, reload }) {
  const { number } = run;
  const save = (fields) => changeRun(number, fields).then(reload);
  return html`<tr>
    <td><input type="radio" name="run-from" aria-label=${`Compare from run ${number}`} checked=${number === from} onChange=${() => choose({ run: number })} /></td>
    <td><input type="radio" name="run-to" aria-label=${`Compare to run ${number}`} checked=${number === to} onChange=${() => choose({ other: number })} /></td>
    <td class="nowrap">${number} ${run.isInLog && !run.current && html`<a href=${href(route.value.parts, { ...route.value.query, at: run.lastRevision })} aria-label=${`Show the end of run ${number}`}>show</a>`}</td>
    <td class="nowrap" title=${moment(run.started)}>${startOf(run, Date.now())}</td>
    <td class="nowrap">${durationOf(run, Date.now())}</td>
    <td class=${run.end === "Crashed" ? "bad" : ""}>${endOf(run)}</td>
    <td class=${run.failed ? "bad" : ""}>${run.failed}</td>
    <td>${isReadOnly() ? (run.pinned ? "yes" : "") : html`<input type="checkbox" aria-label=${`Pin run ${number}`} checked=${run.pinned} onChange=${(event) => save({ pinned: event.target.checked })} />`}</td>
    <td><${Name} run=${run} save=${save} /></td>
  </tr>`;
}

function Name({ run, save }) {
  const [text, setText] = useState(run.name);
  useEffect(() => setText(run.name), [run.name]);
  if (isReadOnly()) return run.name;
  return html`<input class="run-name" maxlength="100" aria-label=${`Name of run ${run.number}`} value=${text}
    onInput=${(event) => setText(event.target.value)} onChange=${(event) => save({ name: event.target.value.trim() })} />`;
}

/** Pins, unpins or names a run, and reports an error. */
async function changeRun(number, fields) {
  try {
    await patch(`${RUNS}/${number}`, fields);
  } catch (error) {
    note(`Run ${number}: ${error.message}`, { isError: true });
  }
}

function Difference({ from, to, runs }) {
  const { value, error, isLoading, reload } = useRead(`${RUNS}/${from}/difference`, { to }, { at: "live" });
  const named = (number) => titleOf(runs.find((run) => run.number === number) ?? { number });
  const heading = html`<h2>From ${named(from)} to ${named(to)}</h2>`;
  if (from === to) return html`${heading}<p class="empty">Choose two different runs.</p>`;
  if (error) return html`${heading}<${Problem} error=${error} onRetry=${reload} />`;
  if (isLoading || value.from !== from || value.to !== to) return html`${heading}<p class="quiet">Reading both runs …</p>`;
  const { parts, objects, notes, folded, truncated } = value;
  return html`${heading}
    <p class="row"><span role="status">${summaryOf(parts, objects)}</span><button onClick=${reload}>Compare again</button></p>
    ${parts.length > 0 && html`<${Parts} parts=${parts} from=${named(from)} to=${named(to)} />`}
    ${objects.length > 0 && html`<ul class="changed-objects">${objects.map((each) => html`<${ChangedObject} key=${keyOf(each)} found=${each} isFew=${objects.length <= MOST_OPEN} />`)}</ul>`}
    ${notes.map((text) => html`<p class="quiet" key=${text}>${text}</p>`)}
    ${truncated && html`<p class="quiet">Further differences are not shown.</p>`}
    <p class="quiet">${foldedText(folded)}</p>`;
}

const keyOf = ({ object }) => `${object.resource}/${object.namespace ?? ""}/${object.name}`;

function summaryOf(parts, objects) {
  const counted = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
  return `${counted(parts.length, "part")} and ${counted(objects.length, "object")} differ`;
}

function Parts({ parts, from, to }) {
  return html`<div class="scroll"><table class="plain-table run-parts">
    <thead><tr><th scope="col">Part</th><th scope="col">${from}</th><th scope="col">${to}</th></tr></thead>
    <tbody>${parts.map(
      (part) => html`<tr key=${`${part.kind}/${part.name}`}>
        <th scope="row">${part.name}</th>
        <td class=${part.before?.state === "Failed" ? "bad" : ""}>${outcomeOf(part.before)}</td>
        <td class=${part.after?.state === "Failed" ? "bad" : ""}>${outcomeOf(part.after)}</td>
      </tr>`,
    )}</tbody>
  </table></div>`;
}

function ChangedObject({ found, isFew }) {
  const [isOpen, setOpen] = useState(isFew);
  const { object, type, changes } = found;
  const name = `${object.kind} ${object.namespace ? `${object.namespace}/` : ""}${object.name}`;
  if (!changes.length) return html`<li class=${type}><span>${name}</span> <span class="badge">${TYPES[type]}</span></li>`;
  return html`<li class=${type}>
    <button class="plain" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "▾" : "▸"} ${name}</button>
    <span class="quiet">${changes.length} ${changes.length === 1 ? "field" : "fields"}</span>
    ${isOpen && html`<${Changes} changes=${fieldsOf(changes)} kind=${object.kind} />`}
  </li>`;
}
