/** One object at the selected time: its YAML with the writers of fields, relations, events, conditions and changes. */
import { get } from "../api.js";
import { useCollection } from "../collection.js";
import { BlameView, YamlView } from "../past/yaml_view.js";
import { HistoryView } from "../past/history_view.js";
import { Problem } from "../problem.js";
import { registerPage } from "../registry.js";
import { href, route, change } from "../route.js";
import { selected } from "../time.js";
import { Tabs } from "../tabs.js";
import { html, useEffect, useState } from "../view.js";
import { Conditions } from "./conditions_view.js";
import { problem, readKinds, useKind } from "./discovery.js";
import { EventsView } from "./events_view.js";
import { pathOf } from "./kinds.js";
import { RelationsView } from "./relations_view.js";

function ObjectPage({ resource, namespace: place, name }) {
  const namespace = place === "-" ? "" : place;
  const kind = useKind(resource);
  const title = html`<h1 tabindex="-1">${name} <span class="quiet">${kind?.kind ?? resource}${namespace ? ` in ${namespace}` : ""}</span></h1>`;
  if (problem.value) return html`${title}<${Problem} error=${problem.value} onRetry=${readKinds} />`;
  if (kind === undefined) return html`${title}<p class="quiet">Reading the kinds …</p>`;
  if (kind === null) return html`${title}<p>The control plane has no kind of this name.</p>`;
  return html`${title}<${Content} kind=${kind} reference=${{ resource, namespace, name }} />`;
}

function Content({ kind, reference }) {
  const path = pathOf(kind, reference.namespace, reference.name);
  const { object, error } = useObject(kind, reference, path);
  const version = object?.metadata?.resourceVersion ?? "";
  const isBlame = Boolean(route.value.query.blame);
  const gone = error?.code === 404 || error?.code === 410;
  const yaml = () => html`<div class="row"><button aria-pressed=${isBlame} onClick=${() => change({ blame: isBlame ? "" : "1" }, { replace: true })}>Writers of fields</button></div>
    ${isBlame ? html`<${BlameView} reference=${reference} path=${path} version=${version} />` : html`<${YamlView} object=${object} />`}`;
  const changes = { name: "changes", title: "Changes", content: () => html`<${HistoryView} reference=${reference} path=${path} kind=${kind.kind} version=${version} />` };
  const tabs = object
    ? [
        { name: "yaml", title: "YAML", content: yaml },
        { name: "conditions", title: "Conditions", content: () => html`<${Conditions} object=${object} />` },
        { name: "relations", title: "Relations", content: () => html`<${RelationsView} object=${object} />` },
        { name: "events", title: "Events", content: () => html`<${EventsView} object=${object} />` },
        changes,
      ]
    : [changes];
  const link = (word) => href([word, reference.resource, reference.namespace || "-", reference.name]);
  return html`<p class="row"><a href=${link("why")}>Why is it so?</a> <a href=${href(["objects", reference.resource])}>All objects of this kind</a>
      ${version && html`<span class="quiet">revision ${version}</span>`}</p>
    ${error && (gone ? html`<p role="status">${selected.value === "live" ? "The object does not exist now." : "The object did not exist at this time."}</p>` : html`<${Problem} error=${error} />`)}
    ${(object || gone) && html`<${Tabs} tabs=${tabs} label="Views of the object" />`}
    ${!object && !error && html`<p class="quiet">Reading the object …</p>`}`;
}

/** Returns the object: followed by a watch while live if the kind can be watched, otherwise read once. */
function useObject(kind, reference, path) {
  const isWatched = kind.verbs.includes("watch");
  const live = selected.value === "live" && isWatched;
  const list = useCollection(live ? pathOf(kind, reference.namespace) : "", { fieldSelector: `metadata.name=${reference.name}` });
  const [past, setPast] = useState({ path: "", object: null, error: null });
  const at = selected.value;
  useEffect(() => {
    if (live) return undefined;
    const abort = new AbortController();
    get(path, { at, signal: abort.signal }).then(
      (object) => setPast({ path, object, error: null }),
      (error) => abort.signal.aborted || setPast({ path, object: null, error }),
    );
    return () => abort.abort();
  }, [path, at, live]);
  if (!live) return past;
  const isReady = list.version.value >= 0 && list.state.value === "ready";
  const [item] = list.items.values();
  // The items of a list have no kind of their own.
  const object = item && { apiVersion: kind.group ? `${kind.group}/${kind.version}` : kind.version, kind: kind.kind, ...item };
  const missing = isReady && !item ? { code: 404, message: "The object does not exist." } : null;
  return { object: object ?? null, error: list.error.value ?? missing };
}

registerPage({ name: "object", title: "Object", pattern: "object/:resource/:namespace/:name", component: ObjectPage, order: 42 });
