/** The objects of the whole app that changed between two revisions, each with its changed fields. */
import { get } from "../api.js";
import { Problem } from "../problem.js";
import { addressOf, groups, readKinds } from "../objects/discovery.js";
import { kindNamed, pathOf } from "../objects/kinds.js";
import { change, href, route } from "../route.js";
import { html, useEffect, useMemo, useState } from "../view.js";
import { changedObjects, isOfServer } from "./app_difference.js";
import { Changes } from "./changes.js";
import { Activity } from "./activity.js";
import { playback, refresh, revisionAt } from "./time_model.js";
import { differenceOf } from "./tree_difference.js";

const REVISIONS = "/apis/setpoint.dev/v1/revisions";
const PAGE = 500;
const MOST_PAGES = 10;
const MOST_SHOWN = 200;
const WORDS = { added: "created", removed: "deleted", changed: "changed", passed: "created and deleted" };

export function AppDifference() {
  const { entries } = playback.value;
  const { from = "", to = "", text = "", server = "" } = route.value.query;
  useEffect(() => {
    refresh();
    if (groups.peek() === null) readKinds();
  }, []);
  const newest = entries.at(-1)?.revision ?? 0;
  const last = Number(to) || newest;
  const first = Number(from) || entries[0]?.revision || 0;
  const { items, isCut, error, isLoading } = useLog(first, last);
  const changed = useMemo(() => changedObjects(items), [items]);
  const shown = changed.filter((each) => each.key.includes(text) && (server || !isOfServer(each)));
  return html`<${Activity} />
    <div class="row">
      <${Moment} name="from" title="From revision" value=${first} />
      <${Moment} name="to" title="to revision" value=${last} />
      <label for="changed-text">Object</label><input id="changed-text" type="search" value=${text} onInput=${(event) => change({ text: event.target.value }, { replace: true })} />
      <label class="row"><input type="checkbox" checked=${Boolean(server)} onChange=${(event) => change({ server: event.target.checked ? "1" : "" }, { replace: true })} /> Objects of the server</label>
      <span class="quiet" role="status">${isLoading ? "Reading the log …" : `${shown.length} objects changed`}</span>
    </div>
    ${error && html`<${Problem} error=${error} />`}
    ${isCut && html`<p class="quiet">Only the first ${items.length} writes after revision ${first} were compared; choose a shorter time for the others.</p>`}
    <ul class="changed-objects">${shown.slice(0, MOST_SHOWN).map((each) => html`<${ChangedObject} key=${each.key} changed=${each} first=${first} last=${last} />`)}</ul>
    ${shown.length > MOST_SHOWN && html`<p class="quiet">${shown.length - MOST_SHOWN} further objects are not shown; filter by name.</p>`}`;
}

/** A field for a revision or a time of day. */
function Moment({ name, title, value }) {
  const [problem, setProblem] = useState("");
  const set = async (event) => {
    const text = event.target.value.trim();
    try {
      const revision = /^\d+$/.test(text) || !text ? text : String(await revisionAt(new Date(text).toISOString()));
      change({ [name]: revision }, { replace: true });
      setProblem("");
    } catch (error) {
      setProblem(error instanceof RangeError ? "Write a revision, or a time such as 2026-01-31 14:03" : error.message);
    }
  };
  return html`<label for=${`moment-${name}`}>${title}</label>
    <input id=${`moment-${name}`} class="moment" value=${value || ""} onChange=${set} aria-invalid=${Boolean(problem)} />
    ${problem && html`<span class="bad" role="alert">${problem}</span>`}`;
}

/** Returns the writes after a revision, up to another. */
function useLog(first, last) {
  const [state, setState] = useState({ items: [], isCut: false, error: null, isLoading: true });
  useEffect(() => {
    if (!last) return undefined;
    const abort = new AbortController();
    read(first, last, abort.signal).then(
      (found) => setState({ ...found, error: null, isLoading: false }),
      (error) => abort.signal.aborted || setState({ items: [], isCut: false, error, isLoading: false }),
    );
    return () => abort.abort();
  }, [first, last]);
  return state;
}

async function read(first, last, signal) {
  const items = [];
  let after = first;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const found = await get(REVISIONS, { query: { after, limit: PAGE }, at: "live", signal });
    items.push(...found.items.filter((item) => Number(item.revision) <= last));
    after = Number(found.metadata.continue ?? 0);
    if (!after || after >= last) return { items, isCut: false };
  }
  return { items, isCut: true };
}

function ChangedObject({ changed, first, last }) {
  const [isOpen, setOpen] = useState(false);
  const { object } = changed;
  const link = href(addressOf({ resource: object.resource, namespace: object.namespace ?? "", name: object.name }), { tab: "changes", at: String(last) });
  return html`<li class=${changed.kind}>
    <button class="plain" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "▾" : "▸"} ${object.kind} ${object.namespace ? `${object.namespace}/` : ""}${object.name}</button>
    <span class="badge">${WORDS[changed.kind]}</span> <span class="quiet">${changed.writes} ${changed.writes === 1 ? "write" : "writes"} by ${changed.actors.join(", ")}</span>
    <a href=${link}>History</a>
    ${isOpen && html`<${Fields} changed=${changed} first=${first} last=${last} />`}
  </li>`;
}

function Fields({ changed, first, last }) {
  const [state, setState] = useState({ changes: null, error: null });
  const { object, kind } = changed;
  const known = kindNamed(groups.value ?? [], object.resource);
  useEffect(() => {
    if (!known) return undefined;
    const abort = new AbortController();
    const path = pathOf(known, object.namespace, object.name);
    const at = (revision, isAbsent) => (isAbsent ? null : get(path, { at: String(revision), signal: abort.signal }));
    Promise.all([at(first, kind !== "changed" && kind !== "removed"), at(last, kind === "removed" || kind === "passed")]).then(
      ([old, now]) => setState({ changes: differenceOf(old, now), error: null }),
      (error) => abort.signal.aborted || setState({ changes: null, error }),
    );
    return () => abort.abort();
  }, [known, first, last]);
  if (!known) return html`<p class="quiet">The control plane does not serve this kind now.</p>`;
  if (kind === "passed") return html`<p class="quiet">The object exists at neither of the two moments.</p>`;
  if (state.error) return html`<${Problem} error=${state.error} />`;
  return state.changes ? html`<${Changes} changes=${state.changes} kind=${object.kind} />` : html`<p class="quiet">Reading both states …</p>`;
}
