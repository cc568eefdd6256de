/** The page of one object: its state and actions, and panels for logs, environment, probes and others as tabs. */
import { ActionButtons } from "../../action_buttons.js";
import { aboutPath, resourcePath } from "../../api.js";
import { useCollection, useRead } from "../../collection.js";
import { age, moment } from "../../format.js";
import { Problem } from "../../problem.js";
import { panelsOf, registerPage } from "../../registry.js";
import { countOf, reasonOf } from "../../summaries.js";
import { Tabs } from "../../tabs.js";
import { now } from "../../ticking.js";
import { html, useEffect, useMemo } from "../../view.js";
import { Addresses } from "../start/service_table.js";
import { markSeen } from "../start/unread_errors.js";

/** Returns the plural and the group of `PLURAL.GROUP`. */
function split(resource) {
  const [plural, ...group] = resource.split(".");
  return { resource: plural, group: group.join(".") };
}

function ServicePage({ resource: named, namespace = "", name }) {
  const place = { ...split(named), namespace, name };
  const summary = useRead(aboutPath(place, "summary"));
  useEffect(() => markSeen(name), [name]);
  const title = namespace ? `${namespace}/${name}` : name;
  if (!summary.value) {
    return html`<h1 tabindex="-1">${title}</h1>${summary.error ? html`<${Problem} error=${summary.error} onRetry=${summary.reload} />` : html`<p role="status">Reading …</p>`}`;
  }
  return html`<${Service} place=${place} title=${title} summary=${summary.value} reload=${summary.reload} error=${summary.error} />`;
}

function Service({ place, title, summary, reload, error }) {
  const [group, version] = summary.object.apiVersion.includes("/") ? summary.object.apiVersion.split("/") : ["", summary.object.apiVersion];
  const objects = useCollection(resourcePath({ ...place, group, version, name: "" }), { fieldSelector: `metadata.name=${place.name}` });
  const revision = objects.version.value;
  const object = useMemo(() => [...objects.items.values()][0] ?? null, [revision, objects]);
  const written = object?.metadata.resourceVersion;
  useEffect(() => {
    if (written && written !== summary.metadata.resourceVersion) reload();
  }, [written]);
  const isGone = objects.state.value === "ready" && !object && revision > 0;
  const properties = { ...place, group, version, object, summary };
  const tabs = object
    ? panelsOf("service", properties).map((panel) => ({ name: panel.name, title: panel.title, content: () => html`<${panel.component} ...${properties} />` }))
    : [];
  return html`<div class="row title-row">
      <h1 tabindex="-1">${title}</h1>
      <span class="badge">${summary.object.kind}</span>
      <span class=${`state ${isGone ? "Unknown" : summary.state}`} role="status">${isGone ? "Deleted" : summary.state} ${countOf(summary)}</span>
      <span class="quiet" title=${moment(summary.since)}>${age(summary.since, now.value)}</span>
      <span class="grow"></span>
      <${ActionButtons} summary=${summary} isNamed=${true} />
    </div>
    ${error && html`<${Problem} error=${error} />`}
    ${reasonOf(summary) && html`<p class=${summary.state === "Failed" ? "bad-text" : "quiet"}>${reasonOf(summary)}</p>`}
    ${summary.addresses?.length > 0 && html`<p><${Addresses} addresses=${summary.addresses} /></p>`}
    ${objects.error.value && html`<${Problem} error=${objects.error.value} />`}
    ${tabs.length > 0 && html`<${Tabs} tabs=${tabs} label="Parts of the view" />`}`;
}

registerPage({ name: "service", title: "Service", pattern: "service/:resource/:name", component: ServicePage });
registerPage({ name: "namespaced-service", title: "Service", pattern: "service/:resource/:namespace/:name", component: ServicePage });
