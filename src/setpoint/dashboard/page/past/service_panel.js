/** The changes of a service, as a tab of its view. */
import { resourcePath } from "../api.js";
import { addressOf } from "../objects/discovery.js";
import { registerPanel } from "../registry.js";
import { href } from "../route.js";
import { html } from "../view.js";
import { HistoryView } from "./history_view.js";

function ChangesPanel({ resource, group = "", version, namespace = "", name, object }) {
  const reference = { resource: group ? `${resource}.${group}` : resource, namespace, name };
  const path = resourcePath({ group, version, resource, namespace, name });
  return html`<p><a href=${href(addressOf(reference))}>Object with relations, events and the writers of fields</a></p>
    <${HistoryView} reference=${reference} path=${path} kind=${object.kind ?? ""} version=${object.metadata.resourceVersion} />`;
}

registerPanel({ place: "service", name: "changes", title: "Changes", order: 45, component: ChangesPanel });
