/** The revisions of an object, each with its writer, its cause and its changes; and the difference of any two. */
import { get } from "../api.js";
import { clock, moment } from "../format.js";
import { Problem } from "../problem.js";
import { change as changeRoute, href, route } from "../route.js";
import { html, useEffect, useState } from "../view.js";
import { writerOf } from "./blame.js";
import { Changes } from "./changes.js";
import { useHistory } from "./history_reader.js";
import { differenceOf } from "./tree_difference.js";

/** @param {{reference: object, path: string, kind: string, version?: string}} properties `path` is that of the object. */
export function HistoryView({ reference, path, kind, version = "" }) {
  const history = useHistory(reference, version);
  const { from = "", to = "" } = route.value.query;
  const items = history.items;
  const newer = to || items[0]?.revision || "";
  const older = from || items[1]?.revision || "";
  if (history.error) return html`<${Problem} error=${history.error} />`;
  if (history.isLoading) return html`<p class="quiet">Reading the history …</p>`;
  const choose = (query) => changeRoute({ from: older, to: newer, ...query }, { replace: true });
  return html`<h2>Difference</h2>
    <${Difference} path=${path} kind=${kind} older=${older} newer=${newer} items=${items} />
    <h2>Revisions</h2>
    <div class="scroll"><table class="plain-table">
      <thead><tr><th scope="col">From</th><th scope="col">To</th><th scope="col">Revision</th><th scope="col">Time</th><th scope="col">Writer</th><th scope="col">Change</th></tr></thead>
      <tbody>${items.map(
        (item) => html`<tr key=${item.revision}>
          <td><input type="radio" name="from" aria-label=${`Compare from revision ${item.revision}`} checked=${item.revision === older} onChange=${() => choose({ from: item.revision })} /></td>
          <td><input type="radio" name="to" aria-label=${`Compare to revision ${item.revision}`} checked=${item.revision === newer} onChange=${() => choose({ to: item.revision })} /></td>
          <td><a href=${href(route.value.parts, { ...route.value.query, at: item.revision })}>${item.revision}</a></td>
          <td class="nowrap" title=${moment(item.time)}>${clock(item.time)}</td>
          <td>${writerOf(item)}</td>
          <td>${summaryOf(item)}</td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${items.length === 0 && html`<p class="empty">No revision of this object can be read.</p>`}
    ${history.next && html`<button onClick=${history.more}>Show earlier revisions</button>`}`;
}

/** Returns the changes of one revision in a line. */
export function summaryOf(item) {
  if (item.type === "PURGED") return `purged by ${item.purged?.user}: ${item.purged?.reason}`;
  if (item.type === "DELETED") return "deleted";
  const [first] = item.patch ?? [];
  if (first?.path === "") return "created";
  const paths = (item.patch ?? []).map((each) => each.path.slice(1).replaceAll("/", "."));
  return paths.length > 3 ? `${paths.slice(0, 3).join(", ")} and ${paths.length - 3} more` : paths.join(", ");
}

function Difference({ path, kind, older, newer, items }) {
  const [state, setState] = useState({ changes: null, error: null });
  useEffect(() => {
    if (!newer || !older) return setState({ changes: null, error: null });
    const abort = new AbortController();
    const read = (revision) => stateAt(path, items, revision, abort.signal);
    Promise.all([read(older), read(newer)]).then(
      ([old, now]) => setState({ changes: differenceOf(old, now), error: null }),
      (error) => abort.signal.aborted || setState({ changes: null, error }),
    );
    return () => abort.abort();
  }, [path, older, newer]);
  if (state.error) return html`<${Problem} error=${state.error} />`;
  if (!older) return html`<p class="quiet">The object has one revision.</p>`;
  return html`<p class="quiet">From revision ${older} to revision ${newer}</p>
    ${state.changes && html`<${Changes} changes=${state.changes} kind=${kind} />`}`;
}

/** Returns the object at a revision; null if it was deleted by then. */
async function stateAt(path, items, revision, signal) {
  if (items.find((item) => item.revision === revision)?.type === "DELETED") return null;
  return get(path, { at: revision, signal });
}
